//! Blind rotation by the exact Goldilocks NTT.
//!
//! For a 32-bit torus, products are computed over Z: an output coefficient is a sum of (k+1)·l·N products of a digit of
//! magnitude at most B/2 and a signed 32-bit coefficient, which must stay below p/2. [`NttDomain::over_integers`]
//! checks it. The result equals schoolbook arithmetic modulo 2^32 bit for bit.
//!
//! For a 64-bit torus, everything moves to Z_p: x ↦ ⌊x·p/2^64⌉ for the key and the accumulator, decomposition over Z_p,
//! and ⌊y·2^64/p⌉ on the way back. "Exact" then means exact modulo p.

use std::fmt::Debug;
use std::sync::Arc;

use ciphermill_lattice::Torus;
use ciphermill_lattice::gadget::{ModularDecomposer, SignedDecomposer};
use ciphermill_lattice::rotate::{ModularRotatedDifference, RotatedDifference, rotate_into};
use ciphermill_math::goldilocks::{self, MODULUS};
use ciphermill_math::ntt::{NttEngine, NttProvider};
use ciphermill_math::{CoefficientSource, Isa, SourceView, multiversion};

use super::{Domain, automorphism};
use crate::error::TfheError;
use crate::ggsw_shape::GgswShape;
use crate::product::signed_residue;

/// The residue of a signed integer of magnitude below p.
#[inline(always)]
fn residue(x: i64) -> u64 {
    (x as u64).wrapping_add((x >> 63) as u64 & MODULUS)
}

multiversion! {
    /// polynomial += residues modulo p, all canonical.
    fn add_residues(isa, polynomial: &mut [u64], residues: &[u64]) {
        for (x, &residue) in polynomial.iter_mut().zip(residues) {
            *x = goldilocks::add(*x, residue);
        }
    }
}

multiversion! {
    /// polynomial += residues as signed integers, modulo 2^32: of an integer only the low word counts.
    fn add_signed_residues(isa, polynomial: &mut [u32], residues: &[u64]) {
        for (x, &residue) in polynomial.iter_mut().zip(residues) {
            *x = x.wrapping_add(signed_residue(residue) as u32);
        }
    }
}

/// Keeps `levels` rows of k+1 spectra, N words each, as k+1 columns of `levels`.
fn by_column(n: usize, levels: usize, rows: &[u64], columns: &mut [u64]) {
    let row_len = rows.len() / levels;
    for (c, column) in columns.chunks_exact_mut(levels * n).enumerate() {
        for (row, spectrum) in rows.chunks_exact(row_len).zip(column.chunks_exact_mut(n)) {
            spectrum.copy_from_slice(&row[c * n..][..n]);
        }
    }
}

/// The representation of torus elements as residues modulo p.
pub(crate) trait Residues: Send + Sync + Debug + 'static {
    /// The torus, and the coefficients of accumulators, which have the same width.
    type Element: Torus;

    /// l, the number of digits of a coefficient.
    fn level_count(&self) -> usize;

    /// Brings torus elements into accumulator form.
    fn enter(torus: &[Self::Element], elements: &mut [Self::Element]);

    /// Brings accumulator coefficients back to the torus.
    fn leave(elements: &[Self::Element], torus: &mut [Self::Element]);

    /// out = X^exponent · polynomial, exponent in \[0, 2N).
    fn rotate(isa: Isa, polynomial: &[Self::Element], exponent: usize, out: &mut [Self::Element]);

    /// out = (X^exponent − 1) · polynomial.
    fn rotated_difference(isa: Isa, polynomial: &[Self::Element], exponent: usize, out: &mut [Self::Element]);

    /// x + y.
    fn plus(x: Self::Element, y: Self::Element) -> Self::Element;

    /// −x.
    fn negate(x: Self::Element) -> Self::Element;

    /// The residues of a key polynomial.
    fn key(polynomial: &[Self::Element]) -> impl CoefficientSource<u64> + '_;

    /// The digits of one level of an accumulator polynomial, as residues.
    fn digits<'a>(
        &'a self,
        isa: Isa,
        polynomial: &'a [Self::Element],
        level: usize,
    ) -> impl CoefficientSource<u64> + 'a;

    /// polynomial += residues.
    fn add(isa: Isa, polynomial: &mut [Self::Element], residues: &[u64]);
}

/// Polynomial arithmetic by the NTT modulo p.
#[derive(Debug)]
pub(crate) struct NttDomain<R> {
    engine: Arc<dyn NttEngine>,
    residues: R,
    isa: Isa,
}

impl NttDomain<Integers> {
    /// Exact arithmetic over Z for 32-bit torus elements.
    pub(super) fn over_integers(shape: GgswShape, ntt: &dyn NttProvider, isa: Isa) -> Result<Self, TfheError> {
        // log2 of the bound on a coefficient's magnitude: products of B/2 and 2^31, one per row and coefficient.
        let products = (shape.row_count() * shape.polynomial_size.get()) as f64;
        let log2_bound = products.log2() + 31.0 + (shape.decomposition.base_log.0 as f64 - 1.0);
        if log2_bound >= 63.0 {
            return Err(TfheError::Transform(format!(
                "sums of products of up to 2^{log2_bound:.1} do not fit the exact NTT over Z, whose limit is 2^63; use the \
                 FFT or a smaller base"
            )));
        }
        Self::new(shape, Integers(shape.decomposition.decomposer()?), ntt, isa)
    }
}

impl NttDomain<Modular> {
    /// Arithmetic over Z_p for 64-bit torus elements.
    pub(crate) fn over_modulus(shape: GgswShape, ntt: &dyn NttProvider, isa: Isa) -> Result<Self, TfheError> {
        let gadget = shape.decomposition;
        Self::new(shape, Modular(ModularDecomposer::new(gadget.base_log, gadget.level_count)?), ntt, isa)
    }
}

impl<R: Residues> NttDomain<R> {
    fn new(shape: GgswShape, residues: R, ntt: &dyn NttProvider, isa: Isa) -> Result<Self, TfheError> {
        let engine = ntt.goldilocks(shape.polynomial_size.get()).map_err(TfheError::transform)?;
        Ok(Self { engine, residues, isa })
    }
}

impl<R: Residues> Domain<R::Element> for NttDomain<R> {
    const TEAM_DIGITS: usize = 2048;

    type Element = R::Element;
    type Point = u64;
    type Word = u64;

    fn enter(&self, torus: &[R::Element], elements: &mut [R::Element]) {
        R::enter(torus, elements);
    }

    fn leave(&self, elements: &[R::Element], torus: &mut [R::Element]) {
        R::leave(elements, torus);
    }

    fn rotate(&self, polynomial: &[R::Element], exponent: usize, out: &mut [R::Element]) {
        R::rotate(self.isa, polynomial, exponent, out);
    }

    fn rotated_difference(&self, polynomial: &[R::Element], exponent: usize, out: &mut [R::Element]) {
        R::rotated_difference(self.isa, polynomial, exponent, out);
    }

    fn automorphism(&self, polynomial: &[R::Element], exponent: usize, out: &mut [R::Element]) {
        automorphism(polynomial, exponent, out, R::negate);
    }

    fn add_elements(&self, sum: &mut [R::Element], other: &[R::Element]) {
        sum.iter_mut().zip(other).for_each(|(sum, &x)| *sum = R::plus(*sum, x));
    }

    fn subtract_elements(&self, difference: &mut [R::Element], other: &[R::Element]) {
        difference.iter_mut().zip(other).for_each(|(difference, &x)| *difference = R::plus(*difference, R::negate(x)));
    }

    fn component_len(&self, shape: GgswShape) -> usize {
        shape.len() / shape.glwe_dimension.glwe_size()
    }

    fn transform_component(&self, rows: &[R::Element], spectra: &mut [u64], component: &mut [u64]) {
        let n = self.engine.polynomial_size();
        for (polynomial, spectrum) in rows.chunks_exact(n).zip(spectra.chunks_exact_mut(n)) {
            self.engine.forward(&R::key(polynomial), spectrum);
        }
        by_column(n, self.residues.level_count(), spectra, component);
    }

    fn multiply_component(
        &self,
        polynomial: &[R::Element],
        component: &[u64],
        sums: &mut [u64],
        accumulate: bool,
        digits: &mut [u64],
    ) {
        let levels = 1..=self.residues.level_count();
        let sources: Vec<_> = levels.map(|level| self.residues.digits(self.isa, polynomial, level)).collect();
        let sources: Vec<&dyn CoefficientSource<u64>> = sources.iter().map(|s| s as _).collect();
        let columns: Vec<&[u64]> = component.chunks_exact(digits.len()).collect();
        if !accumulate {
            sums.fill(0);
        }
        self.engine.forward_multiply_accumulate(&sources, &columns, sums, digits);
    }

    fn add(&self, sum: &mut [u64], partial: &[u64]) {
        add_residues(self.isa, sum, partial);
    }

    fn inverse_add(&self, spectrum: &mut [u64], polynomial: &mut [R::Element]) {
        self.engine.inverse_in_place(spectrum);
        R::add(self.isa, polynomial, spectrum);
    }
}

/// 32-bit torus elements as signed integers.
#[derive(Debug)]
pub(crate) struct Integers(SignedDecomposer<u32>);

impl Residues for Integers {
    type Element = u32;

    fn level_count(&self) -> usize {
        self.0.level_count().0
    }

    fn enter(torus: &[u32], elements: &mut [u32]) {
        elements.copy_from_slice(torus);
    }

    fn leave(elements: &[u32], torus: &mut [u32]) {
        torus.copy_from_slice(elements);
    }

    fn rotate(isa: Isa, polynomial: &[u32], exponent: usize, out: &mut [u32]) {
        rotate_into(isa, polynomial, exponent, out);
    }

    fn rotated_difference(isa: Isa, polynomial: &[u32], exponent: usize, out: &mut [u32]) {
        RotatedDifference::new(isa, polynomial, exponent).read(0, out);
    }

    fn plus(x: u32, y: u32) -> u32 {
        x.wrapping_add(y)
    }

    fn negate(x: u32) -> u32 {
        x.wrapping_neg()
    }

    fn key(polynomial: &[u32]) -> impl CoefficientSource<u64> + '_ {
        Signed(polynomial)
    }

    fn digits<'a>(&'a self, isa: Isa, polynomial: &'a [u32], level: usize) -> impl CoefficientSource<u64> + 'a {
        IntegerDigits { polynomial, decomposer: &self.0, level, isa }
    }

    fn add(isa: Isa, polynomial: &mut [u32], residues: &[u64]) {
        add_signed_residues(isa, polynomial, residues);
    }
}

/// Signed torus coefficients as residues.
struct Signed<'a>(&'a [u32]);

impl CoefficientSource<u64> for Signed<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read(&self, start: usize, out: &mut [u64]) {
        for (o, &x) in out.iter_mut().zip(&self.0[start..]) {
            *o = residue(i64::from(x as i32));
        }
    }
}

/// The digits of one level of a 32-bit polynomial, as residues.
struct IntegerDigits<'a> {
    polynomial: &'a [u32],
    decomposer: &'a SignedDecomposer<u32>,
    level: usize,
    isa: Isa,
}

impl CoefficientSource<u64> for IntegerDigits<'_> {
    fn len(&self) -> usize {
        self.polynomial.len()
    }

    fn read(&self, start: usize, out: &mut [u64]) {
        let mut digits = [0i64; 256];
        for (out, polynomial) in out.chunks_mut(256).zip(self.polynomial[start..].chunks(256)) {
            let digits = &mut digits[..out.len()];
            self.decomposer.fill_digits(self.isa, &polynomial[..out.len()], self.level, digits);
            for (o, &d) in out.iter_mut().zip(&*digits) {
                *o = residue(d);
            }
        }
    }

    fn view(&self) -> SourceView<'_, u64> {
        SourceView::Digits32(self.polynomial, self.decomposer.field(self.level))
    }
}

/// 64-bit torus elements switched to Z_p.
#[derive(Debug)]
pub(crate) struct Modular(ModularDecomposer);

impl Residues for Modular {
    type Element = u64;

    fn level_count(&self) -> usize {
        self.0.level_count().0
    }

    fn enter(torus: &[u64], elements: &mut [u64]) {
        Switched(torus).read(0, elements);
    }

    fn leave(elements: &[u64], torus: &mut [u64]) {
        for (t, &y) in torus.iter_mut().zip(elements) {
            *t = goldilocks::to_torus(y);
        }
    }

    fn rotate(_isa: Isa, polynomial: &[u64], exponent: usize, out: &mut [u64]) {
        let n = polynomial.len();
        for (i, &x) in polynomial.iter().enumerate() {
            let target = (i + exponent) % (2 * n);
            if target < n {
                out[target] = x;
            } else {
                out[target - n] = goldilocks::neg(x);
            }
        }
    }

    fn rotated_difference(isa: Isa, polynomial: &[u64], exponent: usize, out: &mut [u64]) {
        ModularRotatedDifference::new(isa, polynomial, exponent).read(0, out);
    }

    fn plus(x: u64, y: u64) -> u64 {
        goldilocks::add(x, y)
    }

    fn negate(x: u64) -> u64 {
        goldilocks::neg(x)
    }

    fn key(polynomial: &[u64]) -> impl CoefficientSource<u64> + '_ {
        Switched(polynomial)
    }

    fn digits<'a>(&'a self, isa: Isa, polynomial: &'a [u64], level: usize) -> impl CoefficientSource<u64> + 'a {
        ModularDigits { polynomial, decomposer: &self.0, level, isa }
    }

    fn add(isa: Isa, polynomial: &mut [u64], residues: &[u64]) {
        add_residues(isa, polynomial, residues);
    }
}

/// Torus coefficients switched to Z_p.
struct Switched<'a>(&'a [u64]);

impl CoefficientSource<u64> for Switched<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read(&self, start: usize, out: &mut [u64]) {
        for (o, &x) in out.iter_mut().zip(&self.0[start..]) {
            *o = goldilocks::from_torus(x);
        }
    }
}

/// The digits of one level of a polynomial over Z_p.
struct ModularDigits<'a> {
    polynomial: &'a [u64],
    decomposer: &'a ModularDecomposer,
    level: usize,
    isa: Isa,
}

impl CoefficientSource<u64> for ModularDigits<'_> {
    fn len(&self) -> usize {
        self.polynomial.len()
    }

    fn read(&self, start: usize, out: &mut [u64]) {
        self.decomposer.fill_digits(self.isa, &self.polynomial[start..start + out.len()], self.level, out);
    }

    fn view(&self) -> SourceView<'_, u64> {
        self.decomposer.digits_view(self.polynomial, self.level)
    }
}
