//! Packed values, plain and encrypted.

use std::fmt;

use ciphermill_bigint::IntegerBatch;

use super::{Packing, PackingError};
use crate::blinding::Blinding;
use crate::ciphertext::CiphertextVector;
use crate::error::PaillierError;
use crate::evaluation::Scalars;
use crate::integers;
use crate::keys::{PublicKey, SecretKey};
use crate::plaintext::PlaintextVector;
use crate::random::Csprng;

/// Values packed for any key that has room for the layout. Wiped when dropped.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let packed = PackedPlaintext::pack(Packing::fill(16, 8, 512)?, &[1, -2, 3])?;
/// assert_eq!(packed.unpack()?, [1, -2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PackedPlaintext {
    packing: Packing,
    len: usize,
    /// Two's complement.
    rows: IntegerBatch,
}

impl PackedPlaintext {
    /// Packs values, the first in the lowest slot of the first plaintext; unused slots hold 0.
    ///
    /// # Errors
    /// [`PackingError::Value`] if a magnitude exceeds [`Packing::value_bound`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let packing = Packing::fill(8, 4, 512)?;
    /// assert!(PackedPlaintext::pack(packing, &[127, -127]).is_ok());
    /// assert!(matches!(PackedPlaintext::pack(packing, &[128]), Err(PackingError::Value { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pack(packing: Packing, values: &[i64]) -> Result<Self, PackingError> {
        Ok(Self { packing, len: values.len(), rows: packing.pack_rows(values)? })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The layout.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// The values.
    ///
    /// # Errors
    /// None: they were checked when they were packed.
    pub fn unpack(&self) -> Result<Vec<i128>, PackingError> {
        self.packing.unpack_rows(&self.rows, self.len, self.packing.value_bound())
    }

    /// Encrypts by whatever encrypts plaintexts of `key`:
    /// `x.encrypt_by(&key, |plaintexts| key.encrypt(plaintexts, blinding, &mut rng))`.
    ///
    /// # Errors
    /// [`PackingError::KeyTooSmall`], and what `encrypt` gives.
    pub fn encrypt_by(
        &self,
        key: &PublicKey,
        encrypt: impl FnOnce(&PlaintextVector) -> Result<CiphertextVector, PaillierError>,
    ) -> Result<PackedCiphertextVector, PackingError> {
        let ciphertexts = encrypt(&self.plaintexts(key)?)?;
        PackedCiphertextVector::from_parts(ciphertexts, self.packing, self.len, self.packing.value_bound())
    }

    fn plaintexts(&self, key: &PublicKey) -> Result<PlaintextVector, PackingError> {
        self.packing.check_key(key.bits().get())?;
        Ok(PlaintextVector::from_residues(key, integers::to_residues(&self.rows, key.n()))?)
    }
}

/// Shows the shape only.
impl fmt::Debug for PackedPlaintext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackedPlaintext")
            .field("packing", &self.packing)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// Ciphertexts of packed values, whose magnitudes do not exceed a bound.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let packed = PackedPlaintext::pack(Packing::fill(16, 8, 512)?, &[1, -2, 3])?;
/// let x = packed.encrypt_by(key, |plaintexts| key.encrypt(plaintexts, blinding, &mut rng))?;
/// // One ciphertext holds all three values, so one product adds them.
/// assert_eq!(x.ciphertexts().len(), 1);
/// assert_eq!((x.len(), x.is_empty(), x.bound()), (3, false, (1 << 15) - 1));
/// assert_eq!(x.add(&x)?.decrypt(&owner)?, [2, -4, 6]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedCiphertextVector {
    ciphertexts: CiphertextVector,
    packing: Packing,
    len: usize,
    bound: u128,
}

impl PackedCiphertextVector {
    /// Ciphertexts of `len` values that come with these declarations. The caller must know that the bound is true:
    /// decryption refuses values beyond it, but after an operation on values of a false bound slots may have spilt into
    /// their neighbours, and all be within.
    ///
    /// # Errors
    /// [`PackingError::KeyTooSmall`], [`PackingError::Ciphertexts`], and [`PackingError::Spill`] if a slot has no room for
    /// the bound.
    pub fn from_parts(
        ciphertexts: CiphertextVector,
        packing: Packing,
        len: usize,
        bound: u128,
    ) -> Result<Self, PackingError> {
        packing.check_key(ciphertexts.key().bits().get())?;
        let (expected, given) = (packing.plaintexts(len), ciphertexts.len());
        if expected != given {
            return Err(PackingError::Ciphertexts { values: len, packing, expected, given });
        }
        let bound = packing.check_bound(Some(bound))?;
        Ok(Self { ciphertexts, packing, len, bound })
    }

    /// The ciphertexts.
    pub fn ciphertexts(&self) -> &CiphertextVector {
        &self.ciphertexts
    }

    /// The layout.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The greatest magnitude that a slot may have by now.
    pub fn bound(&self) -> u128 {
        self.bound
    }

    /// The key whose ciphertexts these are.
    pub fn key(&self) -> &PublicKey {
        self.ciphertexts.key()
    }

    /// Sums, value by value.
    ///
    /// # Errors
    /// [`PackingError::Spill`], [`PackingError::Mismatch`], [`PackingError::Length`]; [`PaillierError::WrongKey`].
    pub fn add(&self, other: &Self) -> Result<Self, PackingError> {
        let bound = self.combined(other.packing, other.len, other.bound)?;
        Ok(self.with(self.ciphertexts.add(&other.ciphertexts)?, bound))
    }

    /// Differences, value by value.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let packed = PackedPlaintext::pack(Packing::fill(16, 8, 512)?, &[1, -2, 3])?;
    /// let x = packed.encrypt_by(key, |plaintexts| key.encrypt(plaintexts, blinding, &mut rng))?;
    /// assert_eq!(x.subtract(&x)?.decrypt(&owner)?, [0, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn subtract(&self, other: &Self) -> Result<Self, PackingError> {
        let bound = self.combined(other.packing, other.len, other.bound)?;
        Ok(self.with(self.ciphertexts.subtract(&other.ciphertexts)?, bound))
    }

    /// Sums of encrypted and plain values.
    ///
    /// # Errors
    /// [`PackingError::Spill`], [`PackingError::Mismatch`], [`PackingError::Length`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let packed = PackedPlaintext::pack(Packing::fill(16, 8, 512)?, &[1, -2, 3])?;
    /// let x = packed.encrypt_by(key, |plaintexts| key.encrypt(plaintexts, blinding, &mut rng))?;
    /// assert_eq!(x.add_plain(&packed)?.decrypt(&owner)?, [2, -4, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_plain(&self, plain: &PackedPlaintext) -> Result<Self, PackingError> {
        let bound = self.combined(plain.packing, plain.len, plain.packing.value_bound())?;
        Ok(self.with(self.ciphertexts.add_plain(&plain.plaintexts(self.key())?)?, bound))
    }

    /// Differences of encrypted and plain values.
    ///
    /// # Errors
    /// As [`add_plain`](Self::add_plain).
    pub fn subtract_plain(&self, plain: &PackedPlaintext) -> Result<Self, PackingError> {
        let bound = self.combined(plain.packing, plain.len, plain.packing.value_bound())?;
        Ok(self.with(self.ciphertexts.subtract_plain(&plain.plaintexts(self.key())?)?, bound))
    }

    /// The values with their signs changed.
    ///
    /// # Errors
    /// As [`CiphertextVector::negate`].
    pub fn negate(&self) -> Result<Self, PackingError> {
        Ok(self.with(self.ciphertexts.negate()?, self.bound))
    }

    /// Products with scalars: one for all, or one per ciphertext, for all of its slots. The time, and the bound of the
    /// result, depend on the declared width of the scalars.
    ///
    /// # Errors
    /// [`PackingError::Spill`]; [`PaillierError::Length`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let packed = PackedPlaintext::pack(Packing::fill(16, 8, 512)?, &[1, -2, 3])?;
    /// let x = packed.encrypt_by(key, |plaintexts| key.encrypt(plaintexts, blinding, &mut rng))?;
    /// let scalars = Scalars::from_u64(&[5]).with_bits(3)?;
    /// assert_eq!(x.multiply(&scalars)?.decrypt(&owner)?, [5, -10, 15]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply(&self, scalars: &Scalars) -> Result<Self, PackingError> {
        let greatest = if scalars.bits() < 128 { Some((1u128 << scalars.bits()) - 1) } else { None };
        let bound = self.packing.check_bound(greatest.and_then(|greatest| self.bound.checked_mul(greatest)))?;
        Ok(self.with(self.ciphertexts.multiply_scalars(scalars)?, bound))
    }

    /// Products with one scalar that everyone may know: time and bound depend on it.
    ///
    /// # Errors
    /// [`PackingError::Spill`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let packed = PackedPlaintext::pack(Packing::fill(16, 8, 512)?, &[1, -2, 3])?;
    /// let x = packed.encrypt_by(key, |plaintexts| key.encrypt(plaintexts, blinding, &mut rng))?;
    /// assert_eq!(x.multiply_public(-5)?.decrypt(&owner)?, [-5, 10, -15]);
    /// // The guard bits have no room for this product.
    /// assert!(matches!(x.multiply_public(1000), Err(PackingError::Spill { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply_public(&self, scalar: i64) -> Result<Self, PackingError> {
        let magnitude = scalar.unsigned_abs();
        let bound = self.packing.check_bound(self.bound.checked_mul(magnitude.into()))?;
        let bits = (64 - magnitude.leading_zeros()).max(1);
        let scalars = Scalars::from_i64(&[scalar]).with_bits(bits)?;
        Ok(self.with(self.ciphertexts.multiply_scalars(&scalars)?, bound))
    }

    /// The same values under fresh blinding factors.
    ///
    /// # Errors
    /// As [`CiphertextVector::rerandomise`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let packed = PackedPlaintext::pack(Packing::fill(16, 8, 512)?, &[1, -2, 3])?;
    /// let x = packed.encrypt_by(key, |plaintexts| key.encrypt(plaintexts, blinding, &mut rng))?;
    /// let fresh = x.rerandomise(blinding, &mut rng)?;
    /// assert_ne!(fresh, x);
    /// assert_eq!(fresh.decrypt(&owner)?, [1, -2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rerandomise(&self, blinding: Blinding, rng: &mut Csprng) -> Result<Self, PackingError> {
        Ok(self.with(self.ciphertexts.rerandomise(blinding, rng)?, self.bound))
    }

    /// The values in plaintexts of this vector.
    ///
    /// # Errors
    /// [`PackingError::BeyondBound`] if a value is greater than its bound, or there is something besides the values;
    /// [`PaillierError::WrongKey`], [`PaillierError::Length`].
    pub fn unpack(&self, plaintexts: &PlaintextVector) -> Result<Vec<i128>, PackingError> {
        self.key().check_same(plaintexts.key())?;
        if self.ciphertexts.len() != plaintexts.len() {
            return Err(PaillierError::Length { left: self.ciphertexts.len(), right: plaintexts.len() }.into());
        }
        let rows = integers::from_residues(plaintexts.residues(), self.key().n());
        self.packing.unpack_rows(&rows, self.len, self.bound)
    }

    /// Decrypts.
    ///
    /// # Errors
    /// As [`unpack`](Self::unpack) and [`SecretKey::decrypt`].
    pub fn decrypt(&self, owner: &SecretKey) -> Result<Vec<i128>, PackingError> {
        self.unpack(&owner.decrypt(&self.ciphertexts)?)
    }

    fn with(&self, ciphertexts: CiphertextVector, bound: u128) -> Self {
        Self { ciphertexts, bound, packing: self.packing, len: self.len }
    }

    /// The bound of a sum with something packed alike.
    fn combined(&self, packing: Packing, len: usize, bound: u128) -> Result<u128, PackingError> {
        if self.packing != packing {
            return Err(PackingError::Mismatch { left: self.packing, right: packing });
        }
        if self.len != len {
            return Err(PackingError::Length { left: self.len, right: len });
        }
        self.packing.check_bound(self.bound.checked_add(bound))
    }
}
