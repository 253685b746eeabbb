//! What a context's primes need for one layout.

use ciphermill_lattice::rns::RnsBasisError;
use ciphermill_math::Isa;
use ciphermill_math::products::{OrbitOrder, ProductKernels};

use num_bigint::BigInt;

use super::layout::Layout;
use crate::context::Context;
use crate::error::BfvError;

/// One prime of the chain.
#[derive(Clone, Debug)]
pub(super) struct LimbTables {
    pub(super) kernels: ProductKernels,
    pub(super) order: OrbitOrder,
}

/// The chain: the primes of ciphertexts, whose product is Q, then the special ones, whose product is S.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    isa: Isa,
    pub(super) limbs: Vec<LimbTables>,
    /// 1/P modulo the primes of ciphertexts.
    pub(super) inverse: Vec<u64>,
    /// S modulo the primes of ciphertexts.
    pub(super) special: Vec<u64>,
}

impl Tables {
    pub(super) fn new(context: &Context, layout: &Layout) -> Result<Self, BfvError> {
        let isa = context.isa();
        let limbs = context.chain().limbs().iter().map(|limb| {
            let kernels = ProductKernels::new(limb.modulus(), isa).map_err(RnsBasisError::from)?;
            Ok(LimbTables { kernels, order: OrbitOrder::new(limb.engine(), layout.step()) })
        });
        let basis = context.basis(context.top());
        let special: BigInt = context.parameters().special_moduli.iter().map(|&p| BigInt::from(p)).product();
        Ok(Self {
            isa,
            limbs: limbs.collect::<Result<_, BfvError>>()?,
            inverse: basis.inverse_residues(&layout.divisor().into()).expect("a power of two modulo odd primes"),
            special: basis.residues(&special),
        })
    }

    /// The instruction set that they are for.
    pub(super) fn isa(&self) -> Isa {
        self.isa
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
