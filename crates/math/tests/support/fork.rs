//! Looking at an object from a forked child.

/// What a forked child sees: `pre_exec` runs between fork and exec. What `look` uses must be free of locks that another thread
/// of this process could hold.
pub(crate) fn in_forked_child(look: impl FnMut() -> bool + Send + Sync + 'static) -> bool {
    use std::os::unix::process::CommandExt;

    let mut look = look;
    let mut command = std::process::Command::new("/bin/true");
    // SAFETY: the child looks at memory that is its own, and takes no lock of the parent's, as the caller promises.
    unsafe {
        command.pre_exec(move || if look() { Ok(()) } else { Err(std::io::Error::from_raw_os_error(5)) });
    }
    match command.status() {
        Ok(status) => status.success(),
        Err(error) if error.raw_os_error() == Some(5) => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_forked_child_has_another_mark() {
    use ciphermill_math::fork::Mark;

    let birth = Mark::now();
    assert!(in_forked_child(move || Mark::now() != birth && Mark::now() == Mark::now()));
    assert_eq!(Mark::now(), birth);
}

#[test]
fn what_the_child_sees_is_reported() {
    assert!(in_forked_child(|| true) && !in_forked_child(|| false));
}
