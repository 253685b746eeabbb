//! The instruction set: registers, instructions, their words and their text. The reference is `docs/rvfhe-isa.md`.
//!
//! The encodings have one source, `opcodes/rv_xrvfhe`, in the format of the riscv-opcodes project; the build script
//! generates this module's masks and fields from it. The instruction set follows the RVFHE paper (section 3.1, Table
//! 2). The reference page lists the differences and their reasons.
//!
//! ```
//! use ciphermill_rvfhe::isa::{Core, Instruction, InstructionMemory, Program, assemble};
//!
//! let core = Core::new(0)?;
//! let source = "again: mbfly v3, v7, t2!, m0\n bne x1, x2, again\n ebreak";
//! let program = assemble(source, core, InstructionMemory::PAPER)?.program;
//! assert_eq!(program.instructions()[0].encode(), 0x2623_81ab);
//! assert_eq!(Instruction::decode(0x2623_81ab)?.to_string(), "mbfly v3, v7, t2!, m0");
//! assert_eq!(Program::from_bytes(core, &program.to_bytes(), InstructionMemory::PAPER)?, program);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod codec;
mod encoding;
pub mod gnu;
mod instruction;
mod operand;
pub mod paper;
mod program;
mod scalar;
mod text;

pub use codec::{DecodeError, DecodeProblem};
pub use encoding::{Encoding, Field, Mnemonic, PaperMnemonic};
pub use instruction::{FloatButterfly, Instruction, OperandError};
pub use operand::{
    Address, BranchOffset, Core, Immediate, JumpOffset, ModulusRegister, Offset, Operand, RangeError, ScalarRegister,
    Tile, TwiddleRegister, UpperImmediate, VectorRegister,
};
pub use program::{InstructionMemory, Program, ProgramError, ProgramProblem};
pub use scalar::{ScalarDecodeError, ScalarInstruction, ScalarOperation};
pub use text::{AsmError, AsmProblem, Assembly, MAX_TEXT_BYTES, assemble};
