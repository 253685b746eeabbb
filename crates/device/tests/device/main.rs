//! Tests of the device as a whole, with a toy scheme.

mod crash;
mod faults;
mod inline;
mod key_memory;
mod kill;
mod lost_commit;
mod new_instruction;
mod owners;
mod pages;
mod paging;
mod place;
#[path = "../support/place.rs"]
mod place_support;
mod results;
mod salvage;
mod semantics;
mod snapshot;
mod spaces;
#[path = "../support/mod.rs"]
mod support;
mod upgrade;
