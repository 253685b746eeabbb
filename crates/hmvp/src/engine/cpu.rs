//! The CPU engine.

use std::fmt;
use std::sync::Arc;

use ciphermill_bfv::ciphertext::Ciphertext;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::keys::GaloisKeys;
use ciphermill_lattice::KeyTag;
use ciphermill_math::{EngineInfo, EngineKind, Isa};
use rayon::prelude::*;

use super::{HmvpEngine, Job, MatrixHandle, Output, PreparedKeys, PreparedMatrix};
use crate::entries::PackedEntries;
use crate::error::HmvpError;
use crate::vector::VectorCiphertext;
use crate::{EncryptedProduct, EncryptedVector, MAX_PREPARED_BYTES, MatrixSource, Plan, Prepared, Strategy};

/// The CPU: the threads of the current rayon pool. It keeps nothing between products.
///
/// Keys, matrices and products use the instruction set of the plan's tables; [`info`](HmvpEngine::info) names the
/// default one.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let engine = CpuEngine::new();
/// let matrix = engine.prepare_matrix(&plan, &dense)?;
/// let keys = engine.prepare(&plan, &GaloisKeys::generate(&secret, &plan.galois_requests())?)?;
/// assert_eq!(keys.multiply(&matrix, &vector)?.decrypt(&secret)?, [-2, -2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CpuEngine {
    max_matrix_bytes: u64,
}

impl Default for CpuEngine {
    fn default() -> Self {
        Self { max_matrix_bytes: MAX_PREPARED_BYTES }
    }
}

impl CpuEngine {
    /// An engine whose prepared matrices may occupy up to [`MAX_PREPARED_BYTES`] each.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the memory that one prepared matrix may occupy. The engine checks the limit before it allocates.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let engine = CpuEngine::new().with_max_matrix_bytes(1000);
    /// assert!(engine.prepare_matrix(&plan, &dense).is_err(), "a prepared matrix needs more than 1000 bytes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_max_matrix_bytes(mut self, max_bytes: u64) -> Self {
        self.max_matrix_bytes = max_bytes;
        self
    }
}

/// Galois keys in the form of the plan's strategy.
struct CpuKeys {
    plan: Arc<Plan>,
    tag: KeyTag,
    keys: Arc<dyn Prepared>,
}

impl fmt::Debug for CpuKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuKeys").field("tag", &self.tag).finish_non_exhaustive()
    }
}

/// A matrix in the form of the plan's strategy.
struct CpuMatrix {
    plan: Arc<Plan>,
    /// By row tile, then part.
    tiles: Vec<Vec<Arc<dyn Prepared>>>,
}

impl PreparedMatrix for CpuMatrix {
    fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    fn memory_bytes(&self) -> u64 {
        matrix_bytes(&self.plan)
    }
}

/// Bytes of a prepared matrix.
fn matrix_bytes(plan: &Plan) -> u64 {
    plan.algorithm().costs().matrix_bytes * plan.choice().matrix_parts.len() as u64 + scratch_bytes(plan)
}

/// Bytes of the tables and the scratch memory that a plan with slots keeps: 12 polynomials were measured at N = 4096.
fn scratch_bytes(plan: &Plan) -> u64 {
    const POLYNOMIALS: usize = 16;
    let context = plan.context();
    match plan.strategy() {
        Strategy::Diagonal | Strategy::RotateAndSum => {
            (POLYNOMIALS * context.chain().limbs().len() * context.n() * 8) as u64
        }
        _ => 0,
    }
}

/// Row tile `tile` in the form in which it multiplies, part by part.
fn prepare_tile(plan: &Plan, tile: usize, entries: &PackedEntries) -> Result<Vec<Arc<dyn Prepared>>, BfvError> {
    let bits = &plan.choice().matrix_parts;
    let parts = (0..bits.len()).map(|part| {
        let read = |row: usize, out: &mut [i64]| entries.read_part(row, bits, part, out);
        plan.algorithm().prepare(plan.context(), tile, &read)
    });
    parts.collect()
}

impl HmvpEngine for CpuEngine {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("cpu", EngineKind::Cpu(Isa::current()))
    }

    fn keys_bytes(&self, plan: &Plan) -> u64 {
        plan.algorithm().costs().key_bytes
    }

    /// The entries of one tile are in memory next to the prepared tiles.
    fn matrix_bytes(&self, plan: &Plan) -> u64 {
        let rows = plan.algorithm().tiles().into_iter().map(|rows| rows.len()).max().unwrap_or(0);
        let request = plan.request();
        matrix_bytes(plan).saturating_add(PackedEntries::bytes(rows, request.cols, request.matrix_bits))
    }

    fn prepare(&self, plan: &Arc<Plan>, keys: &GaloisKeys) -> Result<Arc<dyn PreparedKeys>, HmvpError> {
        plan.require_galois_keys(keys)?;
        let prepared = plan.algorithm().prepare_keys(plan.context(), keys)?;
        Ok(Arc::new(CpuKeys { plan: plan.clone(), tag: keys.tag(), keys: prepared }))
    }

    fn prepare_matrix(&self, plan: &Arc<Plan>, matrix: &dyn MatrixSource) -> Result<MatrixHandle, HmvpError> {
        plan.require_matrix(matrix)?;
        let (needed, limit) = (matrix_bytes(plan), self.max_matrix_bytes);
        if needed > limit {
            return Err(BfvError::Memory { what: "a prepared matrix", needed, limit }.into());
        }
        // The entries of one tile at a time are in memory next to the prepared tiles.
        let tiles = plan.algorithm().tiles().into_iter().enumerate().map(|(tile, rows)| {
            let entries = PackedEntries::read(matrix, rows, plan.request().matrix_bits)?;
            Ok(prepare_tile(plan, tile, &entries)?)
        });
        let tiles = tiles.collect::<Result<_, HmvpError>>()?;
        Ok(MatrixHandle::new(CpuMatrix { plan: plan.clone(), tiles }))
    }
}

/// The matrix of a job.
#[derive(Clone, Copy)]
enum Matrix<'a> {
    Prepared(&'a MatrixHandle),
    Streamed(&'a dyn MatrixSource),
}

impl Matrix<'_> {
    /// Whether one pass serves both.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Prepared(a), Self::Prepared(b)) => a.is(b),
            // The type as well as the address: a wrapper and its first field share the address. Where the compiler merges
            // equal vtables, both types read the same rows.
            #[allow(ambiguous_wide_pointer_comparisons, reason = "a missed match costs a pass, nothing else")]
            (Self::Streamed(a), Self::Streamed(b)) => std::ptr::eq(*a, *b),
            _ => false,
        }
    }
}

/// The jobs of one matrix: their places in the batch, and their vectors.
struct Group<'a> {
    matrix: Matrix<'a>,
    places: Vec<usize>,
    vectors: Vec<&'a EncryptedVector>,
}

/// The jobs of a batch by their matrix, in the order of the first job of each.
fn groups<'a>(jobs: &[Job<'a>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (place, job) in jobs.iter().enumerate() {
        let (matrix, vector) = match *job {
            Job::Multiply { matrix, vector } => (Matrix::Prepared(matrix), vector),
            Job::MultiplyStreamed { matrix, vector } => (Matrix::Streamed(matrix), vector),
        };
        match groups.iter_mut().find(|group| group.matrix.is(&matrix)) {
            Some(group) => {
                group.places.push(place);
                group.vectors.push(vector);
            }
            None => groups.push(Group { matrix, places: vec![place], vectors: vec![vector] }),
        }
    }
    groups
}

impl PreparedKeys for CpuKeys {
    fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    fn tag(&self) -> KeyTag {
        self.tag
    }

    fn memory_bytes(&self) -> u64 {
        self.plan.algorithm().costs().key_bytes
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, HmvpError> {
        for job in jobs {
            job.require(&self.plan, self.tag)?;
            if let Job::Multiply { matrix, .. } = job {
                matrix.downcast::<CpuMatrix>()?;
            }
        }
        let mut outputs: Vec<Option<EncryptedProduct>> = vec![None; jobs.len()];
        for Group { matrix, places, vectors } in groups(jobs) {
            let products = match matrix {
                Matrix::Prepared(matrix) => self.multiply(matrix.downcast()?, &vectors)?,
                Matrix::Streamed(matrix) => self.multiply_streamed(matrix, &vectors)?,
            };
            for (place, product) in places.into_iter().zip(products) {
                outputs[place] = Some(product);
            }
        }
        Ok(outputs.into_iter().flatten().map(Output::Product).collect())
    }
}

impl CpuKeys {
    fn multiply(&self, matrix: &CpuMatrix, vectors: &[&EncryptedVector]) -> Result<Vec<EncryptedProduct>, HmvpError> {
        let mut pass = Pass::new(self, vectors)?;
        let multiply = |(tile, matrices): (usize, &Vec<Arc<dyn Prepared>>)| pass.multiply(tile, matrices);
        for tile in matrix.tiles.par_iter().enumerate().map(multiply).collect::<Result<Vec<_>, _>>()? {
            pass.push(tile);
        }
        Ok(pass.products)
    }

    fn multiply_streamed(
        &self,
        matrix: &dyn MatrixSource,
        vectors: &[&EncryptedVector],
    ) -> Result<Vec<EncryptedProduct>, HmvpError> {
        let plan = &self.plan;
        let mut pass = Pass::new(self, vectors)?;
        for (tile, rows) in plan.algorithm().tiles().into_iter().enumerate() {
            let entries = PackedEntries::read(matrix, rows, plan.request().matrix_bits)?;
            let product = pass.multiply(tile, &prepare_tile(plan, tile, &entries)?)?;
            pass.push(product);
        }
        Ok(pass.products)
    }
}

/// Vectors ready to be multiplied, and their products as far as they are computed.
struct Pass<'a> {
    keys: &'a CpuKeys,
    /// The parts of the first vector, then those of the next one.
    vectors: Vec<Arc<dyn Prepared>>,
    products: Vec<EncryptedProduct>,
}

impl<'a> Pass<'a> {
    fn new(keys: &'a CpuKeys, vectors: &[&EncryptedVector]) -> Result<Self, HmvpError> {
        let plan = &keys.plan;
        let prepare = |part: &Vec<VectorCiphertext>| {
            let ciphertexts: Vec<Ciphertext> = part.iter().map(|c| c.ciphertext.clone()).collect();
            plan.algorithm().prepare_vector(plan.context(), &*keys.keys, &ciphertexts)
        };
        let parts: Vec<_> = vectors.iter().flat_map(|vector| &vector.parts).collect();
        let prepared = parts.into_par_iter().map(prepare).collect::<Result<_, _>>()?;
        let choice = plan.choice();
        let parts = vec![vec![Vec::new(); choice.matrix_parts.len()]; choice.vector_parts.len()];
        let product = EncryptedProduct { plan: plan.clone(), tag: keys.tag, parts };
        Ok(Self { keys, vectors: prepared, products: vec![product; vectors.len()] })
    }

    /// The ciphertexts of tile `tile`, by vector and vector part, then matrix part.
    fn multiply(&self, tile: usize, matrices: &[Arc<dyn Prepared>]) -> Result<Vec<Vec<Vec<Ciphertext>>>, BfvError> {
        let plan = &self.keys.plan;
        let matrices: Vec<&dyn Prepared> = matrices.iter().map(|matrix| &**matrix).collect();
        let vectors: Vec<&dyn Prepared> = self.vectors.iter().map(|vector| &**vector).collect();
        plan.algorithm().multiply(plan.context(), &*self.keys.keys, tile, &matrices, &vectors)
    }

    /// Appends the ciphertexts of the next tile.
    fn push(&mut self, tile: Vec<Vec<Vec<Ciphertext>>>) {
        let parts = self.products.iter_mut().flat_map(|product| &mut product.parts);
        for (part, matrices) in parts.zip(tile) {
            for (tiles, ciphertexts) in part.iter_mut().zip(matrices) {
                tiles.push(ciphertexts);
            }
        }
    }
}
