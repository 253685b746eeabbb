//! Entries for the audit log.

use crate::{access::*, support::*};
use ciphermill_blockspace::{
    BlockSpace, BlockSpaceConfig,
    adapter::{Action, AuditEvent, AuditSink, Rights},
    vendor::{OPCODE_OPEN, OpenMode, OpenObject},
    volume::{Change, Operation},
};
use ciphermill_device::WriteOptions;
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct Log(Mutex<Vec<String>>);

impl AuditSink for Log {
    fn record(&self, event: &AuditEvent<'_>) {
        let short = |name: &str| name.rsplit(':').next().unwrap_or_default().to_owned();
        let host = event.host.map_or("-".to_owned(), short);
        let writer = event.writer.map_or(String::new(), |writer| format!(" by {}", short(writer)));
        let object = event.object.map_or("-".to_owned(), |id| id.to_string());
        let size = event.version.map_or(0, |version| version.size);
        let recovery = if event.recovery { " at opening" } else { "" };
        let line = format!("{host} {} {object} {size}{writer}{recovery}", event.action.name());
        assert_eq!(event.account.is_none(), event.recovery, "{line}");
        assert!(event.action != Action::Denied || event.reason.is_some());
        self.0.lock().expect("no panic").push(line);
    }
}

/// The namespace opened again with a log.
fn logged(bench: Bench, config: BlockSpaceConfig, log: &Arc<Log>) -> Bench {
    let Bench { half, space, device, volume, toy, host, runtime } = bench;
    drop(space);
    let sink = Some(Arc::clone(log) as Arc<dyn AuditSink>);
    let space = BlockSpace::open_with(&device, NAMESPACE, volume.clone(), config, runtime.handle().clone(), sink);
    Bench { half, space: space.expect("a namespace"), device, volume, toy, host, runtime }
}

#[test]
fn the_audit_log_has_who_put_computed_replaced_and_deleted_what() {
    let mut bench = bench(&[]);
    let log = Arc::new(Log::default());
    let config = BlockSpaceConfig { access: bench_access(&[("bob", OWNER_ONLY)]), ..BlockSpaceConfig::new(LOG2) };
    bench = logged(bench, config, &log);

    let code = program("homintmult 4:7:3, 3\nreturn 4:7:3");
    let armed_code = program("homintmult 3:8:1, 3\nreturn 3:8:1");
    let (operand, bytes) = (words(&[1, 2, 3]), pattern(2 * BLOCK, 1));
    by(&mut bench, "alice", |bench| {
        bench.put(10, checked("0:7:0", &code), &code);
        bench.put(11, checked("0:8:0", &armed_code), &armed_code);
        bench.put(0, checked("4:7:3", &operand), &operand);
        bench.put(0, checked("4:7:3", &operand), &operand);
        bench.put(20, checked("1:0:1", &bytes), &bytes);
        bench.put(20, checked("1:0:1", &bytes), &bytes);
        bench.put(30, armed("3:8:1", 24), &operand);
        bench.read(30, 1);
        bench.declare(40, metadata("1:0:2", 2 * BLOCK));
        bench.write(40, bytes[..BLOCK].to_vec());
    });
    by(&mut bench, "carol", |bench| {
        bench.write(41, bytes[BLOCK..].to_vec());
        bench.deallocate(HALF + 20..HALF + 21).expect("deleted");
        delete(bench, "1:0:2").expect("deleted");
        bench.declare(30, metadata("3:8:1", 24));
    });
    by(&mut bench, "bob", |bench| assert!(is_denied(delete(bench, "3:8:1"))));
    let size = (code.len(), armed_code.len());
    let expected = [
        format!("alice put 0:7:0 {}", size.0),
        format!("alice put 0:8:0 {}", size.1),
        "alice computed 4:7:3 24".into(),
        "alice computed 4:7:3 24".into(),
        "alice put 1:0:1 8192".into(),
        "alice replaced 1:0:1 8192".into(),
        "alice put 3:8:1 24".into(),
        "alice computed-read 3:8:1 24".into(),
        "alice put 1:0:2 8192 by carol".into(),
        "carol deleted 1:0:1 8192".into(),
        "carol deleted 1:0:2 8192".into(),
        "carol flags 3:8:1 0".into(),
        "bob denied - 0".into(),
    ];
    assert_eq!(*log.0.lock().expect("no panic"), expected);
}

/// A read that disarms an object is a change of its flags.
#[test]
fn a_disarming_read_has_two_entries() {
    let log = Arc::new(Log::default());
    let mut bench = logged(bench(&[]), BlockSpaceConfig::new(LOG2), &log);
    let code = program("homintmult 3:8:1, 3\nreturn 3:8:1");
    bench.put(11, checked("0:8:0", &code), &code);
    let once = ciphermill_program::Metadata { one_shot: true, ..armed("3:8:1", 24) };
    bench.put(30, once, &words(&[1, 2, 3]));
    log.0.lock().expect("no panic").clear();
    by(&mut bench, "alice", |bench| bench.read(30, 1));
    bench.declare(30, once);
    log.0.lock().expect("no panic").clear();
    by(&mut bench, "bob", |bench| {
        let open = OpenObject { id: register("3:8:1"), mode: OpenMode::Armed }.dwords();
        bench.vendor(OPCODE_OPEN, open, 8192).expect("computed")
    });
    let entries = std::mem::take(&mut *log.0.lock().expect("no panic"));
    assert_eq!(entries, ["bob computed-read 3:8:1 24", "bob flags 3:8:1 0"]);
    by(&mut bench, "bob", |bench| bench.read(30, 1));
    assert!(log.0.lock().expect("no panic").is_empty(), "it is not armed any more");
}

/// The label of a host's declaration or deletion, as the drawing in `labels` has it.
fn label(kind: u8, fields: &[u8], host: &str) -> Vec<u8> {
    [&[3, kind], fields, &[host.len() as u8], host.as_bytes()].concat()
}

/// What a crash leaves behind after the device's change and before the volume's: a completed and a deleted object.
#[test]
fn changes_that_opening_finishes_have_entries_with_their_hosts() {
    let bench = bench(&[]);
    let (bytes, number) = (pattern(BLOCK, 1), 77u64);
    let registers = bench.registers();
    let write = |id: &str, origin| {
        let options = WriteOptions { origin, ..WriteOptions::default() };
        registers.write_bytes(register(id), &bytes, options).expect("stored").stat.generation
    };
    write("1:0:1", number);
    let doomed = write("1:0:2", 5);
    let (alice, carol) = (host("alice").host.nqn.clone(), host("carol").host.nqn.clone());
    let declared = [&metadata("1:0:1", BLOCK).encode()[..40], &number.to_le_bytes()].concat();
    let deleted = [&[1, 0][..], &[0; 4], &2u32.to_le_bytes(), &doomed.to_le_bytes()].concat();
    let operations = vec![
        Operation::SetLabel { lba: HALF + 10, label: label(3, &declared, &alice) },
        Operation::SetLabel { lba: 20, label: label(2, &deleted, &carol) },
    ];
    bench.volume.commit(Change { space: NAMESPACE.0, operations }).expect("durable");
    let log = Arc::new(Log::default());
    let bench = logged(bench, BlockSpaceConfig::new(LOG2), &log);
    let expected = ["alice put 1:0:1 4096 at opening", "carol deleted 1:0:2 4096 at opening"];
    assert_eq!(*log.0.lock().expect("no panic"), expected);
    assert_eq!((bench.stored("1:0:1"), bench.stored("1:0:2")), (Some(bytes.clone()), None));
    assert_eq!(bench.read(10, 1), bytes);
    // The next opening has nothing to finish.
    let log = Arc::new(Log::default());
    drop(logged(bench, BlockSpaceConfig::new(LOG2), &log));
    assert!(log.0.lock().expect("no panic").is_empty());
}

#[test]
fn a_refused_computation_is_an_entry() {
    let log = Arc::new(Log::default());
    let config = BlockSpaceConfig {
        access: bench_access(&[("bob", Rights { owner_only: true, ..Rights::default() })]),
        ..BlockSpaceConfig::new(LOG2)
    };
    let mut bench = logged(bench(&[]), config, &log);
    bench.put(10, metadata("4:7:9", 24), &words(&[1, 2, 3]));
    let code = program("mov 4:7:3, 4:7:9\nreturn 4:7:3");
    bench.put(20, metadata("0:7:0", code.len()), &code);
    log.0.lock().expect("no panic").clear();
    by(&mut bench, "bob", |bench| assert!(is_denied(bench.try_put(30, metadata("4:7:3", 24), &words(&[4, 5, 6])))));
    assert_eq!(*log.0.lock().expect("no panic"), ["bob denied - 0"]);
    assert_eq!(bench.space.metrics().denied, 1);
}
