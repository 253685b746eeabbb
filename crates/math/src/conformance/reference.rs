//! Slow engines made from the plain definitions. They use the public traits only.

use std::fmt::Debug;
use std::sync::Arc;

use crate::fft::{self, FftEngine, PackedWord};
use crate::goldilocks::MODULUS as GOLDILOCKS;
use crate::modulus::Modulus;
use crate::ntt::{NttEngine, NttError, NttProvider, NttWord, reference};
use crate::{CoefficientSource, EngineInfo, EngineKind, Isa};

/// The negacyclic NTT by the loops of [`mod@reference`], for any power of two N for which p has a root of order 2N.
///
/// # Example
/// ```
/// use ciphermill_math::conformance::ReferenceNtt;
/// use ciphermill_math::ntt::NttEngine;
///
/// // X^3 · X = −1 modulo X^4 + 1 and 17.
/// let engine = ReferenceNtt::new(4, 17)?;
/// let (mut lhs, mut rhs) = ([0u64, 0, 0, 1], [0u64, 1, 0, 0]);
/// engine.forward_in_place(&mut lhs);
/// engine.forward_in_place(&mut rhs);
/// engine.multiply(&mut lhs, &rhs);
/// engine.inverse_in_place(&mut lhs);
/// assert_eq!(lhs, [16, 0, 0, 0]);
/// # Ok::<(), ciphermill_math::ntt::NttError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReferenceNtt {
    polynomial_size: usize,
    /// `None` over the Goldilocks prime.
    modulus: Option<Modulus>,
}

impl ReferenceNtt {
    /// The transform of `polynomial_size` coefficients modulo the prime `modulus`, below 2^62 or the Goldilocks prime.
    ///
    /// # Errors
    /// If `modulus` is not such a prime, or has no root of order 2N.
    pub fn new(polynomial_size: usize, modulus: u64) -> Result<Self, NttError> {
        let (min, max) = (2, 1 << 17);
        if !polynomial_size.is_power_of_two() || !(min..=max).contains(&polynomial_size) {
            return Err(NttError::PolynomialSize { given: polynomial_size, min, max });
        }
        if modulus == GOLDILOCKS {
            return Ok(Self { polynomial_size, modulus: None });
        }
        let field = Modulus::new(modulus)?;
        field.primitive_root_2n(polynomial_size).ok_or(NttError::NoRoot { modulus, polynomial_size })?;
        Ok(Self { polynomial_size, modulus: Some(field) })
    }

    fn p(&self) -> u64 {
        self.modulus.map_or(GOLDILOCKS, Modulus::value)
    }

    /// Applies `transform` to words of the engine's type.
    fn on_words<W: Word>(words: &mut [W], transform: impl FnOnce(&mut [u64])) {
        let mut values: Vec<u64> = words.iter().map(|&x| x.into()).collect();
        transform(&mut values);
        words.iter_mut().zip(values).for_each(|(to, x)| *to = narrow(x));
    }
}

/// A word that holds the residues of a transform.
trait Word: NttWord + TryFrom<u64, Error: Debug> + Into<u64> {}

impl Word for u32 {}
impl Word for u64 {}

fn narrow<W: Word>(x: u64) -> W {
    W::try_from(x).expect("a residue fits the engine's word")
}

impl<W: Word> NttEngine<W> for ReferenceNtt {
    fn polynomial_size(&self) -> usize {
        self.polynomial_size
    }

    fn modulus(&self) -> u64 {
        self.p()
    }

    fn info(&self) -> EngineInfo {
        EngineInfo::new("reference-ntt", EngineKind::Cpu(Isa::Portable))
    }

    fn exponent(&self, position: usize) -> usize {
        assert!(position < self.polynomial_size, "position {position} of {}", self.polynomial_size);
        2 * reference::bit_reverse(position, self.polynomial_size.trailing_zeros()) + 1
    }

    fn forward(&self, source: &dyn CoefficientSource<W>, spectrum: &mut [W]) {
        assert_eq!(source.len(), self.polynomial_size, "length of the source");
        source.read(0, spectrum);
        self.forward_in_place(spectrum);
    }

    fn forward_in_place(&self, values: &mut [W]) {
        assert_eq!(values.len(), self.polynomial_size, "length of the polynomial");
        Self::on_words(values, |values| match self.modulus {
            None => reference::forward(values),
            Some(modulus) => reference::prime::forward(modulus, values),
        });
    }

    fn multiply(&self, lhs: &mut [W], rhs: &[W]) {
        assert_eq!((lhs.len(), rhs.len()), (self.polynomial_size, self.polynomial_size), "lengths of the factors");
        let p = u128::from(self.p());
        for (l, &r) in lhs.iter_mut().zip(rhs) {
            *l = narrow((u128::from((*l).into()) * u128::from(r.into()) % p) as u64);
        }
    }

    fn multiply_accumulate(&self, acc: &mut [W], lhs: &[W], rhs: &[W]) {
        let n = self.polynomial_size;
        assert_eq!((acc.len(), lhs.len()), (n, rhs.len()), "lengths of the accumulator and the factors");
        assert!(lhs.len().is_multiple_of(n), "factors of {} words are not whole spectra of {n}", lhs.len());
        let p = u128::from(self.p());
        for (lhs, rhs) in lhs.chunks_exact(n).zip(rhs.chunks_exact(n)) {
            for (a, (&l, &r)) in acc.iter_mut().zip(lhs.iter().zip(rhs)) {
                let product = u128::from(l.into()) * u128::from(r.into()) % p;
                *a = narrow(((u128::from((*a).into()) + product) % p) as u64);
            }
        }
    }

    fn inverse(&self, spectrum: &mut [W], coefficients: &mut [W]) {
        coefficients.copy_from_slice(spectrum);
        self.inverse_in_place(coefficients);
    }

    fn inverse_in_place(&self, values: &mut [W]) {
        assert_eq!(values.len(), self.polynomial_size, "length of the spectrum");
        Self::on_words(values, |values| match self.modulus {
            None => {
                values.iter_mut().for_each(|x| *x %= GOLDILOCKS);
                reference::inverse_unnormalised(values);
                reference::normalise(values);
            }
            Some(modulus) => {
                reference::prime::inverse_unnormalised(modulus, values);
                reference::prime::normalise(modulus, values);
            }
        });
    }
}

/// Makes [`ReferenceNtt`] engines of every kind.
///
/// # Example
/// ```
/// use ciphermill_math::conformance::ReferenceNttProvider;
/// use ciphermill_math::ntt::NttProvider;
///
/// let engine = ReferenceNttProvider.prime(256, 7681)?;
/// assert_eq!((engine.polynomial_size(), engine.modulus()), (256, 7681));
/// # Ok::<(), ciphermill_math::ntt::NttError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceNttProvider;

impl NttProvider for ReferenceNttProvider {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("reference-ntt", EngineKind::Cpu(Isa::Portable))
    }

    fn prime(&self, polynomial_size: usize, modulus: u64) -> Result<Arc<dyn NttEngine>, NttError> {
        Ok(Arc::new(ReferenceNtt::new(polynomial_size, modulus)?))
    }

    fn prime_u32(&self, polynomial_size: usize, modulus: u32) -> Result<Arc<dyn NttEngine<u32>>, NttError> {
        Ok(Arc::new(ReferenceNtt::new(polynomial_size, modulus.into())?))
    }

    fn goldilocks(&self, polynomial_size: usize) -> Result<Arc<dyn NttEngine>, NttError> {
        Ok(Arc::new(ReferenceNtt::new(polynomial_size, GOLDILOCKS)?))
    }
}

/// The f64 transform by [`fft::reference`]. A spectrum has N/2 points, each a real and an imaginary part.
///
/// # Example
/// ```
/// use ciphermill_math::conformance::ReferenceFft;
/// use ciphermill_math::fft::FftEngine;
///
/// // A forward and an inverse transform return the polynomial.
/// let engine = ReferenceFft::new(16)?;
/// let polynomial: Vec<i64> = (0..16).collect();
/// let (mut spectrum, mut out) = (vec![0.0; 16], vec![0; 16]);
/// engine.forward(&polynomial, &mut spectrum);
/// engine.inverse_add_u64(&mut spectrum, &mut out);
/// assert!(out.iter().copied().eq(0..16));
/// # Ok::<(), ciphermill_math::fft::FftError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReferenceFft {
    polynomial_size: usize,
}

/// Bytes of a packed spectrum before the first word; they hold the unit of [`PackedWord::Fixed48`].
const HEADER: usize = 64;

/// The greatest magnitude of a 48-bit word.
const LARGEST: f64 = 140_737_488_355_327.0;

impl ReferenceFft {
    /// The transform of `polynomial_size` coefficients.
    ///
    /// # Errors
    /// If the size is not a power of two from 16 to 131072.
    pub fn new(polynomial_size: usize) -> Result<Self, fft::FftError> {
        let (min, max) = (fft::TorusFft::MIN_POLYNOMIAL_SIZE, fft::TorusFft::MAX_POLYNOMIAL_SIZE);
        if !polynomial_size.is_power_of_two() || !(min..=max).contains(&polynomial_size) {
            return Err(fft::FftError::PolynomialSize { given: polynomial_size, min, max });
        }
        Ok(Self { polynomial_size })
    }

    /// Normalised coefficients, before rounding.
    fn coefficients(&self, spectrum: &[f64]) -> Vec<f64> {
        assert_eq!(spectrum.len(), self.polynomial_size, "length of the spectrum");
        let points: Vec<_> = spectrum.as_chunks::<2>().0.iter().map(|z| (z[0], z[1])).collect();
        let folded = fft::reference::inverse(&points);
        folded.iter().map(|z| z.0).chain(folded.iter().map(|z| z.1)).collect()
    }
}

/// The nearest integer modulo 2^64.
fn round(x: f64) -> u64 {
    (x.round() % 2f64.powi(64)) as i128 as u64
}

impl FftEngine for ReferenceFft {
    fn polynomial_size(&self) -> usize {
        self.polynomial_size
    }

    fn info(&self) -> EngineInfo {
        EngineInfo::new("reference-fft", EngineKind::Cpu(Isa::Portable))
    }

    fn forward(&self, source: &dyn CoefficientSource<i64>, spectrum: &mut [f64]) {
        assert_eq!(source.len(), self.polynomial_size, "length of the source");
        assert_eq!(spectrum.len(), self.polynomial_size, "length of the spectrum");
        let mut coefficients = vec![0; self.polynomial_size];
        source.read(0, &mut coefficients);
        let points = fft::reference::transform(&coefficients);
        spectrum.as_chunks_mut::<2>().0.iter_mut().zip(points).for_each(|(to, z)| *to = [z.0, z.1]);
    }

    fn multiply_accumulate(&self, acc: &mut [f64], lhs: &[f64], rhs: &[f64]) {
        let n = self.polynomial_size;
        assert_eq!((acc.len(), lhs.len()), (n, rhs.len()), "lengths of the accumulator and the factors");
        assert!(lhs.len().is_multiple_of(n), "factors of {} words are not whole spectra of {n}", lhs.len());
        for (lhs, rhs) in lhs.chunks_exact(n).zip(rhs.chunks_exact(n)) {
            let points = lhs.as_chunks::<2>().0.iter().zip(rhs.as_chunks::<2>().0);
            for ([re, im], (l, r)) in acc.as_chunks_mut::<2>().0.iter_mut().zip(points) {
                *re += l[0] * r[0] - l[1] * r[1];
                *im += l[0] * r[1] + l[1] * r[0];
            }
        }
    }

    fn pack(&self, word: PackedWord, spectra: &[f64], packed: &mut [u8]) {
        let n = self.polynomial_size;
        assert_eq!(packed.len(), word.packed_len(spectra.len() / n, n), "bytes of the packed spectra");
        let unit = spectra.iter().fold(0.0f64, |l, x| l.max(x.abs())) / LARGEST;
        let (header, words) = packed.split_at_mut(HEADER);
        header[..8].copy_from_slice(&unit.to_le_bytes());
        for (to, &x) in words.chunks_exact_mut(word.bytes()).zip(spectra) {
            let bytes = match word {
                PackedWord::Float64 => x.to_le_bytes(),
                // Without a unit every part is zero.
                PackedWord::Fixed48 if unit == 0.0 => [0; 8],
                PackedWord::Fixed48 => ((x / unit).round().clamp(-LARGEST, LARGEST) as i64).to_le_bytes(),
            };
            to.copy_from_slice(&bytes[..word.bytes()]);
        }
    }

    fn multiply_packed(
        &self,
        word: PackedWord,
        sums: &mut [&mut [f64]],
        lhs: &[&[f64]],
        packed: &[u8],
        accumulate: bool,
    ) {
        let n = self.polynomial_size;
        let (header, words) = packed.split_at(HEADER);
        let unit = f64::from_le_bytes(header[..8].try_into().expect("eight bytes"));
        let rhs: Vec<f64> = words
            .chunks_exact(word.bytes())
            .map(|bytes| {
                let mut all = [0; 8];
                all[..bytes.len()].copy_from_slice(bytes);
                match word {
                    PackedWord::Float64 => f64::from_le_bytes(all),
                    PackedWord::Fixed48 => (i64::from_le_bytes(all) << 16 >> 16) as f64 * unit,
                }
            })
            .collect();
        assert_eq!(sums.len(), lhs.len(), "sums for each operand");
        for (sums, lhs) in sums.iter_mut().zip(lhs) {
            let columns = sums.len() / n;
            assert_eq!(rhs.len(), lhs.len() * columns, "rows and columns of the packed spectra");
            for (c, sum) in sums.chunks_exact_mut(n).enumerate() {
                let mut total = vec![0.0; n];
                for (lhs, row) in lhs.chunks_exact(n).zip(rhs.chunks_exact(columns * n)) {
                    self.multiply_accumulate(&mut total, lhs, &row[c * n..][..n]);
                }
                for (s, t) in sum.iter_mut().zip(total) {
                    *s = if accumulate { *s + t } else { t };
                }
            }
        }
    }

    fn inverse_add_u64(&self, spectrum: &mut [f64], out: &mut [u64]) {
        assert_eq!(out.len(), self.polynomial_size, "length of the result");
        out.iter_mut().zip(self.coefficients(spectrum)).for_each(|(o, x)| *o = o.wrapping_add(round(x)));
    }

    fn inverse_add_u32(&self, spectrum: &mut [f64], out: &mut [u32]) {
        assert_eq!(out.len(), self.polynomial_size, "length of the result");
        out.iter_mut().zip(self.coefficients(spectrum)).for_each(|(o, x)| *o = o.wrapping_add(round(x) as u32));
    }
}
