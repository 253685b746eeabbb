//! Golden bytes of records, computed outside of this code from the drawings in `docs/device.md`; damage and contradictions.

use super::*;
use crate::store::SpaceId;
use ciphermill_program::{DataId, KeyId, TypeCode, VrId};

/// The identity of the store of the records.
const STORE: StoreId = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// A digest; which bytes it is of does not matter to a record.
const DIGEST: Option<ContentDigest> = Some(ContentDigest([
    0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf,
]));

fn key() -> ObjectKey {
    ObjectKey { space: SpaceId(9), id: VrId::new(TypeCode(3), KeyId(4), DataId(5)) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Records, the content that they hold, and their bytes.
fn goldens() -> [(Record, &'static [u8], &'static str); 6] {
    let plain = Record {
        flags: ObjectFlags::ARMED,
        size: CHUNK_BYTES + 1,
        generation: 77,
        origin: 0,
        change: 80,
        computed: false,
        owner: None,
        digest: None,
        extents: vec![Extent { start: 1, blocks: 200 }, Extent { start: 900, blocks: 57 }],
        chunks: vec![1, 2],
    };
    let result = Record { origin: 0x0102_0304_0506_0708, computed: true, digest: DIGEST, ..plain.clone() };
    let inline = Record {
        flags: ObjectFlags::ONE_SHOT,
        size: 9,
        generation: 0x0102,
        origin: 5,
        change: 0x0103,
        computed: false,
        owner: None,
        digest: DIGEST,
        extents: Vec::new(),
        chunks: vec![0xE306_9283],
    };
    let owner = Owner::new(b"alice");
    [
        (
            plain.clone(),
            b"",
            concat!(
                "434d4f424a45431a000102030405060708090a0b0c0d0e0f060000000100000001001000000000004d0000000000000000",
                "00000000000000500000000000000000000009000300000004000000050000020000000200000000000000000000000000",
                "0000000000000100000000000000c800000000000000840300000000000039000000000000000100000002000000e21f06",
                "91"
            ),
        ),
        (
            result,
            b"",
            concat!(
                "434d4f424a45431a000102030405060708090a0b0c0d0e0f060005000100000001001000000000004d0000000000000008",
                "070605040302015000000000000000000000090003000000040000000500000200000002000000a0a1a2a3a4a5a6a7a8a9",
                "aaabacadaeaf0100000000000000c800000000000000840300000000000039000000000000000100000002000000818f39",
                "a5"
            ),
        ),
        (
            inline.clone(),
            b"123456789",
            concat!(
                "434d4f424a45431a000102030405060708090a0b0c0d0e0f06000600020000000900000000000000020100000000000005",
                "000000000000000301000000000000000000090003000000040000000500000000000001000000a0a1a2a3a4a5a6a7a8a9",
                "aaabacadaeaf839206e33132333435363738394c136273"
            ),
        ),
        (
            inline.clone(),
            b"",
            concat!(
                "434d4f424a45431a000102030405060708090a0b0c0d0e0f06000400020000000900000000000000020100000000000005",
                "000000000000000301000000000000000000090003000000040000000500000000000001000000a0a1a2a3a4a5a6a7a8a9",
                "aaabacadaeaf839206e33dcfeb97"
            ),
        ),
        (
            Record { owner: owner.clone(), ..plain },
            b"",
            concat!(
                "434d4f424a45431a000102030405060708090a0b0c0d0e0f060000000100000001001000000000004d0000000000000000",
                "00000000000000500000000000000000000009000300000004000000050500020000000200000000000000000000000000",
                "0000000000000100000000000000c800000000000000840300000000000039000000000000000100000002000000616c69",
                "636517a7e9ba"
            ),
        ),
        (
            Record { owner, ..inline },
            b"123456789",
            concat!(
                "434d4f424a45431a000102030405060708090a0b0c0d0e0f06000600020000000900000000000000020100000000000005",
                "000000000000000301000000000000000000090003000000040000000505000000000001000000a0a1a2a3a4a5a6a7a8a9",
                "aaabacadaeaf839206e3616c696365313233343536373839050874ac"
            ),
        ),
    ]
}

#[test]
fn records_with_extents_and_records_with_and_without_bytes() {
    for (record, content, golden) in goldens() {
        let bytes = record.encode(STORE, key(), content);
        assert_eq!(hex(&bytes), golden);
        let found = Found::at(&bytes).expect("sound");
        assert_eq!((found.store, found.key, &found.record, found.len), (STORE, key(), &record, bytes.len()));
        assert_eq!(found.content.map(|at| &bytes[at]).unwrap_or_default(), content);
        match record.is_inline() && content.is_empty() {
            true => assert!(Record::decode(&bytes, STORE, key()).is_err(), "the table must hold the bytes"),
            false => assert_eq!(Record::decode(&bytes, STORE, key()).expect("sound"), record),
        }
        if !content.is_empty() {
            assert_eq!(Record::content(&bytes), content);
        }
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    for (record, content, _) in goldens() {
        let bytes = record.encode(STORE, key(), content);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::decode(&damaged, STORE, key()).is_err() && Found::at(&damaged).is_none(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(
                Record::decode(&bytes[..len], STORE, key()).is_err() && Found::at(&bytes[..len]).is_none(),
                "{len}"
            );
        }
    }
}

#[test]
fn records_that_contradict_themselves_are_refused() {
    let [(plain, ..), _, (inline, content, _), ..] = goldens();
    let sound = |record: &Record, content: &[u8]| Found::at(&record.encode(STORE, key(), content)).is_some();
    let filled = |len: usize| {
        let content = vec![7; len];
        let record = Record { size: len as u64, chunks: vec![crc32c::crc32c(&content)], ..inline.clone() };
        sound(&record, &content)
    };
    assert!(filled(1) && filled(INLINE_BYTES as usize), "the smallest and the largest");
    assert!(!filled(INLINE_BYTES as usize + 1));
    let mut owned =
        Record { owner: Owner::new(&[1; Owner::MAX_BYTES]), ..inline.clone() }.encode(STORE, key(), content);
    assert!(Found::at(&owned).is_some(), "the longest owner");
    owned.truncate(owned.len() - CHECKSUM_BYTES);
    owned[OWNER_AT] += 1;
    owned.insert(HEAD_BYTES + 4, 1);
    seal(&mut owned, &[]);
    assert!(Found::at(&owned).is_none(), "a longer one");
    let mut marked = plain.encode(STORE, key(), b"");
    marked.truncate(marked.len() - CHECKSUM_BYTES);
    marked[HEAD_BYTES - 1] = 1;
    seal(&mut marked, &[]);
    assert!(Found::at(&marked).is_none(), "a digest without its mark");
    assert!(!sound(&Record { size: 8, ..inline.clone() }, content), "more bytes than its size");
    assert!(!sound(&Record { size: 0, chunks: vec![], ..inline.clone() }, b""), "no bytes");
    assert!(!sound(&Record { chunks: vec![1], ..inline }, content), "other bytes");
    assert!(!sound(&Record { size: 2 * CHUNK_BYTES + 1, ..plain.clone() }, b""), "a chunk without checksum");
    assert!(!sound(&Record { extents: vec![], ..plain.clone() }, b""), "too large without extents");
    let extents = vec![Extent { start: 1, blocks: 200 }, Extent { start: 900, blocks: 56 }];
    assert!(!sound(&Record { extents, ..plain.clone() }, b""), "less blocks than bytes");
    let extents = vec![Extent { start: 1, blocks: u64::MAX }, Extent { start: 1, blocks: 258 }];
    assert!(!sound(&Record { extents, ..plain }, b""), "a sum that overflows");
}

#[test]
fn records_of_another_store_key_or_version_are_refused() {
    let [(plain, ..), ..] = goldens();
    assert!(Record::decode(&plain.encode([9; 16], key(), b""), STORE, key()).is_err());
    let other = ObjectKey { space: SpaceId(8), ..key() };
    assert!(Record::decode(&plain.encode(STORE, key(), b""), STORE, other).is_err());
    for version in [4, 5, 7] {
        let mut other = plain.encode(STORE, key(), b"");
        other[24] = version;
        let len = other.len() - 4;
        other.truncate(len);
        seal(&mut other, &[]);
        let error = Record::decode(&other, STORE, key()).expect_err("another version");
        assert_eq!(error, FormatError::Version { given: version.into(), supported: 6 });
        assert!(Found::at(&other).is_none(), "version {version}");
    }
}

#[test]
fn records_are_found_between_other_bytes() {
    let mut bytes = vec![0x1a; 13];
    let mut expected = Vec::new();
    for (record, content, _) in goldens() {
        expected.push((bytes.len(), record.clone()));
        bytes.extend(record.encode(STORE, key(), content));
        // The beginning of a record that was cut off.
        bytes.extend_from_slice(&record.encode(STORE, key(), content)[..60]);
    }
    let found: Vec<_> = Found::all(&bytes).map(|(at, found)| (at, found.record)).collect();
    assert_eq!(found, expected);
}
