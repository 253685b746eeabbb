//! Errors of the scheme. Each names the given value, the limit and the remedy.

use ciphermill_lattice::KeyTag;
use ciphermill_lattice::gadget::DecompositionError;
use ciphermill_lattice::rng::RngError;
use ciphermill_wire::WireError;

use crate::encoding::EncodingError;
use crate::engine::KeyPartError;
use crate::parameters::ParameterError;
use crate::range::RangeError;

/// Anything that can go wrong in this crate.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let other = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
/// let refused = other.decrypt(&encoding, &three);
/// assert!(matches!(refused, Err(TfheError::KeySet { given, .. }) if given == client.tag()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
pub enum TfheError {
    /// A parameter set is not admissible.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// A message does not fit its encoding.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    /// A stored or sent object is malformed.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Randomness could not be had.
    #[error(transparent)]
    Randomness(#[from] RngError),
    /// Reading or writing an object failed.
    #[error("input/output failed: {0}")]
    Io(#[source] std::io::Error),
    /// Two operands, or an operand and a key, do not belong together.
    #[error("{what} is {given} where {expected} is needed; use objects of one key set")]
    Mismatch {
        /// The quantity that differs.
        what: &'static str,
        /// Its value.
        given: u64,
        /// The value that would fit.
        expected: u64,
    },
    /// An object is of another key set.
    #[error("{what} is {given} where {expected} is needed; use objects of one key set")]
    KeySet {
        /// The tag that differs, and its object.
        what: &'static str,
        /// The key set of the object.
        given: KeyTag,
        /// The key set that would fit.
        expected: KeyTag,
    },
    /// A value from the caller is outside its range.
    #[error("{what} is {given}; use {min} to {max}")]
    Value {
        /// The quantity.
        what: &'static str,
        /// Its value.
        given: u64,
        /// Smallest admissible value.
        min: u64,
        /// Largest admissible value.
        max: u64,
    },
    /// A field of a stored object is outside its range.
    #[error("{what} is {given}, outside of {min} to {max}; the object is damaged or of another version")]
    Field {
        /// The field.
        what: &'static str,
        /// Its value.
        given: u64,
        /// Smallest admissible value.
        min: u64,
        /// Largest admissible value.
        max: u64,
    },
    /// A test vector is not the table of a function between the encodings that it states.
    #[error("the test vector is not that of a function between its stated encodings; make it again from the function")]
    NoTable,
    /// A stated variance is negative or not a number.
    #[error("the variance {given} is not a bound on noise; use a number from 0, or infinity")]
    Variance {
        /// The number.
        given: f64,
    },
    /// An operation has no admissible range of messages.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A ciphertext is read with another encoding than its own.
    #[error("the ciphertext has {given} places, the encoding {expected}; use the encoding of its messages")]
    OtherEncoding {
        /// Places that the ciphertext states.
        given: u64,
        /// Places of the encoding.
        expected: u64,
    },
    /// The machine has no room for an object.
    #[error("{what} needs {needed} bytes of memory, which this machine does not give; use a smaller parameter set")]
    Memory {
        /// The object.
        what: &'static str,
        /// Bytes that it needs.
        needed: u64,
    },
    /// Noise leaves no range of operands for products.
    #[error(
        "products of 0 and 1 alone would fail with a probability of 2^{log2_p_fail:.1}, at most 2^{wanted} is allowed; use \
         another parameter set or key choice"
    )]
    NoRange {
        /// log2 of the failure probability for the smallest range.
        log2_p_fail: f64,
        /// The greatest that was allowed.
        wanted: f64,
    },
    /// Loaded keys would take more memory than the caller allows.
    #[error(
        "the keys would take {needed} bytes of memory, at most {limit} are allowed; use a smaller parameter set or allow more"
    )]
    KeyTooLarge {
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// A parameter set without words.
    #[error("the parameter set {name} has no words; use one of the WORD sets")]
    NoWords {
        /// Its name.
        name: String,
    },
    /// A table reads a selector that does not exist.
    #[error("the table reads the digit at position {position}, which has no selectors; select it before")]
    NoSelector {
        /// The position.
        position: u8,
    },
    /// Selectors of another engine or of another form.
    #[error("the selectors are not of this engine; select the digits with the engine that looks them up")]
    ForeignSelectors,
    /// A table is not admissible.
    #[error(transparent)]
    Table(#[from] crate::word::TableError),
    /// The parts of a server key do not match the engine's needs.
    #[error(transparent)]
    KeyPart(#[from] KeyPartError),
    /// An engine does not implement a job.
    #[error("the engine {engine} does not run {job} jobs; use another engine")]
    UnsupportedJob {
        /// The engine's name.
        engine: String,
        /// The job's name.
        job: &'static str,
    },
    /// A program has a step that cannot be done.
    #[error("step {step} of the program: {what}; use a program that the verifier accepts")]
    Program {
        /// The step, from 0.
        step: usize,
        /// Why.
        what: String,
    },
    /// An engine failed.
    #[error("the engine failed: {what}")]
    Engine {
        /// Its report.
        what: String,
    },
    /// A transform does not exist for this size or CPU.
    #[error("no transform: {0}")]
    Transform(String),
}

impl From<DecompositionError> for TfheError {
    fn from(error: DecompositionError) -> Self {
        Self::transform(error)
    }
}

impl From<std::io::Error> for TfheError {
    /// Takes back a [`WireError`] that travelled through [`std::io::Read`] inside an I/O error: a truncated key is malformed,
    /// its medium is not at fault.
    fn from(error: std::io::Error) -> Self {
        match WireError::from(error) {
            WireError::Io(source) => Self::Io(source),
            malformed => Self::Wire(malformed),
        }
    }
}

impl TfheError {
    /// Hands on why a transform or a decomposition does not exist; for [`Result::map_err`].
    pub(crate) fn transform(error: impl std::fmt::Display) -> Self {
        Self::Transform(error.to_string())
    }
}

/// Checks that two quantities are equal.
pub(crate) fn require_equal(what: &'static str, given: usize, expected: usize) -> Result<(), TfheError> {
    if given == expected {
        Ok(())
    } else {
        Err(TfheError::Mismatch { what, given: given as u64, expected: expected as u64 })
    }
}

/// Checks that an object is of a key set.
pub(crate) fn require_key_set(what: &'static str, given: KeyTag, expected: KeyTag) -> Result<(), TfheError> {
    if given == expected { Ok(()) } else { Err(TfheError::KeySet { what, given, expected }) }
}

/// Checks that a value from the caller lies in a range.
pub(crate) fn require_value(what: &'static str, given: u64, min: u64, max: u64) -> Result<(), TfheError> {
    if (min..=max).contains(&given) { Ok(()) } else { Err(TfheError::Value { what, given, min, max }) }
}

/// Checks that a field read from outside lies in a range.
pub(crate) fn require_range(what: &'static str, given: u64, min: u64, max: u64) -> Result<(), TfheError> {
    if (min..=max).contains(&given) { Ok(()) } else { Err(TfheError::Field { what, given, min, max }) }
}
