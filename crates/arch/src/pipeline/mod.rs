//! The macro-pipeline of the CHAM accelerator: nine stages, ping-pong and triple buffers, and a packing tree with
//! pre-emption.
//!
//! A [`PipelineMachine`] is read from TOML; [`simulate`] runs a [`Job`] on it and counts cycles. The tokens are the
//! polynomials of a real job in algorithm 1 of the paper. The model carries no values. Its products, transforms and key
//! switches equal those of `hmvp`, both by formulas ([`Counts`]) and as counted in the run. `docs/arch-pipeline.md`
//! describes the model.
//!
//! Source: X. Ren, accelerator for encrypted matrix-vector products (the CHAM paper), sections 3.1, 3.4 and 4; packing
//! by H. Chen, W. Dai, M. Kim and Y. Song, "Efficient homomorphic conversion between (ring) LWE ciphertexts".

mod cost;
mod design;
mod error;
mod explore;
mod job;
mod machine;
mod parts;
mod roofline;
mod run;
mod simulate;
mod station;
mod table3;
mod traced;
mod tree;

pub use cost::{Costs, Device, Resources};
pub use design::{Design, Units};
pub use error::PipelineError;
pub use explore::{
    CHAM_EXPLORE, DesignPoint, DesignSpace, EXPLORE_SCHEMA, Exploration, MAX_DESIGNS, MAX_SWEEP_PRODUCTS, explore,
};
pub use job::{Counts, Job, MAX_DIMENSION, MAX_PRODUCTS};
pub use machine::{
    CHAM_CIPHERMILL, CHAM_PAPER, MACHINE_SCHEMA, MAX_CLOCK_MHZ, MAX_ENGINES, MAX_LIMBS, MAX_POLYNOMIAL_SIZE,
    PipelineMachine,
};
pub use parts::{Body, BufferSpec, MAX_CYCLES, MAX_SLOTS, MAX_UNITS, Preemption, Ring, Stage, StageSpec};
pub use roofline::{
    Bound, CHAM_ROOFLINE, Kernel, Platform, ROOFLINE_SCHEMA, Roofline, RooflineMachine, RooflinePoint, roofline,
};
pub use run::{BufferUse, PipelineRun, StageUse};
pub use simulate::simulate;
pub use table3::{Printed, TABLE_3, TABLE_3_COLUMNS, Table3Row, table3, table3_records};
