//! Times the key switch of a named parameter set: one ciphertext and a batch, on one thread and on two.
//!
//! `cargo run --release -p ciphermill-evidence --example keyswitch-timing -- NVME_TFHE_PAPER 20`

use std::time::Instant;

use ciphermill_lattice::{Csprng, SecretSeed, Torus};
use ciphermill_math::Isa;
use ciphermill_tfhe::lwe::LweCiphertext;
use ciphermill_tfhe::{ClientKey, KeySeeds, ParameterSet, SecurityPolicy};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("NVME_TFHE_PAPER", String::as_str);
    let count: usize = arguments.get(1).map_or(Ok(20), |c| c.parse())?;
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let parameters = ParameterSet::named(name, policy)?;
    let client = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
    let start = Instant::now();
    let key = client.generate_keyswitch_key(KeySeeds::from_os()?)?;
    println!("generation: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let start = Instant::now();
    let key = key.expand();
    println!("expansion: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let bytes = std::mem::size_of_val(key.elements()) as f64;
    let mut rng = Csprng::from_os()?;
    let inputs: Vec<LweCiphertext<u64>> = (0..8)
        .map(|_| {
            let mut elements = vec![0; parameters.big_lwe_dimension().lwe_size()];
            u64::fill_random(&mut rng, &mut elements);
            LweCiphertext::from_elements(elements)
        })
        .collect();
    let expected = key.switch_on(Isa::Portable, &inputs[0])?;
    for isa in [Isa::current()] {
        for batch in [1, 2, 4, 8] {
            let inputs: Vec<_> = inputs[..batch].iter().collect();
            for parallel in [false, true] {
                let mut least = f64::INFINITY;
                for _ in 0..count {
                    let start = Instant::now();
                    let outputs = match parallel {
                        true => key.switch_batch_parallel_on(isa, &inputs)?,
                        false => key.switch_batch_on(isa, &inputs)?,
                    };
                    least = least.min(start.elapsed().as_secs_f64());
                    assert_eq!(outputs[0], expected);
                }
                let threads = if parallel { rayon::current_num_threads() } else { 1 };
                println!(
                    "{isa}, {threads} threads, batch of {batch}: {:.2} ms, {:.1} GB/s of key",
                    least * 1e3,
                    bytes / least * 1e-9
                );
            }
        }
    }
    Ok(())
}
