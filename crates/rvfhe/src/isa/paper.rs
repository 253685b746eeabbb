//! The paper's words (Table 2), and the equivalent instructions of this set.
//!
//! In the paper, `ldp` and `copy` have opcodes of 16-bit instructions, so RISC-V tools do not recognise their words.
//! This decoder reads programs in the paper's form.

use std::fmt;

use thiserror::Error;

use super::encoding::{PaperMnemonic, field};
use super::instruction::Instruction;
use super::operand::{
    Address, Core, ModulusRegister, Offset, RangeError, ScalarRegister, Tile, TwiddleRegister, VectorRegister,
};

/// An instruction as the paper encodes it.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::{VectorRegister, paper::PaperInstruction};
///
/// let [vd, vs1, vs2] = [VectorRegister::new(1)?, VectorRegister::new(2)?, VectorRegister::new(3)?];
/// let sum = PaperInstruction::Madd { vd, vs1, vs2 };
/// assert_eq!((sum.encode(), sum.to_string()), (0x0031_00ab, "madd v1, v2, v3".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PaperInstruction {
    /// Prefetches data to a register.
    Ldp {
        /// The destination.
        vd: VectorRegister,
        /// The register with its address.
        rs1: ScalarRegister,
        /// The amount; the paper gives no unit.
        size: Offset<3>,
    },
    /// vd ← vs1 + vs2 mod m.
    Madd {
        /// The sum.
        vd: VectorRegister,
        /// A summand.
        vs1: VectorRegister,
        /// The other summand.
        vs2: VectorRegister,
    },
    /// vd ← vs1 − vs2 mod m.
    Msub {
        /// The difference.
        vd: VectorRegister,
        /// The minuend.
        vs1: VectorRegister,
        /// The subtrahend.
        vs2: VectorRegister,
    },
    /// vd ← vs1 · vs2 mod m.
    Mmul {
        /// The product.
        vd: VectorRegister,
        /// A factor.
        vs1: VectorRegister,
        /// The other factor. The paper does not mention its companion.
        vs2: VectorRegister,
    },
    /// Sends data from one core to another.
    Copy {
        /// The destination.
        to: Core,
        /// The source.
        from: Core,
        /// The source register.
        vs1: VectorRegister,
        /// The amount; the paper gives no unit.
        size: Offset<3>,
    },
}

/// A word that is not in the paper's table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "word {word:#010x} is none of the paper's: ldp (opcode 0x2a), madd, msub, mmul (0x2b, funct3 0, funct7 0 to 2) and copy (0x2c)"
)]
pub struct PaperDecodeError {
    /// The word.
    pub word: u32,
}

/// The reason why an instruction of the paper has no equivalent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoEquivalent {
    /// The second factor is in a register without a companion.
    #[error(
        "mmul by register {register}: a factor and its companion are in one of the twiddle registers t0 to t15; load them there"
    )]
    Factor {
        /// The number of the register.
        register: usize,
    },
    /// The size is not one vector.
    #[error("ldp of size {size}: the paper gives no unit, and here every load is of one vector (size 0); use several")]
    Size {
        /// The size.
        size: usize,
    },
    /// A copy has no address at its destination.
    #[error("copy to {to}: it does not say which row of {to} it writes; write copy {to}, {vs1}, offset(base)")]
    Row {
        /// The destination.
        to: Core,
        /// The source register.
        vs1: VectorRegister,
    },
}

impl PaperInstruction {
    /// The mnemonic.
    #[must_use]
    pub const fn mnemonic(&self) -> PaperMnemonic {
        match self {
            Self::Ldp { .. } => PaperMnemonic::Ldp,
            Self::Madd { .. } => PaperMnemonic::Madd,
            Self::Msub { .. } => PaperMnemonic::Msub,
            Self::Mmul { .. } => PaperMnemonic::Mmul,
            Self::Copy { .. } => PaperMnemonic::Copy,
        }
    }

    /// The paper's word.
    #[must_use]
    pub fn encode(&self) -> u32 {
        let operands = match *self {
            Self::Ldp { vd, rs1, size } => {
                field::VD.put(vd.bits()) | field::RS1.put(rs1.bits()) | field::SIZE.put(size.bits())
            }
            Self::Madd { vd, vs1, vs2 } | Self::Msub { vd, vs1, vs2 } | Self::Mmul { vd, vs1, vs2 } => {
                field::VD.put(vd.bits()) | field::VS1.put(vs1.bits()) | field::VS2.put(vs2.bits())
            }
            Self::Copy { to, from, vs1, size } => {
                field::TO.put(to.bits())
                    | field::FROM.put(from.bits())
                    | field::VS1.put(vs1.bits())
                    | field::SIZE.put(size.bits())
            }
        };
        self.mnemonic().encoding().value | operands
    }

    /// The instruction of a word in the paper's encoding.
    ///
    /// # Errors
    /// [`PaperDecodeError`] for every other word. The paper's table does not contain `madd`, `msub` or `mmul` with a
    /// modulus register other than m0 (funct3), but [`Instruction::decode`] reads them.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::paper::PaperInstruction;
    ///
    /// assert_eq!(PaperInstruction::decode(0x0031_00ab)?.to_string(), "madd v1, v2, v3");
    /// assert!(PaperInstruction::decode(0x0600_002b).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode(word: u32) -> Result<Self, PaperDecodeError> {
        let wrong = PaperDecodeError { word };
        let Some(mnemonic) = PaperMnemonic::of(word) else { return Err(wrong) };
        Self::fields(mnemonic, word).map_err(|_| wrong)
    }

    /// All fields are as wide as their operands, so every value is in range.
    fn fields(mnemonic: PaperMnemonic, word: u32) -> Result<Self, RangeError> {
        let vector = |content: u32| VectorRegister::new(content);
        let (vd, vs1, vs2) =
            (vector(field::VD.get(word))?, vector(field::VS1.get(word))?, vector(field::VS2.get(word))?);
        let size = Offset::new(field::SIZE.get(word))?;
        Ok(match mnemonic {
            PaperMnemonic::Ldp => Self::Ldp { vd, rs1: ScalarRegister::new(field::RS1.get(word))?, size },
            PaperMnemonic::Madd => Self::Madd { vd, vs1, vs2 },
            PaperMnemonic::Msub => Self::Msub { vd, vs1, vs2 },
            PaperMnemonic::Mmul => Self::Mmul { vd, vs1, vs2 },
            PaperMnemonic::Copy => {
                let core = |content: u32| Core::new(content);
                Self::Copy { to: core(field::TO.get(word))?, from: core(field::FROM.get(word))?, vs1, size }
            }
        })
    }

    /// The equivalent instruction of this set:
    ///
    /// * `madd` and `msub` use modulus register m0.
    /// * `mmul` uses the twiddle register with the second factor's number, below 16. It must contain factor and companion.
    /// * `ldp` of size 0 is interpreted as one vector, from the row in rs1.
    ///
    /// # Errors
    /// [`NoEquivalent`] for `mmul` with registers from 16 on, `ldp` of other sizes, and every `copy`.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::paper::{NoEquivalent, PaperInstruction};
    ///
    /// let sum = PaperInstruction::decode(0x0031_00ab)?;
    /// assert_eq!(sum.to_ours()?.to_string(), "madd v1, v2, v3, m0");
    /// // mmul v31, v30, v29: the twiddle registers end at t15.
    /// let product = PaperInstruction::decode(0x05df_0fab)?;
    /// assert_eq!(product.to_ours(), Err(NoEquivalent::Factor { register: 29 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_ours(&self) -> Result<Instruction, NoEquivalent> {
        let modulus = ModulusRegister::FIRST;
        match *self {
            Self::Madd { vd, vs1, vs2 } => Ok(Instruction::Madd { vd, vs1: vs1.kept(), vs2: vs2.kept(), modulus }),
            Self::Msub { vd, vs1, vs2 } => Ok(Instruction::Msub { vd, vs1: vs1.kept(), vs2: vs2.kept(), modulus }),
            Self::Mmul { vd, vs1, vs2 } => {
                let register = vs2.number();
                let ts2 = TwiddleRegister::new(register).map_err(|_| NoEquivalent::Factor { register })?;
                Ok(Instruction::Mmul { vd, vs1: vs1.kept(), ts2: ts2.kept(), modulus })
            }
            Self::Ldp { vd, rs1, size } if size.get() == 0 => {
                let row = Address { offset: Offset::default(), base: rs1 };
                Ok(Instruction::Ldp { vd, row, tile: Tile::NONE, free: false })
            }
            Self::Ldp { size, .. } => Err(NoEquivalent::Size { size: size.get() }),
            Self::Copy { to, vs1, .. } => Err(NoEquivalent::Row { to, vs1 }),
        }
    }
}

impl fmt::Display for PaperInstruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.mnemonic();
        match self {
            Self::Ldp { vd, rs1, size } => write!(f, "{name} {vd}, ({rs1}), size={}", size.get()),
            Self::Madd { vd, vs1, vs2 } | Self::Msub { vd, vs1, vs2 } | Self::Mmul { vd, vs1, vs2 } => {
                write!(f, "{name} {vd}, {vs1}, {vs2}")
            }
            Self::Copy { to, from, vs1, size } => write!(f, "{name} {to}, {from}, {vs1}, size={}", size.get()),
        }
    }
}
