//! Errors of the scheme. Each names the given value, the limit and a remedy.

use std::fmt;

use ciphermill_lattice::KeyTag;
use ciphermill_lattice::rng::RngError;
use ciphermill_lattice::rns::{RnsBasisError, UnpackError};
use ciphermill_wire::WireError;

use crate::parameters::ParameterError;

/// Anything that can go wrong in this crate.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let x = secret.encrypt(&context.encode(&[1])?, 1, &mut rng)?;
/// let y = secret.encrypt(&context.encode(&[1])?, 2, &mut rng)?;
/// let error = context.add(&x, &y).unwrap_err();
/// assert_eq!(error.to_string(), "number of limbs of the right operand is 2; use 1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BfvError {
    /// A parameter set is not admissible.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// A stored or sent object is malformed.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Randomness could not be had.
    #[error(transparent)]
    Randomness(#[from] RngError),
    /// Primes that make no basis.
    #[error(transparent)]
    Basis(#[from] RnsBasisError),
    /// A provider of transforms is on another machine.
    #[error(
        "engine {engine} is on another machine, and a context transforms secret keys; use an engine of this machine"
    )]
    RemoteEngine {
        /// The engine's name.
        engine: String,
    },
    /// Bytes that do not encode a polynomial of the basis.
    #[error(transparent)]
    Residues(#[from] UnpackError),
    /// Reading or writing an object failed.
    #[error("input/output failed: {0}")]
    Io(#[source] std::io::Error),
    /// An object is of another key set.
    #[error("{what} is of key set {given}, key set {expected} is needed; use objects of one key set")]
    WrongKey {
        /// The object.
        what: &'static str,
        /// Its key set.
        given: KeyTag,
        /// The required one.
        expected: KeyTag,
    },
    /// An object is of another parameter set.
    #[error("{what} is of parameter set {given:016x}, {expected:016x} is needed; use objects of one parameter set")]
    WrongParameters {
        /// The object.
        what: &'static str,
        /// Its set's id.
        given: u64,
        /// The id of the set that is needed.
        expected: u64,
    },
    /// An object is of another plan.
    #[error("{what} is of another plan; use objects whose plans come from equal requests, or from one sealed plan")]
    WrongPlan {
        /// The object.
        what: &'static str,
    },
    /// A count or length differs from the required one.
    #[error("{what} is {given}; use {expected}")]
    Length {
        /// The counted quantity.
        what: &'static str,
        /// The given value.
        given: usize,
        /// The admissible values.
        expected: usize,
    },
    /// A number is out of its range.
    #[error("{what} is {given}; use {}", range(*min, *max))]
    Range {
        /// The number.
        what: &'static str,
        /// Its value.
        given: i128,
        /// Smallest admissible value.
        min: i128,
        /// Largest admissible value.
        max: i128,
    },
    /// A key switch needs keys that are missing.
    #[error("Galois keys are missing for the elements {}; generate them for every element that the plan lists", list(.elements))]
    MissingGaloisKeys {
        /// The exponents g of X ↦ X^g.
        elements: Vec<usize>,
    },
    /// The operation does not exist for these parameters.
    #[error("{what}")]
    Unsupported {
        /// The requested operation, and one that would do.
        what: String,
    },
    /// The machine has no room for an object.
    #[error("{what} needs {needed} bytes of memory, at most {limit} are allowed; use smaller tiles or allow more")]
    Memory {
        /// The object.
        what: &'static str,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that are allowed.
        limit: u64,
    },
}

impl From<std::io::Error> for BfvError {
    /// Takes back a [`WireError`] that travelled through [`std::io::Read`] inside an I/O error: a truncated key is malformed,
    /// its medium is not at fault.
    fn from(error: std::io::Error) -> Self {
        match WireError::from(error) {
            WireError::Io(source) => Self::Io(source),
            malformed => Self::Wire(malformed),
        }
    }
}

/// The admissible numbers from `min` to `max`.
pub(crate) fn range<T: PartialEq + fmt::Display>(min: T, max: T) -> String {
    if min == max { min.to_string() } else { format!("{min} to {max}") }
}

/// The first elements of a list that an outsider may have made long.
fn list(elements: &[usize]) -> String {
    const SHOWN: usize = 32;
    let shown: Vec<String> = elements.iter().take(SHOWN).map(usize::to_string).collect();
    let more = elements.len().saturating_sub(SHOWN);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// An error unless `given` is `expected`.
pub fn require_length(what: &'static str, given: usize, expected: usize) -> Result<(), BfvError> {
    if given == expected { Ok(()) } else { Err(BfvError::Length { what, given, expected }) }
}

/// An error unless `given` is in `[min, max]`.
pub fn require_range(
    what: &'static str,
    given: impl Into<i128>,
    min: impl Into<i128>,
    max: impl Into<i128>,
) -> Result<(), BfvError> {
    let (given, min, max) = (given.into(), min.into(), max.into());
    if (min..=max).contains(&given) { Ok(()) } else { Err(BfvError::Range { what, given, min, max }) }
}
