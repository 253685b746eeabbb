//! The threads of the connection, so that callers need no runtime.

use super::NvmeError;
use std::{
    future::Future,
    sync::mpsc::{Receiver, sync_channel},
};

/// A runtime of one worker thread; futures run there, callers wait.
#[derive(Debug)]
pub(super) struct Runtime(Option<tokio::runtime::Runtime>);

/// The future did not come to its end: it panicked.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a task of the NVMe transport ended early, which is a defect of it")]
pub(super) struct Gone;

impl Runtime {
    pub(super) fn new() -> Result<Self, NvmeError> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).max_blocking_threads(2).thread_name("ciphermill-nvme").enable_all();
        Ok(Self(Some(builder.build().map_err(NvmeError::Threads)?)))
    }

    /// Starts a future and gives where its outcome will be.
    pub(super) fn start<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Receiver<T> {
        let (sender, receiver) = sync_channel(1);
        if let Some(runtime) = &self.0 {
            runtime.spawn(async move {
                // A caller that gave up does not listen.
                let _ = sender.send(future.await);
            });
        }
        receiver
    }

    /// Runs a future to its end. Waiting on a channel also works on threads of other runtimes, where `block_on` panics.
    pub(super) fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Result<T, Gone> {
        self.start(future).recv().map_err(|_| Gone)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Waiting for its threads panics on a thread of another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
