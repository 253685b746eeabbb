//! `serve` as a process: started, used over `--connect`, stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::{TcpListener, TcpStream};

use crate::serve_support::{HOST, Served};
use crate::support::Bench;

const BLOB: [&str; 2] = ["--id", "1:0:1"];

/// A table of the toy set, which the device takes without its keys.
fn table(bench: &Bench) -> Vec<u8> {
    let names = ["--params", crate::support::SET, "--insecure-params", "--function", "identity", "--bits", "3"];
    bench.run(["test-vector"].iter().chain(&names).chain(&["--out", "t.tv"])).done();
    bench.read("t.tv")
}

#[test]
fn blobs_outlive_the_server() {
    let bench = Bench::new();
    let bytes = table(&bench);
    let served = Served::start(&bench, &["--allow-host", HOST]);
    let connect = served.connect();
    let at = |verb: &str, rest: &[&str]| bench.run(["blob", verb, "--connect", &connect].iter().chain(rest));
    at("put", &["--id", "1:0:1", "t.tv"]).done();
    let list = at("ls", &["--json"]).json();
    assert_eq!(list[0]["id"], "1:0:1");
    assert_eq!(list[0]["bytes"], bytes.len());
    let info = bench.run(["info", "--connect", &connect, "--json"]).json();
    assert_eq!(info["served"]["objects"]["1"], 1);
    assert_eq!(info["served"]["namespaces"], serde_json::json!([1]));
    let uuid = info["served"]["uuid"].clone();
    served.stop();

    // The embedded device has the same blob in the space of the namespace.
    let read = ["--insecure-params", "--out", "embedded.tv"];
    bench.run(["blob", "get", "--store", "s", "--space", "1"].iter().chain(&BLOB).chain(&read)).done();
    assert_eq!(bench.read("embedded.tv"), bytes);

    let served = Served::start(&bench, &["--allow-host", HOST]);
    let connect = served.connect();
    let at = |verb: &str, rest: &[&str]| bench.run(["blob", verb, "--connect", &connect].iter().chain(rest));
    at("get", &["--id", "1:0:1", "--out", "again.tv"]).done();
    assert_eq!(bench.read("again.tv"), bytes);
    let info = bench.run(["info", "--connect", &connect, "--json"]).json();
    assert_eq!(info["served"]["uuid"], uuid, "hosts recognise the namespace");
    at("rm", &BLOB).done();
    at("rm", &BLOB).failed(&["1:0:1", "not stored"]);
    served.stop();
    bench.run(["scrub", "--store", "s", "--insecure-params"]).done();
}

#[test]
fn who_is_not_named_is_refused() {
    let bench = Bench::new();
    let served = Served::start(&bench, &["--allow-host", HOST]);
    let connect = served.connect();
    let stranger =
        ["--nqn", "nqn.2026-01.io.github.ciphermill:device", "--host-nqn", "nqn.2026-01.org.example:stranger"];
    bench.run(["blob", "ls", "--connect", &connect].iter().chain(&stranger)).failed(&["refuses", "stranger"]);
    bench.run(["blob", "ls", "--connect", &connect].iter().chain(&stranger[2..])).failed(&[
        "refuses",
        "stranger",
        "the host may not connect",
        "serve --allow-host nqn.2026-01.org.example:stranger",
    ]);
    bench.run(["blob", "ls", "--connect", &connect, "--namespace", "9"]).failed(&["no such namespace"]);
    served.stop();
    let nobody = Served::start(&bench, &[]);
    bench.run(["blob", "ls", "--connect", &nobody.connect()]).failed(&["refuses", "ciphermill:host", "allow"]);
    nobody.stop();
}

#[test]
fn what_cannot_be_served_is_refused() {
    let bench = Bench::new();
    let serve = |rest: &[&str]| bench.run(["serve"].iter().chain(rest));
    serve(&["--store", "s", "--listen", "0.0.0.0:4420"]).usage(&["0.0.0.0:4420", "not a loopback", "authenticated"]);
    for wrong in ["localhost:4420", "127.0.0.1"] {
        serve(&["--store", "s", "--listen", wrong]).usage(&[wrong, "as 127.0.0.1:4420 or [::1]:4420"]);
    }
    serve(&["--store", "s", "--grace", "-1"]).usage(&["'-1'", "--grace", "from 0 to 10^9"]);
    serve(&["--store", "s", "--scrub-hours", "-1"]).usage(&["'-1'", "above 0"]);
    serve(&["--store", "s", "--metrics", "[::]:9420"]).usage(&["--metrics", "[::]:9420"]);
    serve(&[]).usage(&["no store", "--store"]);
    serve(&["--store", "s", "--allow-host", "me"]).usage(&["`me`", "qualified name"]);
    bench.write("bad.toml", "store = 's'\nlisten = 'here'\n");
    serve(&["--config", "bad.toml"]).usage(&["bad.toml", "line 2", "`listen`"]);
    bench.write("bad.toml", "store = 's'\n[limits]\nquue-depth = 3\n");
    serve(&["--config", "bad.toml"]).usage(&["bad.toml", "line 3", "`quue-depth`"]);
    // Well-formed but impossible values are reported alike, before anything is made.
    for (text, words) in [
        ("[limits]\nconnections = 0\n", ["line 3", "`limits.connections`"]),
        ("[limits]\ntransfer-bytes = \"3M\"\n", ["line 3", "`limits.transfer-bytes`"]),
        ("listen = \"0.0.0.0:4420\"\n", ["line 2", "`listen`"]),
        ("[[namespace]]\nid = 1\n[[namespace]]\nid = 1\n", ["line 5", "`namespace.id`"]),
        ("log.filter = \"a=b=c\"\n", ["line 2", "`log.filter`"]),
        ("memory = 1\n", ["line 2", "`memory`"]),
    ] {
        bench.write("bad.toml", format!("store = 's'\n{text}"));
        serve(&["--config", "bad.toml"]).usage(&["bad.toml", words[0], words[1]]);
    }
    let holder = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = holder.local_addr().expect("an address").to_string();
    serve(&["--store", "s", "--listen", &taken]).failed(&["cannot listen", &taken, "--listen"]);
    drop(holder);
    assert!(!bench.path("s").exists(), "nothing was made");
    let served = Served::start(&bench, &[]);
    serve(&["--store", "s", "--listen", "127.0.0.1:0"]).failed(&["open"]);
    served.stop();
}

#[test]
fn the_example_configuration_is_one() {
    let bench = Bench::new();
    let example = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/ciphermill.toml"));
    bench.write("example.toml", example.expect("the example"));
    let config = ["--config", "example.toml", "--metrics", "127.0.0.1:0", "--audit", "audit.jsonl"];
    let served = Served::start(&bench, &config);
    bench.run(["blob", "ls", "--connect", &served.connect()]).done();
    served.stop();
}

#[test]
fn metrics_are_well_formed_and_the_dashboard_knows_them() {
    let bench = Bench::new();
    let served = Served::start(&bench, &["--allow-host", HOST, "--metrics", "127.0.0.1:0"]);
    bench.run(["blob", "ls", "--connect", &served.connect()]).done();
    let (status, text) = served.http("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(status, 200);
    let families = parse(&text);
    assert_eq!(families["ciphermill_nvme_commands_total"], "counter");
    let dashboard =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/grafana-dashboard.json"));
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard.expect("the dashboard")).expect("JSON");
    let mut used = BTreeSet::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let expression = target["expr"].as_str().expect("an expression");
            let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            used.extend(words.filter(|word| word.starts_with("ciphermill_")).map(str::to_owned));
        }
    }
    assert!(used.len() > 20, "{used:?}");
    for name in used {
        assert!(families.contains_key(&name), "the dashboard asks for {name}, which there is not");
    }
    assert_eq!(served.http("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), (200, "ok\n".to_owned()));
    assert_eq!(served.http("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").0, 404);
    assert_eq!(served.http("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n").0, 405);
    // A web page whose name resolves to this machine may not read it.
    for (host, status) in [("x", 421), ("127.0.0.1.example", 421), ("[::1]:9420", 200), ("127.0.0.5", 200), ("@", 421)]
    {
        assert_eq!(served.http(&format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n")).0, status, "{host}");
    }
    assert_eq!(served.http("GET /healthz HTTP/1.0\r\n\r\n").0, 200, "without the header");
    // Sockets on which nothing is asked keep nobody out.
    let address = served.metrics.as_deref().expect("metrics");
    let idle: Vec<_> = (0..40).map(|_| TcpStream::connect(address).expect("it listens")).collect();
    assert_eq!(served.http("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), (200, "ok\n".to_owned()));
    drop(idle);
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(20_000));
    assert_ne!(served.http(&long).0, 200, "headers are bounded");
    served.stop();
}

/// Reads the text format strictly; gives each family's type.
fn parse(text: &str) -> BTreeMap<String, String> {
    let (mut families, mut seen) = (BTreeMap::new(), BTreeSet::new());
    let mut lines = text.lines().peekable();
    assert!(text.ends_with('\n'));
    while let Some(line) = lines.next() {
        let (name, help) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')).expect(line);
        assert!(
            name.starts_with("ciphermill_")
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        );
        assert!(help.len() > 3, "{line}");
        let kind = lines.next().and_then(|line| line.strip_prefix(&format!("# TYPE {name} "))).expect(name);
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
        assert!(["counter", "gauge"].contains(&kind), "{name}: {kind}");
        assert!(families.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} comes twice");
        while let Some(sample) = lines.next_if(|line| !line.starts_with('#')) {
            let (series, value) = sample.rsplit_once(' ').expect(sample);
            let value: f64 = value.parse().expect(sample);
            assert!(value >= 0.0 && value.is_finite(), "{sample}");
            let labels = series.strip_prefix(name).expect(sample);
            if !labels.is_empty() {
                let labels = labels.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).expect(sample);
                for label in labels.split(',') {
                    let (key, text) = label.split_once('=').expect(sample);
                    assert!(key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{sample}");
                    assert!(text.len() >= 2 && text.starts_with('"') && text.ends_with('"'), "{sample}");
                }
            }
            assert!(seen.insert(series.to_owned()), "{series} comes twice");
        }
    }
    families
}

/// A program that is run takes the place of the one there for good, so what cannot be read computed is refused before.
#[test]
fn a_run_that_cannot_be_leaves_the_stored_program() {
    let bench = Bench::with_keys();
    bench.encrypt("5", "x.ct").done();
    let served = Served::start(&bench, &["--allow-host", HOST]);
    let connect = served.connect();
    let at = |verb: [&str; 2], rest: &[&str]| bench.run(verb.iter().chain(&["--connect", &connect]).chain(rest));
    for (register, file) in [("2:0:1", "server.key"), ("2:0:2", "server.key.ksk"), ("3:0:1", "x.ct")] {
        at(["blob", "put"], &["--id", register, file]).done();
    }
    at(["blob", "put"], &["--stored", "--id", "4:0:1", "x.ct"]).done();
    bench.write("old.cms", "return 3:0:1\n");
    bench.run(["program", "asm", "old.cms", "--out", "old.prg"]).done();
    at(["blob", "put"], &["--id", "0:0:0", "old.prg"]).done();
    bench.write("new.cms", "homadd 3:0:1, 3:0:1\nreturn 3:0:1\n");
    bench.write("bad.cms", "homadd 3:0:1, 3:0:9\nreturn 3:0:1\n");
    let run = |register: &str, program: &str| at(["program", "run"], &["--read", register, program, "--out", "r.ct"]);
    run("4:0:1", "new.cms").usage(&["4:0:1", "TLWE", "computes nothing", "type 3, 7 or 18", "not stored"]);
    run("2:0:1", "new.cms").usage(&["2:0:1", "key", "not stored"]);
    run("3:0:7", "new.cms").failed(&["3:0:7", "not stored", "put it first"]);
    run("3:0:1", "bad.cms").failed(&["bad.cms", "line 1", "3:0:9"]);
    assert!(!bench.path("r.ct").exists());
    let program = |out: &str| at(["blob", "get"], &["--id", "0:0:0", "--out", out]).done();
    program("kept.prg");
    assert_eq!(bench.read("kept.prg"), bench.read("old.prg"));
    let checked = at(["program", "check"], &["new.cms"]).done();
    assert!(checked.contains("the failure probability is not judged here: the server judges it"), "{checked}");
    let checked = at(["program", "check"], &["--json", "new.cms"]).json();
    assert_eq!((&checked["instructions"], checked["outputs"].is_null()), (&2.into(), true), "{checked}");
    run("3:0:1", "new.cms").done();
    program("now.prg");
    assert_ne!(bench.read("now.prg"), bench.read("old.prg"));
    served.stop();
}

/// Writes acknowledged before the signal exist after it.
#[test]
fn a_stop_in_the_middle_of_writes_loses_nothing() {
    let bench = Bench::new();
    let bytes = table(&bench);
    let served = Served::start(&bench, &["--allow-host", HOST]);
    let connect = served.connect();
    let acknowledged = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let put = |number: u32| {
                bench.run(["blob", "put", "--connect", &connect, "--id", &format!("1:{number}:0"), "t.tv"])
            };
            (0..1000).take_while(|&number| put(number).code == 0).count()
        });
        std::thread::sleep(std::time::Duration::from_secs(2));
        served.stop();
        writer.join().expect("the writer")
    });
    assert!(acknowledged < 1000, "the stop came in the middle");
    let served = Served::start(&bench, &["--allow-host", HOST]);
    let connect = served.connect();
    let list = bench.run(["blob", "ls", "--connect", &connect, "--json"]).json();
    let list = list.as_array().expect("a list");
    assert!(
        (acknowledged..=acknowledged + 1).contains(&list.len()),
        "{acknowledged} acknowledged, {} there",
        list.len()
    );
    for blob in list {
        let id = blob["id"].as_str().expect("a name");
        assert_eq!(blob["bytes"], bytes.len(), "{id}");
        bench.run(["blob", "get", "--connect", &connect, "--id", id, "--out", "got", "--force"]).done();
        assert_eq!(bench.read("got"), bytes, "{id}");
    }
    served.stop();
}

/// Sockets that ask nothing, half a request or empty lines keep nobody from `/healthz`.
#[test]
fn idle_sockets_do_not_deny_the_health_check() {
    let bench = Bench::new();
    let served = Served::start(&bench, &["--metrics", "127.0.0.1:0"]);
    let address = served.metrics.clone().expect("metrics");
    let mut idle = Vec::new();
    for number in 0..300 {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        if number % 2 == 0 {
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n").expect("half a request");
        }
        idle.push(stream);
        if number % 10 == 0 {
            let (status, body) = served.http("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            assert_eq!((status, body.as_str()), (200, "ok\n"), "after {number} idle sockets");
        }
    }
    // Empty lines before a request are no request, and their connections are bounded too.
    for number in 0..300 {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        stream.write_all(b"\r\n\r\n").expect("empty lines");
        idle.push(stream);
        if number % 10 == 0 {
            let (status, body) = served.http("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            assert_eq!((status, body.as_str()), (200, "ok\n"), "after {number} sockets with empty lines");
        }
    }
    assert!(served.descriptors() < 200, "{} descriptors are open", served.descriptors());
    // Readers of /metrics that take nothing have a bound of their own.
    let mut slow = Vec::new();
    for _ in 0..40 {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a request");
        slow.push(stream);
    }
    let (status, _) = served.http("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!(status, 200);
    drop((idle, slow));
    served.stop();
}

const OTHER: &str = "nqn.2026-01.org.example:other";

#[test]
fn rights_and_the_audit_log_follow_the_configuration() {
    let bench = Bench::new();
    table(&bench);
    let rights = format!("{OTHER}=read");
    let options = ["--allow-host", HOST, "--host-rights", &rights, "--audit", "audit.jsonl"];
    let served = Served::start(&bench, &options);
    let connect = served.connect();
    let at = |verb: &str, rest: &[&str]| bench.run(["blob", verb, "--connect", &connect].iter().chain(rest));
    at("put", &["--id", "1:0:1", "t.tv"]).done();
    let other = ["--host-nqn", OTHER];
    at("get", &["--id", "1:0:1", "--out", "other.tv", other[0], other[1]]).done();
    at("put", &["--id", "1:0:2", "t.tv", other[0], other[1]]).failed(&["right to write"]);
    at("rm", &["--id", "1:0:1", other[0], other[1]]).failed(&["right to write"]);
    at("rm", &["--id", "1:0:1"]).done();
    served.stop();
    let text = String::from_utf8(bench.read("audit.jsonl")).expect("UTF-8");
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of =
        |action: &str, host: &str| lines.iter().filter(|line| line["action"] == action && line["host"] == host).count();
    assert_eq!((of("put", HOST), of("deleted", HOST)), (1, 1), "{text}");
    // The first denial of a second has a separate line, with its reason; another line counts the later ones.
    let denied = lines.iter().filter(|line| line["action"] == "denied" && line["host"] == OTHER);
    let denials = denied.map(|line| line["repeated"].as_u64().unwrap_or(0) + u64::from(!line["reason"].is_null()));
    assert!(denials.sum::<u64>() >= 2 && of("put", OTHER) == 0, "{text}");
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(bench.path("audit.jsonl")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// A new namespace has quotas; one that exists keeps its own.
#[test]
fn quotas_are_kept() {
    let bench = Bench::new();
    let quota = |options: &[&str]| {
        let served = Served::start(&bench, &[&["--metrics", "127.0.0.1:0"], options].concat());
        let (_, text) = served.http("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        served.stop();
        let of = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name) && line.contains("space=\"1\"")).expect(name);
            line.rsplit(' ').next().expect("a value").parse::<u64>().expect("a number")
        };
        (of("ciphermill_device_space_limit_bytes"), of("ciphermill_device_space_limit_objects"))
    };
    assert_eq!(quota(&["--objects", "9"]), (64 << 30, 9), "a new one");
    assert_eq!(quota(&["--objects", "7", "--capacity", "1G"]), (64 << 30, 9), "it keeps them");
    bench.write("quota.toml", "[[namespace]]\nid = 1\ncapacity = \"2G\"\nobjects = 5\n");
    assert_eq!(quota(&["--config", "quota.toml"]), (2 << 30, 5), "configured");
    assert_eq!(quota(&[]), (2 << 30, 5));
}

/// The log of a server that starts with these options and stops.
fn log(bench: &Bench, options: &[&str]) -> String {
    Served::start_logged(bench, &[&["--allow-host", HOST], options].concat()).stop();
    String::from_utf8(bench.read("log")).expect("text")
}

#[test]
fn a_namespace_without_a_quota_is_warned_of() {
    let bench = Bench::new();
    let warning = "the namespace has no quota in bytes or objects; set `capacity` and `objects`";
    assert_eq!(log(&bench, &[]), "", "a new namespace has quotas");
    bench.write("none.toml", "[[namespace]]\nid = 1\ncapacity = \"unlimited\"\nobjects = 7\n");
    assert!(log(&bench, &["--config", "none.toml"]).contains(warning));
    let kept = log(&bench, &[]);
    assert!(kept.contains("WARN") && kept.contains(warning) && kept.contains("namespace=1"), "{kept}");
    bench.write("quota.toml", "[[namespace]]\nid = 1\ncapacity = \"1G\"\n");
    assert_eq!(log(&bench, &["--config", "quota.toml"]), "");
}

#[test]
fn an_override_is_warned_of() {
    let bench = Bench::new();
    let limit = "override: results may be wrong with a probability of up to 2^-20.5 (max-log2-p-fail)";
    let range = "results of unknown failure probability are accepted (assume-range)";
    for (options, warnings) in [
        (&["--max-log2-p-fail", "-20.5"][..], &[limit][..]),
        (&["--assume-range"], &[range]),
        (&["--assume-range", "--max-log2-p-fail", "-20.5"], &[limit, range]),
        (&["--max-log2-p-fail", "-64"], &[]),
    ] {
        let log = log(&bench, options);
        assert_eq!(log.lines().count(), usize::from(!warnings.is_empty()), "{options:?}: {log}");
        assert!(warnings.iter().all(|part| log.contains(part)), "{options:?}: {log}");
    }
    bench.write("override.toml", "max-log2-p-fail = -20.5\nassume-range = true\n");
    assert!(log(&bench, &["--config", "override.toml"]).contains(limit));
}

#[test]
fn a_server_that_is_not_there_is_hinted_at() {
    let bench = Bench::new();
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").to_string();
    bench.run(["blob", "ls", "--connect", &free]).failed(&["nothing listens", "ciphermill serve", &free]);
}
