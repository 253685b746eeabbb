//! Repair of directories, and their check.

use crate::support::*;
use ciphermill_blockspace::backup;
use std::{collections::BTreeMap, fs, path::Path};

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry"));
    entries
        .filter(|entry| entry.file_type().expect("a type").is_file())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("a file")))
        .collect()
}

fn check(directory: &Path) -> backup::CheckReport {
    backup::check(directory, &mut |_| true).expect("a report")
}

/// Flips a bit somewhere in the middle of each page of a file.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).expect("a file");
    let first = 2000.min(bytes.len() / 2);
    bytes.iter_mut().skip(first).step_by(4096).for_each(|byte| *byte ^= 4);
    fs::write(path, bytes).expect("room");
}

#[test]
fn a_sound_store_is_said_to_be_sound_and_stays_as_it_is() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("s");
    Stored::open(&place).write(1);
    let before = files(&place);
    let report = check(&place);
    assert!(report.is_sound() && report.log_agrees, "{report:?}");
    assert_eq!((report.objects.objects, report.blocks.blocks), (SIZES.len() as u64, BLOCKS.len() as u64));
    assert!(files(&place) == before, "the check changed something");
}

#[test]
fn each_damaged_file_is_noticed_and_repaired_as_far_as_it_goes() {
    for (name, volume_is_whole) in
        [("objects.redb", true), ("data", true), ("blocks.redb", false), ("blocks", false), ("log", true)]
    {
        let directory = tempfile::tempdir().expect("a directory");
        let [place, out] = ["s", "r"].map(|name| directory.path().join(name));
        let stored = Stored::open(&place);
        stored.write(1);
        let expected = stored.listing();
        drop(stored);
        damage(&place.join(name));
        let before = files(&place);
        let report = check(&place);
        assert_eq!(report.is_sound(), name == "log", "{name}: {report:?}");
        assert!(name != "log" || !report.log_agrees);
        let repair = backup::repair(&place, &out, &mut |_| true).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(files(&place) == before, "{name}: the repair changed the damaged store");
        assert_private(directory.path());
        assert_eq!(repair.volume.is_none() && repair.damaged_blocks.is_empty(), volume_is_whole, "{name}: {repair:?}");
        let repaired = Stored::open(&out);
        let found = repaired.listing();
        let objects =
            |lines: &[String]| lines.iter().filter(|line| line.starts_with("object")).cloned().collect::<Vec<_>>();
        match name {
            // Small objects are in the damaged pages, some of them between the damaged bytes.
            "objects.redb" => {
                let large = SIZES.iter().enumerate().filter(|(_, size)| **size > 16_000);
                let names: Vec<String> = large.map(|(data, _)| format!("{} ", key(data as u32))).collect();
                let is_found = |name: &String| objects(&found).iter().any(|line| line.starts_with(name));
                assert!(names.iter().all(is_found), "{found:?}");
            }
            // Every extent is damaged.
            "data" => assert_eq!(objects(&found).len(), SIZES.iter().filter(|size| **size <= 16_000).count()),
            _ => assert_eq!(objects(&found), objects(&expected), "{name}"),
        }
        assert!(check_rest(&repair) || name == "objects.redb" || name == "data");
        drop(repaired);
        assert!(check(&out).is_sound(), "{name}");
    }
}

fn check_rest(repair: &backup::RepairReport) -> bool {
    let report = repair.salvage.report();
    report.older == 0 && report.lost == 0 && report.recovered == SIZES.len() as u64
}

#[test]
fn a_store_without_its_table_or_its_lock_is_repaired() {
    let directory = tempfile::tempdir().expect("a directory");
    let [place, out] = ["s", "r"].map(|name| directory.path().join(name));
    let stored = Stored::open(&place);
    stored.write(1);
    let id = stored.store.id();
    drop(stored);
    for name in ["objects.redb", "lock", "blocks.redb"] {
        fs::remove_file(place.join(name)).expect("there");
    }
    let repair = backup::repair(&place, &out, &mut |_| true).expect("repaired");
    let large = SIZES.iter().filter(|size| **size > 16_000).count() as u64;
    assert_eq!(repair.salvage.report().recovered, large);
    assert_eq!(Stored::open(&out).store.id(), id);
}
