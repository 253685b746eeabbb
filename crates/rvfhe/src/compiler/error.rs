//! Why there is no program.

use thiserror::Error;

use crate::isa::RangeError;

/// Why there is no program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CompileError {
    /// A size that is none, or none of this machine.
    #[error("a polynomial of {given} values does not fit: a power of two from {min} to {max} is wanted")]
    PolynomialSize {
        /// N.
        given: usize,
        /// The smallest.
        min: usize,
        /// The largest.
        max: usize,
    },
    /// A prime that is too large for a lane.
    #[error("modulus {modulus} does not fit a lane of 32 bits: it must be below 2^31")]
    Modulus {
        /// m.
        modulus: u64,
    },
    /// No root of unity.
    #[error("modulus {modulus} has no root of unity for N = {polynomial_size}")]
    NoRoot {
        /// m.
        modulus: u64,
        /// N.
        polynomial_size: usize,
    },
    /// A count of polynomials in flight that is none.
    #[error("{given} transforms in flight: at least 1 is wanted, at most {max}")]
    InFlight {
        /// How many.
        given: usize,
        /// The most that a run's scratchpad addresses reach.
        max: usize,
    },
    /// A target with an impossible number.
    #[error("the target's {what} is {given}: {wanted} is wanted")]
    Target {
        /// Which number.
        what: &'static str,
        /// What it is.
        given: u32,
        /// What it should be.
        wanted: &'static str,
    },
    /// An operand or a key of another size.
    #[error("an operand of {given} values; the polynomials have {wanted}")]
    OperandSize {
        /// Its length.
        given: usize,
        /// N.
        wanted: usize,
    },
    /// An operand's value that is none modulo m.
    #[error("an operand has {given} at {index}; it must be below the modulus {modulus}")]
    OperandValue {
        /// Where.
        index: usize,
        /// What.
        given: u32,
        /// m.
        modulus: u64,
    },
    /// A count of digits that is none.
    #[error("{given} digits: 1 to {max} are wanted")]
    Digits {
        /// How many.
        given: usize,
        /// The most.
        max: usize,
    },
    /// A product of polynomials in the complex ring.
    #[error("products are made in rings modulo a prime, not in the complex one")]
    ComplexProduct,
    /// The instructions were not brought into an order.
    #[error(
        "no order was found in which the program can run on this target; this is a mistake of the compiler's, please report it"
    )]
    NoOrder,
    /// Rows of the data memory.
    #[error("the program needs {needed} rows of data memory and reaches {have}: fewer transforms in flight need less")]
    DataRows {
        /// How many.
        needed: u32,
        /// How many there are, up to the 2432 that a program's addresses reach.
        have: u32,
    },
    /// Rows of the twiddle memory.
    #[error("the program needs {needed} rows of twiddle memory and reaches {have}")]
    TwiddleRows {
        /// How many.
        needed: u32,
        /// How many there are, up to the 2048 that a program's addresses reach.
        have: u32,
    },
    /// Words of the instruction memory.
    #[error("the program has {needed} instructions, a core holds {have}: fewer transforms in flight need less")]
    Instructions {
        /// How many.
        needed: u32,
        /// How many there are.
        have: u32,
    },
    /// A number that no instruction can carry.
    #[error(transparent)]
    Range(#[from] RangeError),
}
