//! The output of whole bootstraps, the input of the next ones, and counted failures, compared with the noise model:
//! through the public interface only.
//!
//! Bootstraps of one key share its weights and the noise of its rows, so a check takes many keys and a few samples of
//! each. `make test` takes about 700 samples per check; `CIPHERMILL_NOISE=full`, which `make evidence AREA=trust` sets,
//! takes 30 keys of 100 samples and 20,000 bootstraps for counted failures.

mod bootstraps;
mod failures;
mod judge;
mod model;
mod samples;
mod words;

/// The counts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Those of `make test`.
    Quick,
    /// Those of `make evidence AREA=trust`.
    Full,
}

impl Extent {
    fn of_this_run() -> Self {
        match std::env::var("CIPHERMILL_NOISE") {
            Err(std::env::VarError::NotPresent) => Self::Quick,
            Ok(given) if given == "full" => Self::Full,
            given => panic!("CIPHERMILL_NOISE is {given:?}; use \"full\", or unset it"),
        }
    }
}

/// One line of the record that `evidence-trust` reads.
fn record(case: &str, figures: &[(&str, f64)]) {
    let figures: Vec<String> = figures.iter().map(|(name, value)| format!("\"{name}\": {value:e}")).collect();
    println!("noise record: {{\"case\": \"{case}\", {}}}", figures.join(", "));
}
