//! Forked processes: whether this process made an object, or is a forked child of the one that did.
//!
//! A random generator that a child shares with its parent would draw the same numbers in both, and a thread pool has no
//! threads in a child. So both note the process that made them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A process, as far as forks go: it differs between a process and its forked children. Two children of one process may
/// have the same mark.
///
/// # Example
/// ```
/// use ciphermill_math::fork::Mark;
///
/// let birth = Mark::now();
/// assert_eq!(Mark::now(), birth, "no fork between");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(u64);

impl Mark {
    /// This process.
    pub fn now() -> Self {
        static PAGE: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
        /// Forks between the first process and this one, and 1.
        static GENERATION: AtomicU64 = AtomicU64::new(0);
        let Some(page) = PAGE.get_or_init(wiped_on_fork) else {
            return Self(std::process::id().into());
        };
        let mark = page.load(Ordering::Relaxed);
        if mark != 0 {
            return Self(mark);
        }
        // The first call in this process. Of several threads one sets the page, the others read what it set.
        let next = GENERATION.fetch_add(1, Ordering::Relaxed) + 1;
        match page.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Self(next),
            Err(set) => Self(set),
        }
    }
}

/// A word in a page that the kernel gives to forked children as zeros (Linux 4.14 and later).
#[cfg(target_os = "linux")]
fn wiped_on_fork() -> Option<&'static AtomicU64> {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

    // The kernel rounds it up to whole pages.
    let len = size_of::<AtomicU64>();
    // SAFETY: a new private mapping, at an address of the kernel's choice, aliases nothing.
    let page = unsafe {
        mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE).ok()?
    };
    // SAFETY: the mapping was made above; the advice changes what a child sees of it, nothing in this process.
    unsafe { madvise(page, len, Advice::LinuxWipeOnFork).ok()? };
    // SAFETY: the page is zeroed, aligned, never unmapped, and only used through this atomic.
    Some(unsafe { &*page.cast::<AtomicU64>() })
}

/// Elsewhere the process id has to do: a child that gets the id of an ancestor that has ended is taken for it.
#[cfg(not(target_os = "linux"))]
fn wiped_on_fork() -> Option<&'static AtomicU64> {
    None
}
