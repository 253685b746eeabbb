//! The compiler: from a transform, a product of polynomials or a key switch to a program for each core of an array.
//!
//! A polynomial lies in natural order in the scratchpad, consecutive vectors at consecutive cores; [`Polynomial`] says for every vector
//! what it holds. [`plan`] cuts the levels into phases, [`graph`] lists what has to be done, [`schedule`] orders it, [`emit`] writes it
//! down.

mod emit;
mod factors;
mod graph;
mod layout;
mod plan;
mod schedule;
mod target;

use ciphermill_math::Modulus;
use thiserror::Error;

use crate::isa::RangeError;
pub use emit::CoreImage;
use factors::{Factors, Role};
use graph::{FactorSet, Graph, Input, Place, Stage, Work};
use layout::Layout;
pub use target::Target;
use target::REGISTERS;

/// The ring of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ring {
    /// Z_m\[X\]/(X^N − 1).
    Cyclic,
    /// Z_m\[X\]/(X^N + 1).
    Negacyclic,
    /// C\[X\]/(X^N − 1) in binary32: the FFT.
    Complex,
}

/// The way of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From coefficients to values.
    Forward,
    /// Back, scaled by 1/N (not in the complex ring).
    Inverse,
}

/// A transform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transform {
    /// N: a power of two.
    pub polynomial_size: usize,
    /// m, a prime below 2^31; in the complex ring it is ignored.
    pub modulus: Modulus,
    /// The ring.
    pub ring: Ring,
    /// The way.
    pub direction: Direction,
}

/// What a program does, for each input of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// A transform, of this many polynomials in one run.
    Transform {
        /// Which.
        transform: Transform,
        /// How many polynomials are in flight at once, at least one.
        in_flight: usize,
    },
}

/// A polynomial in the scratchpad.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polynomial {
    /// The number of its first vector, from the address in `x11` on.
    pub first_vector: u32,
    /// The coefficient, or the value's number, in each word: N of them, vector after vector.
    pub order: std::sync::Arc<[u32]>,
}

/// A program and what it works on.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Each core's.
    pub cores: Vec<CoreImage>,
    /// What a run reads. In `x11` is the scratchpad address from which their vectors are counted.
    pub inputs: Vec<Polynomial>,
    /// What a run writes.
    pub outputs: Vec<Polynomial>,
    /// Vectors from a run's scratchpad address to the next one's.
    pub stride: u32,
    /// Cycles of a run on the ideal core that the compiler had in mind.
    pub expected_cycles: u32,
    /// Butterflies of a run, in all lanes of all cores.
    pub butterflies: u64,
}

/// Why there is no program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CompileError {
    /// A size that is none, or none of this machine.
    #[error("a polynomial of {given} values does not fit: a power of two from {min} to {max} is wanted")]
    PolynomialSize {
        /// N.
        given: usize,
        /// The smallest.
        min: usize,
        /// The largest.
        max: usize,
    },
    /// A prime that is too large for a lane.
    #[error("modulus {modulus} does not fit a lane of 32 bits: it must be below 2^31")]
    Modulus {
        /// m.
        modulus: u64,
    },
    /// No root of unity.
    #[error("modulus {modulus} has no root of unity for N = {polynomial_size}")]
    NoRoot {
        /// m.
        modulus: u64,
        /// N.
        polynomial_size: usize,
    },
    /// A count of polynomials in flight that is none.
    #[error("{given} transforms in flight: at least 1 is wanted, at most {max}")]
    InFlight {
        /// How many.
        given: usize,
        /// The most that a run's scratchpad addresses reach.
        max: usize,
    },
    /// A target with an impossible number.
    #[error("the target's {what} is {given}: {wanted} is wanted")]
    Target {
        /// Which number.
        what: &'static str,
        /// What it is.
        given: u32,
        /// What it should be.
        wanted: &'static str,
    },
    /// Rows of the data memory.
    #[error("the program needs {needed} rows of data memory, a core has {have}: fewer transforms in flight need less")]
    DataRows {
        /// How many.
        needed: u32,
        /// How many there are.
        have: u32,
    },
    /// Rows of the twiddle memory.
    #[error("the program needs {needed} rows of twiddle memory, a core has {have}")]
    TwiddleRows {
        /// How many.
        needed: u32,
        /// How many there are.
        have: u32,
    },
    /// Words of the instruction memory.
    #[error("the program has {needed} instructions, a core holds {have}: fewer transforms in flight need less")]
    Instructions {
        /// How many.
        needed: u32,
        /// How many there are.
        have: u32,
    },
    /// A number that no instruction can carry.
    #[error(transparent)]
    Range(#[from] RangeError),
}

/// The reach of scratchpad addresses in an instruction, in vectors.
const SCRATCHPAD_REACH: u32 = 4096;

/// Makes the programs.
///
/// # Errors
/// [`CompileError`] names what is out of range, or what a program would need more of than the target has.
pub fn compile(target: &Target, task: &Task) -> Result<Compiled, CompileError> {
    check_target(target)?;
    match task {
        Task::Transform { transform, in_flight } => compile_transform(target, transform, *in_flight),
    }
}

fn check_target(target: &Target) -> Result<(), CompileError> {
    let power = |what, given: u32, min, max, wanted| {
        if given.is_power_of_two() && (min..=max).contains(&given) {
            Ok(())
        } else {
            Err(CompileError::Target { what, given, wanted })
        }
    };
    power("number of cores", target.cores, 1, 32, "a power of two from 1 to 32")?;
    power("number of lanes", target.lanes, 2, 32, "a power of two from 2 to 32")?;
    power("interval of butterflies", target.butterfly_interval, 1, 16, "a power of two from 1 to 16")?;
    for (what, given) in [("loads in a cycle", target.loads_per_cycle), ("copies in a cycle", target.copies_per_cycle)] {
        if !(1..=8).contains(&given) {
            return Err(CompileError::Target { what, given, wanted: "1 to 8" });
        }
    }
    Ok(())
}

/// Levels that one group of rows can have: half of the registers hold it, so that the next one can come.
fn group_levels() -> usize {
    (REGISTERS / 2).ilog2() as usize
}

fn compile_transform(target: &Target, transform: &Transform, in_flight: usize) -> Result<Compiled, CompileError> {
    let (log_cores, log_lanes) = (target.cores.ilog2(), target.lanes.ilog2());
    let size = transform.polynomial_size;
    let (min, max) = (1_usize << (log_cores + log_lanes + 1), 1_usize << (log_cores + log_lanes + 8));
    if !size.is_power_of_two() || !(min..=max).contains(&size) {
        return Err(CompileError::PolynomialSize { given: size, min, max });
    }
    if transform.ring != Ring::Complex && transform.modulus.value() >> 31 != 0 {
        return Err(CompileError::Modulus { modulus: transform.modulus.value() });
    }
    let log_rows = size.ilog2() - log_cores - log_lanes;
    let vectors = (size / target.lanes as usize) as u32;
    let most = (SCRATCHPAD_REACH.min(target.scratchpad_vectors) / (2 * vectors)) as usize;
    if !(1..=most).contains(&in_flight) {
        return Err(CompileError::InFlight { given: in_flight, max: most });
    }

    let mut graph = Graph::default();
    let factors = Factors::new(transform)?;
    let scales = factors.scales();
    graph.sets.push(FactorSet::Transform(factors));
    // An inverse starts where a forward transform ends.
    let bits = size.ilog2() as u8;
    let descending: Vec<_> = (0..bits).rev().collect();
    let too_few = |_| CompileError::PolynomialSize { given: size, min: 2 * min, max };
    let natural = Layout::natural(log_rows, log_cores, log_lanes);
    let forward = plan::plan(natural, &descending, group_levels()).map_err(too_few)?;
    let phases = match transform.direction {
        Direction::Forward => forward,
        Direction::Inverse => {
            let mut start = forward.last().expect("a transform has levels").layout.clone();
            for slot in &mut start.rows {
                slot.twin = None;
            }
            let ascending: Vec<_> = (0..bits).collect();
            plan::plan(start, &ascending, group_levels()).map_err(too_few)?
        }
    };
    let mut stages: Vec<Stage> = graph.stages(&phases, 0);
    if scales {
        stages.last_mut().expect("a transform has levels").works.push(Work::Multiply { set: 0, role: Role::Scale });
    }
    for stream in 0..in_flight {
        let input = Input { place: Place::Scratchpad(stream), filled: Vec::new(), keep: false, set: None };
        graph.chain(target, stream, vec![input], &stages, Place::Scratchpad(in_flight + stream));
    }
    let order = |stage: &Stage| -> std::sync::Arc<[u32]> {
        let layout = &graph.layouts[stage.layout];
        let plain = Layout {
            rows: layout.rows.iter().map(|slot| layout::RowSlot { twin: None, ..*slot }).collect(),
            ..(**layout).clone()
        };
        let index = |word: u32| {
            let (vector, lane) = (word / target.lanes, word % target.lanes);
            plain.index(vector % target.cores, vector / target.cores, lane)
        };
        (0..size as u32).map(index).collect()
    };
    let (first, last) = (&stages[0], &stages[stages.len() - 1]);
    let place = |order: std::sync::Arc<[u32]>, from: usize| {
        (from..from + in_flight)
            .map(|at| Polynomial { first_vector: at as u32 * vectors, order: order.clone() })
            .collect::<Vec<_>>()
    };
    let (inputs, outputs) = (place(order(first), 0), place(order(last), in_flight));
    let polynomials: Vec<_> = inputs.iter().chain(&outputs).cloned().collect();
    let stride = 2 * in_flight as u32 * vectors;
    let schedule = schedule::schedule(&graph, target);
    let modulus = (transform.ring != Ring::Complex).then(|| transform.modulus.value() as u32);
    let emitter =
        emit::Emitter { target, graph: &graph, schedule: &schedule, polynomials: &polynomials, stride, modulus };
    Ok(Compiled {
        cores: emitter.emit()?,
        inputs,
        outputs,
        stride,
        expected_cycles: schedule.cycles,
        butterflies: (size / 2 * size.ilog2() as usize * in_flight) as u64,
    })
}
