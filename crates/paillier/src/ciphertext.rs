//! Vectors of ciphertexts.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use ciphermill_bigint::{IntegerBatch, OddModulus, Residues, limbs};
use num_bigint::BigUint;

use crate::error::PaillierError;
use crate::integers;
use crate::keys::PublicKey;
use crate::plaintext::check_bounds;
use crate::product;

/// Ciphertexts of one key: units modulo n², kept in Montgomery form.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let y = x.add(&x)?.add_plain(&PlaintextVector::from_i64(key, &[1, 1]))?;
/// assert_eq!(owner.decrypt(&y)?.to_i64()?, [7, -9]);
/// assert_eq!((y.len(), y.is_empty()), (2, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CiphertextVector {
    key: PublicKey,
    values: Residues,
}

impl CiphertextVector {
    /// Ciphertexts of residues of the key's ring, which are known to be units.
    pub(crate) fn from_ring(key: &PublicKey, values: Residues) -> Self {
        Self { key: key.clone(), values }
    }

    /// From plain integers, as they come from elsewhere. All are checked: 0 < c < n² and gcd(c, n) = 1.
    ///
    /// # Errors
    /// [`PaillierError::CiphertextRange`], [`PaillierError::CiphertextNotUnit`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// // The integers modulo n² travel without their key.
    /// let same = CiphertextVector::from_integers(key, &x.to_integers())?;
    /// assert_eq!(owner.decrypt(&same)?.to_i64()?, [3, -5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_integers(key: &PublicKey, values: &IntegerBatch) -> Result<Self, PaillierError> {
        let ring = key.ring();
        let refused = |index| PaillierError::CiphertextRange { index, bits: key.bits().get() };
        if values.limbs() > ring.limbs() {
            // Wider rows may still be small numbers: the excess has to be 0.
            for (index, row) in values.rows().enumerate() {
                if row[ring.limbs()..].iter().any(|&word| word != 0) {
                    return Err(refused(index));
                }
            }
            let mut narrow = IntegerBatch::zeros(values.len(), ring.limbs());
            for (index, row) in values.rows().enumerate() {
                narrow.row_mut(index).copy_from_slice(&row[..ring.limbs()]);
            }
            return Self::from_integers(key, &narrow);
        }
        let mut square = ring.value().to_vec();
        let above = square.split_off(values.limbs());
        for (index, row) in values.rows().enumerate() {
            let below = above.iter().any(|&word| word != 0) || limbs::less_than(row, &square) == 1;
            if !below || row.iter().all(|&word| word == 0) {
                return Err(refused(index));
            }
        }
        let entered = ring.enter(values)?;
        if !values.is_empty() && !product::are_units(ring, &entered)? {
            return Err(PaillierError::CiphertextNotUnit { index: first_non_unit(ring, &entered)? });
        }
        Ok(Self { key: key.clone(), values: entered })
    }

    /// As [`from_integers`](Self::from_integers).
    ///
    /// # Errors
    /// As [`from_integers`](Self::from_integers).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(CiphertextVector::from_biguints(key, &x.to_biguints())?, x);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_biguints(key: &PublicKey, values: &[BigUint]) -> Result<Self, PaillierError> {
        let limbs = key.ring().limbs();
        let mut rows = IntegerBatch::zeros(values.len(), limbs);
        for (index, value) in values.iter().enumerate() {
            let row = integers::from_big(value, limbs)
                .ok_or(PaillierError::CiphertextRange { index, bits: key.bits().get() })?;
            rows.row_mut(index).copy_from_slice(&row);
        }
        Self::from_integers(key, &rows)
    }

    /// Plain integers below n², of its limbs.
    pub fn to_integers(&self) -> IntegerBatch {
        self.key.ring().leave(&self.values)
    }

    /// Plain integers below n².
    pub fn to_biguints(&self) -> Vec<BigUint> {
        self.to_integers().rows().map(integers::to_big).collect()
    }

    /// The key whose ciphertexts these are.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// The residues modulo n², of the [ring](PublicKey::ring) of [`key`](Self::key).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let ring = x.key().ring();
    /// assert_eq!(ring.leave(x.residues()), x.to_integers());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn residues(&self) -> &Residues {
        &self.values
    }

    /// Number of ciphertexts.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// One ciphertext.
    ///
    /// # Errors
    /// [`PaillierError::OutOfBounds`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(owner.decrypt(&x.get(1)?)?.to_i64()?, [-5]);
    /// assert!(matches!(x.get(2), Err(PaillierError::OutOfBounds { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, index: usize) -> Result<Self, PaillierError> {
        self.slice(index..index.saturating_add(1))
    }

    /// Some of the ciphertexts.
    ///
    /// # Errors
    /// [`PaillierError::OutOfBounds`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(owner.decrypt(&x.slice(1..2)?)?.to_i64()?, [-5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice(&self, range: Range<usize>) -> Result<Self, PaillierError> {
        check_bounds(&range, self.len())?;
        let ring = self.key.ring();
        let values = if range.start.is_multiple_of(ring.lanes()) {
            self.values.slice(range)
        } else {
            ring.gather(&self.values, &range.collect::<Vec<_>>())
        };
        Ok(Self { key: self.key.clone(), values })
    }

    /// The ciphertexts at the given (public) places.
    ///
    /// # Errors
    /// [`PaillierError::OutOfBounds`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(owner.decrypt(&x.gather(&[1, 1, 0])?)?.to_i64()?, [-5, -5, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gather(&self, places: &[usize]) -> Result<Self, PaillierError> {
        for &place in places {
            check_bounds(&(place..place.saturating_add(1)), self.len())?;
        }
        Ok(Self { key: self.key.clone(), values: self.key.ring().gather(&self.values, places) })
    }

    /// The ciphertexts of all parts in order.
    ///
    /// # Errors
    /// [`PaillierError::Empty`] if there is no part, [`PaillierError::WrongKey`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let both = CiphertextVector::concat(&[x.clone(), x])?;
    /// assert_eq!(owner.decrypt(&both)?.to_i64()?, [3, -5, 3, -5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn concat(parts: &[Self]) -> Result<Self, PaillierError> {
        let key = &parts.first().ok_or(PaillierError::Empty)?.key;
        let ring = key.ring();
        let mut whole = Vec::with_capacity(parts.len());
        let mut aligned = true;
        for part in parts {
            aligned &= whole.last().is_none_or(|last: &Cow<'_, Residues>| last.len().is_multiple_of(ring.lanes()));
            whole.push(part.values_in(key)?);
        }
        let values = if aligned {
            Residues::concat(&whole.into_iter().map(Cow::into_owned).collect::<Vec<_>>())
        } else {
            ring.enter(&IntegerBatch::concat(&whole.iter().map(|part| ring.leave(part)).collect::<Vec<_>>()))?
        };
        Ok(Self { key: key.clone(), values })
    }

    /// The residues in the ring of another object of the same key.
    ///
    /// # Errors
    /// [`PaillierError::WrongKey`].
    pub(crate) fn values_in(&self, key: &PublicKey) -> Result<Cow<'_, Residues>, PaillierError> {
        if self.key.shares_ring(key) {
            return Ok(Cow::Borrowed(&self.values));
        }
        key.check_same(&self.key)?;
        Ok(Cow::Owned(key.ring().enter(&self.to_integers())?))
    }
}

/// The first residue that shares a factor with n, where there is one: by halves.
fn first_non_unit(ring: &OddModulus, values: &Residues) -> Result<usize, PaillierError> {
    let (mut start, mut end) = (0, values.len());
    while end - start > 1 {
        let middle = start + (end - start) / 2;
        let left = ring.gather(values, &(start..middle).collect::<Vec<_>>());
        if product::are_units(ring, &left)? {
            start = middle;
        } else {
            end = middle;
        }
    }
    Ok(start)
}

/// Equal keys and equal ciphertexts, bit for bit: two encryptions of one plaintext differ.
impl PartialEq for CiphertextVector {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.len() == other.len() && self.to_integers() == other.to_integers()
    }
}

impl Eq for CiphertextVector {}

impl fmt::Debug for CiphertextVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CiphertextVector")
            .field("key", &format_args!("{}", self.key.tag()))
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
