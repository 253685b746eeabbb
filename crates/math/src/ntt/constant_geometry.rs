//! The negacyclic transform in constant geometry: every stage reads the same pairs of places and writes the same pairs.
//!
//! Stage s of log2 N reads the values at j and j + N/2 and writes its results at 2j and 2j + 1, for every j below N/2.
//! This is Pease's data flow ("An adaptation of the fast Fourier transform for parallel processing", J. ACM 15, 1968),
//! merged with the powers of ψ as in [`reference`](super::reference). The inverse goes the opposite way. Only the
//! twiddles change between stages: butterfly j of stage s has ψ^brv(2^s + (j mod 2^s)).
//!
//! It suits hardware, where wires cost and the same wires serve all stages; it is the golden model of `hw/rtl/ntt_cg`.
//! On a CPU it needs a second array and strides that suit caches badly, so the engines of this module are faster there.

use super::NttError;
use super::reference::bit_reverse;
use crate::Modulus;

/// The transform for one size and one prime, stage by stage.
///
/// # Example
/// ```
/// use ciphermill_math::Modulus;
/// use ciphermill_math::ntt::ConstantGeometryNtt;
///
/// let transform = ConstantGeometryNtt::new(256, Modulus::new(7681)?)?;
/// let mut values: Vec<u64> = (0..256).collect();
/// transform.forward(&mut values);
/// transform.inverse(&mut values);
/// assert!(values.iter().copied().eq(0..256));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConstantGeometryNtt {
    modulus: Modulus,
    /// ψ^brv(i) at i.
    twiddles: Vec<u64>,
    /// Half of ψ^-brv(i) at i. The factor one half is that of each stage of the inverse.
    inverse_twiddles: Vec<u64>,
    half: u64,
}

impl ConstantGeometryNtt {
    /// The least N.
    pub const MIN_POLYNOMIAL_SIZE: usize = 2;
    /// The greatest N.
    pub const MAX_POLYNOMIAL_SIZE: usize = 1 << 17;

    /// The transform of N = `polynomial_size` coefficients modulo a prime.
    ///
    /// # Errors
    /// If N is not a power of two from 2 to 2^17, or 2N does not divide the prime less one.
    pub fn new(polynomial_size: usize, modulus: Modulus) -> Result<Self, NttError> {
        let n = polynomial_size;
        if !n.is_power_of_two() || !(Self::MIN_POLYNOMIAL_SIZE..=Self::MAX_POLYNOMIAL_SIZE).contains(&n) {
            return Err(NttError::PolynomialSize {
                given: n,
                min: Self::MIN_POLYNOMIAL_SIZE,
                max: Self::MAX_POLYNOMIAL_SIZE,
            });
        }
        let no_root = || NttError::NoRoot { modulus: modulus.value(), polynomial_size: n };
        let psi = modulus.primitive_root_2n(n).ok_or_else(no_root)?;
        let psi_inverse = modulus.inverse(psi).ok_or_else(no_root)?;
        let half = modulus.inverse(2).ok_or_else(no_root)?;
        let powers = |base: u64, first: u64| {
            let mut table = vec![0; n];
            let mut power = first;
            for j in 0..n {
                table[bit_reverse(j, n.ilog2())] = power;
                power = modulus.mul(power, base);
            }
            table
        };
        Ok(Self { modulus, twiddles: powers(psi, 1), inverse_twiddles: powers(psi_inverse, half), half })
    }

    /// N.
    pub fn polynomial_size(&self) -> usize {
        self.twiddles.len()
    }

    /// The prime.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// The number of stages, log2 N.
    pub fn stages(&self) -> u32 {
        self.polynomial_size().ilog2()
    }

    /// One stage of the forward transform: reads x and y at j and j + N/2 and writes (x + w·y, x − w·y) at 2j and 2j +
    /// 1. The stages run from 0 up.
    ///
    /// # Panics
    /// If the stage does not exist, or a slice does not have N values.
    pub fn forward_stage(&self, stage: u32, values: &[u64], results: &mut [u64]) {
        let (m, distance) = (self.modulus, self.check(stage, values, results));
        let (low, high) = values.split_at(distance);
        let blocks = 1 << stage;
        for (j, ((&x, &y), pair)) in low.iter().zip(high).zip(results.chunks_exact_mut(2)).enumerate() {
            let product = m.mul(y, self.twiddles[blocks + j % blocks]);
            pair.copy_from_slice(&[m.add(x, product), m.sub(x, product)]);
        }
    }

    /// One stage of the inverse: reads x and y at 2j and 2j + 1 and writes half of (x + y, (x − y)/w) at j and j + N/2.
    /// The stages run from the highest down.
    ///
    /// # Panics
    /// As [`forward_stage`](Self::forward_stage).
    pub fn inverse_stage(&self, stage: u32, values: &[u64], results: &mut [u64]) {
        let (m, distance) = (self.modulus, self.check(stage, values, results));
        let (low, high) = results.split_at_mut(distance);
        let blocks = 1 << stage;
        for (j, (pair, (x, y))) in values.chunks_exact(2).zip(low.iter_mut().zip(high)).enumerate() {
            *x = m.mul(m.add(pair[0], pair[1]), self.half);
            *y = m.mul(m.sub(pair[0], pair[1]), self.inverse_twiddles[blocks + j % blocks]);
        }
    }

    fn check(&self, stage: u32, values: &[u64], results: &[u64]) -> usize {
        let n = self.polynomial_size();
        assert!(stage < self.stages(), "stage {stage} of {}", self.stages());
        assert!(values.len() == n && results.len() == n, "{} and {} values, N = {n}", values.len(), results.len());
        n / 2
    }

    /// The transform from natural order to the order of reversed bits, as
    /// [`reference::prime::forward`](super::reference::prime).
    ///
    /// # Panics
    /// If the number of values is not N.
    pub fn forward(&self, values: &mut Vec<u64>) {
        let mut results = vec![0; values.len()];
        for stage in 0..self.stages() {
            self.forward_stage(stage, values, &mut results);
            core::mem::swap(values, &mut results);
        }
    }

    /// The inverse, divided by N: every stage halves.
    ///
    /// # Panics
    /// If the number of values is not N.
    pub fn inverse(&self, values: &mut Vec<u64>) {
        let mut results = vec![0; values.len()];
        for stage in (0..self.stages()).rev() {
            self.inverse_stage(stage, values, &mut results);
            core::mem::swap(values, &mut results);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ntt::reference::prime;

    const PRIMES: [u64; 4] = [(1 << 34) + (1 << 27) + 1, (1 << 34) + (1 << 19) + 1, (1 << 38) + (1 << 23) + 1, 12289];

    fn transform(n: usize, prime: u64) -> ConstantGeometryNtt {
        ConstantGeometryNtt::new(n, Modulus::new(prime).unwrap()).unwrap()
    }

    fn random(n: usize, prime: u64, seed: u64) -> Vec<u64> {
        // Knuth's multiplier spreads the numbers well enough for a test.
        (0..n as u64).map(|i| (seed ^ i).wrapping_mul(6_364_136_223_846_793_005).rotate_left(23) % prime).collect()
    }

    #[test]
    fn it_is_the_reference_at_every_size() {
        for p in PRIMES {
            let modulus = Modulus::new(p).unwrap();
            for log_n in 1..=14 {
                let n = 1 << log_n;
                let Ok(transform) = ConstantGeometryNtt::new(n, modulus) else {
                    assert!(p % (2 * n as u64) != 1, "2N divides p - 1");
                    continue;
                };
                let values = random(n, p, 7);
                let (mut ours, mut theirs) = (values.clone(), values.clone());
                transform.forward(&mut ours);
                prime::forward(modulus, &mut theirs);
                assert_eq!(ours, theirs, "p = {p}, N = {n}");
                transform.inverse(&mut ours);
                assert_eq!(ours, values, "p = {p}, N = {n}");
            }
        }
    }

    #[test]
    fn what_is_not_offered_is_refused() {
        let modulus = Modulus::new(12289).unwrap();
        for n in [0, 1, 3, 1 << 18] {
            let given = NttError::PolynomialSize { given: n, min: 2, max: 1 << 17 };
            assert_eq!(ConstantGeometryNtt::new(n, modulus).unwrap_err(), given);
        }
        let no_root = NttError::NoRoot { modulus: 12289, polynomial_size: 4096 };
        assert_eq!(ConstantGeometryNtt::new(4096, modulus).unwrap_err(), no_root);
    }

    proptest! {
        /// A stage and its inverse undo one another, and all stages read and write the same places.
        #[test]
        fn stages_come_back(log_n in 1u32..10, seed: u64, stage in 0u32..10) {
            let (n, stage) = (1usize << log_n, stage % log_n);
            let transform = transform(n, PRIMES[0]);
            let values = random(n, PRIMES[0], seed);
            let (mut there, mut back) = (vec![0; n], vec![0; n]);
            transform.forward_stage(stage, &values, &mut there);
            transform.inverse_stage(stage, &there, &mut back);
            prop_assert_eq!(&back, &values);

            let place = seed as usize % n;
            let mut other = values.clone();
            other[place] = (other[place] + 1) % PRIMES[0];
            let mut changed = vec![0; n];
            transform.forward_stage(stage, &other, &mut changed);
            let j = place % (n / 2);
            let differ: Vec<usize> = (0..n).filter(|&i| there[i] != changed[i]).collect();
            prop_assert_eq!(differ, vec![2 * j, 2 * j + 1]);
        }
    }
}
