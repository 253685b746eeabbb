//! Blinding factors made ahead of time.

use std::fmt;
use std::sync::Mutex;

use ciphermill_bigint::Residues;
use ciphermill_math::fork::Mark;

use crate::blinding::Blinding;
use crate::ciphertext::CiphertextVector;
use crate::error::PaillierError;
use crate::keys::{PublicKey, SecretKey};
use crate::plaintext::PlaintextVector;
use crate::random::Csprng;

/// Blinding factors of one public key, computed while there is time: an encryption then takes two products.
///
/// A factor is used once: two ciphertexts with one factor would give away the difference of their plaintexts. Factors are
/// moved out when they are used, thrown away in a forked child (the parent has them too), and wiped when they are dropped.
/// A pool may be shared by threads.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // Blinding factors are computed ahead of time; encryption is then fast.
/// let pool = BlindingPool::new(key, blinding)?;
/// pool.fill(2, &mut rng)?;
/// let x = pool.encrypt(&plain)?;
/// assert_eq!((owner.decrypt(&x)?, pool.len()), (plain, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BlindingPool {
    key: PublicKey,
    blinding: Blinding,
    stock: Mutex<Stock>,
}

struct Stock {
    birth: Mark,
    /// Each has a multiple of the ring's lanes, except the rest of one that was partly used.
    parts: Vec<Residues>,
}

impl Stock {
    fn len(&self) -> usize {
        self.parts.iter().map(Residues::len).sum()
    }
}

impl BlindingPool {
    /// An empty pool.
    ///
    /// # Errors
    /// [`PaillierError::NoBlindingBase`] if the key has no base for [`Blinding::Djn`].
    pub fn new(key: &PublicKey, blinding: Blinding) -> Result<Self, PaillierError> {
        if blinding == Blinding::Djn && !key.has_blinding_base() {
            return Err(PaillierError::NoBlindingBase);
        }
        let stock = Mutex::new(Stock { birth: Mark::now(), parts: Vec::new() });
        Ok(Self { key: key.clone(), blinding, stock })
    }

    /// Adds `len` factors. Other threads may use the pool meanwhile.
    ///
    /// # Errors
    /// [`PaillierError::Random`]; [`PaillierError::Modulus`] as [`PublicKey::encrypt`].
    pub fn fill(&self, len: usize, rng: &mut Csprng) -> Result<(), PaillierError> {
        let birth = Mark::now();
        let factors = self.key.blinding_factors(len, self.blinding, rng)?;
        self.put(birth, factors);
        Ok(())
    }

    /// As [`fill`](Self::fill), by the owner of the key, in less time.
    ///
    /// # Errors
    /// [`PaillierError::WrongKey`], [`PaillierError::Random`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let pool = BlindingPool::new(key, blinding)?;
    /// pool.fill_by_owner(&owner, 8, &mut rng)?;
    /// assert_eq!(pool.len(), 8);
    /// assert!(!pool.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fill_by_owner(&self, owner: &SecretKey, len: usize, rng: &mut Csprng) -> Result<(), PaillierError> {
        let public = owner.public_key();
        self.key.check_same(public)?;
        let birth = Mark::now();
        let mut factors = owner.blinding_factors(len, self.blinding, rng)?;
        if !public.shares_ring(&self.key) {
            factors = self.key.ring().enter(&public.ring().leave(&factors))?;
        }
        self.put(birth, factors);
        Ok(())
    }

    fn put(&self, birth: Mark, factors: Residues) {
        let mut stock = self.stock();
        // Factors that were begun before a fork exist on both sides of it.
        if birth == stock.birth && !factors.is_empty() {
            stock.parts.push(factors);
        }
    }

    /// Factors that are ready.
    pub fn len(&self) -> usize {
        self.stock().len()
    }

    /// Whether none are ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key whose factors these are.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Encrypts with factors of the pool.
    ///
    /// # Errors
    /// [`PaillierError::PoolExhausted`] if there are not enough; none is used then. [`PaillierError::WrongKey`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let pool = BlindingPool::new(key, blinding)?;
    /// pool.fill(2, &mut rng)?;
    /// assert_eq!(owner.decrypt(&pool.encrypt(&plain)?)?.to_i64()?, [3, -5]);
    /// // Each factor is used once.
    /// assert!(matches!(pool.encrypt(&plain), Err(PaillierError::PoolExhausted { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt(&self, plaintexts: &PlaintextVector) -> Result<CiphertextVector, PaillierError> {
        self.key.check_same(plaintexts.key())?;
        let factors = self.take(plaintexts.len())?;
        self.key.encrypt_with(plaintexts, &factors)
    }

    /// Moves factors out.
    fn take(&self, wanted: usize) -> Result<Residues, PaillierError> {
        let ring = self.key.ring();
        let mut stock = self.stock();
        let available = stock.len();
        if wanted > available {
            return Err(PaillierError::PoolExhausted { wanted, available });
        }
        let mut taken: Vec<Residues> = Vec::new();
        let mut missing = wanted;
        while missing > 0 {
            let part = stock.parts.pop().expect("as many as were counted");
            if part.len() <= missing {
                missing -= part.len();
                taken.push(part);
                continue;
            }
            // The front stays, so that it starts with a group.
            let kept = part.len() - missing;
            let places: Vec<usize> = (kept..part.len()).collect();
            taken.push(ring.gather(&part, &places));
            if kept > 0 {
                // Gathered, as a slice would copy whole groups, factors that were just taken among them.
                stock.parts.push(ring.gather(&part, &(0..kept).collect::<Vec<_>>()));
            }
            missing = 0;
        }
        drop(stock);
        join(&self.key, taken)
    }

    /// The stock, emptied if it came through a fork.
    fn stock(&self) -> std::sync::MutexGuard<'_, Stock> {
        // A thread that panicked with the lock held had already moved out what it was to use.
        let mut stock = self.stock.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let now = Mark::now();
        if stock.birth != now {
            stock.parts.clear();
            stock.birth = now;
        }
        stock
    }
}

/// One vector of all parts.
fn join(key: &PublicKey, parts: Vec<Residues>) -> Result<Residues, PaillierError> {
    let ring = key.ring();
    match parts.len() {
        0 => Ok(ring.one(0)),
        1 => Ok(parts.into_iter().next().expect("one part")),
        _ => {
            let aligned = parts[..parts.len() - 1].iter().all(|part| part.len().is_multiple_of(ring.lanes()));
            if aligned {
                return Ok(Residues::concat(&parts));
            }
            let parts: Vec<_> = parts.into_iter().map(|part| CiphertextVector::from_ring(key, part)).collect();
            Ok(CiphertextVector::concat(&parts)?.residues().clone())
        }
    }
}

/// Shows no factor.
impl fmt::Debug for BlindingPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlindingPool")
            .field("key", &format_args!("{}", self.key.tag()))
            .field("blinding", &self.blinding)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
