//! Salvage: every undamaged object comes back from a damaged store, and no deleted one.

use crate::support::*;
use ciphermill_device::{
    ObjectFlags, ScrubEvent, SpaceId, StoreError, StoreFiles,
    storage::{MemoryStorage, Storage},
    store::{INLINE_BYTES, ObjectKey, Salvage, SalvageState, SpaceLimits, Store},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

pub(crate) const SPACE: SpaceId = SpaceId(7);
pub(crate) const LIMITS: SpaceLimits = SpaceLimits { bytes: 64 << 20, objects: 1000 };

pub(crate) fn key(data: u32) -> ObjectKey {
    ObjectKey { space: SPACE, id: vr(1, 0, data) }
}

pub(crate) fn write(store: &Store, data: u32, bytes: &[u8]) {
    let mut writer = store.write(key(data), bytes.len() as u64).expect("room");
    writer.came_from(u64::from(data), data.is_multiple_of(2));
    writer.push(bytes).expect("its bytes");
    writer.commit(ObjectFlags::NONE).expect("durable");
}

/// The files of a store, as bytes.
#[derive(Clone)]
pub(crate) struct Images {
    pub(crate) data: Vec<u8>,
    pub(crate) objects: Vec<u8>,
    pub(crate) log: Vec<u8>,
}

fn image(storage: &dyn Storage) -> Vec<u8> {
    let mut bytes = vec![0; storage.len().expect("len") as usize];
    storage.read_at(0, &mut bytes).expect("read");
    bytes
}

impl Images {
    pub(crate) fn of(files: &StoreFiles) -> Self {
        Self { data: image(&*files.data), objects: image(&*files.objects), log: image(&*files.log) }
    }

    pub(crate) fn files(&self) -> StoreFiles {
        let storage = |bytes: &Vec<u8>| Arc::new(MemoryStorage::from_bytes(bytes.clone())) as Arc<dyn Storage>;
        StoreFiles {
            data: storage(&self.data),
            objects: storage(&self.objects),
            log: storage(&self.log),
            ..StoreFiles::in_memory()
        }
    }

    /// These files four times: as they are, and with a wrong byte in the table, in the log, and in both. Each says whether its
    /// table and its log are whole.
    pub(crate) fn without_table_or_log(&self) -> [(bool, bool, Self); 4] {
        [(true, true), (false, true), (true, false), (false, false)].map(|(table, log)| {
            let mut images = self.clone();
            if !table {
                images.objects[100] ^= 1;
            }
            if !log {
                images.log[100] ^= 1;
            }
            (table, log, images)
        })
    }

    fn file(&mut self, index: u64) -> &mut Vec<u8> {
        match index {
            0 => &mut self.data,
            1 => &mut self.objects,
            _ => &mut self.log,
        }
    }
}

/// A store with objects in the table and in extents; replaced, deleted and with other flags than at first. With the live
/// objects and the names of the deleted ones.
fn store() -> (StoreFiles, BTreeMap<u32, Vec<u8>>, BTreeSet<u32>) {
    let files = StoreFiles::in_memory();
    let store = Store::open(files.clone()).expect("a new store");
    store.set_space(SPACE, LIMITS).expect("a space");
    let (mut live, mut dice) = (BTreeMap::new(), Dice(26));
    let mut put = |store: &Store, live: &mut BTreeMap<u32, Vec<u8>>, data: u32| {
        let words = [3, 40, 400, 1900, 2001, 2600, 9000, 150_000][dice.below(8) as usize] + dice.below(3);
        let bytes = value(dice.below(1 << 40), words);
        write(store, data, &bytes);
        live.insert(data, bytes);
    };
    (0..40).for_each(|data| put(&store, &mut live, data));
    (0..40).step_by(3).for_each(|data| put(&store, &mut live, data));
    let deleted: BTreeSet<u32> = (0..40).step_by(5).collect();
    for data in &deleted {
        store.delete(key(*data)).expect("stored");
        live.remove(data);
    }
    (0..40).step_by(7).filter(|data| live.contains_key(data)).for_each(|data| {
        store.set_flags(key(data), ObjectFlags::ARMED).expect("stored");
    });
    drop(store);
    (files, live, deleted)
}

/// Damages one file somehow; says what it did.
fn damage(images: &mut Images, dice: &mut Dice) -> (u64, String) {
    let which = dice.below(3);
    let file = images.file(which);
    let len = file.len() as u64;
    let what = match dice.below(8) {
        0..=2 => {
            let bit = dice.below(len * 8);
            file[(bit / 8) as usize] ^= 1 << (bit % 8);
            format!("bit {bit}")
        }
        3 => {
            // The first blocks hold superblock, header and roots.
            let bit = dice.below(len.min(8192) * 8);
            file[(bit / 8) as usize] ^= 1 << (bit % 8);
            format!("bit {bit} at the beginning")
        }
        4 => {
            let at = dice.below(len / 512) as usize * 512;
            file[at..at + 512].fill(0);
            format!("sector at {at} zeroed")
        }
        5 => {
            let at = dice.below(len) as usize;
            let end = (at + 1 + dice.below(10_000) as usize).min(file.len());
            file[at..end].iter_mut().for_each(|byte| *byte ^= dice.below(255) as u8 + 1);
            format!("bytes {at}..{end} overwritten")
        }
        6 => {
            let at = dice.below(len);
            file.truncate(at as usize);
            format!("cut to {at} bytes")
        }
        _ => {
            file.clear();
            "emptied".to_owned()
        }
    };
    (which, format!("{what} of file {which}"))
}

/// Where `wanted` is, each time.
fn find_all<'a>(within: &'a [u8], wanted: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let first = wanted[..8].to_vec();
    let starts = within.windows(8).enumerate().filter(move |(_, window)| **window == first[..]);
    starts.map(|(at, _)| at).filter(move |at| within[*at..].starts_with(wanted))
}

fn find(within: &[u8], wanted: &[u8]) -> Option<usize> {
    find_all(within, wanted).next()
}

/// The places that hold an object: of a small one each whole record in the table, from 108 bytes before the object to its
/// checksum; of a large one its bytes in the data file, which are in one place, since a fresh store has no fragments.
pub(crate) fn places(images: &Images, bytes: &[u8]) -> Vec<Range<usize>> {
    match bytes.len() as u64 <= INLINE_BYTES {
        true => find_all(&images.objects, bytes).map(|at| at - 108..at + bytes.len() + 4).collect(),
        false => find_all(&images.data, bytes).map(|at| at..at + bytes.len()).collect(),
    }
}

/// Whether the damage left an object whole in one of its places.
pub(crate) fn is_whole(before: &Images, after: &Images, bytes: &[u8], places: &[Range<usize>]) -> bool {
    let (before, after) = match bytes.len() as u64 <= INLINE_BYTES {
        true => (&before.objects, &after.objects),
        false => (&before.data, &after.data),
    };
    places.iter().any(|place| after.get(place.clone()) == before.get(place.clone()))
}

fn scan(images: &Images) -> Salvage {
    Salvage::scan(images.files(), &mut |_, _| ()).expect("a report")
}

#[test]
fn every_undamaged_object_comes_back_after_200_random_damages() {
    let (files, live, deleted) = store();
    let before = Images::of(&files);
    let places: BTreeMap<u32, _> = live.iter().map(|(data, bytes)| (*data, places(&before, bytes))).collect();
    assert!(places.values().all(|places| !places.is_empty()), "every object is somewhere");
    let mut dice = Dice(200);
    let (mut unreadable, mut damaged, mut recovered) = (0, 0, 0);
    for round in 0..200 {
        let mut after = before.clone();
        let (file, what) = damage(&mut after, &mut dice);
        unreadable += u64::from(Store::open(after.files()).is_err());
        let salvage = Salvage::scan(after.files(), &mut |_, _| ()).unwrap_or_else(|error| panic!("{what}: {error}"));
        let repaired = salvage.write(Store::open(StoreFiles::in_memory()).expect("new")).expect("written");
        for (data, bytes) in &live {
            let found = repaired.get(key(*data)).map(|object| (object.origin(), repaired.read(object).pull_all()));
            match is_whole(&before, &after, bytes, &places[data]) {
                true => {
                    let (origin, read) = found.unwrap_or_else(|error| panic!("round {round}, {what}: {error}"));
                    assert!(read.expect("whole") == *bytes, "round {round}, {what}: other bytes of {data}");
                    assert_eq!(origin, u64::from(*data));
                    recovered += 1;
                }
                false => damaged += 1,
            }
        }
        for data in &deleted {
            assert!(repaired.get(key(*data)).is_err(), "round {round}, {what}: {data} was deleted");
        }
        if file == 0 || file == 2 {
            assert!(salvage.report().table_sound, "round {round}, {what}");
        }
        let spaces = repaired.space(SPACE).map(|(limits, _)| limits);
        assert_eq!(spaces, Some(LIMITS), "round {round}, {what}");
    }
    println!("{unreadable} of 200 stores did not open; {recovered} objects recovered, {damaged} damaged");
    assert!(unreadable > 40 && damaged > 100 && recovered > 5000, "{unreadable}, {damaged}, {recovered}");
}

#[test]
fn an_older_version_is_taken_where_the_newest_is_damaged_and_is_said_to_be_older() {
    let files = StoreFiles::in_memory();
    let store = Store::open(files.clone()).expect("a new store");
    store.set_space(SPACE, LIMITS).expect("a space");
    // The old version is read while the new one is written, so that its extents are not used again.
    write(&store, 1, &value(1, 4000));
    let old = store.get(key(1)).expect("stored");
    write(&store, 1, &value(2, 4000));
    let new = store.get(key(1)).expect("stored");
    let mut images = Images::of(&files);
    let at = find(&images.data, &value(2, 4000)).expect("its bytes");
    images.data[at + 5] ^= 1;
    let salvage = scan(&images);
    let [version] = salvage.versions() else { panic!("{:?}", salvage.versions()) };
    assert_eq!(version.generation, old.generation());
    assert_eq!(version.state, SalvageState::Older { lost: new.generation() });
    let repaired = salvage.write(Store::open(StoreFiles::in_memory()).expect("new")).expect("written");
    let object = repaired.get(key(1)).expect("the older one");
    assert_eq!(
        (object.generation(), repaired.read(object).pull_all().expect("whole")),
        (old.generation(), value(1, 4000))
    );
    let mut writer = repaired.write(key(2), 1).expect("room");
    writer.push(&[1]).expect("a byte");
    let next = writer.commit(ObjectFlags::NONE).expect("durable").generation();
    assert!(next > new.generation(), "a generation that was given out comes again");
}

#[test]
fn deleted_and_superseded_versions_are_listed_apart() {
    let (files, live, deleted) = store();
    let mut images = Images::of(&files);
    images.objects[2 * 4096..].iter_mut().step_by(4096).for_each(|byte| *byte ^= 1);
    let salvage = scan(&images);
    let report = salvage.report();
    assert!(!report.table_sound && report.log_sound && report.superblock_sound, "{report:?}");
    assert!(report.deleted + report.superseded > 0, "{report:?}");
    let mut seen = BTreeSet::new();
    for version in salvage.versions() {
        let data = version.object.id.data_id.0;
        match version.state {
            SalvageState::Recovered | SalvageState::Older { .. } | SalvageState::Lost => {
                assert!(live.contains_key(&data) && seen.insert(data), "{version:?}");
            }
            SalvageState::Deleted => assert!(deleted.contains(&data), "{version:?}"),
            SalvageState::Superseded => assert!(seen.contains(&data), "the recovered one comes first: {version:?}"),
        }
    }
    assert_eq!(seen.len(), live.len());
}

#[test]
fn what_holds_no_store_and_a_later_version_are_refused() {
    let error = Salvage::scan(StoreFiles::in_memory(), &mut |_, _| ()).expect_err("nothing");
    assert!(matches!(error, StoreError::NotAStore), "{error}");
    let (files, ..) = store();
    let mut images = Images::of(&files);
    images.data[8] = 3;
    let crc = crc32c::crc32c(&images.data[..40]).to_le_bytes();
    images.data[40..44].copy_from_slice(&crc);
    for error in [
        Salvage::scan(images.files(), &mut |_, _| ()).expect_err("later"),
        Store::open(images.files()).expect_err("later"),
    ] {
        assert!(matches!(error, StoreError::Version { given: 3, supported: 2 }), "{error}");
    }
}

#[test]
fn the_report_says_which_files_are_sound() {
    let files = StoreFiles::in_memory();
    drop(Store::open(files.clone()).expect("a new store"));
    let empty = scan(&Images::of(&files));
    let report = empty.report();
    assert!(report.superblock_sound && report.table_sound && report.log_sound, "{report:?}");
    assert!(empty.versions().is_empty() && empty.id().is_some());
    let other = StoreFiles::in_memory();
    drop(Store::open(other.clone()).expect("a new store"));
    assert_ne!(scan(&Images::of(&other)).id(), empty.id());
    let (files, live, _) = store();
    for (table, log, images) in Images::of(&files).without_table_or_log() {
        let salvage = scan(&images);
        let report = salvage.report();
        assert_eq!((report.superblock_sound, report.table_sound, report.log_sound), (true, table, log), "{report:?}");
        assert!(!table && !log || report.recovered == live.len() as u64, "{report:?}");
    }
    // A log with a hole, but with its header and its last frame.
    let mut hole = Images::of(&files);
    let middle = hole.log.len() / 2;
    hole.log[middle] ^= 1;
    assert!(scan(&hole).report().table_sound && !scan(&hole).report().log_sound);
    // A data file that is too short for its objects, which the table names.
    let mut short = Images::of(&files);
    short.data.truncate(2 * 4096);
    let report = *scan(&short).report();
    assert!(report.table_sound && report.lost > 0 && report.recovered + report.lost == live.len() as u64, "{report:?}");
    let (mut steps, all) = (Vec::new(), 40);
    Salvage::scan(files, &mut |done, of| steps.push((done, of))).expect("a report");
    assert_eq!(steps, (1..=all).map(|done| (done, all)).collect::<Vec<_>>());
}

/// Records of deleted objects are left in the pages of the table. A table that opens does not name them.
#[test]
fn a_sound_table_alone_decides_which_objects_there_are() {
    let files = StoreFiles::in_memory();
    let store = Store::open(files.clone()).expect("a new store");
    store.set_space(SPACE, LIMITS).expect("a space");
    (0..5).for_each(|data| write(&store, data, &value(data.into(), 100)));
    store.delete(key(3)).expect("stored");
    drop(store);
    let mut images = Images::of(&files);
    images.log.clear();
    let salvage = scan(&images);
    let states: Vec<_> = salvage.versions().iter().map(|found| (found.object.id.data_id.0, found.state)).collect();
    let expected = [0, 1, 2, 3, 4].map(|data| match data {
        3 => (data, SalvageState::Deleted),
        _ => (data, SalvageState::Recovered),
    });
    assert_eq!(states, expected);
}

/// The superblock alone says that there was a store, and which one.
#[test]
fn a_store_of_which_only_the_superblock_is_left_has_no_objects() {
    let (files, ..) = store();
    let images = Images::of(&files);
    let [superblock, nothing] = [4096, 0].map(|kept| {
        let data = images.data[..kept].to_vec();
        Salvage::scan(Images { data, objects: Vec::new(), log: Vec::new() }.files(), &mut |_, _| ())
    });
    let superblock = superblock.expect("a report");
    assert!(superblock.versions().is_empty() && superblock.id() == scan(&images).id());
    // A damaged version number is not another version.
    let mut damaged = images.clone();
    damaged.data[8] = 3;
    assert!(!scan(&damaged).report().superblock_sound && scan(&damaged).report().table_sound);
    assert!(matches!(nothing, Err(StoreError::NotAStore)), "{nothing:?}");
}

/// The table is searched in windows of 8 MiB. A record may begin in one and end in the next.
#[test]
fn a_record_across_two_windows_is_found_once() {
    let files = StoreFiles::in_memory();
    let store = Store::open(files.clone()).expect("a new store");
    store.set_space(SPACE, LIMITS).expect("a space");
    let bytes = value(8, 1900);
    write(&store, 1, &bytes);
    drop(store);
    let mut images = Images::of(&files);
    images.log.clear();
    let at = find(&images.objects, &bytes).expect("a small object is in the table");
    for before in [bytes.len() / 2, bytes.len() + 200, 0] {
        let mut shifted = images.clone();
        shifted.objects = vec![0; (8 << 20) - at - before];
        shifted.objects.extend(&images.objects);
        let salvage = scan(&shifted);
        assert!(!salvage.report().table_sound && salvage.report().recovered == 1, "{:?}", salvage.report());
        let mut out = Vec::new();
        salvage.read(&salvage.versions()[0], &mut out).expect("its bytes");
        assert_eq!(out, bytes);
    }
}

#[test]
fn a_large_object_in_fragments_comes_back_without_the_table() {
    let data: Arc<dyn Storage> = Arc::new(MemoryStorage::with_capacity_limit(4096 + 6 * 600 * 1024));
    let files = StoreFiles { data, ..StoreFiles::in_memory() };
    let store = Store::open(files.clone()).expect("a new store");
    store.set_space(SPACE, LIMITS).expect("a space");
    let part = 600 * 1024 / 8;
    (0..6).for_each(|data| write(&store, data, &value(data.into(), part)));
    [0, 2, 4].into_iter().for_each(|data| store.delete(key(data)).expect("stored"));
    // Its second chunk begins in the second of three runs.
    let bytes = value(9, 5 * part / 2);
    write(&store, 9, &bytes);
    drop(store);
    let mut images = Images::of(&files);
    images.objects.clear();
    let salvage = scan(&images);
    assert_eq!(salvage.report().recovered, 4, "{:?}", salvage.report());
    let large = salvage.versions().iter().find(|version| version.object == key(9)).expect("found");
    let mut out = Vec::new();
    salvage.read(large, &mut out).expect("its bytes");
    assert!(out == bytes);
}

#[test]
fn nothing_of_the_damaged_store_is_changed() {
    let (files, ..) = store();
    let mut images = Images::of(&files);
    images.objects[5000] ^= 1;
    let damaged = images.files();
    let salvage = Salvage::scan(damaged.clone(), &mut |_, _| ()).expect("a report");
    salvage.write(Store::open(StoreFiles::in_memory()).expect("new")).expect("written");
    let after = Images::of(&damaged);
    assert!((after.data, after.objects, after.log) == (images.data, images.objects, images.log));
}

/// A host writes objects of any content. One that contains a record must not become another object of the store.
#[test]
fn a_record_inside_an_object_is_no_record_of_the_store() {
    let foreign = StoreFiles::in_memory();
    let store = Store::open(foreign.clone()).expect("a new store");
    store.set_space(SPACE, LIMITS).expect("a space");
    write(&store, 1, &value(1, 100));
    drop(store);
    let table = image(&*foreign.objects);
    let record = &table[places(&Images::of(&foreign), &value(1, 100)).remove(0)];
    let files = StoreFiles::in_memory();
    let store = Store::open(files.clone()).expect("a new store");
    store.set_space(SPACE, LIMITS).expect("a space");
    write(&store, 2, record);
    drop(store);
    let mut images = Images::of(&files);
    // The table does not open, and its pages are searched.
    images.objects[..4096].fill(0);
    assert!(Store::open(images.files()).is_err());
    let salvage = scan(&images);
    let found: Vec<u32> = salvage.versions().iter().map(|version| version.object.id.data_id.0).collect();
    assert_eq!(found, [2], "{:?}", salvage.versions());
}

/// Bytes of a sealed object: their CRC-32C is that of all others of this size.
fn sealed(seed: u64) -> Vec<u8> {
    let mut bytes = value(seed, 2600);
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// Whether a salvage gives these bytes under the name of the first object, in any version.
fn gives(salvage: &Salvage, bytes: &[u8]) -> bool {
    salvage.versions().iter().filter(|version| version.object == key(1)).any(|version| {
        let mut out = Vec::new();
        salvage.read(version, &mut out).is_ok() && out == bytes
    })
}

/// Checksums cannot tell sealed objects of one size apart; digests can.
#[test]
fn a_place_that_another_object_took_is_no_older_version() {
    assert_eq!(crc32c::crc32c(&sealed(1)), crc32c::crc32c(&sealed(2)));
    for keeps_other in [true, false] {
        let files = StoreFiles::in_memory();
        let store = Store::open(files.clone()).expect("a new store");
        store.set_space(SPACE, LIMITS).expect("a space");
        store.set_space(SpaceId(8), LIMITS).expect("a space");
        let [old, new, other] = [1, 2, 3].map(sealed);
        write(&store, 1, &old);
        write(&store, 1, &new);
        let before = Images::of(&files).data;
        // Another tenant's object takes the place of the old version.
        let foreign = ObjectKey { space: SpaceId(8), id: vr(1, 0, 9) };
        let mut writer = store.write(foreign, other.len() as u64).expect("room");
        writer.push(&other).expect("its bytes");
        writer.commit(ObjectFlags::NONE).expect("durable");
        if !keeps_other {
            store.delete(foreign).expect("durable");
        }
        drop(store);
        let mut images = Images::of(&files);
        let place = |data: &[u8], bytes: &[u8]| data.windows(64).position(|window| *window == bytes[..64]);
        assert_eq!(place(&before, &old), place(&images.data, &other), "the allocator uses the place again");
        let at = place(&images.data, &new).expect("the newest version");
        images.data[at + 70] ^= 1;
        // Also without the table, and without the log.
        for (table, log, images) in images.without_table_or_log() {
            let salvage = Salvage::scan(images.files(), &mut |_, _| ()).expect("a scan");
            assert!(!gives(&salvage, &other), "{keeps_other} {table} {log}: {:?}", salvage.versions());
            assert_eq!(salvage.report().older, 0, "{keeps_other} {table} {log}: {:?}", salvage.versions());
        }
    }
}

#[test]
fn an_older_version_in_a_place_of_its_own_comes_back_without_table_and_log() {
    let files = StoreFiles::in_memory();
    let store = Store::open(files.clone()).expect("a new store");
    store.set_space(SPACE, LIMITS).expect("a space");
    let [old, new] = [1, 2].map(sealed);
    write(&store, 1, &old);
    write(&store, 1, &new);
    drop(store);
    let mut images = Images::of(&files);
    let at = find(&images.data, &new[..64]).expect("the newest version");
    images.data[at + 70] ^= 1;
    for (table, log, images) in images.without_table_or_log() {
        let salvage = Salvage::scan(images.files(), &mut |_, _| ()).expect("a scan");
        // The log or an old page of the table still has the record of the old version, except where the log alone had it.
        let report = salvage.report();
        assert_eq!((report.older, report.lost), (1, 0), "{table} {log}: {:?}", salvage.versions());
        assert!(gives(&salvage, &old), "{table} {log}");
    }
}

/// A disk puts a write into the wrong place. A reader of that place finds the bytes of another object, with a right checksum.
#[test]
fn bytes_in_the_place_of_another_object_are_noticed() {
    let files = StoreFiles::in_memory();
    let store = Store::open(files.clone()).expect("a new store");
    store.set_space(SPACE, LIMITS).expect("a space");
    let [own, other] = [1, 2].map(sealed);
    write(&store, 1, &own);
    write(&store, 2, &other);
    let place = |bytes: &[u8]| find(&image(&*files.data), &bytes[..64]).expect("its bytes") as u64;
    files.data.write_at(place(&own), &other).expect("room");
    let read = store.read(store.get(key(1)).expect("stored")).pull_all().expect("sound checksums");
    assert_eq!(read, other, "the checksums do not tell the two apart");
    let mut events = Vec::new();
    let report = store.scrub(&mut |event| events.push(event));
    assert_eq!((report.damaged_objects, report.is_sound()), (1, false));
    let noticed = |event: &ScrubEvent| matches!(event, ScrubEvent::Unreadable { object, error: StoreError::OtherContent { .. } } if *object == key(1));
    assert!(events.iter().any(noticed), "{events:?}");
    let salvage = Salvage::scan(Images::of(&files).files(), &mut |_, _| ()).expect("a scan");
    assert!(!gives(&salvage, &other), "{:?}", salvage.versions());
    let report = salvage.report();
    assert_eq!((report.recovered, report.lost), (1, 1), "{:?}", salvage.versions());
}
