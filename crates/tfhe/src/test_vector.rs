//! Test vectors: the look-up tables of programmable bootstrapping.
//!
//! Blind rotation of a test vector v by a phase index j (the phase times 2N, rounded) leaves v_j in the constant
//! coefficient for 0 ≤ j < N and −v_{j−N} for N ≤ j < 2N. A function on half of the torus is therefore free; on the
//! whole torus it must be negacyclic.

use ciphermill_lattice::Torus;

use crate::dimension::{GlweDimension, PolynomialSize};
use crate::encoding::{Encoding, EncodingError};
use crate::error::TfheError;
use crate::glwe::GlweCiphertext;

/// The test vector, as a noiseless GLWE ciphertext, of the function `f` from messages of `input` to messages of `output`.
///
/// Each message of `input` owns the phases nearest to its place.
///
/// # Errors
/// If a value of `f` is outside `output`; if `input` has no padding bit and `f` is not negacyclic (its number of
/// messages must then be even); if `input` has more places than the 2N phase indices.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let (k, size) = (GlweDimension(1), parameters.polynomial_size);
/// let table = test_vector::test_vector::<u64>(k, size, &encoding, &encoding, |m| 7 - m)?;
/// // The coefficient at a message's phase is the encoded value.
/// assert_eq!(table.body()[0], encoding.encode(7)?);
/// assert_eq!(table.body()[2 * size.get() * 3 / 16], encoding.encode(4)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn test_vector<T: Torus>(
    dimension: GlweDimension,
    polynomial_size: PolynomialSize,
    input: &Encoding,
    output: &Encoding,
    f: impl Fn(i64) -> i64,
) -> Result<GlweCiphertext<T>, TfheError> {
    let n = polynomial_size.get();
    if input.places() > 2 * n as u64 {
        return Err(TfheError::Field {
            what: "number of places of the input encoding",
            given: input.places(),
            min: 1,
            max: 2 * n as u64,
        });
    }
    let table: Vec<T> =
        (input.min()..=input.max()).map(|m| output.encode::<T>(f(m))).collect::<Result<_, EncodingError>>()?;
    if !input.padding() {
        check_negacyclic(input, &table)?;
    }
    let levels = table.len() as i64;
    let mut coefficients = Vec::with_capacity(n);
    for j in 0..n {
        let phase = (j as u64) << (63 - n.trailing_zeros());
        let index = input.nearest(phase) - input.min();
        // Beyond the messages lies the half of the torus that reads the vector negated, half a turn away.
        coefficients.push(if index < levels {
            table[index as usize]
        } else {
            T::ZERO.wrapping_sub(table[(index - levels) as usize])
        });
    }
    GlweCiphertext::trivial(&coefficients, dimension, polynomial_size)
}

fn check_negacyclic<T: Torus>(input: &Encoding, table: &[T]) -> Result<(), EncodingError> {
    let half = table.len() / 2;
    let fails_at = |i: usize| table.len() % 2 == 1 || table[(i + half) % table.len()] != T::ZERO.wrapping_sub(table[i]);
    match (0..table.len()).find(|&i| fails_at(i)) {
        Some(i) => Err(EncodingError::NotNegacyclic { message: input.min() + i as i64 }),
        None => Ok(()),
    }
}

/// The test vector of gate bootstrapping: +`amplitude` for phases in \[0, 1/2), −`amplitude` elsewhere.
///
/// # Errors
/// Never for a valid `polynomial_size`.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let table = test_vector::sign_test_vector(GlweDimension(1), parameters.polynomial_size, 1u64 << 61)?;
/// assert!(table.body().iter().all(|&amplitude| amplitude == 1 << 61));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sign_test_vector<T: Torus>(
    dimension: GlweDimension,
    polynomial_size: PolynomialSize,
    amplitude: T,
) -> Result<GlweCiphertext<T>, TfheError> {
    GlweCiphertext::trivial(&vec![amplitude; polynomial_size.get()], dimension, polynomial_size)
}
