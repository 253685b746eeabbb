//! Prints the cheapest parameter set of every recommended goal, from which `src/parameters/sets.rs` was written, and the
//! tables of docs/parameters.md.
//!
//! ```text
//! cargo run --release -p ciphermill-tfhe --example choose_parameters
//! ```

use ciphermill_lattice::NoiseDistribution;
use ciphermill_tfhe::parameters::{SET_NAMES, cost, recommended_goals, search};
use ciphermill_tfhe::{Backend, KeyOrder, ParameterSet, ParameterSpec, SecurityPolicy, TorusWidth, noise};

fn log2_std(noise: NoiseDistribution) -> String {
    match noise {
        NoiseDistribution::Gaussian { std_dev } => format!("{:.4}", std_dev.log2()),
        NoiseDistribution::TUniform { bound_log2 } => format!("uniform to 2^{bound_log2} ulp"),
    }
}

fn print_dimensions(spec: &ParameterSpec) {
    println!(
        "| `{}` | {} | {} | {} | {} | {} | {} | {} | {} | 2^{}, {} | 2^{}, {} | {:.2} |",
        spec.name,
        spec.torus.bits(),
        spec.message_bits,
        spec.max_norm2,
        spec.lwe_dimension.0,
        spec.glwe_dimension.0,
        spec.polynomial_size.get(),
        log2_std(spec.lwe_noise),
        log2_std(spec.glwe_noise),
        spec.pbs.base_log.0,
        spec.pbs.level_count.0,
        spec.ks.base_log.0,
        spec.ks.level_count.0,
        cost::bootstrap_cost(spec) * 1e-6,
    );
}

fn bytes(count: usize) -> String {
    match count {
        0..10_000 => format!("{count} B"),
        10_000..10_000_000 => format!("{:.1} kB", count as f64 * 1e-3),
        _ => format!("{:.1} MB", count as f64 * 1e-6),
    }
}

/// Security, failure probability and sizes of the elements, without headers.
fn print_properties(set: &ParameterSet) {
    let (k, size, n) = (set.glwe_dimension.0, set.polynomial_size.get(), set.lwe_dimension.0);
    let width = set.torus.bytes();
    let bodies = n * (k + 1) * set.pbs.level_count.0 * size * width;
    let rows = k * size * set.ks.level_count.0;
    let choice = |choice| {
        let log2 = noise::log2_p_fail(set, choice, set.message_bits, set.max_norm2);
        // The model has not been checked further down.
        if log2 < -128.0 { "< -128".to_owned() } else { format!("{log2:.1}") }
    };
    let sd = |choice| 0.5 * noise::bootstrap_variance(set, choice, Backend::Fft).log2();
    println!(
        "| `{}` | {:.1} | {} | {} | {:.1} | {:.1} | {} / {} | {} / {} | {} | {} |",
        set.name,
        set.security().bits,
        choice(KeyOrder::Big),
        choice(KeyOrder::Small),
        sd(KeyOrder::Big),
        sd(KeyOrder::Small),
        bytes(bodies),
        bytes(bodies * (k + 1)),
        bytes(rows * 4),
        bytes(rows * 4 * (n + 1)),
        bytes((k * size + 1) * width),
        bytes((n + 1) * TorusWidth::U32.bytes()),
    );
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const DIMENSIONS: &str = "| set | torus | m | norm | n | k | N | log2 σ LWE | log2 σ GLWE | B, l | KS base, t | cost (ms) |\n\
        | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |";
    println!("Found by the search:\n\n{DIMENSIONS}");
    for (name, goal) in recommended_goals() {
        match search::cheapest(name, goal) {
            Some(spec) => print_dimensions(&spec),
            None => println!("| `{name}`: nothing meets {goal:?} |"),
        }
    }
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let sets = SET_NAMES.iter().map(|name| ParameterSet::named(name, policy)).collect::<Result<Vec<_>, _>>()?;
    println!("\nNamed sets:\n\n{DIMENSIONS}");
    sets.iter().for_each(|set| print_dimensions(set));
    println!(
        "\n| set | security | log2 p_fail `Big` | `Small` | log2 sd out, `Big` | `Small` | bootstrapping key, seeded / full | \
         key-switching key, seeded / full | `Big` ciphertext | `Small` |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    );
    sets.iter().for_each(print_properties);
    Ok(())
}
