//! Objects of the secure-computing device laid out on the blocks of NVMe namespaces.

pub mod adapter;
pub mod vendor;
pub mod volume;

pub use adapter::{BlockSpace, BlockSpaceConfig, BlockSpaceError, BlockSpaceMetrics};
