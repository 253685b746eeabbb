//! The commands that one connection has in progress.

use super::request::Request;
use std::collections::VecDeque;
use tokio::time::Instant;

/// A command identifier is the number of a slot in the low 12 bits and a count of its uses in the high 4: this
/// distinguishes a late response to an earlier use from the response to the present one.
const SLOT_BITS: u32 = 12;
const SLOT_MASK: u16 = (1 << SLOT_BITS) - 1;

/// The most slots: all identifiers stay below FFFFh, which the error log uses for "none".
pub(super) const MAX_SLOTS: usize = 1024;

/// A command that was sent and not completed.
#[derive(Debug)]
pub(super) struct Flight {
    /// Which source of the connection it came from.
    pub(super) source: usize,
    /// The request.
    pub(super) request: Request,
    /// Its identifier.
    pub(super) id: u16,
    /// The received data; its capacity is reserved at once.
    pub(super) data: Vec<u8>,
    /// Whether a digest of it was wrong.
    pub(super) damaged: bool,
    /// Bytes that the target asked for, those in the capsule included.
    pub(super) asked: usize,
    /// Requests for data that are not served yet.
    pub(super) open_requests: u32,
    /// When it was sent.
    pub(super) sent: Instant,
    /// The time at which it is acted on.
    pub(super) deadline: Option<Instant>,
    /// Whether the deadline has passed and only the late answer is waited for.
    pub(super) quarantined: bool,
}

/// The slots.
#[derive(Debug)]
pub(super) struct Slots {
    entries: Vec<Option<Flight>>,
    uses: Vec<u8>,
    /// First in, first out, so that an identifier rests as long as it can.
    free: VecDeque<u16>,
    /// Not later than the first deadline of all.
    earliest: Option<Instant>,
}

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        let count = count.clamp(1, MAX_SLOTS);
        Self {
            entries: (0..count).map(|_| None).collect(),
            uses: vec![0; count],
            free: (0..count as u16).collect(),
            earliest: None,
        }
    }

    pub(super) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Takes a slot; gives the identifier, or the request back when all are taken.
    pub(super) fn insert(&mut self, source: usize, request: Request, now: Instant) -> Result<u16, Box<Request>> {
        let Some(slot) = self.free.pop_front() else { return Err(Box::new(request)) };
        let uses = self.uses.get_mut(usize::from(slot));
        let generation = uses.map_or(0, |uses| {
            *uses = (*uses + 1) & 0xf;
            *uses
        });
        let id = slot | u16::from(generation) << SLOT_BITS;
        if let Some(deadline) = request.deadline {
            self.earliest = Some(self.earliest.map_or(deadline, |earliest| earliest.min(deadline)));
        }
        let flight = Flight {
            source,
            id,
            data: Vec::with_capacity(request.payload.room()),
            damaged: false,
            asked: 0,
            open_requests: 0,
            sent: now,
            deadline: request.deadline,
            quarantined: false,
            request,
        };
        if let Some(entry) = self.entries.get_mut(usize::from(slot)) {
            *entry = Some(flight);
        }
        Ok(id)
    }

    /// The command in progress with this identifier.
    pub(super) fn get(&mut self, id: u16) -> Option<&mut Flight> {
        let entry = self.entries.get_mut(usize::from(id & SLOT_MASK))?.as_mut()?;
        (entry.id == id).then_some(entry)
    }

    /// Takes the command out and frees its slot.
    pub(super) fn remove(&mut self, id: u16) -> Option<Flight> {
        let entry = self.entries.get_mut(usize::from(id & SLOT_MASK))?;
        if entry.as_ref()?.id != id {
            return None;
        }
        self.free.push_back(id & SLOT_MASK);
        entry.take()
    }

    /// When [`expire`](Self::expire) has something to do, at the earliest.
    pub(super) const fn earliest(&self) -> Option<Instant> {
        self.earliest
    }

    /// Calls for each command whose deadline has passed; a deadline that the call sets again is counted again.
    pub(super) fn expire(&mut self, now: Instant, mut each: impl FnMut(&mut Flight)) {
        self.earliest = None;
        for flight in self.entries.iter_mut().flatten() {
            if flight.deadline.is_some_and(|deadline| deadline <= now) {
                each(flight);
            }
            if let Some(deadline) = flight.deadline {
                self.earliest = Some(self.earliest.map_or(deadline, |earliest| earliest.min(deadline)));
            }
        }
    }

    /// All commands in progress.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Flight> + '_ {
        self.entries.iter_mut().filter_map(Option::take)
    }
}
