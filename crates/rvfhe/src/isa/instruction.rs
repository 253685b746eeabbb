//! The instructions, with what they may not say.

use std::fmt;

use thiserror::Error;

use super::encoding::Mnemonic;
use super::operand::{
    Address, BranchOffset, Core, Immediate, JumpOffset, ModulusRegister, Operand, RangeError, ScalarRegister, Tile,
    TwiddleRegister, UpperImmediate, VectorRegister,
};

/// How a complex butterfly multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatButterfly {
    /// Decimation in time: (a + w·b, a − w·b).
    DecimationInTime,
    /// Decimation in frequency: (a + b, (a − b)·w).
    DecimationInFrequency,
}

/// An instruction of an array core. Arithmetic is lane by lane.
///
/// Registers are full or empty: an instruction waits until what it reads is full, and [`Operand::free`] empties an operand that it
/// has read. Not every value is allowed: see [`Self::check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// vd ← vs1 + vs2 mod m.
    Madd {
        /// The sum.
        vd: VectorRegister,
        /// One summand, below the modulus.
        vs1: Operand<VectorRegister>,
        /// The other one.
        vs2: Operand<VectorRegister>,
        /// m.
        modulus: ModulusRegister,
    },
    /// vd ← vs1 − vs2 mod m.
    Msub {
        /// The difference.
        vd: VectorRegister,
        /// What is taken from, below the modulus.
        vs1: Operand<VectorRegister>,
        /// What is taken away, below the modulus.
        vs2: Operand<VectorRegister>,
        /// m.
        modulus: ModulusRegister,
    },
    /// vd ← vs1 · w mod m.
    Mmul {
        /// The product.
        vd: VectorRegister,
        /// Any words.
        vs1: Operand<VectorRegister>,
        /// w, with Shoup's companion.
        ts2: Operand<TwiddleRegister>,
        /// m.
        modulus: ModulusRegister,
    },
    /// (vd, vs1) ← (vd + vs1·w, vd − vs1·w) mod m: the butterfly of Cooley and Tukey, in place.
    Mbfly {
        /// a, below the modulus, and the sum.
        vd: VectorRegister,
        /// b, any words, and the difference.
        vs1: VectorRegister,
        /// w, with Shoup's companion.
        ts2: Operand<TwiddleRegister>,
        /// m.
        modulus: ModulusRegister,
    },
    /// A butterfly of complex numbers in binary32, in place: real parts in the registers named, which are even, imaginary parts in the
    /// next ones.
    Fbfly {
        /// Which of the two.
        form: FloatButterfly,
        /// a, and the first result.
        vd: VectorRegister,
        /// b, and the second result.
        vs1: VectorRegister,
        /// w: its halves are the real and the imaginary part.
        ts2: Operand<TwiddleRegister>,
    },
    /// vd ← a row of the core's data memory, or one of 2^k parts of each of 2^k rows.
    Ldp {
        /// Where the words go.
        vd: VectorRegister,
        /// The row, 7 bits of offset.
        row: Address<7>,
        /// How many rows, and how their parts are put together.
        tile: Tile,
        /// Whether the words read become empty.
        free: bool,
    },
    /// td ← a row of the core's twiddle memory, or one of its pairs for all lanes.
    Ldt {
        /// Where the pairs go.
        td: TwiddleRegister,
        /// The number of the row, or of the pair; 11 bits of offset.
        row: Address<11>,
        /// Whether it is one pair, for all lanes.
        broadcast: bool,
    },
    /// vd ← a vector of the array's scratchpad.
    Lds {
        /// Where the words go.
        vd: VectorRegister,
        /// The number of the vector, 12 bits of offset.
        vector: Address<12>,
    },
    /// A vector of the array's scratchpad ← vs1, which becomes empty.
    Sts {
        /// What is stored.
        vs1: VectorRegister,
        /// The number of the vector, 12 bits of offset.
        vector: Address<12>,
    },
    /// A row of a core's data memory ← vs1, which becomes empty. Waits until the words there are empty.
    Copy {
        /// Whose data memory; it may be the core's own.
        core: Core,
        /// What is sent.
        vs1: VectorRegister,
        /// The row there, 7 bits of offset.
        row: Address<7>,
    },
    /// The same, and vs1 stays full.
    Copyk {
        /// Whose data memory; it may be the core's own.
        core: Core,
        /// What is sent.
        vs1: VectorRegister,
        /// The row there, 7 bits of offset.
        row: Address<7>,
    },
    /// The end of a phase; does nothing unless the machine fires per phase.
    Phase,
    /// rd ← the immediate in bits 31 to 12, zeros below.
    Lui {
        /// The destination.
        rd: ScalarRegister,
        /// Bits 31 to 12.
        immediate: UpperImmediate,
    },
    /// rd ← rs1 + the immediate, modulo 2^32.
    Addi {
        /// The sum.
        rd: ScalarRegister,
        /// A summand.
        rs1: ScalarRegister,
        /// The other one.
        immediate: Immediate,
    },
    /// rd ← rs1 + rs2, modulo 2^32.
    Add {
        /// The sum.
        rd: ScalarRegister,
        /// A summand.
        rs1: ScalarRegister,
        /// The other one.
        rs2: ScalarRegister,
    },
    /// rd ← rs1 xor rs2.
    Xor {
        /// The result.
        rd: ScalarRegister,
        /// An operand.
        rs1: ScalarRegister,
        /// The other one.
        rs2: ScalarRegister,
    },
    /// Goes on elsewhere if rs1 and rs2 differ.
    Bne {
        /// An operand.
        rs1: ScalarRegister,
        /// The other one.
        rs2: ScalarRegister,
        /// How far, from this instruction.
        offset: BranchOffset,
    },
    /// rd ← the address of the next instruction, in bytes; goes on elsewhere.
    Jal {
        /// Takes the address.
        rd: ScalarRegister,
        /// How far, from this instruction.
        offset: JumpOffset,
    },
    /// rd ← the modulus, and the modulus ← rs1.
    Csrrw {
        /// Takes the modulus as it was.
        rd: ScalarRegister,
        /// Which one is set.
        modulus: ModulusRegister,
        /// The new modulus, 1 to 2^31.
        rs1: ScalarRegister,
    },
    /// The end of the program.
    Ebreak,
}

/// What an instruction may not say though its fields could.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OperandError {
    /// A number is out of range.
    #[error("{mnemonic}: {source}")]
    Range {
        /// Of which instruction.
        mnemonic: Mnemonic,
        /// What is out of range.
        source: RangeError,
    },
    /// An operand is emptied and written.
    #[error("{mnemonic} writes {register} and cannot free it; clear the free bit (remove the `!`)")]
    FreesWritten {
        /// Of which instruction.
        mnemonic: Mnemonic,
        /// The operand.
        register: VectorRegister,
    },
    /// A butterfly of a register with itself.
    #[error("{mnemonic} would write both results to {register}; use two registers")]
    SameRegister {
        /// Of which instruction.
        mnemonic: Mnemonic,
        /// The register.
        register: VectorRegister,
    },
    /// A complex number that does not start in an even register.
    #[error("{mnemonic} needs real parts in even registers and imaginary parts in the next ones; {register} is odd")]
    OddRegister {
        /// Of which instruction.
        mnemonic: Mnemonic,
        /// The register.
        register: VectorRegister,
    },
    /// A CSR that is no modulus register.
    #[error("csrrw: CSR {csr:#05x} is not a modulus register; use 0x800 (m0) to 0x807 (m7)")]
    NotAModulus {
        /// The CSR.
        csr: u32,
    },
    /// A load without a transposition that says how to transpose.
    #[error("ldp cannot rotate without a tile; remove `rotate`, or use a tile of 1 to 5")]
    RotatesNothing,
    /// A branch into the middle of an instruction.
    #[error("{mnemonic}: a distance of {bytes} bytes is not a whole number of instructions; use a multiple of 4")]
    BranchNotAligned {
        /// Of which instruction.
        mnemonic: Mnemonic,
        /// The distance.
        bytes: i32,
    },
}

impl Instruction {
    /// The length of every instruction, in bytes.
    pub const BYTES: usize = 4;

    /// Its name.
    #[must_use]
    pub const fn mnemonic(&self) -> Mnemonic {
        match self {
            Self::Madd { .. } => Mnemonic::Madd,
            Self::Msub { .. } => Mnemonic::Msub,
            Self::Mmul { .. } => Mnemonic::Mmul,
            Self::Mbfly { .. } => Mnemonic::Mbfly,
            Self::Fbfly { form: FloatButterfly::DecimationInTime, .. } => Mnemonic::FbflyDit,
            Self::Fbfly { form: FloatButterfly::DecimationInFrequency, .. } => Mnemonic::FbflyDif,
            Self::Ldp { .. } => Mnemonic::Ldp,
            Self::Ldt { .. } => Mnemonic::Ldt,
            Self::Lds { .. } => Mnemonic::Lds,
            Self::Sts { .. } => Mnemonic::Sts,
            Self::Copy { .. } => Mnemonic::Copy,
            Self::Copyk { .. } => Mnemonic::Copyk,
            Self::Phase => Mnemonic::Phase,
            Self::Lui { .. } => Mnemonic::Lui,
            Self::Addi { .. } => Mnemonic::Addi,
            Self::Add { .. } => Mnemonic::Add,
            Self::Xor { .. } => Mnemonic::Xor,
            Self::Bne { .. } => Mnemonic::Bne,
            Self::Jal { .. } => Mnemonic::Jal,
            Self::Csrrw { .. } => Mnemonic::Csrrw,
            Self::Ebreak => Mnemonic::Ebreak,
        }
    }

    /// Whether its operands go together: no operand is freed that is also written, a butterfly has two registers, complex ones even
    /// ones, and only a tile is rotated.
    ///
    /// # Errors
    /// [`OperandError`]. The word of such an instruction is refused by [`Self::decode`] for the same reason.
    pub fn check(&self) -> Result<(), OperandError> {
        let mnemonic = self.mnemonic();
        match *self {
            Self::Madd { vd, vs1, vs2, .. } | Self::Msub { vd, vs1, vs2, .. } => {
                not_written(mnemonic, vd, vs1)?;
                not_written(mnemonic, vd, vs2)
            }
            Self::Mmul { vd, vs1, .. } => not_written(mnemonic, vd, vs1),
            Self::Mbfly { vd, vs1, .. } => two(mnemonic, vd, vs1),
            Self::Fbfly { vd, vs1, .. } => {
                if let Some(register) = [vd, vs1].into_iter().find(|register| register.number() % 2 == 1) {
                    return Err(OperandError::OddRegister { mnemonic, register });
                }
                two(mnemonic, vd, vs1)
            }
            Self::Ldp { tile, .. } if tile.rotates() && tile.log() == 0 => Err(OperandError::RotatesNothing),
            _ => Ok(()),
        }
    }
}

fn not_written(mnemonic: Mnemonic, written: VectorRegister, read: Operand<VectorRegister>) -> Result<(), OperandError> {
    if read.free && read.register == written {
        return Err(OperandError::FreesWritten { mnemonic, register: written });
    }
    Ok(())
}

fn two(mnemonic: Mnemonic, one: VectorRegister, other: VectorRegister) -> Result<(), OperandError> {
    if one == other { Err(OperandError::SameRegister { mnemonic, register: one }) } else { Ok(()) }
}

impl fmt::Display for Instruction {
    /// The assembly text, which [`super::assemble`] reads; a branch or jump with its distance in bytes, `.+8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.mnemonic();
        match *self {
            Self::Madd { vd, vs1, vs2, modulus } | Self::Msub { vd, vs1, vs2, modulus } => {
                write!(f, "{name} {vd}, {vs1}, {vs2}, {modulus}")
            }
            Self::Mmul { vd, vs1, ts2, modulus } => write!(f, "{name} {vd}, {vs1}, {ts2}, {modulus}"),
            Self::Mbfly { vd, vs1, ts2, modulus } => write!(f, "{name} {vd}, {vs1}, {ts2}, {modulus}"),
            Self::Fbfly { vd, vs1, ts2, .. } => write!(f, "{name} {vd}, {vs1}, {ts2}"),
            Self::Ldp { vd, row, tile, free } => {
                write!(f, "{name} {vd}, {row}{}", if free { "!" } else { "" })?;
                let rotate = if tile.rotates() { ", rotate" } else { "" };
                if tile == Tile::NONE { Ok(()) } else { write!(f, ", tile={}{rotate}", tile.log()) }
            }
            Self::Ldt { td, row, broadcast } => {
                write!(f, "{name} {td}, {row}{}", if broadcast { ", broadcast" } else { "" })
            }
            Self::Lds { vd, vector } => write!(f, "{name} {vd}, {vector}"),
            Self::Sts { vs1, vector } => write!(f, "{name} {vs1}, {vector}"),
            Self::Copy { core, vs1, row } | Self::Copyk { core, vs1, row } => {
                write!(f, "{name} {core}, {vs1}, {row}")
            }
            Self::Phase | Self::Ebreak => write!(f, "{name}"),
            Self::Lui { rd, immediate } => write!(f, "{name} {rd}, {:#x}", immediate.get()),
            Self::Addi { rd, rs1, immediate } => write!(f, "{name} {rd}, {rs1}, {}", immediate.get()),
            Self::Add { rd, rs1, rs2 } | Self::Xor { rd, rs1, rs2 } => write!(f, "{name} {rd}, {rs1}, {rs2}"),
            Self::Bne { rs1, rs2, offset } => write!(f, "{name} {rs1}, {rs2}, {offset}"),
            Self::Jal { rd, offset } => write!(f, "{name} {rd}, {offset}"),
            Self::Csrrw { rd, modulus, rs1 } => write!(f, "{name} {rd}, {modulus}, {rs1}"),
        }
    }
}
