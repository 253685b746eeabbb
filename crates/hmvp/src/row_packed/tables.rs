//! Tables of a context's primes for one layout.

use std::sync::Arc;

use ciphermill_lattice::rns::RnsBasisError;
use ciphermill_math::products::{MatrixBlock, OrbitOrder, ProductKernels, SumBlock, VectorBlock};

use super::digits::Digits;
use super::layout::Layout;
use super::recycle::Recycler;
use super::scratch::{ColumnTile, GiantScratch, VectorScratch};
use ciphermill_bfv::context::Context;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::keyswitch::Gadget;

/// How many unused objects of each kind are kept.
const MAX_IDLE: usize = 4;

/// One prime of the chain.
#[derive(Clone, Debug)]
pub(super) struct LimbTables {
    pub(super) kernels: ProductKernels,
    pub(super) order: OrbitOrder,
}

/// The chain: the primes of ciphertexts, whose product is Q, then the special ones, whose product is S.
#[derive(Debug)]
pub(super) struct Tables {
    context: Context,
    pub(super) limbs: Vec<LimbTables>,
    pub(super) baby_digits: Digits,
    pub(super) giant_digits: Digits,
    /// 1/P modulo the primes of ciphertexts.
    pub(super) inverse: Vec<u64>,
    /// S modulo the primes of ciphertexts.
    pub(super) special: Vec<u64>,
    pub(super) matrices: Arc<Recycler<Vec<MatrixBlock>>>,
    pub(super) vectors: Arc<Recycler<Vec<ColumnTile>>>,
    pub(super) columns: Arc<Recycler<Vec<VectorBlock>>>,
    pub(super) sums: Arc<Recycler<Vec<Vec<SumBlock>>>>,
    pub(super) vector_scratch: Arc<Recycler<VectorScratch>>,
    pub(super) giant_scratch: Arc<Recycler<GiantScratch>>,
}

impl Tables {
    pub(super) fn new(
        context: &Context,
        layout: &Layout,
        baby_gadget: Gadget,
        giant_gadget: Gadget,
    ) -> Result<Self, BfvError> {
        let limbs = context.chain().limbs().iter().map(|limb| {
            let kernels = ProductKernels::new(limb.modulus(), context.isa()).map_err(RnsBasisError::from)?;
            Ok(LimbTables { kernels, order: OrbitOrder::new(limb.engine(), layout.step()) })
        });
        let basis = context.basis(context.top());
        Ok(Self {
            context: context.clone(),
            limbs: limbs.collect::<Result<_, BfvError>>()?,
            baby_digits: Digits::new(context, baby_gadget)?,
            giant_digits: Digits::new(context, giant_gadget)?,
            inverse: basis.inverse_residues(&layout.divisor().into()).expect("a power of two modulo odd primes"),
            special: basis.residues(&context.special_product()),
            matrices: Recycler::new(MAX_IDLE),
            vectors: Recycler::new(MAX_IDLE),
            columns: Recycler::new(MAX_IDLE),
            sums: Recycler::new(MAX_IDLE),
            vector_scratch: Recycler::new(MAX_IDLE),
            giant_scratch: Recycler::new(MAX_IDLE),
        })
    }

    /// Whether they serve `context`.
    pub(super) fn serve(&self, context: &Context) -> bool {
        self.context.same_engines(context)
    }
}

/// Calls `f` for every item, on several threads of the current pool if `threads` is more than 1.
pub(super) fn for_each<T: Send>(threads: usize, items: impl IntoIterator<Item = T> + Send, f: impl Fn(T) + Sync) {
    if threads > 1 {
        rayon::scope(|scope| {
            for item in items {
                let f = &f;
                scope.spawn(move |_| f(item));
            }
        });
    } else {
        items.into_iter().for_each(f);
    }
}
