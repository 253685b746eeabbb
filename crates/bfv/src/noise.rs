//! The expected noise of each operation, and the probability of a wrong result.
//!
//! Noise is v = c_0 + c_1·s − ⌊Q·m/t⌉ modulo Q, an integer per coefficient; variances are those of such integers. Decryption
//! is right while |v| < Q/(2t). Keys are uniform ternary (a coefficient has variance 2/3), errors are rounded Gaussians of
//! standard deviation [`ERROR_STD_DEV`], digits and rounding errors are taken as uniform and independent of each other
//! (A. Costache, K. Laine, R. Player, "Evaluating the effectiveness of heuristic worst-case noise analysis in FHE", ESORICS
//! 2020, measure how well such averages hold).

use crate::encryption::Encryption;
use crate::gadget::Gadget;
use crate::parameters::{ERROR_STD_DEV, ParameterSpec};
use ciphermill_lattice::log2_erfc;

/// Variance of a coefficient of a ternary polynomial, the secret key or that of a public-key encryption.
const TERNARY_VARIANCE: f64 = 2.0 / 3.0;

/// Variance of a rounding to integers.
const ROUNDING_VARIANCE: f64 = 1.0 / 12.0;

/// Variance of one error of a key or a fresh ciphertext: the Gaussian's and that of its rounding.
pub const ERROR_VARIANCE: f64 = ERROR_STD_DEV * ERROR_STD_DEV + ROUNDING_VARIANCE;

/// Variance of a fresh encryption, the rounding of the encoding included: e for a secret key, e·u + e_1 + e_2·s for a public
/// one.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// use ciphermill_bfv::encryption::Encryption;
///
/// let variance = noise::fresh_variance(context.parameters(), Encryption::Secret);
/// assert!((3.2..3.3).contains(&variance.sqrt()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fresh_variance(spec: &ParameterSpec, encryption: Encryption) -> f64 {
    let n = spec.polynomial_size.get() as f64;
    let error = match encryption {
        Encryption::Secret => ERROR_VARIANCE,
        Encryption::Public => zero_variance(n),
    };
    error + ROUNDING_VARIANCE
}

/// Variance of an encryption of 0 under the public key, for N = `n`: what re-randomising adds.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// assert!(noise::zero_variance(4096.0).sqrt() < 256.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn zero_variance(n: f64) -> f64 {
    ERROR_VARIANCE * (1.0 + 2.0 * n * TERNARY_VARIANCE)
}

/// Variance of rounding c_0 and c_1 to integers, which a division by a modulus ends with: ε_0 + ε_1·s for N = `n`.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// assert!((15.0..15.2).contains(&noise::rounding_variance(4096.0).sqrt()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rounding_variance(n: f64) -> f64 {
    ROUNDING_VARIANCE * (1.0 + n * TERNARY_VARIANCE)
}

/// Variance that the errors of a key add in one key switch of a polynomial of `limbs` limbs with the digits of `gadget`,
/// divided by the special primes, without the rounding of that division: digits times errors, Σ_j N·E\[d_j²\]·σ²/P².
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let set = context.parameters();
/// assert!(noise::key_error_variance(set, gadget, top) < noise::key_switch_variance(set, gadget, top));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn key_error_variance(spec: &ParameterSpec, gadget: Gadget, limbs: usize) -> f64 {
    let n = spec.polynomial_size.get() as f64;
    let special: f64 = spec.special_moduli.iter().map(|&p| p as f64).product();
    let moduli = &spec.ciphertext_moduli[..limbs];
    let moments: f64 = match gadget {
        Gadget::Limbs { limbs_per_digit } => {
            moduli.chunks(limbs_per_digit).map(|digit| digit.iter().map(|&q| (q as f64).powi(2)).product::<f64>()).sum()
        }
        Gadget::Bits { base_log } => {
            let digits: u32 = moduli.iter().map(|q| (64 - q.leading_zeros()).div_ceil(base_log.0 as u32)).sum();
            f64::from(digits) * (2.0 * base_log.0 as f64).exp2()
        }
    };
    n * moments * ROUNDING_VARIANCE * ERROR_VARIANCE / (special * special)
}

/// Variance that a whole key switch adds: [`key_error_variance`], and the rounding of the division by the special primes.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let coarse = noise::key_switch_variance(context.parameters(), gadget, top);
/// let fine = Gadget::Bits { base_log: DecompositionBaseLog(10) };
/// assert!(noise::key_switch_variance(context.parameters(), fine, top) < coarse);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn key_switch_variance(spec: &ParameterSpec, gadget: Gadget, limbs: usize) -> f64 {
    let rounding =
        if spec.special_moduli.is_empty() { 0.0 } else { rounding_variance(spec.polynomial_size.get() as f64) };
    key_error_variance(spec, gadget, limbs) + rounding
}

/// log2 of the probability that any of `count` values of Gaussian noise of this standard deviation exceeds 2^`log2_limit` in
/// magnitude, by the union bound: at most 0.
///
/// # Example
/// ```
/// // Eight standard deviations.
/// assert!((-50.0..-49.0).contains(&ciphermill_bfv::noise::log2_failure(3.0, 1.0, 1.0)));
/// ```
pub fn log2_failure(log2_limit: f64, std_dev: f64, count: f64) -> f64 {
    (log2_tails(log2_limit, std_dev) + count.log2()).min(0.0)
}

/// log2 of the bound that any of `count` values of Gaussian noise of this standard deviation exceeds with a probability of
/// at most 2^`log2_probability` (below 0).
///
/// # Example
/// ```
/// use ciphermill_bfv::noise::{log2_bound, log2_failure};
///
/// let bound = log2_bound(3.2, -64.0, 4096.0);
/// assert!((log2_failure(bound, 3.2, 4096.0) + 64.0).abs() < 1e-3);
/// ```
pub fn log2_bound(std_dev: f64, log2_probability: f64, count: f64) -> f64 {
    // The probability falls with the bound, so halving the interval finds it from above: erfc(2^10) is below 2^-10^6.
    let (mut low, mut high) = (-10.0f64, 10.0f64);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if log2_erfc(middle.exp2()) + count.log2() <= log2_probability {
            high = middle;
        } else {
            low = middle;
        }
    }
    high + 0.5 + std_dev.log2()
}

/// log2 of the probability that Gaussian noise of this standard deviation exceeds 2^`log2_limit` in magnitude.
fn log2_tails(log2_limit: f64, std_dev: f64) -> f64 {
    log2_erfc((log2_limit - std_dev.log2() - 0.5).exp2())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{ParameterSet, SecurityPolicy};
    use ciphermill_lattice::DecompositionBaseLog;

    fn near(given: f64, expected: f64) {
        assert!((given - expected).abs() < 1e-12 * expected, "{given} {expected}");
    }

    fn paper() -> ParameterSet {
        let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
        ParameterSet::named("CHAM_PAPER", policy).expect("a named set")
    }

    /// Worked by hand for N = 4096: σ² = ERROR_STD_DEV² + 1/12, and the ternary variance 2/3.
    #[test]
    fn figures_of_fresh_ciphertexts_and_roundings() {
        let error = ERROR_STD_DEV * ERROR_STD_DEV + 1.0 / 12.0;
        near(ERROR_VARIANCE, error);
        // e·u + e_1 + e_2·s: 1 + 2·4096·2/3 = 16387/3 errors.
        near(zero_variance(4096.0), error * 16387.0 / 3.0);
        // ε_0 + ε_1·s: (1 + 4096·2/3)/12 = 8195/36.
        near(rounding_variance(4096.0), 8195.0 / 36.0);
        let set = paper();
        let n = set.polynomial_size.get() as f64;
        near(fresh_variance(&set, Encryption::Secret), error + 1.0 / 12.0);
        near(fresh_variance(&set, Encryption::Public), error * (1.0 + 4.0 * n / 3.0) + 1.0 / 12.0);
    }

    /// Of `CHAM_PAPER`, computed with mpmath 1.3 to 30 digits: N·E[d²]·σ²/P², summed over the digits.
    #[test]
    fn figures_of_key_switches() {
        let set = paper();
        let limbs = |limbs_per_digit| Gadget::Limbs { limbs_per_digit };
        near(key_error_variance(&set, limbs(1), 2), 27.743_945_197_334_002);
        near(key_error_variance(&set, limbs(1), 1), 13.979_500_751_387_361);
        // One digit of both limbs.
        near(key_error_variance(&set, limbs(2), 2), 4.126_272_198_845_67e21);
        // Moduli of 35 bits have four digits of ten bits each.
        let bits = Gadget::Bits { base_log: DecompositionBaseLog(10) };
        near(key_error_variance(&set, bits, 2), 3.911_851_640_561_619_6e-13);
        near(key_switch_variance(&set, limbs(1), 2), 27.743_945_197_334_002 + 8195.0 / 36.0);
        // Without special primes, nothing is divided or rounded: 8·2^20·4096·(3.2² + 1/12)/12.
        let plain = ParameterSpec { special_moduli: Vec::new(), ..ParameterSpec::clone(&set) };
        let errors = 8.0 * 1_048_576.0 * 4096.0 * ERROR_VARIANCE / 12.0;
        near(key_error_variance(&plain, bits, 2), errors);
        assert_eq!(key_switch_variance(&plain, bits, 2), key_error_variance(&plain, bits, 2));
    }

    #[test]
    fn a_bound_is_exceeded_with_the_probability_asked_for() {
        for (std_dev, log2_p, count) in
            [(3.2, -1.0, 1.0), (1e6, -64.0, 4096.0), (0.25, -400.0, 1e9), (1e40, -5000.0, 7.0)]
        {
            let bound = log2_bound(std_dev, log2_p, count);
            let got = log2_failure(bound, std_dev, count);
            assert!((got - log2_p).abs() < 1e-6 * log2_p.abs(), "2^{got} instead of 2^{log2_p}");
        }
        assert_eq!(log2_failure(0.0, 1e9, 1.0).round(), 0.0);
        assert_eq!(log2_failure(0.0, 1.0, 1e9), 0.0, "a probability is at most 1");
    }
}
