//! `hls explore`: a source compiled for every combination of values of its macros.

use std::fmt::Display;
use std::path::PathBuf;

use ciphermill_hls::Source;
use ciphermill_hls::explore::{Exploration, Grid, Point};

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
    /// Directory for the files; made, with its parents, if it does not exist
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
    if found.points.iter().all(|point| point.figures.is_none()) {
        let refused = found.points.iter().map(|point| (values(&found, point), reason(point).to_owned()));
        return Err(all_refused(refused));
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
    let mut refused = Vec::new();
    for point in 0..grid.points() {
        match args.source.functions(source, &grid.defines(point)) {
            Ok(mut names) => return Ok(names.remove(0)),
            Err(error) => refused.push((assigned(grid.values(point)), error.to_string())),
        }
    }
    Err(all_refused(refused))
}

/// The error for points that are all refused: each reason once, with its first point and the number of the others.
fn all_refused(points: impl IntoIterator<Item = (String, String)>) -> CliError {
    let mut reasons: Vec<(String, String, usize)> = Vec::new();
    for (point, reason) in points {
        match reasons.iter_mut().find(|(_, known, _)| *known == reason) {
            Some((.., others)) => *others += 1,
            None => reasons.push((point, reason, 0)),
        }
    }
    let mut why = "every point is refused".to_owned();
    for (point, reason, others) in reasons {
        let more = if others == 0 { String::new() } else { format!(" and {others} more") };
        why += &format!(". {point}{more}: {reason}");
    }
    CliError::NothingRan { why }
}

/// Macros and their values, as `-D` has them.
fn assigned(macros: impl IntoIterator<Item = (impl Display, impl Display)>) -> String {
    macros.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// The varied macros of a point.
fn values(found: &Exploration, point: &Point) -> String {
    assigned(found.varied.iter().map(|name| (name, &point.values[name])))
}

/// Why the compiler refuses a point; empty if it does not.
fn reason(point: &Point) -> &str {
    point.refusal.as_deref().unwrap_or_default()
}

fn table(found: &Exploration) -> String {
    let columns = ["point", "cycles", "II", "MHz", "multipliers", "adder bits", "banks", "LUTs", "registers", "best"];
    let mut table = output::table(columns);
    let mut refused = String::new();
    for point in &found.points {
        match &point.figures {
            Some(one) => {
                table.add_row([
                    values(found, point),
                    one.cycles.to_string(),
                    one.interval.to_string(),
                    one.attainable_mhz.to_string(),
                    one.multipliers.to_string(),
                    one.adder_bits.to_string(),
                    one.banks.to_string(),
                    one.luts.to_string(),
                    one.registers.to_string(),
                    if point.pareto { "yes" } else { "" }.to_owned(),
                ]);
            }
            // In the table the message would make it wider than any screen.
            None => refused += &format!("\n{}: {}", values(found, point), reason(point)),
        }
    }
    format!(
        "{table}\n{}; cycles from start to done, analytic; MHz: the greatest clock by the assumed delays; LUTs and registers \
         are estimates; best: no other point is as good{refused}",
        found.function
    )
}
