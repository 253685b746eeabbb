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
        facts.add(key(*data), fact(record, true, true));
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

/// A salvage over a data file whose block b has the bytes b, before any object is judged.
fn salvage(table_sound: bool, log_sound: bool) -> Salvage {
    let files = StoreFiles::in_memory();
    let bytes: Vec<u8> = (0..200u8).flat_map(|block| [block; BLOCK_BYTES as usize]).collect();
    files.data.write_at(0, &bytes).expect("room");
    let report = SalvageReport { table_sound, log_sound, ..SalvageReport::default() };
    Salvage { files, opened: None, id: None, versions: Vec::new(), spaces: BTreeMap::new(), next_generation: 0, report }
}

/// The version `generation` in block `block`, with its checksum. Format version 1 wrote records without a digest, as this one.
fn stored(generation: u64, block: u8) -> Record {
    let chunks = vec![crc32c::crc32c(&[block; BLOCK_BYTES as usize])];
    Record { chunks, ..record(generation, block.into(), 1) }
}

fn fact(record: &Record, known: bool, logged: bool) -> Fact {
    let source = Source::Raw { record: record.clone(), content: None };
    Fact { change: record.change, known, logged, source: Some(source) }
}

/// The generations and states of the versions of an object with these facts.
fn judged(mut salvage: Salvage, facts: Vec<Fact>, base: u64, others: &[(u32, Record)]) -> Vec<(u64, SalvageState)> {
    salvage.judge(key(1), facts, base, &self::facts(others).places());
    salvage.versions.iter().map(|version| (version.generation, version.state)).collect()
}

/// A version without a digest counts if nothing can have overwritten it: it is the current one by the table or the log, or its
/// blocks are not reused and the log or the last fact vouches for it.
#[test]
fn versions_without_a_digest_count_in_their_blocks_only() {
    let asked = stored(10, 100);
    let later = (2, record(11, 100, 1));
    for (table, log, known, logged, reused) in (0..32).map(|bits| {
        let bit = |at: u32| bits >> at & 1 == 1;
        (bit(0), bit(1), bit(2), bit(3), bit(4))
    }) {
        let others = if reused { vec![later.clone()] } else { Vec::new() };
        let fact = || fact(&asked, known, logged);
        let what = format!("table {table}, log {log}, known {known}, logged {logged}, reused {reused}");
        // The last fact of its object.
        let expected = if known && (table || log) || !reused { SalvageState::Recovered } else { SalvageState::Lost };
        assert_eq!(judged(salvage(table, log), vec![fact()], 0, &others), [(10, expected)], "{what}");
        // Deleted afterwards.
        let deletion = Fact { change: 12, known: true, logged: true, source: None };
        let expected = if logged && log && !reused { vec![(10, SalvageState::Deleted)] } else { Vec::new() };
        assert_eq!(judged(salvage(table, log), vec![fact(), deletion], 0, &others), expected, "{what}");
    }
}

/// A fact that is not known counts only above the base.
#[test]
fn the_newest_version_that_counts_is_recovered() {
    let of = |generation: u64| Record { change: generation, ..stored(generation, generation as u8) };
    let states = |generations: &[u64]| {
        let facts = generations.iter().map(|&generation| fact(&of(generation), generation == 5, true)).collect();
        judged(salvage(true, true), facts, 100, &[])
    };
    let (recovered, superseded) = (SalvageState::Recovered, SalvageState::Superseded);
    assert_eq!(states(&[5]), [(5, recovered)]);
    assert_eq!(states(&[50, 5]), [(5, recovered), (50, superseded)]);
    assert_eq!(states(&[100, 5]), [(5, recovered), (100, superseded)]);
    assert_eq!(states(&[5, 150]), [(150, recovered), (5, superseded)]);
    assert_eq!(states(&[150, 50, 5, 120]), [(150, recovered), (120, superseded), (5, superseded), (50, superseded)]);
}

#[test]
fn a_whole_log_says_up_to_which_change_all_is_known() {
    let base = |damaged| {
        let mut facts = Facts::default();
        let mut log = LogContent::default();
        (log.header, log.damaged) = (Some(([7; 16], 100)), damaged);
        facts.read_log(&log);
        (facts.base, facts.newest)
    };
    assert_eq!((base(0), base(1)), ((100, 100), (0, 0)));
}
