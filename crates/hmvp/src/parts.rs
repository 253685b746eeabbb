//! Wide entries as several narrow ones.
//!
//! An entry x of b bits is Σ_i x_i·2^(b_0 + … + b_(i−1)) for parts of b_0, b_1, … bits whose sum is b. All parts but the
//! highest are the balanced remainders in [−2^(b_i−1), 2^(b_i−1)). The highest takes the rest and lies in
//! [−2^(b_k−1), 2^(b_k−1)]: one more than its bits hold, as the greatest entries round up. So a part of b_i bits is at most
//! 2^(b_i−1) in magnitude, of either sign.

/// Bits of `count` parts of entries of `bits` bits, lowest first: all equal but for the highest, which may be narrower.
pub(super) fn part_bits(bits: u32, count: u32) -> Vec<u32> {
    let low = bits.div_ceil(count);
    let mut parts = vec![low; count as usize];
    parts[count as usize - 1] = bits - low * (count - 1);
    parts
}

/// log2 of the weight of part `part`.
pub(super) fn shift(bits: &[u32], part: usize) -> u32 {
    bits[..part].iter().sum()
}

/// Replaces entries by their part `part`. Neither time nor place depend on the entries.
pub(super) fn take_part(values: &mut [i64], bits: &[u32], part: usize) {
    let is_highest = part + 1 == bits.len();
    // Half of each lower part is what makes its remainder balanced.
    let half: i64 = (0..part).map(|i| 1 << (shift(bits, i) + bits[i] - 1)).sum();
    let (shift, unused) = (shift(bits, part), i64::BITS - bits[part]);
    for x in values {
        let quotient = (*x + half) >> shift;
        *x = if is_highest { quotient } else { quotient << unused >> unused };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_as_equal_as_they_can_be() {
        assert_eq!(part_bits(8, 1), [8]);
        assert_eq!(part_bits(16, 2), [8, 8]);
        assert_eq!(part_bits(17, 3), [6, 6, 5]);
        for bits in 2..=32u32 {
            for count in 1..=bits.div_ceil(8) {
                let parts = part_bits(bits, count);
                assert_eq!(parts.iter().sum::<u32>(), bits);
                assert!(parts.iter().all(|&b| b >= 2), "{bits} bits in {count} parts");
            }
        }
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_entry_within_their_range(bits in 2u32..=32, count in 1u32..=4, x: i64) {
            let parts = part_bits(bits, count.min(bits.div_ceil(8)));
            let unused = 64 - bits;
            for x in [x << unused >> unused, -1i64 << (bits - 1), (1 << (bits - 1)) - 1] {
                let mut sum = 0;
                for part in 0..parts.len() {
                    let mut value = [x];
                    take_part(&mut value, &parts, part);
                    prop_assert!(value[0].unsigned_abs() <= 1 << (parts[part] - 1));
                    sum += value[0] << shift(&parts, part);
                }
                prop_assert_eq!(sum, x);
            }
        }
    }
}
