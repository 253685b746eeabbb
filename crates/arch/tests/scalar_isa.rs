//! Every instruction compared with a plain definition on chosen operands, the M extension with 128-bit arithmetic on
//! random operands, and random programs with QEMU.

use crate::scalar_support::assemble::*;
use crate::scalar_support::machine;
use crate::scalar_support::tools::{Folder, have, qemu};
use ciphermill_arch::scalar::{Execution, ExecutionReport, Instruction, Program, ScalarError, simulate};
use proptest::prelude::*;

fn execute(code: &[u32], input: &[u8]) -> Result<ExecutionReport, ScalarError> {
    let program = Program::from_elf(&elf(code)).expect("a program");
    let execution = Execution {
        program: &program,
        input,
        output_max: DATA_BYTES as usize,
        instructions_max: 1_000_000,
        region: None,
    };
    simulate(&machine(true), &execution)
}

/// Operands at the limits of signs, widths and overflows.
const VALUES: [u64; 21] = [
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    63,
    64,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
    0x1_0000_0000,
    0x1234_5678_9abc_def0,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_0000_0001,
    0xffff_ffff_8000_0000,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_ffff_ffff,
];

/// The result of an instruction with two operands, by the text of the manual, in wide arithmetic without overflow.
fn define(name: &str, x: u64, y: u64) -> u64 {
    let (sx, sy) = (i128::from(x as i64), i128::from(y as i64));
    let (ux, uy) = (x as u128, y as u128);
    let (wx, wy) = (i128::from(x as i32), i128::from(y as i32));
    let (vx, vy) = (u128::from(x as u32), u128::from(y as u32));
    let word = |v: i128| v as i32 as i64 as u64;
    match name {
        "add" => (ux + uy) as u64,
        "sub" => (sx - sy) as u64,
        "sll" => (ux << (y & 63)) as u64,
        "slt" => u64::from(sx < sy),
        "sltu" => u64::from(ux < uy),
        "xor" => (0..64).map(|i| u64::from((x >> i & 1) != (y >> i & 1)) << i).sum(),
        "srl" => (ux >> (y & 63)) as u64,
        "sra" => (sx >> (y & 63)) as u64,
        "or" => (0..64).map(|i| u64::from((x >> i & 1) + (y >> i & 1) > 0) << i).sum(),
        "and" => (0..64).map(|i| ((x >> i & 1) * (y >> i & 1)) << i).sum(),
        "mul" => (ux.wrapping_mul(uy)) as u64,
        "mulh" => ((sx * sy) >> 64) as u64,
        "mulhsu" => ((sx * uy as i128) >> 64) as u64,
        "mulhu" => ((ux * uy) >> 64) as u64,
        "div" => {
            if y == 0 {
                u64::MAX
            } else {
                (sx / sy) as u64
            }
        }
        "divu" => {
            if y == 0 {
                u64::MAX
            } else {
                (ux / uy) as u64
            }
        }
        "rem" => {
            if y == 0 {
                x
            } else {
                (sx % sy) as u64
            }
        }
        "remu" => {
            if y == 0 {
                x
            } else {
                (ux % uy) as u64
            }
        }
        "addw" => word(wx + wy),
        "subw" => word(wx - wy),
        "sllw" => word(wx << (y & 31)),
        "srlw" => word((vx >> (y & 31)) as i128),
        "sraw" => word(wx >> (y & 31)),
        "mulw" => word(wx * wy),
        "divw" => word(if wy == 0 { -1 } else { wx / wy }),
        "divuw" => word(vx.checked_div(vy).map_or(-1, |quotient| quotient as i128)),
        "remw" => word(if wy == 0 { wx } else { wx % wy }),
        "remuw" => word(if vy == 0 { vx as i128 } else { (vx % vy) as i128 }),
        _ => panic!("no definition of {name}"),
    }
}

/// Runs one instruction of each kind in `words` on a pair of operands in x5 and x6, results from x7 on.
fn results(words: &[u32], pairs: &[(u64, u64)]) -> Vec<Vec<u64>> {
    assert!(words.len() <= 1024 / 8);
    let mut code = read(DATA, 16);
    code.extend(li(8, DATA));
    code.extend([load("ld", 5, 8, 0), load("ld", 6, 8, 8)]);
    for (i, word) in words.iter().enumerate() {
        code.extend([*word, store(3, 7, 8, 16 + 8 * i as i32)]);
    }
    code.extend(write(DATA + 16, 8 * words.len() as u64));
    code.extend(exit(0));
    let of_pair = |&(x, y): &(u64, u64)| {
        let input: Vec<u8> = [x, y].iter().flat_map(|v| v.to_le_bytes()).collect();
        let report = execute(&code, &input).expect("it runs");
        assert_eq!(report.status, 0);
        report.output.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
    };
    pairs.iter().map(of_pair).collect()
}

fn check_register_instructions(pairs: &[(u64, u64)]) {
    let words: Vec<u32> = REGISTER.iter().map(|&(_, op, f3, f7)| r_type(op, f3, f7, 7, 5, 6)).collect();
    for (found, &(x, y)) in results(&words, pairs).iter().zip(pairs) {
        for (&value, (name, ..)) in found.iter().zip(REGISTER) {
            assert_eq!(value, define(name, x, y), "{name} {x:#x}, {y:#x}");
        }
    }
}

#[test]
fn instructions_with_two_registers() {
    let pairs: Vec<_> = VALUES.iter().flat_map(|&x| VALUES.iter().map(move |&y| (x, y))).collect();
    check_register_instructions(&pairs);
}

#[test]
fn known_answers_of_the_m_extension() {
    // The tables of chapter 7: by zero, and the overflow of signed division.
    let minimum = 1u64 << 63;
    let minimum_word = 0xffff_ffff_8000_0000;
    let minus_one = u64::MAX;
    let cases = [
        ("div", 5, 0, minus_one),
        ("divu", 5, 0, minus_one),
        ("rem", 5, 0, 5),
        ("remu", 5, 0, 5),
        ("div", minimum, minus_one, minimum),
        ("rem", minimum, minus_one, 0),
        ("divw", 5, 0, minus_one),
        ("divuw", 5, 0, minus_one),
        ("remw", minimum_word, 0, minimum_word),
        ("remuw", 0x8000_0000, 0, minimum_word),
        ("divw", minimum_word, minus_one, minimum_word),
        ("remw", minimum_word, minus_one, 0),
        ("div", minus_one - 6, 2, minus_one - 2),
        ("rem", minus_one - 6, 2, minus_one),
        ("mulh", minus_one, minus_one, 0),
        ("mulhsu", minus_one, minus_one, minus_one),
        ("mulhu", minus_one, minus_one, minus_one - 1),
        ("mulw", 0x1_0000_0000, 3, 0),
    ];
    for (name, x, y, answer) in cases {
        assert_eq!(results(&[register(name, 7, 5, 6)], &[(x, y)])[0][0], answer, "{name} {x:#x}, {y:#x}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn any_operands(x: u64, y: u64, narrow_x in 0u32..64, narrow_y in 0u32..64) {
        check_register_instructions(&[(x, y), (x >> narrow_x, y >> narrow_y)]);
    }

    /// No word makes the decoder panic, and the registers of a decoded word are those of the manual.
    #[test]
    fn any_word(word: u32) {
        if let Some(i) = Instruction::decode(word) {
            prop_assert!([i.rd, i.rs1, i.rs2].iter().all(|&register| register < 32));
        }
    }
}

#[test]
fn instructions_with_an_immediate() {
    for (name, opcode, funct3, fixed, bits) in IMMEDIATE {
        let immediates: Vec<i32> = match bits {
            12 => vec![-2048, -2047, -1, 0, 1, 2, 1000, 2047],
            bits => (0..1 << bits).collect(),
        };
        let words: Vec<u32> =
            immediates.iter().map(|imm| i_type(opcode, funct3, 7, 5, imm & ((1 << bits) - 1)) | fixed << 20).collect();
        let operation = if let Some(stem) = name.strip_suffix("iw") {
            format!("{stem}w")
        } else if name == "sltiu" {
            "sltu".into()
        } else {
            name.trim_end_matches('i').into()
        };
        let pairs: Vec<_> = VALUES.iter().map(|&x| (x, 0)).collect();
        for (found, (x, _)) in results(&words, &pairs).iter().zip(&pairs) {
            for (&value, &imm) in found.iter().zip(&immediates) {
                assert_eq!(value, define(&operation, *x, i64::from(imm) as u64), "{name} {x:#x}, {imm}");
            }
        }
    }
}

#[test]
fn loads_and_stores() {
    // Stores a value over ones, then loads it in every width.
    let value = 0x8182_8384_8586_8788u64;
    for (store_name, store_funct3, store_bytes) in STORES {
        for (load_name, load_funct3, load_bytes) in LOADS {
            let mut code = read(DATA, 24);
            code.extend(li(8, DATA + 16));
            code.extend([load("ld", 5, 8, -16), addi(6, 0, -1), store(3, 6, 8, 0)]);
            code.extend([store(store_funct3, 5, 8, 0), i_type(0x03, load_funct3, 7, 8, 0), store(3, 7, 8, 8)]);
            code.extend(write(DATA + 24, 8));
            code.extend(exit(0));
            let input: Vec<u8> = value.to_le_bytes().into_iter().chain([0; 16]).collect();
            let report = execute(&code, &input).expect("it runs");
            let mut memory = [0xff; 8];
            memory[..store_bytes as usize].copy_from_slice(&value.to_le_bytes()[..store_bytes as usize]);
            let mut loaded = [0; 8];
            loaded[..load_bytes as usize].copy_from_slice(&memory[..load_bytes as usize]);
            if !load_name.ends_with('u') && memory[load_bytes as usize - 1] >= 0x80 {
                loaded[load_bytes as usize..].fill(0xff);
            }
            assert_eq!(report.output, loaded, "{store_name}, {load_name}");
        }
    }
}

#[test]
fn branches_and_jumps() {
    for (name, funct3) in BRANCHES {
        for &x in &VALUES {
            for &y in &VALUES {
                let taken = match name {
                    "beq" => x == y,
                    "bne" => x != y,
                    "blt" => (x as i64) < y as i64,
                    "bge" => x as i64 >= y as i64,
                    "bltu" => x < y,
                    _ => x >= y,
                };
                let mut code = read(DATA, 16);
                code.extend(li(8, DATA));
                code.extend([load("ld", 5, 8, 0), load("ld", 6, 8, 8)]);
                code.extend([addi(A0, 0, 1), branch(funct3, 5, 6, 8), addi(A0, 0, 0), addi(A7, 0, 93), ECALL]);
                let input: Vec<u8> = [x, y].iter().flat_map(|v| v.to_le_bytes()).collect();
                let report = execute(&code, &input).expect("it runs");
                assert_eq!(report.status, i32::from(taken), "{name} {x:#x}, {y:#x}");
            }
        }
    }
    // Backward and far, with nops between. jal and jalr leave the address behind them; jalr clears bit 0.
    let nop = addi(0, 0, 0);
    let mut code = vec![jal(5, 4 * 1001)];
    code.resize(1001, nop);
    code.push(branch(0, 0, 0, -4 * 500));
    code[501] = jalr(6, 5, 4 * 499 + 1);
    code[500] = jal(7, 4 * 3);
    code[503] = auipc(28, 0xfffff);
    let mut tail = li(8, DATA).to_vec();
    for (i, register) in [5, 6, 7, 28].into_iter().enumerate() {
        tail.push(store(3, register, 8, 8 * i as i32));
    }
    tail.extend(write(DATA, 32));
    tail.extend(exit(0));
    code.splice(504..504 + tail.len(), tail);
    let report = execute(&code, &[]).expect("it runs");
    let at = |index: u64| CODE + 4 * index;
    let words = [at(1), at(502), at(501), at(503) - 0x1000];
    let bytes: Vec<u8> = words.iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(report.output, bytes);
}

#[test]
fn upper_immediates_and_register_zero() {
    let words = [lui(7, 0x12345), lui(7, 0x80000), addi(0, 0, 5), register("add", 7, 0, 0), 0x0ff0_000f];
    let found = &results(&words, &[(0, 0)])[0];
    assert_eq!(found[..2], [0x1234_5000, 0xffff_ffff_8000_0000]);
    assert_eq!(found[3..], [0, 0], "x0 stays 0, fence does nothing");
}

/// x5 = first operand, x6 = second, modulus register = m; the result of a modular operation, and the CSR's value after
/// it.
fn modular(operation: u32, register: u32, [x, y, m]: [u64; 3]) -> [u64; 2] {
    let csrrw = |rd: u32, rs1: u32| i_type(0x73, 1, rd, rs1, 0x800 + register as i32);
    let mut code = read(DATA, 24);
    code.extend(li(8, DATA));
    code.extend([load("ld", 5, 8, 0), load("ld", 6, 8, 8), load("ld", 9, 8, 16), csrrw(0, 9)]);
    code.extend([r_type(0x2b, register, operation, 7, 5, 6), store(3, 7, 8, 0), csrrw(28, 0), store(3, 28, 8, 8)]);
    code.extend(write(DATA, 16));
    code.extend(exit(0));
    let input: Vec<u8> = [x, y, m].iter().flat_map(|v| v.to_le_bytes()).collect();
    let output = execute(&code, &input).expect("it runs").output;
    [0, 8].map(|at| u64::from_le_bytes(output[at..at + 8].try_into().expect("eight bytes")))
}

#[test]
fn modular_instructions() {
    for m in [1u64, 2, 3, 97, 12289, 0x7ffe_0001, 0x7fff_ffff, 0x8000_0000] {
        let operands: Vec<u64> = [0, 1, m / 3, m / 2, m - 1].into_iter().filter(|v| *v < m).collect();
        for register in 0..8 {
            for &x in &operands {
                for &y in &operands {
                    assert_eq!(modular(0, register, [x, y, m]), [(x + y) % m, m], "{x} + {y} modulo {m}");
                    assert_eq!(modular(1, register, [x, y, m]), [(x + m - y) % m, m], "{x} - {y} modulo {m}");
                    let pair = y | ((y << 32) / m) << 32;
                    // The first operand of a product may be any word.
                    for word in [x, u64::from(u32::MAX) - x] {
                        assert_eq!(modular(2, register, [word, pair, m])[0], word * y % m, "{word} * {y} modulo {m}");
                    }
                }
            }
        }
    }
    // Only the low words of operands count.
    assert_eq!(modular(0, 0, [5 | 7 << 40, 6 | 9 << 40, 7])[0], 4);
}

/// A random program without loops: arithmetic, loads and stores in its data, forward branches. At the end it writes all
/// registers.
fn random_program(seed: u64) -> Vec<u32> {
    let mut state = seed;
    let mut random = |below: u32| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u32 % below
    };
    // x8 points to data; all others may be anything.
    const BASE: u32 = 8;
    let mut code = read(DATA, 32 * 8);
    code.extend(li(BASE, DATA));
    let others: Vec<u32> = (1..32).filter(|&r| r != BASE).collect();
    for &r in &others {
        code.push(load("ld", r, BASE, 8 * r as i32));
    }
    for _ in 0..400 {
        let rd = others[random(30) as usize];
        let (rs1, rs2) = (random(32), random(32));
        let word = match random(12) {
            0..=4 => {
                let (_, opcode, funct3, funct7) = REGISTER[random(28) as usize];
                r_type(opcode, funct3, funct7, rd, rs1, rs2)
            }
            5..=7 => {
                let (_, opcode, funct3, fixed, bits) = IMMEDIATE[random(13) as usize];
                i_type(opcode, funct3, rd, rs1, random(1 << bits) as i32) | fixed << 20
            }
            8 => {
                let (_, funct3, bytes) = LOADS[random(7) as usize];
                i_type(0x03, funct3, rd, BASE, (random(2048 / bytes as u32) * bytes as u32) as i32)
            }
            9 => {
                let (_, funct3, bytes) = STORES[random(4) as usize];
                store(funct3, rs2, BASE, (random(2048 / bytes as u32) * bytes as u32) as i32)
            }
            10 => branch(BRANCHES[random(6) as usize].1, rs1, rs2, 4 + 4 * random(2) as i32),
            _ => match random(3) {
                0 => lui(rd, random(1 << 20)),
                1 => auipc(rd, random(1 << 20)),
                _ => jal(rd, 4 + 4 * random(2) as i32),
            },
        };
        code.push(word);
    }
    // The last branch may skip one.
    code.push(addi(0, 0, 0));
    for &r in &others {
        code.push(store(3, r, BASE, 1024 + 8 * r as i32));
    }
    code.extend(write(DATA, 2048));
    code.extend(exit(0));
    code
}

#[test]
fn random_programs_do_what_they_do_in_qemu() {
    if !have("qemu-riscv64", "the model against another implementation") {
        return;
    }
    let folder = Folder::new("scalar-isa");
    for seed in 0..100u64 {
        let code = random_program(seed);
        let input: Vec<u8> = (0..32)
            .map(|i| VALUES[(seed as usize * 7 + i * 5) % VALUES.len()].rotate_left((seed % 3) as u32))
            .flat_map(u64::to_le_bytes)
            .collect();
        let (status, output) = qemu(&folder, &elf(&code), &input);
        let report = execute(&code, &input).expect("it runs");
        assert_eq!(report.status, status, "seed {seed}");
        assert!(report.output == output, "seed {seed}: memory differs");
    }
}
