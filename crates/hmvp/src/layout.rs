//! The layouts of entries in ciphertexts, as an engine needs them.
//!
//! [`Plan::layout`](crate::Plan::layout) returns the layout of a plan. The modules of [`reference`](crate::reference)
//! define the computations on it.

use ciphermill_bfv::keyswitch::Gadget;

pub use crate::row_packed::layout::{Layout as RowPackedLayout, Tile as RowPackedTile};
pub use crate::slots::{Layout as SlotLayout, SumStep, rotation_element};

/// The layout of a plan, by strategy. All sizes are for one part of a matrix and one part of a vector.
///
/// # Example
/// ```
/// use ciphermill_hmvp::{Plan, Request, Strategy, layout::PlanLayout};
/// use ciphermill_math::Isa;
///
/// let request = Request { strategy: Some(Strategy::Algorithm1), ..Request::new(64, 100) };
/// let plan = Plan::new(&request, Isa::current())?;
/// assert!(matches!(plan.layout(), PlanLayout::Algorithm1 { .. }));
/// # Ok::<(), ciphermill_hmvp::HmvpError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PlanLayout<'a> {
    /// The paper's algorithm 1.
    Algorithm1 {
        /// Rows of a tile, a power of two up to N; the last tile may have fewer. Row i of a tile with 2^l places is at the
        /// coefficient i·N/2^l.
        tile_rows: usize,
    },
    /// Entries in slots: rotate and sum (one diagonal, one baby step), or diagonals with baby and giant steps.
    Slots {
        /// The places of entries.
        layout: &'a SlotLayout,
        /// B, a power of two: rotations of the vector by 0 to B − 1. The sums of the giant steps are rotated by multiples of B.
        babies: usize,
        /// The steps that add up the slots of an entry.
        sums: &'a [SumStep],
    },
    /// Many rows per plaintext.
    RowPacked {
        /// The places of entries, and the baby and giant steps.
        layout: &'a RowPackedLayout,
        /// The digits of the baby steps.
        baby_gadget: Gadget,
        /// The digits of the giant steps.
        giant_gadget: Gadget,
    },
}
