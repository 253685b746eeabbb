//! Whole accelerators in RTL at full size: `make evidence AREA=engines`.
//!
//! Table 5's program of the NVMe paper with its own parameters, n = 800, whole on the simulated TFHE engine, as a user
//! runs it: one product and four more, ten bootstraps in all. The cycles must be those of the cycle model, and every product
//! right. A bootstrap with a slow memory takes three percent more at most. Then 1,000 random jobs of the Paillier engine, with values and cycles.

use std::error::Error;
use std::process::Stdio;

use serde_json::{Value, json};

use ciphermill_evidence as support;

/// Programs: x·y, and eight more ciphertexts in four of them.
const PROGRAMS: u64 = 5;
/// Cycles of a program and of a bootstrap at most.
const PROGRAM_CYCLES: u64 = 16_700_000;
const BOOTSTRAP_CYCLES: u64 = 8_300_000;
/// Cycles of an addition, and of a product with an integer, at most.
const VECTOR_CYCLES: u64 = 300;
/// Seconds of simulation for a bootstrap at most.
const BOOTSTRAP_SECONDS: f64 = 360.0;
/// Jobs of the Paillier engine.
const JOBS: u64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let demo = |engine: &str| {
        let run = format!("demo --engine {engine} --pairs {PROGRAMS}");
        support::command_with(&run, "rtl", &[("CIPHERMILL_HW", "tfhe_engine/n16384_c2")])
    };
    let (rtl, model) = (demo("rtl")?, demo("model")?);
    let cost = |run: &Value| run["result"]["engine_cost"].clone();
    let mut costs = [cost(&rtl), cost(&model)];
    let [rtl_cost, model_cost] = &mut costs;
    for (name, most) in [
        ("bootstrap_cycles", BOOTSTRAP_CYCLES),
        ("addition_cycles", VECTOR_CYCLES),
        ("integer_product_cycles", VECTOR_CYCLES),
    ] {
        within(name, &rtl_cost[name], most)?;
    }
    within("program", &rtl_cost["program"]["cycles"], PROGRAM_CYCLES)?;
    let bootstraps = rtl["result"]["bootstraps"].as_u64();
    if bootstraps != Some(2 * PROGRAMS) {
        return Err(format!("{bootstraps:?} bootstraps, {} are asked", 2 * PROGRAMS).into());
    }
    let seconds = rtl["result"]["seconds"]["bootstrap"].as_f64().ok_or("no time of a bootstrap")?;
    let slow = seconds > BOOTSTRAP_SECONDS;
    // The names of the engines differ; cycles, stalls and bytes must not.
    for cost in [&mut *rtl_cost, &mut *model_cost] {
        cost.as_object_mut().ok_or("no cost")?.remove("engine");
    }
    if rtl_cost != model_cost {
        return Err(format!("the RTL's cost {rtl_cost} differs from the model's {model_cost}").into());
    }
    let slow_memory = slow_memory()?;
    let jobs = JOBS.to_string();
    let binary = ["-p", "ciphermill-cosim", "--test", "paillier_engine"];
    let environment = [("CIPHERMILL_HW", "paillier_engine/b1024"), ("CIPHERMILL_HW_FRAMES", &jobs)];
    let (mut paillier, said) = support::tests(&binary, &["the_cycles"], &environment)?;
    let random: u64 =
        said.lines().filter_map(|line| line.split_once("counted: ")?.1.split(' ').nth(1)?.parse::<u64>().ok()).sum();
    if random < JOBS {
        return Err(format!("{random} jobs, {JOBS} are asked").into());
    }
    paillier["random_jobs"] = json!(random);
    support::write(&json!({
        "tfhe_engine": rtl,
        "tfhe_model": model,
        "deviation": 0,
        "slow_memory": slow_memory,
        "bootstrap_simulation_seconds": seconds,
        "bootstrap_simulation_within_six_minutes": !slow,
        "paillier_engine": paillier,
    }))
}

/// A bootstrap with a memory of random latency and gaps, which may cost three percent.
fn slow_memory() -> Result<Value, Box<dyn Error>> {
    eprintln!("a bootstrap with a slow memory");
    let output = support::cargo()
        .args(["run", "--quiet", "--release", "--locked", "-p", "ciphermill-cosim", "--example", "slow-memory"])
        .env("CIPHERMILL_HW", "tfhe_engine/n16384_c2")
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("slow-memory: {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// An error if a number of cycles is missing or larger.
fn within(name: &str, cycles: &Value, most: u64) -> Result<(), Box<dyn Error>> {
    match cycles.as_u64() {
        Some(cycles) if cycles <= most => Ok(()),
        _ => Err(format!("{name}: {cycles} cycles, at most {most} are asked").into()),
    }
}
