//! Plans and the planner.

mod candidates;
mod choice;
mod cost;
mod explain;
mod names;
mod request;
mod search;
mod terms;

use std::ops::Range;

use ciphermill_math::Isa;

pub use explain::{Alternative, Explanation};
pub use request::{Encryption, MAX_FLOODING_BITS, MAX_SUMMANDS, PlanError, Request, Strategy};

pub(crate) use choice::{Choice, Layout};
pub(crate) use terms::Terms;

use super::{Algorithm, MatrixSource, parts};
use crate::error::HmvpError;
use crate::layout::PlanLayout;
use ciphermill_bfv::context::Context;
use ciphermill_bfv::error::{BfvError, require_length};
use ciphermill_bfv::keys::{GaloisKeys, GaloisRequest, PublicKey, SecretKey};

/// Everything that both sides of a product agree on. A pure function of the request and of nothing else, so that both
/// sides may make it themselves; or one side sends it. Plans are the same if their requests and choices are.
///
/// # Example
/// ```
/// use ciphermill_hmvp::{Plan, Request};
/// use ciphermill_math::Isa;
///
/// let plan = Plan::new(&Request::new(300, 200), Isa::current())?;
/// assert_eq!((plan.request().rows, plan.request().cols), (300, 200));
/// assert_eq!(plan.row_tiles().last().map(|tile| tile.end), Some(300));
/// assert!(!plan.galois_requests().is_empty());
/// # Ok::<(), ciphermill_hmvp::HmvpError>(())
/// ```
#[derive(Debug)]
pub struct Plan {
    terms: Terms,
    context: Context,
}

impl Plan {
    /// Picks strategy and parameters. Of all candidates within the request's bounds on failure and security, the
    /// planner takes the one whose product is fastest by [its estimate](Explanation::estimated_us).
    ///
    /// # Errors
    /// If the request is out of range, or if no admissible parameters meet it.
    ///
    /// # Example
    /// ```
    /// use ciphermill_hmvp::{Plan, Request};
    /// use ciphermill_math::Isa;
    ///
    /// let plan = Plan::new(&Request::new(1024, 256), Isa::current())?;
    /// let explanation = plan.explain();
    /// assert!(explanation.security_bits >= 128.0 && explanation.log2_failure <= -64.0);
    /// assert_eq!(plan.strategy().name(), "row-packed");
    /// # Ok::<(), ciphermill_hmvp::HmvpError>(())
    /// ```
    pub fn new(request: &Request, isa: Isa) -> Result<Self, HmvpError> {
        Self::on_terms(Terms::find(request)?, isa)
    }

    /// A plan with its tables.
    pub(crate) fn on_terms(terms: Terms, isa: Isa) -> Result<Self, HmvpError> {
        let context = Context::new(&terms.choice().parameters, isa)?;
        Ok(Self { terms, context })
    }

    /// The request.
    pub fn request(&self) -> &Request {
        self.terms.request()
    }

    /// The strategy.
    pub fn strategy(&self) -> Strategy {
        self.choice().strategy()
    }

    /// The parameter set with its tables.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The Galois keys that the server needs.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let plan = Plan::new(&Request::new(300, 200), Isa::current())?;
    /// # let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
    /// let galois = GaloisKeys::generate(&secret, &plan.galois_requests())?;
    /// assert!(plan.require_galois_keys(&galois).is_ok());
    /// let none = GaloisKeys::generate(&secret, &[])?;
    /// assert!(plan.require_galois_keys(&none).is_err(), "keys are missing");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn galois_requests(&self) -> Vec<GaloisRequest> {
        self.algorithm().galois_requests()
    }

    /// The costs of the choice and the reasons for it.
    pub fn explain(&self) -> Explanation {
        explain::explain(&self.terms)
    }

    /// Estimated microseconds of a product on one thread. The constants of the estimate are those of one machine.
    pub fn estimated_us(&self) -> f64 {
        cost::product_us(self.choice(), self.algorithm())
    }

    /// The layout of vectors, matrices and products in ciphertexts.
    pub fn layout(&self) -> PlanLayout<'_> {
        self.algorithm().layout()
    }

    /// Bits of the parts of a matrix entry, lowest part first. Part i of an entry is at most 2^(b_i − 1) in magnitude and
    /// counts 2^(b_0 + … + b_(i−1)).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let plan = Plan::new(&Request { matrix_bits: 16, ..Request::new(2, 3) }, Isa::current())?;
    /// assert_eq!(plan.matrix_parts().iter().sum::<u32>(), 16);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn matrix_parts(&self) -> &[u32] {
        &self.choice().matrix_parts
    }

    /// Bits of the parts of a vector entry, as [`matrix_parts`](Self::matrix_parts).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let unsplit = Request { unsplit: true, vector_bits: 12, ..Request::new(2, 3) };
    /// assert_eq!(Plan::new(&unsplit, Isa::current())?.vector_parts(), [12]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn vector_parts(&self) -> &[u32] {
        &self.choice().vector_parts
    }

    /// Reads part `part` of row `row` of a matrix.
    ///
    /// # Panics
    /// If the matrix has no such row, the plan has no such part, or `out` has not as many entries as the matrix has
    /// columns.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let plan = Plan::new(&Request { matrix_bits: 16, ..Request::new(2, 3) }, Isa::current())?;
    /// let (mut row, mut entry, mut shift) = ([0i64; 3], 0i64, 0u32);
    /// for (part, bits) in plan.matrix_parts().iter().enumerate() {
    ///     plan.read_matrix_part(&dense, 1, part, &mut row);
    ///     entry += row[2] << shift;
    ///     shift += bits;
    /// }
    /// assert_eq!(entry, 6, "the parts add up to the entry");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_matrix_part(&self, matrix: &dyn MatrixSource, row: usize, part: usize, out: &mut [i64]) {
        assert!(part < self.matrix_parts().len(), "part {part} of {}", self.matrix_parts().len());
        matrix.read_row(row, out);
        if self.matrix_parts().len() > 1 {
            parts::take_part(out, self.matrix_parts(), part);
        }
    }

    /// The row tiles: consecutive, not empty, covering all rows. Each has its own ciphertexts in a product.
    pub fn row_tiles(&self) -> Vec<Range<usize>> {
        self.algorithm().tiles()
    }

    /// The number of ciphertexts of one part of a vector.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// for part in 0..plan.vector_parts().len() {
    ///     assert_eq!(vector.ciphertexts(part).len(), plan.vector_ciphertexts());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn vector_ciphertexts(&self) -> usize {
        self.algorithm().vector_len()
    }

    /// The number of limbs of a vector's ciphertexts.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert!(vector.ciphertexts(0).all(|ciphertext| ciphertext.limb_count() == plan.vector_limbs()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn vector_limbs(&self) -> usize {
        self.algorithm().vector_limbs()
    }

    /// The number of ciphertexts of row tile `tile` of the product of one vector part and one matrix part.
    ///
    /// # Panics
    /// If the plan has no such tile.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let product = keys.multiply(&matrix, &vector)?;
    /// for tile in 0..plan.row_tiles().len() {
    ///     assert_eq!(product.ciphertexts(0, 0, tile).len(), plan.product_ciphertexts(tile));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn product_ciphertexts(&self, tile: usize) -> usize {
        let tiles = self.algorithm().tiles().len();
        assert!(tile < tiles, "tile {tile} of {tiles}");
        self.algorithm().product_len(tile)
    }

    /// The number of limbs of a product's ciphertexts.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let product = keys.multiply(&matrix, &vector)?;
    /// assert!(product.ciphertexts(0, 0, 0).iter().all(|ciphertext| ciphertext.limb_count() == plan.product_limbs()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn product_limbs(&self) -> usize {
        self.algorithm().product_limbs()
    }

    /// Checks that Galois keys are of this plan's parameter set, complete, and in the decompositions that the plan asks
    /// for. Engines call it before they prepare keys.
    ///
    /// # Errors
    /// [`HmvpError::Scheme`]. If keys are missing, the error lists all of them.
    pub fn require_galois_keys(&self, keys: &GaloisKeys) -> Result<(), HmvpError> {
        self.context.require_parameters("the Galois keys", keys.parameter_id())?;
        let requests = self.galois_requests();
        keys.require(requests.iter().map(|request| request.element))?;
        for GaloisRequest { element, gadget } in requests {
            let given = keys.get(element).map(|key| key.gadget());
            if given != Some(gadget) {
                let what = format!(
                    "the Galois key of element {element} has the decomposition {given:?}, the plan asks for {gadget:?}; \
                     generate the keys that the plan lists"
                );
                return Err(BfvError::Unsupported { what }.into());
            }
        }
        Ok(())
    }

    /// Checks that a matrix has the plan's dimensions. Engines call it before they read a matrix.
    ///
    /// # Errors
    /// [`HmvpError::Scheme`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert!(plan.require_matrix(&dense).is_ok());
    /// assert!(plan.require_matrix(&DenseMatrix::new(1, 3, vec![1, 2, 3])?).is_err(), "the plan is for two rows");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn require_matrix(&self, matrix: &dyn MatrixSource) -> Result<(), HmvpError> {
        require_length("number of rows of the matrix", matrix.rows(), self.request().rows)?;
        Ok(require_length("number of columns of the matrix", matrix.cols(), self.request().cols)?)
    }

    /// The choice.
    pub(crate) fn choice(&self) -> &Choice {
        self.terms.choice()
    }

    /// The plan without its tables.
    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The strategy at work.
    pub(crate) fn algorithm(&self) -> &dyn Algorithm {
        self.terms.algorithm()
    }

    /// log2 of the noise at which an entry of a product decrypts wrongly, Q/(2t) for the product's Q.
    pub(crate) fn noise_limit_bits(&self) -> f64 {
        self.terms.limit_bits()
    }

    /// log2 of the expected standard deviation of the noise of an entry; for an unsplit plan with that of re-randomising.
    pub(crate) fn noise_bits(&self) -> f64 {
        self.terms.judgement().noise_bits
    }

    /// An error unless `key` is of this plan's parameters.
    pub(crate) fn require_key(&self, key: &SecretKey) -> Result<(), BfvError> {
        self.context.require_parameters("the secret key", key.context().parameters().id())
    }

    /// An error unless `key` is of this plan's parameters.
    pub(crate) fn require_public_key(&self, key: &PublicKey) -> Result<(), BfvError> {
        self.context.require_parameters("the public key", key.context().parameters().id())
    }

    /// An error unless the plan has room for the noise of public-key encryption.
    pub(crate) fn require_public_encryption(&self) -> Result<(), HmvpError> {
        if self.request().encryption == Encryption::Public {
            return Ok(());
        }
        Err(BfvError::Unsupported {
            what: "encryption under the public key by a plan for encryption under the secret key, which has room for less \
                   noise; ask for a plan with public-key encryption"
                .to_owned(),
        }.into())
    }

    /// An error unless `other`, the plan of `what`, says the same as this one.
    pub(crate) fn require_same(&self, what: &'static str, other: &Plan) -> Result<(), HmvpError> {
        let same = std::ptr::eq(self, other) || self.terms.agree(&other.terms);
        if same { Ok(()) } else { Err(HmvpError::WrongPlan { what }) }
    }

    /// An error unless `other` says the same for the same instruction set: the prepared forms of different ones do not
    /// go together.
    pub(crate) fn require_same_isa(&self, what: &'static str, other: &Plan) -> Result<(), HmvpError> {
        if self.context.isa() == other.context.isa() {
            self.require_same(what, other)
        } else {
            Err(HmvpError::WrongPlan { what })
        }
    }
}
