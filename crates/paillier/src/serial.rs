//! Byte formats. All stand in the envelope of `ciphermill-wire`; docs/paillier.md draws them.
//!
//! Integers are little-endian and of fixed width, and p > q, so that every object has one encoding. (Operands of
//! [`host`](crate::host)'s streams may carry leading zero limbs.) With B bits of n:
//!
//! ```text
//! PUBLIC_KEY          u32 B | u8 flags | 3 × u8 0 | B/8 bytes n | B/4 bytes h_s, if flag 0 is set
//! SECRET_KEY          u32 B | u8 flags | 3 × u8 0 | B/16 bytes p | B/16 bytes q | B/4 bytes h_s, if flag 0 is set
//! CIPHERTEXT_VECTOR   u64 key tag | u32 B | u32 0 | u64 elements | elements × B/4 bytes c
//! PLAINTEXT_VECTOR    u64 key tag | u32 B | u32 0 | u64 elements | elements × B/8 bytes m mod n
//! ```
//!
//! Flag 0: there is a DJN base. Flag 1: the key is smaller than [`KeyBits::MIN`] bits and **insecure**.

use ciphermill_bigint::limbs::{bit_length_public, less_than};
use ciphermill_bigint::{IntegerBatch, Path};
use ciphermill_wire::{Decoder, Encoder, Kind, WireError, open, seal};
use num_bigint::BigUint;
use zeroize::{Zeroize, Zeroizing};

use crate::ciphertext::CiphertextVector;
use crate::error::PaillierError;
use crate::keys::{PublicKey, SecretKey};
use crate::parameters::{KeyBits, KeyTag, SizePolicy};
use crate::plaintext::PlaintextVector;
use crate::random::Csprng;

/// Envelope kind of a public key.
pub const PUBLIC_KEY: Kind = Kind(0x0401);
/// Envelope kind of a secret key.
pub const SECRET_KEY: Kind = Kind(0x0402);
/// Envelope kind of a vector of ciphertexts.
pub const CIPHERTEXT_VECTOR: Kind = Kind(0x0403);
/// Envelope kind of a vector of plaintexts.
pub const PLAINTEXT_VECTOR: Kind = Kind(0x0404);

/// Version of every body in this module.
pub const BODY_VERSION: u16 = 1;

/// Most elements of a stored vector: 1 GiB of ciphertexts of 4096-bit keys.
pub const MAX_ELEMENTS: u64 = 1 << 20;

const HAS_BASE: u8 = 1;
const INSECURE: u8 = 2;

/// Bytes of a key before its numbers.
const KEY_HEAD: u64 = 8;
/// Bytes of a vector before its elements.
const VECTOR_HEAD: u64 = 24;
/// Most bytes of a sealed vector of ciphertexts.
pub(crate) const MAX_VECTOR_LEN: u64 = 64 + VECTOR_HEAD + MAX_ELEMENTS * KeyBits::MAX as u64 / 4;
/// Most bytes of a key: n, or p and q, and h_s.
const MAX_KEY_LEN: u64 = KEY_HEAD + KeyBits::MAX as u64 * 3 / 8;

fn write_number(out: &mut Encoder, limbs: &[u64], bytes: usize) {
    debug_assert_eq!(limbs.len() * 8, bytes);
    out.u64s(limbs);
}

fn read_base(input: &mut Decoder<'_>, bits: KeyBits, flags: u8) -> Result<Option<BigUint>, PaillierError> {
    if flags & HAS_BASE == 0 {
        return Ok(None);
    }
    Ok(Some(BigUint::from_bytes_le(input.bytes(bits.get() as usize / 4)?)))
}

/// The head of a key.
fn read_key_head(input: &mut Decoder<'_>, policy: SizePolicy) -> Result<(KeyBits, u8), PaillierError> {
    let bits = KeyBits::with_policy(input.u32()?, policy)?;
    let flags = input.u8()?;
    if flags & !(HAS_BASE | INSECURE) != 0 {
        return Err(PaillierError::Malformed { field: "flags", reason: "bits 2 to 7 must be 0" });
    }
    if (flags & INSECURE != 0) != bits.is_insecure() {
        return Err(PaillierError::Malformed { field: "flags", reason: "bit 1 must be set for keys below 2048 bits" });
    }
    if input.array::<3>()? != [0; 3] {
        return Err(PaillierError::Malformed { field: "reserved bytes", reason: "they must be 0" });
    }
    Ok((bits, flags))
}

fn write_key_head(out: &mut Encoder, key: &PublicKey) {
    let base = if key.has_blinding_base() { HAS_BASE } else { 0 };
    let insecure = if key.bits().is_insecure() { INSECURE } else { 0 };
    out.u32(key.bits().get()).u8(base | insecure).bytes(&[0; 3]);
}

fn write_base(out: &mut Encoder, key: &PublicKey) {
    if let Some(base) = key.base() {
        // n² has twice n's limbs, as n has the upper bit of a whole limb set.
        write_number(out, key.ring().leave(base).row(0), key.bits().get() as usize / 4);
    }
}

impl PublicKey {
    /// The sealed key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let read = PublicKey::from_bytes(&key.to_bytes(), SizePolicy::InsecureBench)?;
    /// assert_eq!(read.modulus(), key.modulus());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Encoder::with_capacity(MAX_KEY_LEN as usize);
        write_key_head(&mut out, self);
        write_number(&mut out, self.n(), self.bits().get() as usize / 8);
        write_base(&mut out, self);
        seal(PUBLIC_KEY, BODY_VERSION, &out.into_vec())
    }

    /// Reads a sealed key, for the path of this process. Whether n is a product of two primes, and h_s an n-th power,
    /// cannot be checked without the secret key: take keys from a trusted source.
    ///
    /// # Errors
    /// If it is malformed, or no key of a size that `policy` admits.
    pub fn from_bytes(bytes: &[u8], policy: SizePolicy) -> Result<Self, PaillierError> {
        let (_, mut input) = open(bytes, PUBLIC_KEY, BODY_VERSION..=BODY_VERSION, MAX_KEY_LEN)?;
        let (bits, flags) = read_key_head(&mut input, policy)?;
        let n = BigUint::from_bytes_le(input.bytes(bits.get() as usize / 8)?);
        let base = read_base(&mut input, bits, flags)?;
        input.finish()?;
        if n.bits() != u64::from(bits.get()) {
            return Err(PaillierError::Modulus { reason: "it has not as many bits as declared" });
        }
        Self::from_parts(&n, base.as_ref(), policy, Path::current())
    }
}

impl SecretKey {
    /// The sealed **secret** key: these bytes decrypt everything. Store them with mode 0600 or stricter.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let read = SecretKey::from_secret_key_bytes(&owner.to_secret_key_bytes(), SizePolicy::InsecureBench)?;
    /// assert_eq!(read.decrypt(&x)?.to_i64()?, [3, -5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_secret_key_bytes(&self) -> Zeroizing<Vec<u8>> {
        // Never grown, so that no copy stays behind.
        let mut out = Encoder::with_capacity(MAX_KEY_LEN as usize);
        write_key_head(&mut out, self.public_key());
        out.bytes(&self.expose_primes());
        write_base(&mut out, self.public_key());
        let mut body = out.into_vec();
        let sealed = Zeroizing::new(seal(SECRET_KEY, BODY_VERSION, &body));
        body.zeroize();
        sealed
    }

    /// Reads a sealed secret key, for the path of this process. The primes are tested, and that h_s belongs to them.
    ///
    /// # Errors
    /// If it is malformed, or no key of a size that `policy` admits; [`PaillierError::Random`], as primes are tested with
    /// random bases.
    pub fn from_secret_key_bytes(bytes: &[u8], policy: SizePolicy) -> Result<Self, PaillierError> {
        let (_, mut input) = open(bytes, SECRET_KEY, BODY_VERSION..=BODY_VERSION, MAX_KEY_LEN)?;
        let (bits, flags) = read_key_head(&mut input, policy)?;
        let width = bits.get() as usize / 16;
        let (p, q) = (input.bytes(width)?, input.bytes(width)?);
        let base = read_base(&mut input, bits, flags)?;
        input.finish()?;
        let limbs = |bytes: &[u8]| {
            let limbs = bytes.chunks_exact(8).map(|limb| u64::from_le_bytes(limb.try_into().expect("8 bytes")));
            Zeroizing::new(limbs.collect::<Vec<_>>())
        };
        let (p, q) = (limbs(p), limbs(q));
        if bit_length_public(&p) != bits.get() / 2 {
            return Err(PaillierError::Primes { reason: "p has not half the declared bits" });
        }
        if less_than(&q, &p) == 0 {
            return Err(PaillierError::Primes { reason: "p is not the greater one" });
        }
        Self::from_parts(&p, &q, base.as_ref(), policy, &mut Csprng::from_os()?)
    }
}

/// The head of a vector, and its elements, each of `width` bytes.
fn write_vector(kind: Kind, key: &PublicKey, values: &IntegerBatch, width: usize) -> Zeroizing<Vec<u8>> {
    let mut out = Encoder::with_capacity(VECTOR_HEAD as usize + values.len() * width);
    out.u64(key.tag().0).u32(key.bits().get()).u32(0).u64(values.len() as u64);
    for row in values.rows() {
        write_number(&mut out, row, width);
    }
    let mut body = out.into_vec();
    let sealed = Zeroizing::new(seal(kind, BODY_VERSION, &body));
    body.zeroize();
    sealed
}

/// The elements of a vector of `key`, each of `width` bytes.
fn read_vector(kind: Kind, key: &PublicKey, bytes: &[u8], width: usize) -> Result<IntegerBatch, PaillierError> {
    let limit = VECTOR_HEAD + MAX_ELEMENTS * width as u64;
    let (_, mut input) = open(bytes, kind, BODY_VERSION..=BODY_VERSION, limit)?;
    let given = KeyTag(input.u64()?);
    if given != key.tag() {
        return Err(PaillierError::WrongKey { given, expected: key.tag() });
    }
    if input.u32()? != key.bits().get() {
        return Err(PaillierError::Malformed { field: "bits of n", reason: "they are not those of the key" });
    }
    if input.u32()? != 0 {
        return Err(PaillierError::Malformed { field: "reserved word", reason: "it must be 0" });
    }
    let given = input.u64()?;
    if given > MAX_ELEMENTS {
        return Err(PaillierError::TooMany { given, limit: MAX_ELEMENTS });
    }
    // Compared before anything is allocated.
    let (needed, available) = (given * width as u64, input.remaining() as u64);
    if available < needed {
        return Err(WireError::Truncated { needed, available }.into());
    }
    let words = input.u64s((needed / 8) as usize)?;
    let values = IntegerBatch::from_words(width / 8, words);
    input.finish()?;
    Ok(values)
}

impl CiphertextVector {
    /// The sealed vector.
    ///
    /// # Errors
    /// [`PaillierError::TooMany`] beyond [`MAX_ELEMENTS`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(CiphertextVector::from_bytes(key, &x.to_bytes()?)?, x);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>, PaillierError> {
        check_elements(self.len())?;
        let width = self.key().bits().get() as usize / 4;
        Ok(std::mem::take(&mut *write_vector(CIPHERTEXT_VECTOR, self.key(), &self.to_integers(), width)))
    }

    /// Reads a sealed vector of ciphertexts of `key`.
    ///
    /// # Errors
    /// If it is malformed, of another key, or holds a number that is not a ciphertext.
    pub fn from_bytes(key: &PublicKey, bytes: &[u8]) -> Result<Self, PaillierError> {
        let width = key.bits().get() as usize / 4;
        Self::from_integers(key, &read_vector(CIPHERTEXT_VECTOR, key, bytes, width)?)
    }
}

impl PlaintextVector {
    /// The sealed vector of **plaintexts**: these bytes are not encrypted.
    ///
    /// # Errors
    /// [`PaillierError::TooMany`] beyond [`MAX_ELEMENTS`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(PlaintextVector::from_plaintext_bytes(key, &plain.to_plaintext_bytes()?)?, plain);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_plaintext_bytes(&self) -> Result<Zeroizing<Vec<u8>>, PaillierError> {
        check_elements(self.len())?;
        let width = self.key().bits().get() as usize / 8;
        Ok(write_vector(PLAINTEXT_VECTOR, self.key(), self.residues(), width))
    }

    /// Reads a sealed vector of plaintexts of `key`.
    ///
    /// # Errors
    /// If it is malformed, of another key, or holds a number that is not a plaintext.
    pub fn from_plaintext_bytes(key: &PublicKey, bytes: &[u8]) -> Result<Self, PaillierError> {
        let width = key.bits().get() as usize / 8;
        Self::from_residues(key, read_vector(PLAINTEXT_VECTOR, key, bytes, width)?)
    }
}

fn check_elements(len: usize) -> Result<(), PaillierError> {
    let given = len as u64;
    if given > MAX_ELEMENTS { Err(PaillierError::TooMany { given, limit: MAX_ELEMENTS }) } else { Ok(()) }
}
