//! The instruction set: words, text, programs, the source of the encodings, and the comparison with GNU's tools.
#![allow(clippy::unusual_byte_groupings, reason = "groups are the fields of instruction words")]

mod binutils;
mod opcodes;
mod paper;
mod program;
mod strategy;
mod text;
mod tools;
mod words;
