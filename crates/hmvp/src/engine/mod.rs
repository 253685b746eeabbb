//! The kernel seam of encrypted matrix-vector products: engines, prepared keys and matrices, jobs and outputs.
//!
//! An [`HmvpEngine`] brings Galois keys and matrices into its own form, once. The [`PreparedKeys`] then run batches of
//! [jobs](Job). Plans, Galois keys, matrix entries, encrypted vectors and products are data that any host can read and
//! write. An engine in another crate, in another process or on a chip therefore needs no private field of this crate:
//!
//! | datum | public access |
//! | --- | --- |
//! | the plan's layout, parts of entries, row tiles | [`Plan::layout`], [`Plan::matrix_parts`], [`Plan::vector_parts`], [`Plan::row_tiles`] |
//! | Galois keys | [`GaloisKeys::get`], [`KeySwitchKey::digits`](ciphermill_bfv::KeySwitchKey::digits) |
//! | the rows of a matrix part | [`Plan::read_matrix_part`] |
//! | the ciphertexts of a vector | [`EncryptedVector::ciphertexts`] |
//! | the ciphertexts of a product | [`EncryptedProduct::new`], [`EncryptedProduct::ciphertexts`] |
//!
//! The module `conformance` (feature `conformance`) checks any engine and contains a slow engine that uses only this
//! access.
//!
//! # How the seam grows
//! - A new operation is a new variant of [`Job`]. An engine answers a variant that it does not implement with
//!   [`HmvpError::UnsupportedJob`], and never computes something else instead.
//! - An engine that does not implement the [strategy](crate::Strategy) of a plan refuses to prepare keys and matrices with
//!   [`HmvpError::UnsupportedStrategy`].

mod cpu;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use ciphermill_bfv::encryption::require_tag;
use ciphermill_bfv::keys::GaloisKeys;
use ciphermill_lattice::KeyTag;
use ciphermill_math::EngineInfo;

use crate::error::HmvpError;
use crate::{EncryptedProduct, EncryptedVector, MatrixSource, Plan};
pub use cpu::CpuEngine;

/// An engine that multiplies plain matrices by encrypted vectors: the CPU, a cycle model, RTL or a GPU.
///
/// # Example
/// ```
/// use std::sync::Arc;
///
/// use ciphermill_bfv::{GaloisKeys, SecretKey};
/// use ciphermill_hmvp::{CpuEngine, DenseMatrix, EncryptedVector, HmvpEngine, Plan, Request};
/// use ciphermill_lattice::{Csprng, SecretSeed};
/// use ciphermill_math::Isa;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let plan = Arc::new(Plan::new(&Request::new(2, 3), Isa::current())?);
/// let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
/// let galois = GaloisKeys::generate(&secret, &plan.galois_requests())?;
/// let mut rng = Csprng::from_os()?;
/// let vector = EncryptedVector::encrypt(&plan, &secret, &[1, 0, -1], &mut rng)?;
///
/// // The server's side: neither the vector nor the secret key.
/// let engine: &dyn HmvpEngine = &CpuEngine::new();
/// let keys = engine.prepare(&plan, &galois)?;
/// let matrix = engine.prepare_matrix(&plan, &DenseMatrix::new(2, 3, vec![1, 2, 3, 4, 5, 6])?)?;
/// let product = keys.multiply(&matrix, &vector)?;
///
/// assert_eq!(product.decrypt(&secret)?, [-2, -2]);
/// # Ok(())
/// # }
/// ```
pub trait HmvpEngine: Send + Sync + fmt::Debug {
    /// The engine's name, device and kind.
    fn info(&self) -> EngineInfo;

    /// The most memory that [`prepare`](Self::prepare) takes at any moment for this plan, in bytes, the prepared keys
    /// included. The Galois keys themselves are not counted.
    fn keys_bytes(&self, plan: &Plan) -> u64;

    /// The most memory that [`prepare_matrix`](Self::prepare_matrix) takes at any moment for this plan, in bytes, the
    /// prepared matrix included. The source of the entries is not counted.
    fn matrix_bytes(&self, plan: &Plan) -> u64;

    /// Brings the Galois keys of one client into the form in which products of the plan use them. The keys are spectra in the
    /// order of the plan's context; an engine with other transforms reads them again from their bytes.
    ///
    /// # Errors
    /// As [`Plan::require_galois_keys`], and [`HmvpError::UnsupportedStrategy`].
    fn prepare(&self, plan: &Arc<Plan>, keys: &GaloisKeys) -> Result<Arc<dyn PreparedKeys>, HmvpError>;

    /// Brings a matrix into the form in which products of the plan use it. It then multiplies vectors under any keys that
    /// the same engine prepared for the plan.
    ///
    /// # Errors
    /// As [`Plan::require_matrix`]; [`HmvpError::UnsupportedStrategy`]; an error that names the limit if an entry does not
    /// fit the plan or the prepared matrix does not fit the engine's memory. A matrix that is too large can be
    /// multiplied by [`Job::MultiplyStreamed`].
    fn prepare_matrix(&self, plan: &Arc<Plan>, matrix: &dyn MatrixSource) -> Result<MatrixHandle, HmvpError>;
}

/// Galois keys in an engine's own form.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// assert_eq!(keys.tag(), secret.tag());
/// assert_eq!(keys.multiply(&matrix, &vector)?.decrypt(&secret)?, [-2, -2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait PreparedKeys: Send + Sync + fmt::Debug {
    /// The plan.
    fn plan(&self) -> &Arc<Plan>;

    /// The key set.
    fn tag(&self) -> KeyTag;

    /// Memory that the keys occupy, in bytes.
    fn memory_bytes(&self) -> u64;

    /// Runs every job. The outputs are in the order of the jobs, one for each, and do not depend on the other jobs of the
    /// batch. An engine may share work between jobs: the CPU engine reads a matrix once for all jobs that name it.
    ///
    /// # Errors
    /// The first failure; no output is returned then. As [`Job::require`]; [`HmvpError::ForeignMatrix`] for a matrix of
    /// another engine; [`HmvpError::UnsupportedJob`] for a job that the engine lacks.
    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, HmvpError>;
}

impl dyn PreparedKeys + '_ {
    /// The product of a prepared matrix and a vector; see [`Job::Multiply`].
    ///
    /// # Errors
    /// As [`run`](PreparedKeys::run), and [`HmvpError::Outputs`] if the engine does not return one product.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let product = keys.multiply(&matrix, &vector)?;
    /// assert_eq!(product.decrypt(&secret)?, [-2, -2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply(&self, matrix: &MatrixHandle, vector: &EncryptedVector) -> Result<EncryptedProduct, HmvpError> {
        self.one(Job::Multiply { matrix, vector })
    }

    /// The product of a matrix that is read row tile by row tile, and a vector; see [`Job::MultiplyStreamed`].
    ///
    /// # Errors
    /// As [`run`](PreparedKeys::run), and [`HmvpError::Outputs`] if the engine does not return one product.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// // The matrix is read tile by tile and never held in prepared form.
    /// assert_eq!(keys.multiply_streamed(&dense, &vector)?.decrypt(&secret)?, [-2, -2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply_streamed(
        &self,
        matrix: &dyn MatrixSource,
        vector: &EncryptedVector,
    ) -> Result<EncryptedProduct, HmvpError> {
        self.one(Job::MultiplyStreamed { matrix, vector })
    }

    /// The products of one prepared matrix and each of `vectors`, in one batch.
    ///
    /// # Errors
    /// As [`run`](PreparedKeys::run), and [`HmvpError::Outputs`] if the engine does not return one product per vector.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let other = EncryptedVector::encrypt(&plan, &secret, &[0, 1, 0], &mut rng)?;
    /// let products = keys.multiply_all(&matrix, &[&vector, &other])?;
    /// assert_eq!(products[1].decrypt(&secret)?, [2, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply_all(
        &self,
        matrix: &MatrixHandle,
        vectors: &[&EncryptedVector],
    ) -> Result<Vec<EncryptedProduct>, HmvpError> {
        let jobs: Vec<Job<'_>> = vectors.iter().map(|&vector| Job::Multiply { matrix, vector }).collect();
        self.products(&jobs)
    }

    fn products(&self, jobs: &[Job<'_>]) -> Result<Vec<EncryptedProduct>, HmvpError> {
        let outputs = self.run(jobs)?;
        if outputs.len() != jobs.len() {
            return Err(HmvpError::Outputs { jobs: jobs.len(), outputs: outputs.len() });
        }
        Ok(outputs.into_iter().map(|Output::Product(product)| product).collect())
    }

    fn one(&self, job: Job<'_>) -> Result<EncryptedProduct, HmvpError> {
        let [product] = <[EncryptedProduct; 1]>::try_from(self.products(&[job])?)
            .map_err(|outputs| HmvpError::Outputs { jobs: 1, outputs: outputs.len() })?;
        Ok(product)
    }
}

/// One job of a batch.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let jobs = [Job::Multiply { matrix: &matrix, vector: &vector }];
/// assert_eq!(jobs[0].name(), "multiply");
/// assert_eq!(keys.run(&jobs)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Job<'a> {
    /// The product of a prepared matrix and a vector; the output is an [`Output::Product`].
    Multiply {
        /// The output of [`HmvpEngine::prepare_matrix`] of the same engine.
        matrix: &'a MatrixHandle,
        /// The vector.
        vector: &'a EncryptedVector,
    },
    /// The product of a matrix that is not prepared and need not fit into memory, and a vector. The engine reads one row
    /// tile at a time and holds only that tile in prepared form. The output is an [`Output::Product`].
    MultiplyStreamed {
        /// The matrix.
        matrix: &'a dyn MatrixSource,
        /// The vector.
        vector: &'a EncryptedVector,
    },
}

impl<'a> Job<'a> {
    /// The operation's name, for errors and reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Multiply { .. } => "multiply",
            Self::MultiplyStreamed { .. } => "multiply_streamed",
        }
    }

    /// The vector.
    #[must_use]
    pub fn vector(&self) -> &'a EncryptedVector {
        match self {
            Self::Multiply { vector, .. } | Self::MultiplyStreamed { vector, .. } => vector,
        }
    }

    /// Checks the operands against the plan and the key set of prepared keys. Engines call it for every job before they
    /// compute.
    ///
    /// # Errors
    /// [`HmvpError::WrongPlan`] if an operand belongs to another plan, [`HmvpError::Scheme`] if it belongs to another key set
    /// or a streamed matrix has other dimensions.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let job = Job::Multiply { matrix: &matrix, vector: &vector };
    /// assert!(job.require(&plan, secret.tag()).is_ok());
    /// let other = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
    /// assert!(job.require(&plan, other.tag()).is_err(), "the vector is of another key set");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn require(&self, plan: &Plan, tag: KeyTag) -> Result<(), HmvpError> {
        let vector = self.vector();
        plan.require_same("the vector", &vector.plan)?;
        require_tag("the vector", vector.tag, tag)?;
        match self {
            Self::Multiply { matrix, .. } => plan.require_same_isa("the matrix", matrix.plan()),
            Self::MultiplyStreamed { matrix, .. } => plan.require_matrix(*matrix),
        }
    }
}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The result of one job.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// for output in keys.run(&[Job::MultiplyStreamed { matrix: &dense, vector: &vector }])? {
///     match output {
///         Output::Product(product) => assert_eq!(product.decrypt(&secret)?, [-2, -2]),
///         _ => return Err("the job returns a product".into()),
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Output {
    /// An encrypted product.
    Product(EncryptedProduct),
}

/// An engine's side of a prepared matrix.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// /// The matrix of an engine that keeps entries on a chip.
/// struct OnChip(Arc<Plan>);
/// impl PreparedMatrix for OnChip {
///     fn plan(&self) -> &Arc<Plan> { &self.0 }
///     fn memory_bytes(&self) -> u64 { 1024 }
/// }
/// let handle = MatrixHandle::new(OnChip(plan.clone()));
/// assert_eq!(handle.memory_bytes(), 1024);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait PreparedMatrix: Any + Send + Sync {
    /// The plan.
    fn plan(&self) -> &Arc<Plan>;

    /// Bytes that the matrix occupies, in the engine's memory or in this process.
    fn memory_bytes(&self) -> u64;
}

/// A prepared matrix: opaque to all but the engine that made it, and cheap to clone.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// // Clones name the same prepared matrix.
/// let same = matrix.clone();
/// assert!(same.is(&matrix) && same.memory_bytes() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct MatrixHandle(Arc<dyn PreparedMatrix>);

impl MatrixHandle {
    /// Wraps an engine's own type.
    #[must_use]
    pub fn new(matrix: impl PreparedMatrix) -> Self {
        Self(Arc::new(matrix))
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        self.0.plan()
    }

    /// Bytes that the matrix occupies.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes()
    }

    /// The engine's own type.
    ///
    /// # Errors
    /// [`HmvpError::ForeignMatrix`] if the handle holds another type.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// struct OnChip(Arc<Plan>);
    /// # impl PreparedMatrix for OnChip {
    /// #     fn plan(&self) -> &Arc<Plan> { &self.0 }
    /// #     fn memory_bytes(&self) -> u64 { 1024 }
    /// # }
    /// let handle = MatrixHandle::new(OnChip(plan.clone()));
    /// assert!(Arc::ptr_eq(&handle.downcast::<OnChip>()?.0, &plan));
    /// assert!(matrix.downcast::<OnChip>().is_err(), "the CPU engine has another type");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn downcast<T: PreparedMatrix>(&self) -> Result<&T, HmvpError> {
        let matrix: &dyn Any = &*self.0;
        matrix.downcast_ref().ok_or(HmvpError::ForeignMatrix)
    }

    /// Whether both handles name the same prepared matrix.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for MatrixHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatrixHandle").field("memory_bytes", &self.memory_bytes()).finish_non_exhaustive()
    }
}
