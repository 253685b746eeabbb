//! Ciphertexts and test vectors as they travel: with their key, key choice and torus width.

pub use ciphermill_lattice::KeyTag;

use crate::bounds::{Bounds, TableEncodings};
use crate::dimension::LweDimension;
use crate::error::{TfheError, require_equal, require_key_set};
use crate::glwe::GlweCiphertext;
use crate::lwe::LweCiphertext;
use crate::parameters::{KeyOrder, TorusWidth};

/// LWE elements of either width.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// use ciphermill_tfhe::ciphertext::LweElements;
/// let small = client.encrypt(&encoding, 3, KeyOrder::Small, &mut rng)?;
/// // Ciphertexts under the small key are always 32 bits wide.
/// assert!(matches!(small.elements(), LweElements::U32(_)));
/// assert!(matches!(three.elements(), LweElements::U64(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LweElements {
    /// 32-bit torus: every ciphertext under a small key, and under the big key of a 32-bit set.
    U32(LweCiphertext<u32>),
    /// 64-bit torus: ciphertexts under the big key of a 64-bit set.
    U64(LweCiphertext<u64>),
}

/// An LWE ciphertext together with what identifies its key.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let mut sum = three.clone();
/// sum.add_assign(&three)?;
/// assert_eq!(client.decrypt(&encoding, &sum)?, 6);
/// assert_eq!((three.key_tag(), three.choice()), (client.tag(), KeyOrder::Big));
/// assert_eq!((three.dimension(), three.torus()), (LweDimension(1024), TorusWidth::U64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ciphertext {
    key_tag: KeyTag,
    choice: KeyOrder,
    elements: LweElements,
    bounds: Bounds,
}

impl Ciphertext {
    /// Labels LWE elements, of whose message and noise nothing is known ([`Bounds::UNKNOWN`]).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let same = Ciphertext::new(three.key_tag(), three.choice(), three.elements().clone());
    /// assert_eq!(same.with_bounds(three.bounds()), three);
    /// // The client refuses a ciphertext of another key set.
    /// let other = Ciphertext::new(KeyTag(!client.tag().0), three.choice(), three.elements().clone());
    /// assert!(client.decrypt(&encoding, &other).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(key_tag: KeyTag, choice: KeyOrder, elements: LweElements) -> Self {
        Self { key_tag, choice, elements, bounds: Bounds::UNKNOWN }
    }

    /// The same with other bounds.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// // A narrower range than that of the encoding, where the message is known to lie in it.
    /// let narrow = Some(MessageRange::new(encoding.places(), 0, 3)?);
    /// let three = three.clone().with_bounds(three.bounds().with_range(narrow));
    /// assert_eq!(three.bounds().range(), narrow);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_bounds(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// The stated range of the message and bound on the noise. Only the maker of the ciphertext can vouch for them.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The key set.
    pub fn key_tag(&self) -> KeyTag {
        self.key_tag
    }

    /// Under which key of the set it is encrypted.
    pub fn choice(&self) -> KeyOrder {
        self.choice
    }

    /// The LWE ciphertext.
    pub fn elements(&self) -> &LweElements {
        &self.elements
    }

    pub(crate) fn elements_mut(&mut self) -> &mut LweElements {
        &mut self.elements
    }

    /// n or k·N.
    pub fn dimension(&self) -> LweDimension {
        match &self.elements {
            LweElements::U32(c) => c.dimension(),
            LweElements::U64(c) => c.dimension(),
        }
    }

    /// Width of its elements.
    pub fn torus(&self) -> TorusWidth {
        match &self.elements {
            LweElements::U32(_) => TorusWidth::U32,
            LweElements::U64(_) => TorusWidth::U64,
        }
    }

    /// Homomorphic addition: messages add on the torus, noise variances add.
    ///
    /// # Errors
    /// If the operands are not of one key, choice and size.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut sum = three.clone();
    /// sum.add_assign(&three)?;
    /// assert_eq!(client.decrypt(&encoding, &sum)?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_assign(&mut self, rhs: &Self) -> Result<(), TfheError> {
        self.check(rhs)?;
        match (&mut self.elements, &rhs.elements) {
            (LweElements::U32(l), LweElements::U32(r)) => l.add_assign(r)?,
            (LweElements::U64(l), LweElements::U64(r)) => l.add_assign(r)?,
            _ => return Err(width_mismatch(rhs.torus(), self.torus())),
        }
        self.bounds = self.bounds.add(&rhs.bounds);
        Ok(())
    }

    /// Homomorphic subtraction: messages subtract, noise variances add.
    ///
    /// # Errors
    /// As [`add_assign`](Self::add_assign).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut difference = three.clone();
    /// difference.sub_assign(&three)?;
    /// assert_eq!(client.decrypt(&encoding, &difference)?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sub_assign(&mut self, rhs: &Self) -> Result<(), TfheError> {
        self.check(rhs)?;
        match (&mut self.elements, &rhs.elements) {
            (LweElements::U32(l), LweElements::U32(r)) => l.sub_assign(r)?,
            (LweElements::U64(l), LweElements::U64(r)) => l.sub_assign(r)?,
            _ => return Err(width_mismatch(rhs.torus(), self.torus())),
        }
        self.bounds = self.bounds.sub(&rhs.bounds);
        Ok(())
    }

    /// Homomorphic multiplication by an integer v; the noise variance grows by v².
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut double = three.clone();
    /// double.scalar_mul_assign(2);
    /// assert_eq!(client.decrypt(&encoding, &double)?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scalar_mul_assign(&mut self, value: i32) {
        match &mut self.elements {
            LweElements::U32(c) => c.scalar_mul_assign(value),
            LweElements::U64(c) => c.scalar_mul_assign(value),
        }
        self.bounds = self.bounds.scale(value);
    }

    fn check(&self, rhs: &Self) -> Result<(), TfheError> {
        require_key_set("key tag of the second operand", rhs.key_tag, self.key_tag)?;
        // Where k·N = n the sizes do not tell the keys apart.
        if self.choice != rhs.choice {
            let what = "key choice of the second operand (0 big, 1 small)";
            let (given, expected) = (rhs.choice.code().into(), self.choice.code().into());
            return Err(TfheError::Mismatch { what, given, expected });
        }
        require_equal("LWE dimension of the second operand", rhs.dimension().0, self.dimension().0)
    }
}

pub(crate) fn width_mismatch(given: TorusWidth, expected: TorusWidth) -> TfheError {
    TfheError::Mismatch {
        what: "torus width in bits",
        given: u64::from(given.bits()),
        expected: u64::from(expected.bits()),
    }
}

/// GLWE coefficients of either width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestVectorElements {
    /// For 32-bit sets.
    U32(GlweCiphertext<u32>),
    /// For 64-bit sets.
    U64(GlweCiphertext<u64>),
}

/// A test vector of either width: a GLWE ciphertext, usually noiseless, and the encodings of the function that it
/// tabulates.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(square.torus(), TorusWidth::U64);
/// assert_eq!(TestVector::from_bytes(&square.to_bytes())?, square);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestVector {
    elements: TestVectorElements,
    encodings: Option<TableEncodings>,
}

impl TestVector {
    /// Labels GLWE coefficients with the encodings of their function, if they are known. [`Table::of`](crate::Table::of)
    /// checks the label.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let same = TestVector::new(square.elements().clone(), square.encodings());
    /// assert_eq!(same, square);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(elements: TestVectorElements, encodings: Option<TableEncodings>) -> Self {
        Self { elements, encodings }
    }

    /// The GLWE ciphertext.
    #[must_use]
    pub fn elements(&self) -> &TestVectorElements {
        &self.elements
    }

    /// The stated encodings of arguments and values; `None` if none are stated.
    #[must_use]
    pub fn encodings(&self) -> Option<TableEncodings> {
        self.encodings
    }

    /// Width of its coefficients.
    pub fn torus(&self) -> TorusWidth {
        match self.elements {
            TestVectorElements::U32(_) => TorusWidth::U32,
            TestVectorElements::U64(_) => TorusWidth::U64,
        }
    }
}
