//! The figures of docs/arch.md, docs/arch-pipeline.md and the README, and the data in docs/arch, are what the models give.
//! `CIPHERMILL_WRITE_DOCS=1` writes them there; scripts/arch.sh does, and draws the pictures.

mod array;
mod keep;
mod pipeline;
