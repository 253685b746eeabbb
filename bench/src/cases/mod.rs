//! The families of cases.

pub(crate) mod fft;
pub(crate) mod hmvp;
#[cfg(feature = "integers")]
mod integers;
pub(crate) mod keygen;
pub(crate) mod ks;
#[cfg(feature = "integers")]
pub(crate) mod modexp;
pub(crate) mod ntt;
#[cfg(feature = "integers")]
pub(crate) mod paillier;
pub(crate) mod pbs;
mod scheme;
pub(crate) mod table;

use ciphermill_bench_peers::Contender;
#[cfg(feature = "integers")]
use ciphermill_bigint::Path;
use ciphermill_math::Isa;

use crate::Failure;
use crate::harness::{Clock, Effort};

/// What all families are told.
pub(crate) struct Settings<'a> {
    /// Part of a case's name.
    pub(crate) only: &'a str,
    pub(crate) quick: bool,
    /// Name of the parameter set.
    pub(crate) params: &'a str,
    pub(crate) cpu: &'a str,
    pub(crate) clock: Clock,
    /// Our paths, best first.
    pub(crate) isas: Vec<Isa>,
    /// Our paths for big integers, best first.
    #[cfg(feature = "integers")]
    pub(crate) paths: Vec<Path>,
    /// Effort for kernels.
    pub(crate) kernels: Effort,
}

impl Settings<'_> {
    /// Whether a case of this name is wanted.
    #[cfg(feature = "integers")]
    fn takes(&self, name: &str) -> bool {
        name.contains(self.only)
    }

    /// The paths whose bootstraps are timed: each has to load the keys, so a quick run takes the best one only.
    fn taken_isas(&self) -> &[Isa] {
        if self.quick { &self.isas[..1] } else { &self.isas }
    }
}

/// The paths that this CPU offers, best first; only the one that `CIPHERMILL_ISA` names, if set.
pub(crate) fn isas() -> Result<Vec<Isa>, Failure> {
    let asked = Isa::from_environment()?;
    let forced = std::env::var_os("CIPHERMILL_ISA").is_some_and(|value| !value.is_empty());
    let mut isas: Vec<Isa> = Isa::available().filter(|&isa| !forced || isa == asked).collect();
    isas.reverse();
    Ok(isas)
}

/// As [`isas`], for big integers: of an instruction set that is asked for, the best one.
#[cfg(feature = "integers")]
pub(crate) fn paths() -> Result<Vec<Path>, Failure> {
    if std::env::var_os("CIPHERMILL_ISA").is_some_and(|value| !value.is_empty()) {
        return Ok(vec![Path::of(Isa::from_environment()?)]);
    }
    let mut paths: Vec<_> = Path::available().collect();
    paths.reverse();
    Ok(paths)
}

/// One operation of a contender that has several.
struct Operation<F>(F);

impl<F: FnMut()> Contender for Operation<F> {
    fn run(&mut self) {
        (self.0)();
    }
}

/// The same numbers in every run (SplitMix64, as published by S. Vigna).
struct Numbers(u64);

impl Iterator for Numbers {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(z ^ z >> 31)
    }
}
