//! The integration tests of the architecture models, in one program.

mod array_faults;
mod array_fitting;
mod array_isa;
mod array_ntt;
mod module_boundaries;
mod pipeline;
mod pipeline_reference;
mod pipeline_space;
mod pipeline_trace;
mod scalar_elf;
mod scalar_faults;
mod scalar_figures;
mod scalar_isa;
mod scalar_ntt;
mod scalar_qemu;
mod scalar_support;
mod scalar_timing;
