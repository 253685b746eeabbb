//! Registers of `tfhe_engine`, from `hw/rdl/tfhe_engine.rdl` by `hw/flow/registers.py`: byte offsets,
//! words of windows, masks of fields.

/// Progress of the job: byte offset.
pub const STEPS: u32 = 0x100;
/// CMuxes so far.
pub const STEPS_VALUE: u32 = 0xffff;

/// Registers of programs: register r has the words 2r, below, and 2r + 1, bits 63:32 of its address: byte offset.
pub const OBJECTS: u32 = 0x800;
/// Words of the window at [`OBJECTS`].
pub const OBJECTS_WORDS: u32 = 512;
