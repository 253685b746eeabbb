//! The binary form of a program; `docs/program.md` draws it byte by byte.

use ciphermill_wire::{Decoder, Encoder, Kind, WireError, open, seal};
use thiserror::Error;

use crate::id::{DataId, KeyId, TypeCode, VrId};
use crate::instruction::{Instruction, MAX_INSTRUCTIONS, Opcode, Program, ProgramLengthError};

/// The length of one instruction in the body, in bytes.
const INSTRUCTION_BYTES: usize = 24;
/// The length of the body before the first instruction: the count and a reserved word.
const PREFIX_BYTES: usize = 8;

/// Why bytes are not a program.
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
        /// What stands there.
        given: u32,
    },
    /// No instruction has this number.
    #[error("instruction {index}: opcode {opcode} is {}; this version defines 0 to 7, 16 and 32 to 36", opcode.owner())]
    Opcode {
        /// The index of the instruction, from 0.
        index: usize,
        /// What stands there.
        opcode: Opcode,
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
        /// What stands there.
        given: u32,
    },
}

impl DecodeError {
    /// The index of the instruction at fault, where the fault is that of one instruction.
    #[must_use]
    pub const fn index(&self) -> Option<usize> {
        match self {
            Self::Opcode { index, .. } | Self::UnusedField { index, .. } => Some(*index),
            _ => None,
        }
    }
}

/// The fields of one instruction, as they lie in the body. `w4` and `w5` are the key and data id of the second register, or
/// the factor and zero.
#[derive(Clone, Copy, Default)]
struct Fields {
    opcode: u16,
    reserved: u16,
    type_a: u16,
    type_b: u16,
    key_a: u32,
    data_a: u32,
    w4: u32,
    w5: u32,
}

impl Fields {
    fn with_a(opcode: Opcode, a: VrId) -> Self {
        Self { opcode: opcode.0, type_a: a.type_code.0, key_a: a.key_id.0, data_a: a.data_id.0, ..Self::default() }
    }

    fn with_b(self, b: VrId) -> Self {
        Self { type_b: b.type_code.0, w4: b.key_id.0, w5: b.data_id.0, ..self }
    }

    fn a(&self) -> VrId {
        VrId::new(TypeCode(self.type_a), KeyId(self.key_a), DataId(self.data_a))
    }

    fn b(&self) -> VrId {
        VrId::new(TypeCode(self.type_b), KeyId(self.w4), DataId(self.w5))
    }

    fn of(instruction: &Instruction) -> Self {
        let opcode = instruction.opcode();
        match *instruction {
            Instruction::Return { n } | Instruction::Push { n } | Instruction::Pop { n } => Self::with_a(opcode, n),
            Instruction::Move { dst, src } => Self::with_a(opcode, dst).with_b(src),
            Instruction::Bootstrap { tv, n } => Self::with_a(opcode, tv).with_b(n),
            Instruction::Hmvp { matrix, n } => Self::with_a(opcode, matrix).with_b(n),
            Instruction::PaillierAddPlain { weights, n }
            | Instruction::PaillierScale { weights, n }
            | Instruction::PaillierMatVec { weights, n } => Self::with_a(opcode, weights).with_b(n),
            Instruction::HomAdd { n1, n2 }
            | Instruction::HomSub { n1, n2 }
            | Instruction::PaillierAdd { n1, n2 }
            | Instruction::PaillierSub { n1, n2 } => Self::with_a(opcode, n1).with_b(n2),
            Instruction::HomIntMult { n, value } => Self { w4: value.cast_unsigned(), ..Self::with_a(opcode, n) },
        }
    }

    fn write(&self, out: &mut Encoder) {
        out.u16(self.opcode).u16(self.reserved).u16(self.type_a).u16(self.type_b);
        out.u32(self.key_a).u32(self.data_a).u32(self.w4).u32(self.w5);
    }

    fn read(input: &mut Decoder<'_>) -> Result<Self, WireError> {
        Ok(Self {
            opcode: input.u16()?,
            reserved: input.u16()?,
            type_a: input.u16()?,
            type_b: input.u16()?,
            key_a: input.u32()?,
            data_a: input.u32()?,
            w4: input.u32()?,
            w5: input.u32()?,
        })
    }

    fn instruction(&self, index: usize) -> Result<Instruction, DecodeError> {
        let opcode = Opcode(self.opcode);
        let zero = |field, given| match given {
            0 => Ok(()),
            _ => Err(DecodeError::UnusedField { index, opcode, field, given }),
        };
        let (type_b, key_b, data_b) = (u32::from(self.type_b), self.w4, self.w5);
        let instruction = match opcode {
            Opcode::RETURN => Instruction::Return { n: self.a() },
            Opcode::MOVE => Instruction::Move { dst: self.a(), src: self.b() },
            Opcode::PUSH => Instruction::Push { n: self.a() },
            Opcode::POP => Instruction::Pop { n: self.a() },
            Opcode::BOOTSTRAP => Instruction::Bootstrap { tv: self.a(), n: self.b() },
            Opcode::HMVP => Instruction::Hmvp { matrix: self.a(), n: self.b() },
            Opcode::HOM_ADD => Instruction::HomAdd { n1: self.a(), n2: self.b() },
            Opcode::HOM_SUB => Instruction::HomSub { n1: self.a(), n2: self.b() },
            Opcode::HOM_INT_MULT => Instruction::HomIntMult { n: self.a(), value: self.w4.cast_signed() },
            Opcode::PAILLIER_ADD => Instruction::PaillierAdd { n1: self.a(), n2: self.b() },
            Opcode::PAILLIER_SUB => Instruction::PaillierSub { n1: self.a(), n2: self.b() },
            Opcode::PAILLIER_ADD_PLAIN => Instruction::PaillierAddPlain { weights: self.a(), n: self.b() },
            Opcode::PAILLIER_SCALE => Instruction::PaillierScale { weights: self.a(), n: self.b() },
            Opcode::PAILLIER_MAT_VEC => Instruction::PaillierMatVec { weights: self.a(), n: self.b() },
            _ => return Err(DecodeError::Opcode { index, opcode }),
        };
        zero("reserved half-word", u32::from(self.reserved))?;
        match instruction {
            Instruction::Return { .. } | Instruction::Push { .. } | Instruction::Pop { .. } => {
                zero("second type", type_b)?;
                zero("second key id", key_b)?;
                zero("second data id", data_b)?;
            }
            Instruction::HomIntMult { .. } => {
                zero("second type", type_b)?;
                zero("second data id", data_b)?;
            }
            _ => {}
        }
        Ok(instruction)
    }
}

impl Program {
    /// The kind of the envelope.
    pub const KIND: Kind = Kind(0x0101);
    /// The version of the body that this build writes and reads.
    pub const BODY_VERSION: u16 = 1;
    /// The longest body in bytes: the prefix and [`MAX_INSTRUCTIONS`] instructions.
    pub const MAX_BODY_BYTES: u64 = (PREFIX_BYTES + MAX_INSTRUCTIONS * INSTRUCTION_BYTES) as u64;

    /// The binary form, in its envelope.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let instructions = self.instructions();
        let mut body = Encoder::with_capacity(PREFIX_BYTES + instructions.len() * INSTRUCTION_BYTES);
        // Fits: a program has at most MAX_INSTRUCTIONS.
        body.u32(instructions.len() as u32).u32(0);
        for instruction in instructions {
            Fields::of(instruction).write(&mut body);
        }
        seal(Self::KIND, Self::BODY_VERSION, &body.into_vec())
    }

    /// Reads the binary form. All bytes that decode are exactly what [`Program::encode`] gives for the result.
    ///
    /// # Errors
    /// See [`DecodeError`]. Memory is allocated only after the length of the body has been checked.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
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
        let instructions = (0..count as usize)
            .map(|index| Fields::read(&mut body)?.instruction(index))
            .collect::<Result<Vec<_>, DecodeError>>()?;
        body.finish()?;
        Ok(Self::new(instructions)?)
    }
}
