//! The vendor's commands on objects.

use crate::support::*;
use ciphermill_blockspace::{
    BlockSpaceConfig,
    adapter::{Directory, directory_dwords, status},
    vendor::{
        CloseObject, OPCODE_CLOSE, OPCODE_DIRECTORY, OPCODE_OPEN, OPCODE_READ, OPCODE_RESERVE, OpenMode, OpenObject,
        Opened, ReadObject, Reserve, Reserved,
    },
    volume::VolumeFiles,
};
use ciphermill_device::StoreFiles;
use ciphermill_nvme::{CommandError, Namespace, Status};
use ciphermill_program::Metadata;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

fn directory(bench: &Bench, from: &str, length: usize) -> Directory {
    let bytes = bench.vendor(OPCODE_DIRECTORY, directory_dwords(register(from)), length).expect("a directory");
    assert!(bytes.len() <= length);
    Directory::decode(&bytes).expect("a directory")
}

fn reserve(bench: &Bench, metadata: Metadata) -> Result<Reserved, CommandError> {
    let bytes = bench.vendor(OPCODE_RESERVE, Reserve(metadata).dwords(), 4096)?;
    Ok(Reserved::decode(&bytes).expect("a place"))
}

fn open(bench: &Bench, id: &str, mode: OpenMode, length: usize) -> Result<(Opened, Vec<u8>), CommandError> {
    let bytes = bench.vendor(OPCODE_OPEN, OpenObject { id: register(id), mode }.dwords(), length)?;
    Ok((Opened::decode(&bytes).expect("a record"), bytes[Opened::BYTES..].to_vec()))
}

fn pull(bench: &Bench, session: u64, offset: u64, length: usize) -> Result<Vec<u8>, CommandError> {
    bench.vendor(OPCODE_READ, ReadObject { session, offset }.dwords(), length)
}

#[test]
fn the_directory_lists_objects_by_register() {
    let bench = Bench::new();
    assert_eq!(directory(&bench, "0:0:0", 4096).entries, []);
    for (first, data) in [(30, 5), (10, 7), (20, 6)] {
        bench.put(first, metadata(&format!("1:0:{data}"), data), &pattern(data, first));
    }
    bench.put(40, armed("3:0:1", 8), &words(&[4]));
    bench.registers().write_bytes(register("1:1:0"), b"elsewhere", Default::default()).expect("stored");
    bench.declare(20, metadata("1:0:6", 9));
    bench.write(99, pattern(BLOCK, 1));
    let all = directory(&bench, "0:0:0", 4096);
    assert_eq!((all.total, all.half, all.free_from), (5, HALF, 100));
    let seen: Vec<_> = all.entries.iter().map(|entry| (entry.id.to_string(), entry.lba, entry.blocks)).collect();
    let expected = [
        ("1:0:5", Some(30), 1),
        ("1:0:6", Some(20), 1),
        ("1:0:7", Some(10), 1),
        ("1:1:0", None, 0),
        ("3:0:1", Some(40), 1),
    ];
    assert_eq!(seen, expected.map(|(id, lba, blocks)| (id.to_owned(), lba, blocks)));
    assert_eq!(all.entries.iter().map(|entry| entry.declared).collect::<Vec<_>>(), [false, true, false, false, false]);
    assert_eq!(all.entries[4].flags.bits(), 1);
    assert_eq!((all.entries[0].size, all.entries[0].checksum), (5, crc32c::crc32c(&pattern(5, 30))));
    assert!(all.entries.iter().all(|entry| !entry.computed));
    // In parts.
    let part = directory(&bench, "1:0:6", Directory::bytes_for(2));
    assert_eq!((part.total, &part.entries[..]), (5, &all.entries[1..3]));
    assert_eq!(directory(&bench, "1:0:8", Directory::bytes_for(1)).entries, all.entries[3..4]);
    assert_eq!(directory(&bench, "3:0:2", 4096).entries, []);
    for (dwords, length) in [([0x1_0000, 0, 0, 0, 0, 0], 4096), ([0, 0, 0, 0, 0, 1], 4096), ([0; 6], 63)] {
        let error = bench.vendor(OPCODE_DIRECTORY, dwords, length).expect_err("no such command");
        assert!(error.status.is(Status::INVALID_FIELD), "{error}");
    }
    assert!(bench.vendor(0xfe, [0; 6], 64).expect_err("unknown").status.is(Status::INVALID_OPCODE));
}

#[test]
fn a_reservation_is_a_declaration_where_there_is_room() {
    let bench = Bench::new();
    bench.put(0, metadata("1:0:1", 2 * BLOCK), &pattern(2 * BLOCK, 1));
    bench.write(3, pattern(BLOCK, 1));
    bench.declare(6, metadata("1:0:2", BLOCK));
    let bytes = pattern(2 * BLOCK, 2);
    let metadata = checked("1:0:3", &bytes);
    assert_eq!(reserve(&bench, metadata).expect("room"), Reserved { lba: 4, blocks: 2 });
    assert_eq!(bench.record(4), Some(metadata));
    assert_eq!(reserve(&bench, checked("1:0:4", &[1])).expect("room"), Reserved { lba: 2, blocks: 1 });
    assert_eq!(reserve(&bench, checked("1:0:5", &bytes)).expect("room"), Reserved { lba: 7, blocks: 2 });
    bench.write(4, bytes.clone());
    assert_eq!((bench.stored("1:0:3"), bench.read(4, 2)), (Some(bytes.clone()), bytes.clone()));
    // Taken back.
    bench.deallocate(HALF + 7..HALF + 8).expect("given up");
    assert_eq!(reserve(&bench, checked("1:0:6", &bytes)).expect("room"), Reserved { lba: 7, blocks: 2 });
    let error = reserve(&bench, support_metadata("99:0:0", 8)).expect_err("no such type");
    assert!(error.status.is(status::OBJECT_REFUSED), "{error}");
    let error = reserve(&bench, support_metadata("1:0:9", HALF as usize * BLOCK)).expect_err("no room");
    assert!(error.status.is(Status::CAPACITY_EXCEEDED), "{error}");
    assert!(reserve(&bench, support_metadata("1:0:9", 0)).is_err());
}

fn support_metadata(id: &str, size: usize) -> Metadata {
    metadata(id, size)
}

#[test]
fn two_hosts_never_get_the_same_room() {
    let bench = Bench::new();
    let mut found = std::thread::scope(|scope| {
        let bench = &bench;
        let host = |key: u32| {
            move || {
                let one =
                    |data: u32| reserve(bench, metadata(&format!("1:{key}:{data}"), 3 * BLOCK)).expect("room").lba;
                (0..20).map(one).collect::<Vec<_>>()
            }
        };
        let threads = [scope.spawn(host(1)), scope.spawn(host(2))];
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    found.sort_unstable();
    assert_eq!(found, (0..40).map(|index| 3 * index).collect::<Vec<_>>());
}

/// The block is written when room has been found and is not reserved yet: reads of other hosts, which have one thread,
/// are between the two.
#[test]
fn a_block_that_is_written_while_room_is_reserved_is_in_no_reservation() {
    // How many reads outlast the write is the machine's business.
    assert!((1..=12).any(|times| written_between(200 * times)), "the reads were too fast for this test");
}

/// Whether the write came between.
fn written_between(reads: usize) -> bool {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).enable_all().build().expect("a runtime");
    let config = BlockSpaceConfig { disk_reads: 1, ..BlockSpaceConfig::new(LOG2) };
    let files = (StoreFiles::in_memory(), VolumeFiles::in_memory());
    let bench = Bench::open(files.0, files.1, config, Arc::new(runtime)).expect("a namespace");
    bench.put(0, metadata("1:0:1", 256 * BLOCK), &pattern(256 * BLOCK, 1));
    let read = || bench.runtime.spawn(Arc::clone(&bench.space).read(&bench.host, 0, 256).wait());
    let before: Vec<_> = (0..20).map(|_| read()).collect();
    let dwords = Reserve(metadata("1:0:2", 2 * BLOCK)).dwords();
    let reserving = bench.runtime.spawn(bench.begin_vendor(OPCODE_RESERVE, dwords, 4096).wait());
    let between: Vec<_> = (0..reads).map(|_| read()).collect();
    while !between[0].is_finished() {
        std::thread::yield_now();
    }
    bench.write(257, pattern(BLOCK, 2));
    if reserving.is_finished() || between[reads - 1].is_finished() {
        return false;
    }
    let bytes = bench.runtime.block_on(reserving).expect("no panic").expect("room");
    assert_eq!(Reserved::decode(&bytes), Ok(Reserved { lba: 258, blocks: 2 }));
    assert_eq!((bench.read(257, 1), bench.record(256)), (pattern(BLOCK, 2), None));
    for task in before.into_iter().chain(between) {
        bench.runtime.block_on(task).expect("no panic").expect("read");
    }
    // Nor is a plain block lost where the metadata block of the reservation would be.
    bench.write(HALF + 260, pattern(2 * BLOCK, 3));
    assert_eq!(reserve(&bench, metadata("1:0:3", 2 * BLOCK)).expect("room"), Reserved { lba: 262, blocks: 2 });
    assert_eq!(bench.read(HALF + 260, 2), pattern(2 * BLOCK, 3));
    true
}

#[test]
fn an_open_object_is_one_version() {
    let bench = Bench::new();
    let (old, new) = (pattern(3 << 20, 1), pattern(1 << 20, 2));
    bench.put(0, metadata("1:0:1", old.len()), &old);
    let (opened, head) = open(&bench, "1:0:1", OpenMode::Stored, 4096).expect("opened");
    assert_eq!((opened.size, opened.computed, head.len()), (old.len() as u64, false, 4096 - Opened::BYTES));
    assert_ne!(opened.session, 0);
    bench.put(0, metadata("1:0:1", new.len()), &new);
    let mut read = head;
    while read.len() < old.len() {
        read.extend(pull(&bench, opened.session, read.len() as u64, 1_000_000).expect("bytes"));
    }
    assert_eq!(read, old);
    assert!(pull(&bench, opened.session, u64::MAX, 10).expect("nothing").is_empty());
    bench.vendor(OPCODE_CLOSE, CloseObject { session: opened.session }.dwords(), 0).expect("closed");
    let error = pull(&bench, opened.session, 0, 10).expect_err("closed");
    assert!(error.status.is(status::NO_SUCH_READ), "{error}");
    bench.vendor(OPCODE_CLOSE, CloseObject { session: opened.session }.dwords(), 0).expect("closed again");
    // What fits is there at once.
    let (opened, bytes) = open(&bench, "1:0:1", OpenMode::Stored, 2 << 20).expect("opened");
    assert_eq!((opened.session, opened.size, bytes), (0, new.len() as u64, new));
    let error = open(&bench, "1:0:9", OpenMode::Stored, 4096).expect_err("no such object");
    assert!(error.status.is(status::NO_SUCH_OBJECT), "{error}");
}

#[test]
fn an_object_can_be_computed_when_it_is_opened() {
    let bench = Bench::new();
    let code = program("homintmult 3:0:2, 2\nreturn 3:0:2");
    bench.put(1, metadata("0:0:0", code.len()), &code);
    bench.put(20, metadata("3:0:2", 16), &words(&[4, 5]));
    let values = |mode| {
        let (opened, bytes) = open(&bench, "3:0:2", mode, 4096).expect("opened");
        (opened.computed, opened.session, bytes)
    };
    assert_eq!(values(OpenMode::Stored), (false, 0, words(&[4, 5])));
    assert_eq!(values(OpenMode::Armed), (false, 0, words(&[4, 5])));
    assert_eq!(values(OpenMode::Compute), (true, 0, words(&[8, 10])));
    bench.declare(20, Metadata { one_shot: true, ..armed("3:0:2", 16) });
    assert_eq!(values(OpenMode::Armed), (true, 0, words(&[8, 10])));
    assert_eq!(values(OpenMode::Armed), (false, 0, words(&[4, 5])));
    let error = open(&bench, "0:0:0", OpenMode::Compute, 4096).expect_err("a program");
    assert!(error.status.is(status::OBJECT_REFUSED), "{error}");
}

#[test]
fn a_result_that_is_opened_is_bounded_by_memory_and_not_by_blocks() {
    let config = BlockSpaceConfig { session_bytes: 6 * BLOCK as u64, ..BlockSpaceConfig::new(LOG2) };
    let bench = Bench::with(config);
    let tell = |times: u32| {
        let code = program(&format!("homintmult 3:0:2, -{times}\nreturn 3:0:2"));
        bench.put(1, metadata("0:0:0", code.len()), &code);
    };
    let x = pattern(2 * BLOCK, 1);
    bench.put(20, Metadata { one_shot: true, ..armed("3:0:2", x.len()) }, &x);
    bench.put(22, metadata("1:0:1", 1), b"1");
    tell(3);
    let (opened, head) = open(&bench, "3:0:2", OpenMode::Compute, 4096).expect("whatever is beside its blocks");
    assert_eq!((opened.size, opened.computed), (6 * BLOCK as u64, true));
    let rest = pull(&bench, opened.session, head.len() as u64, 1 << 20).expect("bytes");
    assert_eq!([head, rest].concat(), x.repeat(3));
    tell(4);
    for (mode, length) in [(OpenMode::Compute, 4096), (OpenMode::Armed, 4096), (OpenMode::Armed, 1 << 20)] {
        let error = open(&bench, "3:0:2", mode, length).expect_err("too large");
        assert!(error.status.is(status::RESULT_TOO_LARGE) && error.status.is_final(), "{error}");
        assert!(error.detail.contains("32768") && error.detail.contains("24576"), "{error}");
    }
    assert_eq!(bench.record(20).map(|record| record.armed), Some(true));
}

#[test]
fn open_objects_are_bounded_and_belong_to_their_host() {
    let config =
        BlockSpaceConfig { max_sessions: 2, session_idle: Duration::from_millis(200), ..BlockSpaceConfig::new(LOG2) };
    let bench = Bench::with(config);
    bench.put(0, metadata("1:0:1", 10_000), &pattern(10_000, 1));
    let first = open(&bench, "1:0:1", OpenMode::Stored, 64).expect("opened").0.session;
    open(&bench, "1:0:1", OpenMode::Stored, 64).expect("opened");
    let error = open(&bench, "1:0:1", OpenMode::Stored, 64).expect_err("a third");
    assert!(error.status.is(Status::COMMAND_INTERRUPTED) && !error.status.is_final(), "{error}");
    let mut other = bench;
    let own = std::mem::replace(&mut other.host, host("two"));
    assert!(pull(&other, first, 0, 10).is_err(), "another host's");
    other.vendor(OPCODE_CLOSE, CloseObject { session: first }.dwords(), 0).expect("no error");
    other.host = own;
    assert_eq!(pull(&other, first, 5, 10).expect("still open"), pattern(10_000, 1)[5..15]);
    std::thread::sleep(Duration::from_millis(300));
    open(&other, "1:0:1", OpenMode::Stored, 64).expect("the idle ones went");
}

#[test]
fn a_reservation_waits_for_room_that_a_running_program_may_need() {
    // All that follows the object may be needed.
    let bench = Bench::with(BlockSpaceConfig { pending_blocks_of_host: 16 * HALF, ..BlockSpaceConfig::new(LOG2) });
    let code = program("homsub 4:0:3, 4:0:3\nreturn 4:0:3");
    bench.put(1, metadata("0:0:0", code.len()), &code);
    bench.declare(20, support_metadata("4:0:3", 16));
    // All below is taken.
    bench.write(2, pattern(18 * BLOCK, 1));
    bench.write(0, pattern(BLOCK, 1));
    let held = bench.hold();
    let computing = bench.runtime.spawn(bench.begin_write(20, padded(&words(&[1, 2]))).wait());
    let begun = Instant::now();
    while bench.runs() < 1 {
        assert!(begun.elapsed() < Duration::from_secs(10), "the program never ran");
        std::thread::yield_now();
    }
    let dwords = Reserve(metadata("1:0:1", 5000)).dwords();
    let reserving = bench.runtime.spawn(bench.begin_vendor(OPCODE_RESERVE, dwords, 4096).wait());
    std::thread::sleep(Duration::from_millis(50));
    assert!(!reserving.is_finished());
    drop(held);
    bench.runtime.block_on(computing).expect("no panic").expect("computed");
    let bytes = bench.runtime.block_on(reserving).expect("no panic").expect("room");
    assert_eq!(Reserved::decode(&bytes), Ok(Reserved { lba: 21, blocks: 2 }));
}

#[test]
fn a_reservation_that_nobody_uses_is_given_up() {
    let config = BlockSpaceConfig { reservation_idle: Duration::from_millis(400), ..BlockSpaceConfig::new(LOG2) };
    let bench = Bench::with(config.clone());
    let bytes = pattern(2 * BLOCK, 1);
    bench.declare(50, checked("1:0:1", &bytes));
    let used = reserve(&bench, checked("1:0:2", &pattern(9 * BLOCK, 2))).expect("room").lba;
    let idle = reserve(&bench, checked("1:0:3", &bytes)).expect("room").lba;
    bench.write(idle, bytes[..BLOCK].to_vec());
    // After a restart too.
    let bench = bench.reopened(config);
    for index in 0..8 {
        bench.write(used + index, pattern(9 * BLOCK, 2)[index as usize * BLOCK..][..BLOCK].to_vec());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(bench.record(idle), None);
    assert!(bench.read(idle, 2) == vec![0; 2 * BLOCK]);
    assert_eq!(bench.record(50), Some(checked("1:0:1", &bytes)), "no reservation");
    bench.write(used + 8, pattern(9 * BLOCK, 2)[8 * BLOCK..].to_vec());
    assert_eq!(bench.stored("1:0:2"), Some(pattern(9 * BLOCK, 2)));
}

#[test]
fn one_host_leaves_open_objects_to_the_others() {
    let mut bench = Bench::with(BlockSpaceConfig { max_sessions: 4, ..BlockSpaceConfig::new(LOG2) });
    bench.put(0, metadata("1:0:1", 10_000), &pattern(10_000, 1));
    for _ in 0..3 {
        open(&bench, "1:0:1", OpenMode::Stored, 64).expect("opened");
    }
    open(&bench, "1:0:1", OpenMode::Stored, 64).expect_err("three of four");
    bench.host = host("two");
    open(&bench, "1:0:1", OpenMode::Stored, 64).expect("opened");
    open(&bench, "1:0:1", OpenMode::Stored, 64).expect_err("four of four");
}
