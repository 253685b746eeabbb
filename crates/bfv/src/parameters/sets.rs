//! The named sets.

/// The moduli of the CHAM paper (section 4 and figure 2 there): 2^34 + 2^27 + 1, 2^34 + 2^19 + 1, special 2^38 + 2^23 + 1.
pub const CHAM_PAPER: &str = "CHAM_PAPER";

/// Every named set.
pub const SET_NAMES: &[&str] = &[CHAM_PAPER];
