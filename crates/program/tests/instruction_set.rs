//! The instruction set as a table: the rows of the standard handlers, and the refusals of a set.

use std::{env, fs, path::Path};

use crate::common::{set, vr};
use ciphermill_device::handlers::{bfv, paillier, tfhe};
use ciphermill_program::{
    Access, Instruction, InstructionSet, InstructionSetError, InstructionSpec, ObjectClass, Opcode, Operand, Operands,
    ResultLength, Scheme, TypeCode,
};

#[test]
fn reads_and_writes_follow_the_papers_table() {
    let (a, b, tv) = (vr("3:0:1"), vr("4:0:2"), vr("1:0:0"));
    let (matrix, v) = (vr("6:0:0"), vr("7:0:1"));
    let (weights, p, q) = (vr("17:0:0"), vr("18:0:1"), vr("19:0:2"));
    let (t, w, y) = (vr("32:0:0"), vr("33:0:1"), vr("34:0:2"));
    let two = |spec, a, b| Instruction::new(spec, Operands::Two(a, b)).unwrap();
    let factor = |spec, n, v| Instruction::new(spec, Operands::Factor(n, v)).unwrap();
    let table = [
        (Instruction::ret(a), 0, vec![a], None, "return 3:0:1"),
        (Instruction::mov(a, b), 1, vec![b], Some(a), "mov 3:0:1, 4:0:2"),
        (Instruction::push(a), 2, vec![a], None, "push 3:0:1"),
        (Instruction::pop(a), 3, vec![], Some(a), "pop 3:0:1"),
        (two(&tfhe::BOOTSTRAP, tv, a), 4, vec![tv, a], Some(a), "bootstrap 1:0:0, 3:0:1"),
        (two(&tfhe::HOM_ADD, a, b), 5, vec![a, b], Some(a), "homadd 3:0:1, 4:0:2"),
        (two(&tfhe::HOM_SUB, a, b), 6, vec![a, b], Some(a), "homsub 3:0:1, 4:0:2"),
        (factor(&tfhe::HOM_INT_MULT, a, -3), 7, vec![a], Some(a), "homintmult 3:0:1, -3"),
        (two(&bfv::HMVP, matrix, v), 16, vec![matrix, v], Some(v), "hmvp 6:0:0, 7:0:1"),
        (two(&paillier::ADD, p, q), 32, vec![p, q], Some(p), "padd 18:0:1, 19:0:2"),
        (two(&paillier::SUBTRACT, p, q), 33, vec![p, q], Some(p), "psub 18:0:1, 19:0:2"),
        (two(&paillier::ADD_PLAIN, weights, p), 34, vec![weights, p], Some(p), "paddplain 17:0:0, 18:0:1"),
        (two(&paillier::SCALE, weights, p), 35, vec![weights, p], Some(p), "pscale 17:0:0, 18:0:1"),
        (two(&paillier::MAT_VEC, weights, p), 36, vec![weights, p], Some(p), "pmatvec 17:0:0, 18:0:1"),
        (factor(&tfhe::SELECT, w, 3), 48, vec![w], None, "wselect 33:0:1, 3"),
        (two(&tfhe::LOOK_UP, t, w), 49, vec![t], Some(w), "wlook 32:0:0, 33:0:1"),
        (factor(&tfhe::SLICE, w, 513), 50, vec![w], Some(w), "wslice 33:0:1, 513"),
        (two(&tfhe::CONCATENATE, w, y), 51, vec![w, y], Some(w), "wcat 33:0:1, 34:0:2"),
        (two(&tfhe::SPLIT, w, a), 52, vec![a], Some(w), "wsplit 33:0:1, 3:0:1"),
    ];
    assert_eq!(set().instructions().map(|spec| spec.opcode().0).collect::<Vec<_>>(), table.clone().map(|row| row.1));
    for (instruction, opcode, reads, writes, text) in table {
        assert_eq!(instruction.opcode(), Opcode(opcode), "{text}");
        assert_eq!(instruction.reads().collect::<Vec<_>>(), reads, "{text}");
        assert_eq!(instruction.writes(), writes, "{text}");
        assert_eq!(instruction.to_string(), text);
    }
}

/// The instruction table of `docs/program.md`, one row for each instruction.
fn markdown() -> String {
    let names = |spec: &InstructionSpec, rule: fn(Access) -> bool| {
        let names =
            spec.operands().iter().filter(|operand| rule(operand.access)).map(|operand| operand.name.to_owned());
        names.collect::<Vec<_>>()
    };
    let mut table = "| opcode | text | effect | reads | writes |\n| ---: | --- | --- | --- | --- |\n".to_owned();
    for spec in set().instructions() {
        let mut reads = names(spec, |access| access != Access::Write);
        reads.extend(spec.key_uses().iter().map(|key| format!("{} `{}:key:{}`", key.name, key.type_code, key.data_id)));
        let mut writes = names(spec, |access| access != Access::Read);
        if let Some(state) = spec.run_state() {
            reads.extend((state.access == Access::Read).then(|| state.name.to_owned()));
            writes.extend((state.access != Access::Read).then(|| state.name.to_owned()));
        }
        let (reads, writes) = (reads.join(", "), writes.join(", "));
        table += &format!("| {} | `{}` | {} | {reads} | {writes} |\n", spec.opcode(), spec.syntax(), spec.effect());
    }
    table
}

/// With `CIPHERMILL_UPDATE=1`, writes the table instead of comparing it.
#[test]
fn the_page_has_the_instruction_table() {
    const BEGIN: &str = "<!-- instructions: written by the test `the_page_has_the_instruction_table` -->\n";
    const END: &str = "<!-- end of instructions -->\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/program.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the marker");
    let (table, after) = rest.split_once(END).expect("the end marker");
    if env::var_os("CIPHERMILL_UPDATE").is_some() {
        return fs::write(&path, [before, BEGIN, &markdown(), END, after].concat()).unwrap();
    }
    assert_eq!(table, markdown(), "run this test with CIPHERMILL_UPDATE=1");
}

#[test]
fn type_codes_fall_into_their_classes() {
    let class = |code| set().class(TypeCode(code)).to_string();
    let bfv = "of an unassigned BFV type (9 to 15)";
    let paillier = "of an unassigned Paillier type (20 to 31)";
    let free = "of an unassigned type (from 35)";
    let tlwe = "a TLWE ciphertext (type 3 or 4)";
    assert_eq!([0, 1, 2].map(class), ["a program (type 0)", "a test vector (type 1)", "a key (type 2)"]);
    assert_eq!([3, 4].map(class), [tlwe, tlwe]);
    assert_eq!([5, 6].map(class), ["a BFV key (type 5)", "a plain matrix (type 6)"]);
    assert_eq!([7, 8].map(class), ["an encrypted vector (type 7 or 8)"; 2]);
    assert_eq!([16, 17].map(class), ["a Paillier key (type 16)", "a matrix of public weights (type 17)"]);
    assert_eq!([18, 19].map(class), ["a Paillier vector (type 18 or 19)"; 2]);
    assert_eq!([32, 33].map(class), ["a table (type 32)", "a word (type 33 or 34)"]);
    assert_eq!([9, 15, 20, 31, 35, u16::MAX].map(class), [bfv, bfv, paillier, paillier, free, free]);
}

static NUMBER: ObjectClass = ObjectClass::ciphertext("a number", TypeCode(100), TypeCode(101));
const PAIR: &[Operand] = &[Operand::read_write("n1", &NUMBER), Operand::read("n2", &NUMBER)];

static CLASSES: &[&ObjectClass] = &[&NUMBER];

fn refusal(scheme: Scheme) -> InstructionSetError {
    let scheme: &'static Scheme = Box::leak(Box::new(scheme));
    InstructionSet::new([&tfhe::SCHEME, scheme]).unwrap_err()
}

fn with(spec: InstructionSpec) -> Scheme {
    let instructions: &'static [&'static InstructionSpec] = Box::leak(Box::new([&*Box::leak(Box::new(spec))]));
    Scheme { name: "Numbers", classes: CLASSES, instructions, opcodes: &[900..=909] }
}

#[test]
fn rows_that_do_not_go_together_are_refused() {
    let spec = |opcode, mnemonic| InstructionSpec::new(Opcode(opcode), mnemonic, PAIR, "n1 ← n2");
    let message = |spec| refusal(with(spec)).to_string();
    assert_eq!(message(spec(5, "plus")), "`plus` has opcode 5, which is not set aside for Numbers");
    assert_eq!(
        message(spec(900, "homadd")),
        "two instructions are called `homadd`; give each instruction its own name"
    );
    assert_eq!(message(spec(900, "move")), "two instructions are called `move`; give each instruction its own name");
    assert!(message(spec(900, "Plus")).contains("its mnemonic is not a word of lower-case letters and digits"));
    assert!(message(spec(900, "plus").factor("v")).contains("it has neither one or two registers nor"));
    assert!(message(spec(900, "plus").result(ResultLength::OfOperand(2))).contains("that it does not read"));
    const TWO_WRITTEN: &[Operand] = &[Operand::write("a", &NUMBER), Operand::read_write("b", &NUMBER)];
    let both = InstructionSpec::new(Opcode(900), "plus", TWO_WRITTEN, "");
    assert!(message(both).contains("it does not write exactly one operand, or a state of the run"));

    let opcodes = Scheme { opcodes: &[5..=5], ..with(spec(5, "plus")) };
    assert_eq!(refusal(opcodes).to_string(), "homadd and plus both have opcode 5; give each instruction its own");
    static OTHER: ObjectClass = ObjectClass::operand("a thing", TypeCode(4));
    static OTHERS: &[&ObjectClass] = &[&OTHER];
    let types = Scheme { classes: OTHERS, ..with(spec(900, "plus")) };
    assert!(refusal(types).to_string().starts_with("the types of a TLWE ciphertext (type 3 or 4) and of a thing"));
}
