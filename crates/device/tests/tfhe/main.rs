//! The device with the real scheme: x·y, refusals, and the state after a restart.

mod bounds;
mod disk;
mod keys;
mod objects;
mod paging;
mod parallel;
mod programs;
mod state;
#[path = "../support/tfhe.rs"]
mod support;
mod whole;
mod word_faults;
mod words;
