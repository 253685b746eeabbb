//! The job descriptors of engines.

pub mod registers;
