//! Compiles functions of a source and writes a bench that runs them on random contents: `bench OUT SOURCE FUNCTION [MACRO=VALUE...] [, FUNCTION ...]`.
//!
//! The expected contents are those of the source's reference.

use std::path::Path;
use std::process::ExitCode;

use ciphermill_hls::ir::{Role, State};
use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Argument, Design, Memories, OnBench, Options, Run, Source, bench};

const RUNS: usize = 3;

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [out, path, rest @ ..] = arguments.as_slice() else { return Err("bench OUT SOURCE FUNCTION...".into()) };
    let (out, path) = (Path::new(out), Path::new(path));
    let source = Source::read(path)?;
    let name = source.name().to_owned();
    let name = name.as_str();
    let mut designs: Vec<(String, Design, Vec<Run>)> = Vec::new();
    let memories = if std::env::var_os("OUTSIDE").is_some() { Memories::Outside } else { Memories::Inside };
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    for words in rest.split(|word| word == ",") {
        let [function, defines @ ..] = words else { continue };
        let defines: Vec<(String, String)> = defines
            .iter()
            .filter_map(|define| define.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
            .collect();
        let modulus: u64 = defines.iter().find(|(name, _)| name == "Q").map_or(Ok(3329), |(_, value)| value.parse())?;
        let mhz = std::env::var("MHZ").ok().and_then(|text| text.parse().ok()).unwrap_or(120.0);
        let start = std::time::Instant::now();
        let design = source.compile(&defines, function, &Target::ecp5(mhz))?;
        let suffix: String = defines.iter().map(|(name, value)| format!("_{}{value}", name.to_lowercase())).collect();
        let module = format!("{function}{suffix}");
        println!("{module}: compiled in {:?}, {} cycles from start to done", start.elapsed(), design.run_cycles());
        for one in &design.kernels {
            let s = &one.schedule;
            println!(
                "  {}: II {} gap {} depth {} cycles {}, bounds {:?}",
                one.kernel.name,
                s.interval,
                s.gap,
                s.depth,
                s.cycles(&one.kernel),
                s.bounds
            );
            if std::env::var_os("ACCESSES").is_some() {
                println!("  {:?}", s.accesses);
            }
        }
        std::fs::write(
            out.join(format!("{module}.sv")),
            design.to_systemverilog(&Options { name: &module, source: name, memories }),
        )?;
        let mut runs = Vec::new();
        for _ in 0..RUNS {
            let mut before = State::new(&design.program);
            let mut given = Vec::new();
            for (memory, contents) in design.program.memories.iter().zip(&mut before.memories) {
                if memory.role == Role::Parameter {
                    let values: Vec<i128> = (0..memory.len()).map(|_| (random(&mut seed) % modulus).into()).collect();
                    *contents = values.iter().copied().map(Some).collect();
                    given.push(if memory.lengths.is_empty() {
                        Argument::Value(values[0])
                    } else {
                        Argument::Elements(values)
                    });
                }
            }
            let (result, left) = source.interpret(&defines, function, &given)?;
            let mut after = State::new(&design.program);
            let mut left = left.into_iter();
            for (memory, contents) in design.program.memories.iter().zip(&mut after.memories) {
                match memory.role {
                    Role::Parameter if !memory.lengths.is_empty() => *contents = left.next().unwrap_or_default(),
                    Role::Result => *contents = vec![result],
                    _ => {}
                }
            }
            runs.push(Run { before, after });
        }
        designs.push((module, design, runs));
    }
    let modules: Vec<OnBench<'_>> =
        designs.iter().map(|(name, design, runs)| OnBench { name, design, memories, runs: runs.clone() }).collect();
    std::fs::write(out.join("bench.sv"), bench(&modules))?;
    Ok(())
}
