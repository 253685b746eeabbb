//! Blobs over a secure-computing device: the API of applications.
//!
//! A blob is an object of the device, named by its [`BlobId`]. [`Middleware`] offers the calls of Table 7 of "An
//! NVMe-based Secure Computing Platform with FPGA-based TFHE Accelerator" in two forms. One form has completion
//! callbacks ([`Middleware::write_blob2`] and its siblings). The other returns futures that need no particular runtime
//! ([`Middleware::write`] and its siblings, each an [`Operation`]). Both run on one pool of workers behind one bounded
//! queue.
//!
//! Below stands a [`Transport`]. [`EmbeddedTransport`] reaches a device in the same process, [`NvmeTransport`] one that
//! is served over NVMe/TCP.
//!
//! All examples share a hidden start: the space `space` of a device in memory, the `middleware` over it, the `metadata`
//! and `id` of the program of key 0, and its `bytes`.
//!
//! `docs/middleware.md` maps the paper's calls to these and explains the guarantees.

mod blob;
mod embedded;
mod error;
mod file;
mod middleware;
mod nvme;
mod operation;
mod queue;
mod transport;
mod work;

pub use blob::{BlobId, BlobStat, Content, Metadata, ParseBlobIdError, ReadMode, Transferred, WriteMode, Written};
pub use ciphermill_device::ObjectFlags;
pub use ciphermill_program::VrId;
pub use embedded::EmbeddedTransport;
pub use error::MiddlewareError;
pub use middleware::{Middleware, MiddlewareConfig};
pub use nvme::{DEFAULT_HOST_NQN, NvmeConfig, NvmeError, NvmeTransport};
pub use operation::Operation;
pub use transport::{Cause, Transport, TransportError};

/// The example of the page is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/middleware.md")]
struct Page;
