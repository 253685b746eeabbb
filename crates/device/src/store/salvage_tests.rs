//! Parts of a salvage, where whole stores leave a part of the conditions untried.

use super::*;
use crate::store::{ObjectFlags, format::Extent};
use ciphermill_program::{DataId, KeyId, TypeCode, VrId};

fn key(data: u32) -> ObjectKey {
    ObjectKey { space: SpaceId(1), id: VrId::new(TypeCode(3), KeyId(0), DataId(data)) }
}

/// The version `generation` of an object in blocks `start` to `start + blocks`, of the change with the same number.
fn record(generation: u64, start: u64, blocks: u64) -> Record {
    Record {
        flags: ObjectFlags::NONE,
        size: blocks * BLOCK_BYTES,
        generation,
        origin: 0,
        change: generation,
        computed: false,
        owner: None,
        digest: None,
        extents: vec![Extent { start, blocks }],
        chunks: vec![0],
    }
}

fn facts(versions: &[(u32, Record)]) -> Facts {
    let mut facts = Facts::default();
    for (data, record) in versions {
        let source = Some(Source::Raw { record: record.clone(), content: None });
        facts.add(key(*data), Fact { change: record.change, known: true, logged: true, source });
    }
    facts
}

#[test]
fn blocks_are_reused_if_a_later_version_had_one_of_them() {
    let reused = |other: (u32, Record)| {
        let asked = record(10, 100, 8);
        let long = (3, record(1, 0, 50));
        facts(&[(1, asked.clone()), long, other]).places().are_reused(key(1), &asked)
    };
    // Another object, and a later version of the same one.
    assert!(reused((2, record(11, 100, 8))) && reused((1, record(11, 104, 1))));
    // One block in common, at either end; and none.
    assert!(reused((2, record(11, 93, 8))) && reused((2, record(11, 107, 1))));
    assert!(!reused((2, record(11, 92, 8))) && !reused((2, record(11, 108, 1))));
    // An earlier version, and another record of the same version, as a change of flags leaves.
    assert!(!reused((2, record(9, 100, 8))) && !reused((2, record(10, 100, 8))));
    assert!(!reused((1, Record { change: 12, ..record(10, 100, 8) })));
    // A long extent that begins far below.
    assert!(reused((2, record(11, 60, 41))) && !reused((2, record(11, 60, 40))));
}

#[test]
fn spaces_of_objects_have_the_limits_that_are_known() {
    let mut facts = facts(&[(1, record(1, 0, 1))]);
    assert_eq!(facts.spaces(), BTreeMap::from([(SpaceId(1), SpaceLimits::UNLIMITED)]));
    let limits = SpaceLimits { bytes: 5, objects: 6 };
    facts.limits.extend([(SpaceId(1), limits), (SpaceId(2), limits)]);
    assert_eq!(facts.spaces(), BTreeMap::from([(SpaceId(1), limits), (SpaceId(2), limits)]));
}

#[test]
fn a_small_object_has_the_bytes_of_another_record_of_its_version() {
    let wanted = Record { extents: Vec::new(), ..record(4, 0, 1) };
    let raw = |record: &Record, content| Source::Raw { record: record.clone(), content };
    let fact = |source| Fact { change: 0, known: false, logged: false, source: Some(source) };
    let content = |facts: &[Fact]| match with_content(&raw(&wanted, None), facts) {
        Source::Raw { content, .. } => content,
        Source::Stored(_) => None,
    };
    let others = [Record { generation: 3, ..wanted.clone() }, Record { chunks: vec![1], ..wanted.clone() }];
    let mut facts: Vec<Fact> = others.iter().map(|other| fact(raw(other, Some(7)))).collect();
    assert_eq!(content(&facts), None);
    facts.extend([fact(raw(&wanted, None)), fact(raw(&wanted, Some(9)))]);
    assert_eq!(content(&facts), Some(9));
}
