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
//! the product has at X^(O + y·w_t + x) the dot product of the kernel and the window of the input whose upper left corner is
//! (y, x), if the window is within the tile and c·h_t·w_t ≤ N: two terms meet at this exponent only if their columns, then
//! their rows, then their channels agree, and what wraps around X^N = −1 ends below O. So many output channels as fit are
//! packed into one plaintext, each c·h_t·w_t after the one before. Images that are larger than N are cut into tiles that
//! overlap by a kernel's size less the stride, and by channels; products of the groups of channels are added. See
//! [`Conv2dPlan::output_places`] for where the outputs stand; all other coefficients hold partial sums, functions of the
//! kernels and the image that nobody but the holder of the secret key should see, nor that one if the kernels are secret.
//!
//! ```text
//! Conv2dPlan ──┬── EncryptedImage ──┐
//!              └── ConvKernels ─────┴── multiply ── EncryptedConvolution ── decrypt
//! ```

mod layout;
mod objects;
mod plan;
mod shape;

pub use objects::{ConvKernels, EncryptedConvolution, EncryptedImage};
pub use plan::{Conv2dPlan, Conv2dRequest};
pub use shape::ConvShape;
