//! The demo as a user runs it: at the paper's full dimensions once, at small sets in its variants.

use std::process::{Command, Output};

use serde_json::Value;

fn demo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ciphermill")).arg("demo").args(arguments).output().expect("the binary runs")
}

/// Runs with `--json` and checks the common contents of all reports.
fn report(arguments: &[&str]) -> Value {
    let output = demo(&[arguments, &["--json"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(report["correct"], true, "{report}");
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("not a number: {value} in {report}"));
    for phase in ["keygen", "store", "encrypt", "compute", "read", "decrypt", "total", "bootstrap"] {
        assert!(number(&report["seconds"][phase]) >= 0.0, "{phase}");
    }
    assert!(number(&report["seconds"]["bootstrap"]) > 0.0);
    assert!(number(&report["log2_p_fail"]) <= -64.0);
    assert!(number(&report["security_bits"]) >= 0.0);
    assert!(number(&report["peak_rss_bytes"]) > 0.0);
    for pair in report["pairs"].as_array().expect("a list") {
        let field = |name: &str| pair[name].as_i64().expect("an integer");
        assert_eq!(field("x") * field("y"), field("decrypted"));
        assert!(field("x") <= report["x_range"][1].as_i64().expect("a bound"));
        assert!(field("y") <= report["y_range"][1].as_i64().expect("a bound"));
    }
    report
}

/// The real size, with the peak of its memory.
#[test]
fn the_papers_dimensions() {
    let report = report(&["--x", "3", "--y", "4"]);
    assert_eq!((&report["decrypted"], &report["params"]), (&12.into(), &"NVME_TFHE_PAPER".into()));
    assert!((121.0..123.0).contains(&report["security_bits"].as_f64().expect("a number")));
    assert_eq!((&report["test_seed"], &report["paper"]["bootstrap_fpga_s"]), (&Value::Null, &0.24996.into()));
    let peak = report["peak_rss_bytes"].as_u64().expect("bytes");
    println!("seconds: {}, peak {peak} bytes", report["seconds"]);
    assert!(peak <= 3_200_000_000, "{peak}");
}

#[test]
fn both_key_choices_back_ends_and_torus_widths() {
    for arguments in [
        &["--params", "TEST_SMALL_U64", "--pairs", "10"][..],
        &["--params", "TEST_SMALL_U64", "--pairs", "10", "--choice", "big", "--backend", "ntt"],
        &["--params", "TEST_SMALL_U32", "--pairs", "10", "--backend", "ntt"],
    ] {
        let report = report(arguments);
        assert_eq!(report["pairs"].as_array().expect("a list").len(), 10);
        // Two bootstraps a product, one program each.
        assert_eq!((&report["bootstraps"], &report["programs"]), (&20.into(), &10.into()));
    }
}

/// A set of the required security needs no opt-in and says nothing of one.
#[test]
fn a_secure_set() {
    let output = demo(&["--params", "MESSAGE_4_2M64"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("correct"), "{text}");
    assert!(!text.contains("opts in"), "{text}");
    // One bit leaves a range in one order only; the demo finds it.
    assert!(demo(&["--params", "MESSAGE_1_2M64"]).status.success());
    let seeded = report(&["--params", "TEST_SMALL_U64", "--seed", "7"]);
    assert_eq!((&seeded["test_seed"], &seeded["insecure_opt_in"]), (&7.into(), &true.into()));
    assert!(seeded["paper"].is_null());
    let output = demo(&["--params", "TEST_SMALL_U64", "--seed", "7"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("below 128") && text.contains("TEST USE ONLY"), "{text}");
    compares_fairly(&text, &seeded);
}

/// The text names the conditions under which the paper's figures and the measured ones compare.
fn compares_fairly(text: &str, report: &Value) {
    let threads = format!("{} threads", report["threads"]);
    for part in [
        "The paper's figures hold at its dimensions only. Ryzen 9: the library TFHEpp; `make bench CASES=pbs` measures tfhe-rs",
        "docs/papers.md",
        &format!(" path, {threads}, "),
        &format!("Both use {threads}"),
        "algorithm1 transforms rows during the product, as the paper does; row-packed has a prepared matrix.",
    ] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn errors_are_one_line_and_leave_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let dir = directory.path().to_str().expect("a plain name");
    for (arguments, code, part) in [
        (&["--params", "TEST_SMALL_U64", "--x", "99"][..], 1, "message 99 is outside the encoding, which holds 0 to"),
        (&["--params", "TEST_SMALL_U64", "--y", "-1"], 1, "message -1 is outside the encoding, which holds 0 to"),
        (&["--params", "NO_SUCH_SET"], 1, "no parameter set is called \"NO_SUCH_SET\""),
        (&["--params", "TEST_SMALL_U64", "--pairs", "0"], 2, "use 1 to 100000"),
        (&["--frobnicate"], 2, "unexpected argument"),
    ] {
        let output = demo(&[arguments, &["--dir", dir]].concat());
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
        assert!(errors.contains(part), "{arguments:?}: {errors}");
        assert!(code == 2 || errors.lines().count() == 1, "{errors}");
    }
    let output = demo(&["--params", "TEST_SMALL_U64", "--dir", &format!("{dir}/missing")]);
    assert_eq!(output.status.code(), Some(1));
    let output = demo(&["--function", "sbox", "--dir", &format!("{dir}/missing")]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    let expected =
        format!("ciphermill: error: cannot make a folder in {dir}/missing: No such file or directory (os error 2)\n");
    assert_eq!(errors, expected);
    assert!(demo(&["--params", "TEST_SMALL_U64", "--dir", dir]).status.success());
    assert_eq!(std::fs::read_dir(dir).expect("the directory").count(), 0, "the demo cleans up");
}

/// A function alone: a built-in one, and one from a file.
#[test]
fn functions_of_words() {
    let directory = tempfile::tempdir().expect("room");
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("room");
        path.to_str().expect("UTF-8").to_owned()
    };
    let report = |arguments: &[&str]| -> Value {
        let output = demo(&[arguments, &["--json"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("one JSON object")
    };
    let record = report(&["--function", "sbox", "--words", "3", "--seed", "7"]);
    assert_eq!((&record["words"], &record["wrong_words"]), (&3.into(), &0.into()), "{record}");
    assert_eq!((&record["input_bits"], &record["output_bits"]), (&8.into(), &8.into()), "{record}");
    assert!(record["log2_p_fail"].as_f64().is_some_and(|log2| log2 < -64.0), "{record}");
    // Every word of three bits; the values need six.
    let squares = file("squares.csv", "x,square\n0,0\n1,1\n2,4\n3,9\n4,16\n5,25\n6,36\n7,49\n");
    let record = report(&["--function", &squares, "--bits", "3", "--all"]);
    assert_eq!((&record["words"], &record["wrong_words"]), (&8.into(), &0.into()), "{record}");
    assert_eq!((&record["input_bits"], &record["output_bits"]), (&3.into(), &6.into()), "{record}");
    let output = demo(&["--function", "isqrt", "--bits", "2", "--words", "1", "--seed", "7"]);
    let text = String::from_utf8_lossy(&output.stdout);
    for part in [
        "The function isqrt",
        "of encrypted words, 2 bits to 2 bits,",
        "1 word decrypted: correct; a result is wrong with probability < 2^-128 (model: independent Gaussian noise).\n",
        "If another table follows, its selection reads a result wrongly with probability 2^-",
        "250.0 ms, a bootstrap",
        "TEST USE ONLY",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    let short = file("short.csv", "1\n2\n");
    for (arguments, code, part) in [
        (&["--function", "sine"][..], 2, "use isqrt, crc16, sbox or the name of a .csv file"),
        (&["--function", "isqrt", "--bits", "21"], 2, "use 1 to 20"),
        (&["--function", "sbox", "--words", "3", "--all"], 2, "cannot be used with"),
        (&["--bits", "14"], 2, "--function"),
        (&["--function", "sbox", "--params", "TEST_SMALL_U64"], 2, "cannot be used with"),
        (
            &["--function", &short, "--bits", "2"],
            1,
            "2 of 4 arguments have no value, the first is 2; give every argument one, or use --bits 1",
        ),
    ] {
        let output = demo(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
        assert!(errors.contains(part), "{part:?} is not in: {errors}");
    }
}

/// The paper's limit is named for the functions that it concerns.
#[test]
fn functions_that_the_papers_bootstrap_looks_up() {
    let directory = tempfile::tempdir().expect("room");
    let constant = directory.path().join("constant.csv");
    std::fs::write(&constant, "5\n".repeat(1 << 10)).expect("room");
    let constant = constant.to_str().expect("UTF-8");
    for (function, bits, concerned) in [
        ("isqrt", "14", true),
        ("sbox", "8", true),
        ("isqrt", "1", false),
        ("isqrt", "2", false),
        (constant, "10", false),
    ] {
        let arguments = ["--function", function, "--bits", bits, "--words", "1", "--seed", "7"];
        let output = demo(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout);
        let sentence = "The NVMe TFHE platform paper promises any function of 14 bits. A bootstrap with its parameters looks up \
                        any function of at most ";
        assert_eq!(text.contains(sentence), concerned, "{function} {bits}: {text}");
    }
}

/// The failure probability of the demo is that of the device's verifier for the same program.
#[test]
fn the_demo_judges_as_the_device_does() {
    let bench = crate::support::Bench::new();
    bench.run(["tfhe", "keygen", "--params", "WORD_2M64", "--secret-key", "w.key", "--server-key", "w.server"]).done();
    bench.run(["tfhe", "table", "--function", "sbox", "--out", "f.tbl"]).done();
    bench.run(["tfhe", "encrypt", "--secret-key", "w.key", "--message", "9", "--word", "8", "--out", "n.word"]).done();
    bench.write("f.cms", "wselect n, 0\nwlook t, n\nreturn n\n");
    bench.run(["program", "asm", "f.cms", "--bind", "n=33:1:1", "--bind", "t=32:1:0", "--out", "f.prg"]).done();
    for (register, file) in [
        ("2:1:1", "w.server"),
        ("2:1:2", "w.server.ksk"),
        ("2:1:3", "w.server.cnv"),
        ("32:1:0", "f.tbl"),
        ("33:1:1", "n.word"),
    ] {
        bench.run(["blob", "put", "--store", "s", "--id", register, file]).done();
    }
    let checked = bench.run(["program", "check", "--store", "s", "f.prg", "--json"]).json();
    let output = demo(&["--function", "sbox", "--words", "1", "--json"]);
    let record: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(record["log2_p_fail"], checked["outputs"][0]["log2_p_fail"], "{record}");
    let next = record["log2_p_fail_next_selection"].as_f64().expect("a number");
    assert!(next < -64.0 && next > record["log2_p_fail"].as_f64().expect("a number"), "{record}");
}

/// A demo that a signal ends leaves nothing behind.
#[test]
fn signals_remove_the_folder() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::fs;
    use std::time::{Duration, Instant};
    let directory = tempfile::tempdir().expect("a directory");
    // In the demo of a function and in the whole one, while they make keys and while they compute.
    for (arguments, wait, signal, code) in [
        (&["--function", "isqrt", "--all"][..], 3000, Signal::INT, 130),
        (&["--function", "isqrt", "--all"], 3000, Signal::TERM, 143),
        (&["--function", "isqrt", "--all"], 0, Signal::INT, 130),
        (&[], 300, Signal::INT, 130),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ciphermill"))
            .args(["demo", "--dir"])
            .arg(directory.path())
            .args(arguments)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let begun = Instant::now();
        while fs::read_dir(directory.path()).expect("ours").next().is_none() {
            assert!(
                begun.elapsed() < Duration::from_secs(60) && child.try_wait().expect("ours").is_none(),
                "no folder"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(wait));
        let pid = Pid::from_child(&child);
        kill_process(pid, signal).expect("it runs");
        let ended = child.wait_with_output().expect("ours");
        assert_eq!(ended.status.code(), Some(code), "{arguments:?}: {ended:?}");
        let errors = String::from_utf8_lossy(&ended.stderr);
        let name = if signal == Signal::INT { "SIGINT" } else { "SIGTERM" };
        assert_eq!(errors, format!("ciphermill: ended by {name}\n"), "{arguments:?}");
        let left = fs::read_dir(directory.path()).expect("ours").count();
        assert_eq!(left, 0, "{arguments:?}: the folder stays");
    }
}
