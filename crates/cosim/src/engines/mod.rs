//! Engines of the kernel seams, computed by co-simulated units.

mod mod_exp;

pub use mod_exp::RtlModExp;
