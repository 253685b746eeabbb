//! Engines of the kernel seams, on co-simulated hardware.

mod paillier;
mod tfhe;

pub use paillier::RtlPaillier;
pub use tfhe::{REPORT_EVERY, RtlServer, RtlTfhe, Simulated, Watch};
