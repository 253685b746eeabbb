//! Writing a blob: reserve, send the blocks, send the last ones after all others, query the outcome.

use super::{
    NvmeTransport,
    error::{malformed, mapped},
    flag,
};
use crate::{
    blob::{BlobId, BlobStat, Metadata, WriteMode, Written},
    transport::{TransportError, pull},
};
use bytes::Bytes;
use ciphermill_blockspace::{
    adapter::Directory,
    vendor::{OPCODE_RELEASE, OPCODE_RESERVE, Release, Reserve, Reserved},
};
use ciphermill_device::ObjectFlags;
use ciphermill_nvme::{BLOCK_BYTES, Status, initiator::InitiatorError};
use ciphermill_program as program;
use std::{
    collections::VecDeque,
    io::Read,
    sync::mpsc::Receiver,
    thread,
    time::{Duration, Instant},
};

/// The wait before the last piece is sent again; it doubles up to the second figure.
const RETRY: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));

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
    let mut source = Source { content, size, taken: 0 };
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
    let under_way = VecDeque::with_capacity(transport.in_flight);
    let mut attempt = Attempt { transport, id: metadata.id(), record, place, next: place.lba, under_way };
    match attempt.send(first, &mut source) {
        Ok(()) => Ok(outcome(transport, metadata, size, place)),
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
    record: program::Metadata,
    place: Reserved,
    next: u64,
    under_way: VecDeque<Receiver<Result<(), InitiatorError>>>,
}

/// Where an object stands whose last piece may have been lost.
enum Standing {
    /// It is complete.
    Bound,
    /// It is declared and not complete.
    Declared,
    /// The blocks have other content: the object was complete and is replaced or deleted, or its reservation was taken
    /// back.
    Gone,
}

impl Attempt<'_> {
    fn send(&mut self, first: Vec<u8>, source: &mut Source<'_>) -> Result<(), Failure> {
        let mut piece = first;
        while !source.is_at_end() {
            if self.under_way.len() >= self.transport.in_flight {
                self.settle_one()?;
            }
            let (namespace, lba) = (self.transport.namespace.clone(), self.next);
            self.next += (piece.len() / BLOCK_BYTES) as u64;
            // Sent again when the connection is lost: the object cannot become complete, and the place not another's.
            self.under_way.push_back(self.transport.runtime.start(async move { namespace.write(lba, piece).await }));
            piece = source.piece(self.transport.piece).map_err(Failure::before)?;
        }
        while !self.under_way.is_empty() {
            self.settle_one()?;
        }
        self.complete(piece.into())
    }

    /// Sends the piece that completes the object. Afterwards the namespace may reuse the blocks. So a new connection
    /// must not repeat the piece unless the object is known to wait for it.
    fn complete(&self, piece: Bytes) -> Result<(), Failure> {
        let deadline = Instant::now() + self.transport.command_time;
        let mut pause = RETRY.0;
        loop {
            let (namespace, lba, data) = (self.transport.namespace.clone(), self.next, piece.clone());
            let sent = self.transport.runtime.run(async move { namespace.write_once(lba, data).await });
            let error = match sent {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => error,
                Err(gone) => return Err(Failure { told: TransportError::Failed(Box::new(gone)), certain: false }),
            };
            let again = match &error {
                // A controller that is connected anew has ended what its lost connections left.
                InitiatorError::Interrupted { .. } => match self.standing() {
                    Ok(Standing::Bound) => return Ok(()),
                    Ok(Standing::Declared) => true,
                    Ok(Standing::Gone) | Err(_) => false,
                },
                InitiatorError::Command { error } => may_pass(error.status),
                _ => false,
            };
            if !again || Instant::now() + pause >= deadline {
                return Err(Failure::of(self.id, error));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(RETRY.1);
        }
    }

    fn standing(&self) -> Result<Standing, TransportError> {
        let register = self.id.register();
        let directory = self.transport.directory(register, Directory::bytes_for(1))?;
        let entry = directory.entries.first().filter(|entry| entry.id == register);
        if entry.is_some_and(|entry| entry.lba == Some(self.place.lba)) {
            return Ok(Standing::Bound);
        }
        let (id, namespace, lba) = (self.id, self.transport.namespace.clone(), self.place.lba);
        let block = self.transport.wait(async move {
            let lba = directory.half.checked_add(lba).ok_or_else(|| malformed("its blocks have no halves"))?;
            namespace.read(lba, 1).await.map_err(|error| mapped(id, error))
        })?;
        let declared = program::Metadata::decode(&block).is_ok_and(|found| found == self.record);
        Ok(if declared { Standing::Declared } else { Standing::Gone })
    }

    fn settle_one(&mut self) -> Result<(), Failure> {
        let Some(receiver) = self.under_way.pop_front() else { return Ok(()) };
        match receiver.recv() {
            Ok(outcome) => outcome.map_err(|error| Failure::of(self.id, error)),
            Err(_) => Err(Failure { told: malformed("a command was lost"), certain: false }),
        }
    }

    /// Releases the blocks after all their commands have finished. The namespace accepts them only if they have not
    /// become an object. If a command may still take effect, because its response was late or its connection was lost,
    /// the namespace frees the reservation after a time without writes.
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

/// Whether the device means the command to be sent again. It was answered, so it has not taken effect.
fn may_pass(status: Status) -> bool {
    let passing = [
        Status::COMMAND_INTERRUPTED,
        Status::NAMESPACE_NOT_READY,
        Status::DATA_TRANSFER_ERROR,
        Status::TRANSIENT_TRANSPORT_ERROR,
    ];
    !status.is_final() && passing.iter().any(|passing| status.is(*passing))
}

/// The stored object after all blocks were acknowledged. It is certainly stored. If the device cannot be queried any
/// more, the result has the given size.
fn outcome(transport: &NvmeTransport, metadata: &Metadata, size: u64, place: Reserved) -> Written {
    let id = metadata.id();
    let given = Written { stat: BlobStat { id, size, flags: metadata.flags }, computed: false };
    let entry = match transport.entry(id) {
        Ok((entry, _)) => entry,
        Err(error) => {
            tracing::warn!(blob = %id, %error, "written, but whether a program ran cannot be asked");
            return given;
        }
    };
    // Another version since then is not ours to tell of.
    let Some(entry) = entry.filter(|entry| entry.lba == Some(place.lba)) else { return given };
    Written { stat: BlobStat { id, size: entry.size, flags: entry.flags }, computed: entry.computed }
}
