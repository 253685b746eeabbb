//! The engine `model` as a user runs it: the values of the CPU, the cycles of the hardware, and refusals.

use crate::support::{Bench, Ran};

/// Runs a command; the words of `line` are its arguments.
fn run(bench: &Bench, line: &str) -> Ran {
    bench.run(line.split(' '))
}

/// The paper's program at the paper's dimensions. The cycles are those that the RTL takes, as tests of `cosim` show for
/// smaller n.
#[test]
fn table_5_has_the_right_product_and_the_cycles_of_the_engine() {
    let report = run(&Bench::new(), "demo --engine model --x 3 --y 4 --json").json();
    assert_eq!((&report["correct"], &report["decrypted"]), (&true.into(), &12.into()), "{report}");
    let cost = &report["engine_cost"];
    assert_eq!(cost["program"]["cycles"], 16_450_097, "{cost}");
    assert_eq!(cost["bootstrap_cycles"], 8_224_666);
    assert_eq!((&cost["addition_cycles"], &cost["integer_product_cycles"]), (&167.into(), &210.into()));
    assert_eq!(cost["engine"], "model-tfhe, simulated, 2 circuits");
    // The device has given the program to the engine as one job.
    assert_eq!((&report["instructions"]["program"]["count"], report.get("homadd")), (&1.into(), None));
    assert_eq!(cost["program"]["ports"].as_array().map(Vec::len), Some(10));
}

/// The same program under the big key, which the engine does not run whole: the device gives it the bootstraps.
#[test]
fn under_the_big_key_the_engine_computes_the_bootstraps() {
    let report = run(&Bench::new(), "demo --engine model --key big --json").json();
    assert_eq!((&report["correct"], &report["choice"]), (&true.into(), &"big".into()), "{report}");
    let cost = &report["engine_cost"];
    assert_eq!((&cost["program"], &cost["addition_cycles"]), (&serde_json::Value::Null, &serde_json::Value::Null));
    assert!(cost["bootstrap_cycles"].as_u64().is_some_and(|cycles| (8_200_000..8_300_000).contains(&cycles)), "{cost}");
    assert_eq!(report["instructions"]["homadd"]["count"], 1);
}

#[test]
fn paillier_has_the_bits_of_the_cpu() {
    let bench = Bench::new();
    run(&bench, "paillier keygen --key-bits 512 --insecure-params --secret-key p.key --public-key p.pub").done();
    let paillier = |line: &str| run(&bench, &format!("paillier {line} --insecure-params"));
    paillier("encrypt --public-key p.pub --value 3,-5 --engine model --out x.ct").done();
    for engine in ["model", "cpu"] {
        let line = format!("multiply x.ct --value 2,-3 --scalar-bits 8 --public-key p.pub --engine {engine}");
        paillier(&format!("{line} --out {engine}.ct")).done();
    }
    assert_eq!(bench.read("model.ct"), bench.read("cpu.ct"));
    assert_eq!(paillier("decrypt --secret-key p.key model.ct").done(), "6\n15\n");
    run(&bench, "bench modexp --bits 1025 --engine model").failed(&["1025", "1024"]);
}

#[test]
fn what_the_hardware_lacks_is_refused_before_any_work() {
    let bench = Bench::new();
    let before = bench.names();
    for line in ["bench ks --params TEST_SMALL_U64", "bench hmvp --rows 2 --cols 3"] {
        run(&bench, &format!("{line} --engine model")).usage(&["engine model does not implement", "use cpu"]);
    }
    run(&bench, "demo --params TEST_SMALL_U64 --engine model").failed(&["computes no set TEST_SMALL_U64", "N = 16384"]);
    run(&bench, "serve --store new --listen 127.0.0.1:0 --allow-host any --engine model")
        .failed(&["engine model", "--insecure-params"]);
    assert_eq!(bench.names(), before);
}
