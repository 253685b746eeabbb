//! Reports: results of the models, next to their bounds and the published figures.
//!
//! All functions are pure; the caller prints or plots. A [`Workload`] names a task of the array, and [`measure`] runs
//! it. Every figure carries a [`Label`](crate::record::Label).

mod ablation;
mod axis;
mod base;
mod energy;
mod energy_table;
mod error;
mod programs;
mod published;
mod roofline;
mod run;
mod slices;
mod sweep;
mod workload;

pub use ablation::{
    ABLATION_IN_FLIGHT, Ablation, CALIBRATION, FFT_BUTTERFLIES, FftExperiment, PRINTED, PRINTED_FFT, SingleCore,
    SizeAblation, Stage, ablate, fft_experiments,
};
pub use axis::{Axis, MAX_POINTS, Parameter, Value};
pub use base::{BaseRun, MAX_BASE_SIZE, ScalarReport, TimeSplit, base, scalar_transform, time_split};
pub use energy::{ComponentUse, Energy, energy};
pub use energy_table::{
    ACTIONS, Component, ENERGY_LITERATURE, ENERGY_PAPER, ENERGY_SCHEMA, EnergyError, EnergyTable, Per, Range,
};
pub use error::ReportError;
pub use programs::{CoreProgram, Programs, programs};
pub use published::{Comparison, FFT_SIZES, GPU_BYTES_PER_SECOND, IMPLIED_GPU_WATTS, PAPER_SIZES, compare};
pub use roofline::{ArrayPoint, ArrayRoofline, Ceiling, array_roofline, default_workloads};
pub use run::{Line, Plan, RunReport, measure, measure_traced};
pub use slices::Slices;
pub use sweep::{Sweep, SweepPoint, default_axes, sweep_records};
pub use workload::{DEFAULT_MODULUS, MAX_POLYNOMIAL_SIZE, Operation, Workload};
