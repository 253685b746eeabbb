//! Helpers of the tests of several crates. No crate of the product depends on this one.
//!
//! - [`not_run`]: work of a test that this machine cannot do, listed by name or turned into a failure;
//! - [`available`]: the paths that the CPU offers; the others are listed;
//! - [`fresh_seed`]: a new seed for each run, printed so that a failure can be repeated;
//! - [`in_forked_child`]: the state of an object in a forked child process.

#[cfg(target_os = "linux")]
mod fork;
mod seed;
mod skip;

#[cfg(target_os = "linux")]
pub use fork::in_forked_child;
pub use seed::{SEED_VARIABLE, fresh_seed, fresh_seed_bytes};
pub use skip::{Need, REQUIRE_VARIABLE, available, not_run};
