//! Effects of writes and reads.

use crate::support::code::{add, bootstrap, int_mult, sub};
use crate::support::*;
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, HandlerError, ObjectFlags, ReadMode, RunError, SpaceId, StoreError, WriteMode,
    WriteOptions, store::ObjectKey,
};
use ciphermill_program::{Fault, Instruction, Program, VerifyError};
use std::{
    io::{Read, Write},
    sync::{Arc, atomic::Ordering},
    thread,
    time::Duration,
};

/// The paper's Table 5: ((x + y)^2 - (x - y)^2) / 4, with a table for t^2/4 (of small, even sums).
fn table_5() -> Vec<u8> {
    let (r1, r2, x, y, tv) = (vr(3, 0, 100), vr(3, 0, 101), vr(3, 0, 2), vr(4, 0, 3), vr(1, 0, 0));
    program(vec![
        Instruction::mov(r1, x),
        Instruction::mov(r2, x),
        add(r1, y),
        bootstrap(tv, r1),
        sub(r2, y),
        bootstrap(tv, r2),
        sub(r1, r2),
        Instruction::ret(r1),
    ])
}

fn write_table_5(space: &ciphermill_device::Space) {
    let squares: Vec<u64> = (0..4096u64).map(|t| t * t / 4).collect();
    put(space, vr(2, 0, 1), &toy_key(1, 4, 3 << 20));
    put(space, vr(2, 0, 2), &toy_key(2, 4, 100));
    put(space, vr(1, 0, 0), &bytes(&squares));
    put(space, vr(0, 0, 0), &table_5());
}

#[test]
fn the_papers_sequence_multiplies() {
    let (device, space) = open(DeviceConfig::in_memory());
    write_table_5(&space);
    let (x, y) = (bytes(&[9, 20, 31, 40]), bytes(&[5, 6, 7, 40]));
    assert!(!put(&space, vr(3, 0, 2), &x), "writing a compute-on-read value is plain");
    assert!(put(&space, vr(4, 0, 3), &y), "writing a compute-on-write value computes");
    assert_eq!(to_words(&space.read_bytes(vr(4, 0, 3), ReadMode::Armed).expect("read")), [45, 120, 217, 1600]);
    assert_eq!(space.read_bytes(vr(3, 0, 2), ReadMode::Stored).expect("operand"), x);
    let names: Vec<_> = space.list().iter().map(|stat| stat.id).collect();
    let written = [vr(0, 0, 0), vr(1, 0, 0), vr(2, 0, 1), vr(2, 0, 2), vr(3, 0, 2), vr(4, 0, 3)];
    assert_eq!(names, written, "the program's own registers do not last");
    let metrics = device.metrics();
    assert_eq!((metrics.programs_run, metrics.programs_failed, metrics.key_memory.keys), (1, 0, 1));
    assert_eq!(metrics.instructions["bootstrap"].count, 2);
    assert_eq!(metrics.store.objects, 6);
    let text = metrics.to_prometheus();
    assert!(text.contains("ciphermill_device_instructions_total{instruction=\"homsub\"} 2\n"), "{text}");
    assert!(text.contains("\nciphermill_device_objects 6\n"), "{text}");
}

#[test]
fn reading_computes_when_asked_or_armed() {
    let (_, space) = open(DeviceConfig::in_memory());
    let x = vr(3, 7, 1);
    put(&space, x, &bytes(&[1, 2]));
    let no_program = space.read_bytes(x, ReadMode::Compute);
    assert!(matches!(no_program, Err(DeviceError::NoProgram { .. })), "{no_program:?}");
    let code = vec![int_mult(x, -3), Instruction::ret(x)];
    put(&space, vr(0, 7, 0), &program(code));
    let read = |mode| to_words(&space.read_bytes(x, mode).expect("read"));
    let computed = [3u64.wrapping_neg(), 6u64.wrapping_neg()];
    assert_eq!(read(ReadMode::Stored), [1, 2]);
    assert_eq!(read(ReadMode::Compute), computed);
    assert_eq!(read(ReadMode::Armed), [1, 2], "a probe of an object that is not armed computes nothing");
    space.set_flags(x, ObjectFlags::ARMED).expect("arm");
    assert_eq!((read(ReadMode::Armed), read(ReadMode::Armed)), (computed.into(), computed.into()));
    space.set_flags(x, ObjectFlags::ARMED.with(ObjectFlags::ONE_SHOT)).expect("arm once");
    assert_eq!(read(ReadMode::Armed), computed);
    assert_eq!(read(ReadMode::Armed), [1, 2], "one shot");
    assert_eq!(space.stat(x).expect("stat").flags, ObjectFlags::ONE_SHOT);
    let other = space.read_bytes(vr(0, 7, 0), ReadMode::Compute);
    assert!(matches!(other, Err(DeviceError::NotComputable { .. })));
}

#[test]
fn without_a_program_or_on_request_a_write_is_plain() {
    let (_, space) = open(DeviceConfig::in_memory());
    let y = vr(4, 0, 1);
    assert!(!put(&space, y, &bytes(&[5])));
    put(&space, vr(0, 0, 0), &program(vec![add(y, y), Instruction::ret(y)]));
    let stored = WriteOptions { mode: WriteMode::Stored, ..WriteOptions::default() };
    assert!(!space.write_bytes(y, &bytes(&[6]), stored).expect("write").computed);
    assert_eq!(to_words(&space.read_bytes(y, ReadMode::Stored).expect("read")), [6]);
    assert!(put(&space, y, &bytes(&[7])));
    assert_eq!(to_words(&space.read_bytes(y, ReadMode::Stored).expect("read")), [14]);
    assert!(!put(&space, vr(4, 1, 1), &bytes(&[5])), "another key has no program");
}

#[test]
fn a_failed_program_leaves_everything_as_it_was() {
    let toy = Arc::new(Toy::default());
    let mut config = DeviceConfig::in_memory();
    config.max_program_duration = Duration::from_millis(500);
    let device = Device::open(config, vec![toy.clone()]).expect("open");
    let space = device.space(SpaceId::EMBEDDED).expect("space");
    let (y, tv) = (vr(4, 0, 1), vr(1, 0, 0));
    put(&space, y, &bytes(&[1, 2]));
    let before = space.list();
    let fails = |code: Vec<Instruction>| {
        put(&space, vr(0, 0, 0), &program(code));
        let outcome = space.write_bytes(y, &bytes(&[9, 9]), WriteOptions::default());
        assert_eq!(to_words(&space.read_bytes(y, ReadMode::Stored).expect("read")), [1, 2]);
        match outcome {
            Err(DeviceError::ProgramFailed { cause, .. }) => *cause,
            other => panic!("{other:?}"),
        }
    };
    let undefined = fails(vec![add(y, vr(3, 0, 9)), Instruction::ret(y)]);
    let RunError::Verify(VerifyError::Instruction { fault, .. }) = undefined else { panic!("{undefined}") };
    assert_eq!(fault, Fault::Undefined { register: vr(3, 0, 9) });
    let bootstraps = vec![bootstrap(tv, y); 3];
    let code: Vec<_> = bootstraps.into_iter().chain([Instruction::ret(y)]).collect();
    put(&space, tv, &bytes(&[4, 5, 6]));
    let missing = fails(code.clone());
    assert!(missing.to_string().contains("2:0:1 is not stored"), "{missing}");
    put(&space, vr(2, 0, 1), &toy_key(1, 2, 0));
    put(&space, vr(2, 0, 2), &toy_key(2, 2, 0));
    toy.bootstrap_ms.store(300, Ordering::SeqCst);
    let late = fails(code.clone());
    assert!(matches!(late, RunError::TimedOut { total: 4, .. }), "{late}");
    toy.bootstrap_ms.store(0, Ordering::SeqCst);
    toy.claimed_ms.store(200, Ordering::SeqCst);
    assert!(matches!(fails(code.clone()), RunError::Verify(VerifyError::TooSlow { .. })));
    toy.claimed_ms.store(0, Ordering::SeqCst);
    assert_eq!(space.stat(y).expect("stat"), before[0]);
    let wrong = vec![Instruction::ret(vr(3, 1, 0))];
    put(&space, vr(3, 1, 0), &bytes(&[1, 2, 3]));
    assert!(matches!(fails(wrong), RunError::Result(HandlerError::WrongSize { given: 24, .. })));
    assert!(device.metrics().programs_failed >= 5);
    put(&space, vr(0, 0, 0), &program(code));
    assert!(put(&space, y, &bytes(&[1, 2])), "and afterwards the device still computes");
}

#[test]
fn objects_are_judged_before_they_are_stored() {
    let mut config = DeviceConfig::in_memory();
    config.max_object_bytes = 4 << 20;
    let (_, space) = open(config);
    let write = |id, bytes: &[u8]| space.write_bytes(id, bytes, WriteOptions::default());
    let unknown = write(vr(9, 0, 0), &[1]).expect_err("unknown type").to_string();
    assert!(unknown.contains("unknown object type 9; known types: 0 (PRG), 1 (toy table)"), "{unknown}");
    assert!(matches!(write(vr(3, 0, 0), &[]), Err(DeviceError::Store(StoreError::EmptyObject))));
    assert!(matches!(write(vr(3, 0, 0), &[1; 9]), Err(DeviceError::Handler(HandlerError::WrongSize { .. }))));
    put(&space, vr(2, 0, 1), &toy_key(1, 4, 0));
    assert!(matches!(write(vr(3, 0, 0), &[1; 24]), Err(DeviceError::Handler(HandlerError::WrongSize { .. }))));
    assert!(matches!(write(vr(2, 0, 2), &toy_key(2, 5, 0)), Err(DeviceError::Handler(HandlerError::Invalid { .. }))));
    let large = write(vr(2, 1, 1), &[0xEE; 2 << 20]);
    assert!(matches!(large, Err(DeviceError::Handler(HandlerError::Invalid { .. }))), "{large:?}");
    assert!(matches!(write(vr(0, 0, 1), &table_5()), Err(DeviceError::NotAProgramRegister { .. })));
    assert!(matches!(write(vr(0, 0, 0), b"nonsense"), Err(DeviceError::InvalidProgram { .. })));
    let too_large = space.write(vr(1, 0, 0), 5 << 20, WriteOptions::default());
    assert!(matches!(too_large, Err(DeviceError::TooLarge { limit: 4_194_304, .. })));
    for size in [32u64, 3 << 20] {
        let mut sink = space.write(vr(1, 0, 0), size, WriteOptions::default()).expect("sink");
        sink.push(&vec![1; size as usize - 8]).expect("push");
        let more = sink.write(&[1; 9]).expect_err("too many");
        assert!(matches!(StoreError::from_io(&more), Some(StoreError::TooManyBytes { .. })));
        let short = sink.commit();
        assert!(matches!(short, Err(DeviceError::Store(StoreError::Incomplete { .. }))));
        drop(space.write(vr(1, 0, 0), size, WriteOptions::default()).expect("sink"));
    }
    assert_eq!(space.list().len(), 1, "only the key");
    assert_eq!(space.usage().1.bytes, 12);
}

#[test]
fn keys_load_once_and_again_when_they_change() {
    let toy = Arc::new(Toy::default());
    let device = Device::open(DeviceConfig::in_memory(), vec![toy.clone()]).expect("open");
    let space = device.space(SpaceId::EMBEDDED).expect("space");
    write_table_5(&space);
    put(&space, vr(3, 0, 2), &bytes(&[4; 4]));
    assert_eq!(toy.keys_opened.load(Ordering::SeqCst), 0, "loading waits for a program that needs the key");
    thread::scope(|scope| {
        for data in 0..4 {
            let space = &space;
            let code = space.read_bytes(vr(3, 0, 2), ReadMode::Stored).expect("x");
            scope.spawn(move || put(space, vr(4, 0, 3), &code).then_some(data).expect("computed"));
        }
    });
    assert_eq!(toy.keys_opened.load(Ordering::SeqCst), 1, "four programs, one loading");
    put(&space, vr(2, 0, 2), &toy_key(2, 4, 7));
    assert_eq!(device.metrics().key_memory.keys, 0, "the replaced key is dropped");
    put(&space, vr(4, 0, 3), &bytes(&[2; 4]));
    assert_eq!(toy.keys_opened.load(Ordering::SeqCst), 2);
    space.delete(vr(2, 0, 2)).expect("delete");
    let gone = space.write_bytes(vr(4, 0, 3), &bytes(&[2; 4]), WriteOptions::default());
    let Err(DeviceError::ProgramFailed { cause, .. }) = gone else { panic!("{gone:?}") };
    assert!(matches!(*cause, RunError::Verify(_)), "{cause}");
}

#[test]
fn parallel_runs_do_not_disturb_each_other() {
    let directory = tempfile::tempdir().expect("directory");
    let (device, space) = open(DeviceConfig::in_directory(directory.path()));
    let (threads, rounds) = (8u32, 12u64);
    let temporary = vr(3, 0, 1000);
    for key in 0..threads {
        // Every thread has a program of its own over the same shared operand and the same names of temporaries.
        let (y, t) = (vr(4, key, 1), vr(3, key, 1000));
        let code = vec![
            Instruction::mov(t, y),
            Instruction::push(t),
            int_mult(t, key as i32 + 2),
            add(t, vr(3, key, 1)),
            Instruction::pop(y),
            add(t, y),
            Instruction::ret(t),
        ];
        put(&space, vr(0, key, 0), &program(code));
        put(&space, vr(3, key, 1), &bytes(&[u64::from(key), 7]));
    }
    let before = device.metrics();
    thread::scope(|scope| {
        for key in 0..threads {
            let space = &space;
            scope.spawn(move || {
                for round in 0..rounds {
                    assert!(put(space, vr(4, key, 1), &bytes(&[round, round + 1])));
                    let expected = |y: u64, x: u64| y * u64::from(key + 2) + x + y;
                    let seen = to_words(&space.read_bytes(vr(4, key, 1), ReadMode::Stored).expect("read"));
                    assert_eq!(seen, [expected(round, u64::from(key)), expected(round + 1, 7)]);
                }
            });
        }
    });
    let after = device.metrics();
    let (commits, changes) = (after.commits - before.commits, after.committed_changes - before.committed_changes);
    assert_eq!(changes, u64::from(threads) * rounds);
    assert!(commits < changes, "concurrent writes share commits: {commits} commits, {changes} changes");
    for key in 0..threads {
        let x = space.read_bytes(vr(3, key, 1), ReadMode::Stored).expect("operand");
        assert_eq!(to_words(&x), [u64::from(key), 7]);
    }
    assert!(matches!(space.stat(temporary), Err(DeviceError::Store(StoreError::NotFound { .. }))));
}

#[test]
fn a_run_sees_its_operands_as_they_were_when_it_began() {
    let toy = Arc::new(Toy::default());
    let device = Device::open(DeviceConfig::in_memory(), vec![toy.clone()]).expect("open");
    let space = device.space(SpaceId::EMBEDDED).expect("space");
    let (tv, x, y) = (vr(1, 0, 0), vr(3, 0, 1), vr(4, 0, 1));
    put(&space, vr(2, 0, 1), &toy_key(1, 2, 0));
    put(&space, vr(2, 0, 2), &toy_key(2, 2, 0));
    put(&space, tv, &bytes(&[0, 10, 20]));
    put(&space, x, &bytes(&[100, 200]));
    let code = [bootstrap(tv, y), add(y, x), bootstrap(tv, y), add(y, x), Instruction::ret(y)];
    put(&space, vr(0, 0, 0), &program(code.into()));
    toy.held.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let run = scope.spawn(|| put(&space, y, &bytes(&[1, 2])));
        while toy.bootstraps.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        put(&space, x, &bytes(&[7, 7]));
        put(&space, tv, &bytes(&[1, 1, 1]));
        space.delete(vr(2, 0, 2)).expect("delete a key");
        toy.held.store(false, Ordering::SeqCst);
        assert!(run.join().expect("no panic"));
    });
    // (10 + 100) mod 3 = 2 gives 20; (20 + 200) mod 3 = 1 gives 10.
    assert_eq!(to_words(&space.read_bytes(y, ReadMode::Stored).expect("result")), [120, 210]);
}

#[test]
fn a_reader_keeps_the_version_it_began() {
    let (_, space) = open(DeviceConfig::in_memory());
    let id = vr(1, 0, 0);
    let old = value(1, 400_000);
    put(&space, id, &old);
    let mut source = space.read(id, ReadMode::Stored).expect("read");
    let mut seen = vec![0; 1000];
    source.read_exact(&mut seen).expect("begin");
    put(&space, id, &value(2, 400_000));
    space.delete(id).expect("delete");
    put(&space, vr(1, 0, 1), &value(3, 400_000));
    source.read_to_end(&mut seen).expect("rest");
    assert!(seen == old);
    assert!(space.read(id, ReadMode::Stored).is_err());
    let key = ObjectKey { space: SpaceId::EMBEDDED, id };
    assert!(space.delete(id).expect_err("gone").to_string().starts_with(&key.to_string()));
}

#[test]
fn a_program_that_is_not_stored_runs_and_stores_nothing() {
    let (device, space) = open(DeviceConfig::in_memory());
    let (x, t) = (vr(3, 0, 1), vr(3, 0, 2));
    put(&space, x, &bytes(&[5, 6]));
    let double = vec![Instruction::mov(t, x), add(t, x), Instruction::ret(t)];
    let double = Program::new(double).expect("a program");
    assert_eq!(space.check(&double).expect("accepted").estimate, Duration::ZERO);
    assert_eq!(to_words(&space.run(&double).expect("result")), [10, 12]);
    assert_eq!(space.list().len(), 1, "nothing is stored");
    space.delete(x).expect("delete");
    for outcome in [space.check(&double).map(drop), space.run(&double).map(drop)] {
        let Err(DeviceError::GivenProgramFailed { cause, .. }) = outcome else { panic!("{outcome:?}") };
        assert!(matches!(*cause, RunError::Verify(_)), "{cause}");
    }
    assert_eq!((device.metrics().programs_run, device.metrics().programs_failed), (1, 1));
}
