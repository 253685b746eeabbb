//! Byte formats. All stand in the envelope of `ciphermill-wire`; docs/bfv.md draws them.

use ciphermill_wire::Kind;

/// Envelope kind of a parameter set.
pub const PARAMETER_SET: Kind = Kind(0x0301);
/// Envelope kind of a ciphertext, seeded or not.
pub const CIPHERTEXT: Kind = Kind(0x0302);
/// Envelope kind of a secret key.
pub const SECRET_KEY: Kind = Kind(0x0303);
/// Envelope kind of a public key.
pub const PUBLIC_KEY: Kind = Kind(0x0304);
/// Envelope kind of a relinearisation key.
pub const RELINEARIZATION_KEY: Kind = Kind(0x0305);
/// Envelope kind of Galois keys.
pub const GALOIS_KEYS: Kind = Kind(0x0306);
/// Envelope kind of a plan of a matrix-vector product.
pub const PLAN: Kind = Kind(0x0310);
/// Envelope kind of an encrypted vector.
pub const VECTOR: Kind = Kind(0x0311);
/// Envelope kind of a prepared matrix.
pub const MATRIX: Kind = Kind(0x0312);
/// Envelope kind of an encrypted product.
pub const PRODUCT: Kind = Kind(0x0313);

/// Version of every body in this module.
pub const BODY_VERSION: u16 = 1;
