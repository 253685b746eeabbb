//! The source of the encodings: inputs that the build script's reader accepts and rejects, and its output.

#[path = "../../build/opcodes.rs"]
mod reader;

use std::fs;
use std::path::Path;

use ciphermill_rvfhe::isa::{Mnemonic, PaperMnemonic, gnu};
use reader::{arguments, instructions, reserved, told_apart};

const ARGUMENTS: &str = "# comment\n\"rd\", 11, 7\n\"rest\", 31, 12\n\"low\", 6, 2\n";

fn read(text: &str) -> Result<Vec<reader::Instruction>, String> {
    let read = instructions("rv_test", text, &arguments("arg_lut.csv", ARGUMENTS)?)?;
    told_apart(&read)?;
    Ok(read)
}

#[test]
fn a_line_becomes_mask_and_value() {
    let read = read("\n# comment\n  one.a rd rest 6..2=0x0A 1=1 0=0b1\n").unwrap();
    let [one] = read.as_slice() else { panic!() };
    assert_eq!((one.name.as_str(), one.extension.as_str(), one.line), ("one.a", "rv_test", 3));
    assert_eq!((one.mask, one.value), (0x7f, 0x2b));
    let arguments: Vec<_> =
        one.arguments.iter().map(|argument| (argument.name.as_str(), argument.high, argument.low)).collect();
    assert_eq!(arguments, [("rd", 11, 7), ("rest", 31, 12)]);
}

#[test]
fn what_is_refused() {
    for (text, expected) in [
        ("one rd rest 6..2=1 2..0=3", "rv_test:1: one: 2..0=3 gives bits a second meaning: 2"),
        ("one rd rest low 6..0=3", "rv_test:1: one: 6..0=3 gives bits a second meaning: 6 5 4 3 2"),
        ("one rd rest rd 6..0=3", "rv_test:1: one: rd gives bits a second meaning: 11 10 9 8 7"),
        ("one rd 6..0=3", "rv_test:1: one: nothing says what these bits are: 31 30 "),
        ("\none rest 6..2=1 1..0=3", "rv_test:2: one: nothing says what these bits are: 11 10 9 8 7"),
        ("one rd rest 6..2=32 1..0=3", "rv_test:1: 6..2=32: the value has more than 5 bits"),
        ("one rd rest 0..6=3", "rv_test:1: bit 0 stands before bit 6: a range is high..low"),
        ("one rd rest 32..2=3", "rv_test:1: `32` is no bit of a word, 0 to 31"),
        ("one rd rest a..2=3", "rv_test:1: `a` is no bit of a word, 0 to 31"),
        ("one rd rest 6..2=x 1..0=3", "rv_test:1: `x` in 6..2=x is no number"),
        ("one rd rest 6..2=+1 1..0=3", "rv_test:1: `+1` in 6..2=+1 is no number"),
        ("one vd rest 6..0=3", "rv_test:1: arg_lut.csv has no operand `vd`"),
        ("$pseudo_op rv_i::addi nop 31..0=19", "rv_test:1: `$pseudo_op` is no name of an instruction"),
        ("$import rv_i::addi", "rv_test:1: `$import` is no name of an instruction"),
        ("one rd rest 6..0=3\none rd rest 6..0=7", "rv_test:2: one stands in line 1 already"),
        ("one rd rest 6..0=3\ntwo rd rest 6..0=3", "rv_test:1 and rv_test:2: the word 0x00000003 is one and two"),
        (
            "one rd rest low 1..0=3\ntwo rd rest 6..2=9 1..0=3",
            "rv_test:1 and rv_test:2: the word 0x00000027 is one and two",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
    assert!(read(&"# long\n".repeat(10_000)).unwrap_err().contains("at most 65536 are read"));
    assert!(read(&"one rd rest 6..0=3\n".repeat(2_000)).unwrap_err().contains("more than 1024 lines"));
    for (text, expected) in [
        ("rd, 11, 7", "t:1: expected a name of small letters and digits in quotes"),
        ("\"rd\", 11", "t:1: expected \"name\", high, low"),
        ("\"rd\", 7, 11", "t:1: bit 7 stands before bit 11: a range is high..low"),
        ("\"rd\", 11, 7\n\"rd\", 11, 7", "t:2: rd has its bits already"),
    ] {
        assert_eq!(arguments("t", text).unwrap_err(), expected);
    }
}

/// The encodings in the crate equal those in the source, read again.
#[test]
fn the_crate_has_what_the_source_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("opcodes");
    let file = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let arguments = arguments("arg_lut.csv", &file("arg_lut.csv")).unwrap();
    let read = |name: &str| instructions(name, &file(name), &arguments).unwrap();
    let ours: Vec<_> = ["rv_xrvfhe", "rv_frontend"].into_iter().flat_map(read).collect();
    let built: Vec<_> = Mnemonic::ALL.into_iter().map(Mnemonic::encoding).collect();
    assert_eq!(built.len(), ours.len());
    let paper = read("rv_rvfhe_paper");
    let built_paper = PaperMnemonic::ALL.into_iter().map(PaperMnemonic::encoding);
    for (built, instruction) in built.into_iter().zip(&ours).chain(built_paper.zip(&paper)) {
        assert_eq!((built.name, built.extension), (instruction.name.as_str(), instruction.extension.as_str()));
        assert_eq!((built.mask, built.value), (instruction.mask, instruction.value), "{}", built.name);
        assert_eq!(built.select, built.mask & !reserved(instruction, &ours), "{}", built.name);
        let covered = built.fields.iter().fold(built.mask, |covered, field| {
            assert_eq!(covered & field.mask(), 0, "{}", built.name);
            covered | field.mask()
        });
        assert_eq!(covered, u32::MAX, "{}", built.name);
    }
}

#[test]
fn what_is_made_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = folder.join("../../docs/rvfhe-isa.md");
    let page_now = gnu::with_table(&fs::read_to_string(&page).unwrap()).expect("the lines around the table");
    for (path, text) in [
        (folder.join("include/rvfhe.inc"), gnu::assembler_include()),
        (folder.join("include/rvfhe.h"), gnu::c_header()),
        (page, page_now),
    ] {
        let committed = fs::read_to_string(&path).unwrap();
        let hint = "is not what the encodings give; run cargo run -p ciphermill-rvfhe --example rvfhe-generate";
        assert!(committed == text, "{} {hint}", path.display());
    }
}
