//! Reading from the callers' buffers.

use std::io::{self, ErrorKind, Read};

/// Reads once, and again when a signal came between.
pub(crate) fn pull(content: &mut dyn Read, out: &mut [u8]) -> io::Result<usize> {
    loop {
        match content.read(out) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
