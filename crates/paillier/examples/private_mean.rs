//! A server computes the mean of encrypted salaries without seeing one.
//!
//! ```text
//! cargo run -p ciphermill-paillier --example private_mean
//! ```

use ciphermill_paillier::fixed_point::{FixedPoint, FixedPointPlaintext};
use ciphermill_paillier::{Csprng, KeyBits, SecretKey};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The owner makes a key. The public part goes to every participant.
    let mut rng = Csprng::from_os()?;
    let owner = SecretKey::generate(KeyBits::new(2048)?, &mut rng)?;
    let key = owner.public_key();

    // Amounts of up to 2^24, in steps of 1/256. A participant needs only the public key to encrypt.
    let salaries = [52_000.5, 61_250.0, 48_700.25, 75_000.0];
    let plain = FixedPointPlaintext::from_f64(FixedPoint::new(24, 8)?, &salaries)?;
    let encrypted = plain.encrypt_by(key, |integers| key.encrypt(integers, key.default_blinding(), &mut rng))?;

    // The server adds ciphertexts. It holds no secret key.
    let sum = encrypted.sum()?;

    // The owner decrypts the sum only.
    let mean = sum.decrypt_f64(&owner)?[0] / salaries.len() as f64;
    println!("mean of {} encrypted salaries: {mean:.2}", salaries.len());
    Ok(())
}
