//! Blind rotation over a transformed bootstrapping key.
//!
//! `BlindRotator` is written once; a `Domain` says how polynomials are transformed: by the f64 FFT (`fft`), by the
//! exact NTT over Z for 32-bit torus elements, or over Z_p for 64-bit ones (`ntt`).
//!
//! One CMux costs (k+1)·l forward and k+1 inverse transforms. The digits of ACC·(X^a − 1) are computed while the
//! transform loads; the key is stored column by column, so that the (k+1)·l products of a column stream through one
//! multiply-accumulate call.

mod fft;
mod ntt;

use std::fmt::Debug;
use std::sync::Arc;

use ciphermill_lattice::Torus;
use ciphermill_math::Isa;
use rayon::prelude::*;

use crate::error::{TfheError, require_equal};
use crate::ggsw::{GgswCiphertext, GgswShape};
use crate::glwe::GlweCiphertext;
use crate::memory::AlignedBuffer;
use crate::noise::Backend;

/// How GLWE coefficients are represented and multiplied during blind rotation.
pub(crate) trait Domain<T: Torus>: Send + Sync + Debug {
    /// A coefficient of the accumulator.
    type Element: Copy + Default + Send + Sync;
    /// A word of a spectrum.
    type Point: Copy + Default + Send + Sync;
    /// What the inverse transform yields before it is added.
    type Inverse: Copy + Default + Send + Sync;

    /// Brings torus coefficients into the domain.
    fn enter(&self, torus: &[T], elements: &mut [Self::Element]);

    /// Brings elements back to the torus.
    fn leave(&self, elements: &[Self::Element], torus: &mut [T]);

    /// out = X^exponent · polynomial, exponent in \[0, 2N).
    fn rotate(&self, polynomial: &[Self::Element], exponent: usize, out: &mut [Self::Element]);

    /// out = (X^exponent − 1) · polynomial.
    fn rotated_difference(&self, polynomial: &[Self::Element], exponent: usize, out: &mut [Self::Element]);

    /// Transforms one polynomial of a GGSW row.
    fn transform_key(&self, torus: &[T], spectrum: &mut [Self::Point]);

    /// Transforms the digits of one level, 1 being the most significant.
    fn transform_digits(&self, polynomial: &[Self::Element], level: usize, spectrum: &mut [Self::Point]);

    /// acc += Σ lhs_r ∘ rhs_r.
    fn multiply_accumulate(&self, acc: &mut [Self::Point], lhs: &[Self::Point], rhs: &[Self::Point]);

    /// polynomial += inverse transform of spectrum, which is destroyed; `scratch` has N words.
    fn inverse_add(
        &self,
        spectrum: &mut [Self::Point],
        polynomial: &mut [Self::Element],
        scratch: &mut [Self::Inverse],
    );
}

/// A bootstrapping key ready for blind rotation, whatever its back end.
pub(crate) trait BlindRotation<T: Torus>: Send + Sync + Debug {
    /// X^(−body + Σ mask_i·s_i) · `accumulator`; exponents are modulo 2N.
    fn blind_rotate(
        &self,
        exponents: &[usize],
        accumulator: &GlweCiphertext<T>,
    ) -> Result<GlweCiphertext<T>, TfheError>;

    /// External product with the `index`-th GGSW ciphertext of the key.
    fn external_product(&self, index: usize, glwe: &GlweCiphertext<T>) -> Result<GlweCiphertext<T>, TfheError>;

    /// Bytes of the transformed key.
    fn memory_bytes(&self) -> u64;
}

/// Builds a [`BlindRotation`] from GGSW ciphertexts that arrive in batches.
pub(crate) trait Builder<T: Torus>: Send {
    /// Transforms the next ciphertexts, in parallel. `rows` holds a whole number of them, in coefficient form.
    fn push(&mut self, rows: &[T]) -> Result<(), TfheError>;

    /// The key; all of its ciphertexts must have been pushed.
    fn finish(self: Box<Self>) -> Result<Box<dyn BlindRotation<T>>, TfheError>;
}

/// The torus types that have both back ends; `u32` and `u64`.
pub trait BackendTorus: Torus + private::Build {}

impl BackendTorus for u32 {}
impl BackendTorus for u64 {}

mod private {
    use super::{Backend, Builder, GgswShape, Isa, TfheError, Torus};

    /// Makes [`BackendTorus`](super::BackendTorus) a closed set.
    pub trait Build: Torus {
        /// A builder for `count` GGSW ciphertexts of one shape.
        #[allow(private_interfaces)]
        fn builder(
            backend: Backend,
            isa: Isa,
            shape: GgswShape,
            count: usize,
        ) -> Result<Box<dyn Builder<Self>>, TfheError>;
    }
}

impl private::Build for u32 {
    #[allow(private_interfaces)]
    fn builder(
        backend: Backend,
        isa: Isa,
        shape: GgswShape,
        count: usize,
    ) -> Result<Box<dyn Builder<Self>>, TfheError> {
        Ok(match backend {
            Backend::Fft => Box::new(BlindRotator::new(fft::FftDomain::<u32>::new(shape, isa)?, shape, count)?),
            Backend::Ntt => Box::new(BlindRotator::new(ntt::IntegerDomain::new(shape, isa)?, shape, count)?),
        })
    }
}

impl private::Build for u64 {
    #[allow(private_interfaces)]
    fn builder(
        backend: Backend,
        isa: Isa,
        shape: GgswShape,
        count: usize,
    ) -> Result<Box<dyn Builder<Self>>, TfheError> {
        Ok(match backend {
            Backend::Fft => Box::new(BlindRotator::new(fft::FftDomain::<u64>::new(shape, isa)?, shape, count)?),
            Backend::Ntt => Box::new(BlindRotator::new(ntt::ModularDomain::new(shape, isa)?, shape, count)?),
        })
    }
}

/// A transformed bootstrapping key: per GGSW ciphertext k+1 columns, per column (k+1)·l spectra of N points.
struct BlindRotator<T: Torus, D: Domain<T>> {
    domain: D,
    shape: GgswShape,
    count: usize,
    filled: usize,
    spectra: AlignedBuffer<D::Point>,
    torus: std::marker::PhantomData<T>,
}

impl<T: Torus, D: Domain<T>> Debug for BlindRotator<T, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlindRotator({:?}, {} ciphertexts of {:?})", self.domain, self.count, self.shape)
    }
}

/// Working memory of one blind rotation.
struct Scratch<T: Torus, D: Domain<T>> {
    difference: AlignedBuffer<D::Element>,
    digits: AlignedBuffer<D::Point>,
    sum: AlignedBuffer<D::Point>,
    inverse: AlignedBuffer<D::Inverse>,
}

impl<T: Torus, D: Domain<T>> BlindRotator<T, D> {
    fn new(domain: D, shape: GgswShape, count: usize) -> Result<Self, TfheError> {
        // It grows with what is pushed: a key that only claims to be large costs no memory.
        let spectra = AlignedBuffer::try_with_capacity("the transformed bootstrapping key", count * shape.len())?;
        Ok(Self { domain, shape, count, filled: 0, spectra, torus: std::marker::PhantomData })
    }

    fn scratch(&self) -> Scratch<T, D> {
        let n = self.shape.polynomial_size.get();
        Scratch {
            difference: AlignedBuffer::zeroed(n),
            digits: AlignedBuffer::zeroed(self.shape.row_count() * n),
            sum: AlignedBuffer::zeroed(n),
            inverse: AlignedBuffer::zeroed(n),
        }
    }

    /// Transforms the digits of one component, all levels, to their place among the rows.
    fn transform_component(&self, component: usize, polynomial: &[D::Element], digits: &mut [D::Point]) {
        let n = self.shape.polynomial_size.get();
        let levels = self.shape.decomposition.level_count.0;
        let rows = &mut digits[component * levels * n..][..levels * n];
        for (level, spectrum) in rows.chunks_exact_mut(n).enumerate() {
            self.domain.transform_digits(polynomial, level + 1, spectrum);
        }
    }

    /// acc += Σ over the rows, column by column.
    fn accumulate(&self, index: usize, acc: &mut [D::Element], scratch: &mut Scratch<T, D>) {
        let n = self.shape.polynomial_size.get();
        let ggsw = &self.spectra[index * self.shape.len()..][..self.shape.len()];
        for (column, polynomial) in ggsw.chunks_exact(self.shape.row_count() * n).zip(acc.chunks_exact_mut(n)) {
            scratch.sum.fill(D::Point::default());
            self.domain.multiply_accumulate(&mut scratch.sum, &scratch.digits, column);
            self.domain.inverse_add(&mut scratch.sum, polynomial, &mut scratch.inverse);
        }
    }

    fn check(&self, glwe: &GlweCiphertext<T>) -> Result<(), TfheError> {
        require_equal("GLWE dimension of the ciphertext", glwe.dimension().0, self.shape.glwe_dimension.0)?;
        let n = self.shape.polynomial_size.get();
        require_equal("polynomial size of the ciphertext", glwe.polynomial_size().get(), n)
    }

    fn leave(&self, acc: &[D::Element]) -> Result<GlweCiphertext<T>, TfheError> {
        let mut torus = vec![T::ZERO; acc.len()];
        self.domain.leave(acc, &mut torus);
        GlweCiphertext::from_coefficients(torus, self.shape.polynomial_size)
    }
}

impl<T: Torus, D: Domain<T> + 'static> Builder<T> for BlindRotator<T, D> {
    fn push(&mut self, rows: &[T]) -> Result<(), TfheError> {
        let shape = self.shape;
        let n = shape.polynomial_size.get();
        require_equal("remainder of the batch by a ciphertext's size", rows.len() % shape.len(), 0)?;
        let pushed = rows.len() / shape.len();
        let room = self.count - self.filled;
        if pushed > room {
            return Err(TfheError::Mismatch { what: "GGSW ciphertexts", given: pushed as u64, expected: room as u64 });
        }
        self.spectra.grow(self.filled * shape.len() + rows.len());
        let target = &mut self.spectra[self.filled * shape.len()..];
        let domain = &self.domain;
        // Row-major coefficients to column-major spectra.
        target.par_chunks_exact_mut(n).enumerate().for_each(|(i, spectrum)| {
            let (ggsw, rest) = (i / (shape.len() / n), i % (shape.len() / n));
            let (column, row) = (rest / shape.row_count(), rest % shape.row_count());
            let start = ggsw * shape.len() + row * shape.row_len() + column * n;
            domain.transform_key(&rows[start..start + n], spectrum);
        });
        self.filled += pushed;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Box<dyn BlindRotation<T>>, TfheError> {
        require_equal("GGSW ciphertexts of the bootstrapping key", self.filled, self.count)?;
        Ok(self)
    }
}

impl<T: Torus, D: Domain<T>> BlindRotation<T> for BlindRotator<T, D> {
    fn blind_rotate(
        &self,
        exponents: &[usize],
        accumulator: &GlweCiphertext<T>,
    ) -> Result<GlweCiphertext<T>, TfheError> {
        self.check(accumulator)?;
        require_equal("exponents (mask and body)", exponents.len(), self.count + 1)?;
        let n = self.shape.polynomial_size.get();
        let mut start = AlignedBuffer::zeroed(accumulator.coefficients().len());
        self.domain.enter(accumulator.coefficients(), &mut start);
        let mut acc = AlignedBuffer::zeroed(start.len());
        let body = exponents[self.count];
        for (from, to) in start.chunks_exact(n).zip(acc.chunks_exact_mut(n)) {
            self.domain.rotate(from, (2 * n - body) % (2 * n), to);
        }
        let mut scratch = self.scratch();
        for (index, &exponent) in exponents[..self.count].iter().enumerate() {
            // The exponents are public, so skipping a zero reveals nothing.
            if exponent == 0 {
                continue;
            }
            for (component, polynomial) in acc.chunks_exact(n).enumerate() {
                self.domain.rotated_difference(polynomial, exponent, &mut scratch.difference);
                self.transform_component(component, &scratch.difference, &mut scratch.digits);
            }
            self.accumulate(index, &mut acc, &mut scratch);
        }
        self.leave(&acc)
    }

    fn external_product(&self, index: usize, glwe: &GlweCiphertext<T>) -> Result<GlweCiphertext<T>, TfheError> {
        self.check(glwe)?;
        if index >= self.count {
            let max = self.count as u64 - 1;
            return Err(TfheError::Field { what: "index of the GGSW ciphertext", given: index as u64, min: 0, max });
        }
        let n = self.shape.polynomial_size.get();
        let mut input = AlignedBuffer::zeroed(glwe.coefficients().len());
        self.domain.enter(glwe.coefficients(), &mut input);
        let mut scratch = self.scratch();
        for (component, polynomial) in input.chunks_exact(n).enumerate() {
            self.transform_component(component, polynomial, &mut scratch.digits);
        }
        let mut out = AlignedBuffer::zeroed(input.len());
        self.accumulate(index, &mut out, &mut scratch);
        self.leave(&out)
    }

    fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.spectra) as u64
    }
}

/// GGSW ciphertexts in transformed form, for external products and CMux outside of a bootstrapping key.
#[derive(Clone, Debug)]
pub struct TransformedGgsw<T> {
    rotator: Arc<dyn BlindRotation<T>>,
}

impl<T: BackendTorus> TransformedGgsw<T> {
    /// Transforms a GGSW ciphertext.
    ///
    /// # Errors
    /// If the back end has no transform for its size, or (exact NTT on u32) its products would not fit the modulus.
    pub fn new(ggsw: &GgswCiphertext<T>, backend: Backend, isa: Isa) -> Result<Self, TfheError> {
        let mut builder = T::builder(backend, isa, ggsw.shape(), 1)?;
        builder.push(ggsw.coefficients())?;
        Ok(Self { rotator: Arc::from(builder.finish()?) })
    }

    /// External product: an encryption of the GGSW's message times the GLWE's.
    ///
    /// # Errors
    /// If the sizes differ.
    pub fn external_product(&self, glwe: &GlweCiphertext<T>) -> Result<GlweCiphertext<T>, TfheError> {
        self.rotator.external_product(0, glwe)
    }

    /// CMux: `if_one` where the GGSW encrypts 1, `if_zero` where it encrypts 0.
    ///
    /// # Errors
    /// If the sizes differ.
    pub fn cmux(
        &self,
        if_zero: &GlweCiphertext<T>,
        if_one: &GlweCiphertext<T>,
    ) -> Result<GlweCiphertext<T>, TfheError> {
        let mut difference = if_one.clone();
        difference.sub_assign(if_zero)?;
        let mut out = self.external_product(&difference)?;
        out.add_assign(if_zero)?;
        Ok(out)
    }
}
