//! Ciphertexts and test vectors as they travel: with their key, key choice and torus width.

pub use ciphermill_lattice::KeyTag;

use crate::dimension::LweDimension;
use crate::error::{TfheError, require_equal};
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
}

impl Ciphertext {
    /// Labels LWE elements.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let same = Ciphertext::new(three.key_tag(), three.choice(), three.elements().clone());
    /// assert_eq!(same, three);
    /// // The client refuses a ciphertext of another key set.
    /// let other = Ciphertext::new(KeyTag(!client.tag().0), three.choice(), three.elements().clone());
    /// assert!(client.decrypt(&encoding, &other).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(key_tag: KeyTag, choice: KeyOrder, elements: LweElements) -> Self {
        Self { key_tag, choice, elements }
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
            (LweElements::U32(l), LweElements::U32(r)) => l.add_assign(r),
            (LweElements::U64(l), LweElements::U64(r)) => l.add_assign(r),
            _ => Err(width_mismatch(rhs.torus(), self.torus())),
        }
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
            (LweElements::U32(l), LweElements::U32(r)) => l.sub_assign(r),
            (LweElements::U64(l), LweElements::U64(r)) => l.sub_assign(r),
            _ => Err(width_mismatch(rhs.torus(), self.torus())),
        }
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
    }

    fn check(&self, rhs: &Self) -> Result<(), TfheError> {
        if self.key_tag != rhs.key_tag {
            let (given, expected) = (rhs.key_tag.0, self.key_tag.0);
            return Err(TfheError::Mismatch { what: "key tag of the second operand", given, expected });
        }
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

/// A test vector of either width: a GLWE ciphertext, usually noiseless.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(square.torus(), TorusWidth::U64);
/// assert_eq!(TestVector::from_bytes(&square.to_bytes())?, square);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestVector {
    /// For 32-bit sets.
    U32(GlweCiphertext<u32>),
    /// For 64-bit sets.
    U64(GlweCiphertext<u64>),
}

impl TestVector {
    /// Width of its coefficients.
    pub fn torus(&self) -> TorusWidth {
        match self {
            TestVector::U32(_) => TorusWidth::U32,
            TestVector::U64(_) => TorusWidth::U64,
        }
    }
}
