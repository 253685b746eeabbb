//! Forked children.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Any error number that fork and exec do not return.
const LOOKED_FALSE: i32 = 5;

/// The result of `look` in a forked child of this process. It runs between fork and exec, so it must not need a lock that
/// another thread of this process may hold.
///
/// # Panics
/// If no child can be made.
///
/// # Example
/// ```
/// let parent = std::process::id();
/// assert!(ciphermill_testing::in_forked_child(move || std::process::id() != parent));
/// ```
pub fn in_forked_child(mut look: impl FnMut() -> bool + Send + Sync + 'static) -> bool {
    let mut command = Command::new("/bin/true");
    let look = move || if look() { Ok(()) } else { Err(io::Error::from_raw_os_error(LOOKED_FALSE)) };
    // SAFETY: the child looks at memory that is its own, and takes no lock of the parent's, as the caller promises.
    unsafe { command.pre_exec(look) };
    match command.status() {
        Ok(status) => status.success(),
        Err(error) if error.raw_os_error() == Some(LOOKED_FALSE) => false,
        Err(error) => panic!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::in_forked_child;

    #[test]
    fn the_childs_view_is_reported() {
        assert!(in_forked_child(|| true) && !in_forked_child(|| false));
    }
}
