//! Encrypted matrix-vector products u = A·v: A is plain and stays with the server, v and u are encrypted.
//!
//! A [`Plan`] fixes everything that both sides must agree on: the [`Strategy`], the parameter set, how entries are split,
//! tiled and laid out, and which Galois keys are needed. The client encrypts an [`EncryptedVector`]. The server's
//! [`HmvpEngine`] prepares the keys and the matrix once and multiplies. The client decrypts the [`EncryptedProduct`].
//!
//! ```text
//! Request ── Plan ──┬── SecretKey ── GaloisKeys (plan.galois_requests()) ── engine.prepare ── PreparedKeys ─┐
//!                   ├── EncryptedVector ─────────────────────────────────────────────────────────────────┼── run ── EncryptedProduct
//!                   └── DenseMatrix or PlainMatrix ── engine.prepare_matrix ── MatrixHandle ──────────────┘
//! ```
//!
//! Some examples share a hidden start: the `plan` of a product of a 2×3 matrix, the key `secret`, the generator `rng`, the
//! encrypted `vector` (1, 0, −1), the matrix `dense` with the entries 1 to 6, and on the CPU's `engine` the prepared
//! `keys` and `matrix`.

mod algorithm1;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod conv;
pub mod conv2d;
pub mod conv3d;
mod diagonal;
pub mod engine;
mod entries;
pub mod error;
pub mod layout;
mod matrix;
mod parts;
mod plan;
mod product;
mod rotate_and_sum;
mod row_packed;
pub(crate) mod serial;
mod slots;
mod source;
pub mod two_party;
mod vector;

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub use engine::{CpuEngine, HmvpEngine, Job, MatrixHandle, Output, PreparedKeys, PreparedMatrix};
pub use error::HmvpError;
pub use matrix::PlainMatrix;
pub use plan::{
    Alternative, Encryption, Explanation, MAX_FLOODING_BITS, MAX_SUMMANDS, Plan, PlanError, Request, Strategy,
};
pub use product::EncryptedProduct;
pub use serial::{ObjectHead, SealedMatrix};
pub use source::{DenseMatrix, MatrixSource};
pub use vector::EncryptedVector;

pub(crate) use vector::{VectorCiphertext, encrypt_part};

use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::context::Context;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::keys::{GaloisKeys, GaloisRequest};
use ciphermill_bfv::noise;
use ciphermill_bfv::parameters::ParameterSpec;
use layout::PlanLayout;

/// The plain definitions of the strategies.
pub mod reference {
    pub use crate::algorithm1::reference as algorithm1;
    pub use crate::row_packed::reference as row_packed;
}

/// Memory that a prepared matrix may occupy by default, in bytes.
pub const MAX_PREPARED_BYTES: u64 = 8 << 30;

/// The greatest number of rows or columns.
pub const MAX_DIMENSION: usize = 16384;

/// One strategy for one plan: the part of a product that depends on the layout. The plan splits wide entries into
/// *parts*; a strategy handles one part of the matrix and one part of the vector, and the callers combine the results.
/// The rows of a matrix are cut into *row tiles*. Each tile is prepared and multiplied separately and has its own
/// ciphertexts in the product, so that a matrix larger than memory can be streamed.
///
/// A client encodes and decodes, a server prepares and multiplies. Work is spread over the current rayon pool.
pub(crate) trait Algorithm: Send + Sync + fmt::Debug {
    /// The automorphisms that [`multiply`](Self::multiply) needs keys for.
    fn galois_requests(&self) -> Vec<GaloisRequest>;

    /// The plaintexts of one part of a vector (`cols` entries), in the order in which
    /// [`prepare_vector`](Self::prepare_vector) takes their ciphertexts.
    fn encode_vector(&self, context: &Context, values: &[i64]) -> Result<Vec<Plaintext>, BfvError>;

    /// Limbs at which vectors are encrypted.
    fn vector_limbs(&self) -> usize;

    /// How many ciphertexts a part of a vector has.
    fn vector_len(&self) -> usize;

    /// The row tiles: consecutive, not empty, covering all rows.
    fn tiles(&self) -> Vec<Range<usize>>;

    /// How many ciphertexts tile `tile` of a part of a product has.
    fn product_len(&self, tile: usize) -> usize;

    /// Limbs of the ciphertexts of a product.
    fn product_limbs(&self) -> usize;

    /// Brings one row tile of one part of a matrix into the form in which it multiplies. `read` gives row i of the matrix
    /// part, counted from its first row (not the tile's).
    fn prepare(&self, context: &Context, tile: usize, read: &RowReader<'_>) -> Result<Arc<dyn Prepared>, BfvError>;

    /// Brings the Galois keys into the form in which they multiply. They have been checked to be of this context and
    /// complete.
    fn prepare_keys(&self, context: &Context, keys: &GaloisKeys) -> Result<Arc<dyn Prepared>, BfvError>;

    /// Prepares one part of a vector for the products with all tiles and parts of a matrix (baby steps). The caller has
    /// checked that the ciphertexts belong to this plan.
    fn prepare_vector(
        &self,
        context: &Context,
        keys: &dyn Prepared,
        vector: &[Ciphertext],
    ) -> Result<Arc<dyn Prepared>, BfvError>;

    /// The product of tile `tile` of every matrix part with every vector part, in one pass over the matrix: for each
    /// vector, for each matrix, the ciphertexts.
    fn multiply(
        &self,
        context: &Context,
        keys: &dyn Prepared,
        tile: usize,
        matrices: &[&dyn Prepared],
        vectors: &[&dyn Prepared],
    ) -> Result<Vec<Vec<Vec<Ciphertext>>>, BfvError>;

    /// The entries of tile `tile`, in [−⌊t/2⌋, ⌊(t−1)/2⌋] modulo t, from its decrypted ciphertexts.
    fn decode_product(&self, context: &Context, tile: usize, plaintexts: &[Plaintext]) -> Result<Vec<i64>, BfvError>;

    /// The places of ciphertext `ciphertext` of tile `tile` that hold entries, as (place, row of the tile): coefficients,
    /// or slots if [`batched`](Self::batched). All other places hold other functions of the matrix.
    fn product_places(&self, tile: usize, ciphertext: usize) -> Vec<(usize, usize)>;

    /// The layout, for engines outside this crate.
    fn layout(&self) -> PlanLayout<'_>;

    /// The greatest magnitude of an entry of a matrix part that [`prepare`](Self::prepare) has room for.
    fn max_entry(&self) -> u64 {
        u64::MAX
    }

    /// Whether entries are in slots.
    fn batched(&self) -> bool;

    /// The costs of the product of one matrix part and one vector part.
    fn costs(&self) -> Costs;

    /// The share of the costs that a vector part causes once for all parts of a matrix: key switches, transforms,
    /// words.
    fn shared_costs(&self) -> Costs {
        Costs::default()
    }

    /// The standard deviation of the noise of one entry of a product, as an integer modulo the product's Q, over the
    /// randomness of keys and encryption. For slots it is that of the worst coefficient. The matrix is the worst one,
    /// so that a failure probability holds for every matrix.
    fn noise_std_dev(&self, operands: &Operands) -> f64;
}

/// Gives row i of a matrix part.
pub(crate) type RowReader<'a> = dyn Fn(usize, &mut [i64]) + Sync + 'a;

/// The properties of the operands that determine the noise of a product, in addition to the parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operands {
    /// Entries of a matrix part are at most 2^(matrix_bits−1) in magnitude, of either sign.
    pub(crate) matrix_bits: u32,
    /// Who encrypts.
    pub(crate) encryption: Encryption,
    /// The encryptions that a vector is the sum of.
    pub(crate) summands: u32,
}

impl Operands {
    /// Variance of a coefficient of a vector's ciphertexts.
    pub(crate) fn vector_variance(&self, spec: &ParameterSpec) -> f64 {
        f64::from(self.summands) * noise::fresh_variance(spec, self.encryption)
    }
}

/// Counts for one matrix part and one vector part, over all tiles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Costs {
    /// Products of a plaintext and a ciphertext.
    pub(crate) plain_products: u64,
    /// Key switches that share their digits with others.
    pub(crate) hoisted_key_switches: u64,
    /// The other key switches.
    pub(crate) key_switches: u64,
    /// Transforms of N words during a product.
    pub(crate) ntts: u64,
    /// Transforms of N words to prepare the matrix.
    pub(crate) prepare_ntts: u64,
    /// 64-bit words read during a product: the matrix, and the keys.
    pub(crate) words: u64,
    /// Bytes of the prepared matrix.
    pub(crate) matrix_bytes: u64,
    /// Bytes of the prepared keys.
    pub(crate) key_bytes: u64,
}

/// What only the strategy that made it can read: downcast it with [`Any`].
pub(crate) trait Prepared: Any + Send + Sync {}
impl<T: Any + Send + Sync> Prepared for T {}

/// The result of a strategy's `prepare` or `prepare_keys`.
pub(crate) fn prepared<T: Any>(object: &dyn Prepared) -> &T {
    let object: &dyn Any = object;
    object.downcast_ref().expect("prepared by the same strategy")
}
