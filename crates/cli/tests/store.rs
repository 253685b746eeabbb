//! `store`: check, repair, export, backup and restore as commands, of stores that are served and that are not.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::serve_support::{HOST, Served};
use crate::support::{Bench, SET};

/// A bench with the table `t.tv`, which the device takes without its keys.
fn bench() -> Bench {
    let bench = Bench::new();
    let names = ["--params", SET, "--insecure-params", "--function", "identity", "--bits", "3"];
    bench.run(["test-vector"].iter().chain(&names).chain(&["--out", "t.tv"])).done();
    bench
}

fn mode(bench: &Bench, name: &str) -> u32 {
    fs::metadata(bench.path(name)).expect("a file").permissions().mode() & 0o777
}

fn damage(bench: &Bench, name: &str) {
    let mut bytes = bench.read(name);
    bytes.iter_mut().skip(2000).step_by(4096).for_each(|byte| *byte ^= 1);
    fs::write(bench.path(name), bytes).expect("room");
}

#[test]
fn a_store_is_checked_backed_up_restored_and_exported() {
    let bench = bench();
    bench.put("1:0:1", "t.tv").done();
    bench.put("1:0:2", "t.tv").done();
    let report = bench.run(["store", "check", "--store", "s", "--json"]).json();
    assert_eq!((&report["sound"], &report["objects"], &report["log_agrees"]), (&true.into(), &2.into(), &true.into()));
    let record = bench.run(["store", "backup", "--store", "s", "--backup", "b", "--json"]).json();
    assert_eq!((&record["complete"], &record["objects"], &record["volume"]), (&true.into(), &2.into(), &false.into()));
    assert_eq!((mode(&bench, "b"), mode(&bench, "b/backup.json")), (0o700, 0o600));
    for inside in ["s", "s/inner", "s/../s/inner"] {
        bench.run(["store", "backup", "--store", "s", "--backup", inside]).failed(&["within the store"]);
    }
    bench.store(["blob", "rm"], &["--id", "1:0:2"]).done();
    bench.run(["store", "restore", "--backup", "b", "--out", "r"]).done();
    let list = bench.run(["blob", "ls", "--store", "r", "--json", "--insecure-params"]).json();
    assert_eq!(list.as_array().expect("a list").len(), 2, "the deleted object is back");
    bench.run(["store", "restore", "--backup", "b", "--out", "r"]).failed(&["r", "exists"]);
    bench.run(["store", "restore", "--backup", "s", "--out", "q"]).failed(&["no backup"]);

    bench.run(["store", "export", "--store", "s", "--out", "files"]).done();
    assert_eq!(bench.read("files/space-0/1-0-1"), bench.read("t.tv"));
    assert_eq!(mode(&bench, "files/space-0/1-0-1"), 0o600);
    assert!(!bench.path("files/space-0/1-0-2").exists(), "a deleted object");
    bench.run(["store", "export", "--store", "s", "--out", "files"]).failed(&["files exists"]);
    bench.run(["store", "check", "--store", "none"]).failed(&["none"]);
    bench.run(["store", "check", "--store", "b"]).failed(&["directory of a backup", "b/store"]);
    bench.run(["store", "check", "--store", "b/store"]).done();
    bench.run(["store", "backup", "--store", ".", "--backup", "c"]).failed(&["holds no store"]);
    assert!(!bench.path("c").exists());
}

#[test]
fn a_damaged_store_is_repaired_into_a_new_one() {
    let bench = bench();
    let large = ["--params", "MESSAGE_4_2M64", "--function", "identity", "--bits", "4", "--out", "large.tv"];
    bench.run(["test-vector"].iter().chain(&large)).done();
    assert!(bench.read("large.tv").len() > 16_000, "it must be in the data file");
    bench.put("1:0:1", "large.tv").done();
    damage(&bench, "s/objects.redb");
    bench.store(["blob", "ls"], &[]).failed(&["damaged", "nothing was changed"]);
    let checked = bench.run(["store", "check", "--store", "s", "--json"]);
    assert_eq!(checked.code, 1);
    assert!(checked.stderr.contains("store repair"), "{}", checked.stderr);
    let report: serde_json::Value = serde_json::from_slice(&checked.stdout).expect("JSON");
    assert_eq!(report["sound"], false);
    let before = bench.read("s/objects.redb");
    let report = bench.run(["store", "repair", "--store", "s", "--out", "r", "--json"]).json();
    assert_eq!((&report["recovered"], &report["lost"], &report["table_sound"]), (&1.into(), &0.into(), &false.into()));
    assert_eq!(bench.read("s/objects.redb"), before);
    bench.run(["blob", "get", "--store", "r", "--id", "1:0:1", "--out", "got"]).done();
    assert_eq!(bench.read("got"), bench.read("large.tv"));
    bench.run(["store", "check", "--store", "r"]).done();
    bench.run(["store", "export", "--store", "s", "--out", "files"]).done();
    assert_eq!(bench.read("files/space-0/1-0-1"), bench.read("large.tv"));
}

#[test]
fn a_served_store_is_backed_up_while_it_is_written() {
    let bench = bench();
    let served = Served::start(&bench, &["--allow-host", HOST]);
    let connect = served.connect();
    let put = |id: &str| bench.run(["blob", "put", "--connect", &connect, "--id", id, "t.tv"]);
    (1..4).for_each(|data| drop(put(&format!("1:0:{data}")).done()));
    let socket = fs::symlink_metadata(bench.path("s/admin.sock")).expect("a socket");
    assert!(socket.file_type().is_socket());
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for data in 10.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                put(&format!("1:0:{}", 10 + data % 5)).done();
            }
        });
        for _ in 0..3 {
            let record = bench.run(["store", "backup", "--store", "s", "--backup", "b", "--json"]).json();
            assert_eq!((&record["complete"], &record["volume"]), (&true.into(), &true.into()));
        }
        stop.store(true, Ordering::Relaxed);
    });
    bench.run(["store", "check", "--store", "s"]).failed(&["already open"]);
    let foreign = bench.path("foreign");
    fs::create_dir(&foreign).expect("room");
    fs::write(foreign.join("letter"), "text").expect("room");
    bench.run(["store", "backup", "--store", "s", "--backup", "foreign"]).failed(&["foreign", "holds no backup"]);
    let over = bench.run(["store", "backup", "--store", "s", "--backup", "b", "--json"]).json();
    served.stop();
    assert!(!bench.path("s/admin.sock").exists());

    for (out, same) in [("same", true), ("other", false)] {
        let options: &[&str] = if same { &["--same-identity"] } else { &[] };
        bench.run(["store", "restore", "--backup", "b", "--out", out].iter().chain(options)).done();
        assert_eq!(bench.path(out).join("server.json").exists(), same);
        bench.run(["store", "check", "--store", out]).done();
        let read = ["--space", "1", "--id", "1:0:2", "--insecure-params", "--out", "got", "--force"];
        bench.run(["blob", "get", "--store", out].iter().chain(&read)).done();
        assert_eq!(bench.read("got"), bench.read("t.tv"));
    }
    assert!(over["objects"].as_u64() >= Some(3));
    // A restored store is served, and its objects are where hosts expect them.
    fs::rename(bench.path("s"), bench.path("original")).expect("moved");
    fs::rename(bench.path("same"), bench.path("s")).expect("moved");
    let served = Served::start(&bench, &["--allow-host", HOST]);
    let got = ["--id", "1:0:3", "--out", "got", "--force"];
    bench.run(["blob", "get", "--connect", &served.connect()].iter().chain(&got)).done();
    assert_eq!(bench.read("got"), bench.read("t.tv"));
    served.stop();
}

#[test]
fn a_server_whose_store_is_moved_away_acknowledges_nothing_more() {
    let bench = bench();
    let served = Served::start(&bench, &["--allow-host", HOST, "--metrics", "127.0.0.1:0"]);
    let connect = served.connect();
    let put = |id: &str| bench.run(["blob", "put", "--connect", &connect, "--id", id, "t.tv"]);
    put("1:0:1").done();
    fs::rename(bench.path("s"), bench.path("aside")).expect("moved");
    assert_ne!(put("1:0:2").code, 0, "a write was acknowledged that nobody finds");
    fs::rename(bench.path("aside"), bench.path("s")).expect("moved back");
    assert_ne!(put("1:0:3").code, 0, "the server goes on as if nothing had happened");
    assert_eq!(served.http("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").0, 503);
    let get = ["--id", "1:0:1", "--out", "got"];
    bench.run(["blob", "get", "--connect", &connect].iter().chain(&get)).done();
    assert_eq!(bench.read("got"), bench.read("t.tv"), "reads go on");
}

#[test]
fn a_secret_key_that_others_may_read_is_refused() {
    let bench = Bench::with_keys();
    bench.encrypt("3", "c").done();
    fs::set_permissions(bench.path("me.key"), fs::Permissions::from_mode(0o640)).expect("ours");
    bench.decrypt("me.key", "c").failed(&["me.key", "others may read it", "0640", "--accept-readable-keys"]);
    bench.encrypt("3", "d").failed(&["others may read it"]);
    let accept =
        ["decrypt", "--accept-readable-keys", "--secret-key", "me.key", "--insecure-params", "--bits", "4", "c"];
    assert_eq!(bench.run(accept).done().trim(), "3");
    let paillier = ["--key-bits", "512", "--insecure-params", "--secret-key", "p.key", "--public-key", "p.pub"];
    bench.run(["paillier", "keygen"].iter().chain(&paillier)).done();
    fs::set_permissions(bench.path("p.key"), fs::Permissions::from_mode(0o604)).expect("ours");
    let encrypt = ["--secret-key", "p.key", "--value", "1", "--insecure-params", "--out", "p.ct"];
    bench.run(["paillier", "encrypt"].iter().chain(&encrypt)).failed(&["p.key", "0604"]);
    bench.run("hmvp plan --rows 2 --cols 2 --out p.plan".split(' ')).done();
    bench.run("hmvp keygen --plan p.plan --secret-key v.key --galois-keys v.galois".split(' ')).done();
    fs::set_permissions(bench.path("v.key"), fs::Permissions::from_mode(0o666)).expect("ours");
    fs::write(bench.path("v.txt"), "1 2\n").expect("room");
    let encrypt = "hmvp encrypt --plan p.plan --secret-key v.key --vector v.txt --out v.ct";
    bench.run(encrypt.split(' ')).failed(&["v.key", "0666"]);
}
