//! `hls check`: the diagnostics of a source, or the figures of its schedule.

use super::{SourceArgs, summary};
use crate::error::CliError;
use crate::output::{self, Progress};

/// Check that a source is in the subset, and print intervals, cycles and banks; nothing is written
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill hls check hw/hls/ntt_gs.c -D N=256 -D Q=3329 -D B=2

A source that cannot be compiled is refused with file, line, column, the violated bound and a way out. II is the \
number of cycles from one iteration to the next; `ports` is the demand of ports that an iteration has on average, \
and `dependences` is the lower bound by the dependences among iterations. `gap` counts the idle cycles after each run \
of the innermost loop.")]
pub(super) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    /// Check only this function [default: every function that is not `static`]
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// Print the reports as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let source = args.source.read()?;
    let functions = match &args.function {
        Some(name) => vec![name.clone()],
        None => args.source.functions(&source, &args.source.define)?,
    };
    let progress = Progress::spinner("schedule");
    let compiled = functions.iter().map(|function| Ok(args.source.compile(&source, function)?.1));
    let reports = compiled.collect::<Result<Vec<_>, CliError>>()?;
    drop(progress);
    let text: Vec<String> = reports.iter().map(summary).collect();
    output::result(args.json, &reports, &text.join("\n\n"))
}
