//! Blind rotation by the f64 FFT: accumulators stay torus elements, products are rounded.

use std::sync::Arc;

use ciphermill_lattice::Torus;
use ciphermill_lattice::gadget::SignedDecomposer;
use ciphermill_lattice::rotate::{RotatedDifference, rotate_into};
use ciphermill_math::fft::{FftEngine, PackedWord, engine};
use ciphermill_math::{CoefficientSource, Isa, SourceView};

use super::{Domain, automorphism};
use crate::error::TfheError;
use crate::ggsw_shape::GgswShape;

#[derive(Debug)]
pub(crate) struct FftDomain<T: Torus> {
    engine: Arc<dyn FftEngine>,
    decomposer: SignedDecomposer<T>,
    word: PackedWord,
    isa: Isa,
}

impl<T: Torus> FftDomain<T> {
    pub(crate) fn new(shape: GgswShape, word: PackedWord, isa: Isa) -> Result<Self, TfheError> {
        Ok(Self {
            engine: engine(shape.polynomial_size.get(), isa).map_err(TfheError::transform)?,
            decomposer: shape.decomposition.decomposer()?,
            word,
            isa,
        })
    }
}

impl<T: Torus> FftDomain<T> {
    /// The spectra of all digits, while the first part of `component` is asked for.
    fn transform_digits(&self, polynomial: &[T], component: &[u8], digits: &mut [f64]) {
        let mut upcoming = component.chunks(UPCOMING);
        for (level, spectrum) in digits.chunks_exact_mut(polynomial.len()).enumerate() {
            let source = Digits { polynomial, decomposer: &self.decomposer, level: level + 1, isa: self.isa };
            self.engine.forward_prefetching(&source, spectrum, upcoming.next().unwrap_or_default());
        }
    }
}

/// Torus coefficients as signed integers.
struct Signed<'a, T>(&'a [T]);

impl<T: Torus> CoefficientSource<i64> for Signed<'_, T> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read(&self, start: usize, out: &mut [i64]) {
        for (o, &x) in out.iter_mut().zip(&self.0[start..]) {
            *o = x.to_signed_i64();
        }
    }
}

/// The digits of one level.
struct Digits<'a, T: Torus> {
    polynomial: &'a [T],
    decomposer: &'a SignedDecomposer<T>,
    level: usize,
    isa: Isa,
}

impl<T: Torus> CoefficientSource<i64> for Digits<'_, T> {
    fn len(&self) -> usize {
        self.polynomial.len()
    }

    fn read(&self, start: usize, out: &mut [i64]) {
        self.decomposer.fill_digits(self.isa, &self.polynomial[start..start + out.len()], self.level, out);
    }

    fn view(&self) -> SourceView<'_, i64> {
        self.decomposer.digits_view(self.polynomial, self.level)
    }
}

impl<T: Torus + InverseAdd> Domain<T> for FftDomain<T> {
    const TEAM_DIGITS: usize = 4096;

    type Element = T;
    type Point = f64;
    type Word = u8;

    fn enter(&self, torus: &[T], elements: &mut [T]) {
        elements.copy_from_slice(torus);
    }

    fn leave(&self, elements: &[T], torus: &mut [T]) {
        torus.copy_from_slice(elements);
    }

    fn rotate(&self, polynomial: &[T], exponent: usize, out: &mut [T]) {
        rotate_into(self.isa, polynomial, exponent, out);
    }

    fn rotated_difference(&self, polynomial: &[T], exponent: usize, out: &mut [T]) {
        RotatedDifference::new(self.isa, polynomial, exponent).read(0, out);
    }

    fn automorphism(&self, polynomial: &[T], exponent: usize, out: &mut [T]) {
        automorphism(polynomial, exponent, out, T::wrapping_neg);
    }

    fn add_elements(&self, sum: &mut [T], other: &[T]) {
        sum.iter_mut().zip(other).for_each(|(sum, &x)| *sum = sum.wrapping_add(x));
    }

    fn subtract_elements(&self, difference: &mut [T], other: &[T]) {
        difference.iter_mut().zip(other).for_each(|(difference, &x)| *difference = difference.wrapping_sub(x));
    }

    fn component_len(&self, shape: GgswShape) -> usize {
        let spectra = shape.decomposition.level_count.0 * shape.glwe_dimension.glwe_size();
        self.word.packed_len(spectra, shape.polynomial_size.get())
    }

    fn transform_component(&self, rows: &[T], spectra: &mut [f64], component: &mut [u8]) {
        let n = self.engine.polynomial_size();
        for (polynomial, spectrum) in rows.chunks_exact(n).zip(spectra.chunks_exact_mut(n)) {
            self.engine.forward(&Signed(polynomial), spectrum);
        }
        self.engine.pack(self.word, spectra, component);
    }

    fn multiply_component(
        &self,
        polynomial: &[T],
        component: &[u8],
        sums: &mut [f64],
        accumulate: bool,
        digits: &mut [f64],
    ) {
        self.transform_digits(polynomial, component, digits);
        self.engine.multiply_packed(self.word, &mut [sums], &[digits], component, accumulate);
    }

    fn multiply_component_pair(
        &self,
        polynomials: [&[T]; 2],
        component: &[u8],
        [sums_0, sums_1]: [&mut [f64]; 2],
        accumulate: bool,
        [digits_0, digits_1]: [&mut [f64]; 2],
    ) {
        self.transform_digits(polynomials[0], &[], digits_0);
        self.transform_digits(polynomials[1], component, digits_1);
        let (sums, digits) = (&mut [sums_0, sums_1], &[&*digits_0, &*digits_1]);
        self.engine.multiply_packed(self.word, sums, digits, component, accumulate);
    }

    fn add(&self, sum: &mut [f64], partial: &[f64]) {
        add(self.isa, sum, partial);
    }

    fn inverse_add(&self, spectrum: &mut [f64], polynomial: &mut [T]) {
        T::inverse_add(&*self.engine, spectrum, polynomial);
    }
}

/// Bytes of the key that are asked for during one transform. More would take the transform's own lines from it: a core
/// keeps some 16 lines on their way, and one from memory takes 100 ns.
const UPCOMING: usize = 32 << 10;

ciphermill_math::multiversion! {
    fn add(isa, sum: &mut [f64], partial: &[f64]) {
        for (s, p) in sum.iter_mut().zip(partial) {
            *s += p;
        }
    }
}

/// The rounding inverse for each torus width.
pub(crate) trait InverseAdd: Sized {
    fn inverse_add(engine: &dyn FftEngine, spectrum: &mut [f64], out: &mut [Self]);
}

impl InverseAdd for u32 {
    fn inverse_add(engine: &dyn FftEngine, spectrum: &mut [f64], out: &mut [u32]) {
        engine.inverse_add_u32(spectrum, out);
    }
}

impl InverseAdd for u64 {
    fn inverse_add(engine: &dyn FftEngine, spectrum: &mut [f64], out: &mut [u64]) {
        engine.inverse_add_u64(spectrum, out);
    }
}
