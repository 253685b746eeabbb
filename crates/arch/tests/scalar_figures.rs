//! Compares the figures of docs/rvfhe-scalar.md with the model. `CIPHERMILL_WRITE_DOCS=1` writes them instead.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use crate::scalar_support::{baseline, machine, words};
use ciphermill_arch::scalar::{Baseline, Ring, ScalarMachine, ScalarRun, Variant, run};
use ciphermill_math::modulus::ntt_primes;

const RINGS: [Ring; 2] = [Ring::Cyclic, Ring::Negacyclic];

fn measured(machine: &ScalarMachine, baseline: &Baseline) -> ScalarRun {
    let input = words(baseline.polynomial_size, baseline.modulus, baseline.polynomial_size as u64);
    run(machine, baseline, &input).expect("the program runs")
}

/// Each variant; variants with divisions use both dividers.
fn columns() -> Vec<(Variant, bool, &'static str)> {
    let mut columns = Vec::new();
    for variant in Variant::ALL {
        if matches!(variant, Variant::Naive | Variant::Textbook) {
            columns.push((variant, false, "67 cycles"));
            columns.push((variant, true, "early-out"));
        } else {
            columns.push((variant, true, "–"));
        }
    }
    columns
}

fn sizes(out: &mut String) {
    out.push_str("| transform | arithmetic | divider | 2^10 | 2^11 | 2^12 | 2^13 | 2^14 |\n");
    out.push_str("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for ring in RINGS {
        for (variant, early_out, divider) in columns() {
            write!(out, "| {} | {} | {divider} |", ring.name(), variant.name()).expect("a string");
            for log_n in 10..=14 {
                let run = measured(&machine(early_out), &baseline(variant, ring, 1 << log_n));
                write!(out, " {:.1} |", run.cycles_per_butterfly()).expect("a string");
            }
            out.push('\n');
        }
    }
}

fn causes(out: &mut String, log_n: u32) {
    let mut head = true;
    for ring in RINGS {
        for (variant, early_out, divider) in columns() {
            let run = measured(&machine(early_out), &baseline(variant, ring, 1 << log_n));
            let causes = run.causes.by_name();
            if head {
                let names: Vec<_> = causes.iter().map(|(name, _)| *name).collect();
                writeln!(out, "| 2^{log_n} | arithmetic | divider | {} |", names.join(" | ")).expect("a string");
                writeln!(out, "| --- | --- | --- {}|", "| --- ".repeat(causes.len())).expect("a string");
                head = false;
            }
            write!(out, "| {} | {} | {divider} |", ring.name(), variant.name()).expect("a string");
            for (_, cycles) in causes {
                write!(out, " {:.1} |", cycles as f64 / run.butterflies as f64).expect("a string");
            }
            out.push('\n');
        }
    }
}

fn counts(out: &mut String) {
    out.push_str("| transform, 2^10 | arithmetic | whole program | transform | per butterfly |\n");
    out.push_str("| --- | --- | --- | --- | --- |\n");
    for ring in RINGS {
        for variant in Variant::ALL {
            let run = measured(&machine(true), &baseline(variant, ring, 1 << 10));
            let each = run.instructions as f64 / run.butterflies as f64;
            let (name, whole, part) = (variant.name(), run.program_instructions, run.instructions);
            writeln!(out, "| {} | {name} | {whole} | {part} | {each:.1} |", ring.name()).expect("a string");
        }
    }
}

/// The effect of the modulus length on an early-out divider, and of other parameters.
fn sensitivities(out: &mut String) {
    out.push_str("| changed | program | cycles per butterfly |\n| --- | --- | --- |\n");
    for (ring, variant) in
        [(Ring::Cyclic, Variant::Textbook), (Ring::Negacyclic, Variant::Textbook), (Ring::Cyclic, Variant::Naive)]
    {
        for bits in [14, 20, 25, 30, 31] {
            let modulus = ntt_primes(bits, 1 << 10).next().expect("a prime");
            let run = measured(&machine(true), &Baseline { modulus, ..baseline(variant, ring, 1 << 10) });
            let (ring, name) = (ring.name(), variant.name());
            let cycles = run.cycles_per_butterfly();
            writeln!(out, "| modulus of {bits} bits | {ring} {name} 2^10, early-out | {cycles:.1} |")
                .expect("a string");
        }
    }
    let mut line = |what: &str, change: &dyn Fn(&mut ScalarMachine), variant: Variant, log_n: u32| {
        let mut machine = machine(true);
        change(&mut machine);
        let cycles = measured(&machine, &baseline(variant, Ring::Cyclic, 1 << log_n)).cycles_per_butterfly();
        writeln!(out, "| {what} | cyclic {} 2^{log_n} | {cycles:.1} |", variant.name()).expect("a string");
    };
    line("`rvfhe.adder` 2", &|m| m.rvfhe.adder = 2, Variant::Rvfhe, 10);
    line("`multiplier.request_to_use` 1", &|m| m.multiplier.request_to_use = 1, Variant::Shoup, 10);
    line("`multiplier.bits_per_cycle` 1", &|m| m.multiplier.bits_per_cycle = 1, Variant::Shoup, 10);
    for (what, ways) in [("data cache of 16 KiB (as described)", 4), ("data cache of 256 KiB: all fits", 64)] {
        for variant in [Variant::Shoup, Variant::Rvfhe] {
            line(what, &|m| m.dcache.ways = ways, variant, 14);
        }
    }
    for (variant, log_n) in [(Variant::Shoup, 10), (Variant::Shoup, 14), (Variant::Rvfhe, 10), (Variant::Rvfhe, 14)] {
        line("`l2.latency` 40", &|m| m.l2.latency = 40, variant, log_n);
    }
}

#[test]
fn documented_figures() {
    let mut figures = String::new();
    figures.push_str("\nCycles per butterfly (simulated):\n\n");
    sizes(&mut figures);
    figures.push_str("\nThe same by cause (simulated):\n\n");
    causes(&mut figures, 10);
    figures.push('\n');
    causes(&mut figures, 14);
    figures.push_str("\nInstructions (simulated; all but `rvfhe` also counted by QEMU):\n\n");
    counts(&mut figures);
    figures.push_str("\nEffect of parameters (simulated):\n\n");
    sensitivities(&mut figures);
    figures.push('\n');

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rvfhe-scalar.md");
    let page = std::fs::read_to_string(&path).expect("docs/rvfhe-scalar.md");
    let (begin, end) = ("<!-- figures by crates/arch/tests/scalar_figures.rs -->\n", "<!-- end of figures -->");
    let start = page.find(begin).expect("where the figures begin") + begin.len();
    let stop = page.find(end).expect("where the figures end");
    if std::env::var_os("CIPHERMILL_WRITE_DOCS").is_some_and(|v| v == "1") {
        std::fs::write(&path, [&page[..start], &figures, &page[stop..]].concat()).expect("it is written");
        return;
    }
    assert!(page[start..stop] == figures, "docs/rvfhe-scalar.md has other figures than these:\n{figures}");
}

/// The table of estimates contains the current figures at 2^10 and 2^14.
#[test]
fn figures_beside_the_estimates() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rvfhe-scalar.md");
    let page = std::fs::read_to_string(page).expect("docs/rvfhe-scalar.md");
    let both = |variant: Variant, ring: Ring, early_out: bool| {
        let each = [10, 14].map(|log_n| {
            let run = measured(&machine(early_out), &baseline(variant, ring, 1 << log_n));
            format!("{:.1}", run.cycles_per_butterfly())
        });
        each.join(" / ")
    };
    let rings = |variant| RINGS.map(|ring| both(variant, ring, true)).join(" or ");
    for row in [
        format!("| `%`, 67-cycle divider | 290 / 293 | {} |", both(Variant::Textbook, Ring::Cyclic, false)),
        format!("| `%`, early-out divider | 77 / 87 | {} |", rings(Variant::Textbook)),
        format!("| Shoup | 40 / 55 | {} |", rings(Variant::Shoup)),
        format!("| RVFHE, scalar | 22.5 / 32 | {} |", rings(Variant::Rvfhe)),
    ] {
        assert!(page.contains(&row), "docs/rvfhe-scalar.md has no line {row}");
    }
}

/// Prints the speed. It is not checked, because the load of the machine is unknown.
#[test]
fn speed_of_the_model() {
    let baseline = baseline(Variant::Naive, Ring::Cyclic, 1 << 14);
    let (machine, mut best) = (machine(true), f64::INFINITY);
    for _ in 0..5 {
        let start = Instant::now();
        let run = measured(&machine, &baseline);
        let seconds = start.elapsed().as_secs_f64();
        best = best.min(seconds);
        let rate = run.program_instructions as f64 / seconds / 1e6;
        println!("naive 2^14: {} instructions in {seconds:.3} s, {rate:.0} million a second", run.program_instructions);
    }
    assert!(best < 30.0, "a transform of 2^14 takes about a second at worst");
}
