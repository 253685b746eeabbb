//! What a write may bring, and what is known of what it stored.

use crate::support::*;
use ciphermill_device::{
    DeviceConfig, DeviceError, ReadMode, RunError, WriteMode, WriteOptions,
    store::{BLOCK_BYTES, CHUNK_BYTES},
};
use ciphermill_program::Instruction;

#[test]
fn a_result_above_the_writers_limit_is_refused_before_anything_is_stored() {
    let (device, space) = open(DeviceConfig::in_memory());
    let (y, longer) = (vr(4, 0, 1), vr(3, 0, 2));
    put(&space, longer, &value(3, 5));
    put(&space, y, &bytes(&[1]));
    let code = vec![Instruction::Move { dst: y, src: longer }, Instruction::Return { n: y }];
    put(&space, vr(0, 0, 0), &program(code));
    let before = space.list();
    let limited = |limit| WriteOptions { result_limit: Some(limit), ..WriteOptions::default() };
    match space.write_bytes(y, &bytes(&[2]), limited(39)) {
        Err(DeviceError::ProgramFailed { cause, .. }) => {
            assert!(matches!(*cause, RunError::ResultTooLarge { bytes: 40, limit: 39 }), "{cause}");
            assert!(cause.to_string().contains("40") && cause.to_string().contains("39"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(space.list(), before);
    assert_eq!(space.read_bytes(y, ReadMode::Stored).expect("as it was"), bytes(&[1]));
    assert_eq!((device.metrics().programs_run, device.metrics().programs_failed), (0, 1));
    assert!(space.write_bytes(y, &bytes(&[2]), limited(40)).expect("at the limit").computed);
    assert_eq!(space.read_bytes(y, ReadMode::Stored).expect("stored"), value(3, 5));
    let stored = WriteOptions { mode: WriteMode::Stored, ..limited(0) };
    assert!(!space.write_bytes(y, &bytes(&[9]), stored).expect("no result, no limit").computed);
}

#[test]
fn the_checksum_of_the_whole_is_told_without_reading_it() {
    let directory = tempfile::tempdir().expect("directory");
    let (device, space) = open(DeviceConfig::in_directory(directory.path()));
    let (block, chunk) = (BLOCK_BYTES, CHUNK_BYTES);
    let sizes = [8, block - 8, block, block + 8, 16_000, 16_008, chunk - 8, chunk, chunk + 8, 3 * chunk - 8, 3 * chunk];
    let mut expected = Vec::new();
    for (data, size) in sizes.into_iter().enumerate() {
        let (id, content) = (vr(1, 0, data as u32), value(data as u64, size / 8));
        let written = space.write_bytes(id, &content, WriteOptions::default()).expect("write");
        assert_eq!(written.stat.checksum, crc32c::crc32c(&content), "{size} bytes");
        assert_eq!(space.stat(id).expect("stat"), written.stat);
        expected.push(written.stat.checksum);
    }
    drop((device, space));
    let (_device, space) = open(DeviceConfig::in_directory(directory.path()));
    let found: Vec<u32> = space.list().iter().map(|stat| stat.checksum).collect();
    assert_eq!(found, expected, "the same after the store was opened again");
}
