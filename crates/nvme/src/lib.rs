//! NVMe over TCP: the wire format, a target that serves namespaces, and a user-space initiator.
//!
//! The crate knows blocks of 4,096 bytes and nothing of their content. From the bottom up:
//! - [`pdu`]: the PDUs on a TCP connection, with their digests; [`command`] and [`status`]: their content;
//! - [`namespace`]: the seam to the storage of the blocks; [`buffers`]: data in buffers that are used again.
//!
//! Numbers follow the NVM Express Base Specification 2.0, the NVMe/TCP Transport Specification 1.0 and the NVM Command Set
//! Specification 1.0; docs name the figure or section.
//!
//! Some examples share a hidden start: `ram()` is a namespace of 64 blocks in memory with the identifier 1, and
//! `subsystem()` holds it. A target serves that subsystem on a loopback address. `config` names the target, `controller` is
//! connected to it, and `disk` is the namespace of the controller. The vendor's opcode C2h reads a text; every other fails.

pub mod buffers;
pub mod command;
pub mod fabrics;
pub mod features;
mod fields;
pub mod identify;
pub mod initiator;
pub mod log;
pub mod namespace;
pub mod pdu;
pub mod server;
pub mod status;

pub use fields::RecordError;
pub use namespace::{
    Account, Answer, Caller, CommandError, Geometry, Host, Namespace, Properties, VendorCommand, VendorOpcode,
};
pub use status::Status;

/// Bytes of a logical block, in every namespace.
pub const BLOCK_BYTES: usize = 4096;
