//! Simulates a program on the Rocket core: `simulate-elf PROGRAM OUTPUT`.
//!
//! The program is a static RV64IM file with the symbols `transform_begin` and `transform_end`. Its output goes to the file
//! OUTPUT; instructions and cycles between the symbols go to standard output, as JSON.

use std::error::Error;
use std::path::Path;

use ciphermill_arch::scalar::{Execution, Program, ScalarMachine, simulate};
use serde_json::{Map, Value, json};

/// The largest output: more than any transform of the flow writes.
const OUTPUT_MAX: usize = 1 << 20;
const INSTRUCTIONS_MAX: u64 = 1 << 28;

fn run(program: &Path, output: &Path) -> Result<(), Box<dyn Error>> {
    let program = Program::from_elf(&std::fs::read(program)?)?;
    let region = (program.symbol("transform_begin")?, program.symbol("transform_end")?);
    let execution = Execution {
        program: &program,
        input: &[],
        output_max: OUTPUT_MAX,
        instructions_max: INSTRUCTIONS_MAX,
        region: Some(region),
    };
    let report = simulate(&ScalarMachine::rocket()?, &execution)?;
    if report.status != 0 {
        return Err(format!("the program ended with {}", report.status).into());
    }
    let measured = report.region.ok_or("the program did not pass through the region")?;
    std::fs::write(output, report.output)?;
    let causes = measured.causes.by_name().map(|(name, cycles)| (name.to_owned(), Value::from(cycles)));
    println!(
        "{}",
        json!({
            "instructions": measured.instructions,
            "cycles": measured.cycles,
            "causes": Map::from_iter(causes),
        })
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args_os().collect::<Vec<_>>().as_slice() {
        [_, program, output] => run(program.as_ref(), output.as_ref()),
        _ => Err("usage: simulate-elf PROGRAM OUTPUT".into()),
    }
}
