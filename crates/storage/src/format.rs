//! Checksums of stored records, and the errors of a format.

/// Errors of stored bytes.
///
/// # Example
/// ```
/// use ciphermill_storage::FormatError;
///
/// let error = FormatError::Version { given: 3, supported: 2 };
/// assert!(error.to_string().contains("version 3"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The file has another magic.
    #[error("the file is of another format")]
    Foreign,
    /// The record has another version.
    #[error("the format has version {given}, this build reads version {supported}")]
    Version {
        /// Version found.
        given: u16,
        /// Version this build reads and writes.
        supported: u16,
    },
    /// The record is damaged.
    #[error("damaged: {what}")]
    Corrupt {
        /// The finding.
        what: String,
    },
}

impl FormatError {
    /// A damaged record.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::FormatError;
    ///
    /// assert_eq!(FormatError::corrupt("row 7 is short").to_string(), "damaged: row 7 is short");
    /// ```
    pub fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    /// Refuses every version except `supported`.
    ///
    /// # Errors
    /// [`FormatError::Version`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::FormatError;
    ///
    /// assert_eq!(FormatError::check_version(2, 2), Ok(()));
    /// assert_eq!(FormatError::check_version(3, 2), Err(FormatError::Version { given: 3, supported: 2 }));
    /// ```
    pub fn check_version(given: u16, supported: u16) -> Result<(), Self> {
        if given == supported { Ok(()) } else { Err(Self::Version { given, supported }) }
    }
}

/// Appends the CRC-32C of `context` followed by `bytes`. The context binds a record to its key, so that a record under
/// another key does not pass.
///
/// # Example
/// ```
/// use ciphermill_storage::{seal, unseal};
///
/// let mut record = b"record".to_vec();
/// seal(&mut record, b"key 7");
/// assert_eq!(unseal(&record, b"key 7"), Some(&b"record"[..]));
/// // The record does not pass under another key.
/// assert_eq!(unseal(&record, b"key 8"), None);
/// ```
pub fn seal(bytes: &mut Vec<u8>, context: &[u8]) {
    let crc = crc32c::crc32c_append(crc32c::crc32c(context), bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
}

/// The bytes before their checksum, or `None` if the checksum is wrong.
///
/// # Example
/// ```
/// use ciphermill_storage::{seal, unseal};
///
/// let mut record = b"record".to_vec();
/// seal(&mut record, b"");
/// assert_eq!(unseal(&record, b""), Some(&b"record"[..]));
/// record[0] ^= 1;
/// assert_eq!(unseal(&record, b""), None);
/// ```
#[must_use]
pub fn unseal<'a>(bytes: &'a [u8], context: &[u8]) -> Option<&'a [u8]> {
    let (body, crc) = bytes.split_last_chunk::<4>()?;
    (crc32c::crc32c_append(crc32c::crc32c(context), body) == u32::from_le_bytes(*crc)).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_another_context_are_refused() {
        let mut sealed = b"record".to_vec();
        seal(&mut sealed, b"key");
        assert_eq!(unseal(&sealed, b"key"), Some(&b"record"[..]));
        assert_eq!(unseal(&sealed, b"other"), None);
        assert_eq!(unseal(b"abc", b""), None);
        for bit in 0..sealed.len() * 8 {
            let mut damaged = sealed.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unseal(&damaged, b"key"), None, "bit {bit}");
        }
    }
}
