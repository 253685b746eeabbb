//! The public key.

use std::fmt;
use std::sync::{Arc, OnceLock};

use ciphermill_bigint::{FixedBase, IntegerBatch, OddModulus, Path, Residues, limbs};
use num_bigint::BigUint;

use crate::blinding::Blinding;
use crate::error::PaillierError;
use crate::integers;
use crate::parameters::{KeyBits, KeyTag, SizePolicy};
use crate::product;

/// The modulus n = p·q. Keys generated here also have a base for short blinding exponents (Damgård, Jurik, Nielsen, "A
/// generalization of Paillier's public-key system with applications to electronic voting", 2010, section 4.2). With h =
/// −x² mod n for a random x, h_s = hⁿ mod n² generates the blinding factors.
///
/// The generator is g = n + 1. Cheap to clone; two keys are equal if their moduli are.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// // The key travels to the party that computes.
/// let key = PublicKey::from_bytes(&key.to_bytes(), SizePolicy::InsecureBench)?;
/// let x = key.encrypt(&PlaintextVector::from_i64(&key, &[3, -5]), blinding, &mut rng)?;
/// assert_eq!(owner.decrypt(&x)?.to_i64()?, [3, -5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PublicKey {
    inner: Arc<Inner>,
}

struct Inner {
    bits: KeyBits,
    n: Vec<u64>,
    /// Z/n².
    ring: OddModulus,
    /// h_s.
    base: Option<Residues>,
    table: OnceLock<FixedBase>,
}

impl PublicKey {
    /// A key of which only n is known, as `phe` and others publish it: it blinds with [`Blinding::Strict`] only. Kernels run
    /// on the path of this process.
    ///
    /// # Errors
    /// [`PaillierError::KeyBits`], [`PaillierError::KeyBitsStep`], [`PaillierError::Modulus`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let known = PublicKey::from_modulus(&key.modulus(), SizePolicy::InsecureBench)?;
    /// // The blinding base is not known, so every factor is an n-th power.
    /// assert_eq!(known.default_blinding(), Blinding::Strict);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_modulus(n: &BigUint, policy: SizePolicy) -> Result<Self, PaillierError> {
        Self::from_parts(n, None, policy, Path::current())
    }

    /// A key from n and, where it is known, h_s, on a path.
    ///
    /// # Errors
    /// As [`from_modulus`](Self::from_modulus), and [`PaillierError::BlindingBase`] if h_s is not a unit modulo n², or
    /// its square is 1 modulo n, as that of n² − 1 is: it would blind nothing.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_bigint::Path;
    /// let (n, base) = (key.modulus(), key.blinding_base());
    /// let same = PublicKey::from_parts(&n, base.as_ref(), SizePolicy::InsecureBench, Path::current())?;
    /// assert_eq!((same.tag(), same.default_blinding()), (key.tag(), Blinding::Djn));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_parts(
        n: &BigUint,
        base: Option<&BigUint>,
        policy: SizePolicy,
        path: Path,
    ) -> Result<Self, PaillierError> {
        let bits = KeyBits::with_policy(u32::try_from(n.bits()).unwrap_or(u32::MAX), policy)?;
        let n = integers::from_big(n, bits.limbs()).expect("n has as many bits");
        if n[0] & 1 == 0 {
            return Err(PaillierError::Modulus { reason: "it is even" });
        }
        if has_small_factor(&n) {
            return Err(PaillierError::Modulus { reason: "it has a prime factor below 1000" });
        }
        let ring = OddModulus::square_of(&limbs::to_uint(&n), path)?;
        let base = match base {
            None => None,
            Some(base) => {
                let words = integers::from_big(base, 2 * n.len()).ok_or(PaillierError::BlindingBase)?;
                if *base <= BigUint::from(1u32) || limbs::less_than(&words, &padded(ring.value(), words.len())) == 0 {
                    return Err(PaillierError::BlindingBase);
                }
                let base = ring.enter(&IntegerBatch::from_words(words.len(), words))?;
                if !product::are_units(&ring, &base)? || is_one(ring.leave_parts(&ring.square(&base)).0.row(0)) {
                    return Err(PaillierError::BlindingBase);
                }
                Some(base)
            }
        };
        Ok(Self::over(bits, n, ring, base))
    }

    /// A key of checked parts.
    pub(crate) fn over(bits: KeyBits, n: Vec<u64>, ring: OddModulus, base: Option<Residues>) -> Self {
        Self { inner: Arc::new(Inner { bits, n, ring, base, table: OnceLock::new() }) }
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
    /// let portable = key.on_path(Path::Portable)?;
    /// assert_eq!((portable.path(), portable.tag()), (Path::Portable, key.tag()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_path(&self, path: Path) -> Result<Self, PaillierError> {
        let ring = OddModulus::square_of(&limbs::to_uint(self.n()), path)?;
        let base = match &self.inner.base {
            Some(base) => Some(ring.enter(&self.ring().leave(base))?),
            None => None,
        };
        Ok(Self::over(self.bits(), self.n().to_vec(), ring, base))
    }

    /// Bits of n.
    pub fn bits(&self) -> KeyBits {
        self.inner.bits
    }

    /// The tag that distinguishes this key from others.
    pub fn tag(&self) -> KeyTag {
        KeyTag(self.inner.n[0])
    }

    /// n.
    pub fn modulus(&self) -> BigUint {
        integers::to_big(self.n())
    }

    /// The limbs of n, least significant first.
    pub fn n(&self) -> &[u64] {
        &self.inner.n
    }

    /// Z/n², in which ciphertexts are multiplied.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// // The bits of n².
    /// assert_eq!(u64::from(key.ring().bits()), key.modulus().pow(2).bits());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ring(&self) -> &OddModulus {
        &self.inner.ring
    }

    /// The path that computes with this key.
    pub fn path(&self) -> Path {
        self.inner.ring.path()
    }

    /// The greatest plaintext, (n − 1)/2; the least is its negative.
    pub fn max_plaintext(&self) -> BigUint {
        self.modulus() >> 1u32
    }

    /// h_s, if it is known.
    pub fn blinding_base(&self) -> Option<BigUint> {
        self.base().map(|base| integers::to_big(self.ring().leave(base).row(0)))
    }

    /// Whether the key has a base for [`Blinding::Djn`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert!(key.has_blinding_base());
    /// let known = PublicKey::from_modulus(&key.modulus(), SizePolicy::InsecureBench)?;
    /// assert!(!known.has_blinding_base());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_blinding_base(&self) -> bool {
        self.base().is_some()
    }

    /// [`Blinding::Djn`] if the key has a base for it, else [`Blinding::Strict`].
    pub fn default_blinding(&self) -> Blinding {
        if self.has_blinding_base() { Blinding::Djn } else { Blinding::Strict }
    }

    /// Bits of an exponent of [`Blinding::Djn`]: half of n's.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!((key.bits().get(), key.blinding_exponent_bits()), (512, 256));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blinding_exponent_bits(&self) -> u32 {
        self.bits().get().div_ceil(2)
    }

    pub(crate) fn base(&self) -> Option<&Residues> {
        self.inner.base.as_ref()
    }

    /// Powers of h_s; made by the first caller.
    ///
    /// # Errors
    /// [`PaillierError::NoBlindingBase`].
    pub(crate) fn table(&self) -> Result<&FixedBase, PaillierError> {
        let base = self.base().ok_or(PaillierError::NoBlindingBase)?;
        Ok(self.inner.table.get_or_init(|| self.ring().fixed_base(base, self.blinding_exponent_bits())))
    }

    /// Whether both share one ring, so that residues of one are residues of the other.
    pub(crate) fn shares_ring(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// # Errors
    /// [`PaillierError::WrongKey`].
    pub(crate) fn check_same(&self, other: &Self) -> Result<(), PaillierError> {
        if self == other { Ok(()) } else { Err(PaillierError::WrongKey { given: other.tag(), expected: self.tag() }) }
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.shares_ring(other) || self.inner.n == other.inner.n
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey")
            .field("bits", &self.bits())
            .field("tag", &format_args!("{}", self.tag()))
            .field("blinding_base", &self.has_blinding_base())
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

/// `words` with zeros up to a width.
fn padded(words: &[u64], width: usize) -> Vec<u64> {
    let mut out = words.to_vec();
    out.resize(width, 0);
    out
}

fn is_one(words: &[u64]) -> bool {
    words[0] == 1 && words[1..].iter().all(|&word| word == 0)
}

/// Whether an odd prime below 1000 divides n: no key has one, and a damaged modulus most often does.
fn has_small_factor(n: &[u64]) -> bool {
    (3u64..1000).step_by(2).any(|d| {
        let remainder = n.iter().rev().fold(0u128, |r, &limb| (r << 64 | u128::from(limb)) % u128::from(d));
        remainder == 0
    })
}
