//! The results of a write, and the known facts about the stored object.

use crate::support::code::{add, bootstrap, int_mult, sub};
use crate::support::*;
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, ObjectFlags, ObjectStat, ReadMode, ReadOptions, RunError, SpaceId, SpaceLimits,
    SpaceMetrics, WriteMode, WriteOptions,
    store::{BLOCK_BYTES, CHUNK_BYTES},
};
use ciphermill_program::{Instruction, Program};
use std::{
    sync::{Arc, atomic::Ordering},
    thread,
};

#[test]
fn a_result_above_the_writers_limit_is_refused_before_anything_is_stored() {
    let (device, space) = open(DeviceConfig::in_memory());
    let (y, longer) = (vr(4, 0, 1), vr(3, 0, 2));
    put(&space, longer, &value(3, 5));
    put(&space, y, &bytes(&[1]));
    let code = vec![Instruction::mov(y, longer), Instruction::ret(y)];
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
fn a_result_above_the_readers_limit_is_refused_and_the_object_stays_armed() {
    let (device, space) = open(DeviceConfig::in_memory());
    let (x, longer) = (vr(3, 0, 1), vr(3, 0, 2));
    put(&space, longer, &value(3, 5));
    let flags = ObjectFlags::ARMED.with(ObjectFlags::ONE_SHOT);
    space.write_bytes(x, &bytes(&[1]), WriteOptions { flags, ..WriteOptions::default() }).expect("stored");
    let code = vec![Instruction::mov(x, longer), Instruction::ret(x)];
    put(&space, vr(0, 0, 0), &program(code));
    let read = |mode, limit| space.read_with(x, ReadOptions { result_limit: Some(limit), ..ReadOptions::new(mode) });
    for mode in [ReadMode::Armed, ReadMode::Compute] {
        match read(mode, 39) {
            Err(DeviceError::ProgramFailed { cause, .. }) => {
                assert!(matches!(*cause, RunError::ResultTooLarge { bytes: 40, limit: 39 }), "{cause}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(space.stat(x).expect("stored").flags, flags, "{mode:?}");
    }
    assert_eq!((device.metrics().programs_run, device.metrics().programs_failed), (0, 2));
    assert_eq!(read(ReadMode::Stored, 0).expect("no result, no limit").into_bytes().expect("read"), bytes(&[1]));
    assert_eq!(read(ReadMode::Armed, 40).expect("at the limit").into_bytes().expect("read"), value(3, 5));
    assert_eq!(space.stat(x).expect("stored").flags, ObjectFlags::ONE_SHOT);
}

#[test]
fn what_is_known_of_an_object_is_told_without_reading_it() {
    let directory = tempfile::tempdir().expect("directory");
    let (device, space) = open(DeviceConfig::in_directory(directory.path()));
    let (block, chunk) = (BLOCK_BYTES, CHUNK_BYTES);
    let sizes = [8, block - 8, block, block + 8, 16_000, 16_008, chunk - 8, chunk, chunk + 8, 3 * chunk - 8, 3 * chunk];
    let mut expected = Vec::new();
    for (data, size) in sizes.into_iter().enumerate() {
        let (id, content) = (vr(1, 0, data as u32), value(data as u64, size / 8));
        let options = WriteOptions { origin: data as u64 % 4 * 0x0123_4567_89ab_cdef, ..WriteOptions::default() };
        let written = space.write_bytes(id, &content, options.clone()).expect("write");
        assert_eq!(written.stat.origin, options.origin);
        assert_eq!(written.stat.checksum, crc32c::crc32c(&content), "{size} bytes");
        assert_eq!(space.stat(id).expect("stat"), written.stat);
        // Flags are another row of the table, with the same origin and generation.
        let flags = if data % 2 == 1 { ObjectFlags::ONE_SHOT } else { ObjectFlags::NONE };
        space.set_flags(id, flags).expect("flags");
        expected.push(ObjectStat { flags, ..written.stat });
    }
    assert_eq!(space.list(), expected);
    drop((device, space));
    let (_device, space) = open(DeviceConfig::in_directory(directory.path()));
    assert_eq!(space.list(), expected, "the same after the store was opened again");
}

#[test]
fn estimates_see_the_sizes_of_operands_as_far_as_they_are_known() {
    let toy = Arc::new(Toy::default());
    let device = Device::open(DeviceConfig::in_memory(), vec![toy.clone()]).expect("open");
    let space = device.space(SpaceId::EMBEDDED).expect("space");
    let (x, y, new) = (vr(3, 0, 1), vr(3, 0, 2), vr(3, 0, 3));
    put(&space, x, &value(1, 5));
    put(&space, y, &value(2, 5));
    let code = vec![
        add(x, y),
        Instruction::push(x),
        int_mult(x, 2),
        add(y, x),
        Instruction::pop(new),
        Instruction::mov(x, new),
        sub(x, new),
        Instruction::ret(x),
    ];
    space.check(&Program::new(code).expect("a program")).expect("accepted");
    let known = Some(40);
    let expected: Vec<Vec<Option<u64>>> = vec![
        vec![known, known],
        vec![known],
        vec![known],
        // A product of the toy says nothing of its size.
        vec![known, None],
        vec![],
        vec![known],
        vec![known, known],
        vec![None],
    ];
    assert_eq!(*toy.operand_sizes.lock().expect("no panic"), expected);
}

#[test]
fn metrics_tell_what_was_done_and_how_long_it_took() {
    let toy = Arc::new(Toy::default());
    let mut config = DeviceConfig::in_memory();
    (config.max_running_programs, config.max_waiting_programs) = (1, 0);
    let device = Device::open(config, vec![toy.clone()]).expect("open");
    let space = device.create_space(SpaceId(5), SpaceLimits { bytes: 1000, objects: 9 }).expect("space");
    let (x, y) = (vr(3, 0, 1), vr(4, 0, 1));
    put(&space, vr(1, 0, 0), &bytes(&[4, 5]));
    put(&space, vr(2, 0, 1), &toy_key(1, 2, 0));
    put(&space, vr(2, 0, 2), &toy_key(2, 2, 0));
    put(&space, x, &bytes(&[0, 1]));
    let code = vec![bootstrap(vr(1, 0, 0), x), Instruction::ret(x)];
    put(&space, vr(0, 0, 0), &program(code));
    toy.bootstrap_ms.store(20, Ordering::SeqCst);
    assert_eq!(to_words(&space.read_bytes(x, ReadMode::Compute).expect("computed")), [4, 5]);
    assert!(put(&space, y, &bytes(&[1, 1])));
    toy.held.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let held = scope.spawn(|| space.read_bytes(x, ReadMode::Compute).map(drop));
        while device.metrics().programs_running == 0 {
            thread::yield_now();
        }
        assert!(matches!(space.read_bytes(x, ReadMode::Compute), Err(DeviceError::Busy { .. })));
        toy.held.store(false, Ordering::SeqCst);
        held.join().expect("no panic").expect("computed");
    });
    let metrics = device.metrics();
    assert_eq!((metrics.programs_run, metrics.programs_failed, metrics.programs_refused), (3, 0, 1));
    assert_eq!((metrics.computed_writes, metrics.computed_reads, metrics.writes, metrics.reads), (1, 2, 6, 2));
    assert!(metrics.program_time.as_millis() >= 60 && !metrics.commit_time.is_zero() && !metrics.store_failed);
    let (limits, used) = space.usage();
    assert_eq!(metrics.spaces[&SpaceId(5)], SpaceMetrics { limits, used });
    assert_eq!(metrics.spaces.len(), 2);
    let text = metrics.to_prometheus();
    for line in [
        "ciphermill_device_programs_refused_total 1",
        "ciphermill_device_computed_reads_total 2",
        "ciphermill_device_store_failed 0",
        "ciphermill_device_space_limit_bytes{space=\"5\"} 1000",
        "ciphermill_device_space_objects{space=\"0\"} 0",
        "ciphermill_device_instructions_total{instruction=\"bootstrap\"} 3",
        "ciphermill_device_queue_depth 0",
        "# TYPE ciphermill_device_program_seconds_total counter",
    ] {
        assert!(text.lines().any(|given| given == line), "{line}\n{text}");
    }
    // One HELP and one TYPE for each name, before its values.
    let mut told = std::collections::BTreeSet::new();
    for line in text.lines() {
        let name = line.trim_start_matches("# TYPE ").split([' ', '{']).next().expect("a name");
        match line {
            _ if line.starts_with("# TYPE ") => assert!(told.insert(name), "{name} twice"),
            _ if line.starts_with('#') => {}
            _ => assert!(told.contains(name), "{line}"),
        }
    }
}
