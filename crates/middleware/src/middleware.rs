//! The calls an application makes.

use crate::{
    blob::{BlobId, BlobStat, Content, Metadata, ReadMode, Transferred, WriteMode, Written},
    embedded::EmbeddedTransport,
    error::MiddlewareError,
    operation::{Operation, Slot},
    queue::{Completion, Job, Queue, Refusal},
    transport::Transport,
    work::Work,
};
use ciphermill_device::Space;
use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::Arc,
    thread::{self, JoinHandle},
};

/// The most workers a middleware may have.
const MAX_WORKERS: usize = 1024;

/// Configuration of a [`Middleware`].
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let config = MiddlewareConfig { workers: 2, ..MiddlewareConfig::default() };
/// let middleware = Middleware::new(Arc::new(EmbeddedTransport::new(space)), config)?;
/// assert_eq!(middleware.in_flight(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MiddlewareConfig {
    /// Threads that carry out operations and call callbacks, 1 to 1,024. Over an embedded device, programs run on them.
    pub workers: usize,
    /// Operations accepted and not complete; at least 1. With [`Middleware::write_blob2`] each may hold a blob in memory.
    pub queue_limit: usize,
}

impl Default for MiddlewareConfig {
    /// As many workers as the machine has threads, but at least 2 and at most 1,024; 256 operations.
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self { workers: threads.clamp(2, MAX_WORKERS), queue_limit: 256 }
    }
}

/// Blobs over a device.
///
/// Every call returns at once. The operation then runs on one of the middleware's workers:
/// - operations on one blob run one at a time, in the order of the calls, and complete in that order;
/// - operations on different blobs run side by side, in no order. A program also reads blobs that did not trigger it:
///   wait until they are written before you trigger it.
///
/// The calls named as in the paper's Table 7 ([`create_blob`](Self::create_blob) to [`read_blob2`](Self::read_blob2))
/// take a callback, which a worker calls exactly once for every accepted call; when the queue is full they return
/// [`MiddlewareError::Busy`] and the callback is never called. Nothing else happens to the blob before its callback has
/// returned, so a callback may make calls, but must not wait for one to complete. The calls with short names
/// ([`create`](Self::create) to [`list`](Self::list)) give an [`Operation`], a future, which waits for room in the queue.
///
/// Dropping the middleware waits until all accepted operations are complete, callbacks included. (Dropped by one of its
/// callbacks it cannot wait; the remaining operations are still completed.)
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let id = middleware.create(metadata).wait()?;
/// middleware.write(id, WriteMode::Compute, bytes.clone()).wait()?;
/// assert_eq!(middleware.read(id, ReadMode::Armed).wait()?.bytes, bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Middleware {
    queue: Arc<Queue>,
    work: Arc<Work>,
    workers: Vec<JoinHandle<()>>,
}

impl Middleware {
    /// Blobs over `transport`.
    ///
    /// # Errors
    /// [`MiddlewareError::Configuration`], [`MiddlewareError::Worker`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let transport = Arc::new(EmbeddedTransport::new(space));
    /// let middleware = Middleware::new(transport.clone(), MiddlewareConfig::default())?;
    /// // The limits of the configuration are checked.
    /// let refused = Middleware::new(transport, MiddlewareConfig { workers: 0, queue_limit: 1 });
    /// assert!(matches!(refused, Err(MiddlewareError::Configuration { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(transport: Arc<dyn Transport>, config: MiddlewareConfig) -> Result<Self, MiddlewareError> {
        let MiddlewareConfig { workers, queue_limit } = config;
        if !(1..=MAX_WORKERS).contains(&workers) {
            let what = format!("workers is {workers}, it must be 1 to {MAX_WORKERS}");
            return Err(MiddlewareError::Configuration { what });
        }
        if queue_limit == 0 {
            let what = "queue_limit is 0, it must be at least 1".to_owned();
            return Err(MiddlewareError::Configuration { what });
        }
        let queue = Arc::new(Queue::new(queue_limit));
        // From here on, dropping it on an error stops the workers that were started.
        let mut middleware = Self { queue, work: Arc::new(Work::new(transport)), workers: Vec::with_capacity(workers) };
        for worker in 1..=workers {
            let queue = Arc::clone(&middleware.queue);
            let started = thread::Builder::new().name(format!("blob-worker-{worker}")).spawn(move || queue.serve());
            middleware.workers.push(started.map_err(|source| MiddlewareError::Worker { worker, workers, source })?);
        }
        Ok(middleware)
    }

    /// Blobs in `space` of a device in this process, with the default configuration.
    ///
    /// # Errors
    /// [`MiddlewareError::Worker`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let middleware = Middleware::embedded(space)?;
    /// assert!(middleware.list().wait()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn embedded(space: Space) -> Result<Self, MiddlewareError> {
        Self::new(Arc::new(EmbeddedTransport::new(space)), MiddlewareConfig::default())
    }

    /// Operations accepted and not complete.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// middleware.create(metadata).wait()?;
    /// assert!(middleware.in_flight() <= 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.queue.accepted()
    }

    /// Creates a blob without content, to be written. Until then this middleware alone knows of it, and forgets it when
    /// dropped.
    ///
    /// # Errors
    /// At once, here and in all calls with a callback: [`MiddlewareError::Busy`]. To the callback: as
    /// [`create`](Self::create).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let (sender, receiver) = mpsc::channel();
    /// middleware.create_blob(metadata, move |created| sender.send(created).expect("the receiver waits"))?;
    /// assert_eq!(receiver.recv()??, id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_blob(
        &self,
        metadata: Metadata,
        callback: impl FnOnce(Result<BlobId, MiddlewareError>) + Send + 'static,
    ) -> Result<(), MiddlewareError> {
        self.call(Some(metadata.id()), move |work| work.create(metadata), callback)
    }

    /// Deletes a blob, written or not.
    ///
    /// # Errors
    /// To the callback: as [`delete`](Self::delete).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let (sender, receiver) = mpsc::channel();
    /// middleware.create(metadata).wait()?;
    /// middleware.delete_blob(id, move |deleted| sender.send(deleted).expect("the receiver waits"))?;
    /// receiver.recv()??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_blob(
        &self,
        id: BlobId,
        callback: impl FnOnce(Result<(), MiddlewareError>) + Send + 'static,
    ) -> Result<(), MiddlewareError> {
        self.call(Some(id), move |work| work.delete(id), callback)
    }

    /// Writes a blob from a file, which is streamed and never held in memory whole.
    ///
    /// # Errors
    /// To the callback: as [`write_file`](Self::write_file).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let (sender, receiver) = mpsc::channel();
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("program");
    /// std::fs::write(&path, &bytes)?;
    /// middleware.create(metadata).wait()?;
    /// let done = move |written| sender.send(written).expect("the receiver waits");
    /// middleware.write_blob1(id, WriteMode::Compute, path, done)?;
    /// assert_eq!(receiver.recv()??.stat.size, bytes.len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_blob1(
        &self,
        id: BlobId,
        mode: WriteMode,
        data_file: impl Into<PathBuf>,
        callback: impl FnOnce(Result<Written, MiddlewareError>) + Send + 'static,
    ) -> Result<(), MiddlewareError> {
        let path = data_file.into();
        self.call(Some(id), move |work| work.write_file(id, mode, &path), callback)
    }

    /// Writes a blob from memory.
    ///
    /// # Errors
    /// To the callback: as [`write`](Self::write).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let (sender, receiver) = mpsc::channel();
    /// middleware.create(metadata).wait()?;
    /// let done = move |written| sender.send(written).expect("the receiver waits");
    /// middleware.write_blob2(id, WriteMode::Compute, bytes.clone(), done)?;
    /// assert_eq!(receiver.recv()??.stat.size, bytes.len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_blob2(
        &self,
        id: BlobId,
        mode: WriteMode,
        data: impl AsRef<[u8]> + Send + 'static,
        callback: impl FnOnce(Result<Written, MiddlewareError>) + Send + 'static,
    ) -> Result<(), MiddlewareError> {
        self.call(Some(id), move |work| work.write_bytes(id, mode, data.as_ref()), callback)
    }

    /// Reads a blob into a file, by way of a temporary file in the same folder. If the read fails, no partial file
    /// remains, and an earlier file is untouched.
    ///
    /// # Errors
    /// To the callback: as [`read_file`](Self::read_file).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let (sender, receiver) = mpsc::channel();
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("program");
    /// middleware.create(metadata).wait()?;
    /// middleware.write(id, WriteMode::Compute, bytes.clone()).wait()?;
    /// let done = move |read| sender.send(read).expect("the receiver waits");
    /// middleware.read_blob1(id, ReadMode::Stored, &path, done)?;
    /// receiver.recv()??;
    /// assert_eq!(std::fs::read(&path)?, bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_blob1(
        &self,
        id: BlobId,
        mode: ReadMode,
        data_file: impl Into<PathBuf>,
        callback: impl FnOnce(Result<Transferred, MiddlewareError>) + Send + 'static,
    ) -> Result<(), MiddlewareError> {
        let path = data_file.into();
        self.call(Some(id), move |work| work.read_file(id, mode, &path), callback)
    }

    /// Reads a blob into memory.
    ///
    /// # Errors
    /// To the callback: as [`read`](Self::read).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let (sender, receiver) = mpsc::channel();
    /// middleware.create(metadata).wait()?;
    /// middleware.write(id, WriteMode::Compute, bytes.clone()).wait()?;
    /// middleware.read_blob2(id, ReadMode::Stored, move |read| sender.send(read).expect("the receiver waits"))?;
    /// assert_eq!(receiver.recv()??.bytes, bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_blob2(
        &self,
        id: BlobId,
        mode: ReadMode,
        callback: impl FnOnce(Result<Content, MiddlewareError>) + Send + 'static,
    ) -> Result<(), MiddlewareError> {
        self.call(Some(id), move |work| work.read_bytes(id, mode), callback)
    }

    /// [`create_blob`](Self::create_blob) as a future.
    ///
    /// # Errors
    /// [`MiddlewareError::Exists`], [`MiddlewareError::Transport`]; here and in all calls that give a future:
    /// [`MiddlewareError::Closed`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(middleware.create(metadata).wait()?, id);
    /// assert!(matches!(middleware.create(metadata).wait(), Err(MiddlewareError::Exists { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(&self, metadata: Metadata) -> Operation<BlobId> {
        self.operation(Some(metadata.id()), move |work| work.create(metadata))
    }

    /// [`delete_blob`](Self::delete_blob) as a future.
    ///
    /// # Errors
    /// [`MiddlewareError::UnknownBlob`], [`MiddlewareError::Transport`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// middleware.create(metadata).wait()?;
    /// middleware.delete(id).wait()?;
    /// assert!(matches!(middleware.delete(id).wait(), Err(MiddlewareError::UnknownBlob { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(&self, id: BlobId) -> Operation<()> {
        self.operation(Some(id), move |work| work.delete(id))
    }

    /// [`write_blob1`](Self::write_blob1) as a future.
    ///
    /// # Errors
    /// [`MiddlewareError::UnknownBlob`]; [`MiddlewareError::NotAFile`], [`MiddlewareError::File`],
    /// [`MiddlewareError::Empty`], [`MiddlewareError::FileChanged`]; [`MiddlewareError::Transport`] when the device has
    /// no room, refuses the content, or its program fails. The earlier version, if there is one, is then still there.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("program");
    /// std::fs::write(&path, &bytes)?;
    /// middleware.create(metadata).wait()?;
    /// assert_eq!(middleware.write_file(id, WriteMode::Compute, path).wait()?.stat.size, bytes.len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_file(&self, id: BlobId, mode: WriteMode, data_file: impl Into<PathBuf>) -> Operation<Written> {
        let path = data_file.into();
        self.operation(Some(id), move |work| work.write_file(id, mode, &path))
    }

    /// [`write_blob2`](Self::write_blob2) as a future.
    ///
    /// # Errors
    /// [`MiddlewareError::UnknownBlob`], [`MiddlewareError::Empty`]; [`MiddlewareError::Transport`] as for
    /// [`write_file`](Self::write_file).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// middleware.create(metadata).wait()?;
    /// assert!(!middleware.write(id, WriteMode::Compute, bytes).wait()?.computed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, id: BlobId, mode: WriteMode, data: impl AsRef<[u8]> + Send + 'static) -> Operation<Written> {
        self.operation(Some(id), move |work| work.write_bytes(id, mode, data.as_ref()))
    }

    /// [`read_blob1`](Self::read_blob1) as a future.
    ///
    /// # Errors
    /// [`MiddlewareError::UnknownBlob`], [`MiddlewareError::NotWritten`]; [`MiddlewareError::NotAFile`],
    /// [`MiddlewareError::File`]; [`MiddlewareError::Transport`] when the blob is damaged, does not compute, or its
    /// program fails.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("program");
    /// middleware.create(metadata).wait()?;
    /// middleware.write(id, WriteMode::Compute, bytes.clone()).wait()?;
    /// middleware.read_file(id, ReadMode::Stored, &path).wait()?;
    /// assert_eq!(std::fs::read(&path)?, bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_file(&self, id: BlobId, mode: ReadMode, data_file: impl Into<PathBuf>) -> Operation<Transferred> {
        let path = data_file.into();
        self.operation(Some(id), move |work| work.read_file(id, mode, &path))
    }

    /// [`read_blob2`](Self::read_blob2) as a future.
    ///
    /// # Errors
    /// [`MiddlewareError::UnknownBlob`], [`MiddlewareError::NotWritten`]; [`MiddlewareError::Transport`] as for
    /// [`read_file`](Self::read_file).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// middleware.create(metadata).wait()?;
    /// assert!(matches!(middleware.read(id, ReadMode::Stored).wait(), Err(MiddlewareError::NotWritten { .. })));
    /// middleware.write(id, WriteMode::Compute, bytes.clone()).wait()?;
    /// assert_eq!(middleware.read(id, ReadMode::Stored).wait()?.bytes, bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, id: BlobId, mode: ReadMode) -> Operation<Content> {
        self.operation(Some(id), move |work| work.read_bytes(id, mode))
    }

    /// Returns the metadata of a stored blob.
    ///
    /// # Errors
    /// [`MiddlewareError::UnknownBlob`], [`MiddlewareError::NotWritten`], [`MiddlewareError::Transport`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// middleware.create(metadata).wait()?;
    /// middleware.write(id, WriteMode::Compute, bytes.clone()).wait()?;
    /// assert_eq!(middleware.stat(id).wait()?.size, bytes.len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stat(&self, id: BlobId) -> Operation<BlobStat> {
        self.operation(Some(id), move |work| work.stat(id))
    }

    /// All stored blobs, ascending by name. It waits for no other operation.
    ///
    /// # Errors
    /// [`MiddlewareError::List`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// middleware.create(metadata).wait()?;
    /// // A blob without content is not stored yet.
    /// assert!(middleware.list().wait()?.is_empty());
    /// middleware.write(id, WriteMode::Compute, bytes).wait()?;
    /// assert_eq!(middleware.list().wait()?[0].id, id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list(&self) -> Operation<Vec<BlobStat>> {
        self.operation(None, Work::list)
    }

    fn call<T: Send + 'static>(
        &self,
        lane: Option<BlobId>,
        operation: impl FnOnce(&Work) -> Result<T, MiddlewareError> + Send + 'static,
        callback: impl FnOnce(Result<T, MiddlewareError>) + Send + 'static,
    ) -> Result<(), MiddlewareError> {
        self.queue.submit(lane, self.job(operation, callback)).map_err(|refusal| match refusal {
            Refusal::Full => MiddlewareError::Busy { limit: self.queue.limit() },
            Refusal::Closed => MiddlewareError::Closed,
        })
    }

    fn operation<T: Send + 'static>(
        &self,
        lane: Option<BlobId>,
        operation: impl FnOnce(&Work) -> Result<T, MiddlewareError> + Send + 'static,
    ) -> Operation<T> {
        let slot = Slot::new();
        let filled = Arc::clone(&slot);
        let job = self.job(operation, move |result| filled.fill(result));
        Operation::new(Arc::clone(&self.queue), lane, job, slot)
    }

    /// Binds an operation and its callback into a job, which never panics.
    fn job<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Work) -> Result<T, MiddlewareError> + Send + 'static,
        done: impl FnOnce(Result<T, MiddlewareError>) + Send + 'static,
    ) -> Job {
        let work = Arc::clone(&self.work);
        Box::new(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| operation(&work)));
            let result = outcome.unwrap_or_else(|panic| Err(MiddlewareError::Panicked { what: message(&*panic) }));
            Box::new(move || done(result)) as Completion
        })
    }
}

impl Drop for Middleware {
    fn drop(&mut self) {
        self.queue.close();
        let this = thread::current().id();
        for worker in self.workers.drain(..) {
            if worker.thread().id() != this {
                // A worker catches every panic, so there is nothing to learn from its end.
                let _ = worker.join();
            }
        }
    }
}

impl fmt::Debug for Middleware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Middleware")
            .field("work", &self.work)
            .field("workers", &self.workers.len())
            .field("queue_limit", &self.queue.limit())
            .finish_non_exhaustive()
    }
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}
