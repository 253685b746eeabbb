//! The instructions, and the rules for their operands.

use std::fmt;

use thiserror::Error;

use super::encoding::Mnemonic;
use super::operand::{
    Address, BranchOffset, Core, Immediate, JumpOffset, ModulusRegister, Operand, RangeError, ScalarRegister, Tile,
    TwiddleRegister, UpperImmediate, VectorRegister,
};

/// The form of a complex butterfly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatButterfly {
    /// Decimation in time: (a + w·b, a − w·b).
    DecimationInTime,
    /// Decimation in frequency: (a + b, (a − b)·w).
    DecimationInFrequency,
}

/// An instruction of an array core. Arithmetic is lane by lane.
///
/// Registers are full or empty. An instruction waits until its operands are full, and [`Operand::free`] empties an
/// operand after the read. Some combinations of operands are invalid: see [`Self::check`].
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::{Instruction, ModulusRegister, VectorRegister};
///
/// let [vd, one, two] = [VectorRegister::new(1)?, VectorRegister::new(2)?, VectorRegister::new(3)?];
/// // The addition empties v3.
/// let sum = Instruction::Madd { vd, vs1: one.kept(), vs2: two.freed(), modulus: ModulusRegister::FIRST };
/// assert_eq!(sum.to_string(), "madd v1, v2, v3!, m0");
/// assert_eq!(Instruction::decode(sum.encode())?, sum);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// vd ← vs1 + vs2 mod m.
    Madd {
        /// The sum.
        vd: VectorRegister,
        /// One summand, below the modulus.
        vs1: Operand<VectorRegister>,
        /// The other summand, below the modulus.
        vs2: Operand<VectorRegister>,
        /// m.
        modulus: ModulusRegister,
    },
    /// vd ← vs1 − vs2 mod m.
    Msub {
        /// The difference.
        vd: VectorRegister,
        /// The minuend, below the modulus.
        vs1: Operand<VectorRegister>,
        /// The subtrahend, below the modulus.
        vs2: Operand<VectorRegister>,
        /// m.
        modulus: ModulusRegister,
    },
    /// vd ← vs1 · w mod m.
    Mmul {
        /// The product.
        vd: VectorRegister,
        /// The first factor: any words.
        vs1: Operand<VectorRegister>,
        /// The second factor w, with Shoup's companion.
        ts2: Operand<TwiddleRegister>,
        /// m.
        modulus: ModulusRegister,
    },
    /// (vd, vs1) ← (vd + vs1·w, vd − vs1·w) mod m: the Cooley–Tukey butterfly, in place.
    Mbfly {
        /// a, below the modulus, replaced by the sum.
        vd: VectorRegister,
        /// b, any words, replaced by the difference.
        vs1: VectorRegister,
        /// w, with Shoup's companion.
        ts2: Operand<TwiddleRegister>,
        /// m.
        modulus: ModulusRegister,
    },
    /// A butterfly of complex numbers in binary32, in place. Real parts are in the named registers, which are even, and
    /// imaginary parts in the next ones.
    Fbfly {
        /// The form.
        form: FloatButterfly,
        /// a, replaced by the first result.
        vd: VectorRegister,
        /// b, replaced by the second result.
        vs1: VectorRegister,
        /// w: its halves are the real and the imaginary part.
        ts2: Operand<TwiddleRegister>,
    },
    /// vd ← a row of the core's data memory, or one of 2^k parts of each of 2^k rows.
    Ldp {
        /// The destination.
        vd: VectorRegister,
        /// The row, 7 bits of offset.
        row: Address<7>,
        /// The tile, and the order of its parts.
        tile: Tile,
        /// Whether the words become empty after the read.
        free: bool,
    },
    /// td ← a row of the core's twiddle memory, or one of its pairs for all lanes.
    Ldt {
        /// The destination.
        td: TwiddleRegister,
        /// The number of the row, or of the pair; 11 bits of offset.
        row: Address<11>,
        /// Whether one pair goes to all lanes.
        broadcast: bool,
    },
    /// vd ← a vector of the array's scratchpad.
    Lds {
        /// The destination.
        vd: VectorRegister,
        /// The number of the vector, 12 bits of offset.
        vector: Address<12>,
    },
    /// A vector of the array's scratchpad ← vs1, which becomes empty.
    Sts {
        /// The source.
        vs1: VectorRegister,
        /// The number of the vector, 12 bits of offset.
        vector: Address<12>,
    },
    /// A row of a core's data memory ← vs1, which becomes empty. Waits until the words there are empty.
    Copy {
        /// The destination core, which may be the core itself.
        core: Core,
        /// The source.
        vs1: VectorRegister,
        /// The row there, 7 bits of offset.
        row: Address<7>,
    },
    /// As `Copy`, but vs1 stays full.
    Copyk {
        /// The destination core, which may be the core itself.
        core: Core,
        /// The source.
        vs1: VectorRegister,
        /// The row there, 7 bits of offset.
        row: Address<7>,
    },
    /// The end of a phase; no effect unless the machine fires per phase.
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
        /// The other summand.
        immediate: Immediate,
    },
    /// rd ← rs1 + rs2, modulo 2^32.
    Add {
        /// The sum.
        rd: ScalarRegister,
        /// A summand.
        rs1: ScalarRegister,
        /// The other summand.
        rs2: ScalarRegister,
    },
    /// rd ← rs1 xor rs2.
    Xor {
        /// The result.
        rd: ScalarRegister,
        /// An operand.
        rs1: ScalarRegister,
        /// The other operand.
        rs2: ScalarRegister,
    },
    /// Branches if rs1 and rs2 differ.
    Bne {
        /// An operand.
        rs1: ScalarRegister,
        /// The other operand.
        rs2: ScalarRegister,
        /// The distance from this instruction.
        offset: BranchOffset,
    },
    /// rd ← the address of the next instruction, in bytes; jumps.
    Jal {
        /// The destination of the address.
        rd: ScalarRegister,
        /// The distance from this instruction.
        offset: JumpOffset,
    },
    /// rd ← the modulus, and the modulus ← rs1.
    Csrrw {
        /// The destination of the old modulus.
        rd: ScalarRegister,
        /// The modulus register.
        modulus: ModulusRegister,
        /// The new modulus, 1 to 2^31.
        rs1: ScalarRegister,
    },
    /// The end of the program.
    Ebreak,
}

/// An invalid combination of operands.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OperandError {
    /// A number is out of range.
    #[error("{mnemonic}: {source}")]
    Range {
        /// The instruction.
        mnemonic: Mnemonic,
        /// The number and its range.
        source: RangeError,
    },
    /// An operand is both freed and written.
    #[error("{mnemonic} writes {register} and cannot free it; clear the free bit (remove the `!`)")]
    FreesWritten {
        /// The instruction.
        mnemonic: Mnemonic,
        /// The register.
        register: VectorRegister,
    },
    /// A butterfly of a register with itself.
    #[error("{mnemonic} would write both results to {register}; use two registers")]
    SameRegister {
        /// The instruction.
        mnemonic: Mnemonic,
        /// The register.
        register: VectorRegister,
    },
    /// A complex number that does not start in an even register.
    #[error("{mnemonic} needs real parts in even registers and imaginary parts in the next ones; {register} is odd")]
    OddRegister {
        /// The instruction.
        mnemonic: Mnemonic,
        /// The register.
        register: VectorRegister,
    },
    /// A CSR that is not a modulus register.
    #[error("csrrw: CSR {csr:#05x} is not a modulus register; use 0x800 (m0) to 0x807 (m7)")]
    NotAModulus {
        /// The CSR.
        csr: u32,
    },
    /// A rotation without a tile.
    #[error("ldp cannot rotate without a tile; remove `rotate`, or use a tile of 1 to 5")]
    RotatesNothing,
    /// A branch into the middle of an instruction.
    #[error("{mnemonic}: a distance of {bytes} bytes is not a whole number of instructions; use a multiple of 4")]
    BranchNotAligned {
        /// The instruction.
        mnemonic: Mnemonic,
        /// The distance.
        bytes: i32,
    },
}

impl Instruction {
    /// The length of every instruction, in bytes.
    pub const BYTES: usize = 4;

    /// The mnemonic.
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

    /// Checks the combination of operands: no freed operand is also written, a butterfly has two different registers,
    /// complex butterflies have even ones, and only a tile is rotated.
    ///
    /// # Errors
    /// [`OperandError`]. [`Self::decode`] rejects the word of such an instruction for the same reason.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::{Instruction, ModulusRegister, OperandError, TwiddleRegister, VectorRegister};
    ///
    /// let (v1, t0) = (VectorRegister::new(1)?, TwiddleRegister::new(0)?);
    /// let butterfly = Instruction::Mbfly { vd: v1, vs1: v1, ts2: t0.kept(), modulus: ModulusRegister::FIRST };
    /// assert!(matches!(butterfly.check(), Err(OperandError::SameRegister { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// The assembly text, which [`super::assemble`] parses. A branch or jump shows its distance in bytes, `.+8`.
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
