//! Keystream, samplers, decomposition and rotation: the work of key generation and of one external product beside its
//! transforms. `cargo bench -p ciphermill-lattice --bench throughput`; one JSON record a line.

use std::hint::black_box;
use std::time::Instant;

use ciphermill_lattice::gadget::{ModularDecomposer, SignedDecomposer};
use ciphermill_lattice::rotate::RotatedDifference;
use ciphermill_lattice::{
    Csprng, DecompositionBaseLog, DecompositionLevelCount, NoiseDistribution, SecretSeed, sampler,
};
use ciphermill_math::{CoefficientSource, Isa};

const N: usize = 16384;
const SAMPLES: usize = 301;

fn report(case: &str, mut job: impl FnMut()) {
    let mut times: Vec<u128> = (0..SAMPLES)
        .map(|_| {
            let start = Instant::now();
            job();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    let (min, median, isa) = (times[0], times[SAMPLES / 2], Isa::current());
    println!(
        "{{\"schema\":1,\"case\":\"{case}/n{N}\",\"isa\":\"{isa}\",\"threads\":1,\"samples\":{SAMPLES},\
         \"min_ns\":{min},\"median_ns\":{median},\"kind\":\"measured\",\"ns_per_value\":{:.3}}}",
        median as f64 / N as f64
    );
}

fn main() {
    let isa = Isa::current();
    let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([1; 32]), 0);
    let mut wide = vec![0u64; N];
    let mut narrow = vec![0u32; N];
    let mut digits = vec![0i64; N];
    let mut residues = vec![0u64; N];
    report("uniform/u32", || sampler::uniform(&mut rng, black_box(&mut narrow)));
    report("binary/u64", || sampler::binary(&mut rng, black_box(&mut wide)));
    report("ternary", || sampler::ternary(&mut rng, black_box(&mut digits)));
    let gaussian = NoiseDistribution::Gaussian { std_dev: 2f64.powi(-46) };
    report("gaussian/u64", || gaussian.sample_into(&mut rng, black_box(&mut wide)));
    report("gaussian-add/u64", || gaussian.add_to(&mut rng, black_box(&mut wide)));
    report("gaussian/u32", || gaussian.sample_into(&mut rng, black_box(&mut narrow)));
    let tuniform = NoiseDistribution::TUniform { bound_log2: 17 };
    report("tuniform/u64", || tuniform.sample_into(&mut rng, black_box(&mut wide)));
    report("uniform/u64", || sampler::uniform(&mut rng, black_box(&mut wide)));

    let (base, levels) = (DecompositionBaseLog(9), DecompositionLevelCount(5));
    let torus = SignedDecomposer::<u64>::new(base, levels).expect("45 of 64 bits");
    report("digits/u64", || torus.fill_digits(isa, black_box(&wide), 3, &mut digits));
    let modular = ModularDecomposer::new(base, levels).expect("45 of 63 bits");
    report("digits/goldilocks", || modular.fill_digits(isa, black_box(&wide), 3, &mut residues));
    let difference = RotatedDifference::new(isa, &wide, 20001);
    report("rotated-difference/u64", || difference.read(0, black_box(&mut residues)));
}
