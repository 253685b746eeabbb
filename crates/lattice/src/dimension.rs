//! Newtypes of the dimensions, so that one is never passed for another.

/// A dimension out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DimensionError {
    /// Not a supported polynomial size.
    #[error("polynomial size is {given}; use a power of two from {min} to {max}")]
    PolynomialSize {
        /// The size given.
        given: usize,
        /// The smallest supported size.
        min: usize,
        /// The largest supported size.
        max: usize,
    },
}

/// The number N of coefficients of a polynomial modulo X^N + 1: a power of two from 2^4 to 2^17.
///
/// # Example
/// ```
/// use ciphermill_lattice::PolynomialSize;
///
/// let size = PolynomialSize::new(1024)?;
/// assert_eq!((size.get(), size.log2()), (1024, 10));
/// assert!(PolynomialSize::new(1000).is_err(), "use a power of two");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolynomialSize(usize);

impl PolynomialSize {
    /// log2 of the smallest size.
    pub const MIN_LOG2: u32 = 4;
    /// log2 of the largest size.
    pub const MAX_LOG2: u32 = 17;

    /// The size `n`.
    ///
    /// # Errors
    /// If `n` is not a power of two from 2^4 to 2^17.
    pub const fn new(n: usize) -> Result<Self, DimensionError> {
        let (min, max) = (1 << Self::MIN_LOG2, 1 << Self::MAX_LOG2);
        if n.is_power_of_two() && n >= min && n <= max {
            Ok(PolynomialSize(n))
        } else {
            Err(DimensionError::PolynomialSize { given: n, min, max })
        }
    }

    /// N.
    pub const fn get(self) -> usize {
        self.0
    }

    /// log2 N.
    pub const fn log2(self) -> u32 {
        self.0.trailing_zeros()
    }
}

impl TryFrom<usize> for PolynomialSize {
    type Error = DimensionError;

    fn try_from(n: usize) -> Result<Self, DimensionError> {
        PolynomialSize::new(n)
    }
}

impl From<PolynomialSize> for usize {
    fn from(size: PolynomialSize) -> usize {
        size.0
    }
}

/// log2 of a decomposition's base B. Its range depends on the torus and the level count:
/// [`SignedDecomposer::new`](crate::gadget::SignedDecomposer::new) checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecompositionBaseLog(pub usize);

/// The number l of a decomposition's levels. Its range depends on the torus and the base:
/// [`SignedDecomposer::new`](crate::gadget::SignedDecomposer::new) checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecompositionLevelCount(pub usize);
