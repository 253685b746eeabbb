//! Torus elements as little-endian bytes.

use std::io::{Read, Write};

use ciphermill_lattice::Torus;

use crate::error::TfheError;
use crate::memory::try_reserve;

/// Elements per block of conversion between bytes and integers.
pub(crate) const BLOCK: usize = 1 << 15;

/// Writes elements in little-endian order.
pub(crate) fn write_elements<T: Torus, W: Write>(out: &mut W, elements: &[T]) -> Result<(), TfheError> {
    let width = T::BITS as usize / 8;
    let mut bytes = Vec::with_capacity(BLOCK.min(elements.len()) * width);
    for block in elements.chunks(BLOCK) {
        bytes.clear();
        for &x in block {
            // The low bytes of the integer, which is left-aligned in 64 bits.
            bytes.extend_from_slice(&(x.to_u64_msb() >> (64 - T::BITS)).to_le_bytes()[..width]);
        }
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// Reads elements in little-endian order.
pub(crate) fn read_elements<T: Torus, R: Read>(input: &mut R, elements: &mut [T]) -> Result<(), TfheError> {
    let width = T::BITS as usize / 8;
    let mut bytes = vec![0; BLOCK.min(elements.len()) * width];
    for block in elements.chunks_mut(BLOCK) {
        let bytes = &mut bytes[..block.len() * width];
        input.read_exact(bytes)?;
        for (x, bytes) in block.iter_mut().zip(bytes.chunks_exact(width)) {
            let mut word = [0; 8];
            word[8 - width..].copy_from_slice(bytes);
            *x = T::from_u64_msb(u64::from_le_bytes(word));
        }
    }
    Ok(())
}

/// Reads `count` elements into memory that is touched as they come, so that an input which ends early costs no more than
/// it holds.
pub(crate) fn read_new_elements<T: Torus>(
    input: &mut impl Read,
    what: &'static str,
    count: usize,
) -> Result<Vec<T>, TfheError> {
    let mut elements = try_reserve(what, count)?;
    while elements.len() < count {
        let read = elements.len();
        elements.resize(count.min(read + BLOCK), T::ZERO);
        read_elements(input, &mut elements[read..])?;
    }
    Ok(elements)
}
