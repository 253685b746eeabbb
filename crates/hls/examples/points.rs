//! Compiles a function for every combination of values of its macros, runs each schedule on random contents, and prints a JSON
//! object a line: `points MHZ SOURCE FUNCTION FOLDER [MACRO=VALUE[,VALUE...]...]`.
//!
//! FOLDER gets the module of each point, and the parts of these modules. A point whose contents after a run differ from those
//! of the source's reference ends the command with 1. A point that the compiler refuses has its diagnostic.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use ciphermill_hls::explore::Grid;
use ciphermill_hls::ir::{Role, State};
use ciphermill_hls::report::{Estimate, Report};
use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Argument, Design, Memories, Options, Source};
use serde::Serialize;

/// Runs of each point.
const RUNS: u64 = 2;

type Defines = [(String, String)];

/// A compiled point.
#[derive(Serialize)]
struct Point {
    values: std::collections::BTreeMap<String, String>,
    module: String,
    refusal: Option<String>,
    found: Option<Found>,
}

/// The figures of a point.
#[derive(Serialize)]
struct Found {
    /// Cycles from start to done, of runs of the schedule.
    cycles: u64,
    runs: u64,
    interval: u32,
    gap: u32,
    depth: u32,
    banks: usize,
    multipliers: u64,
    estimate: Estimate,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("points: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mhz, path, function, folder, macros @ ..] = arguments.as_slice() else {
        return Err("use points MHZ SOURCE FUNCTION FOLDER [MACRO=VALUE[,VALUE...]...]".into());
    };
    let (source, target) = (Source::read(path.as_ref())?, Target::ecp5(mhz.parse()?));
    let axes = macros.iter().map(|text| axis(text)).collect::<Result<Vec<_>, _>>()?;
    let grid = Grid::new(Vec::new(), axes)?;
    for number in 0..grid.points() {
        let point = point(&source, &grid.defines(number), function, &target, folder.as_ref())?;
        println!("{}", serde_json::to_string(&point)?);
    }
    Ok(())
}

/// A macro and its values.
fn axis(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, values) = text.split_once('=').ok_or_else(|| format!("{text}: use MACRO=VALUE"))?;
    Ok((name.to_owned(), values.split(',').map(str::to_owned).collect()))
}

fn point(
    source: &Source,
    defines: &Defines,
    function: &str,
    target: &Target,
    folder: &Path,
) -> Result<Point, Box<dyn Error>> {
    let names = defines.iter().map(|(name, value)| format!("_{}{value}", name.to_lowercase()));
    let module = function.to_owned() + &names.collect::<String>();
    let mut made = Point { values: defines.iter().cloned().collect(), module, refusal: None, found: None };
    match source.compile(defines, function, target) {
        Err(refusal) => made.refusal = Some(refusal.to_string()),
        Ok(design) => {
            let options = Options { name: &made.module, source: source.name(), memories: Memories::Inside };
            std::fs::write(folder.join(format!("{}.sv", made.module)), design.to_systemverilog(&options))?;
            for (file, text) in design.parts() {
                std::fs::write(folder.join(file), text)?;
            }
            for seed in 1..=RUNS {
                check(source, defines, function, &design, seed)?;
            }
            made.found = Some(found(&design, &Report::of(&design, source, defines, target)));
        }
    }
    Ok(made)
}

/// Figures of the kernel with the longest interval, and of the whole.
fn found(design: &Design, report: &Report) -> Found {
    let slowest = design.kernels.iter().map(|one| &one.schedule).max_by_key(|one| one.interval);
    let with_ports = report.memories.iter().filter(|one| one.role != "table" && one.ports != "registers");
    Found {
        cycles: report.cycles.start_to_done,
        runs: RUNS,
        interval: slowest.map_or(0, |one| one.interval),
        gap: slowest.map_or(0, |one| one.gap),
        depth: slowest.map_or(0, |one| one.depth),
        banks: with_ports.map(|one| one.banks).sum(),
        multipliers: report.hardware.multiplier_count(),
        estimate: report.estimate.clone(),
    }
}

/// Runs the schedule on random contents; a difference from the reference is an error.
fn check(source: &Source, defines: &Defines, function: &str, design: &Design, seed: u64) -> Result<(), Box<dyn Error>> {
    let modulus = defines.iter().find(|(name, _)| name == "Q").map_or(Ok(3329), |(_, value)| value.parse())?;
    let given = elements(design, modulus, seed);
    let arguments: Vec<Argument> = given.iter().cloned().map(Argument::Elements).collect();
    let (_, expected) = source.interpret(defines, function, &arguments)?;
    let mut state = State::before(&design.program, given);
    let cycles = design.simulate(&mut state)?;
    if cycles != design.run_cycles() {
        return Err(format!("{function}: {cycles} cycles, {} by the report", design.run_cycles()).into());
    }
    if state.arrays(&design.program).eq(expected.iter().map(|array| &array[..])) {
        Ok(())
    } else {
        Err(format!("{function} {defines:?}: the schedule has other results").into())
    }
}

/// Random elements below the modulus for all parameters, which are arrays.
fn elements(design: &Design, modulus: u64, seed: u64) -> Vec<Vec<i128>> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let parameters = design.program.memories.iter().filter(|memory| memory.role == Role::Parameter);
    parameters.map(|one| (0..one.len()).map(|_| i128::from(next(&mut random) % modulus)).collect()).collect()
}

/// The next number of a xorshift generator.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
