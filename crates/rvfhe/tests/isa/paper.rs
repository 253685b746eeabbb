//! The paper's own words.

use ciphermill_rvfhe::isa::paper::{NoEquivalent, PaperInstruction};
use ciphermill_rvfhe::isa::*;

use crate::strategy::{at, c, m, v, x};

fn size(size: i64) -> Offset<3> {
    Offset::new(size).unwrap()
}

/// By hand from Table 2: funct7, rs2, rs1, funct3, rd, opcode.
#[test]
fn known_words() {
    for (instruction, word, text) in [
        (
            PaperInstruction::Ldp { vd: v(9), rs1: x(10), size: size(5) },
            0b0000000_00000_01010_101_01001_0101010,
            "ldp v9, (x10), size=5",
        ),
        (
            PaperInstruction::Madd { vd: v(1), vs1: v(2), vs2: v(3) },
            0b0000000_00011_00010_000_00001_0101011,
            "madd v1, v2, v3",
        ),
        (
            PaperInstruction::Msub { vd: v(4), vs1: v(5), vs2: v(6) },
            0b0000001_00110_00101_000_00100_0101011,
            "msub v4, v5, v6",
        ),
        (
            PaperInstruction::Mmul { vd: v(31), vs1: v(30), vs2: v(29) },
            0b0000010_11101_11110_000_11111_0101011,
            "mmul v31, v30, v29",
        ),
        (
            PaperInstruction::Copy { to: c(15), from: c(1), vs1: v(7), size: size(2) },
            0b0000000_00001_00111_010_01111_0101100,
            "copy c15, c1, v7, size=2",
        ),
    ] {
        assert_eq!(instruction.encode(), word);
        assert_eq!(PaperInstruction::decode(word), Ok(instruction));
        assert_eq!(instruction.to_string(), text);
    }
}

/// Every word of the paper's three opcodes: 2^13 loads, 3 · 2^15 of arithmetic, 2^18 copies.
#[test]
fn all_words() {
    let mut counts = [0; PaperMnemonic::ALL.len()];
    for upper in 0..1_u32 << 25 {
        for opcode in [0x2a, 0x2b, 0x2c] {
            let word = upper << 7 | opcode;
            if let Ok(instruction) = PaperInstruction::decode(word) {
                assert_eq!(instruction.encode(), word);
                counts[instruction.mnemonic() as usize] += 1;
            }
        }
    }
    assert_eq!(counts, [1 << 13, 1 << 15, 1 << 15, 1 << 15, 1 << 18]);
}

#[test]
fn refused_words() {
    // funct7 3, another modulus register, rs2 of a load, funct7 of a copy, other opcodes.
    for word in [0x0600_002b, 0x0000_102b, 0x0010_002a, 0x0200_002c, 0x0b, 0x2d, 0, u32::MAX] {
        let error = PaperInstruction::decode(word).unwrap_err();
        assert_eq!(error.word, word);
    }
}

/// The arithmetic has the same words here; mmul only for existing twiddle registers.
#[test]
fn the_same_in_ours() {
    for vd in VectorRegister::all() {
        for vs1 in VectorRegister::all() {
            for vs2 in VectorRegister::all() {
                let madd = PaperInstruction::Madd { vd, vs1, vs2 };
                assert_eq!(madd.to_ours().unwrap().encode(), madd.encode());
                let msub = PaperInstruction::Msub { vd, vs1, vs2 };
                assert_eq!(msub.to_ours().unwrap().encode(), msub.encode());
                let mmul = PaperInstruction::Mmul { vd, vs1, vs2 };
                match mmul.to_ours() {
                    Ok(ours) => {
                        assert!(vs2.number() < 16);
                        assert_eq!(ours.encode(), mmul.encode());
                    }
                    Err(error) => assert_eq!(error, NoEquivalent::Factor { register: vs2.number().max(16) }),
                }
            }
        }
    }
    let madd = PaperInstruction::Madd { vd: v(1), vs1: v(2), vs2: v(3) };
    let ours = Instruction::Madd { vd: v(1), vs1: v(2).kept(), vs2: v(3).kept(), modulus: m(0) };
    assert_eq!(madd.to_ours(), Ok(ours));
    let ldp = |code| PaperInstruction::Ldp { vd: v(4), rs1: x(5), size: size(code) };
    let ours = Instruction::Ldp { vd: v(4), row: at(0, 5), tile: Tile::NONE, free: false };
    assert_eq!(ldp(0).to_ours(), Ok(ours));
    assert_eq!(ldp(1).to_ours(), Err(NoEquivalent::Size { size: 1 }));
    let copy = PaperInstruction::Copy { to: c(3), from: c(4), vs1: v(5), size: size(0) };
    assert_eq!(copy.to_ours(), Err(NoEquivalent::Row { to: c(3), vs1: v(5) }));
}
