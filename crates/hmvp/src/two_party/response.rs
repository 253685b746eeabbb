//! B's answer as it travels.
//!
//! ```text
//! RESPONSE   u16 bytes of the plan | plan | u64 key tag | u8 w, or 0 | 7 bytes 0
//!              | for each row tile, ciphertext: w = 0: residues of c_0 | residues of c_1
//!                                               else: N words of w bits of c_0, lowest bit first | of c_1
//! ```

use std::sync::Arc;

use ciphermill_lattice::KeyTag;
use ciphermill_lattice::rns::{Coefficients, RnsBasis, RnsPoly, ScaleAndRound};
use ciphermill_wire::{Decoder, Encoder, seal, sealed_len};
use num_bigint::BigInt;
use zeroize::Zeroizing;

use super::shares::residue;
use crate::error::HmvpError;
use crate::{EncryptedProduct, EncryptedVector, Plan, serial};
use ciphermill_bfv::ciphertext::Ciphertext;
use ciphermill_bfv::error::require_range;
use ciphermill_bfv::keys::SecretKey;
use ciphermill_bfv::parameters::ParameterSpec;
use ciphermill_bfv::serial::{BODY_VERSION, RESPONSE};

/// B's answer: a masked product, modulo Q or switched to a power of two.
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
/// let (response, share_b) = mask(&product, &MaskOptions::plaintexts_only(), None, &mut rng)?;
/// let received = Response::from_bytes(&plan, &response.to_bytes())?;
/// assert_eq!(response.sealed_len(), response.to_bytes().len() as u64);
/// let share_a = received.decrypt(&secret)?;
/// assert_eq!(reconstruct([&share_a, &share_b], plan.context().t())?, [-2, -2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Response {
    plan: Arc<Plan>,
    tag: KeyTag,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    /// By row tile.
    Full(Vec<Vec<Ciphertext>>),
    /// Coefficients of c_0 and c_1 modulo 2^bits, by row tile.
    Switched { bits: u32, tiles: Vec<Vec<[Vec<u64>; 2]>> },
}

impl Response {
    /// From masked ciphertexts, switched to the modulus 2^`bits` if that is asked for.
    pub(super) fn new(plan: &Arc<Plan>, tag: KeyTag, tiles: Vec<Vec<Ciphertext>>, bits: Option<u32>) -> Self {
        let body = match bits {
            None => Body::Full(tiles),
            Some(bits) => {
                let basis = plan.context().basis(plan.algorithm().product_limbs());
                let scale = ScaleAndRound::new(basis, 1 << bits);
                let switch = |c: &Ciphertext| [scale.apply(&c.parts()[0]), scale.apply(&c.parts()[1])];
                Body::Switched { bits, tiles: tiles.iter().map(|tile| tile.iter().map(switch).collect()).collect() }
            }
        };
        Self { plan: plan.clone(), tag, body }
    }

    /// Its plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Its key set.
    pub fn tag(&self) -> KeyTag {
        self.tag
    }

    /// A's share of the product: m integers modulo t.
    ///
    /// # Errors
    /// If the key is of another key set. Whether the share is right cannot be known, and B must learn nothing about it.
    pub fn decrypt(&self, key: &SecretKey) -> Result<Vec<u64>, HmvpError> {
        let entries = Zeroizing::new(self.to_product().decrypt(key)?);
        let t = self.plan.context().t();
        Ok(entries.iter().map(|&x| residue(x, t)).collect())
    }

    /// Whether the answer has a part of `sent`, A's own message: then B returned it in place of a product, to have it decrypted.
    ///
    /// B can hide it by re-randomising, so this refuses clumsy attempts only. Keys that serve one training limit the others.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let plan = Arc::new(Plan::new(&Request { unsplit: true, ..Request::new(2, 3) }, Isa::current())?);
    /// # let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
    /// # let keys = engine.prepare(&plan, &GaloisKeys::generate(&secret, &plan.galois_requests())?)?;
    /// # let matrix = engine.prepare_matrix(&plan, &dense)?;
    /// let vector = EncryptedVector::encrypt(&plan, &secret, &[1, 0, -1], &mut rng)?;
    /// let product = keys.multiply(&matrix, &vector)?;
    /// let (response, _) = mask(&product, &MaskOptions::plaintexts_only(), None, &mut rng)?;
    /// assert!(!response.echoes(&vector));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn echoes(&self, sent: &EncryptedVector) -> bool {
        let Body::Full(tiles) = &self.body else { return false };
        let own = |part| sent.parts.iter().flatten().any(|own| own.ciphertext.parts().contains(part));
        tiles.iter().flatten().flat_map(Ciphertext::parts).any(own)
    }

    /// log2 of how much the noise may still grow; see [`EncryptedProduct::noise_bits_left`]. For measurements by the
    /// key's owner: it depends on the matrix, and B must not learn it.
    ///
    /// # Errors
    /// If the key is of another key set.
    pub fn noise_bits_left(&self, key: &SecretKey) -> Result<f64, HmvpError> {
        self.to_product().noise_bits_left(key)
    }

    /// The same modulo Q.
    pub(super) fn to_product(&self) -> EncryptedProduct {
        let plan = &self.plan;
        let tiles = match &self.body {
            Body::Full(tiles) => tiles.clone(),
            Body::Switched { bits, tiles } => {
                let lift = Lift::new(plan.context().basis(plan.algorithm().product_limbs()), *bits);
                let parameters = plan.context().parameters().id();
                let ciphertext = |parts: &[Vec<u64>; 2]| {
                    Ciphertext::new(parameters, self.tag, parts.iter().map(|part| lift.apply(part)).collect())
                };
                tiles.iter().map(|tile| tile.iter().map(ciphertext).collect()).collect()
            }
        };
        EncryptedProduct { plan: plan.clone(), tag: self.tag, parts: vec![vec![tiles]] }
    }

    /// The sealed response.
    pub fn to_bytes(&self) -> Vec<u8> {
        let plan = &self.plan;
        let bits = match &self.body {
            Body::Full(_) => 0,
            Body::Switched { bits, .. } => *bits,
        };
        let mut out = Encoder::with_capacity(serial::body_len(plan.terms(), len_behind(plan, bits)) as usize);
        serial::put_terms(plan.terms(), &mut out);
        out.u64(self.tag.0).u8(bits as u8).bytes(&[0; 7]);
        match &self.body {
            Body::Full(tiles) => {
                let basis = plan.context().basis(plan.algorithm().product_limbs());
                tiles.iter().flatten().for_each(|c| serial::put_ciphertext(basis, c, &mut out));
            }
            Body::Switched { tiles, .. } => {
                tiles.iter().flatten().flatten().for_each(|part| put_words(bits, part, &mut out));
            }
        }
        seal(RESPONSE, BODY_VERSION, &out.into_vec())
    }

    /// Bytes of a sealed response.
    pub fn sealed_len(&self) -> u64 {
        let bits = if let Body::Switched { bits, .. } = self.body { bits } else { 0 };
        sealed_len(serial::body_len(self.plan.terms(), len_behind(&self.plan, bits)))
    }

    /// Reads a sealed response by `plan`.
    ///
    /// # Errors
    /// If it is malformed or of another plan.
    pub fn from_bytes(plan: &Arc<Plan>, bytes: &[u8]) -> Result<Self, HmvpError> {
        super::require_unsplit(plan)?;
        let algorithm = plan.algorithm();
        let basis = plan.context().basis(algorithm.product_limbs());
        let mut input = serial::open_for("the response", RESPONSE, plan, bytes)?;
        let header = input.clone();
        let tag = KeyTag(input.u64()?);
        let bits = u32::from(input.u8()?);
        require_range("bits of the response's modulus", bits, 0, super::options::max_response_bits(basis.log2()))?;
        require_range(
            "greatest reserved byte of the response",
            input.bytes(7)?.iter().copied().max().unwrap_or(0),
            0,
            0,
        )?;
        serial::require_left(&header, &[len_behind(plan, bits)])?;
        let counts: Vec<usize> = (0..algorithm.tiles().len()).map(|tile| algorithm.product_len(tile)).collect();
        let body = if bits == 0 {
            let parameters = plan.context().parameters().id();
            let mut tile =
                |&count| (0..count).map(|_| serial::ciphertext(basis, parameters, tag, &mut input)).collect();
            Body::Full(counts.iter().map(&mut tile).collect::<Result<_, HmvpError>>()?)
        } else {
            let n = plan.context().n();
            let mut ciphertext = || Ok([words(bits, n, &mut input)?, words(bits, n, &mut input)?]);
            let mut tile = |&count| (0..count).map(|_| ciphertext()).collect();
            Body::Switched { bits, tiles: counts.iter().map(&mut tile).collect::<Result<_, HmvpError>>()? }
        };
        input.finish()?;
        Ok(Self { plan: plan.clone(), tag, body })
    }
}

/// Bytes behind the plan with a modulus of `bits` bits, or of Q for 0.
fn len_behind(plan: &Plan, bits: u32) -> u64 {
    let algorithm = plan.algorithm();
    let count: usize = (0..algorithm.tiles().len()).map(|tile| algorithm.product_len(tile)).sum();
    let set: &ParameterSpec = plan.context().parameters();
    let part = match bits {
        0 => set.packed_len(algorithm.product_limbs()),
        // N is a multiple of 8.
        _ => plan.context().n() as u64 / 8 * u64::from(bits),
    };
    16 + 2 * count as u64 * part
}

/// Appends words of `bits` bits, at most 60, eight of which are whole bytes.
fn put_words(bits: u32, words: &[u64], out: &mut Encoder) {
    let (mut pending, mut len) = (0u128, 0);
    for &word in words {
        pending |= u128::from(word) << len;
        len += bits;
        while len >= 8 {
            out.u8(pending as u8);
            pending >>= 8;
            len -= 8;
        }
    }
}

/// The next `count` words of `bits` bits; every pattern is a word.
fn words(bits: u32, count: usize, input: &mut Decoder<'_>) -> Result<Vec<u64>, HmvpError> {
    let mut bytes = input.bytes(count / 8 * bits as usize)?.iter();
    let (mut pending, mut len) = (0u128, 0);
    let next = |_| {
        while len < bits {
            pending |= u128::from(*bytes.next().expect("eight words are whole bytes")) << len;
            len += 8;
        }
        let word = pending as u64 & ((1 << bits) - 1);
        pending >>= bits;
        len -= bits;
        word
    };
    Ok((0..count).map(next).collect())
}

/// From x modulo 2^w to ⌊Q·x/2^w⌉ modulo Q, which is −[Q·x]·2^−w modulo Q with [·] modulo 2^w in [−2^(w−1), 2^(w−1)).
struct Lift<'a> {
    basis: &'a RnsBasis,
    bits: u32,
    /// Q modulo 2^w.
    modulus: u64,
    /// −2^−w modulo each prime.
    factors: Vec<u64>,
}

impl<'a> Lift<'a> {
    fn new(basis: &'a RnsBasis, bits: u32) -> Self {
        let modulus = basis.moduli().fold(1u64, |q, p| q.wrapping_mul(p.value()));
        let inverse = basis.inverse_residues(&(BigInt::from(1) << bits)).expect("the primes are odd");
        let factors = basis.moduli().zip(inverse).map(|(p, x)| p.neg(x)).collect();
        Self { basis, bits, modulus, factors }
    }

    fn apply(&self, words: &[u64]) -> RnsPoly<Coefficients> {
        let unused = u64::BITS - self.bits;
        let remainder = |&x: &u64| ((self.modulus.wrapping_mul(x) << unused) as i64) >> unused;
        let mut poly = self.basis.from_signed(&words.iter().map(remainder).collect::<Vec<_>>());
        self.basis.multiply_scalar(&mut poly, &self.factors);
        poly
    }
}

#[cfg(test)]
mod tests {
    use ciphermill_lattice::PolynomialSize;
    use ciphermill_math::Isa;
    use ciphermill_math::modulus::ntt_primes;
    use num_bigint::BigUint;

    use super::*;

    /// Words of `bits` bits with all extremes.
    fn samples(bits: u32, n: usize) -> Vec<u64> {
        let mask = (1u64 << bits) - 1;
        let mut x = 0x1234_5678_9abc_def1u64;
        let mut words: Vec<u64> = (0..n)
            .map(|_| {
                x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                (x >> 3) & mask
            })
            .collect();
        words[..4].copy_from_slice(&[0, mask, 1, mask / 2]);
        words
    }

    #[test]
    fn words_of_any_length_are_stored_without_gaps() {
        for bits in 1..=59 {
            let expected = samples(bits, 64);
            let mut out = Encoder::default();
            put_words(bits, &expected, &mut out);
            let bytes = out.into_vec();
            assert_eq!(bytes.len(), 8 * bits as usize);
            let mut number = BigUint::ZERO;
            for &word in expected.iter().rev() {
                number = (number << bits) + word;
            }
            assert_eq!(BigUint::from_bytes_le(&bytes), number, "{bits} bits");
            let mut input = Decoder::new(&bytes);
            assert_eq!(words(bits, 64, &mut input).expect("as many"), expected);
            assert!(words(bits, 64, &mut input).is_err(), "no more words");
        }
    }

    #[test]
    fn lifting_is_the_rounded_quotient() {
        let n = PolynomialSize::new(1024).expect("a power of two");
        for (count, bits) in [(1, 12), (1, 45), (2, 33), (2, 59), (4, 59)] {
            let primes: Vec<u64> = ntt_primes(46, n.get()).take(count).map(|p| p.value()).collect();
            let basis = RnsBasis::new(n, &primes, Isa::current()).expect("a basis");
            let words = samples(bits, n.get());
            let lifted = Lift::new(&basis, bits).apply(&words);
            let (q, w) = (BigInt::from(basis.product()), BigInt::from(1) << bits);
            for (i, &word) in words.iter().enumerate() {
                // Of ⌊Q·x/2^w + 1/2⌋ modulo Q.
                let expected = (&q * word * 2 + &w) / (&w * 2);
                assert_eq!(
                    basis.residues(&basis.compose(&lifted, i)),
                    basis.residues(&expected),
                    "{word} of {bits} bits"
                );
            }
        }
    }
}
