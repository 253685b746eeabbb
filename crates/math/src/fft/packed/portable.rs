//! Packed parts in plain Rust.

use super::{EXPONENT, OFFSET, PackedLanes};
use crate::fft::portable::Array;

// SAFETY: plain Rust runs on every CPU.
unsafe impl<const W: usize> PackedLanes for Array<W> {
    #[inline(always)]
    unsafe fn load_48(from: *const u8) -> Self {
        let mut parts = [0.0; W];
        for (k, part) in parts.iter_mut().enumerate() {
            // SAFETY: the caller vouches for 6 · W bytes.
            let (low, high) = unsafe {
                let from = from.add(6 * k);
                (from.cast::<[u8; 4]>().read(), from.add(4).cast::<[u8; 2]>().read())
            };
            let bits = u64::from(u32::from_le_bytes(low)) | u64::from(u16::from_le_bytes(high)) << 32;
            *part = f64::from_bits(EXPONENT | bits) - OFFSET;
        }
        Array(parts)
    }

    #[inline(always)]
    unsafe fn store_48(self, to: *mut u8) {
        for (k, part) in self.0.into_iter().enumerate() {
            let [a, b, c, d, e, f, _, _] = part.to_bits().to_le_bytes();
            // SAFETY: the caller vouches for 6 · W bytes.
            unsafe { to.add(6 * k).cast::<[u8; 6]>().write([a, b, c, d, e, f]) }
        }
    }
}

super::entry_points!("Plain Rust needs no feature.", super::Array<1>, scalar);
super::entry_points!("Plain Rust needs no feature.", super::Array<4>, vector);
