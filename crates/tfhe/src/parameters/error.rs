//! Errors of parameter sets.

use ciphermill_lattice::sampler::NoiseError;

/// Why a parameter set is not admissible.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let spec = ParameterSpec { lwe_dimension: LweDimension(8), ..parameters.spec().clone() };
/// let error = ParameterSet::new(spec, policy).unwrap_err();
/// assert!(matches!(error, ParameterError::Range { given, min, .. } if given < min));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// No set has this name.
    #[error("no parameter set is called {name:?}; use one of {known}")]
    UnknownName {
        /// The given name.
        name: String,
        /// The names of all sets, separated by commas.
        known: String,
    },
    /// The name is empty, too long or not printable.
    #[error("a set's name has 1 to 64 printable ASCII characters without spaces, given were {0} bytes")]
    Name(usize),
    /// A number is outside its range.
    #[error("{what} is {given}; use {min} to {max}")]
    Range {
        /// The parameter.
        what: &'static str,
        /// Its value.
        given: f64,
        /// Smallest admissible value.
        min: f64,
        /// Largest admissible value.
        max: f64,
    },
    /// A noise distribution is not one.
    #[error("noise of the {key} key: {source}")]
    Noise {
        /// Which key.
        key: &'static str,
        /// The violated condition.
        source: NoiseError,
    },
    /// Fewer than 128 bits without the opt-in.
    #[error(
        "parameter set {name} has an estimated security of {bits:.1} bits, below the required 128; choose another set, \
         or opt in to insecure parameters explicitly"
    )]
    Insecure {
        /// The set.
        name: String,
        /// Its estimated security.
        bits: f64,
    },
}
