//! Long transforms made of short ones: the four-step transform, for X^N − 1 and for X^N + 1.
//!
//! With N = A·B, n = B·n1 + n2 and k = k1 + A·k2, the cyclic transform Σ_n x_n·ω^(n·k) takes four steps on the
//! coefficients as a matrix of A rows and B columns:
//!
//! 1. *columns*: every column is transformed, length A, root ω^B: over n1, to k1;
//! 2. *twist*: the entry at (k1, n2) is multiplied by ω^(n2·k1);
//! 3. *transpose*: to B rows and A columns;
//! 4. *columns* again: length B, root ω^A: over n2, to k2. The entry at (k2, k1) is the value at ω^(k1 + A·k2).
//!
//! So coefficients and values are both in natural order, row by row. The steps come from W. M. Gentleman and G. Sande,
//! "Fast Fourier transforms: for fun and profit" (AFIPS Fall Joint Computer Conference, 1966). Their order, which
//! serves memories, comes from D. H. Bailey, "FFTs in external or hierarchical memory" (J. Supercomputing 4, 1990).
//!
//! # Modulo X^N + 1
//!
//! The transform is Σ_n x_n·ψ^(n·(2k+1)), ψ² = ω. It needs no further pass over the data. ψ^n = (ψ^B)^n1·ψ^n2, and ψ^B
//! is a primitive 2A-th root. So the first columns are *negacyclic* transforms of length A, and the twist is by
//! ψ^(n2·(2·k1+1)). The last columns are cyclic. With A = 1 only that twist remains of the first two steps: the usual
//! weights ψ^n before a cyclic transform.
//!
//! # More than two factors
//!
//! Step 4 can be a four-step transform itself. For N = f_0·f_1·…·f_(m−1), pass j has values in the shape f_j × r × s,
//! row by row, where s = f_0·…·f_(j−1) and N = f_j·r·s. It transforms all r·s columns of length f_j, multiplies the
//! entry at (k_j, n, ·) by ω^(s·n·k_j), and swaps the first two axes. The last pass only transforms columns. With m = 2
//! these are the four steps. If every factor is 2, it is the self-sorting transform named after T. G. Stockham. Modulo
//! X^N + 1 only pass 0 differs.
//!
//! # Inverse
//!
//! The inverse runs the same steps backwards. Columns are transformed back without a factor. Untwisting pass 0
//! multiplies every value, and includes the division by N.
//!
//! # When it wins
//!
//! The four-step transform wins if N does not fit the memory next to the arithmetic. Data pass through that memory m
//! times instead of log2 N times. All columns of a pass are independent, so they can run on different lanes or cores.
//! The price is N multiplications per twist. On a CPU all sizes of this module's engines fit, and the engines are
//! faster. This is the golden model for accelerators, in plain arithmetic.

use super::reference::bit_reverse;
use crate::Modulus;

/// The ring in which products of spectra are products of polynomials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Convolution {
    /// Z_p\[X\]/(X^N − 1): value k is a(ω^k), ω of order N.
    Cyclic,
    /// Z_p\[X\]/(X^N + 1): value k is a(ψ^(2k+1)), ψ of order 2N.
    Negacyclic,
}

/// The reason why a split of N is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FourStepError {
    /// The split has too few or too many factors.
    #[error(
        "a split into {given} factors is not supported; use {} to {}",
        FourStepNtt::MIN_FACTORS,
        FourStepNtt::MAX_FACTORS
    )]
    FactorCount {
        /// The number of factors.
        given: usize,
    },
    /// A factor is not a power of two.
    #[error("factor {place} of N is {given}; use powers of two")]
    Factor {
        /// The index of the factor, from 0.
        place: usize,
        /// The factor.
        given: usize,
    },
    /// The product of the factors is too small or too large.
    #[error(
        "the factors make N = 2^{log2_given}, which is not supported; use a product from {} to 2^{}",
        FourStepNtt::MIN_SIZE,
        FourStepNtt::MAX_SIZE.ilog2()
    )]
    Size {
        /// log2 N.
        log2_given: u32,
    },
    /// The field lacks the root of unity.
    #[error("modulus {modulus} has no root of unity of order {order}; use a prime that is 1 modulo {order}")]
    NoRoot {
        /// The prime.
        modulus: u64,
        /// N for the cyclic transform, 2N for the negacyclic one.
        order: u64,
    },
}

/// One pass: values in the shape `length` × `rest` × `done`.
#[derive(Clone, Copy, Debug)]
struct Pass {
    length: usize,
    rest: usize,
    done: usize,
    /// Whether its columns are negacyclic transforms.
    negacyclic: bool,
}

/// The four-step transform of one size over one prime field, for one split of N.
///
/// For the split A·B, [`forward`](Self::forward) is [`columns`](Self::columns)`(0)`, [`twist`](Self::twist)`(0)`,
/// [`transpose`](Self::transpose)`(0)`, `columns(1)`. [`inverse`](Self::inverse) is `inverse_columns(1)`,
/// `inverse_transpose(0)`, `inverse_twist(0)`, `inverse_columns(0)`. The module's documentation defines each step.
///
/// Values are canonical, in `[0, p)`, before and after every step. A slice that does not have N values, or a pass that
/// does not exist, is a caller's error and panics.
///
/// # Example
/// ```
/// use ciphermill_math::Modulus;
/// use ciphermill_math::ntt::{Convolution, FourStepNtt};
///
/// let transform = FourStepNtt::new(&[16, 16], Convolution::Negacyclic, Modulus::new(7681)?)?;
/// let mut values: Vec<u64> = (0..256).collect();
/// transform.forward(&mut values);
/// transform.inverse(&mut values);
/// assert!(values.iter().copied().eq(0..256));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FourStepNtt {
    modulus: Modulus,
    convolution: Convolution,
    size: usize,
    passes: Vec<Pass>,
    /// g^e at e, for all e below the order of the root g, which is ω or ψ.
    powers: Vec<u64>,
    size_inverse: u64,
}

impl FourStepNtt {
    /// The least N.
    pub const MIN_SIZE: usize = 2;
    /// The greatest N; the table takes 2N words.
    pub const MAX_SIZE: usize = 1 << 20;
    /// The least number of factors.
    pub const MIN_FACTORS: usize = 2;
    /// The greatest number of factors: twenty factors 2 after a factor 1.
    pub const MAX_FACTORS: usize = 21;

    /// The transform for N = `factors[0]·factors[1]·…` modulo a prime: `&[A, B]` for the four steps. A factor may be 1.
    ///
    /// # Errors
    /// If there are fewer than 2 or more than 21 factors, if a factor is not a power of two, if N is not from 2 to
    /// 2^20, or if N (cyclic) or 2N (negacyclic) does not divide the prime less one.
    pub fn new(factors: &[usize], convolution: Convolution, modulus: Modulus) -> Result<Self, FourStepError> {
        if !(Self::MIN_FACTORS..=Self::MAX_FACTORS).contains(&factors.len()) {
            return Err(FourStepError::FactorCount { given: factors.len() });
        }
        if let Some(place) = factors.iter().position(|factor| !factor.is_power_of_two()) {
            return Err(FourStepError::Factor { place, given: factors[place] });
        }
        // At most 21·63. The product itself might exceed a word.
        let log2_given = factors.iter().map(|factor| factor.ilog2()).sum();
        if !(Self::MIN_SIZE.ilog2()..=Self::MAX_SIZE.ilog2()).contains(&log2_given) {
            return Err(FourStepError::Size { log2_given });
        }
        let size = 1 << log2_given;
        let log2_order = match convolution {
            Convolution::Cyclic => log2_given,
            Convolution::Negacyclic => log2_given + 1,
        };
        let no_root = || FourStepError::NoRoot { modulus: modulus.value(), order: 1 << log2_order };
        let root = modulus.root_of_unity(log2_order).ok_or_else(no_root)?;
        let size_inverse = modulus.inverse(modulus.reduce(size as u64)).ok_or_else(no_root)?;
        let powers = core::iter::successors(Some(1), |&power| Some(modulus.mul(power, root))).take(1 << log2_order);
        let mut done = 1;
        let pass = |(place, &length): (usize, &usize)| {
            let negacyclic = place == 0 && convolution == Convolution::Negacyclic;
            let pass = Pass { length, rest: size / (length * done), done, negacyclic };
            done *= length;
            pass
        };
        let passes = factors.iter().enumerate().map(pass).collect();
        Ok(Self { modulus, convolution, size, passes, powers: powers.collect(), size_inverse })
    }

    /// N.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The number of passes: one per factor. Every pass except the last has a twist and a transposition.
    pub fn passes(&self) -> usize {
        self.passes.len()
    }

    /// The length of the columns of a pass: factor `pass` of N.
    ///
    /// # Panics
    /// If the pass does not exist.
    pub fn column_length(&self, pass: usize) -> usize {
        self.passes[pass].length
    }

    /// The ring.
    pub fn convolution(&self) -> Convolution {
        self.convolution
    }

    /// The prime.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// The root: ω of order N ([`Modulus::root_of_unity`]) if the ring is cyclic, ψ of order 2N if it is negacyclic.
    pub fn root(&self) -> u64 {
        // The order is at least 2, so there are two powers.
        self.powers[1]
    }

    /// Transforms every column of a pass: natural order in and out. Column c of the first pass holds the values at c,
    /// c + N/A, c + 2·N/A, …. In later passes the pass's column length replaces A.
    ///
    /// # Panics
    /// If the pass does not exist or if the number of values is not N.
    pub fn columns(&self, pass: usize, values: &mut [u64]) {
        let (m, pass) = (self.modulus, self.pass(pass, values));
        let width = pass.rest * pass.done;
        reverse_rows(values, pass.length);
        // Decimation in time: transforms of length `half` of the even and the odd rows become one of twice the length.
        let mut half = 1;
        while half < pass.length {
            for block in values.chunks_exact_mut(2 * half * width) {
                let (even, odd) = block.split_at_mut(half * width);
                for (k, (even, odd)) in even.chunks_exact_mut(width).zip(odd.chunks_exact_mut(width)).enumerate() {
                    let factor = self.power(self.size / (2 * half) * self.exponent(&pass, k));
                    for (x, y) in even.iter_mut().zip(odd) {
                        let product = m.mul(*y, factor);
                        (*x, *y) = (m.add(*x, product), m.sub(*x, product));
                    }
                }
            }
            half *= 2;
        }
    }

    /// Undoes [`columns`](Self::columns) up to a factor: every value is multiplied by the columns' length.
    ///
    /// # Panics
    /// As `columns`.
    pub fn inverse_columns(&self, pass: usize, values: &mut [u64]) {
        let (m, pass) = (self.modulus, self.pass(pass, values));
        let width = pass.rest * pass.done;
        let mut half = pass.length / 2;
        while half > 0 {
            for block in values.chunks_exact_mut(2 * half * width) {
                let (even, odd) = block.split_at_mut(half * width);
                for (k, (even, odd)) in even.chunks_exact_mut(width).zip(odd.chunks_exact_mut(width)).enumerate() {
                    let factor = self.inverse_power(self.size / (2 * half) * self.exponent(&pass, k));
                    for (x, y) in even.iter_mut().zip(odd) {
                        (*x, *y) = (m.add(*x, *y), m.mul(m.sub(*x, *y), factor));
                    }
                }
            }
            half /= 2;
        }
        reverse_rows(values, pass.length);
    }

    /// Multiplies by the powers of the root between a pass and the next. In the first pass the entry at (k1, n2) is
    /// multiplied by ω^(n2·k1), or by ψ^(n2·(2·k1+1)). In a later pass the entry at (k, n, ·) is multiplied by
    /// ω^(s·n·k).
    ///
    /// # Panics
    /// If the pass does not exist or is the last one, or if the number of values is not N.
    pub fn twist(&self, pass: usize, values: &mut [u64]) {
        self.multiply_entries(self.inner_pass(pass, values), values, |exponent| self.power(exponent));
    }

    /// Undoes [`twist`](Self::twist), and for pass 0 divides every value by N.
    ///
    /// # Panics
    /// As `twist`.
    pub fn inverse_twist(&self, pass: usize, values: &mut [u64]) {
        let scale = if pass == 0 { self.size_inverse } else { 1 };
        let factor = |exponent| self.modulus.mul(self.inverse_power(exponent), scale);
        self.multiply_entries(self.inner_pass(pass, values), values, factor);
    }

    /// Swaps the first two axes of a pass: f × r × s to r × f × s. In the first of two passes this is A × B to B × A.
    ///
    /// # Panics
    /// As [`twist`](Self::twist).
    pub fn transpose(&self, pass: usize, values: &mut [u64]) {
        let pass = self.inner_pass(pass, values);
        swap_axes(values, pass.length, pass.rest, pass.done);
    }

    /// Undoes [`transpose`](Self::transpose).
    ///
    /// # Panics
    /// As [`twist`](Self::twist).
    pub fn inverse_transpose(&self, pass: usize, values: &mut [u64]) {
        let pass = self.inner_pass(pass, values);
        swap_axes(values, pass.rest, pass.length, pass.done);
    }

    /// The transform, all its steps in order: coefficients in, the values of [`Convolution`] out, both in natural
    /// order.
    ///
    /// # Panics
    /// If the number of values is not N.
    pub fn forward(&self, values: &mut [u64]) {
        for pass in 0..self.passes() {
            self.columns(pass, values);
            if pass + 1 < self.passes() {
                self.twist(pass, values);
                self.transpose(pass, values);
            }
        }
    }

    /// The inverse, divided by N: undoes [`forward`](Self::forward).
    ///
    /// # Panics
    /// If the number of values is not N.
    pub fn inverse(&self, values: &mut [u64]) {
        for pass in (0..self.passes()).rev() {
            if pass + 1 < self.passes() {
                self.inverse_transpose(pass, values);
                self.inverse_twist(pass, values);
            }
            self.inverse_columns(pass, values);
        }
    }

    /// e(k): the columns of a pass are evaluated at the points g^(N/f·e(k)), and their twist is by g^(s·n·e(k)), with
    /// the root g of the table. It is k for g = ω. For g = ψ it is 2k or, where the columns are negacyclic, 2k + 1.
    fn exponent(&self, pass: &Pass, k: usize) -> usize {
        match self.convolution {
            Convolution::Cyclic => k,
            Convolution::Negacyclic => 2 * k + usize::from(pass.negacyclic),
        }
    }

    /// g^`exponent`; no step needs an exponent beyond the order.
    fn power(&self, exponent: usize) -> u64 {
        self.powers[exponent]
    }

    fn inverse_power(&self, exponent: usize) -> u64 {
        if exponent == 0 { 1 } else { self.powers[self.powers.len() - exponent] }
    }

    fn multiply_entries(&self, pass: Pass, values: &mut [u64], factor: impl Fn(usize) -> u64) {
        for (k, row) in values.chunks_exact_mut(pass.rest * pass.done).enumerate() {
            for (n, entries) in row.chunks_exact_mut(pass.done).enumerate() {
                let factor = factor(pass.done * n * self.exponent(&pass, k));
                entries.iter_mut().for_each(|value| *value = self.modulus.mul(*value, factor));
            }
        }
    }

    fn pass(&self, pass: usize, values: &[u64]) -> Pass {
        assert!(pass < self.passes(), "pass {pass} of {}", self.passes());
        assert!(values.len() == self.size, "{} values, N = {}", values.len(), self.size);
        self.passes[pass]
    }

    fn inner_pass(&self, pass: usize, values: &[u64]) -> Pass {
        assert!(
            pass + 1 < self.passes(),
            "pass {pass} is the last of {}; twist or transpose an earlier one",
            self.passes()
        );
        self.pass(pass, values)
    }
}

/// Moves each row i of `rows` to the place with the reversed bits of i.
fn reverse_rows(values: &mut [u64], rows: usize) {
    let width = values.len() / rows;
    for i in 0..rows {
        let j = bit_reverse(i, rows.ilog2());
        if i < j {
            let (low, high) = values.split_at_mut(j * width);
            low[i * width..][..width].swap_with_slice(&mut high[..width]);
        }
    }
}

/// From `rows` × `columns` × `depth` values to `columns` × `rows` × `depth`.
fn swap_axes(values: &mut [u64], rows: usize, columns: usize, depth: usize) {
    let source = values.to_vec();
    for (place, entries) in source.chunks_exact(depth).enumerate() {
        let (row, column) = (place / columns, place % columns);
        values[(column * rows + row) * depth..][..depth].copy_from_slice(entries);
    }
}
