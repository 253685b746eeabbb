//! Randomness: ChaCha20, seeded by the operating system.

use std::convert::Infallible;
use std::fmt;

use ciphermill_bigint::{IntegerBatch, limbs};
use ciphermill_math::fork::Mark;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};
use zeroize::{Zeroize, Zeroizing};

/// The operating system gave no randomness.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the operating system gave no randomness: {0}; make its entropy source available to this process")]
pub struct RandomError(#[source] getrandom::Error);

/// Bytes of a seed.
pub const SEED_LEN: usize = 32;

/// A cryptographically secure generator.
///
/// It notices a fork of the process and takes a new seed from the operating system then. So parent and child never draw
/// the same numbers (two ciphertexts with the same blinding factor give away the difference of their plaintexts). Its
/// state is overwritten when it is dropped.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let mut rng = Csprng::from_os()?;
/// let mut words = [0; 2];
/// rng.fill_u64(&mut words)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Csprng {
    stream: Stream,
    birth: Mark,
}

impl Csprng {
    /// A generator with a fresh seed.
    ///
    /// # Errors
    /// [`RandomError`].
    pub fn from_os() -> Result<Self, RandomError> {
        Ok(Self { stream: Stream::from_os()?, birth: Mark::now() })
    }

    /// A generator of known seed, for reproducible tests and measurements only. In a forked child it takes a new seed, as
    /// every other does.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let [mut first, mut second] = [7, 7].map(|byte| Csprng::from_seed([byte; SEED_LEN]));
    /// let [mut a, mut b] = [[0; 4]; 2];
    /// first.fill_u64(&mut a)?;
    /// second.fill_u64(&mut b)?;
    /// assert_eq!(a, b);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_seed(seed: [u8; SEED_LEN]) -> Self {
        let seed = Zeroizing::new(seed);
        Self { stream: Stream::new(&seed), birth: Mark::now() }
    }

    /// The next `8 · out.len()` bytes, as integers.
    ///
    /// # Errors
    /// [`RandomError`] if a forked child gets no new seed.
    pub fn fill_u64(&mut self, out: &mut [u64]) -> Result<(), RandomError> {
        let stream = self.stream()?;
        for word in out {
            *word = stream.0.next_u64();
        }
        Ok(())
    }

    /// Weights of 32 bits for the check of a batch. An attacker who foresees them can evade it.
    pub(crate) fn check_weights(&mut self, len: usize) -> Result<Vec<u64>, RandomError> {
        let mut weights = vec![0; len];
        self.fill_u64(&mut weights)?;
        weights.iter_mut().for_each(|weight| *weight >>= 32);
        Ok(weights)
    }

    /// `len` integers of `bits` random bits.
    ///
    /// # Panics
    /// If `bits` is 0.
    ///
    /// # Errors
    /// [`RandomError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let numbers = rng.bits(100, 5)?;
    /// assert!(numbers.words().iter().all(|&number| number < 32));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bits(&mut self, len: usize, bits: u32) -> Result<IntegerBatch, RandomError> {
        assert!(bits > 0, "a bit at least");
        let mut out = IntegerBatch::zeros(len, limbs::limbs_for(bits));
        self.fill_u64(out.words_mut())?;
        let excess = out.limbs() as u32 * 64 - bits;
        let limbs = out.limbs();
        for row in out.words_mut().chunks_exact_mut(limbs) {
            row[limbs - 1] >>= excess;
        }
        Ok(out)
    }

    /// `len` integers uniform in 1 ≤ x < `bound`, by rejection. The time reveals the number of rejected draws, which is
    /// independent of the accepted ones. The rate depends on `bound` relative to its power of two: very many draws
    /// reveal the upper bits of a secret bound, about half the logarithm of their number.
    ///
    /// # Panics
    /// If `bound` is 0 or 1.
    ///
    /// # Errors
    /// [`RandomError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let numbers = rng.below(100, &[10])?;
    /// assert!(numbers.words().iter().all(|number| (1..10).contains(number)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn below(&mut self, len: usize, bound: &[u64]) -> Result<IntegerBatch, RandomError> {
        let bits = limbs::bit_length_public(bound);
        assert!(bits > 1, "a bound of 2 at least, as nothing lies in 1 ≤ x < 1");
        let mut out = IntegerBatch::zeros(len, bound.len());
        for i in 0..len {
            loop {
                let candidate = self.bits(1, bits)?;
                let row = out.row_mut(i);
                row.fill(0);
                row[..candidate.limbs()].copy_from_slice(candidate.row(0));
                let zero = row.iter().fold(0, |any, &word| any | word) == 0;
                if !zero && limbs::less_than(row, bound) == 1 {
                    break;
                }
            }
        }
        Ok(out)
    }

    /// The generator itself, reseeded if the process has forked.
    pub(crate) fn stream(&mut self) -> Result<&mut Stream, RandomError> {
        let now = Mark::now();
        if now != self.birth {
            self.stream = Stream::from_os()?;
            self.birth = now;
        }
        Ok(&mut self.stream)
    }
}

impl fmt::Debug for Csprng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Csprng(..)")
    }
}

/// The keystream, for libraries that take `rand_core`'s traits. Valid within one process.
pub(crate) struct Stream(ChaCha20Rng);

impl Stream {
    fn new(seed: &[u8; SEED_LEN]) -> Self {
        Self(ChaCha20Rng::from_seed(*seed))
    }

    fn from_os() -> Result<Self, RandomError> {
        let mut seed = Zeroizing::new([0; SEED_LEN]);
        getrandom::fill(seed.as_mut()).map_err(RandomError)?;
        Ok(Self::new(&seed))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // `rand_chacha` wipes nothing itself; a draw from the new state overwrites the buffered keystream too.
        self.0 = ChaCha20Rng::from_seed([0; SEED_LEN]);
        self.0.next_u32().zeroize();
        std::hint::black_box(&self.0);
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(out);
        Ok(())
    }
}

impl TryCryptoRng for Stream {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_without_a_number_are_refused() {
        let drawn = std::panic::catch_unwind(|| drop(Csprng::from_seed([1; SEED_LEN]).bits(1, 0)));
        assert!(drawn.is_err());
        for bound in [&[][..], &[0], &[0, 0], &[1], &[1, 0]] {
            let drawn = std::panic::catch_unwind(|| drop(Csprng::from_seed([1; SEED_LEN]).below(1, bound)));
            assert!(drawn.is_err(), "{bound:?}");
        }
        assert_eq!(Csprng::from_seed([1; SEED_LEN]).below(3, &[2, 0]).unwrap().words(), [1, 0, 1, 0, 1, 0]);
    }
}
