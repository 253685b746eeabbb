//! Figures of the array.

use ciphermill_arch::array::{CIPHERMILL, LANE, Machine, PAPER};
use ciphermill_arch::report::{
    ABLATION_IN_FLIGHT, ENERGY_LITERATURE, ENERGY_PAPER, EnergyTable, FFT_BUTTERFLIES, FFT_SIZES, Line, Operation,
    PAPER_SIZES, Plan, ReportError, RunReport, Slices, Sweep, Workload, ablate, array_roofline, compare, default_axes,
    default_workloads, energy, fft_experiments, measure,
};

use crate::keep::{keep, keep_part, number, table};

fn machine(text: &str) -> Machine {
    Machine::from_toml(text).expect("a committed machine")
}

#[test]
fn runs() {
    let mut records = Vec::new();
    let mut reports: Vec<(String, Operation, usize, RunReport)> = Vec::new();
    let mut left_out = Vec::new();
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
                let report = match measure(&machine, &Plan { workload, in_flight: None, runs: None }) {
                    Err(ReportError::DoesNotFit { .. }) => {
                        left_out.push(format!("{}: {workload}", machine.name));
                        continue;
                    }
                    report => report.expect("a run"),
                };
                assert!(report.correct(), "{operation:?} 2^{log}");
                records.extend(report.records());
                reports.push((machine.name.clone(), operation, log, report));
            }
        }
    }
    // Every other workload has a row in the table.
    assert_eq!(left_out, ["paper: intt of 2^16"]);
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
            format!("{} {:.0} %", steady.busiest, 100.0 * steady.utilization),
            format!("{:.0}", steady.dram),
            steady.factor_cycles.to_string(),
        ]
    };
    let head = [
        "machine",
        "task",
        "N",
        "one alone",
        "steady",
        "in flight",
        "bound",
        "ratio",
        "adders, %",
        "busiest",
        "DRAM to DRAM, analytic",
        "factors once, analytic",
    ];
    keep_part("docs/arch.md", "runs", &table(head, reports.iter().map(row)));
    keep_part("docs/arch.md", "resident", &resident(&reports));
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

/// A key switch of three digits at 2^13, with its transforms on the chip or from DRAM to DRAM.
fn resident(reports: &[(String, Operation, usize, RunReport)]) -> String {
    let steady = |machine: &str, wanted: Operation| {
        let found =
            reports.iter().find(|(name, operation, log, _)| (name.as_str(), *operation, *log) == (machine, wanted, 13));
        found.and_then(|(.., report)| report.lines.last()).expect("a task that fits")
    };
    let row = |machine: &str| {
        let [ntt, intt, whole] =
            [Operation::Ntt, Operation::Intt, Operation::KeySwitch].map(|task| steady(machine, task));
        // Three forward and two inverse transforms. The six products with the key are left out.
        let apart = |cycles: fn(&Line) -> f64| 3.0 * cycles(ntt) + 2.0 * cycles(intt);
        // The number of key switches after which loading the key pays off, if separate transforms get their factors for free.
        let uses = |whole: &Line, cycles: f64| {
            format!("{:.0}", (whole.factor_cycles as f64 / (apart(|line| line.dram) - cycles)).ceil())
        };
        [
            format!("`{machine}`"),
            format!("{:.0}", whole.cycles()),
            format!("{:.0}", whole.dram),
            format!("{:.0}", apart(|line| line.dram)),
            format!("{:.1}", apart(|line| line.dram) / whole.cycles()),
            whole.factor_cycles.to_string(),
            uses(whole, whole.cycles()),
            uses(whole, whole.dram),
        ]
    };
    let head = [
        "machine",
        "digits and results in the scratchpad",
        "digits and results in DRAM, analytic",
        "each transform from DRAM to DRAM, analytic",
        "ratio of the third column to the first",
        "factors and key once, analytic",
        "pays off after, scratchpad",
        "pays off after, DRAM",
    ];
    table(head, ["ciphermill", "paper"].map(row))
}

/// Scratchpad slices at every core, or at a few cores that the others reach over the memory network.
#[test]
fn slices() {
    let (mut records, mut rows) = (Vec::new(), Vec::new());
    // One alone, two in flight and the best steady state, of each row.
    let mut cycles = Vec::new();
    for text in [CIPHERMILL, PAPER] {
        for log in [13, 14, 16] {
            for slices in Slices::NAMED {
                let mut machine = machine(text);
                machine.scratchpad.slices = slices.cores(&machine.grid);
                let number_of = if slices == Slices::All { 16 } else { machine.scratchpad.slices.len() };
                let workload = Workload::ntt(1 << log);
                let best = measure(&machine, &Plan { workload, in_flight: None, runs: None }).expect("it fits");
                let two = match measure(&machine, &Plan { workload, in_flight: Some(2), runs: None }) {
                    Err(ReportError::DoesNotFit { .. }) => None,
                    report => Some(report.expect("a run")),
                };
                for report in [Some(&best), two.as_ref()].into_iter().flatten() {
                    assert!(report.correct(), "{slices} 2^{log}");
                    records.extend(report.records().into_iter().map(|mut record| {
                        record.case += &format!("/slices={slices}");
                        record.with("slices", slices.to_string())
                    }));
                }
                let (single, steady) = (&best.lines[0], best.lines.last().expect("a line"));
                let two = two.as_ref().and_then(|report| report.lines.last());
                let two_steady = two.and_then(|line| line.steady);
                cycles.push([Some(single.first as f64), two_steady, steady.steady]);
                rows.push([
                    format!("`{}`", machine.name),
                    format!("2^{log}"),
                    format!("{number_of}, {slices}"),
                    single.first.to_string(),
                    number(two_steady, 1),
                    number(steady.steady, 1),
                    steady.in_flight.to_string(),
                    number(steady.adders.map(|adders| 100.0 * adders), 1),
                    format!("{} {:.0} %", steady.busiest, 100.0 * steady.utilization),
                ]);
            }
        }
    }
    keep("slices", &records);
    let head = ["machine", "N", "slices", "one alone", "two in flight", "steady", "in flight", "adders, %", "busiest"];
    // The targets of our array, and the cycles that follow from the paper's utilization. With each: the first row of its group, and the
    // column.
    let wanted = [
        ("`ciphermill`, 2^13, one alone", 200.0, 0, 0),
        ("`ciphermill`, 2^13, steady", 135.0, 0, 2),
        ("`ciphermill`, 2^14, one alone", 400.0, 4, 0),
        ("`ciphermill`, 2^14, steady", 275.0, 4, 2),
        ("`ciphermill`, 2^16, steady", 1250.0, 8, 2),
        ("`paper`, 2^13, two in flight", 236.85, 12, 1),
    ];
    let reached = wanted.map(|(what, most, first, which)| {
        let cell = |at: usize| {
            let taken = cycles[first + at][which].expect("a steady state");
            // A slice at each core meets every target.
            assert!(at > 0 || taken <= most, "{what}: {taken}");
            format!("{taken:.1}{}", if taken <= most { "" } else { ", missed" })
        };
        [what.to_owned(), most.to_string(), cell(0), cell(1), cell(2), cell(3)]
    });
    let reach = ["target", "at most", "16, all", "8, rows", "4, corners", "4, column"];
    let part = table(head, rows)
        + "Targets, in cycles. Only a slice at each core meets all of them:\n"
        + &table(reach, reached);
    keep_part("docs/arch.md", "slices", &part);
}

#[test]
fn ablations() {
    let paper = machine(PAPER);
    let ntt = ablate(&paper, Operation::Ntt, &PAPER_SIZES, ABLATION_IN_FLIGHT).expect("a base");
    let fft = ablate(&paper, Operation::Fft, &FFT_SIZES, ABLATION_IN_FLIGHT).expect("runs");
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
        let head = ["N", "base", "+ISA", "+reshuffle", "+dataflow", "total gain"];
        table(head, ablation.sizes.iter().map(row))
    };
    let single = ntt.sizes.iter().map(|size| {
        let [a, b, c] = [0, 1, 2].map(|at| format!("{:.0}", size.single_core[at].speedup));
        [format!("2^{}", size.polynomial_size.ilog2()), a, b, c]
    });
    let single = table(["N", "over `textbook`", "over `naive`", "over `shoup`"], single);
    let more = ablate(&paper, Operation::Ntt, &PAPER_SIZES, 8).expect("a base");
    keep("ablation-in-flight-8", &more);
    let more = format!(
        "With eight in flight, or as many as fit, the average total gain is {}:\n{}",
        number(more.average_total, 1),
        of(&more)
    );
    keep_part("docs/arch.md", "ablation", &(of(&ntt) + &more + "Gain over one scalar core:\n" + &single));
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
    keep_part(
        "docs/arch.md",
        "fft",
        &(of(&fft)
            + "Average gains with other initiation intervals and latencies of the complex butterfly:\n"
            + &experiments),
    );
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
        let busiest = record.map_or(String::new(), |record| {
            let name = record.params["busiest"].as_str().expect("a name");
            format!("{name} {} %", number(record.utilization.map(|share| 100.0 * share), 0))
        });
        let dram = number(point.dram, 0);
        [
            if changed.is_empty() { "nothing".to_owned() } else { changed.join(", ") },
            number(steady, 1),
            flight,
            number(point.ratio, 2),
            busiest,
            dram,
        ]
    };
    let head = ["changed", "steady", "in flight", "ratio to the bound", "busiest", "DRAM to DRAM, analytic"];
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
                point.bound.to_owned(),
                format!("{:.0}", point.reached),
                format!("{:.1}", 100.0 * point.of_peak),
                point.label.name().to_owned(),
            ]);
        }
    }
    let head = [
        "machine",
        "task",
        "data from and to",
        "butterflies per byte",
        "attainable",
        "limited by",
        "reached",
        "share of peak, %",
        "label",
    ];
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
    let head = ["machine", "table", "N", "data from and to", "µJ per transform, analytic"];
    keep_part("docs/arch.md", "energy", &table(head, all.iter().map(row)));
}

#[test]
fn comparison() {
    let rows = compare(&machine(PAPER), &machine(CIPHERMILL)).expect("runs");
    keep("paper", &rows);
    let row = |row: &ciphermill_arch::report::Comparison| {
        let label = row.label.map_or("", |label| label.name()).to_owned();
        let note = row.note.clone();
        [row.place.to_owned(), row.what.clone(), number(row.paper, 2), number(row.ours, 2), label, note]
    };
    let head = ["place", "figure", "paper", "ours", "label", "note"];
    keep_part("docs/arch.md", "paper", &table(head, rows.iter().map(row)));
}
