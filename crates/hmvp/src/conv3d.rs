//! Three-dimensional convolution of an encrypted image with plain kernels: of a volume, or of a sequence of images.
//!
//! Slice z of the output is the sum over k of [two-dimensional convolutions](crate::conv2d) of slice z + k of the image with
//! slice k of the kernels. Each slice of the image is encrypted once, in separate ciphertexts, and transformed once. The
//! products for a slice of the output are summed before they are transformed back, so the number of ciphertexts of an output
//! does not depend on the depth of the kernels.
//!
//! ```text
//! image    slice 0   slice 1   slice 2   slice 3          encrypted once each
//!             │  ╲      │  ╲      │  ╲      │
//! kernels    k=0  k=1  k=0  k=1  k=0  k=1  k=1            plain
//!             │ ╱       │ ╱       │ ╱
//! output   slice 0   slice 1   slice 2                    sums of products
//! ```
//!
//! As in two dimensions, the coefficients that hold no output hold partial sums.
//!
//! # Example
//! ```
//! use std::sync::Arc;
//!
//! use ciphermill_bfv::SecretKey;
//! use ciphermill_hmvp::conv3d::{Conv3dKernels, Conv3dPlan, Conv3dRequest, Conv3dShape, ConvShape, EncryptedVolume};
//! use ciphermill_lattice::{Csprng, SecretSeed};
//! use ciphermill_math::Isa;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // One kernel of 2 × 1 × 2 on a volume of 3 × 2 × 2 with one channel.
//! let plane = ConvShape {
//!     channels: 1, height: 2, width: 2, kernels: 1, kernel_height: 1, kernel_width: 2, stride: 1, padding: 0,
//! };
//! let shape = Conv3dShape { plane, depth: 3, kernel_depth: 2, depth_stride: 1, depth_padding: 0 };
//! let plan = Arc::new(Conv3dPlan::new(&Conv3dRequest::new(shape), Isa::current())?);
//! let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
//! let mut rng = Csprng::from_os()?;
//! let volume = EncryptedVolume::encrypt(&plan, &secret, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], &mut rng)?;
//!
//! // The server's side: each entry less the one behind it in the next slice.
//! let product = Conv3dKernels::prepare(&plan, &[1, 0, 0, -1])?.multiply(&volume)?;
//!
//! assert_eq!(product.decrypt(&secret)?, [-5, -5, -5, -5]);
//! # Ok(())
//! # }
//! ```

use crate::conv::{ConvPlan, ConvRequest, EncryptedInput, EncryptedOutput, Kernels};

pub use crate::conv::{Conv3dShape, ConvExplanation, ConvShape};

/// A request for a convolution.
pub type Conv3dRequest = ConvRequest<Conv3dShape>;

/// A convolution with everything fixed.
pub type Conv3dPlan = ConvPlan<Conv3dShape>;

/// Kernels in the form in which they multiply.
pub type Conv3dKernels = Kernels<Conv3dShape>;

/// An encrypted image.
pub type EncryptedVolume = EncryptedInput<Conv3dShape>;

/// An encrypted output.
pub type EncryptedConv3d = EncryptedOutput<Conv3dShape>;
