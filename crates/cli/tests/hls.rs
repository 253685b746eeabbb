//! `hls`: sources, diagnostics, files, explorations and banks.

use std::fs;
use std::os::unix::fs::symlink;

use crate::page_support::root;
use crate::support::Bench;

/// The sizes of the paper.
const SIZES: [&str; 6] = ["-D", "N=256", "-D", "Q=3329", "-D", "B=2"];
const SOURCE: &str = "hw/hls/ntt_gs.c";
const FILES: [&str; 4] = ["ntt_gs.sv", "ntt_gs.json", "ntt_gs.schedule.txt", "ntt_gs.svg"];

/// A directory with the kernels of the repository as `hw`.
fn bench() -> Bench {
    let bench = Bench::new();
    symlink(root().join("hw"), bench.path("hw")).expect("a link");
    bench
}

/// A small source of one kernel.
const SMALL: &str = "void tiny(unsigned char a[8]) {\n  for (unsigned i = 0; i < 8; i++) a[i] = a[i] & 15;\n}\n";

#[test]
fn every_example_of_the_help_runs() {
    let bench = bench();
    let mut examples = 0;
    for verb in ["check", "compile", "explore", "banks"] {
        let help = bench.run(["hls", verb, "--help"]).done();
        for line in help.lines().filter_map(|line| line.trim().strip_prefix("$ ciphermill ")) {
            assert!(line.starts_with(&format!("hls {verb}")), "{line}");
            assert!(!bench.run(line.split_whitespace()).done().is_empty(), "{line}");
            examples += 1;
        }
    }
    assert_eq!(examples, 5);
}

#[test]
fn the_transform_of_the_paper_is_compiled_to_four_files() {
    let bench = bench();
    let compile = |more: &[&str]| {
        bench.run(["hls", "compile", SOURCE].iter().chain(&SIZES).chain(&["--out", "made"]).chain(more))
    };
    let report = compile(&["--json"]).json();
    let kernel = &report["kernels"][0];
    assert_eq!((kernel["interval"]["reached"].as_u64(), kernel["iterations"].as_u64()), (Some(1), Some(512)));
    let cycles = report["cycles"]["start_to_done"].as_u64().expect("cycles");
    assert!((514..=525).contains(&cycles), "{cycles}");
    let read = |name: &str| String::from_utf8(bench.read(&format!("made/{name}"))).expect("text");
    let saved: serde_json::Value = serde_json::from_str(&read("ntt_gs.json")).expect("JSON");
    assert_eq!(saved, report);
    assert!(read("ntt_gs.sv").contains("\nmodule ntt_gs ("));
    assert!(read("ntt_gs.schedule.txt").contains(&format!("{cycles} cycles from start to done")));
    assert!(read("ntt_gs.svg").starts_with("<svg "));

    // A file that exists stops all of them, and those of before stay as they are.
    bench.write("made/ntt_gs.sv", "mine");
    compile(&[]).failed(&["made/ntt_gs.sv exists already", "(--force)"]);
    FILES[..3].iter().for_each(|name| fs::remove_file(bench.path(format!("made/{name}"))).expect("it is there"));
    compile(&[]).failed(&["made/ntt_gs.svg exists already", "(--force)"]);
    assert_eq!(fs::read_dir(bench.path("made")).expect("the directory").count(), 1);
    let text = compile(&["--force"]).done();
    for name in FILES {
        assert!(text.contains(&format!("made/{name}")), "{text}");
    }
    // The same source makes the same files.
    let again = ["hls", "compile", SOURCE, "--out", "again"];
    bench.run(again.iter().chain(&SIZES)).done();
    for name in FILES {
        assert_eq!(bench.read(&format!("made/{name}")), bench.read(&format!("again/{name}")), "{name}");
    }
}

#[test]
fn the_module_of_wide_products_is_written_once_and_never_replaced() {
    let bench = bench();
    let source = "hw/hls/negacyclic.c";
    let sizes = ["-D", "N=256", "-D", "Q=8380417", "-D", "B=2"];
    let compile = |function: &str| {
        let words = ["hls", "compile", source, "--function", function, "--out", "made"];
        bench.run(words.iter().chain(&sizes))
    };
    assert!(compile("negacyclic").done().contains("made/prim_mul.sv"));
    let part = bench.read("made/prim_mul.sv");
    assert!(String::from_utf8_lossy(&part).contains("\nmodule prim_mul #("));
    // Another function needs the same file, which is there.
    let second = compile("negacyclic_inverse").done();
    assert!(second.contains("made/negacyclic_inverse.sv") && !second.contains("prim_mul.sv"), "{second}");
    // A file of this name with another text stops all files.
    bench.write("made/prim_mul.sv", "mine");
    compile("negacyclic_product").failed(&["made/prim_mul.sv exists already", "(--force)"]);
    assert!(!bench.path("made/negacyclic_product.sv").exists());
}

#[test]
fn functions_that_are_compiled_at_the_same_time_share_the_module_of_wide_products() {
    let bench = bench();
    for round in 0..4 {
        let out = format!("made{round}");
        let compile = |function: &str| {
            let words = ["hls", "compile", "hw/hls/negacyclic.c", "--function", function, "--out", &out];
            bench.run(words.iter().chain(&["-D", "N=256", "-D", "Q=8380417", "-D", "B=2"])).done()
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| compile("negacyclic"));
            compile("negacyclic_inverse");
            other.join().expect("the other one is compiled");
        });
        for file in ["negacyclic.sv", "negacyclic_inverse.sv", "prim_mul.sv"] {
            assert!(bench.path(format!("{out}/{file}")).exists(), "{file}");
        }
    }
}

#[test]
fn the_function_is_the_first_one_or_the_named_one() {
    let bench = bench();
    let check = |more: &[&str]| bench.run(["hls", "check", SOURCE].iter().chain(more));
    let all = check(&["--json"]).json();
    let names: Vec<&str> = all.as_array().expect("a list").iter().filter_map(|one| one["function"].as_str()).collect();
    assert_eq!(names, ["ntt_gs", "intt_gs"]);
    let one = check(&["--function", "intt_gs", "--json"]).json();
    assert_eq!(one, serde_json::json!([all[1]]));
    check(&["--function", "none"]).failed(&["hw/hls/ntt_gs.c:1:1: ", "none"]);
    bench.run(["hls", "compile", SOURCE, "--function", "intt_gs", "--out", "o"]).done();
    assert!(bench.path("o/intt_gs.sv").exists() && !bench.path("o/ntt_gs.sv").exists());
    bench.write("static.c", SMALL.replace("void", "static void"));
    bench.run(["hls", "check", "static.c"]).usage(&["static.c has no function that is not `static`", "--function"]);
    bench.run(["hls", "check", "static.c", "--function", "tiny"]).done();
}

#[test]
fn a_check_prints_intervals_cycles_and_banks() {
    let bench = bench();
    let text = bench.run(["hls", "check", SOURCE, "--function", "ntt_gs"].iter().chain(&SIZES)).done();
    let row = |name: &str| -> Vec<String> {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("│ {name} ")))
            .unwrap_or_else(|| panic!("{name}: {text}"));
        line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect()
    };
    assert_eq!(row("GS_BUTTERFLIES")[1..5], ["512", "1", "1", "1"]);
    assert_eq!(row("a")[..], ["a", "parameter", "256", "12", "4", "64", "read and write"]);
    assert!(text.contains("cycles from start to done, analytic; estimate for UltraScale+: "), "{text}");
    assert_eq!(fs::read_dir(bench.path(".")).expect("the directory").count(), 1, "nothing is written");
}

#[test]
fn diagnostics_have_place_bound_and_way_out() {
    let bench = bench();
    let check = |text: &str, more: &[&str]| {
        bench.write("k.c", text);
        bench.run(["hls", "check", "k.c"].iter().chain(more))
    };
    check("void k(void) {\n  while (1) { }\n}\n", &[])
        .failed(&["k.c:2:3: a `while` loop; use a `for` loop with a constant number of iterations"]);
    check("#if N != 8\n#error \"N must be 8\"\n#endif\n", &["-D", "N=4"])
        .failed(&["k.c:2:1: #error \"N must be 8\"; define"]);
    // Two accesses in a bank, at an interval that is too short for them.
    let twice = "void k(unsigned char a[128]) {\n  for (unsigned i = 0; i < 64; i++) {\n#pragma HLS pipeline II=1\n    \
                 a[i] = a[i + 64];\n    a[i + 64] = 1;\n  }\n}\n";
    check(twice, &[]).failed(&["k.c:", "in the same bank in iteration 0", "the ports require at least 2"]);
    // A header's diagnostic names the header, next to the source.
    fs::create_dir(bench.path("sub")).expect("a directory");
    bench.write("sub/k.h", "\nfloat x;\n");
    bench.write("sub/k.c", "#include \"k.h\"\n");
    bench.run(["hls", "check", "sub/k.c"]).failed(&["error: sub/k.h:2:"]);
    assert!(!bench.path("o").exists());
    check("void k(unsigned char a[8]) { }\n", &[]).failed(&["k.c:1:6: `k` does nothing"]);
    bench.write("k.c", "void k(void) { goto x; }");
    bench.run(["hls", "compile", "k.c", "--out", "o"]).failed(&["k.c:1:"]);
    assert!(!bench.path("o").exists(), "a refused source leaves no directory");
}

#[test]
fn sources_and_headers_come_from_one_folder() {
    let bench = Bench::new();
    bench.run(["hls", "check", "none.c"]).failed(&["cannot read none.c: "]);
    bench.run(["hls", "check", "."]).failed(&["file"]);
    bench.write("up.h", "");
    fs::create_dir(bench.path("sub")).expect("a directory");
    bench.write("sub/k.c", "// a comment\n#include \"../up.h\"\n");
    bench
        .run(["hls", "check", "sub/k.c"])
        .failed(&["sub/k.c:2: the header \"../up.h\" is not in the folder of the source"]);
    symlink("../up.h", bench.path("sub/up.h")).expect("a link");
    bench.write("sub/k.c", "#include \"up.h\"\n");
    bench
        .run(["hls", "check", "sub/k.c"])
        .failed(&["sub/k.c:1: the header \"up.h\" is not in the folder of the source"]);
    // Run in the folder itself.
    bench.write("here.h", "#define N 8\n");
    bench.write("here.c", format!("#include \"here.h\"\n{}", SMALL.replace("[8]", "[N]")));
    bench.run(["hls", "check", "here.c"]).done();
}

#[test]
fn macros_and_numbers_have_bounds() {
    let bench = Bench::new();
    bench.write("k.c", SMALL);
    let check = |more: &[&str]| bench.run(["hls", "check", "k.c"].iter().chain(more));
    check(&["-D", "8N=1"]).usage(&["use NAME=VALUE, as in N=256"]);
    check(&["-D", "N=1", "-DN=2"]).usage(&["-D N is given more than once; give one value"]);
    check(&["-DN", "--define", "M=3"]).done();
    check(&["--mhz", "0"]).usage(&["use 1 to 1000"]);
    check(&["--target", "abacus"]).usage(&["abacus", "ecp5"]);
    // A faster clock has more and shorter cycles.
    let depth =
        |mhz: &str| check(&["--mhz", mhz, "--json"]).json()[0]["kernels"][0]["depth"].as_u64().expect("a depth");
    assert!(depth("25") <= depth("200"));
}

#[test]
fn an_exploration_marks_the_best_points() {
    let bench = bench();
    let explore = |more: &[&str]| bench.run(["hls", "explore", SOURCE, "-D", "Q=3329"].iter().chain(more));
    let vary = ["--vary", "N=64,128", "--vary", "B=1,2,3"];
    let found = explore(&[&vary[..], &["--json", "--out", "o"]].concat()).json();
    let points = found["points"].as_array().expect("a list");
    assert_eq!(points.len(), 6);
    for point in points {
        let of =
            |name: &str| point["values"][name].as_str().and_then(|text| text.parse::<u64>().ok()).expect("a number");
        if of("B") == 3 {
            assert!(point["refusal"].as_str().expect("why").contains("B must be a power of two"), "{point}");
            continue;
        }
        let floor = of("N") / 2 * u64::from(of("N").ilog2()) / of("B");
        let cycles = point["figures"]["cycles"].as_u64().expect("cycles");
        assert!((floor..floor + 20).contains(&cycles), "{point}");
        assert_eq!(point["figures"]["multipliers"], of("B"));
    }
    assert!(points.iter().any(|point| point["pareto"] == true));
    let saved: serde_json::Value = serde_json::from_slice(&bench.read("o/ntt_gs.points.json")).expect("JSON");
    assert_eq!(saved, found);
    let csv = String::from_utf8(bench.read("o/ntt_gs.points.csv")).expect("text");
    assert_eq!(csv.lines().count(), 7);
    assert!(bench.read("o/ntt_gs.points.svg").starts_with(b"<svg "));
    let text = explore(&vary).done();
    assert!(text.contains("N=64 B=3: sizes.h:") && text.contains("estimates"), "{text}");

    explore(&[&vary[..], &["--out", "o"]].concat()).failed(&["o/ntt_gs.points.json exists already", "(--force)"]);
    let refused = ["nothing was run: every point is refused. B=3 and 1 more: hw/hls/sizes.h:"];
    explore(&["--vary", "B=3,5"]).failed(&refused);
    let saved =
        bench.run(["hls", "explore", SOURCE, "-D", "Q=3329", "--vary", "B=1", "--out", "new/folders", "--mhz", "1000"]);
    assert!(
        saved.done().contains("MHz: the greatest clock") && !bench.read("new/folders/ntt_gs.points.csv").is_empty()
    );
    // The first point need not be one that compiles.
    let mixed = explore(&["--vary", "B=3,1", "--json"]).json();
    assert_eq!(
        (&mixed["function"], mixed["points"][1]["figures"]["multipliers"].as_u64()),
        (&"ntt_gs".into(), Some(1))
    );
    explore(&["--vary", "B=3", "--function", "ntt_gs"])
        .failed(&["nothing was run: every point is refused. B=3: sizes.h:"]);
    explore(&["--vary", "Q=1,2"]).usage(&["macro Q is given more than once", "(--vary)"]);
    explore(&["--vary", "B="]).usage(&["use NAME=VALUE,VALUE,…, as in B=1,2,4"]);
    let many: Vec<String> = (0..1025).map(|number| number.to_string()).collect();
    explore(&["--vary", &format!("X={}", many.join(","))]).usage(&["the grid has 1025 points; use at most 1024"]);
}

#[test]
fn banks_are_printed_as_c() {
    let bench = Bench::new();
    let banks = |n: &str, b: &str| bench.run(["hls", "banks", "--n", n, "--b", b]);
    let text = banks("256", "2").done();
    assert!(text.ends_with("\nstatic const uint16_t bank_masks[2] = {0x0055, 0x00aa};\n"), "{text}");
    let json = bench.run(["hls", "banks", "--n", "256", "--b", "2", "--json"]).json();
    assert_eq!(json, serde_json::json!({ "n": 256, "b": 2, "banks": 4, "masks": [0x55, 0xaa] }));
    let header = bench.run(["hls", "banks", "--header"]).done();
    assert_eq!(header, fs::read_to_string(root().join("hw/hls/banks.h")).expect("the header"));
    banks("100", "2").usage(&["--n 100 is not a power of two; use 128"]);
    banks("256", "3").usage(&["--b 3 is not a power of two; use 4"]);
    banks("131072", "1").usage(&["use 4 to 65536"]);
    banks("32", "16").usage(&["16 butterflies a cycle of a transform of 32 words have no banks", "use --b 8 or less"]);
    banks("32", "8").done();
    bench.run(["hls", "banks", "--n", "256"]).usage(&["--b"]);
    bench.run(["hls", "banks", "--header", "--n", "256"]).usage(&["--header"]);
}
