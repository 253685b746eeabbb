//! The Paillier engine against the definition: values, cycles, errors of memory, wrong jobs, reset and CLEAR.

#[allow(dead_code, reason = "these tests draw no frames")]
mod support;

use std::iter;

use ciphermill_arch::paillier_engine::{PaillierJob, PaillierSize, cost};
use ciphermill_cosim::axi_memory::AxiTiming;
use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::units::engine_job::registers as job;
use ciphermill_cosim::units::engine_ring::JobStatus;
use ciphermill_cosim::units::engine_ring::{Descriptor, registers};
use ciphermill_cosim::units::paillier_engine::{PaillierEngine, VERB_KEY, VERB_POWER, Work};
use num_bigint::BigUint;
use support::{Source, counted, each, frames, with_seeds};

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

/// Runs jobs, compares their values with the definition, and returns their cycles.
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
            // The bits above the length are not part of the exponent.
            for length in [1, 70] {
                works.push(Work::Power { base: below(source, &modulus), exponent: number(source, bits), bits: length });
            }
            works.push(Work::Multiply { a: below(source, &modulus), b: &modulus - 1u32 });
            works.push(Work::Multiply { a: 0u32.into(), b: below(source, &modulus) });
            check(&mut engine, &works, &modulus, &n);
        });
    });
}

/// Twelve jobs, with loads, stores and statuses, on a memory that never waits: the cycles for each are at most these.
#[test]
fn twelve_encryptions_and_twelve_powers_take_the_stated_cycles() {
    each("paillier_engine", |configuration| {
        let mut source = Source::seeded(3);
        let (mut engine, modulus, n) = loaded(configuration, &AxiTiming::never_waits(), &mut source);
        let bits = engine.bits();
        let encryptions: Vec<_> = (0..12).map(|_| encryption(&mut source, &n)).collect();
        let encrypted = check(&mut engine, &encryptions, &modulus, &n);
        let power =
            |source: &mut Source| Work::Power { base: below(source, &modulus), exponent: number(source, bits), bits };
        let powers: Vec<_> = (0..12).map(|_| power(&mut source)).collect();
        let raised = check(&mut engine, &powers, &modulus, &n);
        println!("{configuration}: 12 encryptions {encrypted} cycles, 12 powers {raised} cycles");
        let alone = check(&mut engine, &encryptions[..1], &modulus, &n);
        // A product takes eight cycles of one of two cores.
        let bound = PaillierJob::Encrypt.products(n.bits()) * 8 / 2;
        let cycles = u64::from(encrypted.div_ceil(12));
        record::cycles(configuration, Cycles { cycles, latency: alone.into(), bound });
        if bits == 1024 {
            assert!(encrypted <= 12 * 2700, "{encrypted} cycles for 12 encryptions");
            assert!(raised <= 12 * 5200, "{raised} cycles for 12 powers");
        }
    });
}

#[test]
fn cycles_do_not_depend_on_the_numbers() {
    each("paillier_engine", |configuration| {
        let cycles = |exponent: &dyn Fn(u32) -> BigUint| {
            let mut source = Source::seeded(4);
            let (mut engine, modulus, n) = loaded(configuration, &AxiTiming::never_waits(), &mut source);
            let bits = engine.bits() / 4;
            let base = below(&mut source, &modulus);
            let mut works: Vec<_> =
                (0..3).map(|_| Work::Power { base: base.clone(), exponent: exponent(bits), bits }).collect();
            works.push(Work::Encrypt { random: exponent(bits), message: exponent(bits) });
            check(&mut engine, &works, &modulus, &n)
        };
        let none = cycles(&|_| 0u32.into());
        assert_eq!(none, cycles(&|bits| (BigUint::from(1u32) << bits) - 1u32));
        assert_eq!(none, cycles(&|bits| BigUint::from(1u32) << (bits - 1)));
    });
}

#[test]
fn a_slow_memory_changes_no_value() {
    each("paillier_engine", |configuration| {
        with_seeds(|source| {
            let (mut engine, modulus, n) = loaded(configuration, &AxiTiming::slow(), source);
            let mut works: Vec<_> = (0..3).map(|_| encryption(source, &n)).collect();
            for length in [1, 31, 70] {
                works.push(Work::Power {
                    base: below(source, &modulus),
                    exponent: number(source, length),
                    bits: length,
                });
            }
            for _ in 0..10 {
                works.push(Work::Multiply { a: below(source, &modulus), b: below(source, &modulus) });
            }
            check(&mut engine, &works, &modulus, &n);
        });
    });
}

/// Wrong jobs end with their status, and the jobs after them run.
#[test]
fn wrong_jobs_are_refused_by_name() {
    each("paillier_engine", |configuration| {
        let mut source = Source::seeded(5);
        let mut engine = PaillierEngine::new(configuration, &AxiTiming::never_waits(), 5).unwrap();
        let bits = engine.bits();
        let n = odd(&mut source, bits / 2);
        let modulus = &n * &n;
        let multiply = Work::Multiply { a: below(&mut source, &modulus), b: below(&mut source, &modulus) };
        // Before the first key.
        assert_eq!(engine.run(std::slice::from_ref(&multiply)).unwrap().0, [Err(JobStatus(job::STATUS_CODE_NO_KEY))]);
        // Keys that are refused.
        let key = engine.key(&modulus, &n);
        let mut even = key.clone();
        even[0] -= 1u32;
        let [large_1, large_2, large_3] = [1, 2, 3].map(|number| {
            let mut large = key.clone();
            large[number] = modulus.clone();
            large
        });
        for (key, length, status) in [
            (&even, bits / 2, job::STATUS_CODE_EVEN_MODULUS),
            (&large_1, bits / 2, job::STATUS_CODE_LARGE_OPERAND),
            (&large_2, bits / 2, job::STATUS_CODE_LARGE_OPERAND),
            (&large_3, bits / 2, job::STATUS_CODE_LARGE_OPERAND),
            (&key, 63, job::STATUS_CODE_WRONG_LENGTH),
            (&key, bits / 2 + 1, job::STATUS_CODE_WRONG_LENGTH),
        ] {
            let job = engine.put_key(key, length);
            let index = engine.host.push(&[job.to_bytes()]).unwrap()[0];
            engine.host.wait(20_000).unwrap();
            assert_eq!(engine.host.status(index), status);
        }
        engine.load_key(&modulus, &n).unwrap().unwrap();

        let good = engine.put_work(0, &multiply);
        let mut unaligned = good;
        unaligned.operands[1] += 4;
        let mut far = good;
        far.operands[2] |= 1 << 40;
        // Numbers that begin below the last address and end beyond it.
        let word_bytes = configuration.parameter("DataWidth") as u64 / 8;
        let across = |operation: u32, length: u32, operand: usize| {
            let mut job = Descriptor { operation, length, ..good };
            job.operands[operand] = (1 << 40) - word_bytes;
            job.to_bytes()
        };
        let mut key_across = engine.put_key(&key, bits / 2);
        key_across.operands[0] = (1 << 40) - 5 * u64::from(bits) / 8;
        let mut long = good;
        (long.operation, long.length) = (VERB_POWER, bits + 1);
        let mut empty = good;
        (empty.operation, empty.length) = (VERB_POWER, 0);
        let mut reserved = good;
        reserved.operands[3] = 1;
        let large = engine.put_work(1, &Work::Multiply { a: 1u32.into(), b: modulus.clone() });
        let large_random = engine.put_work(2, &Work::Encrypt { random: n.clone(), message: 1u32.into() });
        let large_message = engine.put_work(3, &Work::Encrypt { random: 1u32.into(), message: n.clone() });
        let power = Work::Power { base: modulus.clone(), exponent: 1u32.into(), bits: 1 };
        let large_base = engine.put_work(4, &power);
        let mut given = good.to_bytes();
        given[job::STATUS as usize] = 1;
        let mut word = good.to_bytes();
        word[12] = 1;
        let jobs = [
            (Descriptor { operation: 5, ..good }.to_bytes(), job::STATUS_CODE_UNSUPPORTED),
            (Descriptor { operation: 0, ..good }.to_bytes(), job::STATUS_CODE_UNSUPPORTED),
            (Descriptor { operation: 0x104, ..good }.to_bytes(), job::STATUS_CODE_MALFORMED),
            (given, job::STATUS_CODE_MALFORMED),
            (word, job::STATUS_CODE_MALFORMED),
            (reserved.to_bytes(), job::STATUS_CODE_MALFORMED),
            (Descriptor { operation: VERB_KEY, length: 64, ..good }.to_bytes(), job::STATUS_CODE_MALFORMED),
            (unaligned.to_bytes(), job::STATUS_CODE_WRONG_ADDRESS),
            (far.to_bytes(), job::STATUS_CODE_WRONG_ADDRESS),
            (across(good.operation, 0, 0), job::STATUS_CODE_WRONG_ADDRESS),
            (across(good.operation, 0, 1), job::STATUS_CODE_WRONG_ADDRESS),
            (across(good.operation, 0, 2), job::STATUS_CODE_WRONG_ADDRESS),
            (across(VERB_POWER, bits, 1), job::STATUS_CODE_WRONG_ADDRESS),
            (key_across.to_bytes(), job::STATUS_CODE_WRONG_ADDRESS),
            (long.to_bytes(), job::STATUS_CODE_WRONG_LENGTH),
            (empty.to_bytes(), job::STATUS_CODE_WRONG_LENGTH),
            (large.to_bytes(), job::STATUS_CODE_LARGE_OPERAND),
            (large_random.to_bytes(), job::STATUS_CODE_LARGE_OPERAND),
            (large_message.to_bytes(), job::STATUS_CODE_LARGE_OPERAND),
            (large_base.to_bytes(), job::STATUS_CODE_LARGE_OPERAND),
            (good.to_bytes(), job::STATUS_CODE_DONE),
        ];
        let indices = engine.host.push(&jobs.map(|(bytes, _)| bytes)).unwrap();
        engine.host.wait(20_000).unwrap();
        for (index, (i, (_, status))) in indices.into_iter().zip(jobs.iter().enumerate()) {
            assert_eq!(engine.host.status(index), *status, "job {i}");
        }
        assert_eq!(engine.number(engine.address(0, 2)), expected(&multiply, &modulus, &n));
        assert_eq!(engine.host.read(registers::ERROR).unwrap(), registers::ERROR_JOB);
        engine.host.write(registers::ERROR, registers::ERROR_JOB).unwrap();
        assert_eq!(engine.host.read(registers::ERROR).unwrap(), 0);
    });
}

#[test]
fn errors_of_memory_reach_the_job_that_has_them() {
    each("paillier_engine", |configuration| {
        with_seeds(|source| {
            let (mut engine, modulus, n) = loaded(configuration, &AxiTiming::slow(), source);
            let works: Vec<_> =
                (0..8).map(|_| Work::Multiply { a: below(source, &modulus), b: below(source, &modulus) }).collect();
            let len = engine.number_bytes() as u64;
            let (second, third) = (engine.address(2, 1), engine.address(4, 2));
            engine.host.memory.failing_reads = iter::once(second + len - 1..second + len).collect();
            engine.host.memory.failing_writes = iter::once(third..third + 1).collect();
            // The key was job 0, so that job 6 of this batch has descriptor 7.
            let descriptor = engine.host.descriptor(7);
            engine.host.memory.failing_reads.push(descriptor + 63..descriptor + 64);
            let (results, _) = engine.run(&works).unwrap();
            for (i, (work, result)) in works.iter().zip(results).enumerate() {
                let expected = match i {
                    2 => Err(JobStatus(job::STATUS_CODE_READ_FAILED)),
                    4 => Err(JobStatus(job::STATUS_CODE_WRITE_FAILED)),
                    6 => Err(JobStatus(job::STATUS_CODE_FETCH_FAILED)),
                    _ => Ok(expected(work, &modulus, &n)),
                };
                assert_eq!(result, expected, "job {i}");
            }
            let errors = engine.host.read(registers::ERROR).unwrap();
            assert_eq!(errors, registers::ERROR_JOB | registers::ERROR_FETCH);
            // A status that cannot be written.
            engine.host.memory.failing_reads.clear();
            let descriptor = engine.host.descriptor(9);
            engine.host.memory.failing_writes = iter::once(descriptor..descriptor + 64).collect();
            let (results, _) = engine.run(&works[..2]).unwrap();
            assert_eq!(results[0], Err(JobStatus(job::STATUS_CODE_PENDING)));
            assert_eq!(results[1], Ok(expected(&works[1], &modulus, &n)));
            assert_ne!(engine.host.read(registers::ERROR).unwrap() & registers::ERROR_REPORT, 0);
        });
    });
}

/// A reset and a CLEAR at any time, then the same jobs again. The RTL asserts that CLEAR leaves no number.
#[test]
fn reset_and_clear_in_mid_job_leave_a_working_engine() {
    each("paillier_engine", |configuration| {
        with_seeds(|source| {
            let (mut engine, modulus, n) = loaded(configuration, &AxiTiming::slow(), source);
            let works: Vec<_> = (0..3)
                .map(|_| Work::Power { base: below(source, &modulus), exponent: number(source, 9), bits: 9 })
                .collect();
            for round in 0..6 {
                let jobs: Vec<_> =
                    works.iter().enumerate().map(|(i, work)| engine.put_work(i, work).to_bytes()).collect();
                engine.host.push(&jobs).unwrap();
                engine.host.idle(source.below(3000)).unwrap();
                if round % 2 == 0 {
                    engine.host.clear().unwrap();
                } else {
                    engine.host.reset();
                }
                assert_eq!(engine.host.read(registers::HEAD).unwrap(), 0);
                assert_eq!(engine.host.read(registers::CYCLES).unwrap(), 0);
                engine.start().unwrap();
                let (refused, _) = engine.run(&works[..1]).unwrap();
                assert_eq!(refused, [Err(JobStatus(job::STATUS_CODE_NO_KEY))], "the key is gone");
                engine.load_key(&modulus, &n).unwrap().unwrap();
                check(&mut engine, &works, &modulus, &n);
            }
        });
    });
}

/// Jobs that come while others run, and a second key in turn with the first.
#[test]
fn jobs_and_keys_follow_one_another() {
    each("paillier_engine", |configuration| {
        with_seeds(|source| {
            let (mut engine, modulus, n) = loaded(configuration, &AxiTiming::slow(), source);
            let long = Work::Power { base: below(source, &modulus), exponent: number(source, 64), bits: 64 };
            let short = Work::Multiply { a: below(source, &modulus), b: below(source, &modulus) };
            let (first, second) = (engine.put_work(0, &long).to_bytes(), engine.put_work(1, &short).to_bytes());
            let first = engine.host.push(&[first]).unwrap()[0];
            engine.host.idle(source.below(2000)).unwrap();
            let second = engine.host.push(&[second]).unwrap()[0];
            // The second key waits for both.
            let other = odd(source, engine.bits());
            let key = engine.key(&other, &n);
            let key = engine.put_key(&key, engine.bits() / 2).to_bytes();
            let key = engine.host.push(&[key]).unwrap()[0];
            engine.host.wait(engine.patience(3)).unwrap();
            for index in [first, second, key] {
                assert_eq!(engine.outcome(index), Ok(()));
            }
            assert_eq!(engine.number(engine.address(0, 2)), expected(&long, &modulus, &n));
            assert_eq!(engine.number(engine.address(1, 2)), expected(&short, &modulus, &n));
            let work = Work::Multiply { a: below(source, &other), b: below(source, &other) };
            check(&mut engine, &[work], &other, &n);
            engine.load_key(&modulus, &n).unwrap().unwrap();
            check(&mut engine, &[short], &modulus, &n);
        });
    });
}

#[test]
fn the_registers_refuse_what_they_must() {
    each("paillier_engine", |configuration| {
        let mut engine = PaillierEngine::new(configuration, &AxiTiming::never_waits(), 6).unwrap();
        let bits = engine.bits();
        let host = &mut engine.host;
        assert_eq!(host.read(registers::ID).unwrap().to_be_bytes(), *b"PAIL");
        assert_eq!(host.read(registers::PARAMETERS).unwrap() & 0xffff, bits);
        for (address, value) in [
            (registers::ID, 0),
            (registers::HEAD, 0),
            (registers::TAIL, 32),
            (registers::RING_SIZE, 1),
            (registers::RING_SIZE, 0x1_0000),
            (registers::RING_BASE, 32),
            (registers::RING_BASE_HIGH, 0x100),
            (0x3c, 0),
            (0x100, 0),
        ] {
            assert!(host.write(address, value).is_err(), "{address:#x}");
        }
        for address in [0x24, 0x3c, 0x100, 0xffc] {
            assert!(host.read(address).is_err(), "{address:#x}");
        }
        // The interrupt follows a job.
        host.write(registers::IRQ, registers::IRQ_ENABLE).unwrap();
        assert!(!host.interrupt());
        host.push(&[Descriptor::default().to_bytes()]).unwrap();
        host.wait(1000).unwrap();
        assert!(host.interrupt());
        host.write(registers::IRQ, registers::IRQ_ENABLE | registers::IRQ_PENDING).unwrap();
        assert!(!host.interrupt());
        // Without RUN no job starts.
        host.write(registers::CONTROL, 0).unwrap();
        let index = host.push(&[Descriptor::default().to_bytes()]).unwrap()[0];
        host.idle(200).unwrap();
        assert_eq!(host.status(index), job::STATUS_CODE_PENDING);
    });
}

fn modelled(work: &Work) -> PaillierJob {
    match work {
        Work::Encrypt { .. } => PaillierJob::Encrypt,
        Work::Power { bits, .. } => PaillierJob::Power { bits: u64::from(*bits) },
        Work::Multiply { .. } => PaillierJob::Multiply,
    }
}

/// With a memory that never waits, the engine and its cycle model take the same cycles, whatever the turn that the jobs
/// meet.
#[test]
fn the_cycles_are_those_of_the_model() {
    each("paillier_engine", |configuration| {
        with_seeds(|source| {
            let (mut engine, modulus, n) = loaded(configuration, &AxiTiming::never_waits(), source);
            let bits = engine.bits();
            let data_width = configuration.parameter("DataWidth") as u64;
            let size =
                PaillierSize { bits: u64::from(bits), data_width, places: configuration.parameter("Places") as usize };
            let key = u64::from(bits / 2);
            let loads = cost(size, &[PaillierJob::Key { bits: key }], engine.host.written_at(), key).cycles;
            assert_eq!(u64::from(engine.host.read(registers::CYCLES).unwrap()), loads, "the key");
            // About 40 jobs, or half of the asked ones with each seed.
            let asked = frames(40, 2);
            let mut done = 0;
            while done < asked {
                let work = |source: &mut Source| match source.below(4) {
                    0 => encryption(source, &n),
                    1 => Work::Multiply { a: below(source, &modulus), b: below(source, &modulus) },
                    _ => {
                        let length = source.below(140) as u32 + 1;
                        Work::Power { base: below(source, &modulus), exponent: number(source, length), bits: length }
                    }
                };
                let works: Vec<_> = (0..=source.below(20)).map(|_| work(source)).collect();
                engine.host.idle(source.below(48)).unwrap();
                let taken = check(&mut engine, &works, &modulus, &n);
                let jobs: Vec<_> = works.iter().map(modelled).collect();
                let expected = cost(size, &jobs, engine.host.written_at(), key);
                assert_eq!(u64::from(taken), expected.cycles, "{jobs:?}");
                done += works.len();
            }
            counted(configuration, done, "jobs");
        });
    });
}
