//! `arch`: reports of the cycle models, their JSON, and refused options.

use crate::support::Bench;
use serde_json::Value;

/// The fields that every record has.
const FIELDS: [&str; 9] =
    ["schema", "case", "params", "cycles", "cycles_steady", "utilization", "correct", "label", "machine"];

fn records(json: &Value) -> &Vec<Value> {
    let records = json.as_array().expect("a list");
    for record in records {
        let fields: Vec<_> = record.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(fields.len(), FIELDS.len(), "{fields:?}");
        assert!(FIELDS.iter().all(|field| fields.contains(field)), "{fields:?}");
        assert_eq!(record["schema"], "ciphermill-arch/1");
        assert!(["analytic", "simulated", "rtl-checked"].iter().any(|label| record["label"] == *label), "{record}");
    }
    records
}

#[test]
fn a_run_is_a_table_or_records() {
    let bench = Bench::new();
    let json = bench.run(["arch", "run", "--n", "4096", "--json"]).json();
    let [single, steady] = &records(&json)[..] else { panic!("{json}") };
    assert_eq!((&single["case"], &single["machine"]), (&"arch-ntt/n4096/p512".into(), &"ciphermill".into()));
    assert_eq!((&single["correct"], &single["label"]), (&true.into(), &"simulated".into()));
    assert_eq!((&single["params"]["in_flight"], &single["cycles_steady"]), (&1.into(), &Value::Null));
    // No run takes fewer cycles than its butterflies in all lanes.
    assert!(steady["cycles_steady"].as_f64().expect("a number") >= 48.0, "{steady}");
    let text = bench.run(["arch", "run", "--n", "2^12"]).done();
    for word in [
        "steady",
        "bound",
        "adders",
        "busiest",
        "multipliers",
        "yes",
        "ntt of 2^12 on `ciphermill`, 16 × 32 lanes",
        "simulated",
    ] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    assert!(text.contains(&format!(" {} ", single["cycles"])), "{text}");
}

#[test]
fn every_task_runs() {
    let bench = Bench::new();
    for task in ["ntt", "intt", "fft", "ifft", "product", "key-switch"] {
        let run = ["arch", "run", "--n", "4096", "--task", task, "--in-flight", "1", "--runs", "2", "--json"];
        let json = bench.run(run).json();
        let [record] = &records(&json)[..] else { panic!("{json}") };
        assert_eq!((&record["correct"], &record["case"]), (&true.into(), &format!("arch-{task}/n4096/p512").into()));
        assert!(record["cycles_steady"].as_f64() >= record["params"]["bound_cycles"].as_f64(), "{record}");
        let busiest = &record["params"]["bounds_analytic"][record["params"]["busiest"].as_str().expect("a name")];
        let share = busiest.as_f64().expect("cycles") / record["cycles_steady"].as_f64().expect("cycles");
        assert_eq!(record["utilization"].as_f64(), Some(share), "{record}");
    }
    let cyclic = ["arch", "run", "--n", "4096", "--ring", "cyclic", "--modulus", "998244353", "--json"];
    let json = bench.run(cyclic).json();
    assert_eq!((&json[0]["params"]["ring"], &json[0]["correct"]), (&"cyclic".into(), &true.into()));
}

/// Faults that a command line has by itself.
#[test]
fn what_is_no_run_ends_with_2() {
    let bench = Bench::new();
    let run = |more: &[&str]| bench.run(["arch", "run"].iter().chain(more));
    for n in ["0", "3000", "-1", "2^64", "2^", "3^13", "x", "99999999999999999999"] {
        run(&[&format!("--n={n}")]).usage(&["--n", "a power of two is wanted, as 8192 or 2^13"]);
    }
    run(&["--task", "dct"]).usage(&["`dct` is unknown; use one of ntt, intt, fft, ifft, product, key-switch"]);
    run(&["--in-flight", "0"]).usage(&["--in-flight"]);
    run(&["--runs", "0"]).usage(&["--runs"]);
    run(&["--digits", "17"]).usage(&["--digits"]);
    run(&["--task", "key-switch", "--ring", "cyclic"]).usage(&["X^N + 1"]);
    bench.run(["arch"]).usage(&["Usage: ciphermill arch"]);
}

/// What only the machine or the modulus shows.
#[test]
fn what_does_not_fit_says_what_would() {
    let bench = Bench::new();
    let run = |more: &[&str]| bench.run(["arch", "run"].iter().chain(more));
    run(&["--n", "2^17"]).failed(&["131072 values does not fit", "ntt of 2^17", "from 1024 to 65536"]);
    run(&["--n", "2^63"]).failed(&["from 1024 to 65536"]);
    run(&["--n", "2"]).failed(&["from 1024 to 65536"]);
    run(&["--n", "2^16", "--in-flight", "4"]).failed(&["4 transforms in flight", "at most 1"]);
    run(&["--n", "2^63", "--task", "product"]).failed(&["product of 2^63", "from 4096 to 16384"]);
    run(&["--n", "2^16", "--task", "intt", "--machine", "paper"])
        .failed(&["data memory", "the largest N that fits is 32768"]);
    run(&["--runs", "1000"]).failed(&["1000 runs: use 1 to"]);
    run(&["--modulus", "15"]).failed(&["15"]);
    run(&["--modulus", "12289"]).failed(&["modulus 12289 has no root of unity for N = 8192"]);
    run(&["--modulus", "1152921504606830593"]).failed(&["below 2^31"]);
}

#[test]
fn machines_that_cannot_be_are_named() {
    let bench = Bench::new();
    let run = |machine: &str| bench.run(["arch", "run", "--n", "4096", "--machine", machine]);
    run("rocket").failed(&["rocket: no such file", "ciphermill, paper, lane"]);
    run(".").failed(&["cannot read ."]);
    bench.write("binary.toml", [0xff, 0xfe, 0x00]);
    run("binary.toml").failed(&["binary.toml", "utf-8"]);
    bench.write("empty.toml", "");
    run("empty.toml").failed(&["empty.toml", "cannot be read"]);
    bench.write("long.toml", vec![b'#'; 1 << 21]);
    run("long.toml").failed(&["long.toml", "at most"]);
    bench.write("longer.toml", vec![b'#'; 1 << 17]);
    run("longer.toml").failed(&["longer.toml", "at most 65536"]);
    let good = ciphermill_arch::array::CIPHERMILL;
    for (from, to, words) in [
        ("lanes = 32", "lanes = 33", "core.lanes is 33"),
        ("rows = 4", "rows = 3", "grid.rows times grid.columns is 12"),
        ("issue_width = 4", "issue_width = 0", "core.issue_width is 0"),
        ("link_bytes = 128", "link_bytes = -1", "link_bytes"),
        ("clock_ghz = 1.0", "clock_ghz = nan", "clock_ghz is NaN"),
        ("adders = 2", "adders = 2\nsubtractors = 1", "subtractors"),
    ] {
        bench.write("bad.toml", good.replacen(from, to, 1));
        run("bad.toml").failed(&["bad.toml", words]);
    }
    // One that can be is taken.
    bench.write("slow.toml", good.replacen("adders = 2", "adders = 1", 1).replacen("\"ciphermill\"", "\"slow\"", 1));
    assert!(run("slow.toml").done().contains("on `slow`"));
}
