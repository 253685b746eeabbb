//! Newtypes of the dimensions, under the names that the field uses.

use ciphermill_lattice::Torus;
use ciphermill_lattice::gadget::{DecompositionError, SignedDecomposer};
pub use ciphermill_lattice::{DecompositionBaseLog, DecompositionLevelCount, PolynomialSize};

/// n, the number of mask elements of an LWE ciphertext.
///
/// # Example
/// ```
/// use ciphermill_tfhe::dimension::LweDimension;
///
/// // The mask elements and the body.
/// assert_eq!(LweDimension(96).lwe_size(), 97);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LweDimension(pub usize);

/// k, the number of mask polynomials of a GLWE ciphertext.
///
/// # Example
/// ```
/// use ciphermill_tfhe::dimension::{GlweDimension, LweDimension, PolynomialSize};
///
/// let k = GlweDimension(2);
/// assert_eq!(k.glwe_size(), 3);
/// assert_eq!(k.extracted_lwe_dimension(PolynomialSize::new(1024)?), LweDimension(2048));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlweDimension(pub usize);

impl LweDimension {
    /// Number of torus elements of a ciphertext: n + 1.
    pub fn lwe_size(self) -> usize {
        self.0 + 1
    }
}

impl GlweDimension {
    /// Number of polynomials of a ciphertext: k + 1.
    pub fn glwe_size(self) -> usize {
        self.0 + 1
    }

    /// k·N, the dimension of the LWE ciphertexts that sample extraction yields.
    pub fn extracted_lwe_dimension(self, polynomial_size: PolynomialSize) -> LweDimension {
        LweDimension(self.0 * polynomial_size.get())
    }
}

/// Base B = 2^`base_log` and number of levels l of a gadget decomposition.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // Base 2^9 and 5 levels keep the upper 45 bits of a torus element.
/// let gadget = Decomposition::new(9, 5);
/// assert_eq!(gadget, parameters.pbs);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decomposition {
    /// log2 of the base.
    pub base_log: DecompositionBaseLog,
    /// Number of levels.
    pub level_count: DecompositionLevelCount,
}

impl Decomposition {
    /// Shorthand from plain numbers; validity is checked by the parameter set that contains it.
    pub const fn new(base_log: usize, level_count: usize) -> Self {
        Self { base_log: DecompositionBaseLog(base_log), level_count: DecompositionLevelCount(level_count) }
    }

    /// The decomposer of torus elements.
    ///
    /// # Errors
    /// If the gadget does not fit the torus.
    pub(crate) fn decomposer<T: Torus>(self) -> Result<SignedDecomposer<T>, DecompositionError> {
        SignedDecomposer::new(self.base_log, self.level_count)
    }
}
