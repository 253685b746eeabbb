//! Orders of lists: sorted, with repeated items, and random.

use ciphermill_lattice::Csprng;
use rayon::prelude::*;

/// Equal items of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The place of the first item that occurs again.
    pub first: usize,
    /// The place where it occurs again.
    pub second: usize,
    /// The number of values that occur more than once.
    pub values: usize,
}

/// The places of `len` items in ascending order of their keys; equal items are in the order of their places.
pub(crate) fn ascending<'a, K: Ord + ?Sized + 'a>(len: usize, key: impl Fn(u32) -> &'a K + Sync) -> Vec<u32> {
    let mut places: Vec<u32> = (0..len as u32).collect();
    places.par_sort_unstable_by(|&a, &b| key(a).cmp(key(b)).then(a.cmp(&b)));
    places
}

/// The repeated items of a list.
pub(crate) fn repeat<'a, K: Ord + ?Sized + 'a>(len: usize, key: impl Fn(u32) -> &'a K + Sync) -> Option<Repeat> {
    let places = ascending(len, &key);
    let repeated = || places.chunk_by(|&a, &b| key(a) == key(b)).filter(|equal| equal.len() > 1);
    let first = repeated().min_by_key(|equal| equal[0])?;
    Some(Repeat { first: first[0] as usize, second: first[1] as usize, values: repeated().count() })
}

/// Puts the items into a uniformly random order (Fisher and Yates).
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut Csprng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1, rng) as usize);
    }
}

/// A uniform integer of `[0, bound)`: ⌊w·bound/2^64⌋ of a word w. Words whose product has a low half below 2^64 mod `bound`
/// are drawn again, which leaves equally many for each result (D. Lemire, ACM TOMACS 2019).
fn below(bound: u64, rng: &mut Csprng) -> u64 {
    let excess = bound.wrapping_neg() % bound;
    loop {
        let product = u128::from(rng.next_u64()) * u128::from(bound);
        if product as u64 >= excess {
            return (product >> 64) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ciphermill_lattice::SecretSeed;
    use ciphermill_testing::fresh_seed_bytes;

    use super::*;

    fn generator() -> Csprng {
        Csprng::from_secret(&SecretSeed::from_bytes(fresh_seed_bytes("shuffle")), 0)
    }

    /// χ² of counts that should be equal.
    fn chi_squared(counts: impl ExactSizeIterator<Item = u32> + Clone) -> f64 {
        let expected = f64::from(counts.clone().sum::<u32>()) / counts.len() as f64;
        counts.map(|count| (f64::from(count) - expected).powi(2) / expected).sum()
    }

    #[test]
    fn every_order_is_equally_likely() {
        let (mut rng, mut counts) = (generator(), BTreeMap::new());
        for _ in 0..48_000 {
            let mut items = [0, 1, 2, 3];
            shuffle(&mut items, &mut rng);
            *counts.entry(items).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 24);
        // 23 degrees of freedom: larger with a probability of 1e-9.
        assert!(chi_squared(counts.values().copied()) < 90.0, "{counts:?}");
    }

    #[test]
    fn numbers_below_a_bound_are_uniform() {
        let mut rng = generator();
        assert!((0..100).all(|_| below(1, &mut rng) == 0));
        // Three quarters of 2^64: without a second draw, every third number would be twice as likely as the others.
        let bound = 3 << 62;
        let mut counts = [0; 3];
        for _ in 0..30_000 {
            let number = below(bound, &mut rng);
            assert!(number < bound);
            counts[(number % 3) as usize] += 1;
        }
        // 2 degrees of freedom: larger with a probability of 1e-9.
        assert!(chi_squared(counts.iter().copied()) < 42.0, "{counts:?}");
    }

    #[test]
    fn repeats_are_found() {
        const ITEMS: [u8; 6] = [9, 5, 1, 5, 1, 5];
        let find = |items: &[u8]| repeat(items.len(), |place| &items[place as usize]);
        assert_eq!(find(&[]), None);
        assert_eq!(find(&[3, 1, 2]), None);
        assert_eq!(find(&ITEMS), Some(Repeat { first: 1, second: 3, values: 2 }));
        assert_eq!(ascending(6, |place| &ITEMS[place as usize]), [2, 4, 1, 3, 5, 0]);
    }
}
