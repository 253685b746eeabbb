//! Objects of the secure-computing device laid out on the blocks of NVMe namespaces.
//!
//! The examples share a hidden start, of which each uses a part:
//! - of the [`volume`]: a `volume` in memory, its `config`, a `block` of content, and the change `write` of block 5;
//! - of a namespace: the [`BlockSpace`] `space` of 2^16 blocks over the space `namespace` of a `device` and a `volume`, with
//!   its `runtime` and `host`; a `program`, its register `id` and its `metadata`; `write` writes blocks, and `send` sends
//!   a [vendor command](vendor).

pub mod adapter;
pub mod backup;
pub mod layout;
pub mod vendor;
pub mod volume;

pub use adapter::{BlockSpace, BlockSpaceConfig, BlockSpaceError, BlockSpaceMetrics};
