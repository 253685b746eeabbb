//! The initiator for callers without a runtime: one thread of its own serves the connections.

use super::{
    config::InitiatorConfig,
    controller::{Controller, ErrorReport},
    discovery::discover as discover_async,
    error::InitiatorError,
    namespace::RemoteNamespace,
};
use crate::{identify::ControllerIdentity, log::DiscoveryEntry, namespace::Host};
use bytes::Bytes;
use std::{future::Future, ops::Range, sync::Arc, thread, time::Duration};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::oneshot,
};

/// The thread and its runtime; both end when the last user is dropped.
#[derive(Debug)]
struct Engine {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

fn runtime() -> Result<Runtime, InitiatorError> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build();
    runtime.map_err(|error| InitiatorError::io("the runtime", error))
}

impl Engine {
    fn start() -> Result<Arc<Self>, InitiatorError> {
        let runtime = runtime()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("nvme-initiator".into())
            .spawn(move || {
                let _ = runtime.block_on(stopped);
            })
            .map_err(|error| InitiatorError::io("the thread", error))?;
        Ok(Arc::new(Self { handle, stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        drop(self.stop.take());
        // It ends as soon as it sees that, and it cannot panic while it waits. It cannot wait for itself.
        if let Some(thread) = self.thread.take_if(|thread| thread.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// Asks a target which subsystems it has, see [`discover`](super::discover).
///
/// # Errors
/// See [`InitiatorError`].
///
/// # Panics
/// When an asynchronous task calls it.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// # let runtime = tokio::runtime::Runtime::new()?;
/// # let config = runtime.block_on(served(subsystem()?))?;
/// let found = blocking::discover(&config.address, &config.host, Duration::from_secs(5))?;
/// assert_eq!(found[0].subsystem, config.subsystem);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn discover(address: &str, host: &Host, time: Duration) -> Result<Vec<DiscoveryEntry>, InitiatorError> {
    runtime()?.block_on(discover_async(address, host, time))
}

/// A [`Controller`] whose calls block the calling thread. Dropped without [`disconnect`](Self::disconnect), it closes its
/// connections without telling the controller. Any number of threads may call at once; none may be within an
/// asynchronous task, where each call panics.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// # let runtime = tokio::runtime::Runtime::new()?;
/// # let config = runtime.block_on(served(subsystem()?))?;
/// let controller = BlockingController::connect(config)?;
/// let disk = controller.namespace(1)?;
/// disk.write(0, vec![7u8; BLOCK_BYTES])?;
/// assert_eq!(disk.read(0, 1)?, [7u8; BLOCK_BYTES]);
/// controller.disconnect();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockingController {
    // Dropped before the engine that serves it.
    controller: Controller,
    engine: Arc<Engine>,
}

impl BlockingController {
    /// See [`Controller::connect`].
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub fn connect(config: InitiatorConfig) -> Result<Self, InitiatorError> {
        let engine = Engine::start()?;
        let controller = engine.handle.block_on(Controller::connect(config))?;
        Ok(Self { controller, engine })
    }

    /// Runs any future of the controller's to its end.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # let runtime = tokio::runtime::Runtime::new()?;
    /// # let config = runtime.block_on(served(subsystem()?))?;
    /// let controller = BlockingController::connect(config)?;
    /// let queues = controller.block_on(controller.controller().get_feature(0x07, 0, 0))?;
    /// assert_eq!(queues, 0, "one I/O queue of each kind: the figures are less one");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.engine.handle.block_on(future)
    }

    /// The controller itself, whose futures [`block_on`](Self::block_on) runs.
    #[must_use]
    pub const fn controller(&self) -> &Controller {
        &self.controller
    }

    /// See [`Controller::identify`].
    #[must_use]
    pub fn identify(&self) -> ControllerIdentity {
        self.controller.identify()
    }

    /// See [`Controller::namespaces`].
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub fn namespaces(&self) -> Result<Vec<u32>, InitiatorError> {
        self.block_on(self.controller.namespaces())
    }

    /// See [`Controller::namespace`].
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub fn namespace(&self, nsid: u32) -> Result<BlockingNamespace, InitiatorError> {
        let namespace = self.block_on(self.controller.namespace(nsid))?;
        Ok(BlockingNamespace { namespace, controller: self.clone() })
    }

    /// See [`Controller::last_errors`].
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub fn last_errors(&self) -> Result<Vec<ErrorReport>, InitiatorError> {
        self.block_on(self.controller.last_errors())
    }

    /// See [`Controller::disconnect`].
    pub fn disconnect(&self) {
        self.block_on(self.controller.disconnect());
    }
}

/// A [`RemoteNamespace`] whose calls block.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// # let runtime = tokio::runtime::Runtime::new()?;
/// # let config = runtime.block_on(served(subsystem()?))?;
/// let disk = BlockingController::connect(config)?.namespace(1)?;
/// disk.write(8, vec![7u8; 2 * BLOCK_BYTES])?;
/// disk.write_zeroes(9, 1, false)?;
/// disk.flush()?;
/// assert!(disk.compare(8, vec![7u8; BLOCK_BYTES])? && disk.compare(9, vec![0u8; BLOCK_BYTES])?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockingNamespace {
    namespace: RemoteNamespace,
    controller: BlockingController,
}

impl BlockingNamespace {
    /// The namespace itself, whose futures [`BlockingController::block_on`] runs.
    #[must_use]
    pub const fn namespace(&self) -> &RemoteNamespace {
        &self.namespace
    }

    /// The controller.
    #[must_use]
    pub const fn controller(&self) -> &BlockingController {
        &self.controller
    }

    /// See [`RemoteNamespace::with_timeout`].
    #[must_use]
    pub fn with_timeout(&self, time: Duration) -> Self {
        Self { namespace: self.namespace.with_timeout(time), controller: self.controller.clone() }
    }

    /// See [`RemoteNamespace::blocks`].
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        self.namespace.blocks()
    }

    /// See [`RemoteNamespace::max_transfer_blocks`].
    #[must_use]
    pub fn max_transfer_blocks(&self) -> u32 {
        self.namespace.max_transfer_blocks()
    }

    /// See [`RemoteNamespace::read`] and [`RemoteNamespace::read_large`]: any number of blocks.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub fn read(&self, lba: u64, blocks: u64) -> Result<Vec<u8>, InitiatorError> {
        self.controller.block_on(self.namespace.read_large(lba, blocks))
    }

    /// See [`RemoteNamespace::write_large`]: any number of whole blocks.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub fn write(&self, lba: u64, data: impl Into<Bytes>) -> Result<(), InitiatorError> {
        self.controller.block_on(self.namespace.write_large(lba, data))
    }

    /// See [`RemoteNamespace::compare`].
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub fn compare(&self, lba: u64, data: impl Into<Bytes>) -> Result<bool, InitiatorError> {
        self.controller.block_on(self.namespace.compare(lba, data))
    }

    /// See [`RemoteNamespace::write_zeroes`].
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub fn write_zeroes(&self, lba: u64, blocks: u64, deallocate: bool) -> Result<(), InitiatorError> {
        self.controller.block_on(self.namespace.write_zeroes(lba, blocks, deallocate))
    }

    /// See [`RemoteNamespace::deallocate`].
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub fn deallocate(&self, ranges: &[Range<u64>]) -> Result<(), InitiatorError> {
        self.controller.block_on(self.namespace.deallocate(ranges))
    }

    /// See [`RemoteNamespace::flush`].
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub fn flush(&self) -> Result<(), InitiatorError> {
        self.controller.block_on(self.namespace.flush())
    }

    /// See [`RemoteNamespace::vendor_read`].
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub fn vendor_read(&self, opcode: u8, dwords: [u32; 6], length: usize) -> Result<Vec<u8>, InitiatorError> {
        self.controller.block_on(self.namespace.vendor_read(opcode, dwords, length))
    }
}
