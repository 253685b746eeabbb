//! A ring buffer of fixed capacity, stored inline.

/// A first-in, first-out queue of at most N elements. N is a power of two.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingBuffer<T, const N: usize> {
    slots: [T; N],
    first: u8,
    count: u8,
}

impl<T: Copy, const N: usize> RingBuffer<T, N> {
    /// An empty buffer. `fill` initialises the unused slots and is never returned.
    pub(super) fn new(fill: T) -> Self {
        const { assert!(N.is_power_of_two() && N <= 128) };
        Self { slots: [fill; N], first: 0, count: 0 }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        usize::from(self.count)
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline(always)]
    pub(super) fn front(&self) -> Option<T> {
        if self.count == 0 { None } else { Some(self.slots[usize::from(self.first) % N]) }
    }

    /// Adds an element. The caller checks with [`Self::len`] that there is room.
    #[inline(always)]
    pub(super) fn push_back(&mut self, one: T) {
        debug_assert!(self.len() < N);
        self.slots[usize::from(self.first.wrapping_add(self.count)) % N] = one;
        self.count += 1;
    }

    #[inline(always)]
    pub(super) fn pop_front(&mut self) {
        self.first = self.first.wrapping_add(1);
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    fn behaves_like_vecdeque<const N: usize>(pushes: &[bool]) -> Result<(), TestCaseError> {
        let (mut ring, mut queue) = (RingBuffer::<usize, N>::new(usize::MAX), VecDeque::new());
        for (number, push) in pushes.iter().enumerate() {
            if *push && ring.len() < N {
                ring.push_back(number);
                queue.push_back(number);
            } else if !ring.is_empty() {
                ring.pop_front();
                queue.pop_front();
            }
            prop_assert_eq!(ring.front(), queue.front().copied());
            prop_assert_eq!((ring.len(), ring.is_empty()), (queue.len(), queue.is_empty()));
        }
        Ok(())
    }

    proptest! {
        /// The counters wrap around: more elements pass through than a counter can hold.
        #[test]
        fn matches_vecdeque(pushes in prop::collection::vec(any::<bool>(), 0..2000)) {
            behaves_like_vecdeque::<1>(&pushes)?;
            behaves_like_vecdeque::<2>(&pushes)?;
            behaves_like_vecdeque::<4>(&pushes)?;
        }
    }
}
