//! The kinds of errors, for a language binding that maps them to its own classes.

use std::error::Error;

use ciphermill_bfv::BfvError;
use ciphermill_bigint::BigIntError;
use ciphermill_hmvp::HmvpError;
use ciphermill_middleware::TransportError;
use ciphermill_nvme::initiator::InitiatorError;
use ciphermill_paillier::PaillierError;
use ciphermill_paillier::fixed_point::FixedPointError;
use ciphermill_paillier::packing::PackingError;
use ciphermill_tfhe::word::TableError;
use ciphermill_tfhe::{EncodingError, ParameterError, RangeError, TfheError};
use ciphermill_wire::WireError;

use crate::error::ClientError;

/// What a caller can do about an error.
///
/// # Example
/// ```
#[doc = include_str!("example_hmvp.txt")]
/// use ciphermill_client::{ErrorKind, kind};
///
/// let refused = Plan::from_bytes(b"no plan", SecurityPolicy::Require128Bits, Isa::current()).unwrap_err();
/// assert_eq!(kind(&refused), ErrorKind::Malformed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is not supported, or does not go with another one.
    Parameter,
    /// A number is outside its range.
    Range,
    /// Objects of different key sets, plans or engines were combined.
    Mismatch,
    /// Bytes are not a valid object.
    Malformed,
    /// The operation needs more memory or storage than it may use.
    Memory,
    /// A served device cannot be reached, or broke its contract.
    Peer,
    /// A device refused an operation, or a program of it failed.
    Device,
    /// Any other error, for example of the operating system.
    Other,
}

/// The kind of an error of this library, of a scheme or of a device. The error may be wrapped by a file's name.
#[must_use]
pub fn kind(error: &(dyn Error + 'static)) -> ErrorKind {
    if let Some(error) = error.downcast_ref::<ClientError>() {
        return of_client(error);
    }
    let known = [
        error.downcast_ref().map(of_hmvp),
        error.downcast_ref().map(of_bfv),
        error.downcast_ref().map(of_paillier),
        error.downcast_ref().map(of_fixed_point),
        error.downcast_ref().map(of_packing),
        error.downcast_ref().map(of_tfhe),
        error.downcast_ref().map(of_transport),
        error.downcast_ref().map(|_: &RangeError| ErrorKind::Range),
        error.downcast_ref().map(|_: &EncodingError| ErrorKind::Range),
        error.downcast_ref().map(|_: &ParameterError| ErrorKind::Parameter),
        error.downcast_ref().map(|_: &TableError| ErrorKind::Parameter),
        error.downcast_ref().map(of_wire),
    ];
    known.into_iter().flatten().next().unwrap_or(ErrorKind::Other)
}

fn of_client(error: &ClientError) -> ErrorKind {
    match error {
        ClientError::Content { source, .. } => kind(&**source),
        ClientError::SameFile { .. }
        | ClientError::SecretKeyNeeded
        | ClientError::BoundBinary { .. }
        | ClientError::EngineLacks { .. }
        | ClientError::EngineNotBuilt { .. }
        | ClientError::EngineInsecure { .. }
        | ClientError::Address(_)
        | ClientError::Binding(_) => ErrorKind::Parameter,
        ClientError::NoSpace { .. } => ErrorKind::Memory,
        ClientError::Connect(_) => ErrorKind::Peer,
        ClientError::Device(_) => ErrorKind::Device,
        ClientError::Bfv(inner) => of_bfv(inner),
        ClientError::Hmvp(inner) => of_hmvp(inner),
        ClientError::Paillier(inner) => of_paillier(inner),
        ClientError::Tfhe(inner) => of_tfhe(inner),
        _ => ErrorKind::Other,
    }
}

fn of_hmvp(error: &HmvpError) -> ErrorKind {
    match error {
        HmvpError::Scheme(inner) => of_bfv(inner),
        HmvpError::Plan(_) | HmvpError::UnsupportedStrategy { .. } | HmvpError::UnsupportedJob { .. } => {
            ErrorKind::Parameter
        }
        HmvpError::WrongPlan { .. } | HmvpError::ForeignMatrix => ErrorKind::Mismatch,
        _ => ErrorKind::Other,
    }
}

fn of_bfv(error: &BfvError) -> ErrorKind {
    match error {
        BfvError::Wire(inner) => of_wire(inner),
        BfvError::Residues(_) => ErrorKind::Malformed,
        BfvError::WrongKey { .. }
        | BfvError::WrongParameters { .. }
        | BfvError::WrongPlan { .. }
        | BfvError::MissingGaloisKeys { .. } => ErrorKind::Mismatch,
        BfvError::Range { .. } => ErrorKind::Range,
        BfvError::Memory { .. } => ErrorKind::Memory,
        BfvError::Randomness(_) | BfvError::Io(_) => ErrorKind::Other,
        _ => ErrorKind::Parameter,
    }
}

fn of_paillier(error: &PaillierError) -> ErrorKind {
    match error {
        PaillierError::Wire(inner) => of_wire(inner),
        PaillierError::WrongKey { .. } => ErrorKind::Mismatch,
        PaillierError::PlaintextRange { .. }
        | PaillierError::PlaintextWidth { .. }
        | PaillierError::ScalarRange { .. }
        | PaillierError::BigInt(BigIntError::WeightMagnitude { .. }) => ErrorKind::Range,
        PaillierError::CiphertextRange { .. }
        | PaillierError::CiphertextNotUnit { .. }
        | PaillierError::Malformed { .. }
        | PaillierError::TooMany { .. } => ErrorKind::Malformed,
        PaillierError::Fault | PaillierError::Random(_) | PaillierError::Engine(_) => ErrorKind::Other,
        _ => ErrorKind::Parameter,
    }
}

fn of_fixed_point(error: &FixedPointError) -> ErrorKind {
    match error {
        FixedPointError::Paillier(inner) => of_paillier(inner),
        FixedPointError::Magnitude { .. } | FixedPointError::Overflow { .. } | FixedPointError::Binary64 { .. } => {
            ErrorKind::Range
        }
        FixedPointError::BeyondBound { .. } => ErrorKind::Malformed,
        _ => ErrorKind::Parameter,
    }
}

fn of_packing(error: &PackingError) -> ErrorKind {
    match error {
        PackingError::Paillier(inner) => of_paillier(inner),
        PackingError::Value { .. } | PackingError::Spill { .. } => ErrorKind::Range,
        PackingError::Ciphertexts { .. } | PackingError::BeyondBound { .. } => ErrorKind::Malformed,
        _ => ErrorKind::Parameter,
    }
}

fn of_tfhe(error: &TfheError) -> ErrorKind {
    match error {
        TfheError::Wire(inner) => of_wire(inner),
        TfheError::Mismatch { .. } | TfheError::KeySet { .. } | TfheError::OtherEncoding { .. } => ErrorKind::Mismatch,
        TfheError::Range(_) | TfheError::Encoding(_) | TfheError::Value { .. } => ErrorKind::Range,
        TfheError::Memory { .. } | TfheError::KeyTooLarge { .. } => ErrorKind::Memory,
        TfheError::Randomness(_) | TfheError::Io(_) | TfheError::Engine { .. } => ErrorKind::Other,
        _ => ErrorKind::Parameter,
    }
}

fn of_transport(error: &TransportError) -> ErrorKind {
    match error {
        TransportError::NotFound { .. } | TransportError::Empty => ErrorKind::Parameter,
        TransportError::TooLarge { .. } | TransportError::NoSpace(_) => ErrorKind::Memory,
        TransportError::Content(_) | TransportError::Output(_) => ErrorKind::Other,
        TransportError::Failed(cause) if is_connection(&**cause) => ErrorKind::Peer,
        _ => ErrorKind::Device,
    }
}

/// Whether the connection failed, not a command.
fn is_connection(cause: &(dyn Error + 'static)) -> bool {
    matches!(cause.downcast_ref(), Some(error) if !matches!(error, InitiatorError::Command { .. }))
}

fn of_wire(error: &WireError) -> ErrorKind {
    match error {
        WireError::Io(_) => ErrorKind::Other,
        _ => ErrorKind::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ciphermill_bfv::{SecretKey, SecurityPolicy};
    use ciphermill_hmvp::{EncryptedVector, Plan, Request};
    use ciphermill_lattice::{Csprng, SecretSeed};
    use ciphermill_math::Isa;
    use ciphermill_paillier::fixed_point::FixedPoint;
    use ciphermill_paillier::packing::Packing;
    use ciphermill_paillier::{KeyBits, PublicKey, SizePolicy};
    use ciphermill_tfhe::{Encoding, ParameterSet};
    use std::sync::Arc;

    use super::*;

    #[test]
    fn errors_of_every_scheme_have_a_kind() {
        let bytes = PublicKey::from_bytes(b"no key", SizePolicy::Standard).expect_err("malformed");
        assert_eq!(kind(&bytes), ErrorKind::Malformed);
        assert_eq!(kind(&KeyBits::new(1024).expect_err("short")), ErrorKind::Parameter);
        let format = FixedPoint::new(4, 0).expect("a format");
        assert_eq!(kind(&format.encode_f64(17.0).expect_err("large")), ErrorKind::Range);
        assert_eq!(kind(&format.encode_f64(f64::NAN).expect_err("not a number")), ErrorKind::Parameter);
        assert_eq!(kind(&Packing::new(1, 0, 1).expect_err("narrow")), ErrorKind::Parameter);
        let set = ParameterSet::named("none", SecurityPolicy::Require128Bits).expect_err("unknown");
        assert_eq!(kind(&set), ErrorKind::Parameter);
        let encoding = Encoding::unsigned(2, true).expect("few bits");
        assert_eq!(kind(&encoding.encode::<u64>(4).expect_err("large")), ErrorKind::Range);
        let (given, expected) = (ciphermill_lattice::KeyTag(1), ciphermill_lattice::KeyTag(2));
        assert_eq!(kind(&TfheError::KeySet { what: "key tag of the word", given, expected }), ErrorKind::Mismatch);
        let large = TfheError::Value { what: "the value of the word", given: 4, min: 0, max: 3 };
        assert_eq!(kind(&large), ErrorKind::Range);
        assert_eq!(kind(&std::io::Error::other("a disk")), ErrorKind::Other);
    }

    /// Of a product, bare and as the content of a file.
    #[test]
    fn the_name_of_a_file_does_not_change_the_kind() {
        let plan = Arc::new(Plan::new(&Request::new(2, 3), Isa::current()).expect("a plan"));
        let mut rng = Csprng::from_os().expect("random bytes");
        let [one, other] =
            [0; 2].map(|_| SecretKey::generate(plan.context(), &SecretSeed::from_os().expect("random bytes")));
        let mut encrypt = |values: &[i64]| EncryptedVector::encrypt(&plan, &one, values, &mut rng);
        let range = encrypt(&[1, 2, 1000]).expect_err("large");
        let length = encrypt(&[1, 2]).expect_err("short");
        let vector = encrypt(&[1, 2, 3]).expect("three small integers");
        let ciphertext = vector.ciphertexts(0).next().expect("one").clone();
        let key = other.decrypt(&ciphertext).expect_err("another key");
        for (error, expected) in
            [(HmvpError::from(key), ErrorKind::Mismatch), (range, ErrorKind::Range), (length, ErrorKind::Parameter)]
        {
            assert_eq!(kind(&error), expected, "{error}");
            let content = ClientError::content(Path::new("v.ct"))(error);
            assert_eq!(kind(&content), expected, "{content}");
        }
        assert_eq!(kind(&ClientError::SecretKeyNeeded), ErrorKind::Parameter);
    }

    /// A lost connection is the peer's, what a device answers is the device's.
    #[test]
    fn a_lost_connection_is_no_refusal() {
        let source = std::sync::Arc::new(std::io::Error::from(std::io::ErrorKind::ConnectionRefused));
        let lost = InitiatorError::Io { address: "localhost:4420".to_owned(), source };
        assert_eq!(kind(&TransportError::Failed(Box::new(lost))), ErrorKind::Peer);
        assert_eq!(kind(&TransportError::Failed("a damaged blob".into())), ErrorKind::Device);
        assert_eq!(kind(&TransportError::Refused("no such type".into())), ErrorKind::Device);
    }
}
