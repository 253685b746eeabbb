//! `hls`: SystemVerilog from C with pragmas.

mod banks;
mod check;
mod compile;
mod explore;

use std::path::{Path, PathBuf};

use ciphermill_hls::report::Report;
use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Design, Diagnostic, Source, parse};
use clap::{Subcommand, ValueEnum};

use crate::error::CliError;
use crate::inputs::within;
use crate::output;

/// Compile C with pragmas to SystemVerilog, with reports of its schedule
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Cycles are analytic: they follow from the schedule, and the generated module needs exactly as many. LUTs, multipliers \
and registers are estimates before synthesis. docs/hls.md describes the subset of C and the pragmas.")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Check(check::Args),
    Compile(compile::Args),
    Explore(explore::Args),
    Banks(banks::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.verb {
        Verb::Check(args) => check::run(args),
        Verb::Compile(args) => compile::run(args),
        Verb::Explore(args) => explore::run(args),
        Verb::Banks(args) => banks::run(args),
    }
}

/// A technology with delays of its operations.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Technology {
    /// Lattice ECP5-85, speed grade 6
    Ecp5,
}

/// A source and the target of its compilation.
#[derive(clap::Args, Debug)]
struct SourceArgs {
    /// C source; headers that it includes by "name" are read from its folder
    #[arg(value_name = "FILE")]
    source: PathBuf,
    /// Define a macro, as a C compiler does; without a value it is 1. May be repeated
    #[arg(short = 'D', long, value_name = "NAME=VALUE", value_parser = define)]
    define: Vec<(String, String)>,
    /// Technology whose delays the schedule assumes
    #[arg(long, value_enum, value_name = "TECHNOLOGY", default_value = "ecp5")]
    target: Technology,
    /// Clock for which operations are chained within a cycle, in MHz, 1 to 1000
    #[arg(long, value_name = "MHZ", default_value = "100", value_parser = within::<u16>(1..=1000))]
    mhz: u16,
}

/// A macro, as a C compiler reads it after -D.
fn define(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name { Ok((name.to_owned(), value.to_owned())) } else { Err("use NAME=VALUE, as in N=256".to_owned()) }
}

impl SourceArgs {
    fn read(&self) -> Result<Source, CliError> {
        if let Some((name, _)) = self.repeated() {
            return Err(CliError::Usage(format!("-D {name} is given more than once; give one value")));
        }
        Ok(Source::read(&self.source)?)
    }

    /// A macro with more than one value.
    fn repeated(&self) -> Option<&(String, String)> {
        let mut later = self.define.iter().enumerate();
        later.find(|(at, one)| self.define[..*at].iter().any(|other| other.0 == one.0)).map(|(_, one)| one)
    }

    fn target(&self) -> Target {
        match self.target {
            Technology::Ecp5 => Target::ecp5(self.mhz.into()),
        }
    }

    /// A diagnostic with the path of its file, as the user may open it.
    fn located(&self, mut diagnostic: Diagnostic) -> CliError {
        let folder = self.source.parent().unwrap_or(Path::new(""));
        diagnostic.file = folder.join(&diagnostic.file).to_string_lossy().into_owned();
        CliError::Hls(diagnostic)
    }

    /// The functions of the source that are not `static`, with these macros.
    fn functions(&self, source: &Source, defines: &[(String, String)]) -> Result<Vec<String>, CliError> {
        let unit = parse(source, defines).map_err(|diagnostic| self.located(diagnostic))?;
        let names: Vec<String> = unit.functions.into_iter().filter(|one| !one.internal).map(|one| one.name).collect();
        if names.is_empty() {
            let what = format!("{} has no function that is not `static`", self.source.display());
            return Err(CliError::Usage(format!("{what}; define one, or name a `static` one with --function")));
        }
        Ok(names)
    }

    /// The named function, or the first one of the source that is not `static`.
    fn function(&self, source: &Source, named: Option<&str>) -> Result<String, CliError> {
        match named {
            Some(name) => Ok(name.to_owned()),
            None => Ok(self.functions(source, &self.define)?.remove(0)),
        }
    }

    /// A function compiled, with its report.
    fn compile(&self, source: &Source, function: &str) -> Result<(Design, Report), CliError> {
        let target = self.target();
        let design = source.compile(&self.define, function, &target).map_err(|diagnostic| self.located(diagnostic))?;
        let report = Report::of(&design, source, &self.define, &target);
        Ok((design, report))
    }
}

/// The kernels and the memories of a report, for people.
fn summary(report: &Report) -> String {
    let mut kernels = output::table(["kernel", "iterations", "II", "ports", "dependences", "gap", "depth", "cycles"]);
    for one in &report.kernels {
        let interval = &one.interval;
        kernels.add_row([
            one.name.clone(),
            one.iterations.to_string(),
            interval.reached.to_string(),
            interval.ports.to_string(),
            interval.dependences.to_string(),
            one.gap.to_string(),
            one.depth.to_string(),
            one.cycles.to_string(),
        ]);
    }
    let mut memories = output::table(["memory", "role", "elements", "bits", "banks", "rows", "ports of a bank"]);
    for one in &report.memories {
        memories.add_row([
            one.name.clone(),
            one.role.clone(),
            one.elements.to_string(),
            one.bits.to_string(),
            one.banks.to_string(),
            one.rows.to_string(),
            one.ports.clone(),
        ]);
    }
    let estimate = &report.estimate;
    let notes: String = report.notes().into_iter().map(|note| format!("\n{note}")).collect();
    format!(
        "{}: {} from start to done, analytic; estimate for UltraScale+: {}, {} of 26 × 17 bits, {}\n{kernels}\n{memories}{notes}",
        report.function,
        output::count(report.cycles.start_to_done, "cycle"),
        output::count(estimate.luts, "LUT"),
        output::count(estimate.dsps, "multiplier"),
        output::count(estimate.registers, "register"),
    )
}
