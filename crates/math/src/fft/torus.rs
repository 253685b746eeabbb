//! The CPU's strategy for [`FftEngine`]: the folded transform without a twist.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::kernels::Kernels;
use super::plan::Plan;
use super::{FftEngine, FftError, PackedWord, packed, portable};
use crate::{CoefficientSource, EngineInfo, EngineKind, Isa};

/// The folded, twist-free transform on N/2 complex points, for N = 2^4 … 2^17 on every instruction set.
///
/// The [module's documentation](super) describes the algorithm, its error and its cost, with an example. Small sizes
/// run on narrower vectors than the instruction set offers, because two tiles of lanes must fit in N/2 points.
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::fft::{FftEngine, TorusFft};
///
/// // The polynomial 1 has the value 1 at every root.
/// let engine = TorusFft::new(256, Isa::current())?;
/// let mut polynomial = vec![0i64; 256];
/// polynomial[0] = 1;
/// let mut spectrum = vec![0.0; 256];
/// engine.forward(&polynomial, &mut spectrum);
/// assert_eq!(engine.value_at(&spectrum, 5), (1.0, 0.0));
/// # Ok::<(), ciphermill_math::fft::FftError>(())
/// ```
#[derive(Debug)]
pub struct TorusFft {
    polynomial_size: usize,
    isa: Isa,
    kernels: &'static Kernels,
    plan: Plan,
}

impl TorusFft {
    /// Smallest N.
    pub const MIN_POLYNOMIAL_SIZE: usize = 1 << 4;
    /// Largest N.
    pub const MAX_POLYNOMIAL_SIZE: usize = 1 << 17;

    /// Tables for one size, for one instruction set.
    ///
    /// # Errors
    /// If the size is not a power of two in the range above, or if this CPU lacks the instruction set.
    pub fn new(polynomial_size: usize, isa: Isa) -> Result<Self, FftError> {
        if !polynomial_size.is_power_of_two()
            || !(Self::MIN_POLYNOMIAL_SIZE..=Self::MAX_POLYNOMIAL_SIZE).contains(&polynomial_size)
        {
            return Err(FftError::PolynomialSize {
                given: polynomial_size,
                min: Self::MIN_POLYNOMIAL_SIZE,
                max: Self::MAX_POLYNOMIAL_SIZE,
            });
        }
        if !isa.is_available() {
            return Err(FftError::IsaUnavailable { asked: isa, best: Isa::best() });
        }
        let points = polynomial_size / 2;
        let kernels = candidates(isa)
            .iter()
            .copied()
            .find(|kernels| points >= kernels.lanes * kernels.lanes)
            .unwrap_or(&portable::scalar::KERNELS);
        let plan = Plan::new(points, kernels.lanes, kernels.levels_per_pass);
        Ok(TorusFft { polynomial_size, isa, kernels, plan })
    }

    /// The value of the transformed polynomial at ζ^(4k+1), 0 ≤ k < N/2, as real and imaginary part.
    ///
    /// This is the only supported access to the content of a spectrum, for tests and diagnosis.
    ///
    /// # Panics
    /// If `k ≥ N/2`, or if the spectrum does not have N words.
    pub fn value_at(&self, spectrum: &[f64], k: usize) -> (f64, f64) {
        self.check_len(spectrum.len(), "spectrum");
        assert!(k < self.plan.points, "value {k} of a spectrum of {} points", self.plan.points);
        let (re, im) = self.plan.position(k, self.kernels.lanes);
        (spectrum[re], spectrum[im])
    }

    fn check_len(&self, len: usize, what: &str) {
        assert_eq!(len, self.polynomial_size, "{what} must have {} words", self.polynomial_size);
    }
}

/// The kernels that an available instruction set can run, best first.
fn candidates(isa: Isa) -> &'static [&'static Kernels] {
    #[cfg(target_arch = "x86_64")]
    use super::{avx2, avx512};
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => &[&avx512::vector::KERNELS, &avx2::vector::KERNELS],
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => &[&avx2::vector::KERNELS],
        _ => &[&portable::vector::KERNELS],
    }
}

impl FftEngine for TorusFft {
    fn polynomial_size(&self) -> usize {
        self.polynomial_size
    }

    fn info(&self) -> EngineInfo {
        EngineInfo::new("torus-fft", EngineKind::Cpu(self.isa))
    }

    fn forward(&self, source: &dyn CoefficientSource<i64>, spectrum: &mut [f64]) {
        self.check_len(source.len(), "source");
        self.check_len(spectrum.len(), "spectrum");
        // SAFETY: `new` checked that the CPU offers the instruction set and made the plan for these kernels. The
        // lengths are checked.
        unsafe { (self.kernels.forward)(&self.plan, source, spectrum.as_mut_ptr()) }
    }

    fn forward_prefetching(&self, source: &dyn CoefficientSource<i64>, spectrum: &mut [f64], upcoming: &[u8]) {
        if upcoming.is_empty() {
            return self.forward(source, spectrum);
        }
        self.check_len(source.len(), "source");
        self.check_len(spectrum.len(), "spectrum");
        // SAFETY: as in `forward`.
        unsafe { (self.kernels.forward_prefetching)(&self.plan, source, spectrum.as_mut_ptr(), upcoming) }
    }

    fn multiply_accumulate(&self, acc: &mut [f64], lhs: &[f64], rhs: &[f64]) {
        self.check_len(acc.len(), "acc");
        assert_eq!(lhs.len(), rhs.len(), "lhs and rhs must hold the same number of spectra");
        assert_eq!(lhs.len() % self.polynomial_size, 0, "lhs must hold whole spectra");
        // SAFETY: as in `forward`.
        unsafe { (self.kernels.multiply_accumulate)(acc, lhs, rhs) }
    }

    fn pack(&self, word: PackedWord, spectra: &[f64], packed: &mut [u8]) {
        packed::pack_spectra(self.isa, self.polynomial_size, self.kernels.lanes, word, spectra, packed);
    }

    fn multiply_packed(
        &self,
        word: PackedWord,
        sums: &mut [&mut [f64]],
        lhs: &[&[f64]],
        packed: &[u8],
        accumulate: bool,
    ) {
        packed::multiply_packed(
            self.isa,
            self.polynomial_size,
            self.kernels.lanes,
            word,
            sums,
            lhs,
            packed,
            accumulate,
        );
    }

    fn inverse_add_u64(&self, spectrum: &mut [f64], out: &mut [u64]) {
        self.check_len(spectrum.len(), "spectrum");
        self.check_len(out.len(), "out");
        // SAFETY: as in `forward`.
        unsafe { (self.kernels.inverse_u64)(&self.plan, spectrum.as_mut_ptr(), out.as_mut_ptr()) }
    }

    fn inverse_add_u32(&self, spectrum: &mut [f64], out: &mut [u32]) {
        self.check_len(spectrum.len(), "spectrum");
        self.check_len(out.len(), "out");
        // SAFETY: as in `forward`.
        unsafe { (self.kernels.inverse_u32)(&self.plan, spectrum.as_mut_ptr(), out.as_mut_ptr()) }
    }
}

/// The process-wide engine of one size and instruction set, created at first use.
///
/// # Errors
/// As [`TorusFft::new`].
///
/// # Example
/// ```
/// use ciphermill_math::{Isa, fft};
///
/// let engine = fft::engine(1024, Isa::current())?;
/// assert_eq!(engine.polynomial_size(), 1024);
/// # Ok::<(), fft::FftError>(())
/// ```
pub fn engine(polynomial_size: usize, isa: Isa) -> Result<Arc<dyn FftEngine>, FftError> {
    type Engines = HashMap<(usize, Isa), Arc<dyn FftEngine>>;
    static ENGINES: OnceLock<Mutex<Engines>> = OnceLock::new();
    // A panic while the lock is held cannot leave a broken entry: entries are inserted whole.
    let mut engines = ENGINES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(engine) = engines.get(&(polynomial_size, isa)) {
        return Ok(Arc::clone(engine));
    }
    let engine: Arc<dyn FftEngine> = Arc::new(TorusFft::new(polynomial_size, isa)?);
    engines.insert((polynomial_size, isa), Arc::clone(&engine));
    Ok(engine)
}
