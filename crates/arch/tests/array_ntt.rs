//! Transforms on the simulated array: bit for bit the golden ones, in the cycles that are asked.

use ciphermill_arch::array::{Array, CIPHERMILL, Machine, PAPER, Run};
use ciphermill_math::Modulus;
use ciphermill_math::ntt::{Convolution, FourStepNtt};
use ciphermill_rvfhe::compiler::{Compiled, Direction, Ring, Task, Transform, compile};

/// 2^31 − 2^27 + 1 has roots of unity of order 2^27.
const MODULUS: u64 = 2_013_265_921;

fn random(seed: u64) -> impl FnMut() -> u32 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 32) % MODULUS) as u32
    }
}

fn golden(transform: &Transform, values: &mut [u64]) {
    let size = transform.polynomial_size;
    let ring = if transform.ring == Ring::Cyclic { Convolution::Cyclic } else { Convolution::Negacyclic };
    let half = 1 << (size.ilog2() / 2);
    let ntt = FourStepNtt::new(&[half, size / half], ring, transform.modulus).unwrap();
    match transform.direction {
        Direction::Forward => ntt.forward(values),
        Direction::Inverse => ntt.inverse(values),
    }
}

/// What the word of a place holds: coefficients by their number; values of a spectrum by the number of the point, bit-reversed.
fn number(transform: &Transform, input: bool, index: u32) -> usize {
    let spectrum = (transform.direction == Direction::Forward) != input;
    let bits = transform.polynomial_size.ilog2();
    if spectrum { (index.reverse_bits() >> (32 - bits)) as usize } else { index as usize }
}

fn run(machine: &Machine, transform: &Transform, in_flight: usize, runs: usize) -> (Run, Compiled) {
    let task = Task::Transform { transform: transform.clone(), in_flight };
    let compiled = compile(&machine.target(), &task).unwrap();
    let mut array = Array::new(machine.clone());
    let programs: Vec<Vec<u32>> = compiled
        .cores
        .iter()
        .map(|core| core.instructions.iter().map(ciphermill_rvfhe::isa::Instruction::encode).collect())
        .collect();
    for (core, image) in compiled.cores.iter().enumerate() {
        array.set_twiddles(core, &image.twiddles).unwrap();
    }
    let lanes = machine.core.lanes as usize;
    let mut next = random(runs as u64 + transform.polynomial_size as u64);
    let mut inputs = Vec::new();
    for run in 0..runs {
        for input in &compiled.inputs {
            let values: Vec<u64> = (0..transform.polynomial_size).map(|_| u64::from(next())).collect();
            let first = (run as u32 * compiled.stride + input.first_vector) as usize * lanes;
            for (word, index) in array.scratchpad_mut()[first..].iter_mut().zip(&*input.order) {
                *word = values[number(transform, true, *index)] as u32;
            }
            inputs.push(values);
        }
    }
    let stores = (in_flight * transform.polynomial_size / lanes) as u64;
    let started = std::time::Instant::now();
    let done = array.run(&programs, &[(10, runs as u32)], stores, 10_000_000).unwrap_or_else(|error| panic!("{error}"));
    println!("{:.3} M cycles/s", done.cycles as f64 / started.elapsed().as_secs_f64() / 1e6);
    let outputs = (0..runs).flat_map(|run| compiled.outputs.iter().map(move |output| (run, output)));
    for ((run, output), mut values) in outputs.zip(inputs) {
        golden(transform, &mut values);
        let first = (run as u32 * compiled.stride + output.first_vector) as usize * lanes;
        for (word, index) in array.scratchpad()[first..].iter().zip(&*output.order) {
            assert_eq!(u64::from(*word), values[number(transform, false, *index)], "index {index}");
        }
    }
    (done, compiled)
}

fn transform(log_size: u32, ring: Ring, direction: Direction) -> Transform {
    Transform { polynomial_size: 1 << log_size, modulus: Modulus::new(MODULUS).unwrap(), ring, direction }
}

fn report(machine: &Machine, log_size: u32, in_flight: usize, runs: usize) -> (u64, f64) {
    let transform = transform(log_size, Ring::Negacyclic, Direction::Forward);
    let (run, compiled) = run(machine, &transform, in_flight, runs);
    let steady = if runs > 1 {
        (run.marks[runs - 1] - run.marks[0]) as f64 / ((runs - 1) * in_flight) as f64
    } else {
        f64::NAN
    };
    println!(
        "{} 2^{log_size}, {in_flight} in flight, {runs} runs: {} cycles, first {} (expected {}), steady {steady:.1}, {} words",
        machine.name,
        run.cycles,
        run.marks[0],
        compiled.expected_cycles,
        compiled.cores[0].instructions.len()
    );
    println!("   {:?}", run.counts[0]);
    (run.marks[0], steady)
}

#[test]
fn cycles() {
    let ours = Machine::from_toml(CIPHERMILL).unwrap();
    let paper = Machine::from_toml(PAPER).unwrap();
    for machine in [&ours, &paper] {
        for (log_size, in_flight, runs) in
            [(13, 1, 1), (13, 1, 8), (13, 2, 8), (13, 4, 8), (14, 1, 1), (14, 1, 4), (14, 2, 4), (16, 1, 1), (16, 1, 4)]
        {
            report(machine, log_size, in_flight, runs);
        }
    }
}

#[test]
fn every_ring_and_way() {
    let ours = Machine::from_toml(CIPHERMILL).unwrap();
    for ring in [Ring::Cyclic, Ring::Negacyclic] {
        for direction in [Direction::Forward, Direction::Inverse] {
            for log_size in [12, 13, 14, 16] {
                run(&ours, &transform(log_size, ring, direction), 1, 2);
            }
        }
    }
}
