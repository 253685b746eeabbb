//! The vendor's commands on objects.

use super::{
    BlockSpace, Directory, Outcome, Taking,
    audit::Action,
    bindings::Binding,
    blocks_of, crowded,
    directory::start_of,
    origin::{Origin, Use},
    plan::{Standing, Terms},
    point,
    sessions::Content,
    status,
    write::{Edit, Erase},
};
use crate::vendor::{
    CloseObject, DeleteObject, OPCODE_CLOSE, OPCODE_DELETE, OPCODE_DIRECTORY, OPCODE_OPEN, OPCODE_READ, OPCODE_RELEASE,
    OPCODE_RESERVE, OpenMode, OpenObject, Opened, ReadObject, Release, Reserve, Reserved, VendorError,
};
use ciphermill_device::{DeviceError, ObjectFlags, ReadMode};
use ciphermill_nvme::{Answer, Caller, CommandError, Status, VendorCommand};
use ciphermill_program::{Metadata, VrId};
use std::{
    ops::Range,
    sync::{Arc, Weak},
    time::Duration,
};

/// How often a deletion follows an object that others put elsewhere.
const DELETE_ATTEMPTS: usize = 16;

/// The result of a search for free blocks.
enum Room {
    /// These are, and are marked as being taken.
    Found(Range<u64>, Taking),
    /// None are free, but some will be if a command in progress does not occupy them.
    Taken,
    None,
}

fn invalid(error: &VendorError) -> CommandError {
    CommandError::new(Status::INVALID_FIELD.do_not_retry(), error.to_string())
}

fn too_short(length: usize, needed: usize) -> CommandError {
    let text = format!("the data has {length} bytes, at least {needed} are needed");
    CommandError::new(Status::INVALID_FIELD.do_not_retry(), text)
}

impl BlockSpace {
    pub(super) fn vendor_command(self: Arc<Self>, origin: &Arc<Origin>, command: VendorCommand) -> Answer<Vec<u8>> {
        let (space, by) = (Arc::clone(&self), Arc::clone(origin));
        let Some(caller) = origin.caller.clone() else { return Answer::failed(Status::INVALID_OPCODE.do_not_retry()) };
        match command.opcode {
            OPCODE_DIRECTORY => self.detached(origin, async move { space.list(by, command).await }),
            OPCODE_RESERVE => match Reserve::from_command(&command) {
                Ok(Reserve(metadata)) if command.length >= Reserved::BYTES => {
                    self.detached(origin, async move { space.reserve(&by, metadata).await })
                }
                Ok(_) => Answer::failed(too_short(command.length, Reserved::BYTES)),
                Err(error) => Answer::failed(invalid(&error)),
            },
            OPCODE_OPEN => match OpenObject::from_command(&command) {
                Ok(open) if command.length >= Opened::BYTES => {
                    self.detached(origin, async move { space.open_object(&by, &caller, open, command.length).await })
                }
                Ok(_) => Answer::failed(too_short(command.length, Opened::BYTES)),
                Err(error) => Answer::failed(invalid(&error)),
            },
            OPCODE_READ => match ReadObject::from_command(&command) {
                Ok(read) => self.detached(origin, async move { space.read_open(&caller, read, command.length).await }),
                Err(error) => Answer::failed(invalid(&error)),
            },
            OPCODE_CLOSE => match CloseObject::from_command(&command) {
                Ok(close) => {
                    self.opens.close(close.session, &caller);
                    Answer::Ready(Ok(Vec::new()))
                }
                Err(error) => Answer::failed(invalid(&error)),
            },
            OPCODE_RELEASE => match Release::from_command(&command) {
                Ok(release) => {
                    self.detached(origin, async move { space.release(&by, release).await.map(|()| Vec::new()) })
                }
                Err(error) => Answer::failed(invalid(&error)),
            },
            OPCODE_DELETE => match DeleteObject::from_command(&command) {
                Ok(DeleteObject { id }) => {
                    self.detached(origin, async move { space.delete_object(&by, id).await.map(|()| Vec::new()) })
                }
                Err(error) => Answer::failed(invalid(&error)),
            },
            _ => Answer::failed(Status::INVALID_OPCODE.do_not_retry()),
        }
    }

    async fn release(self: &Arc<Self>, origin: &Arc<Origin>, release: Release) -> Outcome {
        let Release { lba, id } = release;
        let only = Standing::Declared(lba, id);
        let Some(blocks) = self.index().get(lba).map(Binding::blocks) else { return Ok(()) };
        self.restructure_on(origin, self.erasure(lba, blocks), Terms { own: None, only: Some(only) }).await.map(drop)
    }

    /// Cancels idle reservations at intervals, as long as the namespace is open.
    pub(super) async fn watch_reservations(space: Weak<Self>, idle: Duration) {
        loop {
            tokio::time::sleep(idle / 4).await;
            let Some(space) = space.upgrade() else { return };
            let abandoned: Vec<_> = {
                let index = space.index();
                let declared = index.iter().filter_map(|(first, place)| Some((first, place.declared.as_ref()?)));
                let abandoned = declared.filter(|(_, declared)| declared.is_abandoned(idle));
                abandoned.map(|(first, declared)| (first, declared.metadata.id, declared.blocks)).collect()
            };
            let (mut released, mut failed) = (0u64, 0u64);
            for (first, register, blocks) in abandoned {
                let only = Some(Standing::Abandoned(first, idle));
                let edit = space.erasure(first, blocks);
                match space.restructure_on(&Self::itself(), edit, Terms { own: None, only }).await {
                    Ok(done) => released += u64::from(done),
                    // It is tried again.
                    Err(error) => {
                        tracing::debug!(space = space.id, lba = first, %register, %error, "a reservation stays");
                        failed += 1;
                    }
                }
            }
            // One line for all: a host can abandon very many.
            if released + failed > 0 {
                tracing::info!(space = space.id, released, failed, "abandoned reservations");
            }
        }
    }

    /// The erasure of a place: its metadata block and its blocks.
    fn erasure(&self, first: u64, blocks: u64) -> Edit {
        let metadata = self.half + first;
        Edit::Erase { ranges: vec![first..first + blocks, metadata..metadata + 1], how: Erase::Gone }
    }

    async fn delete_object(self: &Arc<Self>, origin: &Arc<Origin>, id: VrId) -> Outcome {
        for _ in 0..DELETE_ATTEMPTS {
            let stat = self.device.stat(id).map_err(|error| status::of_device(&error))?;
            let place = {
                let index = self.index();
                let first = index.place_of(id);
                first.map(|first| (first, index.get(first).map_or(1, Binding::blocks)))
            };
            if let Some((first, blocks)) = place {
                let only = Some(Standing::Bound(first, id));
                self.restructure_on(origin, self.erasure(first, blocks), Terms { own: None, only }).await?;
            } else {
                let _register = crowded(self.registers.exclusive(origin.party(), point(id)).await)?;
                if self.index().place_of(id).is_none() {
                    origin.register(Use::Change, &self.device, id)?;
                    let (device, version) = (self.device.clone(), self.version(id));
                    let deleted = self.deletion(origin.share.as_ref(), move || device.delete(id)).await?;
                    self.pages.forget(id);
                    if deleted.is_ok() {
                        self.audit.object(Action::Deleted, origin.by(), id, version, None);
                    }
                    return deleted.map_err(|error| status::of_device(&error));
                }
            }
            // Somebody else may have placed it elsewhere meanwhile.
            match self.device.stat(id) {
                Ok(now) if now.generation == stat.generation => {}
                _ => return Ok(()),
            }
        }
        Err(status::interrupted("the object moves from place to place"))
    }

    async fn list(self: &Arc<Self>, origin: Arc<Origin>, command: VendorCommand) -> Outcome<Vec<u8>> {
        let Some(start) = start_of(command.dwords) else {
            let text = "dword 10 is a type, 11 a Key ID, 12 a Data ID, 13 to 15 are 0";
            return Err(CommandError::new(Status::INVALID_FIELD.do_not_retry(), text));
        };
        let header = Directory::bytes_for(0);
        let most = command.length.checked_sub(header).ok_or_else(|| too_short(command.length, header))? / header;
        let space = Arc::clone(self);
        // Takes time where there are very many objects.
        self.blocking(&self.disk, move || space.directory_for(&origin, start, most).encode()).await
    }

    async fn reserve(self: &Arc<Self>, origin: &Arc<Origin>, metadata: Metadata) -> Outcome<Vec<u8>> {
        let blocks = blocks_of(metadata.size);
        if blocks == 0 {
            return Err(CommandError::new(
                status::OBJECT_REFUSED,
                "an object has at least one byte, this one has none",
            ));
        }
        loop {
            let mut settled = std::pin::pin!(self.settled.notified());
            settled.as_mut().enable();
            let space = Arc::clone(self);
            match self.blocking(&self.disk, move || space.find_room(blocks)).await? {
                Room::Found(range, taking) => {
                    let lba = range.start;
                    let edit = Edit::Write { lba: self.half + lba, data: Arc::new(metadata.encode().to_vec()) };
                    // Under the lock it is looked once more: plain blocks are written to where room was found, too.
                    if self.restructure_on(origin, edit, Terms { own: Some(taking.ticket), only: None }).await? {
                        return Ok(Reserved { lba, blocks }.encode().to_vec());
                    }
                }
                Room::Taken => {
                    let _waiting = crowded(self.waits.enter(0))?;
                    settled.await;
                }
                Room::None => {
                    let text =
                        format!("no {blocks} neighbouring blocks of the {} of the data half are free", self.half);
                    return Err(CommandError::new(Status::CAPACITY_EXCEEDED.do_not_retry(), text));
                }
            }
        }
    }

    /// Blocks the thread: finds the lowest range of `blocks` blocks without mapped blocks and objects.
    fn find_room(self: &Arc<Self>, blocks: u64) -> Room {
        let (mut start, mut taken) = (0, false);
        loop {
            let gap = self.index().gap(start, blocks);
            let Some(gap) = gap else { return if taken { Room::Taken } else { Room::None } };
            let Some(lba) = self.volume.next_absent(self.id, gap.start, blocks, gap.end) else {
                start = gap.end;
                continue;
            };
            let range = lba..lba + blocks;
            let mut index = self.index_mut();
            // Others were not kept from it while it was looked for.
            if index.overlapping(range.clone()).next().is_some() || self.volume.mapped(self.id, lba, blocks) > 0 {
                start = lba;
                continue;
            }
            // A plain block where the metadata block would be is not to be lost.
            if !self.is_empty(range.clone()) {
                drop(index);
                let free = self.volume.next_absent(self.id, self.half + lba, 1, 2 * self.half);
                start = free.map_or(self.half, |free| (free - self.half).max(lba));
                continue;
            }
            let taking = index.taking.iter().map(|(_, taking)| taking);
            let taking = taking.filter(|taking| taking.start < range.end && range.start < taking.end);
            if let Some(end) = taking.map(|taking| taking.end).max() {
                (start, taken) = (end, true);
                continue;
            }
            let ticket = index.take(range.clone());
            return Room::Found(range, Taking { space: Arc::clone(self), ticket, charge: None });
        }
    }

    async fn open_object(
        self: &Arc<Self>,
        origin: &Arc<Origin>,
        caller: &Arc<Caller>,
        open: OpenObject,
        length: usize,
    ) -> Outcome<Vec<u8>> {
        let OpenObject { id, mode } = open;
        origin.register(Use::Read, &self.device, id)?;
        let computes = match mode {
            OpenMode::Stored => false,
            OpenMode::Compute => true,
            OpenMode::Armed => self.device.stat(id).is_ok_and(|stat| stat.flags.contains(ObjectFlags::ARMED)),
        };
        let room = length - Opened::BYTES;
        let (space, by) = (Arc::clone(self), Arc::clone(origin));
        let work = move || -> Outcome<_> {
            let (content, disarmed) = space.content(&by, id, mode)?;
            let head = content.read(0, room).map_err(|error| status::of_device(&error.into()))?;
            Ok((content, head, disarmed))
        };
        let waiting = if computes { self.queued(origin)? } else { None };
        let opened = match computes {
            true => self.device_job(origin, work).await?,
            false => self.blocking(&self.disk, work).await?,
        };
        let (content, head, disarmed) = opened?;
        drop(waiting);
        let (size, computed) = (content.size(), matches!(content, Content::Computed(_)));
        if computed {
            let place = self.index().place_of(id);
            self.audit.object(Action::ComputedRead, origin.by(), id, self.version(id), place);
        }
        if disarmed {
            self.audit.object(Action::Flags, origin.by(), id, None, None);
        }
        let session = match head.len() as u64 {
            all if all == size => 0,
            _ => self.opens.insert(Arc::new(content), caller).ok_or_else(|| {
                CommandError::new(
                    Status::COMMAND_INTERRUPTED,
                    "too many objects are open, or too large ones; close some",
                )
            })?,
        };
        let mut bytes = Opened { session, size, computed }.encode().to_vec();
        bytes.extend_from_slice(&head);
        Ok(bytes)
    }

    /// The content of an object, and whether the read disarmed it.
    fn content(&self, origin: &Origin, id: VrId, mode: OpenMode) -> Outcome<(Content, bool)> {
        let told = |error: DeviceError| status::of_device(&error);
        let mode = match mode {
            OpenMode::Stored => return Ok((self.stored(origin, id)?, false)),
            OpenMode::Compute => ReadMode::Compute,
            OpenMode::Armed => ReadMode::Armed,
        };
        let options = origin.read_options(mode, self.config.session_bytes);
        let source = self.device.read_with(id, options).map_err(told)?;
        if !source.computed() {
            return Ok((self.stored(origin, id)?, false));
        }
        let disarmed = source.disarmed();
        Ok((Content::Computed(source.into_bytes().map_err(|error| told(error.into()))?), disarmed))
    }

    /// The stored bytes of an object, if this very version may be read.
    fn stored(&self, origin: &Origin, id: VrId) -> Outcome<Content> {
        let pages = self.device.open_object(id).map_err(|error| status::of_device(&error))?;
        origin.object(Use::Read, id, pages.stat().owner.as_ref())?;
        Ok(Content::Stored(pages))
    }

    async fn read_open(self: &Arc<Self>, caller: &Caller, read: ReadObject, length: usize) -> Outcome<Vec<u8>> {
        let ReadObject { session, offset } = read;
        let content = self.opens.get(session, caller).ok_or_else(|| {
            let text = format!("no object is open as number {session}: it was closed, or not used for too long");
            CommandError::new(status::NO_SUCH_READ, text)
        })?;
        let bytes = self.blocking(&self.disk, move || content.read(offset, length)).await?;
        bytes.map_err(|error| CommandError::new(status::of_store(&error), error.to_string()))
    }
}
