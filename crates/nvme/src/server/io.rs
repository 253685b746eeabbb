//! I/O commands: checked before any data move, then started.

use super::{config::Offered, controller::Controller, limits::COMPARE_BYTES, subsystem::Subsystem};
use crate::{
    Answer, BLOCK_BYTES, Caller, CommandError, Namespace, Status, VendorCommand, buffers,
    command::{Command, io},
    identify::ALL_NAMESPACES,
};
use std::{
    future::Future,
    ops::Range,
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// Bytes of a range of Dataset Management.
const RANGE_BYTES: usize = 16;
/// Dataset Management: deallocate.
const DEALLOCATE: u32 = 1 << 2;
/// Write Zeroes: deallocate.
const DEALLOCATE_ZEROES: u32 = 1 << 25;

/// Data that a command moves, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// From the host.
    pub(crate) from_host: usize,
    /// The host may send more; it is ignored.
    pub(crate) more_allowed: bool,
    /// To the host.
    pub(crate) to_host: usize,
    /// Needed in addition while the command runs.
    pub(crate) beside: usize,
}

/// A command found right.
#[derive(Debug)]
pub(crate) struct Work {
    offered: Arc<Offered>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Read { lba: u64, blocks: u32 },
    Write { lba: u64 },
    Compare { lba: u64 },
    WriteZeroes { lba: u64, blocks: u32, deallocate: bool },
    Dataset { ranges: usize, deallocate: bool },
    Flush { others: Vec<Arc<Offered>> },
    Vendor(VendorCommand),
}

fn refuse<T>(status: Status, detail: impl Into<String>) -> Result<T, CommandError> {
    Err(CommandError::new(status.do_not_retry(), detail))
}

/// Checks a command; returns its work and the sizes of its data.
pub(crate) fn plan(
    subsystem: &Subsystem,
    controller: &Controller,
    command: &Command,
) -> Result<(Work, Sizes), CommandError> {
    if !controller.is_ready() {
        return Err(CommandError::new(Status::COMMAND_SEQUENCE_ERROR, "the controller is shut down"));
    }
    if command.flags & 3 != 0 {
        return refuse(Status::INVALID_FIELD, "there are no fused commands");
    }
    if command.opcode == io::FLUSH && command.nsid == ALL_NAMESPACES {
        let mut all = controller.namespaces.values().cloned();
        let Some(offered) = all.next() else {
            return refuse(Status::INVALID_NAMESPACE, "the host sees no namespace");
        };
        return Ok((Work { offered, kind: Kind::Flush { others: all.collect() } }, Sizes::default()));
    }
    let Some(offered) = controller.namespaces.get(&command.nsid) else {
        return refuse(Status::INVALID_NAMESPACE, format!("the host sees no namespace {}", command.nsid));
    };
    let (kind, sizes) = match command.opcode {
        io::FLUSH => (Kind::Flush { others: Vec::new() }, Sizes::default()),
        io::READ => {
            let (lba, blocks, bytes) = moved(subsystem, offered, command)?;
            (Kind::Read { lba, blocks }, Sizes { to_host: bytes, ..Sizes::default() })
        }
        io::WRITE => {
            let (lba, _, bytes) = moved(subsystem, offered, command)?;
            (Kind::Write { lba }, Sizes { from_host: bytes, ..Sizes::default() })
        }
        io::COMPARE => {
            let (lba, _, bytes) = moved(subsystem, offered, command)?;
            let beside = bytes.min(COMPARE_BYTES);
            (Kind::Compare { lba }, Sizes { from_host: bytes, beside, ..Sizes::default() })
        }
        io::WRITE_ZEROES => {
            let lba = range(offered, command)?;
            let deallocate = command.dwords[2] & DEALLOCATE_ZEROES != 0;
            (Kind::WriteZeroes { lba, blocks: command.blocks(), deallocate }, Sizes::default())
        }
        io::DATASET_MANAGEMENT => {
            let ranges = (command.dwords[0] & 0xff) as usize + 1;
            let deallocate = command.dwords[1] & DEALLOCATE != 0;
            let sizes = Sizes { from_host: ranges * RANGE_BYTES, more_allowed: true, ..Sizes::default() };
            (Kind::Dataset { ranges, deallocate }, sizes)
        }
        // Bit 0 of an opcode says that data come from the host: no vendor's command takes any.
        opcode @ 0x80.. if opcode & 1 == 0 => {
            let length = if opcode & 2 == 0 { 0 } else { command.sgl.length as usize };
            if length > subsystem.limits().max_transfer_bytes {
                return refuse(Status::INVALID_FIELD, "more data than one command moves");
            }
            let vendor = VendorCommand { opcode, dwords: command.dwords, length };
            (Kind::Vendor(vendor), Sizes { to_host: length, ..Sizes::default() })
        }
        opcode => return refuse(Status::INVALID_OPCODE, format!("no I/O command has the opcode {opcode:02x}h")),
    };
    Ok((Work { offered: offered.clone(), kind }, sizes))
}

/// The first block of a command whose blocks all exist.
fn range(offered: &Offered, command: &Command) -> Result<u64, CommandError> {
    let (lba, blocks, size) = (command.lba(), u64::from(command.blocks()), offered.size);
    if lba.checked_add(blocks).is_some_and(|end| end <= size) {
        return Ok(lba);
    }
    Err(beyond(lba, blocks, size))
}

/// The refusal of blocks that do not all exist.
fn beyond(lba: u64, blocks: u64, size: u64) -> CommandError {
    let detail = format!("{blocks} blocks from block {lba} on pass the end; the namespace has {size}");
    CommandError::new(Status::LBA_OUT_OF_RANGE.do_not_retry(), detail).at(lba)
}

/// The same for a command that moves its blocks: first block, blocks, bytes.
fn moved(subsystem: &Subsystem, offered: &Offered, command: &Command) -> Result<(u64, u32, usize), CommandError> {
    let (blocks, most) = (command.blocks(), subsystem.limits().max_transfer_bytes);
    let bytes = blocks as usize * BLOCK_BYTES;
    if bytes > most {
        return refuse(Status::INVALID_FIELD, format!("one command moves at most {most} bytes, not {bytes}"));
    }
    Ok((range(offered, command)?, blocks, bytes))
}

type Outcome<T> = Result<T, CommandError>;
type Later<T> = Pin<Box<dyn Future<Output = Outcome<T>> + Send>>;

/// A command that was started. A future of the namespace is kept without another box around it.
pub(crate) enum Started {
    Ready(Outcome<Vec<u8>>),
    Running(Running),
}

/// A command that a namespace works on.
pub(crate) enum Running {
    Data(Later<Vec<u8>>, Length),
    NoData(Later<()>),
}

impl Running {
    /// Waits for its outcome.
    pub(crate) async fn wait(self) -> Outcome<Vec<u8>> {
        match self {
            Self::Data(future, length) => length.check(future.await),
            Self::NoData(future) => future.await.map(|()| Vec::new()),
        }
    }
}

/// How many bytes a namespace must give.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    /// So many.
    Exact(usize),
    /// At most so many; the host gets the length that it asked for, so the rest is zeros.
    Filled(usize),
}

impl Length {
    fn check(self, outcome: Outcome<Vec<u8>>) -> Outcome<Vec<u8>> {
        let mut data = outcome?;
        let wrong = |detail: &str| Err(CommandError::new(Status::INTERNAL_ERROR, detail));
        match self {
            Self::Exact(bytes) if data.len() != bytes => return wrong("the namespace gave another length"),
            Self::Filled(most) if data.len() > most => return wrong("the namespace gave more than was asked"),
            Self::Exact(_) => {}
            Self::Filled(most) => data.resize(most, 0),
        }
        Ok(data)
    }
}

fn data(answer: Answer<Vec<u8>>, length: Length) -> Started {
    match answer {
        Answer::Ready(outcome) => Started::Ready(length.check(outcome)),
        Answer::Later(future) => Started::Running(Running::Data(future, length)),
    }
}

fn no_data(answer: Answer<()>) -> Started {
    match answer {
        Answer::Ready(outcome) => Started::Ready(outcome.map(|()| Vec::new())),
        Answer::Later(future) => Started::Running(Running::NoData(future)),
    }
}

impl Work {
    /// Whether it may change blocks. A vendor's opcode does not say, so it may.
    pub(crate) const fn may_change(&self) -> bool {
        match self.kind {
            Kind::Read { .. } | Kind::Compare { .. } | Kind::Flush { .. } => false,
            Kind::Write { .. } | Kind::WriteZeroes { .. } | Kind::Dataset { .. } | Kind::Vendor(_) => true,
        }
    }

    /// Starts it; `bytes` are those from the host, as many as were asked for.
    pub(crate) fn start(self, subsystem: &Subsystem, controller: &Controller, mut bytes: Vec<u8>) -> Started {
        let Self { offered, kind } = self;
        let namespace = offered.config.namespace.clone();
        let (caller, record, counters) = (&controller.caller, &controller.record, &subsystem.counters);
        match kind {
            Kind::Read { lba, blocks } => {
                let length = blocks as usize * BLOCK_BYTES;
                counters.bytes_read.fetch_add(length as u64, Relaxed);
                record.count_read(length);
                data(namespace.read(caller, lba, blocks), Length::Exact(length))
            }
            Kind::Write { lba } => {
                counters.bytes_written.fetch_add(bytes.len() as u64, Relaxed);
                record.count_write(bytes.len());
                no_data(namespace.write(caller, lba, bytes))
            }
            Kind::Compare { lba } => {
                counters.bytes_read.fetch_add(bytes.len() as u64, Relaxed);
                record.count_read(bytes.len());
                no_data(Answer::later(compare(namespace, caller.clone(), lba, bytes)))
            }
            Kind::WriteZeroes { lba, blocks, deallocate } => {
                no_data(namespace.write_zeroes(caller, lba, blocks, deallocate))
            }
            Kind::Dataset { ranges, deallocate } => {
                bytes.truncate(ranges * RANGE_BYTES);
                match dataset(&bytes, offered.size) {
                    Ok(ranges) if deallocate && !ranges.is_empty() => no_data(namespace.deallocate(caller, ranges)),
                    Ok(_) => Started::Ready(Ok(Vec::new())),
                    Err(error) => Started::Ready(Err(error)),
                }
            }
            Kind::Flush { others } if others.is_empty() => no_data(namespace.flush(caller)),
            Kind::Flush { others } => {
                let caller = caller.clone();
                no_data(Answer::later(async move {
                    namespace.flush(&caller).wait().await?;
                    for other in others {
                        other.config.namespace.clone().flush(&caller).wait().await?;
                    }
                    Ok(())
                }))
            }
            Kind::Vendor(command) => data(namespace.vendor(caller, command), Length::Filled(command.length)),
        }
    }
}

/// The ranges of a Dataset Management that are not empty.
fn dataset(data: &[u8], size: u64) -> Result<Vec<Range<u64>>, CommandError> {
    let mut ranges = Vec::with_capacity(data.len() / RANGE_BYTES);
    for range in data.chunks_exact(RANGE_BYTES) {
        let (blocks, lba) = (u64::from(crate::fields::u32_at(range, 4)), crate::fields::u64_at(range, 8));
        let Some(end) = lba.checked_add(blocks).filter(|end| *end <= size) else {
            return Err(beyond(lba, blocks, size));
        };
        if blocks > 0 {
            ranges.push(lba..end);
        }
    }
    Ok(ranges)
}

/// Reads piece by piece and compares.
async fn compare(namespace: Arc<dyn Namespace>, caller: Arc<Caller>, mut lba: u64, data: Vec<u8>) -> Outcome<()> {
    for piece in data.chunks(COMPARE_BYTES) {
        let blocks = (piece.len() / BLOCK_BYTES) as u32;
        let stored = namespace.clone().read(&caller, lba, blocks).wait().await?;
        if stored != piece {
            let same = |(one, other): (&[u8], &[u8])| one == other;
            let equal = stored.chunks(BLOCK_BYTES).zip(piece.chunks(BLOCK_BYTES)).take_while(|pair| same(*pair));
            let lba = lba + equal.count() as u64;
            return Err(CommandError::from(Status::COMPARE_FAILURE.do_not_retry()).at(lba));
        }
        buffers::give_back(stored);
        lba += u64::from(blocks);
    }
    buffers::give_back(data);
    Ok(())
}
