//! How values share a plaintext.

use std::fmt;

use ciphermill_bigint::IntegerBatch;

use super::{MAX_SLOT_BITS, MAX_VALUE_BITS, PackingError};

/// Several signed values in one plaintext: value i has the weight 2^(i·w) with w = value_bits + guard_bits.
///
/// A fresh value lies within ±(2^(value_bits − 1) − 1); the guard bits take up what additions and scalar multiplications
/// make of it. The plaintext is the integer Σ vᵢ·2^(i·w). Since it is a sum of signed terms, a negative value borrows from its
/// upper neighbour; unpacking from the lowest slot on gives the borrow back, and is exact as long as every |vᵢ| is at most
/// [`limit`](Self::limit) = 2^(w − 1) − 1. Then |Σ| < 2^(slots·w − 1), which is below n/2 for slots·w ≤ |n| − 2.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// // Values of 16 bits with 8 bits for growth: a plaintext of a 512-bit key has 21 slots.
/// let packing = Packing::fill(16, 8, 512)?;
/// assert_eq!((packing.slots(), packing.plaintexts(100)), (21, 5));
/// assert_eq!((packing.value_bits(), packing.guard_bits(), packing.slot_bits()), (16, 8, 24));
/// assert_eq!((packing.value_bound(), packing.limit()), ((1 << 15) - 1, (1 << 23) - 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packing {
    value_bits: u32,
    guard_bits: u32,
    slots: usize,
}

impl Packing {
    /// `slots` values per plaintext, of `value_bits` bits (sign included) and `guard_bits` bits for growth each.
    ///
    /// # Errors
    /// [`PackingError::Layout`] without slots, with less than 2 or more than [`MAX_VALUE_BITS`] value bits, or more than
    /// [`MAX_SLOT_BITS`] bits per slot.
    pub fn new(value_bits: u32, guard_bits: u32, slots: usize) -> Result<Self, PackingError> {
        let width = value_bits.checked_add(guard_bits);
        let fits = width.is_some_and(|width| width <= MAX_SLOT_BITS) && u32::try_from(slots).is_ok();
        if slots == 0 || !(2..=MAX_VALUE_BITS).contains(&value_bits) || !fits {
            return Err(PackingError::Layout { value_bits, guard_bits, slots });
        }
        Ok(Self { value_bits, guard_bits, slots })
    }

    /// As many slots as a key of `key_bits` bits has room for.
    ///
    /// # Errors
    /// [`PackingError::Layout`], also if there is room for none.
    pub fn fill(value_bits: u32, guard_bits: u32, key_bits: u32) -> Result<Self, PackingError> {
        let one = Self::new(value_bits, guard_bits, 1)?;
        Self::new(value_bits, guard_bits, (key_bits.saturating_sub(2) / one.slot_bits()) as usize)
    }

    /// Bits of a fresh value, its sign included.
    pub fn value_bits(self) -> u32 {
        self.value_bits
    }

    /// Bits for growth.
    pub fn guard_bits(self) -> u32 {
        self.guard_bits
    }

    /// Values per plaintext.
    pub fn slots(self) -> usize {
        self.slots
    }

    /// Bits from a slot to the next: value bits and guard bits.
    pub fn slot_bits(self) -> u32 {
        self.value_bits + self.guard_bits
    }

    /// Bits of all slots.
    pub fn bits(self) -> u64 {
        self.slots as u64 * u64::from(self.slot_bits())
    }

    /// The greatest magnitude of a fresh value, 2^(value_bits − 1) − 1.
    pub fn value_bound(self) -> u128 {
        (1 << (self.value_bits - 1)) - 1
    }

    /// The greatest magnitude that a slot has room for, 2^(value_bits + guard_bits − 1) − 1.
    pub fn limit(self) -> u128 {
        (1 << (self.slot_bits() - 1)) - 1
    }

    /// Plaintexts that `values` values take.
    pub fn plaintexts(self, values: usize) -> usize {
        values.div_ceil(self.slots)
    }

    /// # Errors
    /// [`PackingError::KeyTooSmall`] if a key of `key_bits` bits has no room for all slots.
    pub(super) fn check_key(self, key_bits: u32) -> Result<(), PackingError> {
        let max = key_bits.saturating_sub(2);
        if self.bits() > u64::from(max) {
            return Err(PackingError::KeyTooSmall { bits: self.bits(), max });
        }
        Ok(())
    }

    /// # Errors
    /// [`PackingError::Spill`] if a slot has no room for `bound`, or `bound` is `None` (2^128 or more).
    pub(super) fn check_bound(self, bound: Option<u128>) -> Result<u128, PackingError> {
        let limit = self.limit();
        bound.filter(|&bound| bound <= limit).ok_or(PackingError::Spill { bound, limit })
    }

    /// Limbs of a packed plaintext and a sign.
    fn limbs(self) -> usize {
        self.bits().div_ceil(64) as usize
    }

    /// Values to plaintexts as two's complement; the slots after the last value are 0.
    ///
    /// # Errors
    /// [`PackingError::Value`].
    pub(super) fn pack_rows(self, values: &[i64]) -> Result<IntegerBatch, PackingError> {
        let bound = self.value_bound();
        let above = |v: &i64| u128::from(v.unsigned_abs()) > bound;
        if let Some(index) = values.iter().position(above) {
            return Err(PackingError::Value { index, value_bits: self.value_bits, bound });
        }
        let mut out = IntegerBatch::zeros(self.plaintexts(values.len()), self.limbs());
        for (i, values) in values.chunks(self.slots).enumerate() {
            let row = out.row_mut(i);
            for (slot, &value) in values.iter().enumerate() {
                add_at(row, slot * self.slot_bits() as usize, value.into());
            }
        }
        Ok(out)
    }

    /// The first `len` values of plaintexts as two's complement.
    ///
    /// # Errors
    /// [`PackingError::BeyondBound`] if a value is greater than `bound`, which is [`limit`](Self::limit) at most, a slot
    /// after the last value is not 0, or there are bits above the slots.
    pub(super) fn unpack_rows(self, rows: &IntegerBatch, len: usize, bound: u128) -> Result<Vec<i128>, PackingError> {
        debug_assert!(self.plaintexts(len) == rows.len() && bound <= self.limit());
        let width = self.slot_bits();
        let mut out = Vec::with_capacity(len);
        // Room for the highest slot's borrow, whatever the plaintext is.
        let limbs = rows.limbs().max(self.limbs()) + 2;
        let mut rest = IntegerBatch::zeros(1, limbs);
        for row in rows.rows() {
            let rest = rest.row_mut(0);
            let extension = ((row[row.len() - 1] as i64) >> 63) as u64;
            rest.fill(extension);
            rest[..row.len()].copy_from_slice(row);
            for slot in 0..self.slots {
                let low = slot * width as usize;
                let value = signed_bits(rest, low, width);
                add_at(rest, low, -value);
                let (index, bound) = if out.len() < len { (out.len(), bound) } else { (len, 0) };
                if value.unsigned_abs() > bound {
                    return Err(PackingError::BeyondBound { index, bound });
                }
                if index < len {
                    out.push(value);
                }
            }
            if rest.iter().any(|&limb| limb != 0) {
                return Err(PackingError::BeyondBound { index: len, bound: 0 });
            }
        }
        Ok(out)
    }
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a packing of {} slots of {}+{} bits", self.slots, self.value_bits, self.guard_bits)
    }
}

/// row += value · 2^low, as two's complement; what leaves the row at its upper end is lost.
fn add_at(row: &mut [u64], low: usize, value: i128) {
    let (limb, shift) = (low / 64, low % 64);
    let extension = (value >> 127) as u64;
    // The value's 128 bits and its sign, shifted into three limbs.
    let (v0, v1) = (value as u64, (value >> 64) as u64);
    let carry_bits = |lower: u64, upper: u64| if shift == 0 { upper } else { upper << shift | lower >> (64 - shift) };
    let parts = [v0 << shift, carry_bits(v0, v1), carry_bits(v1, extension)];
    let mut carry = false;
    for (i, word) in row[limb..].iter_mut().enumerate() {
        let part = parts.get(i).copied().unwrap_or(extension);
        let (sum, c1) = word.overflowing_add(part);
        let (sum, c2) = sum.overflowing_add(carry.into());
        *word = sum;
        carry = c1 | c2;
    }
}

/// `width` ≤ 127 bits of `row` from bit `low` on, as two's complement.
fn signed_bits(row: &[u64], low: usize, width: u32) -> i128 {
    let (limb, shift) = (low / 64, low % 64);
    let at = |i: usize| u128::from(row.get(limb + i).copied().unwrap_or(0));
    let low = at(0) | at(1) << 64;
    let wide = if shift == 0 { low } else { low >> shift | at(2) << (128 - shift) };
    (wide << (128 - width)) as i128 >> (128 - width)
}
