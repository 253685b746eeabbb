//! A pool of scratch buffers, because touching fresh pages costs more than the computation.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// Objects that wait to be used again, at most a few.
#[derive(Debug)]
pub(crate) struct Recycler<T> {
    idle: Mutex<Vec<T>>,
    /// How many may wait.
    max: usize,
}

/// An object that returns when it is dropped.
#[derive(Debug)]
pub(crate) struct Lease<T> {
    object: Option<T>,
    home: Option<Arc<Recycler<T>>>,
}

impl<T> Lease<T> {
    /// An object that is not used again.
    pub(crate) fn once(object: T) -> Self {
        Self { object: Some(object), home: None }
    }
}

impl<T> Recycler<T> {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { idle: Mutex::new(Vec::new()), max })
    }

    /// A used buffer that `fits`, or a new one. A used buffer still holds the values of its last use.
    pub(crate) fn lease(self: &Arc<Self>, fits: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> Lease<T> {
        // The list is whole at every point where a panic could happen, so a poisoned lock is harmless.
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let used = idle.iter().rposition(fits).map(|i| idle.swap_remove(i));
        drop(idle);
        Lease { object: Some(used.unwrap_or_else(make)), home: Some(self.clone()) }
    }
}

impl<T> Deref for Lease<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.object.as_ref().expect("it is there until it is dropped")
    }
}

impl<T> DerefMut for Lease<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.object.as_mut().expect("it is there until it is dropped")
    }
}

impl<T> Drop for Lease<T> {
    fn drop(&mut self) {
        if let Some(home) = &self.home {
            let mut idle = home.idle.lock().unwrap_or_else(PoisonError::into_inner);
            // The oldest makes room: shapes that are no longer used do not stay.
            if idle.len() == home.max {
                idle.remove(0);
            }
            idle.extend(self.object.take());
        }
    }
}
