//! The envelope of every stored or sent Ciphermill object, and a bounded reader and writer of its fields.
//!
//! An object in its envelope is a 24-byte header, the body, and a 4-byte trailer, all little-endian:
//!
//! | offset | bytes | field |
//! | ---: | ---: | --- |
//! | 0 | 4 | magic, ASCII `CMIL` |
//! | 4 | 2 | envelope version, [`ENVELOPE_VERSION`] |
//! | 6 | 2 | [`Kind`] of the object |
//! | 8 | 2 | version of the body's layout, owned by the kind |
//! | 10 | 2 | reserved, 0 |
//! | 12 | 8 | body length in bytes |
//! | 20 | 4 | CRC-32C of bytes 0..20 |
//! | 24 | n | body |
//! | 24+n | 4 | CRC-32C of the body |
//!
//! The header has its own checksum so that a length is never believed before it is known to be whole. CRC-32C
//! (Castagnoli, RFC 3720 appendix B.4) detects accidents, not forgery: an attacker who can alter an object can also
//! recompute it. Every reader therefore takes a size limit, allocates no more than its input can hold, and leaves the
//! conformance of the body's contents to the crate that owns the kind.
//!
//! Objects in memory go through [`seal`] and [`open`]; keys of gigabytes go through [`SealWriter`] and [`OpenReader`],
//! which produce and accept the same bytes.
//!
//! ```
//! use ciphermill_wire::{Decoder, Encoder, Kind, WireError, open, seal};
//!
//! const KIND: Kind = Kind(0x0201);
//! let mut body = Encoder::with_capacity(16);
//! body.u32(2).u32s(&[7, 9]);
//! let sealed = seal(KIND, 1, &body.into_vec());
//!
//! let (version, mut fields) = open(&sealed, KIND, 1..=1, 1 << 20)?;
//! let count = fields.u32()?;
//! assert_eq!((version, fields.u32s(count as usize)?), (1, vec![7, 9]));
//! fields.finish()?;
//! # Ok::<(), WireError>(())
//! ```

mod codec;
mod envelope;
mod error;
pub mod kind;
mod stream;

pub use codec::{Decoder, Encoder};
pub use envelope::{ENVELOPE_VERSION, HEADER_LEN, Header, MAGIC, OVERHEAD, open, seal, sealed_len};
pub use error::WireError;
pub use kind::Kind;
pub use stream::{OpenReader, SealWriter};
