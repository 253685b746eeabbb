//! Checks of each program: all passes against the C compiler.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use ciphermill_hls::ir::{self, Role, State};
use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Design, Source};

use super::Program;
use super::reference::{Outcome, SAMPLES, arguments, inputs, outcomes};

/// Programs in one C file.
const BATCH: usize = 125;

/// The outcome of some programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// The number of programs.
    pub(crate) programs: usize,
    /// The number of lowered programs.
    pub(crate) lowered: usize,
    /// The number of scheduled programs.
    pub(crate) scheduled: usize,
    /// The number of scheduled kernels, and of their iterations.
    pub(crate) kernels: usize,
    /// Kernels of more than one cycle from iteration to iteration, in a pipeline.
    pub(crate) longer_intervals: usize,
    /// Cycles in which schedules were carried out.
    pub(crate) cycles: u64,
    /// Results that were compared with those of the C compiler.
    pub(crate) compared: usize,
    /// The reasons of refusals, without numbers.
    pub(crate) refused: BTreeMap<String, usize>,
    /// The differences.
    pub(crate) failures: Vec<String>,
}

impl Summary {
    fn add(&mut self, other: Self) {
        self.programs += other.programs;
        self.lowered += other.lowered;
        self.scheduled += other.scheduled;
        self.kernels += other.kernels;
        self.longer_intervals += other.longer_intervals;
        self.cycles += other.cycles;
        self.compared += other.compared;
        for (why, count) in other.refused {
            *self.refused.entry(why).or_default() += count;
        }
        self.failures.extend(other.failures);
    }
}

/// Checks `count` programs from the `first` on, with as many threads as there are cores.
pub(crate) fn check(first: u64, count: usize, folder: &Path) -> Summary {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut summary = Summary::default();
        loop {
            let from = next.fetch_add(BATCH, std::sync::atomic::Ordering::Relaxed);
            if from >= count {
                return summary;
            }
            let numbers = first + from as u64..first + (from + BATCH).min(count) as u64;
            summary.add(batch(&numbers.map(Program::random).collect::<Vec<_>>(), folder));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut summary = Summary::default();
        for worker in workers {
            summary.add(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        summary
    })
}

fn batch(programs: &[Program], folder: &Path) -> Summary {
    let expected = outcomes(folder, programs);
    let mut summary = Summary::default();
    for program in programs {
        summary.programs += 1;
        let checked = One { program, source: program.source(), expected: &expected }.check(&mut summary);
        if let Err(what) = checked {
            summary.failures.push(format!("program {}: {what}\n{}", program.number, program.text));
        }
    }
    summary
}

/// One program.
struct One<'a> {
    program: &'a Program,
    source: Source,
    expected: &'a HashMap<(u64, usize), Outcome>,
}

impl One<'_> {
    fn check(&self, summary: &mut Summary) -> Result<(), String> {
        let refused = |summary: &mut Summary, stage: &str, what: &str| {
            // Numbers and names differ from program to program.
            let shape: String = what.split(['`', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '-']).collect();
            *summary.refused.entry(format!("{stage}: {shape}")).or_default() += 1;
        };
        let interpreted = self.interpret(summary);
        let (name, target) = (&self.program.function, Target::ecp5(120.0));
        // A compiled function has the lowered program as well.
        let compiled = self.source.compile(&[], name, &target);
        let lowered = match compiled.as_ref() {
            Ok(design) => Ok(design.program.clone()),
            Err(_) => self.source.lower(&[], name),
        };
        let lowered = match lowered {
            Ok(lowered) => lowered,
            Err(error) => {
                refused(summary, "lower", &error.what);
                return Ok(());
            }
        };
        // A lowered program has no value outside of its type, for any input.
        interpreted?;
        summary.lowered += 1;
        self.evaluate(&lowered, "lowered", summary)?;
        let design = match compiled {
            Ok(design) => design,
            Err(error) => {
                refused(summary, "compile", &error.what);
                return Ok(());
            }
        };
        summary.scheduled += 1;
        summary.kernels += design.kernels.len();
        let longer = design.kernels.iter().filter(|one| one.kernel.pipeline.is_some() && one.schedule.interval > 1);
        summary.longer_intervals += longer.count();
        let kernels = design.kernels.iter().map(|one| one.kernel.clone()).collect();
        self.evaluate(&ir::Program { kernels, ..design.program.clone() }, "without divisions", summary)?;
        self.simulate(&design, summary)
    }

    /// Each access in its cycle.
    fn simulate(&self, design: &Design, summary: &mut Summary) -> Result<(), String> {
        for sample in 0..SAMPLES {
            let mut state = self.begin(&design.program, sample);
            let cycles = design.simulate(&mut state);
            summary.cycles += cycles.map_err(|error| format!("by its schedule, sample {sample}: {error}"))?;
            self.compare(sample, "by its schedule", self.outcome(&design.program, &state), summary)?;
        }
        Ok(())
    }

    fn interpret(&self, summary: &mut Summary) -> Result<(), String> {
        let given: Vec<_> = (0..SAMPLES).map(|sample| arguments(self.program, sample)).collect();
        let found = self.source.interpret_each(&[], &self.program.function, &given);
        for (sample, (result, arrays)) in
            found.map_err(|error| format!("interpreted: {error}"))?.into_iter().enumerate()
        {
            let arrays: Option<Vec<Vec<i128>>> = arrays.into_iter().map(|array| array.into_iter().collect()).collect();
            self.compare(sample, "interpreted", arrays.map(|arrays| Outcome { arrays, result }), summary)?;
        }
        Ok(())
    }

    fn evaluate(&self, program: &ir::Program, pass: &str, summary: &mut Summary) -> Result<(), String> {
        for sample in 0..SAMPLES {
            let mut state = self.begin(program, sample);
            program.evaluate(&mut state).map_err(|error| format!("{pass}, sample {sample}: {error}"))?;
            self.compare(sample, pass, self.outcome(program, &state), summary)?;
        }
        Ok(())
    }

    /// The memories with the inputs.
    fn begin(&self, program: &ir::Program, sample: usize) -> State {
        let given = inputs(self.program, sample).into_iter();
        State::before(program, given.map(|values| values.into_iter().map(i128::from).collect()))
    }

    /// The final contents of the memories; `None` if a compared element was never written.
    fn outcome(&self, program: &ir::Program, state: &State) -> Option<Outcome> {
        let mut outcome = Outcome::default();
        for (memory, elements) in program.memories.iter().zip(&state.memories) {
            match memory.role {
                Role::Parameter if !memory.lengths.is_empty() => {
                    outcome.arrays.push(elements.iter().copied().collect::<Option<_>>()?);
                }
                Role::Result => outcome.result = Some(elements[0]?),
                _ => {}
            }
        }
        Some(outcome)
    }

    fn compare(&self, sample: usize, pass: &str, found: Option<Outcome>, summary: &mut Summary) -> Result<(), String> {
        summary.compared += 1;
        let expected = &self.expected[&(self.program.number, sample)];
        if found.as_ref() == Some(expected) {
            return Ok(());
        }
        Err(format!("{pass}, sample {sample}: {found:?}, and by the C compiler {expected:?}"))
    }
}
