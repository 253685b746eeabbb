//! Prints the cheapest parameter set of every recommended goal, as docs/parameters.md and the named sets have it.
//!
//! ```text
//! cargo run --release -p ciphermill-tfhe --example choose_parameters
//! ```

use ciphermill_lattice::NoiseDistribution;
use ciphermill_tfhe::EncryptionKeyChoice;
use ciphermill_tfhe::noise;
use ciphermill_tfhe::parameters::{cost, recommended_goals, search};

fn main() {
    println!(
        "| set | norm | n | log2 sd LWE | k | N | log2 sd GLWE | PBS base, levels | KS base, levels | log2 p_fail | cost (ms) |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, goal) in recommended_goals() {
        let Some(spec) = search::cheapest(name, goal) else {
            println!("| {name} | none meets the goal |");
            continue;
        };
        let log2_std = |noise| match noise {
            NoiseDistribution::Gaussian { std_dev } => std_dev.log2(),
            NoiseDistribution::TUniform { bound_log2 } => f64::from(bound_log2),
        };
        println!(
            "| {name} | {} | {} | {:.4} | {} | {} | {:.4} | 2^{}, {} | 2^{}, {} | {:.2} | {:.2} |",
            goal.max_norm2,
            spec.lwe_dimension.0,
            log2_std(spec.lwe_noise),
            spec.glwe_dimension.0,
            spec.polynomial_size.get(),
            log2_std(spec.glwe_noise),
            spec.pbs.base_log.0,
            spec.pbs.level_count.0,
            spec.ks.base_log.0,
            spec.ks.level_count.0,
            noise::log2_p_fail(&spec, EncryptionKeyChoice::Big, goal.message_bits, goal.max_norm2),
            cost::bootstrap_cost(&spec) * 1e-6,
        );
    }
}
