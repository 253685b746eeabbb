//! The assembly text.

use ciphermill_rvfhe::isa::*;
use proptest::prelude::*;

use crate::strategy::{c, examples, instruction, page_example};

/// The text of `examples`, in the same order.
const TEXTS: [&str; 31] = [
    "madd v1, v2!, v3, m5",
    "msub v31, v30, v29!, m7",
    "mmul v4, v8!, t15!, m0",
    "mbfly v3, v7, t2, m0",
    "mbfly v9, v10, t11!, m6",
    "fbfly.dit v2, v4, t3",
    "fbfly.dif v30, v0, t8!",
    "ldp v12, 85(x6)",
    "ldp v13, 127(x31)!, tile=5",
    "ldp v27, 42(x28), tile=2, rotate",
    "ldt t14, 1365(x17)",
    "ldt t1, 2047(x0), broadcast",
    "lds v16, 4095(x18)",
    "sts v19, 2748(x20)",
    "copy c21, v22, 127(x23)",
    "copyk c31, v24, 42(x25)",
    "phase",
    "lui x1, 0xfffff",
    "addi x2, x3, -2048",
    "addi x4, x5, 2047",
    "add x6, x7, x8",
    "xor x9, x10, x11",
    "bne x12, x13, .+8",
    "bne x14, x15, .-4096",
    "bne x16, x17, .+4092",
    "jal x18, .+2048",
    "jal x1, .+4096",
    "jal x0, .-1048576",
    "jal x31, .+1048572",
    "csrrw x0, m3, x26",
    "ebreak",
];

/// Whether an instruction needs other instructions around it.
fn goes_elsewhere(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Bne | Mnemonic::Jal)
}

fn assembled(text: &str) -> Result<Assembly, AsmError> {
    assemble(text, c(0), InstructionMemory::PAPER)
}

#[test]
fn known_texts() {
    for (instruction, text) in examples().into_iter().zip(TEXTS) {
        assert_eq!(instruction.to_string(), text);
        if !goes_elsewhere(&instruction) {
            let program = assembled(&format!("{text}\nebreak")).unwrap().program;
            assert_eq!(program.instructions(), [instruction, Instruction::Ebreak], "{text}");
        }
    }
}

#[test]
fn labels_comments_and_numbers() {
    let text = "\u{feff}# a loop
start: again:            ; two names for one place
    addi x1, x1, +0x10   // sixteen
    ldp v1 , 0x0A ( x2 ) ! , tile = 3

  last_one.2: bne x1, x2, start
    bne x1,x2,end
    bne x3, x4, .-8
    jal x5 , end ; past the next one
    jal x0,.-0x10
    ldp v2, 3(x2),tile=1,rotate
end: ebreak
";
    let Assembly { program, lines } = assembled(text).unwrap();
    assert_eq!(lines, [3, 4, 6, 7, 8, 9, 10, 11, 12]);
    let expected = "l0:
    addi x1, x1, 16
    ldp v1, 10(x2)!, tile=3
l2:
    bne x1, x2, l0
    bne x1, x2, l8
    bne x3, x4, l2
    jal x5, l8
    jal x0, l2
    ldp v2, 3(x2), tile=1, rotate
l8:
    ebreak
";
    assert_eq!(program.to_string(), expected);
    assert_eq!(assembled(expected).unwrap().program, program);
}

/// The example of the reference page.
#[test]
fn the_pages_example_assembles() {
    let text = page_example("text");
    let program = assembled(&text).unwrap().program;
    assert_eq!(program.instructions().len(), 11);
    let shown = program.to_string();
    assert!(shown.contains("    ldp v1, 8(x1)!, tile=2, rotate\n    mbfly v0, v1, t0, m0\n    madd v2, v0!, v1, m0\n"));
    assert!(shown.ends_with("    bne x1, x0, l10\n    ebreak\nl10:\n    jal x0, l1\n"), "{shown}");
}

#[test]
fn errors_name_the_place() {
    for (text, expected) in [
        ("madd v1, v2, v3", "line 1, column 16: expected `,` and another operand, found the end of the line"),
        ("\n  mad v1", "line 2, column 3: expected an instruction: madd, "),
        ("madd v1, v2, t3, m0", "line 1, column 14: expected a vector register, v0 to v31, found `t3`"),
        ("madd v1, v2, v32, m0", "line 1, column 14: 32 is not the number of a vector register; use 0 to 31"),
        ("madd v1, v2, v07, m0", "line 1, column 14: expected a vector register, v0 to v31, found `v07`"),
        ("mmul v1, v2, t16, m0", "line 1, column 14: 16 is not the number of a twiddle register; use 0 to 15"),
        ("madd v1, v2, v3, m8", "line 1, column 18: 8 is not the number of a modulus register; use 0 to 7"),
        ("madd v1!, v2, v3, m0", "line 1, column 8: expected `,` and another operand, found `!`"),
        ("madd v1, v1!, v3, m0", "line 1, column 1: madd writes v1 and cannot free it; clear the free bit"),
        ("mbfly v1, v2!, t3, m0", "line 1, column 13: expected `,` and another operand, found `!`"),
        ("mbfly v1, v1, t3, m0", "line 1, column 1: mbfly would write both results to v1; use two registers"),
        ("fbfly.dit v1, v2, t0", "line 1, column 1: fbfly.dit needs real parts in even registers"),
        ("ldp v1, 128(x2)", "line 1, column 9: 128 is not an offset; use 0 to 127"),
        ("ldp v1, -1(x2)", "line 1, column 9: -1 is not an offset; use 0 to 127"),
        ("ldp v1, 0(x2), tile=6", "line 1, column 21: 6 is not the logarithm of a tile's side; use 0 to 5"),
        ("ldp v1, 0(x2), broadcast", "line 1, column 16: expected `tile=` and the logarithm of its side"),
        ("ldp v1, 0(x2), rotate", "line 1, column 16: expected `tile=` and the logarithm of its side"),
        ("ldp v1, 0(x2), tile=2, free", "line 1, column 24: expected `rotate`, found `free`"),
        ("ldp v1, 0(x2), tile=2, ", "line 1, column 24: expected `rotate`, found the end of the line"),
        ("ldp v1, 0(x2), tile=2, rotate, rotate", "line 1, column 30: expected the end of the line, found `,`"),
        ("ldp v1, 0(x2), tile=0, rotate", "line 1, column 1: ldp cannot rotate without a tile"),
        ("ldt t1, 0(x2), all", "line 1, column 16: expected `broadcast`, found `all`"),
        ("lds v1, 4096(x2)", "line 1, column 9: 4096 is not an offset; use 0 to 4095"),
        ("copy c32, v1, 0(x2)", "line 1, column 6: 32 is not the number of a core; use 0 to 31"),
        ("lui x1, -1", "line 1, column 9: -1 is not a 20-bit immediate; use 0 to 1048575"),
        ("addi x1, x2, 2048", "line 1, column 14: 2048 is not a 12-bit immediate; use -2048 to 2047"),
        ("addi x1, x2, 99999999999999999999", "line 1, column 14: expected a number, decimal or 0x…"),
        ("addi a0, x2, 1", "line 1, column 6: expected a scalar register, x0 to x31, found `a0`"),
        ("bne x1, x2, nowhere\nebreak", "line 1, column 13: the label `nowhere` is not defined"),
        ("bne x1, x2, .+6\nebreak", "line 1, column 13: bne: a distance of 6 bytes is not a whole number"),
        ("bne x1, x2, .+8\nebreak", "line 1, column 1: word 0: the branch or jump goes to word 2"),
        ("bne x1, x2, .+4096\nebreak", "line 1, column 13: 1024 is not the distance of a branch in instructions"),
        ("jal x1\nebreak", "line 1, column 7: expected `,` and another operand"),
        ("jal nowhere\nebreak", "line 1, column 5: expected a scalar register, x0 to x31, found `nowhere`"),
        ("jal x1, nowhere\nebreak", "line 1, column 9: the label `nowhere` is not defined"),
        ("jal x1, .-6\nebreak", "line 1, column 9: jal: a distance of -6 bytes is not a whole number"),
        ("jal x1, .-4\nebreak", "line 1, column 1: word 0: the branch or jump goes to word -1"),
        ("jal x1, .+1048576\nebreak", "line 1, column 9: 262144 is not the distance of a jump in instructions"),
        ("a:\na: ebreak", "line 2, column 1: the label `a` is already defined in line 1"),
        ("7a: ebreak", "line 1, column 1: expected a label: a letter or `_`"),
        ("phase v1", "line 1, column 7: expected the end of the line, found `v1`"),
        ("phase\nphase", "line 2, column 1: word 1: the program goes on past its end"),
        ("# nothing\n\n", "line 2, column 1: the program has no instruction"),
        ("", "line 1, column 1: the program has no instruction"),
        ("ebreak\u{7}", "line 1, column 7: expected the end of the line, found `\\u{7}`"),
    ] {
        let error = assembled(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
}

#[test]
fn bounds() {
    let memory = InstructionMemory::new(16).unwrap();
    let in_four = |text: &str| assemble(text, c(0), memory).map_err(|error| (error.line, error.problem));
    assert!(in_four("phase\nphase\nphase\nebreak").is_ok());
    assert_eq!(in_four(&"phase\n".repeat(9)), Err((5, AsmProblem::TooManyInstructions { limit: 4 })));
    assert_eq!(in_four("a:b:c:d:e: ebreak"), Err((1, AsmProblem::TooManyLabels { limit: 4 })));
    let long = " ".repeat(MAX_TEXT_BYTES + 1);
    assert_eq!(in_four(&long), Err((1, AsmProblem::TextTooLong { bytes: MAX_TEXT_BYTES + 1 })));
    // A branch that its label is too far away for.
    let far = format!("bne x1, x0, end\n{}end: ebreak", "phase\n".repeat(1023));
    let error = assembled(&far).unwrap_err();
    assert!(matches!(error.problem, AsmProblem::Range(RangeError { given: 1024, .. })), "{error}");
    let near = format!("bne x1, x0, end\n{}end: ebreak", "phase\n".repeat(1022));
    assert!(assembled(&near).is_ok());
    // And a jump: 2^18 back, no further.
    let memory = InstructionMemory::new(InstructionMemory::MAX_BYTES).unwrap();
    let back = |others: usize| format!("start: {}jal x0, start\nebreak", "phase\n".repeat(others));
    assert!(assemble(&back(1 << 18), c(0), memory).is_ok());
    let error = assemble(&back((1 << 18) + 1), c(0), memory).unwrap_err();
    let AsmProblem::Range(RangeError { given, min, .. }) = error.problem else { panic!("{error}") };
    assert_eq!((error.line, error.column, given, min), ((1 << 18) + 2, 9, min - 1, -(1 << 18)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    /// Text to words and back, for each instruction alone.
    #[test]
    fn instructions_come_back(instruction in instruction()) {
        prop_assume!(!goes_elsewhere(&instruction));
        let program = assembled(&format!("{instruction}\nebreak")).unwrap().program;
        prop_assert_eq!(program.instructions()[0], instruction);
        prop_assert_eq!(Instruction::decode(instruction.encode()).unwrap().to_string(), instruction.to_string());
    }

    /// Any text gives a program, or an error with a position in the text.
    #[test]
    fn no_text_panics(text in "[a-z0-9 ,.:()!=#;/\\-+\\n\u{0}-\u{10ffff}]{0,60}") {
        if let Err(error) = assembled(&text) {
            prop_assert!(error.line >= 1 && error.line <= text.lines().count().max(1) && error.column >= 1);
        }
    }
}
