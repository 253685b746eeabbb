//! The integration tests of the middleware, in one program.

mod calls;
mod concurrency;
mod keys_over_nvme;
mod lost_connections;
#[path = "../../device/tests/support/tfhe.rs"]
mod scheme;
mod support;
mod tfhe;
