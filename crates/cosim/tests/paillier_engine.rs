//! The Paillier engine against the definition: values, cycles, errors of memory, wrong jobs, reset and CLEAR.

mod support;

use ciphermill_cosim::axi_memory::AxiTiming;
use ciphermill_cosim::units::engine_job::registers as job;
use ciphermill_cosim::units::engine_ring::{Descriptor, registers};
use ciphermill_cosim::units::paillier_engine::{JobStatus, PaillierEngine, VERB_KEY, VERB_POWER, Work};
use num_bigint::BigUint;
use support::{Source, each, with_seeds};

/// A number of exactly `bits` bits.
fn number(source: &mut Source, bits: u32) -> BigUint {
    let words = (0..bits.div_ceil(64)).flat_map(|_| {
        let word = source.any();
        [word as u32, (word >> 32) as u32]
    });
    let mut number = BigUint::new(words.collect()) >> (bits.next_multiple_of(64) - bits);
    number.set_bit(u64::from(bits) - 1, true);
    number
}

fn below(source: &mut Source, bound: &BigUint) -> BigUint {
    number(source, bound.bits() as u32) % bound
}

fn odd(source: &mut Source, bits: u32) -> BigUint {
    let mut number = number(source, bits);
    number.set_bit(0, true);
    number
}

/// What the engine must compute.
fn expected(work: &Work, modulus: &BigUint, n: &BigUint) -> BigUint {
    match work {
        Work::Encrypt { random, message } => (message * n + 1u32) * random.modpow(n, modulus) % modulus,
        Work::Power { base, exponent, bits } => {
            base.modpow(&(exponent & ((BigUint::from(1u32) << *bits) - 1u32)), modulus)
        }
        Work::Multiply { a, b } => a * b % modulus,
    }
}

fn encryption(source: &mut Source, n: &BigUint) -> Work {
    Work::Encrypt { random: below(source, n), message: below(source, n) }
}

/// An engine with the key of an n of half its bits, and n.
fn loaded(
    configuration: &'static ciphermill_cosim::Configuration,
    timing: &AxiTiming,
    source: &mut Source,
) -> (PaillierEngine, BigUint, BigUint) {
    let mut engine = PaillierEngine::new(configuration, timing, source.any() as u32).unwrap();
    let n = odd(source, engine.bits() / 2);
    let modulus = &n * &n;
    engine.load_key(&modulus, &n).unwrap().unwrap();
    (engine, modulus, n)
}

fn check(engine: &mut PaillierEngine, works: &[Work], modulus: &BigUint, n: &BigUint) -> u32 {
    let (results, cycles) = engine.run(works).unwrap();
    for (i, (work, result)) in works.iter().zip(results).enumerate() {
        assert_eq!(result, Ok(expected(work, modulus, n)), "job {i}: {work:?}");
    }
    cycles
}

#[test]
fn encryptions_and_powers_have_the_values_of_the_definition() {
    each("paillier_engine", |configuration| {
        with_seeds(|source| {
            let (mut engine, modulus, n) = loaded(configuration, &AxiTiming::never_waits(), source);
            let bits = engine.bits();
            let mut works = vec![encryption(source, &n), encryption(source, &n)];
            for length in [1, 4, 5, 6, 63, 64, 65, bits / 2] {
                let (base, exponent) = (below(source, &modulus), number(source, length));
                works.push(Work::Power { base, exponent, bits: length });
            }
            works.push(Work::Multiply { a: below(source, &modulus), b: &modulus - 1u32 });
            works.push(Work::Multiply { a: 0u32.into(), b: below(source, &modulus) });
            check(&mut engine, &works, &modulus, &n);
        });
    });
}
