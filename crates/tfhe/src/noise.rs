//! The noise model: predicts the variance of the phase after each operation, and from it failure probabilities.
//!
//! Variances are relative to the square of the torus (the torus has length 1). Keys are binary and uniform, so a key
//! bit has mean 1/2, variance 1/4 and second moment 1/2. The formulas follow Chillotti, Ligier, Orfila, Tap,
//! "Improved programmable bootstrapping with larger precision and efficient arithmetic circuits for TFHE" (2021), for
//! digits in \[−B/2, B/2) whose second moment is (B²+2)/12. The terms of the f64 transform
//! ([`transform_variance`]) and of the centred modulus switch ([`modulus_switch_variance`]) are derived here.
//!
//! Left out: the rounding error of a decomposition has a mean of half an ulp, which counts only if q/B^l is a few ulp.
//! Of the named sets this holds for `NVME_TFHE_PAPER_U32`, whose row noise is larger by orders of magnitude.

mod lookup;
pub mod word;

use ciphermill_lattice::{NoiseDistribution, log2_erfc};
use ciphermill_math::fft::PackedWord;

pub use crate::backend::Backend;
use crate::dimension::{Decomposition, GlweDimension, PolynomialSize};
use crate::encoding::Encoding;
use crate::modulus_switch::ModulusSwitch;
use crate::parameters::{KeyOrder, ParameterSpec, TorusWidth};
pub use lookup::log2_p_lookup;
pub(crate) use lookup::{largest_lookup_variance, log2_p_message, sign_edge};

/// Variance of one integer step of a torus of this width.
fn ulp2(torus: TorusWidth) -> f64 {
    (-2.0 * f64::from(torus.bits())).exp2()
}

/// Variance of a rounding to multiples of 2^−bits of values that are multiples of `step2`^½.
fn rounding(bits: usize, step2: f64) -> f64 {
    ((-2.0 * bits as f64).exp2() - step2).max(0.0) / 12.0
}

fn bits(gadget: Decomposition) -> usize {
    gadget.base_log.0 * gadget.level_count.0
}

/// Second moment of a digit: (B² + 2)/12.
fn digit_moment(gadget: Decomposition) -> f64 {
    ((2.0 * gadget.base_log.0 as f64).exp2() + 2.0) / 12.0
}

/// Variance of fresh GLWE noise.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // The standard deviation of the GLWE noise is 2^−50 in this set.
/// assert_eq!(noise::glwe_variance(&parameters).log2().round(), -100.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn glwe_variance(spec: &ParameterSpec) -> f64 {
    noise_variance(spec.glwe_noise, spec.torus)
}

pub(crate) fn noise_variance(noise: NoiseDistribution, torus: TorusWidth) -> f64 {
    match torus {
        TorusWidth::U32 => noise.variance::<u32>(),
        TorusWidth::U64 => noise.variance::<u64>(),
    }
}

/// Variance of a fresh LWE encryption under the chosen key.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // The standard deviation of the small key's noise is 2^−24 in this set.
/// assert_eq!(noise::fresh_variance(&parameters, KeyOrder::Small).log2().round(), -48.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fresh_variance(spec: &ParameterSpec, choice: KeyOrder) -> f64 {
    match choice {
        KeyOrder::Big => glwe_variance(spec),
        KeyOrder::Small => noise_variance(spec.lwe_noise, TorusWidth::U32),
    }
}

/// Variance that one external product with a GGSW encryption of 1 adds, all but the transform's own errors.
///
/// Every digit multiplies fresh noise; the rounding error of the decomposition multiplies the message, for the mask
/// through the key bits.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // A product adds far more noise than a fresh encryption has.
/// assert!(noise::external_product_variance(&parameters) > noise::glwe_variance(&parameters));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn external_product_variance(spec: &ParameterSpec) -> f64 {
    row_variance(spec) + rounding(bits(spec.pbs), ulp2(spec.torus)) * (1.0 + KeyWeights::mean(spec).big)
}

/// Variance of (k+1)·l·N digits times fresh GLWE noise.
fn row_variance(spec: &ParameterSpec) -> f64 {
    let rows = spec.pbs.level_count.0 * spec.glwe_dimension.glwe_size() * spec.polynomial_size.get();
    rows as f64 * digit_moment(spec.pbs) * glwe_variance(spec)
}

/// Variance that the transform's own errors add in one external product, with the key as a server key keeps it
/// ([`key_word`]).
///
/// FFT: an output coefficient is a sum of (k+1)·l·N products of a digit (second moment (B²+2)/12) and a uniform torus
/// coefficient (1/12). Forward transforms, products and inverse each have an error of about 2^−53 of the root mean
/// square of their values, growing with the square root of the number of levels log2(N/2); [`FFT_ERROR_FACTOR`] is the
/// measured constant. Keeping the key's spectra as 48-bit numbers adds [`packed_product_variance`]. The error strikes
/// body and masks alike, and the masks' are multiplied by key bits.
///
/// NTT over Z_p: switching key, accumulator and gadget to Z_p rounds each to 1/p ≈ 2^−64; over Z it is exact.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let [fft, ntt] = [Backend::Fft, Backend::Ntt].map(|backend| noise::transform_variance(&parameters, backend));
/// // The exact NTT only rounds between the torus and Z_p.
/// assert!(0.0 < ntt && ntt < fft);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn transform_variance(spec: &ParameterSpec, backend: Backend) -> f64 {
    transform_variance_of(spec, backend, key_word(spec), &KeyWeights::mean(spec))
}

fn transform_variance_of(spec: &ParameterSpec, backend: Backend, word: PackedWord, weights: &KeyWeights) -> f64 {
    let (k, n) = (spec.glwe_dimension.0 as f64, spec.polynomial_size.get() as f64);
    let products = spec.pbs.level_count.0 as f64 * (k + 1.0) * n * digit_moment(spec.pbs);
    let through_key = 1.0 + weights.big;
    match (backend, spec.torus) {
        (Backend::Fft, _) => {
            let (k, size) = (spec.glwe_dimension, spec.polynomial_size.get());
            let product = fft_product_variance(k, size, spec.pbs, FFT_ERROR_FACTOR)
                + packed_product_variance(k, size, spec.pbs, word);
            (product + ulp2(spec.torus) / 12.0) * through_key
        }
        (Backend::Ntt, TorusWidth::U32) => 0.0,
        // The rounded key coefficients enter with weight `products`, through the phase of a row.
        (Backend::Ntt, TorusWidth::U64) => products * ulp2(spec.torus) / 12.0 * through_key,
    }
}

/// Variance of one coefficient's error in an external product by FFT for keeping the key's spectra in `word`.
///
/// A 48-bit part is rounded to u = 2·2^−48 times the largest of the c = (k+1)·l·N parts that share the unit; for nearly
/// Gaussian parts that is √(2 ln c) times their root mean square. So the error is, relative to that of the exact sum of
/// products, u/√12.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// use ciphermill_math::fft::PackedWord;
/// let (k, size) = (parameters.glwe_dimension, parameters.polynomial_size.get());
/// let [fixed, float] = [PackedWord::Fixed48, PackedWord::Float64]
///     .map(|word| noise::packed_product_variance(k, size, parameters.pbs, word));
/// assert!(fixed > 0.0 && float == 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn packed_product_variance(k: GlweDimension, size: usize, gadget: Decomposition, word: PackedWord) -> f64 {
    let rows = (gadget.level_count.0 * k.glwe_size() * size) as f64;
    match word {
        PackedWord::Fixed48 => rows * digit_moment(gadget) / 12.0 * 2.0 * rows.ln() / 12.0 * (-94f64).exp2(),
        PackedWord::Float64 => 0.0,
    }
}

/// The storage of the bootstrapping key's spectra in the FFT back end. They have 48 bits if the resulting error, in a
/// linear combination of bootstrapped ciphertexts, is below 2^−10 of the variance of the modulus switch before the next
/// blind rotation. In a set with words, the bound is 2^−10 of the variance of the rotation itself. If 48 bits would exceed
/// the bound, the spectra keep every bit.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// use ciphermill_math::fft::PackedWord;
/// assert_eq!(noise::key_word(&parameters), PackedWord::Fixed48);
/// let wide = ParameterSet::named("MESSAGE_4_2M64", SecurityPolicy::Require128Bits)?;
/// assert_eq!(noise::key_word(&wide), PackedWord::Float64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn key_word(spec: &ParameterSpec) -> PackedWord {
    let word = PackedWord::Fixed48;
    let product = packed_product_variance(spec.glwe_dimension, spec.polynomial_size.get(), spec.pbs, word);
    let rotated = spec.lwe_dimension.0 as f64 * product * (1.0 + KeyWeights::mean(spec).big);
    let rounded = match spec.word {
        None => modulus_switch_variance(spec),
        // A selector multiplies the noise of its bit, and no modulus switch comes before that.
        Some(_) => blind_rotation_variance_of(spec, Backend::Ntt, PackedWord::Float64, &KeyWeights::mean(spec)),
    };
    let negligible = rotated * spec.max_norm2 * spec.max_norm2 <= rounded * (-10f64).exp2();
    if negligible { word } else { PackedWord::Float64 }
}

/// Variance of one coefficient's error in an external product by FFT, before it is rounded to the torus:
/// `factor`²·2^−106·log2(N/2) times the mean square of the exact sum of (k+1)·l·N products.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let (k, size) = (parameters.glwe_dimension, parameters.polynomial_size.get());
/// let [one, bound] = [1.0, noise::FFT_ERROR_FACTOR]
///     .map(|factor| noise::fft_product_variance(k, size, parameters.pbs, factor));
/// assert!(one > 0.0 && one < bound);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fft_product_variance(k: GlweDimension, size: usize, gadget: Decomposition, factor: f64) -> f64 {
    fft_sum_variance(k.glwe_size() as f64, size as f64, gadget, factor)
}

/// Variance of the error of the f64 transform in a sum of products of the digits of `polynomials` polynomials.
fn fft_sum_variance(polynomials: f64, size: f64, gadget: Decomposition, factor: f64) -> f64 {
    let products = polynomials * gadget.level_count.0 as f64 * size * digit_moment(gadget);
    let relative = factor * (-53f64).exp2();
    products / 12.0 * relative * relative * (size / 2.0).log2()
}

/// Root mean square error of the FFT product, in units of 2^−53·√log2(N/2) of the product's root mean square. The test
/// `fft_error_factor_holds` measures 1.24 to 1.60 for N from 512 to 32768 over all instruction sets; this bounds it.
pub const FFT_ERROR_FACTOR: f64 = 1.7;

/// Variance of a ciphertext extracted after blind rotation of a noiseless test vector: n external products of which, on
/// average, those with key bit 1 carry the decomposition's rounding.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // One external product for each of the n bits of the small key.
/// let rotation = noise::blind_rotation_variance(&parameters, Backend::Ntt);
/// assert!(rotation <= parameters.lwe_dimension.0 as f64
///     * (noise::external_product_variance(&parameters) + noise::transform_variance(&parameters, Backend::Ntt)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn blind_rotation_variance(spec: &ParameterSpec, backend: Backend) -> f64 {
    blind_rotation_variance_of(spec, backend, key_word(spec), &KeyWeights::mean(spec))
}

/// The number of ones in each key, on which a variance depends once the key is fixed.
#[derive(Clone, Copy, Debug)]
struct KeyWeights {
    small: f64,
    big: f64,
}

impl KeyWeights {
    fn mean(spec: &ParameterSpec) -> Self {
        Self { small: spec.lwe_dimension.0 as f64 / 2.0, big: spec.big_lwe_dimension().0 as f64 / 2.0 }
    }
}

fn blind_rotation_variance_of(spec: &ParameterSpec, backend: Backend, word: PackedWord, weights: &KeyWeights) -> f64 {
    let n = spec.lwe_dimension.0 as f64;
    let rounding = rounding(bits(spec.pbs), ulp2(spec.torus)) * (1.0 + weights.big);
    n * (row_variance(spec) + transform_variance_of(spec, backend, word, weights)) + weights.small * rounding
}

/// Variance that key switching from the big to the small key adds.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let small = noise::bootstrap_variance(&parameters, KeyOrder::Small, Backend::Fft);
/// assert!(small > noise::keyswitch_variance(&parameters));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn keyswitch_variance(spec: &ParameterSpec) -> f64 {
    keyswitch_variance_of(spec, &KeyWeights::mean(spec))
}

fn keyswitch_variance_of(spec: &ParameterSpec, weights: &KeyWeights) -> f64 {
    keyswitch_noise(spec) + weights.big * rounding(bits(spec.ks), ulp2(spec.torus)) + rounding(32, ulp2(spec.torus))
}

/// The part of [`keyswitch_variance`] that all ciphertexts switched by one key share: digits have the mean −1/2, and times
/// the noise of the rows that is a constant of the key. In a sum of m such ciphertexts it grows by m².
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let (shared, all) = (noise::keyswitch_bias(&parameters), noise::keyswitch_variance(&parameters));
/// assert!(shared > 0.0 && shared < all / 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn keyswitch_bias(spec: &ParameterSpec) -> f64 {
    let rows = spec.big_lwe_dimension().0 * spec.ks.level_count.0;
    0.25 * rows as f64 * noise_variance(spec.lwe_noise, TorusWidth::U32)
}

/// Variance of kN·t digits times the noise of the key-switching key.
fn keyswitch_noise(spec: &ParameterSpec) -> f64 {
    let rows = spec.big_lwe_dimension().0 * spec.ks.level_count.0;
    rows as f64 * digit_moment(spec.ks) * noise_variance(spec.lwe_noise, TorusWidth::U32)
}

/// Variance that the modulus switch of a small ciphertext adds to the phase: with r = 1/(12·(2N)²) less the variance of a
/// 32-bit grid, r·(n/2 + 1) for the plain switch and r·n/4 for the centred one.
///
/// A rounding error enters with the second moment 1/2 of a key bit, or with that of s − 1/2, which is 1/4 for either
/// bit. The plain figure counts the body's rounding as noise too. That is a bound: the rounding of the body moves the edges of a look-up
/// ([`ModulusSwitch`]), and [`log2_p_index`] has them where they are. The centred figure has no such part; the exponents,
/// taken half an index above their floors, deviate by r more.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // A larger N gives more exponents, so each rounding is finer.
/// let larger = ParameterSpec { polynomial_size: PolynomialSize::new(2048)?, ..parameters.spec().clone() };
/// assert!(noise::modulus_switch_variance(&larger) < noise::modulus_switch_variance(&parameters));
/// // Centring halves the variance.
/// let centred = ParameterSpec { modulus_switch: ModulusSwitch::Centred, ..parameters.spec().clone() };
/// assert!(2.0 * noise::modulus_switch_variance(&centred) < noise::modulus_switch_variance(&parameters));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn modulus_switch_variance(spec: &ParameterSpec) -> f64 {
    modulus_switch_variance_of(spec, &KeyWeights::mean(spec))
}

fn modulus_switch_variance_of(spec: &ParameterSpec, weights: &KeyWeights) -> f64 {
    let log_order = spec.polynomial_size.get().trailing_zeros() as usize + 1;
    let roundings = match spec.modulus_switch {
        ModulusSwitch::Plain => weights.small + 1.0,
        ModulusSwitch::Centred => 0.25 * spec.lwe_dimension.0 as f64,
    };
    roundings * rounding(log_order, ulp2(TorusWidth::U32))
}

/// Variance of a bootstrapped ciphertext under the chosen key.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let [big, small] = [KeyOrder::Big, KeyOrder::Small]
///     .map(|order| noise::bootstrap_variance(&parameters, order, Backend::Fft));
/// // The last step of the small order is a key switch, which adds noise.
/// assert!(big < small);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn bootstrap_variance(spec: &ParameterSpec, choice: KeyOrder, backend: Backend) -> f64 {
    blind_rotation_variance(spec, backend)
        + match choice {
            KeyOrder::Big => 0.0,
            KeyOrder::Small => keyswitch_variance(spec),
        }
}

/// Variance of the phase that blind rotation sees for an input of variance `input`: with the `Big` order the key switch
/// comes first.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let input = noise::bootstrap_variance(&parameters, KeyOrder::Small, Backend::Fft);
/// // The next bootstrap reads the sum of four such outputs after a modulus switch.
/// let variance = noise::phase_index_variance(&parameters, KeyOrder::Small, 4.0 * input);
/// assert!(noise::log2_p_index(parameters.polynomial_size, 2, variance) < -40.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn phase_index_variance(spec: &ParameterSpec, choice: KeyOrder, input: f64) -> f64 {
    input
        + modulus_switch_variance(spec)
        + match choice {
            KeyOrder::Big => keyswitch_variance(spec),
            KeyOrder::Small => 0.0,
        }
}

/// log2 of the probability that Gaussian noise of this variance exceeds half of Δ = 1/`encoding.places()`.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let variance = noise::bootstrap_variance(&parameters, KeyOrder::Big, Backend::Fft);
/// assert!(noise::log2_p_wrong(&encoding, variance) < -128.0);
/// // More messages stand closer together.
/// let finer = Encoding::unsigned(6, true)?;
/// assert!(noise::log2_p_wrong(&finer, variance) > noise::log2_p_wrong(&encoding, variance));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn log2_p_wrong(encoding: &Encoding, variance: f64) -> f64 {
    log2_tails(encoding.delta() / 2.0, variance)
}

/// log2 of the failure probability of one bootstrap of a linear combination, of 2-norm `norm2`, of bootstrapped
/// ciphertexts with `message_bits` bits and a padding bit, computed with the FFT (the noisier back end).
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let [two, six] = [2, 6].map(|bits| noise::log2_p_fail(&parameters, KeyOrder::Big, bits, parameters.max_norm2));
/// // Each further message bit halves the room for noise.
/// assert!(two < -40.0 && six > two);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn log2_p_fail(spec: &ParameterSpec, choice: KeyOrder, message_bits: u32, norm2: f64) -> f64 {
    let fresh = fresh_variance(spec, choice);
    let input = norm2 * norm2 * bootstrap_variance(spec, choice, Backend::Fft).max(fresh);
    let variance = phase_index_variance(spec, choice, input);
    log2_p_message(spec.modulus_switch, spec.polynomial_size, message_bits, variance)
}

/// log2 of the probability that a phase index of this variance falls outside of the 2N/2^(message_bits+1) indices of its
/// message.
///
/// The plain modulus switch rounds a phase to an index, and the number of indices per message is even. So one side begins
/// half an index nearer to the message's place than the other: the probability is the mean of two tails.
/// [`log2_p_lookup`] uses the switch of a set.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // A variance of 2^−20 leaves room for two message bits, and not for eight.
/// let p = |bits| noise::log2_p_index(parameters.polynomial_size, bits, (-20f64).exp2());
/// assert!(p(2) < -64.0 && p(8) > -2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn log2_p_index(polynomial_size: PolynomialSize, message_bits: u32, variance: f64) -> f64 {
    log2_p_plain(message_places(message_bits), polynomial_size, variance)
}

/// log2 of the probability that a phase of this variance is looked up as another message of `encoding`, in a table of N
/// entries, after the plain modulus switch ([`log2_p_lookup`] uses the switch of a set).
///
/// If each message has an even number of indices, the figure is that of [`log2_p_index`]. Otherwise both edges of a message
/// may lie half an index nearer to its place than Δ/2; the figure counts both tails from there and is a bound.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let size = parameters.polynomial_size;
/// let variance = noise::largest_phase_index_variance(size, 3, -64.0);
/// // The tables of three bits have less room than those of two.
/// assert!(noise::log2_p_table(&Encoding::unsigned(2, true)?, size, variance) < -64.0);
/// assert!((noise::log2_p_table(&encoding, size, variance) + 64.0).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn log2_p_table(encoding: &Encoding, polynomial_size: PolynomialSize, variance: f64) -> f64 {
    log2_p_plain(encoding.places() as f64, polynomial_size, variance)
}

/// The places of 2^`message_bits` messages with a padding bit; any number of bits has some.
pub(crate) fn message_places(message_bits: u32) -> f64 {
    (f64::from(message_bits) + 1.0).exp2()
}

/// Whether each of some places, a whole number, has an even number of the 2N phase indices.
pub(crate) fn has_even_places(polynomial_size: PolynomialSize, places: f64) -> bool {
    let size = polynomial_size.get() as f64;
    places <= size && size % places == 0.0
}

/// The same for messages in `places` places of the torus.
fn log2_p_plain(places: f64, polynomial_size: PolynomialSize, variance: f64) -> f64 {
    let half_place = 0.5 / places;
    let half_index = half_index(polynomial_size);
    let near = log2_tails(half_place - half_index, variance);
    if has_even_places(polynomial_size, places) {
        log2_sum(near, log2_tails(half_place + half_index, variance)) - 1.0
    } else {
        near
    }
}

/// Half of one of the 2N phase indices, as a fraction of the torus.
pub(crate) fn half_index(polynomial_size: PolynomialSize) -> f64 {
    0.25 / polynomial_size.get() as f64
}

/// log2 of the probability that Gaussian noise of this variance exceeds `distance` in magnitude; 0 for a negative distance.
pub(crate) fn log2_tails(distance: f64, variance: f64) -> f64 {
    log2_erfc(distance / (2.0 * variance).sqrt()).min(0.0)
}

/// log2(2^a + 2^b), for probabilities too small for an f64.
pub(crate) fn log2_sum(a: f64, b: f64) -> f64 {
    a.max(b) + (1.0 + (a.min(b) - a.max(b)).exp2()).log2()
}

/// The largest variance of a phase index with which [`log2_p_index`] is at most `log2_p` (below 0).
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let size = parameters.polynomial_size;
/// let largest = noise::largest_phase_index_variance(size, 3, -64.0);
/// assert!(noise::log2_p_index(size, 3, largest) <= -64.0);
/// assert!(noise::log2_p_index(size, 3, 1.01 * largest) > -64.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn largest_phase_index_variance(polynomial_size: PolynomialSize, message_bits: u32, log2_p: f64) -> f64 {
    lookup::largest_variance(log2_p, |variance| log2_p_index(polynomial_size, message_bits, variance))
}

#[cfg(test)]
mod tests;
