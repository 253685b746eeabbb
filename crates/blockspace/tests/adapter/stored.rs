//! Stored files of an earlier version open and hold the same blocks, labels and objects.
//!
//! `tests/fixtures` has the files of a namespace for each format version of the object store: objects, an object with a
//! block missing, plain blocks, zeros, an armed object with a program. The last writes are in the log of the block file
//! only, so opening it replays them. To write such files with the present code:
//!
//! ```text
//! CIPHERMILL_WRITE_FIXTURE=/some/empty/directory cargo test -p ciphermill-blockspace --test adapter stored
//! ```

#[path = "../../../device/tests/support/image.rs"]
mod image;

use crate::support::*;
use ciphermill_blockspace::{
    BlockSpaceConfig,
    volume::{BlockState, VolumeFiles},
};
use ciphermill_device::{SpaceId, StoreFiles};
use std::{fmt::Write as _, fs, path::Path};

const FILES: [&str; 6] = ["data", "objects.redb", "log", "swap", "blocks", "blocks.redb"];
/// Those of an object store of version 1.
const EARLIER_FILES: [&str; 5] = ["data", "objects.redb", "swap", "blocks", "blocks.redb"];

fn open(directory: &Path) -> Bench {
    let store = StoreFiles::in_directory(directory).expect("files");
    let volume = VolumeFiles::in_directory(directory).expect("files");
    Bench::open(store, volume, BlockSpaceConfig::new(LOG2), runtime()).expect("a namespace")
}

fn x() -> Vec<u8> {
    words(&[1, 2, 3, u64::MAX])
}

fn y() -> Vec<u8> {
    words(&[10, 20, 30, 40])
}

/// Writes the files into `directory`, in two sittings: the first one is in the stored map, the second one in the log.
fn write(directory: &Path) {
    let bench = open(directory);
    bench.put(10, metadata("1:5:1", 10_000), &pattern(10_000, 1));
    bench.put(20, checked("3:5:2", &x()), &padded(&x()));
    bench.write(100, pattern(3 * BLOCK, 2));
    bench.zero(200, 40).expect("zeros");
    drop(bench);
    let bench = open(directory);
    bench.put(30, metadata("0:5:0", the_program().len()), &the_program());
    bench.declare(40, metadata("1:5:3", 3 * BLOCK));
    bench.write(40, pattern(2 * BLOCK, 3));
    bench.write(101, pattern(BLOCK, 4));
    bench.deallocate(102..103).expect("a block");
    bench.deallocate(210..215).expect("zeros");
    bench.put(50, armed("3:5:7", y().len()), &y());
    drop(bench);
}

/// y + x for the register that is read.
fn the_program() -> Vec<u8> {
    program("mov t, 3:5:7\nhomadd t, 3:5:2\nreturn t")
}

/// Everything that the volume and the directory hold, as text.
fn listing(bench: &Bench) -> String {
    let mut lines = String::new();
    for space in bench.volume.spaces() {
        for run in bench.volume.states(space, 0, 1 << LOG2) {
            if run.state != BlockState::Absent {
                let sums = bench.volume.checksums(space, run.lba, run.blocks);
                let sums = sums.iter().flatten().fold(0, |sum, crc| crc32c::crc32c_append(sum, &crc.to_le_bytes()));
                writeln!(lines, "space {space} {:?} {}+{} crc {sums:08x}", run.state, run.lba, run.blocks)
                    .expect("a line");
            }
        }
        for (lba, label) in bench.volume.labels(space) {
            let hex: String = label.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(lines, "space {space} label {lba} {hex}").expect("a line");
        }
    }
    for entry in bench.space.directory(register("0:0:0"), 100).entries {
        writeln!(lines, "{entry:?}").expect("a line");
    }
    for stat in bench.registers().list() {
        if let Some(owner) = stat.owner {
            writeln!(lines, "{} {owner:?}", stat.id).expect("a line");
        }
    }
    lines
}

fn check(directory: &Path, expected: &str) {
    let bench = open(directory);
    assert_eq!(listing(&bench), expected);
    assert_eq!(bench.read(10, 3), padded(&pattern(10_000, 1)));
    assert_eq!(bench.read(100, 1), pattern(3 * BLOCK, 2)[..BLOCK]);
    assert_eq!(bench.read(101, 2), [pattern(BLOCK, 4), vec![0; BLOCK]].concat());
    assert_eq!(bench.read(200, 40), vec![0; 40 * BLOCK]);
    let report = bench.volume.scrub(&mut |_| std::ops::ControlFlow::Continue(())).expect("a report");
    assert!(report.complete && report.damaged == 0 && report.blocks > 0);
    assert!(bench.device.scrub(&mut |_| {}).expect("a report").is_sound());
    // The read of the armed object computes.
    let sum = words(&[11, 22, 33, 39]);
    assert_eq!(bench.read(50, 1)[..sum.len()], sum);
    // The missing block completes the declared object.
    bench.write(42, pattern(BLOCK, 5));
    assert_eq!(bench.stored("1:5:3"), Some([pattern(2 * BLOCK, 3), pattern(BLOCK, 5)].concat()));
    assert_eq!(bench.device.spaces(), [SpaceId(0), NAMESPACE]);
}

fn check_fixture(name: &str, files: &[&str]) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let directory = tempfile::tempdir().expect("a directory");
    image::unpack(&fixture, files, directory.path());
    check(directory.path(), &fs::read_to_string(fixture.join("blocks.txt")).expect("a listing"));
}

#[test]
fn the_stored_fixture_opens_with_the_same_bits() {
    check_fixture("namespace-2", &FILES);
}

#[test]
fn the_stored_fixture_of_version_1_opens_with_the_same_bits() {
    check_fixture("namespace", &EARLIER_FILES);
}

#[test]
fn the_generator_of_the_stored_fixture_writes_files_that_pass_the_same_checks() {
    let (files, images) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    write(files.path());
    image::pack(files.path(), &FILES, images.path());
    let expected = listing(&open(files.path()));
    if let Some(fixture) = std::env::var_os("CIPHERMILL_WRITE_FIXTURE") {
        fs::write(Path::new(&fixture).join("blocks.txt"), &expected).expect("a listing");
        for name in FILES.map(|name| format!("{name}.image")) {
            fs::copy(images.path().join(&name), Path::new(&fixture).join(&name)).expect("a copy");
        }
    }
    let copy = tempfile::tempdir().expect("a directory");
    image::unpack(images.path(), &FILES, copy.path());
    check(copy.path(), &expected);
}
