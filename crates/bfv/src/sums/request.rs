//! The request for a plan, and the values of a contribution.

use std::ops::RangeInclusive;

use crate::error::{BfvError, require_length, require_range};
use crate::parameters::{ParameterSet, SecurityLevel};

/// The most segments of a vector.
pub const MAX_SEGMENTS: usize = 64;

/// The most values of a vector, all segments together.
pub const MAX_VALUES: usize = 1 << 24;

/// The most parties.
pub const MAX_PARTIES: u32 = 1 << 16;

/// The greatest magnitude of a total: the parties times the bound of an entry.
pub const MAX_TOTAL: u128 = 1 << 126;

/// Bytes of a label.
pub const LABEL_LEN: usize = 32;

/// The admissible failure probabilities, as log2; the upper end excluded.
const LOG2_FAILURES: std::ops::Range<f64> = -4096.0..0.0;

/// Values of one bound that stand next to each other in the vector.
///
/// # Example
/// ```
/// use ciphermill_bfv::sums::Segment;
///
/// // Counts of at most a million rows.
/// let bins = Segment { len: 100, bound: 1_000_000 };
/// assert_eq!(bins.range(), -1_000_000..=1_000_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The number of values, at least 1.
    pub len: usize,
    /// B, at least 1: a party's values are in [−B, B].
    pub bound: u128,
}

impl Segment {
    /// The values that a party may contribute, for a bound up to [`MAX_TOTAL`].
    pub fn range(&self) -> RangeInclusive<i128> {
        let bound = self.bound.min(MAX_TOTAL) as i128;
        -bound..=bound
    }
}

/// The values of one segment.
///
/// # Example
/// ```
/// use ciphermill_bfv::sums::Values;
///
/// assert_eq!(Values::Narrow(&[1, 2]).len(), Values::Wide(&[1 << 100, 2]).len());
/// assert!(Values::Narrow(&[]).is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values<'a> {
    /// Of 64 bits.
    Narrow(&'a [i64]),
    /// Of 128 bits.
    Wide(&'a [i128]),
}

impl Values<'_> {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Narrow(values) => values.len(),
            Values::Wide(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An error unless these are the values of a segment. Only the extremes are compared.
    pub(super) fn require(&self, segment: &Segment) -> Result<(), BfvError> {
        require_length("number of values of a segment", self.len(), segment.len)?;
        let extremes: [Option<i128>; 2] = match self {
            Values::Narrow(values) => [values.iter().min(), values.iter().max()].map(|x| x.copied().map(i128::from)),
            Values::Wide(values) => [values.iter().min(), values.iter().max()].map(|x| x.copied()),
        };
        let (min, max) = segment.range().into_inner();
        extremes.into_iter().flatten().try_for_each(|x| require_range("a value", x, min, max))
    }
}

/// A request for a plan.
///
/// # Example
/// ```
/// use ciphermill_bfv::sums::{Segment, SumPlan, SumRequest};
/// use ciphermill_math::Isa;
///
/// let request = SumRequest::new(vec![Segment { len: 10, bound: 255 }], 3);
/// assert!(SumPlan::new(&request, Isa::current())?.log2_failure() <= -64.0);
/// // Nothing is left for a total of 128 bits.
/// let wide = SumRequest::new(vec![Segment { len: 10, bound: 1 << 126 }], 3);
/// assert!(SumPlan::new(&wide, Isa::current()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SumRequest {
    /// The vector, 1 to [`MAX_SEGMENTS`] segments with at most [`MAX_VALUES`] values.
    pub segments: Vec<Segment>,
    /// P, the most contributions of a sum, 1 to [`MAX_PARTIES`].
    pub parties: u32,
    /// The meaning of the values, a digest for example. Objects of plans with other labels do not mix.
    pub label: [u8; LABEL_LEN],
    /// Against classical attacks, by the [lattice-estimator's figures](crate::parameters::estimate).
    pub security: SecurityLevel,
    /// log2 of the greatest acceptable probability that any total is wrong, from −4096 to below 0, by the estimate of
    /// [`SumPlan::log2_failure`](super::SumPlan::log2_failure).
    pub log2_failure: f64,
    /// The caller's parameter set (which may be of less security), or the plan's choice. Its plaintext modulus is not used.
    pub parameters: Option<ParameterSet>,
}

impl SumRequest {
    /// 128 bits of security, a label of zeros, failing with a probability of at most 2^-64.
    pub fn new(segments: Vec<Segment>, parties: u32) -> Self {
        Self {
            segments,
            parties,
            label: [0; LABEL_LEN],
            security: SecurityLevel::Bits128,
            log2_failure: -64.0,
            parameters: None,
        }
    }

    /// The greatest magnitude of a total of `segment`.
    pub(super) fn greatest_total(&self, segment: &Segment) -> u128 {
        u128::from(self.parties) * segment.bound
    }

    /// An error unless every number is in range.
    pub(super) fn validate(&self) -> Result<(), BfvError> {
        require_range("number of segments", self.segments.len() as u64, 1, MAX_SEGMENTS as u64)?;
        require_range("number of parties", self.parties, 1, MAX_PARTIES)?;
        let greatest = MAX_TOTAL / u128::from(self.parties);
        for segment in &self.segments {
            require_range("number of values of a segment", segment.len as u64, 1, MAX_VALUES as u64)?;
            // 2^127 and above stand for themselves in the message.
            let bound = i128::try_from(segment.bound).unwrap_or(i128::MAX);
            require_range("bound of a value", bound, 1, greatest as i128)?;
        }
        let values: usize = self.segments.iter().map(|segment| segment.len).sum();
        require_range("number of values of all segments", values as u64, 1, MAX_VALUES as u64)?;
        if !LOG2_FAILURES.contains(&self.log2_failure) {
            let what = format!(
                "a failure probability of 2^{}; use an exponent from {} to below 0",
                self.log2_failure, LOG2_FAILURES.start
            );
            return Err(BfvError::Unsupported { what });
        }
        Ok(())
    }
}
