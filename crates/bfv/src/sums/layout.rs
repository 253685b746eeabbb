//! The places of values in coefficients.

use std::ops::Range;

use super::request::SumRequest;

/// The places of one segment's values. Value j stands in coefficient `first` + (j mod `coefficients`), in field
/// ⌊j/`coefficients`⌋ of `width` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The number of values.
    pub(super) len: usize,
    /// Bits of a field: those of the greatest total, and its sign.
    pub(super) width: u32,
    /// The first coefficient, counted from that of the first ciphertext.
    first: usize,
    /// The number of coefficients.
    coefficients: usize,
}

impl Block {
    /// The fields of a coefficient.
    pub(super) fn fields(&self) -> usize {
        self.len.div_ceil(self.coefficients)
    }

    /// The first bit of a field.
    pub(super) fn shift(&self, field: usize) -> u32 {
        field as u32 * self.width
    }

    /// The coefficients of ciphertext `ciphertext` that belong to the block, counted from its first one.
    pub(super) fn coefficients_in(&self, n: usize, ciphertext: usize) -> Range<usize> {
        let (start, end) = (ciphertext * n, (ciphertext + 1) * n);
        let first = self.first.clamp(start, end);
        let last = (self.first + self.coefficients).clamp(start, end);
        first - start..last - start
    }

    /// The values in field `field` of the coefficients [`coefficients_in`](Self::coefficients_in): fewer than those if the
    /// last field is not full.
    pub(super) fn values_in(&self, n: usize, ciphertext: usize, field: usize) -> Range<usize> {
        let here = self.coefficients_in(n, ciphertext);
        if here.is_empty() {
            return 0..0;
        }
        let start = field * self.coefficients + ciphertext * n + here.start - self.first;
        start.min(self.len)..(start + here.len()).min(self.len)
    }
}

/// The blocks of all segments, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) blocks: Vec<Block>,
    /// Bits of the longest coefficient.
    pub(super) bits: u32,
}

/// Bits of a field for totals of this magnitude, the sign included.
pub(super) fn width(greatest_total: u128) -> u32 {
    u128::BITS - greatest_total.leading_zeros() + 1
}

impl Layout {
    /// For coefficients of `capacity` bits; `None` if a total is longer.
    pub(super) fn new(request: &SumRequest, capacity: u32) -> Option<Self> {
        let (mut first, mut blocks) = (0, Vec::with_capacity(request.segments.len()));
        for segment in &request.segments {
            let width = width(request.greatest_total(segment));
            let fields = (capacity / width) as usize;
            if fields == 0 {
                return None;
            }
            let block = Block { len: segment.len, width, first, coefficients: segment.len.div_ceil(fields) };
            first += block.coefficients;
            blocks.push(block);
        }
        let bits = blocks.iter().map(|block| block.shift(block.fields())).max().unwrap_or(0);
        Some(Self { blocks, bits })
    }

    /// The number of coefficients.
    pub(super) fn coefficients(&self) -> usize {
        self.blocks.iter().map(|block| block.coefficients).sum()
    }

    /// Ciphertexts of `n` coefficients.
    pub(super) fn ciphertexts(&self, n: usize) -> usize {
        self.coefficients().div_ceil(n)
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::Segment;
    use super::*;

    fn layout(lens: &[(usize, u128)], parties: u32, capacity: u32) -> Option<Layout> {
        let segments = lens.iter().map(|&(len, bound)| Segment { len, bound }).collect();
        Layout::new(&SumRequest::new(segments, parties), capacity)
    }

    #[test]
    fn widths_hold_totals_of_either_sign() {
        for (greatest, bits) in [(1, 2), (2, 3), (3, 3), (4, 4), (127, 8), (128, 9), (1 << 126, 128)] {
            assert_eq!(width(greatest), bits, "{greatest}");
            // −greatest and greatest, and for a bit less not.
            assert!(greatest < 1 << (bits - 1) && (greatest == 1 || greatest >= 1 << (bits - 2)));
        }
    }

    /// Every value has one place, and no two share one.
    #[test]
    fn places_are_complete_and_distinct() {
        for (lens, capacity, n) in [
            (vec![(1, 1)], 3, 16),
            (vec![(100, 5), (1, 1 << 20), (37, 1)], 24, 16),
            (vec![(1000, 3), (1000, 300)], 64, 32),
            (vec![(17, 1 << 100)], 110, 16),
        ] {
            let layout = layout(&lens, 3, capacity).expect("fields fit");
            assert!(layout.bits <= capacity);
            let mut taken = std::collections::BTreeSet::new();
            for block in &layout.blocks {
                let mut values = vec![0; block.len];
                for ciphertext in 0..layout.ciphertexts(n) {
                    for field in 0..block.fields() {
                        let here = block.coefficients_in(n, ciphertext);
                        let range = block.values_in(n, ciphertext, field);
                        assert!(range.len() <= here.len());
                        for (at, value) in here.zip(range) {
                            values[value] += 1;
                            let bits = block.shift(field)..block.shift(field + 1);
                            bits.for_each(|bit| assert!(taken.insert((ciphertext, at, bit)), "a shared bit"));
                        }
                    }
                }
                assert!(values.iter().all(|&times| times == 1), "each value has one place");
            }
        }
    }

    #[test]
    fn a_total_longer_than_a_coefficient_has_no_layout() {
        assert!(layout(&[(5, 1 << 20)], 1, 21).is_none());
        assert!(layout(&[(5, 1 << 20)], 1, 22).is_some());
    }
}
