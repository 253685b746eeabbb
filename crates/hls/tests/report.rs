//! Reports of designs: JSON, text and picture.

use std::path::Path;

use ciphermill_hls::Source;
use ciphermill_hls::report::{Report, SCHEMA};
use ciphermill_hls::schedule::Target;

const HALVES: &str = "void halves(unsigned char a[4]) {
LOOP:
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline II=1
    a[i] = a[i] / 2 + 1;
  }
}
";

fn report(source: &Source, function: &str, defines: &[(&str, &str)]) -> Report {
    let defines: Vec<(String, String)> =
        defines.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let target = Target::ecp5(100.0);
    let design = source.compile(&defines, function, &target).unwrap_or_else(|error| panic!("{error}"));
    Report::of(&design, source, &defines, &target)
}

fn halves() -> Report {
    report(&Source::new("halves.c", HALVES), "halves", &[])
}

fn ntt(butterflies: &str) -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hw/hls/ntt_gs.c");
    let source = Source::read(&path).unwrap_or_else(|error| panic!("{error}"));
    report(&source, "ntt_gs", &[("N", "256"), ("Q", "3329"), ("B", butterflies)])
}

/// `CIPHERMILL_REWRITE_GOLDEN=1 cargo test -p ciphermill-hls --test report` rewrites the files of `tests/golden`.
fn golden(name: &str, made: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("CIPHERMILL_REWRITE_GOLDEN").is_some() {
        std::fs::write(&path, made).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let known = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    for (number, (made, known)) in made.lines().zip(known.lines()).enumerate() {
        assert_eq!(made, known, "{name}, line {}", number + 1);
    }
    assert_eq!(made.len(), known.len(), "{name}");
}

#[test]
fn the_reports_of_a_small_kernel_are_the_golden_ones() {
    let report = halves();
    golden("halves.json", &report.to_json());
    golden("halves.schedule.txt", &report.schedule_text());
    golden("halves.svg", &report.picture());
}

#[test]
fn a_report_survives_its_json() {
    for report in [halves(), ntt("2")] {
        assert_eq!(report.schema, SCHEMA);
        let json = report.to_json();
        let read = Report::from_json(&json).expect("its own JSON");
        assert_eq!(read, report);
        // Pictures and tables can be drawn again from a saved report.
        assert_eq!((read.picture(), read.schedule_text()), (report.picture(), report.schedule_text()));
        assert_eq!(read.to_json(), json);
    }
    assert!(Report::from_json("{}").is_err());
}

#[test]
fn a_report_is_the_same_in_every_run() {
    let (first, second) = (ntt("4"), ntt("4"));
    assert_eq!(first.to_json(), second.to_json());
    assert_eq!(first.picture(), second.picture());
}

#[test]
fn the_data_of_a_block_memory_bounds_the_clock() {
    let notes = |rows: u32, mhz: f64| {
        let text = format!(
            "void f(unsigned char a[{rows}], unsigned char b[4]) {{
  for (unsigned i = 0; i < 4; i++) {{
#pragma HLS pipeline II=1
    b[i] = a[i];
  }}
}}"
        );
        let (source, target) = (Source::new("f.c", &text), Target::ecp5(mhz));
        let design = source.compile(&[], "f", &target).unwrap_or_else(|error| panic!("{error}"));
        Report::of(&design, &source, &[], &target).notes()
    };
    assert!(notes(256, 200.0).is_empty() && notes(257, 160.0).is_empty());
    let expected = "the longest path takes 5.9 ns, more than a period of 200 MHz; use a clock of 169 MHz or less";
    assert_eq!(notes(257, 200.0), [expected]);
}

#[test]
fn a_path_longer_than_the_period_and_the_directions_of_streams_are_in_the_files() {
    let text = "void f(unsigned char a[8], unsigned char b[8]) {
#pragma HLS interface axis port=a
#pragma HLS interface axis port=b
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline II=1
    b[i] = a[i] ^ 1;
  }
}";
    let source = Source::new("f.c", text);
    let report = |mhz: f64| {
        let target = Target::ecp5(mhz);
        let design = source.compile(&[], "f", &target).unwrap_or_else(|error| panic!("{error}"));
        Report::of(&design, &source, &[], &target)
    };
    let (reached, beyond) = (report(100.0), report(1000.0));
    let ports: Vec<&str> = reached.memories.iter().map(|one| one.ports.as_str()).collect();
    assert_eq!(ports, ["stream in", "stream out"]);
    assert!(reached.notes().is_empty() && reached.target.attainable_mhz() >= 100);
    // A register, one function with its wire, and the setup of the next register.
    assert_eq!((beyond.target.longest_ps, beyond.target.attainable_mhz()), (2200, 454));
    assert!(beyond.schedule_text().contains("Note: the longest path takes 2.2 ns"), "{}", beyond.schedule_text());
    for mhz in [99.0, 120.0, 150.0, 454.0] {
        assert!(report(mhz).notes().is_empty(), "{mhz}");
    }
}

#[test]
fn cycles_follow_from_interval_gap_and_depth() {
    for butterflies in ["1", "2", "8"] {
        let report = ntt(butterflies);
        let kernel = &report.kernels[0];
        let runs = kernel.iterations / kernel.loops.last().map_or(1, |one| one.trips);
        assert_eq!((runs, kernel.loops.len()), (8, 2));
        let expected = u64::from(kernel.interval.reached) * (kernel.iterations as u64 - 1)
            + u64::from(kernel.gap) * (runs as u64 - 1)
            + u64::from(kernel.depth);
        assert_eq!(kernel.cycles, expected);
        let parts: Vec<u64> = kernel.follows.split([' ', '·', '+']).filter_map(|part| part.parse().ok()).collect();
        let [interval, iterations, gap, ends, depth] = parts[..] else { panic!("{}", kernel.follows) };
        assert_eq!(interval * iterations + gap * ends + depth, kernel.cycles);
        // Every access lies within the iteration, and the last one ends it.
        assert_eq!(kernel.accesses.iter().map(|access| access.cycle + 1).max(), Some(kernel.depth));
        assert!(kernel.interval.at_bound);
        assert_eq!((kernel.interval.ports, kernel.interval.reached), (1, 1));
    }
}

#[test]
fn a_transform_has_the_reads_writes_banks_and_products_of_its_butterflies() {
    for (given, butterflies) in [("1", 1), ("2", 2), ("4", 4)] {
        let report = ntt(given);
        let kernel = &report.kernels[0];
        let of = |memory: &str, kind: &str| {
            kernel.accesses.iter().filter(|access| access.memory == memory && access.kind == kind).count()
        };
        assert_eq!(
            (of("a", "read"), of("a", "write"), of("w", "read")),
            (2 * butterflies, 2 * butterflies, butterflies)
        );
        let a = report.memories.iter().find(|memory| memory.name == "a").expect("the parameter");
        assert_eq!((a.elements, a.bits, a.banks, a.rows), (256, 12, 2 * butterflies, 128 / butterflies));
        assert_eq!((a.role.as_str(), a.ports.as_str()), ("parameter", "read and write"));
        // A butterfly multiplies a difference of 13 bits by a power of 12 bits.
        let sizes: Vec<_> =
            report.hardware.multipliers.iter().map(|one| (one.wider_bits, one.narrower_bits, one.count)).collect();
        assert_eq!(sizes, [(13, 12, butterflies as u64)], "{sizes:?}");
        assert_eq!(kernel.place.file, "ntt.h");
        assert!(report.estimate.luts > 100 && report.estimate.kind == "estimate");
    }
}

#[test]
fn each_operand_of_an_operation_is_an_operation_or_a_constant() {
    let report = ntt("2");
    let kernel = &report.kernels[0];
    let ids: std::collections::BTreeSet<&str> = kernel.operations.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids.len(), kernel.operations.len());
    for one in &kernel.operations {
        assert!(one.begin <= one.cycle && one.cycle <= one.until && one.until < kernel.depth, "{one:?}");
        assert!(one.from_ps <= one.to_ps && one.to_ps <= 10_000, "{one:?}");
        for operand in one.operands.iter().filter(|operand| !operand.starts_with('x')) {
            assert!(operand.parse::<i128>().is_ok() || ids.contains(operand.as_str()), "{one:?}");
        }
    }
}

#[test]
fn pictures_are_well_formed_and_within_their_size() {
    for report in [halves(), ntt("2"), ntt("16")] {
        let svg = report.picture();
        let size = |name: &str| -> f64 {
            let rest = svg.split_once(&format!(" {name}=\"")).expect("the size").1;
            rest.split('"').next().and_then(|text| text.parse().ok()).expect("a number")
        };
        let (width, height) = (size("width"), size("height"));
        assert!((1000.0..2000.0).contains(&width) && (100.0..6000.0).contains(&height), "{width} × {height}");
        for line in svg.lines().filter(|line| line.starts_with("<rect class")) {
            let number = |name: &str| -> f64 {
                let rest = line.split_once(&format!(" {name}=\"")).expect("an attribute").1;
                rest.split('"').next().and_then(|text| text.parse().ok()).expect("a number")
            };
            assert!(number("x") >= 0.0 && number("x") + number("width") <= width, "{line}");
            assert!(number("y") >= 0.0 && number("y") + number("height") <= height, "{line}");
        }
        assert_eq!(svg.matches('<').count(), svg.matches('>').count());
        // The iterations that follow are lighter, and the ports have lanes.
        assert!(svg.contains("class=\"operation next\"") || svg.contains("class=\"read next\""));
        assert!(svg.contains(">a: reads<") && svg.contains(">a: writes<"));
    }
}
