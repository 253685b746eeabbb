//! The product of a matrix of party B and a vector that A and B share (the paper's section 2.3).
