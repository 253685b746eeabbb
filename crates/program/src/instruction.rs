//! The instructions and programs made of them.

use std::fmt;

use thiserror::Error;

use crate::id::VrId;

/// The most instructions a program may have. It bounds what a decoder allocates (1.5 MiB of instructions on the wire)
/// before the verifier applies the device's own, usually lower, limit.
pub const MAX_INSTRUCTIONS: usize = 65_536;

/// The number an instruction has in the binary form: the Type column of the paper's Table 4.
///
/// 0–7 are the paper's; 16 is BFV's matrix-vector product, with 17–31 set aside for BFV; 32–36 are Paillier's, with 37–47 set
/// aside for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opcode(pub u16);

impl Opcode {
    /// `return n`
    pub const RETURN: Self = Self(0);
    /// `mov n1, n2`
    pub const MOVE: Self = Self(1);
    /// `push n`
    pub const PUSH: Self = Self(2);
    /// `pop n`
    pub const POP: Self = Self(3);
    /// `bootstrap tv, n`
    pub const BOOTSTRAP: Self = Self(4);
    /// `homadd n1, n2`
    pub const HOM_ADD: Self = Self(5);
    /// `homsub n1, n2`
    pub const HOM_SUB: Self = Self(6);
    /// `homintmult n, v`
    pub const HOM_INT_MULT: Self = Self(7);
    /// `hmvp matrix, n`
    pub const HMVP: Self = Self(16);
    /// `padd n1, n2`
    pub const PAILLIER_ADD: Self = Self(32);
    /// `psub n1, n2`
    pub const PAILLIER_SUB: Self = Self(33);
    /// `paddplain weights, n`
    pub const PAILLIER_ADD_PLAIN: Self = Self(34);
    /// `pscale weights, n`
    pub const PAILLIER_SCALE: Self = Self(35);
    /// `pmatvec weights, n`
    pub const PAILLIER_MAT_VEC: Self = Self(36);

    /// Who owns the number, for messages about one that has no instruction (yet).
    pub(crate) const fn owner(self) -> &'static str {
        match self.0 {
            0..=7 | 16 | 32..=36 => "an instruction",
            17..=31 => "reserved for BFV, which this version does not define",
            37..=47 => "reserved for Paillier, which this version does not define",
            _ => "unknown",
        }
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// One secure-computing instruction (paper, section 4.4 and Table 4; [`Hmvp`](Self::Hmvp) and those of Paillier are ours).
///
/// The fields stand in the order of the paper's arguments. [`Return`](Self::Return), [`Move`](Self::Move),
/// [`Push`](Self::Push) and [`Pop`](Self::Pop) work on any ciphertext. Every register of the paper's others but `tv` holds a
/// TLWE ciphertext over the 32-bit torus, and all arithmetic is modulo 2^32 in each of its n + 1 words. `hmvp` works on
/// vectors that BFV has encrypted. Those from `padd` on work on vectors of Paillier ciphertexts, element by element and modulo
/// the n of their public key, which is that of their key id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// Ends the program with the content of `n` as its result.
    Return {
        /// The result.
        n: VrId,
    },
    /// `dst ← src`. The source keeps its content.
    Move {
        /// Written; may be new.
        dst: VrId,
        /// Read.
        src: VrId,
    },
    /// Puts the content of `n` on the stack. The register keeps its content.
    Push {
        /// Read.
        n: VrId,
    },
    /// Takes the top of the stack into `n`.
    Pop {
        /// Written; may be new.
        n: VrId,
    },
    /// Programmable bootstrapping of `n`, in place, for the function that `tv` tabulates. The bootstrapping key and the
    /// key-switching key are those of `n`'s key id.
    Bootstrap {
        /// The test vector.
        tv: VrId,
        /// Read and written.
        n: VrId,
    },
    /// `n1 ← n1 + n2`.
    HomAdd {
        /// Read and written.
        n1: VrId,
        /// Read.
        n2: VrId,
    },
    /// `n1 ← n1 − n2`.
    HomSub {
        /// Read and written.
        n1: VrId,
        /// Read.
        n2: VrId,
    },
    /// `n ← value · n`.
    HomIntMult {
        /// Read and written.
        n: VrId,
        /// The factor. 32 bits reach every residue modulo 2^32, so a wider factor could say nothing more; it is signed
        /// because the noise grows with |value|, which makes −1 a cheap factor and 2^32 − 1 a misleading name for it.
        value: i32,
    },
    /// `n ← matrix · n`: the vector becomes the product. The Galois keys are those of `n`'s key id.
    Hmvp {
        /// The plain matrix.
        matrix: VrId,
        /// Read and written: an encrypted vector, then an encrypted product.
        n: VrId,
    },
    /// `n1 ← n1 + n2`, Paillier vectors of one length.
    PaillierAdd {
        /// Read and written.
        n1: VrId,
        /// Read.
        n2: VrId,
    },
    /// `n1 ← n1 − n2`, Paillier vectors of one length.
    PaillierSub {
        /// Read and written.
        n1: VrId,
        /// Read.
        n2: VrId,
    },
    /// `n ← n + weights`: adds public integers, the one row of `weights`.
    PaillierAddPlain {
        /// The integers: a matrix of one row and as many columns as `n` has elements.
        weights: VrId,
        /// Read and written.
        n: VrId,
    },
    /// `n ← weights · n`, element by element.
    PaillierScale {
        /// The factors: a matrix of one row and as many columns as `n` has elements, or 1 × 1 for one factor for all.
        weights: VrId,
        /// Read and written.
        n: VrId,
    },
    /// `n ← weights · n`: the vector becomes its product with the matrix.
    PaillierMatVec {
        /// The matrix: as many columns as `n` has elements.
        weights: VrId,
        /// Read and written: afterwards it has an element for each row.
        n: VrId,
    },
}

impl Instruction {
    /// The number of the instruction in the binary form.
    #[must_use]
    pub const fn opcode(&self) -> Opcode {
        match self {
            Self::Return { .. } => Opcode::RETURN,
            Self::Move { .. } => Opcode::MOVE,
            Self::Push { .. } => Opcode::PUSH,
            Self::Pop { .. } => Opcode::POP,
            Self::Bootstrap { .. } => Opcode::BOOTSTRAP,
            Self::HomAdd { .. } => Opcode::HOM_ADD,
            Self::HomSub { .. } => Opcode::HOM_SUB,
            Self::HomIntMult { .. } => Opcode::HOM_INT_MULT,
            Self::Hmvp { .. } => Opcode::HMVP,
            Self::PaillierAdd { .. } => Opcode::PAILLIER_ADD,
            Self::PaillierSub { .. } => Opcode::PAILLIER_SUB,
            Self::PaillierAddPlain { .. } => Opcode::PAILLIER_ADD_PLAIN,
            Self::PaillierScale { .. } => Opcode::PAILLIER_SCALE,
            Self::PaillierMatVec { .. } => Opcode::PAILLIER_MAT_VEC,
        }
    }

    /// The name of the instruction in assembly text.
    #[must_use]
    pub const fn mnemonic(&self) -> &'static str {
        match self {
            Self::Return { .. } => "return",
            Self::Move { .. } => "mov",
            Self::Push { .. } => "push",
            Self::Pop { .. } => "pop",
            Self::Bootstrap { .. } => "bootstrap",
            Self::HomAdd { .. } => "homadd",
            Self::HomSub { .. } => "homsub",
            Self::HomIntMult { .. } => "homintmult",
            Self::Hmvp { .. } => "hmvp",
            Self::PaillierAdd { .. } => "padd",
            Self::PaillierSub { .. } => "psub",
            Self::PaillierAddPlain { .. } => "paddplain",
            Self::PaillierScale { .. } => "pscale",
            Self::PaillierMatVec { .. } => "pmatvec",
        }
    }

    /// The registers in the order of the arguments: one or two.
    pub fn operands(&self) -> impl Iterator<Item = VrId> + use<> {
        let (first, second) = match *self {
            Self::Return { n } | Self::Push { n } | Self::Pop { n } | Self::HomIntMult { n, .. } => (n, None),
            Self::Move { dst, src } => (dst, Some(src)),
            Self::Bootstrap { tv, n } => (tv, Some(n)),
            Self::Hmvp { matrix, n } => (matrix, Some(n)),
            Self::PaillierAddPlain { weights, n }
            | Self::PaillierScale { weights, n }
            | Self::PaillierMatVec { weights, n } => (weights, Some(n)),
            Self::HomAdd { n1, n2 }
            | Self::HomSub { n1, n2 }
            | Self::PaillierAdd { n1, n2 }
            | Self::PaillierSub { n1, n2 } => (n1, Some(n2)),
        };
        std::iter::once(first).chain(second)
    }

    /// The registers whose content the instruction needs, in the order of the arguments. Keys are not
    /// among them: they follow from the key id.
    pub fn reads(&self) -> impl Iterator<Item = VrId> + use<> {
        let (first, second) = match *self {
            Self::Pop { .. } => (None, None),
            Self::Move { src, .. } => (Some(src), None),
            Self::Return { n } | Self::Push { n } | Self::HomIntMult { n, .. } => (Some(n), None),
            Self::Bootstrap { tv, n } => (Some(tv), Some(n)),
            Self::Hmvp { matrix, n } => (Some(matrix), Some(n)),
            Self::PaillierAddPlain { weights, n }
            | Self::PaillierScale { weights, n }
            | Self::PaillierMatVec { weights, n } => (Some(weights), Some(n)),
            Self::HomAdd { n1, n2 }
            | Self::HomSub { n1, n2 }
            | Self::PaillierAdd { n1, n2 }
            | Self::PaillierSub { n1, n2 } => (Some(n1), Some(n2)),
        };
        first.into_iter().chain(second)
    }

    /// The register the instruction changes; none for `return` and `push`.
    #[must_use]
    pub const fn writes(&self) -> Option<VrId> {
        match *self {
            Self::Return { .. } | Self::Push { .. } => None,
            Self::Move { dst, .. } => Some(dst),
            Self::Pop { n }
            | Self::Bootstrap { n, .. }
            | Self::HomIntMult { n, .. }
            | Self::Hmvp { n, .. }
            | Self::PaillierAddPlain { n, .. }
            | Self::PaillierScale { n, .. }
            | Self::PaillierMatVec { n, .. } => Some(n),
            Self::HomAdd { n1, .. }
            | Self::HomSub { n1, .. }
            | Self::PaillierAdd { n1, .. }
            | Self::PaillierSub { n1, .. } => Some(n1),
        }
    }
}

/// The instruction as a line of assembly with literal registers, as in `homadd 3:0:1, 4:0:3`.
impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())?;
        for (position, operand) in self.operands().enumerate() {
            f.write_str(if position == 0 { " " } else { ", " })?;
            fmt::Display::fmt(&operand, f)?;
        }
        if let Self::HomIntMult { value, .. } = self {
            write!(f, ", {value}")?;
        }
        Ok(())
    }
}

/// The program has no instruction, or too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a program has 1 to {MAX_INSTRUCTIONS} instructions, this one has {count}")]
pub struct ProgramLengthError {
    /// How many instructions there are.
    pub count: u64,
}

/// A straight line of 1 to [`MAX_INSTRUCTIONS`] instructions. Nothing else is promised: whether it may run is for
/// [`crate::verify`] to say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    instructions: Vec<Instruction>,
}

impl Program {
    /// A program of these instructions.
    ///
    /// # Errors
    /// If there is none, or more than [`MAX_INSTRUCTIONS`].
    pub fn new(instructions: Vec<Instruction>) -> Result<Self, ProgramLengthError> {
        if (1..=MAX_INSTRUCTIONS).contains(&instructions.len()) {
            Ok(Self { instructions })
        } else {
            Err(ProgramLengthError { count: instructions.len() as u64 })
        }
    }

    /// The instructions, at least one.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vr(text: &str) -> VrId {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_read_and_written_follows_the_papers_table() {
        let (a, b, tv) = (vr("3:0:1"), vr("4:0:2"), vr("1:0:0"));
        let (matrix, v) = (vr("6:0:0"), vr("7:0:1"));
        let (weights, p, q) = (vr("17:0:0"), vr("18:0:1"), vr("19:0:2"));
        let table = [
            (Instruction::Return { n: a }, 0, vec![a], None, "return 3:0:1"),
            (Instruction::Move { dst: a, src: b }, 1, vec![b], Some(a), "mov 3:0:1, 4:0:2"),
            (Instruction::Push { n: a }, 2, vec![a], None, "push 3:0:1"),
            (Instruction::Pop { n: a }, 3, vec![], Some(a), "pop 3:0:1"),
            (Instruction::Bootstrap { tv, n: a }, 4, vec![tv, a], Some(a), "bootstrap 1:0:0, 3:0:1"),
            (Instruction::HomAdd { n1: a, n2: b }, 5, vec![a, b], Some(a), "homadd 3:0:1, 4:0:2"),
            (Instruction::HomSub { n1: a, n2: b }, 6, vec![a, b], Some(a), "homsub 3:0:1, 4:0:2"),
            (Instruction::HomIntMult { n: a, value: -3 }, 7, vec![a], Some(a), "homintmult 3:0:1, -3"),
            (Instruction::Hmvp { matrix, n: v }, 16, vec![matrix, v], Some(v), "hmvp 6:0:0, 7:0:1"),
            (Instruction::PaillierAdd { n1: p, n2: q }, 32, vec![p, q], Some(p), "padd 18:0:1, 19:0:2"),
            (Instruction::PaillierSub { n1: p, n2: q }, 33, vec![p, q], Some(p), "psub 18:0:1, 19:0:2"),
            (
                Instruction::PaillierAddPlain { weights, n: p },
                34,
                vec![weights, p],
                Some(p),
                "paddplain 17:0:0, 18:0:1",
            ),
            (Instruction::PaillierScale { weights, n: p }, 35, vec![weights, p], Some(p), "pscale 17:0:0, 18:0:1"),
            (Instruction::PaillierMatVec { weights, n: p }, 36, vec![weights, p], Some(p), "pmatvec 17:0:0, 18:0:1"),
        ];
        for (instruction, opcode, reads, writes, text) in table {
            assert_eq!(instruction.opcode(), Opcode(opcode), "{text}");
            assert_eq!(instruction.reads().collect::<Vec<_>>(), reads, "{text}");
            assert_eq!(instruction.writes(), writes, "{text}");
            assert_eq!(instruction.to_string(), text);
        }
    }

    #[test]
    fn a_program_has_at_least_one_instruction_and_at_most_the_bound() {
        let one = Instruction::Push { n: vr("3:0:1") };
        assert_eq!(Program::new(vec![]), Err(ProgramLengthError { count: 0 }));
        assert_eq!(Program::new(vec![one]).unwrap().instructions(), [one]);
        assert!(Program::new(vec![one; MAX_INSTRUCTIONS]).is_ok());
        let error = Program::new(vec![one; MAX_INSTRUCTIONS + 1]).unwrap_err();
        assert_eq!(error.to_string(), "a program has 1 to 65536 instructions, this one has 65537");
    }
}
