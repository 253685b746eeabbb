//! The first steps with TFHE: encrypt two numbers, add them, evaluate a function of the sum by a programmable bootstrap,
//! decrypt.
//!
//! ```text
//! cargo run -p ciphermill-tfhe --example first_bootstrap
//! ```

use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_tfhe::parameters::TEST_SMALL_U64;
use ciphermill_tfhe::{
    Backend, ClientKey, Encoding, KeyForm, KeyOrder, KeySeeds, ParameterSet, SecurityPolicy, ServerKey,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A toy set, so that this program ends at once. For real data use a set such as MESSAGE_4_2M64 and
    // `SecurityPolicy::Require128Bits`; docs/parameters.md lists all sets.
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let parameters = ParameterSet::named(TEST_SMALL_U64, policy)?;

    // The client keeps the secret keys and makes two public keys for the server.
    let client = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
    let bootstrap = client.write_bootstrap_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new(), &mut |_, _| ())?;
    let keyswitch = client.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new())?;
    println!("server keys: {} bytes and {} bytes", bootstrap.len(), keyswitch.len());

    // Messages are the integers 0 to 7. The padding bit lets a table evaluate any function.
    let encoding = Encoding::unsigned(3, true)?;
    let mut rng = Csprng::from_os()?;
    let three = client.encrypt(&encoding, 3, KeyOrder::Big, &mut rng)?;
    let two = client.encrypt(&encoding, 2, KeyOrder::Big, &mut rng)?;

    // The server sees ciphertexts only. A sum is cheap; a bootstrap evaluates a table and removes the noise.
    let server = ServerKey::load(&bootstrap[..], &keyswitch[..], Backend::Fft, policy, &mut |_, _| ())?;
    let mut sum = three;
    sum.add_assign(&two)?;
    let square = parameters.test_vector(&encoding, &encoding, |m| m * m % 8)?;
    let output = server.bootstrap(&sum, &square)?;

    // The client decrypts and checks.
    let result = client.decrypt(&encoding, &output)?;
    println!("(3 + 2)² mod 8 = {result}");
    if result != 1 {
        return Err(format!("the result is {result}; 1 was expected").into());
    }
    Ok(())
}
