//! The speed of the array simulator on one thread, in simulated cycles per second.

use std::error::Error;
use std::time::Instant;

use ciphermill_arch::array::{Array, CIPHERMILL, Machine};
use ciphermill_math::Modulus;
use ciphermill_rvfhe::compiler::{Direction, Ring, Task, Transform, compile};
use ciphermill_rvfhe::isa::Instruction;
use serde::Serialize;

/// Times of each case.
const SAMPLES: usize = 20;

/// One measurement.
#[derive(Debug, Serialize)]
pub struct Speed {
    /// Points of the transform.
    pub polynomial_size: usize,
    /// Inputs in flight.
    pub in_flight: usize,
    /// Simulated cycles of a run.
    pub cycles: u64,
    /// Median speed, in millions of cycles per second.
    pub median: f64,
    /// Best speed, in millions of cycles per second.
    pub best: f64,
}

/// Times forward transforms on the best instruction set.
///
/// # Errors
/// If a machine, program or run is refused.
pub fn measure() -> Result<Vec<Speed>, Box<dyn Error>> {
    let machine = Machine::from_toml(CIPHERMILL)?;
    let modulus = Modulus::new(2_013_265_921)?;
    let (ring, direction) = (Ring::Negacyclic, Direction::Forward);
    let mut speeds = Vec::new();
    for (log_size, in_flight, runs) in [(13, 1, 48), (13, 4, 12), (14, 2, 12), (16, 1, 6)] {
        let polynomial_size = 1 << log_size;
        let task = Task::Transform(Transform { polynomial_size, modulus, ring, direction });
        let compiled = compile(&machine.target(), &task, in_flight)?;
        let programs: Vec<Vec<u32>> =
            compiled.cores.iter().map(|core| core.instructions.iter().map(Instruction::encode).collect()).collect();
        let mut array = Array::new(machine.clone());
        for (core, image) in compiled.cores.iter().enumerate() {
            array.set_twiddles(core, &image.twiddles)?;
        }
        let (mut cycles, mut rates) = (0, Vec::new());
        for _ in 0..SAMPLES {
            let start = Instant::now();
            cycles = array.run(&programs, &[(10, runs)], 0, 1 << 30)?.cycles;
            rates.push(cycles as f64 / start.elapsed().as_secs_f64() / 1e6);
        }
        rates.sort_by(f64::total_cmp);
        let (median, best) = (rates[SAMPLES / 2], rates[SAMPLES - 1]);
        speeds.push(Speed { polynomial_size, in_flight, cycles, median, best });
    }
    Ok(speeds)
}
