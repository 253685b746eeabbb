//! What can go wrong in a simulation, and where.

use std::fmt;

use ciphermill_rvfhe::isa::DecodeError;
use thiserror::Error;

use super::queued::FIRST_TWIDDLE;

/// What the head of a queue waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waits {
    /// A register (a twiddle register from 32 on) is empty.
    Operand {
        /// Its number.
        register: u8,
    },
    /// The register that a load writes is still full.
    DestinationFull {
        /// Its number.
        register: u8,
    },
    /// An instruction before it, in another queue, touches one of its registers and has not begun.
    EarlierInstruction,
    /// Words of a row, or of the tile around it, are empty.
    RowEmpty {
        /// The row.
        row: u32,
    },
    /// A vector has come for a row that is full.
    RowFull {
        /// The row.
        row: u32,
    },
    /// The end of a phase waits for loads.
    Loads,
    /// The network takes nothing.
    Network,
}

/// One thing that cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// In which core.
    pub core: usize,
    /// Which instruction, as its place in the program; none for a vector that has come.
    pub pc: Option<u32>,
    /// What it waits for.
    pub waits: Waits,
}

struct Register(u8);

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < FIRST_TWIDDLE { write!(f, "v{}", self.0) } else { write!(f, "t{}", self.0 - FIRST_TWIDDLE) }
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "core {}", self.core)?;
        match self.pc {
            Some(pc) => write!(f, ", instruction {pc}: ")?,
            None => write!(f, ", a vector that has come: ")?,
        }
        match self.waits {
            Waits::Operand { register } => write!(f, "{} is empty", Register(register)),
            Waits::DestinationFull { register } => write!(f, "{} is still full", Register(register)),
            Waits::EarlierInstruction => write!(f, "an earlier instruction on one of its registers has not begun"),
            Waits::RowEmpty { row } => write!(f, "words of row {row}, or of its tile, are empty"),
            Waits::RowFull { row } => write!(f, "row {row} is still full"),
            Waits::Loads => write!(f, "loads of the phase are not done"),
            Waits::Network => write!(f, "the network takes nothing"),
        }
    }
}

/// All that cannot go on, one a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllBlocked(pub Vec<Blocked>);

impl fmt::Display for AllBlocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for blocked in &self.0 {
            write!(f, "\n  {blocked}")?;
        }
        Ok(())
    }
}

/// A simulation ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// A core that the array does not have.
    #[error("core {given}: this array has the cores 0 to {}", cores - 1)]
    NoCore {
        /// Its number.
        given: usize,
        /// How many there are.
        cores: usize,
    },
    /// Programs for other cores than the machine has.
    #[error("{given} programs for {cores} cores")]
    Cores {
        /// How many programs.
        given: usize,
        /// How many cores.
        cores: usize,
    },
    /// An argument for a scalar register that takes none.
    #[error("an argument for x{given}: registers x1 to x31 take one")]
    Argument {
        /// The register's number.
        given: usize,
    },
    /// A program that does not fit.
    #[error("core {core}: a program of {given} words; its instruction memory holds {have}")]
    InstructionMemory {
        /// Whose.
        core: usize,
        /// Its length.
        given: usize,
        /// The memory's.
        have: usize,
    },
    /// Twiddles that do not fit.
    #[error("core {core}: {given} pairs of twiddles; its twiddle memory holds {have}")]
    TwiddleMemory {
        /// Whose.
        core: usize,
        /// How many.
        given: usize,
        /// How many it holds.
        have: usize,
    },
    /// A word that is no instruction.
    #[error("core {core}, instruction {pc}: {source}")]
    Decode {
        /// Whose.
        core: usize,
        /// Its place in the program.
        pc: usize,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// A program that goes on behind its end.
    #[error("core {core}: the program goes on at instruction {pc}, where there is none; it must end with ebreak")]
    PastEnd {
        /// Whose.
        core: usize,
        /// Where.
        pc: u32,
    },
    /// A modulus register that was never set, or to no modulus.
    #[error("core {core}, instruction {pc}: modulus register m{modulus} is not set to 1 … 2^31")]
    ModulusNotSet {
        /// Whose.
        core: usize,
        /// Its place in the program.
        pc: u32,
        /// The register.
        modulus: u8,
    },
    /// An address behind the end of a memory.
    #[error("core {core}, instruction {pc}: {memory} has {size} places, and this would be number {address}")]
    Address {
        /// Whose.
        core: usize,
        /// Its place in the program.
        pc: u32,
        /// Which memory.
        memory: &'static str,
        /// The address.
        address: u32,
        /// Places.
        size: u32,
    },
    /// A tile that is wider than a vector.
    #[error("core {core}, instruction {pc}: tiles of {side} rows need as many lanes, and there are {lanes}")]
    Tile {
        /// Whose.
        core: usize,
        /// Its place in the program.
        pc: u32,
        /// Rows of the tile.
        side: usize,
        /// Lanes.
        lanes: usize,
    },
    /// A copy to a core that is not there.
    #[error("core {core}, instruction {pc}: a copy to core {named}; there are {cores}")]
    NoSuchCore {
        /// Whose.
        core: usize,
        /// Its place in the program.
        pc: u32,
        /// The core that it names.
        named: u8,
        /// How many there are.
        cores: u32,
    },
    /// Nothing can go on.
    #[error("deadlock in cycle {cycle}:{blocked}")]
    Deadlock {
        /// When nothing had moved for long.
        cycle: u64,
        /// What waits for what.
        blocked: AllBlocked,
    },
    /// More cycles than were allowed.
    #[error(
        "the programs of the cores {running:?} have not ended after {limit} cycles: set a higher limit, if they should end"
    )]
    CycleLimit {
        /// The cores that still had something to do.
        running: Vec<usize>,
        /// The limit.
        limit: u64,
    },
}

impl SimulationError {
    /// The core and the place in its program that it is about, where it is about one.
    pub fn place(&self) -> Option<(usize, usize)> {
        match *self {
            Self::Decode { core, pc, .. } => Some((core, pc)),
            Self::PastEnd { core, pc }
            | Self::ModulusNotSet { core, pc, .. }
            | Self::Address { core, pc, .. }
            | Self::Tile { core, pc, .. }
            | Self::NoSuchCore { core, pc, .. } => Some((core, pc as usize)),
            _ => None,
        }
    }
}
