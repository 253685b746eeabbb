//! Programs of the secure-computing device: their text, their binary form and their verifier.
//!
//! The registers and the built-in instructions are those of the paper on an NVMe-based TFHE platform (sections 4.1–4.4,
//! Tables 2–5). This crate knows no scheme and no device:
//!
//! - [`VrId`] names a virtual register; [`Metadata`] is the block that travels next to an object;
//! - an [`InstructionSet`] is a table of [`InstructionSpec`]s: the built-in instructions and those of each [`Scheme`];
//! - [`Program`] has a text form ([`assemble`], [`disassemble`]) and a binary form ([`Program::encode`],
//!   [`Program::decode`]); `docs/program.md` draws both;
//! - [`verify`] decides, before anything runs, whether a program may run in an [`Environment`] within [`Limits`];
//! - [`assess`] propagates opaque [`Facts`] through an accepted program and adds up its failure probability.
//!
//! ```
//! use ciphermill_device::handlers;
//! use ciphermill_program::{Bindings, Program, assemble};
//!
//! // (x + y)² / 4 − (x − y)² / 4 = xy: the paper's Table 5, with x in 3:0:2 and y in 4:0:3.
//! let source = "mov r1, r2\nhomadd r1, r3\nbootstrap tv, r1\nhomsub r2, r3\nbootstrap tv, r2\nhomsub r1, r2\nreturn r1";
//! let bindings = Bindings::collect(["r2=3:0:2".parse()?, "r3=4:0:3".parse()?])?;
//! let set = handlers::instruction_set();
//! let assembly = assemble(set, source, &bindings)?;
//! assert_eq!(assembly.program.instructions().len(), 7);
//! assert_eq!(Program::decode(set, &assembly.program.encode())?, assembly.program);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Many examples share a hidden start: the standard instruction set `set`, the registers `x` (3:0:2) and `y` (3:0:3), and
//! the program `sum` of x + y. The [`Environment`] `stored` has an object in both registers, and each instruction takes it
//! 1 ms.

mod asm;
mod assess;
mod class;
mod codec;
mod id;
mod instruction;
mod meta;
mod set;
mod spec;
mod verify;

pub use asm::{
    AsmError, AsmProblem, Assembly, Binding, BindingError, Bindings, LineMap, assemble, disassemble, disassemble_named,
};
pub use assess::{Assessment, Effect, Fact, Facts, Knowledge, LogProbability, Output, Refusal, assess};
pub use class::{ObjectClass, TypeClass};
pub use codec::DecodeError;
pub use id::{DataId, KeyId, ParseVrIdError, TypeCode, VrId};
pub use instruction::{Instruction, MAX_INSTRUCTIONS, Operands, OperandsError, Program, ProgramLengthError};
pub use meta::{META_BLOCK_BYTES, META_MAGIC, META_VERSION, MetaError, Metadata};
pub use set::{InstructionSet, InstructionSetError, Scheme};
pub use spec::{Access, Action, Form, InstructionSpec, KeyUse, Opcode, Operand, OperandClass, ResultLength, RunState};
pub use verify::{Environment, Fault, InSource, Limits, ObjectInfo, Verified, VerifyError, verify};
