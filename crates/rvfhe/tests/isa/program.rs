//! Programs and their bytes.

use ciphermill_rvfhe::isa::*;
use proptest::prelude::*;

use crate::strategy::{c, examples, program, v, x};

fn bne(instructions: i64) -> Instruction {
    Instruction::Bne { rs1: x(1), rs2: x(0), offset: BranchOffset::new(instructions).unwrap() }
}

fn jal(instructions: i64) -> Instruction {
    Instruction::Jal { rd: x(0), offset: JumpOffset::new(instructions).unwrap() }
}

fn problem(instructions: &[Instruction], bytes: usize) -> ProgramProblem {
    let memory = InstructionMemory::new(bytes).unwrap();
    let made = Program::new(c(5), instructions.to_vec(), memory).unwrap_err();
    let read: Vec<u8> = instructions.iter().flat_map(|instruction| instruction.encode().to_le_bytes()).collect();
    let read = Program::from_bytes(c(5), &read, memory).unwrap_err();
    assert_eq!(made.core, c(5));
    assert!(made.to_string().starts_with("core c5: "), "{made}");
    if !matches!(read.problem, ProgramProblem::Decode { .. }) {
        assert_eq!(made, read);
    }
    made.problem
}

#[test]
fn bytes_are_little_endian_words() {
    let program = Program::new(c(0), vec![Instruction::Phase, Instruction::Ebreak], InstructionMemory::PAPER).unwrap();
    let bytes = [0x0b, 0x60, 0, 0, 0x73, 0, 0x10, 0];
    assert_eq!(program.to_bytes(), bytes);
    assert_eq!(Program::from_bytes(c(0), &bytes, InstructionMemory::PAPER), Ok(program));
}

#[test]
fn refused_programs() {
    use Instruction::{Ebreak, Phase};
    assert_eq!(problem(&[], 16), ProgramProblem::Empty);
    assert_eq!(problem(&[Ebreak; 5], 19), ProgramProblem::TooLong { words: 5, limit: 4 });
    assert_eq!(problem(&[Phase, Phase], 16), ProgramProblem::NoEnd { index: 1 });
    assert_eq!(problem(&[Phase, bne(2), Ebreak], 16), ProgramProblem::Branch { index: 1, target: 3, last: 2 });
    assert_eq!(problem(&[Phase, bne(-2), Ebreak], 16), ProgramProblem::Branch { index: 1, target: -1, last: 2 });
    let error = OperandError::FreesWritten { mnemonic: Mnemonic::Madd, register: v(1) };
    let freed = Instruction::Madd { vd: v(1), vs1: v(1).freed(), vs2: v(2).kept(), modulus: ModulusRegister::FIRST };
    assert_eq!(problem(&[Phase, freed, Ebreak], 16), ProgramProblem::Operand { index: 1, source: error });
    assert_eq!(problem(&[Phase, jal(2), Ebreak], 16), ProgramProblem::Branch { index: 1, target: 3, last: 2 });
    assert_eq!(problem(&[jal(-1), Ebreak], 16), ProgramProblem::Branch { index: 0, target: -1, last: 1 });
    // A program may end with a jump, which goes somewhere; a branch may not.
    assert_eq!(problem(&[Ebreak, jal(1)], 16), ProgramProblem::Branch { index: 1, target: 2, last: 1 });
    assert_eq!(problem(&[Ebreak, bne(-1)], 16), ProgramProblem::NoEnd { index: 1 });
    assert!(Program::new(c(0), vec![Phase, bne(2), Ebreak, jal(-3)], InstructionMemory::PAPER).is_ok());
    // To itself, to the first and to the last word.
    for distance in [0, -1, 1] {
        assert!(Program::new(c(0), vec![Phase, bne(distance), Ebreak], InstructionMemory::PAPER).is_ok());
        assert!(Program::new(c(0), vec![Phase, jal(distance), Ebreak], InstructionMemory::PAPER).is_ok());
    }
}

#[test]
fn refused_bytes() {
    let read = |bytes: &[u8]| Program::from_bytes(c(31), bytes, InstructionMemory::PAPER).unwrap_err().problem;
    assert_eq!(read(&[0x73, 0, 0x10]), ProgramProblem::NotWords { bytes: 3 });
    let source = Instruction::decode(0xdead_beef).unwrap_err();
    assert_eq!(read(&[0x0b, 0x60, 0, 0, 0xef, 0xbe, 0xad, 0xde]), ProgramProblem::Decode { index: 1, source });
    assert_eq!(read(&vec![0; 4 * 4097]), ProgramProblem::TooLong { words: 4097, limit: 4096 });
}

/// A program of exactly the paper's 16 KiB.
#[test]
fn a_full_memory() {
    let stays = |instruction: &Instruction| !matches!(instruction.mnemonic(), Mnemonic::Bne | Mnemonic::Jal);
    let mut instructions: Vec<_> = examples().into_iter().filter(stays).cycle().take(4095).collect();
    instructions.push(Instruction::Ebreak);
    let program = Program::new(c(1), instructions, InstructionMemory::PAPER).unwrap();
    let bytes = program.to_bytes();
    assert_eq!(bytes.len(), 16 << 10);
    assert_eq!(Program::from_bytes(c(1), &bytes, InstructionMemory::PAPER).as_ref(), Ok(&program));
    let text = program.to_string();
    assert_eq!(assemble(&text, c(1), InstructionMemory::PAPER).unwrap().program, program);
}

proptest! {
    #[test]
    fn programs_come_back(instructions in program(200), core in 0..32_i64) {
        let program = Program::new(c(core), instructions, InstructionMemory::PAPER).unwrap();
        let again = Program::from_bytes(program.core(), &program.to_bytes(), InstructionMemory::PAPER);
        prop_assert_eq!(again.as_ref(), Ok(&program));
        let text = program.to_string();
        let assembly = assemble(&text, program.core(), InstructionMemory::PAPER).unwrap();
        prop_assert_eq!(&assembly.program, &program);
        prop_assert_eq!(assembly.program.to_string(), text);
    }
}
