//! The planner.

use ciphermill_lattice::PolynomialSize;
use ciphermill_math::modulus::ntt_primes;

use super::digits::DIGIT;
use super::layout::Layout;
use super::request::SumRequest;
use super::terms::{Terms, log2_failure};
use crate::error::BfvError;
use crate::gadget::Gadget;
use crate::parameters::{
    MAX_POLYNOMIAL_SIZE, MIN_SECURE_POLYNOMIAL_SIZE, ParameterSet, ParameterSpec, SecurityPolicy, largest_modulus_bits,
};

/// The length in bits up to which primes are the fastest.
const LIMB_BITS: u32 = 50;

/// Shorter primes may be too few.
const MIN_LIMB_BITS: u32 = 24;

/// The plaintext modulus of chosen sets; sums do not use it.
const UNUSED_PLAINTEXT_MODULUS: u64 = 2;

/// Estimated nanoseconds of a contribution for each coefficient: randomness, …
const SAMPLES_NS: f64 = 40.0;
/// … for each limb, the three transforms, arithmetic and bytes, …
const LIMB_NS: f64 = 6.0;
/// … and for each limb and digit of the message, its residues.
const DIGIT_NS: f64 = 1.5;

/// The least d whose failure probability is admissible, for at most `coefficients` coefficients.
fn least_shift(request: &SumRequest, n: usize, coefficients: usize) -> u32 {
    // A Gaussian value exceeds 2^8 standard deviations with a probability below 2^-40000, and the deviation is below 2^34.
    (1..64).find(|&shift| log2_failure(n, request.parties, shift, coefficients) <= request.log2_failure).unwrap_or(64)
}

/// The terms for the caller's parameters.
pub(super) fn given(request: &SumRequest, parameters: &ParameterSet) -> Result<Terms, BfvError> {
    let n = parameters.polynomial_size.get();
    // Fewer coefficients are as good or better.
    let most = request.segments.iter().map(|segment| segment.len).sum::<usize>().next_multiple_of(n);
    Terms::judged(request, parameters.clone(), least_shift(request, n, most))
}

/// A set of the largest primes 1 modulo 2N whose lengths add up to `bits`; `None` if there are too few.
fn set(n: usize, bits: u32) -> Option<ParameterSet> {
    let limbs = bits.div_ceil(LIMB_BITS);
    let (short, longer) = (bits / limbs, bits % limbs);
    if short < MIN_LIMB_BITS {
        return None;
    }
    let primes = |bits, count| ntt_primes(bits, n).take(count as usize).map(|p| p.value());
    let spec = ParameterSpec {
        name: format!("SUMS_{n}_{bits}"),
        polynomial_size: PolynomialSize::new(n).ok()?,
        ciphertext_moduli: primes(short, limbs - longer).chain(primes(short + 1, longer)).collect(),
        special_moduli: Vec::new(),
        plaintext_modulus: UNUSED_PLAINTEXT_MODULUS,
        gadget: Gadget::Limbs { limbs_per_digit: 1 },
    };
    let set = ParameterSet::new(spec, SecurityPolicy::Require128Bits).ok()?;
    (set.ciphertext_moduli.len() == limbs as usize).then_some(set)
}

/// Estimated nanoseconds of a contribution.
fn cost(n: usize, bits: u32, ciphertexts: usize) -> f64 {
    let limb = LIMB_NS + DIGIT_NS * f64::from(bits.div_ceil(DIGIT));
    (ciphertexts * n) as f64 * (SAMPLES_NS + f64::from(bits.div_ceil(LIMB_BITS)) * limb)
}

/// Of all N and lengths of the modulus the terms that cost least.
pub(super) fn chosen(request: &SumRequest) -> Result<Terms, BfvError> {
    let values: usize = request.segments.iter().map(|segment| segment.len).sum();
    let mut candidates = Vec::new();
    for log2 in MIN_SECURE_POLYNOMIAL_SIZE.ilog2()..=MAX_POLYNOMIAL_SIZE.ilog2() {
        let n = 1 << log2;
        let Some(most) = largest_modulus_bits(n, request.security) else { continue };
        let shift = least_shift(request, n, values.next_multiple_of(n));
        // The largest primes of b bits in all have a product of more than 2^(b−1).
        let ciphertexts = |bits: u32| Layout::new(request, (bits - 1).checked_sub(shift)?).map(|l| l.ciphertexts(n));
        let mut fewest = None;
        for bits in MIN_LIMB_BITS..=most as u32 {
            let Some(count) = ciphertexts(bits) else { continue };
            // A longer modulus has to save ciphertexts.
            if fewest.is_none_or(|fewest| count < fewest) {
                fewest = Some(count);
                candidates.push((cost(n, bits, count), n, bits, shift));
            }
        }
    }
    candidates.sort_by(|x, y| x.0.total_cmp(&y.0));
    let terms =
        candidates.into_iter().find_map(|(_, n, bits, shift)| Terms::judged(request, set(n, bits)?, shift).ok());
    terms.ok_or_else(|| BfvError::Unsupported {
        what: format!(
            "sums at {} bits of security up to N = {MAX_POLYNOMIAL_SIZE} for these bounds; use smaller bounds, fewer parties \
             or less security",
            request.security.bits()
        ),
    })
}
