//! Instructions and words.

use ciphermill_rvfhe::isa::*;
use proptest::prelude::*;

use crate::strategy::{any_instruction, examples, m, t, v, x};

/// Assembled by hand from the tables of the reference page: funct7, rs2, rs1, funct3, rd, opcode, or an immediate in
/// place of the first ones. The order is that of `examples`.
const WORDS: [u32; 31] = [
    0b00_0_1_000_00011_00010_101_00001_0101011,
    0b00_1_0_001_11101_11110_111_11111_0101011,
    0b00_1_1_010_01111_01000_000_00100_0101011,
    0b00_0_0_011_00010_00111_000_00011_0101011,
    0b00_1_0_011_01011_01010_110_01001_0101011,
    0b00_0_0_101_00011_00100_000_00010_0101011,
    0b00_1_0_101_01000_00000_001_11110_0101011,
    0b0_000_0_1010101_00110_000_01100_0001011,
    0b1_101_0_1111111_11111_000_01101_0001011,
    0b0_010_1_0101010_11100_000_11011_0001011,
    0b0_10101010101_10001_001_01110_0001011,
    0b1_11111111111_00000_001_00001_0001011,
    0b111111111111_10010_010_10000_0001011,
    // 0xabc: 10101 in rd's place, 0111100 in funct7's.
    0b0111100_10100_10011_011_10101_0001011,
    0b1111111_10111_10110_100_10101_0001011,
    0b0101010_11001_11000_101_11111_0001011,
    0b0000000_00000_00000_110_00000_0001011,
    0b11111111111111111111_00001_0110111,
    0b100000000000_00011_000_00010_0010011,
    0b011111111111_00101_000_00100_0010011,
    0b0000000_01000_00111_000_00110_0110011,
    0b0000000_01011_01010_100_01001_0110011,
    // Distances of 8, −4096 and 4092 bytes: bits 12 and 10 to 5 above, 4 to 1 and 11 below.
    0b0_000000_01101_01100_001_0100_0_1100011,
    0b1_000000_01111_01110_001_0000_0_1100011,
    0b0_111111_10001_10000_001_1110_1_1100011,
    // Distances of 2048, 4096, −2^20 and 2^20 − 4 bytes: bits 20, 10 to 1, 11 and 19 to 12.
    0b0_0000000000_1_00000000_10010_1101111,
    0b0_0000000000_0_00000001_00001_1101111,
    0b1_0000000000_0_00000000_00000_1101111,
    0b0_1111111110_1_11111111_11111_1101111,
    0b100000000011_11010_001_00000_1110011,
    0b000000000001_00000_000_00000_1110011,
];

#[test]
fn known_words() {
    for (instruction, word) in examples().into_iter().zip(WORDS) {
        assert_eq!(instruction.encode(), word, "{instruction}: {:#034b} and {word:#034b}", instruction.encode());
        assert_eq!(Instruction::decode(word), Ok(instruction));
    }
    let shown = |mnemonic: &Mnemonic| examples().iter().any(|instruction| instruction.mnemonic() == *mnemonic);
    assert!(Mnemonic::ALL.iter().all(shown), "an instruction has no known word");
}

/// Every word of both custom opcodes and of jumps: a decoded word encodes to itself, and the number of decoded words
/// equals the number of operand combinations.
#[test]
fn all_words_of_the_custom_opcodes_and_jumps() {
    let mut counts = [0_u64; Mnemonic::ALL.len()];
    for upper in 0..1_u32 << 25 {
        for opcode in [0x0b, 0x2b, 0x6f] {
            let word = upper << 7 | opcode;
            if let Ok(instruction) = Instruction::decode(word) {
                assert_eq!(instruction.encode(), word);
                counts[instruction.mnemonic() as usize] += 1;
            }
        }
    }
    let freed = 32 * 2 - 1;
    let twiddles = 16 * 2;
    for (mnemonic, count) in [
        (Mnemonic::Madd, 8 * 32 * freed * freed),
        (Mnemonic::Msub, 8 * 32 * freed * freed),
        (Mnemonic::Mmul, 8 * 32 * freed * twiddles),
        (Mnemonic::Mbfly, 8 * 32 * 31 * twiddles),
        (Mnemonic::FbflyDit, 16 * 15 * twiddles),
        (Mnemonic::FbflyDif, 16 * 15 * twiddles),
        (Mnemonic::Ldp, 32 * 128 * 32 * (1 + 5 * 2) * 2),
        (Mnemonic::Ldt, 16 * 2048 * 32 * 2),
        (Mnemonic::Lds, 32 * 4096 * 32),
        (Mnemonic::Sts, 32 * 4096 * 32),
        (Mnemonic::Copy, 32 * 32 * 128 * 32),
        (Mnemonic::Copyk, 32 * 32 * 128 * 32),
        (Mnemonic::Phase, 1),
        // Every second distance is half an instruction.
        (Mnemonic::Jal, 32 << 19),
    ] {
        assert_eq!(counts[mnemonic as usize], count, "{mnemonic}");
        counts[mnemonic as usize] = 0;
    }
    assert!(counts.iter().all(|&count| count == 0), "other instructions among these opcodes: {counts:?}");
}

fn problem(word: u32) -> DecodeProblem {
    let error = Instruction::decode(word).unwrap_err();
    assert_eq!(error.word, word);
    assert!(error.to_string().starts_with(&format!("word {word:#010x}: ")), "{error}");
    error.problem
}

#[test]
fn refused_words() {
    // madd v1, v1!, v3, and the same for its second operand.
    let freed = |mnemonic, number| DecodeProblem::Operand(OperandError::FreesWritten { mnemonic, register: v(number) });
    assert_eq!(problem(0b00_0_1_000_00011_00001_000_00001_0101011), freed(Mnemonic::Madd, 1));
    assert_eq!(problem(0b00_1_0_001_00001_00011_000_00001_0101011), freed(Mnemonic::Msub, 1));
    assert_eq!(problem(0b00_0_1_010_00001_00011_000_00011_0101011), freed(Mnemonic::Mmul, 3));
    // The first operand of a butterfly is written whatever it is.
    for (operation, mnemonic) in [(3, Mnemonic::Mbfly), (5, Mnemonic::FbflyDit)] {
        assert_eq!(problem(0b00_0_1_000_00001_00110_000_00010_0101011 | operation << 25), freed(mnemonic, 6));
    }
    let same = |mnemonic| DecodeProblem::Operand(OperandError::SameRegister { mnemonic, register: v(6) });
    assert_eq!(problem(0b00_0_0_011_00001_00110_000_00110_0101011), same(Mnemonic::Mbfly));
    assert_eq!(problem(0b00_0_0_101_00001_00110_001_00110_0101011), same(Mnemonic::FbflyDif));
    for (word, number) in [(0b00_0_0_101_00001_00110_000_00111_0101011, 7), (0b101_00001_01001_001_00010_0101011, 9)] {
        let DecodeProblem::Operand(OperandError::OddRegister { register, .. }) = problem(word) else { panic!() };
        assert_eq!(register, v(number));
    }

    // Twiddle registers above 15 and tiles above 2^5.
    let range = |word| match problem(word) {
        DecodeProblem::Operand(OperandError::Range { mnemonic, source }) => (mnemonic, source.given, source.max),
        other => panic!("{other}"),
    };
    assert_eq!(range(0b00_0_0_010_10000_00110_000_00111_0101011), (Mnemonic::Mmul, 16, 15));
    assert_eq!(range(0b00_0_0_011_11111_00110_000_00111_0101011), (Mnemonic::Mbfly, 31, 15));
    assert_eq!(range(0b0_00000000000_00000_001_10000_0001011), (Mnemonic::Ldt, 16, 15));
    assert_eq!(range(0b0_110_0_0000000_00000_000_10000_0001011), (Mnemonic::Ldp, 6, 5));
    assert_eq!(range(0b0_111_1_0000000_00000_000_10000_0001011), (Mnemonic::Ldp, 7, 5));

    // A rotation of single rows.
    let rotated = DecodeProblem::Operand(OperandError::RotatesNothing);
    assert_eq!(problem(0b0_000_1_0000000_00000_000_10000_0001011), rotated);
    assert_eq!(problem(0b1_000_1_1111111_11111_000_11111_0001011), rotated);

    // Reserved bits.
    let reserved = |mnemonic, bits| DecodeProblem::Reserved { mnemonic, bits };
    assert_eq!(problem(0x8000_002b), reserved(Mnemonic::Madd, 0x8000_0000));
    assert_eq!(problem(0x4000_002b), reserved(Mnemonic::Madd, 0x4000_0000));
    assert_eq!(problem(0xffff_ef8b), reserved(Mnemonic::Phase, 0xffff_8f80));
    assert_eq!(problem(0b00_0_0_101_00001_00100_010_00010_0101011), reserved(Mnemonic::FbflyDit, 0x2000));
    assert_eq!(problem(0b00_0_0_101_00001_00100_111_00010_0101011), reserved(Mnemonic::FbflyDif, 0x6000));

    // No instruction at all: operations 4, 6 and 7, custom-0's funct3 7, the paper's opcodes, other standard instructions.
    let custom = [0x0800_002b, 0x2831_332b, 0x0c00_002b, 0x0e00_002b, 0x0000_700b, 0x2a, 0x2c];
    // sub, ecall, slli, jalr, beq.
    let standard = [0x4000_0033, 0x0000_0073, 0x0000_1013, 0x0000_0067, 0x0000_0063];
    for word in custom.into_iter().chain(standard).chain([0, u32::MAX]) {
        assert_eq!(problem(word), DecodeProblem::Unknown(word), "{word:#010x}");
    }

    // csrrw of mstatus and of the CSRs around ours; bne by 2 bytes, jal by 2 and by −2.
    for csr in [0x300, 0x7ff, 0x808, 0] {
        let word = csr << 20 | 0x1073;
        assert_eq!(problem(word), DecodeProblem::Operand(OperandError::NotAModulus { csr }));
    }
    let odd = |mnemonic, bytes| DecodeProblem::Operand(OperandError::BranchNotAligned { mnemonic, bytes });
    assert_eq!(problem(0x0000_1163), odd(Mnemonic::Bne, 2));
    assert_eq!(problem(0x0020_006f), odd(Mnemonic::Jal, 2));
    assert_eq!(problem(0xffff_f0ef), odd(Mnemonic::Jal, -2));
}

#[test]
fn operands_are_checked() {
    fn refused<T>(result: Result<T, RangeError>) -> (i64, i64, i64) {
        let error = result.err().expect("out of range");
        (error.given, error.min, error.max)
    }
    assert_eq!(refused(VectorRegister::new(32)), (32, 0, 31));
    assert_eq!(refused(TwiddleRegister::new(16)), (16, 0, 15));
    assert_eq!(refused(ModulusRegister::new(8)), (8, 0, 7));
    assert_eq!(refused(ScalarRegister::new(-1)), (-1, 0, 31));
    assert_eq!(refused(Core::new(u64::MAX)), (i64::MAX, 0, 31));
    assert_eq!(refused(Offset::<7>::new(128)), (128, 0, 127));
    assert_eq!(refused(Address::<12>::new(x(1), 4096)), (4096, 0, 4095));
    assert_eq!(refused(Tile::new(6, false)), (6, 0, 5));
    assert_eq!(refused(Tile::new(-1, true)), (-1, 0, 5));
    assert_eq!(refused(Immediate::new(2048)), (2048, -2048, 2047));
    assert_eq!(refused(UpperImmediate::new(1 << 20)), (1 << 20, 0, (1 << 20) - 1));
    assert_eq!(refused(BranchOffset::new(1024)), (1024, -1024, 1023));
    assert_eq!(refused(JumpOffset::new(1 << 18)), (1 << 18, -(1 << 18), (1 << 18) - 1));
    assert_eq!(refused(JumpOffset::new(-(1 << 18) - 1)), (-(1 << 18) - 1, -(1 << 18), (1 << 18) - 1));
    assert_eq!(refused(InstructionMemory::new(3)), (3, 4, 1 << 22));
    assert_eq!(
        ModulusRegister::all().map(ModulusRegister::csr).collect::<Vec<_>>(),
        (0x800..0x808).collect::<Vec<_>>()
    );
    assert_eq!((v(31).number(), t(15).number(), m(7).number(), Tile::new(5, true).unwrap().side()), (31, 15, 7, 32));
}

/// The scalar core: the same words, any register as a factor, and no other instructions.
#[test]
fn scalar_words() {
    let scalar = |operation, rd, rs1, rs2, modulus| ScalarInstruction {
        operation,
        rd: x(rd),
        rs1: x(rs1),
        rs2: x(rs2),
        modulus: m(modulus),
    };
    for (instruction, word, text) in [
        (
            scalar(ScalarOperation::Add, 10, 10, 11, 0),
            0b0000000_01011_01010_000_01010_0101011,
            "madd x10, x10, x11, m0",
        ),
        (scalar(ScalarOperation::Subtract, 1, 2, 3, 7), 0b0000001_00011_00010_111_00001_0101011, "msub x1, x2, x3, m7"),
        (
            scalar(ScalarOperation::Multiply, 5, 6, 31, 1),
            0b0000010_11111_00110_001_00101_0101011,
            "mmul x5, x6, x31, m1",
        ),
    ] {
        assert_eq!(instruction.encode(), word);
        assert_eq!(ScalarInstruction::decode(word), Ok(instruction));
        assert_eq!(instruction.to_string(), text);
        for bit in 28..32 {
            assert_eq!(ScalarInstruction::decode(word | 1 << bit), Err(ScalarDecodeError { word: word | 1 << bit }));
        }
    }
    for operation in 3..8 {
        assert!(ScalarInstruction::decode(operation << 25 | 0x2b).is_err());
    }
    assert!(ScalarInstruction::decode(0x0b).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// An instruction survives encoding and decoding, unless its operands are invalid: then decoding fails for that
    /// reason.
    #[test]
    fn instructions_come_back(instruction in any_instruction()) {
        let word = instruction.encode();
        match (instruction.check(), Instruction::decode(word)) {
            (Ok(()), decoded) => prop_assert_eq!(decoded, Ok(instruction)),
            (Err(reason), decoded) => {
                prop_assert_eq!(decoded, Err(DecodeError { word, problem: DecodeProblem::Operand(reason) }));
            }
        }
    }

    /// Random words. The standard opcodes occur often enough.
    #[test]
    fn words_come_back(word in any::<u32>(), standard in any::<bool>(), opcode in 0..7_usize) {
        let word = if standard { word & !0x7f | [0x37, 0x13, 0x33, 0x63, 0x6f, 0x73, 0x73][opcode] } else { word };
        match Instruction::decode(word) {
            Ok(instruction) => prop_assert_eq!(instruction.encode(), word),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
        if let Ok(instruction) = ScalarInstruction::decode(word) {
            prop_assert_eq!(instruction.encode(), word);
        }
        if let Ok(instruction) = paper::PaperInstruction::decode(word) {
            prop_assert_eq!(instruction.encode(), word);
        }
    }
}
