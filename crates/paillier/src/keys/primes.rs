//! Primes.

use std::cmp::Ordering;

use crypto_bigint::{BoxedUint, Gcd};
use crypto_primes::fips::{FipsOptions, is_prime};
use crypto_primes::hazmat::{SetBits, SmallFactorsSieveFactory, minimum_mr_iterations};
use crypto_primes::{Flavor, sieve_and_find};
use zeroize::Zeroize;

use crate::error::PaillierError;
use crate::parameters::KeyBits;
use crate::random::{Csprng, Stream};

/// A composite passes for a prime with a probability below 2^-128.
const LOG2_ERROR: u32 = 128;

/// Primes for a key, with p ≡ q ≡ 3 (mod 4) and gcd(p − 1, q − 1) = 2 (Damgård, Jurik, Nielsen 2010, section 4.2), both of
/// half the bits of n with the upper two set, and as far apart as [`far_apart`] asks.
pub(super) fn generate(bits: KeyBits, rng: &mut Csprng) -> Result<(BoxedUint, BoxedUint), PaillierError> {
    let rng = rng.stream()?;
    let half = bits.get() / 2;
    let mut p = prime(half, rng);
    loop {
        let mut q = prime(half, rng);
        if far_apart(&p, &q, half) && djn_shaped(&p, &q) {
            return Ok((p, q));
        }
        // Whether p was unlucky is not known: both are drawn anew in the long run.
        p.zeroize();
        std::mem::swap(&mut p, &mut q);
    }
}

/// A random prime of `bits` bits that is 3 modulo 4, its upper two bits set.
fn prime(bits: u32, rng: &mut Stream) -> BoxedUint {
    let factory = SmallFactorsSieveFactory::<BoxedUint>::new(Flavor::Any, bits, SetBits::TwoMsb).expect("enough bits");
    let iterations = minimum_mr_iterations(bits, LOG2_ERROR).unwrap_or(LOG2_ERROR as usize / 2);
    let options = FipsOptions::with_mr_iterations(iterations).with_lucas_test();
    sieve_and_find(rng, factory, |rng, candidate| {
        candidate.as_words()[0] & 3 == 3 && is_prime(rng, Flavor::Any, candidate, options)
    })
    .expect("the width is supported")
    .expect("the sieves never end")
}

/// Whether |p − q| > 2^(half − 100), so that no search around √n finds them (FIPS 186-5, appendix A.1.1).
pub(super) fn far_apart(p: &BoxedUint, q: &BoxedUint, half: u32) -> bool {
    let mut difference = match p.cmp_vartime(q) {
        Ordering::Less => q.wrapping_sub(p),
        _ => p.wrapping_sub(q),
    };
    let far = difference.bits() > half - 100;
    difference.zeroize();
    far
}

/// Whether the primes let −x² generate the blinding factors.
pub(super) fn djn_shaped(p: &BoxedUint, q: &BoxedUint) -> bool {
    let one = BoxedUint::one_with_precision(p.bits_precision());
    let (mut a, mut b) = (p.wrapping_sub(&one), q.wrapping_sub(&one));
    let mut common = a.gcd(&b);
    let shaped =
        p.as_words()[0] & 3 == 3 && q.as_words()[0] & 3 == 3 && common.bits() == 2 && common.as_words()[0] == 2;
    for secret in [&mut a, &mut b, &mut common] {
        secret.zeroize();
    }
    shaped
}

/// Whether a number from outside, which may be made to deceive, is prime: 64 random bases let a composite pass with a
/// probability of 4^-64 whatever it is.
pub(super) fn is_prime_for_certain(candidate: &BoxedUint, rng: &mut Csprng) -> Result<bool, PaillierError> {
    let options = FipsOptions::with_mr_iterations(LOG2_ERROR as usize / 2).with_lucas_test().with_trial_division_test();
    Ok(is_prime(rng.stream()?, Flavor::Any, candidate, options))
}
