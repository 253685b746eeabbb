//! Memory that the steps of a product compute in: the form of a vector, and room for both kinds of steps.

/// c/P, for each prime of the chain.
pub(super) type ColumnTile = Vec<LimbDigits>;

/// Modulo one prime: spectra in orbit order.
#[derive(Debug)]
pub(super) struct LimbDigits {
    /// S·c_0/P and S·c_1/P, 0 modulo special primes.
    pub(super) parts: [Vec<u64>; 2],
    /// The digits of c_1/P.
    pub(super) digits: Vec<Vec<u64>>,
}

impl LimbDigits {
    pub(super) fn new(n: usize, digits: usize) -> Self {
        Self { parts: [vec![0; n], vec![0; n]], digits: vec![vec![0; n]; digits] }
    }
}

/// Memory to prepare a vector in.
#[derive(Debug)]
pub(super) struct VectorScratch {
    /// c/P, both parts.
    pub(super) scaled: [Vec<u64>; 2],
    pub(super) signed: Vec<i64>,
    /// Over the chain, by digit.
    pub(super) digits: Vec<u64>,
    /// For each prime a spectrum in the transform's order.
    pub(super) spectra: Vec<Vec<u64>>,
}

impl VectorScratch {
    pub(super) fn new(n: usize, limbs: usize, chain: usize, digits: usize) -> Self {
        Self {
            scaled: [vec![0; limbs * n], vec![0; limbs * n]],
            signed: vec![0; n],
            digits: vec![0; digits * chain * n],
            spectra: vec![vec![0; n]; chain],
        }
    }
}

/// Memory for the giant steps of one product.
#[derive(Debug)]
pub(super) struct GiantScratch {
    /// The result over the chain, both parts.
    pub(super) acc: [Vec<u64>; 2],
    /// By thread.
    pub(super) threads: Vec<ThreadScratch>,
    /// Over the chain, by step and digit.
    pub(super) digits: Vec<u64>,
}

/// Memory of one thread.
#[derive(Debug)]
pub(super) struct ThreadScratch {
    /// Over the chain.
    pub(super) sum: Vec<u64>,
    pub(super) signed: Vec<i64>,
}

impl GiantScratch {
    pub(super) fn new(n: usize, chain: usize, threads: usize, digits: usize) -> Self {
        let thread = || ThreadScratch { sum: vec![0; chain * n], signed: vec![0; n] };
        Self {
            acc: [vec![0; chain * n], vec![0; chain * n]],
            threads: (0..threads).map(|_| thread()).collect(),
            digits: vec![0; digits * chain * n],
        }
    }
}
