//! The operands of instructions: registers and numbers, checked on construction.

use std::fmt;

use thiserror::Error;

/// A number outside its range.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::VectorRegister;
///
/// let refused = VectorRegister::new(32).unwrap_err();
/// assert_eq!(refused.to_string(), "32 is not the number of a vector register; use 0 to 31");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{given} is not {what}; use {min} to {max}")]
pub struct RangeError {
    /// The meaning of the number.
    pub what: &'static str,
    /// The given number.
    pub given: i64,
    /// The minimum.
    pub min: i64,
    /// The maximum.
    pub max: i64,
}

pub(super) fn check(what: &'static str, given: impl TryInto<i64>, min: i64, max: i64) -> Result<i64, RangeError> {
    // A number outside `i64` is outside every range here.
    let given = given.try_into().unwrap_or(i64::MAX);
    if (min..=max).contains(&given) { Ok(given) } else { Err(RangeError { what, given, min, max }) }
}

/// An index into memory, which is below 2^63.
pub(super) fn wide(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

macro_rules! register {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $count:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u8);

        impl $name {
            /// The number of registers.
            pub const COUNT: usize = $count;
            /// The first letter of the name in text.
            pub const PREFIX: char = $prefix;

            /// The register with this number.
            ///
            /// # Errors
            /// [`RangeError`] if the number is not below [`Self::COUNT`].
            pub fn new(number: impl TryInto<i64>) -> Result<Self, RangeError> {
                check($what, number, 0, $count - 1).map(|number| Self(number as u8))
            }

            /// Its number, below [`Self::COUNT`].
            #[must_use]
            pub const fn number(self) -> usize {
                self.0 as usize
            }

            /// All registers, by number.
            pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
                (0..$count as u8).map(Self)
            }

            pub(super) const fn bits(self) -> u32 {
                self.0 as u32
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", Self::PREFIX, self.0)
            }
        }
    };
}

register! {
    /// A vector register v0 to v31 of a core: a 32-bit word per lane, full or empty.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::VectorRegister;
    ///
    /// let v7 = VectorRegister::new(7)?;
    /// assert_eq!(v7.to_string(), "v7");
    /// assert!(VectorRegister::new(32).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    VectorRegister, 'v', 32, "the number of a vector register"
}
register! {
    /// A twiddle register t0 to t15 of a core: per lane a factor w and Shoup's companion ⌊w·2^32/m⌋, full or empty.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::TwiddleRegister;
    ///
    /// let t2 = TwiddleRegister::new(2)?;
    /// assert_eq!(t2.to_string(), "t2");
    /// assert_eq!(t2.freed().to_string(), "t2!");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    TwiddleRegister, 't', 16, "the number of a twiddle register"
}
register! {
    /// A modulus register m0 to m7 of a core, which is the CSR 0x800 to 0x807.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::ModulusRegister;
    ///
    /// let m1 = ModulusRegister::new(1)?;
    /// assert_eq!(m1.to_string(), "m1");
    /// assert_eq!(m1.csr(), 0x801);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ModulusRegister, 'm', 8, "the number of a modulus register"
}
register! {
    /// A scalar register x0 to x31; x0 is always zero.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::ScalarRegister;
    ///
    /// let x10 = ScalarRegister::new(10)?;
    /// assert_eq!(x10.to_string(), "x10");
    /// assert_eq!(ScalarRegister::new(0)?, ScalarRegister::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ScalarRegister, 'x', 32, "the number of a scalar register"
}
register! {
    /// A core c0 to c31 of an array, as the destination of a copy.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::Core;
    ///
    /// let c3 = Core::new(3)?;
    /// assert_eq!(c3.to_string(), "c3");
    /// assert_eq!(Core::all().count(), 32);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Core, 'c', 32, "the number of a core"
}

impl Core {
    /// c0.
    pub const FIRST: Self = Self(0);
}

impl ModulusRegister {
    /// m0.
    pub const FIRST: Self = Self(0);
    /// The CSR of m0: the first CSR that RISC-V reserves for custom, readable and writable use by user programs.
    pub const FIRST_CSR: u32 = 0x800;

    /// The number of its CSR.
    #[must_use]
    pub const fn csr(self) -> u32 {
        Self::FIRST_CSR + self.0 as u32
    }
}

impl ScalarRegister {
    /// The register that is always zero.
    pub const ZERO: Self = Self(0);
}

/// A register operand, and whether the read empties it.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::VectorRegister;
///
/// let v3 = VectorRegister::new(3)?;
/// assert_eq!((v3.kept().to_string(), v3.freed().to_string()), ("v3".to_owned(), "v3!".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand<R> {
    /// The register.
    pub register: R,
    /// Whether the read empties it.
    pub free: bool,
}

impl<R: fmt::Display> fmt::Display for Operand<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.register, if self.free { "!" } else { "" })
    }
}

macro_rules! readable {
    ($($name:ident)*) => {$(
        impl $name {
            /// The operand, left full by the read.
            #[must_use]
            pub const fn kept(self) -> Operand<Self> {
                Operand { register: self, free: false }
            }

            /// The operand, emptied by the read.
            #[must_use]
            pub const fn freed(self) -> Operand<Self> {
                Operand { register: self, free: true }
            }
        }
    )*};
}

readable! { VectorRegister TwiddleRegister }

/// An unsigned offset of `BITS` bits, in the unit of its instruction: rows, pairs or vectors.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::Offset;
///
/// assert_eq!(Offset::<7>::new(127)?.get(), 127);
/// assert!(Offset::<7>::new(128).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Offset<const BITS: u32>(u16);

impl<const BITS: u32> Offset<BITS> {
    /// The largest offset.
    pub const MAX: usize = (1 << BITS) - 1;

    /// Creates the offset.
    ///
    /// # Errors
    /// [`RangeError`] above [`Self::MAX`].
    pub fn new(offset: impl TryInto<i64>) -> Result<Self, RangeError> {
        check("an offset", offset, 0, Self::MAX as i64).map(|offset| Self(offset as u16))
    }

    /// Its value, up to [`Self::MAX`].
    #[must_use]
    pub const fn get(self) -> usize {
        self.0 as usize
    }

    pub(super) const fn bits(self) -> u32 {
        self.0 as u32
    }
}

/// An address in a memory: the content of a scalar register plus an offset, in the unit of the instruction.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::{Address, ScalarRegister};
///
/// let address = Address::<12>::new(ScalarRegister::new(11)?, 5)?;
/// assert_eq!(address.to_string(), "5(x11)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address<const BITS: u32> {
    /// The offset.
    pub offset: Offset<BITS>,
    /// The base register.
    pub base: ScalarRegister,
}

impl<const BITS: u32> Address<BITS> {
    /// The address `offset(base)`.
    ///
    /// # Errors
    /// [`RangeError`] if the offset has more than `BITS` bits.
    pub fn new(base: ScalarRegister, offset: impl TryInto<i64>) -> Result<Self, RangeError> {
        Ok(Self { offset: Offset::new(offset)?, base })
    }
}

impl<const BITS: u32> fmt::Display for Address<BITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.offset.get(), self.base)
    }
}

/// The transposition of a load: tiles of 2^k rows, k from 0 (no transposition) to 5. The row's number in its tile, c,
/// selects one of 2^k equal parts of each row. These parts become one vector, concatenated or interleaved.
///
/// With w lanes per part, word c·w + j of row r of the tile goes to lane r·w + j, or, rotated, to lane j·2^k + r. The
/// uppermost k bits of the lane number thus change places with the lowest k bits of the row number. A rotation then
/// moves the other lane bits up by k, and those k bits below them.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::Tile;
///
/// let tile = Tile::new(2, true)?;
/// assert_eq!((tile.side(), tile.rotates()), (4, true));
/// assert!(Tile::new(6, false).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tile {
    log: u8,
    rotate: bool,
}

impl Tile {
    /// The row without a transposition.
    pub const NONE: Self = Self { log: 0, rotate: false };

    /// Tiles of 2^`log` rows; with `rotate` the parts are interleaved.
    /// [`Instruction::check`](super::Instruction::check) rejects the rotation of single rows.
    ///
    /// # Errors
    /// [`RangeError`] above 5.
    pub fn new(log: impl TryInto<i64>, rotate: bool) -> Result<Self, RangeError> {
        check("the logarithm of a tile's side", log, 0, 5).map(|log| Self { log: log as u8, rotate })
    }

    /// Whether the parts are interleaved.
    #[must_use]
    pub const fn rotates(self) -> bool {
        self.rotate
    }

    /// k, 0 to 5.
    #[must_use]
    pub const fn log(self) -> usize {
        self.log as usize
    }

    /// 2^k, 1 to 32.
    #[must_use]
    pub const fn side(self) -> usize {
        1 << self.log
    }

    pub(super) const fn bits(self) -> u32 {
        self.log as u32
    }
}

/// A signed 12-bit immediate.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::Immediate;
///
/// assert_eq!(Immediate::new(-2048)?.get(), -2048);
/// assert!(Immediate::new(2048).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Immediate(i16);

impl Immediate {
    /// Creates the immediate.
    ///
    /// # Errors
    /// [`RangeError`] outside −2048 to 2047.
    pub fn new(number: impl TryInto<i64>) -> Result<Self, RangeError> {
        check("a 12-bit immediate", number, -2048, 2047).map(|number| Self(number as i16))
    }

    /// Its value, −2048 to 2047.
    #[must_use]
    pub const fn get(self) -> i32 {
        self.0 as i32
    }
}

/// The upper 20 bits of a 32-bit word.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::{Instruction, ScalarRegister, UpperImmediate};
///
/// let load = Instruction::Lui { rd: ScalarRegister::new(5)?, immediate: UpperImmediate::new(0x78000)? };
/// assert_eq!(load.to_string(), "lui x5, 0x78000");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UpperImmediate(u32);

impl UpperImmediate {
    /// Creates the immediate from 20 bits, as an unsigned number.
    ///
    /// # Errors
    /// [`RangeError`] from 2^20 on.
    pub fn new(bits: impl TryInto<i64>) -> Result<Self, RangeError> {
        check("a 20-bit immediate", bits, 0, (1 << 20) - 1).map(|bits| Self(bits as u32))
    }

    /// The 20 bits, below 2^20.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// The distance of a branch from itself, in instructions: −1024 to 1023.
///
/// RISC-V counts in units of two bytes. All instructions here have four bytes, so odd multiples of two are rejected.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::BranchOffset;
///
/// let back = BranchOffset::new(-2)?;
/// assert_eq!((back.bytes(), back.to_string()), (-8, ".-8".to_owned()));
/// assert!(BranchOffset::new(1024).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BranchOffset(i16);

impl BranchOffset {
    /// A branch forward by this number of instructions, or backward if it is negative.
    ///
    /// # Errors
    /// [`RangeError`] outside −1024 to 1023.
    pub fn new(instructions: impl TryInto<i64>) -> Result<Self, RangeError> {
        let what = "the distance of a branch in instructions";
        check(what, instructions, -1024, 1023).map(|instructions| Self(instructions as i16))
    }

    /// The distance in instructions.
    #[must_use]
    pub const fn instructions(self) -> i64 {
        self.0 as i64
    }

    /// The distance in bytes: a multiple of 4 from −4096 to 4092.
    #[must_use]
    pub const fn bytes(self) -> i32 {
        4 * self.0 as i32
    }
}

impl fmt::Display for BranchOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{:+}", self.bytes())
    }
}

/// The distance of a jump from itself, in instructions: −2^18 to 2^18 − 1.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::JumpOffset;
///
/// let ahead = JumpOffset::new(1024)?;
/// assert_eq!((ahead.bytes(), ahead.to_string()), (4096, ".+4096".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JumpOffset(i32);

impl JumpOffset {
    /// A jump forward by this number of instructions, or backward if it is negative.
    ///
    /// # Errors
    /// [`RangeError`] outside −2^18 to 2^18 − 1.
    pub fn new(instructions: impl TryInto<i64>) -> Result<Self, RangeError> {
        let what = "the distance of a jump in instructions";
        check(what, instructions, -(1 << 18), (1 << 18) - 1).map(|instructions| Self(instructions as i32))
    }

    /// The distance in instructions.
    #[must_use]
    pub const fn instructions(self) -> i64 {
        self.0 as i64
    }

    /// The distance in bytes: a multiple of 4 from −2^20 to 2^20 − 4.
    #[must_use]
    pub const fn bytes(self) -> i32 {
        4 * self.0
    }
}

impl fmt::Display for JumpOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{:+}", self.bytes())
    }
}
