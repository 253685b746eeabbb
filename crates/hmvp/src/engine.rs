//! Who computes.

use std::fmt;
use std::sync::Arc;

use ciphermill_lattice::KeyTag;
use rayon::prelude::*;

use super::entries::PackedEntries;
use super::matrix::{prepare_tile, require_source};
use super::vector::VectorCiphertext;
use super::{EncryptedProduct, EncryptedVector, MatrixSource, PlainMatrix, Plan, Prepared};
use crate::error::HmvpError;
use ciphermill_bfv::ciphertext::Ciphertext;
use ciphermill_bfv::encryption::require_tag;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::keys::GaloisKeys;

/// The Galois keys of one client in the form in which a plan uses them.
pub struct EvaluationKeys {
    plan: Arc<Plan>,
    tag: KeyTag,
    keys: Arc<dyn Prepared>,
}

impl fmt::Debug for EvaluationKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvaluationKeys").field("tag", &self.tag).finish_non_exhaustive()
    }
}

impl EvaluationKeys {
    /// Prepares `keys` for `plan`.
    ///
    /// # Errors
    /// If they are of other parameters, some are missing (all of them are listed), or one has another decomposition than
    /// the plan asks for.
    pub fn prepare(plan: &Arc<Plan>, keys: &GaloisKeys) -> Result<Self, HmvpError> {
        let context = plan.context();
        context.require_parameters("the Galois keys", keys.parameter_id())?;
        let requests = plan.galois_requests();
        keys.require(requests.iter().map(|request| request.element))?;
        for request in requests {
            let given = keys.get(request.element).map(|key| key.gadget());
            if given != Some(request.gadget) {
                let (element, wanted) = (request.element, request.gadget);
                return Err(BfvError::Unsupported {
                    what: format!(
                        "the Galois key of element {element} has the decomposition {given:?}, the plan asks for \
                         {wanted:?}; generate the keys that the plan lists"
                    ),
                }
                .into());
            }
        }
        let prepared = plan.algorithm().prepare_keys(context, keys)?;
        Ok(Self { plan: plan.clone(), tag: keys.tag(), keys: prepared })
    }

    /// Their plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Their key set.
    pub fn tag(&self) -> KeyTag {
        self.tag
    }
}

/// Computes products: the kernel seam for matrix-vector accelerators.
pub trait MatVecEngine: Send + Sync + fmt::Debug {
    /// Its name, for reports.
    fn name(&self) -> &'static str;

    /// The product of one matrix with each of `vectors`, in one pass over the matrix.
    ///
    /// # Errors
    /// If the arguments are of different plans or keys; nothing partial is returned.
    fn multiply(
        &self,
        keys: &EvaluationKeys,
        matrix: &PlainMatrix,
        vectors: &[&EncryptedVector],
    ) -> Result<Vec<EncryptedProduct>, HmvpError>;

    /// The same for a matrix that is not prepared and need not fit into memory: row tile by row tile, of which one at a time
    /// is held.
    ///
    /// # Errors
    /// As [`multiply`](Self::multiply), and as [`PlainMatrix::prepare`].
    fn multiply_streamed(
        &self,
        keys: &EvaluationKeys,
        matrix: &dyn MatrixSource,
        vectors: &[&EncryptedVector],
    ) -> Result<Vec<EncryptedProduct>, HmvpError>;
}

/// The CPU: the threads of the current rayon pool.
#[derive(Clone, Debug, Default)]
pub struct CpuEngine {
    _private: (),
}

impl CpuEngine {
    /// The engine; it keeps nothing between products.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Vectors ready to be multiplied, and the places of their products.
struct Pass<'a> {
    keys: &'a EvaluationKeys,
    /// The parts of the first vector, then those of the next one.
    vectors: Vec<Arc<dyn Prepared>>,
    products: Vec<EncryptedProduct>,
}

impl<'a> Pass<'a> {
    fn new(keys: &'a EvaluationKeys, vectors: &[&EncryptedVector]) -> Result<Self, HmvpError> {
        let plan = &keys.plan;
        for vector in vectors {
            plan.require_same("the vector", &vector.plan)?;
            require_tag("the vector", vector.tag, keys.tag)?;
        }
        let prepare = |part: &Vec<VectorCiphertext>| {
            let ciphertexts: Vec<Ciphertext> = part.iter().map(|c| c.ciphertext.clone()).collect();
            plan.algorithm().prepare_vector(plan.context(), &*keys.keys, &ciphertexts)
        };
        let parts: Vec<_> = vectors.iter().flat_map(|vector| &vector.parts).collect();
        let prepared = parts.into_par_iter().map(prepare).collect::<Result<_, _>>()?;
        let choice = plan.choice();
        let places = vec![vec![Vec::new(); choice.matrix_parts.len()]; choice.vector_parts.len()];
        let product = EncryptedProduct { plan: plan.clone(), tag: keys.tag, parts: places };
        Ok(Self { keys, vectors: prepared, products: vec![product; vectors.len()] })
    }

    /// The ciphertexts of tile `tile`, by vector and vector part, then matrix part.
    fn multiply(&self, tile: usize, matrices: &[Arc<dyn Prepared>]) -> Result<Vec<Vec<Vec<Ciphertext>>>, BfvError> {
        let plan = &self.keys.plan;
        let matrices: Vec<&dyn Prepared> = matrices.iter().map(|matrix| &**matrix).collect();
        let vectors: Vec<&dyn Prepared> = self.vectors.iter().map(|vector| &**vector).collect();
        plan.algorithm().multiply(plan.context(), &*self.keys.keys, tile, &matrices, &vectors)
    }

    /// Takes the ciphertexts of the next tile.
    fn push(&mut self, tile: Vec<Vec<Vec<Ciphertext>>>) {
        let places = self.products.iter_mut().flat_map(|product| &mut product.parts);
        for (place, matrices) in places.zip(tile) {
            for (tiles, ciphertexts) in place.iter_mut().zip(matrices) {
                tiles.push(ciphertexts);
            }
        }
    }
}

impl MatVecEngine for CpuEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn multiply(
        &self,
        keys: &EvaluationKeys,
        matrix: &PlainMatrix,
        vectors: &[&EncryptedVector],
    ) -> Result<Vec<EncryptedProduct>, HmvpError> {
        keys.plan.require_same_isa("the matrix", matrix.plan())?;
        if vectors.is_empty() {
            return Ok(Vec::new());
        }
        let mut pass = Pass::new(keys, vectors)?;
        let multiply = |(tile, matrices): (usize, &Vec<Arc<dyn Prepared>>)| pass.multiply(tile, matrices);
        for tile in matrix.tiles.par_iter().enumerate().map(multiply).collect::<Result<Vec<_>, _>>()? {
            pass.push(tile);
        }
        Ok(pass.products)
    }

    fn multiply_streamed(
        &self,
        keys: &EvaluationKeys,
        matrix: &dyn MatrixSource,
        vectors: &[&EncryptedVector],
    ) -> Result<Vec<EncryptedProduct>, HmvpError> {
        let plan = &keys.plan;
        require_source(plan, matrix)?;
        if vectors.is_empty() {
            return Ok(Vec::new());
        }
        let mut pass = Pass::new(keys, vectors)?;
        for (tile, rows) in plan.algorithm().tiles().into_iter().enumerate() {
            let entries = PackedEntries::read(matrix, rows, plan.request().matrix_bits)?;
            let product = pass.multiply(tile, &prepare_tile(plan, tile, &entries)?)?;
            pass.push(product);
        }
        Ok(pass.products)
    }
}
