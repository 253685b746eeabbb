//! Secret and noise distributions.
//!
//! No sampler branches, indexes or rejects by the drawn values: each consumes a fixed number of keystream bytes, stated
//! in its documentation, so neither the time nor the position in the stream depends on the secret. All give the same
//! values on every instruction set.

mod gaussian;

use zeroize::Zeroize;

use crate::rng::{Csprng, Keystream};
use crate::torus::Torus;

pub use gaussian::Gaussian;

/// Values drawn at a time.
const CHUNK: usize = 256;

/// A noise distribution out of its range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoiseError {
    /// The standard deviation is not within the torus.
    #[error("standard deviation is {given} of the torus; use 0 to {max}")]
    StdDev {
        /// The standard deviation given.
        given: f64,
        /// The largest one.
        max: f64,
    },
    /// ±2^b does not fit a signed torus element.
    #[error("TUniform bound is 2^{given} ulp; use at most 2^{max} on a torus of {bits} bits")]
    Bound {
        /// log2 of the bound given.
        given: u32,
        /// log2 of the largest bound.
        max: u32,
        /// Bits of the torus.
        bits: u32,
    },
}

/// Uniform torus elements, `BITS / 8` keystream bytes each.
///
/// # Example
/// ```
/// use ciphermill_lattice::{Csprng, SecretSeed, sampler};
///
/// let mut values = [0u32; 64];
/// sampler::uniform(&mut Csprng::from_os()?, &mut values);
/// assert!(values.iter().any(|value| *value != values[0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn uniform<T: Torus>(rng: &mut impl Keystream, out: &mut [T]) {
    T::fill_random(rng, out);
}

/// Uniform values of {0, 1}: the bits of the keystream, lowest first, in whole 8-byte words.
///
/// # Example
/// ```
/// use ciphermill_lattice::{Csprng, SecretSeed, sampler};
///
/// let mut key = [7u64; 100];
/// sampler::binary(&mut Csprng::from_os()?, &mut key);
/// assert!(key.iter().all(|bit| *bit <= 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn binary<T: Torus>(rng: &mut Csprng, out: &mut [T]) {
    for part in out.chunks_mut(64) {
        let mut word = rng.next_u64();
        for o in part {
            *o = T::from_signed_i64((word & 1) as i64);
            word >>= 1;
        }
    }
}

/// Uniform values of {−1, 0, 1}: ⌊3w/2^64⌋ − 1 of an 8-byte word w each, which is within 2^-63 of uniform.
///
/// # Example
/// ```
/// use ciphermill_lattice::{Csprng, SecretSeed, sampler};
///
/// let mut key = [7; 100];
/// sampler::ternary(&mut Csprng::from_os()?, &mut key);
/// assert!(key.iter().all(|value| (-1..=1).contains(value)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn ternary(rng: &mut Csprng, out: &mut [i64]) {
    for o in out {
        *o = ((u128::from(rng.next_u64()) * 3) >> 64) as i64 - 1;
    }
}

/// TUniform(b), the bounded noise of tfhe-rs: an integer in [−2^b, 2^b], uniform but for the two ends, which have half the
/// weight of the others. Its mean is 0 and its variance (2^(2b+1) + 1)/6.
///
/// `bound_log2` counts in units of the torus's own last place (ulp): the same b is a much larger noise on 32 bits than on 64.
/// A sample takes `BITS / 8` keystream bytes: ⌊(w + 1)/2⌋ − 2^b of the low b + 2 bits w.
///
/// # Example
/// ```
/// use ciphermill_lattice::sampler::TUniform;
/// use ciphermill_lattice::{Csprng, SecretSeed};
///
/// let mut noise = [0u64; 100];
/// TUniform::new::<u64>(10)?.sample_into(&mut Csprng::from_os()?, &mut noise);
/// assert!(noise.iter().all(|value| (-1024..=1024).contains(&value.cast_signed())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TUniform {
    bound_log2: u32,
}

impl TUniform {
    /// TUniform(`bound_log2`) on the torus `T`.
    ///
    /// # Errors
    /// If `bound_log2` > BITS − 2.
    pub fn new<T: Torus>(bound_log2: u32) -> Result<Self, NoiseError> {
        let max = T::BITS - 2;
        if bound_log2 > max {
            return Err(NoiseError::Bound { given: bound_log2, max, bits: T::BITS });
        }
        Ok(TUniform { bound_log2 })
    }

    /// Samples to `out`.
    pub fn sample_into<T: Torus>(&self, rng: &mut Csprng, out: &mut [T]) {
        T::fill_random(rng, out);
        let (shift, bound) = (62 - self.bound_log2, 1i64 << self.bound_log2);
        for o in out {
            let w = ((*o).to_signed_i64() as u64) << shift >> shift;
            *o = T::from_signed_i64((w / 2 + (w & 1)) as i64 - bound);
        }
    }
}

/// The noise of a parameter set.
///
/// # Example
/// ```
/// use ciphermill_lattice::{Csprng, NoiseDistribution, SecretSeed, Torus};
///
/// let noise = NoiseDistribution::TUniform { bound_log2: 10 };
/// noise.check::<u64>()?;
/// let mut samples = vec![0u64; 4096];
/// noise.sample_into(&mut Csprng::from_secret(&SecretSeed::from_bytes([7; 32]), 0), &mut samples);
/// let squares: f64 = samples.iter().map(|sample| sample.to_f64_signed().powi(2)).sum();
/// assert!((squares / 4096.0 / noise.variance::<u64>() - 1.0).abs() < 0.2, "the variance is the declared one");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoiseDistribution {
    /// The rounded Gaussian of mean 0.
    Gaussian {
        /// Standard deviation relative to the whole torus: that of the integers is `std_dev`·2^BITS.
        std_dev: f64,
    },
    /// [`TUniform`].
    TUniform {
        /// log2 of the bound, in ulp of the torus that is sampled.
        bound_log2: u32,
    },
}

impl NoiseDistribution {
    /// Checks the parameters against the torus `T`. Parameter sets call this when they are made.
    ///
    /// # Errors
    /// [`NoiseError`] if out of range.
    pub fn check<T: Torus>(&self) -> Result<(), NoiseError> {
        match *self {
            NoiseDistribution::Gaussian { std_dev } => Gaussian::new(std_dev).map(drop),
            NoiseDistribution::TUniform { bound_log2 } => TUniform::new::<T>(bound_log2).map(drop),
        }
    }

    /// The variance relative to the torus squared: that of the integers is this times 2^(2·BITS). The rounding of the
    /// Gaussian, 1/12 ulp², is included.
    pub fn variance<T: Torus>(&self) -> f64 {
        let ulp2 = 2f64.powi(-2 * T::BITS as i32);
        match *self {
            NoiseDistribution::Gaussian { std_dev: 0.0 } => 0.0,
            NoiseDistribution::Gaussian { std_dev } => std_dev * std_dev + ulp2 / 12.0,
            NoiseDistribution::TUniform { bound_log2 } => (2f64.powi(2 * bound_log2 as i32 + 1) + 1.0) / 6.0 * ulp2,
        }
    }

    /// Samples to `out`.
    ///
    /// # Panics
    /// If [`check`](Self::check) fails for `T`.
    pub fn sample_into<T: Torus>(&self, rng: &mut Csprng, out: &mut [T]) {
        match *self {
            NoiseDistribution::Gaussian { std_dev } => {
                Gaussian::new(std_dev).expect("a checked distribution").sample_into(rng, out);
            }
            NoiseDistribution::TUniform { bound_log2 } => {
                TUniform::new::<T>(bound_log2).expect("a checked distribution").sample_into(rng, out);
            }
        }
    }

    /// Adds a sample to each of `out`: the same samples as [`sample_into`](Self::sample_into) gives.
    ///
    /// # Panics
    /// If [`check`](Self::check) fails for `T`.
    ///
    /// # Example
    /// ```
    /// use ciphermill_lattice::{Csprng, NoiseDistribution, SecretSeed};
    ///
    /// let mut values = [1u64 << 60; 100];
    /// let noise = NoiseDistribution::TUniform { bound_log2: 10 };
    /// noise.add_to(&mut Csprng::from_os()?, &mut values);
    /// assert!(values.iter().all(|value| value.abs_diff(1 << 60) <= 1024));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_to<T: Torus>(&self, rng: &mut Csprng, out: &mut [T]) {
        let mut noise = [T::ZERO; CHUNK];
        // CHUNK is even, so the pairs of the Gaussian fall as in one call.
        for part in out.chunks_mut(CHUNK) {
            let noise = &mut noise[..part.len()];
            self.sample_into(rng, noise);
            for (o, e) in part.iter_mut().zip(noise.iter()) {
                *o = o.wrapping_add(*e);
            }
        }
        noise.iter_mut().for_each(Zeroize::zeroize);
    }
}
