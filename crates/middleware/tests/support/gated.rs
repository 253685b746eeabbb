//! A transport whose operations a test holds back, records and makes fail.

use ciphermill_middleware::{
    BlobId, BlobStat, Metadata, ReadMode, Transferred, Transport, TransportError, WriteMode, Written,
};
use std::{
    io::{Read, Write},
    sync::{Arc, Condvar, Mutex},
};

/// Passes everything on, but only while the gate is open.
#[derive(Debug)]
pub(crate) struct Gated {
    inner: Arc<dyn Transport>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    /// Operations at the gate.
    held: usize,
    /// Writes, in the order in which they began.
    writes: Vec<(BlobId, u64)>,
    /// Operations now on each blob, and the most there ever were on one.
    busy: Vec<BlobId>,
    overlaps: usize,
    /// The next read or write fails so, a read after this many bytes.
    failure: Option<(usize, TransportError)>,
    panic: bool,
}

impl Gated {
    pub(crate) fn new(inner: Arc<dyn Transport>) -> Arc<Self> {
        Arc::new(Self { inner, state: Mutex::default(), changed: Condvar::new() })
    }

    pub(crate) fn close(&self) {
        self.state.lock().unwrap().closed = true;
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().closed = false;
        self.changed.notify_all();
    }

    /// Returns when `count` operations stand at the gate.
    pub(crate) fn await_held(&self, count: usize) {
        let mut state = self.state.lock().unwrap();
        while state.held < count {
            state = self.changed.wait(state).unwrap();
        }
    }

    pub(crate) fn writes(&self) -> Vec<(BlobId, u64)> {
        self.state.lock().unwrap().writes.clone()
    }

    /// How often an operation began on a blob while another was in progress on it.
    pub(crate) fn overlaps(&self) -> usize {
        self.state.lock().unwrap().overlaps
    }

    /// Has the next read fail after `bytes` bytes, or the next write at once.
    pub(crate) fn fail_once(&self, bytes: usize, error: TransportError) {
        self.state.lock().unwrap().failure = Some((bytes, error));
    }

    pub(crate) fn panic_once(&self) {
        self.state.lock().unwrap().panic = true;
    }

    fn pass<T>(&self, id: BlobId, operation: impl FnOnce() -> T) -> T {
        let mut state = self.state.lock().unwrap();
        if std::mem::take(&mut state.panic) {
            drop(state);
            panic!("the toy transport was told to");
        }
        state.overlaps += usize::from(state.busy.contains(&id));
        state.busy.push(id);
        state.held += 1;
        self.changed.notify_all();
        while state.closed {
            state = self.changed.wait(state).unwrap();
        }
        state.held -= 1;
        drop(state);
        let result = operation();
        let mut state = self.state.lock().unwrap();
        let place = state.busy.iter().position(|&busy| busy == id).unwrap();
        state.busy.swap_remove(place);
        result
    }
}

impl Transport for Gated {
    fn write(
        &self,
        metadata: &Metadata,
        size: u64,
        content: &mut dyn Read,
        mode: WriteMode,
    ) -> Result<Written, TransportError> {
        self.state.lock().unwrap().writes.push((metadata.id(), size));
        let failure = self.state.lock().unwrap().failure.take();
        self.pass(metadata.id(), || match failure {
            None => self.inner.write(metadata, size, content, mode),
            Some((_, error)) => Err(error),
        })
    }

    fn read(&self, id: BlobId, mode: ReadMode, out: &mut dyn Write) -> Result<Transferred, TransportError> {
        let failure = self.state.lock().unwrap().failure.take();
        self.pass(id, || match failure {
            None => self.inner.read(id, mode, out),
            Some((bytes, error)) => {
                let mut whole = Vec::new();
                self.inner.read(id, mode, &mut whole)?;
                out.write_all(&whole[..bytes]).map_err(TransportError::Output)?;
                Err(error)
            }
        })
    }

    fn delete(&self, id: BlobId) -> Result<(), TransportError> {
        self.pass(id, || self.inner.delete(id))
    }

    fn stat(&self, id: BlobId) -> Result<BlobStat, TransportError> {
        self.inner.stat(id)
    }

    fn list(&self) -> Result<Vec<BlobStat>, TransportError> {
        self.inner.list()
    }
}
