//! Experiments: compile a task, run it on a machine with random values, and compare every result with the golden models
//! of `math`.

use ciphermill_math::Modulus;
use ciphermill_math::fft::reference32::{self, Point32};
use ciphermill_math::ntt::{Convolution, FourStepNtt};
use ciphermill_rvfhe::compiler::{CompileError, Direction, Polynomial, Ring, Task, Transform, compile};
use ciphermill_rvfhe::isa::Instruction;
use thiserror::Error;

use super::bounds::{Bounds, bounds};
use super::dram::{self, DramRun, dram_to_dram};
use super::{Array, Counts, Machine, MachineError, Run, SimulationError};
use crate::record::{Label, Record};
use crate::trace::Trace;

/// A task, and the runs of it.
///
/// # Example
/// ```
/// use ciphermill_arch::array::{CIPHERMILL, Experiment, Machine};
/// use ciphermill_arch::report::Workload;
///
/// let machine = Machine::from_toml(CIPHERMILL)?;
/// let experiment = Experiment { task: Workload::ntt(4096).task()?, in_flight: 1, runs: 1, seed: 1 };
/// let measured = experiment.measure(&machine)?;
/// assert!(measured.correct, "every value agrees with the reference");
/// assert_eq!(measured.record(&experiment, &machine).cycles, measured.first);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The task for each input.
    pub task: Task,
    /// Inputs that overlap in one run of the program, at least 1.
    pub in_flight: usize,
    /// Consecutive runs of the program, at least 1; a steady state needs 2.
    pub runs: usize,
    /// The seed of the random inputs.
    pub seed: u64,
}

/// The result of an experiment.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Inputs in flight in each run.
    pub in_flight: usize,
    /// Cycles from the first instruction to the last result of the first run. With several runs, this is the cycle in
    /// which the results of one run are complete in number. If one core were a run ahead, this figure could be slightly
    /// early, and `steady` slightly long.
    pub first: u64,
    /// Cycles per input from the end of the first run to the end of the last one; `None` for a single run.
    pub steady: Option<f64>,
    /// Whether every output value agrees with the golden model.
    pub correct: bool,
    /// The share of cycles in which the adders work, over all runs. `None` for complex numbers, whose butterflies have
    /// a fixed duration, whatever the number of adders.
    pub adders: Option<f64>,
    /// The same share after the end of the first run.
    pub adders_steady: Option<f64>,
    /// Instructions of the longest program.
    pub instructions: usize,
    /// The simulated run.
    pub run: Run,
    /// The compiler's estimate of the cycles of a run.
    pub expected: u32,
    /// Butterflies of one input, over all lanes.
    pub butterflies: u64,
    /// The lower bounds of all components, per input; analytic.
    pub bounds: Bounds,
    /// Bytes of all factors in all cores, with companions and copies: twiddles, the operand of a product, a key.
    pub factor_bytes: u64,
    /// The time from DRAM to DRAM, with one run per batch: analytic, over the simulated cycles of the first run.
    pub dram: DramRun,
}

/// An error of an experiment.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// An invalid machine, after a change of its fields.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The compiler rejects the task.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The program did not finish.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// An invalid number of runs.
    #[error("{given} runs: use 1 to {max}, because their inputs and outputs must fit the scratchpad")]
    Runs {
        /// The given number.
        given: usize,
        /// The maximum.
        max: usize,
    },
}

/// The number of batches from DRAM to DRAM.
const DRAM_BATCHES: usize = 16;

/// The cycle limit per instruction of the longest program and per flit of a vector. A run beyond the limit is faulty.
const CYCLES_PER_INSTRUCTION: u64 = 200;

impl Experiment {
    /// Compiles the task, runs it and compares the results.
    ///
    /// # Errors
    /// [`ExperimentError`]. Wrong values are not an error; [`Measurement::correct`] reports them.
    pub fn measure(&self, machine: &Machine) -> Result<Measurement, ExperimentError> {
        self.measure_with(machine, None)
    }

    /// As [`Self::measure`], with an optional trace of all cores and networks.
    ///
    /// # Errors
    /// The errors of [`Self::measure`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_arch::array::{CIPHERMILL, Experiment, Machine};
    /// use ciphermill_arch::{report::Workload, trace::Trace};
    ///
    /// let (machine, mut trace) = (Machine::from_toml(CIPHERMILL)?, Trace::new());
    /// let experiment = Experiment { task: Workload::ntt(4096).task()?, in_flight: 1, runs: 1, seed: 1 };
    /// assert!(experiment.measure_with(&machine, Some(&mut trace))?.correct);
    /// assert!(!trace.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn measure_with(
        &self,
        machine: &Machine,
        mut trace: Option<&mut Trace>,
    ) -> Result<Measurement, ExperimentError> {
        machine.check()?;
        let compiled = compile(&machine.target(), &self.task, self.in_flight)?;
        let most = (machine.scratchpad.vectors / compiled.stride) as usize;
        if !(1..=most).contains(&self.runs) {
            return Err(ExperimentError::Runs { given: self.runs, max: most });
        }
        let mut array = Array::new(machine.clone());
        let mut programs: Vec<Vec<u32>> = Vec::new();
        for (core, image) in compiled.cores.iter().enumerate() {
            array.set_twiddles(core, &image.twiddles)?;
            programs.push(image.instructions.iter().map(Instruction::encode).collect());
        }
        let lanes = machine.core.lanes as usize;
        let mut random = Random(self.seed);
        let mut inputs = Vec::new();
        let at = |run: usize, polynomial: &Polynomial| {
            (run as u32 * compiled.stride + polynomial.first_vector) as usize * lanes
        };
        for run in 0..self.runs {
            for input in &compiled.inputs {
                let values = self.task.random(&mut random);
                for (place, word) in self.task.places(input, true) {
                    array.scratchpad_mut()[at(run, input) + place] = values[word];
                }
                inputs.push(values);
            }
        }
        let instructions = programs.iter().map(Vec::len).max().unwrap_or(0);
        let limit = CYCLES_PER_INSTRUCTION * u64::from(machine.flits()) * instructions as u64 * self.runs as u64;
        if trace.is_some() {
            array.observe_all();
        }
        let run = array.run(&programs, &[(10, self.runs as u32)], compiled.stores, limit)?;
        if let Some(trace) = trace.as_deref_mut() {
            array.timeline(&programs, trace);
        }

        let each = compiled.inputs.len() / self.in_flight;
        let wanted: Vec<Vec<u32>> = inputs.chunks(each).flat_map(|inputs| self.task.golden(inputs)).collect();
        let outputs = (0..self.runs).flat_map(|run| compiled.outputs.iter().map(move |output| (run, output)));
        let correct = outputs.zip(&wanted).all(|((run, output), wanted)| {
            let mut places = self.task.places(output, false);
            places.all(|(place, word)| array.scratchpad()[at(run, output) + place] == wanted[word])
        });

        let bytes = |polynomials: &[Polynomial]| polynomials.len() as u64 * 4 * self.task.words() as u64;
        let (first, last) = (run.marks.first().copied().unwrap_or(run.cycles), run.marks.last().copied());
        let later = (self.runs - 1) as f64;
        let rest = last.map_or(0.0, |last| (last - first) as f64);
        // Cycles of an adder in one run. A butterfly has two sums.
        let sums = run.counts.iter().map(|counts| counts.sums).sum::<u64>() / self.runs as u64;
        let butterflies = compiled.butterflies / u64::from(machine.core.lanes);
        let busy = (2 * butterflies + sums) as f64 / f64::from(machine.cores() * machine.lane.adders);
        let complex = self.task.words() == 2 * self.task.size();
        let bytes = [&compiled.inputs, &compiled.outputs].map(|of| bytes(of));
        if let Some(trace) = trace {
            dram::timeline(machine, compiled.stride, bytes, first, self.runs, trace);
        }
        Ok(Measurement {
            in_flight: self.in_flight,
            first,
            steady: (self.runs > 1).then(|| rest / later / self.in_flight as f64),
            correct,
            adders: (!complex).then(|| busy * self.runs as f64 / run.cycles as f64),
            adders_steady: (!complex && self.runs > 1).then(|| busy * later / rest),
            instructions,
            expected: compiled.expected_cycles,
            butterflies: compiled.butterflies / self.in_flight as u64,
            bounds: bounds(machine, &compiled, self.in_flight, self.runs),
            // A factor with its companion, or a complex factor, has 8 bytes.
            factor_bytes: compiled.cores.iter().map(|image| 8 * image.twiddles.len() as u64).sum(),
            dram: dram_to_dram(machine, compiled.stride, bytes, first, DRAM_BATCHES),
            run,
        })
    }
}

impl Measurement {
    /// Cycles per input: in steady state, or of the only run, which its inputs share.
    pub fn cycles(&self) -> f64 {
        self.steady.unwrap_or(self.first as f64 / self.in_flight as f64)
    }

    /// The share of cycles in which the adders work, in steady state if available.
    pub fn adders_at_work(&self) -> Option<f64> {
        self.adders_steady.or(self.adders)
    }

    /// Vector instructions of all cores, per input.
    pub fn vector_instructions(&self, experiment: &Experiment) -> u64 {
        let Counts { butterflies, products, sums, .. } = self.run.counts.iter().copied().sum();
        let moved = |counts: &Counts| {
            let loads = counts.row_loads + counts.scratchpad_loads + counts.twiddle_loads;
            loads + counts.scratchpad_stores + counts.own_copies + counts.remote_copies
        };
        let moves: u64 = self.run.counts.iter().map(moved).sum();
        (butterflies + products + sums + moves) / (experiment.runs * experiment.in_flight) as u64
    }

    /// Cycles to load the factors from DRAM, once, before the first input: analytic.
    pub fn factor_cycles(&self, machine: &Machine) -> u64 {
        self.factor_bytes.div_ceil(machine.dram.bytes_per_cycle.into())
    }

    /// The record of the measurement. `utilization` is that of the busiest component, `params.busiest`.
    pub fn record(&self, experiment: &Experiment, machine: &Machine) -> Record {
        let size = experiment.task.size();
        let name = match &experiment.task {
            Task::Transform(Transform { ring: Ring::Complex, direction: Direction::Forward, .. }) => "fft",
            Task::Transform(Transform { ring: Ring::Complex, .. }) => "ifft",
            Task::Transform(Transform { direction: Direction::Forward, .. }) => "ntt",
            Task::Transform(_) => "intt",
            Task::Product { .. } => "product",
            Task::KeySwitch { .. } => "key-switch",
        };
        let lanes = machine.cores() * machine.core.lanes;
        let (busiest, most) = self.bounds.busiest();
        let bounds = self.bounds.iter().map(|(component, cycles)| (component.name().to_owned(), cycles.into()));
        let mut record =
            Record::new(format!("arch-{name}/n{size}/p{lanes}"), &machine.name, Label::Simulated, self.first)
                .with("n", size)
                .with("lanes", lanes)
                .with("in_flight", experiment.in_flight)
                .with("runs", experiment.runs)
                .with("seed", experiment.seed)
                .with("words", self.instructions)
                .with("instructions", self.vector_instructions(experiment))
                .with("butterflies", self.butterflies)
                .with("launch", self.run.launch)
                .with("adders", self.adders_at_work())
                .with("bound_cycles", self.bounds.arithmetic().1)
                .with("busiest", busiest.name())
                .with("bounds_analytic", bounds.collect::<serde_json::Map<_, _>>())
                .with("factor_bytes", self.factor_bytes)
                .with("factor_cycles_analytic", self.factor_cycles(machine))
                .with("dram_steady_analytic", self.dram.steady / experiment.in_flight as f64);
        record.cycles_steady = self.steady;
        record.utilization = Some(most / self.cycles());
        record.correct = Some(self.correct);
        record
    }
}

/// The golden model of a task.
trait Golden {
    /// N.
    fn size(&self) -> usize;
    /// Words of a polynomial: twice as many for complex numbers.
    fn words(&self) -> usize;
    /// A random input: coefficients or points below the modulus; for complex numbers all real parts, then all imaginary
    /// parts.
    fn random(&self, random: &mut Random) -> Vec<u32>;
    /// Pairs of a word's place in the polynomial's vectors and its index in the values.
    fn places(&self, polynomial: &Polynomial, input: bool) -> Box<dyn Iterator<Item = (usize, usize)>>;
    /// The outputs for the given inputs.
    fn golden(&self, inputs: &[Vec<u32>]) -> Vec<Vec<u32>>;
}

impl Golden for Task {
    fn size(&self) -> usize {
        match self {
            Self::Transform(Transform { polynomial_size, .. })
            | Self::Product { polynomial_size, .. }
            | Self::KeySwitch { polynomial_size, .. } => *polynomial_size,
        }
    }

    fn words(&self) -> usize {
        match self {
            Self::Transform(Transform { ring: Ring::Complex, .. }) => 2 * self.size(),
            _ => self.size(),
        }
    }

    fn random(&self, random: &mut Random) -> Vec<u32> {
        match self {
            Self::Transform(Transform { ring: Ring::Complex, polynomial_size, .. }) => {
                (0..2 * polynomial_size).map(|_| random.number().to_bits()).collect()
            }
            Self::Transform(Transform { polynomial_size, modulus, .. })
            | Self::Product { polynomial_size, modulus, .. }
            | Self::KeySwitch { polynomial_size, modulus, .. } => {
                (0..*polynomial_size).map(|_| (random.next() % modulus.value()) as u32).collect()
            }
        }
    }

    fn places(&self, polynomial: &Polynomial, input: bool) -> Box<dyn Iterator<Item = (usize, usize)>> {
        let size = polynomial.order.len();
        let (spectrum, parts) = match self {
            Self::Transform(transform) => (
                (transform.direction == Direction::Forward) != input,
                if transform.ring == Ring::Complex { 2 } else { 1 },
            ),
            _ => (false, 1),
        };
        let order = polynomial.order.clone();
        Box::new((0..parts * size).map(move |place| {
            let index = order[place % size];
            let number = if spectrum { index.reverse_bits() >> (32 - size.ilog2()) } else { index };
            (place, place / size * size + number as usize)
        }))
    }

    fn golden(&self, inputs: &[Vec<u32>]) -> Vec<Vec<u32>> {
        match self {
            Self::Transform(Transform { ring: Ring::Complex, direction, .. }) => vec![complex(*direction, &inputs[0])],
            Self::Transform(Transform { polynomial_size, modulus, ring, direction }) => {
                let ntt = ntt(*polynomial_size, *modulus, *ring);
                let mut values = wide(&inputs[0]);
                match direction {
                    Direction::Forward => ntt.forward(&mut values),
                    Direction::Inverse => ntt.inverse(&mut values),
                }
                vec![narrow(&values)]
            }
            Self::Product { polynomial_size, modulus, ring, operand } => {
                let ntt = ntt(*polynomial_size, *modulus, *ring);
                vec![sum_of_products(&ntt, *modulus, [(&inputs[0][..], &operand[..])])]
            }
            Self::KeySwitch { polynomial_size, modulus, key } => {
                let ntt = ntt(*polynomial_size, *modulus, Ring::Negacyclic);
                let sum = |output: usize| {
                    let pairs = inputs.iter().zip(key).map(|(digit, key)| (&digit[..], &key[output][..]));
                    sum_of_products(&ntt, *modulus, pairs)
                };
                vec![sum(0), sum(1)]
            }
        }
    }
}

fn ntt(size: usize, modulus: Modulus, ring: Ring) -> FourStepNtt {
    let convolution = if ring == Ring::Cyclic { Convolution::Cyclic } else { Convolution::Negacyclic };
    let half = 1 << (size.ilog2() / 2);
    FourStepNtt::new(&[half, size / half], convolution, modulus).expect("the compiler has found its roots")
}

fn wide(words: &[u32]) -> Vec<u64> {
    words.iter().map(|word| u64::from(*word)).collect()
}

fn narrow(words: &[u64]) -> Vec<u32> {
    words.iter().map(|word| *word as u32).collect()
}

fn sum_of_products<'a>(
    ntt: &FourStepNtt,
    modulus: Modulus,
    pairs: impl IntoIterator<Item = (&'a [u32], &'a [u32])>,
) -> Vec<u32> {
    let mut sum = vec![0; ntt.size()];
    for (x, y) in pairs {
        let (mut x, mut y) = (wide(x), wide(y));
        ntt.forward(&mut x);
        ntt.forward(&mut y);
        for ((sum, x), y) in sum.iter_mut().zip(x).zip(y) {
            *sum = modulus.add(*sum, modulus.mul(x, y));
        }
    }
    ntt.inverse(&mut sum);
    narrow(&sum)
}

fn complex(direction: Direction, words: &[u32]) -> Vec<u32> {
    let (re, im) = words.split_at(words.len() / 2);
    let number = |(re, im): (&u32, &u32)| (f32::from_bits(*re), f32::from_bits(*im));
    let mut values: Vec<Point32> = re.iter().zip(im).map(number).collect();
    let direction = match direction {
        Direction::Forward => reference32::Direction::Forward,
        Direction::Inverse => reference32::Direction::Inverse,
    };
    reference32::transform(direction, &mut values);
    reference32::reorder(&mut values);
    let re = values.iter().map(|value| value.0.to_bits());
    re.chain(values.iter().map(|value| value.1.to_bits())).collect()
}

/// Random numbers for tests of arithmetic, not for secrets: SplitMix64 (G. Steele, D. Lea and C. Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From −1 to 1.
    fn number(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}
