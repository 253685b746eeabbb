//! Masks, values and fields of every instruction, generated from `opcodes/` by the build script.

use std::fmt;

/// A named range of bits of an instruction word.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::Field;
///
/// let vd = Field { name: "vd", high: 11, low: 7 };
/// assert_eq!((vd.width(), vd.mask()), (5, 0xf80));
/// assert_eq!(vd.get(0x2623_81ab), 3);
/// assert_eq!(vd.put(3), 0x180);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name in `opcodes/arg_lut.csv`.
    pub name: &'static str,
    /// The highest bit, 0 to 31.
    pub high: u32,
    /// The lowest bit, 0 to `high`.
    pub low: u32,
}

impl Field {
    /// The number of bits, 1 to 32.
    #[must_use]
    pub const fn width(self) -> u32 {
        self.high - self.low + 1
    }

    /// The mask of its bits.
    #[must_use]
    pub const fn mask(self) -> u32 {
        (u32::MAX >> (32 - self.width())) << self.low
    }

    /// Its content in `word`.
    #[must_use]
    pub const fn get(self, word: u32) -> u32 {
        (word & self.mask()) >> self.low
    }

    /// A word with `content` in this field and zeros elsewhere. Excess bits are discarded.
    #[must_use]
    pub const fn put(self, content: u32) -> u32 {
        (content << self.low) & self.mask()
    }
}

/// The encoding of an instruction in 32 bits.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::Mnemonic;
///
/// let encoding = Mnemonic::Madd.encoding();
/// assert_eq!((encoding.name, encoding.value), ("madd", 0x2b));
/// assert_eq!(encoding.fields[0].name, "vd");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// The name, as in the assembly text.
    pub name: &'static str,
    /// The source file in `opcodes/`: `rv_xrvfhe`, `rv_frontend` or `rv_rvfhe_paper`.
    pub extension: &'static str,
    /// The mask of the fixed bits.
    pub mask: u32,
    /// The values of the fixed bits; zero elsewhere.
    pub value: u32,
    /// The fixed bits that distinguish the instruction from others. The other fixed bits are reserved and zero.
    pub select: u32,
    /// The operands, in the order of the assembly text.
    pub fields: &'static [Field],
}

include!(concat!(env!("OUT_DIR"), "/encodings.rs"));

impl Mnemonic {
    /// The instruction with the distinguishing bits of `word`. Its reserved bits may still be wrong.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::Mnemonic;
    ///
    /// assert_eq!(Mnemonic::of(0x2623_81ab), Some(Mnemonic::Mbfly));
    /// assert_eq!(Mnemonic::of(0), None);
    /// ```
    #[must_use]
    pub fn of(word: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|mnemonic| {
            let encoding = mnemonic.encoding();
            word & encoding.select == encoding.value & encoding.select
        })
    }
}

impl PaperMnemonic {
    /// The paper's instruction with the fixed bits of `word`.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::PaperMnemonic;
    ///
    /// assert_eq!(PaperMnemonic::of(0x0031_00ab), Some(PaperMnemonic::Madd));
    /// assert_eq!(PaperMnemonic::of(0), None);
    /// ```
    #[must_use]
    pub fn of(word: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|mnemonic| word & mnemonic.encoding().mask == mnemonic.encoding().value)
    }
}

impl fmt::Display for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.encoding().name)
    }
}

impl fmt::Display for PaperMnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.encoding().name)
    }
}
