//! Owners of objects.

use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// The owner of an object: a name in the words of the caller. The store keeps it with the object and compares it; it does
/// not interpret it. The name is shared by the objects in memory, and each record has its own copy.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_device::store::Owner;
/// let alice = Owner::new(b"alice").ok_or("too long")?;
/// let options = WriteOptions { owner: Some(alice.clone()), ..WriteOptions::default() };
/// space.write_bytes(x, &one, options)?;
/// // A later version keeps the owner.
/// let options = WriteOptions { owner: Owner::new(b"bob"), ..WriteOptions::default() };
/// assert_eq!(space.write_bytes(x, &two, options)?.stat.owner, Some(alice));
/// assert!(Owner::new(&[1; Owner::MAX_BYTES + 1]).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Owner(Arc<[u8]>);

impl Owner {
    /// Bytes of the longest name.
    pub const MAX_BYTES: usize = 223;

    /// `None` for an empty name and for one that is too long.
    #[must_use]
    pub fn new(name: &[u8]) -> Option<Self> {
        Self::is_possible(name).then(|| Self(name.into()))
    }

    /// The same of a name that is shared.
    #[must_use]
    pub fn shared(name: Arc<[u8]>) -> Option<Self> {
        Self::is_possible(&name).then_some(Self(name))
    }

    fn is_possible(name: &[u8]) -> bool {
        (1..=Self::MAX_BYTES).contains(&name.len())
    }

    /// The name.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({:?})", String::from_utf8_lossy(&self.0))
    }
}

/// Names in the table before unused ones are dropped.
const MANY: usize = 256;

/// The owners of the objects in memory, each name once.
#[derive(Debug, Default)]
pub(super) struct Owners(Mutex<Names>);

#[derive(Debug, Default)]
struct Names {
    names: HashSet<Owner>,
    /// Number of names after unused ones were dropped last.
    kept: usize,
}

impl Owners {
    /// The same owner, with the name that others share.
    pub(super) fn share(&self, owner: Owner) -> Owner {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = table.names.get(&owner) {
            return known.clone();
        }
        if table.names.len() >= 2 * table.kept + MANY {
            table.names.retain(|name| Arc::strong_count(&name.0) > 1);
            table.kept = table.names.len();
        }
        table.names.insert(owner.clone());
        owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_shared_and_unused_ones_are_dropped() {
        let owners = Owners::default();
        let owner = |number: usize| Owner::new(number.to_string().as_bytes()).expect("short");
        let held = owners.share(owner(7));
        assert!(Arc::ptr_eq(&held.0, &owners.share(owner(7)).0));
        (0..100_000).for_each(|number| drop(owners.share(owner(number))));
        let names = owners.0.lock().expect("no panic").names.len();
        assert!(names <= MANY + 2, "{names}");
        assert!(Arc::ptr_eq(&held.0, &owners.share(owner(7)).0), "a name in use stays");
    }
}
