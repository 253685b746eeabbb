//! The judgement of samples of several keys: their variance, their mean, and the spread of the means of the keys.

/// Errors of phases as fractions of the torus, one list per key. The lists have one length.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples(pub(super) Vec<Vec<f64>>);

/// The predicted distribution of the errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prediction {
    /// The variance over keys and samples.
    pub(super) variance: f64,
    /// The part of `variance` that all samples of one key share. Rows of a key-switching key have noise, and digits have
    /// the mean −1/2; their product is a constant of the key.
    pub(super) bias: f64,
    /// The part of `variance` that bounds the error of a floating-point transform. The error itself is between
    /// [`LEAST_TRANSFORM`] of it and all of it.
    pub(super) transform: f64,
    /// Relative standard deviation, from key to key, of the variance of the samples of one key: the number of ones in a key
    /// varies.
    pub(super) key_spread: f64,
    /// The mean square of the samples' variances over the square of their mean: 1 if all samples have one variance.
    pub(super) mixture: f64,
}

/// How far the measurement may be from the prediction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Relative deviation of the variance.
    pub(super) variance: f64,
    /// Standard errors of the mean, and of the spread of the means.
    pub(super) errors: f64,
}

/// A measurement next to its prediction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    /// Measured over predicted variance of the samples of one key.
    pub(super) ratio: f64,
    /// The least ratio that the prediction admits: below 1 if a part of it is a bound.
    pub(super) least: f64,
    /// The mean over all samples in predicted standard errors.
    pub(super) mean: f64,
    /// Mean square of the means of the keys over its prediction.
    pub(super) spread: f64,
    keys: f64,
    bounds: Bounds,
}

/// Standard deviations that `make test` allows with fresh seeds: a wrong alarm in fewer than 10^−6 of the checks.
const DEVIATIONS: f64 = 5.5;

/// The least variance of a transform's error over its bound: `fft_error_factor_holds` demands more than half of the
/// standard deviation.
const LEAST_TRANSFORM: f64 = 0.25;

impl Samples {
    fn keys(&self) -> f64 {
        self.0.len() as f64
    }

    fn per_key(&self) -> f64 {
        self.0.first().map_or(0, Vec::len) as f64
    }

    fn means(&self) -> Vec<f64> {
        self.0.iter().map(|errors| errors.iter().sum::<f64>() / errors.len() as f64).collect()
    }

    /// The variance about the mean of each key.
    fn variance(&self) -> f64 {
        let squares = |(errors, mean): (&Vec<f64>, f64)| errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>();
        self.0.iter().zip(self.means()).map(squares).sum::<f64>() / (self.keys() * (self.per_key() - 1.0))
    }

    /// The relative standard deviation of the measured variance: √(2/d) for d degrees of freedom, more for a mixture, and
    /// the spread of the keys. The fourth moment of a Gaussian is 3 times its squared variance.
    fn relative_deviation(&self, prediction: &Prediction) -> f64 {
        let freedom = self.keys() * (self.per_key() - 1.0);
        ((3.0 * prediction.mixture - 1.0) / freedom + prediction.key_spread.powi(2) / self.keys()).sqrt()
    }

    /// The bounds that follow from the number of samples.
    pub(super) fn bounds(&self, prediction: &Prediction) -> Bounds {
        Bounds { variance: DEVIATIONS * self.relative_deviation(prediction), errors: DEVIATIONS }
    }

    pub(super) fn judge(&self, prediction: &Prediction, bounds: Bounds) -> Verdict {
        let within = prediction.variance - prediction.bias;
        let of_mean = within / self.per_key() + prediction.bias;
        let means = self.means();
        let mean = means.iter().sum::<f64>() / self.keys();
        Verdict {
            ratio: self.variance() / within,
            least: 1.0 - (1.0 - LEAST_TRANSFORM) * prediction.transform / within,
            mean: mean / (of_mean / self.keys()).sqrt(),
            spread: means.iter().map(|m| m * m).sum::<f64>() / self.keys() / of_mean,
            keys: self.keys(),
            bounds,
        }
    }

    /// The same errors with another variance.
    pub(super) fn with_variance(&self, factor: f64) -> Self {
        Self(self.0.iter().map(|errors| errors.iter().map(|e| e * factor.sqrt()).collect()).collect())
    }
}

impl Verdict {
    /// Why the measurement contradicts the prediction.
    pub(super) fn accept(&self) -> Result<(), String> {
        let Self { ratio, least, mean, spread, keys, bounds } = self;
        let (low, high) = (least * (1.0 - bounds.variance), 1.0 + bounds.variance);
        if !(low..=high).contains(ratio) {
            return Err(format!("{ratio:.3} of the predicted variance, allowed are {low:.3} to {high:.3}"));
        }
        if mean.abs() > bounds.errors {
            return Err(format!("a mean of {mean:.2} standard errors, allowed are {}", bounds.errors));
        }
        // Bounds of a χ² distribution of `keys` degrees of freedom (Laurent and Massart, 2000).
        let deviation = bounds.errors * (2.0 / keys).sqrt();
        let (low, high) = (least * (1.0 - deviation), 1.0 + deviation + bounds.errors.powi(2) / keys);
        if !(low..=high).contains(spread) {
            return Err(format!("means with {spread:.3} of the predicted square, allowed are {low:.3} to {high:.3}"));
        }
        Ok(())
    }
}

/// Demands that the samples agree with the prediction, and that the same samples with a tenth and half of the least
/// admitted variance, and with twice the predicted one, do not: a check without this power would decide nothing.
pub(super) fn check(what: &str, samples: &Samples, prediction: &Prediction, bounds: Bounds) {
    let verdict = samples.judge(prediction, bounds);
    let (sd, Verdict { ratio, least, mean, spread, .. }) = (0.5 * samples.variance().log2(), verdict);
    println!(
        "{what}: sd 2^{sd:.2}, variance {ratio:.3} (± {:.3}), mean {mean:.2}, spread {spread:.2}",
        bounds.variance
    );
    verdict.accept().unwrap_or_else(|reason| panic!("{what}: {reason}"));
    assert!(bounds.variance < 1.0 / 3.0, "{what}: the bound {} cannot tell twice the variance", bounds.variance);
    for other in [0.1 * least, 0.5 * least, 2.0] {
        let verdict = samples.with_variance(other / ratio).judge(prediction, bounds);
        assert!(verdict.accept().is_err(), "{what}: {other} of the variance passes");
    }
    let relative = samples.relative_deviation(prediction);
    super::record(
        what,
        &[
            ("variance_ratio", ratio),
            ("least_ratio", least),
            ("variance_deviation", relative),
            ("mean_standard_errors", mean),
            ("spread_ratio", spread),
        ],
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREDICTION: Prediction =
        Prediction { variance: 1.0, bias: 0.2, transform: 0.0, key_spread: 0.0, mixture: 1.0 };

    /// Samples that have exactly the predicted moments: means ±√(0.2 + 0.8/m), and ± about them.
    fn samples() -> Samples {
        let per_key = 20.0f64;
        let (mean, within) = ((0.2 + 0.8 / per_key).sqrt(), (0.8 * (per_key - 1.0) / per_key).sqrt());
        let key = |sign: f64| (0..20).map(|i| sign * mean + if i % 2 == 0 { within } else { -within }).collect();
        Samples((0..40).map(|k| key(if k % 2 == 0 { 1.0 } else { -1.0 })).collect())
    }

    #[test]
    fn moments_are_those_of_the_samples() {
        let samples = samples();
        let verdict = samples.judge(&PREDICTION, samples.bounds(&PREDICTION));
        assert!((verdict.ratio - 1.0).abs() < 1e-9 && verdict.mean.abs() < 1e-9, "{verdict:?}");
        assert!((verdict.spread - 1.0).abs() < 1e-9, "{verdict:?}");
        verdict.accept().expect("exact moments");
    }

    /// With half of the variance a bound, 5/8 of the variance and more is admitted.
    #[test]
    fn a_bound_is_no_expectation() {
        let prediction = Prediction { bias: 0.0, transform: 0.5, ..PREDICTION };
        let samples = samples();
        let bounds = Bounds { variance: 0.1, errors: 100.0 };
        let with = |ratio: f64| samples.with_variance(ratio / samples.variance()).judge(&prediction, bounds).accept();
        assert!(with(0.57).is_ok() && with(1.09).is_ok());
        assert!(with(0.56).expect_err("too small").contains("predicted variance"));
        assert!(with(1.11).expect_err("too large").contains("predicted variance"));
    }

    /// Each of the three figures is refused alone.
    #[test]
    fn one_wrong_moment_is_refused() {
        let samples = samples();
        // With 40 keys and 5.5 standard deviations, no spread is too small.
        let bounds = Bounds { errors: 4.0, ..samples.bounds(&PREDICTION) };
        let refusal = |samples: &Samples| samples.judge(&PREDICTION, bounds).accept().expect_err("a wrong moment");
        let change = |f: &dyn Fn(usize, f64, f64) -> f64| {
            let keys = samples.0.iter().zip(samples.means()).enumerate();
            Samples(keys.map(|(k, (errors, mean))| errors.iter().map(|e| f(k, *e, mean)).collect()).collect())
        };
        assert!(refusal(&change(&|_, e, mean| mean + 1.2 * (e - mean))).contains("predicted variance"));
        assert!(refusal(&change(&|_, e, _| e + 0.5)).contains("standard errors"));
        assert!(refusal(&change(&|_, e, mean| e + mean)).contains("predicted square"));
        assert!(refusal(&change(&|_, e, mean| e - mean)).contains("predicted square"));
    }
}
