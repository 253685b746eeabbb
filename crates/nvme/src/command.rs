//! Submission and completion queue entries.

use crate::status::Status;

/// Bytes of a submission queue entry.
pub const SQE_BYTES: usize = 64;
/// Bytes of a completion queue entry.
pub const CQE_BYTES: usize = 16;

/// Opcodes of admin commands.
pub mod admin {
    /// Get Log Page.
    pub const GET_LOG_PAGE: u8 = 0x02;
    /// Identify.
    pub const IDENTIFY: u8 = 0x06;
    /// Abort.
    pub const ABORT: u8 = 0x08;
    /// Set Features.
    pub const SET_FEATURES: u8 = 0x09;
    /// Get Features.
    pub const GET_FEATURES: u8 = 0x0a;
    /// Asynchronous Event Request.
    pub const ASYNC_EVENT_REQUEST: u8 = 0x0c;
    /// Keep Alive.
    pub const KEEP_ALIVE: u8 = 0x18;
}

/// Opcodes of I/O commands.
pub mod io {
    /// Flush.
    pub const FLUSH: u8 = 0x00;
    /// Write.
    pub const WRITE: u8 = 0x01;
    /// Read.
    pub const READ: u8 = 0x02;
    /// Compare.
    pub const COMPARE: u8 = 0x05;
    /// Write Zeroes.
    pub const WRITE_ZEROES: u8 = 0x08;
    /// Dataset Management.
    pub const DATASET_MANAGEMENT: u8 = 0x09;
}

/// Fabrics commands: one opcode, distinguished by the type in byte 4.
pub mod fabrics {
    /// The opcode of all of them.
    pub const OPCODE: u8 = 0x7f;
    /// Property Set.
    pub const PROPERTY_SET: u8 = 0x00;
    /// Connect.
    pub const CONNECT: u8 = 0x01;
    /// Property Get.
    pub const PROPERTY_GET: u8 = 0x04;
    /// Disconnect.
    pub const DISCONNECT: u8 = 0x08;
}

/// The scatter-gather descriptor of a command: where its data are (Base Specification 2.0, section 4.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sgl {
    /// Address; of in-capsule data their offset.
    pub address: u64,
    /// Length in bytes.
    pub length: u32,
    /// Type in bits 4 to 7, sub type in bits 0 to 3.
    pub identifier: u8,
}

impl Sgl {
    /// Identifier of data within the capsule: Data Block, offset.
    pub const IN_CAPSULE: u8 = 0x01;
    /// Identifier of data that the transport moves: Transport Data Block.
    pub const TRANSPORT: u8 = 0x5a;

    /// `length` bytes within the capsule.
    #[must_use]
    pub const fn in_capsule(length: u32) -> Self {
        Self { address: 0, length, identifier: Self::IN_CAPSULE }
    }

    /// `length` bytes that the transport moves.
    #[must_use]
    pub const fn transport(length: u32) -> Self {
        Self { address: 0, length, identifier: Self::TRANSPORT }
    }
}

/// A submission queue entry. Every 64 bytes are one.
///
/// # Example
/// ```
/// use ciphermill_nvme::command::{Command, FLAGS_SGL, Sgl, io};
///
/// let (opcode, flags, sgl) = (io::READ, FLAGS_SGL, Sgl::transport(8192));
/// let read = Command { opcode, flags, id: 9, nsid: 1, sgl, dwords: [40, 0, 1, 0, 0, 0], ..Command::default() };
/// assert_eq!((read.lba(), read.blocks()), (40, 2));
/// assert_eq!(Command::decode(&read.encode()), read);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Opcode.
    pub opcode: u8,
    /// Fused operation in bits 0 and 1, use of PRP or SGL in bits 6 and 7.
    pub flags: u8,
    /// Command identifier.
    pub id: u16,
    /// Namespace identifier; of a fabrics command, its type is the lowest byte.
    pub nsid: u32,
    /// Dwords 2 and 3.
    pub dwords_2_3: [u32; 2],
    /// Metadata pointer.
    pub metadata: u64,
    /// Data pointer.
    pub sgl: Sgl,
    /// Dwords 10 to 15.
    pub dwords: [u32; 6],
}

/// [`Command::flags`] of a command whose data pointer is an SGL: the only ones over fabrics.
pub const FLAGS_SGL: u8 = 0x40;

impl Command {
    /// The type of a fabrics command.
    #[must_use]
    pub const fn fabrics_type(&self) -> u8 {
        self.nsid as u8
    }

    /// The first block of a Read, Write, Compare or Write Zeroes.
    #[must_use]
    pub const fn lba(&self) -> u64 {
        self.dwords[0] as u64 | (self.dwords[1] as u64) << 32
    }

    /// The number of blocks of such a command: 1 to 65,536.
    #[must_use]
    pub const fn blocks(&self) -> u32 {
        (self.dwords[2] & 0xffff) + 1
    }

    /// Its 64 bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; SQE_BYTES] {
        let mut bytes = [0; SQE_BYTES];
        bytes[0] = self.opcode;
        bytes[1] = self.flags;
        bytes[2..4].copy_from_slice(&self.id.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.nsid.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.dwords_2_3[0].to_le_bytes());
        bytes[12..16].copy_from_slice(&self.dwords_2_3[1].to_le_bytes());
        bytes[16..24].copy_from_slice(&self.metadata.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.sgl.address.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.sgl.length.to_le_bytes());
        bytes[39] = self.sgl.identifier;
        for (to, dword) in bytes[40..].chunks_exact_mut(4).zip(self.dwords) {
            to.copy_from_slice(&dword.to_le_bytes());
        }
        bytes
    }

    /// Reads 64 bytes.
    #[must_use]
    pub fn decode(bytes: &[u8; SQE_BYTES]) -> Self {
        Self {
            opcode: bytes[0],
            flags: bytes[1],
            id: u16::from_le_bytes(array(bytes, 2)),
            nsid: u32::from_le_bytes(array(bytes, 4)),
            dwords_2_3: [u32::from_le_bytes(array(bytes, 8)), u32::from_le_bytes(array(bytes, 12))],
            metadata: u64::from_le_bytes(array(bytes, 16)),
            sgl: Sgl {
                address: u64::from_le_bytes(array(bytes, 24)),
                length: u32::from_le_bytes(array(bytes, 32)),
                identifier: bytes[39],
            },
            dwords: std::array::from_fn(|index| u32::from_le_bytes(array(bytes, 40 + 4 * index))),
        }
    }
}

/// A completion queue entry.
///
/// # Example
/// ```
/// use ciphermill_nvme::{Status, command::Completion};
///
/// let completion = Completion { result: 0, sq_head: 7, sq_id: 1, id: 9, status: Status::SUCCESS };
/// assert_eq!(completion.encode()[8..14], [7, 0, 1, 0, 9, 0]);
/// assert_eq!(Completion::decode(&completion.encode()), completion);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Dwords 0 and 1: the result, which depends on the command.
    pub result: u64,
    /// Submission queue head pointer; `0xffff` when flow control is disabled.
    pub sq_head: u16,
    /// Submission queue.
    pub sq_id: u16,
    /// Identifier of the command.
    pub id: u16,
    /// How it ended.
    pub status: Status,
}

impl Completion {
    /// Its 16 bytes; the phase bit, which fabrics do not use, is 0.
    #[must_use]
    pub fn encode(&self) -> [u8; CQE_BYTES] {
        let mut bytes = [0; CQE_BYTES];
        bytes[0..8].copy_from_slice(&self.result.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.sq_head.to_le_bytes());
        bytes[10..12].copy_from_slice(&self.sq_id.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.id.to_le_bytes());
        bytes[14..16].copy_from_slice(&(self.status.bits() << 1).to_le_bytes());
        bytes
    }

    /// Reads 16 bytes; the phase bit is ignored.
    #[must_use]
    pub fn decode(bytes: &[u8; CQE_BYTES]) -> Self {
        Self {
            result: u64::from_le_bytes(array(bytes, 0)),
            sq_head: u16::from_le_bytes(array(bytes, 8)),
            sq_id: u16::from_le_bytes(array(bytes, 10)),
            id: u16::from_le_bytes(array(bytes, 12)),
            status: Status::from_bits(u16::from_le_bytes(array(bytes, 14)) >> 1),
        }
    }
}

/// The `N` bytes at `offset`, which all callers keep within the entry.
pub(crate) fn array<const M: usize, const N: usize>(bytes: &[u8; M], offset: usize) -> [u8; N] {
    std::array::from_fn(|index| bytes[offset + index])
}
