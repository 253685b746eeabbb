//! `arch`: the cycle models of the accelerators, and reports of them.

mod ablate;
mod asm;
mod compare;
mod compile;
mod descriptions;
mod disasm;
mod energy;
mod exec;
mod machine;
mod pipeline;
mod program;
mod roofline;
mod run;
mod scalar;
mod sweep;
mod workload;

use clap::Subcommand;

use crate::error::CliError;

/// Run cycle models of accelerators, vary them, and compare them with the papers
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Figures are simulated unless they are labelled analytic: they are cycles of a model, not of a chip. docs/arch.md \
describes the models.")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Run(run::Args),
    Ablate(ablate::Args),
    Sweep(sweep::Args),
    Roofline(roofline::Args),
    Energy(energy::Args),
    Compare(compare::Args),
    Pipeline(pipeline::Args),
    Machine(machine::Args),
    Asm(asm::Args),
    Disasm(disasm::Args),
    Compile(compile::Args),
    Exec(exec::Args),
    Scalar(scalar::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.verb {
        Verb::Run(args) => run::run(args),
        Verb::Ablate(args) => ablate::run(args),
        Verb::Sweep(args) => sweep::run(args),
        Verb::Roofline(args) => roofline::run(args),
        Verb::Energy(args) => energy::run(args),
        Verb::Compare(args) => compare::run(args),
        Verb::Pipeline(args) => pipeline::run(args),
        Verb::Machine(args) => machine::run(args),
        Verb::Asm(args) => asm::run(args),
        Verb::Disasm(args) => disasm::run(args),
        Verb::Compile(args) => compile::run(args),
        Verb::Exec(args) => exec::run(args),
        Verb::Scalar(args) => scalar::run(args),
    }
}

/// A number for people; nothing for none.
fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}"))
}

/// An error if not all values were those of the golden model.
fn all_correct(wrong: usize) -> Result<(), CliError> {
    if wrong == 0 { Ok(()) } else { Err(CliError::WrongResults { wrong }) }
}
