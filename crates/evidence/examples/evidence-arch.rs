//! `make evidence AREA=arch`: many transforms, products and key switches on the simulated array, each value compared
//! with the golden models, for several primes and machines; the target figures; the speed of the simulator.

use ciphermill_evidence::array_speed as speed;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use ciphermill_arch::array::{CIPHERMILL, Experiment, LANE, Machine, PAPER};
use ciphermill_arch::record::Record;
use ciphermill_math::Modulus;
use ciphermill_math::modulus::ntt_primes;
use ciphermill_rvfhe::compiler::{Direction, Ring, Task, Transform};
use serde_json::json;

/// Experiments with different inputs for each case.
const SEEDS: u64 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let machines = [Machine::from_toml(CIPHERMILL)?, Machine::from_toml(PAPER)?, Machine::from_toml(LANE)?];
    let mut primes: Vec<Modulus> = vec![Modulus::new(2_013_265_921)?];
    for bits in [20, 24, 28, 31] {
        primes.extend(ntt_primes(bits, 1 << 16).filter(|prime| prime.value() >> 31 == 0).take(1));
    }
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut cycles = 0;
    let mut seen = BTreeSet::new();
    let started = Instant::now();
    for machine in &machines {
        for (task, in_flight) in tasks(&primes) {
            for seed in 0..SEEDS {
                let experiment = Experiment { task: task.clone(), in_flight, runs: 2, seed };
                let measured = match experiment.measure(machine) {
                    Ok(measured) => measured,
                    // The memories of `paper` and `lane` are smaller. Workloads that do not fit return an error.
                    Err(error) if seed == 0 && machine.name != "ciphermill" => {
                        if seen.insert(format!("{}: {error}", machine.name)) {
                            println!("{}: {error}", machine.name);
                        }
                        break;
                    }
                    Err(error) => return Err(error.into()),
                };
                let record = measured.record(&experiment, machine);
                if !measured.correct {
                    return Err(format!("{} on {}: a value differs, seed {seed}", record.case, machine.name).into());
                }
                cycles += measured.run.cycles;
                *counts.entry(format!("{} on {}", record.case, machine.name)).or_default() += 2 * in_flight as u64;
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let figures = figures(&machines)?;
    let total: u64 = counts.values().sum();
    println!("{total} inputs, {cycles} cycles, {seconds:.0} s");
    let results = json!({
        "inputs_compared": counts,
        "inputs": total,
        "primes": primes.iter().map(|prime| prime.value()).collect::<Vec<_>>(),
        "cycles": cycles,
        "figures": figures,
        "simulation_speed_million_cycles_per_second": speed::measure()?,
    });
    if let Some(path) = std::env::var_os("CIPHERMILL_EVIDENCE") {
        std::fs::write(path, serde_json::to_string(&results)?)?;
    }
    Ok(())
}

fn tasks(primes: &[Modulus]) -> Vec<(Task, usize)> {
    let mut tasks = Vec::new();
    for (at, modulus) in primes.iter().copied().enumerate() {
        for log_size in 12..=16 {
            let polynomial_size = 1_usize << log_size;
            if modulus.root_of_unity(log_size + 1).is_none() {
                continue;
            }
            for direction in [Direction::Forward, Direction::Inverse] {
                for ring in [Ring::Cyclic, Ring::Negacyclic, Ring::Complex] {
                    // Complex numbers have no modulus, and 2^15 does not fit.
                    if ring != Ring::Complex || (at == 0 && log_size <= 14) {
                        tasks.push((Task::Transform(Transform { polynomial_size, modulus, ring, direction }), 1));
                    }
                }
            }
            let operand = |seed: u64| -> Arc<[u32]> {
                let value = |i: u64| ((i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % modulus.value();
                (0..polynomial_size as u64).map(|i| value(i) as u32).collect()
            };
            if log_size <= 14 {
                for ring in [Ring::Cyclic, Ring::Negacyclic] {
                    tasks.push((Task::Product { polynomial_size, modulus, ring, operand: operand(7) }, 1));
                }
            }
            if log_size <= 13 {
                let key = (0..3).map(|digit| [operand(2 * digit), operand(2 * digit + 1)]).collect();
                tasks.push((Task::KeySwitch { polynomial_size, modulus, key }, 1));
                let (ring, direction) = (Ring::Negacyclic, Direction::Forward);
                tasks.push((Task::Transform(Transform { polynomial_size, modulus, ring, direction }), 4));
            }
        }
    }
    tasks
}

/// Cycles of forward negacyclic transforms: one alone, and in steady state.
fn figures(machines: &[Machine]) -> Result<Vec<Record>, Box<dyn Error>> {
    let modulus = Modulus::new(2_013_265_921)?;
    let mut records = Vec::new();
    for machine in machines {
        for (log_size, in_flight, runs) in [(13, 1, 1), (13, 2, 8), (13, 4, 8), (14, 1, 1), (14, 2, 8), (16, 1, 4)] {
            let (ring, direction) = (Ring::Negacyclic, Direction::Forward);
            let task = Task::Transform(Transform { polynomial_size: 1 << log_size, modulus, ring, direction });
            let experiment = Experiment { task, in_flight, runs, seed: 1 };
            match experiment.measure(machine) {
                Ok(measured) => records.push(measured.record(&experiment, machine)),
                Err(error) => println!("{}, 2^{log_size}: {error}", machine.name),
            }
        }
    }
    Ok(records)
}
