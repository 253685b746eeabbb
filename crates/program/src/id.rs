//! The names of virtual registers: type, key, data.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The type of the object in a register: the Type field of the object's metadata (paper, Table 2).
///
/// The newtype is open: a scheme's [`ObjectClass`](crate::ObjectClass)es give its codes their meaning, and an
/// [`InstructionSet`](crate::InstructionSet) knows the codes of its schemes. No scheme has a code for a secret key.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(set.class(TypeCode(3)).to_string(), "a TLWE ciphertext (type 3 or 4)");
/// assert_eq!(set.class(TypeCode::PRG).to_string(), "a program (type 0)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeCode(pub u16);

impl TypeCode {
    /// A secure-computing program (the program register). The only code that is not a scheme's.
    pub const PRG: Self = Self(0);
}

impl fmt::Display for TypeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The set of keys that an object belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub u32);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Distinguishes objects of one type and key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataId(pub u32);

impl DataId {
    /// The lowest data id that the assembler gives to a register it names itself; the range runs to `u32::MAX`, so it
    /// holds as many temporaries as a program can have instructions ([`crate::MAX_INSTRUCTIONS`]).
    pub const FIRST_TEMPORARY: Self = Self(0xFFFF_0000);

    /// Whether the id lies in the range of the assembler's temporaries.
    ///
    /// # Example
    /// ```
    /// use ciphermill_program::DataId;
    ///
    /// assert!(DataId::FIRST_TEMPORARY.is_temporary());
    /// assert!(!DataId(2).is_temporary());
    /// ```
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
///
/// # Example
/// ```
/// use ciphermill_program::{DataId, KeyId, TypeCode, VrId};
///
/// let register: VrId = "3:0:2".parse()?;
/// assert_eq!(register, VrId { type_code: TypeCode(3), key_id: KeyId(0), data_id: DataId(2) });
/// assert!("65536:0:2".parse::<VrId>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VrId {
    /// The type of its object.
    pub type_code: TypeCode,
    /// The set of keys it belongs to.
    pub key_id: KeyId,
    /// Which of the objects of that type and key it is.
    pub data_id: DataId,
}

impl VrId {
    /// The register `type_code:key_id:data_id`.
    ///
    /// # Example
    /// ```
    /// use ciphermill_program::{DataId, KeyId, TypeCode, VrId};
    ///
    /// assert_eq!(VrId::new(TypeCode(3), KeyId(0), DataId(2)).to_string(), "3:0:2");
    /// ```
    #[must_use]
    pub const fn new(type_code: TypeCode, key_id: KeyId, data_id: DataId) -> Self {
        Self { type_code, key_id, data_id }
    }
}

impl fmt::Display for VrId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.type_code, self.key_id, self.data_id)
    }
}

/// A text that is not the name of a virtual register.
///
/// # Example
/// ```
/// use ciphermill_program::{ParseVrIdError, VrId};
///
/// assert_eq!("3:0".parse::<VrId>(), Err(ParseVrIdError::Fields { found: 2 }));
/// assert!(matches!("3:0:x".parse::<VrId>(), Err(ParseVrIdError::Field { field: "data id", .. })));
/// ```
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
        /// The given text.
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
            VrId { type_code: TypeCode(3), key_id: KeyId(7), data_id: DataId(2) }
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
}
