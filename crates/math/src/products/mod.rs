//! Products of a matrix of spectra with vectors of ciphertexts, for the packed matrix-vector product. There is one
//! prime with 64-bit words, and all arguments and results are canonical, in `[0, p)`.
//!
//! * [`OrbitOrder`] orders spectra such that automorphisms are rotations. A rotation costs only an offset where a
//!   kernel loads.
//! * [`ProductKernels::key_products`] multiplies rotated digits with the rows of a key-switching key and adds up.
//! * [`ProductKernels::multiply`] multiplies a matrix of spectra with vectors whose entries are pairs of spectra.
//! * [`MonomialFft`] is the Fourier transform over small polynomials whose roots of unity are monomials. It brings
//!   matrices into that form, and [`SmallCoefficients`] lifts its results to a transform's input.
//!
//! A product of spectra is reduced once for each word of a result, not for each term. The modules of the instruction
//! sets state the bounds.

use std::ops::Range;

use crate::pointwise::{PointwiseError, PointwiseKernels};
use crate::{Isa, Modulus};

#[cfg(target_arch = "x86_64")]
mod fma;
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
///
/// # Example
/// ```
/// use ciphermill_math::products::{MatrixBlock, ProductKernels, SumBlock, VectorBlock};
/// use ciphermill_math::{Isa, Modulus};
///
/// // One row of two spectra, all 2 and all 3, times a vector of two pairs of spectra.
/// let kernels = ProductKernels::new(Modulus::new(97)?, Isa::current())?;
/// let matrix = MatrixBlock::pack(8, 1, 2, |_, column| [[2; 8], [3; 8]][column]);
/// let mut vectors = VectorBlock::zeroed(8, 1, 2);
/// vectors.set(0, 0, [&[10; 8], &[20; 8]]);
/// vectors.set(0, 1, [&[1; 8], &[0; 8]]);
/// let mut sums = SumBlock::zeroed(8, 1, 1);
/// kernels.multiply(&matrix, &vectors, &mut sums.part(), false);
/// assert_eq!(sums.get(0, 0), [&[23; 8], &[40; 8]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ProductKernels {
    pointwise: PointwiseKernels<u64>,
    /// The constants of sums of doubles, if p fits and the CPU has them.
    #[cfg(target_arch = "x86_64")]
    fma: Option<fma::Constants>,
}

impl ProductKernels {
    /// Prepares the constants.
    ///
    /// # Errors
    /// If the CPU lacks `isa`.
    pub fn new(modulus: Modulus, isa: Isa) -> Result<Self, PointwiseError> {
        Ok(Self {
            pointwise: PointwiseKernels::new(modulus, isa)?,
            #[cfg(target_arch = "x86_64")]
            fma: (isa != Isa::Portable && modulus.bits() <= fma::MAX_BITS).then(|| fma::Constants::new(modulus)),
        })
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

    /// The constants for IFMA, if p fits and the CPU has IFMA and the other instructions of its kernels.
    #[cfg(target_arch = "x86_64")]
    fn ifma(&self) -> Option<&crate::pointwise::ifma::Constants> {
        self.pointwise.constants().ifma.as_ref().filter(|_| packing::has_vbmi())
    }

    /// A key for [`key_products`](Self::key_products), see [`KeyBlock::pack`]. Its words are packed to the number of
    /// bytes of p.
    ///
    /// # Panics
    /// As [`KeyBlock::pack`].
    /// As there.
    pub fn key(&self, rows: &[[&[u64]; 2]]) -> KeyBlock {
        KeyBlock::with_width(rows, self.modulus().bits().div_ceil(8) as usize)
    }

    /// out_k = Σ_d rotated(digit_d) ∘ key_(d,k), with factor·rotated(head) added to out_0. This is a key switch or,
    /// with a rotation, an automorphism of a ciphertext whose other part is `head`.
    ///
    /// All spectra have N words, and `factor` is in `[0, p)`. Digits and `head` are in the order of the rotation.
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
    /// As [`key_products`](Self::key_products).
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

    /// As [`key_products`](Self::key_products), but written to entry (`vector`, `column`) of `vectors`. Only the words
    /// of its window are computed.
    ///
    /// # Panics
    /// As [`key_products`](Self::key_products), or if the entry does not exist or has another N.
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
            // SAFETY: the CPU has the features. Lengths and rotation are checked above and at the construction of
            // `out`.
            return unsafe { ifma::key_products(c, rotation, digits, head, key, out, accumulate) };
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(c) = self.fma.as_ref().filter(|_| digits.len() < fma::MAX_TERMS) {
            // SAFETY: the CPU has the instruction set; key and digits match.
            return unsafe { fma::key_products(c, rotation, digits, head, key, out, accumulate) };
        }
        loops::key_products(self.pointwise.constants(), rotation, digits, head, key, out, accumulate);
    }

    /// A zero matrix for [`multiply`](Self::multiply), whose words are packed to the number of bytes of p.
    ///
    /// # Panics
    /// If N is not a power of two from 8 on, or a count is 0.
    pub fn matrix(&self, polynomial_size: usize, rows: usize, columns: usize) -> MatrixBlock {
        MatrixBlock::packed(self.modulus(), self.isa(), polynomial_size, rows, columns)
    }

    /// Computes Σ_j matrix_(i,j) ∘ vectors_(v,j) for every row i of `sums`, every vector v and both parts. The result
    /// replaces the sums or, with `accumulate`, is added to them. If the vectors have a window, only its words of the
    /// sums are touched.
    ///
    /// # Panics
    /// If the shapes do not match, or the sums end within a group of four rows of the matrix.
    pub fn multiply(&self, matrix: &MatrixBlock, vectors: &VectorBlock, sums: &mut SumPart<'_>, accumulate: bool) {
        assert_eq!(matrix.polynomial_size(), vectors.polynomial_size(), "length of the vectors' spectra");
        assert_eq!(matrix.polynomial_size(), sums.polynomial_size, "length of the sums' spectra");
        assert_eq!(matrix.columns(), vectors.columns(), "length of the vectors");
        assert_eq!(vectors.vectors(), sums.vectors, "number of vectors");
        assert!(matrix.is_end_of_group(sums.rows.end), "number of rows");
        #[cfg(target_arch = "x86_64")]
        if let Some(c) = self.ifma() {
            // SAFETY: the CPU has the features; the shapes are checked above.
            return unsafe { ifma::multiply(c, matrix, vectors, sums, accumulate) };
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(c) = &self.fma {
            // SAFETY: the CPU has the instruction set; the shapes are checked above.
            return unsafe { fma::multiply(c, matrix, vectors, sums, accumulate) };
        }
        loops::multiply(self.pointwise.constants(), matrix, vectors, sums, accumulate);
    }
}

/// The target of a key switch.
enum Output<'a> {
    /// Two spectra.
    Spectra([&'a mut [u64]; 2]),
    /// The pairs of blocks of a window, `stride` words apart.
    Entry { words: &'a mut [u64], stride: usize, window: Range<usize> },
}

impl<'a> Output<'a> {
    fn spectra(out: [&'a mut [u64]; 2], key: &KeyBlock) -> Self {
        for out in &out {
            assert_eq!(out.len(), key.polynomial_size(), "length of a result");
        }
        Output::Spectra(out)
    }

    /// The computed words.
    fn window(&self) -> Range<usize> {
        match self {
            Output::Spectra(out) => 0..out[0].len(),
            Output::Entry { window, .. } => window.clone(),
        }
    }

    /// The eight words of both parts at `index`, which is in the window.
    #[inline]
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
