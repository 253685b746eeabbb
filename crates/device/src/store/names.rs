//! Names and flags of objects, and limits of spaces.

use ciphermill_program::VrId;
use std::fmt;

/// Names a space: a set of registers with its own keys, programs and quotas (one NVMe namespace, or the embedded one).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u32);

impl SpaceId {
    /// The space that every device has.
    pub const EMBEDDED: Self = Self(0);
}

impl fmt::Display for SpaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Limits of a space.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let space = device.create_space(SpaceId(3), SpaceLimits { objects: 1000, ..SpaceLimits::UNLIMITED })?;
/// assert_eq!(space.usage().0.objects, 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceLimits {
    /// Sum of the sizes of its objects, in bytes.
    pub bytes: u64,
    /// Number of its objects.
    pub objects: u64,
}

impl SpaceLimits {
    /// As much as the store holds.
    pub const UNLIMITED: Self = Self { bytes: u64::MAX, objects: u64::MAX };
    /// The default quotas of a new space: 64 GiB and 65,536 objects.
    pub const NEW: Self = Self { bytes: 64 << 30, objects: 1 << 16 };
}

/// Flags of an object, with the bits of the metadata block.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let flags = ObjectFlags::ARMED.with(ObjectFlags::ONE_SHOT);
/// assert_eq!(flags.bits(), 3);
/// assert_eq!(flags.without(ObjectFlags::ARMED), ObjectFlags::ONE_SHOT);
/// assert_eq!(ObjectFlags::from_bits(4), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ObjectFlags(u32);

impl ObjectFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Bit 0: a read through a block device may run the program.
    pub const ARMED: Self = Self(1);
    /// Bit 1: the first such read clears [`ARMED`](Self::ARMED).
    pub const ONE_SHOT: Self = Self(2);

    /// The flags of `bits`, or `None` when a bit has no meaning.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Option<Self> {
        if bits & !3 == 0 { Some(Self(bits)) } else { None }
    }

    /// The bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether all flags of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These flags without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Names an object in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The space it belongs to.
    pub space: SpaceId,
    /// Its register.
    pub id: VrId,
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object {} of space {}", self.id, self.space)
    }
}
