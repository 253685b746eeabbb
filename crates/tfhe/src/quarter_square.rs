//! Multiplication of two encrypted integers by quarter squares: x·y = ⌊(x+y)²/4⌋ − ⌊(x−y)²/4⌋.
//!
//! This is the program of the paper's Table 5: two bootstraps of one table between a homomorphic addition and two
//! subtractions. It is exact because x+y and x−y have the same parity. The table's argument runs from −X to 2X for
//! operands in 0..=X, so its encoding is signed, with a padding bit; results in 0..=X² are read without one. How large X
//! may be follows from the noise model.

use crate::backend::Backend;
use crate::ciphertext::TestVector;
use crate::encoding::Encoding;
use crate::error::TfheError;
use crate::noise;
use crate::parameters::{KeyOrder, ParameterSet, ParameterSpec};

/// The failure probability for which the range is computed unless another is asked for: 2^−40 per product.
pub const DEFAULT_LOG2_P_FAIL: f64 = -40.0;

/// Encodings and range for products of fresh encryptions under one parameter set and key choice.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // x·y = (x + y)²/4 − (x − y)²/4, from two bootstraps.
/// let product = QuarterSquare::new(parameters.spec(), KeyOrder::Big, -20.0)?;
/// assert!(product.check(product.max()).is_ok() && product.check(product.max() + 1).is_err());
/// assert_eq!(product.output().max(), product.max() * product.max());
/// assert!(product.log2_p_fail() <= -20.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuarterSquare {
    input: Encoding,
    output: Encoding,
    max: i64,
    log2_p_fail: f64,
}

impl QuarterSquare {
    /// The largest range whose products fail with probability at most 2^`log2_p_fail`.
    ///
    /// # Errors
    /// If not even operands in 0..=1 reach it.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let likely = QuarterSquare::new(parameters.spec(), KeyOrder::Big, -20.0)?;
    /// let rare = QuarterSquare::new(parameters.spec(), KeyOrder::Big, quarter_square::DEFAULT_LOG2_P_FAIL)?;
    /// // Rarer failures need more room around each message.
    /// assert!(rare.max() <= likely.max() && rare.log2_p_fail() <= -40.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(spec: &ParameterSpec, choice: KeyOrder, log2_p_fail: f64) -> Result<Self, TfheError> {
        // The failure probability grows with the range, so the first that fails ends the search.
        (1..)
            .map_while(|max| Self::with_max(spec, choice, max).filter(|q| q.log2_p_fail <= log2_p_fail))
            .last()
            .ok_or_else(|| TfheError::NoRange {
                log2_p_fail: Self::with_max(spec, choice, 1).map_or(0.0, |q| q.log2_p_fail),
                wanted: log2_p_fail,
            })
    }

    /// Operands in 0..=`max`, whatever the failure probability; none if the table would have more places than 2N.
    fn with_max(spec: &ParameterSpec, choice: KeyOrder, max: i64) -> Option<Self> {
        let input = Encoding::new(-max, 2 * max, true).ok()?;
        let output = Encoding::new(0, max * max, false).ok()?;
        if input.places() > 2 * spec.polynomial_size.get() as u64 {
            return None;
        }
        let sum = 2.0 * noise::fresh_variance(spec, choice);
        let phase = noise::phase_index_variance(spec, choice, sum);
        let table = noise::log2_p_lookup(spec, &input, phase);
        let result = noise::log2_p_wrong(&output, 2.0 * noise::bootstrap_variance(spec, choice, Backend::Fft));
        // Two look-ups and one decryption; at least one must go wrong.
        let log2_p_fail = noise::log2_sum(1.0 + table, result);
        Some(Self { input, output, max, log2_p_fail })
    }

    /// X: operands lie in 0..=X.
    pub fn max(&self) -> i64 {
        self.max
    }

    /// Encoding of the operands, and of their sum and difference.
    pub fn input(&self) -> &Encoding {
        &self.input
    }

    /// Encoding of the product.
    pub fn output(&self) -> &Encoding {
        &self.output
    }

    /// log2 of the probability that a product of two fresh encryptions is wrong.
    pub fn log2_p_fail(&self) -> f64 {
        self.log2_p_fail
    }

    /// Checks that an operand is in range.
    ///
    /// # Errors
    /// If it is not.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let product = QuarterSquare::new(parameters.spec(), KeyOrder::Big, -20.0)?;
    /// let refused = product.check(-1);
    /// assert_eq!(refused, Err(EncodingError::OutOfRange { given: -1, min: 0, max: product.max() }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self, operand: i64) -> Result<(), crate::encoding::EncodingError> {
        if (0..=self.max).contains(&operand) {
            Ok(())
        } else {
            Err(crate::encoding::EncodingError::OutOfRange { given: operand, min: 0, max: self.max })
        }
    }

    /// The table of ⌊z²/4⌋.
    ///
    /// # Errors
    /// Never for the parameter set it was made for.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    #[doc = include_str!("example_server.txt")]
    /// let product = QuarterSquare::new(parameters.spec(), KeyOrder::Big, -40.0)?;
    /// let table = product.test_vector(&parameters)?;
    /// let [x, y] = [2, 3].map(|m| client.encrypt(product.input(), m, KeyOrder::Big, &mut rng).expect("in range"));
    /// let (mut sum, mut difference) = (x.clone(), x);
    /// sum.add_assign(&y)?;
    /// difference.sub_assign(&y)?;
    /// let mut xy = server.bootstrap(&sum, &table)?;
    /// xy.sub_assign(&server.bootstrap(&difference, &table)?)?;
    /// assert_eq!(client.decrypt(product.output(), &xy)?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn test_vector(&self, parameters: &ParameterSet) -> Result<TestVector, TfheError> {
        // The largest value, at z = 2X, is X²: the table stays within the output encoding.
        parameters.test_vector(&self.input, &self.output, |z| z * z / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{NVME_TFHE_PAPER, SecurityPolicy};

    /// The ranges that the noise of the paper's dimensions allows, computed by hand from the standard deviations. With
    /// `Big`, half of the torus holds 23 places of 2·7.3·2^−9.4, and 3X+1 ≤ 23. With `Small`, the whole torus holds 32
    /// results at 2·7.3·2^−8.9 each, and X²+1 ≤ 32.
    #[test]
    fn ranges_at_the_papers_dimensions() {
        let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
        let parameters = ParameterSet::named(NVME_TFHE_PAPER, policy).expect("a named set");
        for (choice, max) in [(KeyOrder::Big, 7), (KeyOrder::Small, 5)] {
            let product = QuarterSquare::new(parameters.spec(), choice, DEFAULT_LOG2_P_FAIL).expect("some range");
            assert_eq!(product.max(), max, "{choice}");
            assert!(product.log2_p_fail() <= -40.0 && product.check(max).is_ok());
            assert!(product.check(max + 1).is_err() && product.check(-1).is_err());
        }
    }

    #[test]
    fn the_identity_holds_for_every_pair() {
        for x in 0..=100i64 {
            for y in 0..=100i64 {
                assert_eq!((x + y) * (x + y) / 4 - (x - y) * (x - y) / 4, x * y);
            }
        }
    }
}
