//! The CRC-32C of an object, computed from those of its pieces.
//!
//! With m the message as a polynomial over GF(2) and P that of CRC-32C, crc(a ‖ b) = crc(a)·x^(8·|b|) mod P + crc(b), up
//! to the inversions before and after, which cancel out. `crc32c_combine` does that for any |b| in some microseconds;
//! where all pieces but the last are equally long, the multiplication by x^(8·|b|) is one matrix, made once.

use std::sync::OnceLock;

use super::format::{BLOCK_BYTES, CHUNK_BYTES};

/// Multiplication by x^(8·n) mod P: column i is where bit i goes.
#[derive(Clone, Debug)]
struct Shift([u32; 32]);

impl Shift {
    /// For pieces of `bytes` bytes.
    fn by(bytes: u64) -> Self {
        Self(std::array::from_fn(|bit| crc32c::crc32c_combine(1 << bit, 0, bytes as usize)))
    }

    fn apply(&self, crc: u32) -> u32 {
        self.0.iter().enumerate().fold(0, |sum, (bit, column)| sum ^ (column & (crc >> bit & 1).wrapping_neg()))
    }
}

/// The CRC-32C of `size` bytes, from those of its pieces of `piece` bytes, the last of which may be shorter. The caller
/// sees to it that there are ceil(size / piece) of them.
pub(super) fn of_chunks(checksums: &[u32], piece: u64, size: u64) -> u32 {
    let Some((last, whole)) = checksums.split_last() else { return 0 };
    let Some((first, others)) = whole.split_first() else { return *last };
    static BLOCK: OnceLock<Shift> = OnceLock::new();
    static CHUNK: OnceLock<Shift> = OnceLock::new();
    let shift = match piece {
        BLOCK_BYTES => BLOCK.get_or_init(|| Shift::by(BLOCK_BYTES)),
        CHUNK_BYTES => CHUNK.get_or_init(|| Shift::by(CHUNK_BYTES)),
        other => &Shift::by(other),
    };
    let sum = others.iter().fold(*first, |sum, next| shift.apply(sum) ^ next);
    let rest = size.saturating_sub(whole.len() as u64 * piece);
    crc32c::crc32c_combine(sum, *last, rest as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_give_the_checksum_of_the_whole() {
        let bytes: Vec<u8> = (0..70_000u32).map(|i| (i.wrapping_mul(0x9E37_79B9) >> 13) as u8).collect();
        for piece in [1, 7, 512, 4096, 65_536] {
            for size in [1, 2, 511, 512, 513, 4095, 4096, 4097, 8192, 65_535, 65_536, 65_537, 70_000] {
                let sums: Vec<u32> = bytes[..size].chunks(piece).map(crc32c::crc32c).collect();
                let whole = of_chunks(&sums, piece as u64, size as u64);
                assert_eq!(whole, crc32c::crc32c(&bytes[..size]), "{size} bytes in pieces of {piece}");
            }
        }
    }

    #[test]
    fn known_answer() {
        // The check value of CRC-32C: "123456789".
        let sums = [crc32c::crc32c(b"1234"), crc32c::crc32c(b"5678"), crc32c::crc32c(b"9")];
        assert_eq!(of_chunks(&sums, 4, 9), 0xE306_9283);
    }
}
