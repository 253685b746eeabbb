//! Protection of a process that holds secret keys.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};

/// Keeps the memory of this process off the disk: no core dumps, and no swapping where that is allowed.
///
/// Core dumps are switched off for good. Another process of the same user can then no longer read the memory, except with
/// special rights. Memory is locked if the limit for locked memory is unlimited (`ulimit -l`, `LimitMEMLOCK=`): under a
/// finite limit, a process with locked memory would later be refused memory altogether.
///
/// Returns whether memory is locked. A system that refuses is not an error: the protection is a second line.
///
/// ```
/// let locked = ciphermill_client::process::protect();
/// println!("locked: {locked}");
/// ```
pub fn protect() -> bool {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    // The limit does not hold for dumps that the kernel pipes to a program; the other switch does.
    let _ = setrlimit(Resource::Core, none);
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let unlimited = getrlimit(Resource::Memlock).current.is_none();
    unlimited && mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::dumpable_behavior;

    #[test]
    fn core_dumps_are_off() {
        protect();
        assert_eq!(dumpable_behavior().expect("a process has one"), DumpableBehavior::NotDumpable);
        assert_eq!(getrlimit(Resource::Core).current, Some(0));
    }
}
