//! A few things in turn, where they stand.

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

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.count)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(super) fn front(&self) -> Option<T> {
        if self.count == 0 { None } else { Some(self.places[usize::from(self.first) % N]) }
    }

    /// Adds one; there has to be room, which [`Self::len`] tells.
    #[inline]
    pub(super) fn push_back(&mut self, one: T) {
        debug_assert!(self.len() < N);
        self.places[usize::from(self.first.wrapping_add(self.count)) % N] = one;
        self.count += 1;
    }

    #[inline]
    pub(super) fn pop_front(&mut self) {
        self.first = self.first.wrapping_add(1);
        self.count -= 1;
    }
}
