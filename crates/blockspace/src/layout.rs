//! The blocks of an object in a namespace: the first block, the number of blocks, and the metadata block.

use std::ops::Range;

use ciphermill_nvme::BLOCK_BYTES;

use crate::volume::MAX_BLOCKS;

/// The fewest blocks of a namespace.
pub const MIN_NAMESPACE_BLOCKS: u64 = 4;

/// The blocks of one object.
///
/// # Example
/// ```
#[doc = include_str!("adapter/example.txt")]
/// use ciphermill_blockspace::layout::Placement;
///
/// // The namespace has 2^16 blocks. A host writes the metadata block and the data, and the device has the object.
/// let placement = Placement::new(1 << 16, 100, metadata.size)?;
/// write(placement.metadata(), &metadata.encode())?;
/// write(placement.data().start, &program)?;
/// assert_eq!(device.space(namespace)?.list()[0].id, id);
///
/// // 16,436 bytes have 5 blocks.
/// assert_eq!(Placement::new(1 << 24, 100_016, 16_436)?.data(), 100_016..100_021);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    first: u64,
    blocks: u64,
    half: u64,
}

/// A place that an object cannot have.
///
/// # Example
/// ```
/// use ciphermill_blockspace::layout::{Placement, PlacementError};
///
/// let refused = Placement::new(1 << 24, 1 << 23, 1);
/// assert_eq!(refused, Err(PlacementError::Beyond { first: 1 << 23, blocks: 1, half: 1 << 23 }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// No namespace has this size.
    #[error("a namespace of {given} blocks is not possible; use a power of two from {MIN_NAMESPACE_BLOCKS} to 2^52")]
    Namespace {
        /// The given number of blocks.
        given: u64,
    },
    /// An object has at least one byte.
    #[error("an empty object has no blocks; use an object of at least one byte")]
    Empty,
    /// The object does not fit between its first block and the end of the data half.
    #[error(
        "{blocks} block(s) from block {first} do not fit the data half, blocks 0 to {}; use a first block up to {}",
        .half - 1, .half.saturating_sub(*.blocks)
    )]
    Beyond {
        /// The first block.
        first: u64,
        /// The number of blocks.
        blocks: u64,
        /// The first block of the metadata half.
        half: u64,
    },
}

impl Placement {
    /// The blocks of an object of `bytes` bytes whose first block is `first`, in a namespace of `namespace_blocks` blocks.
    ///
    /// # Errors
    /// See [`PlacementError`].
    pub fn new(namespace_blocks: u64, first: u64, bytes: u64) -> Result<Self, PlacementError> {
        if !namespace_blocks.is_power_of_two() || !(MIN_NAMESPACE_BLOCKS..=MAX_BLOCKS).contains(&namespace_blocks) {
            return Err(PlacementError::Namespace { given: namespace_blocks });
        }
        let (blocks, half) = (bytes.div_ceil(BLOCK_BYTES as u64), namespace_blocks / 2);
        match first.checked_add(blocks) {
            _ if blocks == 0 => Err(PlacementError::Empty),
            Some(end) if end <= half => Ok(Self { first, blocks, half }),
            _ => Err(PlacementError::Beyond { first, blocks, half }),
        }
    }

    /// The data blocks.
    #[must_use]
    pub fn data(&self) -> Range<u64> {
        self.first..self.first + self.blocks
    }

    /// The number of data blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The address of the metadata block.
    #[must_use]
    pub fn metadata(&self) -> u64 {
        self.half + self.first
    }

    /// The bytes of all data blocks; zeros fill the last one.
    #[must_use]
    pub fn padded_bytes(&self) -> u64 {
        self.blocks * BLOCK_BYTES as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_hold_the_object_and_stay_in_their_half(
            log2 in 0u32..60, first in prop_oneof![0u64..1 << 20, any::<u64>()], bytes in prop_oneof![0u64..1 << 20, any::<u64>()],
        ) {
            let blocks = 1 << log2;
            match Placement::new(blocks, first, bytes) {
                Ok(placement) => {
                    prop_assert!((2..=52).contains(&log2) && bytes > 0);
                    prop_assert!(placement.data().end <= blocks / 2);
                    prop_assert!(placement.metadata() >= blocks / 2 && placement.metadata() < blocks);
                    prop_assert!((placement.padded_bytes() - bytes) < BLOCK_BYTES as u64);
                    prop_assert_eq!(placement.blocks(), placement.padded_bytes() / BLOCK_BYTES as u64);
                }
                Err(PlacementError::Namespace { given }) => {
                    prop_assert_eq!(given, blocks);
                    prop_assert!(!(2..=52).contains(&log2));
                }
                Err(PlacementError::Empty) => prop_assert_eq!(bytes, 0),
                Err(PlacementError::Beyond { half, .. }) => {
                    prop_assert!(u128::from(first) + u128::from(bytes).div_ceil(BLOCK_BYTES as u128) > u128::from(half));
                }
            }
        }
    }

    #[test]
    fn a_size_that_is_not_a_power_of_two_is_refused() {
        for given in [0, 1, 2, 3, 5, (1 << 24) + 1, u64::MAX] {
            assert_eq!(Placement::new(given, 0, 1), Err(PlacementError::Namespace { given }));
        }
    }

    #[test]
    fn the_refusal_names_the_last_possible_first_block() {
        let refused = Placement::new(64, 31, 4097).expect_err("33 blocks in 32");
        let last = "2 block(s) from block 31 do not fit the data half, blocks 0 to 31; use a first block up to 30";
        assert_eq!(refused.to_string(), last);
        assert!(Placement::new(64, 30, 4097).is_ok());
    }
}
