//! The base core of the comparisons: one scalar Rocket core that runs compiled C.

use ciphermill_math::Modulus;
use serde::Serialize;
use serde_json::{Map, Value};

use super::error::ReportError;
use super::workload::{DEFAULT_MODULUS, Workload};
use crate::record::{Label, Record};
use crate::scalar::{Baseline, Ring, ScalarMachine, ScalarRun, Variant, run};

/// The largest polynomial size of the programs.
pub const MAX_BASE_SIZE: usize = Baseline::POLYNOMIAL_SIZE_MAX;

/// A transform on the base core, simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BaseRun {
    /// The arithmetic of the program, such as `textbook`.
    pub program: &'static str,
    /// The name of the core's description, such as `rocket`.
    pub machine: String,
    /// N.
    pub polynomial_size: usize,
    /// Whether the divider skips the leading zeros of quotients.
    pub early_out: bool,
    /// Cycles of the transform.
    pub cycles: u64,
    /// Cycles divided by N/2·log2 N.
    pub cycles_per_butterfly: f64,
}

/// Runs the paper's cyclic transform in one of the arithmetics. With `early_out` false, a division takes 67 cycles.
///
/// # Errors
/// If N is not a power of two from 2 to 2^14.
///
/// # Example
/// ```
/// use ciphermill_arch::report::base;
/// use ciphermill_arch::scalar::Variant;
///
/// let (divides, multiplies) = (base(Variant::Textbook, 256, false)?, base(Variant::Rvfhe, 256, false)?);
/// assert!(divides.cycles_per_butterfly > multiplies.cycles_per_butterfly);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn base(variant: Variant, polynomial_size: usize, early_out: bool) -> Result<BaseRun, ReportError> {
    let run = scalar_run(variant, polynomial_size, early_out)?;
    let (machine, cycles_per_butterfly) = (ScalarMachine::rocket()?.name, run.cycles_per_butterfly());
    let program = variant.name();
    Ok(BaseRun { program, machine, polynomial_size, early_out, cycles: run.cycles, cycles_per_butterfly })
}

pub(super) fn scalar_run(variant: Variant, polynomial_size: usize, early_out: bool) -> Result<ScalarRun, ReportError> {
    let mut machine = ScalarMachine::rocket()?;
    machine.divider.early_out = early_out;
    let modulus = Modulus::new(DEFAULT_MODULUS)?;
    let baseline = Baseline { variant, ring: Ring::Cyclic, polynomial_size, modulus };
    // Invalid sizes are rejected before the words are read.
    let words = polynomial_size.min(MAX_BASE_SIZE) as u32;
    let words: Vec<u32> = (0..words).map(|i| i.wrapping_mul(0x9e37_79b9) % DEFAULT_MODULUS as u32).collect();
    Ok(run(&machine, &baseline, &words)?)
}

/// A transform on a scalar core, simulated, compared with the golden model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalarReport {
    /// The name of the core.
    pub machine: String,
    /// The program and its parameters.
    pub baseline: Baseline,
    /// The seed of the random input.
    pub seed: u64,
    /// The result of the run.
    pub run: ScalarRun,
    /// Whether all words agree with the golden model.
    pub correct: bool,
}

/// Runs a forward transform of random words on a core. The workload supplies the size, the modulus and the ring (cyclic
/// or negacyclic); its operation is ignored.
///
/// # Errors
/// If N is not a power of two from 2 to 2^14, or the modulus not a prime below 2^31 that is 1 modulo 2N.
///
/// # Example
/// ```
/// use ciphermill_arch::report::{Workload, scalar_transform};
/// use ciphermill_arch::scalar::{ScalarMachine, Variant};
///
/// let report = scalar_transform(&ScalarMachine::rocket()?, Variant::Shoup, &Workload::ntt(256))?;
/// assert!(report.correct);
/// assert_eq!(report.record().cycles, report.run.cycles);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn scalar_transform(
    machine: &ScalarMachine,
    variant: Variant,
    workload: &Workload,
) -> Result<ScalarReport, ReportError> {
    let modulus = Modulus::new(workload.modulus)?;
    let ring = if workload.cyclic { Ring::Cyclic } else { Ring::Negacyclic };
    let baseline = Baseline { variant, ring, polynomial_size: workload.polynomial_size, modulus };
    let words = workload.polynomial(0);
    let run = run(machine, &baseline, &words)?;
    let correct = run.output == baseline.golden(&words)?;
    Ok(ScalarReport { machine: machine.name.clone(), baseline, seed: workload.seed, run, correct })
}

impl ScalarReport {
    /// The record of the run. `params.causes` contains the cycles by cause.
    pub fn record(&self) -> Record {
        let Baseline { variant, ring, polynomial_size, modulus } = self.baseline;
        let case = format!("arch-scalar-{}/n{polynomial_size}", variant.name());
        let causes = self.run.causes.by_name().map(|(name, cycles)| (name.to_owned(), cycles.into()));
        let mut record = Record::new(case, &self.machine, Label::Simulated, self.run.cycles)
            .with("n", polynomial_size)
            .with("ring", ring.name())
            .with("modulus", modulus.value())
            .with("seed", self.seed)
            .with("instructions", self.run.instructions)
            .with("butterflies", self.run.butterflies)
            .with("cycles_per_butterfly", self.run.cycles_per_butterfly())
            .with("causes", Value::Object(Map::from_iter(causes)));
        record.correct = Some(self.correct);
        record
    }
}

/// The time of the base core by the purpose of each division in `textbook`: products, sums, differences. Fig. 3 of the
/// paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeSplit {
    /// N.
    pub polynomial_size: usize,
    /// Cycles per butterfly.
    pub cycles_per_butterfly: f64,
    /// The share of the two products: the data and the next twiddle factor.
    pub products: f64,
    /// The share of the sum.
    pub sums: f64,
    /// The share of the difference.
    pub differences: f64,
    /// The remaining share: loads, stores, loops, bit reversal, caches.
    pub rest: f64,
}

/// Attributes the cycles of `textbook` with a divider of 67 cycles, from its counts. A butterfly has four remainders,
/// two of them after a multiplication. Each remainder gets a quarter of the waits for the divider and one cycle to
/// issue. Each multiplication gets half of the waits for the multiplier and one cycle. The sum gets one addition, the
/// difference two.
///
/// # Errors
/// The errors of [`base`].
///
/// # Example
/// ```
/// use ciphermill_arch::report::time_split;
///
/// let split = time_split(256)?;
/// assert!(split.products > split.sums && split.rest > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn time_split(polynomial_size: usize) -> Result<TimeSplit, ReportError> {
    let run = scalar_run(Variant::Textbook, polynomial_size, false)?;
    let butterflies = run.butterflies as f64;
    let each = |cycles: u64| cycles as f64 / butterflies;
    let (division, product) = (each(run.causes.divide) / 4.0 + 1.0, each(run.causes.multiply) / 2.0 + 1.0);
    let all = run.cycles_per_butterfly();
    let (products, sums, differences) = (2.0 * (division + product), division + 1.0, division + 2.0);
    let share = |cycles: f64| cycles / all;
    Ok(TimeSplit {
        polynomial_size,
        cycles_per_butterfly: all,
        products: share(products),
        sums: share(sums),
        differences: share(differences),
        rest: share(all - products - sums - differences),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts of docs/rvfhe-scalar.md at 2^10: 72 cycles per product, 67 per sum, 68 per difference, of 297.
    #[test]
    fn a_butterfly_is_two_products_a_sum_and_a_difference() {
        let split = time_split(1 << 10).unwrap();
        let cycles = |share: f64| (share * split.cycles_per_butterfly).round();
        assert_eq!((cycles(split.products / 2.0), cycles(split.sums), cycles(split.differences)), (72.0, 67.0, 68.0));
        let sum = split.products + split.sums + split.differences + split.rest;
        assert!((sum - 1.0).abs() < 1e-12 && split.rest > 0.0);
    }

    #[test]
    fn a_transform_is_compared_with_the_golden_model() {
        let rocket = ScalarMachine::rocket().unwrap();
        for (variant, cyclic) in [(Variant::Shoup, true), (Variant::Rvfhe, false)] {
            let workload = Workload { cyclic, ..Workload::ntt(1 << 10) };
            let report = scalar_transform(&rocket, variant, &workload).unwrap();
            assert!(report.correct);
            let record = report.record();
            assert_eq!((record.correct, record.cycles), (Some(true), report.run.cycles));
            let causes = record.params["causes"].as_object().unwrap().values();
            assert_eq!(causes.map(|cycles| cycles.as_u64().unwrap()).sum::<u64>(), record.cycles);
        }
        for workload in [Workload::ntt(1 << 15), Workload { modulus: 0, ..Workload::ntt(1 << 10) }, Workload::ntt(0)] {
            scalar_transform(&rocket, Variant::Naive, &workload).unwrap_err();
        }
    }

    #[test]
    fn sizes_that_are_none_are_refused() {
        for size in [0, 1, 3000, 1 << 15, usize::MAX] {
            let error = base(Variant::Naive, size, true).unwrap_err();
            assert!(matches!(error, ReportError::Scalar(_)), "{size}: {error}");
        }
    }
}
