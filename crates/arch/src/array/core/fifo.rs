//! The queues of a core: places for as many instructions as they hold, taken in turn.

use super::Entry;

#[derive(Debug)]
pub(in crate::array) struct Fifo {
    /// A power of two of them.
    places: Box<[Entry]>,
    /// How many instructions have left it: the first one stands in this place, modulo the number of places.
    left: u32,
    /// How many are there.
    count: u32,
}

impl Fifo {
    pub(super) fn new(depth: u32) -> Self {
        Self { places: vec![Entry::EMPTY; depth.next_power_of_two() as usize].into(), left: 0, count: 0 }
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&Entry> {
        if self.count == 0 { None } else { self.places.get(self.left as usize & (self.places.len() - 1)) }
    }

    /// The place of a new instruction, to be written there; there has to be room, which [`Self::len`] tells.
    #[inline]
    pub(super) fn push_back(&mut self) -> &mut Entry {
        let at = self.left.wrapping_add(self.count) as usize & (self.places.len() - 1);
        self.count += 1;
        &mut self.places[at]
    }

    /// How many instructions have left it.
    #[inline]
    pub(super) fn left(&self) -> u32 {
        self.left
    }

    /// How many it has been given.
    #[inline]
    pub(super) fn given(&self) -> u32 {
        self.left.wrapping_add(self.count)
    }

    #[inline]
    pub(super) fn pop_front(&mut self) {
        self.left = self.left.wrapping_add(1);
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
