//! Word memories aligned to cache lines, so that a vector of 16 words or more shares no line with other data.

use aligned_vec::{ABox, ConstAlign, avec};

/// A word memory that starts at a cache line.
pub(super) type AlignedWords = ABox<[u32], ConstAlign<64>>;

/// `len` zeros.
pub(super) fn zeroed(len: usize) -> AlignedWords {
    avec![[64]| 0; len].into_boxed_slice()
}
