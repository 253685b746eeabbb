//! Pointwise kernels of 32-bit words. Their products are those of the transform's kernels.

use super::sealed;
use crate::ntt::word32::{Reduction, pointwise};
use crate::{Isa, Modulus, multiversion};

/// The constants of a modulus p.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    p: u32,
    reduction: Reduction,
}

impl sealed::Kernels for u32 {
    const MAX_BITS: u32 = 31;
    type Constants = Constants;

    fn constants(modulus: Modulus, _: Isa) -> Constants {
        Constants { p: modulus.value() as u32, reduction: Reduction::new(modulus) }
    }

    fn add(isa: Isa, c: &Constants, lhs: &mut [u32], rhs: &[u32]) {
        add(isa, c.p, lhs, rhs);
    }

    fn sub(isa: Isa, c: &Constants, lhs: &mut [u32], rhs: &[u32]) {
        sub(isa, c.p, lhs, rhs);
    }

    fn neg(isa: Isa, c: &Constants, values: &mut [u32]) {
        neg(isa, c.p, values);
    }

    fn multiply(isa: Isa, c: &Constants, lhs: &mut [u32], rhs: &[u32]) {
        pointwise::multiply(isa, lhs, rhs, c.reduction);
    }

    fn multiply_scalar(isa: Isa, c: &Constants, values: &mut [u32], factor: u32) {
        let companion = ((u64::from(factor) << 32) / u64::from(c.p)) as u32;
        multiply_scalar(isa, c.p, values, factor, companion);
    }

    fn multiply_accumulate(isa: Isa, c: &Constants, acc: &mut [u32], lhs: &[u32], rhs: &[u32]) {
        pointwise::multiply_accumulate(isa, acc, lhs, rhs, c.reduction);
    }

    fn max_terms(_: Isa, _: &Constants) -> usize {
        // The running sum never leaves its range.
        usize::MAX
    }

    fn to_u64(self) -> u64 {
        u64::from(self)
    }
}

/// x or x − k, whichever is in range.
#[inline(always)]
fn reduce_once(x: u32, k: u32) -> u32 {
    x.min(x.wrapping_sub(k))
}

multiversion! {
    /// lhs ← lhs + rhs; a sum is below 2p < 2^32.
    fn add(isa, p: u32, lhs: &mut [u32], rhs: &[u32]) {
        for (l, &r) in lhs.iter_mut().zip(rhs) {
            *l = reduce_once(*l + r, p);
        }
    }
}

multiversion! {
    /// lhs ← lhs − rhs. Modulo 2^32 the result is the smaller of the difference and the difference plus p.
    fn sub(isa, p: u32, lhs: &mut [u32], rhs: &[u32]) {
        for (l, &r) in lhs.iter_mut().zip(rhs) {
            let difference = l.wrapping_sub(r);
            *l = difference.min(difference.wrapping_add(p));
        }
    }
}

multiversion! {
    /// values ← −values: p − x, and 0 for x = 0.
    fn neg(isa, p: u32, values: &mut [u32]) {
        for x in values {
            *x = reduce_once(p - *x, p);
        }
    }
}

multiversion! {
    /// values ← factor·values by Shoup's method.
    fn multiply_scalar(isa, p: u32, values: &mut [u32], factor: u32, companion: u32) {
        for x in values {
            let quotient = ((u64::from(*x) * u64::from(companion)) >> 32) as u32;
            *x = reduce_once(x.wrapping_mul(factor).wrapping_sub(quotient.wrapping_mul(p)), p);
        }
    }
}
