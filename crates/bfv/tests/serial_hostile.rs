//! Bytes that are not an object, or not the requested object.

use crate::support::objects::{Objects, Reader};
use crate::support::{INSECURE, body, context};
use ciphermill_bfv::parameters::{TEST_32, TEST_512};
use ciphermill_bfv::serial::{self, GaloisKeysHeader};
use ciphermill_bfv::{BfvError, Context, GaloisKeys, SecurityPolicy};
use ciphermill_wire::{Header, Kind, WireError, seal};

/// Sealed again around a changed body.
fn resealed(kind: Kind, bytes: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut body = body(bytes).to_vec();
    change(&mut body);
    seal(kind, serial::BODY_VERSION, &body)
}

/// The one outcome that is left to an object whose body is not its own: an error of a kind that names a field.
fn refused(what: &str, outcome: Result<Vec<u8>, BfvError>) -> BfvError {
    match outcome {
        Err(
            error @ (BfvError::Wire(_)
            | BfvError::Range { .. }
            | BfvError::Length { .. }
            | BfvError::Residues(_)
            | BfvError::Parameters(_)
            | BfvError::Unsupported { .. }
            | BfvError::WrongParameters { .. }),
        ) => error,
        Err(error) => panic!("{what}: {error}"),
        Ok(_) => panic!("{what} is accepted"),
    }
}

#[test]
fn truncated_and_extended_objects() {
    let objects = Objects::new(TEST_32);
    for (what, kind, bytes, read) in objects.sealed() {
        let c = &objects.context;
        for len in 0..bytes.len() {
            let error = refused(what, read(c, &bytes[..len]));
            assert!(matches!(error, BfvError::Wire(WireError::Truncated { .. })), "{what} {len}: {error}");
        }
        for len in 0..body(&bytes).len() {
            refused(what, read(c, &resealed(kind, &bytes, |body| body.truncate(len))));
        }
        let longer = [&bytes[..], &[0]].concat();
        let error = refused(what, read(c, &longer));
        assert!(matches!(error, BfvError::Wire(WireError::TrailingBytes { given: 1 })), "{what}: {error}");
        refused(what, read(c, &resealed(kind, &bytes, |body| body.push(0))));
    }
    let bytes = objects.galois.to_bytes(&objects.context).expect("ours");
    let header = GaloisKeysHeader::read(&bytes[..], INSECURE).expect("own bytes");
    let head = bytes.len() - header.parameters().chain().count();
    for len in 0..head.min(200) {
        // The head does not look at the keys.
        match GaloisKeysHeader::read(&bytes[..len], INSECURE) {
            Ok(read) => assert!(read == header),
            Err(error) => assert!(matches!(error, BfvError::Wire(WireError::Truncated { .. })), "{len}: {error}"),
        }
    }
}

/// A checksum finds every single bit; behind a good checksum a bit makes another object, or none.
#[test]
fn flipped_bits() {
    let objects = Objects::new(TEST_32);
    for (what, kind, bytes, read) in objects.sealed() {
        let c = &objects.context;
        // Every bit of the heads and a sample of the residues.
        let step = |i: usize| i < 160 || i.is_multiple_of(23);
        for bit in (0..8 * bytes.len()).filter(|&bit| step(bit / 8)) {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let error = refused(what, read(c, &damaged));
            // Lists of keys are read as streams, whose checksum comes last.
            let streamed = [serial::RELINEARIZATION_KEY, serial::GALOIS_KEYS].contains(&kind);
            assert!(streamed || matches!(error, BfvError::Wire(_)), "{what} bit {bit}: {error}");
        }
        let mut accepted = 0;
        for bit in (0..8 * body(&bytes).len()).filter(|&bit| step(bit / 8)) {
            let damaged = resealed(kind, &bytes, |body| body[bit / 8] ^= 1 << (bit % 8));
            match read(c, &damaged) {
                Ok(again) => {
                    // A renamed set is the same set, and written under the reader's name.
                    assert!(again == damaged || again == bytes, "{what} bit {bit}");
                    accepted += 1;
                }
                error => drop(refused(what, error)),
            }
        }
        assert!(accepted > 0, "{what}");
    }
}

#[test]
fn other_kinds_versions_and_lengths() {
    let objects = Objects::new(TEST_32);
    let all = objects.sealed();
    for (what, kind, bytes, read) in &all {
        let c = &objects.context;
        for (_, other, foreign, _) in &all {
            if other != kind {
                let error = refused(what, read(c, foreign));
                assert!(matches!(error, BfvError::Wire(WireError::WrongKind { .. })), "{what}: {error}");
            }
        }
        for version in [0, 2, u16::MAX] {
            let error = refused(what, read(c, &seal(*kind, version, body(bytes))));
            assert!(matches!(error, BfvError::Wire(WireError::UnsupportedVersion { min: 1, max: 1, .. })), "{error}");
        }
        // Nothing is allocated for a missing body.
        for body_len in [u64::MAX, 1 << 40] {
            let huge = [&Header { kind: *kind, version: 1, body_len }.encode()[..], body(bytes)].concat();
            let error = refused(what, read(c, &huge));
            assert!(matches!(error, BfvError::Wire(WireError::TooLarge { .. })), "{what}: {error}");
        }
    }
}

#[test]
fn objects_of_other_parameters() {
    let objects = Objects::new(TEST_32);
    let other = context(TEST_512);
    for (what, kind, bytes, read) in objects.sealed() {
        // Parameter sets and secret keys bring their own.
        if ![serial::PARAMETER_SET, serial::SECRET_KEY].contains(&kind) {
            match read(&other, &bytes) {
                Err(BfvError::WrongParameters { given, expected, .. }) => {
                    assert_eq!(given, objects.context.parameters().id().0);
                    assert_eq!(expected, other.parameters().id().0);
                }
                outcome => panic!("{what}: {:?}", outcome.map(drop)),
            }
        }
    }
    assert!(matches!(objects.ciphertext.to_bytes(&other), Err(BfvError::WrongParameters { .. })));
    assert!(matches!(objects.seeded.to_bytes(&other), Err(BfvError::WrongParameters { .. })));
    assert!(matches!(objects.galois.to_bytes(&other), Err(BfvError::WrongParameters { .. })));
    assert!(matches!(objects.relinearization.to_bytes(&other), Err(BfvError::WrongParameters { .. })));
    let secret = objects.secret.to_secret_key_bytes();
    let isa = ciphermill_math::Isa::current();
    let error = ciphermill_bfv::SecretKey::from_secret_key_bytes(&secret, SecurityPolicy::Require128Bits, isa);
    assert!(matches!(error, Err(BfvError::Parameters(_))), "{error:?}");
}

/// Writes `bytes` over the body at `at`.
fn patched(c: &Context, kind: Kind, bytes: &[u8], read: Reader, at: usize, patch: &[u8]) -> String {
    let changed = resealed(kind, bytes, |body| body[at..at + patch.len()].copy_from_slice(patch));
    refused("a patched object", read(c, &changed)).to_string()
}

#[test]
fn fields_out_of_range() {
    let objects = Objects::new(TEST_32);
    let c = &objects.context;
    let [_, full, seeded, secret, _, relinearization, galois] = objects.sealed();
    let prime = c.parameters().ciphertext_moduli[0];
    let word = &(prime | 1 << 30).to_le_bytes()[..4];
    for (at, patch, says) in [
        (16, &[6][..], "log2 of the ciphertext's polynomial size is 6; use 5"),
        (17, &[0], "number of limbs of a ciphertext is 0; use 1 to 4"),
        (17, &[5], "number of limbs of a ciphertext is 5"),
        (17, &[1], "bytes"),
        (17, &[3], "truncated"),
        (18, &[1], "number of parts of the ciphertext is 1; use 2 to 3"),
        (18, &[4], "number of parts of the ciphertext is 4"),
        (18, &[3], "truncated"),
        (19, &[2], "form of the ciphertext is 2; use 0 to 1"),
        (20, &[0, 0, 0, 1], "reserved field of the ciphertext is 16777216"),
        (24, word, "a residue of limb 0 is not below the modulus"),
    ] {
        let text = patched(c, full.1, &full.2, full.3, at, patch);
        assert!(text.contains(says), "{text:?} does not say {says:?}");
    }
    let text = patched(c, seeded.1, &seeded.2, seeded.3, 18, &[3]);
    assert!(text.contains("number of parts of the ciphertext is 3; use 2"), "{text}");

    let spec = body(&c.parameters().to_bytes()).len();
    let text = patched(c, secret.1, &secret.2, secret.3, spec + 8, &[2]);
    assert!(text.contains("not -1, 0 or 1 is 1"), "{text}");

    let head = 4;
    let (count, entries) = (head + spec + 8, head + spec + 12);
    for (at, patch, says) in [
        (0, &0u32.to_le_bytes()[..], "bytes of the head of the keys is 0"),
        (0, &u32::MAX.to_le_bytes(), "bytes of the head of the keys is 4294967295"),
        (count, &2u32.to_le_bytes(), "bytes of the list of keys is 24; use 16"),
        (count, &33u32.to_le_bytes(), "number of Galois keys is 33; use 0 to 32"),
        (count, &u32::MAX.to_le_bytes(), "number of Galois keys is 4294967295"),
        (entries, &0u32.to_le_bytes(), "element g of an automorphism is 0; use 3 to 63"),
        (entries, &1u32.to_le_bytes(), "element g of an automorphism is 1"),
        (entries, &65u32.to_le_bytes(), "element g of an automorphism is 65"),
        (entries, &4u32.to_le_bytes(), "X -> X^4 is not an automorphism"),
        (entries, &5u32.to_le_bytes(), "in ascending order, is 5; use 7"),
        (entries, &7u32.to_le_bytes(), "in ascending order, is 5; use 9"),
        (entries + 4, &[2], "code of a gadget is 2"),
        (entries + 6, &[0, 0], "number of digits of a key is 0"),
        (entries + 6, &[255, 255], "number of digits of a key is 65535; use 1 to 1984"),
        (entries + 6, &[4, 0], "bytes of the keys is"),
        (entries + 4, &[1, 15, 6, 0, 5, 0, 0, 0, 1, 16, 3, 0], "digits of a key"),
    ] {
        let text = patched(c, galois.1, &galois.2, galois.3, at, patch);
        assert!(text.contains(says), "{text:?} does not say {says:?}");
    }
    for (at, patch, says) in [
        (count, &0u32.to_le_bytes()[..], "number of keys of a relinearisation key is 0; use 1"),
        (entries, &3u32.to_le_bytes(), "element of a relinearisation key is 3"),
        (entries + 4, &[0, 2], "digits of a key is 3; use 2"),
    ] {
        let text = patched(c, relinearization.1, &relinearization.2, relinearization.3, at, patch);
        assert!(text.contains(says), "{text:?} does not say {says:?}");
    }
    // The largest head that the format holds is refused by its length, without a key being read.
    let huge = resealed(galois.1, &galois.2, |body| {
        body[entries + 6..entries + 8].copy_from_slice(&1984u16.to_le_bytes());
    });
    let error = GaloisKeys::from_bytes(c, &huge).expect_err("keys that are not there");
    assert!(error.to_string().contains("bytes of the keys is"), "{error}");
}
