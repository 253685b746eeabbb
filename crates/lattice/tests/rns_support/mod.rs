//! Bases and polynomials for the tests of residue number systems.

use ciphermill_lattice::rns::{Coefficients, RnsBasis, RnsPoly};
use ciphermill_lattice::{PolynomialSize, PublicSeed, rng::MaskStream};
use ciphermill_math::Isa;
use ciphermill_math::modulus::ntt_primes;
use num_bigint::BigInt;

/// The basis of the largest primes of these lengths; `skip` of each length are left to others.
pub(crate) fn basis(n: usize, bits: &[u32], skip: usize, isa: Isa) -> RnsBasis {
    let mut moduli: Vec<u64> = Vec::new();
    for &b in bits {
        let mut primes = ntt_primes(b, n).map(|p| p.value()).skip(skip);
        moduli.push(primes.find(|p| !moduli.contains(p)).expect("enough primes"));
    }
    RnsBasis::new(PolynomialSize::new(n).expect("a polynomial size"), &moduli, isa).expect("primes with transforms")
}

/// A uniform polynomial; its first coefficients are the corners 0, ±1, and those about ±Q/2.
pub(crate) fn polynomial(basis: &RnsBasis, stream: u64) -> RnsPoly<Coefficients> {
    let mut poly = basis.uniform(&mut MaskStream::new(&PublicSeed([7; 32]), stream));
    let half = BigInt::from(basis.product() / 2u32);
    for (i, x) in
        [0, 1, -1].map(BigInt::from).into_iter().chain([half.clone(), -&half, &half - 1, 1 - &half]).enumerate()
    {
        put(basis, &mut poly, i, &x);
    }
    poly
}

/// Sets the coefficient at X^i.
pub(crate) fn put(basis: &RnsBasis, poly: &mut RnsPoly<Coefficients>, i: usize, x: &BigInt) {
    for (limb, residue) in poly.limbs_mut().zip(basis.residues(x)) {
        limb[i] = residue;
    }
}
