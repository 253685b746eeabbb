//! Rights of hosts on a namespace, and the owners of its objects.
//!
//! A host's name is its own claim until hosts are authenticated, so rights and owners hold against mistakes, not against a
//! host that takes another's name.

use super::status;
use ciphermill_device::store::Owner;
use ciphermill_nvme::CommandError;
use std::{collections::BTreeMap, fmt, sync::Arc};

/// The name of a host, as the device keeps it as the owner of the objects that the host creates. It is opaque and bounded.
///
/// # Example
/// ```
/// use ciphermill_blockspace::adapter::Actor;
///
/// let actor = Actor::new("nqn.2026-01.example:host").ok_or("too long")?;
/// assert_eq!(actor.as_str(), "nqn.2026-01.example:host");
/// assert!(Actor::new(&"x".repeat(Actor::MAX_BYTES + 1)).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Actor(Arc<str>);

impl Actor {
    /// Bytes of the longest name.
    pub const MAX_BYTES: usize = 200;

    /// `None` for an empty name and for one that is too long.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        (1..=Self::MAX_BYTES).contains(&name.len()).then(|| Self(name.into()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The refusal of a host that can own nothing.
    pub(super) fn too_long() -> CommandError {
        let text = format!("names of hosts that own objects have at most {} bytes; use a shorter one", Self::MAX_BYTES);
        CommandError::new(status::ACCESS_DENIED, text)
    }

    /// The host as the owner of objects.
    pub(super) fn owner(&self) -> Option<Owner> {
        Owner::shared(Arc::clone(&self.0).into())
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The rights of a host on a namespace. The default is all of them.
///
/// # Example
/// ```
/// use ciphermill_blockspace::adapter::Rights;
///
/// let reader = Rights { write: false, ..Rights::default() };
/// assert!(reader.read && reader.program && !reader.owner_only);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Read blocks and objects; reads of armed objects run programs. A read that disarms a one-shot object needs `write` too.
    pub read: bool,
    /// Write and deallocate blocks, declare, reserve and delete objects; writes that complete objects run programs.
    pub write: bool,
    /// Store, replace and delete programs, in addition to `write`.
    pub program: bool,
    /// Read, change and delete only objects that the host created. Programs that run for the host read only those.
    pub owner_only: bool,
}

impl Default for Rights {
    fn default() -> Self {
        Self { read: true, write: true, program: true, owner_only: false }
    }
}

impl Rights {
    /// Whether changes depend on the objects that they meet.
    pub(super) const fn depends_on_objects(self) -> bool {
        self.owner_only || !self.program
    }
}

/// The rights of the hosts of a namespace.
///
/// # Example
/// ```
/// use ciphermill_blockspace::adapter::{Access, Rights};
///
/// let mut access = Access::default();
/// access.hosts.insert("nqn.2026-01.example:reader".into(), Rights { write: false, ..Rights::default() });
/// assert!(!access.of("nqn.2026-01.example:reader").write);
/// assert!(access.of("nqn.2026-01.example:other").write);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Rights by name.
    pub hosts: BTreeMap<String, Rights>,
    /// The rights of hosts that are not among these.
    pub others: Rights,
}

impl Access {
    /// The rights of a host.
    #[must_use]
    pub fn of(&self, nqn: &str) -> Rights {
        self.hosts.get(nqn).copied().unwrap_or(self.others)
    }

    /// Whether an owner of objects may use no others.
    pub(super) fn confines(&self, owner: &Owner) -> bool {
        std::str::from_utf8(owner.as_bytes()).is_ok_and(|nqn| self.of(nqn).owner_only)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_owns_objects_by_its_name() {
        let actor = Actor::new("nqn.2026-01.example:host").expect("a name");
        assert_eq!(actor.to_string(), "nqn.2026-01.example:host");
        assert_eq!(actor.owner().expect("an owner").as_bytes(), actor.as_str().as_bytes());
    }

    #[test]
    fn changes_depend_on_objects_that_the_host_may_not_change() {
        let all = Rights::default();
        assert!(!all.depends_on_objects() && !Rights { read: false, write: false, ..all }.depends_on_objects());
        assert!(Rights { owner_only: true, ..all }.depends_on_objects());
        assert!(Rights { program: false, ..all }.depends_on_objects());
    }

    #[test]
    fn owners_are_confined_by_the_rights_of_their_names() {
        let confined = Rights { owner_only: true, ..Rights::default() };
        let access = Access { hosts: BTreeMap::from([("one".to_owned(), confined)]), others: Rights::default() };
        let owner = |name: &str| Actor::new(name).expect("a name").owner().expect("an owner");
        assert_eq!((access.of("one"), access.of("two")), (confined, Rights::default()));
        assert!(access.confines(&owner("one")) && !access.confines(&owner("two")));
    }
}
