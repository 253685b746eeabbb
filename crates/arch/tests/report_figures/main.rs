//! Compares the figures of docs/arch.md, docs/arch-pipeline.md and the README, and the data in docs/arch, with the models.
//!
//! `CIPHERMILL_WRITE_DOCS=1` writes them instead. scripts/arch.sh does so and draws the pictures.

mod array;
mod keep;
mod pipeline;
