//! Decoded programs: one word per instruction, because the simulator reads the programs of all cores over and over in
//! turn.

use ciphermill_rvfhe::isa::{Instruction, Operand, TwiddleRegister, VectorRegister};

use super::queued::{FIRST_TWIDDLE, NONE, Operation, Parts, Queue, Queued};

/// A decoded program, and the instructions that the front end executes.
#[derive(Debug, Default)]
pub(super) struct Program {
    steps: Vec<Queued>,
    front: Vec<Instruction>,
}

impl Program {
    /// Appends an instruction. Copies and stores go to the queue `copies`.
    pub(super) fn push(&mut self, instruction: Instruction, copies: Queue) {
        self.steps.push(match decode(instruction, copies) {
            Some(parts) => Queued::new(parts),
            None => {
                self.front.push(instruction);
                Queued::front(self.front.len() as u32 - 1)
            }
        });
    }

    #[inline(always)]
    pub(super) fn get(&self, pc: usize) -> Option<Queued> {
        self.steps.get(pc).copied()
    }

    /// The instruction, if the front end executes it.
    #[inline(always)]
    pub(super) fn front(&self, queued: Queued) -> Option<Instruction> {
        if queued.is(Operation::Front) { self.front.get(queued.front_number() as usize).copied() } else { None }
    }
}

/// The queued form of an instruction; `None` for an instruction of the front end.
fn decode(instruction: Instruction, copies: Queue) -> Option<Parts> {
    use Instruction as I;
    let vector = |register: VectorRegister| register.number() as u8;
    let sum = |operation, vd, vs1: Operand<VectorRegister>, vs2: Operand<VectorRegister>, modulus: usize| Parts {
        operation,
        rd: vector(vd),
        rs1: vector(vs1.register),
        rs2: vector(vs2.register),
        free1: vs1.free,
        free2: vs2.free,
        detail: modulus as u8,
        ..NONE
    };
    let product = |operation, vd, vs1, free1, ts2: Operand<TwiddleRegister>, modulus: usize| Parts {
        operation,
        rd: vector(vd),
        rs1: vector(vs1),
        rs2: ts2.register.number() as u8 + FIRST_TWIDDLE,
        free1,
        free2: ts2.free,
        detail: modulus as u8,
        ..NONE
    };
    let parts = match instruction {
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
        I::Ldp { vd, row, tile, free } => Parts {
            operation: Operation::LoadRow,
            queue: Queue::Load,
            rd: vector(vd),
            free1: free,
            variant: tile.rotates(),
            detail: tile.log() as u8,
            base: row.base.number() as u8,
            offset: row.offset.get() as u16,
            ..NONE
        },
        I::Lds { vd, vector: address } => Parts {
            operation: Operation::LoadScratchpad,
            queue: Queue::Load,
            rd: vector(vd),
            base: address.base.number() as u8,
            offset: address.offset.get() as u16,
            ..NONE
        },
        I::Ldt { td, row, broadcast } => Parts {
            operation: Operation::LoadTwiddles,
            queue: Queue::Twiddle,
            rd: td.number() as u8 + FIRST_TWIDDLE,
            variant: broadcast,
            base: row.base.number() as u8,
            offset: row.offset.get() as u16,
            ..NONE
        },
        I::Sts { vs1, vector: address } => Parts {
            operation: Operation::StoreScratchpad,
            queue: copies,
            rs1: vector(vs1),
            free1: true,
            base: address.base.number() as u8,
            offset: address.offset.get() as u16,
            ..NONE
        },
        I::Copy { core, vs1, row } | I::Copyk { core, vs1, row } => Parts {
            operation: Operation::Copy,
            queue: copies,
            rs1: vector(vs1),
            free1: matches!(instruction, I::Copy { .. }),
            detail: core.number() as u8,
            base: row.base.number() as u8,
            offset: row.offset.get() as u16,
            ..NONE
        },
        I::Phase => NONE,
        _ => return None,
    };
    Some(parts)
}
