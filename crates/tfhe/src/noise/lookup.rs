//! Failure probabilities of table look-ups, by the modulus switch of a parameter set.
//!
//! A table has whole exponents, so a message owns the phases between two of their edges. With the plain switch both
//! edges of a message lie half an index below the middle between two places; with the centred one they lie in the
//! middle, if each message has an even number of indices.

use super::{half_index, has_even_places, log2_p_index, log2_p_table, log2_sum, log2_tails, message_places};
use crate::dimension::PolynomialSize;
use crate::encoding::Encoding;
use crate::modulus_switch::ModulusSwitch;
use crate::parameters::ParameterSpec;

/// log2 of the probability that a phase of this variance ([`phase_index_variance`](super::phase_index_variance)) is
/// looked up as another message of `encoding`.
///
/// The figure is exact for a power of two of places up to N, and a bound otherwise.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let variance = noise::phase_index_variance(&parameters, KeyOrder::Big, 0.0);
/// let centred = ParameterSpec { modulus_switch: ModulusSwitch::Centred, ..parameters.spec().clone() };
/// let smaller = noise::phase_index_variance(&centred, KeyOrder::Big, 0.0);
/// // The centred switch adds less noise and centres the table's edges.
/// let [plain, centred] =
///     [(parameters.spec(), variance), (&centred, smaller)].map(|(s, v)| noise::log2_p_lookup(s, &encoding, v));
/// assert!(centred < plain);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn log2_p_lookup(spec: &ParameterSpec, encoding: &Encoding, variance: f64) -> f64 {
    match spec.modulus_switch {
        ModulusSwitch::Plain => log2_p_table(encoding, spec.polynomial_size, variance),
        ModulusSwitch::Centred => log2_p_centred(encoding.places() as f64, spec.polynomial_size, variance),
    }
}

/// log2 of the probability that a phase of this variance is looked up as another of 2^`message_bits` messages with a
/// padding bit.
pub(crate) fn log2_p_message(switch: ModulusSwitch, size: PolynomialSize, message_bits: u32, variance: f64) -> f64 {
    match switch {
        ModulusSwitch::Plain => log2_p_index(size, message_bits, variance),
        ModulusSwitch::Centred => log2_p_centred(message_places(message_bits), size, variance),
    }
}

/// If the 2N indices do not give each place an even number of them, one edge may lie up to an index nearer to the place.
fn log2_p_centred(places: f64, size: PolynomialSize, variance: f64) -> f64 {
    let far = 0.5 / places;
    let near = if has_even_places(size, places) { far } else { far - 2.0 * half_index(size) };
    if near <= 0.0 {
        // A place without a separate index is always missed.
        return 0.0;
    }
    log2_sum(log2_tails(near, variance), log2_tails(far, variance)) - 1.0
}

/// The distance by which the edge of a sign table may lie nearer to a place than the change of sign.
pub(crate) fn sign_edge(spec: &ParameterSpec) -> f64 {
    match spec.modulus_switch {
        ModulusSwitch::Plain => half_index(spec.polynomial_size),
        ModulusSwitch::Centred => 0.0,
    }
}

/// The largest variance with which `log2_p_of` is at most `log2_p` (below 0).
pub(super) fn largest_variance(log2_p: f64, log2_p_of: impl Fn(f64) -> f64) -> f64 {
    // The probability grows with the variance, so halving the interval of its logarithm finds the bound from below.
    let (mut low, mut high) = (-140.0f64, 0.0f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if log2_p_of(middle.exp2()) <= log2_p {
            low = middle;
        } else {
            high = middle;
        }
    }
    low.exp2()
}

/// The largest variance with which a look-up among 2^`message_bits` messages fails with probability 2^`log2_p` at most.
pub(crate) fn largest_lookup_variance(
    switch: ModulusSwitch,
    size: PolynomialSize,
    message_bits: u32,
    log2_p: f64,
) -> f64 {
    largest_variance(log2_p, |variance| log2_p_message(switch, size, message_bits, variance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{ParameterSet, SecurityPolicy, TEST_SMALL_U64};

    /// Worked out for 2N = 1024 indices.
    #[test]
    fn figures_of_lookups() {
        let size = PolynomialSize::new(512).expect("a power of two");
        let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
        let set = ParameterSet::named(TEST_SMALL_U64, policy).expect("a named set");
        let [plain, centred] = [ModulusSwitch::Plain, ModulusSwitch::Centred].map(|switch| ParameterSpec {
            polynomial_size: size,
            modulus_switch: switch,
            ..set.spec().clone()
        });
        let variance = (-12f64).exp2();
        let tail = |distance: f64| libm::erfc(distance / (2.0 * variance).sqrt());
        let near = |got: f64, p: f64| assert!((got - p.log2()).abs() < 1e-9, "{got}, {} expected", p.log2());
        let index = 1.0 / 1024.0;
        // Eight messages and a padding bit: both edges lie half a place away, or half an index beside.
        let half = 1.0 / 32.0;
        near(log2_p_message(ModulusSwitch::Centred, size, 3, variance), tail(half));
        let beside = 0.5 * (tail(half - index / 2.0) + tail(half + index / 2.0));
        near(log2_p_message(ModulusSwitch::Plain, size, 3, variance), beside);
        // Six places: some have an odd number of indices.
        let six = Encoding::new(0, 5, false).expect("six places");
        near(log2_p_lookup(&centred, &six, variance), 0.5 * (tail(1.0 / 12.0 - index) + tail(1.0 / 12.0)));
        near(log2_p_lookup(&plain, &six, variance), tail(1.0 / 12.0 - index / 2.0));
        // The figure by which a set is chosen is that by which its messages are judged.
        for places in [16, 512] {
            let encoding = Encoding::new(0, places / 2 - 1, true).expect("a power of two");
            for spec in [&plain, &centred] {
                let chosen = log2_p_message(spec.modulus_switch, size, places.trailing_zeros() - 1, variance);
                assert_eq!(log2_p_lookup(spec, &encoding, variance), chosen);
            }
        }
        assert_eq!((sign_edge(&plain), sign_edge(&centred)), (index / 2.0, 0.0));
        // More places than indices, and more than a u64 counts, are always missed.
        for bits in [11, 62, 63, 64, u32::MAX] {
            for switch in [ModulusSwitch::Plain, ModulusSwitch::Centred] {
                let p = log2_p_message(switch, size, bits, (-60f64).exp2());
                assert_eq!(p, 0.0, "{switch:?}, {bits} bits");
            }
        }
        let largest = largest_lookup_variance(ModulusSwitch::Centred, size, 3, -20.0);
        assert!((log2_p_message(ModulusSwitch::Centred, size, 3, largest) + 20.0).abs() < 1e-9);
    }
}
