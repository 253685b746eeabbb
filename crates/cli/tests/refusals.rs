//! Faults in a user's options and files: one readable line and the right exit code.

use crate::support::{Bench, SET};
use ciphermill_device::{Device, DeviceConfig};
use ciphermill_tfhe::word::Word;
use ciphermill_tfhe::{KeyTag, dimension::LweDimension, lwe::LweCiphertext};
use ciphermill_wire::{HEADER_LEN, Header};

#[test]
fn files_that_are_missing_or_in_the_way() {
    let bench = Bench::with_keys();
    bench.decrypt("none.key", "x.ct").failed(&["cannot open none.key", "No such file"]);
    bench.decrypt("me.key", "none.ct").failed(&["cannot open none.ct"]);
    bench.put("3:0:1", "none.ct").failed(&["cannot open none.ct"]);
    assert!(!bench.path("s").exists(), "a put that cannot be makes no store");
    bench.store(["blob", "ls"], &[]).failed(&["s holds no store", "make one by putting"]);
    assert!(!bench.path("s").exists(), "looking for a store makes none");
    bench.run(["blob", "ls", "--store", "."]).failed(&[". holds no store"]);
    assert_eq!(bench.names(), ["me.key", "server.key", "server.key.ksk"], "and no file among others");
    bench.decrypt(".", "x.ct").failed(&["cannot read ."]);
    let before = bench.read("me.key");
    bench.keygen("me.key", "other.key").failed(&["me.key exists", "--force"]);
    bench.keygen("other.key", "server.key").failed(&["server.key exists"]);
    bench.keygen("other.key", "none/server.key").failed(&["none/server.key", "no directory none", "make it"]);
    bench.encrypt("1", "none/x.ct").failed(&["cannot create none/x.ct", "no directory none; make it first"]);
    bench.encrypt("1", "me.key").failed(&["me.key exists"]);
    assert_eq!(bench.read("me.key"), before);
    assert_eq!(bench.names(), ["me.key", "server.key", "server.key.ksk"], "failures leave nothing");
    // A name cannot drive the terminal that its error is shown on.
    bench.decrypt("a\nb\x1b[2J.key", "x.ct").failed(&["cannot open a b\\u{1b}[2J.key"]);
}

#[test]
fn damaged_objects() {
    let bench = Bench::with_keys();
    bench.encrypt("5", "x.ct").done();
    let half = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2);
    bench.copy_changed("server.key", "half.key", half);
    bench.put("2:0:1", "half.key").failed(&["2:0:1", "truncated"]);
    bench.copy_changed("me.key", "half-me.key", half);
    bench.decrypt("half-me.key", "x.ct").failed(&["half-me.key", "truncated"]);
    // One bit, in the middle of the elements.
    bench.copy_changed("x.ct", "flipped.ct", |bytes| bytes[5000] ^= 0x10);
    bench.decrypt("me.key", "flipped.ct").failed(&["flipped.ct", "checksum", "damaged"]);
    bench.put("3:0:1", "flipped.ct").failed(&["3:0:1", "checksum", "damaged"]);
    bench.copy_changed("server.key", "flipped.key", |bytes| *bytes.last_mut().expect("bytes") ^= 1);
    bench.put("2:0:1", "flipped.key").failed(&["2:0:1", "checksum"]);
    // A word is read as a word, also when it is damaged.
    let word =
        Word::new(KeyTag(1), vec![LweCiphertext::trivial(0, LweDimension(96))], 0.0).expect("a digit").to_bytes();
    bench.write("flipped.word", [&word[..60], &[word[60] ^ 1], &word[61..]].concat());
    bench.decrypt("me.key", "flipped.word").failed(&["flipped.word", "checksum", "damaged"]);
    // A later envelope, and a later body in today's envelope.
    bench.copy_changed("x.ct", "envelope.ct", |bytes| bytes[4] = 9);
    bench.decrypt("me.key", "envelope.ct").failed(&["envelope.ct", "version 9", "reads 1"]);
    bench.copy_changed("x.ct", "body.ct", |bytes| {
        let header = Header { version: 7, ..Header::decode(bytes).expect("a header") };
        bytes[..HEADER_LEN].copy_from_slice(&header.encode());
    });
    bench.decrypt("me.key", "body.ct").failed(&["body.ct", "version 7"]);
    bench.put("3:0:1", "body.ct").failed(&["3:0:1", "version 7"]);
    // One kind in place of another.
    bench.decrypt("server.key", "x.ct").failed(&["server.key", "0x0205 (a TFHE bootstrapping key)", "secret keys"]);
    bench.put("2:0:1", "x.ct").failed(&["2:0:1"]);
    bench.put("2:0:1", "me.key").failed(&["2:0:1"]);
    bench.write("empty", "");
    bench.decrypt("me.key", "empty").failed(&["empty", "truncated"]);
    bench.put("3:0:1", "empty").failed(&["at least one byte"]);
    assert_eq!(bench.store(["blob", "ls"], &["--json"]).json(), serde_json::json!([]), "nothing was stored");
}

#[test]
fn objects_of_another_key() {
    let bench = Bench::with_keys();
    bench.keygen("other.key", "other-server.key").done();
    bench.encrypt("5", "x.ct").done();
    bench.decrypt("other.key", "x.ct").failed(&["x.ct", "key tag", "one key set"]);
    bench.put("2:0:1", "other-server.key").done();
    bench.put("2:0:2", "server.key.ksk").failed(&["2:0:2"]);
    bench.put("3:0:1", "x.ct").failed(&["3:0:1"]);
    // Under another Key ID it is welcome.
    bench.put("3:1:1", "x.ct").done();
}

#[test]
fn parameter_sets() {
    let bench = Bench::with_keys();
    let files = ["--secret-key", "a.key", "--server-key", "b.key"];
    bench
        .run(["keygen", "--params", "NO_SUCH"].into_iter().chain(files))
        .failed(&["no parameter set is called \"NO_SUCH\"", SET]);
    bench.run(["keygen", "--params", SET].into_iter().chain(files)).failed(&[SET, "bits", "128", "--insecure-params"]);
    bench.encrypt("5", "x.ct").done();
    bench.run(["decrypt", "--secret-key", "me.key", "--bits", "4", "x.ct"]).failed(&["me.key", "--insecure-params"]);
    bench.run(["blob", "put", "--store", "s", "--id", "2:0:1", "server.key"]).failed(&["2:0:1", "--insecure-params"]);
    bench.run(["bench", "pbs", "--params", "NO_SUCH"]).failed(&["NO_SUCH"]);
}

#[test]
fn messages_and_tables() {
    let bench = Bench::with_keys();
    bench.encrypt("16", "x.ct").failed(&["message 16", "0 to 15"]);
    bench.encrypt("-1", "x.ct").failed(&["message -1", "0 to 15"]);
    let encrypt = |options: &[&str]| {
        let fixed = ["encrypt", "--secret-key", "me.key", "--insecure-params", "--message", "1", "--out", "x.ct"];
        bench.run(fixed.iter().chain(options))
    };
    encrypt(&["--min", "1", "--max", "5"]).failed(&["from 1 to 5", "min <= 0 <= max"]);
    encrypt(&["--bits", "40"]).failed(&["1048576"]);
    encrypt(&[]).usage(&["--bits", "--min and --max"]);
    encrypt(&["--min", "0"]).usage(&["--max"]);
    encrypt(&["--bits", "4", "--max", "5", "--min", "0"]).usage(&["cannot be used with"]);
    let table = |text: &str| {
        bench.write("f.txt", text);
        let fixed = ["test-vector", "--params", SET, "--insecure-params", "--function", "table", "--table", "f.txt"];
        bench.run(fixed.into_iter().chain(["--bits", "1", "--out", "f.tv"]))
    };
    table("0").failed(&["f.txt", "has 1 values", "0 to 1 need 2"]);
    table("0\none").failed(&["f.txt", "line 2", "`one`"]);
    table("0 2").failed(&["f.txt", "message 2", "0 to 1"]);
    let square = ["test-vector", "--params", SET, "--insecure-params", "--function", "square-quarter", "--out", "f.tv"];
    bench.run(square.into_iter().chain(["--bits", "4"])).usage(&["computes its encodings"]);
    encrypt(&["--bits", "4", "--range", "2:5"]).failed(&["message 1", "2 to 5"]);
    encrypt(&["--bits", "4", "--range", "-1:5"]).failed(&["message -1", "0 to 15"]);
    encrypt(&["--bits", "4", "--range", "5"]).usage(&["--range", "0:6"]);
    // More messages than the noise of the set leaves room for.
    let identity = |options: &[&str]| {
        let fixed = ["test-vector", "--params", SET, "--insecure-params", "--function", "identity", "--out", "f.tv"];
        bench.run(fixed.iter().chain(options))
    };
    identity(&["--bits", "9"]).usage(&["512 messages are too many", SET, "the limit is 2^-64", "--max-log2-p-fail"]);
    identity(&["--bits", "9", "--max-log2-p-fail", "1"]).usage(&["--max-log2-p-fail", "use -1000 to 0"]);
    assert!(!bench.path("x.ct").exists() && !bench.path("f.tv").exists());
}

#[test]
fn a_store_that_is_open_already() {
    let bench = Bench::with_keys();
    bench.put("2:0:1", "server.key").done();
    let device = Device::open(DeviceConfig::in_directory(bench.path("s")), Vec::new()).expect("the only one");
    bench.store(["blob", "ls"], &[]).failed(&["already open", "stop the other process", "--connect"]);
    bench.run(["info", "--store", "s"]).failed(&["already open", "--connect"]);
    bench.put("2:0:1", "server.key").failed(&["already open"]);
    drop(device);
    bench.store(["blob", "ls"], &[]).done();
    bench.store(["blob", "ls"], &["--space", "9"]).failed(&["s has no space 9", "putting a blob with --space 9"]);
    bench.store(["blob", "ls"], &["--memory", "4095"]).failed(&["4095", "4096"]);
    bench.write("s/data", [7; 4096]);
    bench.store(["blob", "ls"], &[]).failed(&["not a Ciphermill store", "nothing was changed"]);
}

/// Options without an effect are refused.
#[test]
fn options_that_are_of_another_place() {
    let bench = Bench::with_keys();
    bench.encrypt("5", "x.ct").done();
    let at = |verb: &[&str], rest: &[&str]| bench.run(verb.iter().chain(&["--connect", "127.0.0.1:1"]).chain(rest));
    at(&["blob", "put"], &["--id", "3:0:1", "--space", "7", "x.ct"]).usage(&["--space", "--namespace N"]);
    at(&["blob", "ls"], &["--memory", "1M"]).usage(&["--memory", "the server's"]);
    at(&["info"], &["--prometheus"]).usage(&["--prometheus", "--store DIR", "/metrics"]);
    at(&["info"], &["--memory", "1M"]).usage(&["--memory", "the server's"]);
    for option in [["--namespace", "1"], ["--host-nqn", "X"], ["--nqn", "X"]] {
        bench.store(["blob", "ls"], &option).usage(&["--host-nqn", "of --connect", "--space N"]);
        bench.run(["info", "--store", "s"].iter().chain(&option)).usage(&["of --connect"]);
    }
    for register in ["0:0:0", "1:0:0", "2:0:1", "4:0:1", "6:0:1"] {
        let put = ["--id", register, "--armed", "x.ct"];
        bench.store(["blob", "put"], &put).usage(&["--armed", register, "type 3, 7, 18 or 33"]);
    }
    assert!(!bench.path("s").exists());
    bench.store(["blob", "put"], &["--id", "3:0:1", "--armed", "x.ct"]).done();
}

#[test]
fn registers() {
    let bench = Bench::with_keys();
    bench.encrypt("5", "x.ct").done();
    bench.put("3:0", "x.ct").usage(&["type:key:data"]);
    bench.store(["blob", "put"], &["--type", "3", "--key", "0", "x.ct"]).usage(&["--data"]);
    bench.store(["blob", "put"], &["x.ct"]).usage(&["--id"]);
    bench.store(["blob", "get"], &["--id", "3:0:1", "--stored", "--compute"]).usage(&["cannot be used with"]);
    bench.put("77:0:1", "x.ct").failed(&["77:0:1", "unknown object type", "known types"]);
    bench.put("0:0:5", "x.ct").failed(&["0:0:5", "0:0:0"]);
    bench.put("3:0:1", "x.ct").done();
    bench.store(["blob", "get"], &["--id", "3:0:2", "--out", "y.ct"]).failed(&["3:0:2", "not stored"]);
    bench.store(["blob", "get"], &["--id", "3:0:1", "--compute", "--out", "y.ct"]).failed(&["3:0:1", "0:0:0"]);
    assert!(!bench.path("y.ct").exists());
}

#[test]
fn programs() {
    let bench = Bench::with_keys();
    bench.encrypt("5", "x.ct").done();
    bench.put("3:0:1", "x.ct").done();
    let check = |text: &str| {
        bench.write("p.cms", text);
        bench.store(["program", "check"], &["p.cms"])
    };
    check("# a comment\npop 3:0:1\nreturn 3:0:1\n").failed(&["p.cms: line 2: instruction 0", "stack is empty"]);
    check("mov 3:0:5, 3:0:1\n\nhomadd 3:0:5, 3:0:9\nreturn 3:0:5\n").failed(&["line 3", "3:0:9", "neither stored"]);
    check("homadd 3:0:1, 3:0:1\n").failed(&["line 1", "not return"]);
    check("push 3:0:1\nreturn 3:0:1\n").failed(&["line 2", "never popped"]);
    check("bootstrap 1:0:0, 3:0:1\nreturn 3:0:1").failed(&["line 1", "1:0:0", "neither stored"]);
    check("homadd 3:0:1\nreturn 3:0:1\n").failed(&["p.cms: line 1, column"]);
    check("homadd r1, r2\nreturn r1\n").failed(&["line 1", "--bind r1="]);
    check("").failed(&["p.cms", "instruction"]);
    check(&("push 3:0:1\npop 3:0:1\n".repeat(32768) + "return 3:0:1\n")).failed(&["more than 65536 instructions"]);
    bench.write("p.cms", [0xc3, 0x28]);
    bench.store(["program", "check"], &["p.cms"]).failed(&["p.cms", "byte 0 is not UTF-8"]);

    // Text may come through a pipe, which can be read once only.
    let text = std::io::pipe().and_then(|(reader, mut writer)| {
        std::io::Write::write_all(&mut writer, b"return 3:0:1\n")?;
        Ok(reader)
    });
    let mut piped = bench.command(["program", "check", "--store", "s", "/dev/stdin"]);
    assert_eq!(piped.stdin(text.expect("a pipe")).status().expect("it starts").code(), Some(0));

    // The binary form has indices and no lines; running refuses what checking does.
    bench.write("p.cms", "mov 3:0:5, 3:0:1\npop 3:0:5\nreturn 3:0:5\n");
    bench.run(["program", "asm", "p.cms", "--out", "p.prg"]).done();
    for verb in ["check", "run"] {
        bench.store(["program", verb], &["p.prg"]).failed(&["p.prg: instruction 1", "stack is empty"]);
        bench.store(["program", verb], &["p.cms"]).failed(&["p.cms: line 2: instruction 1"]);
    }
    bench.store(["program", "check"], &["p.prg", "--bind", "a=3:0:1"]).usage(&["p.prg is a binary program"]);
    bench.store(["program", "check"], &["p.cms", "--bind", "a"]).usage(&["name=type:key:data"]);
    bench.store(["program", "check"], &["p.cms", "--bind", "a=3:0:1", "--bind", "a=3:0:2"]).failed(&["`a` is bound"]);
    bench.copy_changed("p.prg", "bad.prg", |bytes| bytes[40] ^= 1);
    bench.run(["program", "disasm", "bad.prg"]).failed(&["bad.prg", "checksum"]);

    // A program that fails when a write triggers it leaves the register as it was.
    bench.put("0:0:0", "p.prg").done();
    bench.put("4:0:3", "x.ct").failed(&["0:0:0", "4:0:3", "stack is empty"]);
    bench.store(["blob", "get"], &["--id", "4:0:3", "--out", "y.ct"]).failed(&["not stored"]);
}

#[test]
fn a_program_that_would_take_too_long() {
    let bench = Bench::with_keys();
    bench.encrypt("5", "x.ct").done();
    bench
        .run([
            "test-vector",
            "--params",
            SET,
            "--insecure-params",
            "--function",
            "identity",
            "--bits",
            "4",
            "--out",
            "i.tv",
        ])
        .done();
    for (register, file) in [("2:0:1", "server.key"), ("2:0:2", "server.key.ksk"), ("1:0:0", "i.tv"), ("3:0:1", "x.ct")]
    {
        bench.put(register, file).done();
    }
    bench.write("p.cms", "bootstrap 1:0:0, 3:0:1\n".repeat(100) + "return 3:0:1\n");
    let limited = ["p.cms", "--max-program-seconds", "0.01"];
    bench.store(["program", "check"], &limited).failed(&[
        "estimated to run",
        "limit is 0.010 s",
        "--max-program-seconds",
    ]);
    bench.store(["program", "run"], &limited).failed(&["estimated to run"]);
    bench.store(["program", "check"], &["p.cms", "--max-program-seconds=-1"]).usage(&["--max-program-seconds"]);
}

/// Three multiplications and a bootstrap of a 5 do not return another number.
#[test]
fn a_program_whose_result_would_be_wrong() {
    let bench = Bench::with_keys();
    let vector = ["test-vector", "--params", SET, "--insecure-params", "--function", "identity", "--bits", "4"];
    bench.run(vector.into_iter().chain(["--out", "i.tv"])).done();
    let encrypt = ["encrypt", "--secret-key", "me.key", "--insecure-params", "--bits", "4"];
    bench.run(encrypt.into_iter().chain(["--message", "5", "--out", "x.ct"])).done();
    bench.run(encrypt.into_iter().chain(["--message", "0", "--range", "0:0", "--out", "z.ct"])).done();
    for (register, file) in
        [("2:0:1", "server.key"), ("2:0:2", "server.key.ksk"), ("1:0:0", "i.tv"), ("3:0:1", "x.ct"), ("3:0:2", "z.ct")]
    {
        bench.put(register, file).done();
    }
    bench.write("p.cms", "homintmult 3:0:1, 2\n".repeat(3) + "bootstrap 1:0:0, 3:0:1\nreturn 3:0:1\n");
    for verb in ["check", "run"] {
        bench.store(["program", verb], &["p.cms"]).failed(&["line 2", "messages from 0 to 60 exceed the 32 places"]);
    }
    // A zero stays in its range, and its noise grows.
    bench.write("n.cms", "homintmult 3:0:2, 50000\n".repeat(3) + "bootstrap 1:0:0, 3:0:2\nreturn 3:0:2\n");
    let refused = ["wrong with a probability of 2^", "the limit is 2^-64.0", "--max-log2-p-fail"];
    bench.store(["program", "check"], &["n.cms"]).failed(&refused);
    bench.store(["program", "run"], &["n.cms"]).failed(&refused);
    let accepted = bench.store(["program", "check"], &["n.cms", "--max-log2-p-fail", "0"]).done();
    assert!(
        accepted.contains("output 3:0:2: wrong with probability 2^") && accepted.contains("limit is 2^0"),
        "{accepted}"
    );
    overrides_are_reported(&bench);
    bench.write("one.cms", "bootstrap 1:0:0, 3:0:2\nreturn 3:0:2\n");
    let accepted = bench.store(["program", "check"], &["one.cms"]).done();
    assert!(accepted.contains("wrong with probability < 2^-128 (model: independent Gaussian noise)"), "{accepted}");
}

/// `program run` of `n.cms`, which is refused by default.
fn overrides_are_reported(bench: &Bench) {
    let run = |program: &str, options: &[&str]| bench.store(["program", "run"], &[&[program], options].concat());
    let text = run("n.cms", &["--max-log2-p-fail", "-0.125"]).done();
    assert_eq!(text.lines().count(), 2, "{text}");
    for part in ["\noverride: ", "up to 2^-0.125 (max-log2-p-fail)", "the default is 2^-64, or 2^-40 for the NVME_TFHE"]
    {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    assert!(!text.contains("assume-range"), "{text}");
    let report = run("n.cms", &["--max-log2-p-fail", "-0.125", "--assume-range", "--json"]).json();
    assert_eq!(report["override"], serde_json::json!({"max_log2_p_fail": -0.125, "assume_range": true}));
    bench.write("copy.cms", "return 3:0:2\n");
    let text = run("copy.cms", &["--assume-range"]).done();
    assert!(text.contains("unknown failure probability are accepted (assume-range)"), "{text}");
    // Without an override, or with a stricter limit, there is nothing to report.
    for options in [&[][..], &["--max-log2-p-fail", "-64"], &["--max-log2-p-fail", "-70"]] {
        let text = run("copy.cms", options).done();
        assert_eq!(text.lines().count(), 1, "{options:?}: {text}");
        let report = run("copy.cms", &[options, &["--json"]].concat()).json();
        assert!(report.get("override").is_none(), "{options:?}: {report}");
    }
}
