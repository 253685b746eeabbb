//! A safe type per unit: it sets the ports, gives the clock and says when a result is due.

mod dft_goldilocks;
pub mod engine_job;
pub mod engine_ring;
pub mod mod_exp;
mod mont_mul;
mod ntt_cg;
mod ntt_goldilocks;
pub mod ntt_goldilocks_shift;
pub mod paillier_engine;
mod pipeline;
mod rvfhe_lane;
mod stream;
mod tfhe_cmux;
pub mod tfhe_engine;
mod tfhe_vector;

pub use dft_goldilocks::{DftGoldilocks, DftMode};
pub use mont_mul::{MontMul, MontgomeryConstants};
pub use ntt_cg::NttCg;
pub use ntt_goldilocks::NttGoldilocks;
pub use ntt_goldilocks_shift::NttGoldilocksShift;
pub use pipeline::{Butterfly, ButterflyCtGs, Factors, ModAddSub, ModMul, Wing};
pub use rvfhe_lane::{
    LaneCopy, LaneCounters, LaneError, LaneEvent, LaneInputs, LaneInstruction, LaneOp, LaneOutputs, LaneTarget,
    RvfheLane,
};
pub use tfhe_cmux::TfheCmux;
pub use tfhe_vector::{TfheVector, WordOp};
