//! From one residue number system to another.

use super::{Coefficients, RnsBasis, RnsPoly};

/// Takes x ∈ Z_Q, represented by the integer of (−Q/2, Q/2], to the residues modulo the primes of another basis, exactly
/// except where |x| is within 2^-50 of Q/2, where it may be taken as x ± Q (S. Halevi, Y. Polyakov, V. Shoup, "An
/// improved RNS variant of the BFV homomorphic encryption scheme", CT-RSA 2019, §2).
#[derive(Clone, Debug)]
pub struct BaseConverter {
    from: RnsBasis,
    to: RnsBasis,
}

impl BaseConverter {
    /// From basis `from` to basis `to`, of one N; they may share primes.
    pub fn new(from: &RnsBasis, to: &RnsBasis) -> Self {
        Self { from: from.clone(), to: to.clone() }
    }

    /// The residues of `poly` in the basis `to`.
    pub fn convert(&self, poly: &RnsPoly<Coefficients>) -> RnsPoly<Coefficients> {
        let _ = (poly, &self.from, &self.to);
        todo!()
    }
}

/// Divides by the product P of the last K primes of a basis and rounds: x modulo Q·P to ⌊x/P⌉ modulo Q.
#[derive(Clone, Debug)]
pub struct ModDown {
    keep: RnsBasis,
    drop: RnsBasis,
}

impl ModDown {
    /// From `keep` followed by `drop` to `keep`.
    pub fn new(keep: &RnsBasis, drop: &RnsBasis) -> Self {
        Self { keep: keep.clone(), drop: drop.clone() }
    }

    /// ⌊x/P⌉.
    pub fn apply(&self, poly: RnsPoly<Coefficients>) -> RnsPoly<Coefficients> {
        let _ = (poly, &self.keep, &self.drop);
        todo!()
    }
}

/// ⌊t·x/Q⌉ modulo t for x modulo Q: what decryption ends with. For t < 2^60 and any basis.
#[derive(Clone, Debug)]
pub struct ScaleAndRound {
    basis: RnsBasis,
    t: u64,
}

impl ScaleAndRound {
    /// To the modulus `t`.
    pub fn new(basis: &RnsBasis, t: u64) -> Self {
        Self { basis: basis.clone(), t }
    }

    /// Every coefficient of `poly`, scaled, in `[0, t)`.
    pub fn apply(&self, poly: &RnsPoly<Coefficients>) -> Vec<u64> {
        let _ = (poly, &self.basis, self.t);
        todo!()
    }
}
