//! The language: names, temporaries, defaults, and the message of every error.

use crate::common::{XY_SOURCE, any_program, any_register, assemble, bind, disassemble_named, program, vr};
use ciphermill_device::handlers::tfhe;
use ciphermill_program::{Bindings, Instruction, InstructionSpec, MAX_INSTRUCTIONS, Operands, VrId, disassemble};
use proptest::prelude::*;

fn message(source: &str, bindings: &[&str]) -> String {
    assemble(source, &bind(bindings)).unwrap_err().to_string()
}

fn two(spec: &'static InstructionSpec, a: VrId, b: VrId) -> Instruction {
    Instruction::new(spec, Operands::Two(a, b)).unwrap()
}

#[test]
fn the_papers_program_needs_two_bindings() {
    let assembly = assemble(XY_SOURCE, &bind(&["r2=3:0:2", "r3=4:0:3"])).unwrap();
    let (r1, r2, r3, tv) = (vr("3:0:4294901760"), vr("3:0:2"), vr("4:0:3"), vr("1:0:0"));
    let expected = [
        Instruction::mov(r1, r2),
        two(&tfhe::HOM_ADD, r1, r3),
        two(&tfhe::BOOTSTRAP, tv, r1),
        two(&tfhe::HOM_SUB, r2, r3),
        two(&tfhe::BOOTSTRAP, tv, r2),
        two(&tfhe::HOM_SUB, r1, r2),
        Instruction::ret(r1),
    ];
    assert_eq!(assembly.program.instructions(), expected);
    let names = [("r1", r1), ("r2", r2), ("r3", r3), ("tv", tv)].map(|(name, register)| (name.to_owned(), register));
    assert_eq!(assembly.names, names);
    assert!(r1.data_id.is_temporary() && !r2.data_id.is_temporary());
    // Line 9 is the first after the comment.
    assert_eq!(
        (0..8).map(|index| assembly.lines.line(index)).collect::<Vec<_>>(),
        [Some(9), Some(10), Some(11), Some(12), Some(13), Some(14), Some(15), None]
    );
}

#[test]
fn temporaries_and_tv_take_the_key_of_the_operands() {
    let assembly = assemble(XY_SOURCE, &bind(&["r2=3:7:2", "r3=4:7:3", "unused=3:9:9"])).unwrap();
    assert_eq!(assembly.program.instructions()[2], two(&tfhe::BOOTSTRAP, vr("1:7:0"), vr("3:7:4294901760")));
}

#[test]
fn temporaries_are_of_the_scheme_of_what_they_take() {
    let text = "mov t, x\npmatvec w, t\npush t\npop u\npadd u, x\nreturn u";
    let assembly = assemble(text, &bind(&["x=19:7:2", "w=17:7:0"])).unwrap();
    let expected = "mov 18:7:4294901760, 19:7:2\npmatvec 17:7:0, 18:7:4294901760\npush 18:7:4294901760\n\
                    pop 18:7:4294901761\npadd 18:7:4294901761, 19:7:2\nreturn 18:7:4294901761\n";
    assert_eq!(disassemble(&assembly.program), expected);
    let unbound = message("pscale w, 18:7:2\nreturn 18:7:2", &[]);
    assert!(unbound.contains("`w` is read here") && unbound.contains("--bind w=17:7:1"), "{unbound}");
    assert!(message("padd x, y\nreturn x", &[]).contains("--bind x=18:0:1"));
}

#[test]
fn a_temporary_leaves_registers_alone_that_are_spelt_out() {
    let text = "mov a, x\nmov b, 3:0:4294901761\nreturn b";
    let assembly = assemble(text, &bind(&["x=3:0:4294901760"])).unwrap();
    let register = |name: &str| assembly.names.iter().find(|(n, _)| n == name).unwrap().1;
    assert_eq!(register("a"), vr("3:0:4294901762"));
    assert_eq!(register("b"), vr("3:0:4294901763"));
}

#[test]
fn the_command_line_wins_over_the_text() {
    let text = ".bind x 3:0:1\n.bind tv 1:0:5\nbootstrap tv, x\nreturn x";
    let plain = assemble(text, &Bindings::new()).unwrap().program;
    assert_eq!(plain, program("bootstrap 1:0:5, 3:0:1\nreturn 3:0:1"));
    let moved = assemble(text, &bind(&["x=4:0:8"])).unwrap().program;
    assert_eq!(moved, program("bootstrap 1:0:5, 4:0:8\nreturn 4:0:8"));
}

#[test]
fn form_is_free() {
    let text = "\u{feff}  MOV r1 , r2 # copy\r\n\n;nothing\nMove r4,r1//again\n\thomIntMult r4, -0x10;\n \
                homintmult r4,-2147483648\npush r4\npop r5\nreturn r5";
    let expected = "mov 3:0:4294901760, 3:0:2\nmov 3:0:4294901761, 3:0:4294901760\nhomintmult 3:0:4294901761, -16\n\
                    homintmult 3:0:4294901761, -2147483648\npush 3:0:4294901761\npop 3:0:4294901762\n\
                    return 3:0:4294901762\n";
    let assembly = assemble(text, &bind(&["r2=3:0:2"])).unwrap();
    assert_eq!(disassemble(&assembly.program), expected);
    assert_eq!(assembly.lines.line(1), Some(4));
}

#[test]
fn names_are_told_apart_by_case() {
    assert!(message("mov R1, r2\nreturn r1", &["r2=3:0:2"]).starts_with("line 2, column 8: `r1` is read here"));
}

#[test]
fn an_unbound_name_is_named_with_the_flag_to_add() {
    assert_eq!(
        message(XY_SOURCE, &["r2=3:0:2"]),
        "line 10, column 15: `r3` is read here, but it is neither bound nor written before; add --bind r3=3:0:1 \
         (type:key:data of the stored object) or the line `.bind r3 3:0:1`"
    );
    // The key of the bound operands is that of the program.
    assert!(message(XY_SOURCE, &["r2=3:1:2"]).contains("add --bind r3=3:1:1 (type:key:data"));
    assert!(message("mov r1, r1\nreturn r1", &[]).starts_with("line 1, column 9: `r1` is read here"));
    assert!(message("bootstrap square, 3:0:1", &[]).contains("add --bind square=1:0:0"));
    assert_eq!(
        message("pop r1\nreturn r1", &[]),
        "line 1, column 5: no operand of the program is bound, so the key of `r1` is not known; add --bind r1=3:0:1"
    );
    assert_eq!(
        message("homadd a, b\nmov t, a\nreturn t", &["a=3:0:1", "b=3:5:1"]),
        "line 2, column 5: the key of `t` is not clear, as the program uses 3:0:1 and 3:5:1; add --bind t=type:key:data"
    );
    assert!(message("bootstrap tv, a\nreturn b", &["a=3:0:1", "b=3:5:1"]).contains("the key of `tv` is not clear"));
}

#[test]
fn errors_of_form_name_line_column_and_what_was_expected() {
    let register = "expected a register: a name, or type:key:data as in 3:0:2, found";
    let cases = [
        ("", "line 1, column 1: the text ends without an instruction; a program has at least a return".to_owned()),
        ("# a\n\n", "line 2, column 1: the text ends without".to_owned()),
        (
            "return 3:0:1\n  jump 3",
            "line 2, column 3: expected mov, push, pop, bootstrap, homadd, homsub, homintmult, hmvp, padd, psub, paddplain, pscale, pmatvec, wselect, wlook, wslice, wcat, wsplit, return or .bind, found `jump`"
                .to_owned(),
        ),
        ("mov", format!("line 1, column 4: {register} the end of the line")),
        ("mov ,", format!("line 1, column 5: {register} `,`")),
        ("mov é, r2", format!("line 1, column 5: {register} `é`")),
        ("mov r1 é", "line 1, column 8: expected `,` and a second operand, found `é`".to_owned()),
        ("mov r1 # r2", "line 1, column 8: expected `,` and a second operand, found the end of the line".to_owned()),
        ("mov r1, ", format!("line 1, column 9: {register} the end of the line")),
        ("return r1, r2", "line 1, column 10: expected the end of the line or a comment, found `,`".to_owned()),
        ("return 3:0", "line 1, column 8: `3:0` is not a register: found 2 field(s)".to_owned()),
        (
            "return 3:0:4294967296",
            "line 1, column 8: `3:0:4294967296` is not a register: the data id `4294967296` is not a decimal number from \
             0 to 4294967295"
                .to_owned(),
        ),
        (
            "homintmult r1, 2147483648",
            "line 1, column 16: expected an integer from -2147483648 to 2147483647, decimal or 0x…, found `2147483648`"
                .to_owned(),
        ),
        ("homintmult r1, --1", "line 1, column 16: expected an integer".to_owned()),
        ("homintmult r1, 0x-1", "line 1, column 16: expected an integer".to_owned()),
        ("homintmult r1, 0x", "line 1, column 16: expected an integer".to_owned()),
        ("homintmult r1, r2", "line 1, column 16: expected an integer".to_owned()),
        (".bind 3 3:0:1", "line 1, column 7: expected a register name".to_owned()),
        (".bind r1", "line 1, column 9: expected type:key:data as in 3:0:2, found the end of the line".to_owned()),
        (".bind r1 x", "line 1, column 10: `x` is not a register".to_owned()),
        (".bind a 3:0:1\n.bind a 3:0:1", "line 2, column 7: `a` is bound at line 1 already; bind it once".to_owned()),
    ];
    for (source, expected) in cases {
        let message = message(source, &[]);
        assert!(message.starts_with(&expected), "{source:?}\n  gives    {message}\n  expected {expected}");
    }
}

#[test]
fn what_a_message_quotes_is_cut_and_escaped() {
    let message = message(&format!("\u{1b}[31m{}", "x".repeat(10_000)), &[]);
    assert!(message.ends_with("found `\\u{1b}[31mxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…`"), "{message}");
}

#[test]
fn the_number_of_instructions_is_bounded() {
    let source = "push 3:0:1\n".repeat(MAX_INSTRUCTIONS);
    assert_eq!(program(&source).instructions().len(), MAX_INSTRUCTIONS);
    assert_eq!(
        message(&(source + "push 3:0:1"), &[]),
        "line 65537, column 1: the program has more than 65536 instructions; split it"
    );
}

#[test]
fn the_temporaries_are_bounded() {
    use std::fmt::Write as _;
    let mut source = String::new();
    for number in 0..MAX_INSTRUCTIONS {
        writeln!(source, "mov t{number}, x").unwrap();
    }
    let last = *assemble(&source, &bind(&["x=3:0:1"])).unwrap().program.instructions().last().unwrap();
    assert_eq!(last.writes(), Some(vr("3:0:4294967295")));
    assert_eq!(
        message(&source, &["x=3:0:4294901760"]),
        "line 65536, column 5: no data id from 0xffff0000 is left for the temporary `t65535`; bind it to a register with \
         --bind"
    );
}

#[test]
fn bindings_say_what_is_wrong_with_them() {
    let message = |text: &str| text.parse::<ciphermill_program::Binding>().unwrap_err().to_string();
    assert_eq!(message("r2"), "`r2` is not a binding; write name=type:key:data, as in r2=3:0:2");
    assert!(message("2r=3:0:2").starts_with("`2r` is not a register name"));
    assert!(message("=3:0:2").starts_with("`` is not a register name"));
    assert!(message("r2=3:0").starts_with("the register of `r2`: found 2 field(s)"));
    let twice = ["a=3:0:1", "a=3:0:1", "a=3:0:2"].map(|text| text.parse().unwrap());
    let error = Bindings::collect(twice).unwrap_err().to_string();
    assert_eq!(error, "`a` is bound to 3:0:1 and to 3:0:2; bind it once");
}

#[test]
fn the_named_disassembly_reads_like_the_source() {
    let source =
        "bootstrap 1:0:0, 3:0:2\nbootstrap 1:0:1, 3:0:2\nhomintmult 3:0:2, -3\nmov 4:0:1, 3:0:2\nreturn 4:0:1\n";
    assert_eq!(
        disassemble_named(&program(source)),
        ".bind tv 1:0:0\n.bind r1 3:0:2\n.bind tv1 1:0:1\n.bind r2 4:0:1\n\n\
         bootstrap tv, r1\nbootstrap tv1, r1\nhomintmult r1, -3\nmov r2, r1\nreturn r2\n"
    );
    assert_eq!(disassemble(&program(source)), source);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn disassembly_assembles_to_the_same_program(program in any_program(any_register())) {
        for text in [disassemble(&program), disassemble_named(&program)] {
            let assembly = assemble(&text, &Bindings::new()).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(&assembly.program, &program);
        }
    }
}
