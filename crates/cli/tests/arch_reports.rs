//! `arch`: the reports other than a run: ablation, sweeps, rooflines, energy, the papers' figures, the macro-pipeline, traces.

use crate::support::Bench;
use serde_json::Value;

/// The record with a case.
fn of<'a>(records: &'a Value, case: &str) -> &'a Value {
    let records = records.as_array().expect("a list");
    records.iter().find(|record| record["case"] == case).unwrap_or_else(|| panic!("{case} is not in {records:#?}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn every_help_has_an_example_that_runs() {
    let bench = Bench::new();
    let mut examples = 0;
    for verb in [
        &["run"][..],
        &["ablate"],
        &["sweep"],
        &["roofline"],
        &["energy"],
        &["compare"],
        &["machine"],
        &["pipeline", "run"],
        &["pipeline", "table3"],
        &["pipeline", "explore"],
    ] {
        let help = bench.run([&["arch"], verb, &["--help"]].concat()).done();
        for line in help.lines().filter_map(|line| line.trim().strip_prefix("$ ciphermill ")) {
            assert!(line.starts_with(&format!("arch {}", verb.join(" "))), "{line}");
            assert!(!bench.run(line.split_whitespace()).done().is_empty(), "{line}");
            examples += 1;
        }
    }
    assert!(examples >= 10, "{examples}");
}

#[test]
fn an_ablation_has_the_stages_of_the_paper() {
    let json = Bench::new().run(["arch", "ablate", "--n", "2^13", "--json"]).json();
    let cycles = ["base", "isa", "reshuffle", "dataflow"].map(|stage| {
        let record = of(&json, &format!("arch-ablation/paper/ntt/n8192/{stage}"));
        assert_eq!(record["label"], "simulated");
        number(&record["params"]["cycles_per_butterfly_and_lane"])
    });
    Bench::new().run(["arch", "ablate", "--n", "2^17"]).failed(&["nothing was run", "does not fit"]);
    for (ours, printed) in cycles.into_iter().zip([290.0, 9.85, 7.58, 2.25]) {
        assert!((ours / printed - 1.0).abs() < 0.1, "{cycles:?}");
    }
    // The base is a run of the scalar core, as are those that the array is compared with.
    let base = of(&json, "arch-ablation/paper/ntt/n8192/base");
    let single = of(&json, "arch-ablation/paper/ntt/n8192/single-core/textbook");
    assert_eq!((&base["machine"], &base["cycles"]), (&"rocket".into(), &single["cycles"]));
    assert!(number(&single["params"]["total"]) > 50_000.0);
    let last = of(&json, "arch-ablation/paper/ntt/n8192/dataflow");
    assert!((number(&last["params"]["average_total"]) - cycles[0] / cycles[3]).abs() < 1e-9);
    let fft = Bench::new().run(["arch", "ablate", "--n", "2^12", "--task", "fft", "--json"]).json();
    let other = of(&fft, "arch-ablation/paper/fft/n4096/dataflow/complex-interval=2/complex-latency=9");
    assert_eq!(other["params"]["changed"]["complex-interval"], 2);
}

#[test]
fn a_sweep_tells_what_cannot_be_in_its_place() {
    let bench = Bench::new();
    let sweep = |more: &[&str]| bench.run(["arch", "sweep", "--n", "4096"].iter().chain(more));
    let text = sweep(&["--vary", "adders=1,2", "--vary", "lanes=3,32"]).done();
    assert!(text.contains("lanes") && text.contains("is 3"), "{text}");
    // Nothing ran but the machine as it is.
    sweep(&["--vary", "lanes=33", "--json"]).failed(&["nothing was run", "core.lanes is 33"]);
    // The same on any number of threads, in the order that was asked.
    let records = |threads: &str| sweep(&["--vary", "adders=2,1", "--threads", threads, "--json"]).json();
    let one = records("1");
    assert_eq!(one, records("3"));
    let list = one.as_array().expect("a list");
    let (two, single) =
        (number(&list[list.len() - 2]["cycles_steady"]), number(&list[list.len() - 1]["cycles_steady"]));
    assert!(two < single, "{one}");
    let last = &list[list.len() - 1];
    assert_eq!((&last["params"]["changed"]["adders"], &last["params"]["lanes"]), (&1.into(), &512.into()));
    assert_eq!(last["case"], "arch-ntt/n4096/p512/adders=1");
    let slices = sweep(&["--vary", "slices=corners,0+3", "--vary", "dram-bytes=64", "--json"]).json();
    let far = of(&slices, "arch-ntt/n4096/p512/slices=0+3");
    assert!(
        number(&far["cycles_steady"]) > number(&of(&slices, "arch-ntt/n4096/p512/slices=corners")["cycles_steady"])
    );
    assert_eq!(far["params"]["busiest"], "memory-links");
    assert_eq!(of(&slices, "arch-ntt/n4096/p512/dram-bytes=64")["params"]["dram_steady_analytic"], 512.0);
    sweep(&["--vary", "slices=16"]).failed(&["nothing was run", "scratchpad.slices"]);
    sweep(&["--vary", "slices=round"]).usage(&["all, rows, corners, column, or core numbers"]);
    sweep(&["--vary", "voltage=1"]).usage(&["voltage"]);
    sweep(&["--vary", "lanes="]).usage(&["lanes"]);
    sweep(&["--vary", "lanes=99999999999999"]).usage(&["lanes"]);
    sweep(&["--product"]).usage(&["--vary"]);
    let many: Vec<String> = (1..=65).map(|value| value.to_string()).collect();
    let (a, b) = (format!("issue-width={}", many.join(",")), format!("queue-depth={}", many.join(",")));
    let error = sweep(&["--vary", &a, "--vary", &b, "--product"]);
    error.failed(&["4225", "4096"]);
}

#[test]
fn nothing_is_above_its_roof() {
    let bench = Bench::new();
    let json = bench.run(["arch", "roofline", "--machine", "paper", "--json"]).json();
    let records = json.as_array().expect("a list");
    assert!(records.len() > 10);
    for record in records {
        assert!(number(&record["utilization"]) <= 1.0, "{record}");
        assert_eq!(record["correct"], true);
        let from_dram = record["case"].as_str().is_some_and(|case| case.ends_with("/dram"));
        assert_eq!(record["label"], if from_dram { "analytic" } else { "simulated" }, "{record}");
    }
    let one = bench.run(["arch", "roofline", "--n", "4096", "--task", "product", "--json"]).json();
    let cases: Vec<Value> = one.as_array().expect("a list").iter().map(|record| record["case"].clone()).collect();
    assert_eq!(
        cases,
        ["scratchpad", "dram"].map(|level| format!("arch-array-roofline/ciphermill/product/n4096/{level}"))
    );
    bench.run(["arch", "roofline", "--of", "hmvp", "--n", "4096"]).usage(&["--n and --task are of arrays"]);
    let products = bench.run(["arch", "roofline", "--of", "hmvp"]).done();
    for word in ["u200-device", "key switch", "product 2048 × 256", "memory", "compute", "analytic"] {
        assert!(products.contains(word), "`{word}` is not in {products}");
    }
}

#[test]
fn what_is_built_in_can_be_copied() {
    let bench = Bench::new();
    bench.write("mine.toml", bench.run(["arch", "machine", "paper"]).done());
    let run = |machine: &str| bench.run(["arch", "run", "--n", "4096", "--machine", machine, "--json"]).json();
    assert_eq!(run("mine.toml"), run("paper"));
    bench.run(["arch", "machine", "boom"]).usage(&["boom"]);
}

#[test]
fn energy_is_a_range_by_a_table() {
    let bench = Bench::new();
    let json = bench.run(["arch", "energy", "--n", "4096", "--json"]).json();
    for record in json.as_array().expect("a list") {
        assert_eq!(record["label"], "analytic");
    }
    let text = bench.run(["arch", "energy", "--n", "4096", "--table", "paper"]).done();
    assert!(text.contains("multiplier") && text.contains("mm²"), "{text}");
    bench.write("bad.toml", "schema = 1");
    bench.run(["arch", "energy", "--table", "bad.toml"]).failed(&["bad.toml"]);
    bench.run(["arch", "energy", "--table", "none.toml"]).failed(&["none.toml", "literature"]);
}

#[test]
fn the_paper_s_figures_stand_beside_ours() {
    let text = Bench::new().run(["arch", "compare"]).done();
    for words in
        ["Fig. 3", "Fig. 9", "Fig. 10", "Fig. 11", "Fig. 12", "87.82", "140.75", "8.53", "analytic", "simulated"]
    {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
}

#[test]
fn the_pipeline_gives_table_3() {
    let bench = Bench::new();
    let json = bench.run(["arch", "pipeline", "table3", "--machine", "cham-paper", "--json"]).json();
    let record = of(&json, "arch-hmvp/cham-paper/e2/m2048/n256");
    let ratio = number(&record["params"]["paper_by_ours"]);
    assert!((ratio - 1.0).abs() < 0.01, "{record}");
    let fits = bench.run(["arch", "pipeline", "explore"]).done();
    assert!(fits.contains("designs") && fits.contains("the front of"), "{fits}");
    bench.run(["arch", "pipeline", "run", "--rows", "0"]).failed(&["rows"]);
    bench.run(["arch", "pipeline", "run", "--rows", "18446744073709551615"]).failed(&["rows"]);
    bench.run(["arch", "pipeline", "table3", "--machine", "paper"]).failed(&["paper", "cham-paper, cham-ciphermill"]);
}

/// The processes of a trace, whose events all have a start and a length on a track.
fn processes(trace: &Value) -> Vec<String> {
    let events = trace["traceEvents"].as_array().expect("a list of events");
    assert!(events.len() > 100);
    let mut names = Vec::new();
    for event in events {
        match event["ph"].as_str().expect("a kind") {
            "M" if event["name"] == "process_name" => {
                names.push(event["args"]["name"].as_str().expect("a name").to_owned())
            }
            "M" | "C" => {}
            "X" => assert!(event["ts"].is_number() && event["dur"].is_number() && event["tid"].is_number(), "{event}"),
            other => panic!("{other}: {event}"),
        }
    }
    names
}

#[test]
fn traces_have_cores_networks_and_memory_as_tracks() {
    let bench = Bench::new();
    let run = ["arch", "run", "--n", "4096", "--trace", "run.json"];
    assert!(bench.run(run).done().contains("yes"));
    let names = processes(&serde_json::from_slice(&bench.read("run.json")).expect("JSON"));
    for wanted in ["core 15", "data network", "control network", "data memory", "scratchpad"] {
        assert!(names.iter().any(|name| name.contains(wanted)), "`{wanted}` is none: {names:?}");
    }
    // A file that is there stays.
    bench.run(run).failed(&["run.json", "--force"]);
    bench.run(run.iter().chain(&["--force"])).done();
    bench.run(["arch", "run", "--n", "4096", "--trace", "no/such/place.json"]).failed(&["no/such/place.json"]);
    let rows = ["arch", "pipeline", "run", "--rows", "64", "--trace", "pipeline.json"];
    bench.run(rows).done();
    let names = processes(&serde_json::from_slice(&bench.read("pipeline.json")).expect("JSON"));
    assert!(names.iter().any(|name| name.contains("engine 1")), "{names:?}");
    assert_eq!(bench.names(), ["pipeline.json", "run.json"]);
}
