//! The queues of a core: places for as many instructions as they hold, taken in turn.

use super::Entry;

#[derive(Debug)]
pub(super) struct Fifo {
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
        debug_assert!((self.count as usize) < self.places.len());
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Of any depth, also where its counters begin anew.
        #[test]
        fn it_is_a_queue(
            depth in 1..=64_u32,
            left in prop_oneof![Just(0), u32::MAX - 100..=u32::MAX],
            pushes in prop::collection::vec(any::<bool>(), 0..300),
        ) {
            let mut fifo = Fifo { left, ..Fifo::new(depth) };
            let (mut queue, mut given) = (VecDeque::new(), left);
            for (number, push) in pushes.into_iter().enumerate() {
                if push && fifo.len() < depth {
                    *fifo.push_back() = Entry { pc: number as u32, ..Entry::EMPTY };
                    queue.push_back(number as u32);
                    given = given.wrapping_add(1);
                } else if !fifo.is_empty() {
                    fifo.pop_front();
                    queue.pop_front();
                }
                prop_assert_eq!(fifo.front().map(|entry| entry.pc), queue.front().copied());
                prop_assert_eq!((fifo.len() as usize, fifo.is_empty()), (queue.len(), queue.is_empty()));
                prop_assert_eq!((fifo.given(), fifo.left()), (given, given.wrapping_sub(queue.len() as u32)));
            }
        }
    }
}
