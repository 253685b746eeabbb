//! Galois keys of rotations in the form in which they multiply.

use std::collections::BTreeMap;
use std::sync::Arc;

use ciphermill_lattice::KeyTag;
use ciphermill_math::products::KeyBlock;

use super::SlotRing;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::keys::GaloisKeys;

/// g = 3^`steps` mod 2N: σ_g rotates both rows of slots by `steps` to the left.
///
/// # Example
/// ```
/// use ciphermill_hmvp::layout::rotation_element;
///
/// assert_eq!([1, 2, 3].map(|steps| rotation_element(4096, steps)), [3, 9, 27]);
/// ```
pub fn rotation_element(n: usize, steps: usize) -> usize {
    let turn = 2 * n;
    let (mut g, mut square, mut rest) = (1, 3 % turn, steps % (n / 2));
    while rest > 0 {
        if rest % 2 == 1 {
            g = g * square % turn;
        }
        square = square * square % turn;
        rest /= 2;
    }
    g
}

/// Keys by the columns that they rotate by.
pub(crate) struct SlotKeys {
    pub(crate) ring: Arc<SlotRing>,
    pub(crate) tag: KeyTag,
    /// One block per limb of the extended basis.
    blocks: BTreeMap<usize, Vec<KeyBlock>>,
}

impl SlotKeys {
    /// The keys for `rotations`.
    ///
    /// # Errors
    /// If one is missing or has another gadget than the parameter set.
    pub(crate) fn prepare(ring: Arc<SlotRing>, rotations: &[usize], keys: &GaloisKeys) -> Result<Self, BfvError> {
        let context = &ring.context;
        let element = |steps: &usize| rotation_element(context.n(), *steps);
        keys.require(rotations.iter().map(element))?;
        let mut blocks = BTreeMap::new();
        for &steps in rotations {
            let key = keys.get(element(&steps)).expect("keys were required");
            if key.gadget() != context.parameters().gadget {
                let (given, needed) = (key.gadget(), context.parameters().gadget);
                let what =
                    format!("a Galois key with digits {given:?}; generate keys with those of the plan, {needed:?}");
                return Err(BfvError::Unsupported { what });
            }
            blocks.insert(steps, ring.key_blocks(key));
        }
        Ok(Self { ring, tag: keys.tag(), blocks })
    }

    /// The key for a rotation by `steps`, by limb.
    pub(super) fn get(&self, steps: usize) -> &[KeyBlock] {
        &self.blocks[&steps]
    }
}
