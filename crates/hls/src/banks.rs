//! Banks for the words of a transform.
//!
//! `butterflies` radix-2 butterflies a cycle touch 2·`butterflies` words, whose indices differ in log2 `butterflies` + 1 bits
//! that are neighbours, the highest bit being a neighbour of the lowest. The bank of an index is a linear map of its bits over
//! GF(2). No two of the words meet if the columns of each such window are independent.

/// Index bits at most.
pub const MAX_INDEX_BITS: u32 = 16;
/// Butterflies a cycle at most, as a power of two.
pub const MAX_LOG_BUTTERFLIES: u32 = 4;

/// For each bit of the bank, the index bits whose parity it is; `None` if no linear map does.
///
/// # Panics
/// If `index_bits` or `log_butterflies` is beyond its bound.
///
/// # Example
/// ```
/// use ciphermill_hls::banks::masks;
///
/// // The parity of the even and of the odd bits.
/// assert_eq!(masks(8, 1), Some(vec![0b0101_0101, 0b1010_1010]));
/// ```
#[must_use]
pub fn masks(index_bits: u32, log_butterflies: u32) -> Option<Vec<u32>> {
    assert!(index_bits <= MAX_INDEX_BITS, "{index_bits} index bits, at most {MAX_INDEX_BITS}");
    assert!(log_butterflies <= MAX_LOG_BUTTERFLIES, "2^{log_butterflies} butterflies, at most 2^{MAX_LOG_BUTTERFLIES}");
    let (window, bits) = (log_butterflies as usize + 1, index_bits as usize);
    if bits < window {
        return None;
    }
    // By a change of basis, the first columns are the unit vectors.
    let mut columns: Vec<u32> = (0..window).map(|row| 1 << row).collect();
    if !complete(&mut columns, window, bits) {
        return None;
    }
    let row = |row: usize| (0..bits).fold(0, |mask, column| mask | (columns[column] >> row & 1) << column);
    Some((0..window).map(row).collect())
}

/// Extends the columns to all bits.
fn complete(columns: &mut Vec<u32>, window: usize, bits: usize) -> bool {
    if columns.len() == bits {
        // The windows from the highest bits on into the lowest.
        return (bits + 1 - window..bits).all(|first| independent((0..window).map(|i| columns[(first + i) % bits])));
    }
    // The column that repeats comes first: it is right wherever it leaves the end to be right.
    let repeated = columns[columns.len() - window];
    let others = (1..1u32 << window).filter(|one| *one != repeated);
    for column in std::iter::once(repeated).chain(others) {
        columns.push(column);
        let last = columns.len() - window;
        if independent(columns[last..].iter().copied()) && complete(columns, window, bits) {
            return true;
        }
        columns.pop();
    }
    false
}

/// Whether no sum of some of the vectors over GF(2) is zero.
fn independent(vectors: impl Iterator<Item = u32>) -> bool {
    let mut reduced: Vec<u32> = Vec::new();
    for vector in vectors {
        let rest = reduced.iter().fold(vector, |rest, one| rest.min(rest ^ one));
        if rest == 0 {
            return false;
        }
        reduced.push(rest);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_cycle_are_in_different_banks() {
        for log_butterflies in 0..=MAX_LOG_BUTTERFLIES {
            let window = log_butterflies + 1;
            for bits in window + 1..=MAX_INDEX_BITS {
                let masks = masks(bits, log_butterflies).unwrap_or_else(|| panic!("{bits} bits, window {window}"));
                let bank = |x: u32| masks.iter().fold(0, |bank, mask| bank << 1 | (x & mask).count_ones() & 1);
                for first in 0..bits {
                    let touched = |i: u32| (0..window).fold(0, |x, bit| x | (i >> bit & 1) << ((first + bit) % bits));
                    let mut banks: Vec<u32> = (0..1 << window).map(|i| bank(touched(i))).collect();
                    banks.sort_unstable();
                    assert_eq!(
                        banks,
                        (0..1 << window).collect::<Vec<_>>(),
                        "{bits} bits, window {window} from {first}"
                    );
                }
            }
        }
    }
}
