//! `arch scalar`: a transform on the scalar base core.

use std::path::PathBuf;

use ciphermill_arch::report::{DEFAULT_MODULUS, Operation, Workload, scalar_transform};
use ciphermill_arch::scalar::{ScalarMachine, Variant};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::all_correct;
use super::machine::{RingArg, description, size};
use crate::error::CliError;
use crate::output;

/// Run a transform on the scalar base core, an RV64IM core in Rocket's timing, and say where its cycles go
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch scalar --variant shoup --n 1024

The programs are C that was compiled beforehand. Cycles are simulated, without the reading of inputs and the writing of outputs; all words \
are compared with the golden model. docs/rvfhe-scalar.md has the programs and the core.")]
pub(super) struct Args {
    /// The program's modular arithmetic
    #[arg(long, value_name = "VARIANT", default_value = "shoup",
        value_parser = PossibleValuesParser::new(Variant::ALL.map(Variant::name)).try_map(|name| name.parse::<Variant>()))]
    variant: Variant,
    /// Coefficients of the polynomial, a power of two from 2 to 2^14
    #[arg(long, value_name = "N", default_value = "1024", value_parser = size)]
    n: usize,
    /// The ring modulo X^N + 1 or X^N − 1
    #[arg(long, value_enum, default_value = "negacyclic")]
    ring: RingArg,
    /// A prime below 2^31 that is 1 modulo 2N
    #[arg(long, value_name = "Q", default_value_t = DEFAULT_MODULUS)]
    modulus: u64,
    /// Of the random input
    #[arg(long, value_name = "S", default_value = "1")]
    seed: u64,
    /// The core: rocket, or a file like crates/arch/machines/rocket.toml
    #[arg(long, value_name = "NAME|FILE", default_value = "rocket")]
    machine: PathBuf,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

/// The core that is built in.
pub(super) const ROCKET: (&str, &str) = ("rocket", ScalarMachine::ROCKET);

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
    all_correct(usize::from(!report.correct))
}
