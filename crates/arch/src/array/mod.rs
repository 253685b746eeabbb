//! The RVFHE array, cycle by cycle and with all values: cores, their memories, the meshes and the scratchpad.
//!
//! The array executes encoded programs. A [`Machine`] supplies every size and latency. An [`Experiment`] compiles a
//! task, runs it and compares every value with `math`:
//!
//! ```
//! use ciphermill_arch::array::{CIPHERMILL, Experiment, Machine};
//! use ciphermill_math::Modulus;
//! use ciphermill_rvfhe::compiler::{Direction, Ring, Task, Transform};
//!
//! let machine = Machine::from_toml(CIPHERMILL)?;
//! let task = Task::Transform(Transform {
//!     polynomial_size: 8192,
//!     modulus: Modulus::new(2_013_265_921)?,
//!     ring: Ring::Negacyclic,
//!     direction: Direction::Forward,
//! });
//! let measured = Experiment { task, in_flight: 4, runs: 8, seed: 1 }.measure(&machine)?;
//! assert!(measured.correct);
//! println!("{} cycles for the first four, then {:?} for each", measured.first, measured.steady);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bounds;
mod control;
mod core;
mod dram;
mod error;
mod experiment;
mod lanes;
mod machine;
mod mesh;
mod program;
mod queued;
mod report;
mod scratchpad;
mod timeline;

use ciphermill_math::isa::Isa;
use ciphermill_math::multiversion;
use ciphermill_rvfhe::isa::Instruction;

pub use self::core::{CoreEvent, Counts};
use self::core::{CoreState, Messages, SCALARS, Shared, Stepped};
pub use bounds::{Bounds, Component};
pub use dram::DramRun;
pub use error::{AllBlocked, Blocked, SimulationError, Waits};
pub use experiment::{Experiment, ExperimentError, Measurement};
pub use machine::{
    CIPHERMILL, Core, Dram, Firing, Grid, Issue, LANE, Lane, Machine, MachineError, Memory, Network, PAPER, Port,
    Scratchpad, Transposition,
};
use mesh::{Hop, Mesh};
use program::Program;
use queued::Queue;
use scratchpad::ScratchpadState;

/// Cycles without an event after which the array is deadlocked. It exceeds every latency of a core. A hop of a vector
/// over narrow links may take longer.
const STILL: u64 = 128;

/// An array with its state.
///
/// # Example
/// ```
/// use ciphermill_arch::array::{Array, CIPHERMILL, Machine};
/// use ciphermill_rvfhe::isa::{Core, InstructionMemory, assemble};
///
/// let words = |text: &str| -> Vec<u32> {
///     let assembly = assemble(text, Core::new(0).unwrap(), InstructionMemory::PAPER).unwrap();
///     assembly.program.instructions().iter().map(|instruction| instruction.encode()).collect()
/// };
/// // Core 0 copies a vector of the scratchpad. The other cores end at once.
/// let mut programs = vec![words("ebreak"); 16];
/// programs[0] = words("lds v0, 0(x0)\nsts v0, 1(x0)\nebreak");
/// let mut array = Array::new(Machine::from_toml(CIPHERMILL)?);
/// array.scratchpad_mut()[..32].fill(7);
/// let run = array.run(&programs, &[], 0, 10_000)?;
/// assert_eq!(array.scratchpad()[32..64], [7_u32; 32]);
/// assert_eq!(run.counts[0].scratchpad_loads, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Array {
    machine: Machine,
    isa: Isa,
    cores: Vec<CoreState>,
    mesh: Mesh,
    messages: Messages,
    scratchpad: ScratchpadState,
    now: u64,
    /// The cores with work, as a bit mask.
    running: u32,
    /// Control messages of the last run: those that started the programs, and those that reported their ends.
    control: [Vec<Hop>; 2],
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Cycles from the first instruction fetch to the last event.
    pub cycles: u64,
    /// Cycles before that, from the control core's first message to the start of the programs.
    pub launch: u64,
    /// The cycle, on the scale of `cycles`, in which the control core has received the end of every program.
    pub completed: u64,
    /// The cycle of every `mark_every`-th scratchpad store, counted over all cores.
    pub marks: Vec<u64>,
    /// The counts of each core.
    pub counts: Vec<Counts>,
    /// Occupied link cycles of the data and memory meshes, in total.
    pub link_cycles: u64,
}

impl Array {
    /// An array with empty memories, on this process's instruction set ([`Isa::current`]). The machine must pass
    /// [`Machine::check`], as all machines from TOML do.
    pub fn new(machine: Machine) -> Self {
        Self::on(machine, Isa::current())
    }

    /// An array that computes values with the given instruction set, or with the portable one if the CPU lacks it. The
    /// choice does not change any result.
    pub fn on(machine: Machine, isa: Isa) -> Self {
        Self {
            cores: (0..machine.cores() as usize).map(|number| CoreState::new(number, &machine)).collect(),
            mesh: Mesh::new(&machine),
            messages: Messages::default(),
            scratchpad: ScratchpadState::new(&machine),
            isa: if isa.is_available() { isa } else { Isa::Portable },
            machine,
            now: 0,
            running: 0,
            control: Default::default(),
        }
    }

    /// The machine description.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The words of the scratchpad, vector after vector.
    pub fn scratchpad(&self) -> &[u32] {
        self.scratchpad.words()
    }

    /// The words of the scratchpad, mutable.
    pub fn scratchpad_mut(&mut self) -> &mut [u32] {
        self.scratchpad.words_mut()
    }

    /// Records the events of a core from the next run on. [`Self::take_events`] returns them.
    ///
    /// # Errors
    /// If the core does not exist.
    pub fn observe(&mut self, core: usize) -> Result<(), SimulationError> {
        let cores = self.cores.len();
        self.cores.get_mut(core).ok_or(SimulationError::NoCore { given: core, cores })?.events = Some(Vec::new());
        Ok(())
    }

    /// The events of a core since [`Self::observe`], in the order of the simulation; empty for other cores.
    pub fn take_events(&mut self, core: usize) -> Vec<CoreEvent> {
        self.cores.get_mut(core).and_then(|core| core.events.take()).unwrap_or_default()
    }

    /// Fills a core's twiddle memory from its first row on with the factor and companion of each lane.
    ///
    /// # Errors
    /// If the core does not exist, or the pairs do not fit its memory.
    pub fn set_twiddles(&mut self, core: usize, pairs: &[(u32, u32)]) -> Result<(), SimulationError> {
        let (lanes, cores) = (self.machine.core.lanes as usize, self.cores.len());
        let state = self.cores.get_mut(core).ok_or(SimulationError::NoCore { given: core, cores })?;
        let have = state.twiddle_memory.len() / 2;
        if pairs.len() > have {
            return Err(SimulationError::TwiddleMemory { core, given: pairs.len(), have });
        }
        for (row, pairs) in state.twiddle_memory.chunks_exact_mut(2 * lanes).zip(pairs.chunks(lanes)) {
            for (lane, (factor, companion)) in pairs.iter().enumerate() {
                (row[lane], row[lanes + lane]) = (*factor, *companion);
            }
        }
        Ok(())
    }

    /// Runs a program in each core until all have ended and no event is pending. `arguments` are scalar registers, 1 to
    /// 31, with their values. The cycle of every `mark_every`-th scratchpad store is recorded, over all cores and runs.
    ///
    /// Registers and memories keep the state of the previous run. After a run that failed, registers and data memories
    /// are empty, and scratchpad and twiddle memories keep their content.
    ///
    /// # Errors
    /// [`SimulationError`]: an invalid program, a deadlock, or more than `cycle_limit` cycles.
    ///
    /// # Example
    /// ```
    /// use ciphermill_arch::array::{Array, CIPHERMILL, Machine, SimulationError};
    ///
    /// let mut array = Array::new(Machine::from_toml(CIPHERMILL)?);
    /// // The array has 16 cores, and each needs a program.
    /// let refused = array.run(&[vec![0], vec![0]], &[], 0, 10_000);
    /// assert!(matches!(refused, Err(SimulationError::Cores { given: 2, cores: 16 })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run(
        &mut self,
        programs: &[Vec<u32>],
        arguments: &[(usize, u32)],
        mark_every: u64,
        cycle_limit: u64,
    ) -> Result<Run, SimulationError> {
        if programs.len() != self.cores.len() {
            return Err(SimulationError::Cores { given: programs.len(), cores: self.cores.len() });
        }
        if let Some((given, _)) = arguments.iter().find(|(register, _)| !(1..SCALARS).contains(register)) {
            return Err(SimulationError::Argument { given: *given });
        }
        let have = self.machine.memory.instruction_words as usize;
        let copies = if self.machine.lane.copies == Port::Shared { Queue::Compute } else { Queue::Send };
        let mut decoded = Vec::with_capacity(programs.len());
        for (core, words) in programs.iter().enumerate() {
            if words.len() > have {
                return Err(SimulationError::InstructionMemory { core, given: words.len(), have });
            }
            // The core may still hold the program of the last run.
            if self.cores[core].words == *words {
                decoded.push(None);
                continue;
            }
            let mut program = Program::default();
            for (pc, word) in words.iter().enumerate() {
                let instruction = Instruction::decode(*word);
                program.push(instruction.map_err(|source| SimulationError::Decode { core, pc, source })?, copies);
            }
            decoded.push(Some((words, program)));
        }
        for (core, program) in self.cores.iter_mut().zip(decoded) {
            core.counts = Counts::default();
            if let Some((words, program)) = program {
                core.words.clone_from(words);
                core.program = program;
            }
            core.start(arguments);
        }
        self.running = (u32::MAX) >> (32 - self.cores.len());
        self.scratchpad.stores = 0;
        let (start, links) = (self.now, self.link_cycles());
        let marks = match until_idle(self.isa, self, mark_every, cycle_limit) {
            Ok(marks) => marks,
            Err(error) => {
                self.clear();
                return Err(error);
            }
        };
        // A core has ended when its last store has reached the scratchpad.
        let ended = self.cores.iter().zip(&self.scratchpad.stored);
        let ended: Vec<u64> = ended.map(|(core, stored)| core.idle_from.max(*stored) - start).collect();
        let (launch, launched) = control::launch(&self.machine);
        let (completed, told) = control::completion(&self.machine, &ended);
        self.control = [launched, told];
        Ok(Run {
            cycles: self.now - start,
            launch,
            completed,
            marks,
            counts: self.cores.iter().map(|core| core.counts).collect(),
            link_cycles: self.link_cycles() - links,
        })
    }

    /// Discards all pending work of a failed run.
    fn clear(&mut self) {
        for core in &mut self.cores {
            core.clear(&self.machine);
        }
        self.mesh.clear();
        self.messages = Messages::default();
        self.scratchpad.clear();
        self.running = 0;
    }

    fn link_cycles(&self) -> u64 {
        self.mesh.link_cycles + self.scratchpad.link_cycles()
    }

    #[inline(always)]
    fn is_idle(&self) -> bool {
        self.mesh.is_empty() && self.scratchpad.is_idle() && self.running == 0
    }

    /// Simulates one cycle. Returns whether an event occurred.
    #[inline(always)]
    fn step(&mut self) -> Stepped {
        let mut shared = Shared {
            machine: &self.machine,
            scratchpad: &mut self.scratchpad,
            messages: &mut self.messages,
            mesh: &mut self.mesh,
        };
        let mut moved = false;
        let mut running = self.running;
        while running != 0 {
            let number = running.trailing_zeros();
            running &= running - 1;
            let core = &mut self.cores[number as usize];
            moved |= core.step(self.now, &mut shared)?;
            if core.is_idle() {
                self.running &= !(1 << number);
                core.idle_from = self.now + 1;
            }
        }
        if !self.mesh.is_empty() {
            moved |= self.mesh.step(self.now, |node, message| {
                self.running |= 1 << node;
                self.cores[node].accept(message, &self.machine)
            });
        }
        if !self.scratchpad.is_idle() {
            moved |= self.scratchpad.step(self.now, |core, register, words| {
                self.running |= 1 << core;
                self.cores[core].take(self.now, register, words, &self.machine)
            });
        }
        self.now += 1;
        Ok(moved)
    }
}

multiversion! {
    /// Runs the array until it is idle and returns the cycles of every `mark_every`-th scratchpad store. The inlined
    /// code, a core's whole cycle, is compiled for each instruction set.
    fn until_idle(isa, array: &mut Array, mark_every: u64, cycle_limit: u64) -> Result<Vec<u64>, SimulationError> {
        let start = array.now;
        let mut marks = Vec::new();
        let mut last_event = array.now;
        let hop = u64::from(array.machine.network.hop_latency + array.machine.flits());
        let still = STILL.max(hop + 1);
        while !array.is_idle() {
            if array.step().map_err(|error| *error)? {
                last_event = array.now;
            } else if array.now - last_event > still {
                let blocked = array.cores.iter().flat_map(|core| core.blocked(&array.messages)).collect();
                return Err(SimulationError::Deadlock { cycle: array.now - start, blocked: AllBlocked(blocked) });
            }
            if array.now - start > cycle_limit {
                let running = (0..array.cores.len()).filter(|core| array.running >> core & 1 != 0).collect();
                return Err(SimulationError::CycleLimit { running, limit: cycle_limit });
            }
            while mark_every > 0 && array.scratchpad.stores >= mark_every * (marks.len() as u64 + 1) {
                marks.push(array.now - start);
            }
        }
        Ok(marks)
    }
}
