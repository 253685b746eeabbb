//! Random pipelined loops as scheduling problems, one JSON object a line: `loops [count [first]]`. Each has the interval that
//! the compiler found. hw/flow/hls_oracle.py proves the least interval.

#[allow(dead_code, unused_imports, reason = "the programs only, not their checks")]
#[path = "../tests/random/mod.rs"]
mod random;

use ciphermill_hls::Design;
use ciphermill_hls::schedule::Target;
use ciphermill_hls::schedule::problem::Problem;

/// The greatest numbers of accesses and iterations of a loop for an exact solver.
const MAX_ACCESSES: usize = 14;
const MAX_ITERATIONS: usize = 16;

fn main() -> std::process::ExitCode {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|argument| argument.parse()).collect();
    let Ok(numbers) = numbers else {
        eprintln!("loops [count [first]]");
        return std::process::ExitCode::from(2);
    };
    let (count, first) = (numbers.first().copied().unwrap_or(200), numbers.get(1).copied().unwrap_or(0));
    let target = Target::ecp5(120.0);
    let mut printed = 0;
    for number in first.. {
        let program = random::Program::random(number);
        let Ok(design) = program.source().compile(&[], &program.function, &target) else { continue };
        for line in lines(&design, number, &target) {
            println!("{line}");
            printed += 1;
            if printed == count {
                return std::process::ExitCode::SUCCESS;
            }
        }
    }
    std::process::ExitCode::FAILURE
}

/// The loops of a design.
fn lines(design: &Design, number: u64, target: &Target) -> Vec<serde_json::Value> {
    let is_loop = |one: &&ciphermill_hls::Scheduled| {
        one.kernel.loops.len() == 1
            && one.kernel.pipeline == Some(None)
            && (2..=MAX_ITERATIONS).contains(&one.kernel.iterations())
            && (3..=MAX_ACCESSES).contains(&one.kernel.accesses.len())
    };
    let line = |one: &ciphermill_hls::Scheduled| {
        let problem =
            Problem::of(&one.kernel, &one.addresses, &design.program.memories, &one.distances, &one.widths, target);
        serde_json::json!({
            "program": number,
            "loop": one.kernel.name,
            "interval": one.schedule.interval,
            "proven": one.schedule.proven,
            "cycles": one.schedule.accesses,
            "earliest": problem.earliest,
            "latencies": problem.latencies,
            "dependences": problem.dependences,
            "groups": problem.groups,
            "banks": problem.banks,
        })
    };
    design.kernels.iter().filter(is_loop).map(line).collect()
}
