//! A whole computation by hand, as `docs/cli.md` shows it: keys, ciphertexts, a program, and the product.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Bench, SET};
use serde_json::Value;

const XY: &str = include_str!("../../../examples/programs/xy.cms");

/// The options of one side of a test vector's report.
fn encoding(report: &Value, side: &str) -> Vec<String> {
    let side = &report[side];
    let mut options = vec![format!("--min={}", side["min"]), format!("--max={}", side["max"])];
    if side["padding"] == false {
        options.push("--no-padding".to_owned());
    }
    options
}

fn encrypt(bench: &Bench, encoding: &[String], message: i64, choice: &str, out: &str) {
    let fixed = ["encrypt", "--secret-key", "me.key", "--insecure-params", "--choice", choice, "--out", out];
    let message = format!("--message={message}");
    bench.run(fixed.into_iter().chain(encoding.iter().map(String::as_str)).chain([message.as_str()])).done();
}

fn decrypt(bench: &Bench, encoding: &[String], file: &str) -> i64 {
    let fixed = ["decrypt", "--secret-key", "me.key", "--insecure-params", "--json", file];
    let report = bench.run(fixed.into_iter().chain(encoding.iter().map(String::as_str))).json();
    report["message"].as_i64().expect("a message")
}

/// The message is not on the command line, and an error does not repeat it.
#[test]
fn a_message_in_a_file() {
    let bench = Bench::with_keys();
    let from = |file: &'static str| {
        let fixed = ["encrypt", "--secret-key", "me.key", "--insecure-params", "--bits", "3", "--out", "x.ct"];
        bench.run(fixed.into_iter().chain(["--force", "--message-file", file]))
    };
    bench.write("m.txt", " 5\n");
    from("m.txt").done();
    assert_eq!(decrypt(&bench, &["--bits=3".to_owned()], "x.ct"), 5);
    for content in ["5 6", "a7654", "", &"7".repeat(99)] {
        bench.write("m.txt", content);
        let said = from("m.txt");
        assert!(content.is_empty() || !said.stderr.contains(content), "{}", said.stderr);
        said.failed(&["m.txt"]);
    }
}

/// A message that `wsplit` makes a word of needs no bootstrap, so its noise may be too much for one.
#[test]
fn messages_for_a_split_have_no_note_on_noise() {
    let bench = Bench::new();
    let noted = |key: &str, options: &[&str]| {
        let fixed = ["tfhe", "encrypt", "--secret-key", key, "--message", "3", "--out", "x.ct", "--force"];
        let ran = bench.run(fixed.into_iter().chain(["--insecure-params"]).chain(options.iter().copied()));
        let noted = ran.stderr.contains("too much noise for this number of messages");
        ran.done();
        noted
    };
    for (set, name) in [("WORD_2M64", "w"), (SET, "m")] {
        let (secret, server) = (format!("--secret-key={name}.key"), format!("--server-key={name}.server"));
        bench.run(["tfhe", "keygen", "--params", set, "--insecure-params", &secret, &server]).done();
    }
    assert!(!noted("w.key", &["--bits", "14"]));
    assert!(noted("w.key", &["--bits", "14", "--key", "small"]), "only a ciphertext under the big key is split");
    assert!(noted("w.key", &["--bits", "20"]), "more bits than a split can tell apart");
    assert!(noted("m.key", &["--bits", "14"]), "a set without words");
    assert!(!noted("m.key", &["--bits", "4"]));
}

/// The soft and the hard limit for core dumps of a process.
fn core_limits(process: &str) -> [String; 2] {
    let limits = fs::read_to_string(format!("/proc/{process}/limits")).expect("it runs");
    let line = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).expect("a limit");
    let mut fields = line.split_whitespace().map(str::to_owned);
    [(); 2].map(|()| fields.next().expect("a limit"))
}

/// A process that reads a secret makes no core dump. Until its standard input closes, it has the key in memory.
#[test]
fn core_dumps_are_off_before_a_secret_is_read() {
    let bench = Bench::with_keys();
    let encrypt = "tfhe encrypt --secret-key me.key --insecure-params --bits 3 --out x.ct --message-file -";
    let mut command = bench.command(encrypt.split(' '));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the binary starts");
    let deadline = Instant::now() + Duration::from_secs(20);
    let off = || core_limits(&child.id().to_string()) == ["0", "0"];
    while !off() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    let found = core_limits(&child.id().to_string());
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"5").expect("it reads");
    drop(stdin);
    assert!(child.wait().expect("a child").success());
    assert_eq!(found, ["0", "0"]);
    if core_limits("self")[1] == "0" {
        println!("the limit of this process is 0 already: the test shows nothing here");
    }
}

/// x in 3:0:2, y in 4:0:3: the product comes by running the program, by reading x, by reading it armed, and by writing y.
fn product(choice: &str, x: i64, y: i64, store_options: &[&str]) {
    let bench = Bench::with_keys();
    let vector =
        ["test-vector", "--params", SET, "--insecure-params", "--function", "square-quarter", "--out", "sq.tv"];
    let report = bench.run(vector.into_iter().chain(["--json", "--choice", choice])).json();
    let (input, output) = (encoding(&report, "input"), encoding(&report, "output"));
    assert!(report["largest_operand"].as_i64().expect("a number") >= x.max(y), "{report}");
    let input = [input, vec![format!("--range=0:{}", report["largest_operand"])]].concat();
    encrypt(&bench, &input, x, choice, "x.ct");
    encrypt(&bench, &input, y, choice, "y.ct");
    bench.write("xy.cms", XY);
    let assembled = bench
        .run(["program", "asm", "xy.cms", "--bind", "r2=3:0:2", "--bind", "r3=4:0:3", "--out", "xy.prg", "--json"])
        .json();
    assert_eq!(assembled["instructions"], 7);

    let store = |verb: [&str; 2], rest: &[&str]| bench.store(verb, &[store_options, rest].concat());
    for (register, file) in
        [("2:0:1", "server.key"), ("2:0:2", "server.key.ksk"), ("1:0:0", "sq.tv"), ("0:0:0", "xy.prg")]
    {
        let report = store(["blob", "put"], &["--json", "--id", register, file]).json();
        assert_eq!(report["computed"], false, "{register}");
        assert_eq!(report["bytes"], bench.read(file).len(), "{register}");
    }
    store(["blob", "put"], &["--id", "3:0:2", "--armed", "x.ct"]).done();
    store(["blob", "put"], &["--type=4", "--key=0", "--data=3", "--stored", "y.ct"]).done();
    let checked = store(["program", "check"], &["--json", "xy.prg"]).json();
    assert_eq!(checked["instructions"], 7);
    let [result] = &checked["outputs"].as_array().expect("outputs")[..] else { panic!("{checked}") };
    let [found, expected] = [&result["log2_p_fail"], &report["log2_p_fail"]].map(|p| p.as_f64().expect("a number"));
    assert!((found - expected).abs() < 1e-6 && expected <= -64.0, "{checked} {report}");

    store(["program", "run"], &["xy.prg", "--out", "run.ct"]).done();
    assert_eq!(decrypt(&bench, &output, "run.ct"), x * y);
    // The result states its encoding.
    assert_eq!(decrypt(&bench, &[], "run.ct"), x * y);
    let other = ["decrypt", "--secret-key", "me.key", "--insecure-params", "--bits", "9", "run.ct"];
    bench.run(other).failed(&["places", "the encoding 1024", "use the encoding of its messages"]);
    for (options, file) in [(&["--compute"][..], "computed.ct"), (&[], "armed.ct")] {
        let rest = [options, &["--id", "3:0:2", "--json", "--out", file]].concat();
        assert_eq!(store(["blob", "get"], &rest).json()["computed"], true);
        assert_eq!(decrypt(&bench, &output, file), x * y, "{file}");
    }
    store(["blob", "get"], &["--id", "3:0:2", "--stored", "--out", "same.ct"]).done();
    assert!(bench.read("same.ct") == bench.read("x.ct"), "what was stored is given unchanged");

    let written = store(["blob", "put"], &["--id", "4:0:3", "--json", "y.ct"]).json();
    assert_eq!(written["computed"], true);
    let stored = store(["blob", "get"], &["--id", "4:0:3"]);
    assert_eq!((stored.code, stored.stderr.as_str()), (0, ""));
    bench.write("xy.ct", &stored.stdout);
    assert_eq!(decrypt(&bench, &output, "xy.ct"), x * y);
}

/// With the exact transform, and a main memory of eight pages: three ciphertexts of three pages each have to be paged.
#[test]
fn a_product_under_the_big_key() {
    product("big", 3, 4, &["--backend", "ntt", "--memory", "32768"]);
}

#[test]
fn a_product_under_the_small_key() {
    product("small", 2, 3, &[]);
}

#[test]
fn keys_of_both_forms_have_the_sizes_that_info_lists() {
    let bench = Bench::new();
    let sets = bench.run(["info", "--json"]).json();
    let set = sets["parameter_sets"].as_array().expect("sets").iter().find(|s| s["name"] == SET).expect("it").clone();
    for form in ["seeded", "full"] {
        let files = ["--secret-key", "a.key", "--server-key", "b.key", "--keyswitch-key", "c.key"];
        let options = ["keygen", "--params", SET, "--insecure-params", "--json", "--force", "--form", form];
        let report = bench.run(options.into_iter().chain(files)).json();
        let key = ["bootstrapping_key_bytes_", "keyswitch_key_bytes_"].map(|key| set[format!("{key}{form}")].clone());
        for (file, listed) in [1, 2].into_iter().zip(key) {
            assert_eq!(report["files"][file]["bytes"], listed, "{form} {file}");
        }
    }
    assert_eq!(bench.names(), ["a.key", "b.key", "c.key"]);
}

#[test]
fn only_the_secret_key_is_for_its_owner_alone_and_nothing_else_is_left() {
    let bench = Bench::with_keys();
    assert_eq!(bench.names(), ["me.key", "server.key", "server.key.ksk"]);
    let mode = |name: &str| fs::metadata(bench.path(name)).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode("me.key"), 0o600);
    assert_ne!(mode("server.key") & 0o400, 0);
    // A umask can only take away, so the public files are compared with one made without us.
    bench.write("plain", "");
    assert_eq!(mode("server.key"), mode("plain"));
    // Overwriting a file that others may read must not leave its mode.
    fs::set_permissions(bench.path("me.key"), fs::Permissions::from_mode(0o644)).expect("ours");
    let files = ["--secret-key", "me.key", "--server-key", "server.key", "--force"];
    bench.run(["keygen", "--params", SET, "--insecure-params"].into_iter().chain(files)).done();
    assert_eq!(mode("me.key"), 0o600);
}

#[test]
fn a_table_of_ones_own_and_the_identity() {
    let bench = Bench::with_keys();
    // 3 bits, the highest first: f(z) = 7 - z.
    bench.write("f.txt", "# the mirror\n7 6 5 4\n3 2 1 0 # to the end\n");
    for (function, expected) in [(&["table", "--table", "f.txt"][..], 5), (&["identity"], 2)] {
        let rest = ["--bits", "3", "--out", "f.tv", "--force"];
        let fixed = ["test-vector", "--secret-key", "me.key", "--insecure-params", "--function"];
        bench.run(fixed.iter().chain(function).chain(&rest)).done();
        let encrypt = ["encrypt", "--secret-key", "me.key", "--insecure-params", "--message", "2", "--bits", "3"];
        bench.run(encrypt.into_iter().chain(["--out", "z.ct", "--force"])).done();
        for (register, file) in
            [("2:0:1", "server.key"), ("2:0:2", "server.key.ksk"), ("1:0:0", "f.tv"), ("3:0:1", "z.ct")]
        {
            bench.put(register, file).done();
        }
        bench.write("f.cms", "bootstrap tv, z\nreturn z\n");
        bench.store(["program", "run"], &["f.cms", "--bind", "z=3:0:1", "--out", "f.ct", "--force"]).done();
        let options: Vec<_> = ["--bits=3"].map(str::to_owned).into();
        assert_eq!(decrypt(&bench, &options, "f.ct"), expected, "{function:?}");
    }
}

#[test]
fn blobs_are_listed_and_removed() {
    let bench = Bench::with_keys();
    bench.encrypt("5", "x.ct").done();
    bench.put("2:7:1", "server.key").done();
    bench.store(["blob", "put"], &["--id", "3:7:9", "--armed", "x.ct"]).done();
    let list = bench.store(["blob", "ls"], &["--json"]).json();
    let rows: Vec<_> =
        list.as_array().expect("rows").iter().map(|row| (row["id"].clone(), row["armed"].clone())).collect();
    assert_eq!(rows, [("2:7:1".into(), false.into()), ("3:7:9".into(), true.into())]);
    let table = bench.store(["blob", "ls"], &[]).done();
    assert!(table.contains("bootstrapping key") && table.contains("TLWE-CoR"), "{table}");
    let metrics = bench.run(["info", "--store", "s", "--prometheus"]).done();
    assert!(metrics.lines().any(|line| line == "ciphermill_device_objects 2"), "{metrics}");
    let report = bench.run(["info", "--store", "s", "--json"]).json();
    let objects = report["store"]["objects"].as_object().expect("counts");
    assert_eq!(objects.values().filter_map(Value::as_u64).sum::<u64>(), 2, "{report}");
    let put = |options: &[&str]| bench.store(["blob", "put"], &[&["--id", "4:7:8", "x.ct"], options].concat()).done();
    let note = "stored as it is: no program is stored under its Key ID, so none ran";
    assert!(put(&[]).contains(note), "a compute-on-write object without a program");
    let stored = put(&["--stored"]);
    assert!(stored.contains("stored as it is") && !stored.contains("none ran"), "{stored}");
    bench.store(["blob", "rm"], &["--id", "4:7:8"]).done();
    bench.store(["blob", "rm"], &["--id", "3:7:9"]).done();
    bench.store(["blob", "rm"], &["--id", "3:7:9"]).failed(&["3:7:9", "not stored"]);
    assert_eq!(bench.store(["blob", "ls"], &["--json"]).json().as_array().map(Vec::len), Some(1));
}
