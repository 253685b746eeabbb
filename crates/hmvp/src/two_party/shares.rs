//! Shares modulo t.

use std::sync::Arc;

use ciphermill_lattice::{Csprng, KeyTag};
use zeroize::{Zeroize, Zeroizing};

use super::require_unsplit;
use crate::entries::require_entries;
use crate::error::HmvpError;
use crate::{EncryptedVector, Plan, VectorCiphertext, encrypt_part};
use ciphermill_bfv::ciphertext::Plaintext;
use ciphermill_bfv::error::{BfvError, require_length, require_range};
use ciphermill_bfv::keys::{PublicKey, SecretKey};

/// A uniform integer of `[0, t)`: ⌊w·t/2^128⌋ for 16 bytes w, which is within t·2^-128 of uniform. t < 2^63.
pub(super) fn uniform(t: u64, rng: &mut Csprng) -> u64 {
    let (high, low, t) = (u128::from(rng.next_u64()), u128::from(rng.next_u64()), u128::from(t));
    ((high * t + ((low * t) >> 64)) >> 64) as u64
}

/// a + b modulo t for a, b < t < 2^62, without a branch.
fn add(a: u64, b: u64, t: u64) -> u64 {
    let reduced = (a + b).wrapping_sub(t);
    reduced.wrapping_add(t & ((reduced as i64) >> 63) as u64)
}

/// t − a modulo t for a < t.
fn negate(a: u64, t: u64) -> u64 {
    add(t - 1 - a, 1 % t, t)
}

/// x modulo t, for |x| < t.
pub(super) fn residue(x: i64, t: u64) -> u64 {
    (x as u64).wrapping_add(t & (x >> 63) as u64)
}

/// −x modulo t, for |x| < t.
pub(super) fn negated_residue(x: i64, t: u64) -> u64 {
    negate(residue(x, t), t)
}

/// The representative of x < t in [−⌊t/2⌋, ⌊(t−1)/2⌋], without a branch.
fn centred(x: u64, t: u64) -> i64 {
    let above = ((t - 1) / 2).wrapping_sub(x) as i64 >> 63;
    x as i64 - (t as i64 & above)
}

fn require_modulus(t: u64) -> Result<(), BfvError> {
    require_range("modulus of the shares", t, 2, (1u64 << 62) - 1)
}

fn require_shares(what: &'static str, share: &[u64], t: u64) -> Result<(), BfvError> {
    require_range(what, share.iter().copied().max().unwrap_or(0), 0, t - 1)
}

/// Two shares of `values`: uniform vectors that add up to them modulo t, 2 ≤ t < 2^62.
///
/// # Errors
/// If t or a value is out of range; values are taken from [−⌊t/2⌋, ⌊(t−1)/2⌋].
///
/// # Example
/// ```
/// use ciphermill_hmvp::two_party::{reconstruct, share};
/// use ciphermill_lattice::{Csprng, SecretSeed};
///
/// let mut rng = Csprng::from_os()?;
/// let [first, second] = share(&[1, 0, -1], 1009, &mut rng)?;
/// assert_eq!(reconstruct([&first, &second], 1009)?, [1, 0, -1]);
/// assert!(share(&[505], 1009, &mut rng).is_err(), "values are -504 to 504");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn share(values: &[i64], t: u64, rng: &mut Csprng) -> Result<[Vec<u64>; 2], HmvpError> {
    require_modulus(t)?;
    let (least, greatest) = (-((t / 2) as i64), ((t - 1) / 2) as i64);
    require_range("least value to share", values.iter().copied().min().unwrap_or(0), least, greatest)?;
    require_range("greatest value to share", values.iter().copied().max().unwrap_or(0), least, greatest)?;
    let first: Vec<u64> = values.iter().map(|_| uniform(t, rng)).collect();
    let second = values.iter().zip(&first).map(|(&x, &share)| add(residue(x, t), negate(share, t), t)).collect();
    Ok([first, second])
}

/// The values of two shares, in [−⌊t/2⌋, ⌊(t−1)/2⌋].
///
/// # Errors
/// If t or a share is out of range, or the shares are not of one length.
///
/// # Example
/// ```
/// use ciphermill_hmvp::two_party::reconstruct;
///
/// // 7 + 5 = 12, which is −1 modulo 13.
/// assert_eq!(reconstruct([&[7], &[5]], 13)?, [-1]);
/// assert!(reconstruct([&[13], &[0]], 13).is_err(), "shares are below the modulus");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn reconstruct(shares: [&[u64]; 2], t: u64) -> Result<Vec<i64>, HmvpError> {
    require_modulus(t)?;
    let [a, b] = shares;
    require_length("number of values of the second share", b.len(), a.len())?;
    require_shares("greatest value of the first share", a, t)?;
    require_shares("greatest value of the second share", b, t)?;
    Ok(a.iter().zip(b).map(|(&a, &b)| centred(add(a, b, t), t)).collect())
}

/// The integers of a share of a vector by `plan`.
fn integers(plan: &Plan, share: &[u64]) -> Result<Zeroizing<Vec<i64>>, HmvpError> {
    require_unsplit(plan)?;
    let t = plan.context().t();
    require_length("number of values of the share", share.len(), plan.request().cols)?;
    require_shares("greatest value of the share", share, t)?;
    Ok(Zeroizing::new(share.iter().map(|&x| centred(x, t)).collect()))
}

/// A's message: its share of the vector under its secret key.
///
/// # Errors
/// If the plan may split entries, the share has not n values below t, the key is of other parameters, or the operating
/// system gives no randomness.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let plan = Arc::new(Plan::new(&Request { unsplit: true, ..Request::new(2, 3) }, Isa::current())?);
/// # let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
/// let [share_a, _share_b] = share(&[1, 0, -1], plan.context().t(), &mut rng)?;
/// let sent = encrypt_share(&plan, &secret, &share_a, &mut rng)?;
/// assert_eq!(sent.tag(), secret.tag());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encrypt_share(
    plan: &Arc<Plan>,
    key: &SecretKey,
    share: &[u64],
    noise: &mut Csprng,
) -> Result<EncryptedVector, HmvpError> {
    plan.require_key(key)?;
    encrypt(plan, key.tag(), share, |plaintext, limbs| VectorCiphertext::seeded(key, plaintext, limbs, noise))
}

/// The same under A's public key.
///
/// # Errors
/// As [`encrypt_share`], or if the plan expects encryption under the secret key.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let request = Request { encryption: Encryption::Public, unsplit: true, ..Request::new(2, 3) };
/// let plan = Arc::new(Plan::new(&request, Isa::current())?);
/// # let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
/// let public = ciphermill_bfv::PublicKey::generate(&secret)?;
/// let [share_a, _share_b] = share(&[1, 0, -1], plan.context().t(), &mut rng)?;
/// let sent = encrypt_share_public(&plan, &public, &share_a, &mut rng)?;
/// assert_eq!(sent.tag(), secret.tag());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encrypt_share_public(
    plan: &Arc<Plan>,
    key: &PublicKey,
    share: &[u64],
    rng: &mut Csprng,
) -> Result<EncryptedVector, HmvpError> {
    plan.require_public_key(key)?;
    plan.require_public_encryption()?;
    encrypt(plan, key.tag(), share, |plaintext, limbs| {
        Ok(VectorCiphertext { ciphertext: key.encrypt(plaintext, limbs, rng)?, seed: None })
    })
}

fn encrypt(
    plan: &Arc<Plan>,
    tag: KeyTag,
    share: &[u64],
    encrypt: impl FnMut(&Plaintext, usize) -> Result<VectorCiphertext, HmvpError>,
) -> Result<EncryptedVector, HmvpError> {
    let part = encrypt_part(plan, &integers(plan, share)?, encrypt)?;
    Ok(EncryptedVector { plan: plan.clone(), tag, summands: 1, parts: vec![part] })
}

/// B's first step: its share of the vector added to A's.
///
/// # Errors
/// If the plan may split entries, or the share has not n values below t.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let plan = Arc::new(Plan::new(&Request { unsplit: true, ..Request::new(2, 3) }, Isa::current())?);
/// # let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
/// # let keys = engine.prepare(&plan, &GaloisKeys::generate(&secret, &plan.galois_requests())?)?;
/// # let matrix = engine.prepare_matrix(&plan, &dense)?;
/// let [share_a, share_b] = share(&[1, 0, -1], plan.context().t(), &mut rng)?;
/// let sent = encrypt_share(&plan, &secret, &share_a, &mut rng)?;
/// let vector = add_share(&sent, &share_b)?;
/// let (response, product_b) = mask(&keys.multiply(&matrix, &vector)?, &MaskOptions::plaintexts_only(), None, &mut rng)?;
/// let product_a = response.decrypt(&secret)?;
/// assert_eq!(reconstruct([&product_a, &product_b], plan.context().t())?, [-2, -2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn add_share(vector: &EncryptedVector, share: &[u64]) -> Result<EncryptedVector, HmvpError> {
    add_integers(vector, &integers(vector.plan(), share)?)
}

/// A vector plus plain integers, which have the range of its entries.
///
/// # Errors
/// If the plan may split entries, there are not n integers, or one is out of the plan's range.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let plan = Arc::new(Plan::new(&Request { unsplit: true, ..Request::new(2, 3) }, Isa::current())?);
/// # let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
/// # let keys = engine.prepare(&plan, &GaloisKeys::generate(&secret, &plan.galois_requests())?)?;
/// # let matrix = engine.prepare_matrix(&plan, &dense)?;
/// let vector = EncryptedVector::encrypt(&plan, &secret, &[4, 0, -2], &mut rng)?;
/// let sum = add_plain(&vector, &[-3, 0, 1])?;
/// assert_eq!(keys.multiply(&matrix, &sum)?.decrypt(&secret)?, [-2, -2]);
/// assert!(add_plain(&vector, &[200, 0, 0]).is_err(), "200 needs 9 bits");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn add_plain(vector: &EncryptedVector, values: &[i64]) -> Result<EncryptedVector, HmvpError> {
    let request = vector.plan().request();
    require_unsplit(vector.plan())?;
    require_length("number of entries of the array", values.len(), request.cols)?;
    require_entries("entry of the array", values, request.vector_bits)?;
    add_integers(vector, values)
}

/// A vector of an unsplit plan plus n integers in [−⌊t/2⌋, ⌊(t−1)/2⌋].
fn add_integers(vector: &EncryptedVector, values: &[i64]) -> Result<EncryptedVector, HmvpError> {
    let plan = vector.plan();
    let plaintexts = plan.algorithm().encode_vector(plan.context(), values)?;
    let add = |(encrypted, mut plaintext): (&VectorCiphertext, Plaintext)| {
        let ciphertext = plan.context().add_plain(&encrypted.ciphertext, &plaintext);
        plaintext.zeroize();
        Ok(VectorCiphertext { ciphertext: ciphertext?, seed: encrypted.seed })
    };
    let part = vector.parts[0].iter().zip(plaintexts).map(add).collect::<Result<_, HmvpError>>()?;
    Ok(EncryptedVector { plan: plan.clone(), tag: vector.tag, summands: vector.summands, parts: vec![part] })
}

#[cfg(test)]
mod tests {
    use ciphermill_lattice::SecretSeed;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn arithmetic_modulo_t_is_that_of_integers(t in 2u64..1 << 62, x: u64, y: u64) {
            let (x, y, wide) = (x % t, y % t, i128::from(t));
            prop_assert_eq!(i128::from(add(x, y, t)), (i128::from(x) + i128::from(y)) % wide);
            prop_assert_eq!(add(negate(x, t), x, t), 0);
            let (least, greatest) = (-((t / 2) as i64), ((t - 1) / 2) as i64);
            let signed = centred(x, t);
            prop_assert!((least..=greatest).contains(&signed));
            prop_assert_eq!(residue(signed, t), x);
            prop_assert_eq!(add(negated_residue(signed, t), x, t), 0);
        }

        #[test]
        fn shares_add_up_to_the_values(t in 2u64..1 << 62, values: Vec<i64>) {
            let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([1; 32]), 0);
            let values: Vec<i64> = values.iter().map(|&x| centred(x.unsigned_abs() % t, t)).collect();
            let [a, b] = share(&values, t, &mut rng).expect("values in range");
            prop_assert!(a.iter().chain(&b).all(|&x| x < t));
            prop_assert_eq!(reconstruct([&a, &b], t).expect("shares"), values);
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([1; 32]), 0);
        assert!(share(&[2], 4, &mut rng).is_err() && share(&[-3], 4, &mut rng).is_err());
        assert!(share(&[-2, 1], 4, &mut rng).is_ok());
        for t in [0, 1, 1 << 62, u64::MAX] {
            assert!(share(&[], t, &mut rng).is_err() && reconstruct([&[], &[]], t).is_err(), "modulus {t}");
        }
        assert!(reconstruct([&[4], &[0]], 4).is_err() && reconstruct([&[0], &[4]], 4).is_err());
        assert!(reconstruct([&[1, 2], &[0]], 4).is_err());
    }
}
