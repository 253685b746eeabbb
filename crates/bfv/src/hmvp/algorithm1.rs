//! The paper's algorithm 1.
