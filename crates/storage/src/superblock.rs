//! The first block of a file: magic, version, state of the creation, sizes, and the identity that ties files together.
//!
//! ```text
//! offset  bytes  field
//!      0      8  magic
//!      8      2  version
//!     10      2  state: 0 while the files are being created, 1 afterwards
//!     12      4  bytes of a block
//!     16      4  size of the format's own unit (bytes of a chunk, blocks of a stripe)
//!     20      p  zeros
//!   20+p     16  identity, drawn at random
//!   36+p      4  CRC-32C of the bytes before
//! ```
//! The rest of the block is zeros.

use crate::{FormatError, Storage, StorageError, TableError, format};
use ciphermill_wire::{Decoder, Encoder, WireError};

/// The parameters of a superblock format.
///
/// # Example
/// ```
#[doc = include_str!("example_format.txt")]
/// let block = format.encode(ready);
/// assert_eq!((format.bytes(), block.len()), (44, 512));
/// assert!(block.starts_with(&format.magic));
/// assert_eq!(format.decode(&block)?, ready);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SuperblockFormat {
    /// Name of the file in errors, such as `the data file`.
    pub file: &'static str,
    /// The first eight bytes.
    pub magic: [u8; 8],
    /// The version that this build reads and writes.
    pub version: u16,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Size of the format's own unit.
    pub unit: u32,
    /// Name of the units in errors, such as `chunks`.
    pub units: &'static str,
    /// Number of zero bytes before the identity.
    pub padding: usize,
}

/// The content of a superblock.
///
/// # Example
/// ```
#[doc = include_str!("example_format.txt")]
/// let (file, table) = (MemoryStorage::new(), MemoryStorage::new());
/// file.write_at(0, &format.encode(ready))?;
/// assert_eq!(format.read(&file, &table, "the table")?, Some(Superblock { ready: true, id: [7; 16] }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Whether the creation of the files was completed. Before, no write was ever acknowledged.
    pub ready: bool,
    /// Drawn at creation; every file of a store carries it, so that files of two stores cannot be mixed.
    pub id: [u8; 16],
}

struct Fields {
    version: u16,
    state: u16,
    block_bytes: u32,
    unit: u32,
    id: [u8; 16],
}

impl SuperblockFormat {
    /// Bytes of the superblock before the zeros that fill its block.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_format.txt")]
    /// // Only zeros follow in the block.
    /// assert!(format.encode(ready)[format.bytes()..].iter().all(|byte| *byte == 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn bytes(&self) -> usize {
        40 + self.padding
    }

    /// The block.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_format.txt")]
    /// assert_eq!(format.encode(ready).len(), 512);
    /// assert_ne!(format.encode(ready), format.encode(Superblock { ready: false, ..ready }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn encode(&self, superblock: Superblock) -> Vec<u8> {
        let mut out = Encoder::with_capacity(self.block_bytes as usize);
        out.bytes(&self.magic).u16(self.version).u16(superblock.ready.into()).u32(self.block_bytes).u32(self.unit);
        out.bytes(&vec![0; self.padding]).bytes(&superblock.id);
        let mut bytes = out.into_vec();
        format::seal(&mut bytes, &[]);
        bytes.resize(self.block_bytes as usize, 0);
        bytes
    }

    /// Reads a block.
    ///
    /// # Errors
    /// [`FormatError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_format.txt")]
    /// let block = format.encode(ready);
    /// assert_eq!(format.decode(&block)?, ready);
    /// let newer = SuperblockFormat { version: 4, ..format };
    /// assert_eq!(newer.decode(&block), Err(FormatError::Version { given: 3, supported: 4 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode(&self, bytes: &[u8]) -> Result<Superblock, FormatError> {
        let file = self.file;
        let short = || FormatError::corrupt(format!("{file} ends within its superblock"));
        let head = bytes.get(..self.bytes()).ok_or_else(short)?;
        if head[..8] != self.magic {
            return Err(FormatError::Foreign);
        }
        let fields = self.fields(&head[8..]).map_err(|_| short())?;
        // The version comes before the checksum, because another version may checksum other bytes.
        FormatError::check_version(fields.version, self.version)?;
        format::unseal(head, &[])
            .ok_or_else(|| FormatError::corrupt(format!("the superblock of {file} does not match its checksum")))?;
        let ready = match fields.state {
            0 => false,
            1 => true,
            state => return Err(FormatError::corrupt(format!("the superblock holds the unknown state {state}"))),
        };
        if (fields.block_bytes, fields.unit) != (self.block_bytes, self.unit) {
            return Err(FormatError::corrupt(format!(
                "blocks of {} bytes and {} of {}; this version has {} and {}",
                fields.block_bytes, self.units, fields.unit, self.block_bytes, self.unit
            )));
        }
        Ok(Superblock { ready, id: fields.id })
    }

    fn fields(&self, bytes: &[u8]) -> Result<Fields, WireError> {
        let mut input = Decoder::new(bytes);
        let (version, state, block_bytes, unit) = (input.u16()?, input.u16()?, input.u32()?, input.u32()?);
        input.bytes(self.padding)?;
        Ok(Fields { version, state, block_bytes, unit, id: input.array()? })
    }

    /// The superblock of `file`, or `None` when no store was created yet: both files are empty, or a crash interrupted
    /// the first write. `table` is the other file of the store, called `table_name` in errors.
    ///
    /// # Errors
    /// [`FormatError`] and the errors of the medium.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_format.txt")]
    /// let (file, table) = (MemoryStorage::new(), MemoryStorage::new());
    /// assert_eq!(format.read(&file, &table, "the table")?, None);
    /// table.write_at(0, b"a table")?;
    /// let error = format.read(&file, &table, "the table").unwrap_err();
    /// assert_eq!(error.to_string(), "damaged: there is the table, but the file is empty");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(
        &self,
        file: &dyn Storage,
        table: &dyn Storage,
        table_name: &str,
    ) -> Result<Option<Superblock>, TableError> {
        let (len, block_bytes) = (file.len()?, u64::from(self.block_bytes));
        let mut block = vec![0; len.min(block_bytes) as usize];
        file.read_at(0, &mut block)?;
        if block.iter().all(|byte| *byte == 0) && len <= block_bytes {
            if table.is_empty()? {
                return Ok(None);
            }
            return Err(FormatError::corrupt(format!("there is {table_name}, but {} is empty", self.file)).into());
        }
        Ok(Some(self.decode(&block)?))
    }

    /// Creates a store: marks `file` as being created, makes the other file with `make_table`, marks `file` as ready.
    /// Each step is durable before the next, so that a crash in between leaves a store that is created again.
    ///
    /// # Errors
    /// The errors of the medium and of `make_table`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_format.txt")]
    /// let (file, full, table) = (MemoryStorage::new(), MemoryStorage::with_capacity_limit(0), MemoryStorage::new());
    /// assert!(format.create(&file, [7; 16], || full.write_at(0, b"a table")).is_err());
    /// assert!(!format.read(&file, &full, "the table")?.ok_or("a superblock")?.ready);
    /// format.create(&file, [7; 16], || table.write_at(0, b"a table"))?;
    /// assert_eq!(format.read(&file, &table, "the table")?, Some(ready));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create<T, E: From<StorageError>>(
        &self,
        file: &dyn Storage,
        id: [u8; 16],
        make_table: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        file.write_at(0, &self.encode(Superblock { ready: false, id }))?;
        file.sync()?;
        let table = make_table()?;
        file.write_at(0, &self.encode(Superblock { ready: true, id }))?;
        file.sync()?;
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStorage;

    const FORMAT: SuperblockFormat = SuperblockFormat {
        file: "the file",
        magic: *b"MAGIC\0\0\x1a",
        version: 3,
        block_bytes: 512,
        unit: 32,
        units: "stripes",
        padding: 4,
    };

    #[test]
    fn files_without_a_store_are_told_from_damaged_ones() {
        let (file, table) = (MemoryStorage::new(), MemoryStorage::new());
        assert!(matches!(FORMAT.read(&file, &table, "a table"), Ok(None)));
        file.set_len(100).expect("room");
        assert!(matches!(FORMAT.read(&file, &table, "a table"), Ok(None)), "the first write was interrupted");
        table.set_len(1).expect("room");
        let error = FORMAT.read(&file, &table, "a table").expect_err("a table without its file").to_string();
        assert_eq!(error, "damaged: there is a table, but the file is empty");
        let id = [9; 16];
        let created: Result<u8, StorageError> = FORMAT.create(&file, id, || {
            let creating = FORMAT.read(&file, &table, "a table").expect("sound");
            assert_eq!(creating, Some(Superblock { ready: false, id }));
            Ok(7)
        });
        assert_eq!(created.expect("room"), 7);
        assert_eq!(FORMAT.read(&file, &table, "a table").expect("sound"), Some(Superblock { ready: true, id }));
    }

    #[test]
    fn other_sizes_and_versions_are_refused() {
        let bytes = FORMAT.encode(Superblock { ready: true, id: [1; 16] });
        let other = SuperblockFormat { unit: 16, ..FORMAT };
        assert!(matches!(other.decode(&bytes), Err(FormatError::Corrupt { .. })));
        let other = SuperblockFormat { version: 2, ..FORMAT };
        assert_eq!(other.decode(&bytes), Err(FormatError::Version { given: 3, supported: 2 }));
        let other = SuperblockFormat { magic: *b"OTHER\0\0\x1a", ..FORMAT };
        assert_eq!(other.decode(&bytes), Err(FormatError::Foreign));
    }
}
