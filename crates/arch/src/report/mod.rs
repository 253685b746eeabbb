//! Reports: what runs of the models say, beside their bounds and beside what papers print. Pure functions; whoever calls them
//! prints or plots.
//!
//! A [`Workload`] names what an array does; [`measure`] runs it. All figures carry a [`Label`](crate::record::Label).

mod error;
mod run;
mod workload;

pub use error::ReportError;
pub use run::{Line, Plan, RunReport, measure};
pub use workload::{DEFAULT_MODULUS, MAX_POLYNOMIAL_SIZE, Operation, Workload};
