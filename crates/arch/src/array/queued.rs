//! Packed instructions: the operation and the registers of an instruction, in one word.

/// The queue of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    Compute = 0,
    Load = 1,
    Twiddle = 2,
    Send = 3,
}

pub(super) const QUEUES: usize = 4;
/// The number of the first twiddle register, when all registers are counted together.
pub(super) const FIRST_TWIDDLE: u8 = 32;
/// The count of register numbers, and the number that means no register.
pub(super) const REGISTERS: usize = 64;
pub(super) const NO_REGISTER: u8 = 63;
/// The mask of real registers.
const REAL: u64 = !(1 << NO_REGISTER);

/// The operation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Butterfly,
    ComplexTime,
    ComplexFrequency,
    /// Waits for all earlier loads.
    Phase,
    LoadRow,
    LoadScratchpad,
    LoadTwiddles,
    StoreScratchpad,
    Copy,
    /// Executed by the front end.
    Front,
}

/// All queues by number, and all operations by their four bits, so that the lookup needs no bounds check.
pub(super) const ALL_QUEUES: [Queue; QUEUES] = [Queue::Compute, Queue::Load, Queue::Twiddle, Queue::Send];
const OPERATIONS: [Operation; 16] = [
    Operation::Add,
    Operation::Subtract,
    Operation::Multiply,
    Operation::Butterfly,
    Operation::ComplexTime,
    Operation::ComplexFrequency,
    Operation::Phase,
    Operation::LoadRow,
    Operation::LoadScratchpad,
    Operation::LoadTwiddles,
    Operation::StoreScratchpad,
    Operation::Copy,
    Operation::Front,
    Operation::Front,
    Operation::Front,
    Operation::Front,
];

/// The fields of an instruction in a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub operation: Operation,
    pub queue: Queue,
    pub rd: u8,
    pub rs1: u8,
    pub rs2: u8,
    pub free1: bool,
    pub free2: bool,
    pub variant: bool,
    /// The tile of a load, the modulus register of a computation, or the destination core of a copy.
    pub detail: u8,
    pub base: u8,
    pub offset: u16,
}

/// Default fields.
pub(super) const NONE: Parts = Parts {
    operation: Operation::Phase,
    queue: Queue::Compute,
    rd: NO_REGISTER,
    rs1: NO_REGISTER,
    rs2: NO_REGISTER,
    free1: false,
    free2: false,
    variant: false,
    detail: 0,
    base: 0,
    offset: 0,
};

/// An instruction packed into one word: either one for a queue, or the index of one for the front end. Almost every
/// cycle of every core copies it from the program to the queue and to the unit that executes it; copying separate
/// fields costs a tenth of the simulator's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued(u64);

/// Bit positions of the fields of [`Queued`].
mod at {
    pub(super) const QUEUE: u32 = 4;
    pub(super) const DETAIL: u32 = 6;
    pub(super) const FREE1: u32 = 11;
    pub(super) const FREE2: u32 = 12;
    pub(super) const VARIANT: u32 = 13;
    pub(super) const RD: u32 = 14;
    pub(super) const RS1: u32 = 20;
    pub(super) const RS2: u32 = 26;
    pub(super) const BASE: u32 = 32;
    pub(super) const OFFSET: u32 = 37;
    pub(super) const IN_PLACE: u32 = 53;
    pub(super) const PAIRS: u32 = 54;
    /// The index of an instruction for the front end, its only field.
    pub(super) const FRONT: u32 = 32;
}

impl Queued {
    /// The content of an empty slot, which is never read.
    pub(super) const UNUSED: Self = Self(Operation::Phase as u64);

    pub(super) fn new(parts: Parts) -> Self {
        let pairs = matches!(parts.operation, Operation::ComplexTime | Operation::ComplexFrequency);
        let in_place = pairs || parts.operation == Operation::Butterfly;
        Self(
            parts.operation as u64
                | (parts.queue as u64) << at::QUEUE
                | u64::from(parts.detail & 31) << at::DETAIL
                | u64::from(parts.free1) << at::FREE1
                | u64::from(parts.free2) << at::FREE2
                | u64::from(parts.variant) << at::VARIANT
                | u64::from(parts.rd & 63) << at::RD
                | u64::from(parts.rs1 & 63) << at::RS1
                | u64::from(parts.rs2 & 63) << at::RS2
                | u64::from(parts.base & 31) << at::BASE
                | u64::from(parts.offset) << at::OFFSET
                | u64::from(in_place) << at::IN_PLACE
                | u64::from(pairs) << at::PAIRS,
        )
    }

    /// An instruction for the front end, by its index among those.
    pub(super) fn front(number: u32) -> Self {
        Self(Operation::Front as u64 | u64::from(number) << at::FRONT)
    }

    /// The index given to [`Self::front`].
    #[inline(always)]
    pub(super) fn front_number(self) -> u32 {
        (self.0 >> at::FRONT) as u32
    }

    #[inline(always)]
    fn field(self, at: u32, bits: u32) -> u8 {
        (self.0 >> at) as u8 & ((1 << bits) - 1)
    }

    #[inline(always)]
    pub(super) fn operation(self) -> Operation {
        OPERATIONS[usize::from(self.field(0, 4))]
    }

    #[inline(always)]
    pub(super) fn is(self, operation: Operation) -> bool {
        self.field(0, 4) == operation as u8
    }

    #[inline(always)]
    pub(super) fn queue(self) -> Queue {
        ALL_QUEUES[usize::from(self.field(at::QUEUE, 2))]
    }

    /// Whether it is a copy or a store.
    #[inline(always)]
    pub(super) fn is_sent(self) -> bool {
        self.is(Operation::StoreScratchpad) || self.is(Operation::Copy)
    }

    /// The logarithm of the rows of a load's tile.
    #[inline(always)]
    pub(super) fn tile(self) -> u8 {
        self.field(at::DETAIL, 5)
    }

    /// The modulus register of a computation.
    #[inline(always)]
    pub(super) fn modulus(self) -> u8 {
        self.field(at::DETAIL, 5)
    }

    /// The destination core of a copy.
    #[inline(always)]
    pub(super) fn core(self) -> u8 {
        self.field(at::DETAIL, 5)
    }

    /// Whether a load empties the words that it reads.
    #[inline(always)]
    pub(super) fn frees_row(self) -> bool {
        self.field(at::FREE1, 1) != 0
    }

    /// For a load: whether the lanes rotate, or one pair goes to all lanes.
    #[inline(always)]
    pub(super) fn variant(self) -> bool {
        self.field(at::VARIANT, 1) != 0
    }

    #[inline(always)]
    pub(super) fn rd(self) -> u8 {
        self.field(at::RD, 6)
    }

    #[inline(always)]
    pub(super) fn rs1(self) -> u8 {
        self.field(at::RS1, 6)
    }

    #[inline(always)]
    pub(super) fn rs2(self) -> u8 {
        self.field(at::RS2, 6)
    }

    /// The scalar register with the base address.
    #[inline(always)]
    pub(super) fn base(self) -> usize {
        usize::from(self.field(at::BASE, 5))
    }

    /// The offset.
    #[inline(always)]
    pub(super) fn offset(self) -> u32 {
        u32::from((self.0 >> at::OFFSET) as u16)
    }

    /// The registers that are both read and written, as a bit mask.
    #[inline(always)]
    fn in_place(self) -> u64 {
        let in_place = self.0 >> at::IN_PLACE & 1;
        let pairs = self.0 >> at::PAIRS & 1;
        let both = in_place << self.rd() | in_place << self.rs1();
        both | ((both * pairs) << 1)
    }

    /// The registers that are read, as a bit mask.
    #[inline(always)]
    pub(super) fn needs(self) -> u64 {
        (1 << self.rs1() | 1 << self.rs2() | self.in_place()) & REAL
    }

    /// The registers that are written, as a bit mask.
    #[inline(always)]
    pub(super) fn writes(self) -> u64 {
        (1 << self.rd() | self.in_place()) & REAL
    }

    /// Whether `rd` and `rs1` are register pairs.
    #[inline(always)]
    pub(super) fn has_pairs(self) -> bool {
        self.0 >> at::PAIRS & 1 != 0
    }

    /// The operands that become empty, as a bit mask.
    #[inline(always)]
    pub(super) fn frees(self) -> u64 {
        (self.0 >> at::FREE1 & 1) << self.rs1() | (self.0 >> at::FREE2 & 1) << self.rs2()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn operations_and_queues_are_those_that_were_put_in() {
        for operation in OPERATIONS {
            for queue in ALL_QUEUES {
                let queued = Queued::new(Parts { operation, queue, ..NONE });
                assert_eq!((queued.operation(), queued.queue()), (operation, queue));
                assert!(OPERATIONS.into_iter().all(|other| queued.is(other) == (other == operation)));
            }
        }
        let front = Queued::front(u32::MAX);
        assert_eq!((front.operation(), front.front_number()), (Operation::Front, u32::MAX));
    }

    proptest! {
        #[test]
        fn every_field_has_bits_of_its_own(
            at in 0..OPERATIONS.len(),
            registers in [0..64_u8, 0..64_u8, 0..64_u8],
            flags: [bool; 3],
            (detail, base, offset) in (0..32_u8, 0..32_u8, any::<u16>()),
        ) {
            let ([rd, rs1, rs2], [free1, free2, variant]) = (registers, flags);
            let (operation, queue) = (OPERATIONS[at], ALL_QUEUES[at % QUEUES]);
            let parts = Parts { operation, queue, rd, rs1, rs2, free1, free2, variant, detail, base, offset };
            let queued = Queued::new(parts);
            prop_assert_eq!((queued.operation(), queued.queue()), (operation, queue));
            prop_assert_eq!([queued.rd(), queued.rs1(), queued.rs2()], registers);
            prop_assert_eq!([queued.tile(), queued.modulus(), queued.core()], [detail; 3]);
            prop_assert_eq!((queued.base(), queued.offset()), (usize::from(base), u32::from(offset)));
            prop_assert_eq!((queued.frees_row(), queued.variant()), (free1, variant));
            let frees = u64::from(free1) << rs1 | u64::from(free2) << rs2;
            prop_assert_eq!(queued.frees(), frees);
            let complex = matches!(operation, Operation::ComplexTime | Operation::ComplexFrequency);
            let in_place = complex || operation == Operation::Butterfly;
            prop_assert_eq!(queued.has_pairs(), complex);
            let (width, known) = (if complex { 3_u64 } else { 1 }, !(1 << NO_REGISTER));
            let both = if in_place { width << rd | width << rs1 } else { 0 };
            prop_assert_eq!(queued.writes(), (1 << rd | both) & known);
            prop_assert_eq!(queued.needs(), (1 << rs1 | 1 << rs2 | both) & known);
        }
    }

    /// By the table of docs/rvfhe-isa.md: a butterfly works in place, and a complex one on register pairs.
    #[test]
    fn what_is_read_and_written() {
        let of = |operation, rd, rs1, rs2| {
            let queued = Queued::new(Parts { operation, rd, rs1, rs2, ..NONE });
            (queued.needs(), queued.writes(), queued.has_pairs())
        };
        let none = NO_REGISTER;
        assert_eq!(of(Operation::Add, 1, 2, 3), (0b1100, 0b10, false));
        assert_eq!(of(Operation::Subtract, 3, 3, 3), (0b1000, 0b1000, false));
        assert_eq!(of(Operation::Multiply, 1, 1, 32), (1 << 32 | 0b10, 0b10, false));
        assert_eq!(of(Operation::Butterfly, 1, 2, 47), (1 << 47 | 0b110, 0b110, false));
        assert_eq!(of(Operation::ComplexTime, 2, 30, 33), (1 << 33 | 3 << 30 | 3 << 2, 3 << 30 | 3 << 2, true));
        assert_eq!(of(Operation::ComplexFrequency, 30, 0, 33), (1 << 33 | 3 << 30 | 3, 3 << 30 | 3, true));
        assert_eq!(of(Operation::LoadRow, 31, none, none), (0, 1 << 31, false));
        assert_eq!(of(Operation::LoadScratchpad, 0, none, none), (0, 1, false));
        assert_eq!(of(Operation::LoadTwiddles, 47, none, none), (0, 1 << 47, false));
        assert_eq!(of(Operation::Copy, none, 5, none), (1 << 5, 0, false));
        assert_eq!(of(Operation::StoreScratchpad, none, 31, none), (1 << 31, 0, false));
        assert_eq!(of(Operation::Phase, none, none, none), (0, 0, false));
    }
}
