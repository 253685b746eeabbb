//! Panics of the database library, taken for the errors that they should be.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::Once,
};

thread_local! {
    /// Whether this thread is within [`guarded`], where a panic becomes an error and needs no report of its own.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs code of the database on bytes that may be damaged. It promises errors, but has internal assertions; one of them
/// must not take the process down because a disk rotted, nor write to standard error past whoever handles the error.
///
/// # Errors
/// Those of `work`; what `asserted` makes of a description when an assertion failed.
pub fn guarded<T, E>(work: impl FnOnce() -> Result<T, E>, asserted: impl FnOnce(String) -> E) -> Result<T, E> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                report(panic);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    result.unwrap_or_else(|_| Err(asserted("an internal assertion of the database failed".to_owned())))
}
