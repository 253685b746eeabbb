//! A bootstrap of the paper's set, n = 800, on the simulated TFHE engine with a memory of random latency, 50 to 400
//! cycles, and gaps in a tenth of the cycles. Prints a JSON object; `make evidence AREA=engines` runs it.
//!
//! `CIPHERMILL_HW=tfhe_engine/n16384_c2 cargo run --release -p ciphermill-cosim --example slow-memory`

use std::error::Error;
use std::time::Instant;

use ciphermill_arch::engines::ModelTfhe;
use ciphermill_cosim::axi_memory::AxiTiming;
use ciphermill_cosim::engines::RtlTfhe;
use ciphermill_tfhe::conformance::Case;
use ciphermill_tfhe::{KeyOrder, TfheEngine};

/// Of 256 cycles, those with a gap.
const GAPS: u32 = 26;
/// N of the paper.
const SIZE: usize = 16384;
/// The part of a bootstrap's cycles that the memory may add.
const MOST: f64 = 0.03;

fn main() -> Result<(), Box<dyn Error>> {
    let engine = RtlTfhe::of_size(SIZE).ok_or("no configuration of tfhe_engine for N = 16384 was built")?;
    let device = engine.info().device;
    let engine = engine.with_timing(AxiTiming { latency: 50..=400, gaps: GAPS });
    let case = Case::full()?;
    let (input, test_vector) = case.job(KeyOrder::Small).ok_or("the case has no input under the small key")?;
    let slow = case.prepare(&engine)?;
    let begun = Instant::now();
    let output = slow.bootstrap(input, test_vector)?;
    let seconds = begun.elapsed().as_secs_f64();
    let [measured] = &slow.take_costs()[..] else { return Err("one job has one cost".into()) };
    drop(slow);
    let model = case.prepare(&ModelTfhe::new())?;
    if model.bootstrap(input, test_vector)?.elements() != output.elements() {
        return Err("the bits differ from those of the exact transform".into());
    }
    let [ideal] = &model.take_costs()[..] else { return Err("one job has one cost".into()) };
    let added = measured.cycles as f64 / ideal.cycles as f64 - 1.0;
    println!(
        "{{\"engine\": \"{device}\", \"latency\": [50, 400], \"gaps\": \"{GAPS} of 256\", \"cycles\": {}, \"stalls\": {}, \
         \"cycles_without_waits\": {}, \"added\": {added:.4}, \"simulation_seconds\": {seconds:.1}}}",
        measured.cycles, measured.stalls, ideal.cycles
    );
    if added > MOST {
        Err(format!("the memory adds {:.1} %, at most {:.0} % are asked", 100.0 * added, 100.0 * MOST).into())
    } else {
        Ok(())
    }
}
