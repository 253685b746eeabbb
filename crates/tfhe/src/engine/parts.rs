//! Parts of a server key, as an engine receives them.

use std::fmt;
use std::io::Read;

/// The number of a key part, equal to its data id on the device. The list is open: a later part is a later number.
///
/// # Example
/// ```
/// use ciphermill_tfhe::KeyPartId;
///
/// assert_eq!(KeyPartId::KEYSWITCH.to_string(), "the key-switching key (part 2)");
/// assert_eq!(KeyPartId(7).to_string(), "part 7");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPartId(pub u32);

impl KeyPartId {
    /// The bootstrapping key.
    pub const BOOTSTRAP: Self = Self(1);
    /// The key-switching key.
    pub const KEYSWITCH: Self = Self(2);
    /// The conversion key, of parameter sets with words.
    pub const CONVERSION: Self = Self(3);
}

impl fmt::Display for KeyPartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BOOTSTRAP => f.write_str("the bootstrapping key (part 1)"),
            Self::KEYSWITCH => f.write_str("the key-switching key (part 2)"),
            Self::CONVERSION => f.write_str("the conversion key (part 3)"),
            Self(other) => write!(f, "part {other}"),
        }
    }
}

/// One part of a server key: a sealed object and its number.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
#[doc = include_str!("../example_server.txt")]
/// let parts = vec![KeyPart::bootstrap(&bootstrap), KeyPart::keyswitch(&keyswitch)];
/// assert_eq!(parts[1].size, keyswitch.len() as u64);
/// let key = CpuEngine::new(Backend::Fft).prepare(parts, policy, &mut |_, _| ())?;
/// assert_eq!(key.tag(), client.tag());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct KeyPart<'a> {
    /// Which part it is.
    pub id: KeyPartId,
    /// Size of the sealed object in bytes. Engines read no more than that.
    pub size: u64,
    /// The sealed object.
    pub content: Box<dyn Read + Send + 'a>,
}

impl fmt::Debug for KeyPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyPart({}, {} bytes)", self.id, self.size)
    }
}

/// Errors of a list of key parts.
///
/// # Example
/// ```
/// use ciphermill_tfhe::{KeyPart, KeyPartError, KeyPartId};
///
/// let twice = vec![KeyPart::bootstrap(b"one"), KeyPart::bootstrap(b"one")];
/// let error = KeyPart::select(twice, [KeyPartId::BOOTSTRAP]).unwrap_err();
/// assert_eq!(error, KeyPartError::Repeated(KeyPartId::BOOTSTRAP));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyPartError {
    /// A part that the engine needs is not in the list.
    #[error("{0} of the server key is missing; give all parts")]
    Missing(KeyPartId),
    /// A part is in the list more than once.
    #[error("{0} of the server key was given twice; give it once")]
    Repeated(KeyPartId),
    /// The engine has no use for a part.
    #[error("this engine does not know {0} of a server key; leave it out, or use an engine that needs it")]
    Unknown(KeyPartId),
}

impl<'a> KeyPart<'a> {
    /// A part that is in memory.
    ///
    /// # Example
    /// ```
    /// use ciphermill_tfhe::{KeyPart, KeyPartId};
    ///
    /// let part = KeyPart::new(KeyPartId::BOOTSTRAP, b"sealed");
    /// assert_eq!((part.id, part.size), (KeyPartId::BOOTSTRAP, 6));
    /// ```
    #[must_use]
    pub fn new(id: KeyPartId, sealed: &'a [u8]) -> Self {
        Self { id, size: sealed.len() as u64, content: Box::new(sealed) }
    }

    /// A bootstrapping key that is in memory.
    #[must_use]
    pub fn bootstrap(sealed: &'a [u8]) -> Self {
        Self::new(KeyPartId::BOOTSTRAP, sealed)
    }

    /// A key-switching key that is in memory.
    #[must_use]
    pub fn keyswitch(sealed: &'a [u8]) -> Self {
        Self::new(KeyPartId::KEYSWITCH, sealed)
    }

    /// The content, as far as [`size`](Self::size) reaches.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    #[doc = include_str!("../example_server.txt")]
    /// let part = KeyPart::keyswitch(&keyswitch);
    /// assert_eq!(validate_key(KeyKind::Keyswitch, part.into_reader(), policy)?.tag(), client.tag());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn into_reader(self) -> impl Read + Send + 'a {
        self.content.take(self.size)
    }

    /// Takes a part out of the list; `None` if the list does not have it.
    ///
    /// # Errors
    /// If the list has it twice.
    ///
    /// # Example
    /// ```
    /// use ciphermill_tfhe::engine::{KeyPart, KeyPartError, KeyPartId};
    ///
    /// let mut parts = vec![KeyPart::keyswitch(b"two"), KeyPart::bootstrap(b"one")];
    /// assert!(KeyPart::take(&mut parts, KeyPartId::CONVERSION)?.is_none());
    /// assert!(KeyPart::take(&mut parts, KeyPartId::KEYSWITCH)?.is_some());
    /// assert_eq!(parts.len(), 1);
    /// # Ok::<(), KeyPartError>(())
    /// ```
    pub fn take(parts: &mut Vec<KeyPart<'a>>, id: KeyPartId) -> Result<Option<KeyPart<'a>>, KeyPartError> {
        let Some(place) = parts.iter().position(|part| part.id == id) else { return Ok(None) };
        let part = parts.remove(place);
        if parts.iter().any(|part| part.id == id) { Err(KeyPartError::Repeated(id)) } else { Ok(Some(part)) }
    }

    /// The wanted parts, in the order in which they are wanted.
    ///
    /// # Errors
    /// If the list lacks one of them, has one twice, or has another part.
    ///
    /// # Example
    /// ```
    /// use ciphermill_tfhe::engine::{KeyPart, KeyPartError, KeyPartId};
    ///
    /// let wanted = [KeyPartId::BOOTSTRAP, KeyPartId::KEYSWITCH];
    /// let parts = vec![KeyPart::keyswitch(b"two"), KeyPart::bootstrap(b"one")];
    /// let [bootstrap, keyswitch] = KeyPart::select(parts, wanted)?;
    /// assert_eq!((bootstrap.id.0, keyswitch.id.0), (1, 2));
    ///
    /// let missing = KeyPart::select(vec![KeyPart::bootstrap(b"one")], wanted).unwrap_err();
    /// assert_eq!(missing, KeyPartError::Missing(KeyPartId::KEYSWITCH));
    /// # Ok::<(), KeyPartError>(())
    /// ```
    pub fn select<const N: usize>(
        parts: Vec<KeyPart<'a>>,
        wanted: [KeyPartId; N],
    ) -> Result<[KeyPart<'a>; N], KeyPartError> {
        let mut found: [Option<KeyPart<'a>>; N] = std::array::from_fn(|_| None);
        for part in parts {
            let Some(place) = wanted.iter().position(|&id| id == part.id) else {
                return Err(KeyPartError::Unknown(part.id));
            };
            let id = part.id;
            if found[place].replace(part).is_some() {
                return Err(KeyPartError::Repeated(id));
            }
        }
        let mut missing = wanted.iter().zip(&found).filter(|(_, part)| part.is_none());
        match missing.next() {
            Some((&id, _)) => Err(KeyPartError::Missing(id)),
            None => Ok(found.map(|part| part.expect("every part was found"))),
        }
    }
}
