//! The transforms of the scalar baseline compared with the reference of `ciphermill_math`, bit for bit.

use crate::scalar_support::{baseline, expected, machine, words};
use ciphermill_arch::scalar::{Baseline, Ring, ScalarRun, Variant, run};
use ciphermill_math::Modulus;
use ciphermill_math::modulus::ntt_primes;
use proptest::prelude::*;

fn check(baseline: &Baseline, input: &[u32]) -> ScalarRun {
    let run = run(&machine(true), baseline, input).expect("the program runs");
    assert_eq!(run.output, expected(baseline, input), "{baseline:?}");
    run
}

#[test]
fn all_sizes() {
    for ring in [Ring::Cyclic, Ring::Negacyclic] {
        for variant in Variant::ALL {
            for log_n in 1..=14 {
                let baseline = baseline(variant, ring, 1 << log_n);
                let run = check(&baseline, &words(1 << log_n, baseline.modulus, log_n));
                assert_eq!(run.causes.total(), run.cycles, "each cycle has one cause");
                assert_eq!(run.causes.issue, run.instructions, "each instruction has one cycle of its own");
                assert_eq!(run.butterflies, log_n << log_n >> 1);
                assert!(run.instructions < run.program_instructions);
            }
        }
    }
}

#[test]
fn a_run_can_be_repeated() {
    let baseline = baseline(Variant::Textbook, Ring::Cyclic, 1 << 10);
    let input = words(1 << 10, baseline.modulus, 1);
    assert_eq!(check(&baseline, &input), check(&baseline, &input));
}

/// The other tests use the negacyclic reference; this one uses the definition.
#[test]
fn the_cyclic_transform_by_its_definition() {
    let baseline = baseline(Variant::Shoup, Ring::Cyclic, 1 << 10);
    let m = baseline.modulus;
    let input = words(1 << 10, m, 5);
    let output = check(&baseline, &input).output;
    let psi = m.primitive_root_2n(1 << 10).expect("a root");
    let omega = m.mul(psi, psi);
    for (k, &found) in output.iter().enumerate() {
        let point = m.pow(omega, k as u64);
        let value = input.iter().rev().fold(0, |value, &a| m.add(m.mul(value, point), a.into()));
        assert_eq!(u64::from(found), value, "word {k}");
    }
}

#[test]
fn extreme_words() {
    for ring in [Ring::Cyclic, Ring::Negacyclic] {
        for variant in Variant::ALL {
            let baseline = baseline(variant, ring, 1 << 8);
            let greatest = baseline.modulus.value() as u32 - 1;
            check(&baseline, &[0; 1 << 8]);
            check(&baseline, &[greatest; 1 << 8]);
            let mut one = [0; 1 << 8];
            one[255] = greatest;
            check(&baseline, &one);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn any_modulus(bits in 12u32..=31, which in 0usize..3, log_n in 1u32..=9, seed: u64, variant in 0usize..4, ring: bool) {
        let primes: Vec<Modulus> = ntt_primes(bits, 1 << log_n).take(3).collect();
        prop_assume!(!primes.is_empty());
        let baseline = Baseline {
            variant: Variant::ALL[variant],
            ring: if ring { Ring::Cyclic } else { Ring::Negacyclic },
            polynomial_size: 1 << log_n,
            modulus: primes[which % primes.len()],
        };
        check(&baseline, &words(1 << log_n, baseline.modulus, seed));
    }
}
