//! Errors of keys, plaintexts, scalars and ciphertexts.

use ciphermill_bigint::{BigIntError, EngineError, TrustError};
use ciphermill_wire::WireError;

use crate::parameters::{KeyBits, KeyTag};
use crate::random::RandomError;

/// Why an operation was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PaillierError {
    /// The key would be too small to protect anything, or too large for the arithmetic.
    #[error(
        "a key of {bits} bits is refused; {min} to {max} are allowed. Smaller ones, from {insecure} bits up, need an opt-in, for \
         measurements (`--insecure-params`, in the library `insecure_bench`): a 512-bit modulus is factored for a few dollars",
        min = KeyBits::MIN, max = KeyBits::MAX, insecure = KeyBits::MIN_INSECURE
    )]
    KeyBits {
        /// Bits of n.
        bits: u32,
    },
    /// The key's size is not a multiple of the step.
    #[error(
        "a key of {bits} bits is refused; sizes are multiples of {step} from {min} to {max}",
        step = KeyBits::STEP, min = KeyBits::MIN, max = KeyBits::MAX
    )]
    KeyBitsStep {
        /// Bits of n.
        bits: u32,
    },
    /// A modulus from outside cannot be one of Paillier's.
    #[error("the modulus n is refused: {reason}")]
    Modulus {
        /// The reason.
        reason: &'static str,
    },
    /// The DJN base of a key from outside cannot be one.
    #[error(
        "the blinding base h_s is refused: it must lie in 1 < h_s < n², share no factor with n, have a square other than 1 \
         modulo n, and be an n-th power"
    )]
    BlindingBase,
    /// Primes from outside do not make a key.
    #[error("the primes are refused: {reason}")]
    Primes {
        /// The reason.
        reason: &'static str,
    },
    /// The key has no DJN base: it was imported from n alone.
    #[error("this key has no base for DJN blinding (it was imported from n alone); use `Blinding::Strict`")]
    NoBlindingBase,
    /// A plaintext is out of range.
    #[error(
        "plaintext {index} lies outside -(n-1)/2 ..= (n-1)/2, where n has {bits} bits; use smaller numbers or a longer key"
    )]
    PlaintextRange {
        /// Which plaintext.
        index: usize,
        /// Bits of n.
        bits: u32,
    },
    /// A plaintext does not fit the type that was asked for.
    #[error("plaintext {index} does not fit {bits} bits with sign; ask for `BigInt`")]
    PlaintextWidth {
        /// Which plaintext.
        index: usize,
        /// Bits of the type.
        bits: u32,
    },
    /// A scalar has more bits than declared.
    #[error("scalar {index} has a magnitude of more than {bits} bits; declare wider scalars")]
    ScalarRange {
        /// Which scalar.
        index: usize,
        /// Declared bits of a magnitude.
        bits: u32,
    },
    /// The declared width of scalars cannot be worked with.
    #[error("scalars of {bits} bits were declared; 1 to {max} are allowed, the bits of n", max = KeyBits::MAX)]
    ScalarBits {
        /// Declared bits of a magnitude.
        bits: u32,
    },
    /// A ciphertext is out of range.
    #[error("ciphertext {index} lies outside 0 < c < n², where n has {bits} bits")]
    CiphertextRange {
        /// Which ciphertext.
        index: usize,
        /// Bits of n.
        bits: u32,
    },
    /// A ciphertext is not a unit modulo n².
    #[error("ciphertext {index} shares a factor with n: no encryption gives it")]
    CiphertextNotUnit {
        /// Which ciphertext.
        index: usize,
    },
    /// Operands belong to different keys.
    #[error("an object of key {given} was given where one of key {expected} is needed")]
    WrongKey {
        /// The object's key.
        given: KeyTag,
        /// The key that is needed.
        expected: KeyTag,
    },
    /// Two vectors that go together have different lengths.
    #[error("a vector of {left} elements cannot be paired with one of {right}")]
    Length {
        /// Elements on the left.
        left: usize,
        /// Elements on the right.
        right: usize,
    },
    /// A range of elements leaves the vector.
    #[error("elements {start}..{end} were asked for, of a vector of {len}")]
    OutOfBounds {
        /// First element.
        start: usize,
        /// The element after the last one.
        end: usize,
        /// Elements that there are.
        len: usize,
    },
    /// An empty vector where an element is needed.
    #[error("the vector is empty; at least one element is needed")]
    Empty,
    /// The pool holds too few factors.
    #[error("{wanted} blinding factors were asked for, the pool holds {available}; fill it first")]
    PoolExhausted {
        /// Factors asked for.
        wanted: usize,
        /// Factors left.
        available: usize,
    },
    /// The arithmetic went wrong: nothing of the result was let out.
    #[error(
        "the decryption failed its own check: this machine computes wrongly (a result that is wrong modulo one of the \
         primes would let n be factored, so nothing is returned); try again, and test the hardware if it happens again"
    )]
    Fault,
    /// A stored object is malformed.
    #[error("field {field} is malformed: {reason}")]
    Malformed {
        /// Which field.
        field: &'static str,
        /// The reason.
        reason: &'static str,
    },
    /// A stored object is larger than the reader allows.
    #[error("{given} elements are declared, {limit} at most are read at once")]
    TooMany {
        /// Elements that the object declares.
        given: u64,
        /// The most that are read.
        limit: u64,
    },
    /// No randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The arithmetic refused its operands.
    #[error(transparent)]
    BigInt(#[from] BigIntError),
    /// The engine cannot do the work, or failed at it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine may not receive the secrets of the operation.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The envelope is damaged, or of another kind.
    #[error(transparent)]
    Wire(#[from] WireError),
}
