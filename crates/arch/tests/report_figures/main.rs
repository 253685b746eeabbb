//! The figures of docs/arch.md and of the README, and the data in docs/arch, are what the models give. `CIPHERMILL_WRITE_DOCS=1` writes
//! them there; scripts/arch.sh does, and draws the pictures.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ciphermill_arch::array::{CIPHERMILL, LANE, Machine, PAPER};
use ciphermill_arch::pipeline::{CHAM_CIPHERMILL, CHAM_PAPER, PipelineMachine, table3, table3_records};
use ciphermill_arch::report::{
    ENERGY_LITERATURE, ENERGY_PAPER, EnergyTable, FFT_BUTTERFLIES, FFT_SIZES, Operation, PAPER_SIZES, Plan, RunReport,
    Sweep, Workload, ablate, array_roofline, compare, default_axes, default_workloads, energy, fft_experiments,
    measure,
};
use serde::Serialize;

fn machine(text: &str) -> Machine {
    Machine::from_toml(text).expect("a committed machine")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn writes() -> bool {
    std::env::var_os("CIPHERMILL_WRITE_DOCS").is_some_and(|value| value == "1")
}

/// Compares a report with docs/arch/<name>.json, or writes it there.
fn keep(name: &str, value: &impl Serialize) {
    let text = serde_json::to_string_pretty(value).expect("JSON") + "\n";
    let path = root().join("docs/arch").join(format!("{name}.json"));
    if writes() {
        std::fs::write(&path, text).expect("it is written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{} has other data than the models give; run scripts/arch.sh", path.display());
}

/// Tests write parts of the same page.
static PAGES: Mutex<()> = Mutex::new(());

/// Compares the part of a page between two marks, or writes it there.
fn keep_part(page: &str, name: &str, part: &str) {
    let _one_at_a_time = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let path = root().join(page);
    let text = std::fs::read_to_string(&path).expect("a page");
    let (begin, end) =
        (format!("<!-- {name} by crates/arch/tests/report_figures.rs -->\n"), format!("<!-- end of {name} -->"));
    let start = text.find(&begin).unwrap_or_else(|| panic!("{page}: where {name} begins")) + begin.len();
    let stop = text.find(&end).unwrap_or_else(|| panic!("{page}: where {name} ends"));
    if writes() {
        std::fs::write(&path, [&text[..start], part, &text[stop..]].concat()).expect("it is written");
        return;
    }
    assert!(&text[start..stop] == part, "{page} has other {name} than these:\n{part}");
}

/// A table in Markdown.
fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut out = format!("\n| {} |\n|{}\n", head.join(" | "), " --- |".repeat(N));
    for row in rows {
        writeln!(out, "| {} |", row.join(" | ")).expect("a string");
    }
    out.push('\n');
    out
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}"))
}

#[test]
fn runs() {
    let mut records = Vec::new();
    let mut reports: Vec<(String, Operation, usize, RunReport)> = Vec::new();
    for text in [CIPHERMILL, PAPER, LANE] {
        let machine = machine(text);
        for (operation, sizes) in [
            (Operation::Ntt, 10..=16),
            (Operation::Intt, 12..=16),
            (Operation::Fft, 12..=14),
            (Operation::Product, 12..=14),
            (Operation::KeySwitch, 12..=13),
        ] {
            if machine.name == "lane" && operation != Operation::Ntt {
                continue;
            }
            for log in sizes {
                let workload = Workload { operation, ..Workload::ntt(1 << log) };
                let Ok(report) = measure(&machine, &Plan { workload, in_flight: None, runs: None }) else { continue };
                assert!(report.correct(), "{operation:?} 2^{log}");
                records.extend(report.records());
                reports.push((machine.name.clone(), operation, log, report));
            }
        }
    }
    keep("run", &records);
    let row = |(machine, operation, log, report): &(String, Operation, usize, RunReport)| {
        let (single, steady) = (&report.lines[0], report.lines.last().expect("a line"));
        [
            format!("`{machine}`"),
            operation.name().to_owned(),
            format!("2^{log}"),
            single.first.to_string(),
            number(steady.steady, 1),
            steady.in_flight.to_string(),
            format!("{:.0}", steady.bound),
            format!("{:.2}", steady.ratio()),
            number(steady.adders.map(|adders| 100.0 * adders), 1),
        ]
    };
    let head = ["machine", "task", "N", "one alone", "steady", "in flight", "bound", "ratio", "adders, %"];
    keep_part("docs/arch.md", "runs", &table(head, reports.iter().map(row)));
    let short = |wanted: &str, log: usize| {
        let found =
            reports.iter().find(|(name, operation, l, _)| name == wanted && *operation == Operation::Ntt && *l == log);
        let (.., report) = found.expect("a transform that fits");
        let steady = report.lines.last().expect("a line");
        (report.lines[0].first, number(steady.steady, 0), number(steady.adders.map(|adders| 100.0 * adders), 0))
    };
    let rows = [13, 14, 16].map(|log| {
        let (ours, paper) = (short("ciphermill", log), short("paper", log));
        let both = |(first, steady, adders): (u64, String, String)| [first.to_string(), steady, adders];
        let ([a, b, c], [d, e, f]) = (both(ours), both(paper));
        [format!("2^{log}"), a, b, c, d, e, f]
    });
    let head = ["N", "ours: one alone", "steady", "adders, %", "the paper's array: one alone", "steady", "adders, %"];
    keep_part("README.md", "arch-figures", &table(head, rows));
}

#[test]
fn ablations() {
    let paper = machine(PAPER);
    let ntt = ablate(&paper, Operation::Ntt, &PAPER_SIZES).expect("a base");
    let fft = ablate(&paper, Operation::Fft, &FFT_SIZES).expect("runs");
    assert!(ntt.correct() && fft.correct());
    keep("ablation", &ntt);
    keep("ablation-fft", &fft);
    let of = |ablation: &ciphermill_arch::report::Ablation| {
        let row = |size: &ciphermill_arch::report::SizeAblation| {
            let figure = |name: &str| {
                let stage = size.stages.iter().find(|stage| stage.stage == name);
                stage.map_or(String::new(), |stage| format!("{:.2}", stage.cycles_per_butterfly))
            };
            let n = format!("2^{}", size.polynomial_size.ilog2());
            [n, figure("base"), figure("isa"), figure("reshuffle"), figure("dataflow"), number(size.total, 2)]
        };
        let head = ["N", "base", "+ISA", "+reshuffle", "+dataflow", "gain of all"];
        table(head, ablation.sizes.iter().map(row))
    };
    let single = ntt.sizes.iter().map(|size| {
        let [a, b, c] = [0, 1, 2].map(|at| format!("{:.0}", size.single_core[at].speedup));
        [format!("2^{}", size.polynomial_size.ilog2()), a, b, c]
    });
    let single = table(["N", "over `textbook`", "over `naive`", "over `shoup`"], single);
    keep_part("docs/arch.md", "ablation", &(of(&ntt) + "Over one single scalar core:\n" + &single));
    let experiments = fft_experiments(&paper, &FFT_SIZES, &FFT_BUTTERFLIES).expect("runs");
    keep("ablation-fft-butterflies", &experiments);
    let rows = experiments.iter().map(|one| {
        [
            one.interval.to_string(),
            one.latency.to_string(),
            format!("{:.2}", one.steps[0]),
            format!("{:.2}", one.steps[1]),
            number(one.total, 2),
        ]
    });
    let experiments = table(["interval", "latency", "reshuffle", "dataflow", "both"], rows);
    keep_part("docs/arch.md", "fft", &(of(&fft) + "Average gains with other complex butterflies:\n" + &experiments));
}

#[test]
fn sweeps() {
    let plan = Plan { workload: Workload::ntt(1 << 13), in_flight: None, runs: None };
    let sweep = Sweep { axes: default_axes(), product: false, plan };
    let points = sweep.run(&machine(CIPHERMILL), 2, &|_, _| {}).expect("few points");
    keep("sweep", &points);
    let row = |point: &ciphermill_arch::report::SweepPoint| {
        let changed: Vec<_> = point.changed.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let record = point.record.as_ref();
        let steady = record.and_then(|record| record.cycles_steady);
        let flight = record.map_or(String::new(), |record| record.params["in_flight"].to_string());
        [changed.join(", "), number(steady, 1), flight, number(point.ratio, 2)]
    };
    let head = ["changed", "steady", "in flight", "ratio to the bound"];
    keep_part("docs/arch.md", "sweep", &table(head, points.iter().map(row)));
}

#[test]
fn rooflines() {
    let mut rows = Vec::new();
    for text in [CIPHERMILL, PAPER] {
        let roofline = array_roofline(&machine(text), &default_workloads()).expect("runs");
        keep(&format!("roofline-{}", roofline.machine), &roofline);
        for point in roofline.points.iter().filter(|point| [1 << 13, 1 << 16].contains(&point.polynomial_size)) {
            rows.push([
                format!("`{}`", roofline.machine),
                format!("{} 2^{}", point.operation, point.polynomial_size.ilog2()),
                point.level.to_owned(),
                format!("{:.2}", point.intensity),
                format!("{:.0}", point.attainable),
                format!("{:.0}", point.reached),
                format!("{:.1}", 100.0 * point.utilization),
            ]);
        }
    }
    let head = ["machine", "task", "from and to", "butterflies per byte", "attainable", "reached", "of peak, %"];
    keep_part("docs/arch.md", "roofline", &table(head, rows));
}

#[test]
fn energies() {
    let mut all = Vec::new();
    for text in [CIPHERMILL, PAPER] {
        for costs in [ENERGY_LITERATURE, ENERGY_PAPER] {
            let costs = EnergyTable::from_toml(costs).expect("a committed table");
            for log in [12, 13, 14] {
                all.extend(energy(&machine(text), &Workload::ntt(1 << log), &costs).expect("runs"));
            }
        }
    }
    keep("energy", &all);
    let row = |one: &ciphermill_arch::report::Energy| {
        [
            format!("`{}`", one.machine),
            one.table.clone(),
            format!("2^{}", one.polynomial_size.ilog2()),
            one.level.to_owned(),
            format!("{:.2} – {:.2}", one.energy_nj.low / 1e3, one.energy_nj.high / 1e3),
        ]
    };
    let head = ["machine", "table", "N", "from and to", "µJ a transform, analytic"];
    keep_part("docs/arch.md", "energy", &table(head, all.iter().map(row)));
}

#[test]
fn comparison() {
    let rows = compare(&machine(PAPER), &machine(CIPHERMILL)).expect("runs");
    keep("paper", &rows);
    let row = |row: &ciphermill_arch::report::Comparison| {
        let label = row.label.map_or("", |label| label.name()).to_owned();
        [row.place.to_owned(), row.what.clone(), number(row.paper, 2), number(row.ours, 2), label, row.note.clone()]
    };
    let head = ["where", "what", "paper", "ours", "ours is", "how"];
    keep_part("docs/arch.md", "paper", &table(head, rows.iter().map(row)));
}

#[test]
fn pipelines() {
    let mut records = Vec::new();
    for text in [CHAM_PAPER, CHAM_CIPHERMILL] {
        let machine = PipelineMachine::from_toml(text).expect("a committed machine");
        records.extend(table3_records(&table3(&machine, &[4096]).expect("runs")));
    }
    keep("pipeline-table3", &records);
}
