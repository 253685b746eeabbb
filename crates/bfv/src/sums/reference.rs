//! The plain definition of packing: coefficients as integers of any length.
//!
//! A contribution is an encryption of 0 under the public key plus 2^d times these coefficients; the totals of a sum are those
//! of ⌊phase/2^d⌉.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::plan::SumPlan;

/// The coefficients of all ciphertexts, one after another: field k of a coefficient counts 2^(k·w).
///
/// # Example
/// ```
/// use ciphermill_bfv::sums::{Segment, SumPlan, SumRequest, reference};
/// use ciphermill_math::Isa;
///
/// let request = SumRequest::new(vec![Segment { len: 3, bound: 100 }], 2);
/// let plan = SumPlan::new(&request, Isa::current())?;
/// let coefficients = reference::pack(&plan, &[vec![1, -2, 3]]);
/// assert_eq!(coefficients.len(), plan.ciphertexts() * plan.context().n());
/// assert_eq!(reference::unpack(&plan, &coefficients), [[1, -2, 3]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pack(plan: &SumPlan, values: &[Vec<i128>]) -> Vec<BigInt> {
    let mut coefficients = vec![BigInt::ZERO; plan.ciphertexts() * plan.context().n()];
    let mut first = 0;
    for (values, (width, count)) in values.iter().zip(blocks(plan)) {
        for (j, &value) in values.iter().enumerate() {
            coefficients[first + j % count] += BigInt::from(value) << (width * (j / count));
        }
        first += count;
    }
    coefficients
}

/// The values of [`pack`], each of less than 2^(w−1) in magnitude.
pub fn unpack(plan: &SumPlan, coefficients: &[BigInt]) -> Vec<Vec<i128>> {
    let mut first = 0;
    let segments = plan.request().segments.iter().zip(blocks(plan));
    let unpacked = segments.map(|(segment, (width, count))| {
        let mut values = vec![0; segment.len];
        for (at, coefficient) in coefficients[first..first + count].iter().enumerate() {
            let mut rest = coefficient.clone();
            for value in values.iter_mut().skip(at).step_by(count) {
                // The residue modulo 2^w of least magnitude.
                let (modulus, half) = (BigInt::from(1) << width, BigInt::from(1) << (width - 1));
                let digit = ((&rest + &half) % &modulus + &modulus) % &modulus - half;
                rest = (rest - &digit) >> width;
                *value = digit.to_i128().expect("a field has at most 128 bits");
            }
        }
        first += count;
        values
    });
    unpacked.collect()
}

/// Of each segment the bits w of a field, and the number of coefficients.
fn blocks(plan: &SumPlan) -> Vec<(usize, usize)> {
    let q_bits = plan.context().basis(plan.context().top()).product().bits() as usize - 1;
    let capacity = q_bits - plan.shift() as usize;
    let request = plan.request();
    let block = |segment: &super::Segment| {
        // The least w with parties · bound < 2^(w−1).
        let greatest = u128::from(request.parties) * segment.bound;
        let width = (1..=128).find(|&w| greatest < 1 << (w - 1)).expect("a total has at most 128 bits");
        (width, segment.len.div_ceil(capacity / width))
    };
    request.segments.iter().map(block).collect()
}
