//! The instructions of the scalar base core: the same words, with x registers as operands.

use std::fmt;

use thiserror::Error;

use super::encoding::{Mnemonic, field};
use super::operand::{ModulusRegister, ScalarRegister};

/// The operation of a scalar instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarOperation {
    /// rs1 + rs2 mod m.
    Add,
    /// rs1 − rs2 mod m.
    Subtract,
    /// rs1 · w mod m: bits 31 to 0 of rs2 are w, bits 63 to 32 its companion ⌊w·2^32/m⌋.
    Multiply,
}

/// `madd`, `msub` or `mmul` on the scalar base core.
///
/// Sources are bits 31 to 0 of their registers. The result is written sign-extended from bit 31, like the results of
/// RV64's own word instructions. Below a modulus of at most 2^31 that bit is zero.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::{ModulusRegister, ScalarInstruction, ScalarOperation, ScalarRegister};
///
/// let [rd, rs1, rs2] = [ScalarRegister::new(1)?, ScalarRegister::new(2)?, ScalarRegister::new(3)?];
/// let modulus = ModulusRegister::FIRST;
/// let sum = ScalarInstruction { operation: ScalarOperation::Add, rd, rs1, rs2, modulus };
/// assert_eq!(sum.to_string(), "madd x1, x2, x3, m0");
/// assert_eq!(ScalarInstruction::decode(sum.encode())?, sum);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScalarInstruction {
    /// The operation.
    pub operation: ScalarOperation,
    /// The result.
    pub rd: ScalarRegister,
    /// The first operand.
    pub rs1: ScalarRegister,
    /// The second operand.
    pub rs2: ScalarRegister,
    /// m.
    pub modulus: ModulusRegister,
}

/// A word that is not an RVFHE instruction of the scalar base core.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("word {word:#010x} is not madd, msub or mmul without free bits, so no RVFHE instruction of the scalar core")]
pub struct ScalarDecodeError {
    /// The word.
    pub word: u32,
}

impl ScalarOperation {
    /// The instruction with the same encoding.
    #[must_use]
    pub const fn mnemonic(self) -> Mnemonic {
        match self {
            Self::Add => Mnemonic::Madd,
            Self::Subtract => Mnemonic::Msub,
            Self::Multiply => Mnemonic::Mmul,
        }
    }
}

impl ScalarInstruction {
    /// The word.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::ScalarInstruction;
    ///
    /// assert_eq!(ScalarInstruction::decode(0x0031_00ab)?.encode(), 0x0031_00ab);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn encode(&self) -> u32 {
        self.operation.mnemonic().encoding().value
            | field::RD.put(self.rd.bits())
            | field::RS1.put(self.rs1.bits())
            | field::RS2.put(self.rs2.bits())
            | field::M.put(self.modulus.bits())
    }

    /// The instruction of a word.
    ///
    /// # Errors
    /// [`ScalarDecodeError`] for every word except `madd`, `msub` and `mmul` with clear free bits.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::ScalarInstruction;
    ///
    /// assert_eq!(ScalarInstruction::decode(0x0031_00ab)?.to_string(), "madd x1, x2, x3, m0");
    /// // A free bit is set, which the scalar core does not have.
    /// assert!(ScalarInstruction::decode(0x2031_00ab).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode(word: u32) -> Result<Self, ScalarDecodeError> {
        Self::read(word).ok_or(ScalarDecodeError { word })
    }

    fn read(word: u32) -> Option<Self> {
        let zero = field::FREE1.mask() | field::FREE2.mask();
        let operations = [ScalarOperation::Add, ScalarOperation::Subtract, ScalarOperation::Multiply];
        let operation = operations.into_iter().find(|operation| {
            let encoding = operation.mnemonic().encoding();
            word & (encoding.mask | zero) == encoding.value
        })?;
        let register = |content: u32| ScalarRegister::new(content).ok();
        Some(Self {
            operation,
            rd: register(field::RD.get(word))?,
            rs1: register(field::RS1.get(word))?,
            rs2: register(field::RS2.get(word))?,
            modulus: ModulusRegister::new(field::M.get(word)).ok()?,
        })
    }
}

impl fmt::Display for ScalarInstruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, rd, rs1, rs2, modulus } = self;
        write!(f, "{} {rd}, {rs1}, {rs2}, {modulus}", operation.mnemonic())
    }
}
