//! The transforms of the scalar baseline against the reference of `ciphermill_math`, bit for bit, at all sizes; and what the
//! timing model says of them.

mod scalar_support;

use ciphermill_arch::scalar::{Baseline, Ring, ScalarMachine, ScalarRun, Variant, run};
use scalar_support::{baseline, expected, machine, modulus, words};

fn checked(machine: &ScalarMachine, baseline: &Baseline) -> ScalarRun {
    let input = words(baseline.polynomial_size, baseline.modulus, baseline.polynomial_size as u64);
    let run = run(machine, baseline, &input).expect("the program runs");
    assert_eq!(run.output, expected(baseline, &input), "{baseline:?}");
    assert_eq!(run.causes.total(), run.cycles);
    assert_eq!(run.causes.issue, run.instructions, "each instruction has one cycle of its own");
    run
}

#[test]
fn table() {
    for ring in [Ring::Cyclic, Ring::Negacyclic] {
        for variant in Variant::ALL {
            for early_out in [false, true] {
                if early_out && matches!(variant, Variant::Shoup | Variant::Rvfhe) {
                    continue;
                }
                for log_n in 10..=14 {
                    let start = std::time::Instant::now();
                    let run = checked(&machine(early_out), &baseline(variant, ring, 1 << log_n));
                    let secs = start.elapsed().as_secs_f64();
                    let b = run.butterflies as f64;
                    let causes: Vec<String> =
                        run.causes.by_name().iter().map(|(n, c)| format!("{n} {:.2}", *c as f64 / b)).collect();
                    println!(
                        "{:10} {:8} early {early_out:5} 2^{log_n} {:7.2} cyc/bf {:6.2} ins/bf | {} | {:.1} M/s",
                        ring.name(),
                        variant.name(),
                        run.cycles_per_butterfly(),
                        run.instructions as f64 / b,
                        causes.join(" "),
                        run.program_instructions as f64 / secs / 1e6
                    );
                }
            }
        }
    }
}
