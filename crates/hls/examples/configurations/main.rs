//! The transforms of hw/hls at all sizes, numbers of butterflies and moduli: `configurations [size...]`. Prints figures as JSON.
//!
//! Each is compiled in bounded time. If a word is read late enough after its write, it must take its floor and its depth. Its
//! schedule is simulated with random data, whose result must be the reference's and satisfy the definition.

mod definitions;

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ciphermill_hls::analysis::Dependence;
use ciphermill_hls::ir::State;
use ciphermill_hls::report::Report;
use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Argument, Design, Scheduled, Source, banks};
use serde_json::{Value, json};

use definitions::{Prime, TRANSFORMS, Transform};

const SIZES: [u64; 5] = [256, 512, 1024, 2048, 4096];
const BUTTERFLIES: [u64; 5] = [1, 2, 4, 8, 16];
/// Moduli of 12 to 14, 23, 30 and 60 bits.
const PRIMES: [Prime; 6] = [
    Prime { q: 3329, generator: 3 },
    Prime { q: 7681, generator: 17 },
    Prime { q: 12289, generator: 11 },
    Prime { q: 8_380_417, generator: 10 },
    Prime { q: 1_073_479_681, generator: 11 },
    Prime { q: 1_152_921_504_606_584_833, generator: 10 },
];
/// Processor time of a compilation at most.
const COMPILE_SECONDS: f64 = 5.0;
/// The clock of the schedules.
const MHZ: f64 = 120.0;

/// A transform at a size.
#[derive(Clone, Copy, Debug)]
struct Configuration {
    transform: Transform,
    prime: Prime,
    n: u64,
    b: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let asked: Vec<u64> = std::env::args().skip(1).map(|argument| argument.parse()).collect::<Result<_, _>>()?;
    let sizes = if asked.is_empty() { SIZES.to_vec() } else { asked };
    println!("{:#}", all(&sizes)?);
    Ok(())
}

/// Compiles and runs all configurations of these sizes.
fn all(sizes: &[u64]) -> Result<Value, Box<dyn Error>> {
    let (possible, impossible): (Vec<Configuration>, Vec<Configuration>) =
        listed().into_iter().filter(|one| sizes.contains(&one.n)).partition(|one| one.prime.has_root(one.order()));
    let rows = in_parallel(&possible)?;
    let count = |key: &str, is: bool| rows.iter().filter(|row| row[key] == json!(is)).count();
    let seconds = rows.iter().filter_map(|row| row["compile_cpu_s"].as_f64()).fold(0.0, f64::max);
    Ok(json!({
        "target": format!("ecp5, {MHZ} MHz"),
        "kind": "analytic; each schedule is simulated cycle by cycle with data",
        "configurations": rows.len(),
        "at_floor_and_depth": count("at_floor_and_depth", true),
        "not_at_floor_and_depth": count("at_floor_and_depth", false),
        "most_compile_cpu_s": seconds,
        "without_a_root": impossible.iter().filter(|one| one.b == 1).map(Configuration::without_root).collect::<Vec<_>>(),
        "rows": rows,
    }))
}

fn listed() -> Vec<Configuration> {
    let functions = PRIMES.iter().flat_map(|&prime| SIZES.map(|n| (prime, n)));
    let functions = functions.flat_map(|(prime, n)| TRANSFORMS.map(|transform| (transform, prime, n)));
    functions.flat_map(|(transform, prime, n)| BUTTERFLIES.map(|b| Configuration { transform, prime, n, b })).collect()
}

/// The rows of all configurations, in their order.
fn in_parallel(configurations: &[Configuration]) -> Result<Vec<Value>, Box<dyn Error>> {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(HashMap::new());
    let work = || {
        while let Some(one) = configurations.get(next.fetch_add(1, Ordering::Relaxed)) {
            let row = one.row().map_err(|error| format!("{}: {error}", one.name()));
            rows.lock().unwrap_or_else(PoisonError::into_inner).insert(one.name(), row);
        }
    };
    std::thread::scope(|scope| {
        (0..std::thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(work)));
    });
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    let row =
        |one: &Configuration| rows.remove(&one.name()).unwrap_or_else(|| Err(format!("{} did not run", one.name())));
    Ok(configurations.iter().map(row).collect::<Result<_, _>>()?)
}

impl Configuration {
    fn name(&self) -> String {
        format!("{} n={} q={} B={}", self.transform.function, self.n, self.prime.q, self.b)
    }

    /// The order of the root that the transform needs.
    fn order(&self) -> u64 {
        if self.transform.is_negacyclic { 2 * self.n } else { self.n }
    }

    fn without_root(&self) -> Value {
        let (q, order) = (self.prime.q, self.order());
        json!(format!("{} n={}: the units modulo {q} have no root of order {order}", self.transform.function, self.n))
    }

    fn defines(&self) -> Vec<(String, String)> {
        [("N", self.n), ("Q", self.prime.q), ("B", self.b), ("GENERATOR", self.prime.generator)]
            .map(|(name, value)| (name.to_owned(), value.to_string()))
            .into()
    }

    fn row(&self) -> Result<Value, Box<dyn Error>> {
        let source = Source::read(&Path::new("hw/hls").join(self.transform.file))?;
        let (defines, target) = (self.defines(), Target::ecp5(MHZ));
        let begun = cpu_seconds()?;
        let design = source.compile(&defines, self.transform.function, &target)?;
        let seconds = cpu_seconds()? - begun;
        if seconds > COMPILE_SECONDS {
            return Err(format!("compiled in {seconds:.1} s, at most {COMPILE_SECONDS} s are asked").into());
        }
        self.run(&source, &design)?;
        let report = Report::of(&design, &source, &defines, &target);
        let memory_bits: usize = report.memories.iter().map(|one| one.elements * one.bits as usize).sum();
        let [one] = design.kernels.as_slice() else { return Err("a transform is one kernel".into()) };
        let mut row = self.figures(one, design.run_cycles())?;
        row["compile_cpu_s"] = json!((seconds * 1000.0).round() / 1000.0);
        row["multipliers"] = json!(report.hardware.multiplier_count());
        row["memory_bits"] = json!(memory_bits);
        Ok(row)
    }

    /// Cycles against the floor. A transform whose stages follow one another without a wait must be at floor and depth.
    fn figures(&self, one: &Scheduled, cycles: u64) -> Result<Value, Box<dyn Error>> {
        let schedule = &one.schedule;
        let floor = self.n / 2 * u64::from(self.n.ilog2()) / self.b;
        let depth = u64::from(schedule.depth);
        let is_at_floor = schedule.cycles(&one.kernel) < floor + depth;
        let distance = least_distance(one);
        if !is_at_floor && (schedule.interval != 1 || self.n / (4 * self.b) >= depth) {
            return Err(format!("{cycles} cycles, though n/(4B) is not below the depth of {depth}").into());
        }
        let reason =
            format!("a word is read {distance:?} iterations after its write, and an iteration has {depth} cycles");
        Ok(json!({
            "function": self.transform.function,
            "n": self.n,
            "q": self.prime.q,
            "b": self.b,
            "floor": floor,
            "depth": depth,
            "gap": schedule.gap,
            "interval": schedule.interval,
            "cycles": cycles,
            "at_floor_and_depth": is_at_floor,
            "reason": if is_at_floor { Value::Null } else { json!(reason.replace("Some(", "").replace(')', "")) },
        }))
    }

    /// Runs the schedule on random words. The result must be the reference's, and satisfy the definition.
    fn run(&self, source: &Source, design: &Design) -> Result<(), Box<dyn Error>> {
        let given = self.words();
        let before = self.placed(&given)?;
        let array: Vec<i128> = before.iter().map(|&word| word.into()).collect();
        let (_, expected) =
            source.interpret(&self.defines(), self.transform.function, &[Argument::Elements(array.clone())])?;
        let found = scheduled(design, &array)?;
        if expected.first() != Some(&found) {
            return Err("the schedule's result differs from the interpreter's".into());
        }
        let words: Option<Vec<u64>> =
            found.into_iter().map(|word| word.and_then(|word| word.try_into().ok())).collect();
        let after = self.taken(&words.ok_or("a word without a value")?)?;
        if !self.transform.holds(self.prime, &given, &after) {
            return Err("the result differs from the definition".into());
        }
        Ok(())
    }

    /// Random residues (splitmix64), the same for all numbers of butterflies.
    fn words(&self) -> Vec<u64> {
        let mut state = self.n ^ self.prime.q;
        let mut draw = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) % self.prime.q
        };
        (0..self.n).map(|_| draw()).collect()
    }

    /// The place of each word in the array of banks.
    fn places(&self) -> Result<Vec<usize>, Box<dyn Error>> {
        let masks = banks::masks(self.n.ilog2(), self.b.ilog2()).ok_or("no banks")?;
        let bank = |x: usize| {
            let bit = |(i, mask): (usize, &u32)| ((x as u32 & mask).count_ones() as usize & 1) << i;
            masks.iter().enumerate().map(bit).sum::<usize>()
        };
        let rows = self.n as usize >> masks.len();
        Ok((0..self.n as usize).map(|x| bank(x) * rows + (x >> masks.len())).collect())
    }

    fn placed(&self, words: &[u64]) -> Result<Vec<u64>, Box<dyn Error>> {
        let mut array = vec![0; words.len()];
        self.places()?.into_iter().zip(words).for_each(|(place, &word)| array[place] = word);
        Ok(array)
    }

    fn taken(&self, array: &[u64]) -> Result<Vec<u64>, Box<dyn Error>> {
        Ok(self.places()?.into_iter().map(|place| array[place]).collect())
    }
}

/// The least number of iterations from a write to a read of the same word.
fn least_distance(one: &Scheduled) -> Option<usize> {
    let reads = one.distances.iter().filter(|one| one.why == Dependence::ReadAfterWrite);
    reads.map(|one| one.iterations).min()
}

/// The array parameter after a run by the schedule.
fn scheduled(design: &Design, array: &[i128]) -> Result<Vec<Option<i128>>, Box<dyn Error>> {
    let mut state = State::before(&design.program, [array.to_vec()]);
    design.simulate(&mut state)?;
    Ok(state.arrays(&design.program).next().ok_or("no parameter")?.to_vec())
}

/// Processor time of this thread, from Linux.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: u64 = statistics.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds as f64 / 1e9)
}
