//! Randomness: the ChaCha20 keystream of a seed.
//!
//! The stream is part of the stored formats, because seeded keys and ciphertexts are expanded again when they are
//! loaded. It is Bernstein's ChaCha20 (20 rounds, 64-bit block counter from 0, 64-bit nonce), the key is the seed, the
//! nonce is the little-endian `stream`. It equals the keystream of RFC 8439 for an IETF nonce that starts with four
//! zero bytes, as long as the 32-bit counter of the RFC lasts. Integers are its bytes, little-endian.

use ciphermill_math::fork::Mark;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The operating system gave no randomness.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the operating system gave no randomness: {0}; make its entropy source available to this process")]
pub struct RngError(#[source] getrandom::Error);

/// Bytes of a seed.
pub const SEED_LEN: usize = 32;

/// The seed of values that everyone may know, such as the masks of ciphertexts. It is stored and sent instead of them.
///
/// It must be drawn independently of every secret.
///
/// # Example
/// ```
/// use ciphermill_lattice::PublicSeed;
///
/// assert_ne!(PublicSeed::from_os()?, PublicSeed::from_os()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PublicSeed(pub [u8; SEED_LEN]);

impl PublicSeed {
    /// A fresh seed.
    ///
    /// # Errors
    /// If the operating system gives no randomness.
    pub fn from_os() -> Result<Self, RngError> {
        let mut bytes = [0; SEED_LEN];
        getrandom::fill(&mut bytes).map_err(RngError)?;
        Ok(PublicSeed(bytes))
    }
}

/// The seed of secret keys and noise. It is wiped when dropped, cannot be cloned, and does not show its content.
///
/// # Example
/// ```
/// use ciphermill_lattice::SecretSeed;
///
/// let seed = SecretSeed::from_os()?;
/// assert_eq!(format!("{seed:?}"), "SecretSeed(..)", "the seed is not shown");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(ZeroizeOnDrop)]
pub struct SecretSeed([u8; SEED_LEN]);

impl SecretSeed {
    /// A fresh seed.
    ///
    /// # Errors
    /// If the operating system gives no randomness.
    pub fn from_os() -> Result<Self, RngError> {
        let mut seed = SecretSeed([0; SEED_LEN]);
        getrandom::fill(&mut seed.0).map_err(RngError)?;
        Ok(seed)
    }

    /// A seed of known content, for reproducible tests and benchmarks only: a key made from it is as secret as the bytes.
    pub fn from_bytes(bytes: [u8; SEED_LEN]) -> Self {
        SecretSeed(bytes)
    }
}

impl std::fmt::Debug for SecretSeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretSeed(..)")
    }
}

/// Bytes moved at a time from the keystream to integers: within the first-level cache, and many blocks.
const CHUNK: usize = 4096;

/// A source of uniform values, secret or public.
///
/// Noise and keys are drawn from [`Csprng`] alone, so that a secret cannot be sampled from a public stream by mistake.
pub trait Keystream {
    /// The next `4 · out.len()` bytes, as integers.
    fn fill_u32(&mut self, out: &mut [u32]);
    /// The next `8 · out.len()` bytes, as integers.
    fn fill_u64(&mut self, out: &mut [u64]);
}

impl Keystream for Csprng {
    fn fill_u32(&mut self, out: &mut [u32]) {
        Csprng::fill_u32(self, out);
    }

    fn fill_u64(&mut self, out: &mut [u64]) {
        Csprng::fill_u64(self, out);
    }
}

/// One stream of a [`PublicSeed`]: the masks of seeded keys. Streams are independent of each other, as those of
/// [`Csprng`]; the generator is the same.
///
/// # Example
/// ```
/// use ciphermill_lattice::{Keystream, MaskStream, PublicSeed};
///
/// let seed = PublicSeed([7; 32]);
/// let [mut mask, mut again] = [[0; 16]; 2];
/// MaskStream::new(&seed, 0).fill_u64(&mut mask);
/// MaskStream::new(&seed, 0).fill_u64(&mut again);
/// assert_eq!(mask, again);
/// ```
pub struct MaskStream(Stream);

impl MaskStream {
    /// Stream `stream` of a public seed.
    pub fn new(seed: &PublicSeed, stream: u64) -> Self {
        Self(Stream::new(&seed.0, stream))
    }
}

impl Keystream for MaskStream {
    fn fill_u32(&mut self, out: &mut [u32]) {
        self.0.fill_u32(out);
    }

    fn fill_u64(&mut self, out: &mut [u64]) {
        self.0.fill_u64(out);
    }
}

/// A cryptographically secure generator: one stream of one secret seed.
///
/// Streams of one seed are independent of each other, so that the parts of a key can be made, and expanded again, in any
/// order and on any thread. The state advances by whole 32-bit words: a request that ends within a word discards its rest.
///
/// A generator that exists when the process forks goes on with its stream in the parent, and takes a fresh seed from the
/// operating system in the child. Two encryptions with the same noise and other masks, one in each process, would give the
/// secret key away. A [`SecretSeed`] is not a generator: it names the same streams in both.
///
/// `rand_chacha` wipes nothing itself. When this type is dropped it overwrites the generator with that of the zero seed,
/// behind an optimisation barrier; copies that the compiler made while moving the value are out of reach.
///
/// # Panics
/// Every draw in a forked child from a generator of its parent, if the operating system gives no randomness.
///
/// # Example
/// ```
/// use ciphermill_lattice::{Csprng, SecretSeed};
///
/// let seed = SecretSeed::from_bytes([7; 32]);
/// let [mut first, mut same, mut other] = [0, 0, 1].map(|stream| Csprng::from_secret(&seed, stream));
/// let word = first.next_u64();
/// assert_eq!(word, same.next_u64());
/// assert_ne!(word, other.next_u64(), "each stream has its own values");
/// ```
pub struct Csprng {
    stream: Stream,
    birth: Mark,
}

impl Csprng {
    /// Stream `stream` of a secret seed.
    pub fn from_secret(seed: &SecretSeed, stream: u64) -> Self {
        Self { stream: Stream::new(&seed.0, stream), birth: Mark::now() }
    }

    /// A generator with a fresh seed.
    ///
    /// # Errors
    /// If the operating system gives no randomness.
    ///
    /// # Example
    /// ```
    /// use ciphermill_lattice::Csprng;
    ///
    /// assert_ne!(Csprng::from_os()?.next_u64(), Csprng::from_os()?.next_u64());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_os() -> Result<Self, RngError> {
        Ok(Self::from_secret(&SecretSeed::from_os()?, 0))
    }

    /// The next 8 bytes.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.stream().0.next_u64()
    }

    /// The next `out.len()` bytes.
    pub fn fill_bytes(&mut self, out: &mut [u8]) {
        self.stream().0.fill_bytes(out);
    }

    /// The next `4 · out.len()` bytes, as integers.
    pub fn fill_u32(&mut self, out: &mut [u32]) {
        self.stream().fill_u32(out);
    }

    /// The next `8 · out.len()` bytes, as integers.
    pub fn fill_u64(&mut self, out: &mut [u64]) {
        self.stream().fill_u64(out);
    }

    /// The stream, replaced if the process has forked since it began.
    #[inline]
    fn stream(&mut self) -> &mut Stream {
        let now = Mark::now();
        if now != self.birth {
            self.reseed(now);
        }
        &mut self.stream
    }

    #[cold]
    fn reseed(&mut self, now: Mark) {
        let seed = SecretSeed::from_os().expect("a forked child needs randomness of its own");
        self.stream = Stream::new(&seed.0, 0);
        self.birth = now;
    }
}

impl std::fmt::Debug for Csprng {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Csprng(..)")
    }
}

/// A keystream, wiped when dropped.
struct Stream(ChaCha20Rng);

impl Stream {
    fn new(seed: &[u8; SEED_LEN], stream: u64) -> Self {
        let mut rng = ChaCha20Rng::from_seed(*seed);
        rng.set_stream(stream);
        Self(rng)
    }

    fn fill_u32(&mut self, out: &mut [u32]) {
        let mut bytes = [0; CHUNK];
        for part in out.chunks_mut(CHUNK / 4) {
            let bytes = &mut bytes[..part.len() * 4];
            self.0.fill_bytes(bytes);
            for (o, b) in part.iter_mut().zip(bytes.as_chunks().0) {
                *o = u32::from_le_bytes(*b);
            }
        }
        bytes.zeroize();
    }

    fn fill_u64(&mut self, out: &mut [u64]) {
        let mut bytes = [0; CHUNK];
        for part in out.chunks_mut(CHUNK / 8) {
            let bytes = &mut bytes[..part.len() * 8];
            self.0.fill_bytes(bytes);
            for (o, b) in part.iter_mut().zip(bytes.as_chunks().0) {
                *o = u64::from_le_bytes(*b);
            }
        }
        bytes.zeroize();
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.0 = ChaCha20Rng::from_seed([0; SEED_LEN]);
        // The buffered keystream goes too.
        self.0.next_u32();
        std::hint::black_box(&self.0);
    }
}
