//! The target, byte by byte: the hosts' requests and their responses.

mod admin;
mod blocks;
mod client;
mod digests;
mod hostile;
mod io;
mod lifecycle;
mod lines;
mod linux;
mod log;
mod served;
