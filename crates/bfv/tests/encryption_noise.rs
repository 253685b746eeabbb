//! The noise of fresh ciphertexts against the distribution that the parameter sets state.

use crate::support::{context, fresh_seed, noise, plaintext, secret_coefficients, seed};
use ciphermill_bfv::parameters::{BFV_4096, ERROR_STD_DEV};
use ciphermill_bfv::{PublicKey, SecretKey};
use ciphermill_lattice::{Csprng, SecretSeed};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// Of the rounded Gaussian.
const ERROR_VARIANCE: f64 = ERROR_STD_DEV * ERROR_STD_DEV + 1.0 / 12.0;

struct Moments {
    mean: f64,
    variance: f64,
}

fn moments(samples: &[f64]) -> Moments {
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let variance = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / samples.len() as f64;
    Moments { mean, variance }
}

fn small(noise: Vec<BigInt>) -> impl Iterator<Item = f64> {
    noise.into_iter().map(|x| x.to_f64().expect("finite"))
}

/// The probability that the rounded Gaussian is `x`.
fn probability(x: i64) -> f64 {
    let below = |x: f64| 0.5 * libm::erfc(-x / (ERROR_STD_DEV * 2f64.sqrt()));
    below(x as f64 + 0.5) - below(x as f64 - 0.5)
}

/// The coefficients of 16 ciphertexts per level are samples of the rounded Gaussian: mean, variance, χ² of the values, tails.
fn secret_key_noise(key: &SecretSeed, rng: &mut Csprng) {
    let context = context(BFV_4096);
    let secret = SecretKey::generate(&context, key);
    for limbs in 1..=3 {
        let mut samples = Vec::new();
        for _ in 0..16 {
            let message = plaintext(&context, rng);
            let ciphertext = secret.encrypt(&message, limbs, rng).expect("a level");
            samples.extend(small(noise(&secret, &ciphertext, &message)));
        }
        let count = samples.len() as f64;
        let Moments { mean, variance } = moments(&samples);
        // Six standard deviations of the estimates.
        assert!(mean.abs() < 6.0 * (ERROR_VARIANCE / count).sqrt(), "mean {mean}");
        let off = (variance / ERROR_VARIANCE - 1.0).abs();
        assert!(off < 6.0 * (2.0 / count).sqrt(), "variance {variance} for {ERROR_VARIANCE}");
        // The values −10 … 10, and the rest: 22 classes, 21 degrees of freedom.
        let observed = |x: i64| samples.iter().filter(|&&sample| sample == x as f64).count() as f64;
        let classes = (-10..=10).map(|x| (observed(x), probability(x)));
        let (seen, inside) = classes.clone().fold((0.0, 0.0), |(n, p), (o, q)| (n + o, p + q));
        let chi2: f64 = classes
            .chain([(count - seen, 1.0 - inside)])
            .map(|(observed, p)| (observed - p * count).powi(2) / (p * count))
            .sum();
        // Exceeded with a probability of 10^-9.
        assert!(chi2 < 88.0, "χ² {chi2}");
        // No sample beyond 9.5 standard deviations exists at all; one beyond 7 is less likely than 10^-6.
        assert!(samples.iter().all(|x| x.abs() <= 7.0 * ERROR_STD_DEV + 0.5));
    }
}

/// e·u + e_0 + e_1·s: variance σ²·(1 + ‖s‖²) + ⅔·‖e‖² over the ciphertexts under one key, whose ‖e‖² is close to N·σ².
fn public_key_noise(key: &SecretSeed, rng: &mut Csprng) {
    let context = context(BFV_4096);
    let secret = SecretKey::generate(&context, key);
    let public = PublicKey::generate(&secret).expect("randomness");
    let weight = secret_coefficients(&secret).iter().map(|x| (x * x) as f64).sum::<f64>();
    let n = context.n() as f64;
    let model = ERROR_VARIANCE * (1.0 + weight + 2.0 / 3.0 * n);
    for limbs in [1, 3] {
        let mut samples = Vec::new();
        for _ in 0..8 {
            let message = plaintext(&context, rng);
            let ciphertext = public.encrypt(&message, limbs, rng).expect("a level");
            samples.extend(small(noise(&secret, &ciphertext, &message)));
        }
        let Moments { mean, variance } = moments(&samples);
        // 32768 samples that depend on each other but weakly (0.8 % of the variance); ‖e‖² varies by 2.2 %, ‖u‖² by 0.4 %.
        assert!((variance / model - 1.0).abs() < 0.1, "variance {variance} for {model}");
        assert!(mean.abs() < 6.0 * (model / samples.len() as f64).sqrt(), "mean {mean}");
        let greatest = samples.iter().fold(0f64, |greatest, x| greatest.max(x.abs()));
        assert!(greatest < 7.0 * model.sqrt(), "{greatest}");
    }
}

#[test]
fn secret_key_noise_of_a_fixed_seed() {
    secret_key_noise(&seed(1), &mut crate::support::rng(2));
}

#[test]
fn secret_key_noise_of_a_fresh_seed() {
    secret_key_noise(&fresh_seed(), &mut Csprng::from_secret(&fresh_seed(), 0));
}

#[test]
fn public_key_noise_of_a_fixed_seed() {
    public_key_noise(&seed(3), &mut crate::support::rng(4));
}

#[test]
fn public_key_noise_of_a_fresh_seed() {
    public_key_noise(&fresh_seed(), &mut Csprng::from_secret(&fresh_seed(), 0));
}
