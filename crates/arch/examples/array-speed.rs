//! How many cycles of our array are simulated in a second: 2^13 points, four transforms in flight, again and again.
//!
//! `cargo run --release -p ciphermill-arch --example array-speed`

use std::time::Instant;

use ciphermill_arch::array::{Array, CIPHERMILL, Machine};
use ciphermill_math::Modulus;
use ciphermill_rvfhe::compiler::{Direction, Ring, Task, Transform, compile};
use ciphermill_rvfhe::isa::Instruction;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine = Machine::from_toml(CIPHERMILL)?;
    let modulus = Modulus::new(2_013_265_921)?;
    for (log_size, in_flight, runs) in [(13, 1, 48), (13, 4, 12), (14, 2, 12), (16, 1, 6)] {
        let (ring, direction) = (Ring::Negacyclic, Direction::Forward);
        let task = Task::Transform(Transform { polynomial_size: 1 << log_size, modulus, ring, direction });
        let compiled = compile(&machine.target(), &task, in_flight)?;
        let programs: Vec<Vec<u32>> =
            compiled.cores.iter().map(|core| core.instructions.iter().map(Instruction::encode).collect()).collect();
        let mut array = Array::new(machine.clone());
        for (core, image) in compiled.cores.iter().enumerate() {
            array.set_twiddles(core, &image.twiddles)?;
        }
        let (mut cycles, mut rates) = (0, Vec::new());
        for _ in 0..20 {
            let start = Instant::now();
            cycles = array.run(&programs, &[(10, runs)], 0, 1 << 30)?.cycles;
            rates.push(cycles as f64 / start.elapsed().as_secs_f64() / 1e6);
        }
        rates.sort_by(f64::total_cmp);
        println!(
            "2^{log_size}, {in_flight} in flight: {cycles} cycles, median {:.2}, best {:.2} million cycles a second",
            rates[rates.len() / 2],
            rates[rates.len() - 1]
        );
    }
    Ok(())
}
