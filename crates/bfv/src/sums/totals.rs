//! From the phase of a sum to its totals.
//!
//! The phase is 2^d·Y + v with |v| < 2^(d−1). Added to it, before it is made an integer, is a constant with which all fields
//! and the noise are at least 0: it is then below Q, and the fields are plain runs of bits. No branch depends on the totals
//! but for their bounds.

use ciphermill_lattice::rns::{Coefficients, RnsBasis, RnsPoly};
use ciphermill_math::Modulus;
use num_bigint::{BigInt, BigUint};
use zeroize::Zeroizing;

use super::layout::{Block, Layout};

/// A step of [`Lift`]: x ↦ (x − y)·q^-1 modulo the prime of x, for y modulo another prime q.
struct Step {
    /// A multiple of the prime that is at least q.
    offset: u64,
    inverse: u64,
    /// ⌊inverse·2^64/prime⌋ (V. Shoup).
    companion: u64,
}

impl Step {
    fn new(prime: Modulus, q: Modulus) -> Self {
        let inverse = prime.inverse(prime.reduce(q.value())).expect("primes are distinct");
        let offset = q.value().next_multiple_of(prime.value());
        Self { offset, inverse, companion: prime.shoup_quotient(inverse) }
    }

    fn apply(&self, prime: u64, x: u64, y: u64) -> u64 {
        // Primes are below 2^62, so the offset is below 2^63.
        let difference = x + self.offset - y;
        let quotient = ((u128::from(self.companion) * u128::from(difference)) >> 64) as u64;
        let rest = difference.wrapping_mul(self.inverse).wrapping_sub(quotient.wrapping_mul(prime));
        rest.min(rest.wrapping_sub(prime))
    }
}

/// Integers modulo Q from their residues, by mixed radix: x = v_0 + q_0·(v_1 + q_1·(v_2 + …)).
struct Lift {
    primes: Vec<u64>,
    /// Of limb i, one for each limb below i.
    steps: Vec<Vec<Step>>,
}

impl Lift {
    fn new(basis: &RnsBasis) -> Self {
        let moduli: Vec<Modulus> = basis.moduli().collect();
        let steps = |(i, &prime): (usize, &Modulus)| moduli[..i].iter().map(|&q| Step::new(prime, q)).collect();
        let steps = moduli.iter().enumerate().map(steps).collect();
        Self { primes: moduli.iter().map(|q| q.value()).collect(), steps }
    }

    /// The integer with the residues `digits`, which become its mixed-radix digits, as words: the lowest first, as many as
    /// limbs and one more.
    fn lift(&self, digits: &mut [u64], words: &mut [u64]) {
        for (i, (&prime, steps)) in self.primes.iter().zip(&self.steps).enumerate() {
            let (known, rest) = digits.split_at_mut(i);
            rest[0] = known.iter().zip(steps).fold(rest[0], |x, (&y, step)| step.apply(prime, x, y));
        }
        words.fill(0);
        for (&prime, &digit) in self.primes.iter().zip(digits.iter()).rev() {
            let mut carry = u128::from(digit);
            for word in words.iter_mut() {
                carry += u128::from(*word) * u128::from(prime);
                *word = carry as u64;
                carry >>= u64::BITS;
            }
        }
    }
}

/// Bits `from` to `from` + `width` − 1 of an integer, for a width up to 128. There is one word more than the integer has.
fn bits(words: &[u64], from: u32, width: u32) -> u128 {
    let word = |i: usize| u128::from(words.get(i).copied().unwrap_or(0));
    let (first, shift) = ((from / u64::BITS) as usize, from % u64::BITS);
    let low = word(first) | word(first + 1) << u64::BITS;
    let all = if shift == 0 { low } else { low >> shift | word(first + 2) << (u128::BITS - shift) };
    all & (u128::MAX >> (u128::BITS - width))
}

/// A field, or the place above all fields, that holds no total of the plan.
pub(super) struct Beyond {
    /// The segment.
    pub(super) segment: usize,
    /// The total, if it is one.
    pub(super) total: Option<i128>,
}

/// The totals of a sum by segment.
pub(super) struct Reader<'a> {
    layout: &'a Layout,
    basis: &'a RnsBasis,
    /// d.
    shift: u32,
    /// By segment, the greatest magnitude of a total.
    greatest: Vec<u128>,
    lift: Lift,
    /// By block, the residues of the constant that makes fields and noise positive.
    offsets: Vec<Vec<u64>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(layout: &'a Layout, basis: &'a RnsBasis, shift: u32, greatest: Vec<u128>) -> Self {
        let offset = |block: &Block| {
            let fields = (0..block.fields()).map(|field| BigUint::from(1u32) << (block.shift(field + 1) - 1));
            let fields: BigUint = fields.sum();
            basis.residues(&BigInt::from((fields << shift) + (BigUint::from(1u32) << (shift - 1))))
        };
        let offsets = layout.blocks.iter().map(offset).collect();
        Self { layout, basis, shift, greatest, lift: Lift::new(basis), offsets }
    }

    /// The totals of ciphertext `ciphertext`, from its phase: of each block and each of its fields those of
    /// [`Block::values_in`].
    ///
    /// # Errors
    /// If a field holds no total of the plan.
    pub(super) fn read(&self, ciphertext: usize, phase: &RnsPoly<Coefficients>) -> Result<Fields, Beyond> {
        (0..self.layout.blocks.len()).map(|segment| self.block(segment, ciphertext, phase)).collect()
    }

    fn block(
        &self,
        segment: usize,
        ciphertext: usize,
        phase: &RnsPoly<Coefficients>,
    ) -> Result<Vec<Vec<i128>>, Beyond> {
        let (block, limbs) = (&self.layout.blocks[segment], self.basis.len());
        let n = phase.polynomial_size();
        let mut fields: Vec<Vec<i128>> =
            (0..block.fields()).map(|field| vec![0; block.values_in(n, ciphertext, field).len()]).collect();
        let mut digits = Zeroizing::new(vec![0; limbs]);
        let mut words = Zeroizing::new(vec![0; limbs + 1]);
        let top = self.shift + block.shift(block.fields());
        for (at, coefficient) in block.coefficients_in(n, ciphertext).enumerate() {
            for (i, digit) in digits.iter_mut().enumerate() {
                let (prime, sum) = (self.lift.primes[i], phase.limb(i)[coefficient] + self.offsets[segment][i]);
                *digit = sum.min(sum.wrapping_sub(prime));
            }
            self.lift.lift(&mut digits, &mut words);
            if (top..u64::BITS * words.len() as u32).step_by(64).any(|from| bits(&words, from, 64) != 0) {
                return Err(Beyond { segment, total: None });
            }
            for (k, field) in fields.iter_mut().enumerate().filter(|(_, field)| at < field.len()) {
                let raw = bits(&words, self.shift + block.shift(k), block.width);
                let total = raw.wrapping_sub(1 << (block.width - 1)).cast_signed();
                if total.unsigned_abs() > self.greatest[segment] {
                    return Err(Beyond { segment, total: Some(total) });
                }
                field[at] = total;
            }
        }
        Ok(fields)
    }
}

/// By block and field: the totals.
pub(super) type Fields = Vec<Vec<Vec<i128>>>;

#[cfg(test)]
mod tests {
    use ciphermill_lattice::PolynomialSize;
    use ciphermill_math::Isa;
    use ciphermill_math::modulus::ntt_primes;
    use num_bigint::BigInt;
    use proptest::prelude::*;

    use super::*;

    fn basis(bits: &[u32]) -> RnsBasis {
        let n = PolynomialSize::new(16).expect("a power of two");
        let primes: Vec<u64> = bits
            .iter()
            .enumerate()
            .map(|(i, &bits)| ntt_primes(bits, n.get()).nth(i).expect("a prime").value())
            .collect();
        RnsBasis::new(n, &primes, Isa::current()).expect("a basis")
    }

    proptest! {
        #[test]
        fn lifting_inverts_residues(
            limbs in prop::sample::select(vec![vec![30], vec![61, 20], vec![20, 61, 40], vec![50; 5], vec![62; 3]]),
            seed in prop::collection::vec(any::<u64>(), 6),
        ) {
            let basis = basis(&limbs);
            let x = BigUint::from_slice(&seed.iter().flat_map(|&w| [w as u32, (w >> 32) as u32]).collect::<Vec<_>>());
            let x = x % basis.product();
            let mut digits = basis.residues(&BigInt::from(x.clone()));
            let mut words = vec![7; limbs.len() + 1];
            Lift::new(&basis).lift(&mut digits, &mut words);
            let got = words.iter().rev().fold(BigUint::ZERO, |sum, &word| (sum << 64u32) + word);
            prop_assert_eq!(&got, &x);
            for from in [0, 1, 63, 64, 65, 100, 128, 191, 250, 400] {
                for width in [1, 2, 63, 64, 65, 127, 128] {
                    let expected = (&x >> from) % (BigUint::from(1u32) << width);
                    prop_assert_eq!(BigUint::from(bits(&words, from, width)), expected, "{} bits from {}", width, from);
                }
            }
        }
    }
}
