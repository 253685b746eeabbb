//! Common parts of the tests: operands, arbitrary instructions, one example of each, the reference page.

use std::fs;
use std::path::Path;

use ciphermill_rvfhe::isa::*;
use proptest::prelude::*;

pub(crate) fn v(number: i64) -> VectorRegister {
    VectorRegister::new(number).unwrap()
}

pub(crate) fn t(number: i64) -> TwiddleRegister {
    TwiddleRegister::new(number).unwrap()
}

pub(crate) fn m(number: i64) -> ModulusRegister {
    ModulusRegister::new(number).unwrap()
}

pub(crate) fn x(number: i64) -> ScalarRegister {
    ScalarRegister::new(number).unwrap()
}

pub(crate) fn c(number: i64) -> Core {
    Core::new(number).unwrap()
}

pub(crate) fn at<const BITS: u32>(offset: i64, base: i64) -> Address<BITS> {
    Address::new(x(base), offset).unwrap()
}

fn vector() -> impl Strategy<Value = VectorRegister> + Clone {
    (0..32_i64).prop_map(v)
}

fn vector_read() -> impl Strategy<Value = Operand<VectorRegister>> {
    (vector(), any::<bool>()).prop_map(|(register, free)| Operand { register, free })
}

fn twiddle_read() -> impl Strategy<Value = Operand<TwiddleRegister>> {
    (0..16_i64, any::<bool>()).prop_map(|(number, free)| Operand { register: t(number), free })
}

fn modulus() -> impl Strategy<Value = ModulusRegister> {
    (0..8_i64).prop_map(m)
}

fn scalar() -> impl Strategy<Value = ScalarRegister> + Clone {
    (0..32_i64).prop_map(x)
}

fn address<const BITS: u32>() -> impl Strategy<Value = Address<BITS>> {
    (0..1_i64 << BITS, 0..32_i64).prop_map(|(offset, base)| at(offset, base))
}

fn tile() -> impl Strategy<Value = Tile> {
    (0..6_i64, any::<bool>()).prop_map(|(log, rotate)| Tile::new(log, rotate).unwrap())
}

/// An instruction with arbitrary fields, including invalid combinations.
pub(crate) fn any_instruction() -> impl Strategy<Value = Instruction> {
    let form = prop_oneof![Just(FloatButterfly::DecimationInTime), Just(FloatButterfly::DecimationInFrequency)];
    let core = || (0..32_i64).prop_map(c);
    prop_oneof![
        (vector(), vector_read(), vector_read(), modulus()).prop_map(|(vd, vs1, vs2, modulus)| Instruction::Madd {
            vd,
            vs1,
            vs2,
            modulus
        }),
        (vector(), vector_read(), vector_read(), modulus()).prop_map(|(vd, vs1, vs2, modulus)| Instruction::Msub {
            vd,
            vs1,
            vs2,
            modulus
        }),
        (vector(), vector_read(), twiddle_read(), modulus()).prop_map(|(vd, vs1, ts2, modulus)| Instruction::Mmul {
            vd,
            vs1,
            ts2,
            modulus
        }),
        (vector(), vector(), twiddle_read(), modulus()).prop_map(|(vd, vs1, ts2, modulus)| Instruction::Mbfly {
            vd,
            vs1,
            ts2,
            modulus
        }),
        (form, vector(), vector(), twiddle_read()).prop_map(|(form, vd, vs1, ts2)| Instruction::Fbfly {
            form,
            vd,
            vs1,
            ts2
        }),
        (vector(), address(), tile(), any::<bool>()).prop_map(|(vd, row, tile, free)| Instruction::Ldp {
            vd,
            row,
            tile,
            free
        }),
        (0..16_i64, address(), any::<bool>()).prop_map(|(td, row, broadcast)| Instruction::Ldt {
            td: t(td),
            row,
            broadcast
        }),
        (vector(), address()).prop_map(|(vd, vector)| Instruction::Lds { vd, vector }),
        (vector(), address()).prop_map(|(vs1, vector)| Instruction::Sts { vs1, vector }),
        (core(), vector(), address()).prop_map(|(core, vs1, row)| Instruction::Copy { core, vs1, row }),
        (core(), vector(), address()).prop_map(|(core, vs1, row)| Instruction::Copyk { core, vs1, row }),
        Just(Instruction::Phase),
        (scalar(), 0..1_i64 << 20)
            .prop_map(|(rd, bits)| Instruction::Lui { rd, immediate: UpperImmediate::new(bits).unwrap() }),
        (scalar(), scalar(), -2048..2048_i64).prop_map(|(rd, rs1, number)| Instruction::Addi {
            rd,
            rs1,
            immediate: Immediate::new(number).unwrap()
        }),
        (scalar(), scalar(), scalar()).prop_map(|(rd, rs1, rs2)| Instruction::Add { rd, rs1, rs2 }),
        (scalar(), scalar(), scalar()).prop_map(|(rd, rs1, rs2)| Instruction::Xor { rd, rs1, rs2 }),
        (scalar(), scalar(), -1024..1024_i64).prop_map(|(rs1, rs2, distance)| Instruction::Bne {
            rs1,
            rs2,
            offset: BranchOffset::new(distance).unwrap()
        }),
        (scalar(), -(1 << 18)..1_i64 << 18)
            .prop_map(|(rd, distance)| Instruction::Jal { rd, offset: JumpOffset::new(distance).unwrap() }),
        (scalar(), modulus(), scalar()).prop_map(|(rd, modulus, rs1)| Instruction::Csrrw { rd, modulus, rs1 }),
        Just(Instruction::Ebreak),
    ]
}

/// A valid instruction.
pub(crate) fn instruction() -> impl Strategy<Value = Instruction> {
    any_instruction().prop_filter("operands go together", |instruction| instruction.check().is_ok())
}

/// The instructions of a program: branches and jumps stay inside, and the last one is `ebreak`.
pub(crate) fn program(most: usize) -> impl Strategy<Value = Vec<Instruction>> {
    prop::collection::vec((instruction(), any::<prop::sample::Index>()), 0..most).prop_map(|drawn| {
        let length = drawn.len() + 1;
        let inside = |(index, (mut instruction, target)): (usize, (Instruction, prop::sample::Index))| {
            let distance = target.index(length) as i64 - index as i64;
            match &mut instruction {
                Instruction::Bne { offset, .. } => *offset = BranchOffset::new(distance.clamp(-1024, 1023)).unwrap(),
                Instruction::Jal { offset, .. } => *offset = JumpOffset::new(distance).unwrap(),
                _ => {}
            }
            instruction
        };
        drawn.into_iter().enumerate().map(inside).chain([Instruction::Ebreak]).collect()
    })
}

/// One of each instruction, with distinct operands, and the limits of numbers.
pub(crate) fn examples() -> Vec<Instruction> {
    use FloatButterfly::{DecimationInFrequency, DecimationInTime};
    use Instruction::*;
    let tile = |log: i64, rotate| Tile::new(log, rotate).unwrap();
    let upper = |bits: i64| UpperImmediate::new(bits).unwrap();
    let immediate = |number: i64| Immediate::new(number).unwrap();
    let distance = |instructions: i64| BranchOffset::new(instructions).unwrap();
    let jump = |instructions: i64| JumpOffset::new(instructions).unwrap();
    vec![
        Madd { vd: v(1), vs1: v(2).freed(), vs2: v(3).kept(), modulus: m(5) },
        Msub { vd: v(31), vs1: v(30).kept(), vs2: v(29).freed(), modulus: m(7) },
        Mmul { vd: v(4), vs1: v(8).freed(), ts2: t(15).freed(), modulus: m(0) },
        Mbfly { vd: v(3), vs1: v(7), ts2: t(2).kept(), modulus: m(0) },
        Mbfly { vd: v(9), vs1: v(10), ts2: t(11).freed(), modulus: m(6) },
        Fbfly { form: DecimationInTime, vd: v(2), vs1: v(4), ts2: t(3).kept() },
        Fbfly { form: DecimationInFrequency, vd: v(30), vs1: v(0), ts2: t(8).freed() },
        Ldp { vd: v(12), row: at(0x55, 6), tile: Tile::NONE, free: false },
        Ldp { vd: v(13), row: at(127, 31), tile: tile(5, false), free: true },
        Ldp { vd: v(27), row: at(0x2a, 28), tile: tile(2, true), free: false },
        Ldt { td: t(14), row: at(0x555, 17), broadcast: false },
        Ldt { td: t(1), row: at(2047, 0), broadcast: true },
        Lds { vd: v(16), vector: at(4095, 18) },
        Sts { vs1: v(19), vector: at(0xabc, 20) },
        Copy { core: c(21), vs1: v(22), row: at(127, 23) },
        Copyk { core: c(31), vs1: v(24), row: at(0x2a, 25) },
        Phase,
        Lui { rd: x(1), immediate: upper(0xfffff) },
        Addi { rd: x(2), rs1: x(3), immediate: immediate(-2048) },
        Addi { rd: x(4), rs1: x(5), immediate: immediate(2047) },
        Add { rd: x(6), rs1: x(7), rs2: x(8) },
        Xor { rd: x(9), rs1: x(10), rs2: x(11) },
        Bne { rs1: x(12), rs2: x(13), offset: distance(2) },
        Bne { rs1: x(14), rs2: x(15), offset: distance(-1024) },
        Bne { rs1: x(16), rs2: x(17), offset: distance(1023) },
        // Each bit of the distance that has a separate place, and both ends: bits 11 and 12, 20, 19 to 13 and 10 to 2.
        Jal { rd: x(18), offset: jump(512) },
        Jal { rd: x(1), offset: jump(1024) },
        Jal { rd: x(0), offset: jump(-1 << 18) },
        Jal { rd: x(31), offset: jump((1 << 18) - 1) },
        Csrrw { rd: x(0), modulus: m(3), rs1: x(26) },
        Ebreak,
    ]
}

/// The first example in the given language on the reference page.
pub(crate) fn page_example(language: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rvfhe-isa.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once(&format!("\n```{language}\n")).expect("an example");
    rest.split_once("\n```\n").expect("its end").0.to_owned()
}
