//! The binary form of a program. `docs/program.md` draws it byte by byte.

use ciphermill_wire::{Decoder, Encoder, Kind, WireError, open, seal};
use thiserror::Error;

use crate::id::{DataId, KeyId, TypeCode, VrId};
use crate::instruction::{Instruction, MAX_INSTRUCTIONS, Operands, Program, ProgramLengthError};
use crate::set::InstructionSet;
use crate::spec::{Form, Opcode};

/// The length of one instruction in the body, in bytes.
const INSTRUCTION_BYTES: usize = 24;
/// The length of the body before the first instruction: the count and a reserved word.
const PREFIX_BYTES: usize = 8;

/// Bytes that are not a program.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let built_in = InstructionSet::new([])?;
/// let refused = Program::decode(&built_in, &sum.encode());
/// assert!(matches!(refused, Err(DecodeError::Opcode { opcode: Opcode(5), .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The envelope is damaged, of another kind or version, too long or too short.
    #[error("not a stored program: {0}")]
    Envelope(#[from] WireError),
    /// The number of instructions is out of bounds.
    #[error(transparent)]
    Length(#[from] ProgramLengthError),
    /// The body's length does not follow from the number of instructions.
    #[error("{count} instructions take {expected} bytes, {given} follow the prefix")]
    BodyLength {
        /// The declared number of instructions.
        count: u32,
        /// The bytes they take.
        expected: u64,
        /// The bytes there are.
        given: u64,
    },
    /// The reserved word of the prefix is set.
    #[error("the reserved word of the prefix is {given:#010x}, it must be 0")]
    ReservedPrefix {
        /// The given value.
        given: u32,
    },
    /// No instruction has this number.
    #[error("instruction {index}: opcode {opcode} is {}; this version defines {defined}", owner(*reserved_for))]
    Opcode {
        /// The index of the instruction, from 0.
        index: usize,
        /// The number.
        opcode: Opcode,
        /// The scheme for which the number is set aside, if it is.
        reserved_for: Option<&'static str>,
        /// The opcodes of the instruction set, as text.
        defined: String,
    },
    /// A field that the instruction does not use is set. Every program has one binary form, so that equal programs have
    /// equal bytes and no meaning can hide in the gaps.
    #[error("instruction {index}: opcode {opcode} does not use the {field}, it must be 0 and is {given:#x}")]
    UnusedField {
        /// The index of the instruction, from 0.
        index: usize,
        /// Its opcode.
        opcode: Opcode,
        /// Which field.
        field: &'static str,
        /// The given value.
        given: u32,
    },
}

impl DecodeError {
    /// The index of the instruction at fault, where the fault is that of one instruction.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let built_in = InstructionSet::new([])?;
    /// let refused = Program::decode(&built_in, &sum.encode()).unwrap_err();
    /// assert_eq!(refused.index(), Some(0));
    /// assert_eq!(Program::decode(set, b"not a program").unwrap_err().index(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn index(&self) -> Option<usize> {
        match self {
            Self::Opcode { index, .. } | Self::UnusedField { index, .. } => Some(*index),
            _ => None,
        }
    }
}

fn owner(scheme: Option<&'static str>) -> String {
    match scheme {
        Some(scheme) => format!("reserved for {scheme}, which this version does not define"),
        None => "unknown".to_owned(),
    }
}

/// Writes the opcode, a reserved half-word, the types of both registers, key and data id of the first, and two words: key
/// and data id of the second register, or the factor and 0.
fn write(instruction: &Instruction, out: &mut Encoder) {
    let (a, type_b, words) = match instruction.operands() {
        Operands::One(a) => (a, 0, [0, 0]),
        Operands::Two(a, b) => (a, b.type_code.0, [b.key_id.0, b.data_id.0]),
        Operands::Factor(a, value) => (a, 0, [value.cast_unsigned(), 0]),
    };
    out.u16(instruction.opcode().0).u16(0).u16(a.type_code.0).u16(type_b);
    out.u32(a.key_id.0).u32(a.data_id.0).u32(words[0]).u32(words[1]);
}

fn read(set: &InstructionSet, input: &mut Decoder<'_>, index: usize) -> Result<Instruction, DecodeError> {
    let (opcode, reserved) = (Opcode(input.u16()?), input.u16()?);
    let (type_a, type_b) = (input.u16()?, input.u16()?);
    let (key_a, data_a, key_b, data_b) = (input.u32()?, input.u32()?, input.u32()?, input.u32()?);
    let spec = set.instruction(opcode).ok_or_else(|| DecodeError::Opcode {
        index,
        opcode,
        reserved_for: set.reserved_for(opcode),
        defined: set.opcodes(),
    })?;
    let zero = |field, given| match given {
        0 => Ok(()),
        _ => Err(DecodeError::UnusedField { index, opcode, field, given }),
    };
    let register = |type_code, key, data| VrId::new(TypeCode(type_code), KeyId(key), DataId(data));
    let a = register(type_a, key_a, data_a);
    zero("reserved half-word", u32::from(reserved))?;
    let operands = match spec.form() {
        Form::One => {
            zero("second type", u32::from(type_b))?;
            zero("second key id", key_b)?;
            zero("second data id", data_b)?;
            Operands::One(a)
        }
        Form::Two => Operands::Two(a, register(type_b, key_b, data_b)),
        Form::Factor => {
            zero("second type", u32::from(type_b))?;
            zero("second data id", data_b)?;
            Operands::Factor(a, key_b.cast_signed())
        }
    };
    Ok(Instruction::of_form(spec, operands))
}

impl Program {
    /// The kind of the envelope.
    pub const KIND: Kind = Kind(0x0101);
    /// The version of the body that this build writes and reads.
    pub const BODY_VERSION: u16 = 1;
    /// The longest body in bytes: the prefix and [`MAX_INSTRUCTIONS`] instructions.
    pub const MAX_BODY_BYTES: u64 = (PREFIX_BYTES + MAX_INSTRUCTIONS * INSTRUCTION_BYTES) as u64;

    /// The binary form, in its envelope.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let bytes = sum.encode();
    /// assert!(bytes.starts_with(b"CMIL"));
    /// assert_eq!(Program::decode(set, &bytes)?, sum);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let instructions = self.instructions();
        let mut body = Encoder::with_capacity(PREFIX_BYTES + instructions.len() * INSTRUCTION_BYTES);
        // Fits: a program has at most MAX_INSTRUCTIONS.
        body.u32(instructions.len() as u32).u32(0);
        for instruction in instructions {
            write(instruction, &mut body);
        }
        seal(Self::KIND, Self::BODY_VERSION, &body.into_vec())
    }

    /// Reads the binary form of a program over `set`. [`Program::encode`] returns the same bytes for the result.
    ///
    /// # Errors
    /// See [`DecodeError`]. Memory is allocated only after the length of the body has been checked.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut bytes = sum.encode();
    /// assert_eq!(Program::decode(set, &bytes)?, sum);
    /// bytes[30] ^= 1;
    /// assert!(matches!(Program::decode(set, &bytes), Err(DecodeError::Envelope(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode(set: &InstructionSet, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (_, mut body) = open(bytes, Self::KIND, Self::BODY_VERSION..=Self::BODY_VERSION, Self::MAX_BODY_BYTES)?;
        let count = body.u32()?;
        let reserved = body.u32()?;
        if count == 0 || u64::from(count) > MAX_INSTRUCTIONS as u64 {
            return Err(ProgramLengthError { count: u64::from(count) }.into());
        }
        if reserved != 0 {
            return Err(DecodeError::ReservedPrefix { given: reserved });
        }
        let expected = u64::from(count) * INSTRUCTION_BYTES as u64;
        let given = body.remaining() as u64;
        if given != expected {
            return Err(DecodeError::BodyLength { count, expected, given });
        }
        let instructions =
            (0..count as usize).map(|index| read(set, &mut body, index)).collect::<Result<Vec<_>, DecodeError>>()?;
        body.finish()?;
        Ok(Self::new(instructions)?)
    }
}
