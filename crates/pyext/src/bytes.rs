//! Bytes that Python hands over: `bytes`, `bytearray`, and other contiguous buffers.

use std::ops::Deref;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySequence, PyString};
use zeroize::Zeroizing;

use crate::errors::{Class, Failure};

/// The accepted types, for errors.
const ACCEPTED: &str = "bytes, bytearray or another contiguous bytes-like object";

/// The bytes of an argument. `bytes` are borrowed; a buffer that another thread may change is copied, and the copy is erased
/// after use, as it may be a secret key.
pub(crate) enum Bytes<'py> {
    Borrowed(Bound<'py, PyBytes>),
    Copied(Zeroizing<Vec<u8>>),
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes.as_bytes(),
            Self::Copied(bytes) => bytes,
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Bytes<'py> {
    type Error = Failure;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self, Failure> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::Borrowed(bytes.to_owned()));
        }
        let Ok(buffer) = PyUntypedBuffer::get(&object) else {
            return Err(refused(&object, ACCEPTED));
        };
        if !buffer.is_c_contiguous() {
            let message = format!("a buffer that is not contiguous is not supported; use {ACCEPTED}");
            return Err(Failure::new(Class::Dtype, message));
        }
        // The elements of an array of objects are the addresses of the objects.
        if buffer.format().to_bytes().contains(&b'O') {
            return Err(Failure::new(Class::Dtype, format!("a buffer of objects is not supported; use {ACCEPTED}")));
        }
        let (first, len) = (buffer.buf_ptr().cast::<u8>().cast_const(), buffer.len_bytes());
        if len == 0 {
            return Ok(Self::Copied(Zeroizing::new(Vec::new())));
        }
        // SAFETY: the buffer is contiguous, so `len` bytes are readable from its first one on. They are not moved or freed while
        // the buffer is held, and the interpreter's lock is held during the copy.
        let bytes = unsafe { std::slice::from_raw_parts(first, len) }.to_vec();
        Ok(Self::Copied(Zeroizing::new(bytes)))
    }
}

/// The bytes of each element of a list or tuple.
pub(crate) struct BytesList<'py>(Vec<Bytes<'py>>);

impl<'py> Deref for BytesList<'py> {
    type Target = [Bytes<'py>];

    fn deref(&self) -> &[Bytes<'py>] {
        &self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for BytesList<'py> {
    type Error = Failure;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self, Failure> {
        const LIST: &str = "a list whose elements are bytes, bytearray or other contiguous bytes-like objects";
        // Sequences too, of characters and of integers.
        let one = object.is_instance_of::<PyString>() || PyUntypedBuffer::get(&object).is_ok();
        let Some(list) = object.cast::<PySequence>().ok().filter(|_| !one) else {
            return Err(refused(&object, LIST));
        };
        let element = |element: PyResult<Bound<'py, PyAny>>| Bytes::extract(element?.as_borrowed());
        Ok(Self(list.try_iter()?.map(element).collect::<Result<_, Failure>>()?))
    }
}

/// The failure for an object of another type.
fn refused(object: &Bound<'_, PyAny>, accepted: &str) -> Failure {
    let name = object.get_type().name().map_or_else(|_| "another type".to_owned(), |name| name.to_string());
    Failure::new(Class::Dtype, format!("an object of type {name} is not supported; use {accepted}"))
}
