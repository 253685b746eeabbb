//! The queues of a core: places for as many instructions as they hold, taken in turn.

use super::Entry;

#[derive(Debug)]
pub(in crate::array) struct Fifo {
    /// A power of two of them.
    places: Box<[Entry]>,
    /// Of the places, modulo their number; and how many are taken from there on.
    first: u32,
    count: u32,
}

impl Fifo {
    pub(super) fn new(depth: u32) -> Self {
        Self { places: vec![Entry::EMPTY; depth.next_power_of_two() as usize].into(), first: 0, count: 0 }
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&Entry> {
        if self.count == 0 { None } else { self.places.get(self.first as usize & (self.places.len() - 1)) }
    }

    /// Adds an instruction; there has to be room, which [`Self::len`] tells.
    #[inline]
    pub(super) fn push_back(&mut self, entry: Entry) {
        let at = self.first.wrapping_add(self.count) as usize & (self.places.len() - 1);
        self.places[at] = entry;
        self.count += 1;
    }

    #[inline]
    pub(super) fn pop_front(&mut self) {
        self.first = self.first.wrapping_add(1);
        self.count -= 1;
    }

    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.count
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }
}
