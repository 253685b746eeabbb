//! The secret key.

use std::fmt;
use std::sync::{Arc, OnceLock};

use ciphermill_bigint::{
    EngineError, EngineModulus, Exponents, FixedBase, IntegerBatch, ModExpEngine, OddModulus, Path, Residues,
    TrustedEngine, TrustedModulus, limbs,
};
use crypto_bigint::{BoxedUint, NonZero, Odd};
use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::{PublicKey, primes};
use crate::error::PaillierError;
use crate::integers;
use crate::parameters::{KeyBits, KeyTag, SizePolicy};
use crate::random::Csprng;

/// The primes p > q of n, and the constants that follow from them. Wiped when dropped. Only `to_secret_key_bytes` and
/// `expose_primes` give its content.
///
/// Generation of a key leaves temporaries in freed memory that are not wiped: those of the search for primes and of
/// primality tests (`crypto-primes`), of inversions (`crypto-bigint`), and the numbers that callers of
/// [`from_primes`](Self::from_primes) hold.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let x = owner.public_key().encrypt(&plain, blinding, &mut rng)?;
/// assert_eq!(owner.decrypt(&x)?.to_i64()?, [3, -5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SecretKey {
    public: PublicKey,
    p: PrimeSide,
    q: PrimeSide,
}

/// The constants modulo one prime p of n = p·q and its square. All of them are wiped when dropped.
pub(crate) struct PrimeSide {
    /// p.
    prime: Zeroizing<Vec<u64>>,
    /// p².
    prime_squared: Zeroizing<Vec<u64>>,
    /// Z/p.
    ring: OddModulus,
    /// Z/p².
    square: OddModulus,
    /// Z/p² for a few numbers, where one by one they take less than a group of lanes.
    single: Option<OddModulus>,
    /// p² on an engine, which then computes the exponentiations of decryption.
    engine: Option<TrustedModulus>,
    /// p − 1.
    less_one: Exponents,
    /// p.
    exponent: Exponents,
    /// (−q)^-1 mod p: (1 + n)^(p−1) = 1 − q·p (mod p²), so that it turns the high part of c^(p−1) to the plaintext.
    plaintext_factor: Residues,
    /// −q mod p, which turns it back.
    high_factor: Residues,
    /// q^-1 mod p, for the recombination modulo n.
    cofactor: Residues,
    /// q^-2 mod p², for the recombination modulo n².
    square_cofactor: Residues,
    /// Powers of h_s mod p²; made by the first caller.
    table: OnceLock<FixedBase>,
}

/// As many exponentiations one by one take less time than one of a group: measured on Sapphire Rapids, a quarter of it each.
const MAX_SINGLE: usize = 3;

impl PrimeSide {
    fn new(p: &BoxedUint, q: &BoxedUint, path: Path) -> Result<Self, PaillierError> {
        let (ring, square) = (OddModulus::new(p, path)?, OddModulus::square_of(p, path)?);
        let single = match path {
            Path::Ifma if Path::IfmaSingle.is_available() => {
                let square = Zeroizing::new(limbs::to_uint(square.value()));
                Some(OddModulus::new(&square, Path::IfmaSingle)?)
            }
            _ => None,
        };
        let bits = p.bits();
        let less_one = Zeroizing::new(p.wrapping_sub(BoxedUint::one_with_precision(p.bits_precision())));
        let modulus: Option<Odd<BoxedUint>> = Odd::new(p.clone()).into();
        let modulus = Zeroizing::new(modulus.expect("a prime of a key is odd"));
        let divisor = Zeroizing::new(NonZero::new(p.clone()).expect("a prime is not 0"));
        let reduced = Zeroizing::new(q.rem(&divisor));
        let inverse: Option<BoxedUint> = reduced.invert_odd_mod(&modulus).into();
        let inverse = Zeroizing::new(inverse.ok_or(PaillierError::Primes { reason: "they are equal" })?);
        // q^-2 modulo p², from the inverse modulo p² of q.
        let squared: Option<Odd<BoxedUint>> = Odd::new(limbs::to_uint(square.value())).into();
        let squared = Zeroizing::new(squared.expect("odd"));
        let wide = Zeroizing::new(IntegerBatch::from_uints([q]).resized(square.limbs()).uint(0));
        let lifted: Option<BoxedUint> = wide.invert_odd_mod(&squared).into();
        let lifted = Zeroizing::new(lifted.ok_or(PaillierError::Primes { reason: "they are equal" })?);
        let enter = |ring: &OddModulus, value: &BoxedUint| ring.enter(&IntegerBatch::from_uints([value]));
        let lifted_residue = enter(&square, &lifted)?;
        let negated_inverse = Zeroizing::new(inverse.neg_mod(&divisor));
        let negated = Zeroizing::new(reduced.neg_mod(&divisor));
        Ok(Self {
            prime: Zeroizing::new(limbs::from_uint(p, ring.limbs())),
            prime_squared: Zeroizing::new(square.value().to_vec()),
            less_one: Exponents::shared(&less_one, bits)?,
            exponent: Exponents::shared(p, bits)?,
            plaintext_factor: enter(&ring, &negated_inverse)?,
            high_factor: enter(&ring, &negated)?,
            cofactor: enter(&ring, &inverse)?,
            square_cofactor: square.square(&lifted_residue),
            table: OnceLock::new(),
            ring,
            square,
            single,
            engine: None,
        })
    }

    /// Whether a unit is an n-th power modulo p²: exactly these are 1 to the power of p − 1.
    pub(crate) fn is_nth_power(&self, value: &IntegerBatch) -> Result<bool, PaillierError> {
        let (low, high) = self.fermat_powers(value)?;
        let others = low.row(0)[1..].iter().chain(high.row(0)).fold(0, |any, &word| any | word);
        Ok((low.row(0)[0] ^ 1) | others == 0)
    }

    pub(crate) fn prime(&self) -> &[u64] {
        &self.prime
    }

    pub(crate) fn prime_squared(&self) -> &[u64] {
        &self.prime_squared
    }

    pub(crate) fn ring(&self) -> &OddModulus {
        &self.ring
    }

    pub(crate) fn square(&self) -> &OddModulus {
        &self.square
    }

    /// The values, reduced modulo p², to the power of p − 1: the part of each below p, and the part above. A small
    /// remainder after the full groups goes one by one.
    pub(crate) fn fermat_powers(&self, values: &IntegerBatch) -> Result<(IntegerBatch, IntegerBatch), PaillierError> {
        if let Some(engine) = &self.engine {
            let powers = engine.pow(values, &self.less_one)?;
            if powers.len() != values.len() {
                return Err(EngineError::Outputs { reason: "another number of integers" }.into());
            }
            return Ok(self.square.leave_parts(&self.square.enter(&powers)?));
        }
        let in_groups = |values: &IntegerBatch| -> Result<_, PaillierError> {
            Ok(self.square.leave_parts(&self.square.pow(&self.square.enter(values)?, &self.less_one)?))
        };
        let rest = values.len() % self.square.lanes();
        let Some(single) = self.single.as_ref().filter(|_| (1..=MAX_SINGLE).contains(&rest)) else {
            return in_groups(values);
        };
        let full = values.len() - rest;
        let powers = single.leave(&single.pow(&single.enter(&values.slice(full..values.len()))?, &self.less_one)?);
        let (low, high) = self.square.leave_parts(&self.square.enter(&powers)?);
        if full == 0 {
            return Ok((low, high));
        }
        let (first_low, first_high) = in_groups(&values.slice(0..full))?;
        Ok((IntegerBatch::concat(&[first_low, low]), IntegerBatch::concat(&[first_high, high])))
    }

    pub(crate) fn exponent(&self) -> &Exponents {
        &self.exponent
    }

    pub(crate) fn plaintext_factor(&self) -> &Residues {
        &self.plaintext_factor
    }

    pub(crate) fn high_factor(&self) -> &Residues {
        &self.high_factor
    }

    pub(crate) fn cofactor(&self) -> &Residues {
        &self.cofactor
    }

    pub(crate) fn square_cofactor(&self) -> &Residues {
        &self.square_cofactor
    }

    /// Powers of the public key's h_s modulo p².
    pub(crate) fn table(&self, public: &PublicKey) -> Result<&FixedBase, PaillierError> {
        let base = public.base().ok_or(PaillierError::NoBlindingBase)?;
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let base = self.square.enter(&public.ring().leave(base))?;
        Ok(self.table.get_or_init(|| self.square.fixed_base(&base, public.blinding_exponent_bits())))
    }
}

impl SecretKey {
    /// A new key with a DJN base, on the path of this process. Takes tens of milliseconds at 2048 bits, a second at
    /// most at 4096; the time varies with the rejected primes, not with the accepted ones.
    ///
    /// # Errors
    /// [`PaillierError::Random`] if the operating system gives no randomness.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let owner = SecretKey::generate(KeyBits::insecure_bench(512)?, &mut rng)?;
    /// assert_eq!(owner.bits().get(), 512);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generate(bits: KeyBits, rng: &mut Csprng) -> Result<Self, PaillierError> {
        Self::generate_on(bits, rng, Path::current())
    }

    /// As [`generate`](Self::generate), on a path.
    ///
    /// # Errors
    /// As [`generate`](Self::generate), and [`PaillierError::BigInt`] if this CPU cannot run the path.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_bigint::Path;
    /// let portable = SecretKey::generate_on(KeyBits::insecure_bench(512)?, &mut rng, Path::Portable)?;
    /// assert_eq!(portable.public_key().path(), Path::Portable);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generate_on(bits: KeyBits, rng: &mut Csprng, path: Path) -> Result<Self, PaillierError> {
        let (p, q) = primes::generate(bits, rng)?;
        Self::over(bits, &Zeroizing::new(p), &Zeroizing::new(q), Base::Draw(rng), path)
    }

    /// As [`generate`](Self::generate), for a key that an engine decrypts with.
    ///
    /// # Errors
    /// As [`generate`](Self::generate), and as [`on_engine`](Self::on_engine).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use std::sync::Arc;
    /// let engine = Arc::new(ciphermill_bigint::CpuEngine::current());
    /// let owner = SecretKey::generate_with(KeyBits::insecure_bench(512)?, &mut rng, engine)?;
    /// let x = owner.encrypt(&PlaintextVector::from_i64(owner.public_key(), &[3, -5]), blinding, &mut rng)?;
    /// assert_eq!(owner.decrypt(&x)?.to_i64()?, [3, -5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generate_with(
        bits: KeyBits,
        rng: &mut Csprng,
        engine: Arc<dyn ModExpEngine>,
    ) -> Result<Self, PaillierError> {
        // Nothing is drawn for an engine that is refused.
        let path = TrustedEngine::for_keys(Arc::clone(&engine))?.engine().native_path();
        Self::generate_on(bits, rng, path.unwrap_or_else(Path::current))?.on_engine(engine)
    }

    /// The same key, whose decryption exponentiates on an engine. The engine's results are checked like those of the
    /// CPU's own path.
    ///
    /// # Errors
    /// [`PaillierError::Trust`] unless the engine's kind is `Cpu` and it is constant-time; [`PaillierError::Engine`];
    /// [`PaillierError::BigInt`] if this CPU cannot run the engine's native path.
    ///
    /// # Example
    /// ```
    /// use std::sync::Arc;
    /// use ciphermill_bigint::CpuEngine;
    /// use ciphermill_paillier::{Blinding, Csprng, KeyBits, PlaintextVector, SecretKey};
    ///
    /// let mut rng = Csprng::from_os()?;
    /// let key = SecretKey::generate(KeyBits::insecure_bench(512)?, &mut rng)?;
    /// let key = key.on_engine(Arc::new(CpuEngine::current()))?;
    /// let plaintexts = PlaintextVector::from_i64(key.public_key(), &[3, -5]);
    /// let ciphertexts = key.encrypt(&plaintexts, Blinding::Djn, &mut rng)?;
    /// assert_eq!(key.decrypt(&ciphertexts)?.to_i64()?, [3, -5]);
    /// # Ok::<_, ciphermill_paillier::PaillierError>(())
    /// ```
    pub fn on_engine(&self, engine: Arc<dyn ModExpEngine>) -> Result<Self, PaillierError> {
        let engine = TrustedEngine::for_keys(engine)?;
        if let Some(path) = engine.engine().native_path() {
            return self.on_path(path);
        }
        let mut key = self.on_path(self.public.path())?;
        for side in [&mut key.p, &mut key.q] {
            let prime = Zeroizing::new(limbs::to_uint(side.prime()));
            side.engine = Some(engine.prepare(EngineModulus::SquareOf(&prime))?);
        }
        Ok(key)
    }

    /// A key of primes from elsewhere. They must be of exactly half the bits of their product each, and far apart. The
    /// key gets a DJN base if they have the shape that it needs, and is strict otherwise.
    ///
    /// # Errors
    /// [`PaillierError::KeyBits`], [`PaillierError::KeyBitsStep`], [`PaillierError::Primes`], [`PaillierError::Random`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let primes = owner.expose_primes();
    /// let [p, q] = [&primes[..32], &primes[32..]].map(BigUint::from_bytes_le);
    /// let same = SecretKey::from_primes(&p, &q, SizePolicy::InsecureBench, &mut rng)?;
    /// assert_eq!(same.public_key().modulus(), key.modulus());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_primes(p: &BigUint, q: &BigUint, policy: SizePolicy, rng: &mut Csprng) -> Result<Self, PaillierError> {
        let widest = u32::try_from(p.bits().max(q.bits())).unwrap_or(u32::MAX);
        if widest > KeyBits::MAX {
            return Err(PaillierError::KeyBits { bits: widest.saturating_mul(2) });
        }
        let digits = |prime: &BigUint| Zeroizing::new(prime.to_u64_digits());
        let (p, q, bits) = checked(&digits(p), &digits(q), policy, rng)?;
        let base = if primes::djn_shaped(&p, &q) { Base::Draw(rng) } else { Base::None };
        Self::over(bits, &p, &q, base, Path::current())
    }

    /// As [`from_primes`](Self::from_primes), from limbs, with the h_s that belongs to them.
    pub(crate) fn from_parts(
        p: &[u64],
        q: &[u64],
        base: Option<&BigUint>,
        policy: SizePolicy,
        rng: &mut Csprng,
    ) -> Result<Self, PaillierError> {
        let (p, q, bits) = checked(p, q, policy, rng)?;
        let base = match base {
            Some(_) if !primes::djn_shaped(&p, &q) => {
                return Err(PaillierError::Primes { reason: "they have not the shape that a DJN base needs" });
            }
            Some(base) => Base::Given(base),
            None => Base::None,
        };
        Self::over(bits, &p, &q, base, Path::current())?.with_checked_base()
    }

    /// The key, if its h_s is an n-th power, that is, 1 to the power of p − 1 modulo p² and likewise for q: another base
    /// would add to the plaintexts.
    fn with_checked_base(self) -> Result<Self, PaillierError> {
        let Some(base) = self.public.blinding_base() else { return Ok(self) };
        let base = limbs::to_uint(&integers::from_big(&base, 2 * self.public.n().len()).expect("below n²"));
        for side in self.sides() {
            if !side.is_nth_power(&IntegerBatch::from_uints([&base]))? {
                return Err(PaillierError::BlindingBase);
            }
        }
        Ok(self)
    }

    fn over(bits: KeyBits, p: &BoxedUint, q: &BoxedUint, base: Base<'_>, path: Path) -> Result<Self, PaillierError> {
        // The greater one first: a key has one encoding.
        let (p, q) = if p.cmp_vartime(q).is_lt() { (q, p) } else { (p, q) };
        let mut n = vec![0; bits.limbs()];
        limbs::multiply_add(&mut n, p.as_words(), q.as_words());
        let public = match base {
            Base::Given(base) => {
                PublicKey::from_parts(&integers::to_big(&n), Some(base), SizePolicy::InsecureBench, path)?
            }
            Base::None => PublicKey::over(bits, n.clone(), OddModulus::square_of(&limbs::to_uint(&n), path)?, None),
            Base::Draw(rng) => {
                let ring = OddModulus::square_of(&limbs::to_uint(&n), path)?;
                let base = draw_base(&n, &ring, rng)?;
                PublicKey::over(bits, n, ring, Some(base))
            }
        };
        Ok(Self { public, p: PrimeSide::new(p, q, path)?, q: PrimeSide::new(q, p, path)? })
    }

    /// The same key on another path.
    ///
    /// # Errors
    /// [`PaillierError::BigInt`] if this CPU cannot run the path.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_bigint::Path;
    /// let portable = owner.on_path(Path::Portable)?;
    /// assert_eq!(portable.public_key().path(), Path::Portable);
    /// assert_eq!(portable.decrypt(&x)?.to_i64()?, [3, -5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_path(&self, path: Path) -> Result<Self, PaillierError> {
        let uint = |side: &PrimeSide| Zeroizing::new(limbs::to_uint(side.prime()));
        let (p, q) = (uint(&self.p), uint(&self.q));
        let public = self.public.on_path(path)?;
        Ok(Self { public, p: PrimeSide::new(&p, &q, path)?, q: PrimeSide::new(&q, &p, path)? })
    }

    /// The public key.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// Bits of n.
    pub fn bits(&self) -> KeyBits {
        self.public.bits()
    }

    /// The tag that distinguishes this key from others.
    pub fn tag(&self) -> KeyTag {
        self.public.tag()
    }

    /// p and q, the greater first, little-endian one after the other, half of n's bytes each: **the secret itself**. They are
    /// wiped when the result is dropped.
    pub fn expose_primes(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(self.bits().get() as usize / 8));
        for &limb in self.p.prime().iter().chain(self.q.prime()) {
            out.extend_from_slice(&limb.to_le_bytes());
        }
        out
    }

    pub(crate) fn sides(&self) -> [&PrimeSide; 2] {
        [&self.p, &self.q]
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey")
            .field("bits", &self.bits())
            .field("tag", &format_args!("{}", self.tag()))
            .finish_non_exhaustive()
    }
}

/// Where h_s comes from.
enum Base<'a> {
    Draw(&'a mut Csprng),
    Given(&'a BigUint),
    None,
}

/// h_s = (−x²)ⁿ mod n² of a random unit x.
fn draw_base(n: &[u64], ring: &OddModulus, rng: &mut Csprng) -> Result<Residues, PaillierError> {
    let modulus = limbs::to_uint(n);
    let divisor = NonZero::new(modulus.clone()).expect("n is not 0");
    loop {
        let x = Zeroizing::new(rng.below(1, n)?.uint(0));
        let square = Zeroizing::new(x.square_mod(&divisor));
        let h = Zeroizing::new(square.neg_mod(&divisor));
        let base = ring.enter(&IntegerBatch::from_uints([&*h]))?;
        if crate::product::are_units(ring, &base)? {
            return Ok(ring.pow(&base, &Exponents::shared(&modulus, modulus.bits())?)?);
        }
    }
}

/// Primes from outside at their width, and the size of their key. Limbs above it may be there, and are 0.
fn checked(p: &[u64], q: &[u64], policy: SizePolicy, rng: &mut Csprng) -> Result<CheckedPrimes, PaillierError> {
    let width = limbs::bit_length_public(p);
    if width != limbs::bit_length_public(q) {
        return Err(PaillierError::Primes { reason: "they differ in their number of bits" });
    }
    let bits = KeyBits::with_policy(width.saturating_mul(2), policy)?;
    let half = bits.limbs() / 2;
    let (p, q) = (&p[..half], &q[..half]);
    let mut n = vec![0; bits.limbs()];
    limbs::multiply_add(&mut n, p, q);
    if limbs::bit_length_public(&n) != bits.get() {
        return Err(PaillierError::Primes { reason: "their product has not twice the bits of each" });
    }
    let (p, q) = (Zeroizing::new(limbs::to_uint(p)), Zeroizing::new(limbs::to_uint(q)));
    if !primes::far_apart(&p, &q, bits.get() / 2) {
        return Err(PaillierError::Primes { reason: "they are so close to each other that n is easily factored" });
    }
    for prime in [&p, &q] {
        if prime.as_words()[0] & 1 == 0 || !primes::is_prime_for_certain(prime, rng)? {
            return Err(PaillierError::Primes { reason: "one of them is composite" });
        }
    }
    Ok((p, q, bits))
}

type CheckedPrimes = (Zeroizing<BoxedUint>, Zeroizing<BoxedUint>, KeyBits);
