//! `hls explore`: a source compiled for every combination of values of its macros.

use std::path::PathBuf;

use ciphermill_hls::Source;
use ciphermill_hls::explore::{Exploration, Grid};

use super::compile::write;
use super::{SourceArgs, define};
use crate::error::CliError;
use crate::output::{self, Progress};

/// Compile a function for every combination of values of its macros, and mark the points that no other one beats
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill hls explore hw/hls/ntt_gs.c -D N=256 -D Q=3329 --vary B=1,2,4,8 --out points

A point is marked if no other one is at least as good in cycles, LUTs and multipliers and better in one of them. \
Points that the compiler refuses are listed with the reason. With --out, the files are NAME.points.json, \
NAME.points.csv and NAME.points.svg, where NAME is the function. A grid has at most 1024 points.")]
pub(super) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    /// Macro and its values, as B=1,2,4; may be repeated
    #[arg(long, value_name = "PARAMETER=V,…", required = true, value_parser = axis)]
    vary: Vec<(String, Vec<String>)>,
    /// Function to compile [default: the first one of the source that is not `static`]
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// Directory for the files; made if it does not exist
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long, requires = "out")]
    force: bool,
    /// Print the points as JSON
    #[arg(long)]
    json: bool,
}

/// A macro and its values.
fn axis(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, values) = define(text)?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    let is_whole = text.contains('=') && values.iter().all(|value| !value.is_empty());
    if is_whole { Ok((name, values)) } else { Err("use NAME=VALUE,VALUE,…, as in B=1,2,4".to_owned()) }
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let source = args.source.read()?;
    let grid = Grid::new(args.source.define.clone(), args.vary.clone())?;
    let function = match &args.function {
        Some(name) => name.clone(),
        None => first_function(args, &source, &grid)?,
    };
    let progress = Progress::bar("explore");
    let counted = |done: usize, all: usize| progress.set(done as u64, all as u64);
    let found = grid.explore(&source, &function, &args.source.target(), &counted);
    drop(progress);
    if let Some(why) = found.points.first().and_then(|point| point.refusal.clone())
        && found.points.iter().all(|point| point.figures.is_none())
    {
        return Err(CliError::NothingRan { why });
    }
    let mut text = table(&found);
    if let Some(directory) = &args.out {
        let file = |ending: &str, text: String| (format!("{function}.points.{ending}"), text);
        let contents = [file("json", found.to_json()), file("csv", found.to_csv()), file("svg", found.picture())];
        for (path, bytes) in write(directory, &contents, args.force)? {
            text += &format!("\n{}: {}", path.display(), output::human_bytes(bytes));
        }
    }
    output::result(args.json, &found, &text)
}

/// The first function that is not `static`, of the first point that the compiler can parse.
fn first_function(args: &Args, source: &Source, grid: &Grid) -> Result<String, CliError> {
    let mut refusal = None;
    for point in 0..grid.points() {
        match args.source.functions(source, &grid.defines(point)) {
            Ok(mut names) => return Ok(names.remove(0)),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    // A grid has a point.
    Err(CliError::NothingRan { why: refusal.map_or_else(String::new, |error| error.to_string()) })
}

fn table(found: &Exploration) -> String {
    let mut table =
        output::table(["point", "cycles", "II", "multipliers", "adder bits", "banks", "LUTs", "registers", "best"]);
    let mut refused = String::new();
    for point in &found.points {
        let values: Vec<String> = found.varied.iter().map(|name| format!("{name}={}", point.values[name])).collect();
        let values = values.join(" ");
        match (&point.figures, &point.refusal) {
            (Some(one), _) => {
                table.add_row([
                    values,
                    one.cycles.to_string(),
                    one.interval.to_string(),
                    one.multipliers.to_string(),
                    one.adder_bits.to_string(),
                    one.banks.to_string(),
                    one.luts.to_string(),
                    one.registers.to_string(),
                    if point.pareto { "yes" } else { "" }.to_owned(),
                ]);
            }
            // In the table the message would make it wider than any screen.
            (None, why) => refused += &format!("\n{values}: {}", why.as_deref().unwrap_or_default()),
        }
    }
    format!(
        "{table}\n{}; cycles from start to done, analytic; LUTs and registers are estimates; best: no other point is as good{refused}",
        found.function
    )
}
