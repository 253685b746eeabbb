//! Sizes of a convolution.

use crate::MAX_DIMENSION;
use crate::error::HmvpError;
use ciphermill_bfv::error::require_range;

/// The most entries of an image, of all kernels or of an output.
pub(super) const MAX_ENTRIES: usize = 1 << 24;

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
    /// An error unless every size is in range: dimensions from 1 to [`MAX_DIMENSION`] (a padding from 0), at most 2^24 entries in each of image,
    /// kernels and output, a kernel no larger than the padded image.
    pub(super) fn validate(&self) -> Result<(), HmvpError> {
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
        let entries = [
            ("number of entries of the image", self.image_len()),
            ("number of entries of all kernels", self.kernels_len()),
            ("number of entries of the output", self.output_len()),
        ];
        for (what, given) in entries {
            require_range(what, given as u64, 1, MAX_ENTRIES as u64)?;
        }
        Ok(())
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
        self.kernels * self.kernel_len()
    }

    /// Entries of one kernel: terms of each output.
    pub(super) fn kernel_len(&self) -> usize {
        self.channels * self.kernel_height * self.kernel_width
    }

    /// Entries of the output: channel after channel, row after row.
    pub fn output_len(&self) -> usize {
        self.kernels * self.output_height() * self.output_width()
    }
}
