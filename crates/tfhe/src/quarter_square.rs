//! Multiplication of two encrypted integers by quarter squares: x·y = ⌊(x+y)²/4⌋ − ⌊(x−y)²/4⌋.
//!
//! This is the program of the paper's Table 5: two bootstraps of one table between a homomorphic addition and two
//! subtractions. It is exact because x+y and x−y have the same parity. The table's argument runs from −X to 2X for
//! operands in 0..=X, so its encoding is signed, with a padding bit. The table's values are 0 to X² at sums and 0 to
//! ⌊X²/4⌋ at differences. So the encoding of the product has −⌊X²/4⌋ to X², without a padding bit: by these ranges
//! alone, a server sees that no result leaves it. How large X may be follows from the noise model.

use crate::backend::Backend;
use crate::ciphertext::TestVector;
use crate::encoding::Encoding;
use crate::error::TfheError;
use crate::noise;
use crate::parameters::{KeyOrder, ParameterSet, ParameterSpec};
use crate::range::MessageRange;

pub use crate::judgement::DEFAULT_LOG2_P_FAIL;

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
    /// assert!(rare.max() <= likely.max() && rare.log2_p_fail() <= -64.0);
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
        let output = Encoding::new(-(max * max / 4), max * max, false).ok()?;
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

    /// The range of the operands in their encoding, which every ciphertext of an operand states.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let product = QuarterSquare::new(parameters.spec(), KeyOrder::Big, -20.0)?;
    /// let x = client.encrypt_in(&product.operands(), product.max(), KeyOrder::Big, &mut rng)?;
    /// assert_eq!(x.bounds().range(), Some(product.operands()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn operands(&self) -> MessageRange {
        MessageRange::new(self.input.places(), 0, self.max).expect("a part of the input encoding")
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
    /// let product = QuarterSquare::new(parameters.spec(), KeyOrder::Big, quarter_square::DEFAULT_LOG2_P_FAIL)?;
    /// let table = product.test_vector(&parameters)?;
    /// let [x, y] =
    ///     [2, 3].map(|m| client.encrypt_in(&product.operands(), m, KeyOrder::Big, &mut rng).expect("in range"));
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

    /// The ranges that the noise of the paper's dimensions allows, computed by hand from the standard deviations. At
    /// 2^−64 the tail begins at 9.2 deviations, at 2^−40 at 7.2. With `Big`, half of the torus holds 17 places of
    /// 2·9.2·2^−9.4 or 22 of 2·7.2·2^−9.4, and 3X+1 is at most that. With `Small`, the whole torus holds 25 results at
    /// 2·9.2·2^−8.9 each or 32 at 2·7.2·2^−8.9, and X²+⌊X²/4⌋+1 is at most that.
    #[test]
    fn ranges_at_the_papers_dimensions() {
        let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
        let parameters = ParameterSet::named(NVME_TFHE_PAPER, policy).expect("a named set");
        for (choice, log2_p_fail, max) in [
            (KeyOrder::Big, DEFAULT_LOG2_P_FAIL, 5),
            (KeyOrder::Small, DEFAULT_LOG2_P_FAIL, 4),
            (KeyOrder::Big, -40.0, 7),
            (KeyOrder::Small, -40.0, 5),
        ] {
            let product = QuarterSquare::new(parameters.spec(), choice, log2_p_fail).expect("some range");
            assert_eq!(product.max(), max, "{choice}");
            assert!(product.log2_p_fail() <= log2_p_fail && product.check(max).is_ok());
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
