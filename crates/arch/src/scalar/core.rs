//! The architectural state and the semantics of each instruction. [`super::timing`] models time.

use super::arithmetic as m;
use super::error::ScalarError;
use super::instruction::{CSR_MODULUS, Instruction, Op};
use super::memory::{Fault, Memory};
use super::program::Program;

/// The observable state of an executed instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retired {
    pub(super) pc: u64,
    pub(super) next_pc: u64,
    pub(super) instruction: Instruction,
    /// The address of a load or store.
    pub(super) address: u64,
    /// The operands before execution. The duration of a multiplication or division depends on them.
    pub(super) operands: [u64; 2],
}

/// Observes every instruction in program order.
pub(super) trait Observer {
    fn retire(&mut self, retired: &Retired);
    /// A system call has written `length` bytes at `address`.
    fn system_write(&mut self, address: u64, length: u64);
}

/// A program with its input and limits.
pub(super) struct Job<'a> {
    pub(super) program: &'a Program,
    /// The input of `read`.
    pub(super) input: &'a [u8],
    /// The maximum number of bytes of `write`.
    pub(super) output_max: usize,
    /// The maximum number of instructions.
    pub(super) instructions_max: u64,
}

/// The result of an execution.
pub(super) struct Finished {
    pub(super) status: i32,
    pub(super) output: Vec<u8>,
    pub(super) instructions: u64,
}

struct CodeSegment {
    start: u64,
    code: Vec<Instruction>,
    words: Vec<u32>,
}

struct Core<'a> {
    x: [u64; 32],
    pc: u64,
    memory: Memory,
    /// The modulus registers; 0 means not set.
    moduli: [u32; 8],
    input: &'a [u8],
    output: Vec<u8>,
    output_max: usize,
}

/// A placeholder for words that do not decode; never executed.
const ILLEGAL: Instruction = Instruction { op: Op::Ebreak, rd: 0, rs1: 0, rs2: 0, imm: 1 };

/// Runs a program from its entry until it exits.
///
/// # Errors
/// At the first instruction that cannot be executed, and at the limits of the job.
pub(super) fn execute<O: Observer>(job: &Job<'_>, observer: &mut O) -> Result<Finished, ScalarError> {
    let segments: Vec<CodeSegment> = job
        .program
        .segments
        .iter()
        .filter(|segment| !segment.code.is_empty())
        .map(|segment| CodeSegment {
            start: segment.start,
            code: segment.code.iter().map(|(_, decoded)| decoded.unwrap_or(ILLEGAL)).collect(),
            words: segment.code.iter().map(|(word, _)| *word).collect(),
        })
        .collect();
    let mut core = Core {
        x: [0; 32],
        pc: job.program.entry,
        memory: Memory::new(job.program),
        moduli: [0; 8],
        input: job.input,
        output: Vec::new(),
        output_max: job.output_max,
    };
    let mut instructions = 0;
    let mut current = 0;
    while instructions < job.instructions_max {
        let pc = core.pc;
        let fetched = fetch(&segments[current], pc).or_else(|| {
            // The instruction is in another segment, which is rare.
            let (index, found) = segments.iter().enumerate().find_map(|(i, s)| fetch(s, pc).map(|f| (i, f)))?;
            current = index;
            Some(found)
        });
        let Some(instruction) = fetched else { return Err(ScalarError::FetchFault { pc }) };
        if instruction == ILLEGAL {
            let segment = &segments[current];
            let word = segment.words[((pc - segment.start) / 4) as usize];
            return Err(ScalarError::IllegalInstruction { pc, word });
        }
        instructions += 1;
        let operands = [core.x[instruction.rs1 as usize & 31], core.x[instruction.rs2 as usize & 31]];
        let address = operands[0].wrapping_add(i64::from(instruction.imm) as u64);
        let exit = if instruction.op == Op::Ecall {
            core.pc = pc.wrapping_add(4);
            core.system_call(pc, observer)?
        } else {
            core.step(instruction, pc, operands, address)?;
            None
        };
        observer.retire(&Retired { pc, next_pc: core.pc, instruction, address, operands });
        if let Some(status) = exit {
            return Ok(Finished { status, output: core.output, instructions });
        }
    }
    Err(ScalarError::InstructionLimit { limit: job.instructions_max })
}

#[inline(always)]
fn fetch(segment: &CodeSegment, pc: u64) -> Option<Instruction> {
    let offset = pc.wrapping_sub(segment.start);
    if !offset.is_multiple_of(4) {
        return None;
    }
    segment.code.get((offset / 4) as usize).copied()
}

impl Core<'_> {
    #[inline(always)]
    fn step(&mut self, i: Instruction, pc: u64, operands: [u64; 2], address: u64) -> Result<(), ScalarError> {
        let [a, b] = operands;
        let imm = i64::from(i.imm) as u64;
        let mut next_pc = pc.wrapping_add(4);
        let mut branch = |taken: bool| {
            if taken {
                next_pc = pc.wrapping_add(imm);
            }
            0
        };
        // Operations without a result have rd = 0, where a write has no effect.
        let result = match i.op {
            Op::Lui => imm,
            Op::Auipc => pc.wrapping_add(imm),
            Op::Jal => {
                next_pc = pc.wrapping_add(imm);
                pc.wrapping_add(4)
            }
            Op::Jalr => {
                next_pc = address & !1;
                pc.wrapping_add(4)
            }
            Op::Beq => branch(a == b),
            Op::Bne => branch(a != b),
            Op::Blt => branch((a as i64) < b as i64),
            Op::Bge => branch(a as i64 >= b as i64),
            Op::Bltu => branch(a < b),
            Op::Bgeu => branch(a >= b),
            Op::Lb => i64::from(i8::from_le_bytes(self.load(pc, address)?)) as u64,
            Op::Lh => i64::from(i16::from_le_bytes(self.load(pc, address)?)) as u64,
            Op::Lw => i64::from(i32::from_le_bytes(self.load(pc, address)?)) as u64,
            Op::Ld => u64::from_le_bytes(self.load(pc, address)?),
            Op::Lbu => u64::from(u8::from_le_bytes(self.load(pc, address)?)),
            Op::Lhu => u64::from(u16::from_le_bytes(self.load(pc, address)?)),
            Op::Lwu => u64::from(u32::from_le_bytes(self.load(pc, address)?)),
            Op::Sb => self.store(pc, address, (b as u8).to_le_bytes())?,
            Op::Sh => self.store(pc, address, (b as u16).to_le_bytes())?,
            Op::Sw => self.store(pc, address, (b as u32).to_le_bytes())?,
            Op::Sd => self.store(pc, address, b.to_le_bytes())?,
            Op::Addi => a.wrapping_add(imm),
            Op::Slti => ((a as i64) < imm as i64).into(),
            Op::Sltiu => (a < imm).into(),
            Op::Xori => a ^ imm,
            Op::Ori => a | imm,
            Op::Andi => a & imm,
            Op::Slli => a << (imm & 63),
            Op::Srli => a >> (imm & 63),
            Op::Srai => (a as i64 >> (imm & 63)) as u64,
            Op::Add => a.wrapping_add(b),
            Op::Sub => a.wrapping_sub(b),
            Op::Sll => a << (b & 63),
            Op::Slt => ((a as i64) < b as i64).into(),
            Op::Sltu => (a < b).into(),
            Op::Xor => a ^ b,
            Op::Srl => a >> (b & 63),
            Op::Sra => (a as i64 >> (b & 63)) as u64,
            Op::Or => a | b,
            Op::And => a & b,
            Op::Addiw => m::word((a as u32).wrapping_add(imm as u32)),
            Op::Slliw => m::word((a as u32) << (imm & 31)),
            Op::Srliw => m::word(a as u32 >> (imm & 31)),
            Op::Sraiw => m::word((a as i32 >> (imm & 31)) as u32),
            Op::Addw => m::word((a as u32).wrapping_add(b as u32)),
            Op::Subw => m::word((a as u32).wrapping_sub(b as u32)),
            Op::Sllw => m::word((a as u32) << (b & 31)),
            Op::Srlw => m::word(a as u32 >> (b & 31)),
            Op::Sraw => m::word((a as i32 >> (b & 31)) as u32),
            Op::Mul => a.wrapping_mul(b),
            Op::Mulh => m::mulh(a, b),
            Op::Mulhsu => m::mulhsu(a, b),
            Op::Mulhu => m::mulhu(a, b),
            Op::Div => m::div(a, b),
            Op::Divu => m::divu(a, b),
            Op::Rem => m::rem(a, b),
            Op::Remu => m::remu(a, b),
            Op::Mulw => m::word((a as u32).wrapping_mul(b as u32)),
            Op::Divw => m::divw(a as u32, b as u32),
            Op::Divuw => m::divuw(a as u32, b as u32),
            Op::Remw => m::remw(a as u32, b as u32),
            Op::Remuw => m::remuw(a as u32, b as u32),
            Op::Fence => 0,
            // `execute` handles system calls.
            Op::Ecall => 0,
            Op::Ebreak => return Err(ScalarError::Breakpoint { pc }),
            Op::Csrrw => self.csr(i, |_| Some(a)),
            Op::Csrrs => self.csr(i, |old| (i.rs1 != 0).then_some(old | a)),
            Op::Csrrc => self.csr(i, |old| (i.rs1 != 0).then_some(old & !a)),
            Op::Csrrwi => self.csr(i, |_| Some(i.rs1.into())),
            Op::Csrrsi => self.csr(i, |old| (i.rs1 != 0).then_some(old | u64::from(i.rs1))),
            Op::Csrrci => self.csr(i, |old| (i.rs1 != 0).then_some(old & !u64::from(i.rs1))),
            Op::Madd => m::madd(a as u32, b as u32, self.modulus(i, pc)?),
            Op::Msub => m::msub(a as u32, b as u32, self.modulus(i, pc)?),
            Op::Mmul => m::mmul(a as u32, b, self.modulus(i, pc)?),
        };
        self.pc = next_pc;
        if i.rd != 0 {
            self.x[i.rd as usize & 31] = result;
        }
        Ok(())
    }

    #[inline(always)]
    fn load<const N: usize>(&self, pc: u64, address: u64) -> Result<[u8; N], ScalarError> {
        self.memory.load(address).map_err(|fault| memory_error(fault, pc, "load", address, N as u64))
    }

    #[inline(always)]
    fn store<const N: usize>(&mut self, pc: u64, address: u64, value: [u8; N]) -> Result<u64, ScalarError> {
        self.memory.store(address, value).map_err(|fault| memory_error(fault, pc, "store", address, N as u64))?;
        Ok(0)
    }

    fn modulus(&self, i: Instruction, pc: u64) -> Result<u32, ScalarError> {
        let register = i.imm as u8 & 7;
        match self.moduli[register as usize] {
            0 => Err(ScalarError::ModulusUnset { pc, register }),
            modulus => Ok(modulus),
        }
    }

    /// Reads a modulus CSR, then writes the value that `value` returns. An invalid modulus leaves the register unset,
    /// which reads as 0.
    fn csr(&mut self, i: Instruction, value: impl FnOnce(u64) -> Option<u64>) -> u64 {
        let register = &mut self.moduli[(i.imm - CSR_MODULUS) as usize & 7];
        let old = u64::from(*register);
        if let Some(new) = value(old) {
            *register = if new <= 1 << 31 { new as u32 } else { 0 };
        }
        old
    }

    /// The Linux system calls read, write and exit, by number. Returns the exit status of exit.
    fn system_call<O: Observer>(&mut self, pc: u64, observer: &mut O) -> Result<Option<i32>, ScalarError> {
        const BAD_FILE: u64 = -9i64 as u64;
        const BAD_ADDRESS: u64 = -14i64 as u64;
        let [file, address, length] = [self.x[10], self.x[11], self.x[12]];
        self.x[10] = match self.x[17] {
            93 => return Ok(Some(file as i32)),
            63 if file == 0 => {
                let (now, rest) = self.input.split_at((self.input.len() as u64).min(length) as usize);
                match self.memory.write(address, now.len() as u64) {
                    Some(buffer) => {
                        buffer.copy_from_slice(now);
                        self.input = rest;
                        observer.system_write(address, now.len() as u64);
                        now.len() as u64
                    }
                    None => BAD_ADDRESS,
                }
            }
            64 if file == 1 => match self.memory.read(address, length) {
                Some(bytes) => {
                    if bytes.len() > self.output_max - self.output.len() {
                        return Err(ScalarError::OutputLimit { limit: self.output_max });
                    }
                    self.output.extend_from_slice(bytes);
                    length
                }
                None => BAD_ADDRESS,
            },
            63 | 64 => BAD_FILE,
            number => return Err(ScalarError::SystemCall { pc, number }),
        };
        Ok(None)
    }
}

#[cold]
fn memory_error(fault: Fault, pc: u64, access: &'static str, address: u64, bytes: u64) -> ScalarError {
    match fault {
        Fault::Misaligned => ScalarError::Misaligned { pc, access, address, bytes },
        Fault::NotAllowed => ScalarError::MemoryFault { pc, access, address, bytes },
    }
}
