//! Rights of hosts and owners of objects.

use crate::support::*;
use ciphermill_blockspace::{
    BlockSpaceConfig,
    adapter::{
        Access, Actor, Directory, Rights, directory_dwords,
        status::{ACCESS_DENIED, NO_SUCH_OBJECT},
    },
    vendor::{
        DeleteObject, OPCODE_DELETE, OPCODE_DIRECTORY, OPCODE_OPEN, OPCODE_RESERVE, OpenMode, OpenObject, Reserve,
    },
};
use ciphermill_device::WriteOptions;
use ciphermill_nvme::{Caller, CommandError, Host, Namespace};
use std::sync::Arc;

pub(crate) const OWNER_ONLY: Rights = Rights { read: true, write: true, program: true, owner_only: true };

/// A namespace whose hosts have these rights.
pub(crate) fn bench(rights: &[(&str, Rights)]) -> Bench {
    let hosts = rights.iter().map(|(name, rights)| (host(name).host.nqn.clone(), *rights));
    Bench::with(BlockSpaceConfig {
        access: Access { hosts: hosts.collect(), others: Rights::default() },
        ..BlockSpaceConfig::new(LOG2)
    })
}

pub(crate) fn is_denied<T: std::fmt::Debug>(outcome: Result<T, CommandError>) -> bool {
    outcome.is_err_and(|error| error.status.is(ACCESS_DENIED))
}

/// The same namespace for another host.
pub(crate) fn by<T>(bench: &mut Bench, name: &str, act: impl FnOnce(&Bench) -> T) -> T {
    let before = std::mem::replace(&mut bench.host, host(name));
    let done = act(bench);
    bench.host = before;
    done
}

pub(crate) fn open(bench: &Bench, id: &str) -> Result<Vec<u8>, CommandError> {
    bench.vendor(OPCODE_OPEN, OpenObject { id: register(id), mode: OpenMode::Stored }.dwords(), 8192)
}

pub(crate) fn delete(bench: &Bench, id: &str) -> Result<Vec<u8>, CommandError> {
    bench.vendor(OPCODE_DELETE, DeleteObject { id: register(id) }.dwords(), 0)
}

pub(crate) fn listed(bench: &Bench) -> Vec<String> {
    let bytes = bench.vendor(OPCODE_DIRECTORY, directory_dwords(register("0:0:0")), 8192).expect("a directory");
    Directory::decode(&bytes).expect("a directory").entries.iter().map(|entry| entry.id.to_string()).collect()
}

#[test]
fn a_host_without_the_right_to_read_or_write_is_refused() {
    let mut bench = bench(&[
        ("reader", Rights { write: false, ..Rights::default() }),
        ("writer", Rights { read: false, ..Rights::default() }),
    ]);
    let bytes = pattern(BLOCK, 1);
    by(&mut bench, "writer", |bench| {
        bench.put(0, checked("1:0:1", &bytes), &bytes);
        bench.write(100, bytes.clone());
        assert!(is_denied(bench.try_read(0, 1)) && is_denied(bench.try_read(100, 1)));
        assert!(is_denied(open(bench, "1:0:1")));
    });
    by(&mut bench, "reader", |bench| {
        assert_eq!(bench.read(0, 1), bytes);
        open(bench, "1:0:1").expect("the object");
        assert!(is_denied(bench.try_write(100, bytes.clone())) && is_denied(bench.deallocate(0..1)));
        assert!(is_denied(bench.zero(100, 1)) && is_denied(delete(bench, "1:0:1")));
        let reserve = Reserve(checked("1:0:2", &bytes)).dwords();
        assert!(is_denied(bench.vendor(OPCODE_RESERVE, reserve, 4096)));
    });
    assert_eq!(bench.stored("1:0:1"), Some(bytes));
    assert_eq!(bench.space.metrics().denied, 8);
}

#[test]
fn programs_are_changed_with_the_right_to_program_only() {
    let mut bench = bench(&[("user", Rights { program: false, ..Rights::default() })]);
    let code = program("homintmult 4:7:3, 3\nreturn 4:7:3");
    bench.put(10, checked("0:7:0", &code), &code);
    let operand = words(&[1, 2, 3]);
    by(&mut bench, "user", |bench| {
        // It runs the program, and replaces or deletes none.
        bench.put(0, checked("4:7:3", &operand), &operand);
        assert_eq!(bench.stored("4:7:3"), Some(words(&[3, 6, 9])));
        assert!(is_denied(bench.try_declare(10, checked("0:7:0", &code))));
        assert!(is_denied(bench.try_declare(20, checked("0:8:0", &code))));
        assert!(is_denied(bench.try_declare(30, checked("0:7:0", &code))), "at another address");
        assert!(is_denied(bench.deallocate(HALF + 10..HALF + 11)) && is_denied(delete(bench, "0:7:0")));
        assert!(is_denied(bench.try_write(10, padded(&code))), "above it");
    });
    assert_eq!(bench.stored("0:7:0"), Some(code));
}

#[test]
fn an_owner_only_host_sees_and_changes_its_own_objects() {
    let mut bench = bench(&[("alice", OWNER_ONLY), ("bob", OWNER_ONLY)]);
    let (hers, his) = (pattern(2 * BLOCK, 1), pattern(2 * BLOCK, 2));
    by(&mut bench, "alice", |bench| bench.put(0, checked("1:0:1", &hers), &hers));
    by(&mut bench, "bob", |bench| {
        bench.put(10, checked("1:0:2", &his), &his);
        assert_eq!(bench.read(10, 2), his);
        for range in [(0, 1), (1, 1), (0, 20), (HALF, 1)] {
            assert!(is_denied(bench.try_read(range.0, range.1)), "{range:?}");
        }
        assert!(is_denied(open(bench, "1:0:1")));
        assert!(is_denied(bench.try_write(1, his[..BLOCK].to_vec())), "above a block of hers");
        assert!(is_denied(bench.try_declare(0, checked("1:0:1", &his))));
        assert!(is_denied(bench.try_declare(40, checked("1:0:1", &his))), "her register elsewhere");
        assert!(is_denied(bench.try_declare(0, checked("1:0:3", &his))), "another register at her address");
        assert!(is_denied(bench.deallocate(0..1)) && is_denied(bench.deallocate(HALF..HALF + 20)));
        assert!(is_denied(bench.zero(HALF, 1)) && is_denied(delete(bench, "1:0:1")));
        assert_eq!(listed(bench), ["1:0:2"]);
        // Its own it may replace, move and delete.
        bench.put(10, checked("1:0:2", &hers), &hers);
        bench.put(60, checked("1:0:2", &his), &his);
        delete(bench, "1:0:2").expect("deleted");
    });
    assert_eq!(bench.stored("1:0:1"), Some(hers.clone()));
    // A host without that limit may change it, and it stays hers.
    bench.put(0, checked("1:0:1", &his), &his);
    by(&mut bench, "alice", |bench| bench.put(0, checked("1:0:1", &hers), &hers));
    by(&mut bench, "bob", |bench| assert!(is_denied(delete(bench, "1:0:1"))));
}

/// A command without the right to change an object waits for no program, and has no other command wait for it.
#[test]
fn a_denied_command_is_denied_at_once() {
    let mut bench = bench(&[("alice", OWNER_ONLY)]);
    let code = program("homsub 4:1:1, 4:1:1\nreturn 4:1:1");
    bench.put(100, checked("0:1:0", &code), &code);
    bench.declare(20, metadata("4:1:1", 8));
    let held = bench.hold();
    let computing = bench.runtime.spawn(bench.begin_write(20, padded(&words(&[7]))).wait());
    bench.await_runs(1);
    by(&mut bench, "alice", |bench| {
        let space = || Arc::clone(&bench.space);
        assert!(is_denied(bench.at_once(space().deallocate(&bench.host, std::iter::once(0..HALF).collect()))));
        assert!(is_denied(bench.at_once(space().deallocate(&bench.host, vec![0..1, 20..21, 30..31]))));
        let named = metadata("1:0:1", 8).encode().to_vec();
        assert!(is_denied(bench.at_once(bench.begin_write(HALF + 20, named))));
    });
    drop(held);
    bench.runtime.block_on(computing).expect("no panic").expect("computed");
}

#[test]
fn a_declared_object_is_its_host_s_too() {
    let mut bench = bench(&[("alice", OWNER_ONLY), ("bob", OWNER_ONLY)]);
    let hers = pattern(2 * BLOCK, 1);
    by(&mut bench, "alice", |bench| {
        bench.declare(0, checked("1:0:1", &hers));
        bench.write(0, hers[..BLOCK].to_vec());
    });
    by(&mut bench, "bob", |bench| {
        assert!(is_denied(bench.try_read(0, 1)), "a part of it");
        assert!(is_denied(bench.try_write(1, hers[BLOCK..].to_vec())));
        assert!(is_denied(bench.deallocate(0..2)));
    });
    by(&mut bench, "alice", |bench| bench.write(1, hers[BLOCK..].to_vec()));
    assert_eq!(bench.stored("1:0:1"), Some(hers));
}

/// Two hosts declare one register at two addresses. It belongs to the host that completes it first.
#[test]
fn a_race_of_declarations_gives_nobody_another_s_object() {
    let mut bench = bench(&[("alice", OWNER_ONLY), ("bob", OWNER_ONLY)]);
    let (hers, his) = (pattern(BLOCK, 1), pattern(BLOCK, 2));
    by(&mut bench, "alice", |bench| bench.declare(0, checked("1:0:1", &hers)));
    by(&mut bench, "bob", |bench| bench.put(10, checked("1:0:1", &his), &his));
    by(&mut bench, "alice", |bench| assert!(is_denied(bench.try_write(0, hers.clone()))));
    assert_eq!(bench.stored("1:0:1"), Some(his));
}

#[test]
fn owners_outlive_a_restart_and_a_computation() {
    let rights = [("alice", OWNER_ONLY), ("bob", OWNER_ONLY)];
    let mut bench = bench(&rights);
    let config = BlockSpaceConfig { access: bench_access(&rights), ..BlockSpaceConfig::new(LOG2) };
    let code = program("homintmult 4:7:3, 3\nreturn 4:7:3");
    bench.put(10, checked("0:7:0", &code), &code);
    let operand = words(&[1, 2, 3]);
    by(&mut bench, "alice", |bench| {
        bench.put(0, checked("4:7:3", &operand), &operand);
        bench.declare(20, checked("1:0:1", &operand));
    });
    let mut bench = bench.reopened(config);
    by(&mut bench, "bob", |bench| {
        assert!(is_denied(bench.try_read(0, 1)) && is_denied(delete(bench, "4:7:3")));
        assert!(is_denied(bench.try_write(20, padded(&operand))));
    });
    by(&mut bench, "alice", |bench| {
        assert_eq!(bench.read(0, 1)[..24], words(&[3, 6, 9])[..]);
        bench.write(20, padded(&operand));
        delete(bench, "4:7:3").expect("hers");
    });
}

pub(crate) fn bench_access(rights: &[(&str, Rights)]) -> Access {
    let hosts = rights.iter().map(|(name, rights)| (host(name).host.nqn.clone(), *rights));
    Access { hosts: hosts.collect(), others: Rights::default() }
}

/// Objects stored offline have no owner: owner-only hosts can neither read nor change them.
#[test]
fn objects_without_an_owner_are_not_for_owner_only_hosts() {
    let mut bench = bench(&[("alice", OWNER_ONLY)]);
    let bytes = pattern(BLOCK, 1);
    bench.registers().write_bytes(register("1:0:1"), &bytes, WriteOptions::default()).expect("stored");
    by(&mut bench, "alice", |bench| {
        assert!(is_denied(open(bench, "1:0:1")) && is_denied(delete(bench, "1:0:1")));
        assert!(is_denied(bench.try_declare(0, checked("1:0:1", &bytes))));
        assert!(listed(bench).is_empty());
        let missing = open(bench, "1:0:2").expect_err("an empty register");
        assert!(missing.status.is(NO_SUCH_OBJECT), "{missing}");
    });
    open(&bench, "1:0:1").expect("a host without the limit");
    // The host that replaces it gets it.
    by(&mut bench, "carol", |bench| bench.put(0, metadata("1:0:1", BLOCK), &pattern(BLOCK, 2)));
    by(&mut bench, "alice", |bench| assert!(is_denied(bench.try_read(0, 1))));
    let owner = bench.registers().stat(register("1:0:1")).expect("stored").owner.expect("an owner");
    assert_eq!(owner.as_bytes(), host("carol").host.nqn.as_bytes());
}

#[test]
fn a_host_with_a_name_that_is_too_long_owns_nothing() {
    let mut bench = bench(&[]);
    let nqn = format!("nqn.2026-01.example:{}", "x".repeat(Actor::MAX_BYTES));
    bench.host = Arc::new(Caller::named(Host { nqn, id: [1; 16] }));
    bench.write(0, pattern(BLOCK, 1));
    assert!(is_denied(bench.try_declare(10, metadata("1:0:1", 8))));
    let config =
        BlockSpaceConfig { access: Access { others: OWNER_ONLY, ..Access::default() }, ..BlockSpaceConfig::new(LOG2) };
    let bench = bench.reopened(config);
    assert!(is_denied(bench.try_read(0, 1)) && is_denied(bench.try_write(0, pattern(BLOCK, 2))));
}
