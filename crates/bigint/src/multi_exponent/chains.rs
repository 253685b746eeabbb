//! Chains of squarings and products, a chain per lane.

use super::super::exponent::sliding_digits;
use super::super::work::Accumulator;
use super::{Kernel, OddModulus, Residues, Scratch, Wiped};

/// A product of singles to powers of two.
pub(super) struct Chain {
    /// (exponent of two, index of the single), greatest exponents first.
    pub(super) items: Vec<(u32, u32)>,
}

/// Residues one by one: 1, then room for some more, then a table.
pub(super) struct Singles<'a> {
    kernel: &'a dyn Kernel,
    extra: usize,
    pub(super) words: Wiped,
}

impl<'a> Singles<'a> {
    /// The index of 1.
    pub(super) const ONE: u32 = 0;

    fn room(kernel: &'a dyn Kernel, extra: usize, entries: usize) -> Self {
        let single_words = kernel.single_words();
        let mut words = Wiped::zeroed((1 + extra + entries) * single_words);
        let mut one = Wiped::zeroed(kernel.group_words());
        kernel.one(&mut one);
        kernel.extract(&mut words[..single_words], &one, 0);
        Self { kernel, extra, words }
    }

    /// With all of `residues` as the table.
    pub(super) fn of(kernel: &'a dyn Kernel, residues: &Residues, extra: usize) -> Self {
        let mut singles = Self::room(kernel, extra, residues.len());
        for index in 0..residues.len() {
            let group = residues.group(index / kernel.lanes());
            kernel.extract(singles.entry_mut(1 + extra + index), group, index % kernel.lanes());
        }
        singles
    }

    /// The index of the table's first entry.
    pub(super) fn first(&self) -> u32 {
        1 + self.extra as u32
    }

    pub(super) fn entry(&self, index: u32) -> &[u64] {
        let words = self.kernel.single_words();
        &self.words[index as usize * words..][..words]
    }

    fn entry_mut(&mut self, index: usize) -> &mut [u64] {
        let words = self.kernel.single_words();
        &mut self.words[index * words..][..words]
    }

    /// Puts one of `residues` in the room before the table, at the same place; its index.
    pub(super) fn set_extra(&mut self, kernel: &dyn Kernel, index: usize, residues: &Residues) -> u32 {
        kernel.extract(self.entry_mut(1 + index), residues.group(index / kernel.lanes()), index % kernel.lanes());
        1 + index as u32
    }
}

/// `bits` bits cut into as few windows as have `width` bits at most, of widths that differ by 1 at most: (lowest bit, width),
/// the highest first.
pub(super) fn balanced(bits: u32, width: u32) -> Vec<(u32, u32)> {
    let count = bits.div_ceil(width);
    (0..count).rev().map(|i| (i * bits / count, (i + 1) * bits / count - i * bits / count)).collect()
}

/// How weights are cut into digits, and which powers that takes.
pub(super) enum Digits {
    /// Windows that all lanes have in common, so that each has a digit at the same time: all powers.
    Fixed(Vec<(u32, u32)>),
    /// Windows that begin and end with a 1: odd powers.
    Sliding(u32),
}

pub(super) struct Recoding {
    pub(super) digits: Digits,
    /// Powers per column.
    pub(super) entries: usize,
}

impl Recoding {
    pub(super) fn new(kernel: &dyn Kernel, bits: u32, width: u32) -> Self {
        if kernel.lanes() == 1 {
            return Self { digits: Digits::Sliding(width), entries: 1 << (width - 1) };
        }
        let windows = balanced(bits, width);
        let widest = windows.iter().map(|w| w.1).max().unwrap_or(1);
        Self { digits: Digits::Fixed(windows), entries: (1 << widest) - 1 }
    }

    /// The chain of one row of weights, whose columns' powers start at `first`.
    pub(super) fn chain(&self, weights: &[u64], first: u32) -> Chain {
        let entry = |column: usize, index: u64| first + (column * self.entries) as u32 + index as u32;
        let items = match &self.digits {
            Digits::Fixed(windows) => windows
                .iter()
                .flat_map(|&(low, width)| {
                    let digit = move |weight: u64| weight >> low & (u64::MAX >> (u64::BITS - width));
                    let digits = weights.iter().map(move |&weight| digit(weight)).enumerate();
                    digits.filter(|&(_, d)| d > 0).map(move |(column, d)| (low, entry(column, d - 1)))
                })
                .collect(),
            Digits::Sliding(width) => {
                let mut items: Vec<_> = (weights.iter().enumerate())
                    .flat_map(|(column, &weight)| {
                        let digits = sliding_digits(&[weight], *width).into_iter();
                        digits.map(move |(position, digit)| (position, entry(column, digit / 2)))
                    })
                    .collect();
                items.sort_unstable_by(|a, b| b.cmp(a));
                items
            }
        };
        Chain { items }
    }

    /// The powers of all bases, column after column; the columns of a group are worked on together.
    pub(super) fn table<'a>(&self, modulus: &'a OddModulus, bases: &Residues, extra: usize) -> Singles<'a> {
        let kernel = modulus.kernel();
        let (lanes, words) = (kernel.lanes(), kernel.group_words());
        let mut singles = Singles::room(kernel, extra, bases.len() * self.entries);
        let mut scratch = Scratch::new(kernel);
        let mut powers = Wiped::zeroed(self.entries * words);
        let mut square = Wiped::zeroed(words);
        for (index, base) in bases.groups().enumerate() {
            powers[..words].copy_from_slice(base);
            if self.entries > 1 {
                kernel.square(&mut square, base, &mut scratch.0);
            }
            for entry in 1..self.entries {
                let (lower, upper) = powers.split_at_mut(entry * words);
                let (upper, last) = (&mut upper[..words], &lower[(entry - 1) * words..]);
                match self.digits {
                    // Entry e is the power 2e + 1.
                    Digits::Sliding(_) => kernel.multiply(upper, last, &square, &mut scratch.0),
                    // Entry e is the power e + 1.
                    Digits::Fixed(_) if entry % 2 == 0 => kernel.multiply(upper, last, base, &mut scratch.0),
                    Digits::Fixed(_) => kernel.square(upper, &lower[entry / 2 * words..][..words], &mut scratch.0),
                }
            }
            for lane in 0..lanes.min(bases.len() - index * lanes) {
                for (entry, power) in powers.chunks_exact(words).enumerate() {
                    let at = singles.first() as usize + (index * lanes + lane) * self.entries + entry;
                    kernel.extract(singles.entry_mut(at), power, lane);
                }
            }
        }
        singles
    }
}

/// The products of all chains. Chains of the lanes of a group square together; at each power of two, those with fewer items
/// than others there multiply by 1.
pub(super) fn run_chains(modulus: &OddModulus, singles: &Singles<'_>, chains: &[Chain]) -> Residues {
    let kernel = modulus.kernel();
    let lanes = kernel.lanes();
    let mut out = modulus.one(chains.len());
    let mut scratch = Scratch::new(kernel);
    let mut product = Accumulator::new(kernel);
    let mut factor = Wiped::zeroed(kernel.group_words());
    let mut index = vec![0; lanes];
    for (out, chains) in out.groups_mut().zip(chains.chunks(lanes)) {
        let mut rest: Vec<&[(u32, u32)]> = chains.iter().map(|chain| &*chain.items).collect();
        let mut level: Option<u32> = None;
        while let Some(next) = rest.iter().filter_map(|items| items.first()).map(|item| item.0).max() {
            (next..level.unwrap_or(next)).for_each(|_| product.square(kernel, &mut scratch.0));
            while rest.iter().any(|items| items.first().is_some_and(|item| item.0 == next)) {
                index.fill(u64::from(Singles::ONE));
                for (index, items) in index.iter_mut().zip(&mut rest) {
                    if let Some((item, left)) = items.split_first()
                        && item.0 == next
                    {
                        (*index, *items) = (u64::from(item.1), left);
                    }
                }
                let factor = if lanes == 1 {
                    singles.entry(index[0] as u32)
                } else {
                    kernel.select_single_public(&mut factor, &singles.words, &index);
                    &factor
                };
                if level.is_none() {
                    product.set().copy_from_slice(factor);
                } else {
                    product.multiply(kernel, factor, &mut scratch.0);
                }
                level = Some(next);
            }
        }
        if let Some(level) = level {
            (0..level).for_each(|_| product.square(kernel, &mut scratch.0));
            out.copy_from_slice(product.get());
        }
    }
    out
}
