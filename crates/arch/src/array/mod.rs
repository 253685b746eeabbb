//! The RVFHE array, cycle by cycle: cores, their memories, the mesh and the scratchpad, with the values that they carry.
//!
//! It executes encoded programs. Every size and latency comes from a [`Machine`]. An [`Experiment`] compiles a task, runs it and compares
//! every value with `math`:
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

mod aligned;
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

/// Cycles without any event after which nothing will come: longer than any latency of a core's. A hop of a vector over narrow links may
/// take longer.
const STILL: u64 = 128;

/// An array at work.
#[derive(Debug)]
pub struct Array {
    machine: Machine,
    isa: Isa,
    cores: Vec<CoreState>,
    mesh: Mesh,
    messages: Messages,
    scratchpad: ScratchpadState,
    now: u64,
    /// Cores that have something to do, a bit for each.
    running: u32,
    /// Messages of the last run's control: those that started the programs, and those that told of their ends.
    control: [Vec<Hop>; 2],
}

/// What a run took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// From the first instruction's fetch to the end of the last event.
    pub cycles: u64,
    /// Before that: from the control core's first message to the start of the programs.
    pub launch: u64,
    /// When the control core knew that all had ended, counted as `cycles` is.
    pub completed: u64,
    /// The cycle of every so many scratchpad stores, counted over all cores.
    pub marks: Vec<u64>,
    /// What each core did.
    pub counts: Vec<Counts>,
    /// Cycles in which links of the meshes for copies and for the scratchpad were occupied, added up.
    pub link_cycles: u64,
}

impl Array {
    /// An array with empty memories, on this process's instruction set ([`Isa::current`]). The machine is one that [`Machine::check`] passes, as all that
    /// are read from TOML are.
    pub fn new(machine: Machine) -> Self {
        Self::on(machine, Isa::current())
    }

    /// The same with values calculated on a certain instruction set (the portable one if the CPU lacks it). It does not change any
    /// result.
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

    /// What it is.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The words of the scratchpad, vector after vector.
    pub fn scratchpad(&self) -> &[u32] {
        self.scratchpad.words()
    }

    /// The same, to write.
    pub fn scratchpad_mut(&mut self) -> &mut [u32] {
        self.scratchpad.words_mut()
    }

    /// From the next run on notes what a core does; [`Self::take_events`] gives it.
    ///
    /// # Errors
    /// If there is no such core.
    pub fn observe(&mut self, core: usize) -> Result<(), SimulationError> {
        let cores = self.cores.len();
        self.cores.get_mut(core).ok_or(SimulationError::NoCore { given: core, cores })?.events = Some(Vec::new());
        Ok(())
    }

    /// What a core did since [`Self::observe`], in the order in which it was decided; nothing for other cores.
    pub fn take_events(&mut self, core: usize) -> Vec<CoreEvent> {
        self.cores.get_mut(core).and_then(|core| core.events.take()).unwrap_or_default()
    }

    /// Fills a core's twiddle memory from its first row on: factor and companion of each lane.
    ///
    /// # Errors
    /// If there is no such core, or its memory is smaller.
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

    /// Runs a program in each core until all have ended and nothing is under way. `arguments` are scalar registers, 1 to 31, and their
    /// values. Every `mark_every` scratchpad stores the cycle is noted, whichever cores and runs they are of.
    ///
    /// Registers and memories are as the last run left them. After one that failed nothing of it is under way any more: registers and
    /// data memories are empty, scratchpad and twiddle memories have what they had then.
    ///
    /// # Errors
    /// [`SimulationError`]: a program that cannot run, waits for ever, or takes more than `cycle_limit` cycles.
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
            // It may still be there from the last run.
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
        // A core has ended when what it has stored is where it should be.
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

    /// Takes away what a run that failed has left under way.
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

    /// One cycle; whether anything happened.
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
    /// Goes on from cycle to cycle until nothing is left to do; the cycles of every so many scratchpad stores. What is inlined,
    /// which is all that a core does in a cycle, is compiled for each instruction set.
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
