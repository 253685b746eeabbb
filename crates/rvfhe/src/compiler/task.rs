//! Compilation of tasks: phases, graph, and the search for sizes that fit.

use std::sync::Arc;

use ciphermill_math::Modulus;
use ciphermill_math::ntt::{Convolution, FourStepNtt};

use super::emit::{Emitter, Frame, Rows};
use super::factors::{Factor, Factors, Role, with_companion};
use super::graph::{Action, FactorSet, Filled, Graph, Input};
use super::layout::{Layout, Place};
use super::plan::{Phase, Reshuffle, Work, plan, twin};
use super::target::{REGISTERS, Target};
use super::{CompileError, Compiled, Direction, Fitting, Lack, Polynomial, Refusal, Ring, Task, Transform, schedule};

/// Scratchpad vectors within the offset of an instruction.
const SCRATCHPAD_REACH: u32 = 4096;
/// The maximum number of digits of a key switch.
const MAX_DIGITS: usize = 16;

/// Compiles a task, with `in_flight` inputs in flight in each run of the program.
///
/// # Errors
/// [`CompileError`] names the value that is out of range, or the missing resource, and the sizes that fit. To find
/// them, the compiler plans programs of other sizes and, if the limit is close, schedules them.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let compiled = compile(&target, &Task::Transform(transform.clone()), 1)?;
/// assert_eq!(compiled.cores.len(), 16);
/// let none_in_flight = compile(&target, &Task::Transform(transform), 0);
/// assert!(matches!(none_in_flight, Err(CompileError::InFlight { given: 0, .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compile(target: &Target, task: &Task, in_flight: usize) -> Result<Compiled, CompileError> {
    target.check()?;
    let given = task.polynomial_size();
    let made = Job::new(target, task, given, Operands::Given, in_flight).and_then(Job::finish);
    let refusal = match made {
        Ok(compiled) => return Ok(compiled),
        // If one in flight is already too many, the number is not the problem.
        Err(refusal @ Refusal::InFlight { .. }) => {
            Job::new(target, task, given, Operands::Given, 1).and_then(|job| job.check()).err().unwrap_or(refusal)
        }
        Err(refusal) => refusal,
    };
    Err(match refusal {
        Refusal::Other(error) => error,
        Refusal::Size => CompileError::PolynomialSize { given, fitting: fitting(target, task, in_flight) },
        Refusal::Lack(lack) => lack.with(given, fitting(target, task, in_flight).beside(given)),
        Refusal::InFlight { most } => {
            CompileError::InFlight { given: in_flight, max: most_in_flight(target, task, most) }
        }
    })
}

/// The sizes that compile, with any operand or key values.
fn fitting(target: &Target, task: &Task, in_flight: usize) -> Fitting {
    let (min, max) = shape(target);
    let with = |in_flight| {
        let mut sizes = Vec::new();
        let mut smallest = None;
        for polynomial_size in (min.ilog2()..=max.ilog2()).map(|log| 1 << log) {
            let job = Job::new(target, task, polynomial_size, Operands::Unknown, in_flight);
            let lack = match job.and_then(|job| job.check()) {
                Ok(()) => {
                    sizes.push(polynomial_size);
                    continue;
                }
                Err(Refusal::Lack(lack)) => lack,
                Err(Refusal::Other(CompileError::NoRoot { modulus, .. })) => Lack::Root { modulus },
                Err(_) => continue,
            };
            smallest.get_or_insert((polynomial_size, lack));
        }
        (sizes, smallest)
    };
    let (sizes, smallest) = with(in_flight);
    if !sizes.is_empty() {
        return Fitting::Sizes { in_flight, sizes };
    }
    let (sizes, smallest) = if in_flight == 1 { (sizes, smallest) } else { with(1) };
    if sizes.is_empty() { Fitting::Nothing { smallest } } else { Fitting::WithOne { in_flight, sizes } }
}

/// The maximum number in flight for a task that compiles with one. Bisection finds it, because a larger number needs
/// more of every resource. The maximum compiles, and the next number does not.
fn most_in_flight(target: &Target, task: &Task, named: usize) -> usize {
    let (mut fits, mut beyond) = (1, named + 1);
    while beyond - fits > 1 {
        let middle = fits.midpoint(beyond);
        let job = Job::new(target, task, task.polynomial_size(), Operands::Given, middle);
        if job.and_then(|job| job.check()).is_ok() {
            fits = middle;
        } else {
            beyond = middle;
        }
    }
    fits
}

/// The smallest and the largest N for the cores and lanes. A row number needs a bit for each exchanged lane bit, and at
/// most the bits of a window of rows.
fn shape(target: &Target) -> (usize, usize) {
    let values = (target.cores * target.lanes) as usize;
    (2 * values, values << 7)
}

impl Task {
    fn polynomial_size(&self) -> usize {
        match self {
            Self::Transform(transform) => transform.polynomial_size,
            Self::Product { polynomial_size, .. } | Self::KeySwitch { polynomial_size, .. } => *polynomial_size,
        }
    }
}

/// The values of operands: those of the task, which belong to one N, or unknown values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    Given,
    Unknown,
}

/// A program under construction.
struct Job<'a> {
    target: &'a Target,
    transform: Transform,
    operands: Operands,
    in_flight: usize,
    inputs: usize,
    outputs: usize,
    /// Vectors of a polynomial.
    vectors: u32,
    graph: Graph,
    /// The phases from the loads of the inputs to the stores of the outputs.
    phases: Vec<Phase>,
}

impl<'a> Job<'a> {
    fn new(
        target: &'a Target,
        task: &Task,
        polynomial_size: usize,
        operands: Operands,
        in_flight: usize,
    ) -> Result<Self, Refusal> {
        let modular = |modulus: &Modulus, ring| {
            let direction = Direction::Forward;
            Transform { polynomial_size, modulus: *modulus, ring, direction }
        };
        let empty = |transform, inputs, outputs| Self::empty(target, transform, operands, in_flight, inputs, outputs);
        match task {
            Task::Transform(transform) => empty(Transform { polynomial_size, ..transform.clone() }, 1, 1)?.transforms(),
            Task::Product { ring: Ring::Complex, .. } => Err(CompileError::ComplexProduct.into()),
            Task::Product { modulus, ring, operand, .. } => empty(modular(modulus, *ring), 1, 1)?.products(operand),
            Task::KeySwitch { modulus, key, .. } => {
                let digits = key.len();
                if !(1..=MAX_DIGITS).contains(&digits) {
                    return Err(CompileError::Digits { given: digits, max: MAX_DIGITS }.into());
                }
                empty(modular(modulus, Ring::Negacyclic), digits, 2)?.key_switches(key)
            }
        }
    }

    /// A job without any nodes.
    fn empty(
        target: &'a Target,
        transform: Transform,
        operands: Operands,
        in_flight: usize,
        inputs: usize,
        outputs: usize,
    ) -> Result<Self, Refusal> {
        let width = if transform.ring == Ring::Complex { 2 } else { 1 };
        if width == 1 && transform.modulus.value() >> 31 != 0 {
            return Err(CompileError::Modulus { modulus: transform.modulus.value() }.into());
        }
        let given = transform.polynomial_size;
        let (min, max) = shape(target);
        if !given.is_power_of_two() || !(min..=max).contains(&given) {
            return Err(Refusal::Size);
        }
        let vectors = width * (given / target.lanes as usize) as u32;
        let graph = Graph::new(width);
        Ok(Self { target, transform, operands, in_flight, inputs, outputs, vectors, graph, phases: Vec::new() })
    }

    fn transforms(mut self) -> Result<Self, Refusal> {
        let mut phases = match self.transform.direction {
            Direction::Forward => self.forward(0)?,
            Direction::Inverse => {
                let start = self.forward(0)?.pop().expect("a transform has phases").layout;
                self.inverse(start, 0)?
            }
        };
        self.reserve()?;
        let factors = Factors::new(&self.transform)?;
        if factors.scales() {
            let last = phases.last_mut().expect("a transform has phases");
            last.works.push(Work::Multiply { set: 0, role: Role::Scale });
        }
        self.graph.sets.push(FactorSet::Transform(factors));
        twin(&mut phases);
        for stream in 0..self.in_flight {
            let (from, to) = (self.input(stream, 0), self.output(stream, 0));
            self.graph.chain(self.target, stream, vec![from], &phases, to);
        }
        Ok(Self { phases, ..self })
    }

    fn products(mut self, operand: &[u32]) -> Result<Self, Refusal> {
        self.admit(operand)?;
        let mut phases = self.forward(0)?;
        let middle = phases.last_mut().expect("a transform has phases");
        middle.works.push(Work::Multiply { set: 2, role: Role::Scale });
        let mut back = self.inverse(middle.layout.clone(), 1)?.into_iter();
        // The inverse starts in the registers, without a reshuffle.
        middle.works.extend(back.next().into_iter().flat_map(|phase| phase.works));
        phases.extend(back);
        phases.last_mut().expect("a transform has phases").works.push(Work::Multiply { set: 1, role: Role::Scale });
        self.reserve()?;
        twin(&mut phases);
        self.push_transforms()?;
        self.push_operand(operand)?;
        for stream in 0..self.in_flight {
            let (from, to) = (self.input(stream, 0), self.output(stream, 0));
            self.graph.chain(self.target, stream, vec![from], &phases, to);
        }
        Ok(Self { phases, ..self })
    }

    fn key_switches(mut self, key: &[[Arc<[u32]>; 2]]) -> Result<Self, Refusal> {
        let digits = key.len();
        key.iter().flatten().try_for_each(|polynomial| self.admit(polynomial))?;
        let mut phases = self.forward(0)?;
        let forward = phases.len();
        let middle = phases[forward - 1].layout.clone();
        // Transformed digits wait in the data memory until all are complete.
        let mut back = self.inverse(middle, 1)?;
        back[0].reshuffle = Some(Reshuffle::default());
        phases.extend(back);
        phases.last_mut().expect("a transform has phases").works.push(Work::Multiply { set: 1, role: Role::Scale });
        self.reserve()?;
        twin(&mut phases);
        self.push_transforms()?;
        for polynomial in key.iter().flatten() {
            self.push_operand(polynomial)?;
        }
        let (forward, back) = phases.split_at(forward);
        for stream in 0..self.in_flight {
            let mut transformed: Vec<(Place, Filled)> = Vec::new();
            for digit in 0..digits {
                let to = self.graph.region(&forward[forward.len() - 1], Reshuffle::default());
                let from = self.input(stream, digit);
                let filled = self.graph.chain(self.target, stream, vec![from], forward, to);
                transformed.push((to, filled));
            }
            for output in 0..2 {
                let inputs = transformed.iter().enumerate().map(|(digit, (place, filled))| Input {
                    place: *place,
                    filled: filled.clone(),
                    keep: output == 0,
                    set: Some(2 + 2 * digit + output),
                });
                let to = self.output(stream, output);
                self.graph.chain(self.target, stream, inputs.collect(), back, to);
            }
        }
        Ok(Self { phases, ..self })
    }

    /// Checks that an operand belongs to this ring.
    fn admit(&self, operand: &[u32]) -> Result<(), CompileError> {
        let (size, modulus) = (self.transform.polynomial_size, self.transform.modulus);
        if self.operands == Operands::Unknown {
            return Ok(());
        }
        if operand.len() != size {
            return Err(CompileError::OperandSize { given: operand.len(), wanted: size });
        }
        if let Some(index) = operand.iter().position(|value| u64::from(*value) >= modulus.value()) {
            return Err(CompileError::OperandValue { index, given: operand[index], modulus: modulus.value() });
        }
        Ok(())
    }

    /// Checks that the scratchpad's addresses reach all inputs and outputs.
    fn reserve(&self) -> Result<(), Refusal> {
        let needed = (self.inputs + self.outputs) as u32 * self.vectors;
        let have = self.reach();
        let most = (have / needed) as usize;
        if most == 0 {
            return Err(Refusal::Lack(Lack::Scratchpad { needed, have }));
        }
        if (1..=most).contains(&self.in_flight) { Ok(()) } else { Err(Refusal::InFlight { most }) }
    }

    /// Scratchpad vectors within the addresses of a run.
    fn reach(&self) -> u32 {
        SCRATCHPAD_REACH.min(self.target.scratchpad_vectors)
    }

    fn bits(&self) -> u8 {
        self.transform.polynomial_size.ilog2() as u8
    }

    /// The maximum number of levels in a group of rows. The group uses half of the registers, so that the next one can
    /// arrive.
    fn group(&self) -> usize {
        (REGISTERS as u32 / 2 / self.graph.width).ilog2() as usize
    }

    fn forward(&self, set: usize) -> Result<Vec<Phase>, Refusal> {
        let (log_cores, log_lanes) = (self.target.cores.ilog2(), self.target.lanes.ilog2());
        let natural = Layout::natural(u32::from(self.bits()) - log_cores - log_lanes, log_cores, log_lanes);
        let order: Vec<_> = (0..self.bits()).rev().collect();
        plan(natural, &order, set, self.group()).map_err(|_| Refusal::Size)
    }

    fn inverse(&self, from: Layout, set: usize) -> Result<Vec<Phase>, Refusal> {
        let order: Vec<_> = (0..self.bits()).collect();
        plan(from, &order, set, self.group()).map_err(|_| Refusal::Size)
    }

    /// Adds the factors of both directions, as sets 0 and 1.
    fn push_transforms(&mut self) -> Result<(), CompileError> {
        for direction in [Direction::Forward, Direction::Inverse] {
            let factors = Factors::new(&Transform { direction, ..self.transform.clone() })?;
            self.graph.sets.push(FactorSet::Transform(factors));
        }
        Ok(())
    }

    /// Adds an operand's factors, as the next set.
    fn push_operand(&mut self, operand: &[u32]) -> Result<(), CompileError> {
        let (size, number) = (self.transform.polynomial_size as u32, self.graph.sets.len() as u32);
        let set = match self.operands {
            Operands::Given => FactorSet::Operand(self.spectrum(operand)?),
            Operands::Unknown => FactorSet::Unknown { size, number },
        };
        self.graph.sets.push(set);
        Ok(())
    }

    /// The factors for an operand's values, in the order of a spectrum.
    fn spectrum(&self, operand: &[u32]) -> Result<Vec<Factor>, CompileError> {
        let (size, modulus) = (self.transform.polynomial_size, self.transform.modulus);
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

    /// The content of each place of a polynomial in a phase's layout.
    fn order(&self, phase: &Phase) -> Arc<[u32]> {
        let layout = phase.layout.stored();
        let (lanes, cores) = (self.target.lanes, self.target.cores);
        let index = |word: u32| layout.index(word / lanes % cores, word / lanes / cores, word % lanes);
        (0..self.transform.polynomial_size as u32).map(index).collect()
    }

    fn frame(&self) -> Frame {
        let polynomials = self.in_flight * (self.inputs + self.outputs);
        let modulus = (self.graph.width == 1).then(|| self.transform.modulus.value() as u32);
        Frame { stride: polynomials as u32 * self.vectors, modulus }
    }

    /// Checks that the program fits the target.
    fn check(&self) -> Result<(), Refusal> {
        self.frame().check(&self.graph, self.target)
    }

    fn finish(self) -> Result<Compiled, Refusal> {
        let places = |phase: &Phase, from: usize, count: usize| {
            let order = self.order(phase);
            let place = |at: usize| Polynomial { first_vector: at as u32 * self.vectors, order: order.clone() };
            (from..from + count).map(place).collect::<Vec<_>>()
        };
        let (first, last) = (&self.phases[0], &self.phases[self.phases.len() - 1]);
        let inputs = places(first, 0, self.in_flight * self.inputs);
        let outputs = places(last, inputs.len(), self.in_flight * self.outputs);
        let polynomials: Vec<_> = inputs.iter().chain(&outputs).cloned().collect();
        // Placed before the schedule, which takes longer.
        let rows = Rows::place(&self.graph, self.target)?;
        let schedule = schedule::schedule(&self.graph, self.target).ok_or(CompileError::NoOrder)?;
        let frame = self.frame();
        let emitter = Emitter {
            target: self.target,
            graph: &self.graph,
            rows: &rows,
            schedule: &schedule,
            polynomials: &polynomials,
            part: self.vectors / self.graph.width,
            frame,
        };
        let actions = |of: fn(&Action) -> bool| self.graph.nodes.iter().filter(|node| of(&node.action)).count() as u64;
        let butterflies = actions(|action| matches!(action, Action::Butterfly { .. }));
        let others = actions(|action| matches!(action, Action::Multiply { .. } | Action::Add { .. }));
        Ok(Compiled {
            cores: emitter.emit()?,
            stride: frame.stride,
            stores: outputs.len() as u64 * u64::from(self.vectors),
            inputs,
            outputs,
            expected_cycles: schedule.cycles,
            butterflies: butterflies * u64::from(self.target.cores * self.target.lanes),
            computations: butterflies + others,
        })
    }
}
