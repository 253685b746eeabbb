//! From numbers to plaintexts and back.
//!
//! Integers are signed, in [−⌊t/2⌋, ⌊(t−1)/2⌋] modulo t.

mod batch;
mod coefficient;

pub use batch::BatchEncoder;
