//! Secure-computing programs: what a secure-computing device runs on ciphertexts, and how its objects are named.
//!
//! The instruction set and the virtual registers are those of the paper on an NVMe-based
//! TFHE platform (sections 4.1–4.4, Tables 2–5); [`Instruction`] says what each instruction does. This crate knows no scheme and
//! no device:
//!
//! - [`VrId`] names a virtual register, [`Metadata`] is the block that travels beside an object;
//! - [`Program`] has a binary form ([`Program::encode`],
//!   [`Program::decode`]), drawn in `docs/program.md`;
//! - [`verify`] decides, before anything runs, whether a program may run in an [`Environment`] within [`Limits`].

mod asm;
mod codec;
mod id;
mod instruction;
mod meta;
mod verify;

pub use asm::{Binding, BindingError, Bindings, LineMap};
pub use codec::DecodeError;
pub use id::{DataId, KeyId, ParseVrIdError, TypeClass, TypeCode, VrId};
pub use instruction::{Instruction, MAX_INSTRUCTIONS, Opcode, Program, ProgramLengthError};
pub use meta::{META_BLOCK_BYTES, META_MAGIC, META_VERSION, MetaError, Metadata};
pub use verify::{Environment, Fault, InSource, Limits, ObjectInfo, Verified, VerifyError, verify};
