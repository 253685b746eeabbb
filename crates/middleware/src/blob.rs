//! Blobs: names, metadata, and the modes of reads and writes.

use ciphermill_device::ObjectFlags;
use ciphermill_program::{DataId, KeyId, ParseVrIdError, TypeCode, VrId};
use std::{fmt, str::FromStr};

/// The name of a blob, valid for as long as the blob is stored: across processes, and over every transport.
///
/// The paper leaves its blob identifiers opaque. Here the name is that of the blob's virtual register, so that nothing but
/// the objects themselves has to outlive a process. As a number it has 80 bits:
/// `type << 64 | key << 32 | data`.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let id: BlobId = "3:0:2".parse()?;
/// assert_eq!(id, BlobId::new("3:0:2".parse()?));
/// assert_eq!(BlobId::from_u128(id.to_u128()), Some(id));
/// assert_eq!(id.register().to_string(), "3:0:2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(VrId);

impl BlobId {
    /// The blob in the register `register`.
    #[must_use]
    pub const fn new(register: VrId) -> Self {
        Self(register)
    }

    /// The register it lives in.
    #[must_use]
    pub const fn register(self) -> VrId {
        self.0
    }

    /// The name as a number below 2^80.
    #[must_use]
    pub const fn to_u128(self) -> u128 {
        (self.0.type_code.0 as u128) << 64 | (self.0.key_id.0 as u128) << 32 | self.0.data_id.0 as u128
    }

    /// The blob of that number; `None` from 2^80 on.
    #[must_use]
    pub const fn from_u128(number: u128) -> Option<Self> {
        if number >> 80 != 0 {
            return None;
        }
        // Each cast keeps exactly the bits of its field.
        let type_code = TypeCode((number >> 64) as u16);
        Some(Self(VrId::new(type_code, KeyId((number >> 32) as u32), DataId(number as u32))))
    }
}

impl From<VrId> for BlobId {
    fn from(register: VrId) -> Self {
        Self(register)
    }
}

impl fmt::Display for BlobId {
    /// As its register: `type:key:data`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Why a text names no blob: the name of a blob is written as that of its register.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!("3:0".parse::<BlobId>(), Err(ParseBlobIdError::Fields { found: 2 }), "the data id is missing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type ParseBlobIdError = ParseVrIdError;

impl FromStr for BlobId {
    type Err = ParseBlobIdError;

    /// Reads `type:key:data`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// The metadata of a new blob: the paper's sc_metadata (section 4.1) without the size, which follows from the content.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let metadata = Metadata::new("3:0:2".parse()?).with_flags(ObjectFlags::ARMED);
/// assert_eq!(metadata.id().to_string(), "3:0:2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Type, key id and data id.
    pub register: VrId,
    /// Its flags; see [`ReadMode::Armed`].
    pub flags: ObjectFlags,
}

impl Metadata {
    /// Metadata without flags.
    #[must_use]
    pub const fn new(register: VrId) -> Self {
        Self { register, flags: ObjectFlags::NONE }
    }

    /// The same with these flags.
    #[must_use]
    pub const fn with_flags(self, flags: ObjectFlags) -> Self {
        Self { flags, ..self }
    }

    /// The name of the blob made with it.
    #[must_use]
    pub const fn id(&self) -> BlobId {
        BlobId(self.register)
    }
}

/// Metadata of a stored blob.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let id = middleware.create(metadata).wait()?;
/// middleware.write(id, WriteMode::Stored, bytes.clone()).wait()?;
/// let BlobStat { size, flags, .. } = middleware.stat(id).wait()?;
/// assert_eq!((size, flags), (bytes.len() as u64, ObjectFlags::NONE));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobStat {
    /// Its name.
    pub id: BlobId,
    /// Its size in bytes, at least 1.
    pub size: u64,
    /// Its flags.
    pub flags: ObjectFlags,
}

/// The result of a write.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let id = middleware.create(metadata).wait()?;
/// let Written { stat, computed } = middleware.write(id, WriteMode::Stored, bytes.clone()).wait()?;
/// assert_eq!((stat.id, stat.size, computed), (id, bytes.len() as u64, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The stored blob.
    pub stat: BlobStat,
    /// Whether it is the result of a program (compute-on-write) and not the bytes that were given.
    pub computed: bool,
}

/// The result of a read into a file or sink.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let transport = EmbeddedTransport::new(space);
/// transport.write(&metadata, bytes.len() as u64, &mut bytes.as_slice(), WriteMode::Stored)?;
/// let Transferred { size, computed } = transport.read(id, ReadMode::Stored, &mut std::io::sink())?;
/// assert_eq!((size, computed), (bytes.len() as u64, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transferred {
    /// Number of bytes.
    pub size: u64,
    /// Whether they are the result of a program (compute-on-read) and not the stored bytes.
    pub computed: bool,
}

/// The result of a read into memory.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let id = middleware.create(metadata).wait()?;
/// middleware.write(id, WriteMode::Stored, bytes.clone()).wait()?;
/// let Content { bytes: read, computed } = middleware.read(id, ReadMode::Stored).wait()?;
/// assert_eq!((read, computed), (bytes, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether they are the result of a program (compute-on-read) and not the stored bytes.
    pub computed: bool,
}

/// The effect of a write on a blob whose type computes on writes.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // A program computes nothing when it is written, so both modes store the same bytes.
/// let id = middleware.create(metadata).wait()?;
/// assert!(!middleware.write(id, WriteMode::Compute, bytes.clone()).wait()?.computed);
/// assert!(!middleware.write(id, WriteMode::Stored, bytes.clone()).wait()?.computed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteMode {
    /// Runs the program of its key, if one is stored, and stores the result. Blobs of all other types are stored
    /// unchanged.
    #[default]
    Compute,
    /// Every blob is stored as it is (to restore a copy, say).
    Stored,
}

/// The effect of a read of a blob whose type computes on reads.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let id = middleware.create(metadata).wait()?;
/// middleware.write(id, WriteMode::Stored, bytes.clone()).wait()?;
/// assert_eq!(middleware.read(id, ReadMode::Stored).wait()?.bytes, bytes);
/// // A program computes nothing when it is read.
/// assert_eq!(middleware.read(id, ReadMode::Armed).wait()?.bytes, bytes);
/// assert!(middleware.read(id, ReadMode::Compute).wait().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadMode {
    /// Runs the program if and only if the type computes on reads and the blob has [`ObjectFlags::ARMED`]; any other
    /// blob is read as stored. [`ObjectFlags::ONE_SHOT`] disarms it with the first result. A plain read of the device's
    /// blocks has the same effect.
    #[default]
    Armed,
    /// Runs the program whatever the flags. An error for a type that computes nothing on reads.
    Compute,
    /// Returns the stored bytes.
    Stored,
}
