//! Rows of limbs in plain Rust.

use super::Rows;

/// Any CPU.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Rows for Portable {
    const SPLIT_MULTIPLY: usize = 24;
    const SPLIT_SQUARE: usize = 48;
    const SPLIT_REDUCE: usize = 32;

    #[inline]
    fn multiply(self, out: &mut [u64], x: u64, row: &[u64]) -> u64 {
        debug_assert_eq!(out.len(), row.len());
        let mut carry = 0;
        for (out, &y) in out.iter_mut().zip(row) {
            let sum = u128::from(x) * u128::from(y) + u128::from(carry);
            *out = sum as u64;
            carry = (sum >> 64) as u64;
        }
        carry
    }

    #[inline]
    fn multiply_add(self, acc: &mut [u64], x: u64, row: &[u64]) -> u64 {
        debug_assert_eq!(acc.len(), row.len());
        let mut carry = 0;
        for (acc, &y) in acc.iter_mut().zip(row) {
            let sum = u128::from(x) * u128::from(y) + u128::from(*acc) + u128::from(carry);
            *acc = sum as u64;
            carry = (sum >> 64) as u64;
        }
        carry
    }

    #[inline]
    fn double_add_squares(self, acc: &mut [u64], a: &[u64]) {
        debug_assert_eq!(acc.len(), 2 * a.len());
        let (mut shifted_out, mut carry) = (0, 0);
        for (acc, &x) in acc.as_chunks_mut::<2>().0.iter_mut().zip(a) {
            let square = u128::from(x) * u128::from(x);
            let low = u128::from(acc[0] << 1 | shifted_out) + u128::from(square as u64) + carry;
            let high = u128::from(acc[1] << 1 | acc[0] >> 63) + (square >> 64) + (low >> 64);
            shifted_out = acc[1] >> 63;
            *acc = [low as u64, high as u64];
            carry = high >> 64;
        }
    }

    #[inline]
    fn add(self, acc: &mut [u64], addend: &[u64], carry: u64) -> u64 {
        debug_assert_eq!(acc.len(), addend.len());
        let mut carry = carry != 0;
        for (acc, &y) in acc.iter_mut().zip(addend) {
            let (sum, c1) = acc.overflowing_add(y);
            let (sum, c2) = sum.overflowing_add(carry.into());
            *acc = sum;
            carry = c1 | c2;
        }
        carry.into()
    }

    #[inline]
    fn subtract(self, out: &mut [u64], a: &[u64], b: &[u64]) -> u64 {
        debug_assert!(out.len() == a.len() && a.len() == b.len());
        let mut borrow = false;
        for (out, (&x, &y)) in out.iter_mut().zip(a.iter().zip(b)) {
            let (difference, b1) = x.overflowing_sub(y);
            let (difference, b2) = difference.overflowing_sub(borrow.into());
            *out = difference;
            borrow = b1 | b2;
        }
        borrow.into()
    }
}
