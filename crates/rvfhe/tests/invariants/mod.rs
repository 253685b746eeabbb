//! Invariants for every input. The fuzz targets and the corpus replay run exactly these functions.
#![allow(dead_code, reason = "each fuzz target uses one")]

use ciphermill_rvfhe::isa::paper::PaperInstruction;
use ciphermill_rvfhe::isa::{Core, Instruction, InstructionMemory, Program, ScalarInstruction, assemble, gnu};

const MEMORY: InstructionMemory = InstructionMemory::PAPER;

fn core() -> Core {
    Core::new(7).expect("there are 32")
}

/// Bytes as words, and as a core's program. Returns whether they form one.
pub(crate) fn rvfhe_decode(data: &[u8]) -> bool {
    for bytes in data.as_chunks::<4>().0 {
        one_word(u32::from_le_bytes(*bytes));
    }
    match Program::from_bytes(core(), data, MEMORY) {
        Ok(program) => {
            assert_eq!(program.to_bytes(), data, "a program has one form");
            same_after_text(&program);
            true
        }
        Err(error) => {
            assert!(error.to_string().starts_with("core c7: "));
            assert!(error.problem.index().is_none_or(|index| index < data.len() / 4));
            false
        }
    }
}

fn one_word(word: u32) {
    match Instruction::decode(word) {
        Ok(instruction) => {
            assert_eq!(instruction.encode(), word);
            assert_eq!(instruction.check(), Ok(()));
            assert!(!gnu::gnu_text(&instruction).is_empty());
        }
        Err(error) => assert!(error.to_string().starts_with(&format!("word {word:#010x}: "))),
    }
    if let Ok(instruction) = ScalarInstruction::decode(word) {
        assert_eq!(instruction.encode(), word);
    }
    if let Ok(instruction) = PaperInstruction::decode(word) {
        assert_eq!(instruction.encode(), word);
        if let Ok(ours) = instruction.to_ours() {
            assert_eq!(Instruction::decode(ours.encode()), Ok(ours));
        }
    }
}

/// Bytes as assembly text. Returns whether it assembles.
pub(crate) fn rvfhe_assemble(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    match assemble(&text, core(), MEMORY) {
        Ok(assembly) => {
            assert_eq!(assembly.lines.len(), assembly.program.instructions().len());
            assert!(
                assembly.lines.is_sorted()
                    && assembly.lines.iter().all(|line| (1..=text.lines().count()).contains(line))
            );
            let again = Program::from_bytes(core(), &assembly.program.to_bytes(), MEMORY);
            assert_eq!(again.as_ref(), Ok(&assembly.program), "own output");
            same_after_text(&assembly.program);
            true
        }
        Err(error) => {
            assert!((1..=text.lines().count().max(1)).contains(&error.line) && error.column >= 1);
            let message = error.to_string();
            assert!(message.len() < 1000 && !message.contains(char::is_control), "{message:?}");
            false
        }
    }
}

fn same_after_text(program: &Program) {
    let text = program.to_string();
    let again = assemble(&text, core(), MEMORY).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(&again.program, program, "{text}");
}
