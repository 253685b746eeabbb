//! Products of a matrix of spectra with vectors of ciphertexts, as the packed matrix-vector product needs them: one
//! prime, 64-bit words, all arguments and results canonical, in `[0, p)`.
//!
//! * [`OrbitOrder`] puts spectra in an order in which automorphisms are rotations, so that they cost nothing but an
//!   offset where a kernel loads.
//! * [`ProductKernels::key_products`] multiplies rotated digits with the rows of a key switching key and adds up.
//! * [`ProductKernels::multiply`] multiplies a matrix of spectra with vectors whose entries are pairs of spectra.
//! * [`MonomialFft`] is the Fourier transform over small polynomials whose roots of unity are monomials, which brings
//!   matrices into that form, and [`SmallCoefficients`] lifts its results to a transform's input.
//!
//! A product of spectra is reduced once for each word of a result, not for each term; the bounds are in the modules of
//! the instruction sets.

use std::ops::Range;

use crate::pointwise::{PointwiseError, PointwiseKernels};
use crate::{Isa, Modulus};

#[cfg(target_arch = "x86_64")]
mod ifma;
mod loops;
mod matrix;
mod monomial;
mod orbit;
mod packing;
pub mod reference;
mod small;
mod sums;
mod vectors;

pub use matrix::{MatrixBlock, MatrixPart};
pub use monomial::{MonomialFft, SmallInteger};
pub use orbit::{FromOrbit, OrbitOrder, Rotation};
pub use small::SmallCoefficients;
pub use sums::{SumBlock, SumPart};
pub use vectors::{KeyBlock, VectorBlock};

/// Words per vector of AVX-512.
const LANES: usize = 8;

fn check_size(words: usize) {
    assert!(words.is_power_of_two() && words >= LANES, "{words} words are not whole blocks of a spectrum");
}

/// Sums of products modulo one prime below 2^62 on one instruction set.
///
/// Lengths that do not match are a caller's error and panic.
#[derive(Clone, Copy, Debug)]
pub struct ProductKernels {
    pointwise: PointwiseKernels<u64>,
}

impl ProductKernels {
    /// Prepares the constants.
    ///
    /// # Errors
    /// If the CPU lacks `isa`.
    pub fn new(modulus: Modulus, isa: Isa) -> Result<Self, PointwiseError> {
        Ok(Self { pointwise: PointwiseKernels::new(modulus, isa)? })
    }

    /// p.
    pub fn modulus(&self) -> Modulus {
        self.pointwise.modulus()
    }

    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.pointwise.isa()
    }

    /// Sums, differences and products of two spectra with the same modulus and instruction set.
    pub fn pointwise(&self) -> &PointwiseKernels<u64> {
        &self.pointwise
    }

    /// The constants for IFMA if the CPU has it and the other instructions that its kernels use, and p fits.
    #[cfg(target_arch = "x86_64")]
    fn ifma(&self) -> Option<&crate::pointwise::ifma::Constants> {
        self.pointwise.constants().ifma.as_ref().filter(|_| packing::has_vbmi())
    }

    /// A key for [`key_products`](Self::key_products), see [`KeyBlock::pack`], whose words are packed to as many bytes as
    /// p has.
    ///
    /// # Panics
    /// As there.
    pub fn key(&self, rows: &[[&[u64]; 2]]) -> KeyBlock {
        KeyBlock::with_width(rows, self.modulus().bits().div_ceil(8) as usize)
    }

    /// out_k = Σ_d rotated(digit_d) ∘ key_(d,k), and factor·rotated(head) added to out_0: a key switch, or with a rotation
    /// an automorphism of a ciphertext whose other part is `head`.
    ///
    /// All spectra have N words, and `factor` is in `[0, p)`; digits and `head` have the order that the rotation is for.
    ///
    /// # Panics
    /// If lengths, digits and key do not match, or `factor` is not below p.
    pub fn key_products(
        &self,
        rotation: &Rotation,
        digits: &[&[u64]],
        head: Option<(&[u64], u64)>,
        key: &KeyBlock,
        out: [&mut [u64]; 2],
    ) {
        self.key_products_to(rotation, digits, head, key, Output::spectra(out, key), false);
    }

    /// As [`key_products`](Self::key_products), but added to `acc`.
    ///
    /// # Panics
    /// As there.
    pub fn add_key_products(
        &self,
        rotation: &Rotation,
        digits: &[&[u64]],
        head: Option<(&[u64], u64)>,
        key: &KeyBlock,
        acc: [&mut [u64]; 2],
    ) {
        self.key_products_to(rotation, digits, head, key, Output::spectra(acc, key), true);
    }

    /// As [`key_products`](Self::key_products), but entry (`vector`, `column`) of `vectors` takes the result: the words of
    /// its window, and no others are computed.
    ///
    /// # Panics
    /// As there, or if there is no such entry or its N is another one.
    #[expect(clippy::too_many_arguments, reason = "an entry has two indices")]
    pub fn key_products_entry(
        &self,
        rotation: &Rotation,
        digits: &[&[u64]],
        head: Option<(&[u64], u64)>,
        key: &KeyBlock,
        vectors: &mut VectorBlock,
        vector: usize,
        column: usize,
    ) {
        assert_eq!(vectors.polynomial_size(), key.polynomial_size(), "length of the vectors' spectra");
        let (start, stride, window) = (vectors.start(vector, column), vectors.stride(), vectors.words());
        let out = Output::Entry { words: &mut vectors.words[start..], stride, window };
        self.key_products_to(rotation, digits, head, key, out, false);
    }

    fn key_products_to(
        &self,
        rotation: &Rotation,
        digits: &[&[u64]],
        head: Option<(&[u64], u64)>,
        key: &KeyBlock,
        out: Output<'_>,
        accumulate: bool,
    ) {
        let n = key.polynomial_size();
        assert_eq!(digits.len(), key.digits(), "number of digits");
        for spectrum in digits.iter().copied().chain(head.map(|(spectrum, _)| spectrum)) {
            assert_eq!(spectrum.len(), n, "length of a spectrum");
        }
        if let Some((_, factor)) = head {
            assert!(factor < self.modulus().value(), "factor {factor} is not below the modulus");
        }
        rotation.check(n);
        #[cfg(target_arch = "x86_64")]
        if let Some(c) = self.ifma().filter(|_| digits.len() < ifma::MAX_DIGITS) {
            // SAFETY: the CPU has the features; lengths and rotation are checked above and where `out` was made.
            return unsafe { ifma::key_products(c, rotation, digits, head, key, out, accumulate) };
        }
        loops::key_products(self.pointwise.constants(), rotation, digits, head, key, out, accumulate);
    }

    /// A matrix for [`multiply`](Self::multiply), all zero, whose words are packed to as many bytes as p has.
    ///
    /// # Panics
    /// If N is not a power of two from 8 on, or a count is 0.
    pub fn matrix(&self, polynomial_size: usize, rows: usize, columns: usize) -> MatrixBlock {
        MatrixBlock::packed(self.modulus(), self.isa(), polynomial_size, rows, columns)
    }

    /// Σ_j matrix_(i,j) ∘ vectors_(v,j) for every row i that `sums` has, every vector v and both parts: replaces the sums,
    /// or with `accumulate` is added to them. If the vectors have a window, only these words of the sums are touched.
    ///
    /// # Panics
    /// If the shapes do not match.
    pub fn multiply(&self, matrix: &MatrixBlock, vectors: &VectorBlock, sums: &mut SumPart<'_>, accumulate: bool) {
        assert_eq!(matrix.polynomial_size(), vectors.polynomial_size(), "length of the vectors' spectra");
        assert_eq!(matrix.polynomial_size(), sums.polynomial_size, "length of the sums' spectra");
        assert_eq!(matrix.columns(), vectors.columns(), "length of the vectors");
        assert_eq!(vectors.vectors(), sums.vectors, "number of vectors");
        assert!(sums.rows.end <= matrix.rows(), "number of rows");
        #[cfg(target_arch = "x86_64")]
        if let Some(c) = self.ifma() {
            // SAFETY: the CPU has the features; the shapes are checked above.
            return unsafe { ifma::multiply(c, matrix, vectors, sums, accumulate) };
        }
        loops::multiply(self.pointwise.constants(), matrix, vectors, sums, accumulate);
    }
}

/// Where the results of a key switch go.
enum Output<'a> {
    /// To two spectra.
    Spectra([&'a mut [u64]; 2]),
    /// To pairs of blocks that lie so many words apart: those of a window.
    Entry { words: &'a mut [u64], stride: usize, window: Range<usize> },
}

impl<'a> Output<'a> {
    fn spectra(out: [&'a mut [u64]; 2], key: &KeyBlock) -> Self {
        for out in &out {
            assert_eq!(out.len(), key.polynomial_size(), "length of a result");
        }
        Output::Spectra(out)
    }

    /// The words that are computed.
    fn window(&self) -> Range<usize> {
        match self {
            Output::Spectra(out) => 0..out[0].len(),
            Output::Entry { window, .. } => window.clone(),
        }
    }

    /// The eight words at `index`, in the window, of both parts.
    fn block(&mut self, index: usize) -> [&mut [u64]; 2] {
        match self {
            Output::Spectra(out) => out.each_mut().map(|out| &mut out[index..][..LANES]),
            Output::Entry { words, stride, window } => {
                let block = (index - window.start) / LANES;
                let (first, second) = words[block * *stride..][..2 * LANES].split_at_mut(LANES);
                [first, second]
            }
        }
    }
}
