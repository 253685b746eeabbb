//! The hardware units of `hw/rtl`, simulated by Verilator, behind safe Rust types.
//!
//! [`engines`] are engines of the kernel seams. [`model`] knows ports and clocks and nothing of arithmetic; [`units`] has a type per unit that speaks its protocol and
//! counts its cycles. Which configurations exist is decided when the crate is built (see its `build.rs` and
//! `hw/units.toml`): [`configurations`] lists those of a unit.

pub mod axi_memory;
pub mod engines;
pub mod model;
pub mod record;
pub mod units;

pub use model::{Configuration, Model, ModelError, configurations};
