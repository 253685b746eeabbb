//! B's answer.

use ciphermill_lattice::Csprng;
use ciphermill_lattice::rns::{Coefficients, RnsBasis, RnsPoly};
use ciphermill_math::Modulus;
use zeroize::{Zeroize, Zeroizing};

use super::options::{Assessment, MaskOptions, assess};
use super::response::Response;
use super::shares::{negated_residue, uniform};
use crate::EncryptedProduct;
use crate::error::HmvpError;
use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::encryption::require_tag;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::keys::PublicKey;

/// B's last step: masks a product. Gives the answer for A, and the share that B keeps.
///
/// `public_key` is A's, needed to [re-randomise](MaskOptions::rerandomise). `rng` must be a stream of a seed from the operating
/// system that is used for nothing else.
///
/// # Errors
/// As [`assess`], or if the public key is missing or of another key set.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let plan = Arc::new(Plan::new(&Request { unsplit: true, ..Request::new(2, 3) }, Isa::current())?);
/// # let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
/// # let keys = engine.prepare(&plan, &GaloisKeys::generate(&secret, &plan.galois_requests())?)?;
/// # let matrix = engine.prepare_matrix(&plan, &dense)?;
/// # let vector = EncryptedVector::encrypt(&plan, &secret, &[1, 0, -1], &mut rng)?;
/// let product = keys.multiply(&matrix, &vector)?;
/// let options = MaskOptions::strongest(&plan);
/// let refused = mask(&product, &options, None, &mut rng);
/// assert!(refused.is_err(), "re-randomising needs the public key");
///
/// let public = ciphermill_bfv::PublicKey::generate(&secret)?;
/// let (response, share_b) = mask(&product, &options, Some(&public), &mut rng)?;
/// let share_a = response.decrypt(&secret)?;
/// assert_eq!(reconstruct([&share_a, &share_b], plan.context().t())?, [-2, -2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mask(
    product: &EncryptedProduct,
    options: &MaskOptions,
    public_key: Option<&PublicKey>,
    rng: &mut Csprng,
) -> Result<(Response, Vec<u64>), HmvpError> {
    let plan = product.plan();
    let assessment = assess(plan, options)?;
    let public_key = match public_key {
        Some(key) if options.rerandomise => {
            plan.require_public_key(key)?;
            require_tag("the public key", key.tag(), product.tag())?;
            Some(key)
        }
        None if options.rerandomise => {
            let what = "re-randomising without a public key; give the one of the vector's owner".to_owned();
            return Err(BfvError::Unsupported { what }.into());
        }
        _ => None,
    };
    let t = plan.context().t();
    let mut share = vec![0; plan.request().rows];
    let mut masked = Vec::new();
    for ((tile, rows), ciphertexts) in plan.algorithm().tiles().into_iter().enumerate().zip(&product.parts[0][0]) {
        let mut masks = Vec::with_capacity(ciphertexts.len());
        let mut out = Vec::with_capacity(ciphertexts.len());
        for (index, ciphertext) in ciphertexts.iter().enumerate() {
            let r = Plaintext::new((0..plan.context().n()).map(|_| uniform(t, rng)).collect());
            let places = entry_places(product, tile, index);
            out.push(mask_ciphertext(product, ciphertext, &r, &places, &assessment, public_key, rng)?);
            masks.push(r);
        }
        // B's share is −r: decoding is linear.
        let r = Zeroizing::new(plan.algorithm().decode_product(plan.context(), tile, &masks)?);
        for (share, &r) in share[rows].iter_mut().zip(r.iter()) {
            *share = negated_residue(r, t);
        }
        masks.iter_mut().for_each(|r| r.zeroize());
        masked.push(out);
    }
    Ok((Response::new(plan, product.tag(), masked, options.response_bits), share))
}

/// For each coefficient of a ciphertext, whether it is one of those of entries; for entries in slots all are.
fn entry_places(product: &EncryptedProduct, tile: usize, index: usize) -> Vec<bool> {
    let algorithm = product.plan().algorithm();
    let mut places = vec![algorithm.batched(); product.plan().context().n()];
    if !algorithm.batched() {
        for (place, _) in algorithm.product_places(tile, index) {
            places[place] = true;
        }
    }
    places
}

fn mask_ciphertext(
    product: &EncryptedProduct,
    ciphertext: &Ciphertext,
    r: &Plaintext,
    places: &[bool],
    assessment: &Assessment,
    public_key: Option<&PublicKey>,
    rng: &mut Csprng,
) -> Result<Ciphertext, HmvpError> {
    let context = product.plan().context();
    let mut masked = context.add_plain(ciphertext, r)?;
    let limbs = masked.limb_count();
    if let Some(key) = public_key {
        masked = context.add(&masked, &key.encrypt_zero(limbs, rng)?)?;
    }
    let basis = context.basis(limbs);
    let mut cover = Zeroizing::new(basis.zero());
    cover_others(basis, places, &mut cover, rng);
    if let Some(bits) = assessment.flooding {
        flood(basis, places, bits, &mut cover, rng);
    }
    basis.add_assign(&mut masked.parts_mut()[0], &cover);
    Ok(masked)
}

/// Uniform integers modulo Q to all coefficients but those of entries.
fn cover_others(basis: &RnsBasis, places: &[bool], cover: &mut RnsPoly<Coefficients>, rng: &mut Csprng) {
    for (p, limb) in basis.moduli().zip(cover.limbs_mut()) {
        for (x, _) in limb.iter_mut().zip(places).filter(|(_, is_entry)| !**is_entry) {
            *x = uniform(p.value(), rng);
        }
    }
}

/// Uniform integers of [−2^bits, 2^bits) to the coefficients of entries.
fn flood(basis: &RnsBasis, places: &[bool], bits: u32, cover: &mut RnsPoly<Coefficients>, rng: &mut Csprng) {
    let moduli: Vec<Modulus> = basis.moduli().collect();
    let offsets: Vec<u64> = moduli.iter().map(|p| p.neg(p.pow(2, bits.into()))).collect();
    // bits + 1 random bits, highest word first.
    let words = (bits as usize + 1).div_ceil(64);
    let unused = 64 * words as u32 - (bits + 1);
    let mut random = Zeroizing::new(vec![0u64; words]);
    for (i, _) in places.iter().enumerate().filter(|(_, is_entry)| **is_entry) {
        rng.fill_u64(&mut random);
        random[0] >>= unused;
        for ((p, &offset), limb) in moduli.iter().zip(&offsets).zip(cover.limbs_mut()) {
            let horner = |sum: u64, &word: &u64| p.reduce_u128(u128::from(sum) << 64 | u128::from(word));
            limb[i] = p.add(random.iter().fold(0, horner), offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use ciphermill_lattice::{PolynomialSize, SecretSeed};
    use ciphermill_math::Isa;
    use ciphermill_math::modulus::ntt_primes;
    use num_bigint::BigInt;

    use super::*;

    #[test]
    fn flooding_noise_is_uniform_between_its_bounds_and_only_at_entries() {
        let n = PolynomialSize::new(1024).expect("a power of two");
        let primes: Vec<u64> = ntt_primes(50, n.get()).take(4).map(|p| p.value()).collect();
        let basis = RnsBasis::new(n, &primes, Isa::current()).expect("a basis");
        let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([5; 32]), 0);
        let places: Vec<bool> = (0..n.get()).map(|i| i % 2 == 0).collect();
        for bits in [1, 30, 62, 63, 64, 100, 127, 128, 150] {
            let mut cover = basis.zero();
            flood(&basis, &places, bits, &mut cover, &mut rng);
            let values: Vec<BigInt> = (0..n.get()).map(|i| basis.compose(&cover, i)).collect();
            let bound = BigInt::from(1) << bits;
            assert!(values.iter().skip(1).step_by(2).all(|x| *x == BigInt::ZERO));
            let entries = || values.iter().step_by(2);
            assert!(entries().all(|x| -&bound <= *x && *x < bound), "within 2^{bits}");
            // 512 signs and 512 halves: beyond 160 … 352 in one of 2^50 cases.
            let negative = entries().filter(|x| x.sign() == num_bigint::Sign::Minus).count();
            let half = &bound / 2u32;
            let low = entries().filter(|x| -&half <= **x && **x < half).count();
            assert!((160..352).contains(&negative) && (160..352).contains(&low), "{negative} negative, {low} low");
        }
    }
}
