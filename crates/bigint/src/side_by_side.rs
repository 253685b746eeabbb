//! A kernel for tests: eight one-lane kernels side by side, which counts its calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crypto_bigint::BoxedUint;

use super::kernel::{Arithmetic, Kernel, Rows, SquareKernel};
use super::{OddModulus, Path, limbs, scalar};

/// Products, squarings and choices of groups.
#[derive(Default)]
pub(super) struct Counts {
    products: AtomicUsize,
    squarings: AtomicUsize,
}

impl Counts {
    /// (products, squarings) since the last call.
    pub(super) fn take(&self) -> (usize, usize) {
        (self.products.swap(0, Ordering::Relaxed), self.squarings.swap(0, Ordering::Relaxed))
    }
}

struct SideBySide {
    one: Arithmetic,
    lanes: usize,
    counts: Arc<Counts>,
}

/// Modulo n, or n², with `lanes` lanes.
pub(super) fn counted(n: &BoxedUint, square: bool, lanes: usize) -> (OddModulus, Arc<Counts>) {
    let (counts, words) = (Arc::<Counts>::default(), limbs::from_uint(n, limbs::limbs_for(n.bits_vartime())));
    let plain = |one| SideBySide { one, lanes, counts: counts.clone() };
    let (modulus, arithmetic) = if square {
        let one = Arithmetic::Square(Box::new(scalar::Square::new(scalar::Portable, &words)));
        (OddModulus::square_of(n, Path::Portable).unwrap(), Arithmetic::Square(Box::new(plain(one))))
    } else {
        let one = Arithmetic::Plain(Box::new(scalar::Plain::new(scalar::Portable, &words)));
        (OddModulus::new(n, Path::Portable).unwrap(), Arithmetic::Plain(Box::new(plain(one))))
    };
    let root = modulus.root().map(<[u64]>::to_vec);
    (OddModulus::over(modulus.value().to_vec(), root, modulus.bits(), Path::Portable, arithmetic), counts)
}

impl SideBySide {
    fn part<'a>(&self, group: &'a [u64], lane: usize) -> &'a [u64] {
        &group[lane * self.single_words()..][..self.single_words()]
    }

    fn part_mut<'a>(&self, group: &'a mut [u64], lane: usize) -> &'a mut [u64] {
        &mut group[lane * self.single_words()..][..self.single_words()]
    }

    fn entry<'a>(&self, table: &'a [u64], index: u64, words: usize) -> &'a [u64] {
        &table[index as usize * words..][..words]
    }
}

impl Kernel for SideBySide {
    fn lanes(&self) -> usize {
        self.lanes
    }

    fn group_words(&self) -> usize {
        self.lanes * self.one.kernel().group_words()
    }

    fn scratch_words(&self) -> usize {
        self.one.kernel().scratch_words()
    }

    fn value_limbs(&self) -> usize {
        self.one.kernel().value_limbs()
    }

    fn one(&self, out: &mut [u64]) {
        (0..self.lanes).for_each(|lane| self.one.kernel().one(self.part_mut(out, lane)));
    }

    fn multiply(&self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        self.counts.products.fetch_add(1, Ordering::Relaxed);
        for lane in 0..self.lanes {
            let (a, b) = (self.part(a, lane), self.part(b, lane));
            self.one.kernel().multiply(self.part_mut(out, lane), a, b, scratch);
        }
    }

    fn square(&self, out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
        self.counts.squarings.fetch_add(1, Ordering::Relaxed);
        for lane in 0..self.lanes {
            self.one.kernel().square(self.part_mut(out, lane), self.part(a, lane), scratch);
        }
    }

    fn enter(&self, out: &mut [u64], rows: Rows<'_>, scratch: &mut [u64]) {
        self.one(out);
        for (lane, words) in rows.words.chunks_exact(rows.limbs).enumerate() {
            self.one.kernel().enter(self.part_mut(out, lane), Rows { limbs: rows.limbs, words }, scratch);
        }
    }

    fn leave(&self, low: &mut [u64], high: &mut [u64], group: &[u64], scratch: &mut [u64]) {
        let mut highs = high.chunks_exact_mut(self.value_limbs());
        for (lane, low) in low.chunks_exact_mut(self.value_limbs()).enumerate() {
            self.one.kernel().leave(low, highs.next().unwrap_or(&mut []), self.part(group, lane), scratch);
        }
    }

    fn select(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
        assert!(index.len() == self.lanes && index.iter().all(|&i| i < (table.len() / self.group_words()) as u64));
        self.select_public(out, table, index);
    }

    fn select_single(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
        self.select_single_public(out, table, index);
    }

    fn select_public(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
        for (lane, &index) in index.iter().enumerate() {
            let entry = self.entry(table, index, self.group_words());
            self.part_mut(out, lane).copy_from_slice(self.part(entry, lane));
        }
    }

    fn select_single_public(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
        assert_eq!(index.len(), self.lanes);
        for (lane, &index) in index.iter().enumerate() {
            self.part_mut(out, lane).copy_from_slice(self.entry(table, index, self.single_words()));
        }
    }

    fn extract(&self, out: &mut [u64], group: &[u64], lane: usize) {
        out.copy_from_slice(self.part(group, lane));
    }

    fn insert(&self, group: &mut [u64], lane: usize, single: &[u64]) {
        self.part_mut(group, lane).copy_from_slice(single);
    }
}

impl SquareKernel for SideBySide {
    fn multiply_unit(&self, out: &mut [u64], a: &[u64], m: Rows<'_>, scratch: &mut [u64]) {
        out.copy_from_slice(a);
        let one = self.one.square().expect("a modulus n²");
        for (lane, words) in m.words.chunks_exact(m.limbs).enumerate() {
            one.multiply_unit(self.part_mut(out, lane), self.part(a, lane), Rows { limbs: m.limbs, words }, scratch);
        }
    }
}
