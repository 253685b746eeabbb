//! Envelope kinds of the scheme's objects.

use ciphermill_wire::Kind;

/// Envelope kind of a parameter set.
pub const PARAMETER_SET: Kind = Kind(0x0201);
/// Envelope kind of an LWE ciphertext.
pub const CIPHERTEXT: Kind = Kind(0x0202);
/// Envelope kind of a GLWE ciphertext or test vector.
pub const GLWE: Kind = Kind(0x0203);
/// Envelope kind of a GGSW ciphertext.
pub const GGSW: Kind = Kind(0x0204);
/// Envelope kind of a bootstrapping key.
pub const BOOTSTRAP_KEY: Kind = Kind(0x0205);
/// Envelope kind of a key-switching key.
pub const KEYSWITCH_KEY: Kind = Kind(0x0206);
/// Envelope kind of a client's secret keys.
pub const SECRET_KEY: Kind = Kind(0x0207);
