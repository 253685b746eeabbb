//! Forging objects, and judging their refusals.

use std::fmt::Display;

use ciphermill_wire::{HEADER_LEN, Header, seal};

/// The body of a sealed object, behind its header and before its checksum.
pub fn body(sealed: &[u8]) -> &[u8] {
    &sealed[HEADER_LEN..sealed.len() - 4]
}

/// The object with another body and the checksums of that.
pub fn resealed(sealed: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let header = Header::decode(sealed).expect("a sealed object");
    let mut body = body(sealed).to_vec();
    change(&mut body);
    seal(header.kind, header.version, &body)
}

/// The message must contain all of these: the given value, and the limit.
pub fn assert_names(error: &impl Display, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} is not named by: {text}");
    }
}
