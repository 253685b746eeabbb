//! The objects bound or declared at addresses of a namespace.

use super::{
    access::Actor,
    coverage::Coverage,
    labels::{Declaration, Kind},
    locks::locked,
    ranges::Ranges,
    shares::{PendingCharge, Share, Shares},
};
use ciphermill_nvme::Account;
use ciphermill_program::{Metadata, VrId};
use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::{Arc, Mutex, TryLockError, atomic::AtomicBool},
    time::{Duration, Instant},
};

/// An object of the device that can be read at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) id: VrId,
    pub(super) blocks: u64,
}

/// An object whose metadata block was written and that is not complete.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) metadata: Metadata,
    /// Of the [`Declaration`].
    pub(super) number: u64,
    pub(super) blocks: u64,
    pub(super) coverage: Mutex<Coverage>,
    /// Whether something changed that may have completed it, since that was last looked at.
    pub(super) wanted: AtomicBool,
    /// Whether it was complete and refused for good, so that the next metadata block here starts over.
    pub(super) failed: AtomicBool,
    /// Of a reservation: when it was made or written to last.
    pub(super) reserved: Option<Mutex<Instant>>,
    /// The host that declared it.
    pub(super) owner: Option<Actor>,
    /// The host that wrote to it last.
    writer: Mutex<Option<Actor>>,
    /// Its part of its host's share.
    charge: Option<PendingCharge>,
}

impl Declared {
    /// Of an object whose size is at least 1; nothing is known of its blocks.
    pub(super) fn new(declaration: Declaration, blocks: u64, coverage: Coverage) -> Self {
        let Declaration { metadata, kind, number } = declaration;
        let reserved = (kind == Kind::Reserved).then(|| Mutex::new(Instant::now()));
        let (wanted, failed) = (AtomicBool::new(false), AtomicBool::new(kind == Kind::Failed));
        let (owner, writer, charge) = Default::default();
        Self {
            metadata,
            number,
            blocks,
            coverage: Mutex::new(coverage),
            wanted,
            failed,
            reserved,
            owner,
            writer,
            charge,
        }
    }

    /// The same of a host, with its part of the host's share.
    pub(super) fn owned(self, owner: Option<Actor>, charge: Option<PendingCharge>) -> Self {
        Self { owner, charge, ..self }
    }

    /// Charges a declaration that an earlier run of the server accepted to the share of its owner, if it has one.
    fn recharged(&mut self, shares: &Shares) {
        let owner = self.owner.as_ref().map(|owner| Account::Host(owner.as_str().into()));
        self.charge = owner.map(|owner| shares.of(&owner).charge_recovered(self.blocks));
    }

    /// The blocks that count in this share.
    pub(super) fn charged(&self, share: &Arc<Share>) -> Option<u64> {
        self.charge.as_ref().filter(|charge| charge.is_of(share)).map(|charge| charge.blocks)
    }

    /// A host writes to it.
    pub(super) fn written_by(&self, writer: Option<&Actor>) {
        *locked(&self.writer) = writer.cloned();
    }

    /// The host that wrote to it last.
    pub(super) fn writer(&self) -> Option<Actor> {
        locked(&self.writer).clone()
    }

    /// Blocks in the range may have changed.
    pub(super) fn touch(&self, range: &Range<u64>) {
        locked(&self.coverage).touch(range);
        if let Some(used) = &self.reserved {
            *locked(used) = Instant::now();
        }
    }

    /// Whether it is a reservation without writes for `idle`.
    pub(super) fn is_abandoned(&self, idle: Duration) -> bool {
        self.reserved.as_ref().is_some_and(|used| locked(used).elapsed() >= idle)
    }

    /// Whether `more` further blocks could complete it, as far as is known; `unknown` while another thread examines it.
    pub(super) fn may_be_complete(&self, more: u64, unknown: bool) -> bool {
        match self.coverage.try_lock() {
            Ok(coverage) => coverage.may_be_complete(more),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().may_be_complete(more),
            Err(TryLockError::WouldBlock) => unknown,
        }
    }
}

/// The object at a first block: bound, declared, or both; both belong to one register.
#[derive(Clone, Debug, Default)]
pub(super) struct Binding {
    pub(super) bound: Option<Bound>,
    pub(super) declared: Option<Arc<Declared>>,
}

impl Binding {
    /// Number of occupied blocks.
    pub(super) fn blocks(&self) -> u64 {
        let bound = self.bound.map_or(0, |bound| bound.blocks);
        bound.max(self.declared.as_ref().map_or(0, |declared| declared.blocks))
    }
}

/// A deletion that the device has still to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Undone {
    pub(super) id: VrId,
    /// The host whose command began it.
    pub(super) by: Option<Actor>,
}

/// All bindings of a namespace; their ranges do not overlap.
#[derive(Debug)]
pub(super) struct Bindings {
    /// First block of the second half.
    pub(super) half: u64,
    places: BTreeMap<u64, Binding>,
    registers: HashMap<VrId, u64>,
    bound_blocks: u64,
    /// Ranges that commands in progress will occupy.
    pub(super) taking: Vec<(u64, Range<u64>)>,
    next: u64,
    /// Objects whose places are gone and that the device may still hold, by the block of the label that says so.
    undone: BTreeMap<u64, Undone>,
}

impl Bindings {
    pub(super) fn new(half: u64) -> Self {
        Self {
            half,
            places: BTreeMap::new(),
            registers: HashMap::new(),
            bound_blocks: 0,
            taking: Vec::new(),
            next: 0,
            undone: BTreeMap::new(),
        }
    }

    /// Charges all declarations to the shares of their owners, before anything else uses these bindings.
    pub(super) fn recharge(&mut self, shares: &Shares) {
        let declared = self.places.values_mut().filter_map(|place| place.declared.as_mut());
        declared.filter_map(Arc::get_mut).for_each(|declared| declared.recharged(shares));
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn get(&self, first: u64) -> Option<&Binding> {
        self.places.get(&first)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Binding)> {
        self.places.iter().map(|(first, place)| (*first, place))
    }

    /// Where a register is bound.
    pub(super) fn place_of(&self, id: VrId) -> Option<u64> {
        self.registers.get(&id).copied()
    }

    /// Blocks of all bound objects.
    pub(super) fn bound_blocks(&self) -> u64 {
        self.bound_blocks
    }

    /// First block above all places.
    pub(super) fn end(&self) -> u64 {
        self.places.last_key_value().map_or(0, |(first, place)| first + place.blocks())
    }

    /// The places whose blocks overlap the range, ascending.
    pub(super) fn overlapping(&self, range: Range<u64>) -> impl Iterator<Item = (u64, &Binding)> {
        let before = self.places.range(..range.start).next_back();
        let before = before.filter(|(first, place)| *first + place.blocks() > range.start);
        // A range that is empty or turned round would make `BTreeMap::range` panic.
        let within = (range.start < range.end).then(|| self.places.range(range.clone()));
        before.into_iter().chain(within.into_iter().flatten()).map(|(first, place)| (*first, place))
    }

    /// The places whose metadata blocks lie in the range.
    pub(super) fn named_in(&self, range: &Range<u64>) -> impl Iterator<Item = (u64, &Binding)> {
        let (start, end) = (range.start.max(self.half) - self.half, range.end.max(self.half) - self.half);
        let within = (start < end).then(|| self.places.range(start..end));
        within.into_iter().flatten().map(|(first, place)| (*first, place))
    }

    /// The part of a range in the data half.
    pub(super) fn data_part(&self, range: &Range<u64>) -> Range<u64> {
        range.start.min(self.half)..range.end.min(self.half)
    }

    /// Whether a place has blocks or its metadata block in the range.
    pub(super) fn any_in(&self, range: &Range<u64>) -> bool {
        self.overlapping(self.data_part(range)).next().is_some() || self.any_named(range)
    }

    /// Whether the range has the metadata block of a place, or of one whose object is still to be deleted.
    pub(super) fn any_named(&self, range: &Range<u64>) -> bool {
        self.named_in(range).next().is_some() || self.undone_in(range).next().is_some()
    }

    /// The declared objects with blocks or metadata block in the ranges.
    pub(super) fn declared_in(&self, ranges: &Ranges) -> Vec<(u64, Arc<Declared>)> {
        let mut found = BTreeMap::new();
        for range in ranges.iter() {
            let data = self.data_part(range);
            // A place may have more blocks than what is declared there: those are nothing to the declaration.
            let reached = |first: u64, declared: &Declared| data.start < first + declared.blocks;
            let touched = self.overlapping(data.clone());
            let touched =
                touched.filter(|(first, place)| place.declared.as_ref().is_some_and(|it| reached(*first, it)));
            for (first, place) in touched.chain(self.named_in(range)) {
                if let Some(declared) = &place.declared {
                    found.entry(first).or_insert_with(|| Arc::clone(declared));
                }
            }
        }
        found.into_iter().collect()
    }

    /// The end of the room for an object at `first`: the next binding, a range in progress, or the end of the half.
    pub(super) fn limit(&self, first: u64) -> u64 {
        let next = self.places.range(first + 1..).next().map_or(self.half, |(next, _)| *next);
        let taking = self.taking.iter().map(|(_, range)| range.start).filter(|start| *start > first).min();
        next.min(taking.unwrap_or(self.half)).min(self.half)
    }

    /// The first range at or after `start` with at least `blocks` blocks and no declared or bound object, in its full length.
    pub(super) fn gap(&self, mut start: u64, blocks: u64) -> Option<Range<u64>> {
        let before = self.places.range(..start).next_back();
        start = before.map_or(start, |(first, place)| start.max(first + place.blocks()));
        for (first, place) in self.places.range(start..) {
            if first - start >= blocks {
                return Some(start..*first);
            }
            start = first + place.blocks();
        }
        (self.half.saturating_sub(start) >= blocks).then_some(start..self.half)
    }

    /// Marks a range as being occupied; returns a ticket for [`forget`](Self::forget).
    pub(super) fn take(&mut self, range: Range<u64>) -> u64 {
        self.next += 1;
        self.taking.push((self.next, range));
        self.next
    }

    pub(super) fn forget(&mut self, ticket: u64) {
        self.taking.retain(|(held, _)| *held != ticket);
    }

    /// Notes a deletion that is durable in the volume only.
    pub(super) fn delete_later(&mut self, first: u64, undone: Undone) {
        self.undone.insert(first, undone);
    }

    /// The label at `first` says nothing of a deletion any more.
    pub(super) fn deleted(&mut self, first: u64) {
        self.undone.remove(&first);
    }

    /// The pending deletion at a first block.
    pub(super) fn undone_at(&self, first: u64) -> Option<&Undone> {
        self.undone.get(&first)
    }

    /// Deletions to be done of objects whose metadata blocks were in the range.
    pub(super) fn undone_in(&self, range: &Range<u64>) -> impl Iterator<Item = (u64, &Undone)> {
        let (start, end) = (range.start.max(self.half) - self.half, range.end.max(self.half) - self.half);
        let within = (start < end).then(|| self.undone.range(start..end));
        within.into_iter().flatten().map(|(first, undone)| (*first, undone))
    }

    /// The addresses of the labels of pending deletions of a register.
    pub(super) fn undone_of(&self, id: VrId) -> Vec<u64> {
        self.undone.iter().filter(|(_, undone)| undone.id == id).map(|(first, _)| *first).collect()
    }

    fn edit(&mut self, first: u64, change: impl FnOnce(&mut Binding)) {
        let place = self.places.entry(first).or_default();
        if let Some(bound) = place.bound {
            self.bound_blocks -= bound.blocks;
            self.registers.remove(&bound.id);
        }
        change(place);
        if let Some(bound) = place.bound {
            self.bound_blocks += bound.blocks;
            self.registers.insert(bound.id, first);
        }
        if place.bound.is_none() && place.declared.is_none() {
            self.places.remove(&first);
        }
    }

    /// Binds a register here, and nowhere else. Its declaration, if it was declared here, is done.
    pub(super) fn bind(&mut self, first: u64, bound: Bound) {
        if let Some(earlier) = self.place_of(bound.id).filter(|earlier| *earlier != first) {
            self.unbind(earlier);
        }
        self.edit(first, |place| *place = Binding { bound: Some(bound), declared: None });
    }

    /// Gives the place of a register another number of blocks; none when there is no room for them.
    pub(super) fn resize(&mut self, bound: Bound) {
        let Some(first) = self.place_of(bound.id) else { return };
        let next = self.places.range(first + 1..).next().map_or(self.half, |(next, _)| *next);
        let fits = bound.blocks <= next - first;
        self.edit(first, |place| place.bound = fits.then_some(bound));
    }

    pub(super) fn unbind(&mut self, first: u64) {
        self.edit(first, |place| place.bound = None);
    }

    pub(super) fn declare(&mut self, first: u64, declared: Option<Arc<Declared>>) {
        self.edit(first, |place| place.declared = declared);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphermill_program::{DataId, KeyId, TypeCode};

    fn bound(data: u32, blocks: u64) -> Bound {
        Bound { id: VrId::new(TypeCode(1), KeyId(0), DataId(data)), blocks }
    }

    #[test]
    fn places_are_found_by_what_they_overlap() {
        let mut places = Bindings::new(1000);
        places.bind(10, bound(1, 5));
        places.bind(20, bound(2, 1));
        let found = |range| places.overlapping(range).map(|(first, _)| first).collect::<Vec<_>>();
        assert!(found(0..10).is_empty());
        assert_eq!(found(0..11), [10]);
        assert_eq!(found(14..15), [10]);
        assert!(found(15..20).is_empty());
        assert_eq!(found(14..21), [10, 20]);
        assert!(found(20..20).is_empty());
        assert_eq!(places.named_in(&(1010..1021)).map(|(first, _)| first).collect::<Vec<_>>(), [10, 20]);
        assert!(places.named_in(&(0..1010)).next().is_none());
        assert!(places.any_in(&(990..1011)) && !places.any_in(&(990..1010)));
        assert_eq!((places.limit(10), places.limit(20), places.end()), (20, 1000, 21));
        assert_eq!(places.bound_blocks(), 6);
    }

    #[test]
    fn a_register_is_bound_once() {
        let mut places = Bindings::new(1000);
        places.bind(10, bound(1, 5));
        places.bind(30, bound(1, 2));
        assert_eq!((places.len(), places.bound_blocks(), places.place_of(bound(1, 0).id)), (1, 2, Some(30)));
        let ticket = places.take(50..60);
        assert_eq!(places.limit(30), 50);
        places.forget(ticket);
        assert_eq!(places.limit(30), 1000);
        assert_eq!((places.gap(0, 30), places.gap(0, 31)), (Some(0..30), Some(32..1000)));
        assert_eq!((places.gap(31, 968), places.gap(31, 969), places.gap(1000, 1)), (Some(32..1000), None, None));
        places.bind(40, bound(2, 1));
        places.resize(bound(1, 10));
        assert_eq!((places.bound_blocks(), places.place_of(bound(1, 0).id)), (11, Some(30)));
        places.resize(bound(1, 11));
        assert_eq!((places.bound_blocks(), places.place_of(bound(1, 0).id)), (1, None));
        places.unbind(40);
        places.bind(30, bound(1, 2));
        places.unbind(30);
        assert_eq!((places.len(), places.bound_blocks(), places.end()), (0, 0, 0));
    }
}
