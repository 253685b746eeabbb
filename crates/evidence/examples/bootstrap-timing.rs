//! Times bootstraps of small ciphertexts: blind rotation alone, with its key switch, on two threads, and in a batch (times are
//! per ciphertext); the minimum of several runs.
//!
//! `cargo run --release -p ciphermill-evidence --example bootstrap-timing [set] [fft|ntt] [batch]`

use std::time::Instant;

use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_tfhe::{
    Backend, BootstrapJob, Ciphertext, ClientKey, Encoding, KeyForm, KeyOrder, KeySeeds, ParameterSet, SecurityPolicy,
    ServerKey,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let set = args.next().unwrap_or_else(|| "NVME_TFHE_PAPER".to_owned());
    let backend = if args.next().as_deref() == Some("ntt") { Backend::Ntt } else { Backend::Fft };
    let batch: usize = args.next().map_or(Ok(8), |b| b.parse())?;
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let parameters = ParameterSet::named(&set, policy)?;
    let client = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
    let bootstrap = client.write_bootstrap_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new(), &mut |_, _| ())?;
    let keyswitch = client.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new())?;
    let start = Instant::now();
    let server = ServerKey::load(&bootstrap[..], &keyswitch[..], backend, policy, &mut |_, _| ())?;
    println!("{set} {backend}: loaded in {:.2} s", start.elapsed().as_secs_f64());
    drop((bootstrap, keyswitch));
    let encoding = Encoding::unsigned(1, true)?;
    let table = parameters.test_vector(&encoding, &encoding, |m| 1 - m)?;
    let mut rng = Csprng::from_os()?;
    let inputs: Vec<Ciphertext> = (0..batch)
        .map(|i| client.encrypt(&encoding, i as i64 % 2, KeyOrder::Small, &mut rng))
        .collect::<Result<_, _>>()?;
    let jobs: Vec<BootstrapJob<'_>> = inputs.iter().map(|input| BootstrapJob { input, test_vector: &table }).collect();
    let time =
        |what: &str, count: usize, runs: usize, work: &(dyn Fn() -> Result<(), ciphermill_tfhe::TfheError> + Sync)| {
            let mut times = Vec::new();
            for _ in 0..runs {
                let start = Instant::now();
                work().map_err(|e| e.to_string())?;
                times.push(start.elapsed().as_secs_f64() * 1e3 / count as f64);
            }
            times.sort_by(f64::total_cmp);
            println!("{what:>24}: {:8.2} ms, median {:8.2} ms", times[0], times[runs / 2]);
            Ok::<(), Box<dyn std::error::Error>>(())
        };
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let (one, two) = (pool(1)?, pool(2)?);
    time("rotation alone", 1, 10, &|| server.bootstrap_without_keyswitch(&inputs[0], &table, 1).map(drop))?;
    time("bootstrap", 1, 10, &|| server.bootstrap(&inputs[0], &table).map(drop))?;
    time("bootstrap, 2 threads", 1, 10, &|| two.install(|| server.bootstrap_with(&inputs[0], &table, 2).map(drop)))?;
    time("batch", batch, 3, &|| one.install(|| server.bootstrap_batch(&jobs).map(drop)))?;
    time("batch, 2 threads", batch, 3, &|| two.install(|| server.bootstrap_batch(&jobs).map(drop)))?;
    Ok(())
}
