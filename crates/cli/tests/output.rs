//! The output of the command: exit codes 0 and 2, closed pipes, full disks, JSON, completions.

use std::fs::File;
use std::io;
use std::process::Stdio;

use crate::support::{Bench, SET};

#[test]
fn a_command_line_that_is_not_understood_ends_with_2() {
    let bench = Bench::new();
    bench.run::<&str>([]).usage(&["Usage: ciphermill"]);
    bench.run(["frobnicate"]).usage(&["frobnicate"]);
    bench.run(["keygen"]).usage(&["--params", "--secret-key", "--server-key"]);
    bench.run(["blob", "put", "x.ct"]).usage(&["--store"]);
    bench.run(["bench", "pbs", "--params", SET, "--samples", "0"]).usage(&["--samples"]);
    bench.run(["bench", "ks", "--params", SET, "--batch", "2"]).usage(&["--batch"]);
    bench.run(["info", "--prometheus"]).usage(&["--store"]);
    let same = ["--secret-key", "a", "--server-key", "a"];
    bench.run(["keygen", "--params", SET, "--insecure-params"].into_iter().chain(same)).usage(&["different files"]);
    assert_eq!(bench.names(), Vec::<String>::new());
}

#[test]
fn help_and_version_end_with_0() {
    let bench = Bench::new();
    assert_eq!(bench.run(["--version"]).done(), format!("ciphermill {}\n", env!("CARGO_PKG_VERSION")));
    for verb in [
        &["tfhe", "keygen"][..],
        &["blob", "put"],
        &["program", "run"],
        &["bench", "hmvp"],
        &["hmvp", "plan"],
        &["demo"],
    ] {
        let help = bench.run(verb.iter().chain(&["--help"])).done();
        assert!(help.contains("Example") && help.contains(&format!("$ ciphermill {}", verb.join(" "))), "{help}");
    }
}

#[test]
fn a_bad_instruction_set_is_refused_before_anything_is_done() {
    let bench = Bench::new();
    let run = |isa: &str| bench.command(["info", "--json"]).env("CIPHERMILL_ISA", isa).output().expect("it starts");
    let refused = run("sse");
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.starts_with("ciphermill: error: CIPHERMILL_ISA=\"sse\" is unknown; use portable"), "{message}");
    let report: serde_json::Value = serde_json::from_slice(&run("portable").stdout).expect("JSON");
    assert_eq!((&report["isa"]["used"], &report["isa"]["forced"]), (&"portable".into(), &true.into()));
}

/// `ciphermill … | head` closes the pipe early: no panic, no error.
#[test]
fn a_closed_pipe_is_no_failure() {
    let bench = Bench::with_keys();
    bench.put("2:0:1", "server.key").done();
    let get = ["blob", "get", "--store", "s", "--insecure-params", "--id", "2:0:1"];
    for arguments in [&["info"][..], &["info", "--json"], &["completions", "zsh"], &get, &["--help"]] {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        let output = bench.command(arguments).stdout(writer).stderr(Stdio::piped()).output().expect("it starts");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_a_failure() {
    let bench = Bench::new();
    let full = File::options().write(true).open("/dev/full").expect("Linux has it");
    let output = bench.command(["info"]).stdout(full).output().expect("it starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.starts_with("ciphermill: error: cannot write to standard output: No space left"), "{message}");
}

#[test]
fn every_bench_gives_a_complete_record_of_correct_results() {
    let bench = Bench::new();
    for (options, case) in [
        (&["pbs", "--backend", "fft", "--choice", "small"][..], format!("pbs/{SET}/small/fft")),
        (&["pbs", "--backend", "ntt"], format!("pbs/{SET}/big/ntt")),
        (&["pbs", "--batch", "3"], format!("pbs/{SET}/big/fft/batch3")),
        (&["ks"], format!("ks/{SET}")),
        (&["keygen"], format!("keygen/{SET}")),
    ] {
        let rest = ["--params", SET, "--threads", "1", "--samples", "3", "--json"];
        let ran = bench.run(["bench"].iter().chain(options).chain(&rest));
        assert!(ran.stderr.contains(&format!("note: {SET} has")), "an insecure set is named: {}", ran.stderr);
        let record = ran.json();
        assert_eq!(record["schema"], "ciphermill-bench/1");
        assert_eq!(record["case"], case);
        assert_eq!(record["params"]["set"], SET);
        assert_eq!((&record["threads"], &record["samples"]), (&1.into(), &3.into()), "{case}");
        assert_eq!((&record["correct"], &record["kind"]), (&true.into(), &"measured".into()), "{case}");
        let (min, median) = (record["min_ns"].as_u64().expect("a time"), record["median_ns"].as_u64().expect("a time"));
        assert!(1000 < min && min <= median, "{case}: {min} {median}");
        assert!(record["peak_rss_bytes"].as_u64().expect("a size") > 1 << 20, "{record}");
        assert!(record["isa"].is_string() && record["machine"]["cpu"].is_string(), "{record}");
        for number in ["cpu_family", "cpu_model", "cpu_stepping"] {
            let value = record["machine"].get(number).expect("a field of every record");
            assert!(value.is_u64() || value.is_null(), "{number}: {value}");
        }
    }
    let table = bench.run(["bench", "ks", "--params", SET, "--samples", "1"]).done();
    assert!(table.contains("median") && table.contains("yes"), "{table}");
}

/// Both figures of every set: by the estimator, and by the standard, which is coarser.
#[test]
fn info_has_both_security_figures_of_the_bfv_sets() {
    let bench = Bench::new();
    let report = bench.run(["info", "--json"]).json();
    let text = bench.run(["info"]).done();
    let sets = report["bfv_parameter_sets"].as_array().expect("a list");
    assert_eq!(sets.len(), ciphermill_bfv::parameters::SET_NAMES.len());
    for set in sets {
        let name = set["name"].as_str().expect("a name");
        let bits = set["security_bits"].as_f64().expect("bits");
        assert!(set["security_source"].as_str().is_some_and(|source| !source.is_empty()), "{set}");
        let standard = set["standard_bits"].as_u64().map_or("below 128".to_owned(), |bits| bits.to_string());
        let row = text.lines().find(|line| line.split(['│', '┆']).nth(1).is_some_and(|cell| cell.trim() == name));
        let cells: Vec<_> = row.expect(name).split(['│', '┆']).map(str::trim).collect();
        assert_eq!(cells[6..8], [format!("{bits:.1}"), standard], "{name}");
    }
    // Figures of docs/bfv.md: below 128 bits by the estimator, and within the bound of the standard.
    let set = sets.iter().find(|set| set["name"] == "BFV_4096").expect("a set");
    assert!((set["security_bits"].as_f64().expect("bits") - 125.1).abs() < 0.05, "{set}");
    assert_eq!(set["standard_bits"], 128);
    let toy = sets.iter().find(|set| set["name"] == "TEST_32").expect("a set");
    assert!(toy["standard_bits"].is_null(), "{toy}");
    for part in ["sets below 128 need --insecure-params", "standard of 2018: the highest level whose bound"] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn completions_know_the_verbs() {
    let bench = Bench::new();
    for (shell, mark) in [("bash", "complete -F"), ("zsh", "#compdef ciphermill"), ("fish", "complete -c ciphermill")] {
        let script = bench.run(["completions", shell]).done();
        for word in [mark, "keygen", "blob", "prometheus"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    bench.run(["completions", "tcsh"]).usage(&["bash, zsh, fish"]);
}

#[test]
fn a_program_survives_disassembly() {
    let bench = Bench::new();
    bench.write("p.cms", "mov r1, r2\nhomintmult r1, -3\nreturn r1\n");
    bench.run(["program", "asm", "p.cms", "--bind", "r2=3:5:2", "--out", "p.prg"]).done();
    for named in [&[][..], &["--named"]] {
        let text = bench.run(["program", "disasm", "p.prg"].iter().chain(named)).done();
        assert!(text.contains("homintmult"), "{text}");
        bench.write("again.cms", &text);
        bench.run(["program", "asm", "again.cms", "--out", "again.prg", "--force"]).done();
        assert_eq!(bench.read("again.prg"), bench.read("p.prg"), "{text}");
    }
    let lines = bench.run(["program", "disasm", "p.prg", "--json"]).json();
    assert_eq!(lines["lines"][1], "homintmult 3:5:4294901760, -3");
}
