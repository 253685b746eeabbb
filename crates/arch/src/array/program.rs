//! Programs as cores run them: decoded once, with what each instruction touches.

use ciphermill_rvfhe::isa::{Instruction, Operand, TwiddleRegister, VectorRegister};

/// The queue that an instruction goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    Compute = 0,
    Load = 1,
    Twiddle = 2,
    Send = 3,
}

pub(super) const QUEUES: usize = 4;
/// The number of a twiddle register among all registers whose order is kept.
pub(super) const FIRST_TWIDDLE: u8 = 32;
pub(super) const REGISTERS: usize = 48;

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Butterfly,
    ComplexTime,
    ComplexFrequency,
    /// Waits for all loads before it.
    Phase,
    LoadRow,
    LoadScratchpad,
    LoadTwiddles,
    StoreScratchpad,
    Copy,
}

/// An instruction that goes to a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub operation: Operation,
    pub queue: Queue,
    pub rd: u8,
    pub rs1: u8,
    pub rs2: u8,
    pub free1: bool,
    pub free2: bool,
    /// Of a load: whether lanes move up, or pairs are for all lanes.
    pub variant: bool,
    pub tile: u8,
    pub modulus: u8,
    pub core: u8,
    /// The scalar register that an address counts from, and how far.
    pub base: u8,
    pub offset: u16,
}

/// What the front end does with an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Queued(Queued),
    /// To do at once.
    Front(Instruction),
}

/// An instruction of which nothing is said yet.
pub(super) const EMPTY: Queued = Queued {
    operation: Operation::Phase,
    queue: Queue::Compute,
    rd: 0,
    rs1: 0,
    rs2: 0,
    free1: false,
    free2: false,
    variant: false,
    tile: 0,
    modulus: 0,
    core: 0,
    base: 0,
    offset: 0,
};

pub(super) fn decode(instruction: Instruction) -> Step {
    use Instruction as I;
    let vector = |register: VectorRegister| register.number() as u8;
    let sum = |operation, vd, vs1: Operand<VectorRegister>, vs2: Operand<VectorRegister>, modulus: usize| Queued {
        operation,
        rd: vector(vd),
        rs1: vector(vs1.register),
        rs2: vector(vs2.register),
        free1: vs1.free,
        free2: vs2.free,
        modulus: modulus as u8,
        ..EMPTY
    };
    let product = |operation, vd, vs1, free1, ts2: Operand<TwiddleRegister>, modulus: usize| Queued {
        operation,
        rd: vector(vd),
        rs1: vector(vs1),
        rs2: ts2.register.number() as u8 + FIRST_TWIDDLE,
        free1,
        free2: ts2.free,
        modulus: modulus as u8,
        ..EMPTY
    };
    let queued = match instruction {
        I::Madd { vd, vs1, vs2, modulus } => sum(Operation::Add, vd, vs1, vs2, modulus.number()),
        I::Msub { vd, vs1, vs2, modulus } => sum(Operation::Subtract, vd, vs1, vs2, modulus.number()),
        I::Mmul { vd, vs1, ts2, modulus } => {
            product(Operation::Multiply, vd, vs1.register, vs1.free, ts2, modulus.number())
        }
        I::Mbfly { vd, vs1, ts2, modulus } => product(Operation::Butterfly, vd, vs1, false, ts2, modulus.number()),
        I::Fbfly { form, vd, vs1, ts2 } => {
            let operation = match form {
                ciphermill_rvfhe::isa::FloatButterfly::DecimationInTime => Operation::ComplexTime,
                ciphermill_rvfhe::isa::FloatButterfly::DecimationInFrequency => Operation::ComplexFrequency,
            };
            product(operation, vd, vs1, false, ts2, 0)
        }
        I::Ldp { vd, row, tile, free } => Queued {
            operation: Operation::LoadRow,
            queue: Queue::Load,
            rd: vector(vd),
            free1: free,
            variant: tile.rotates(),
            tile: tile.log() as u8,
            base: row.base.number() as u8,
            offset: row.offset.get() as u16,
            ..EMPTY
        },
        I::Lds { vd, vector: address } => Queued {
            operation: Operation::LoadScratchpad,
            queue: Queue::Load,
            rd: vector(vd),
            base: address.base.number() as u8,
            offset: address.offset.get() as u16,
            ..EMPTY
        },
        I::Ldt { td, row, broadcast } => Queued {
            operation: Operation::LoadTwiddles,
            queue: Queue::Twiddle,
            rd: td.number() as u8 + FIRST_TWIDDLE,
            variant: broadcast,
            base: row.base.number() as u8,
            offset: row.offset.get() as u16,
            ..EMPTY
        },
        I::Sts { vs1, vector: address } => Queued {
            operation: Operation::StoreScratchpad,
            queue: Queue::Send,
            rs1: vector(vs1),
            free1: true,
            base: address.base.number() as u8,
            offset: address.offset.get() as u16,
            ..EMPTY
        },
        I::Copy { core, vs1, row } | I::Copyk { core, vs1, row } => Queued {
            operation: Operation::Copy,
            queue: Queue::Send,
            rs1: vector(vs1),
            free1: matches!(instruction, I::Copy { .. }),
            core: core.number() as u8,
            base: row.base.number() as u8,
            offset: row.offset.get() as u16,
            ..EMPTY
        },
        I::Phase => EMPTY,
        other => return Step::Front(other),
    };
    Step::Queued(queued)
}

impl Queued {
    /// The registers that it reads and those that it writes, a bit for each. They are not kept: programs are read over and over, those of
    /// all cores in turn, and should be short.
    #[inline]
    pub(super) fn touches(&self) -> (u64, u64) {
        let bit = |register: u8| 1_u64 << register;
        let (rd, rs1, rs2) = (bit(self.rd), bit(self.rs1), bit(self.rs2));
        match self.operation {
            Operation::Add | Operation::Subtract | Operation::Multiply => (rs1 | rs2, rd),
            Operation::Butterfly => (rd | rs1 | rs2, rd | rs1),
            Operation::ComplexTime | Operation::ComplexFrequency => {
                let numbers = 3 * (rd | rs1);
                (numbers | rs2, numbers)
            }
            Operation::LoadRow | Operation::LoadScratchpad | Operation::LoadTwiddles => (0, rd),
            Operation::StoreScratchpad | Operation::Copy => (rs1, 0),
            Operation::Phase => (0, 0),
        }
    }
}

const _: () = assert!(size_of::<Step>() <= 16);
