//! Errors of the simulation, with their location.

use std::fmt;

use ciphermill_rvfhe::isa::DecodeError;
use thiserror::Error;

use super::queued::FIRST_TWIDDLE;

/// The reason why the head of a queue cannot issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waits {
    /// An operand register is empty. Twiddle registers count from 32.
    Operand {
        /// The number of the register.
        register: u8,
    },
    /// The destination register of a load is still full.
    DestinationFull {
        /// The number of the register.
        register: u8,
    },
    /// An earlier instruction in another queue uses one of its registers and has not issued.
    EarlierInstruction,
    /// Words of a row, or of its tile, are empty.
    RowEmpty {
        /// The row.
        row: u32,
    },
    /// A vector has arrived for a row that is full.
    RowFull {
        /// The row.
        row: u32,
    },
    /// The end of a phase waits for loads.
    Loads,
    /// The network accepts no message.
    Network,
}

/// One instruction or vector that cannot proceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The core.
    pub core: usize,
    /// The index of the instruction in the program; `None` for an arrived vector.
    pub pc: Option<u32>,
    /// The reason.
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
            None => write!(f, ", an arrived vector: ")?,
        }
        match self.waits {
            Waits::Operand { register } => write!(f, "{} is empty", Register(register)),
            Waits::DestinationFull { register } => write!(f, "{} is still full", Register(register)),
            Waits::EarlierInstruction => write!(f, "an earlier instruction on one of its registers has not issued"),
            Waits::RowEmpty { row } => write!(f, "words of row {row}, or of its tile, are empty"),
            Waits::RowFull { row } => write!(f, "row {row} is still full"),
            Waits::Loads => write!(f, "loads of the phase have not finished"),
            Waits::Network => write!(f, "the network accepts no message"),
        }
    }
}

/// Everything that cannot proceed, one per line.
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

/// A simulation that ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// A core that the array does not have.
    #[error("core {given} does not exist; use 0 to {}", cores - 1)]
    NoCore {
        /// The given number.
        given: usize,
        /// The number of cores.
        cores: usize,
    },
    /// The number of programs differs from the number of cores.
    #[error("{given} programs for {cores} cores; give one program per core")]
    Cores {
        /// The number of programs.
        given: usize,
        /// The number of cores.
        cores: usize,
    },
    /// An argument for a register that takes none.
    #[error("register x{given} takes no argument; use x1 to x31")]
    Argument {
        /// The number of the register.
        given: usize,
    },
    /// A program that exceeds the instruction memory.
    #[error("core {core}: the program has {given} words, and the instruction memory holds {have}")]
    InstructionMemory {
        /// The core.
        core: usize,
        /// The words of the program.
        given: usize,
        /// The words of the memory.
        have: usize,
    },
    /// Twiddles that exceed the twiddle memory.
    #[error("core {core}: {given} pairs of twiddles do not fit; the twiddle memory holds {have}")]
    TwiddleMemory {
        /// The core.
        core: usize,
        /// The number of pairs.
        given: usize,
        /// The capacity in pairs.
        have: usize,
    },
    /// A word that is not an instruction.
    #[error("core {core}, instruction {pc}: {source}")]
    Decode {
        /// The core.
        core: usize,
        /// The index of the word.
        pc: usize,
        /// The decoder's error.
        source: DecodeError,
    },
    /// A program that runs past its end.
    #[error("core {core}: the program runs past its end, to instruction {pc}; end it with ebreak")]
    PastEnd {
        /// The core.
        core: usize,
        /// The index after the last instruction.
        pc: u32,
    },
    /// A modulus register that is not set, or not to a modulus.
    #[error("core {core}, instruction {pc}: modulus register m{modulus} is not set to 1 … 2^31")]
    ModulusNotSet {
        /// The core.
        core: usize,
        /// The index of the instruction.
        pc: u32,
        /// The number of the register.
        modulus: u8,
    },
    /// An address outside a memory.
    #[error("core {core}, instruction {pc}: address {address} is outside the {memory}; use 0 to {}", size - 1)]
    Address {
        /// The core.
        core: usize,
        /// The index of the instruction.
        pc: u32,
        /// The memory.
        memory: &'static str,
        /// The address.
        address: u32,
        /// The number of addresses.
        size: u32,
    },
    /// A tile with more rows than lanes.
    #[error("core {core}, instruction {pc}: a tile of {side} rows needs at least {side} lanes; this array has {lanes}")]
    Tile {
        /// The core.
        core: usize,
        /// The index of the instruction.
        pc: u32,
        /// The rows of the tile.
        side: usize,
        /// The lanes.
        lanes: usize,
    },
    /// A copy to a core that does not exist.
    #[error("core {core}, instruction {pc}: a copy to core {named}; this array has {cores} cores")]
    NoSuchCore {
        /// The core.
        core: usize,
        /// The index of the instruction.
        pc: u32,
        /// The named core.
        named: u8,
        /// The number of cores.
        cores: u32,
    },
    /// No core can proceed.
    #[error("deadlock in cycle {cycle}:{blocked}")]
    Deadlock {
        /// The cycle of the detection.
        cycle: u64,
        /// Everything that waits.
        blocked: AllBlocked,
    },
    /// The programs exceeded the cycle limit.
    #[error(
        "the programs of the cores {running:?} have not ended after {limit} cycles; if they should end, set a higher limit"
    )]
    CycleLimit {
        /// The cores with remaining work.
        running: Vec<usize>,
        /// The limit.
        limit: u64,
    },
}

impl SimulationError {
    /// The core and the index of the instruction, if the error concerns one.
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
