//! Why there is no program, and for which sizes there is one.

use thiserror::Error;

use crate::isa::RangeError;

/// Why there is no program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CompileError {
    /// A size that is none, or none of this machine: cores and lanes give too few rows, or more than there is room for.
    #[error("a polynomial of {given} values does not fit: {}", fitting.range())]
    PolynomialSize {
        /// N.
        given: usize,
        /// What fits.
        fitting: Fitting,
    },
    /// A prime that is too large for a lane.
    #[error("modulus {modulus} does not fit a lane of 32 bits; use a prime below 2^31")]
    Modulus {
        /// m.
        modulus: u64,
    },
    /// No root of unity.
    #[error(
        "modulus {modulus} has no root of unity for N = {polynomial_size}; use a prime that is 1 modulo 2N, or modulo N in the cyclic ring"
    )]
    NoRoot {
        /// m.
        modulus: u64,
        /// N.
        polynomial_size: usize,
    },
    /// A count of polynomials in flight that is none.
    #[error("{given} transforms in flight; use at least 1 and at most {max}")]
    InFlight {
        /// How many.
        given: usize,
        /// The most with which there is a program of this N. With none of them, the error is what the program lacks with one.
        max: usize,
    },
    /// A target with an impossible number.
    #[error("the target's {what} is {given}; use {wanted}")]
    Target {
        /// Which number.
        what: &'static str,
        /// What it is.
        given: u32,
        /// What it should be.
        wanted: &'static str,
    },
    /// An operand or a key of another size.
    #[error("the operand has {given} values; the polynomials have {wanted}")]
    OperandSize {
        /// Its length.
        given: usize,
        /// N.
        wanted: usize,
    },
    /// An operand's value that is none modulo m.
    #[error("the operand has {given} at index {index}; use values below the modulus {modulus}")]
    OperandValue {
        /// Where.
        index: usize,
        /// What.
        given: u32,
        /// m.
        modulus: u64,
    },
    /// A count of digits that is none.
    #[error("{given} digits: use 1 to {max}")]
    Digits {
        /// How many.
        given: usize,
        /// The most.
        max: usize,
    },
    /// A product of polynomials in the complex ring.
    #[error("products are not available in the complex ring; use a ring modulo a prime")]
    ComplexProduct,
    /// The instructions were not brought into an order.
    #[error("no schedule was found for this target; this is an error in the compiler, please report it")]
    NoOrder,
    /// Vectors of the scratchpad: too few for the inputs and outputs of one run with one in flight.
    #[error("{}; {}", Lack::Scratchpad { needed: *needed, have: *have }, fitting.advice())]
    Scratchpad {
        /// How many.
        needed: u32,
        /// How many there are, up to the 4096 that a program's addresses reach.
        have: u32,
        /// What fits.
        fitting: Fitting,
    },
    /// Rows of the data memory.
    #[error("{}; {}", Lack::DataRows { needed: *needed, have: *have }, fitting.advice())]
    DataRows {
        /// How many.
        needed: u32,
        /// How many there are, up to the 2432 that a program's addresses reach.
        have: u32,
        /// What fits.
        fitting: Fitting,
    },
    /// Rows of the twiddle memory.
    #[error("{}; {}", Lack::TwiddleRows { needed: *needed, have: *have }, fitting.advice())]
    TwiddleRows {
        /// How many.
        needed: u32,
        /// How many there are, up to the 2048 that a program's addresses reach.
        have: u32,
        /// What fits.
        fitting: Fitting,
    },
    /// Words of the instruction memory.
    #[error("{}; {}", Lack::Instructions { needed: *needed, have: *have }, fitting.advice())]
    Instructions {
        /// How many.
        needed: u32,
        /// How many there are.
        have: u32,
        /// What fits.
        fitting: Fitting,
    },
    /// A number that no instruction can carry.
    #[error(transparent)]
    Range(#[from] RangeError),
}

/// The sizes for which there is a program of the same kind, modulus and count of digits, whatever the values of an operand or a key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fitting {
    /// These, with as many in flight as were asked for.
    Sizes {
        /// As many in flight.
        in_flight: usize,
        /// Every N, from the smallest on.
        sizes: Vec<usize>,
    },
    /// None with as many in flight as were asked for, but these with one.
    WithOne {
        /// As many were asked for.
        in_flight: usize,
        /// Every N, from the smallest on.
        sizes: Vec<usize>,
    },
    /// None, even with one in flight.
    Nothing {
        /// The smallest N whose levels the cores' rows allow, and what its program lacks; nothing if that is what the error itself says.
        smallest: Option<(usize, Lack)>,
    },
}

/// What a program lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Lack {
    /// Vectors of the scratchpad.
    #[error("inputs and outputs need {needed} vectors of the scratchpad, and the program can address {have}")]
    Scratchpad {
        /// How many it takes.
        needed: u32,
        /// How many can be named.
        have: u32,
    },
    /// Rows of the data memory.
    #[error("the program needs {needed} rows of data memory and can address {have}")]
    DataRows {
        /// How many it takes.
        needed: u32,
        /// How many can be named.
        have: u32,
    },
    /// Rows of the twiddle memory.
    #[error("the program needs {needed} rows of twiddle memory and can address {have}")]
    TwiddleRows {
        /// How many it takes; with an operand whose values are not known, as many as it may take.
        needed: u32,
        /// How many can be named.
        have: u32,
    },
    /// Words of the instruction memory.
    #[error("the program has {needed} instructions, and a core holds {have}")]
    Instructions {
        /// How many it has.
        needed: u32,
        /// How many there is room for.
        have: u32,
    },
    /// A root of unity.
    #[error("modulus {modulus} has no root of unity")]
    Root {
        /// m.
        modulus: u64,
    },
}

impl Fitting {
    /// The sizes; those with one in flight if there are none with as many as were asked for.
    pub fn sizes(&self) -> &[usize] {
        match self {
            Self::Sizes { sizes, .. } | Self::WithOne { sizes, .. } => sizes,
            Self::Nothing { .. } => &[],
        }
    }

    /// The largest of them.
    pub fn largest(&self) -> Option<usize> {
        self.sizes().last().copied()
    }

    /// With how many in flight the sizes fit.
    pub fn in_flight(&self) -> usize {
        match self {
            Self::Sizes { in_flight, .. } => *in_flight,
            Self::WithOne { .. } | Self::Nothing { .. } => 1,
        }
    }

    /// Beside an error that says itself what an N lacks.
    pub(crate) fn beside(self, given: usize) -> Self {
        match self {
            Self::Nothing { smallest: Some((size, _)) } if size == given => Self::Nothing { smallest: None },
            fitting => fitting,
        }
    }

    /// For an error that is about N alone.
    fn range(&self) -> String {
        let sizes = self.sizes();
        let wanted = match sizes {
            [] => String::new(),
            [only] => format!("{only} is wanted"),
            // All are powers of two.
            [min, .., max] if sizes.windows(2).all(|pair| pair[1] == 2 * pair[0]) => {
                format!("a power of two from {min} to {max} is wanted")
            }
            [others @ .., last] => {
                let others: Vec<_> = others.iter().map(usize::to_string).collect();
                format!("{} or {last} is wanted", others.join(", "))
            }
        };
        format!("{}{wanted}", self.condition())
    }

    /// For an error that is about what a program lacks.
    fn advice(&self) -> String {
        let largest = self.largest().map_or_else(String::new, |size| format!("the largest N that fits is {size}"));
        format!("{}{largest}", self.condition())
    }

    fn condition(&self) -> String {
        match self {
            Self::Sizes { in_flight, .. } => format!("with {in_flight} in flight "),
            Self::WithOne { in_flight, .. } => format!("with {in_flight} in flight no N fits, with 1 "),
            Self::Nothing { smallest: None } => "no N fits".to_owned(),
            Self::Nothing { smallest: Some((size, lack)) } => format!("no N fits; with N = {size} {lack}"),
        }
    }
}

/// Why there is no program for an N and a count in flight, before it is known what else there is one for.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// N is none of this machine's shape, or its cores have too few rows.
    Size,
    /// The scratchpad's addresses reach inputs and outputs of so many, one at least.
    InFlight { most: usize },
    /// Too little of something.
    Lack(Lack),
    /// What no other N or count would mend.
    Other(CompileError),
}

impl From<CompileError> for Refusal {
    fn from(error: CompileError) -> Self {
        Self::Other(error)
    }
}

impl From<RangeError> for Refusal {
    fn from(error: RangeError) -> Self {
        Self::Other(error.into())
    }
}

impl Lack {
    /// The error, with what fits.
    pub(crate) fn with(self, given: usize, fitting: Fitting) -> CompileError {
        match self {
            Self::Scratchpad { needed, have } => CompileError::Scratchpad { needed, have, fitting },
            Self::DataRows { needed, have } => CompileError::DataRows { needed, have, fitting },
            Self::TwiddleRows { needed, have } => CompileError::TwiddleRows { needed, have, fitting },
            Self::Instructions { needed, have } => CompileError::Instructions { needed, have, fitting },
            Self::Root { modulus } => CompileError::NoRoot { modulus, polynomial_size: given },
        }
    }
}
