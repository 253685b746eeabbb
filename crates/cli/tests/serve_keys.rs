//! The memory of a served device's keys, with keys of full size.

use crate::serve_support::{HOST, Served};
use crate::support::Bench;

/// Its bootstrapping key is stored in 27.4 MB and occupies about 90 MB when it is loaded.
const SET: &str = "MESSAGE_4_2M64";
/// Eight loaded keys would exceed the limit of the process almost twice. `make evidence AREA=trust` takes 100.
const KEYS: u32 = 8;
/// Another number of keys, up to that of the Key IDs.
const KEYS_VARIABLE: &str = "CIPHERMILL_KEYS";
const LIMIT_BYTES: u64 = 400_000_000;

/// The sources of a client: its keys, an encrypted 5, the table of x ↦ x + 1, and a program for one Key ID.
fn client() -> Bench {
    let bench = Bench::new();
    let key = ["--secret-key", "me.key"];
    bench.run(["keygen", "--params", SET, "--server-key", "server.key"].iter().chain(&key)).done();
    bench.run(["encrypt", "--bits", "4", "--message", "5", "--out", "x.ct"].iter().chain(&key)).done();
    bench.write("t.txt", (0..16).map(|x| format!("{}\n", (x + 1) % 16)).collect::<String>());
    let table = ["--params", SET, "--bits", "4", "--function", "table", "--table", "t.txt", "--out", "t.tv"];
    bench.run(["test-vector"].iter().chain(&table)).done();
    bench
}

/// Each key loads within a budget that follows from the limit of the process, and the results are right. Without the budget
/// the server needs 726 MB.
#[test]
fn a_limited_server_outlives_many_keys() {
    let keys = std::env::var(KEYS_VARIABLE).map_or(KEYS, |text| text.parse().expect("a number of keys"));
    let bench = client();
    let served = Served::start_within(&bench, LIMIT_BYTES, &["--allow-host", HOST, "--metrics", "127.0.0.1:0"]);
    let connect = served.connect();
    let at = |verb: [&str; 2], rest: &[&str]| bench.run(verb.iter().chain(&["--connect", &connect]).chain(rest));
    for key in 0..keys {
        for (register, file) in [(format!("2:{key}:1"), "server.key"), (format!("2:{key}:2"), "server.key.ksk")] {
            at(["blob", "put"], &["--id", &register, file]).done();
        }
        let (table, value) = (format!("1:{key}:0"), format!("3:{key}:1"));
        at(["blob", "put"], &["--id", &table, "t.tv"]).done();
        at(["blob", "put"], &["--id", &value, "x.ct"]).done();
        bench.write("p.cms", format!("bootstrap {table}, {value}\nreturn {value}\n"));
        at(["program", "run"], &["--read", &value, "p.cms", "--out", "r.ct", "--force"]).done();
        let result = bench.run(["decrypt", "--secret-key", "me.key", "--bits", "4", "r.ct"]).done();
        assert!(result.contains('6'), "key {key}: {result}");
    }
    let (status, metrics) = served.http("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!(status, 200);
    let value = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("ciphermill_device_{name} ")));
        line.unwrap_or_else(|| panic!("{name} is missing")).parse::<u64>().expect("a number")
    };
    assert_eq!(value("key_memory_limit_bytes"), LIMIT_BYTES / 1024 * 1024 / 2);
    assert!(value("key_memory_bytes") <= value("key_memory_limit_bytes"));
    assert_eq!(value("key_loads_total"), u64::from(keys));
    assert!(value("key_evictions_total") >= u64::from(keys) - 3);
    println!("keys: {keys}");
    println!("data limit in bytes: {LIMIT_BYTES}");
    println!("peak resident MiB: {}", served.peak_resident_mib());
    served.stop();
}
