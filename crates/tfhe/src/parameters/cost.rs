//! What a bootstrap costs, for choosing between parameter sets.
//!
//! An analytic figure: three kinds of work, each with a constant of nanoseconds per unit on one core with AVX-512. It ranks
//! sets; it is not a measurement. The constants come from what the paper's dimensions cost: a transform of N = 16384 about 7 µs,
//! a key of 2.1 GB streamed in about 49 ms, a key switch of 92 million multiply-adds in about 10 ms.

use crate::parameters::ParameterSpec;

/// Nanoseconds per point and level of a transform (N·log2 N per transform), with what is done while it loads and stores.
pub const TRANSFORM_NS: f64 = 0.04;

/// Nanoseconds per key coefficient read, multiplied and added.
pub const MULTIPLY_ADD_NS: f64 = 0.19;

/// Nanoseconds per element of the key-switching key.
pub const KEYSWITCH_NS: f64 = 0.11;

/// Estimated nanoseconds of one CMux: (k+1)(l+1) transforms and (k+1)²·l·N multiply-adds.
pub fn cmux_cost(spec: &ParameterSpec) -> f64 {
    let (glwe_size, size) = (spec.glwe_dimension.glwe_size() as f64, spec.polynomial_size.get() as f64);
    let levels = spec.pbs.level_count.0 as f64;
    glwe_size * (levels + 1.0) * size * size.log2() * TRANSFORM_NS
        + glwe_size * glwe_size * levels * size * MULTIPLY_ADD_NS
}

/// Estimated nanoseconds of one key switch: kN·t·(n+1) multiply-adds.
pub fn keyswitch_cost(spec: &ParameterSpec) -> f64 {
    let elements = spec.big_lwe_dimension().0 * spec.ks.level_count.0 * spec.lwe_dimension.lwe_size();
    elements as f64 * KEYSWITCH_NS
}

/// Estimated nanoseconds of one bootstrap: n CMuxes and a key switch.
pub fn bootstrap_cost(spec: &ParameterSpec) -> f64 {
    spec.lwe_dimension.0 as f64 * cmux_cost(spec) + keyswitch_cost(spec)
}
