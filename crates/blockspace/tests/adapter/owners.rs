//! Owners of objects where programs, results and lost addresses could go around them.

use crate::{access::*, support::*};
use ciphermill_blockspace::{
    BlockSpace, BlockSpaceConfig,
    adapter::Rights,
    vendor::{OPCODE_OPEN, OpenMode, OpenObject, Opened},
    volume::{Volume, VolumeConfig, VolumeFiles},
};
use ciphermill_nvme::{CommandError, Namespace};
use ciphermill_program::Metadata;
use std::{sync::Arc, time::Duration};

const SECRET: [u64; 3] = [41, 42, 43];

fn compute(bench: &Bench, id: &str, mode: OpenMode) -> Result<Vec<u8>, CommandError> {
    let bytes = bench.vendor(OPCODE_OPEN, OpenObject { id: register(id), mode }.dwords(), 8192)?;
    Ok(bytes[Opened::BYTES..].to_vec())
}

/// A program stored by a host.
fn store_program(bench: &mut Bench, name: &str, at: u64, id: &str, source: &str) {
    let code = program(source);
    by(bench, name, |bench| bench.put(at, metadata(id, code.len()), &code));
}

fn put(bench: &mut Bench, name: &str, at: u64, id: &str, values: &[u64]) {
    by(bench, name, |bench| bench.put(at, metadata(id, 8 * values.len()), &words(values)));
}

#[test]
fn a_host_reads_no_object_of_another_through_a_program_of_its_own() {
    let mut bench = bench(&[("alice", OWNER_ONLY), ("bob", OWNER_ONLY)]);
    put(&mut bench, "alice", 0, "4:7:9", &SECRET);
    let attempts = [
        "mov 4:7:3, 4:7:9\nreturn 4:7:3",
        "mov 4:7:5, 4:7:9\nmov 4:7:3, 4:7:5\nreturn 4:7:3",
        "push 4:7:9\npop 4:7:3\nreturn 4:7:3",
        "homadd 4:7:3, 4:7:9\nreturn 4:7:3",
    ];
    for source in attempts {
        store_program(&mut bench, "bob", 20, "0:7:0", source);
        by(&mut bench, "bob", |bench| {
            let written = bench.try_put(10, metadata("4:7:3", 24), &words(&[0; 3]));
            assert!(is_denied(written), "{source}");
            assert!(bench.stored("4:7:3").is_none(), "{source}");
        });
    }
    // A host without the limit runs the same program, and so does bob when all is his own.
    put(&mut bench, "carol", 40, "4:7:3", &[1, 1, 1]);
    assert_eq!(bench.stored("4:7:3"), Some(words(&[42, 43, 44])));
    store_program(&mut bench, "bob", 20, "0:7:0", "mov 4:7:9, 4:7:4\nhomadd 4:7:4, 4:7:9\nreturn 4:7:4");
    put(&mut bench, "bob", 60, "4:7:4", &[1, 2, 3]);
    assert_eq!(bench.stored("4:7:4"), Some(words(&[2, 4, 6])), "the register 4:7:9 is a temporary of the run");
    assert_eq!(bench.stored("4:7:9"), Some(words(&SECRET)));
}

#[test]
fn a_computed_read_gives_no_object_of_another() {
    let mut bench = bench(&[("alice", OWNER_ONLY), ("bob", OWNER_ONLY)]);
    put(&mut bench, "alice", 0, "3:8:9", &SECRET);
    // The program is neither of them's: the rights of the caller decide.
    store_program(&mut bench, "carol", 20, "0:8:0", "homadd 3:8:1, 3:8:9\nreturn 3:8:1");
    by(&mut bench, "bob", |bench| {
        bench.put(10, armed("3:8:1", 24), &words(&[0; 3]));
        assert!(is_denied(bench.try_read(10, 1)));
        assert!(is_denied(compute(bench, "3:8:1", OpenMode::Compute)));
        assert!(is_denied(compute(bench, "3:8:1", OpenMode::Armed)));
        assert_eq!(compute(bench, "3:8:1", OpenMode::Stored).expect("as it is stored"), words(&[0; 3]));
    });
    assert_eq!(bench.read(10, 1)[..24], words(&SECRET), "a host without the limit");
}

/// The result of a write can be read by the owner of the object, whoever completes it.
#[test]
fn a_host_without_limits_computes_nothing_of_others_into_an_object_of_a_limited_host() {
    let mut bench = bench(&[("alice", OWNER_ONLY), ("bob", OWNER_ONLY)]);
    put(&mut bench, "alice", 0, "4:7:9", &SECRET);
    by(&mut bench, "bob", |bench| bench.put(10, metadata("4:7:3", 24), &words(&[5; 3])));
    store_program(&mut bench, "bob", 20, "0:7:0", "mov 4:7:3, 4:7:9\nreturn 4:7:3");
    let replaced = by(&mut bench, "carol", |bench| bench.try_put(10, metadata("4:7:3", 24), &words(&[6; 3])));
    assert!(is_denied(replaced), "a new version of bob's object");
    by(&mut bench, "bob", |bench| bench.declare(30, metadata("4:7:4", 24)));
    let completed = by(&mut bench, "carol", |bench| bench.try_write(30, padded(&words(&[6; 3]))));
    assert!(is_denied(completed), "an object that bob declared");
    assert_eq!((bench.stored("4:7:3"), bench.stored("4:7:4")), (Some(words(&[5; 3])), None));
}

/// A result that waits to be read by blocks is for hosts that may have it computed.
#[test]
fn a_result_of_a_host_without_limits_is_not_read_by_others() {
    let mut bench = bench(&[("alice", OWNER_ONLY), ("bob", OWNER_ONLY)]);
    put(&mut bench, "alice", 0, "3:8:9", &[7; 512]);
    // The result has two blocks, the object one.
    let source = "homadd 3:8:1, 3:8:9\nhomintmult 3:8:1, -2\nreturn 3:8:1";
    store_program(&mut bench, "carol", 20, "0:8:0", source);
    by(&mut bench, "bob", |bench| bench.put(10, armed("3:8:1", BLOCK), &words(&[0; 512])));
    let record = by(&mut bench, "bob", |bench| bench.record(10));
    assert_eq!(bench.read(10, 1), words(&[7; 512]), "carol reads the first block");
    assert_eq!(bench.space.metrics().sessions, 1);
    for name in ["alice", "bob"] {
        by(&mut bench, name, |bench| {
            // Behind the object: plain blocks.
            assert_eq!(bench.read(11, 1), vec![0; BLOCK], "{name}");
            assert!(is_denied(bench.try_read(10, 2)), "{name}");
        });
    }
    assert_eq!(by(&mut bench, "bob", |bench| bench.record(10)), record, "neither its size nor its checksum");
    assert_eq!(bench.read(11, 1), words(&[7; 512]), "carol reads the rest");
}

#[test]
fn a_result_of_a_limited_host_is_read_on_by_it_and_by_hosts_without_limits() {
    let mut bench = bench(&[("bob", OWNER_ONLY)]);
    store_program(&mut bench, "carol", 20, "0:8:0", "homintmult 3:8:1, -3\nreturn 3:8:1");
    by(&mut bench, "bob", |bench| {
        bench.put(10, armed("3:8:1", BLOCK), &words(&[3; 512]));
        assert_eq!(bench.read(10, 1), words(&[3; 512]));
        assert_eq!(bench.read(11, 1), words(&[3; 512]));
    });
    assert_eq!(bench.read(12, 1), words(&[3; 512]));
    assert_eq!(bench.runs(), 1);
}

/// The same namespace over a new volume, as `store repair` leaves it when the map of the blocks is damaged.
fn without_addresses(bench: Bench, config: BlockSpaceConfig) -> Bench {
    let Bench { half, space, device, volume, toy, host, runtime } = bench;
    drop((space, volume));
    let volume = Volume::open(VolumeFiles::in_memory(), VolumeConfig::default()).expect("a volume");
    let space = BlockSpace::open(&device, NAMESPACE, volume.clone(), config, runtime.handle().clone());
    Bench { half, space: space.expect("a namespace"), device, volume, toy, host, runtime }
}

#[test]
fn owners_outlive_the_addresses_of_their_objects() {
    let rights = [("alice", OWNER_ONLY), ("bob", OWNER_ONLY)];
    let mut bench = bench(&rights);
    let (hers, late) = (pattern(2 * BLOCK, 1), pattern(2 * BLOCK, 2));
    by(&mut bench, "alice", |bench| {
        bench.put(0, checked("1:0:1", &hers), &hers);
        bench.put(10, checked("1:0:2", &late), &late);
    });
    let config = BlockSpaceConfig { access: bench_access(&rights), ..BlockSpaceConfig::new(LOG2) };
    let mut bench = without_addresses(bench, config.clone());
    let bob_is_denied = |bench: &Bench| {
        assert!(is_denied(open(bench, "1:0:1")) && is_denied(delete(bench, "1:0:1")));
        assert!(is_denied(bench.try_declare(0, checked("1:0:1", &hers))));
        assert!(listed(bench).is_empty());
    };
    by(&mut bench, "bob", bob_is_denied);
    by(&mut bench, "alice", |bench| {
        assert_eq!(listed(bench), ["1:0:1", "1:0:2"]);
        open(bench, "1:0:1").expect("hers");
        // She gives it an address again without sending it.
        bench.declare(20, checked("1:0:1", &hers));
        assert_eq!(bench.read(20, 2), hers);
    });
    by(&mut bench, "bob", |bench| {
        bob_is_denied(bench);
        assert!(is_denied(bench.try_read(20, 1)) && is_denied(bench.try_write(21, vec![1; BLOCK])));
    });
    // A host without limits gives the other one an address: it stays hers.
    bench.declare(30, checked("1:0:2", &late));
    let mut bench = bench.reopened(config);
    by(&mut bench, "bob", |bench| assert!(is_denied(bench.try_read(20, 1)) && is_denied(bench.try_read(30, 1))));
    by(&mut bench, "alice", |bench| assert_eq!((bench.read(20, 2), bench.read(30, 2)), (hers.clone(), late.clone())));
}

/// A read that disarms an object changes it.
#[test]
fn a_host_that_may_only_read_disarms_nothing() {
    let mut bench = bench(&[("reader", Rights { write: false, ..Rights::default() })]);
    store_program(&mut bench, "carol", 20, "0:8:0", "homintmult 3:8:1, 3\nreturn 3:8:1");
    let once = Metadata { one_shot: true, ..armed("3:8:1", 24) };
    bench.put(10, once, &words(&SECRET));
    let tripled = words(&SECRET.map(|word| 3 * word));
    by(&mut bench, "reader", |bench| {
        assert!(is_denied(bench.try_read(10, 1)) && is_denied(compute(bench, "3:8:1", OpenMode::Armed)));
        assert_eq!(bench.runs(), 0);
        assert_eq!(compute(bench, "3:8:1", OpenMode::Stored).expect("as it is stored"), words(&SECRET));
        assert_eq!(compute(bench, "3:8:1", OpenMode::Compute).expect("by request"), tripled);
        assert!(bench.record(10).expect("metadata").armed, "it is armed still");
    });
    assert_eq!(bench.read(10, 1)[..24], tripled, "a host that may write");
    assert!(!bench.record(10).expect("metadata").armed);
    bench.declare(10, Metadata { one_shot: false, ..once });
    by(&mut bench, "reader", |bench| assert_eq!(bench.read(10, 1)[..24], tripled, "nothing to disarm"));
}

/// A result may have more blocks than its object. They are the owner's too, for as long as they are kept.
#[test]
fn the_tail_of_a_result_is_its_owner_s() {
    let mut bench = bench(&[("alice", OWNER_ONLY), ("bob", OWNER_ONLY)]);
    let code = program("homintmult 3:7:3, -3\nreturn 3:7:3");
    let operand = pattern(BLOCK, 1);
    by(&mut bench, "alice", |bench| {
        bench.put(100, checked("0:7:0", &code), &code);
        bench.put(0, armed("3:7:3", BLOCK), &operand);
        assert_eq!(bench.read(0, 1), operand);
    });
    by(&mut bench, "bob", |bench| {
        assert_eq!(bench.read(1, 20), vec![0; 20 * BLOCK], "plain blocks for anybody else");
    });
    by(&mut bench, "alice", |bench| assert_eq!(bench.read(1, 2), operand.repeat(2)));
    assert_eq!(bench.runs(), 1, "nobody else has used up the result");
}

/// A read waits for its turn in the device. Meanwhile another host replaces the object.
#[test]
fn a_read_that_waited_gives_nobody_another_s_object() {
    let config = BlockSpaceConfig {
        device_jobs: 4,
        device_jobs_of_host: 1,
        access: bench_access(&[("bob", OWNER_ONLY)]),
        ..BlockSpaceConfig::new(LOG2)
    };
    let mut bench = Bench::with(config);
    for (first, key, code) in
        [(100, 1, "homsub 4:1:1, 4:1:1\nreturn 4:1:1"), (101, 2, "homintmult 3:2:1, 3\nreturn 3:2:1")]
    {
        let code = program(code);
        by(&mut bench, "bob", |bench| bench.put(first, checked(&format!("0:{key}:0"), &code), &code));
    }
    let held = bench.hold();
    let (computing, reading, opening) = by(&mut bench, "bob", |bench| {
        bench.put(30, armed("3:2:1", 8), &words(&[1]));
        bench.declare(20, metadata("4:1:1", 8));
        let computing = bench.runtime.spawn(bench.begin_write(20, padded(&words(&[7]))).wait());
        bench.await_runs(1);
        let reading = bench.runtime.spawn(Arc::clone(&bench.space).read(&bench.host, 30, 1).wait());
        let open = OpenObject { id: register("3:2:1"), mode: OpenMode::Compute }.dwords();
        (computing, reading, bench.runtime.spawn(bench.begin_vendor(OPCODE_OPEN, open, 8192).wait()))
    });
    std::thread::sleep(Duration::from_millis(100));
    delete(&bench, "3:2:1").expect("deleted");
    bench.put(30, armed("3:2:1", 8), &words(&[1000]));
    assert!(!reading.is_finished() && !opening.is_finished(), "they wait for their turn");
    drop(held);
    bench.runtime.block_on(computing).expect("no panic").expect("computed");
    assert!(is_denied(bench.runtime.block_on(reading).expect("no panic")));
    assert!(is_denied(bench.runtime.block_on(opening).expect("no panic")));
    assert_eq!(bench.read(30, 1), padded(&words(&[3000])));
}
