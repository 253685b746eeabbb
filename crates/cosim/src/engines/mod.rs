//! Engines of the kernel seams, computed by co-simulated units.

mod mod_exp;
mod paillier;
mod tfhe;

pub use mod_exp::RtlModExp;
pub use paillier::RtlPaillier;
pub use tfhe::{RtlServer, RtlTfhe, TfheProgram};
