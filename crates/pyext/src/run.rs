//! Computations: their thread pool, the interpreter's lock, Ctrl-C, fork and panics.
//!
//! A short computation runs while the caller keeps the interpreter's lock, because taking the lock back can cost
//! milliseconds while another Python thread computes. A longer one runs on the pool while the caller waits without the lock
//! and looks for signals.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::{Class, Failure};

/// From this estimated time on a computation runs without the interpreter's lock, in microseconds.
const DETACH_FROM_US: f64 = 1000.0;

/// How often a waiting caller looks for signals.
const POLL: Duration = Duration::from_millis(50);

/// The greatest number of threads.
const MAX_THREADS: usize = 1024;

static POOL: RwLock<Option<Arc<ThreadPool>>> = RwLock::new(None);

/// The process that started the pool; 0 before.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Asks a computation to end because its caller has gone.
#[derive(Clone, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

/// The payload of the unwinding of a cancelled computation.
struct Cancelled;

impl Cancel {
    /// Ends the computation if its caller has gone.
    pub(crate) fn check(&self) {
        if self.0.load(Ordering::Relaxed) {
            // Not a panic: no hook is called, and `guarded` catches it.
            resume_unwind(Box::new(Cancelled));
        }
    }
}

/// Runs `work` on the pool and returns its result; `estimate_us` is its expected time in microseconds.
///
/// On a signal whose handler raises, the caller returns with that exception within [`POLL`], and the computation ends at its
/// next [`Cancel::check`].
pub(crate) fn run<T, F>(py: Python<'_>, estimate_us: f64, work: F) -> Result<T, Failure>
where
    T: Send + 'static,
    F: FnOnce(&Cancel) -> Result<T, Failure> + Send + 'static,
{
    let pool = pool()?;
    if estimate_us < DETACH_FROM_US {
        return guarded(|| pool.install(|| work(&Cancel::default())));
    }
    waited(py, work, |job| {
        pool.spawn(job);
        Ok(())
    })
}

/// As [`run`] for an operation that waits for a disk or a network more than it computes: on a separate thread, so that it
/// occupies none of the pool.
pub(crate) fn blocking<T, F>(py: Python<'_>, work: F) -> Result<T, Failure>
where
    T: Send + 'static,
    F: FnOnce(&Cancel) -> Result<T, Failure> + Send + 'static,
{
    require_owner()?;
    waited(py, work, |job| {
        let thread = std::thread::Builder::new().name("ciphermill-io".to_owned()).spawn(job);
        thread.map(drop).map_err(|error| Failure::new(Class::Base, format!("no thread: {error}")))
    })
}

/// Starts `work` by `start` and waits for its result without the interpreter's lock.
fn waited<T, F>(
    py: Python<'_>,
    work: F,
    start: impl FnOnce(Box<dyn FnOnce() + Send>) -> Result<(), Failure>,
) -> Result<T, Failure>
where
    T: Send + 'static,
    F: FnOnce(&Cancel) -> Result<T, Failure> + Send + 'static,
{
    let cancel = Cancel::default();
    let (sender, receiver) = sync_channel(1);
    start(Box::new({
        let cancel = cancel.clone();
        // The receiver is gone after a signal.
        move || drop(sender.send(guarded(|| work(&cancel))))
    }))?;
    let receiver = Mutex::new(receiver);
    let wait = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(POLL);
    loop {
        match py.detach(wait) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| cancel.0.store(true, Ordering::Relaxed))?;
            }
            Err(RecvTimeoutError::Disconnected) => return Err(internal("a computation vanished")),
        }
    }
}

/// The result of `work`; a panic is an error, so that none reaches Python.
fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(panicked(&*payload)))
}

fn panicked(payload: &(dyn Any + Send)) -> Failure {
    let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        _ if payload.is::<Cancelled>() => "the computation was cancelled",
        _ => "a panic without a message",
    };
    internal(message)
}

fn internal(message: &str) -> Failure {
    Failure::new(Class::Base, format!("internal error: {message}; please report it with the call that caused it"))
}

/// The pool of this process.
fn pool() -> Result<Arc<ThreadPool>, Failure> {
    require_owner()?;
    if let Some(pool) = POOL.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
        return Ok(pool.clone());
    }
    let mut place = POOL.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = place.as_ref() {
        return Ok(pool.clone());
    }
    let pool = start(0)?;
    *place = Some(pool.clone());
    Ok(pool)
}

/// An error in a child that was forked after its parent had computed: the parent's threads are not in it.
fn require_owner() -> Result<(), Failure> {
    let (owner, this) = (OWNER.load(Ordering::Relaxed), std::process::id());
    if owner == 0 || owner == this {
        return Ok(());
    }
    let message = format!(
        "process {this} was forked from process {owner} after that had computed with ciphermill, and has none of its \
         threads; start processes by the method \"spawn\" or \"forkserver\" of multiprocessing"
    );
    Err(Failure::new(Class::Fork, message))
}

/// A pool of `threads` threads; 0 for one thread per core.
fn start(threads: usize) -> Result<Arc<ThreadPool>, Failure> {
    let builder = ThreadPoolBuilder::new().num_threads(threads).thread_name(|index| format!("ciphermill-{index}"));
    let pool = builder.build().map_err(|error| Failure::new(Class::Base, format!("no threads: {error}")))?;
    OWNER.store(std::process::id(), Ordering::Relaxed);
    Ok(Arc::new(pool))
}

/// Sets the number of threads of all later computations.
#[pyfunction]
pub(crate) fn set_threads(threads: usize) -> Result<(), Failure> {
    require_owner()?;
    if !(1..=MAX_THREADS).contains(&threads) {
        let message = format!("{threads} threads are not supported; use 1 to {MAX_THREADS}");
        return Err(Failure::new(Class::Parameter, message));
    }
    let pool = start(threads)?;
    *POOL.write().unwrap_or_else(PoisonError::into_inner) = Some(pool);
    Ok(())
}

/// The number of threads.
#[pyfunction]
pub(crate) fn threads() -> Result<usize, Failure> {
    Ok(pool()?.current_num_threads())
}
