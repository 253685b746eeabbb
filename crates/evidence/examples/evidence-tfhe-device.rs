//! The full counts behind the TFHE device: `make evidence AREA=tfhe-device`.
//!
//! Runs the release binary as a user would and collects its JSON: products through the whole device path at the paper's
//! dimensions and at a small set, and the benchmarks of bootstrap, key switch and key generation.

use std::error::Error;

use serde_json::json;

use ciphermill_evidence as support;

/// Runs of the command; each must exit 0 and print one JSON value.
const RUNS: &[&str] = &[
    "demo --params NVME_TFHE_PAPER --pairs 5",
    "demo --params NVME_TFHE_PAPER --pairs 5 --choice big",
    "demo --params NVME_TFHE_PAPER --pairs 5 --backend ntt",
    "demo --params NVME_TFHE_128 --pairs 5",
    "demo --params TEST_SMALL_U64 --pairs 200",
    "demo --params TEST_SMALL_U64 --pairs 200 --choice big",
    "bench pbs --params NVME_TFHE_PAPER --threads 1 --backend fft --samples 20",
    "bench pbs --params NVME_TFHE_PAPER --threads 1 --backend ntt --samples 10",
    "bench ks --params NVME_TFHE_PAPER --threads 1 --samples 20",
    "bench keygen --params NVME_TFHE_PAPER --threads 2 --samples 3",
    "bench pbs --params MESSAGE_1_2M64 --threads 1 --backend fft --samples 100",
    "bench pbs --params MESSAGE_2_2M64 --threads 1 --backend fft --samples 100",
    "bench pbs --params MESSAGE_3_2M64 --threads 1 --backend fft --samples 100",
    "bench pbs --params MESSAGE_4_2M64 --threads 1 --backend fft --samples 100",
    "bench pbs --params MESSAGE_5_2M64 --threads 1 --backend fft --samples 50",
    "bench pbs --params MESSAGE_6_2M64 --threads 1 --backend fft --samples 50",
    "bench pbs --params MESSAGE_1_2M128 --threads 1 --backend fft --samples 100",
    "bench pbs --params MESSAGE_2_2M128 --threads 1 --backend fft --samples 100",
    "bench pbs --params MESSAGE_3_2M128 --threads 1 --backend fft --samples 50",
    "bench pbs --params MESSAGE_4_2M128 --threads 1 --backend fft --samples 50",
];

fn main() -> Result<(), Box<dyn Error>> {
    let runs = RUNS.iter().map(|run| support::command(run)).collect::<Result<Vec<_>, _>>()?;
    support::write(&json!({ "runs": runs }))
}
