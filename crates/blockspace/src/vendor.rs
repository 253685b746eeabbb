//! The vendor's I/O commands on objects in their wire form: the requests of the middleware beyond blocks.
//!
//! Blocks alone name no version: a large object read with several commands may be replaced between two of them, and two
//! hosts that look for room may find the same. So there are commands to reserve the blocks of a new object and to hold one
//! version of an object while it is read. All move data to the host or none.
//!
//! | opcode | command | dwords 10 to 15 | data to the host |
//! | --- | --- | --- | --- |
//! | C2h | directory | see the directory | header and entries |
//! | C6h | [`Reserve`] | type and flags, key, data, size (2), CRC-32C | [`Reserved`] |
//! | CAh | [`OpenObject`] | type and mode, key, data, 0, 0, 0 | [`Opened`], then the first bytes of the object |
//! | CEh | [`ReadObject`] | session (2), offset (2), 0, 0 | bytes of the object from the offset |
//! | C8h | [`CloseObject`] | session (2), 0, 0, 0, 0 | none |
//! | CCh | [`Release`] | block (2), type, key, data, 0 | none |
//! | D0h | [`DeleteObject`] | type, key, data, 0, 0, 0 | none |
//!
//! Numbers of two dwords have the lower one first; records are little-endian.

use ciphermill_nvme::{VendorCommand, VendorOpcode};
use ciphermill_program::{DataId, KeyId, Metadata, TypeCode, VrId};
use std::num::NonZeroU32;

/// Opcode: lists objects.
pub const OPCODE_DIRECTORY: u8 = 0xc2;
/// Opcode of [`Reserve`].
pub const OPCODE_RESERVE: u8 = 0xc6;
/// Opcode of [`OpenObject`].
pub const OPCODE_OPEN: u8 = 0xca;
/// Opcode of [`ReadObject`].
pub const OPCODE_READ: u8 = 0xce;
/// Opcode of [`CloseObject`].
pub const OPCODE_CLOSE: u8 = 0xc8;
/// Opcode of [`Release`].
pub const OPCODE_RELEASE: u8 = 0xcc;
/// Opcode of [`DeleteObject`].
pub const OPCODE_DELETE: u8 = 0xd0;

/// All of them with their effects, ascending. OpenObject may disarm an object, which changes its metadata block.
pub const OPCODES: [VendorOpcode; 7] = [
    VendorOpcode { opcode: OPCODE_DIRECTORY, changes: false },
    VendorOpcode { opcode: OPCODE_RESERVE, changes: true },
    VendorOpcode { opcode: OPCODE_CLOSE, changes: false },
    VendorOpcode { opcode: OPCODE_OPEN, changes: true },
    VendorOpcode { opcode: OPCODE_RELEASE, changes: true },
    VendorOpcode { opcode: OPCODE_READ, changes: false },
    VendorOpcode { opcode: OPCODE_DELETE, changes: true },
];

/// Whether a command needs the right to write: it changes objects, not only their flags.
pub(crate) const fn changes(opcode: u8) -> bool {
    matches!(opcode, OPCODE_RESERVE | OPCODE_RELEASE | OPCODE_DELETE)
}

/// Why the dwords or the data of a vendor command mean nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VendorError {
    /// Another opcode than that of the command.
    #[error("opcode {given:#04x} is not {expected:#04x}")]
    Opcode {
        /// The given value.
        given: u8,
        /// The expected value.
        expected: u8,
    },
    /// A dword has an invalid value.
    #[error("command dword {dword} is {given:#010x}: {what}")]
    Dword {
        /// Its number, 10 to 15.
        dword: u8,
        /// Its value.
        given: u32,
        /// The requirement.
        what: &'static str,
    },
    /// Fewer bytes than the record has.
    #[error("{given} bytes, the record has {needed}")]
    Short {
        /// Bytes given.
        given: usize,
        /// Bytes of the record.
        needed: usize,
    },
}

const ARMED: u32 = 1 << 16;
const ONE_SHOT: u32 = 1 << 17;
const STORED: u32 = 1 << 18;
const RESERVE_KNOWN: u32 = 0xffff | ARMED | ONE_SHOT | STORED;

/// Declares an object at a place that the namespace chooses, as a write of this metadata block there would: the lowest
/// range of blocks, within the data half, that nothing is mapped, declared or bound in. The object is complete, and takes
/// the place of an earlier version of its register wherever that is, when all its blocks have been written. Until then
/// [`Release`] takes the reservation back. One that gets no write for
/// [`RESERVATION_IDLE_SECONDS`] may be taken back by the namespace.
///
/// # Example
/// ```
#[doc = include_str!("adapter/example.txt")]
/// let place = Reserved::decode(&send(OPCODE_RESERVE, Reserve(metadata).dwords())?)?;
/// assert_eq!(place, Reserved { lba: 0, blocks: 1 });
/// write(place.lba, &program)?;
/// assert_eq!(space.metrics().bound, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve(pub Metadata);

/// How long a reservation without writes lives at least.
pub const RESERVATION_IDLE_SECONDS: u64 = 300;

impl Reserve {
    /// Command dwords 10 to 15.
    #[must_use]
    pub fn dwords(&self) -> [u32; 6] {
        let Metadata { id, armed, one_shot, stored, size, object_crc32c } = self.0;
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        let first = u32::from(id.type_code.0) | flag(armed, ARMED) | flag(one_shot, ONE_SHOT) | flag(stored, STORED);
        let [low, high] = halves(size);
        [first, id.key_id.0, id.data_id.0, low, high, object_crc32c.map_or(0, NonZeroU32::get)]
    }

    /// From a command.
    ///
    /// # Errors
    /// [`VendorError::Opcode`], [`VendorError::Dword`] for flags that are not defined.
    pub fn from_command(command: &VendorCommand) -> Result<Self, VendorError> {
        let [first, key, data, low, high, crc] = opcode(command, OPCODE_RESERVE)?;
        if first & !RESERVE_KNOWN != 0 {
            return Err(VendorError::Dword { dword: 10, given: first, what: "bits 0 to 18 are defined" });
        }
        Ok(Self(Metadata {
            id: register(first, key, data),
            armed: first & ARMED != 0,
            one_shot: first & ONE_SHOT != 0,
            stored: first & STORED != 0,
            size: number(low, high),
            object_crc32c: NonZeroU32::new(crc),
        }))
    }
}

/// Where a reservation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// Its first block.
    pub lba: u64,
    /// Its number of blocks: the size in blocks, rounded up.
    pub blocks: u64,
}

impl Reserved {
    /// Bytes on the wire.
    pub const BYTES: usize = 16;

    /// LBA, then blocks.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.lba.to_le_bytes());
        bytes[8..].copy_from_slice(&self.blocks.to_le_bytes());
        bytes
    }

    /// From the first bytes of the data.
    ///
    /// # Errors
    /// [`VendorError::Short`].
    pub fn decode(data: &[u8]) -> Result<Self, VendorError> {
        let record = record::<{ Self::BYTES }>(data)?;
        Ok(Self { lba: u64_at(record, 0), blocks: u64_at(record, 8) })
    }
}

/// The effect of a read on an object that can compute; the modes of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Returns the stored bytes.
    Stored,
    /// Runs the program, whatever the flags.
    Compute,
    /// Runs the program if the object is armed and computes on reads; otherwise returns the stored bytes.
    Armed,
}

/// Opens one version of an object for reading; a computed read runs its program now. If the object does not fit into the
/// data behind [`Opened`], a session holds the version until [`CloseObject`], or until it was idle for
/// [`SESSION_IDLE_SECONDS`]. The namespace limits the number of sessions and answers Command Interrupted beyond it. A result
/// may be longer than the blocks at the object's address, but not longer than `session_bytes` of the configuration; a
/// longer one is refused, and an armed object stays armed.
///
/// # Example
/// ```
#[doc = include_str!("adapter/example.txt")]
/// let place = Reserved::decode(&send(OPCODE_RESERVE, Reserve(metadata).dwords())?)?;
/// write(place.lba, &program)?;
/// let data = send(OPCODE_OPEN, OpenObject { id, mode: OpenMode::Stored }.dwords())?;
/// let opened = Opened::decode(&data)?;
/// // The program fits into the data, so no session is needed.
/// assert_eq!((opened.session, opened.size), (0, size));
/// assert_eq!(data[Opened::BYTES..][..program.len()], program);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenObject {
    /// The register.
    pub id: VrId,
    /// The mode.
    pub mode: OpenMode,
}

/// How long a session that is not used lives at least.
pub const SESSION_IDLE_SECONDS: u64 = 60;

impl OpenObject {
    /// Command dwords 10 to 15.
    #[must_use]
    pub fn dwords(&self) -> [u32; 6] {
        let mode = match self.mode {
            OpenMode::Stored => 0,
            OpenMode::Compute => 1,
            OpenMode::Armed => 2,
        };
        [u32::from(self.id.type_code.0) | mode << 16, self.id.key_id.0, self.id.data_id.0, 0, 0, 0]
    }

    /// From a command.
    ///
    /// # Errors
    /// [`VendorError::Opcode`], [`VendorError::Dword`].
    pub fn from_command(command: &VendorCommand) -> Result<Self, VendorError> {
        let [first, key, data, rest @ ..] = opcode(command, OPCODE_OPEN)?;
        zeros(13, rest)?;
        let mode = match first >> 16 {
            0 => OpenMode::Stored,
            1 => OpenMode::Compute,
            2 => OpenMode::Armed,
            _ => return Err(VendorError::Dword { dword: 10, given: first, what: "modes are 0 to 2" }),
        };
        Ok(Self { id: register(first, key, data), mode })
    }
}

/// The opened object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The session that holds the rest of the object; 0 when the data holds all of it.
    pub session: u64,
    /// Bytes of the object or result.
    pub size: u64,
    /// Whether it is the result of a program.
    pub computed: bool,
}

impl Opened {
    /// Bytes on the wire; bytes of the object follow.
    pub const BYTES: usize = 32;

    /// Session, size, flags (bit 0: computed), zeros.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.session.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.size.to_le_bytes());
        bytes[16] = self.computed.into();
        bytes
    }

    /// From the first bytes of the data.
    ///
    /// # Errors
    /// [`VendorError::Short`].
    pub fn decode(data: &[u8]) -> Result<Self, VendorError> {
        let record = record::<{ Self::BYTES }>(data)?;
        Ok(Self { session: u64_at(record, 0), size: u64_at(record, 8), computed: record[16] & 1 != 0 })
    }
}

/// Reads from a session: as many bytes as the data holds, or as are left.
///
/// # Example
/// ```
#[doc = include_str!("adapter/example.txt")]
/// let place = Reserved::decode(&send(OPCODE_RESERVE, Reserve(metadata).dwords())?)?;
/// write(place.lba, &program)?;
/// // The host accepts the record only, so a session holds the object.
/// let command = OpenObject { id, mode: OpenMode::Stored };
/// let open = VendorCommand { opcode: OPCODE_OPEN, dwords: command.dwords(), length: Opened::BYTES };
/// let opened = Opened::decode(&runtime.block_on(Arc::clone(&space).vendor(&host, open).wait())?)?;
/// let bytes = send(OPCODE_READ, ReadObject { session: opened.session, offset: 8 }.dwords())?;
/// assert_eq!(bytes, program[8..]);
/// send(OPCODE_CLOSE, CloseObject { session: opened.session }.dwords())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadObject {
    /// The session.
    pub session: u64,
    /// The first byte of the object.
    pub offset: u64,
}

impl ReadObject {
    /// Command dwords 10 to 15.
    #[must_use]
    pub fn dwords(&self) -> [u32; 6] {
        let ([s0, s1], [o0, o1]) = (halves(self.session), halves(self.offset));
        [s0, s1, o0, o1, 0, 0]
    }

    /// From a command.
    ///
    /// # Errors
    /// [`VendorError::Opcode`], [`VendorError::Dword`].
    pub fn from_command(command: &VendorCommand) -> Result<Self, VendorError> {
        let [s0, s1, o0, o1, rest @ ..] = opcode(command, OPCODE_READ)?;
        zeros(14, rest)?;
        Ok(Self { session: number(s0, s1), offset: number(o0, o1) })
    }
}

/// Ends a session; one that is not there is no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloseObject {
    /// The session.
    pub session: u64,
}

impl CloseObject {
    /// Command dwords 10 to 15.
    #[must_use]
    pub fn dwords(&self) -> [u32; 6] {
        let [low, high] = halves(self.session);
        [low, high, 0, 0, 0, 0]
    }

    /// From a command.
    ///
    /// # Errors
    /// [`VendorError::Opcode`], [`VendorError::Dword`].
    pub fn from_command(command: &VendorCommand) -> Result<Self, VendorError> {
        let [low, high, rest @ ..] = opcode(command, OPCODE_CLOSE)?;
        zeros(12, rest)?;
        Ok(Self { session: number(low, high) })
    }
}

/// Cancels a reservation: the declaration and its blocks. If this register is not declared at this block or is complete,
/// the command does nothing and succeeds; only [`DeleteObject`] deletes a complete object.
///
/// # Example
/// ```
#[doc = include_str!("adapter/example.txt")]
/// let place = Reserved::decode(&send(OPCODE_RESERVE, Reserve(metadata).dwords())?)?;
/// assert_eq!(space.metrics().declared, 1);
/// send(OPCODE_RELEASE, Release { lba: place.lba, id }.dwords())?;
/// assert_eq!(space.metrics().declared, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The first block of the reservation.
    pub lba: u64,
    /// The register.
    pub id: VrId,
}

impl Release {
    /// Command dwords 10 to 15.
    #[must_use]
    pub fn dwords(&self) -> [u32; 6] {
        let [low, high] = halves(self.lba);
        [low, high, self.id.type_code.0.into(), self.id.key_id.0, self.id.data_id.0, 0]
    }

    /// From a command.
    ///
    /// # Errors
    /// [`VendorError::Opcode`], [`VendorError::Dword`].
    pub fn from_command(command: &VendorCommand) -> Result<Self, VendorError> {
        let [low, high, first, key, data, rest] = opcode(command, OPCODE_RELEASE)?;
        zeros(15, [rest])?;
        Ok(Self { lba: number(low, high), id: whole_register(12, first, key, data)? })
    }
}

/// Deletes the object in a register wherever it is, also one without a place; durable when it is answered.
///
/// # Example
/// ```
#[doc = include_str!("adapter/example.txt")]
/// let place = Reserved::decode(&send(OPCODE_RESERVE, Reserve(metadata).dwords())?)?;
/// write(place.lba, &program)?;
/// send(OPCODE_DELETE, DeleteObject { id }.dwords())?;
/// assert!(device.space(namespace)?.list().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeleteObject {
    /// The register.
    pub id: VrId,
}

impl DeleteObject {
    /// Command dwords 10 to 15.
    #[must_use]
    pub fn dwords(&self) -> [u32; 6] {
        [self.id.type_code.0.into(), self.id.key_id.0, self.id.data_id.0, 0, 0, 0]
    }

    /// From a command.
    ///
    /// # Errors
    /// [`VendorError::Opcode`], [`VendorError::Dword`].
    pub fn from_command(command: &VendorCommand) -> Result<Self, VendorError> {
        let [first, key, data, rest @ ..] = opcode(command, OPCODE_DELETE)?;
        zeros(13, rest)?;
        Ok(Self { id: whole_register(10, first, key, data)? })
    }
}

fn opcode(command: &VendorCommand, expected: u8) -> Result<[u32; 6], VendorError> {
    match command.opcode {
        given if given == expected => Ok(command.dwords),
        given => Err(VendorError::Opcode { given, expected }),
    }
}

fn zeros<const N: usize>(first: u8, dwords: [u32; N]) -> Result<(), VendorError> {
    match (first..).zip(dwords).find(|&(_, value)| value != 0) {
        None => Ok(()),
        Some((dword, given)) => Err(VendorError::Dword { dword, given, what: "it must be 0" }),
    }
}

fn register(first: u32, key: u32, data: u32) -> VrId {
    // The type is the lower half of the dword.
    VrId::new(TypeCode(first as u16), KeyId(key), DataId(data))
}

/// A register whose type fills its dword.
fn whole_register(dword: u8, first: u32, key: u32, data: u32) -> Result<VrId, VendorError> {
    if first > 0xffff {
        return Err(VendorError::Dword { dword, given: first, what: "a type is at most 65535" });
    }
    Ok(register(first, key, data))
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

fn number(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn record<const N: usize>(data: &[u8]) -> Result<&[u8; N], VendorError> {
    data.first_chunk().ok_or(VendorError::Short { given: data.len(), needed: N })
}

/// The number at `offset`; all callers stay within their record.
fn u64_at<const N: usize>(record: &[u8; N], offset: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|index| record[offset + index]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(opcode: u8, dwords: [u32; 6]) -> VendorCommand {
        VendorCommand { opcode, dwords, length: 4096 }
    }

    fn metadata() -> Metadata {
        let id = VrId::new(TypeCode(4), KeyId(7), DataId(3));
        let object_crc32c = NonZeroU32::new(0x1234_5678);
        Metadata { id, armed: true, one_shot: false, stored: true, size: 0x1_0000_09dc, object_crc32c }
    }

    #[test]
    fn commands_have_these_dwords() {
        let id = metadata().id;
        let reserve = Reserve(metadata());
        assert_eq!(reserve.dwords(), [0x5_0004, 7, 3, 0x9dc, 1, 0x1234_5678]);
        assert_eq!(Reserve::from_command(&command(0xc6, reserve.dwords())), Ok(reserve));
        for (mode, bits) in [(OpenMode::Stored, 0), (OpenMode::Compute, 1), (OpenMode::Armed, 2)] {
            let open = OpenObject { id, mode };
            assert_eq!(open.dwords(), [bits << 16 | 4, 7, 3, 0, 0, 0]);
            assert_eq!(OpenObject::from_command(&command(0xca, open.dwords())), Ok(open));
        }
        let read = ReadObject { session: 0x2_0000_0001, offset: 0x4_0000_0003 };
        assert_eq!(read.dwords(), [1, 2, 3, 4, 0, 0]);
        assert_eq!(ReadObject::from_command(&command(0xce, read.dwords())), Ok(read));
        let close = CloseObject { session: 0x2_0000_0001 };
        assert_eq!(close.dwords(), [1, 2, 0, 0, 0, 0]);
        assert_eq!(CloseObject::from_command(&command(0xc8, close.dwords())), Ok(close));
        let release = Release { lba: 0x2_0000_0001, id };
        assert_eq!(release.dwords(), [1, 2, 4, 7, 3, 0]);
        assert_eq!(Release::from_command(&command(0xcc, release.dwords())), Ok(release));
        let delete = DeleteObject { id };
        assert_eq!(delete.dwords(), [4, 7, 3, 0, 0, 0]);
        assert_eq!(DeleteObject::from_command(&command(0xd0, delete.dwords())), Ok(delete));
    }

    #[test]
    fn what_is_not_defined_is_refused() {
        let refused = |outcome: Result<(), VendorError>| outcome.unwrap_err().to_string();
        let reserve = |dwords| refused(Reserve::from_command(&command(0xc6, dwords)).map(drop));
        assert_eq!(reserve([1 << 19, 0, 0, 1, 0, 0]), "command dword 10 is 0x00080000: bits 0 to 18 are defined");
        let open = |dwords| refused(OpenObject::from_command(&command(0xca, dwords)).map(drop));
        assert_eq!(open([3 << 16, 0, 0, 0, 0, 0]), "command dword 10 is 0x00030000: modes are 0 to 2");
        assert_eq!(open([0, 0, 0, 0, 9, 0]), "command dword 14 is 0x00000009: it must be 0");
        let read = refused(ReadObject::from_command(&command(0xca, [0; 6])).map(drop));
        assert_eq!(read, "opcode 0xca is not 0xce");
        let close = refused(CloseObject::from_command(&command(0xc8, [0, 0, 0, 0, 0, 1])).map(drop));
        assert_eq!(close, "command dword 15 is 0x00000001: it must be 0");
        let delete = refused(DeleteObject::from_command(&command(0xd0, [0x1_0000, 0, 0, 0, 0, 0])).map(drop));
        assert_eq!(delete, "command dword 10 is 0x00010000: a type is at most 65535");
        let release = refused(Release::from_command(&command(0xcc, [0, 0, 0x1_0000, 0, 0, 0])).map(drop));
        assert_eq!(release, "command dword 12 is 0x00010000: a type is at most 65535");
    }

    #[test]
    fn records_have_these_bytes() {
        let reserved = Reserved { lba: 0x0102_0304_0506_0708, blocks: 9 };
        assert_eq!(reserved.encode(), [8, 7, 6, 5, 4, 3, 2, 1, 9, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Reserved::decode(&reserved.encode()), Ok(reserved));
        assert_eq!(Reserved::decode(&[0; 15]), Err(VendorError::Short { given: 15, needed: 16 }));
        let opened = Opened { session: 5, size: 0x1_0000_0000, computed: true };
        let bytes = opened.encode();
        assert_eq!(bytes[..20], [5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
        assert!(bytes[20..].iter().all(|&byte| byte == 0));
        assert_eq!(Opened::decode(&[&bytes[..], b"content"].concat()), Ok(opened));
        assert_eq!(Opened::decode(&bytes[..31]), Err(VendorError::Short { given: 31, needed: 32 }));
    }
}
