//! The device with the real scheme: x·y, what it refuses, and what survives.

mod disk;
mod keys;
mod objects;
mod paging;
mod parallel;
mod programs;
mod state;
#[path = "../support/tfhe.rs"]
mod support;
