//! A queue of a few things, in the structure that has it.

/// At most N, a power of two, in the order in which they came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Few<T, const N: usize> {
    places: [T; N],
    first: u8,
    count: u8,
}

impl<T: Copy, const N: usize> Few<T, N> {
    /// None of them; `fill` is never seen.
    pub(super) fn new(fill: T) -> Self {
        const { assert!(N.is_power_of_two() && N <= 128) };
        Self { places: [fill; N], first: 0, count: 0 }
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
        if self.count == 0 { None } else { Some(self.places[usize::from(self.first) % N]) }
    }

    /// Adds one; there has to be room, which [`Self::len`] tells.
    #[inline(always)]
    pub(super) fn push_back(&mut self, one: T) {
        debug_assert!(self.len() < N);
        self.places[usize::from(self.first.wrapping_add(self.count)) % N] = one;
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

    fn as_a_queue<const N: usize>(pushes: &[bool]) -> Result<(), TestCaseError> {
        let (mut few, mut queue) = (Few::<usize, N>::new(usize::MAX), VecDeque::new());
        for (number, push) in pushes.iter().enumerate() {
            if *push && few.len() < N {
                few.push_back(number);
                queue.push_back(number);
            } else if !few.is_empty() {
                few.pop_front();
                queue.pop_front();
            }
            prop_assert_eq!(few.front(), queue.front().copied());
            prop_assert_eq!((few.len(), few.is_empty()), (queue.len(), queue.is_empty()));
        }
        Ok(())
    }

    proptest! {
        /// More of them than its counters count.
        #[test]
        fn it_is_a_queue(pushes in prop::collection::vec(any::<bool>(), 0..2000)) {
            as_a_queue::<1>(&pushes)?;
            as_a_queue::<2>(&pushes)?;
            as_a_queue::<4>(&pushes)?;
        }
    }
}
