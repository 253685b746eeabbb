//! A namespace of a target, as its blocks.

use super::{
    admin::NamespaceRecord,
    call::Call,
    controller::Controller,
    error::InitiatorError,
    request::{Payload, Reply},
};
use crate::{
    BLOCK_BYTES,
    command::{Command, io},
    status::Status,
};
use bytes::{BufMut, Bytes, BytesMut};
use std::{ops::Range, time::Duration};

/// The most blocks that one command can name.
const MAX_BLOCKS: u64 = 1 << 16;
/// Dword 12 of Write Zeroes: the blocks may be deallocated.
const DEALLOCATE: u32 = 1 << 25;
/// Dword 11 of Dataset Management: deallocate.
const ATTRIBUTE_DEALLOCATE: u32 = 1 << 2;
/// The most ranges of a Dataset Management, and the bytes of each.
const MAX_RANGES: usize = 256;

/// A namespace. Clones are handles of the same.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = served(subsystem()?).await?;
/// # let controller = Controller::connect(config).await?;
/// let disk = controller.namespace(1).await?;
/// disk.write(5, vec![7u8; 2 * BLOCK_BYTES]).await?;
/// disk.flush().await?;
/// assert_eq!(disk.read(6, 1).await?, [7u8; BLOCK_BYTES]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RemoteNamespace {
    controller: Controller,
    record: NamespaceRecord,
    time: Duration,
}

impl RemoteNamespace {
    pub(super) const fn new(controller: Controller, record: NamespaceRecord, time: Duration) -> Self {
        Self { controller, record, time }
    }

    /// The same with another time for each command than the configuration's.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// let patient = disk.with_timeout(Duration::from_secs(300));
    /// assert_eq!(patient.read(0, 1).await?, [0u8; BLOCK_BYTES]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_timeout(&self, time: Duration) -> Self {
        Self { time, ..self.clone() }
    }

    /// Its number.
    #[must_use]
    pub const fn nsid(&self) -> u32 {
        self.record.nsid
    }

    /// Blocks that have an address, when it was looked up.
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        self.record.blocks
    }

    /// Its UUID, or its NGUID where it has no UUID; zeros if it has neither.
    #[must_use]
    pub fn uuid(&self) -> [u8; 16] {
        self.record.uuid()
    }

    /// Blocks that one command can move, at least one.
    #[must_use]
    pub fn max_transfer_blocks(&self) -> u32 {
        let blocks = self.controller.shared().facts().max_transfer / BLOCK_BYTES;
        blocks.clamp(1, MAX_BLOCKS as usize) as u32
    }

    /// The controller.
    #[must_use]
    pub const fn controller(&self) -> &Controller {
        &self.controller
    }

    /// The time that each command has.
    pub(super) const fn time(&self) -> Duration {
        self.time
    }

    pub(super) fn call(&self, opcode: u8, dwords: [u32; 6], payload: Payload) -> Call {
        let command = Command { opcode, nsid: self.record.nsid, dwords, ..Command::default() };
        Call { command, payload, time: Some(self.time), repeatable: true }
    }

    async fn io(&self, opcode: u8, dwords: [u32; 6], payload: Payload) -> Result<Reply, InitiatorError> {
        self.controller.io(self.call(opcode, dwords, payload)).await
    }

    /// Refuses a range that is empty, passes the end or is longer than `most` blocks.
    pub(super) fn check(&self, lba: u64, blocks: u64, most: u64) -> Result<(), InitiatorError> {
        let size = self.record.blocks;
        let what = if blocks == 0 {
            "a command concerns at least one block".into()
        } else if lba.checked_add(blocks).is_none_or(|end| end > size) {
            format!("blocks {lba} to {lba} + {blocks} pass the end of the namespace at {size}")
        } else if blocks > most {
            format!("a command moves at most {most} blocks here, not {blocks}")
        } else {
            return Ok(());
        };
        Err(InitiatorError::Argument { what })
    }

    /// The number of blocks that these bytes fill.
    pub(super) fn whole_blocks(data: &[u8]) -> Result<u64, InitiatorError> {
        if data.len().is_multiple_of(BLOCK_BYTES) {
            return Ok((data.len() / BLOCK_BYTES) as u64);
        }
        Err(InitiatorError::Argument { what: format!("{} bytes are not whole blocks of {BLOCK_BYTES}", data.len()) })
    }

    /// Reads `blocks` blocks from `lba`, at most [`max_transfer_blocks`](Self::max_transfer_blocks).
    ///
    /// # Errors
    /// See [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// assert_eq!(disk.read(62, 2).await?.len(), 2 * BLOCK_BYTES);
    /// assert!(disk.read(63, 2).await.is_err(), "the namespace has 64 blocks");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read(&self, lba: u64, blocks: u32) -> Result<Vec<u8>, InitiatorError> {
        self.check(lba, blocks.into(), self.max_transfer_blocks().into())?;
        let (dwords, payload) = read_parts(lba, blocks.into());
        Ok(self.io(io::READ, dwords, payload).await?.data)
    }

    /// Writes whole blocks from `lba`, at most [`max_transfer_blocks`](Self::max_transfer_blocks). Durable when this returns,
    /// if the controller has no volatile write cache.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// disk.write(9, vec![7u8; BLOCK_BYTES]).await?;
    /// assert_eq!(disk.read(9, 1).await?, [7u8; BLOCK_BYTES]);
    /// assert!(disk.write(9, vec![7u8; 100]).await.is_err(), "100 bytes are not a block");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn write(&self, lba: u64, data: impl Into<Bytes>) -> Result<(), InitiatorError> {
        let data = data.into();
        let blocks = Self::whole_blocks(&data)?;
        self.check(lba, blocks, self.max_transfer_blocks().into())?;
        self.io(io::WRITE, range_dwords(lba, blocks), Payload::Out(data)).await?;
        Ok(())
    }

    /// The same for blocks that another host may own once they are written: it fails with
    /// [`InitiatorError::Interrupted`] when the connection is lost while it is in progress, and is not sent again either
    /// when the target asks for that.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// disk.write_once(9, vec![7u8; BLOCK_BYTES]).await?;
    /// assert_eq!(disk.read(9, 1).await?, [7u8; BLOCK_BYTES]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn write_once(&self, lba: u64, data: impl Into<Bytes>) -> Result<(), InitiatorError> {
        let data = data.into();
        let blocks = Self::whole_blocks(&data)?;
        self.check(lba, blocks, self.max_transfer_blocks().into())?;
        let mut call = self.call(io::WRITE, range_dwords(lba, blocks), Payload::Out(data));
        call.repeatable = false;
        self.controller.io(call).await?;
        Ok(())
    }

    /// Whether the blocks from `lba` are these.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// disk.write(9, vec![7u8; BLOCK_BYTES]).await?;
    /// assert!(disk.compare(9, vec![7u8; BLOCK_BYTES]).await?);
    /// assert!(!disk.compare(9, vec![8u8; BLOCK_BYTES]).await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn compare(&self, lba: u64, data: impl Into<Bytes>) -> Result<bool, InitiatorError> {
        let data = data.into();
        let blocks = Self::whole_blocks(&data)?;
        self.check(lba, blocks, self.max_transfer_blocks().into())?;
        match self.io(io::COMPARE, range_dwords(lba, blocks), Payload::Out(data)).await {
            Ok(_) => Ok(true),
            Err(error) if error.status().is_some_and(|status| status.is(Status::COMPARE_FAILURE)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes blocks read as zeros; with `deallocate` they need not keep their place. Any number of blocks, by as many
    /// commands as it takes; when one fails, those before it have taken effect.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// disk.write(8, vec![7u8; 2 * BLOCK_BYTES]).await?;
    /// disk.write_zeroes(9, 50, true).await?;
    /// assert_eq!(disk.read(8, 1).await?, [7u8; BLOCK_BYTES]);
    /// assert_eq!(disk.read(9, 1).await?, [0u8; BLOCK_BYTES]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn write_zeroes(&self, lba: u64, blocks: u64, deallocate: bool) -> Result<(), InitiatorError> {
        self.check(lba, blocks, u64::MAX)?;
        let most = match self.controller.shared().facts().limits.write_zeroes {
            0 => MAX_BLOCKS,
            shift => 1u64.checked_shl(shift.into()).unwrap_or(MAX_BLOCKS).clamp(1, MAX_BLOCKS),
        };
        for (lba, blocks) in pieces(lba, blocks, most) {
            let mut dwords = range_dwords(lba, blocks);
            if deallocate {
                dwords[2] |= DEALLOCATE;
            }
            self.io(io::WRITE_ZEROES, dwords, Payload::None).await?;
        }
        Ok(())
    }

    /// Deallocates these blocks; the target decides the content that they read as then. By as many commands as it
    /// takes; when one fails, those before it have taken effect.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// disk.write(8, vec![7u8; 2 * BLOCK_BYTES]).await?;
    /// disk.deallocate(&[9..20, 30..64]).await?;
    /// assert_eq!(disk.read(8, 1).await?, [7u8; BLOCK_BYTES], "it is outside of both ranges");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn deallocate(&self, ranges: &[Range<u64>]) -> Result<(), InitiatorError> {
        for range in ranges {
            self.check(range.start, range.end.saturating_sub(range.start), u64::MAX)?;
        }
        let limits = self.controller.shared().facts().limits;
        let some = |limit: u64| if limit == 0 { u64::MAX } else { limit };
        let count = some(limits.ranges.into()).min(MAX_RANGES as u64) as usize;
        let total = some(limits.total_blocks);
        let piece = some(limits.range_blocks.into()).min(u32::MAX.into()).min(total);
        let mut ranges = ranges.iter().flat_map(|range| pieces(range.start, range.end - range.start, piece)).peekable();
        while ranges.peek().is_some() {
            let (mut data, mut now, mut blocks_now) = (BytesMut::new(), 0, 0u64);
            while now < count
                && let Some((lba, blocks)) = ranges.next_if(|(_, blocks)| blocks_now.saturating_add(*blocks) <= total)
            {
                data.put_u32_le(0);
                data.put_u32_le(blocks as u32);
                data.put_u64_le(lba);
                (now, blocks_now) = (now + 1, blocks_now.saturating_add(blocks));
            }
            let dwords = [now.saturating_sub(1) as u32, ATTRIBUTE_DEALLOCATE, 0, 0, 0, 0];
            self.io(io::DATASET_MANAGEMENT, dwords, Payload::Out(data.freeze())).await?;
        }
        Ok(())
    }

    /// Returns when everything written before is durable.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// disk.write(9, vec![7u8; BLOCK_BYTES]).await?;
    /// disk.flush().await?;
    /// assert!(disk.compare(9, vec![7u8; BLOCK_BYTES]).await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn flush(&self) -> Result<(), InitiatorError> {
        self.io(io::FLUSH, [0; 6], Payload::None).await?;
        Ok(())
    }

    /// A vendor's command (opcode 80h to FFh, its two lowest bits 2, or 0 when `length` is 0) that reads at most `length`
    /// bytes. `dwords` are command dwords 10 to 15. Sent again when the connection is lost, as a read is.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// // The namespace of this example knows the opcode C2h.
    /// let answer = disk.vendor_read(0xc2, [0; 6], 4096).await?;
    /// assert!(answer.starts_with(b"volatile"));
    /// assert!(matches!(disk.vendor_read(0x02, [0; 6], 4096).await, Err(InitiatorError::Argument { .. })));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn vendor_read(&self, opcode: u8, dwords: [u32; 6], length: usize) -> Result<Vec<u8>, InitiatorError> {
        check_vendor(opcode, length, self.controller.shared().facts().max_transfer)?;
        Ok(self.io(opcode, dwords, vendor_payload(length)).await?.data)
    }

    /// The same for a command that must not be done twice: it fails with [`InitiatorError::Interrupted`] when the
    /// connection is lost while it is in progress.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub async fn vendor_read_once(
        &self,
        opcode: u8,
        dwords: [u32; 6],
        length: usize,
    ) -> Result<Vec<u8>, InitiatorError> {
        check_vendor(opcode, length, self.controller.shared().facts().max_transfer)?;
        let mut call = self.call(opcode, dwords, vendor_payload(length));
        call.repeatable = false;
        Ok(self.controller.io(call).await?.data)
    }
}

pub(super) const fn vendor_payload(length: usize) -> Payload {
    if length == 0 { Payload::None } else { Payload::In { length, exact: false } }
}

pub(super) fn check_vendor(opcode: u8, length: usize, most: usize) -> Result<(), InitiatorError> {
    let direction = if length == 0 { 0 } else { 2 };
    let what = if opcode < 0x80 || opcode & 3 != direction {
        format!("{opcode:#04x} is not a vendor's command that {}", if length == 0 { "moves no data" } else { "reads" })
    } else if length > most {
        format!("a command moves at most {most} bytes here, not {length}")
    } else {
        return Ok(());
    };
    Err(InitiatorError::Argument { what })
}

/// Dwords 10 to 15 of a command that concerns 1 to 65,536 blocks.
pub(super) const fn range_dwords(lba: u64, blocks: u64) -> [u32; 6] {
    [lba as u32, (lba >> 32) as u32, (blocks.saturating_sub(1) & 0xffff) as u32, 0, 0, 0]
}

/// Dwords and payload of a Read.
pub(super) const fn read_parts(lba: u64, blocks: u64) -> ([u32; 6], Payload) {
    (range_dwords(lba, blocks), Payload::In { length: blocks as usize * BLOCK_BYTES, exact: true })
}

/// A range in pieces of at most `most` blocks.
pub(super) fn pieces(lba: u64, blocks: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    let most = most.max(1);
    let mut done = 0;
    std::iter::from_fn(move || {
        let now = most.min(blocks - done);
        let piece = (lba + done, now);
        done += now;
        (now > 0).then_some(piece)
    })
}
