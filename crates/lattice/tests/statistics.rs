//! The samplers against their distributions, from a fixed seed and from a fresh one, which a failure prints.
//!
//! Each bound is at least 6 standard errors, or a tail of 10^-9 for Kolmogorov–Smirnov, so a sound sampler fails a fresh
//! seed less than once in ten million runs.

use ciphermill_lattice::sampler::{self, Gaussian, NoiseError, TUniform};
use ciphermill_lattice::{Csprng, NoiseDistribution, PublicSeed, SecretSeed, Torus};

const SAMPLES: usize = 1 << 20;

fn with_seeds(test: impl Fn(&mut Csprng, &PublicSeed)) {
    for seed in [PublicSeed([11; 32]), PublicSeed::from_os().unwrap()] {
        test(&mut Csprng::from_secret(&SecretSeed::from_bytes(seed.0), 0), &seed);
    }
}

fn signed<T: Torus>(noise: &NoiseDistribution, rng: &mut Csprng) -> Vec<f64> {
    let mut out = vec![T::ZERO; SAMPLES];
    noise.sample_into(rng, &mut out);
    out.iter().map(|x| x.to_signed_i64() as f64).collect()
}

/// The distribution function of the standard normal.
fn phi(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// The fourth moment over the squared variance decides how far a sampled variance may stray.
fn check_moments(values: &[f64], variance: f64, kurtosis: f64, seed: &PublicSeed) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let second = values.iter().map(|x| x * x).sum::<f64>() / n;
    assert!(mean.abs() <= 6.0 * (variance / n).sqrt(), "mean {mean}, {seed:?}");
    let bound = 6.0 * variance * ((kurtosis - 1.0) / n).sqrt();
    assert!((second - variance).abs() <= bound, "variance {second}, expected {variance}, {seed:?}");
}

/// Pearson's statistic, whose mean is the degrees of freedom k and whose variance is 2k.
fn check_chi_squared(counts: &[usize], probabilities: &[f64], seed: &PublicSeed) {
    let n = counts.iter().sum::<usize>() as f64;
    assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let statistic: f64 = counts.iter().zip(probabilities).map(|(c, p)| (*c as f64 - n * p).powi(2) / (n * p)).sum();
    let freedom = (counts.len() - 1) as f64;
    // For few degrees the tail is heavier than the normal one: 50 more is beyond 10^-9 for all k used here.
    let bound = freedom + 6.0 * (2.0 * freedom).sqrt() + 50.0;
    assert!(statistic < bound, "chi² {statistic}, {freedom} degrees of freedom, {counts:?}, {seed:?}");
}

fn check_gaussian<T: Torus>(std_dev: f64) {
    with_seeds(|rng, seed| {
        let noise = NoiseDistribution::Gaussian { std_dev };
        let mut values = signed::<T>(&noise, rng);
        let scale = 2f64.powi(T::BITS as i32);
        check_moments(&values, noise.variance::<T>() * scale * scale, 3.0, seed);
        // The two halves of a chunk are the cosines and sines of the same pairs: uncorrelated, squares too.
        let sigma = std_dev * scale;
        let (mut product, mut squares) = (0.0, 0.0);
        for chunk in values.chunks(256) {
            for (x, y) in chunk[..128].iter().zip(&chunk[128..]) {
                let (x, y) = (x / sigma, y / sigma);
                product += x * y;
                squares += (x * x - 1.0) * (y * y - 1.0);
            }
        }
        let root = (SAMPLES as f64 / 2.0).sqrt();
        assert!(product.abs() < 6.0 * root, "correlation {product}, {seed:?}");
        // (x² − 1)(y² − 1) has variance 4.
        assert!(squares.abs() < 12.0 * root, "correlation of squares {squares}, {seed:?}");

        // Kolmogorov–Smirnov, at the middle between integers. P(√n·D > 3.3) ≈ 2·exp(−2·3.3²) < 10^-9.
        values.sort_by(f64::total_cmp);
        let n = SAMPLES as f64;
        let distance = values
            .chunk_by(|a, b| a == b)
            .scan(0usize, |below, equal| {
                *below += equal.len();
                Some((*below as f64 / n - phi((equal[0] + 0.5) / sigma)).abs())
            })
            .fold(0.0, f64::max);
        assert!(distance * n.sqrt() < 3.3, "Kolmogorov–Smirnov {}, {seed:?}", distance * n.sqrt());
    });
}

#[test]
fn gaussian_of_key_switching_on_32_bits() {
    check_gaussian::<u32>(2f64.powi(-19));
}

#[test]
fn gaussian_on_64_bits() {
    check_gaussian::<u64>(2f64.powi(-46));
    check_gaussian::<u64>(2f64.powi(-15));
}

/// Narrow enough for every integer to be counted: the rounding itself is tested.
#[test]
fn narrow_gaussian_counts() {
    let sigma = 3.2;
    with_seeds(|rng, seed| {
        let mut out = vec![0u64; SAMPLES];
        Gaussian::new(sigma * 2f64.powi(-64)).unwrap().sample_into(rng, &mut out);
        let edge = 12i64;
        let mut counts = vec![0; 2 * edge as usize + 1];
        out.iter().for_each(|x| counts[(x.to_signed_i64().clamp(-edge, edge) + edge) as usize] += 1);
        let probabilities: Vec<f64> = (-edge..=edge)
            .map(|k| {
                let below = if k == -edge { 0.0 } else { phi((k as f64 - 0.5) / sigma) };
                let upto = if k == edge { 1.0 } else { phi((k as f64 + 0.5) / sigma) };
                upto - below
            })
            .collect();
        check_chi_squared(&counts, &probabilities, seed);
    });
}

/// The widest Gaussian leaves the torus and comes back: wrapped, not clipped at ±1/2.
#[test]
fn the_widest_gaussian_wraps() {
    with_seeds(|rng, seed| {
        let mut out = vec![0u64; SAMPLES];
        Gaussian::new(Gaussian::MAX_STD_DEV).unwrap().sample_into(rng, &mut out);
        let mut counts = vec![0; 16];
        out.iter().for_each(|x| counts[(x >> 60) as usize] += 1);
        let bin = |lo: f64| phi((lo + 1.0 / 16.0) * 4.0) - phi(lo * 4.0);
        let probabilities: Vec<f64> =
            (0..16).map(|k| (-3..=2).map(|turn| bin(f64::from(k) / 16.0 + f64::from(turn))).sum()).collect();
        check_chi_squared(&counts, &probabilities, seed);
        let narrow =
            (out.iter().filter(|x| **x == 1 << 63).count(), out.iter().filter(|x| **x == i64::MAX as u64).count());
        assert!(narrow.0 <= 2 && narrow.1 <= 2, "clipped values {narrow:?}, {seed:?}");
    });
}

fn check_tuniform<T: Torus>() {
    for bound_log2 in [0, 1, 2, 5] {
        with_seeds(|rng, seed| {
            let noise = NoiseDistribution::TUniform { bound_log2 };
            let values = signed::<T>(&noise, rng);
            let bound = 1i64 << bound_log2;
            let mut counts = vec![0; 2 * bound as usize + 1];
            // A value out of the bounds panics here.
            values.iter().for_each(|x| counts[(*x as i64 + bound) as usize] += 1);
            let mut probabilities = vec![0.5 / bound as f64; counts.len()];
            *probabilities.first_mut().unwrap() /= 2.0;
            *probabilities.last_mut().unwrap() /= 2.0;
            check_chi_squared(&counts, &probabilities, seed);
        });
    }
    for bound_log2 in [0, 3, 17, T::BITS - 2] {
        with_seeds(|rng, seed| {
            let noise = NoiseDistribution::TUniform { bound_log2 };
            let values = signed::<T>(&noise, rng);
            assert!(values.iter().all(|x| x.abs() <= 2f64.powi(bound_log2 as i32)));
            let variance = noise.variance::<T>() * 2f64.powi(2 * T::BITS as i32);
            // E x⁴ / var²: 2 for b = 0, and close to 9/5 when wide.
            check_moments(&values, variance, 2.0, seed);
        });
    }
}

#[test]
fn tuniform() {
    check_tuniform::<u32>();
    check_tuniform::<u64>();
}

#[test]
fn secrets_are_uniform() {
    with_seeds(|rng, seed| {
        let mut bits = vec![0u64; SAMPLES];
        sampler::binary(rng, &mut bits);
        let mut counts = vec![0; 2];
        bits.iter().for_each(|b| counts[*b as usize] += 1);
        check_chi_squared(&counts, &[0.5; 2], seed);
        // Neighbours in pairs, so that order counts too.
        let mut counts = vec![0; 4];
        bits.as_chunks::<2>().0.iter().for_each(|[a, b]| counts[(2 * a + b) as usize] += 1);
        check_chi_squared(&counts, &[0.25; 4], seed);

        let mut trits = vec![0i64; SAMPLES];
        sampler::ternary(rng, &mut trits);
        let mut counts = vec![0; 3];
        trits.iter().for_each(|t| counts[(t + 1) as usize] += 1);
        check_chi_squared(&counts, &[1.0 / 3.0; 3], seed);

        let mut bytes = vec![0; 256];
        let mut uniform = vec![0u32; SAMPLES];
        sampler::uniform(rng, &mut uniform);
        uniform.iter().for_each(|x| bytes[(x >> 24) as usize] += 1);
        check_chi_squared(&bytes, &[1.0 / 256.0; 256], seed);
    });
}

#[test]
fn binary_takes_the_bits_lowest_first() {
    let seed = PublicSeed([12; 32]);
    let mut bits = vec![0u32; 100];
    sampler::binary(&mut Csprng::from_secret(&SecretSeed::from_bytes(seed.0), 0), &mut bits);
    let mut words = [0u64; 2];
    Csprng::from_secret(&SecretSeed::from_bytes(seed.0), 0).fill_u64(&mut words);
    assert!((0..100).all(|i| u64::from(bits[i]) == words[i / 64] >> (i % 64) & 1));
}

#[test]
fn adding_adds_the_same_samples() {
    let seed = PublicSeed([13; 32]);
    for noise in [NoiseDistribution::Gaussian { std_dev: 1e-6 }, NoiseDistribution::TUniform { bound_log2: 20 }] {
        for n in [1, 2, 255, 256, 257, 1001] {
            let mut sampled = vec![0u64; n];
            noise.sample_into(&mut Csprng::from_secret(&SecretSeed::from_bytes(seed.0), 0), &mut sampled);
            let mut added: Vec<u64> = (0..n as u64).map(|i| u64::MAX - i).collect();
            noise.add_to(&mut Csprng::from_secret(&SecretSeed::from_bytes(seed.0), 0), &mut added);
            assert!((0..n).all(|i| added[i] == sampled[i].wrapping_sub(1 + i as u64)), "{noise:?} {n}");
        }
    }
}

#[test]
fn no_noise_is_zero() {
    let mut out = [1u64; 300];
    let none = NoiseDistribution::Gaussian { std_dev: 0.0 };
    none.sample_into(&mut Csprng::from_secret(&SecretSeed::from_bytes([1; 32]), 0), &mut out);
    assert_eq!((out, none.variance::<u64>()), ([0; 300], 0.0));
}

#[test]
fn refusals_name_the_bound() {
    for std_dev in [-1e-9, 0.2500001, f64::NAN, f64::INFINITY] {
        let noise = NoiseDistribution::Gaussian { std_dev };
        assert!(matches!(noise.check::<u32>(), Err(NoiseError::StdDev { max: 0.25, .. })), "{std_dev}");
    }
    assert_eq!(TUniform::new::<u32>(31), Err(NoiseError::Bound { given: 31, max: 30, bits: 32 }));
    assert_eq!(TUniform::new::<u64>(63), Err(NoiseError::Bound { given: 63, max: 62, bits: 64 }));
}
