//! The choice of kernels for 64-bit words.

#[cfg(target_arch = "x86_64")]
use super::ifma;
use super::{loops, sealed};
use crate::{Isa, Modulus};

/// The constants of a modulus p.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    pub(crate) p: u64,
    /// The length of p in bits.
    pub(super) bits: u32,
    /// ⌊2^(bits+62)/p⌋.
    pub(super) barrett: u64,
    /// 1 and ⌊2^64/p⌋.
    pub(super) one: (u64, u64),
    /// 2^64 mod p and its companion.
    pub(super) word: (u64, u64),
    /// The constants of IFMA, if it is used.
    #[cfg(target_arch = "x86_64")]
    pub(crate) ifma: Option<ifma::Constants>,
}

impl sealed::Kernels for u64 {
    const MAX_BITS: u32 = Modulus::MAX_BITS;
    type Constants = Constants;

    fn constants(modulus: Modulus, isa: Isa) -> Constants {
        let pair = |w| (w, modulus.shoup_quotient(w));
        Constants {
            p: modulus.value(),
            bits: modulus.bits(),
            barrett: ((1u128 << (modulus.bits() + 62)) / u128::from(modulus.value())) as u64,
            one: pair(1),
            word: pair(modulus.reduce_u128(1 << 64)),
            #[cfg(target_arch = "x86_64")]
            ifma: (isa.has_ifma() && modulus.bits() <= ifma::MAX_BITS).then(|| ifma::Constants::new(modulus)),
        }
    }

    fn add(isa: Isa, c: &Constants, lhs: &mut [u64], rhs: &[u64]) {
        loops::add(isa, c.p, lhs, rhs);
    }

    fn sub(isa: Isa, c: &Constants, lhs: &mut [u64], rhs: &[u64]) {
        loops::sub(isa, c.p, lhs, rhs);
    }

    fn neg(isa: Isa, c: &Constants, values: &mut [u64]) {
        loops::neg(isa, c.p, values);
    }

    fn multiply(isa: Isa, c: &Constants, lhs: &mut [u64], rhs: &[u64]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(c) = &c.ifma {
            assert_eq!(lhs.len(), rhs.len(), "lengths of the factors");
            // SAFETY: the constants exist only on a CPU with IFMA; the lengths agree.
            return unsafe { ifma::multiply(c, lhs, rhs) };
        }
        match isa {
            Isa::Avx512 => loops::multiply_vectors(isa, c, lhs, rhs),
            // Nine vector products for four words are not faster than word by word.
            _ => loops::multiply_words(c, lhs, rhs),
        }
    }

    fn multiply_scalar(isa: Isa, c: &Constants, values: &mut [u64], factor: u64) {
        #[cfg(target_arch = "x86_64")]
        if let Some(c) = &c.ifma {
            // SAFETY: the constants exist only on a CPU with IFMA.
            return unsafe { ifma::multiply_scalar(c, values, factor) };
        }
        let companion = ((u128::from(factor) << 64) / u128::from(c.p)) as u64;
        match isa {
            Isa::Avx512 => loops::multiply_scalar_vectors(isa, c.p, values, factor, companion),
            _ => loops::multiply_scalar_words(c.p, values, factor, companion),
        }
    }

    fn multiply_accumulate(_: Isa, c: &Constants, acc: &mut [u64], lhs: &[u64], rhs: &[u64]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(c) = &c.ifma {
            assert_eq!(lhs.len(), rhs.len(), "lengths of the factors");
            assert!(lhs.len().is_multiple_of(acc.len()), "rows as long as the accumulator");
            // SAFETY: the constants exist only on a CPU with IFMA; both factors have the same number of whole rows.
            return unsafe { ifma::multiply_accumulate(c, acc, lhs, rhs) };
        }
        loops::multiply_accumulate(c, acc, lhs, rhs);
    }

    fn max_terms(_: Isa, c: &Constants) -> usize {
        #[cfg(target_arch = "x86_64")]
        if let Some(c) = &c.ifma {
            return c.max_terms;
        }
        let _ = c;
        loops::MAX_TERMS
    }

    fn to_u64(self) -> u64 {
        self
    }
}
