//! Registers of `mod_exp`, from `hw/rdl/mod_exp.rdl` by `hw/flow/registers.py`: byte offsets,
//! words of windows, masks of fields.

/// Identification: byte offset.
pub const ID: u32 = 0x0;
/// Version of this map.
pub const ID_VERSION: u32 = 0xffff;
/// 0x4d45: the letters ME.
pub const ID_KIND: u32 = 0xffff0000;

/// Parameters of this instance: byte offset.
pub const PARAMETERS: u32 = 0x4;
/// Bits of the longest modulus.
pub const PARAMETERS_BITS: u32 = 0xffff;
/// Bits of a digit of the Montgomery product.
pub const PARAMETERS_DIGIT: u32 = 0xfff0000;
/// Multiplier cores: 1: windows of the exponent, 2: a ladder.
pub const PARAMETERS_CORES: u32 = 0xf0000000;

/// Commands: byte offset.
pub const CONTROL: u32 = 0x8;
/// Begin.
pub const CONTROL_START: u32 = 0x1;
/// Overwrite all numbers with zeros, so that no secret remains for the next host.
pub const CONTROL_CLEAR: u32 = 0x2;

/// State: byte offset.
pub const STATUS: u32 = 0xc;
/// An exponentiation, or a clearing, is on its way; windows cannot be written.
pub const STATUS_BUSY: u32 = 0x1;
/// RESULT is that of the last START; gone with the next START or CLEAR.
pub const STATUS_DONE: u32 = 0x2;
/// The last START was refused: MODULUS is even, or EXPONENT_BITS is 0 or more than PARAMETERS.BITS.
pub const STATUS_REFUSED: u32 = 0x4;

/// Interrupt: byte offset.
pub const INTERRUPT: u32 = 0x10;
/// Raise the interrupt while STATUS.DONE or STATUS.REFUSED is set.
pub const INTERRUPT_ENABLE: u32 = 0x1;

/// Bits of the exponent that are looked at, from bit 0 up: byte offset.
pub const EXPONENT_BITS: u32 = 0x14;
/// 1 to PARAMETERS.BITS.
pub const EXPONENT_BITS_VALUE: u32 = 0xffff;

/// Cycles of the last exponentiation, from START to DONE: byte offset.
pub const CYCLES: u32 = 0x18;
/// Cycles.
pub const CYCLES_VALUE: u32 = 0xffffffff;

/// MODULUS: byte offset.
pub const MODULUS: u32 = 0x1000;
/// Words of the window at [`MODULUS`].
pub const MODULUS_WORDS: u32 = 32;

/// NHAT: byte offset.
pub const NHAT: u32 = 0x2000;
/// Words of the window at [`NHAT`].
pub const NHAT_WORDS: u32 = 32;

/// U: byte offset.
pub const U: u32 = 0x3000;
/// Words of the window at [`U`].
pub const U_WORDS: u32 = 9;

/// RSQUARED: byte offset.
pub const RSQUARED: u32 = 0x4000;
/// Words of the window at [`RSQUARED`].
pub const RSQUARED_WORDS: u32 = 32;

/// BASE: byte offset.
pub const BASE: u32 = 0x5000;
/// Words of the window at [`BASE`].
pub const BASE_WORDS: u32 = 32;

/// EXPONENT: byte offset.
pub const EXPONENT: u32 = 0x6000;
/// Words of the window at [`EXPONENT`].
pub const EXPONENT_WORDS: u32 = 32;

/// 32 bits of the result; zero unless STATUS.DONE is set: byte offset.
pub const RESULT: u32 = 0x7000;
/// Words of the window at [`RESULT`].
pub const RESULT_WORDS: u32 = 32;
