//! The bases in which a parameter set computes.

use std::sync::Arc;

use ciphermill_lattice::PolynomialSize;
use ciphermill_lattice::rns::{Limb, RnsBasis, RnsBasisError};
use ciphermill_math::Isa;
use ciphermill_math::ntt::NttProvider;

use crate::parameters::ParameterSpec;

/// The chain of primes and its parts, with the provider of their transforms.
#[derive(Debug)]
pub(crate) struct Bases {
    ntt: Arc<dyn NttProvider>,
    /// q_0 … q_(L−1), p_0 … p_(K−1).
    chain: RnsBasis,
    /// The first l primes of the chain, l = 1 … L + K.
    levels: Vec<RnsBasis>,
    /// q_0 … q_(l−1) and the special primes, l = 1 … L; empty without special primes.
    extended: Vec<RnsBasis>,
}

impl Bases {
    /// # Errors
    /// If the provider has no transform for a prime of the chain, or the CPU lacks `isa`.
    pub(crate) fn new(spec: &ParameterSpec, ntt: Arc<dyn NttProvider>, isa: Isa) -> Result<Self, RnsBasisError> {
        let primes: Vec<u64> = spec.chain().collect();
        let (top, all) = (spec.ciphertext_moduli.len(), primes.len());
        let chain = RnsBasis::with_engines(spec.polynomial_size, &primes, &*ntt, isa)?;
        let levels: Vec<RnsBasis> = (1..=all).map(|limbs| chain.slice(0..limbs)).collect();
        let mut extended = Vec::new();
        if top < all {
            let special = chain.slice(top..all);
            extended.extend(levels[..top].iter().map(|basis| basis.join(&special)));
        }
        Ok(Self { ntt, chain, levels, extended })
    }

    /// The basis of other primes.
    ///
    /// # Errors
    /// If the provider has no transform for one of them.
    pub(crate) fn of(&self, primes: &[u64]) -> Result<RnsBasis, RnsBasisError> {
        RnsBasis::with_engines(self.polynomial_size(), primes, &*self.ntt, self.isa())
    }

    /// Another prime.
    ///
    /// # Errors
    /// If the provider has no transform for it.
    pub(crate) fn limb(&self, prime: u64) -> Result<Limb, RnsBasisError> {
        Limb::new(self.polynomial_size(), prime, &*self.ntt, self.isa())
    }

    pub(crate) fn ntt(&self) -> &dyn NttProvider {
        &*self.ntt
    }

    pub(crate) fn isa(&self) -> Isa {
        self.chain.isa()
    }

    pub(crate) fn polynomial_size(&self) -> PolynomialSize {
        self.chain.polynomial_size()
    }

    pub(crate) fn n(&self) -> usize {
        self.polynomial_size().get()
    }

    pub(crate) fn chain(&self) -> &RnsBasis {
        &self.chain
    }

    /// The first `limbs` primes of the chain, 1 to L + K.
    pub(crate) fn level(&self, limbs: usize) -> &RnsBasis {
        &self.levels[limbs - 1]
    }

    /// The first `limbs` primes, 1 to L, and the special ones.
    pub(crate) fn extended(&self, limbs: usize) -> &RnsBasis {
        &self.extended[limbs - 1]
    }
}
