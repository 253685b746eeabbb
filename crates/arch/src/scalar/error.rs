//! Errors of programs, program files, machines and inputs.

use super::machine::MachineError;

/// A program's file cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// The file exceeds the length limit.
    #[error("the file has {given} bytes; the limit is {limit}")]
    TooLong {
        /// The length of the file.
        given: usize,
        /// The limit.
        limit: usize,
    },
    /// Not a 64-bit ELF file, or its tables are outside the file.
    #[error("not a 64-bit ELF file: {0}")]
    Malformed(String),
    /// An ELF file of another kind.
    #[error("{what} is {given}; use a static little-endian RISC-V program, which has {wanted}")]
    Kind {
        /// The field.
        what: &'static str,
        /// The given value.
        given: u64,
        /// The required value.
        wanted: u64,
    },
    /// More segments or symbols than the limit.
    #[error("the file has {given} {what}; the limit is {limit}")]
    TooMany {
        /// Segments or symbols.
        what: &'static str,
        /// The given number.
        given: usize,
        /// The limit.
        limit: usize,
    },
    /// An invalid segment.
    #[error("the segment of {bytes} bytes at {address:#x} {problem}")]
    Segment {
        /// The load address.
        address: u64,
        /// The length in memory.
        bytes: u64,
        /// The problem.
        problem: &'static str,
    },
    /// The entry point is not an instruction of an executable segment.
    #[error("the entry point {address:#x} is not a multiple of 4 in an executable segment")]
    Entry {
        /// The entry point.
        address: u64,
    },
    /// A required symbol is missing.
    #[error("the file has no symbol {name}; do not strip it")]
    MissingSymbol {
        /// The name of the symbol.
        name: &'static str,
    },
}

/// A program cannot run, or failed. `pc` is the address of the instruction.
#[derive(Debug, thiserror::Error)]
pub enum ScalarError {
    /// An invalid machine, after a change of its fields.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// An invalid program file.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// A jump to an address without code.
    #[error("the program jumped to {pc:#x}, which contains no code")]
    FetchFault {
        /// The address.
        pc: u64,
    },
    /// Not an instruction of this core: RV64IM, the modulus CSRs, madd, msub, mmul.
    #[error("illegal instruction {word:#010x} at {pc:#x}")]
    IllegalInstruction {
        /// The address of the word.
        pc: u64,
        /// The word.
        word: u32,
    },
    /// `ebreak`.
    #[error("the program stopped at a breakpoint at {pc:#x}")]
    Breakpoint {
        /// The address of the instruction.
        pc: u64,
    },
    /// A load or store outside the permitted segments.
    #[error("{access} of {bytes} bytes at {address:#x} is not allowed (instruction at {pc:#x})")]
    MemoryFault {
        /// The address of the instruction.
        pc: u64,
        /// `load` or `store`.
        access: &'static str,
        /// The accessed address.
        address: u64,
        /// The number of bytes.
        bytes: u64,
    },
    /// An unaligned load or store. A Rocket core traps on it.
    #[error("{access} of {bytes} bytes at {address:#x} is not aligned (instruction at {pc:#x})")]
    Misaligned {
        /// The address of the instruction.
        pc: u64,
        /// `load` or `store`.
        access: &'static str,
        /// The accessed address.
        address: u64,
        /// The number of bytes.
        bytes: u64,
    },
    /// A modular operation with an unset modulus register.
    #[error(
        "modulus register {register} is not set (instruction at {pc:#x}); write 1 to 2^31 to CSR 0x800 + {register}"
    )]
    ModulusUnset {
        /// The address of the instruction.
        pc: u64,
        /// The modulus register.
        register: u8,
    },
    /// A system call other than read, write or exit.
    #[error("system call {number} at {pc:#x} is not supported; use read (63), write (64) or exit (93)")]
    SystemCall {
        /// The address of the instruction.
        pc: u64,
        /// The number of the call.
        number: u64,
    },
    /// The output exceeds its limit.
    #[error("the program wrote more than {limit} bytes")]
    OutputLimit {
        /// The limit.
        limit: usize,
    },
    /// The program did not end within its limit.
    #[error("the program has not ended after {limit} instructions")]
    InstructionLimit {
        /// The limit.
        limit: u64,
    },
    /// The program ended with a status other than 0.
    #[error("the program ended with status {status}")]
    Status {
        /// The status.
        status: i32,
    },
    /// The program did not pass through the measured region exactly once.
    #[error("the program did not pass through the measured region from {begin:#x} to {end:#x}")]
    Region {
        /// The start of the region.
        begin: u64,
        /// The end of the region.
        end: u64,
    },
    /// The length of the output is wrong.
    #[error("the program wrote {given} bytes; expected {wanted}")]
    OutputLength {
        /// The written bytes.
        given: usize,
        /// The expected bytes.
        wanted: usize,
    },
    /// The programs do not support this size.
    #[error("polynomial size is {given}; use a power of two from {min} to {max}")]
    PolynomialSize {
        /// The given size.
        given: usize,
        /// The minimum.
        min: usize,
        /// The maximum.
        max: usize,
    },
    /// A modulus that is too long or has no roots of unity for this size.
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
    /// The length of the input is wrong.
    #[error("the input has {given} words; the transform needs {wanted}")]
    InputLength {
        /// The given words.
        given: usize,
        /// The expected words.
        wanted: usize,
    },
    /// An input word that is not reduced.
    #[error("input word {index} is {given}; use values below the modulus {modulus}")]
    InputRange {
        /// The index of the word.
        index: usize,
        /// The value.
        given: u32,
        /// The modulus.
        modulus: u64,
    },
}
