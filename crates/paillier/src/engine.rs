//! Encryption and evaluation on an engine, which may be an accelerator.
//!
//! Results are those of [`PublicKey::encrypt`] and of [`CiphertextVector`]'s operations, bit for bit, from the same
//! randomness. An engine that is this CPU ([`ModExpEngine::native_path`]) computes in Montgomery form without conversions,
//! with the fixed bases and multi-exponentiations of `ciphermill-bigint`.

use std::sync::{Arc, OnceLock};

use ciphermill_bigint::{
    BaseHandle, EngineError, EngineModulus, Exponents, IntegerBatch, ModExpEngine, PreparedModulus, TrustedEngine,
    TrustedModulus, WeightMatrix, limbs,
};
use zeroize::Zeroizing;

use crate::blinding::Blinding;
use crate::ciphertext::CiphertextVector;
use crate::encryption::random_units;
use crate::error::PaillierError;
use crate::evaluation::Scalars;
use crate::keys::PublicKey;
use crate::plaintext::PlaintextVector;
use crate::product;
use crate::random::Csprng;

/// Scalars no wider than the widest of these public factors.
fn public_scalars(factors: &[i128]) -> Result<Scalars, PaillierError> {
    let widest = factors.iter().map(|factor| factor.unsigned_abs()).max().unwrap_or(0);
    let bits = (u128::BITS - widest.leading_zeros()).max(1);
    let scalars = match factors.iter().map(|&factor| u64::try_from(factor)).collect::<Result<Vec<u64>, _>>() {
        Ok(positive) => Scalars::from_u64(&positive),
        Err(_) => Scalars::from_i128(factors),
    };
    scalars.with_bits(bits)
}

/// Encryption, and evaluation with plain operands that may be secret, under one public key on a trusted engine.
///
/// An engine that is not trusted is refused by the compiler:
///
/// ```compile_fail
/// use ciphermill_bigint::ModExpEngine;
/// use ciphermill_paillier::{EngineEncryption, PublicKey};
///
/// fn encrypt_on(key: &PublicKey, remote: &dyn ModExpEngine) {
///     let _ = EngineEncryption::new(key, remote); // expected `&TrustedEngine`
/// }
/// ```
///
/// # Example
/// ```
/// use ciphermill_bigint::TrustedEngine;
/// use ciphermill_paillier::{Blinding, Csprng, EngineEncryption, KeyBits, PlaintextVector, SecretKey};
///
/// let mut rng = Csprng::from_os()?;
/// let key = SecretKey::generate(KeyBits::insecure_bench(512)?, &mut rng)?;
/// let encryption = EngineEncryption::new(key.public_key(), &TrustedEngine::cpu())?;
/// let plaintexts = PlaintextVector::from_i64(key.public_key(), &[3, -5]);
/// let ciphertexts = encryption.encrypt(&plaintexts, Blinding::Djn, &mut rng)?;
/// assert_eq!(key.decrypt(&ciphertexts)?.to_i64()?, [3, -5]);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct EngineEncryption {
    key: PublicKey,
    /// `None` if the key's own ring computes.
    accelerator: Option<Accelerator>,
}

struct Accelerator {
    modulus: TrustedModulus,
    /// h_s on the engine, made by the first caller; `None` if the engine does not prepare bases.
    base: OnceLock<Option<BaseHandle>>,
}

impl EngineEncryption {
    /// Prepares the key on an engine.
    ///
    /// # Errors
    /// [`PaillierError::Engine`] if the engine does not support the size of n²; [`PaillierError::Trust`] if the key is of a
    /// secure size and the engine is trusted with insecure parameters only; [`PaillierError::BigInt`].
    pub fn new(key: &PublicKey, engine: &TrustedEngine) -> Result<Self, PaillierError> {
        let (key, native) = on_native_path(key, &**engine.engine())?;
        if native {
            return Ok(Self { key, accelerator: None });
        }
        let modulus = engine.prepare(EngineModulus::SquareOf(&limbs::to_uint(key.n())))?;
        if !key.bits().is_insecure() {
            engine.require_production()?;
        }
        Ok(Self { key, accelerator: Some(Accelerator { modulus, base: OnceLock::new() }) })
    }

    /// The key.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Encrypts with fresh blinding factors: the bits of [`PublicKey::encrypt`] from the same randomness.
    ///
    /// # Errors
    /// As [`PublicKey::encrypt`], and [`PaillierError::Engine`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let encryption = EngineEncryption::new(key, &TrustedEngine::cpu())?;
    /// let y = encryption.encrypt(&plain, blinding, &mut rng)?;
    /// assert_eq!(owner.decrypt(&y)?.to_i64()?, [3, -5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt(
        &self,
        plaintexts: &PlaintextVector,
        blinding: Blinding,
        rng: &mut Csprng,
    ) -> Result<CiphertextVector, PaillierError> {
        let Some(accelerator) = &self.accelerator else { return self.key.encrypt(plaintexts, blinding, rng) };
        self.key.check_same(plaintexts.key())?;
        let factors = self.factors(accelerator, plaintexts.len(), blinding, rng)?;
        let units = product::generator_powers(self.key.n(), plaintexts.residues(), self.key.ring().limbs());
        received(&self.key, plaintexts.len(), accelerator.modulus.multiply(&units, &factors)?)
    }

    /// As [`CiphertextVector::rerandomise`]: the same bits from the same randomness.
    ///
    /// # Errors
    /// As there, and [`PaillierError::Engine`].
    ///
    /// # Example
    /// ```
    /// # use ciphermill_bigint::TrustedEngine;
    /// # use ciphermill_paillier::{Blinding, Csprng, EngineEncryption, KeyBits, PlaintextVector, SecretKey};
    /// # let mut rng = Csprng::from_os()?;
    /// # let key = SecretKey::generate(KeyBits::insecure_bench(512)?, &mut rng)?;
    /// let encryption = EngineEncryption::new(key.public_key(), &TrustedEngine::cpu())?;
    /// let plaintexts = PlaintextVector::from_i64(key.public_key(), &[3, -5]);
    /// let first = encryption.encrypt(&plaintexts, Blinding::Djn, &mut rng)?;
    /// let second = encryption.rerandomise(&first, Blinding::Djn, &mut rng)?;
    /// assert_ne!(first, second);
    /// assert_eq!(key.decrypt(&second)?.to_i64()?, [3, -5]);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn rerandomise(
        &self,
        ciphertexts: &CiphertextVector,
        blinding: Blinding,
        rng: &mut Csprng,
    ) -> Result<CiphertextVector, PaillierError> {
        let Some(accelerator) = &self.accelerator else { return ciphertexts.rerandomise(blinding, rng) };
        self.key.check_same(ciphertexts.key())?;
        let factors = self.factors(accelerator, ciphertexts.len(), blinding, rng)?;
        let products = accelerator.modulus.multiply(&ciphertexts.to_integers(), &factors)?;
        received(&self.key, ciphertexts.len(), products)
    }

    /// As [`CiphertextVector::add_plain`]; the plaintexts may be secret.
    ///
    /// # Errors
    /// As there, and [`PaillierError::Engine`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let encryption = EngineEncryption::new(key, &TrustedEngine::cpu())?;
    /// assert_eq!(owner.decrypt(&encryption.add_plain(&x, &plain)?)?.to_i64()?, [6, -10]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_plain(
        &self,
        ciphertexts: &CiphertextVector,
        plaintexts: &PlaintextVector,
    ) -> Result<CiphertextVector, PaillierError> {
        match &self.accelerator {
            None => ciphertexts.add_plain(plaintexts),
            Some(accelerator) => {
                plain_sum(&self.key, ciphertexts, plaintexts, |a, b| accelerator.modulus.multiply(a, b))
            }
        }
    }

    /// As [`CiphertextVector::subtract_plain`]; the plaintexts may be secret.
    ///
    /// # Errors
    /// As there, and [`PaillierError::Engine`].
    pub fn subtract_plain(
        &self,
        ciphertexts: &CiphertextVector,
        plaintexts: &PlaintextVector,
    ) -> Result<CiphertextVector, PaillierError> {
        self.add_plain(ciphertexts, &plaintexts.negate())
    }

    /// As [`CiphertextVector::multiply_scalars`]; the scalars may be secret, but for their declared width.
    ///
    /// # Errors
    /// As there, and [`PaillierError::Engine`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let encryption = EngineEncryption::new(key, &TrustedEngine::cpu())?;
    /// let scalars = Scalars::from_u64(&[2, 3]).with_bits(2)?;
    /// assert_eq!(owner.decrypt(&encryption.multiply_scalars(&x, &scalars)?)?.to_i64()?, [6, -15]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply_scalars(
        &self,
        ciphertexts: &CiphertextVector,
        scalars: &Scalars,
    ) -> Result<CiphertextVector, PaillierError> {
        let Some(accelerator) = &self.accelerator else { return ciphertexts.multiply_scalars(scalars) };
        multiples(&self.key, ciphertexts, scalars, |bases, exponents| accelerator.modulus.pow(bases, exponents))
    }

    /// Fresh blinding factors.
    fn factors(
        &self,
        accelerator: &Accelerator,
        len: usize,
        blinding: Blinding,
        rng: &mut Csprng,
    ) -> Result<IntegerBatch, PaillierError> {
        match blinding {
            Blinding::Djn => self.short_factors(accelerator, len, rng),
            Blinding::Strict => {
                let n = Exponents::shared(&limbs::to_uint(self.key.n()), self.key.bits().get())?;
                Ok(accelerator.modulus.pow(&self.units(len, rng)?, &n)?)
            }
        }
    }

    /// Powers of h_s to random exponents of half of n's bits.
    fn short_factors(
        &self,
        accelerator: &Accelerator,
        len: usize,
        rng: &mut Csprng,
    ) -> Result<IntegerBatch, PaillierError> {
        let (modulus, bits) = (&accelerator.modulus, self.key.blinding_exponent_bits());
        let base = self.key.base().ok_or(PaillierError::NoBlindingBase)?;
        let exponents = rng.bits(len, bits)?;
        let base = self.key.ring().leave(base);
        let handle = match accelerator.base.get() {
            Some(handle) => handle,
            None => {
                let handle = modulus.prepare_base(&base, bits)?;
                accelerator.base.get_or_init(|| handle)
            }
        };
        Ok(match handle {
            Some(handle) => modulus.pow_fixed(handle, &exponents)?,
            None => modulus.pow(&base, &Exponents::each(exponents, bits)?)?,
        })
    }

    /// Random units modulo n.
    fn units(&self, len: usize, rng: &mut Csprng) -> Result<IntegerBatch, PaillierError> {
        let ring = self.key.ring();
        random_units(rng, len, self.key.n(), |units| {
            Ok(product::are_secret_units(ring, &ring.enter(&units)?)?.then_some(units))
        })
    }
}

/// Evaluation under one public key on any engine. All operands are public: ciphertexts, and scalars and weights that
/// everyone may know.
///
/// # Example
/// ```
/// use ciphermill_bigint::CpuEngine;
/// use ciphermill_paillier::{Blinding, Csprng, EngineEvaluation, KeyBits, PlaintextVector, SecretKey};
///
/// let mut rng = Csprng::from_os()?;
/// let key = SecretKey::generate(KeyBits::insecure_bench(512)?, &mut rng)?;
/// let x = PlaintextVector::from_i64(key.public_key(), &[3, -5]);
/// let x = key.encrypt(&x, Blinding::Djn, &mut rng)?;
/// let evaluation = EngineEvaluation::new(key.public_key(), &CpuEngine::current())?;
/// assert_eq!(key.decrypt(&evaluation.add(&x, &x)?)?.to_i64()?, [6, -10]);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct EngineEvaluation {
    key: PublicKey,
    /// `None` if the key's own ring computes.
    modulus: Option<Arc<dyn PreparedModulus>>,
}

impl EngineEvaluation {
    /// Prepares the key on an engine.
    ///
    /// # Errors
    /// [`PaillierError::Engine`] if the engine does not support the size of n²; [`PaillierError::BigInt`].
    pub fn new(key: &PublicKey, engine: &dyn ModExpEngine) -> Result<Self, PaillierError> {
        let (key, native) = on_native_path(key, engine)?;
        let modulus = match native {
            true => None,
            false => Some(engine.prepare(EngineModulus::SquareOf(&limbs::to_uint(key.n())))?),
        };
        Ok(Self { key, modulus })
    }

    /// The key, on the path that computes with it.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Memory that the engine's constants occupy, in bytes; 0 if the key's own computes.
    pub fn engine_bytes(&self) -> u64 {
        self.modulus.as_ref().map_or(0, |modulus| modulus.memory_bytes())
    }

    /// As [`CiphertextVector::add`].
    ///
    /// # Errors
    /// As there, and [`PaillierError::Engine`].
    pub fn add(&self, left: &CiphertextVector, right: &CiphertextVector) -> Result<CiphertextVector, PaillierError> {
        let Some(modulus) = &self.modulus else { return left.add(right) };
        self.key.check_same(left.key())?;
        self.key.check_same(right.key())?;
        self.product(&**modulus, &left.to_integers(), &right.to_integers())
    }

    /// As [`CiphertextVector::subtract`]. The inverses are computed on the CPU.
    ///
    /// # Errors
    /// As there, and [`PaillierError::Engine`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let evaluation = EngineEvaluation::new(key, &ciphermill_bigint::CpuEngine::current())?;
    /// assert_eq!(owner.decrypt(&evaluation.subtract(&x, &x)?)?.to_i64()?, [0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn subtract(
        &self,
        left: &CiphertextVector,
        right: &CiphertextVector,
    ) -> Result<CiphertextVector, PaillierError> {
        if self.modulus.is_none() { left.subtract(right) } else { self.add(left, &right.negate()?) }
    }

    /// As [`CiphertextVector::add_plain`], with public numbers. Secret ones are a [`PlaintextVector`], which only
    /// [`EngineEncryption::add_plain`] accepts.
    ///
    /// # Errors
    /// As there, and [`PaillierError::Engine`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let evaluation = EngineEvaluation::new(key, &ciphermill_bigint::CpuEngine::current())?;
    /// assert_eq!(owner.decrypt(&evaluation.add_public(&x, &[10, 20])?)?.to_i64()?, [13, 15]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_public(
        &self,
        ciphertexts: &CiphertextVector,
        numbers: &[i128],
    ) -> Result<CiphertextVector, PaillierError> {
        let plaintexts = PlaintextVector::from_i128(&self.key, numbers);
        let Some(modulus) = &self.modulus else { return ciphertexts.add_plain(&plaintexts) };
        plain_sum(&self.key, ciphertexts, &plaintexts, |a, b| modulus.multiply(a, b))
    }

    /// As [`CiphertextVector::multiply_scalars`], with public factors, whose widest one decides the time. Secret ones are
    /// [`Scalars`], which only [`EngineEncryption::multiply_scalars`] accepts.
    ///
    /// # Errors
    /// As there, and [`PaillierError::Engine`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let evaluation = EngineEvaluation::new(key, &ciphermill_bigint::CpuEngine::current())?;
    /// assert_eq!(owner.decrypt(&evaluation.multiply_public(&x, &[-2, 4])?)?.to_i64()?, [-6, -20]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply_public(
        &self,
        ciphertexts: &CiphertextVector,
        factors: &[i128],
    ) -> Result<CiphertextVector, PaillierError> {
        let scalars = public_scalars(factors)?;
        let Some(modulus) = &self.modulus else { return ciphertexts.multiply_scalars(&scalars) };
        multiples(&self.key, ciphertexts, &scalars, |bases, exponents| modulus.pow(bases, exponents))
    }

    /// As [`CiphertextVector::matrix_vector_public`].
    ///
    /// # Errors
    /// As there, and [`PaillierError::Engine`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let evaluation = EngineEvaluation::new(key, &ciphermill_bigint::CpuEngine::current())?;
    /// let weights = WeightMatrix::new(2, vec![1, 1, 2, 0])?;
    /// assert_eq!(owner.decrypt(&evaluation.matrix_vector_public(&x, &weights)?)?.to_i64()?, [-2, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn matrix_vector_public(
        &self,
        ciphertexts: &CiphertextVector,
        weights: &WeightMatrix,
    ) -> Result<CiphertextVector, PaillierError> {
        let Some(modulus) = &self.modulus else { return ciphertexts.matrix_vector_public(weights) };
        self.key.check_same(ciphertexts.key())?;
        if ciphertexts.len() != weights.columns() {
            return Err(PaillierError::Length { left: ciphertexts.len(), right: weights.columns() });
        }
        received(&self.key, weights.rows(), modulus.multi_pow(&ciphertexts.to_integers(), weights)?)
    }

    fn product(
        &self,
        modulus: &dyn PreparedModulus,
        left: &IntegerBatch,
        right: &IntegerBatch,
    ) -> Result<CiphertextVector, PaillierError> {
        let len = match (left.len(), right.len()) {
            (left, right) if left == right || left == 1 || right == 1 => left.max(right).min(left * right),
            (left, right) => return Err(PaillierError::Length { left, right }),
        };
        received(&self.key, len, modulus.multiply(left, right)?)
    }
}

/// Shows the key and whether the key's own ring computes.
impl std::fmt::Debug for EngineEvaluation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineEvaluation")
            .field("key", &self.key)
            .field("native", &self.modulus.is_none())
            .finish_non_exhaustive()
    }
}

/// Sums of encrypted and plain numbers; `multiply` is the engine's, which learns the plain numbers.
fn plain_sum(
    key: &PublicKey,
    ciphertexts: &CiphertextVector,
    plaintexts: &PlaintextVector,
    multiply: impl FnOnce(&IntegerBatch, &IntegerBatch) -> Result<IntegerBatch, EngineError>,
) -> Result<CiphertextVector, PaillierError> {
    key.check_same(ciphertexts.key())?;
    key.check_same(plaintexts.key())?;
    if ciphertexts.len() != plaintexts.len() {
        return Err(PaillierError::Length { left: ciphertexts.len(), right: plaintexts.len() });
    }
    let units = product::generator_powers(key.n(), plaintexts.residues(), key.ring().limbs());
    received(key, ciphertexts.len(), multiply(&ciphertexts.to_integers(), &units)?)
}

/// Multiples of plaintexts; `pow` is the engine's, which learns the scalars. The work here takes the same time for all
/// scalars of one type and width.
fn multiples(
    key: &PublicKey,
    ciphertexts: &CiphertextVector,
    scalars: &Scalars,
    pow: impl FnOnce(&IntegerBatch, &Exponents) -> Result<IntegerBatch, EngineError>,
) -> Result<CiphertextVector, PaillierError> {
    key.check_same(ciphertexts.key())?;
    let (len, shared) = (ciphertexts.len(), scalars.len() == 1);
    if !shared && scalars.len() != len {
        return Err(PaillierError::Length { left: len, right: scalars.len() });
    }
    let mut bases = ciphertexts.to_integers();
    if let Some(signs) = scalars.signs() {
        // The inverses are always computed; a mask chooses.
        let inverses = ciphertexts.negate()?.to_integers();
        for index in 0..len {
            let mask = signs.row(if shared { 0 } else { index })[0].wrapping_neg();
            for (base, inverse) in bases.row_mut(index).iter_mut().zip(inverses.row(index)) {
                *base ^= (*base ^ inverse) & mask;
            }
        }
    }
    let magnitudes = scalars.magnitudes();
    let exponents = if shared {
        Exponents::shared(&Zeroizing::new(magnitudes.uint(0)), scalars.bits())?
    } else {
        Exponents::each(magnitudes.clone(), scalars.bits())?
    };
    received(key, len, pow(&bases, &exponents)?)
}

/// The key on the engine's native path and true, or the key itself and false.
fn on_native_path(key: &PublicKey, engine: &dyn ModExpEngine) -> Result<(PublicKey, bool), PaillierError> {
    Ok(match engine.native_path() {
        Some(path) if path == key.path() => (key.clone(), true),
        Some(path) => (key.on_path(path)?, true),
        None => (key.clone(), false),
    })
}

/// An engine's integers as ciphertexts: of the right number, below n², and units.
fn received(key: &PublicKey, len: usize, integers: IntegerBatch) -> Result<CiphertextVector, PaillierError> {
    if integers.len() != len {
        return Err(EngineError::Outputs { reason: "another number of integers" }.into());
    }
    CiphertextVector::from_integers(key, &integers).map_err(|error| match error {
        PaillierError::CiphertextRange { .. } | PaillierError::CiphertextNotUnit { .. } => {
            EngineError::Outputs { reason: "an integer that is not a ciphertext" }.into()
        }
        other => other,
    })
}
