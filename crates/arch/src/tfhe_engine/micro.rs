//! The micro-operations of the TFHE engine: what its microsequencer does for each instruction and bootstrap.

/// Micro-operations of an entry.
pub const ENTRY_OPS: usize = 16;
/// Words of the ROM.
pub const DEPTH: usize = 256;
/// The entry of a bootstrap of a ciphertext under the small key. Entries 0 to 7 are those of the instructions.
pub const ENTRY_SMALL: usize = 8;
/// The entry of a bootstrap of a ciphertext under the big key.
pub const ENTRY_BIG: usize = 9;

/// Where a micro-operation finds its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The first operand.
    A,
    /// The second operand.
    B,
    /// The result.
    C,
    /// The top of the stack.
    Stack,
}

/// What becomes of the words of a ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordOp {
    /// They replace the sample.
    Load,
    /// They are added to the sample.
    Add,
    /// They are subtracted from the sample.
    Subtract,
    /// They become the multiplicand.
    Multiplicand,
}

/// A key in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The bootstrapping key.
    Rotation,
    /// The key-switching key.
    Switch,
}

/// A micro-operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The instruction has ended.
    End,
    /// The words of a ciphertext go to the vector unit.
    Read(Source, WordOp),
    /// All words that were asked for have come, and the units are idle.
    Join,
    /// The sample goes to memory.
    Write(Source),
    /// The sample becomes the instruction's integer times the multiplicand.
    Scale,
    /// The ports begin to read a key.
    Stream(Stream),
    /// A test vector, times X^−b, becomes the accumulator.
    Test(Source),
    /// A CMux for each element of the mask.
    Rotate,
    /// A key switch of the accumulator's sample.
    Switch,
    /// A key switch of a ciphertext in memory.
    SwitchMemory(Source),
    /// The accumulator's sample goes to memory.
    Extract(Source),
    /// The stack grows by a ciphertext.
    Push,
    /// The stack shrinks.
    Pop,
    /// The program has ended.
    Return,
}

impl Op {
    /// The word of the ROM, as `tfhe_engine_pkg::micro_t` has it.
    ///
    /// # Example
    /// ```
    /// use ciphermill_arch::tfhe_engine::micro::{Source, Op, WordOp};
    ///
    /// assert_eq!(Op::Read(Source::B, WordOp::Add).word(), 0b01_01_0001);
    /// ```
    #[must_use]
    pub fn word(self) -> u16 {
        let word = |op: u16, from: Source, word_op: u16, second: bool| {
            op | (from as u16) << 4 | word_op << 6 | u16::from(second) << 8
        };
        let plain = |op| word(op, Source::A, 0, false);
        match self {
            Self::End => plain(0),
            Self::Read(from, word_op) => word(1, from, word_op as u16, false),
            Self::Join => plain(2),
            Self::Write(from) => word(3, from, 0, false),
            Self::Scale => plain(4),
            Self::Stream(stream) => word(5, Source::A, 0, stream == Stream::Switch),
            Self::Test(from) => word(6, from, 0, false),
            Self::Rotate => plain(7),
            Self::Switch => plain(8),
            Self::SwitchMemory(from) => word(8, from, 0, true),
            Self::Extract(from) => word(9, from, 0, false),
            Self::Push => plain(10),
            Self::Pop => plain(11),
            Self::Return => plain(12),
        }
    }
}

/// The micro-operations of an entry. Only entries 0 to 9 have any.
///
/// # Example
/// ```
/// use ciphermill_arch::tfhe_engine::micro::{Op, entry};
///
/// // Return ends a program.
/// assert!(entry(0).contains(&Op::Return));
/// ```
#[must_use]
pub fn entry(number: usize) -> &'static [Op] {
    use Op::{End, Extract, Join, Pop, Push, Read, Return, Rotate, Scale, Switch, SwitchMemory, Test, Write};
    use Source::{A, B, C, Stack};
    use WordOp::{Add, Load, Multiplicand, Subtract};
    const ROTATION: Op = Op::Stream(Stream::Rotation);
    const SWITCH: Op = Op::Stream(Stream::Switch);
    match number {
        0 => &[Read(A, Load), Join, Write(C), Return, End],
        1 => &[Read(B, Load), Join, Write(A), End],
        2 => &[Read(A, Load), Join, Write(Stack), Push, End],
        3 => &[Pop, Read(Stack, Load), Join, Write(A), End],
        // Both keys are asked for at once: the ports read the second one when the first one has come.
        4 => &[ROTATION, SWITCH, Read(B, Load), Join, Test(A), Join, Rotate, Switch, Write(B), End],
        5 => &[Read(A, Load), Read(B, Add), Join, Write(A), End],
        6 => &[Read(A, Load), Read(B, Subtract), Join, Write(A), End],
        7 => &[Read(A, Multiplicand), Join, Scale, Join, Write(A), End],
        ENTRY_SMALL => &[ROTATION, SWITCH, Read(A, Load), Join, Test(B), Join, Rotate, Switch, Write(C), End],
        ENTRY_BIG => &[SWITCH, ROTATION, SwitchMemory(A), Test(B), Join, Rotate, Extract(C), End],
        _ => &[],
    }
}

/// All words of the ROM.
#[must_use]
pub fn rom() -> Vec<u16> {
    let mut words = vec![0; DEPTH];
    for (number, place) in words.chunks_exact_mut(ENTRY_OPS).enumerate() {
        for (word, op) in place.iter_mut().zip(entry(number)) {
            *word = op.word();
        }
    }
    words
}
