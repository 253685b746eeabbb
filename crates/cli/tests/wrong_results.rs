//! Commands that check their results fail when a result is wrong. The test asks the command for wrong results; builds for
//! release have no such switch.

use crate::support::Bench;

/// Runs a command with wrong results: it must fail with 1 and say so.
fn wrong(bench: &Bench, line: &str) {
    let ran = bench.run_with(line.split(' '), "CIPHERMILL_TEST_FAULT", "wrong-result");
    assert_eq!(ran.code, 1, "{line}: {}", ran.stderr);
    assert!(ran.stderr.contains("wrong"), "{line}: {}", ran.stderr);
}

/// A command whose results are right, and then wrong.
fn right_and_wrong(bench: &Bench, line: &str) {
    bench.run(line.split(' ')).done();
    wrong(bench, line);
}

#[test]
fn of_the_demo() {
    let bench = Bench::new();
    right_and_wrong(&bench, "demo --params TEST_SMALL_U64 --pairs 2");
    right_and_wrong(&bench, "demo --params TEST_SMALL_U64 --pairs 2 --json");
}

#[test]
fn of_the_benchmarks() {
    let bench = Bench::new();
    for line in [
        "bench pbs --params TEST_SMALL_U64 --samples 2",
        "bench ks --params TEST_SMALL_U64 --samples 2",
        "bench keygen --params TEST_SMALL_U64 --samples 1",
        "bench hmvp --rows 64 --cols 256 --samples 2",
        "bench modexp --bits 512 --samples 2",
        "bench paillier --key-bits 2048 --batch 2 --rows 2 --samples 1",
    ] {
        right_and_wrong(&bench, line);
        wrong(&bench, &format!("{line} --json"));
    }
}

#[test]
fn of_the_cycle_models() {
    let bench = Bench::new();
    for line in [
        "arch run --n 4096",
        "arch run --n 4096 --json",
        "arch sweep --n 4096 --vary lanes=16,32",
        "arch ablate --n 4096",
        "arch roofline --n 4096",
        "arch scalar --n 1024",
    ] {
        right_and_wrong(&bench, line);
    }
}
