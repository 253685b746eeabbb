//! The names of the named sets.

/// Moduli reconstructed from the CHAM paper: 2^34 + 2^27 + 1, 2^34 + 2^19 + 1, special 2^38 + 2^23 + 1. The paper prints
/// none; it states that each has three non-zero bits, and the special modulus 39 bits. It gives no plaintext modulus
/// either; t = 2^24 is above 2·256·2^7·2^7 = 2^23, twice the greatest entry of a product of 8-bit entries over 256 columns.
/// Plaintexts have no slots.
pub const CHAM_PAPER: &str = "CHAM_PAPER";
/// N = 1024: encryption, addition and products with small plaintexts; no key switch.
pub const BFV_1024_128: &str = "BFV_1024_128";
/// N = 2048: also automorphisms.
pub const BFV_2048_128: &str = "BFV_2048_128";
/// N = 4096: one product of ciphertexts.
pub const BFV_4096_128: &str = "BFV_4096_128";
/// N = 8192.
pub const BFV_8192_128: &str = "BFV_8192_128";
/// N = 16384.
pub const BFV_16384_128: &str = "BFV_16384_128";
/// N = 32768.
pub const BFV_32768_128: &str = "BFV_32768_128";
/// N = 1024, with the modulus of the standard of 2018: below 128 bits today, and superseded by [`BFV_1024_128`].
pub const BFV_1024: &str = "BFV_1024";
/// N = 2048, likewise, superseded by [`BFV_2048_128`].
pub const BFV_2048: &str = "BFV_2048";
/// N = 4096, likewise, superseded by [`BFV_4096_128`].
pub const BFV_4096: &str = "BFV_4096";
/// N = 8192, likewise, superseded by [`BFV_8192_128`].
pub const BFV_8192: &str = "BFV_8192";
/// N = 16384, likewise, superseded by [`BFV_16384_128`].
pub const BFV_16384: &str = "BFV_16384";
/// N = 32768, likewise, superseded by [`BFV_32768_128`].
pub const BFV_32768: &str = "BFV_32768";
/// N = 32, insecure, for tests.
pub const TEST_32: &str = "TEST_32";
/// N = 512, insecure, for tests.
pub const TEST_512: &str = "TEST_512";

/// Every named set. A name never gets other numbers.
pub const SET_NAMES: &[&str] = &[
    CHAM_PAPER,
    BFV_1024_128,
    BFV_2048_128,
    BFV_4096_128,
    BFV_8192_128,
    BFV_16384_128,
    BFV_32768_128,
    BFV_1024,
    BFV_2048,
    BFV_4096,
    BFV_8192,
    BFV_16384,
    BFV_32768,
    TEST_32,
    TEST_512,
];
