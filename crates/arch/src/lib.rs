//! Cycle models of the accelerators in the papers, and reports that compare them with the published figures.
//!
//! | module | content |
//! | --- | --- |
//! | [`mod@array`] | the RVFHE array of cores, cycle by cycle, with all values |
//! | [`paillier_engine`] | the Paillier engine of `hw/rtl`, cycle by cycle, without values |
//! | [`tfhe_engine`] | the TFHE engine of `hw/rtl`: its microprogram and the cost of its jobs |
//! | `engines` (feature) | engines of the kernel seams with the costs of these two |
//! | [`pipeline`] | the macro-pipeline of the CHAM accelerator |
//! | [`scalar`] | the scalar Rocket core that the array is compared with |
//! | [`report`] | runs, ablations, sweeps, rooflines and energy of the array and the scalar core |
//! | [`record`], [`trace`] | the formats of figures and of traces |
//!
//! The models share no code beyond descriptions, records and traces; `tests/module_boundaries.rs` enforces this.

pub mod array;
mod description;
#[cfg(feature = "engines")]
pub mod engines;
pub mod paillier_engine;
pub mod pipeline;
pub mod record;
pub mod report;
pub mod scalar;
pub mod tfhe_engine;
pub mod trace;
