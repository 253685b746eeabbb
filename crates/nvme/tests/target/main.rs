//! The target, byte by byte: what hosts send and what they get.

mod admin;
mod blocks;
mod client;
mod digests;
mod hostile;
mod io;
mod lifecycle;
mod linux;
mod served;
