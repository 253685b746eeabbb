//! Comparison with GNU's tools: the assembler with our macros and with standard instructions, the disassembler, the
//! compiler.

use std::fmt::Write as _;

use ciphermill_rvfhe::isa::*;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::strategy::{examples, instruction, page_example};
use crate::tools::{AS, GCC, OBJCOPY, OBJDUMP, QEMU, Tools, include_folder, lines};

/// The examples and the given number of random instructions. Branches stay near enough for the assembler.
fn instructions(others: usize) -> Vec<Instruction> {
    let mut runner = TestRunner::deterministic();
    let strategy = instruction();
    let drawn = (0..others).map(|_| strategy.new_tree(&mut runner).unwrap().current());
    examples().into_iter().chain(drawn).collect()
}

#[test]
fn the_assembler_makes_our_words() {
    let Some(tools) = Tools::find(&[AS, OBJCOPY]) else { return };
    let instructions = instructions(4_000);
    let text: Vec<String> = instructions.iter().map(gnu::gnu_text).collect();
    let output = tools.assemble(&text.join("\n"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let words = tools.words("text.o");
    assert_eq!(words.len(), instructions.len());
    for ((instruction, text), word) in instructions.iter().zip(&text).zip(words) {
        assert_eq!(instruction.encode(), word, "{text}: {:#010x} and {word:#010x}", instruction.encode());
    }
}

/// Each custom word is one unknown instruction of four bytes. Each standard one has the same text as ours.
#[test]
fn the_disassembler_reads_our_words() {
    let Some(tools) = Tools::find(&[OBJDUMP]) else { return };
    let instructions = instructions(4_000);
    let bytes: Vec<u8> = instructions.iter().flat_map(|instruction| instruction.encode().to_le_bytes()).collect();
    tools.write("words.bin", bytes);
    let options = ["-b", "binary", "-m", "riscv:rv64", "-M", "no-aliases,numeric", "-D", "-z", "words.bin"];
    let lines = lines(&tools.output(OBJDUMP, &options));
    assert_eq!(lines.len(), instructions.len());
    for (index, (instruction, line)) in instructions.iter().zip(&lines).enumerate() {
        assert_eq!(line.address, 4 * index as u64);
        assert_eq!(line.digits, format!("{:08x}", instruction.encode()));
        if instruction.mnemonic().encoding().extension == "rv_xrvfhe" {
            // binutils 2.40 says `.4byte 0x…`, later ones `.insn 4, 0x…`.
            let raw = format!("{:#x}", instruction.encode());
            let known = [format!(".4byte {raw}"), format!(".insn 4, {raw}")];
            assert!(known.contains(&line.text), "{instruction}: {}", line.text);
        } else {
            // Behind `#` it says what address it takes the result for.
            let text = line.text.split(" #").next().unwrap_or_default();
            assert_eq!(text, as_objdump(instruction, line.address), "{instruction}");
        }
    }
}

/// A standard instruction in objdump's syntax.
fn as_objdump(instruction: &Instruction, address: u64) -> String {
    let text = match *instruction {
        Instruction::Bne { rs1, rs2, offset } => {
            let target = address.wrapping_add_signed(offset.bytes().into());
            format!("bne {rs1}, {rs2}, {target:#x}")
        }
        Instruction::Jal { rd, offset } => {
            format!("jal {rd}, {:#x}", address.wrapping_add_signed(offset.bytes().into()))
        }
        Instruction::Csrrw { rd, modulus, rs1 } => format!("csrrw {rd}, {:#x}, {rs1}", modulus.csr()),
        _ => instruction.to_string(),
    };
    text.replace(", ", ",")
}

/// Operands that the macros reject, with the messages.
#[test]
fn the_macros_check_their_operands() {
    let Some(tools) = Tools::find(&[AS]) else { return };
    for (text, expected) in [
        ("rvfhe.madd v1, v32, v3, m0", "rvfhe.madd: v32 is not a vector register, v0 to v31"),
        ("rvfhe.madd v1, x2, v3, m0", "rvfhe.madd: x2 is not a vector register, v0 to v31"),
        ("rvfhe.madd v1, v2, v3", "rvfhe.madd:  is not a modulus register, m0 to m7"),
        ("rvfhe.mmul v1, v2, t16, m0", "rvfhe.mmul: t16 is not a twiddle register, t0 to t15"),
        ("rvfhe.msub v1, v2, v3, m8", "rvfhe.msub: m8 is not a modulus register, m0 to m7"),
        ("rvfhe.msub v1, v1, v3, m0, free1=1", "rvfhe.msub: v1 is written, so it cannot be freed"),
        ("rvfhe.msub v1, v3, v1, m0, free2=1", "rvfhe.msub: v1 is written, so it cannot be freed"),
        ("rvfhe.mmul v1, v1, t1, m0, free1=1", "rvfhe.mmul: v1 is written, so it cannot be freed"),
        ("rvfhe.madd v1, v2, v3, m0, free1=2", "rvfhe.madd: free1 must be 0 to 1, not 2"),
        ("rvfhe.mbfly v1, v1, t3, m0", "rvfhe.mbfly: both results would go to v1"),
        ("rvfhe.fbfly.dit v2, v5, t3", "rvfhe.fbfly.dit: v2 and v5 must be even"),
        ("rvfhe.fbfly.dif v2, v2, t3", "rvfhe.fbfly.dif: both results would go to v2"),
        ("rvfhe.ldp v1, 128, x2", "rvfhe.ldp: offset must be 0 to 127, not 128"),
        ("rvfhe.ldp v1, -1, x2", "rvfhe.ldp: offset must be 0 to 127, not -1"),
        ("rvfhe.ldp v1, 0, x2, tile=6", "rvfhe.ldp: tile must be 0 to 5, not 6"),
        ("rvfhe.ldp v1, 0, x2, tile=1, rotate=2", "rvfhe.ldp: rotate must be 0 to 1, not 2"),
        ("rvfhe.ldp v1, 0, x2, rotate=1", "rvfhe.ldp: rotate needs a tile of 1 to 5"),
        ("rvfhe.ldt t1, 2048, a0", "rvfhe.ldt: offset must be 0 to 2047, not 2048"),
        ("rvfhe.lds v1, 4096, a0", "rvfhe.lds: offset must be 0 to 4095, not 4096"),
        ("rvfhe.sts v1, 4096, v0", "rvfhe.sts: offset must be 0 to 4095, not 4096"),
        ("rvfhe.copy c32, v1, 0, a0", "rvfhe.copy: c32 is not a core, c0 to c31"),
        ("rvfhe.copyk c1, v1, 128, a0", "rvfhe.copyk: offset must be 0 to 127, not 128"),
    ] {
        let output = tools.assemble(text);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{text}");
        assert!(errors.contains(expected), "{text}: {errors}");
    }
}

/// Expressions, symbols and ABI names.
#[test]
fn the_macros_take_expressions() {
    let Some(tools) = Tools::find(&[AS, OBJCOPY]) else { return };
    let text = ".set ROWS, 8\nloop: rvfhe.ldp v3, ROWS * 2 + 1, a0, tile=ROWS - 3, rotate=ROWS / 8, free=1\n\
                rvfhe.sts v3, ROWS | 0x800, sp\nbne a0, a1, loop\nj loop\nebreak";
    let output = tools.assemble(text);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ours = "loop: ldp v3, 17(x10)!, tile=5, rotate\nsts v3, 0x808(x2)\nbne x10, x11, loop\n\
                jal x0, loop\nebreak";
    let program = assemble(ours, Core::new(0).unwrap(), InstructionMemory::PAPER).unwrap().program;
    let words: Vec<u32> = program.instructions().iter().map(Instruction::encode).collect();
    assert_eq!(tools.words("text.o"), words);
}

/// The examples of the reference page: the program is valid, and the C code compiles.
#[test]
fn the_pages_examples_assemble_and_compile() {
    let Some(tools) = Tools::find(&[AS, OBJCOPY, GCC]) else { return };
    // `assemble` includes the macros already.
    let text = page_example("asm").replace(".include \"rvfhe.inc\"", "");
    let output = tools.assemble(&text);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes: Vec<u8> = tools.words("text.o").iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = Program::from_bytes(Core::new(0).unwrap(), &bytes, InstructionMemory::PAPER).unwrap();
    let expected = "l0:\n    ldp v0, 0(x10)!\n    ldp v1, 8(x10)!, tile=2, rotate\n    mbfly v0, v1, t0, m0\n    \
                    madd v2, v0!, v1, m0\n    copy c1, v2, 0(x10)\n    addi x10, x10, -1\n    bne x10, x0, l0\n    phase\n    \
                    csrrw x0, m0, x11\n    ebreak\n";
    assert_eq!(program.to_string(), expected);

    tools.write("example.c", page_example("c"));
    let include = format!("-I{}", include_folder().display());
    tools.output(GCC, &["-O2", "-Wall", "-Werror", &include, "-c", "example.c"]);
}

/// The paper's opcodes of LDP and COPY are those of 16-bit instructions. The assembler rejects such a word of four
/// bytes, and the disassembler reads two bytes of it.
#[test]
fn the_papers_opcodes_are_not_of_32_bits() {
    let Some(tools) = Tools::find(&[AS, OBJDUMP]) else { return };
    let size = Offset::new(0).unwrap();
    let core = |number| Core::new(number).unwrap();
    let (vd, rs1) = (VectorRegister::new(3).unwrap(), ScalarRegister::new(4).unwrap());
    let ldp = paper::PaperInstruction::Ldp { vd, rs1, size };
    let copy = paper::PaperInstruction::Copy { to: core(1), from: core(2), vs1: vd, size };
    for instruction in [ldp, copy] {
        let word = instruction.encode();
        let output = tools.assemble(&format!(".insn 4, {word:#010x}"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && errors.contains("conflicts with instruction length"),
            "{word:#x}: {errors}"
        );

        tools.write("paper.bin", word.to_le_bytes());
        let shown = tools.output(OBJDUMP, &["-b", "binary", "-m", "riscv:rv64", "-D", "-z", "paper.bin"]);
        let first = lines(&shown).into_iter().next().unwrap();
        assert_eq!(first.digits, format!("{:04x}", word & 0xffff), "{shown}");
    }
    // Its arithmetic, and ours, is of four bytes.
    for word in [0x2b_u32, 0x0b] {
        assert!(tools.assemble(&format!(".insn 4, {word:#010x}")).status.success());
    }
}

/// Every function of the header compiles to its one instruction, on the registers of its arguments.
#[test]
fn the_header_makes_our_words() {
    let Some(tools) = Tools::find(&[GCC, OBJDUMP]) else { return };
    let mut text = "#include \"rvfhe.h\"\n".to_owned();
    let mut expected: Vec<u32> = Vec::new();
    let register = |number| ScalarRegister::new(number).unwrap();
    for modulus in ModulusRegister::all() {
        let k = modulus.number();
        let _ = writeln!(text, "void set{k}(uint32_t m) {{ rvfhe_set_modulus{k}(m); }}");
        expected.push(Instruction::Csrrw { rd: ScalarRegister::ZERO, modulus, rs1: register(10) }.encode());
        for (operation, name, second) in [
            (ScalarOperation::Add, "madd", "uint32_t"),
            (ScalarOperation::Subtract, "msub", "uint32_t"),
            (ScalarOperation::Multiply, "mmul", "uint64_t"),
        ] {
            let _ = writeln!(text, "uint32_t {name}{k}(uint32_t x, {second} y) {{ return rvfhe_{name}{k}(x, y); }}");
            let (rd, rs1, rs2) = (register(10), register(10), register(11));
            let instruction = ScalarInstruction { operation, rd, rs1, rs2, modulus };
            assert_eq!(ScalarInstruction::decode(instruction.encode()), Ok(instruction));
            expected.push(instruction.encode());
        }
    }
    tools.write("functions.c", text);
    let include = format!("-I{}", include_folder().display());
    let warnings = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
    tools.output(GCC, &[&["-O2", &include, "-c", "functions.c"], &warnings[..]].concat());
    let shown = tools.output(OBJDUMP, &["-d", "-M", "no-aliases", "functions.o"]);
    let made: Vec<u32> = lines(&shown)
        .iter()
        .filter(|line| line.digits.len() == 8)
        .map(|line| u32::from_str_radix(&line.digits, 16).unwrap())
        .filter(|word| [0x2b, 0x73].contains(&(word & 0x7f)))
        .collect();
    assert_eq!(made, expected, "{shown}");
}

/// `rvfhe_pair` on QEMU's RISC-V compared with the 128-bit definition.
#[test]
fn the_headers_pair_is_a_factor_with_its_companion() {
    let Some(tools) = Tools::find(&[GCC, QEMU]) else { return };
    let moduli = [1, 2, 3, 12289, 998_244_353, 0x7fff_ffff, 0x8000_0000_u32];
    let factors = |m: u32| [0, 1, m / 2, m / 3, m - 1].map(|factor| factor % m);
    let pairs: Vec<(u32, u32)> = moduli.iter().flat_map(|&m| factors(m).map(|factor| (factor, m))).collect();
    let mut text = "#include <stdio.h>\n#include \"rvfhe.h\"\nint main(void) {\n".to_owned();
    for (factor, m) in &pairs {
        let _ = writeln!(text, "printf(\"%016llx\\n\", (unsigned long long)rvfhe_pair({factor}u, {m}u));");
    }
    tools.write("pairs.c", text + "return 0; }\n");
    let include = format!("-I{}", include_folder().display());
    tools.output(GCC, &["-O1", "-static", &include, "-o", "pairs", "pairs.c"]);
    let shown = tools.output(QEMU, &["pairs"]);
    let made: Vec<u64> = shown.lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect();
    let expected: Vec<u64> = pairs
        .iter()
        .map(|&(factor, m)| {
            let companion = (u128::from(factor) << 32) / u128::from(m);
            u64::try_from(companion << 32 | u128::from(factor)).unwrap()
        })
        .collect();
    assert_eq!(made, expected);
}
