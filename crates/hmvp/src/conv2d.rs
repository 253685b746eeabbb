//! Two-dimensional convolution of an encrypted image with plain kernels by coefficient encoding (Z. Huang, W. Lu, C. Hong,
//! J. Ding, "Cheetah: lean and fast secure two-party deep neural network inference", USENIX Security 2022, §3.2). No key is
//! switched: the server needs no key, and parameters no special modulus.
//!
//! With an input tile of c channels, h_t rows and w_t columns in one polynomial and a kernel reversed in another,
//!
//! ```text
//! I(X) = Σ I[k][i][j]·X^(k·h_t·w_t + i·w_t + j)        K(X) = Σ K[k][i][j]·X^(O − k·h_t·w_t − i·w_t − j)
//! O = (c−1)·h_t·w_t + (h_k−1)·w_t + (w_k−1)
//! ```
//!
//! the coefficient of the product at X^(O + y·w_t + x) is the dot product of the kernel and the window of the input
//! whose upper left corner is (y, x), if the window is within the tile and c·h_t·w_t ≤ N. Two terms meet at this
//! exponent only if their columns, then their rows, then their channels agree; terms that wrap around X^N = −1 end
//! below O. As many output channels as fit are packed into one plaintext, each c·h_t·w_t after the one before. Images
//! that are larger than N are cut into tiles that overlap by a kernel's size less the stride, and by channels; products
//! of the groups of channels are added. See [`Conv2dPlan::output_places`] for where the outputs stand; all other
//! coefficients hold partial sums, functions of the kernels and the image. Only the holder of the secret key may see
//! them, and if the kernels are secret, not even that party.
//!
//! ```text
//! Conv2dPlan ──┬── EncryptedImage ──┐
//!              └── ConvKernels ─────┴── multiply ── EncryptedConvolution ── decrypt
//! ```
//!
//! # Example
//! ```
//! use std::sync::Arc;
//!
//! use ciphermill_bfv::SecretKey;
//! use ciphermill_hmvp::conv2d::{Conv2dPlan, Conv2dRequest, ConvKernels, ConvShape, EncryptedImage};
//! use ciphermill_lattice::{Csprng, SecretSeed};
//! use ciphermill_math::Isa;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // One kernel of 2 × 2 on an image of 3 × 3 with one channel.
//! let shape = ConvShape {
//!     channels: 1, height: 3, width: 3, kernels: 1, kernel_height: 2, kernel_width: 2, stride: 1, padding: 0,
//! };
//! let plan = Arc::new(Conv2dPlan::new(&Conv2dRequest::new(shape), Isa::current())?);
//! let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
//! let mut rng = Csprng::from_os()?;
//! let image = EncryptedImage::encrypt(&plan, &secret, &[1, 2, 3, 4, 5, 6, 7, 8, 9], &mut rng)?;
//!
//! // The server's side.
//! let product = ConvKernels::prepare(&plan, &[1, 0, 0, -1])?.multiply(&image)?;
//!
//! assert_eq!(product.decrypt(&secret)?, [-4, -4, -4, -4]);
//! # Ok(())
//! # }
//! ```

use crate::conv::{ConvPlan, ConvRequest, EncryptedInput, EncryptedOutput, Kernels};

pub use crate::conv::{ConvExplanation, ConvShape};

/// A request for a convolution.
pub type Conv2dRequest = ConvRequest<ConvShape>;

/// A convolution with everything fixed.
pub type Conv2dPlan = ConvPlan<ConvShape>;

/// Kernels in the form in which they multiply.
pub type ConvKernels = Kernels<ConvShape>;

/// An encrypted image.
pub type EncryptedImage = EncryptedInput<ConvShape>;

/// An encrypted output.
pub type EncryptedConvolution = EncryptedOutput<ConvShape>;
