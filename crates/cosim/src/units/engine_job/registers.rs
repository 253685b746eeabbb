//! Registers of `engine_job`, from `hw/rdl/engine_job.rdl` by `hw/flow/registers.py`: byte offsets,
//! words of windows, masks of fields.

/// Operation: byte offset.
pub const OPERATION: u32 = 0x0;
/// A verb of the engine.
pub const OPERATION_VERB: u32 = 0xff;
/// 0.
pub const OPERATION_RESERVED: u32 = 0xffffff00;

/// Status, written by the engine: byte offset.
pub const STATUS: u32 = 0x4;
/// 0 before the job; a status after it.
pub const STATUS_CODE: u32 = 0xffffffff;
/// The engine has not finished the job.
pub const STATUS_CODE_PENDING: u32 = 0;
/// The results are in memory.
pub const STATUS_CODE_DONE: u32 = 1;
/// A reserved field is not 0, or CODE was not 0.
pub const STATUS_CODE_MALFORMED: u32 = 2;
/// The descriptor could not be read.
pub const STATUS_CODE_FETCH_FAILED: u32 = 3;
/// The engine lacks the verb.
pub const STATUS_CODE_UNSUPPORTED: u32 = 4;
/// An operand could not be read.
pub const STATUS_CODE_READ_FAILED: u32 = 5;
/// A result could not be written.
pub const STATUS_CODE_WRITE_FAILED: u32 = 6;
/// An operand's address is not aligned, or beyond the engine's address bits.
pub const STATUS_CODE_WRONG_ADDRESS: u32 = 7;
/// LENGTH is out of range for the verb.
pub const STATUS_CODE_WRONG_LENGTH: u32 = 8;
/// No key is loaded.
pub const STATUS_CODE_NO_KEY: u32 = 9;
/// The modulus is even.
pub const STATUS_CODE_EVEN_MODULUS: u32 = 10;
/// An operand is not below its bound.
pub const STATUS_CODE_LARGE_OPERAND: u32 = 11;
/// An instruction is unknown, or has a reserved field that is not 0.
pub const STATUS_CODE_WRONG_INSTRUCTION: u32 = 12;
/// An operand of an instruction is not set, or of another kind.
pub const STATUS_CODE_WRONG_REGISTER: u32 = 13;
/// A key is of another parameter set, or two operands have different keys.
pub const STATUS_CODE_WRONG_KEY: u32 = 14;
/// The stack of a program is full or empty.
pub const STATUS_CODE_STACK_LIMIT: u32 = 15;
/// A program ends without Return.
pub const STATUS_CODE_NO_RETURN: u32 = 16;
/// The names of these values.
pub const STATUS_CODE_NAMES: [(u32, &str); 17] = [
    (STATUS_CODE_PENDING, "PENDING"),
    (STATUS_CODE_DONE, "DONE"),
    (STATUS_CODE_MALFORMED, "MALFORMED"),
    (STATUS_CODE_FETCH_FAILED, "FETCH_FAILED"),
    (STATUS_CODE_UNSUPPORTED, "UNSUPPORTED"),
    (STATUS_CODE_READ_FAILED, "READ_FAILED"),
    (STATUS_CODE_WRITE_FAILED, "WRITE_FAILED"),
    (STATUS_CODE_WRONG_ADDRESS, "WRONG_ADDRESS"),
    (STATUS_CODE_WRONG_LENGTH, "WRONG_LENGTH"),
    (STATUS_CODE_NO_KEY, "NO_KEY"),
    (STATUS_CODE_EVEN_MODULUS, "EVEN_MODULUS"),
    (STATUS_CODE_LARGE_OPERAND, "LARGE_OPERAND"),
    (STATUS_CODE_WRONG_INSTRUCTION, "WRONG_INSTRUCTION"),
    (STATUS_CODE_WRONG_REGISTER, "WRONG_REGISTER"),
    (STATUS_CODE_WRONG_KEY, "WRONG_KEY"),
    (STATUS_CODE_STACK_LIMIT, "STACK_LIMIT"),
    (STATUS_CODE_NO_RETURN, "NO_RETURN"),
];

/// Size of the job: byte offset.
pub const LENGTH: u32 = 0x8;
/// The verb says which.
pub const LENGTH_VALUE: u32 = 0xffffffff;

/// Reserved word: byte offset.
pub const RESERVED: u32 = 0xc;
/// 0.
pub const RESERVED_VALUE: u32 = 0xffffffff;

/// Address of an operand, low word: byte offset.
pub const A: u32 = 0x10;
/// 32 bits.
pub const A_VALUE: u32 = 0xffffffff;

/// Address of an operand, high word: byte offset.
pub const A_HIGH: u32 = 0x14;
/// 32 bits.
pub const A_HIGH_VALUE: u32 = 0xffffffff;

/// Address of an operand, low word: byte offset.
pub const B: u32 = 0x18;
/// 32 bits.
pub const B_VALUE: u32 = 0xffffffff;

/// Address of an operand, high word: byte offset.
pub const B_HIGH: u32 = 0x1c;
/// 32 bits.
pub const B_HIGH_VALUE: u32 = 0xffffffff;

/// Address of an operand, low word: byte offset.
pub const C: u32 = 0x20;
/// 32 bits.
pub const C_VALUE: u32 = 0xffffffff;

/// Address of an operand, high word: byte offset.
pub const C_HIGH: u32 = 0x24;
/// 32 bits.
pub const C_HIGH_VALUE: u32 = 0xffffffff;

/// Address of an operand, low word: byte offset.
pub const D: u32 = 0x28;
/// 32 bits.
pub const D_VALUE: u32 = 0xffffffff;

/// Address of an operand, high word: byte offset.
pub const D_HIGH: u32 = 0x2c;
/// 32 bits.
pub const D_HIGH_VALUE: u32 = 0xffffffff;

/// Address of an operand, low word: byte offset.
pub const E: u32 = 0x30;
/// 32 bits.
pub const E_VALUE: u32 = 0xffffffff;

/// Address of an operand, high word: byte offset.
pub const E_HIGH: u32 = 0x34;
/// 32 bits.
pub const E_HIGH_VALUE: u32 = 0xffffffff;

/// Address of an operand, low word: byte offset.
pub const F: u32 = 0x38;
/// 32 bits.
pub const F_VALUE: u32 = 0xffffffff;

/// Address of an operand, high word: byte offset.
pub const F_HIGH: u32 = 0x3c;
/// 32 bits.
pub const F_HIGH_VALUE: u32 = 0xffffffff;
