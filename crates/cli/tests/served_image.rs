//! The directory of a server of each format version: served, listed, read, computed with, scrubbed.
//!
//! `tests/fixtures` has one with two namespaces for each format version: in each a Paillier key,
//! a vector, and a program that doubles it. To write one with any binary of the command:
//!
//! ```text
//! CIPHERMILL_WRITE_FIXTURE=/some/empty/directory CIPHERMILL_WRITE_WITH=/path/to/ciphermill \
//!     cargo test -p ciphermill --test integration served_image
//! ```

#[path = "../../device/tests/support/image.rs"]
mod image;

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::serve_support::{HOST, Served};
use crate::support::Bench;

/// The files of a served store whose pages are mostly zeros.
const IMAGES: [&str; 6] = ["data", "objects.redb", "log", "swap", "blocks", "blocks.redb"];
/// Those of an object store of version 1.
const EARLIER_IMAGES: [&str; 5] = ["data", "objects.redb", "swap", "blocks", "blocks.redb"];
/// Files that are kept as they are.
const PLAIN: [&str; 3] = ["server.json", "p.key", "list.json"];

/// The vectors of both namespaces.
const VALUES: [&str; 2] = ["3,-5,1000000007", "11,22,33"];
/// What the program of each namespace makes of them.
const RESULTS: [[i64; 3]; 2] = [[6, -10, 2_000_000_014], [22, 44, 66]];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Serves `s` with two namespaces.
fn start(bench: &Bench) -> Served {
    bench.write("serve.toml", "[[namespace]]\nid = 1\n\n[[namespace]]\nid = 2\n");
    Served::start(bench, &["--allow-host", HOST, "--config", "serve.toml"])
}

/// The objects of both namespaces.
fn lists(bench: &Bench, connect: &str) -> Value {
    let list =
        |namespace: &str| bench.run(["blob", "ls", "--json", "--connect", connect, "--namespace", namespace]).json();
    [list("1"), list("2")].into()
}

/// Writes a fixture with `binary`.
fn write(directory: &Path, binary: &Path) {
    let bench = Bench::with_binary(binary);
    let keygen = ["--secret-key", "p.key", "--public-key", "p.pub"];
    bench.run(["paillier", "keygen"].iter().chain(&keygen)).done();
    bench.write("double.cms", "padd 18:0:1, 18:0:1\nreturn 18:0:1\n");
    bench.run(["program", "asm", "double.cms", "--out", "double.prg"]).done();
    let served = start(&bench);
    let connect = served.connect();
    for (namespace, values) in ["1", "2"].into_iter().zip(VALUES) {
        let encrypt = ["--public-key", "p.pub", "--out", "x.ct", "--force", "--value", values];
        bench.run(["paillier", "encrypt"].iter().chain(&encrypt)).done();
        for (id, file) in [("16:0:1", "p.pub"), ("18:0:1", "x.ct"), ("0:0:0", "double.prg")] {
            let put = ["blob", "put", "--connect", &connect, "--namespace", namespace, "--id", id, file];
            bench.run(put).done();
        }
    }
    bench.write("list.json", serde_json::to_vec_pretty(&lists(&bench, &connect)).expect("JSON"));
    served.stop();
    let s = bench.path("s");
    let images: &[&str] = if s.join("log").exists() { &IMAGES } else { &EARLIER_IMAGES };
    image::pack(&s, images, directory);
    fs::copy(s.join("server.json"), directory.join("server.json")).expect("room");
    for name in ["p.key", "list.json"] {
        fs::copy(bench.path(name), directory.join(name)).expect("room");
    }
}

fn check(name: &str, images: &[&str]) {
    let bench = Bench::new();
    let (from, s) = (fixture(name), bench.path("s"));
    fs::DirBuilder::new().mode(0o700).create(&s).expect("room");
    image::unpack(&from, images, &s);
    let [server, key, list] = PLAIN.map(|name| fs::read(from.join(name)).expect("a file of the fixture"));
    fs::write(s.join("server.json"), &server).expect("room");
    // Hosts know the device and its namespaces by these.
    let identity = |bytes: &[u8]| {
        let server: Value = serde_json::from_slice(bytes).expect("JSON");
        (server["serial"].clone(), server["namespaces"].clone())
    };
    bench.write_private("p.key", key);
    let expected: Value = serde_json::from_slice(&list).expect("JSON");

    let served = start(&bench);
    let connect = served.connect();
    assert_eq!(lists(&bench, &connect), expected, "{name}");
    for (namespace, expected) in ["1", "2"].into_iter().zip(RESULTS) {
        let get = |verb: &[&str], out: &str| {
            let at = ["--connect", &connect, "--namespace", namespace, "--out", out, "--force"];
            bench.run(verb.iter().chain(&at)).done();
        };
        get(&["blob", "get", "--id", "0:0:0"], "double.prg");
        get(&["program", "run", "double.prg", "--read", "18:0:1"], "y.ct");
        let decrypt = ["paillier", "decrypt", "--secret-key", "p.key", "--json", "y.ct"];
        let got = bench.run(decrypt).json();
        assert_eq!(got["values"], serde_json::json!(expected.map(|value| value.to_string())), "{name}: {got}");
    }
    served.stop();
    assert_eq!(identity(&bench.read("s/server.json")), identity(&server), "{name}");
    let report = bench.run(["store", "check", "--store", "s", "--json"]).json();
    assert_eq!((&report["sound"], &report["objects"]), (&true.into(), &6.into()), "{name}: {report}");
    bench.run(["scrub", "--store", "s", "--insecure-params"]).done();
}

#[test]
fn a_served_store_of_each_version_is_served_on() {
    if let Some(directory) = std::env::var_os("CIPHERMILL_WRITE_FIXTURE") {
        let binary = std::env::var_os("CIPHERMILL_WRITE_WITH").unwrap_or(env!("CARGO_BIN_EXE_ciphermill").into());
        return write(Path::new(&directory), Path::new(&binary));
    }
    check("served", &EARLIER_IMAGES);
    check("served-2", &IMAGES);
}
