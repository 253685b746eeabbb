//! Writing a blob: reserve, send the blocks, ask what became of it.

use super::{
    NvmeTransport,
    error::{malformed, mapped},
    flag,
};
use crate::{
    blob::{BlobId, BlobStat, Metadata, WriteMode, Written},
    io::pull,
    transport::TransportError,
};
use ciphermill_blockspace::vendor::{OPCODE_RELEASE, OPCODE_RESERVE, Release, Reserve, Reserved};
use ciphermill_device::ObjectFlags;
use ciphermill_nvme::{BLOCK_BYTES, initiator::InitiatorError};
use ciphermill_program as program;
use std::{collections::VecDeque, io::Read, sync::mpsc::Receiver};

pub(super) fn write(
    transport: &NvmeTransport,
    metadata: &Metadata,
    size: u64,
    content: &mut dyn Read,
    mode: WriteMode,
) -> Result<Written, TransportError> {
    if size == 0 {
        return Err(TransportError::Empty);
    }
    let (_, limit) = transport.entry(metadata.id())?;
    if size > limit {
        return Err(TransportError::TooLarge { size, limit });
    }
    let mut source = Source { content, size, taken: 0, checksum: 0 };
    let first = source.piece(transport.piece)?;
    let record = program::Metadata {
        id: metadata.register,
        armed: flag(metadata.flags, ObjectFlags::ARMED),
        one_shot: flag(metadata.flags, ObjectFlags::ONE_SHOT),
        stored: mode == WriteMode::Stored,
        size,
        // The whole is not known yet, and no part of another attempt can come between: see the page above.
        object_crc32c: None,
    };
    let place = reserve(transport, metadata.id(), record)?;
    let mut attempt = Attempt { transport, id: metadata.id(), place, next: place.lba, under_way: VecDeque::new() };
    match attempt.send(first, &mut source) {
        Ok(()) => outcome(transport, metadata, size, source.checksum, place),
        Err(error) => {
            attempt.take_back(&error);
            Err(error.told)
        }
    }
}

/// Gives whole pieces of the content, the last one filled up with zeros to whole blocks.
struct Source<'a> {
    content: &'a mut dyn Read,
    size: u64,
    taken: u64,
    /// CRC-32C of what was taken.
    checksum: u32,
}

impl Source<'_> {
    fn is_at_end(&self) -> bool {
        self.taken == self.size
    }

    /// The next piece, of at most `most` bytes. With the last one it is made sure that the content ends there.
    fn piece(&mut self, most: usize) -> Result<Vec<u8>, TransportError> {
        let want = most.min(usize::try_from(self.size - self.taken).unwrap_or(usize::MAX));
        let mut piece = vec![0; want.next_multiple_of(BLOCK_BYTES)];
        let mut filled = 0;
        while filled < want {
            let count = pull(self.content, &mut piece[filled..want]).map_err(TransportError::Content)?;
            if count == 0 {
                let given = Some(self.taken + filled as u64);
                return Err(TransportError::Length { declared: self.size, given });
            }
            filled += count;
        }
        self.taken += want as u64;
        self.checksum = crc32c::crc32c_append(self.checksum, &piece[..want]);
        if self.is_at_end() && pull(self.content, &mut [0]).map_err(TransportError::Content)? != 0 {
            return Err(TransportError::Length { declared: self.size, given: None });
        }
        Ok(piece)
    }
}

fn reserve(transport: &NvmeTransport, id: BlobId, record: program::Metadata) -> Result<Reserved, TransportError> {
    let namespace = transport.namespace.clone();
    let blocks = record.size.div_ceil(BLOCK_BYTES as u64);
    let place = transport.wait(async move {
        let data = namespace.vendor_read(OPCODE_RESERVE, Reserve(record).dwords(), Reserved::BYTES).await;
        Reserved::decode(&data.map_err(|error| mapped(id, error))?).map_err(malformed)
    })?;
    // The initiator checks every command against the size of the namespace; here, that the place is what was asked for.
    let fits = place.lba.checked_add(blocks).is_some_and(|end| end <= transport.namespace.blocks() / 2);
    if place.blocks == blocks && fits {
        Ok(place)
    } else {
        Err(malformed(format!("{} blocks from {} were reserved for {blocks}", place.blocks, place.lba)))
    }
}

/// Why an attempt failed, and whether it is sure that it did.
struct Failure {
    told: TransportError,
    certain: bool,
}

impl Failure {
    /// Before the last piece was sent nothing can have been completed.
    fn before(told: TransportError) -> Self {
        Self { told, certain: true }
    }

    fn of(id: BlobId, error: InitiatorError) -> Self {
        let certain = matches!(error, InitiatorError::Command { .. });
        Self { told: mapped(id, error), certain }
    }
}

/// Blocks of one reservation on their way.
struct Attempt<'a> {
    transport: &'a NvmeTransport,
    id: BlobId,
    place: Reserved,
    next: u64,
    under_way: VecDeque<Receiver<Result<(), InitiatorError>>>,
}

impl Attempt<'_> {
    fn send(&mut self, first: Vec<u8>, source: &mut Source<'_>) -> Result<(), Failure> {
        let mut piece = first;
        loop {
            if self.under_way.len() >= self.transport.in_flight {
                self.settle_one()?;
            }
            let (namespace, lba) = (self.transport.namespace.clone(), self.next);
            self.next += (piece.len() / BLOCK_BYTES) as u64;
            self.under_way.push_back(self.transport.runtime.start(async move { namespace.write(lba, piece).await }));
            if source.is_at_end() {
                break;
            }
            piece = source.piece(self.transport.piece).map_err(Failure::before)?;
        }
        while !self.under_way.is_empty() {
            self.settle_one()?;
        }
        Ok(())
    }

    fn settle_one(&mut self) -> Result<(), Failure> {
        let Some(receiver) = self.under_way.pop_front() else { return Ok(()) };
        match receiver.recv() {
            Ok(outcome) => outcome.map_err(|error| Failure::of(self.id, error)),
            Err(_) => Err(Failure { told: malformed("a command was lost"), certain: false }),
        }
    }

    /// Gives the blocks back, once no command for them is under way any more. The namespace does so only if they have not
    /// become an object; when that is not sure anyway, because the connection was lost, it is left to do so by itself.
    fn take_back(mut self, failure: &Failure) {
        let mut certain = failure.certain;
        while !self.under_way.is_empty() {
            certain &= self.settle_one().err().is_none_or(|failure| failure.certain);
        }
        if !certain {
            return;
        }
        let namespace = self.transport.namespace.clone();
        let dwords = Release { lba: self.place.lba, id: self.id.register() }.dwords();
        let released =
            self.transport.runtime.run(async move { namespace.vendor_read(OPCODE_RELEASE, dwords, 0).await });
        if !matches!(released, Ok(Ok(_))) {
            tracing::debug!(blob = %self.id, ?released, "a reservation was left to the namespace");
        }
    }
}

/// What is stored now that all blocks were acknowledged.
fn outcome(
    transport: &NvmeTransport,
    metadata: &Metadata,
    size: u64,
    checksum: u32,
    place: Reserved,
) -> Result<Written, TransportError> {
    let id = metadata.id();
    let given = BlobStat { id, size, flags: metadata.flags };
    let (entry, _) = transport.entry(id)?;
    // Another version since then is not ours to tell of.
    let Some(entry) = entry.filter(|entry| entry.lba == Some(place.lba)) else {
        return Ok(Written { stat: given, computed: false });
    };
    let stat = BlobStat { id, size: entry.size, flags: entry.flags };
    // A program that gives its operand back bit by bit cannot be told from none.
    Ok(Written { stat, computed: (entry.size, entry.checksum) != (size, checksum) })
}
