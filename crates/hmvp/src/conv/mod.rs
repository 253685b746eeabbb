//! Convolutions of encrypted images with plain kernels, of two and of three dimensions. [`conv2d`](crate::conv2d) and
//! [`conv3d`](crate::conv3d) name the types for each and describe the encoding.

mod explain;
mod layout;
mod objects;
mod plan;
mod shape;

pub use explain::ConvExplanation;
pub use objects::{EncryptedInput, EncryptedOutput, Kernels};
pub use plan::{ConvPlan, ConvRequest};
pub use shape::{Conv3dShape, ConvShape, Shape};
