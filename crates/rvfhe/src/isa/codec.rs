//! Encoding and decoding of instructions.

use thiserror::Error;

use super::encoding::{Field, Mnemonic, field};
use super::instruction::{FloatButterfly, Instruction, OperandError};
use super::operand::{
    Address, BranchOffset, Core, Immediate, JumpOffset, ModulusRegister, Operand, RangeError, ScalarRegister, Tile,
    TwiddleRegister, UpperImmediate, VectorRegister,
};

/// A word that is not an instruction of an array core.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::{DecodeProblem, Instruction};
///
/// let refused = Instruction::decode(0).unwrap_err();
/// assert_eq!(refused.problem, DecodeProblem::Unknown(0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("word {word:#010x}: {problem}")]
pub struct DecodeError {
    /// The word.
    pub word: u32,
    /// The reason.
    pub problem: DecodeProblem,
}

/// The reason why a word is not an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeProblem {
    /// The fixed bits match no instruction.
    #[error("opcode {:#04x}, funct3 {}, funct7 {:#04x} are not an instruction of an array core", .0 & 0x7f, .0 >> 12 & 7, .0 >> 25)]
    Unknown(u32),
    /// Reserved bits are not zero.
    #[error("{mnemonic}: the bits {bits:#010x} are reserved and must be zero")]
    Reserved {
        /// The instruction.
        mnemonic: Mnemonic,
        /// The reserved bits that are set.
        bits: u32,
    },
    /// The operands cannot be combined.
    #[error(transparent)]
    Operand(#[from] OperandError),
}

impl Instruction {
    /// The word of the instruction. If [`Self::check`] rejects the instruction, [`Self::decode`] rejects the word.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::Instruction;
    ///
    /// assert_eq!(Instruction::Ebreak.encode(), 0x0010_0073);
    /// ```
    #[must_use]
    pub fn encode(&self) -> u32 {
        self.mnemonic().encoding().value | self.operands()
    }

    fn operands(&self) -> u32 {
        match *self {
            Self::Madd { vd, vs1, vs2, modulus } | Self::Msub { vd, vs1, vs2, modulus } => {
                put_vd(vd)
                    | put_vs1(vs1)
                    | put_m(modulus)
                    | field::VS2.put(vs2.register.bits())
                    | flag(field::FREE2, vs2.free)
            }
            Self::Mmul { vd, vs1, ts2, modulus } => put_vd(vd) | put_vs1(vs1) | put_ts2(ts2) | put_m(modulus),
            Self::Mbfly { vd, vs1, ts2, modulus } => put_vd(vd) | put_vs1(vs1.kept()) | put_ts2(ts2) | put_m(modulus),
            Self::Fbfly { vd, vs1, ts2, .. } => put_vd(vd) | put_vs1(vs1.kept()) | put_ts2(ts2),
            Self::Ldp { vd, row, tile, free } => {
                put_vd(vd)
                    | field::ROWOFF.put(row.offset.bits())
                    | field::RS1.put(row.base.bits())
                    | field::TILE.put(tile.bits())
                    | flag(field::ROTATE, tile.rotates())
                    | flag(field::FREE, free)
            }
            Self::Ldt { td, row, broadcast } => {
                field::TD.put(td.bits())
                    | field::OFF11.put(row.offset.bits())
                    | field::RS1.put(row.base.bits())
                    | flag(field::BROADCAST, broadcast)
            }
            Self::Lds { vd, vector } => {
                put_vd(vd) | field::OFF12.put(vector.offset.bits()) | field::RS1.put(vector.base.bits())
            }
            Self::Sts { vs1, vector } => {
                put_vs1(vs1.kept())
                    | field::OFF12HI.put(vector.offset.bits() >> field::OFF12LO.width())
                    | field::OFF12LO.put(vector.offset.bits())
                    | field::RS2.put(vector.base.bits())
            }
            Self::Copy { core, vs1, row } | Self::Copyk { core, vs1, row } => {
                field::CORE.put(core.bits())
                    | put_vs1(vs1.kept())
                    | field::OFF7.put(row.offset.bits())
                    | field::RS2.put(row.base.bits())
            }
            Self::Phase | Self::Ebreak => 0,
            Self::Lui { rd, immediate } => put_rd(rd) | field::IMM20.put(immediate.get()),
            Self::Addi { rd, rs1, immediate } => {
                put_rd(rd) | field::RS1.put(rs1.bits()) | field::IMM12.put(immediate.get().cast_unsigned())
            }
            Self::Add { rd, rs1, rs2 } | Self::Xor { rd, rs1, rs2 } => {
                put_rd(rd) | field::RS1.put(rs1.bits()) | field::RS2.put(rs2.bits())
            }
            Self::Bne { rs1, rs2, offset } => {
                field::RS1.put(rs1.bits()) | field::RS2.put(rs2.bits()) | put_branch(offset)
            }
            Self::Jal { rd, offset } => put_rd(rd) | put_jump(offset),
            Self::Csrrw { rd, modulus, rs1 } => put_rd(rd) | field::RS1.put(rs1.bits()) | field::CSR.put(modulus.csr()),
        }
    }

    /// The instruction of a word. Every instruction has one word, and every word is at most one instruction.
    ///
    /// # Errors
    /// [`DecodeError`] for any other word: an unknown one, reserved bits that are not zero, operands out of range, and
    /// operands that [`Self::check`] rejects.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::Instruction;
    ///
    /// let butterfly = Instruction::decode(0x2623_81ab)?;
    /// assert_eq!(butterfly.to_string(), "mbfly v3, v7, t2!, m0");
    /// assert_eq!(butterfly.encode(), 0x2623_81ab);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode(word: u32) -> Result<Self, DecodeError> {
        Self::read(word).map_err(|problem| DecodeError { word, problem })
    }

    fn read(word: u32) -> Result<Self, DecodeProblem> {
        let mnemonic = Mnemonic::of(word).ok_or(DecodeProblem::Unknown(word))?;
        let encoding = mnemonic.encoding();
        let reserved = (word ^ encoding.value) & encoding.mask;
        if reserved != 0 {
            return Err(reserved_bits(mnemonic, word, reserved));
        }
        let instruction = Self::fields(mnemonic, word)?;
        instruction.check()?;
        Ok(instruction)
    }

    fn fields(mnemonic: Mnemonic, word: u32) -> Result<Self, OperandError> {
        let (vd, vs1) =
            (register(word, field::VD, VectorRegister::new), register(word, field::VS1, VectorRegister::new));
        let rd = register(word, field::RD, ScalarRegister::new);
        let rs1 = register(word, field::RS1, ScalarRegister::new);
        let rs2 = register(word, field::RS2, ScalarRegister::new);
        let modulus = register(word, field::M, ModulusRegister::new);
        let vs1_read = || vs1().map(|register| Operand { register, free: is_set(word, field::FREE1) });
        let vs2_read = || {
            let register = register(word, field::VS2, VectorRegister::new)()?;
            Ok(Operand { register, free: is_set(word, field::FREE2) })
        };
        let ts2 = || {
            let register = register(word, field::TS2, TwiddleRegister::new)()?;
            Ok(Operand { register, free: is_set(word, field::FREE2) })
        };
        let read = || -> Result<Self, RangeError> {
            Ok(match mnemonic {
                Mnemonic::Madd => Self::Madd { vd: vd()?, vs1: vs1_read()?, vs2: vs2_read()?, modulus: modulus()? },
                Mnemonic::Msub => Self::Msub { vd: vd()?, vs1: vs1_read()?, vs2: vs2_read()?, modulus: modulus()? },
                Mnemonic::Mmul => Self::Mmul { vd: vd()?, vs1: vs1_read()?, ts2: ts2()?, modulus: modulus()? },
                Mnemonic::Mbfly => Self::Mbfly { vd: vd()?, vs1: vs1()?, ts2: ts2()?, modulus: modulus()? },
                Mnemonic::FbflyDit => {
                    Self::Fbfly { form: FloatButterfly::DecimationInTime, vd: vd()?, vs1: vs1()?, ts2: ts2()? }
                }
                Mnemonic::FbflyDif => {
                    Self::Fbfly { form: FloatButterfly::DecimationInFrequency, vd: vd()?, vs1: vs1()?, ts2: ts2()? }
                }
                Mnemonic::Ldp => Self::Ldp {
                    vd: vd()?,
                    row: Address::new(rs1()?, field::ROWOFF.get(word))?,
                    tile: Tile::new(field::TILE.get(word), is_set(word, field::ROTATE))?,
                    free: is_set(word, field::FREE),
                },
                Mnemonic::Ldt => Self::Ldt {
                    td: register(word, field::TD, TwiddleRegister::new)()?,
                    row: Address::new(rs1()?, field::OFF11.get(word))?,
                    broadcast: is_set(word, field::BROADCAST),
                },
                Mnemonic::Lds => Self::Lds { vd: vd()?, vector: Address::new(rs1()?, field::OFF12.get(word))? },
                Mnemonic::Sts => {
                    let (high, low) = (field::OFF12HI.get(word), field::OFF12LO.get(word));
                    let offset = high << field::OFF12LO.width() | low;
                    Self::Sts { vs1: vs1()?, vector: Address::new(rs2()?, offset)? }
                }
                Mnemonic::Copy => {
                    let row = Address::new(rs2()?, field::OFF7.get(word))?;
                    Self::Copy { core: register(word, field::CORE, Core::new)()?, vs1: vs1()?, row }
                }
                Mnemonic::Copyk => {
                    let row = Address::new(rs2()?, field::OFF7.get(word))?;
                    Self::Copyk { core: register(word, field::CORE, Core::new)()?, vs1: vs1()?, row }
                }
                Mnemonic::Phase => Self::Phase,
                Mnemonic::Lui => Self::Lui { rd: rd()?, immediate: UpperImmediate::new(field::IMM20.get(word))? },
                Mnemonic::Addi => {
                    let immediate = signed(field::IMM12.get(word), field::IMM12.width());
                    Self::Addi { rd: rd()?, rs1: rs1()?, immediate: Immediate::new(immediate)? }
                }
                Mnemonic::Add => Self::Add { rd: rd()?, rs1: rs1()?, rs2: rs2()? },
                Mnemonic::Xor => Self::Xor { rd: rd()?, rs1: rs1()?, rs2: rs2()? },
                Mnemonic::Bne => {
                    let offset = BranchOffset::new(i64::from(branch_bytes(word) >> 2))?;
                    Self::Bne { rs1: rs1()?, rs2: rs2()?, offset }
                }
                Mnemonic::Jal => Self::Jal { rd: rd()?, offset: JumpOffset::new(i64::from(jump_bytes(word) >> 2))? },
                Mnemonic::Csrrw => {
                    let csr = i64::from(field::CSR.get(word)) - i64::from(ModulusRegister::FIRST_CSR);
                    Self::Csrrw { rd: rd()?, modulus: ModulusRegister::new(csr)?, rs1: rs1()? }
                }
                Mnemonic::Ebreak => Self::Ebreak,
            })
        };
        // These conditions are not ranges of a number.
        match mnemonic {
            Mnemonic::Bne if branch_bytes(word) % 4 != 0 => {
                return Err(OperandError::BranchNotAligned { mnemonic, bytes: branch_bytes(word) });
            }
            Mnemonic::Jal if jump_bytes(word) % 4 != 0 => {
                return Err(OperandError::BranchNotAligned { mnemonic, bytes: jump_bytes(word) });
            }
            Mnemonic::Csrrw if !ModulusRegister::all().any(|modulus| modulus.csr() == field::CSR.get(word)) => {
                return Err(OperandError::NotAModulus { csr: field::CSR.get(word) });
            }
            _ => {}
        }
        read().map_err(|source| OperandError::Range { mnemonic, source })
    }
}

/// The free bit of vs1 is reserved in butterflies, which write it back. That case has a more specific error.
fn reserved_bits(mnemonic: Mnemonic, word: u32, bits: u32) -> DecodeProblem {
    let register = VectorRegister::new(field::VS1.get(word));
    match (bits == field::FREE1.mask(), mnemonic.encoding().fields.contains(&field::VS1), register) {
        (true, true, Ok(register)) => OperandError::FreesWritten { mnemonic, register }.into(),
        _ => DecodeProblem::Reserved { mnemonic, bits },
    }
}

/// A constructor for the register in a field, called on demand.
fn register<R>(
    word: u32,
    field: Field,
    new: impl Fn(u32) -> Result<R, RangeError>,
) -> impl Fn() -> Result<R, RangeError> {
    move || new(field.get(word))
}

fn is_set(word: u32, field: Field) -> bool {
    field.get(word) != 0
}

fn flag(field: Field, set: bool) -> u32 {
    field.put(set.into())
}

fn put_vd(register: VectorRegister) -> u32 {
    field::VD.put(register.bits())
}

fn put_vs1(operand: Operand<VectorRegister>) -> u32 {
    field::VS1.put(operand.register.bits()) | flag(field::FREE1, operand.free)
}

fn put_ts2(operand: Operand<TwiddleRegister>) -> u32 {
    field::TS2.put(operand.register.bits()) | flag(field::FREE2, operand.free)
}

fn put_m(register: ModulusRegister) -> u32 {
    field::M.put(register.bits())
}

fn put_rd(register: ScalarRegister) -> u32 {
    field::RD.put(register.bits())
}

/// Sign-extends the low `bits` bits.
fn signed(value: u32, bits: u32) -> i32 {
    (value << (32 - bits)).cast_signed() >> (32 - bits)
}

/// RISC-V's order for branches: bits 12 and 10 to 5 of the distance in the upper field, 4 to 1 and 11 in the lower one.
fn put_branch(offset: BranchOffset) -> u32 {
    let bytes = offset.bytes().cast_unsigned();
    let high = bytes >> 12 & 1;
    let eleventh = bytes >> 11 & 1;
    field::BIMM12HI.put(high << 6 | bytes >> 5 & 0x3f) | field::BIMM12LO.put((bytes >> 1 & 0xf) << 1 | eleventh)
}

fn branch_bytes(word: u32) -> i32 {
    let (upper, lower) = (field::BIMM12HI.get(word), field::BIMM12LO.get(word));
    signed((upper >> 6) << 12 | (lower & 1) << 11 | (upper & 0x3f) << 5 | (lower >> 1) << 1, 13)
}

/// RISC-V's order for jumps: bits 20, 10 to 1, 11 and 19 to 12 of the distance.
fn put_jump(offset: JumpOffset) -> u32 {
    let bytes = offset.bytes().cast_unsigned();
    let (twentieth, eleventh) = (bytes >> 20 & 1, bytes >> 11 & 1);
    field::JIMM20.put(twentieth << 19 | (bytes >> 1 & 0x3ff) << 9 | eleventh << 8 | bytes >> 12 & 0xff)
}

fn jump_bytes(word: u32) -> i32 {
    let bits = field::JIMM20.get(word);
    signed((bits >> 19) << 20 | (bits & 0xff) << 12 | (bits >> 8 & 1) << 11 | (bits >> 9 & 0x3ff) << 1, 21)
}
