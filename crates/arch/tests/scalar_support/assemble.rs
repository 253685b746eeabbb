//! Instruction words from fields, by the tables in chapter 24 of the RISC-V manual (20191213), and ELF files with them.
//! Nothing here is shared with the model's decoder.

/// The address of a test program's code.
pub const CODE: u64 = 0x10000;
/// The address of its writable memory: [`DATA_BYTES`] zeros.
pub const DATA: u64 = 0x40000;
pub const DATA_BYTES: u64 = 0x4000;

pub const ZERO: u32 = 0;
pub const A0: u32 = 10;
pub const A1: u32 = 11;
pub const A2: u32 = 12;
pub const A7: u32 = 17;

/// (name, opcode, funct3, funct7) of the instructions with two register operands.
pub const REGISTER: [(&str, u32, u32, u32); 28] = [
    ("add", 0x33, 0, 0),
    ("sub", 0x33, 0, 0x20),
    ("sll", 0x33, 1, 0),
    ("slt", 0x33, 2, 0),
    ("sltu", 0x33, 3, 0),
    ("xor", 0x33, 4, 0),
    ("srl", 0x33, 5, 0),
    ("sra", 0x33, 5, 0x20),
    ("or", 0x33, 6, 0),
    ("and", 0x33, 7, 0),
    ("mul", 0x33, 0, 1),
    ("mulh", 0x33, 1, 1),
    ("mulhsu", 0x33, 2, 1),
    ("mulhu", 0x33, 3, 1),
    ("div", 0x33, 4, 1),
    ("divu", 0x33, 5, 1),
    ("rem", 0x33, 6, 1),
    ("remu", 0x33, 7, 1),
    ("addw", 0x3b, 0, 0),
    ("subw", 0x3b, 0, 0x20),
    ("sllw", 0x3b, 1, 0),
    ("srlw", 0x3b, 5, 0),
    ("sraw", 0x3b, 5, 0x20),
    ("mulw", 0x3b, 0, 1),
    ("divw", 0x3b, 4, 1),
    ("divuw", 0x3b, 5, 1),
    ("remw", 0x3b, 6, 1),
    ("remuw", 0x3b, 7, 1),
];

/// (name, opcode, funct3, bits 31:20 without the operand, bits of the operand) of the instructions with an immediate.
pub const IMMEDIATE: [(&str, u32, u32, u32, u32); 13] = [
    ("addi", 0x13, 0, 0, 12),
    ("slti", 0x13, 2, 0, 12),
    ("sltiu", 0x13, 3, 0, 12),
    ("xori", 0x13, 4, 0, 12),
    ("ori", 0x13, 6, 0, 12),
    ("andi", 0x13, 7, 0, 12),
    ("slli", 0x13, 1, 0, 6),
    ("srli", 0x13, 5, 0, 6),
    ("srai", 0x13, 5, 0x400, 6),
    ("addiw", 0x1b, 0, 0, 12),
    ("slliw", 0x1b, 1, 0, 5),
    ("srliw", 0x1b, 5, 0, 5),
    ("sraiw", 0x1b, 5, 0x400, 5),
];

/// (name, funct3, bytes) of loads and of stores.
pub const LOADS: [(&str, u32, u64); 7] =
    [("lb", 0, 1), ("lh", 1, 2), ("lw", 2, 4), ("ld", 3, 8), ("lbu", 4, 1), ("lhu", 5, 2), ("lwu", 6, 4)];
pub const STORES: [(&str, u32, u64); 4] = [("sb", 0, 1), ("sh", 1, 2), ("sw", 2, 4), ("sd", 3, 8)];
/// (name, funct3) of conditional branches.
pub const BRANCHES: [(&str, u32); 6] = [("beq", 0), ("bne", 1), ("blt", 4), ("bge", 5), ("bltu", 6), ("bgeu", 7)];

pub fn r_type(opcode: u32, funct3: u32, funct7: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

pub fn i_type(opcode: u32, funct3: u32, rd: u32, rs1: u32, imm: i32) -> u32 {
    (imm as u32 & 0xfff) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

pub fn store(funct3: u32, rs2: u32, rs1: u32, imm: i32) -> u32 {
    let imm = imm as u32;
    (imm >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (imm & 0x1f) << 7 | 0x23
}

pub fn branch(funct3: u32, rs1: u32, rs2: u32, offset: i32) -> u32 {
    let imm = offset as u32;
    (imm >> 12 & 1) << 31
        | (imm >> 5 & 0x3f) << 25
        | rs2 << 20
        | rs1 << 15
        | funct3 << 12
        | (imm >> 1 & 0xf) << 8
        | (imm >> 11 & 1) << 7
        | 0x63
}

pub fn jal(rd: u32, offset: i32) -> u32 {
    let imm = offset as u32;
    (imm >> 20 & 1) << 31 | (imm >> 1 & 0x3ff) << 21 | (imm >> 11 & 1) << 20 | (imm >> 12 & 0xff) << 12 | rd << 7 | 0x6f
}

pub fn jalr(rd: u32, rs1: u32, imm: i32) -> u32 {
    i_type(0x67, 0, rd, rs1, imm)
}

pub fn lui(rd: u32, upper: u32) -> u32 {
    upper << 12 | rd << 7 | 0x37
}

pub fn auipc(rd: u32, upper: u32) -> u32 {
    upper << 12 | rd << 7 | 0x17
}

pub fn addi(rd: u32, rs1: u32, imm: i32) -> u32 {
    i_type(0x13, 0, rd, rs1, imm)
}

pub fn load(name: &str, rd: u32, rs1: u32, imm: i32) -> u32 {
    let (_, funct3, _) = *LOADS.iter().find(|(n, ..)| *n == name).expect("a load");
    i_type(0x03, funct3, rd, rs1, imm)
}

pub fn register(name: &str, rd: u32, rs1: u32, rs2: u32) -> u32 {
    let (_, opcode, funct3, funct7) = *REGISTER.iter().find(|(n, ..)| *n == name).expect("an instruction");
    r_type(opcode, funct3, funct7, rd, rs1, rs2)
}

pub const ECALL: u32 = 0x0000_0073;
pub const EBREAK: u32 = 0x0010_0073;

/// rd = a value below 2^31, in two instructions.
pub fn li(rd: u32, value: u64) -> [u32; 2] {
    assert!(value < 0x7fff_f800);
    let value = value as u32;
    let low = (value << 20) as i32 >> 20;
    [lui(rd, value.wrapping_sub(low as u32) >> 12), addi(rd, rd, low)]
}

pub fn system_call(number: u64, file: u64, address: u64, length: u64) -> Vec<u32> {
    let mut code: Vec<u32> =
        [(A7, number), (A0, file), (A1, address), (A2, length)].into_iter().flat_map(|(r, v)| li(r, v)).collect();
    code.push(ECALL);
    code
}

pub fn read(address: u64, length: u64) -> Vec<u32> {
    system_call(63, 0, address, length)
}

pub fn write(address: u64, length: u64) -> Vec<u32> {
    system_call(64, 1, address, length)
}

pub fn exit(status: u64) -> Vec<u32> {
    system_call(93, status, 0, 0)
}

/// A segment of an ELF file.
pub struct Segment {
    pub address: u64,
    pub bytes: Vec<u8>,
    pub memory_bytes: u64,
    /// 1 executable, 2 writable, 4 readable.
    pub flags: u32,
}

/// An ELF file with `code` at [`CODE`] and zeros at [`DATA`].
pub fn elf(code: &[u32]) -> Vec<u8> {
    let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    elf_of(
        CODE,
        &[
            Segment { address: CODE, memory_bytes: bytes.len() as u64, bytes, flags: 5 },
            Segment { address: DATA, memory_bytes: DATA_BYTES, bytes: vec![], flags: 6 },
        ],
    )
}

/// A static 64-bit RISC-V ELF file. Segments are at multiples of 4 KiB in the file.
pub fn elf_of(entry: u64, segments: &[Segment]) -> Vec<u8> {
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend(2u16.to_le_bytes()); // an executable
    file.extend(243u16.to_le_bytes()); // for RISC-V
    file.extend(1u32.to_le_bytes());
    file.extend(entry.to_le_bytes());
    file.extend(64u64.to_le_bytes()); // program headers
    file.extend(0u64.to_le_bytes()); // no sections
    file.extend(0u32.to_le_bytes());
    for half in [64u16, 56, segments.len() as u16, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    let mut offset = 0x1000u64;
    for segment in segments {
        file.extend(1u32.to_le_bytes());
        file.extend(segment.flags.to_le_bytes());
        let length = segment.bytes.len() as u64;
        for value in [offset, segment.address, segment.address, length, segment.memory_bytes, 0x1000] {
            file.extend(value.to_le_bytes());
        }
        offset += length.next_multiple_of(0x1000);
    }
    for segment in segments {
        if !segment.bytes.is_empty() {
            file.resize(file.len().next_multiple_of(0x1000), 0);
            file.extend(&segment.bytes);
        }
    }
    file
}
