//! From a task to phases, and from phases to programs.

use std::sync::Arc;

use ciphermill_math::Modulus;
use ciphermill_math::ntt::{Convolution, FourStepNtt};

use super::emit::{Emitter, Rows};
use super::factors::{Factor, Factors, Role, with_companion};
use super::graph::{Action, FactorSet, Filled, Graph, Input, Place, Work};
use super::layout::Layout;
use super::plan::{Passage, Phase, plan, twin};
use super::target::{REGISTERS, Target};
use super::{CompileError, Compiled, Direction, Polynomial, Ring, Task, Transform, schedule};

/// The reach of scratchpad addresses in an instruction, in vectors.
const SCRATCHPAD_REACH: u32 = 4096;
/// Digits of a key switch, at most.
const MAX_DIGITS: usize = 16;

/// Makes the programs for a task, with so many of its inputs in flight at once in each run of a program.
///
/// # Errors
/// [`CompileError`] names what is out of range, or what a program would need more of than the target has, and the largest N that fits: to
/// find it, smaller programs are made.
pub fn compile(target: &Target, task: &Task, in_flight: usize) -> Result<Compiled, CompileError> {
    target.check()?;
    make(target, task, in_flight).map_err(|error| {
        let (min, max) = shape(target);
        let sizes = (min.ilog2()..=max.ilog2()).map(|log| 1 << log);
        error.with_sizes(sizes.filter(|size| make(target, &resized(task, *size), in_flight).is_ok()))
    })
}

/// The smallest and the largest N that cores and lanes allow: a row's number needs a bit for each lane's that comes in its place, and no
/// more than a window of rows.
fn shape(target: &Target) -> (usize, usize) {
    let values = (target.cores * target.lanes) as usize;
    (2 * values, values << 7)
}

/// A task of the same kind for another N, whose operands have values of which hardly two are alike.
fn resized(task: &Task, polynomial_size: usize) -> Task {
    let polynomial = |modulus: &Modulus, number: u64| {
        let value = |i: u64| ((i + (number << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % modulus.value();
        (0..polynomial_size as u64).map(|i| value(i) as u32).collect()
    };
    match task {
        Task::Transform(transform) => Task::Transform(Transform { polynomial_size, ..transform.clone() }),
        Task::Product { modulus, ring, .. } => {
            Task::Product { polynomial_size, modulus: *modulus, ring: *ring, operand: polynomial(modulus, 0) }
        }
        Task::KeySwitch { modulus, key, .. } => {
            let digits = 0..key.len() as u64;
            let key = digits.map(|digit| [2 * digit, 2 * digit + 1].map(|number| polynomial(modulus, number)));
            Task::KeySwitch { polynomial_size, modulus: *modulus, key: key.collect() }
        }
    }
}

fn make(target: &Target, task: &Task, in_flight: usize) -> Result<Compiled, CompileError> {
    match task {
        Task::Transform(transform) => transforms(target, transform, in_flight),
        Task::Product { polynomial_size, modulus, ring, operand } => {
            products(target, *polynomial_size, *modulus, *ring, operand, in_flight)
        }
        Task::KeySwitch { polynomial_size, modulus, key } => {
            key_switches(target, *polynomial_size, *modulus, key, in_flight)
        }
    }
}

fn transforms(target: &Target, transform: &Transform, in_flight: usize) -> Result<Compiled, CompileError> {
    let mut job = Job::new(target, transform, in_flight, 1, 1)?;
    let mut phases = match transform.direction {
        Direction::Forward => job.forward(0)?,
        Direction::Inverse => {
            let start = job.forward(0)?.pop().expect("a transform has phases").layout;
            job.inverse(start, 0)?
        }
    };
    let factors = Factors::new(transform)?;
    if factors.scales() {
        let last = phases.last_mut().expect("a transform has phases");
        last.works.push(Work::Multiply { set: 0, role: Role::Scale });
    }
    job.graph.sets.push(FactorSet::Transform(factors));
    twin(&mut phases);
    for stream in 0..in_flight {
        let (from, to) = (job.input(stream, 0), job.output(stream, 0));
        job.graph.chain(target, stream, vec![from], &phases, to);
    }
    job.finish(&phases[0], &phases[phases.len() - 1])
}

fn products(
    target: &Target,
    polynomial_size: usize,
    modulus: Modulus,
    ring: Ring,
    operand: &[u32],
    in_flight: usize,
) -> Result<Compiled, CompileError> {
    let mut job = Job::modular(target, polynomial_size, modulus, ring, in_flight, 1, 1)?;
    let mut phases = job.forward(0)?;
    let middle = phases.last_mut().expect("a transform has phases");
    middle.works.push(Work::Multiply { set: 2, role: Role::Scale });
    let mut back = job.inverse(middle.layout.clone(), 1)?.into_iter();
    // What an inverse begins with needs no passage.
    middle.works.extend(back.next().into_iter().flat_map(|phase| phase.works));
    phases.extend(back);
    phases.last_mut().expect("a transform has phases").works.push(Work::Multiply { set: 1, role: Role::Scale });
    twin(&mut phases);
    job.push_transforms()?;
    let spectrum = job.spectrum(operand)?;
    job.graph.sets.push(FactorSet::Operand(spectrum));
    for stream in 0..in_flight {
        let (from, to) = (job.input(stream, 0), job.output(stream, 0));
        job.graph.chain(target, stream, vec![from], &phases, to);
    }
    job.finish(&phases[0], &phases[phases.len() - 1])
}

fn key_switches(
    target: &Target,
    polynomial_size: usize,
    modulus: Modulus,
    key: &[[Arc<[u32]>; 2]],
    in_flight: usize,
) -> Result<Compiled, CompileError> {
    let digits = key.len();
    if !(1..=MAX_DIGITS).contains(&digits) {
        return Err(CompileError::Digits { given: digits, max: MAX_DIGITS });
    }
    let mut job = Job::modular(target, polynomial_size, modulus, Ring::Negacyclic, in_flight, digits, 2)?;
    let mut phases = job.forward(0)?;
    let forward = phases.len();
    let middle = phases[forward - 1].layout.clone();
    // Digits wait in the data memory as they are, until all are there.
    let mut back = job.inverse(middle, 1)?;
    back[0].passage = Some(Passage::default());
    phases.extend(back);
    phases.last_mut().expect("a transform has phases").works.push(Work::Multiply { set: 1, role: Role::Scale });
    twin(&mut phases);
    job.push_transforms()?;
    for polynomial in key.iter().flatten() {
        let spectrum = job.spectrum(polynomial)?;
        job.graph.sets.push(FactorSet::Operand(spectrum));
    }
    let (forward, back) = phases.split_at(forward);
    for stream in 0..in_flight {
        let mut transformed: Vec<(Place, Filled)> = Vec::new();
        for digit in 0..digits {
            let to = job.graph.region(&forward[forward.len() - 1], Passage::default());
            let from = job.input(stream, digit);
            let filled = job.graph.chain(target, stream, vec![from], forward, to);
            transformed.push((to, filled));
        }
        for output in 0..2 {
            let inputs = transformed.iter().enumerate().map(|(digit, (place, filled))| Input {
                place: *place,
                filled: filled.clone(),
                keep: output == 0,
                set: Some(2 + 2 * digit + output),
            });
            let to = job.output(stream, output);
            job.graph.chain(target, stream, inputs.collect(), back, to);
        }
    }
    job.finish(&phases[0], &phases[phases.len() - 1])
}

/// A program in the making.
struct Job<'a> {
    target: &'a Target,
    transform: Transform,
    in_flight: usize,
    inputs: usize,
    outputs: usize,
    /// Vectors of a polynomial.
    vectors: u32,
    /// Vectors of the scratchpad that a run's addresses reach.
    reach: u32,
    graph: Graph,
}

impl<'a> Job<'a> {
    fn new(
        target: &'a Target,
        transform: &Transform,
        in_flight: usize,
        inputs: usize,
        outputs: usize,
    ) -> Result<Self, CompileError> {
        let given = transform.polynomial_size;
        let width = if transform.ring == Ring::Complex { 2 } else { 1 };
        let polynomials = (inputs + outputs) as u32;
        let reach = SCRATCHPAD_REACH.min(target.scratchpad_vectors);
        let (min, max) = shape(target);
        // The largest power of two with which one transform's inputs and outputs can be named.
        let named = reach / (polynomials * width) * target.lanes;
        let max = max.min(named.checked_ilog2().map_or(0, |log| 1 << log));
        if max < min {
            let needed = polynomials * width * 2 * target.cores;
            return Err(CompileError::Scratchpad { needed, have: reach, largest: None });
        }
        if !given.is_power_of_two() || !(min..=max).contains(&given) {
            return Err(CompileError::PolynomialSize { given, min, max });
        }
        if width == 1 && transform.modulus.value() >> 31 != 0 {
            return Err(CompileError::Modulus { modulus: transform.modulus.value() });
        }
        let vectors = width * (given / target.lanes as usize) as u32;
        let most = (reach / (polynomials * vectors)) as usize;
        if !(1..=most).contains(&in_flight) {
            return Err(CompileError::InFlight { given: in_flight, max: most });
        }
        let graph = Graph::new(width);
        Ok(Self { target, transform: transform.clone(), in_flight, inputs, outputs, vectors, reach, graph })
    }

    fn modular(
        target: &'a Target,
        polynomial_size: usize,
        modulus: Modulus,
        ring: Ring,
        in_flight: usize,
        inputs: usize,
        outputs: usize,
    ) -> Result<Self, CompileError> {
        if ring == Ring::Complex {
            return Err(CompileError::ComplexProduct);
        }
        let transform = Transform { polynomial_size, modulus, ring, direction: Direction::Forward };
        Self::new(target, &transform, in_flight, inputs, outputs)
    }

    fn bits(&self) -> u8 {
        self.transform.polynomial_size.ilog2() as u8
    }

    /// Levels that a group of rows can have: half of the registers hold it, so that the next one can come.
    fn group(&self) -> usize {
        (REGISTERS as u32 / 2 / self.graph.width).ilog2() as usize
    }

    fn too_small(&self) -> CompileError {
        let needed = 2 * (self.inputs + self.outputs) as u32 * self.vectors;
        if needed > self.reach {
            return CompileError::Scratchpad { needed, have: self.reach, largest: None };
        }
        let given = self.transform.polynomial_size;
        CompileError::PolynomialSize { given, min: 2 * given, max: shape(self.target).1 }
    }

    fn forward(&self, set: usize) -> Result<Vec<Phase>, CompileError> {
        let (log_cores, log_lanes) = (self.target.cores.ilog2(), self.target.lanes.ilog2());
        let natural = Layout::natural(u32::from(self.bits()) - log_cores - log_lanes, log_cores, log_lanes);
        let order: Vec<_> = (0..self.bits()).rev().collect();
        plan(natural, &order, set, self.group()).map_err(|_| self.too_small())
    }

    fn inverse(&self, from: Layout, set: usize) -> Result<Vec<Phase>, CompileError> {
        let order: Vec<_> = (0..self.bits()).collect();
        plan(from, &order, set, self.group()).map_err(|_| self.too_small())
    }

    /// The factors of both ways, as sets 0 and 1.
    fn push_transforms(&mut self) -> Result<(), CompileError> {
        for direction in [Direction::Forward, Direction::Inverse] {
            let factors = Factors::new(&Transform { direction, ..self.transform.clone() })?;
            self.graph.sets.push(FactorSet::Transform(factors));
        }
        Ok(())
    }

    /// The factors that an operand's values are, in the order of a spectrum.
    fn spectrum(&self, operand: &[u32]) -> Result<Vec<Factor>, CompileError> {
        let (size, modulus) = (self.transform.polynomial_size, self.transform.modulus);
        if operand.len() != size {
            return Err(CompileError::OperandSize { given: operand.len(), wanted: size });
        }
        if let Some(index) = operand.iter().position(|value| u64::from(*value) >= modulus.value()) {
            return Err(CompileError::OperandValue { index, given: operand[index], modulus: modulus.value() });
        }
        let ring = if self.transform.ring == Ring::Cyclic { Convolution::Cyclic } else { Convolution::Negacyclic };
        let half = 1 << (self.bits() / 2);
        let no_root = CompileError::NoRoot { modulus: modulus.value(), polynomial_size: size };
        let ntt = FourStepNtt::new(&[half, size / half], ring, modulus).map_err(|_| no_root)?;
        let mut values: Vec<u64> = operand.iter().map(|value| u64::from(*value)).collect();
        ntt.forward(&mut values);
        let reversed = |index: usize| index.reverse_bits() >> (usize::BITS - u32::from(self.bits()));
        Ok((0..size).map(|index| with_companion(values[reversed(index)], modulus)).collect())
    }

    fn input(&self, stream: usize, input: usize) -> Input {
        let place = Place::Scratchpad(stream * self.inputs + input);
        Input { place, filled: Vec::new(), keep: false, set: None }
    }

    fn output(&self, stream: usize, output: usize) -> Place {
        Place::Scratchpad(self.in_flight * self.inputs + stream * self.outputs + output)
    }

    /// What is in each place of a polynomial in a phase's layout.
    fn order(&self, phase: &Phase) -> Arc<[u32]> {
        let layout = phase.layout.stored();
        let (lanes, cores) = (self.target.lanes, self.target.cores);
        let index = |word: u32| layout.index(word / lanes % cores, word / lanes / cores, word % lanes);
        (0..self.transform.polynomial_size as u32).map(index).collect()
    }

    fn finish(self, first: &Phase, last: &Phase) -> Result<Compiled, CompileError> {
        let places = |order: Arc<[u32]>, from: usize, count: usize| {
            let place = |at: usize| Polynomial { first_vector: at as u32 * self.vectors, order: order.clone() };
            (from..from + count).map(place).collect::<Vec<_>>()
        };
        let inputs = places(self.order(first), 0, self.in_flight * self.inputs);
        let outputs = places(self.order(last), inputs.len(), self.in_flight * self.outputs);
        let polynomials: Vec<_> = inputs.iter().chain(&outputs).cloned().collect();
        let stride = polynomials.len() as u32 * self.vectors;
        // Before the schedule, which takes longer the more there is.
        let rows = Rows::place(&self.graph, self.target)?;
        let schedule = schedule::schedule(&self.graph, self.target).ok_or(CompileError::NoOrder)?;
        let modulus = (self.graph.width == 1).then(|| self.transform.modulus.value() as u32);
        let emitter = Emitter {
            target: self.target,
            graph: &self.graph,
            rows: &rows,
            schedule: &schedule,
            polynomials: &polynomials,
            part: self.vectors / self.graph.width,
            stride,
            modulus,
        };
        let actions = |of: fn(&Action) -> bool| self.graph.nodes.iter().filter(|node| of(&node.action)).count() as u64;
        let butterflies = actions(|action| matches!(action, Action::Butterfly { .. }));
        let others = actions(|action| matches!(action, Action::Multiply { .. } | Action::Add { .. }));
        Ok(Compiled {
            cores: emitter.emit()?,
            stride,
            stores: outputs.len() as u64 * u64::from(self.vectors),
            inputs,
            outputs,
            expected_cycles: schedule.cycles,
            butterflies: butterflies * u64::from(self.target.cores * self.target.lanes),
            computations: butterflies + others,
        })
    }
}
