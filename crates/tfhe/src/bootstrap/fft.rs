//! Blind rotation by the f64 FFT: accumulators stay torus elements, products are rounded.

use std::sync::Arc;

use ciphermill_lattice::Torus;
use ciphermill_lattice::gadget::SignedDecomposer;
use ciphermill_lattice::rotate::{RotatedDifference, rotate_into};
use ciphermill_math::fft::{FftEngine, engine};
use ciphermill_math::{CoefficientSource, Isa, SourceView};

use super::Domain;
use crate::error::TfheError;
use crate::ggsw::GgswShape;

#[derive(Debug)]
pub(super) struct FftDomain<T: Torus> {
    engine: Arc<dyn FftEngine>,
    decomposer: SignedDecomposer<T>,
    isa: Isa,
}

impl<T: Torus> FftDomain<T> {
    pub(super) fn new(shape: GgswShape, isa: Isa) -> Result<Self, TfheError> {
        Ok(Self {
            engine: engine(shape.polynomial_size.get(), isa).map_err(TfheError::transform)?,
            decomposer: shape.decomposition.decomposer()?,
            isa,
        })
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
    type Element = T;
    type Point = f64;
    type Inverse = T;

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

    fn transform_key(&self, torus: &[T], spectrum: &mut [f64]) {
        self.engine.forward(&Signed(torus), spectrum);
    }

    fn transform_digits(&self, polynomial: &[T], level: usize, spectrum: &mut [f64]) {
        let digits = Digits { polynomial, decomposer: &self.decomposer, level, isa: self.isa };
        self.engine.forward(&digits, spectrum);
    }

    fn multiply_accumulate(&self, acc: &mut [f64], lhs: &[f64], rhs: &[f64]) {
        self.engine.multiply_accumulate(acc, lhs, rhs);
    }

    fn inverse_add(&self, spectrum: &mut [f64], polynomial: &mut [T], _scratch: &mut [T]) {
        T::inverse_add(&*self.engine, spectrum, polynomial);
    }
}

/// The rounding inverse for each torus width.
pub(super) trait InverseAdd: Sized {
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
