//! Tests of the device as a whole, with a toy scheme.

mod crash;
mod faults;
mod kill;
mod paging;
mod semantics;
mod spaces;
#[path = "../support/mod.rs"]
mod support;
