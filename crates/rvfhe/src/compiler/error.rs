//! Errors of the compiler, with the sizes that fit.

use thiserror::Error;

use crate::isa::RangeError;

/// An error of the compiler.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let huge = Transform { polynomial_size: 1 << 20, ..transform };
/// let Err(CompileError::PolynomialSize { fitting, .. }) = compile(&target, &Task::Transform(huge), 1) else {
///     panic!("no machine of this size takes it")
/// };
/// assert_eq!(fitting.sizes().first(), Some(&1024));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CompileError {
    /// A size that is not a power of two, or outside the range of the cores, lanes and rows.
    #[error("a polynomial of {given} values does not fit: {}", fitting.range())]
    PolynomialSize {
        /// N.
        given: usize,
        /// The sizes that fit.
        fitting: Fitting,
    },
    /// A prime that is too large for a lane.
    #[error("modulus {modulus} does not fit a lane of 32 bits; use a prime below 2^31")]
    Modulus {
        /// m.
        modulus: u64,
    },
    /// The modulus has no root of unity.
    #[error(
        "modulus {modulus} has no root of unity for N = {polynomial_size}; use a prime that is 1 modulo 2N, or modulo N in the cyclic ring"
    )]
    NoRoot {
        /// m.
        modulus: u64,
        /// N.
        polynomial_size: usize,
    },
    /// An invalid number of transforms in flight.
    #[error("{given} transforms in flight; use at least 1 and at most {max}")]
    InFlight {
        /// The given number.
        given: usize,
        /// The maximum for this N. If no number fits, the error instead names the resource that a program with one in
        /// flight lacks.
        max: usize,
    },
    /// An invalid number in the target.
    #[error("the target's {what} is {given}; use {wanted}")]
    Target {
        /// The number.
        what: &'static str,
        /// The given value.
        given: u32,
        /// The allowed values.
        wanted: &'static str,
    },
    /// The length of an operand or a key differs from N.
    #[error("the operand has {given} values; the polynomials have {wanted}")]
    OperandSize {
        /// The given length.
        given: usize,
        /// N.
        wanted: usize,
    },
    /// A value of an operand is not below m.
    #[error("the operand has {given} at index {index}; use values below the modulus {modulus}")]
    OperandValue {
        /// The index of the value.
        index: usize,
        /// The value.
        given: u32,
        /// m.
        modulus: u64,
    },
    /// An invalid number of digits.
    #[error("{given} digits: use 1 to {max}")]
    Digits {
        /// The given number.
        given: usize,
        /// The maximum.
        max: usize,
    },
    /// A product in the complex ring.
    #[error("products are not available in the complex ring; use a ring modulo a prime")]
    ComplexProduct,
    /// The scheduler found no order.
    #[error("no schedule was found for this target; this is an error in the compiler, please report it")]
    NoOrder,
    /// Too few vectors of the scratchpad for the inputs and outputs of one run with one in flight.
    #[error("{}; {}", Lack::Scratchpad { needed: *needed, have: *have }, fitting.advice())]
    Scratchpad {
        /// The required vectors.
        needed: u32,
        /// The available vectors, at most 4096, the limit of a program's addresses.
        have: u32,
        /// The sizes that fit.
        fitting: Fitting,
    },
    /// Too few rows of data memory.
    #[error("{}; {}", Lack::DataRows { needed: *needed, have: *have }, fitting.advice())]
    DataRows {
        /// The required rows.
        needed: u32,
        /// The available rows, at most 2432, the limit of a program's addresses.
        have: u32,
        /// The sizes that fit.
        fitting: Fitting,
    },
    /// Too few rows of twiddle memory.
    #[error("{}; {}", Lack::TwiddleRows { needed: *needed, have: *have }, fitting.advice())]
    TwiddleRows {
        /// The required rows.
        needed: u32,
        /// The available rows, at most 2048, the limit of a program's addresses.
        have: u32,
        /// The sizes that fit.
        fitting: Fitting,
    },
    /// Too few words of instruction memory.
    #[error("{}; {}", Lack::Instructions { needed: *needed, have: *have }, fitting.advice())]
    Instructions {
        /// The required words.
        needed: u32,
        /// The available words.
        have: u32,
        /// The sizes that fit.
        fitting: Fitting,
    },
    /// A number exceeds its field in an instruction.
    #[error(transparent)]
    Range(#[from] RangeError),
}

/// The sizes that compile for the same kind of task, modulus and number of digits, with any operand or key values.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let odd = Transform { polynomial_size: 1000, ..transform };
/// let Err(CompileError::PolynomialSize { fitting, .. }) = compile(&target, &Task::Transform(odd), 1) else {
///     panic!("1,000 is not a power of two")
/// };
/// assert!(fitting.sizes().contains(&8192));
/// assert_eq!(fitting.largest(), fitting.sizes().last().copied());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fitting {
    /// Sizes that fit with the requested number in flight.
    Sizes {
        /// The requested number in flight.
        in_flight: usize,
        /// Every N, in ascending order.
        sizes: Vec<usize>,
    },
    /// No size fits with the requested number in flight, but these fit with one.
    WithOne {
        /// The requested number in flight.
        in_flight: usize,
        /// Every N, in ascending order.
        sizes: Vec<usize>,
    },
    /// No size fits, even with one in flight.
    Nothing {
        /// The smallest N that the rows of the cores allow, and the resource that its program lacks; `None` if the
        /// error itself names it.
        smallest: Option<(usize, Lack)>,
    },
}

/// A missing resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Lack {
    /// Vectors of the scratchpad.
    #[error("inputs and outputs need {needed} vectors of the scratchpad, and the program can address {have}")]
    Scratchpad {
        /// The required vectors.
        needed: u32,
        /// The addressable vectors.
        have: u32,
    },
    /// Rows of the data memory.
    #[error("the program needs {needed} rows of data memory and can address {have}")]
    DataRows {
        /// The required rows.
        needed: u32,
        /// The addressable rows.
        have: u32,
    },
    /// Rows of the twiddle memory.
    #[error("the program needs {needed} rows of twiddle memory and can address {have}")]
    TwiddleRows {
        /// The required rows; for an operand with unknown values, the maximum.
        needed: u32,
        /// The addressable rows.
        have: u32,
    },
    /// Words of the instruction memory.
    #[error("the program has {needed} instructions, and a core holds {have}")]
    Instructions {
        /// The required words.
        needed: u32,
        /// The available words.
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
    /// The sizes that fit with the requested number in flight; if there are none, the sizes that fit with one.
    pub fn sizes(&self) -> &[usize] {
        match self {
            Self::Sizes { sizes, .. } | Self::WithOne { sizes, .. } => sizes,
            Self::Nothing { .. } => &[],
        }
    }

    /// The largest of these sizes.
    pub fn largest(&self) -> Option<usize> {
        self.sizes().last().copied()
    }

    /// The number in flight of these sizes.
    pub fn in_flight(&self) -> usize {
        match self {
            Self::Sizes { in_flight, .. } => *in_flight,
            Self::WithOne { .. } | Self::Nothing { .. } => 1,
        }
    }

    /// Removes the advice about the smallest N if the error itself is about that N.
    pub(crate) fn beside(self, given: usize) -> Self {
        match self {
            Self::Nothing { smallest: Some((size, _)) } if size == given => Self::Nothing { smallest: None },
            fitting => fitting,
        }
    }

    /// The text for an error about N.
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

    /// The text for an error about a missing resource.
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

/// The reason why an N with a number in flight does not compile, before the alternatives are known.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// N is outside the range of the machine, or its cores have too few rows.
    Size,
    /// The scratchpad's addresses only reach the inputs and outputs of `most` in flight, at least one.
    InFlight { most: usize },
    /// A missing resource.
    Lack(Lack),
    /// An error that no other N or number in flight avoids.
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
    /// Turns the missing resource into an error with the sizes that fit.
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
