//! Byte formats of ciphertexts and test vectors, which state the encodings of their messages from version 2 of the body.

use ciphermill_wire::{Decoder, Encoder, open, seal, sealed_len};

use super::{
    CIPHERTEXT, CIPHERTEXT_HEADERS, CIPHERTEXT_VERSION, GLWE, GLWE_HEADERS, GLWE_VERSION, MAX_CIPHERTEXT_LEN,
    MAX_GLWE_LEN, elements, put_elements,
};
use crate::bounds::{Bounds, TableEncodings};
use crate::ciphertext::{Ciphertext, KeyTag, LweElements, TestVector, TestVectorElements};
use crate::encoding::Encoding;
use crate::error::{TfheError, require_range};
use crate::glwe::GlweCiphertext;
use crate::lwe::LweCiphertext;
use crate::parameters::{KeyOrder, ParameterSpec, TorusWidth};
use crate::range::MessageRange;

/// Writes the bounds, if any are stated, and gives the version of the body.
fn encode_bounds(bounds: &Bounds, out: &mut Encoder) -> u16 {
    let Some(variance) = bounds.variance() else { return 1 };
    let (places, min, max) = bounds.range().map_or((0, 0, 0), |range| (range.places(), range.min(), range.max()));
    out.u32(places as u32).u32(min as i32 as u32).u32(max as i32 as u32).u32(0).f64(variance);
    CIPHERTEXT_VERSION
}

fn decode_bounds(input: &mut Decoder<'_>) -> Result<Bounds, TfheError> {
    let places = input.u32()?;
    let (min, max) = (signed(input)?, signed(input)?);
    require_range("reserved field", u64::from(input.u32()?), 0, 0)?;
    let variance = input.f64()?;
    let range = match places {
        0 => {
            require_range("range without places", u64::from((min, max) != (0, 0)), 0, 0)?;
            None
        }
        places => Some(MessageRange::new(places.into(), min, max)?),
    };
    Bounds::new(range, variance).ok_or(TfheError::Variance { given: variance })
}

/// Writes both encodings: the ends of both intervals, then both padding bits.
pub(super) fn encode_encodings(encodings: &TableEncodings, out: &mut Encoder) {
    let TableEncodings { input, output } = encodings;
    for encoding in [input, output] {
        out.u32(encoding.min() as i32 as u32).u32(encoding.max() as i32 as u32);
    }
    out.u8(input.padding().into()).u8(output.padding().into()).u16(0).u32(0);
}

pub(super) fn decode_encodings(input: &mut Decoder<'_>) -> Result<TableEncodings, TfheError> {
    let ends = [signed(input)?, signed(input)?, signed(input)?, signed(input)?];
    let paddings = [input.u8()?, input.u8()?];
    for padding in paddings {
        require_range("padding bit", u64::from(padding), 0, 1)?;
    }
    require_range("reserved field", u64::from(input.u16()?), 0, 0)?;
    require_range("reserved field", u64::from(input.u32()?), 0, 0)?;
    Ok(TableEncodings {
        input: Encoding::new(ends[0], ends[1], paddings[0] == 1)?,
        output: Encoding::new(ends[2], ends[3], paddings[1] == 1)?,
    })
}

/// A 32-bit integer in two's complement.
fn signed(input: &mut Decoder<'_>) -> Result<i64, TfheError> {
    Ok(i64::from(input.u32()? as i32))
}

impl ParameterSpec {
    /// Bytes of a sealed ciphertext under the chosen key, in the newest version of its body.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!(three.to_bytes().len() as u64, parameters.sealed_ciphertext_len(KeyOrder::Big));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sealed_ciphertext_len(&self, choice: KeyOrder) -> u64 {
        self.sealed_ciphertext_lens(choice)[1]
    }

    /// The same for each version of the body, from 1.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let [first, newest] = parameters.sealed_ciphertext_lens(KeyOrder::Small);
    /// assert_eq!((first, newest), (432, 456));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sealed_ciphertext_lens(&self, choice: KeyOrder) -> [u64; 2] {
        let width = match choice {
            KeyOrder::Small => TorusWidth::U32,
            KeyOrder::Big => self.torus,
        };
        let elements = self.lwe_dimension_of(choice).lwe_size() * width.bytes();
        CIPHERTEXT_HEADERS.map(|header| sealed_len(header + elements as u64))
    }

    /// Bytes of a sealed test vector, in the newest version of its body.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!(square.to_bytes().len() as u64, parameters.sealed_test_vector_len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sealed_test_vector_len(&self) -> u64 {
        self.sealed_test_vector_lens()[1]
    }

    /// The same for each version of the body, from 1.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!(parameters.sealed_test_vector_lens(), [16_420, 16_444]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sealed_test_vector_lens(&self) -> [u64; 2] {
        let elements = self.glwe_dimension.glwe_size() * self.polynomial_size.get() * self.torus.bytes();
        GLWE_HEADERS.map(|header| sealed_len(header + elements as u64))
    }
}

impl Ciphertext {
    /// The sealed ciphertext, in version 1 of its body if it states no bounds ([`Bounds::UNSTATED`]).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!(Ciphertext::from_bytes(&three.to_bytes())?, three);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Encoder::with_capacity(64);
        out.u64(self.key_tag().0);
        out.u8(self.choice().code());
        out.u8(self.torus().bits() as u8).u16(0).u32(self.dimension().0 as u32);
        let version = encode_bounds(&self.bounds(), &mut out);
        match self.elements() {
            LweElements::U32(c) => put_elements(&mut out, c.elements()),
            LweElements::U64(c) => put_elements(&mut out, c.elements()),
        }
        seal(CIPHERTEXT, version, &out.into_vec())
    }

    /// Reads a sealed ciphertext. Whether it fits a parameter set is for
    /// [`ParameterSet::check_ciphertext`](crate::ParameterSet::check_ciphertext) to say, and the bounds are the maker's.
    ///
    /// # Errors
    /// If it is malformed.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let mut bytes = three.to_bytes();
    /// assert_eq!(Ciphertext::from_bytes(&bytes)?, three);
    /// // The checksum detects a damaged byte.
    /// bytes[100] ^= 1;
    /// assert!(Ciphertext::from_bytes(&bytes).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TfheError> {
        let (version, mut input) = open(bytes, CIPHERTEXT, 1..=CIPHERTEXT_VERSION, MAX_CIPHERTEXT_LEN)?;
        let tag = KeyTag(input.u64()?);
        let choice = match input.u8()? {
            0 => KeyOrder::Big,
            1 => KeyOrder::Small,
            given => {
                return Err(TfheError::Field { what: "key choice", given: u64::from(given), min: 0, max: 1 });
            }
        };
        let width = TorusWidth::from_bits(input.u8()?)?;
        require_range("reserved field", u64::from(input.u16()?), 0, 0)?;
        let dimension = input.u32()?;
        require_range("LWE dimension", u64::from(dimension), 1, 131_072)?;
        let bounds = if version > 1 { decode_bounds(&mut input)? } else { Bounds::UNSTATED };
        let size = dimension as usize + 1;
        let elements = match width {
            TorusWidth::U32 => LweElements::U32(LweCiphertext::from_elements(elements(&mut input, size)?)),
            TorusWidth::U64 => LweElements::U64(LweCiphertext::from_elements(elements(&mut input, size)?)),
        };
        input.finish()?;
        Ok(Self::new(tag, choice, elements).with_bounds(bounds))
    }
}

impl TestVector {
    /// The sealed test vector, in version 1 of its body if it states no encodings.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let same = TestVector::from_bytes(&square.to_bytes())?;
    /// assert!(parameters.check_test_vector(&same).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let encodings = self.encodings();
        let mut out = Encoder::with_capacity(64);
        match self.elements() {
            TestVectorElements::U32(v) => v.encode(encodings.as_ref(), &mut out),
            TestVectorElements::U64(v) => v.encode(encodings.as_ref(), &mut out),
        }
        seal(GLWE, if encodings.is_some() { GLWE_VERSION } else { 1 }, &out.into_vec())
    }

    /// Reads a sealed test vector. Whether it fits a parameter set is for
    /// [`ParameterSet::check_test_vector`](crate::ParameterSet::check_test_vector) to say, and whether it is
    /// a table of the stated encodings for [`Table::of`](crate::Table::of).
    ///
    /// # Errors
    /// If it is malformed.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!(TestVector::from_bytes(&square.to_bytes())?, square);
    /// // A ciphertext is not a test vector.
    /// assert!(TestVector::from_bytes(&three.to_bytes()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TfheError> {
        let (version, mut input) = open(bytes, GLWE, 1..=GLWE_VERSION, MAX_GLWE_LEN)?;
        let width = TorusWidth::from_bits(input.u8()?)?;
        let (elements, encodings) = match width {
            TorusWidth::U32 => {
                let (elements, encodings) = GlweCiphertext::decode(version, input)?;
                (TestVectorElements::U32(elements), encodings)
            }
            TorusWidth::U64 => {
                let (elements, encodings) = GlweCiphertext::decode(version, input)?;
                (TestVectorElements::U64(elements), encodings)
            }
        };
        Ok(TestVector::new(elements, encodings))
    }
}
