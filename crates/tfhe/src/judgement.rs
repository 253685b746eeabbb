//! The judgement of results: bounds after a bootstrap, and failure probabilities by the [noise model](crate::noise).

use crate::backend::Backend;
use crate::bounds::{Bounds, TableEncodings, computed};
use crate::ciphertext::TestVector;
use crate::noise;
use crate::noise_sum::{NoiseName, NoiseSum};
use crate::parameters::{KeyOrder, NVME_TFHE_128, NVME_TFHE_PAPER, NVME_TFHE_PAPER_U32, ParameterSet, SecurityPolicy};
use crate::range::{MessageRange, RangeError};
use crate::table::Table;

/// log2 of the greatest failure probability that is accepted unless another is asked for.
pub const DEFAULT_LOG2_P_FAIL: f64 = -64.0;

/// log2 of the same for the sets with the paper's dimensions, whose documented ranges of products need it.
pub const PAPER_LOG2_P_FAIL: f64 = -40.0;

impl ParameterSet {
    /// The bounds of a fresh encryption of a message of this range.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(parameters.fresh_bounds(MessageRange::of(&encoding), KeyOrder::Big), three.bounds());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fresh_bounds(&self, range: MessageRange, choice: KeyOrder) -> Bounds {
        Bounds::UNSTATED.at_least(noise::fresh_variance(self, choice)).with_range(Some(range))
    }

    /// The bounds of a bootstrap's result. Its range has the table's values at the messages of the input's range. It is
    /// unknown without a table; with a table, an input of unknown range may hold any of its messages.
    ///
    /// # Errors
    /// [`RangeError::Places`] or [`RangeError::NotCovered`] if the table does not fit the range of the input.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let table = Table::of(&square)?;
    /// let result = parameters.bootstrap_bounds(&three.bounds(), table.as_ref(), KeyOrder::Big)?;
    /// // Squares of 0 to 7, modulo 8.
    /// assert_eq!(result.range(), Some(MessageRange::new(16, 0, 4)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bootstrap_bounds(
        &self,
        input: &Bounds,
        table: Option<&Table>,
        choice: KeyOrder,
    ) -> Result<Bounds, RangeError> {
        let range = match (table, input.range()) {
            (None, _) => None,
            (Some(table), Some(range)) => Some(table.values(&range)?),
            (Some(table), None) => Some(table.values(&MessageRange::of(&table.encodings().input))?),
        };
        Ok(self.bootstrapped(choice).with_range(range))
    }

    /// The bounds of a bootstrap's result with the values that the test vector states, unchecked: for the label of a result
    /// in the hands of the party that made both.
    pub(crate) fn stated_bounds(&self, input: &Bounds, vector: &TestVector, choice: KeyOrder) -> Bounds {
        let covered = |encodings: &TableEncodings| {
            let table = MessageRange::of(&encodings.input);
            input.range().is_some_and(|range| {
                range.places() == table.places() && range.min() >= table.min() && range.max() <= table.max()
            })
        };
        let range = vector.encodings().filter(covered).map(|encodings| MessageRange::of(&encodings.output));
        self.bootstrapped(choice).with_range(range)
    }

    /// The bounds of a ciphertext under the small key after a key switch of one under the big key.
    pub(crate) fn keyswitch_bounds(&self, input: &Bounds) -> Bounds {
        let raised = input.at_least(noise::fresh_variance(self, KeyOrder::Big));
        let variance = raised.variance().unwrap_or(f64::INFINITY) + noise::keyswitch_variance(self);
        raised.at_least(computed(variance))
    }

    /// Bounds with the variance of a bootstrap's result, and no range.
    fn bootstrapped(&self, choice: KeyOrder) -> Bounds {
        Bounds::UNSTATED.at_least(self.bootstrapped_noise(NoiseName::of(&"any"), choice).variance())
    }

    /// The noise of a bootstrap's result named `name`, by the noisier back end. It depends on no other noise, except that all
    /// results of the small order share the bias of the key switch.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let [one, two] = ["one", "two"].map(|name| parameters.bootstrapped_noise(NoiseName::of(&name), KeyOrder::Small));
    /// assert!(one.sub(&two).variance() < one.add(&two).variance());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn bootstrapped_noise(&self, name: NoiseName, choice: KeyOrder) -> NoiseSum {
        let variance = noise::bootstrap_variance(self, choice, Backend::Fft).max(noise::fresh_variance(self, choice));
        match choice {
            KeyOrder::Big => NoiseSum::independent(name, variance),
            KeyOrder::Small => {
                let bias = noise::keyswitch_bias(self);
                NoiseSum::independent(name, variance - bias).with(NoiseName::of(&"the bias of the key switch"), bias)
            }
        }
    }

    /// The noise of a ciphertext named `name` that states this variance. A fresh encryption and a bootstrap's result state
    /// exactly the variance of such, which no other result does ([`computed`]). Everything else
    /// may depend on any other ciphertext.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let variance = noise::fresh_variance(&parameters, KeyOrder::Big);
    /// let [x, y] = ["x", "y"].map(|name| parameters.stated_noise(NoiseName::of(&name), variance, KeyOrder::Big));
    /// assert_eq!(x.add(&y).variance(), 2.0 * variance);
    /// let sum = parameters.stated_noise(NoiseName::of(&"z"), 2.0 * variance, KeyOrder::Big);
    /// assert!(sum.add(&x).variance() > 3.1 * variance);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stated_noise(&self, name: NoiseName, variance: f64, choice: KeyOrder) -> NoiseSum {
        let fresh = noise::fresh_variance(self, choice);
        if variance <= fresh {
            return NoiseSum::independent(name, fresh);
        }
        let bootstrapped = self.bootstrapped_noise(name, choice);
        if variance == bootstrapped.variance() { bootstrapped } else { NoiseSum::dependent(name, variance) }
    }

    /// log2 of the probability that a bootstrap of a ciphertext with this variance looks up another message than its own
    /// among `places` of the torus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let [coarse, fine] = [16, 64].map(|places| MessageRange::new(places, 0, 7).expect("few"));
    /// let p = |range| parameters.log2_p_lookup(&range, 0.0, KeyOrder::Big);
    /// assert!(p(coarse) < p(fine));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn log2_p_lookup(&self, range: &MessageRange, variance: f64, choice: KeyOrder) -> f64 {
        let phase = noise::phase_index_variance(self, choice, variance);
        // A place narrower than a phase index, or noise without a bound, is always missed.
        let p = noise::log2_p_lookup(self, &range.encoding(), phase);
        if p.is_nan() { 0.0 } else { p.min(0.0) }
    }

    /// log2 of the greatest failure probability that is accepted for this set unless another is asked for:
    /// [`PAPER_LOG2_P_FAIL`] for the sets with the paper's dimensions, else [`DEFAULT_LOG2_P_FAIL`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(parameters.log2_p_fail_limit(), judgement::DEFAULT_LOG2_P_FAIL);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn log2_p_fail_limit(&self) -> f64 {
        let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
        // By its numbers: a set of another client may have any name.
        let is = |name| Self::named(name, policy).is_ok_and(|set| set.spec() == self.spec());
        let paper = [NVME_TFHE_PAPER, NVME_TFHE_128, NVME_TFHE_PAPER_U32].into_iter().any(is);
        if paper { PAPER_LOG2_P_FAIL } else { DEFAULT_LOG2_P_FAIL }
    }
}

/// log2 of the probability that a phase of this variance is not nearest to its own place among those of `range`.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let range = MessageRange::of(&encoding);
/// assert!(judgement::log2_p_output(&range, 1e-9) < -64.0);
/// assert_eq!(judgement::log2_p_output(&range, f64::INFINITY), 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn log2_p_output(range: &MessageRange, variance: f64) -> f64 {
    noise::log2_p_wrong(&range.encoding(), variance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Encoding;
    use crate::parameters::{DEFAULT_SET_NAMES, SET_NAMES};

    const POLICY: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

    fn set(name: &str) -> ParameterSet {
        ParameterSet::named(name, POLICY).expect("a named set")
    }

    /// A message of a set's own bits is within the set's limit, as the client judges it.
    #[test]
    fn sets_suit_their_own_messages() {
        let sets = DEFAULT_SET_NAMES.iter().map(|name| set(name)).filter(|set| set.message_bits > 0);
        for set in sets {
            let encoding = Encoding::unsigned(set.message_bits, true).expect("few bits");
            let p_fail = set.log2_p_fail_of(&encoding, KeyOrder::Big);
            assert!(p_fail <= set.log2_p_fail_limit(), "{}: {p_fail}", set.name);
        }
    }

    #[test]
    fn only_the_papers_dimensions_have_the_looser_limit() {
        for name in SET_NAMES {
            let expected = if name.starts_with("NVME_TFHE") { -40.0 } else { -64.0 };
            assert_eq!(set(name).log2_p_fail_limit(), expected, "{name}");
        }
        // A name alone is not enough.
        let mut spec = set("MESSAGE_2_2M64").spec().clone();
        spec.name = NVME_TFHE_PAPER.to_owned();
        assert_eq!(ParameterSet::new(spec, POLICY).expect("admissible").log2_p_fail_limit(), -64.0);
    }

    /// A result states a range only if the table covers the range of the input, in the same places.
    #[test]
    fn stated_bounds_need_a_table_that_covers_the_input() {
        let set = set("MESSAGE_4_2M64");
        let encoding = Encoding::new(0, 10, true).expect("few messages");
        let vector = set.test_vector(&encoding, &encoding, |m| 10 - m).expect("a table");
        let places = MessageRange::of(&encoding).places();
        let stated = |places, min, max| {
            let range = MessageRange::new(places, min, max).expect("a range");
            set.stated_bounds(&Bounds::UNKNOWN.with_range(Some(range)), &vector, KeyOrder::Big).range()
        };
        let output = Some(MessageRange::of(&encoding));
        for (min, max) in [(0, 10), (0, 3), (4, 10), (5, 5)] {
            assert_eq!(stated(places, min, max), output, "{min} to {max}");
        }
        for (min, max) in [(-1, 10), (0, 11), (-1, 3), (4, 11)] {
            assert_eq!(stated(places, min, max), None, "{min} to {max}");
        }
        assert_eq!(stated(2 * places, 0, 10), None, "other places");
        assert_eq!(set.stated_bounds(&Bounds::UNKNOWN, &vector, KeyOrder::Big).range(), None);
    }

    /// The judgement of a bootstrapped ciphertext agrees with the figure that the set states for an encoding.
    #[test]
    fn lookups_agree_with_the_sets_own_figures() {
        for name in SET_NAMES {
            let set = set(name);
            for choice in [KeyOrder::Big, KeyOrder::Small] {
                let encoding = Encoding::unsigned(set.message_bits, true).expect("few bits");
                let variance = set.bootstrapped(choice).variance().expect("stated");
                let lookup = set.log2_p_lookup(&MessageRange::of(&encoding), variance, choice);
                assert_eq!(lookup, set.log2_p_fail_of(&encoding, choice).min(0.0), "{name} {choice}");
            }
        }
    }

    #[test]
    fn places_beyond_the_phase_indices_are_always_missed() {
        let set = set("TEST_SMALL_U64");
        let range = |places| MessageRange::new(places, 0, 1).expect("two messages");
        // 2N phase indices: a place of one index has no room for noise.
        assert!(set.log2_p_lookup(&range(2048), 0.0, KeyOrder::Small) > -0.1);
        assert_eq!(set.log2_p_lookup(&range(4096), 0.0, KeyOrder::Small), 0.0);
        assert_eq!(set.log2_p_lookup(&range(4), f64::INFINITY, KeyOrder::Small), 0.0);
        assert_eq!(log2_p_output(&range(4), 0.0), f64::NEG_INFINITY);
    }

    /// In both orders: the small one has the bias of the key switch as a second source.
    #[test]
    fn results_of_bootstraps_are_known_by_their_variance() {
        let set = set("TEST_SMALL_U64");
        for choice in [KeyOrder::Big, KeyOrder::Small] {
            let stated = set.bootstrap_bounds(&Bounds::UNKNOWN, None, choice).expect("no table").variance();
            let [x, y] = ["x", "y"].map(|name| set.stated_noise(NoiseName::of(&name), stated.expect("stated"), choice));
            assert_eq!(x, set.bootstrapped_noise(NoiseName::of(&"x"), choice), "{choice}");
            assert_eq!(Some(x.stated_variance()), stated, "{choice}");
            assert!(x.sub(&y).variance() <= 2.0 * x.variance(), "{choice}");
        }
    }

    #[test]
    fn a_key_switch_adds_its_variance_to_a_fresh_one_at_least() {
        let set = set("TEST_SMALL_U64");
        let (fresh, added) = (noise::fresh_variance(&set, KeyOrder::Big), noise::keyswitch_variance(&set));
        for (given, counted) in [(0.0, fresh), (1e-3, 1e-3)] {
            let bounds = set.keyswitch_bounds(&Bounds::UNSTATED.at_least(given));
            assert_eq!(bounds.variance(), Some(computed(counted + added)));
        }
        assert_eq!(set.keyswitch_bounds(&Bounds::UNKNOWN), Bounds::UNKNOWN);
    }
}
