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
        /// The smallest that there is a program for.
        min: usize,
        /// The largest that there is a program for; if N is below the smallest, or there is a program for none, the largest that the
        /// lanes and the addresses of the scratchpad allow.
        max: usize,
    },
    /// A prime that is too large for a lane.
    #[error("modulus {modulus} does not fit a lane of 32 bits: it must be below 2^31")]
    Modulus {
        /// m.
        modulus: u64,
    },
    /// No root of unity.
    #[error(
        "modulus {modulus} has no root of unity for N = {polynomial_size}: it must be 1 modulo 2N, in the cyclic ring modulo N"
    )]
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
    /// Vectors of the scratchpad.
    #[error("inputs and outputs take {needed} vectors of the scratchpad, of which {have} are reached{}", advice(*largest))]
    Scratchpad {
        /// How many, for the smallest N that cores and lanes allow.
        needed: u32,
        /// How many there are, up to the 4096 that a program's addresses reach.
        have: u32,
        /// The largest N for which there is a program with as many in flight, if there is one.
        largest: Option<usize>,
    },
    /// Rows of the data memory.
    #[error("the program needs {needed} rows of data memory and reaches {have}{}", advice(*largest))]
    DataRows {
        /// How many.
        needed: u32,
        /// How many there are, up to the 2432 that a program's addresses reach.
        have: u32,
        /// The largest N for which there is a program with as many in flight, if there is one.
        largest: Option<usize>,
    },
    /// Rows of the twiddle memory.
    #[error("the program needs {needed} rows of twiddle memory and reaches {have}{}", advice(*largest))]
    TwiddleRows {
        /// How many.
        needed: u32,
        /// How many there are, up to the 2048 that a program's addresses reach.
        have: u32,
        /// The largest N for which there is a program with as many in flight, if there is one.
        largest: Option<usize>,
    },
    /// Words of the instruction memory.
    #[error("the program has {needed} instructions, a core holds {have}{}", advice(*largest))]
    Instructions {
        /// How many.
        needed: u32,
        /// How many there are.
        have: u32,
        /// The largest N for which there is a program with as many in flight, if there is one.
        largest: Option<usize>,
    },
    /// A number that no instruction can carry.
    #[error(transparent)]
    Range(#[from] RangeError),
}

/// What would fit.
fn advice(largest: Option<usize>) -> String {
    match largest {
        Some(size) => format!("; with as many in flight the largest N that fits is {size}"),
        None => "; with as many in flight no N fits".to_owned(),
    }
}

impl CompileError {
    /// The same; if it is about sizes, with those that fit. `fitting` gives them from the smallest on.
    pub(crate) fn with_sizes(mut self, mut fitting: impl Iterator<Item = usize>) -> Self {
        match &mut self {
            Self::PolynomialSize { given, min, max } => {
                if let Some(least) = fitting.next() {
                    *min = least;
                    if *given > least {
                        *max = fitting.last().unwrap_or(least);
                    }
                }
            }
            Self::Scratchpad { largest, .. }
            | Self::DataRows { largest, .. }
            | Self::TwiddleRows { largest, .. }
            | Self::Instructions { largest, .. } => *largest = fitting.last(),
            _ => {}
        }
        self
    }
}
