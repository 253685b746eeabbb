//! A safe type per unit: it sets the ports, gives the clock and says when a result is due.

mod pipeline;

pub use pipeline::{Butterfly, Factors, ModAddSub, ModMul, Wing};
