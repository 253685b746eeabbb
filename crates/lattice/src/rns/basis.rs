//! An ordered list of primes.

use std::ops::Range;
use std::sync::Arc;

use ciphermill_math::ntt::{CpuNttProvider, NttEngine, NttError, NttProvider};
use ciphermill_math::{Isa, Modulus, PointwiseKernels};
use num_bigint::BigUint;

use super::{Form, RnsPoly};
use crate::PolynomialSize;

/// One prime with its transform and kernels.
#[derive(Clone, Debug)]
pub struct Limb {
    modulus: Modulus,
    engine: Arc<dyn NttEngine>,
    kernels: PointwiseKernels<u64>,
}

impl Limb {
    /// The prime `modulus` with its transform of `provider`, and pointwise kernels on the instruction set `isa`.
    ///
    /// # Errors
    /// If the prime has no transform of this size, the provider makes a transform of another size or prime, or the CPU
    /// lacks `isa`.
    ///
    /// # Example
    /// ```
    /// use ciphermill_lattice::PolynomialSize;
    /// use ciphermill_lattice::rns::Limb;
    /// use ciphermill_math::Isa;
    /// use ciphermill_math::ntt::CpuNttProvider;
    ///
    /// let limb = Limb::new(PolynomialSize::new(1024)?, 12289, &CpuNttProvider::default(), Isa::current())?;
    /// assert_eq!((limb.modulus().value(), limb.engine().polynomial_size()), (12289, 1024));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        polynomial_size: PolynomialSize,
        modulus: u64,
        provider: &dyn NttProvider,
        isa: Isa,
    ) -> Result<Self, RnsBasisError> {
        let engine = provider.prime(polynomial_size.get(), modulus)?;
        if (engine.polynomial_size(), engine.modulus()) != (polynomial_size.get(), modulus) {
            return Err(RnsBasisError::Engine { engine: engine.info().to_string(), modulus });
        }
        let modulus = Modulus::new(modulus).map_err(NttError::from)?;
        Ok(Self { modulus, engine, kernels: PointwiseKernels::new(modulus, isa)? })
    }

    /// The prime.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// The transform.
    pub fn engine(&self) -> &dyn NttEngine {
        &*self.engine
    }

    /// The pointwise kernels.
    pub fn kernels(&self) -> &PointwiseKernels<u64> {
        &self.kernels
    }
}

/// A basis cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RnsBasisError {
    /// There is no prime.
    #[error("a residue number system without a modulus; use at least one")]
    Empty,
    /// Two primes are the same.
    #[error("modulus {modulus} occurs twice; use distinct primes")]
    Repeated {
        /// The prime.
        modulus: u64,
    },
    /// A provider made a transform of another size or prime.
    #[error(
        "engine {engine} is not the transform for modulus {modulus}; its provider must return the size and prime asked for"
    )]
    Engine {
        /// The engine's description.
        engine: String,
        /// The prime of the limb.
        modulus: u64,
    },
    /// No transform exists for a modulus.
    #[error(transparent)]
    Ntt(#[from] ciphermill_math::ntt::NttError),
    /// No kernels exist for a modulus.
    #[error(transparent)]
    Pointwise(#[from] ciphermill_math::pointwise::PointwiseError),
}

/// An ordered list of distinct primes p_0 … p_(L−1), each 1 modulo 2N and below 2^62, with everything that arithmetic
/// on polynomials of N coefficients modulo their product Q needs. Cloning shares the tables.
///
/// Polynomials that are passed together have as many limbs as the basis has primes; anything else is a caller's error
/// and panics.
///
/// # Example
/// ```
/// use ciphermill_lattice::PolynomialSize;
/// use ciphermill_lattice::rns::RnsBasis;
/// use ciphermill_math::Isa;
///
/// let basis = RnsBasis::new(PolynomialSize::new(1024)?, &[12289, 40961], Isa::current())?;
/// let [mut x, mut y] = [[0; 1024]; 2];
/// (x[1], y[1023]) = (3, 5);
/// let [mut x, y] = [x, y].map(|coefficients| basis.forward(basis.from_signed(&coefficients)));
/// basis.multiply(&mut x, &y);
/// // 3·X times 5·X^1023 is 15·X^1024 = -15.
/// assert_eq!(basis.compose(&basis.inverse(x), 0).to_string(), "-15");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RnsBasis {
    polynomial_size: PolynomialSize,
    isa: Isa,
    limbs: Vec<Limb>,
}

impl RnsBasis {
    /// The basis of these primes on the CPU, with one instruction set.
    ///
    /// # Errors
    /// If there is no prime, if one occurs twice, or if one has no transform of this size.
    ///
    /// # Example
    /// ```
    /// use ciphermill_lattice::PolynomialSize;
    /// use ciphermill_lattice::rns::{RnsBasis, RnsBasisError};
    /// use ciphermill_math::Isa;
    ///
    /// let size = PolynomialSize::new(1024)?;
    /// assert_eq!(RnsBasis::new(size, &[12289, 40961], Isa::current())?.product().to_string(), "503369729");
    /// let twice = RnsBasis::new(size, &[12289, 12289], Isa::current());
    /// assert!(matches!(twice, Err(RnsBasisError::Repeated { modulus: 12289 })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(polynomial_size: PolynomialSize, moduli: &[u64], isa: Isa) -> Result<Self, RnsBasisError> {
        Self::with_engines(polynomial_size, moduli, &CpuNttProvider::new(isa), isa)
    }

    /// The basis of these primes with the transforms of `provider`. All other arithmetic runs on the CPU with the
    /// instruction set `isa`.
    ///
    /// # Errors
    /// As [`new`](Self::new); also if the provider makes a transform of another size or prime.
    ///
    /// # Example
    /// ```
    /// use ciphermill_lattice::PolynomialSize;
    /// use ciphermill_lattice::rns::RnsBasis;
    /// use ciphermill_math::Isa;
    /// use ciphermill_math::ntt::CpuNttProvider;
    ///
    /// let size = PolynomialSize::new(1024)?;
    /// let provider = CpuNttProvider::default();
    /// let basis = RnsBasis::with_engines(size, &[12289, 40961], &provider, Isa::current())?;
    /// assert_eq!(basis.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_engines(
        polynomial_size: PolynomialSize,
        moduli: &[u64],
        provider: &dyn NttProvider,
        isa: Isa,
    ) -> Result<Self, RnsBasisError> {
        if moduli.is_empty() {
            return Err(RnsBasisError::Empty);
        }
        let mut limbs = Vec::with_capacity(moduli.len());
        for (i, &p) in moduli.iter().enumerate() {
            if moduli[..i].contains(&p) {
                return Err(RnsBasisError::Repeated { modulus: p });
            }
            limbs.push(Limb::new(polynomial_size, p, provider, isa)?);
        }
        Ok(Self { polynomial_size, isa, limbs })
    }

    /// The limbs `range` as a separate basis.
    ///
    /// # Panics
    /// If the range is empty or out of bounds.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let (first, second) = (basis.slice(0..1), basis.slice(1..2));
    /// assert_eq!(first.product().to_string(), "12289");
    /// assert_eq!(first.join(&second).product(), basis.product());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice(&self, range: Range<usize>) -> Self {
        assert!(!range.is_empty(), "a basis has at least one limb");
        Self { limbs: self.limbs[range].to_vec(), ..self.clone() }
    }

    /// These limbs followed by those of `other`, which is of the same N and has other primes.
    pub fn join(&self, other: &Self) -> Self {
        assert_eq!(self.polynomial_size, other.polynomial_size, "bases of one polynomial size");
        Self { limbs: self.limbs.iter().chain(&other.limbs).cloned().collect(), ..self.clone() }
    }

    /// N.
    pub fn polynomial_size(&self) -> PolynomialSize {
        self.polynomial_size
    }

    /// The instruction set of all kernels.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// L.
    pub fn len(&self) -> usize {
        self.limbs.len()
    }

    /// Never: a basis has at least one limb.
    pub fn is_empty(&self) -> bool {
        self.limbs.is_empty()
    }

    /// The limbs.
    pub fn limbs(&self) -> &[Limb] {
        &self.limbs
    }

    /// The primes.
    pub fn moduli(&self) -> impl ExactSizeIterator<Item = Modulus> + '_ {
        self.limbs.iter().map(Limb::modulus)
    }

    /// Q, the product of the primes.
    pub fn product(&self) -> BigUint {
        self.moduli().map(|p| BigUint::from(p.value())).product()
    }

    /// log2 Q.
    pub fn log2(&self) -> f64 {
        self.moduli().map(|p| (p.value() as f64).log2()).sum()
    }

    /// The zero polynomial.
    pub fn zero<F: Form>(&self) -> RnsPoly<F> {
        RnsPoly::zero(self.polynomial_size, self.len())
    }
}
