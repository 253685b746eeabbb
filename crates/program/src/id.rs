//! The names of virtual registers: type, key, data.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// What a virtual register holds: the Type field of an object's metadata (paper, Table 2).
///
/// Codes 0–4 are the paper's, 5–8 are BFV objects and 9–15 set aside for more of them, 16–19 are Paillier objects and 20–31
/// set aside for more of them; all others are free.
/// The newtype is open on purpose: whether a code is *supported* is for the device's handlers to say, not for this crate.
/// There is no code for a secret key, so no device can be made to hold one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeCode(pub u16);

impl TypeCode {
    /// A secure-computing program (the program register).
    pub const PRG: Self = Self(0);
    /// A test vector: the function that a programmable bootstrap evaluates.
    pub const TV: Self = Self(1);
    /// A public evaluation key; the data id says which ([`DataId::BOOTSTRAPPING_KEY`] and its siblings).
    pub const KEY: Self = Self(2);
    /// A TLWE ciphertext; reading it runs the program (compute-on-read).
    pub const TLWE_COR: Self = Self(3);
    /// A TLWE ciphertext; writing it runs the program (compute-on-write).
    pub const TLWE_COW: Self = Self(4);
    /// A public evaluation key of BFV; the data id says which ([`DataId::GALOIS_KEYS`]).
    pub const BFV_KEY: Self = Self(5);
    /// A plain matrix for products with encrypted vectors, with the plan of the product.
    pub const BFV_MATRIX: Self = Self(6);
    /// A vector encrypted by BFV, or a product of a matrix with one; reading it runs the program.
    pub const BFV_COR: Self = Self(7);
    /// A vector encrypted by BFV, or a product of a matrix with one; writing it runs the program.
    pub const BFV_COW: Self = Self(8);
    /// A public key of Paillier ([`DataId::PAILLIER_PUBLIC_KEY`]).
    pub const PAILLIER_KEY: Self = Self(16);
    /// A matrix of public integers, for Paillier ciphertexts to be multiplied with, or added to.
    pub const PAILLIER_WEIGHTS: Self = Self(17);
    /// A vector of Paillier ciphertexts; reading it runs the program.
    pub const PAILLIER_COR: Self = Self(18);
    /// A vector of Paillier ciphertexts; writing it runs the program.
    pub const PAILLIER_COW: Self = Self(19);

    /// Whether reading an object of the type can run the program of its key (compute-on-read).
    #[must_use]
    pub const fn computes_on_reads(self) -> bool {
        matches!(self, Self::TLWE_COR | Self::BFV_COR | Self::PAILLIER_COR)
    }

    /// The kind of object the code stands for.
    #[must_use]
    pub const fn class(self) -> TypeClass {
        match self.0 {
            0 => TypeClass::Program,
            1 => TypeClass::TestVector,
            2 => TypeClass::Key,
            3 | 4 => TypeClass::Tlwe,
            5 => TypeClass::BfvKey,
            6 => TypeClass::BfvMatrix,
            7 | 8 => TypeClass::BfvVector,
            9..=15 => TypeClass::Bfv,
            16 => TypeClass::PaillierKey,
            17 => TypeClass::PaillierWeights,
            18 | 19 => TypeClass::PaillierVector,
            20..=31 => TypeClass::Paillier,
            _ => TypeClass::Unassigned,
        }
    }
}

impl fmt::Display for TypeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Type codes grouped by the kind of object, which is what an instruction asks of an operand: both TLWE codes name the
/// same ciphertext and differ only in what triggers the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeClass {
    /// Code 0.
    Program,
    /// Code 1.
    TestVector,
    /// Code 2.
    Key,
    /// Codes 3 and 4.
    Tlwe,
    /// Code 5.
    BfvKey,
    /// Code 6.
    BfvMatrix,
    /// Codes 7 and 8.
    BfvVector,
    /// Codes 9–15.
    Bfv,
    /// Code 16.
    PaillierKey,
    /// Code 17.
    PaillierWeights,
    /// Codes 18 and 19.
    PaillierVector,
    /// Codes 20–31.
    Paillier,
    /// Codes from 32.
    Unassigned,
}

impl TypeClass {
    /// Whether registers of the class hold ciphertexts, which programs move, write and return.
    #[must_use]
    pub const fn is_ciphertext(self) -> bool {
        matches!(self, Self::Tlwe | Self::BfvVector | Self::PaillierVector)
    }
}

impl fmt::Display for TypeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program => "a program (type 0)",
            Self::TestVector => "a test vector (type 1)",
            Self::Key => "a key (type 2)",
            Self::Tlwe => "a TLWE ciphertext (type 3 or 4)",
            Self::BfvKey => "a BFV key (type 5)",
            Self::BfvMatrix => "a plain matrix (type 6)",
            Self::BfvVector => "an encrypted vector (type 7 or 8)",
            Self::Bfv => "of an unassigned BFV type (9 to 15)",
            Self::PaillierKey => "a Paillier key (type 16)",
            Self::PaillierWeights => "a matrix of public weights (type 17)",
            Self::PaillierVector => "a Paillier vector (type 18 or 19)",
            Self::Paillier => "of an unassigned Paillier type (20 to 31)",
            Self::Unassigned => "of an unassigned type (from 32)",
        })
    }
}

/// The set of keys an object belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub u32);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Tells objects of one type and key apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataId(pub u32);

impl DataId {
    /// Of a [`TypeCode::KEY`]: the bootstrapping key (paper, Table 3).
    pub const BOOTSTRAPPING_KEY: Self = Self(1);
    /// Of a [`TypeCode::KEY`]: the (public functional) key-switching key.
    pub const KEY_SWITCHING_KEY: Self = Self(2);
    /// Of a [`TypeCode::KEY`]: the private-functional key-switching key.
    pub const PRIVATE_KEY_SWITCHING_KEY: Self = Self(3);
    /// Of a [`TypeCode::BFV_KEY`]: the Galois keys of matrix-vector products.
    pub const GALOIS_KEYS: Self = Self(1);
    /// Of a [`TypeCode::PAILLIER_KEY`]: the public key.
    pub const PAILLIER_PUBLIC_KEY: Self = Self(1);
    /// The lowest data id that the assembler gives to a register it names itself; the range runs to `u32::MAX`, so it
    /// holds as many temporaries as a program can have instructions ([`crate::MAX_INSTRUCTIONS`]).
    pub const FIRST_TEMPORARY: Self = Self(0xFFFF_0000);

    /// Whether the id lies in the range of the assembler's temporaries.
    #[must_use]
    pub const fn is_temporary(self) -> bool {
        self.0 >= Self::FIRST_TEMPORARY.0
    }
}

impl fmt::Display for DataId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The name of a virtual register, written `type:key:data` in decimal, as in `3:0:2` (paper, section 4.2).
///
/// The order is that of the tuple (type, key, data).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VrId {
    /// What the register holds.
    pub type_code: TypeCode,
    /// The set of keys it belongs to.
    pub key_id: KeyId,
    /// Which of the objects of that type and key it is.
    pub data_id: DataId,
}

impl VrId {
    /// The register `type_code:key_id:data_id`.
    #[must_use]
    pub const fn new(type_code: TypeCode, key_id: KeyId, data_id: DataId) -> Self {
        Self { type_code, key_id, data_id }
    }

    /// The bootstrapping key of `key_id`.
    #[must_use]
    pub const fn bootstrapping_key(key_id: KeyId) -> Self {
        Self::new(TypeCode::KEY, key_id, DataId::BOOTSTRAPPING_KEY)
    }

    /// The key-switching key of `key_id`.
    #[must_use]
    pub const fn key_switching_key(key_id: KeyId) -> Self {
        Self::new(TypeCode::KEY, key_id, DataId::KEY_SWITCHING_KEY)
    }

    /// The Galois keys of `key_id`.
    #[must_use]
    pub const fn galois_keys(key_id: KeyId) -> Self {
        Self::new(TypeCode::BFV_KEY, key_id, DataId::GALOIS_KEYS)
    }

    /// The Paillier public key of `key_id`.
    #[must_use]
    pub const fn paillier_public_key(key_id: KeyId) -> Self {
        Self::new(TypeCode::PAILLIER_KEY, key_id, DataId::PAILLIER_PUBLIC_KEY)
    }

    /// The kind of object the register holds.
    #[must_use]
    pub const fn class(self) -> TypeClass {
        self.type_code.class()
    }
}

impl fmt::Display for VrId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.type_code, self.key_id, self.data_id)
    }
}

/// Why a text is not the name of a virtual register.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseVrIdError {
    /// Not three fields.
    #[error("found {found} field(s), expected three numbers `type:key:data`, as in `3:0:2`")]
    Fields {
        /// How many fields, separated by colons, there are.
        found: usize,
    },
    /// A field is not a decimal number in range.
    #[error("the {field} `{text}` is not a decimal number from 0 to {max}")]
    Field {
        /// `type`, `key id` or `data id`.
        field: &'static str,
        /// What stands there.
        text: String,
        /// The largest value of the field.
        max: u32,
    },
}

impl FromStr for VrId {
    type Err = ParseVrIdError;

    /// Reads `type:key:data`: three decimal numbers without sign or space.
    fn from_str(text: &str) -> Result<Self, ParseVrIdError> {
        let mut fields = text.split(':');
        let (Some(type_code), Some(key_id), Some(data_id), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(ParseVrIdError::Fields { found: text.split(':').count() });
        };
        // In range by the bound passed to `field`.
        let type_code = field(type_code, "type", u32::from(u16::MAX))? as u16;
        let key_id = field(key_id, "key id", u32::MAX)?;
        let data_id = field(data_id, "data id", u32::MAX)?;
        Ok(Self::new(TypeCode(type_code), KeyId(key_id), DataId(data_id)))
    }
}

fn field(text: &str, field: &'static str, max: u32) -> Result<u32, ParseVrIdError> {
    // `u32::from_str` takes a leading `+`; a register has exactly one spelling but for leading zeros.
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u32>() {
        Ok(value) if digits && value <= max => Ok(value),
        _ => Err(ParseVrIdError::Field { field, text: text.to_owned(), max }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_reads_as_it_prints() {
        for text in ["0:0:0", "3:0:2", "65535:4294967295:4294967295"] {
            assert_eq!(text.parse::<VrId>().unwrap().to_string(), text);
        }
        assert_eq!(
            "3:7:2".parse::<VrId>().unwrap(),
            VrId { type_code: TypeCode::TLWE_COR, key_id: KeyId(7), data_id: DataId(2) }
        );
    }

    #[test]
    fn the_order_is_type_then_key_then_data() {
        let sorted = ["2:9:9", "3:0:1", "3:0:2", "3:1:0", "4:0:0"].map(|text| text.parse::<VrId>().unwrap());
        assert!(sorted.is_sorted());
    }

    #[test]
    fn what_is_no_register_is_refused_with_its_field() {
        let message = |text: &str| text.parse::<VrId>().unwrap_err().to_string();
        assert_eq!(message("3:0"), "found 2 field(s), expected three numbers `type:key:data`, as in `3:0:2`");
        assert!(message("3:0:2:1").starts_with("found 4 field(s)"));
        assert_eq!(message("65536:0:0"), "the type `65536` is not a decimal number from 0 to 65535");
        assert_eq!(message("3:4294967296:0"), "the key id `4294967296` is not a decimal number from 0 to 4294967295");
        assert_eq!(message("3:0:+2"), "the data id `+2` is not a decimal number from 0 to 4294967295");
        assert!(message("3::2").contains("the key id ``"));
        assert!(message("3: 0:2").contains("the key id ` 0`"));
    }

    #[test]
    fn type_codes_fall_into_their_ranges() {
        let class = |code| TypeCode(code).class();
        use TypeClass::*;
        let bfv = [BfvKey, BfvMatrix, BfvVector, BfvVector, Bfv];
        assert_eq!([0, 1, 2, 3, 4].map(class), [Program, TestVector, Key, Tlwe, Tlwe]);
        assert_eq!([5, 6, 7, 8, 9].map(class), bfv);
        assert_eq!([16, 17, 18, 19].map(class), [PaillierKey, PaillierWeights, PaillierVector, PaillierVector]);
        assert_eq!([15, 20, 31, 32, u16::MAX].map(class), [Bfv, Paillier, Paillier, Unassigned, Unassigned]);
    }
}
