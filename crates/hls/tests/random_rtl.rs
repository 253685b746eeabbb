//! Random programs in RTL: modules of several programs in one simulation, against the C compiler and the interpreter.

#[allow(dead_code, unused_imports, reason = "the programs and their results, not the checks of the passes")]
mod random;
mod verilator;

use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

use ciphermill_hls::ir::State;
use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Design, Memories, OnBench, Options, Run, Scheduled, bench};
use ciphermill_testing::{Need, not_run};
use random::Program;
use random::reference::{Outcome, SAMPLES, arguments, outcomes};

/// Programs of a run; `HLS_RTL_PROGRAMS` sets another number.
const PROGRAMS: usize = 10;
/// Programs of a simulation.
const BATCH: usize = 25;

#[test]
fn random_programs_in_rtl_have_the_values_of_the_c_compiler() {
    let Some(root) = verilator::find() else {
        return not_run(Need::Rtl, "random programs in RTL: Verilator is not installed, run scripts/setup.sh hw");
    };
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let count = number("HLS_RTL_PROGRAMS").map_or(PROGRAMS, |count| count as usize);
    let compiled = programs(number("HLS_RANDOM_FIRST").unwrap_or(0), count);
    let next = AtomicUsize::new(0);
    let work = || {
        let batches = std::iter::from_fn(|| compiled.chunks(BATCH).nth(next.fetch_add(1, Ordering::Relaxed)));
        batches.map(|batch| simulated(&root, batch)).sum::<u64>()
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let cycles: u64 = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.sum()
    });
    let shared: usize = compiled.iter().map(Compiled::shared_products).sum();
    println!("in RTL: {} programs, {cycles} cycles from start to done, {shared} shared products", compiled.len());
}

/// Programs from the `first` on. Every second one has its memories outside of the module. A fifth of them has products that share a multiplier, which few programs have.
fn programs(first: u64, count: usize) -> Vec<Compiled> {
    let sharing = count.div_ceil(5);
    let mut all = (first..).filter_map(Compiled::random);
    let mut programs: Vec<Compiled> = all.by_ref().take(count - sharing).collect();
    programs.extend(all.filter(|one| one.shared_products() > 0).take(sharing));
    for one in programs.iter_mut().skip(1).step_by(2) {
        one.memories = Memories::Outside;
    }
    programs
}

/// A program that the compiler accepts, with its module.
struct Compiled {
    program: Program,
    name: String,
    design: Design,
    memories: Memories,
}

impl Compiled {
    fn random(number: u64) -> Option<Self> {
        let program = Program::random(number);
        let design = program.source().compile(&[], &program.function, &Target::ecp5(120.0)).ok()?;
        Some(Self { program, name: format!("random{number}"), design, memories: Memories::Inside })
    }

    fn shared_products(&self) -> usize {
        self.design.kernels.iter().map(Scheduled::shared_products).sum()
    }

    fn module(&self) -> String {
        let source = self.program.source();
        let options = Options { name: &self.name, source: source.name(), memories: self.memories };
        self.design.to_systemverilog(&options)
    }

    /// The memories before and after a call. The interpreter must agree with the C compiler.
    fn run(&self, sample: usize, expected: &Outcome) -> Run {
        let given = [arguments(&self.program, sample)];
        let found = self.program.source().interpret_each(&[], &self.program.function, &given);
        let (result, arrays) = found.unwrap_or_else(|error| panic!("{error}\n{}", self.program.text)).remove(0);
        let arrays: Option<Vec<Vec<i128>>> = arrays.into_iter().map(|array| array.into_iter().collect()).collect();
        assert_eq!((arrays.as_ref(), result), (Some(&expected.arrays), expected.result), "{}", self.program.text);
        let before = random::reference::inputs(&self.program, sample).into_iter();
        let before = before.map(|values| values.into_iter().map(i128::from).collect());
        let after = expected.arrays.iter().map(|array| array.iter().copied().map(Some).collect());
        let mut run = Run {
            before: State::before(&self.design.program, before),
            after: State::after(&self.design.program, after, expected.result),
        };
        for (number, memory) in self.design.program.memories.iter().enumerate() {
            leave_out(&mut run.before.memories[number], &mut run.after.memories[number], memory.bits());
        }
        run
    }
}

/// Removes the elements that have more bits than their memory and that keep their values. No access reaches them, and the host
/// cannot write them.
fn leave_out(before: &mut [Option<i128>], after: &mut [Option<i128>], bits: u32) {
    for (before, after) in before.iter_mut().zip(after).filter(|(before, _)| before.is_some_and(|one| one >> bits > 0))
    {
        if after == before {
            *after = None;
        }
        *before = None;
    }
}

/// Simulates some programs together. Returns the cycles of their runs.
fn simulated(root: &Path, compiled: &[Compiled]) -> u64 {
    for one in compiled {
        let warnings = verilator::warnings(root, &one.name, &one.module());
        assert!(warnings.is_empty(), "{}: {warnings}", one.name);
    }
    let folder = tempfile::tempdir().expect("a folder for a simulation");
    let programs: Vec<Program> = compiled.iter().map(|one| one.program.clone()).collect();
    let expected = outcomes(folder.path(), &programs);
    let run = |one: &Compiled, sample: usize| one.run(sample, &expected[&(one.program.number, sample)]);
    let on_bench = |one: &'_ Compiled| (0..SAMPLES).map(|sample| run(one, sample)).collect::<Vec<Run>>();
    let modules: Vec<OnBench<'_>> = compiled
        .iter()
        .map(|one| OnBench { name: &one.name, design: &one.design, memories: one.memories, runs: on_bench(one) })
        .collect();
    let bench = bench(&modules).unwrap_or_else(|error| panic!("{error}"));
    let text: String = compiled.iter().map(Compiled::module).chain([bench]).collect();
    std::fs::write(folder.path().join("bench.sv"), text).expect("a bench");
    simulate(root, folder.path());
    compiled.iter().map(|one| one.design.run_cycles() * SAMPLES as u64).sum()
}

/// Builds the bench, and runs it to its end.
fn simulate(root: &Path, folder: &Path) {
    succeeds(&verilator::build(root, folder), folder);
    let said = succeeds(&verilator::run(folder), folder);
    assert!(said.contains("all right"), "{said}");
}

fn succeeds(output: &Output, folder: &Path) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let kept = std::env::temp_dir().join("random_rtl.sv");
        std::fs::copy(folder.join("bench.sv"), &kept).expect("a copy of the bench");
        panic!("{said}\n{}\nthe bench is in {}", String::from_utf8_lossy(&output.stderr), kept.display());
    }
    said
}
