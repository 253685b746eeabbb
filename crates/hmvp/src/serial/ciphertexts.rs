//! Vectors and products.

use std::sync::Arc;

use ciphermill_lattice::rns::{Coefficients, RnsBasis, RnsPoly};
use ciphermill_lattice::{KeyTag, PublicSeed};
use ciphermill_wire::{Decoder, Encoder, seal, sealed_len};

use super::{body_len, open_any, open_for, put_terms, require_left};
use crate::error::HmvpError;
use crate::plan::Terms;
use crate::vector::VectorCiphertext;
use crate::{EncryptedProduct, EncryptedVector, Encryption, Plan};
use ciphermill_bfv::ciphertext::{Ciphertext, SeededCiphertext};
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::error::require_range;
use ciphermill_bfv::parameters::{ParameterId, SecurityPolicy};
use ciphermill_bfv::serial::{BODY_VERSION, PRODUCT, VECTOR};

/// Bytes of a seed.
const SEED_LEN: u64 = 32;

/// How the ciphertexts of a vector are stored.
const FULL: u8 = 0;
const SEEDED: u8 = 1;

/// The head of a sealed vector or product, before its ciphertexts.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let ObjectHead { parameters, tag } = EncryptedVector::head(&vector.to_bytes(), SecurityPolicy::Require128Bits)?;
/// assert_eq!((parameters, tag), (plan.context().parameters().id(), secret.tag()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectHead {
    /// The id of the plan's parameter set.
    pub parameters: ParameterId,
    /// The key set.
    pub tag: KeyTag,
}

/// Bytes of a sealed vector, encrypted as the terms say.
pub(crate) fn vector_len(terms: &Terms) -> u64 {
    let form = if terms.request().encryption == Encryption::Secret { SEEDED } else { FULL };
    sealed_len(body_len(terms, vector_len_behind(terms, form)))
}

/// Bytes of a vector behind its plan.
fn vector_len_behind(terms: &Terms, form: u8) -> u64 {
    let (choice, algorithm) = (terms.choice(), terms.algorithm());
    let residues = choice.parameters.packed_len(algorithm.vector_limbs());
    let ciphertext = if form == SEEDED { SEED_LEN + residues } else { 2 * residues };
    16 + (choice.vector_parts.len() * algorithm.vector_len()) as u64 * ciphertext
}

/// Bytes of a sealed product.
pub(crate) fn product_len(terms: &Terms) -> u64 {
    sealed_len(body_len(terms, product_len_behind(terms)))
}

/// Bytes of a product behind its plan.
fn product_len_behind(terms: &Terms) -> u64 {
    let (choice, algorithm) = (terms.choice(), terms.algorithm());
    let count: usize = (0..algorithm.tiles().len()).map(|tile| algorithm.product_len(tile)).sum();
    let residues = choice.parameters.packed_len(algorithm.product_limbs());
    8 + choice.pairs() * count as u64 * 2 * residues
}

/// The next polynomial.
fn residues(basis: &RnsBasis, input: &mut Decoder<'_>) -> Result<RnsPoly<Coefficients>, BfvError> {
    Ok(basis.unpack(input.bytes(basis.packed_len())?)?)
}

/// Appends both parts of a ciphertext.
pub(crate) fn put_ciphertext(basis: &RnsBasis, ciphertext: &Ciphertext, out: &mut Encoder) {
    for part in ciphertext.parts() {
        out.bytes(&basis.pack(part));
    }
}

/// The next ciphertext of two parts.
pub(crate) fn ciphertext(
    basis: &RnsBasis,
    parameters: ParameterId,
    tag: KeyTag,
    input: &mut Decoder<'_>,
) -> Result<Ciphertext, HmvpError> {
    Ok(Ciphertext::new(parameters, tag, vec![residues(basis, input)?, residues(basis, input)?]))
}

impl EncryptedVector {
    /// The sealed vector.
    pub fn to_bytes(&self) -> Vec<u8> {
        let plan = &self.plan;
        let ciphertexts = || self.parts.iter().flatten();
        let form = if ciphertexts().all(|c| c.seed.is_some()) { SEEDED } else { FULL };
        let mut out = Encoder::with_capacity(body_len(plan.terms(), vector_len_behind(plan.terms(), form)) as usize);
        put_terms(plan.terms(), &mut out);
        out.u64(self.tag.0).u8(form).bytes(&[0; 7]);
        let basis = plan.context().basis(plan.algorithm().vector_limbs());
        for VectorCiphertext { ciphertext, seed } in ciphertexts() {
            match seed {
                Some(seed) if form == SEEDED => {
                    out.bytes(&seed.0).bytes(&basis.pack(&ciphertext.parts()[0]));
                }
                _ => put_ciphertext(basis, ciphertext, &mut out),
            }
        }
        seal(VECTOR, BODY_VERSION, &out.into_vec())
    }

    /// Reads a sealed vector by `plan`.
    ///
    /// # Errors
    /// If it is malformed or of another plan.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let sent = vector.to_bytes();
    /// let received = EncryptedVector::from_bytes(&plan, &sent)?;
    /// assert_eq!(keys.multiply(&matrix, &received)?.decrypt(&secret)?, [-2, -2]);
    /// assert!(EncryptedVector::from_bytes(&plan, &sent[1..]).is_err(), "a byte is missing");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(plan: &Arc<Plan>, bytes: &[u8]) -> Result<Self, HmvpError> {
        let mut input = open_for("the vector", VECTOR, plan, bytes)?;
        require_left(&input, &[FULL, SEEDED].map(|form| vector_len_behind(plan.terms(), form)))?;
        let tag = KeyTag(input.u64()?);
        let form = input.u8()?;
        require_range("form of the vector", form, FULL, SEEDED)?;
        require_range(
            "greatest reserved byte of the vector",
            input.bytes(7)?.iter().copied().max().unwrap_or(0),
            0,
            0,
        )?;
        let (context, parameters) = (plan.context(), plan.context().parameters().id());
        let basis = context.basis(plan.algorithm().vector_limbs());
        let mut next = || {
            if form == FULL {
                let ciphertext = ciphertext(basis, parameters, tag, &mut input)?;
                return Ok(VectorCiphertext { ciphertext, seed: None });
            }
            let seed = PublicSeed(input.array()?);
            let seeded = SeededCiphertext::new(parameters, tag, seed, residues(basis, &mut input)?);
            Ok(VectorCiphertext { ciphertext: seeded.expand(context)?, seed: Some(seed) })
        };
        let mut part = || (0..plan.algorithm().vector_len()).map(|_| next()).collect::<Result<_, HmvpError>>();
        let parts = plan.choice().vector_parts.iter().map(|_| part()).collect::<Result<_, _>>()?;
        input.finish()?;
        Ok(Self { plan: plan.clone(), tag, summands: 1, parts })
    }

    /// Whose a sealed vector is, of whatever plan that `policy` accepts. The plan is judged and the length and the checksum
    /// are checked; the ciphertexts are left to [`from_bytes`](Self::from_bytes).
    ///
    /// # Errors
    /// If it is malformed, or its plan is not admissible.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let head = EncryptedVector::head(&vector.to_bytes(), SecurityPolicy::Require128Bits)?;
    /// assert_eq!(head.tag, secret.tag());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn head(bytes: &[u8], policy: SecurityPolicy) -> Result<ObjectHead, HmvpError> {
        let (terms, mut input) = open_any(VECTOR, bytes, policy)?;
        require_left(&input, &[FULL, SEEDED].map(|form| vector_len_behind(&terms, form)))?;
        Ok(ObjectHead { parameters: terms.choice().parameters.id(), tag: KeyTag(input.u64()?) })
    }
}

impl EncryptedProduct {
    /// The sealed product.
    pub fn to_bytes(&self) -> Vec<u8> {
        let plan = &self.plan;
        let mut out = Encoder::with_capacity(body_len(plan.terms(), product_len_behind(plan.terms())) as usize);
        put_terms(plan.terms(), &mut out);
        out.u64(self.tag.0);
        let basis = plan.context().basis(plan.algorithm().product_limbs());
        for ciphertext in self.parts.iter().flatten().flatten().flatten() {
            put_ciphertext(basis, ciphertext, &mut out);
        }
        seal(PRODUCT, BODY_VERSION, &out.into_vec())
    }

    /// Reads a sealed product by `plan`.
    ///
    /// # Errors
    /// If it is malformed or of another plan.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let sent = keys.multiply(&matrix, &vector)?.to_bytes();
    /// assert_eq!(EncryptedProduct::from_bytes(&plan, &sent)?.decrypt(&secret)?, [-2, -2]);
    /// assert!(EncryptedProduct::from_bytes(&plan, &vector.to_bytes()).is_err(), "a vector is not a product");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(plan: &Arc<Plan>, bytes: &[u8]) -> Result<Self, HmvpError> {
        let mut input = open_for("the product", PRODUCT, plan, bytes)?;
        require_left(&input, &[product_len_behind(plan.terms())])?;
        let tag = KeyTag(input.u64()?);
        let (algorithm, choice) = (plan.algorithm(), plan.choice());
        let (basis, parameters) = (plan.context().basis(algorithm.product_limbs()), choice.parameters.id());
        let counts: Vec<usize> = (0..algorithm.tiles().len()).map(|tile| algorithm.product_len(tile)).collect();
        let mut tile = |count| (0..count).map(|_| ciphertext(basis, parameters, tag, &mut input)).collect();
        let mut pair = || counts.iter().map(|&count| tile(count)).collect::<Result<Vec<_>, HmvpError>>();
        let mut row = || choice.matrix_parts.iter().map(|_| pair()).collect::<Result<Vec<_>, _>>();
        let parts = choice.vector_parts.iter().map(|_| row()).collect::<Result<_, _>>()?;
        input.finish()?;
        Ok(Self { plan: plan.clone(), tag, parts })
    }

    /// Whose a sealed product is, of whatever plan; so far as [`EncryptedVector::head`] checks.
    ///
    /// # Errors
    /// If it is malformed.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let policy = SecurityPolicy::Require128Bits;
    /// let head = EncryptedProduct::head(&keys.multiply(&matrix, &vector)?.to_bytes(), policy)?;
    /// assert_eq!(head.tag, secret.tag());
    /// assert!(EncryptedProduct::head(&vector.to_bytes(), policy).is_err(), "a vector is not a product");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn head(bytes: &[u8], policy: SecurityPolicy) -> Result<ObjectHead, HmvpError> {
        let (terms, mut input) = open_any(PRODUCT, bytes, policy)?;
        require_left(&input, &[product_len_behind(&terms)])?;
        Ok(ObjectHead { parameters: terms.choice().parameters.id(), tag: KeyTag(input.u64()?) })
    }
}
