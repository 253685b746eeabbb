//! `arch scalar`: a transform on the scalar base core.

use std::path::PathBuf;

use ciphermill_arch::report::{DEFAULT_MODULUS, Operation, Workload, scalar_transform};
use ciphermill_arch::scalar::{ScalarMachine, Variant};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::all_correct;
use super::descriptions::{ROCKET, description};
use super::workload::{RingArg, size};
use crate::error::CliError;
use crate::fault::judged;
use crate::output;

/// Run a transform on the scalar base core (RV64IM with Rocket's timing) and report where its cycles go
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch scalar --variant shoup --n 1024

The programs were compiled from C. Cycles are simulated and exclude the transfer of inputs and outputs. Every word \
of the result is compared with the reference. docs/rvfhe-scalar.md describes the programs and the core.")]
pub(super) struct Args {
    /// Modular arithmetic of the program
    #[arg(long, value_name = "VARIANT", default_value = "shoup",
        value_parser = PossibleValuesParser::new(Variant::ALL.map(Variant::name)).try_map(|name| name.parse::<Variant>()))]
    variant: Variant,
    /// Coefficients of the polynomial, a power of two; use 2 to 2^14
    #[arg(long, value_name = "N", default_value = "1024", value_parser = size)]
    n: usize,
    /// Ring: X^N + 1 (negacyclic) or X^N − 1 (cyclic)
    #[arg(long, value_enum, default_value = "negacyclic")]
    ring: RingArg,
    /// Prime modulus below 2^31, 1 modulo 2N
    #[arg(long, value_name = "Q", default_value_t = DEFAULT_MODULUS)]
    modulus: u64,
    /// Seed of the random input
    #[arg(long, value_name = "SEED", default_value = "1")]
    seed: u64,
    /// Core: rocket, or a file like crates/arch/machines/rocket.toml
    #[arg(long, value_name = "NAME|FILE", default_value = "rocket")]
    machine: PathBuf,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let text = description(&args.machine, &[ROCKET])?;
    let machine = ScalarMachine::from_toml(&text).map_err(CliError::content(&args.machine))?;
    let workload = Workload {
        operation: Operation::Ntt,
        polynomial_size: args.n,
        modulus: args.modulus,
        cyclic: args.ring == RingArg::Cyclic,
        digits: 1,
        seed: args.seed,
    };
    let report = scalar_transform(&machine, args.variant, &workload)?;
    let run = &report.run;
    let mut table = output::table(["cycles", "all", "per butterfly", "share"]);
    let mut row = |name: &str, cycles: u64| {
        table.add_row([
            name.to_owned(),
            cycles.to_string(),
            format!("{:.1}", cycles as f64 / run.butterflies as f64),
            format!("{:.1} %", 100.0 * cycles as f64 / run.cycles as f64),
        ]);
    };
    for (name, cycles) in run.causes.by_name() {
        row(name, cycles);
    }
    row("sum", run.cycles);
    let text = format!(
        "{table}\n{} {workload}, {}, on `{}`: {} instructions, {} cycles, simulated, {:.1} per butterfly; correct: {}",
        report.baseline.ring.name(),
        args.variant.name(),
        report.machine,
        run.instructions,
        run.cycles,
        run.cycles_per_butterfly(),
        if report.correct { "yes" } else { "NO" }
    );
    output::result(args.json, &[report.record()], &text)?;
    all_correct(usize::from(!judged(report.correct)))
}
