//! Small signed integers as the coefficients of a residue polynomial.

use super::monomial::SmallInteger;
use crate::{CoefficientSource, Isa, Modulus};

/// The polynomial X^shift·a modulo X^N + 1 and p, for a with small signed coefficients. Its values are in `[0, p)`.
///
/// # Example
/// ```
/// use ciphermill_math::products::SmallCoefficients;
/// use ciphermill_math::{CoefficientSource, Modulus};
///
/// // X·(1 − 2X^3) = 2 + X modulo X^4 + 1.
/// let source = SmallCoefficients::new(&[1i16, 0, 0, -2], 1, Modulus::new(97)?);
/// let mut values = [0u64; 4];
/// source.read(0, &mut values);
/// assert_eq!(values, [2, 1, 0, 0]);
/// # Ok::<(), ciphermill_math::modulus::ModulusError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SmallCoefficients<'a, T> {
    coefficients: &'a [T],
    shift: usize,
    modulus: Modulus,
    isa: Isa,
}

impl<'a, T: SmallInteger> SmallCoefficients<'a, T> {
    /// The polynomial with the given coefficients of a, below p in absolute value; `shift` is reduced modulo 2N. They
    /// are read on the instruction set of the process, [`Isa::current`].
    ///
    /// # Panics
    /// If their number is not a power of two.
    pub fn new(coefficients: &'a [T], shift: usize, modulus: Modulus) -> Self {
        assert!(coefficients.len().is_power_of_two(), "{} coefficients; use a power of two", coefficients.len());
        Self { coefficients, shift: shift & (2 * coefficients.len() - 1), modulus, isa: Isa::current() }
    }

    /// The same polynomial, read on another instruction set.
    ///
    /// # Panics
    /// If the CPU lacks `isa`.
    pub fn on(self, isa: Isa) -> Self {
        assert!(isa.is_available());
        Self { isa, ..self }
    }
}

impl<T: SmallInteger> CoefficientSource<u64> for SmallCoefficients<'_, T> {
    fn len(&self) -> usize {
        self.coefficients.len()
    }

    fn read(&self, start: usize, out: &mut [u64]) {
        let n = self.coefficients.len();
        let turn = 2 * n - 1;
        assert!(start + out.len() <= n, "coefficients {start} and {} more of {n}", out.len());
        let mut done = 0;
        while done < out.len() {
            // Coefficient i is that of X^(i − shift), and X^(e + N) = −X^e.
            let e = (start + done).wrapping_sub(self.shift) & turn;
            let from = &self.coefficients[e & (n - 1)..];
            let count = from.len().min(out.len() - done);
            T::lift(self.isa, &from[..count], e >= n, self.modulus.value(), &mut out[done..done + count]);
            done += count;
        }
    }
}
