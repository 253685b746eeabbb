//! The instruction queues of a core, as ring buffers in one array.

use super::scoreboard::Ticket;
use crate::array::machine::MAX_QUEUE_DEPTH;
use crate::array::queued::{QUEUES, Queue, Queued};

const MAX_DEPTH: usize = MAX_QUEUE_DEPTH as usize;

/// An instruction in a queue. It occupies half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Entry {
    /// The index of the instruction in the program.
    pub pc: u32,
    pub address: u32,
    pub queued: Queued,
    /// The number of earlier loads, for the end of a phase.
    pub loads: u32,
    pub ticket: Ticket,
}

impl Entry {
    pub(super) const EMPTY: Self = Self { pc: 0, address: 0, queued: Queued::UNUSED, loads: 0, ticket: [0; 5] };
}

const _: () = assert!(size_of::<Entry>() == 32);

#[derive(Debug)]
pub(super) struct Queues {
    /// The slots of all queues. Each queue uses as many as the next power of two of its depth, so that few cache lines
    /// are touched.
    places: Box<[Entry; QUEUES * MAX_DEPTH]>,
    /// The number of instructions that have left each queue. Modulo the number of slots, it is the position of the
    /// head.
    left: [u32; QUEUES],
    /// The number of instructions that each queue has received.
    given: [u32; QUEUES],
    depth: u32,
    /// The number of slots of a queue, minus one.
    mask: u32,
}

impl Queues {
    pub(super) fn new(depth: u32) -> Self {
        debug_assert!((1..=MAX_DEPTH as u32).contains(&depth));
        Self {
            places: Box::new([Entry::EMPTY; QUEUES * MAX_DEPTH]),
            left: [0; QUEUES],
            given: [0; QUEUES],
            depth,
            mask: depth.next_power_of_two() - 1,
        }
    }

    #[inline(always)]
    fn place(&self, queue: Queue, number: u32) -> usize {
        queue as usize * MAX_DEPTH + (number & self.mask) as usize % MAX_DEPTH
    }

    #[inline(always)]
    pub(super) fn front(&self, queue: Queue) -> Option<&Entry> {
        if self.is_empty(queue) { None } else { Some(&self.places[self.place(queue, self.left[queue as usize])]) }
    }

    /// Appends an instruction. The caller checks that there is room.
    #[inline(always)]
    pub(super) fn push_back(&mut self, queue: Queue, entry: Entry) {
        debug_assert!(!self.is_full(queue));
        let given = &mut self.given[queue as usize];
        let number = *given;
        *given = given.wrapping_add(1);
        self.places[self.place(queue, number)] = entry;
    }

    /// The number of instructions that a queue has received, modulo 2^32.
    #[inline(always)]
    pub(super) fn given(&self, queue: Queue) -> u32 {
        self.given[queue as usize]
    }

    #[inline(always)]
    pub(super) fn pop_front(&mut self, queue: Queue) {
        debug_assert!(!self.is_empty(queue));
        self.left[queue as usize] = self.left[queue as usize].wrapping_add(1);
    }

    #[inline(always)]
    fn len(&self, queue: Queue) -> u32 {
        self.given[queue as usize].wrapping_sub(self.left[queue as usize])
    }

    #[inline(always)]
    pub(super) fn is_full(&self, queue: Queue) -> bool {
        self.len(queue) >= self.depth
    }

    #[inline(always)]
    pub(super) fn is_empty(&self, queue: Queue) -> bool {
        self.len(queue) == 0
    }

    #[inline(always)]
    pub(super) fn all_empty(&self) -> bool {
        self.given == self.left
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::array::queued::ALL_QUEUES;

    proptest! {
        /// For queues of any depth, in parallel, also where counters wrap.
        #[test]
        fn they_are_queues(
            depth in 1..=64_u32,
            left in prop_oneof![Just(0), u32::MAX - 100..=u32::MAX],
            steps in prop::collection::vec((0..QUEUES, 0..3_u8), 0..600),
        ) {
            let mut queues = Queues { left: [left; QUEUES], given: [left; QUEUES], ..Queues::new(depth) };
            let (mut plain, mut given) = ([const { VecDeque::new() }; QUEUES], [left; QUEUES]);
            for (number, (at, step)) in steps.into_iter().enumerate() {
                let queue = ALL_QUEUES[at];
                if step > 0 && !queues.is_full(queue) {
                    queues.push_back(queue, Entry { pc: number as u32, ..Entry::EMPTY });
                    plain[at].push_back(number as u32);
                    given[at] = given[at].wrapping_add(1);
                } else if !queues.is_empty(queue) {
                    queues.pop_front(queue);
                    plain[at].pop_front();
                }
                for (at, queue) in ALL_QUEUES.into_iter().enumerate() {
                    prop_assert_eq!(queues.front(queue).map(|entry| entry.pc), plain[at].front().copied());
                    prop_assert_eq!(queues.is_empty(queue), plain[at].is_empty());
                    prop_assert_eq!(queues.is_full(queue), plain[at].len() == depth as usize);
                    prop_assert_eq!(queues.given(queue), given[at]);
                }
                prop_assert_eq!(queues.all_empty(), plain.iter().all(VecDeque::is_empty));
            }
        }
    }
}
