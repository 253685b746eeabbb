//! The instructions of the core: RV64IM, the CSR instructions of the modulus registers, and the RVFHE operations.
//!
//! The encodings are from "The RISC-V Instruction Set Manual, Volume I", 20191213, chapters 2, 5, 7, 9 and 24.

use ciphermill_rvfhe::isa::{ModulusRegister, ScalarInstruction, ScalarOperation};

/// An operation. Names are the manual's mnemonics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[rustfmt::skip]
#[allow(missing_docs)]
pub enum Op {
    Lui, Auipc, Jal, Jalr,
    Beq, Bne, Blt, Bge, Bltu, Bgeu,
    Lb, Lh, Lw, Ld, Lbu, Lhu, Lwu,
    Sb, Sh, Sw, Sd,
    Addi, Slti, Sltiu, Xori, Ori, Andi, Slli, Srli, Srai,
    Add, Sub, Sll, Slt, Sltu, Xor, Srl, Sra, Or, And,
    Addiw, Slliw, Srliw, Sraiw,
    Addw, Subw, Sllw, Srlw, Sraw,
    Mul, Mulh, Mulhsu, Mulhu, Div, Divu, Rem, Remu,
    Mulw, Divw, Divuw, Remw, Remuw,
    Fence, Ecall, Ebreak,
    Csrrw, Csrrs, Csrrc, Csrrwi, Csrrsi, Csrrci,
    Madd, Msub, Mmul,
}

/// The class of an operation in the timing model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Alu,
    Branch,
    Jump,
    IndirectJump,
    LoadSubword,
    LoadWord,
    Store,
    Multiply,
    Divide,
    ModularAdd,
    ModularMultiply,
    Csr,
    System,
}

/// A decoded instruction. A register field that the instruction does not have is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The operation.
    pub op: Op,
    /// The destination register.
    pub rd: u8,
    /// The first source register; the 5-bit operand of the immediate CSR instructions.
    pub rs1: u8,
    /// The second source register.
    pub rs2: u8,
    /// The sign-extended immediate, a shift amount, the number of a CSR, or the number of a modulus register.
    pub imm: i32,
}

/// The first of the eight modulus CSRs.
pub(super) const CSR_MODULUS: i32 = ModulusRegister::FIRST_CSR as i32;

impl Instruction {
    /// Decodes a word; `None` if it is not an instruction of this core.
    ///
    /// # Example
    /// ```
    /// use ciphermill_arch::scalar::{Instruction, Op};
    ///
    /// // addi x1, x2, -1
    /// let instruction = Instruction::decode(0xfff1_0093).expect("an instruction");
    /// assert!(matches!(instruction, Instruction { op: Op::Addi, rd: 1, rs1: 2, imm: -1, .. }));
    /// assert!(Instruction::decode(0).is_none());
    /// ```
    pub fn decode(word: u32) -> Option<Instruction> {
        let rd = (word >> 7 & 31) as u8;
        let rs1 = (word >> 15 & 31) as u8;
        let rs2 = (word >> 20 & 31) as u8;
        let funct3 = word >> 12 & 7;
        let funct7 = word >> 25;
        let i_imm = word as i32 >> 20;
        let make = |op, rd, rs1, rs2, imm| Some(Instruction { op, rd, rs1, rs2, imm });
        match word & 0x7f {
            0x37 => make(Op::Lui, rd, 0, 0, (word & 0xffff_f000) as i32),
            0x17 => make(Op::Auipc, rd, 0, 0, (word & 0xffff_f000) as i32),
            0x6f => make(Op::Jal, rd, 0, 0, j_immediate(word)),
            0x67 if funct3 == 0 => make(Op::Jalr, rd, rs1, 0, i_imm),
            0x63 => {
                let op = match funct3 {
                    0 => Op::Beq,
                    1 => Op::Bne,
                    4 => Op::Blt,
                    5 => Op::Bge,
                    6 => Op::Bltu,
                    7 => Op::Bgeu,
                    _ => return None,
                };
                make(op, 0, rs1, rs2, b_immediate(word))
            }
            0x03 => {
                let op = match funct3 {
                    0 => Op::Lb,
                    1 => Op::Lh,
                    2 => Op::Lw,
                    3 => Op::Ld,
                    4 => Op::Lbu,
                    5 => Op::Lhu,
                    6 => Op::Lwu,
                    _ => return None,
                };
                make(op, rd, rs1, 0, i_imm)
            }
            0x23 => {
                let op = match funct3 {
                    0 => Op::Sb,
                    1 => Op::Sh,
                    2 => Op::Sw,
                    3 => Op::Sd,
                    _ => return None,
                };
                make(op, 0, rs1, rs2, (word as i32 >> 25) << 5 | i32::from(rd))
            }
            0x13 => {
                let (op, imm) = match (funct3, funct7 >> 1) {
                    (0, _) => (Op::Addi, i_imm),
                    (2, _) => (Op::Slti, i_imm),
                    (3, _) => (Op::Sltiu, i_imm),
                    (4, _) => (Op::Xori, i_imm),
                    (6, _) => (Op::Ori, i_imm),
                    (7, _) => (Op::Andi, i_imm),
                    (1, 0) => (Op::Slli, i_imm & 63),
                    (5, 0) => (Op::Srli, i_imm & 63),
                    (5, 0x10) => (Op::Srai, i_imm & 63),
                    _ => return None,
                };
                make(op, rd, rs1, 0, imm)
            }
            0x1b => {
                let (op, imm) = match (funct3, funct7) {
                    (0, _) => (Op::Addiw, i_imm),
                    (1, 0) => (Op::Slliw, i_imm & 31),
                    (5, 0) => (Op::Srliw, i_imm & 31),
                    (5, 0x20) => (Op::Sraiw, i_imm & 31),
                    _ => return None,
                };
                make(op, rd, rs1, 0, imm)
            }
            0x33 => {
                let op = match (funct7, funct3) {
                    (0, 0) => Op::Add,
                    (0x20, 0) => Op::Sub,
                    (0, 1) => Op::Sll,
                    (0, 2) => Op::Slt,
                    (0, 3) => Op::Sltu,
                    (0, 4) => Op::Xor,
                    (0, 5) => Op::Srl,
                    (0x20, 5) => Op::Sra,
                    (0, 6) => Op::Or,
                    (0, 7) => Op::And,
                    (1, 0) => Op::Mul,
                    (1, 1) => Op::Mulh,
                    (1, 2) => Op::Mulhsu,
                    (1, 3) => Op::Mulhu,
                    (1, 4) => Op::Div,
                    (1, 5) => Op::Divu,
                    (1, 6) => Op::Rem,
                    (1, 7) => Op::Remu,
                    _ => return None,
                };
                make(op, rd, rs1, rs2, 0)
            }
            0x3b => {
                let op = match (funct7, funct3) {
                    (0, 0) => Op::Addw,
                    (0x20, 0) => Op::Subw,
                    (0, 1) => Op::Sllw,
                    (0, 5) => Op::Srlw,
                    (0x20, 5) => Op::Sraw,
                    (1, 0) => Op::Mulw,
                    (1, 4) => Op::Divw,
                    (1, 5) => Op::Divuw,
                    (1, 6) => Op::Remw,
                    (1, 7) => Op::Remuw,
                    _ => return None,
                };
                make(op, rd, rs1, rs2, 0)
            }
            0x0f if funct3 == 0 => make(Op::Fence, 0, 0, 0, 0),
            0x73 => decode_system(word, rd, rs1, funct3),
            _ => {
                // A scalar core has no free bits and no vector operations.
                let instruction = ScalarInstruction::decode(word).ok()?;
                let op = match instruction.operation {
                    ScalarOperation::Add => Op::Madd,
                    ScalarOperation::Subtract => Op::Msub,
                    ScalarOperation::Multiply => Op::Mmul,
                };
                make(op, rd, rs1, rs2, instruction.modulus.number() as i32)
            }
        }
    }

    pub(super) fn class(self) -> Class {
        use Op::*;
        match self.op {
            Jal => Class::Jump,
            Jalr => Class::IndirectJump,
            Beq | Bne | Blt | Bge | Bltu | Bgeu => Class::Branch,
            Lb | Lh | Lbu | Lhu => Class::LoadSubword,
            Lw | Ld | Lwu => Class::LoadWord,
            Sb | Sh | Sw | Sd => Class::Store,
            Mul | Mulh | Mulhsu | Mulhu | Mulw => Class::Multiply,
            Div | Divu | Rem | Remu | Divw | Divuw | Remw | Remuw => Class::Divide,
            Madd | Msub => Class::ModularAdd,
            Mmul => Class::ModularMultiply,
            Csrrw | Csrrs | Csrrc | Csrrwi | Csrrsi | Csrrci => Class::Csr,
            Fence | Ecall | Ebreak => Class::System,
            _ => Class::Alu,
        }
    }
}

fn decode_system(word: u32, rd: u8, rs1: u8, funct3: u32) -> Option<Instruction> {
    let csr = (word >> 20) as i32;
    let op = match (funct3, word) {
        (_, 0x0000_0073) => return Some(Instruction { op: Op::Ecall, rd: 0, rs1: 0, rs2: 0, imm: 0 }),
        (_, 0x0010_0073) => return Some(Instruction { op: Op::Ebreak, rd: 0, rs1: 0, rs2: 0, imm: 0 }),
        (1, _) => Op::Csrrw,
        (2, _) => Op::Csrrs,
        (3, _) => Op::Csrrc,
        (5, _) => Op::Csrrwi,
        (6, _) => Op::Csrrsi,
        (7, _) => Op::Csrrci,
        _ => return None,
    };
    (CSR_MODULUS..CSR_MODULUS + 8).contains(&csr).then_some(Instruction { op, rd, rs1, rs2: 0, imm: csr })
}

/// imm[20|10:1|11|19:12] in bits 31 … 12.
fn j_immediate(word: u32) -> i32 {
    let upper = (word as i32 >> 31) << 20;
    upper | (word & 0x000f_f000) as i32 | (word >> 9 & 0x800) as i32 | (word >> 20 & 0x7fe) as i32
}

/// imm[12|10:5] in bits 31 … 25, imm[4:1|11] in bits 11 … 7.
fn b_immediate(word: u32) -> i32 {
    let upper = (word as i32 >> 31) << 12;
    upper | (word << 4 & 0x800) as i32 | (word >> 20 & 0x7e0) as i32 | (word >> 7 & 0x1e) as i32
}
