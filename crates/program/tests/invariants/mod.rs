//! Invariants of every input. The fuzz targets and the corpus replay run exactly these functions.
#![allow(dead_code, reason = "each fuzz target uses one")]

use std::time::Duration;

use ciphermill_program::{
    Binding, Bindings, Environment, Instruction, InstructionSet, Limits, META_BLOCK_BYTES, Metadata, ObjectInfo,
    Operands, Program, VrId, assemble, disassemble, disassemble_named, verify,
};

fn set() -> &'static InstructionSet {
    ciphermill_device::handlers::instruction_set()
}

/// A store that holds everything, so that the verifier gets past the first read.
struct Everything;

impl Environment for Everything {
    fn object(&self, _: VrId) -> Option<ObjectInfo> {
        Some(ObjectInfo { size: 2524 })
    }

    fn cost(&self, instruction: &Instruction) -> Duration {
        // A hostile estimate: the sum must not overflow.
        if matches!(instruction.operands(), Operands::Factor(_, 1)) { Duration::MAX } else { Duration::ZERO }
    }
}

/// Bytes as a stored program; returns whether any reading of them is one.
pub(crate) fn program_decode(data: &[u8]) -> bool {
    let whole = stored_program(data);
    // A checksum stops nearly every mutation at the envelope, so the bytes are tried as a body too.
    let body = stored_program(&ciphermill_wire::seal(Program::KIND, Program::BODY_VERSION, data));
    whole || body
}

fn stored_program(bytes: &[u8]) -> bool {
    let program = match Program::decode(set(), bytes) {
        Ok(program) => program,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    assert_eq!(program.encode(), bytes, "a program has one binary form");
    same_after_text(&program);
    verified(&program);
    true
}

/// Bytes as assembly text; returns whether it assembles.
pub(crate) fn program_assemble(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let bound = ["r2=3:0:2", "r3=4:0:3"].map(|binding| binding.parse::<Binding>().expect("well-formed"));
    let bound = Bindings::collect(bound).expect("distinct names");
    [Bindings::new(), bound].iter().fold(false, |any, bindings| match assemble(set(), &text, bindings) {
        Ok(assembly) => {
            let count = assembly.program.instructions().len();
            let lines = text.lines().count();
            assert!((0..count).all(|index| assembly.lines.line(index).is_some_and(|line| (1..=lines).contains(&line))));
            assert_eq!(assembly.lines.line(count), None);
            assert_eq!(Program::decode(set(), &assembly.program.encode()).expect("own output"), assembly.program);
            same_after_text(&assembly.program);
            verified(&assembly.program);
            true
        }
        Err(error) => {
            assert!(error.line >= 1 && error.column >= 1);
            let message = error.to_string();
            assert!(message.len() < 1000 && !message.contains(char::is_control), "{message:?}");
            any
        }
    })
}

/// Bytes as a metadata block, filled up with zeros; returns whether they are one.
pub(crate) fn meta_decode(data: &[u8]) -> bool {
    if data.len() != META_BLOCK_BYTES {
        assert!(Metadata::decode(data).is_err());
    }
    let mut block = [0; META_BLOCK_BYTES];
    let length = data.len().min(META_BLOCK_BYTES);
    block[..length].copy_from_slice(&data[..length]);
    match Metadata::decode(&block) {
        Ok(metadata) => {
            assert_eq!(metadata.encode(), block, "a record has one block");
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

fn same_after_text(program: &Program) {
    for text in [disassemble(program), disassemble_named(set(), program)] {
        let again = assemble(set(), &text, &Bindings::new()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(&again.program, program, "{text}");
    }
}

fn verified(program: &Program) {
    let limits = Limits { max_stack: 4, ..Limits::default() };
    match verify(set(), program, &Everything, &limits) {
        Ok(verified) => {
            let last = program.instructions().last();
            assert_eq!(last, Some(&Instruction::ret(verified.returned())));
            assert!(verified.stack_depth() <= 4 && verified.estimate() <= limits.max_duration);
        }
        Err(error) => assert!(error.index().is_none_or(|index| index < program.instructions().len()), "{error}"),
    }
}
