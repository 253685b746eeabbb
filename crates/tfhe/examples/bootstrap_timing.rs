//! Times key generation, key loading, bootstrapping and key switching of a named parameter set on one thread.
//!
//! `cargo run --release -p ciphermill-tfhe --example bootstrap_timing -- NVME_TFHE_PAPER fft 5`

use std::time::Instant;

use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_tfhe::{
    Backend, ClientKey, Encoding, EncryptionKeyChoice, KeyForm, KeySeeds, ParameterSet, SecurityPolicy, ServerKey,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("NVME_TFHE_PAPER", String::as_str);
    let backend = if arguments.get(1).is_some_and(|b| b == "ntt") { Backend::Ntt } else { Backend::Fft };
    let count: usize = arguments.get(2).map_or(Ok(5), |c| c.parse())?;
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let parameters = ParameterSet::named(name, policy)?;
    let client = ClientKey::generate(&parameters, &SecretSeed::from_os()?);

    let start = Instant::now();
    let bootstrap = client.write_bootstrap_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new(), &mut |_, _| ())?;
    println!("bootstrapping key: {:.2} s, {} bytes", start.elapsed().as_secs_f64(), bootstrap.len());
    let start = Instant::now();
    let keyswitch = client.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new())?;
    println!("key-switching key: {:.2} s, {} bytes", start.elapsed().as_secs_f64(), keyswitch.len());
    let start = Instant::now();
    let server = ServerKey::load(&bootstrap[..], &keyswitch[..], backend, policy, &mut |_, _| ())?;
    println!("load: {:.2} s, {} bytes", start.elapsed().as_secs_f64(), server.memory_bytes());
    drop((bootstrap, keyswitch));

    let encoding = Encoding::unsigned(parameters.message_bits, true)?;
    let table = parameters.test_vector(&encoding, &encoding, |m| m)?;
    let mut rng = Csprng::from_secret(&SecretSeed::from_os()?, 0);
    for choice in [EncryptionKeyChoice::Small, EncryptionKeyChoice::Big] {
        let mut times = Vec::new();
        let mut switches = Vec::new();
        for i in 0..count {
            let message = i as i64 % (1 << parameters.message_bits);
            let input = client.encrypt(&encoding, message, choice, &mut rng)?;
            let start = Instant::now();
            let output = server.bootstrap(&input, &table)?;
            times.push(start.elapsed().as_secs_f64());
            assert_eq!(client.decrypt(&encoding, &output)?, message);
            if choice == EncryptionKeyChoice::Big {
                let start = Instant::now();
                server.keyswitch(&output)?;
                switches.push(start.elapsed().as_secs_f64());
            }
        }
        for (what, mut times) in [("bootstrap", times), ("key switch", switches)] {
            times.sort_by(f64::total_cmp);
            if let (Some(min), Some(median)) = (times.first(), times.get(times.len() / 2)) {
                println!("{what}, {choice}: min {:.2} ms, median {:.2} ms", min * 1e3, median * 1e3);
            }
        }
    }
    Ok(())
}
