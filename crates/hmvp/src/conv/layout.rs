//! Tiles, and where their entries stand.

use std::ops::Range;

use super::shape::Conv3dShape;
use crate::error::HmvpError;
use ciphermill_bfv::error::BfvError;

/// The limit on words of prepared kernels per limb, 1 GiB. A layout above it gives way to one with more ciphertexts.
const MANY_WORDS: usize = 1 << 27;

/// How a convolution is cut up for polynomials of N coefficients. Slices of the image are cut alike. A ciphertext belongs to one
/// slice, of the image or of the output, and a plaintext to one slice of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConvLayout {
    shape: Conv3dShape,
    /// N.
    polynomial_size: usize,
    /// Rows of the output that a tile has.
    rows: usize,
    /// Columns of the output that a tile has.
    cols: usize,
    /// Channels of the image in one plaintext.
    channels: usize,
    /// Kernels in one plaintext.
    kernels: usize,
}

/// The distinct values of ⌈x/k⌉, k = 1, 2, …: sizes of nearly equal parts.
fn part_sizes(x: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(x), move |&size| {
        // The least number of parts that makes them smaller.
        let parts = (size > 1).then(|| x.div_ceil(size - 1))?;
        Some(x.div_ceil(parts))
    })
}

impl ConvLayout {
    /// The layout with the least [`cost`](Self::cost), of those with at most [`MANY_WORDS`] of prepared kernels if there are
    /// such.
    ///
    /// # Errors
    /// If not even one window of one channel has N entries or fewer.
    pub(super) fn new(shape: &Conv3dShape, polynomial_size: usize) -> Result<Self, HmvpError> {
        let plane = &shape.plane;
        let window = plane.kernel_height * plane.kernel_width;
        if window > polynomial_size {
            let what = format!(
                "a kernel of {} × {} for polynomials of {polynomial_size} coefficients; use a larger N or a kernel of at \
                 most {polynomial_size} entries per channel",
                plane.kernel_height, plane.kernel_width
            );
            return Err(BfvError::Unsupported { what }.into());
        }
        let mut best: Option<Self> = None;
        for rows in part_sizes(plane.output_height()) {
            for cols in part_sizes(plane.output_width()) {
                let tile = Self { shape: *shape, polynomial_size, rows, cols, channels: 1, kernels: 1 };
                let room = polynomial_size / tile.area();
                for channels in part_sizes(plane.channels).filter(|&channels| channels <= room) {
                    // As few groups of kernels as fit, of nearly equal sizes.
                    let groups = plane.kernels.div_ceil(room / channels);
                    let layout = Self { channels, kernels: plane.kernels.div_ceil(groups), ..tile };
                    let key = |layout: &Self| (layout.plaintexts() * polynomial_size > MANY_WORDS, layout.cost());
                    if best.is_none_or(|best| key(&layout) < key(&best)) {
                        best = Some(layout);
                    }
                }
            }
        }
        Ok(best.expect("a single window fits"))
    }

    /// The work of the convolution, in transforms per limb: two for each ciphertext of the image and of the output, two
    /// more to encrypt or decrypt it, and a half for each product. Ciphertexts are sent, so they count twice.
    pub(super) fn cost(&self) -> f64 {
        8.0 * (self.inputs() + self.outputs()) as f64 + 0.5 * self.products() as f64
    }

    /// Rows of the image in a tile.
    fn tile_height(&self) -> usize {
        (self.rows - 1) * self.shape.plane.stride + self.shape.plane.kernel_height
    }

    /// Columns of the image in a tile.
    fn tile_width(&self) -> usize {
        (self.cols - 1) * self.shape.plane.stride + self.shape.plane.kernel_width
    }

    /// Coefficients of one channel of a tile.
    fn area(&self) -> usize {
        self.tile_height() * self.tile_width()
    }

    /// Coefficients from one kernel to the next.
    fn block(&self) -> usize {
        self.channels * self.area()
    }

    /// O: see the [module](super).
    fn origin(&self) -> usize {
        (self.channels - 1) * self.area()
            + (self.shape.plane.kernel_height - 1) * self.tile_width()
            + self.shape.plane.kernel_width
            - 1
    }

    fn tiles_across(&self) -> usize {
        self.shape.plane.output_width().div_ceil(self.cols)
    }

    /// The number of tiles of a slice.
    pub(super) fn tiles(&self) -> usize {
        self.shape.plane.output_height().div_ceil(self.rows) * self.tiles_across()
    }

    /// The number of groups of channels.
    pub(super) fn channel_groups(&self) -> usize {
        self.shape.plane.channels.div_ceil(self.channels)
    }

    /// The number of groups of kernels.
    pub(super) fn kernel_groups(&self) -> usize {
        self.shape.plane.kernels.div_ceil(self.kernels)
    }

    /// Kernels in one plaintext.
    pub(super) fn kernels(&self) -> usize {
        self.kernels
    }

    /// Ciphertexts of an image: for each slice and tile one for each group of channels.
    pub(super) fn inputs(&self) -> usize {
        self.shape.depth * self.tiles() * self.channel_groups()
    }

    /// The ciphertexts of slice `slice` and tile `tile` of an image.
    pub(super) fn inputs_of(&self, slice: usize, tile: usize) -> Range<usize> {
        let first = (slice * self.tiles() + tile) * self.channel_groups();
        first..first + self.channel_groups()
    }

    /// Ciphertexts of an output: for each slice and tile one for each group of kernels.
    pub(super) fn outputs(&self) -> usize {
        self.shape.output_depth() * self.tiles() * self.kernel_groups()
    }

    /// Plaintexts of a group of kernels: for each slice one for each group of channels.
    pub(super) fn plaintexts_of_group(&self) -> usize {
        self.shape.kernel_depth * self.channel_groups()
    }

    /// Plaintexts of the kernels.
    pub(super) fn plaintexts(&self) -> usize {
        self.kernel_groups() * self.plaintexts_of_group()
    }

    /// Products of a plaintext and a ciphertext.
    pub(super) fn products(&self) -> usize {
        self.shape.slice_products() * self.tiles() * self.kernel_groups() * self.channel_groups()
    }

    /// The coefficients of input ciphertext `input`.
    pub(super) fn image(&self, input: usize, image: &[i64]) -> Vec<i64> {
        let shape = &self.shape.plane;
        let (place, group) = (input / self.channel_groups(), input % self.channel_groups());
        let (slice, tile) = (place / self.tiles(), place % self.tiles());
        let top = tile / self.tiles_across() * self.rows * shape.stride;
        let left = tile % self.tiles_across() * self.cols * shape.stride;
        let width = self.tile_width();
        let mut out = vec![0; self.polynomial_size];
        for (k, c) in (group * self.channels..shape.channels).take(self.channels).enumerate() {
            for i in 0..self.tile_height() {
                let Some(y) = (top + i).checked_sub(shape.padding).filter(|&y| y < shape.height) else { continue };
                let row = ((c * self.shape.depth + slice) * shape.height + y) * shape.width;
                let row = &image[row..row + shape.width];
                let out = &mut out[k * self.area() + i * width..][..width];
                for (j, out) in out.iter_mut().enumerate() {
                    *out = (left + j).checked_sub(shape.padding).and_then(|x| row.get(x)).copied().unwrap_or(0);
                }
            }
        }
        out
    }

    /// The coefficients of kernel plaintext `plaintext`.
    pub(super) fn kernel(&self, plaintext: usize, kernels: &[i64]) -> Vec<i64> {
        let shape = &self.shape.plane;
        let (place, channel_group) = (plaintext / self.channel_groups(), plaintext % self.channel_groups());
        let (kernel_group, slice) = (place / self.shape.kernel_depth, place % self.shape.kernel_depth);
        let mut out = vec![0; self.polynomial_size];
        for (index, m) in (kernel_group * self.kernels..shape.kernels).take(self.kernels).enumerate() {
            for (k, c) in (channel_group * self.channels..shape.channels).take(self.channels).enumerate() {
                for i in 0..shape.kernel_height {
                    let row = (m * shape.channels + c) * self.shape.kernel_depth + slice;
                    let row = (row * shape.kernel_height + i) * shape.kernel_width;
                    let last = index * self.block() + self.origin() - k * self.area() - i * self.tile_width();
                    for (j, &entry) in kernels[row..row + shape.kernel_width].iter().enumerate() {
                        out[last - j] = entry;
                    }
                }
            }
        }
        out
    }

    /// Where ciphertext `output` has outputs: (coefficient, index in the output).
    pub(super) fn places(&self, output: usize) -> Vec<(usize, usize)> {
        let shape = &self.shape.plane;
        let (place, group) = (output / self.kernel_groups(), output % self.kernel_groups());
        let (slice, tile) = (place / self.tiles(), place % self.tiles());
        let depth = self.shape.output_depth();
        let (height, width) = (shape.output_height(), shape.output_width());
        let rows = (tile / self.tiles_across() * self.rows..height).take(self.rows);
        let cols = (tile % self.tiles_across() * self.cols..width).take(self.cols);
        let mut places = Vec::with_capacity(self.kernels * self.rows * self.cols);
        for (index, m) in (group * self.kernels..shape.kernels).take(self.kernels).enumerate() {
            for (i, y) in rows.clone().enumerate() {
                for (j, x) in cols.clone().enumerate() {
                    let at = index * self.block() + self.origin() + (i * self.tile_width() + j) * shape.stride;
                    places.push((at, ((m * depth + slice) * height + y) * width + x));
                }
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::shape::ConvShape;
    use super::*;

    /// The product modulo X^N + 1, term by term.
    fn multiply(lhs: &[i64], rhs: &[i64]) -> Vec<i64> {
        let n = lhs.len();
        let mut out = vec![0; n];
        for (i, a) in lhs.iter().enumerate().filter(|(_, a)| **a != 0) {
            for (j, b) in rhs.iter().enumerate() {
                let sign = if i + j < n { 1 } else { -1 };
                out[(i + j) % n] += sign * a * b;
            }
        }
        out
    }

    /// The definition.
    fn convolve(shape: &Conv3dShape, image: &[i64], kernels: &[i64]) -> Vec<i64> {
        let plane = &shape.plane;
        let pixel = |c: usize, z: i64, y: i64, x: i64| {
            let inside = (0..shape.depth as i64).contains(&z)
                && (0..plane.height as i64).contains(&y)
                && (0..plane.width as i64).contains(&x);
            let at = || ((c * shape.depth + z as usize) * plane.height + y as usize) * plane.width + x as usize;
            if inside { image[at()] } else { 0 }
        };
        let place = |at: usize, stride: usize, i: usize, padding: usize| (at * stride + i) as i64 - padding as i64;
        let window = |m: usize, z: usize, y: usize, x: usize| {
            let mut sum = 0;
            for c in 0..plane.channels {
                for k in 0..shape.kernel_depth {
                    let z = place(z, shape.depth_stride, k, shape.depth_padding);
                    for i in 0..plane.kernel_height {
                        let y = place(y, plane.stride, i, plane.padding);
                        for j in 0..plane.kernel_width {
                            let kernel = (m * plane.channels + c) * shape.kernel_depth + k;
                            let kernel = (kernel * plane.kernel_height + i) * plane.kernel_width + j;
                            sum += kernels[kernel] * pixel(c, z, y, place(x, plane.stride, j, plane.padding));
                        }
                    }
                }
            }
            sum
        };
        let mut out = Vec::new();
        for m in 0..plane.kernels {
            for z in 0..shape.output_depth() {
                for y in 0..plane.output_height() {
                    out.extend((0..plane.output_width()).map(|x| window(m, z, y, x)));
                }
            }
        }
        out
    }

    fn check(shape: &Conv3dShape, n: usize) {
        let layout = ConvLayout::new(shape, n).expect("fits");
        assert!(layout.kernels * layout.block() <= n, "{layout:?}");
        let entry = |i: usize| (i * 7919 % 255) as i64 - 127;
        let image: Vec<i64> = (0..shape.image_len()).map(entry).collect();
        let kernels: Vec<i64> = (0..shape.kernels_len()).map(|i| entry(i + 5)).collect();
        let inputs: Vec<Vec<i64>> = (0..layout.inputs()).map(|input| layout.image(input, &image)).collect();
        let mut out = vec![None; shape.output_len()];
        let mut products = 0;
        for output in 0..layout.outputs() {
            let (place, kernel_group) = (output / layout.kernel_groups(), output % layout.kernel_groups());
            let (slice, tile) = (place / layout.tiles(), place % layout.tiles());
            let mut sum = vec![0; n];
            let (overlap, first) = shape.overlap(slice);
            for (k, slice) in overlap.zip(first..) {
                for (group, input) in layout.inputs_of(slice, tile).enumerate() {
                    let kernel = (kernel_group * shape.kernel_depth + k) * layout.channel_groups() + group;
                    let product = multiply(&inputs[input], &layout.kernel(kernel, &kernels));
                    sum.iter_mut().zip(product).for_each(|(s, x)| *s += x);
                    products += 1;
                }
            }
            for (at, index) in layout.places(output) {
                assert_eq!(out[index].replace(sum[at]), None, "each output has one place");
            }
        }
        assert_eq!(products, layout.products());
        let got: Option<Vec<i64>> = out.into_iter().collect();
        assert_eq!(got, Some(convolve(shape, &image, &kernels)), "{layout:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn every_shape_gives_the_convolution(
            log_n in 4u32..9,
            sizes in (1usize..6, 1usize..14, 1usize..14, 1usize..6, 1usize..5, 1usize..5),
            stride in 1usize..4,
            padding in 0usize..4,
            depths in prop::option::of((1usize..6, 1usize..5, 1usize..4, 0usize..4)),
        ) {
            let (channels, height, width, kernels, kernel_height, kernel_width) = sizes;
            let plane = ConvShape { channels, height, width, kernels, kernel_height, kernel_width, stride, padding };
            let shape = match depths {
                None => plane.into(),
                Some((depth, kernel_depth, depth_stride, depth_padding)) => {
                    Conv3dShape { plane, depth, kernel_depth, depth_stride, depth_padding }
                }
            };
            prop_assume!(shape.validate().is_ok());
            check(&shape, 1 << log_n);
        }
    }

    #[test]
    fn sizes_of_parts_are_all_there_are() {
        for x in 1..200 {
            let mut expected: Vec<usize> = (1..=x).map(|parts: usize| x.div_ceil(parts)).collect();
            expected.dedup();
            assert_eq!(part_sizes(x).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn small_images_share_a_plaintext() {
        let shape = ConvShape {
            channels: 3,
            height: 16,
            width: 16,
            kernels: 16,
            kernel_height: 3,
            kernel_width: 3,
            stride: 1,
            padding: 1,
        };
        // 18·18·3 coefficients: four kernels in each plaintext.
        let layout = ConvLayout::new(&shape.into(), 4096).expect("fits");
        assert_eq!((layout.inputs(), layout.outputs(), layout.products()), (1, 4, 4));
        // Other channels go to other ciphertexts, products of which are added.
        let layout = ConvLayout::new(&ConvShape { channels: 24, ..shape }.into(), 4096).expect("fits");
        assert_eq!(layout.inputs(), layout.channel_groups());
        assert!(layout.channel_groups() > 1);
    }

    #[test]
    fn a_kernel_above_n_is_refused() {
        let shape = ConvShape {
            channels: 1,
            height: 5,
            width: 5,
            kernels: 1,
            kernel_height: 5,
            kernel_width: 5,
            stride: 1,
            padding: 0,
        };
        assert!(matches!(ConvLayout::new(&shape.into(), 16), Err(HmvpError::Scheme(BfvError::Unsupported { .. }))));
        assert!(ConvLayout::new(&shape.into(), 32).is_ok());
    }
}
