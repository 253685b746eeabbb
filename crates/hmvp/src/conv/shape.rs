//! Sizes of convolutions.

use std::fmt;
use std::ops::Range;

use crate::MAX_DIMENSION;
use crate::error::HmvpError;
use ciphermill_bfv::error::require_range;

/// The most entries of an image, of all kernels or of an output.
const MAX_ENTRIES: usize = 1 << 24;

/// Sizes that a plan can be made for. Every convolution is one of [three dimensions](Conv3dShape): one of two dimensions has
/// images and kernels of depth 1.
pub trait Shape: Copy + fmt::Debug + PartialEq + Send + Sync + Into<Conv3dShape> + sealed::Sealed {
    /// The first part of the names of chosen parameter sets.
    const NAME: &'static str;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::ConvShape {}
    impl Sealed for super::Conv3dShape {}
}

impl Shape for ConvShape {
    const NAME: &'static str = "CONV2D";
}

impl Shape for Conv3dShape {
    const NAME: &'static str = "CONV3D";
}

/// A convolution as neural networks have it (a cross-correlation): output channel m at (y, x) is
/// Σ kernel\[m\]\[c\]\[i\]\[j\]·image\[c\]\[y·stride + i − padding\]\[x·stride + j − padding\], with zeros outside of the
/// image.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let shape = ConvShape {
///     channels: 1, height: 3, width: 3, kernels: 1, kernel_height: 2, kernel_width: 2, stride: 1, padding: 0,
/// };
/// assert_eq!((shape.output_height(), shape.output_width(), shape.output_len()), (2, 2, 4));
/// assert_eq!((shape.image_len(), shape.kernels_len()), (9, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvShape {
    /// C, channels of the image.
    pub channels: usize,
    /// H, rows of the image.
    pub height: usize,
    /// W, columns of the image.
    pub width: usize,
    /// M, kernels: channels of the output.
    pub kernels: usize,
    /// Rows of a kernel.
    pub kernel_height: usize,
    /// Columns of a kernel.
    pub kernel_width: usize,
    /// The step between windows, in both directions, at least 1.
    pub stride: usize,
    /// Zeros added on all four sides.
    pub padding: usize,
}

impl ConvShape {
    /// An error unless every size is in range: dimensions from 1 to [`MAX_DIMENSION`] (a padding from 0), at most 2^24 entries
    /// in each of image, kernels and output, a kernel no larger than the padded image.
    fn validate(&self) -> Result<(), HmvpError> {
        let sizes = [
            ("channels of the image", self.channels),
            ("height of the image", self.height),
            ("width of the image", self.width),
            ("number of kernels", self.kernels),
            ("height of a kernel", self.kernel_height),
            ("width of a kernel", self.kernel_width),
            ("stride", self.stride),
        ];
        for (what, given) in sizes {
            require_range(what, given as u64, 1, MAX_DIMENSION as u64)?;
        }
        require_range("padding", self.padding as u64, 0, MAX_DIMENSION as u64)?;
        require_range("height of a kernel", self.kernel_height as u64, 1, (self.height + 2 * self.padding) as u64)?;
        require_range("width of a kernel", self.kernel_width as u64, 1, (self.width + 2 * self.padding) as u64)?;
        // Four sizes below 2^16 each do not overflow.
        require_entries([self.image_len(), self.kernels_len(), self.output_len()])
    }

    /// Rows of the output: ⌊(H + 2·padding − kernel height)/stride⌋ + 1.
    pub fn output_height(&self) -> usize {
        (self.height + 2 * self.padding - self.kernel_height) / self.stride + 1
    }

    /// Columns of the output.
    pub fn output_width(&self) -> usize {
        (self.width + 2 * self.padding - self.kernel_width) / self.stride + 1
    }

    /// C·H·W: channel after channel, row after row.
    pub fn image_len(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Entries of all kernels: kernel after kernel, channel after channel, row after row.
    pub fn kernels_len(&self) -> usize {
        self.kernels * self.channels * self.kernel_height * self.kernel_width
    }

    /// Entries of the output: channel after channel, row after row.
    pub fn output_len(&self) -> usize {
        self.kernels * self.output_height() * self.output_width()
    }
}

/// An error unless image, kernels and output have at most [`MAX_ENTRIES`] entries each.
fn require_entries(entries: [usize; 3]) -> Result<(), HmvpError> {
    let names =
        ["number of entries of the image", "number of entries of all kernels", "number of entries of the output"];
    for (what, given) in names.into_iter().zip(entries) {
        require_range(what, given as u64, 1, MAX_ENTRIES as u64)?;
    }
    Ok(())
}

/// A convolution of three dimensions. Slice z of output channel m is a sum over the slices k of kernel m: of the
/// two-dimensional convolutions of slice z·depth_stride + k − depth_padding of the image with slice k of the kernel. Slices
/// outside of the image are zeros.
///
/// # Example
/// ```
/// use ciphermill_hmvp::conv3d::{Conv3dShape, ConvShape};
///
/// // A kernel of 2 × 2 × 2 on a volume of 4 × 3 × 3 with one channel.
/// let plane = ConvShape {
///     channels: 1, height: 3, width: 3, kernels: 1, kernel_height: 2, kernel_width: 2, stride: 1, padding: 0,
/// };
/// let shape = Conv3dShape { plane, depth: 4, kernel_depth: 2, depth_stride: 1, depth_padding: 0 };
/// assert_eq!((shape.image_len(), shape.kernels_len()), (36, 8));
/// assert_eq!((shape.output_depth(), shape.output_len()), (3, 12));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conv3dShape {
    /// Channels, kernels, and the sizes of slices.
    pub plane: ConvShape,
    /// D, slices of the image.
    pub depth: usize,
    /// Slices of a kernel.
    pub kernel_depth: usize,
    /// The step between windows along the depth, at least 1.
    pub depth_stride: usize,
    /// Slices of zeros added at both ends.
    pub depth_padding: usize,
}

impl From<ConvShape> for Conv3dShape {
    fn from(plane: ConvShape) -> Self {
        Self { plane, depth: 1, kernel_depth: 1, depth_stride: 1, depth_padding: 0 }
    }
}

impl Conv3dShape {
    /// An error unless every size is in range, as those of two dimensions.
    pub(super) fn validate(&self) -> Result<(), HmvpError> {
        self.plane.validate()?;
        let sizes = [
            ("depth of the image", self.depth),
            ("depth of a kernel", self.kernel_depth),
            ("stride along the depth", self.depth_stride),
        ];
        for (what, given) in sizes {
            require_range(what, given as u64, 1, MAX_DIMENSION as u64)?;
        }
        require_range("padding along the depth", self.depth_padding as u64, 0, MAX_DIMENSION as u64)?;
        let padded = self.depth + 2 * self.depth_padding;
        require_range("depth of a kernel", self.kernel_depth as u64, 1, padded as u64)?;
        // Slices have at most 2^24 entries.
        require_entries([self.image_len(), self.kernels_len(), self.output_len()])
    }

    /// Slices of the output: ⌊(D + 2·depth padding − kernel depth)/depth stride⌋ + 1.
    pub fn output_depth(&self) -> usize {
        (self.depth + 2 * self.depth_padding - self.kernel_depth) / self.depth_stride + 1
    }

    /// C·D·H·W: channel after channel, slice after slice, row after row.
    pub fn image_len(&self) -> usize {
        self.depth * self.plane.image_len()
    }

    /// Entries of all kernels: kernel after kernel, channel after channel, slice after slice, row after row.
    pub fn kernels_len(&self) -> usize {
        self.kernel_depth * self.plane.kernels_len()
    }

    /// Entries of the output: channel after channel, slice after slice, row after row.
    pub fn output_len(&self) -> usize {
        self.output_depth() * self.plane.output_len()
    }

    /// Entries of one kernel: terms of each output.
    pub(super) fn kernel_len(&self) -> usize {
        self.kernels_len() / self.plane.kernels
    }

    /// The slices of a kernel that meet slices of the image at output slice `z`, and the first of those.
    pub(super) fn overlap(&self, z: usize) -> (Range<usize>, usize) {
        let start = z * self.depth_stride;
        let first = self.depth_padding.saturating_sub(start).min(self.kernel_depth);
        let end = (self.depth + self.depth_padding).saturating_sub(start).clamp(first, self.kernel_depth);
        (first..end, (start + first).saturating_sub(self.depth_padding))
    }

    /// Pairs of a slice of a kernel and a slice of the image that are multiplied.
    pub(super) fn slice_products(&self) -> usize {
        (0..self.output_depth()).map(|z| self.overlap(z).0.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_are_those_of_the_definition() {
        let plane = ConvShape {
            channels: 1,
            height: 1,
            width: 1,
            kernels: 1,
            kernel_height: 1,
            kernel_width: 1,
            stride: 1,
            padding: 0,
        };
        for depth in 1..6 {
            for kernel_depth in 1..5 {
                for depth_stride in 1..4 {
                    for depth_padding in 0..6 {
                        let shape = Conv3dShape { plane, depth, kernel_depth, depth_stride, depth_padding };
                        if shape.validate().is_err() {
                            continue;
                        }
                        for z in 0..shape.output_depth() {
                            let (kernel, image) = shape.overlap(z);
                            let inside = |k: &usize| {
                                let slice = (z * depth_stride + k).checked_sub(depth_padding);
                                slice.is_some_and(|slice| slice < depth)
                            };
                            let expected: Vec<usize> = (0..kernel_depth).filter(inside).collect();
                            assert_eq!(kernel.clone().collect::<Vec<_>>(), expected, "{shape:?} {z}");
                            if let Some(first) = expected.first() {
                                assert_eq!(image, z * depth_stride + first - depth_padding, "{shape:?} {z}");
                            }
                        }
                    }
                }
            }
        }
    }
}
