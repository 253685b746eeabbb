//! Byte formats. All stand in the envelope of `ciphermill-wire`; docs/bfv.md draws them.
//!
//! Integers are little-endian. `spec` is the byte form of a [`ParameterSpec`], `residues` that of a polynomial by
//! [`RnsBasis::pack`](ciphermill_lattice::rns::RnsBasis::pack): each limb as N words of as many bits as its prime has.
//!
//! ```text
//! spec                  u8 bytes of the name | name | u8 log2 N | u8 L | u8 K | gadget | u64 t | L × u64 q_i | K × u64 p_k
//! gadget                u8 0 (limbs) or 1 (bits) | u8 limbs per digit or log2 of the base
//!
//! PARAMETER_SET         spec
//! CIPHERTEXT            u64 parameter id | u64 key tag | u8 log2 N | u8 limbs | u8 parts | u8 form | u32 0
//!   form 0, full        parts × residues
//!   form 1, seeded      32 bytes seed of c_1 | residues of c_0
//! SECRET_KEY            spec | u64 key tag | N/4 bytes: coefficient i in bits 2(i mod 4) of byte ⌊i/4⌋; 3 is −1
//! PUBLIC_KEY            spec | u64 key tag | 32 bytes seed of a | residues of b over the whole chain
//! RELINEARIZATION_KEY,  u32 bytes of the head | head | for each entry: 32 bytes seed of the a_j | digits × residues of b_j
//! GALOIS_KEYS             head:  spec | u64 key tag | u32 entries | entries
//!                         entry: u32 element (0 for s²) | gadget | u16 digits
//! SUM_PLAN              sums
//! SUMS                  u16 bytes of sums | sums | u64 key tag | u32 contributions | for each ciphertext: residues of c_0, of c_1
//! SUM_PUBLIC_KEY        u16 bytes of sums | sums | u64 key tag | 32 bytes seed of a | residues of b
//!   sums                32 bytes label | u32 parties | f64 log2 failure | u8 security (0: 128 bits, 1: 192, 2: 256)
//!                         | u8 whether the parameters were asked for | u8 d | u8 segments | segments × (u32 length | u128 bound) | spec
//! ```
//!
//! Masks are expanded from their seeds as [`RnsBasis::uniform`](ciphermill_lattice::rns::RnsBasis::uniform) says, from
//! stream 0 of the seed, a_j from stream j.

mod ciphertext;
mod keys;
mod switch_keys;

use ciphermill_wire::{Encoder, Kind, open, seal};

use crate::error::BfvError;
use crate::parameters::{ParameterSet, ParameterSpec, SecurityPolicy};

pub(crate) use ciphertext::residues;
pub use switch_keys::{GaloisKeysHeader, MAX_LOADED_KEY_BYTES};

/// Envelope kind of a parameter set.
pub const PARAMETER_SET: Kind = Kind(0x0301);
/// Envelope kind of a ciphertext, seeded or not.
pub const CIPHERTEXT: Kind = Kind(0x0302);
/// Envelope kind of a secret key.
pub const SECRET_KEY: Kind = Kind(0x0303);
/// Envelope kind of a public key.
pub const PUBLIC_KEY: Kind = Kind(0x0304);
/// Envelope kind of a relinearisation key.
pub const RELINEARIZATION_KEY: Kind = Kind(0x0305);
/// Envelope kind of Galois keys.
pub const GALOIS_KEYS: Kind = Kind(0x0306);
/// Envelope kind of a plan of encrypted sums.
pub const SUM_PLAN: Kind = Kind(0x0307);
/// Envelope kind of an encrypted contribution or sum.
pub const SUMS: Kind = Kind(0x0308);
/// Envelope kind of a public key of a plan of encrypted sums.
pub const SUM_PUBLIC_KEY: Kind = Kind(0x0309);
/// Envelope kind of a plan of a matrix-vector product.
pub const PLAN: Kind = Kind(0x0310);
/// Envelope kind of an encrypted vector.
pub const VECTOR: Kind = Kind(0x0311);
/// Envelope kind of a prepared matrix.
pub const MATRIX: Kind = Kind(0x0312);
/// Envelope kind of an encrypted product.
pub const PRODUCT: Kind = Kind(0x0313);
/// Envelope kind of an answer of the two-party form.
pub const RESPONSE: Kind = Kind(0x0314);

/// Version of every body in this module.
pub const BODY_VERSION: u16 = 1;

/// Most bytes of a parameter set: a name of 64 bytes and 32 moduli take 334.
const MAX_PARAMETER_SET_LEN: u64 = 512;

impl ParameterSet {
    /// The sealed parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let set = context.parameters();
    /// assert_eq!(ParameterSet::from_bytes(&set.to_bytes(), policy)?, *set);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Encoder::with_capacity(MAX_PARAMETER_SET_LEN as usize);
        self.spec().encode(&mut out);
        seal(PARAMETER_SET, BODY_VERSION, &out.into_vec())
    }

    /// Reads and judges a sealed parameter set.
    ///
    /// # Errors
    /// If it is malformed or not admissible under `policy`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let bytes = context.parameters().to_bytes();
    /// assert_eq!(ParameterSet::from_bytes(&bytes, policy)?.name, "TEST_32");
    /// assert!(ParameterSet::from_bytes(&bytes, SecurityPolicy::Require128Bits).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], policy: SecurityPolicy) -> Result<Self, BfvError> {
        let (_, mut input) = open(bytes, PARAMETER_SET, BODY_VERSION..=BODY_VERSION, MAX_PARAMETER_SET_LEN)?;
        let spec = ParameterSpec::decode(&mut input)?;
        input.finish()?;
        Ok(Self::new(spec, policy)?)
    }
}

impl ParameterSpec {
    /// Bytes of a polynomial with the first `limbs` limbs of the chain, as
    /// [`RnsBasis::packed_len`](ciphermill_lattice::rns::RnsBasis::packed_len) but without tables.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// // 32 coefficients of 30 bits.
    /// assert_eq!(context.parameters().packed_len(1), 120);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn packed_len(&self, limbs: usize) -> u64 {
        let bits: u64 = self.chain().take(limbs).map(|p| u64::from(u64::BITS - p.leading_zeros())).sum();
        // N is a multiple of 8.
        self.polynomial_size.get() as u64 / 8 * bits
    }
}
