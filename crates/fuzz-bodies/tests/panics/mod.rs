//! The number of panics while a body runs, on any thread.
//!
//! A runtime catches the panics of its tasks, and a thread without a join ends silently. Both pass unnoticed by a test
//! that looks at its own thread alone.

use ciphermill_device::storage::{DatabaseError, guarded};
use std::{
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::{
        Mutex, Once, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// The number of panics during `body`. A thread that outlives its body adds its panic to the next body's number. The
/// panics that [`guarded`] turns into errors do not count.
pub(crate) fn panics_of(body: impl FnOnce()) -> usize {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    install();
    let outcome = catch_unwind(AssertUnwindSafe(body));
    PANICS.swap(0, Ordering::SeqCst).max(usize::from(outcome.is_err()))
}

/// Counts panics from now on.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            report(panic);
        }));
        // The first call of `guarded` sets its own hook, which hides its panics from the earlier hooks. So it comes second.
        let caught = guarded("check", || -> Result<(), DatabaseError> { panic!("caught on purpose") });
        assert!(caught.is_err());
        assert_eq!(PANICS.load(Ordering::SeqCst), 0, "the hook of `guarded` is older than the counting hook");
    });
}
