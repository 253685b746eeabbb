//! The device with Paillier: programs of all its instructions, both triggers, what it refuses, and what survives. Results are
//! decrypted outside of the device, with a key that it never sees.

mod parties;
mod programs;
mod refusals;
