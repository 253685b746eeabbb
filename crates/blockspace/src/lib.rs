//! Objects of the secure-computing device laid out on the blocks of NVMe namespaces.

pub mod vendor;
pub mod volume;
