//! Known answers for words from tfhe-rs, for `crates/tfhe/tests/word_oracle.rs`:
//!
//!     cargo run --release --no-default-features --example word-vectors > ../crates/tfhe/data/word_vectors.csv
//!
//! tfhe-rs encrypts digits under a key of ours and decrypts digits of ours, and its `wopbs` looks values up.

use ciphermill_bench_peers::table::{Integers, LookUp, decrypt_digit, encrypt_digit};
use ciphermill_bench_peers::{Contender, TFHE};
use ciphermill_lattice::{Csprng, NoiseDistribution, SecretSeed};
use ciphermill_tfhe::{ClientKey, ParameterSet, SecurityPolicy};

/// The function of the look-ups; the test has it again.
fn f(x: u64) -> u64 {
    x.wrapping_mul(x).wrapping_mul(0x2c9b) ^ x >> 3
}

fn hex(elements: &[u32]) -> String {
    elements.iter().map(|element| format!("{element:08x}")).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let parameters = ParameterSet::named("WORD_2M64", SecurityPolicy::Require128Bits)?;
    let client = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
    let secret = client.to_secret_key_bytes();
    let NoiseDistribution::Gaussian { std_dev } = parameters.lwe_noise else { return Err("a Gaussian".into()) };
    // docs/tfhe.md: the key bits are last, before the checksum of 4 bytes; first those of the small key.
    let (n, big) = (parameters.lwe_dimension.0, parameters.big_lwe_dimension().0);
    let at = secret.len() - 4 - big.div_ceil(8) - n.div_ceil(8);
    let bits: Vec<u8> = (0..n).map(|i| secret[at + i / 8] >> (i % 8) & 1).collect();
    let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("# {} {}: written by bench/examples/word-vectors.rs", TFHE.name, TFHE.version);
    println!("# secret: the set, and sealed secret keys of ours");
    println!("# encrypted by the peer, decrypted by the peer: a digit, and its elements");
    println!("# wopbs: bits, a value, and what the peer looks up");
    println!("secret,{},{secret}", parameters.name);
    for digit in 0..4 {
        println!("encrypted,{digit},{}", hex(&encrypt_digit(&bits, digit, std_dev)));
    }
    for digit in client.encrypt_digits(&[0, 1, 2, 3], &mut Csprng::from_os()?)?.digits() {
        println!("decrypted,{},{}", decrypt_digit(&bits, digit.elements()), hex(digit.elements()));
    }
    let keys = Integers::new();
    for bits in [8, 14, 16] {
        for value in [3, 0x55, 0x0c3a, 0xfeed].map(|value: u64| value & (u64::MAX >> (64 - bits))) {
            let mut look_up = LookUp::new(&keys, bits, f, &[value], 1);
            look_up.run();
            println!("wopbs,{bits},{value},{}", look_up.results()[0]);
        }
    }
    Ok(())
}
