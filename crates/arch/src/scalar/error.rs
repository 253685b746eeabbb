//! What can go wrong in a program, in its file, and in what is asked of it.

use super::machine::MachineError;

/// A program's file cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// Longer than any program of this model.
    #[error("the file has {given} bytes; the limit is {limit}")]
    TooLong {
        /// Its length.
        given: usize,
        /// The limit.
        limit: usize,
    },
    /// Not an ELF file of 64 bits, or one whose tables point outside of it.
    #[error("not a 64-bit ELF file: {0}")]
    Malformed(String),
    /// An ELF file of something else.
    #[error("{what} is {given}; a static little-endian RISC-V program has {wanted}")]
    Kind {
        /// The field.
        what: &'static str,
        /// What it is.
        given: u64,
        /// What it must be.
        wanted: u64,
    },
    /// More segments or symbols than any program of this model.
    #[error("the file has {given} {what}; the limit is {limit}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        given: usize,
        /// The limit.
        limit: usize,
    },
    /// A segment that the model cannot have.
    #[error("the segment of {bytes} bytes at {address:#x} {problem}")]
    Segment {
        /// Where it is to be loaded.
        address: u64,
        /// How long it is in memory.
        bytes: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// The entry point is not an instruction of an executable segment.
    #[error("the entry point {address:#x} is not a multiple of 4 in an executable segment")]
    Entry {
        /// The entry point.
        address: u64,
    },
    /// A symbol that is needed is not there.
    #[error("the file has no symbol {name}; do not strip it")]
    MissingSymbol {
        /// Its name.
        name: &'static str,
    },
}

/// A program cannot be run, or went wrong. `pc` is the address of the instruction.
#[derive(Debug, thiserror::Error)]
pub enum ScalarError {
    /// The machine description, changed since it was read.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The program's file.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// Nothing executable is there.
    #[error("the program jumped to {pc:#x}, where there is no code")]
    FetchFault {
        /// Where.
        pc: u64,
    },
    /// Not an instruction of this core: RV64IM, the modulus CSRs, madd, msub, mmul.
    #[error("illegal instruction {word:#010x} at {pc:#x}")]
    IllegalInstruction {
        /// Its address.
        pc: u64,
        /// The word.
        word: u32,
    },
    /// `ebreak`.
    #[error("the program stopped at a breakpoint at {pc:#x}")]
    Breakpoint {
        /// Its address.
        pc: u64,
    },
    /// A load or store outside of what it may touch.
    #[error("{access} of {bytes} bytes at {address:#x} is not allowed there (instruction at {pc:#x})")]
    MemoryFault {
        /// The instruction's address.
        pc: u64,
        /// "load" or "store".
        access: &'static str,
        /// The address accessed.
        address: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// A load or store that is not aligned, on which a Rocket core traps.
    #[error("{access} of {bytes} bytes at {address:#x} is not aligned (instruction at {pc:#x})")]
    Misaligned {
        /// The instruction's address.
        pc: u64,
        /// "load" or "store".
        access: &'static str,
        /// The address accessed.
        address: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// A modular operation whose modulus register holds none.
    #[error(
        "modulus register {register} is not set (instruction at {pc:#x}); write 1 to 2^31 to CSR 0x800 + {register}"
    )]
    ModulusUnset {
        /// The instruction's address.
        pc: u64,
        /// The modulus register.
        register: u8,
    },
    /// Not read, write or exit.
    #[error("system call {number} at {pc:#x} is not known; this model has read (63), write (64) and exit (93)")]
    SystemCall {
        /// The instruction's address.
        pc: u64,
        /// Its number.
        number: u64,
    },
    /// More output than a program may write.
    #[error("the program wrote more than {limit} bytes")]
    OutputLimit {
        /// The limit.
        limit: usize,
    },
    /// It did not come to an end.
    #[error("the program has not ended after {limit} instructions")]
    InstructionLimit {
        /// The limit.
        limit: u64,
    },
    /// It ended with a status other than 0.
    #[error("the program ended with status {status}")]
    Status {
        /// The status.
        status: i32,
    },
    /// It ended without having run through the region that is measured, once.
    #[error("the program did not go through the measured region from {begin:#x} to {end:#x}")]
    Region {
        /// Where the region begins.
        begin: u64,
        /// Where it ends.
        end: u64,
    },
    /// It wrote more or less than a transform's words.
    #[error("the program wrote {given} bytes; {wanted} were to come")]
    OutputLength {
        /// How many it wrote.
        given: usize,
        /// How many are right.
        wanted: usize,
    },
    /// No program has transforms of this size.
    #[error("polynomial size is {given}; use a power of two from {min} to {max}")]
    PolynomialSize {
        /// The size asked for.
        given: usize,
        /// The least.
        min: usize,
        /// The greatest.
        max: usize,
    },
    /// A modulus without roots of unity for this size, or too long.
    #[error(
        "modulus {given} has no transform of size {polynomial_size} in 32-bit words; use a prime below 2^31 that is 1 modulo {step}"
    )]
    Modulus {
        /// The modulus.
        given: u64,
        /// The size.
        polynomial_size: usize,
        /// Twice the size.
        step: usize,
    },
    /// An input of another length than the transform's.
    #[error("the input has {given} words; the transform takes {wanted}")]
    InputLength {
        /// How many there are.
        given: usize,
        /// How many it takes.
        wanted: usize,
    },
    /// An input word that is not reduced.
    #[error("input word {index} is {given}; use one below the modulus {modulus}")]
    InputRange {
        /// Which word.
        index: usize,
        /// Its value.
        given: u32,
        /// The modulus.
        modulus: u64,
    },
}
