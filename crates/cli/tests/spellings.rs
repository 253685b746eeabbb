//! Earlier spellings of verbs and options: they are accepted, behave identically, and are not in the help.

use crate::support::{Bench, SET};

/// `tfhe VERB` and `VERB` write the same bytes and print the same report.
#[test]
fn the_earlier_verbs_of_tfhe_behave_identically() {
    let bench = Bench::with_keys();
    let table = |verb: &[&str], order: &str| {
        let rest = [
            "--params",
            SET,
            "--insecure-params",
            "--function",
            "square-quarter",
            order,
            "small",
            "--force",
            "--json",
            "--out",
            "f.tv",
        ];
        let report = bench.run(verb.iter().copied().chain(rest)).json();
        (report, bench.read("f.tv"))
    };
    let new = table(&["tfhe", "test-vector"], "--key");
    assert_eq!(table(&["test-vector"], "--key"), new);
    assert_eq!(table(&["test-vector"], "--choice"), new);

    let encrypt = |verb: &[&str], order: &str, out: &str| {
        let rest = [
            "--secret-key",
            "me.key",
            "--insecure-params",
            "--message",
            "3",
            "--bits",
            "2",
            order,
            "big",
            "--json",
            "--out",
            out,
        ];
        let mut report = bench.run(verb.iter().copied().chain(rest)).json();
        report["path"] = "".into();
        report
    };
    let new = encrypt(&["tfhe", "encrypt"], "--key", "new.ct");
    assert_eq!(encrypt(&["encrypt"], "--choice", "old.ct"), new);
    for verb in [&["tfhe", "decrypt"][..], &["decrypt"]] {
        for file in ["new.ct", "old.ct"] {
            let rest = ["--secret-key", "me.key", "--insecure-params", "--bits", "2", file];
            assert_eq!(bench.run(verb.iter().copied().chain(rest)).done(), "3\n");
        }
    }
    for verb in [&["tfhe", "keygen"][..], &["keygen"]] {
        let rest = ["--params", SET, "--secret-key", "a.key", "--server-key", "a.server"];
        bench.run(verb.iter().copied().chain(rest)).failed(&[SET, "--insecure-params"]);
    }
}

#[test]
fn earlier_spellings_of_options_are_accepted() {
    let bench = Bench::new();
    for (flag, name) in [("--insecure-params", "new"), ("--insecure-bench", "old")] {
        let (secret, public) = (format!("{name}.key"), format!("{name}.pub"));
        let keygen =
            ["paillier", "keygen", "--key-bits", "512", "--secret-key", &secret, "--public-key", &public, flag];
        bench.run(keygen).done();
    }
    let bench = Bench::with_keys();
    bench.store(["blob", "put"], &["--id", "2:0:1", "server.key"]).done();
    let scrub = ["scrub", "--store", "s", "--memory", "16M", "--backend", "ntt", "--max-program-seconds", "1"];
    bench.run(scrub).done();
    bench.run(["info", "--store", "s", "--memory", "16M", "--insecure-params"]).done();
}

#[test]
fn earlier_spellings_are_not_in_the_help() {
    let bench = Bench::new();
    let help = bench.run(["--help"]).done();
    assert!(help.contains("\n  tfhe "), "{help}");
    for verb in ["keygen", "encrypt", "decrypt", "test-vector"] {
        assert!(!help.contains(&format!("\n  {verb}")), "{verb}: {help}");
    }
    for (verb, options) in [
        (&["tfhe", "encrypt"][..], &["--choice", "--insecure-bench"][..]),
        (&["paillier", "keygen"], &["--insecure-bench"]),
        (&["scrub"], &["--memory", "--backend", "--max-program-seconds", "--insecure-params"]),
        (&["info"], &["--memory", "--backend", "--max-program-seconds"]),
    ] {
        let help = bench.run(verb.iter().copied().chain(["--help"])).done();
        for option in options {
            assert!(!help.contains(option), "{verb:?} {option}: {help}");
        }
    }
}

/// The names come from the engines of the build.
#[test]
fn an_unknown_engine_is_refused_with_the_known_ones() {
    let bench = Bench::new();
    let multiply = ["hmvp", "multiply", "--galois-keys", "k", "--matrix", "m", "--vector", "v", "--out", "u"];
    bench.run(multiply.into_iter().chain(["--engine", "abacus"])).usage(&["abacus", "cpu"]);
    bench.run(["demo", "--engine", "abacus"]).usage(&["abacus", "cpu"]);
    bench.run(["serve", "--store", "s", "--engine", "abacus"]).usage(&["abacus", "cpu"]);
}
