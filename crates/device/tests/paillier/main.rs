//! The device with Paillier: programs of all its instructions, both triggers, refusals, and the state after a restart.
//! Results are decrypted outside of the device, with a key that it never sees.

mod parties;
mod programs;
mod refusals;
