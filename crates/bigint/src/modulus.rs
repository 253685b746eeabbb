//! A modulus with its constants, and the arithmetic of vectors modulo it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crypto_bigint::BoxedUint;
use zeroize::Zeroize;

use super::kernel::{Arithmetic, Kernel, Rows};
use super::{
    BigIntError, IntegerBatch, MAX_ENTRY_RATIO, MAX_MODULUS_BITS, MIN_MODULUS_BITS, Path, Residues, constants, limbs,
    scalar,
};
#[cfg(target_arch = "x86_64")]
use super::{ifma, ifma_single};
use ciphermill_math::memory::AlignedWords;

/// An odd modulus of [`MIN_MODULUS_BITS`] to [`MAX_MODULUS_BITS`] bits, prepared for Montgomery arithmetic on one [`Path`].
/// Cheap to clone. Its constants are wiped when the last clone is dropped.
///
/// # Example
/// ```
/// use ciphermill_bigint::{IntegerBatch, OddModulus, Path, limbs};
///
/// // The prime 2^256 - 189.
/// let n = limbs::to_uint(&[u64::MAX - 188, u64::MAX, u64::MAX, u64::MAX]);
/// let ring = OddModulus::new(&n, Path::current())?;
/// let x = ring.enter(&IntegerBatch::from_words(4, vec![0, 0, 0, 1 << 63]))?;
/// // Twice 2^255 is 189.
/// let sum = ring.multiply(&x, &ring.enter(&IntegerBatch::from_u64s(&[2]))?)?;
/// assert_eq!(ring.leave(&sum).words(), [189, 0, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct OddModulus {
    inner: Arc<Inner>,
}

struct Inner {
    id: u64,
    /// N.
    value: Vec<u64>,
    /// n, if N = n² is worked with through n.
    root: Option<Vec<u64>>,
    bits: u32,
    path: Path,
    arithmetic: Arithmetic,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.value.zeroize();
        self.root.zeroize();
    }
}

impl OddModulus {
    /// The ring of the integers modulo `n`.
    ///
    /// # Errors
    /// [`BigIntError::EvenModulus`], [`BigIntError::ModulusBits`], [`BigIntError::PathUnavailable`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_bigint::{BigIntError, OddModulus, Path, limbs};
    ///
    /// assert!(OddModulus::new(&limbs::to_uint(&[1, 0, 0, 1 << 63]), Path::Portable).is_ok());
    /// let even = OddModulus::new(&limbs::to_uint(&[2, 0, 0, 1 << 63]), Path::Portable);
    /// assert!(matches!(even, Err(BigIntError::EvenModulus)));
    /// ```
    pub fn new(n: &BoxedUint, path: Path) -> Result<Self, BigIntError> {
        let n = checked(n, path, false)?;
        let arithmetic = match path {
            #[cfg(target_arch = "x86_64")]
            Path::Adx => {
                let rows = scalar::Adx::new().ok_or(BigIntError::PathUnavailable(path))?;
                Arithmetic::Plain(Box::new(scalar::Plain::new(rows, &n)))
            }
            #[cfg(target_arch = "x86_64")]
            Path::IfmaSingle => {
                let kernel = ifma_single::Plain::new(&n).ok_or(BigIntError::PathUnavailable(path))?;
                Arithmetic::Plain(Box::new(kernel))
            }
            #[cfg(target_arch = "x86_64")]
            Path::Ifma => Arithmetic::Plain(Box::new(ifma::Plain::new(&n))),
            _ => Arithmetic::Plain(Box::new(scalar::Plain::new(scalar::Portable, &n))),
        };
        let bits = limbs::bit_length_public(&n);
        Ok(Self::over(n, None, bits, path, arithmetic))
    }

    /// The ring of the integers modulo n², computed with through `n`.
    ///
    /// # Errors
    /// [`BigIntError::EvenModulus`], [`BigIntError::ModulusBits`], [`BigIntError::PathUnavailable`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let square = OddModulus::square_of(&n, Path::current())?;
    /// assert_eq!((square.bits(), square.limbs(), square.root()), (512, 8, Some(ring.value())));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn square_of(n: &BoxedUint, path: Path) -> Result<Self, BigIntError> {
        let n = checked(n, path, true)?;
        let arithmetic = match path {
            #[cfg(target_arch = "x86_64")]
            // One residue over the lanes has no such ring yet.
            Path::Adx | Path::IfmaSingle => {
                let rows = scalar::Adx::new().ok_or(BigIntError::PathUnavailable(path))?;
                Arithmetic::Square(Box::new(scalar::Square::new(rows, &n)))
            }
            #[cfg(target_arch = "x86_64")]
            Path::Ifma => Arithmetic::Square(Box::new(ifma::Square::new(&n))),
            _ => Arithmetic::Square(Box::new(scalar::Square::new(scalar::Portable, &n))),
        };
        let mut square = constants::square(&n).to_vec();
        let bits = limbs::bit_length_public(&square);
        square.truncate(limbs::limbs_for(bits));
        Ok(Self::over(square, Some(n), bits, path, arithmetic))
    }

    pub(super) fn over(value: Vec<u64>, root: Option<Vec<u64>>, bits: u32, path: Path, arithmetic: Arithmetic) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { inner: Arc::new(Inner { id, value, root, bits, path, arithmetic }) }
    }

    /// Bits of N.
    pub fn bits(&self) -> u32 {
        self.inner.bits
    }

    /// N, least significant limb first.
    pub fn value(&self) -> &[u64] {
        &self.inner.value
    }

    /// Limbs of N, of every integer that [`leave`](Self::leave) gives.
    pub fn limbs(&self) -> usize {
        self.inner.value.len()
    }

    /// n, if N = n² is worked with through n.
    pub fn root(&self) -> Option<&[u64]> {
        self.inner.root.as_deref()
    }

    /// The path in use.
    pub fn path(&self) -> Path {
        self.inner.path
    }

    /// Memory that the constants take, in bytes, at most: N, n, and sixteen groups of residues.
    pub fn memory_bytes(&self) -> u64 {
        let values = self.inner.value.len() + self.inner.root.as_ref().map_or(0, Vec::len);
        8 * (values + 16 * self.kernel().group_words()) as u64
    }

    /// Residues that are worked on together: a vector whose length is a multiple of it wastes nothing.
    pub fn lanes(&self) -> usize {
        self.kernel().lanes()
    }

    pub(super) fn id(&self) -> u64 {
        self.inner.id
    }

    pub(super) fn kernel(&self) -> &dyn Kernel {
        self.inner.arithmetic.kernel()
    }

    pub(super) fn assert_owns(&self, residues: &Residues) {
        assert_eq!(residues.ring, self.inner.id, "residues of another modulus");
    }

    /// Limbs of the values that the kernel takes in and gives out: of N, or of n.
    fn value_limbs(&self) -> usize {
        self.kernel().value_limbs()
    }

    /// Plain integers to residues; they are reduced.
    ///
    /// # Errors
    /// [`BigIntError::TooWide`] beyond [`MAX_ENTRY_RATIO`] times the limbs of N (of n, for a modulus n²).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let zero = ring.enter(&IntegerBatch::from_uints([&n]))?;
    /// assert_eq!(low(&zero), [0], "numbers are reduced");
    /// let wide = ring.enter(&IntegerBatch::zeros(1, 21));
    /// assert!(matches!(wide, Err(BigIntError::TooWide { limbs: 21, max: 20 })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn enter(&self, values: &IntegerBatch) -> Result<Residues, BigIntError> {
        self.check_width(values)?;
        let mut out = Residues::uninitialised(self, values.len());
        let kernel = self.kernel();
        let mut scratch = Scratch::new(kernel);
        let rows = values.words().chunks(kernel.lanes() * values.limbs());
        for (group, words) in out.groups_mut().zip(rows) {
            kernel.enter(group, Rows { limbs: values.limbs(), words }, &mut scratch.0);
        }
        Ok(out)
    }

    pub(super) fn check_width(&self, values: &IntegerBatch) -> Result<(), BigIntError> {
        let max = MAX_ENTRY_RATIO * self.value_limbs();
        if values.limbs() > max { Err(BigIntError::TooWide { limbs: values.limbs(), max }) } else { Ok(()) }
    }

    /// Residues to plain integers below N, of [`limbs`](Self::limbs) limbs each.
    ///
    /// # Panics
    /// If the residues belong to another modulus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let numbers = ring.leave(&x);
    /// assert_eq!(numbers.words(), [3, 0, 0, 0, 5, 0, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn leave(&self, residues: &Residues) -> IntegerBatch {
        let Some(root) = self.root() else { return self.leave_parts(residues).0 };
        let (low, high) = self.leave_parts(residues);
        let mut out = IntegerBatch::zeros(residues.len(), self.limbs());
        let mut wide = vec![0; 2 * root.len()];
        for (i, (low, high)) in low.rows().zip(high.rows()).enumerate() {
            wide.fill(0);
            wide[..low.len()].copy_from_slice(low);
            limbs::multiply_add(&mut wide, high, root);
            let row = out.row_mut(i);
            row.copy_from_slice(&wide[..row.len()]);
        }
        wide.zeroize();
        out
    }

    /// Residues modulo n² as (x mod n, ⌊x/n⌋), both of n's limbs. For any other modulus the second part is empty.
    ///
    /// # Panics
    /// If the residues belong to another modulus.
    pub fn leave_parts(&self, residues: &Residues) -> (IntegerBatch, IntegerBatch) {
        self.assert_owns(residues);
        let (kernel, limbs) = (self.kernel(), self.value_limbs());
        let high_len = if self.root().is_some() { residues.len() } else { 0 };
        let mut low = IntegerBatch::zeros(residues.len(), limbs);
        let mut high = IntegerBatch::zeros(high_len, limbs);
        let mut scratch = Scratch::new(kernel);
        let step = kernel.lanes() * limbs;
        let mut highs = high.words_mut().chunks_mut(step);
        for (low, group) in low.words_mut().chunks_mut(step).zip(residues.groups()) {
            kernel.leave(low, highs.next().unwrap_or(&mut []), group, &mut scratch.0);
        }
        (low, high)
    }

    /// `len` times 1.
    pub fn one(&self, len: usize) -> Residues {
        let mut out = Residues::uninitialised(self, len);
        out.groups_mut().for_each(|group| self.kernel().one(group));
        out
    }

    /// Products, element by element; a vector of length 1 on either side is used for every element.
    ///
    /// # Errors
    /// [`BigIntError::Length`].
    ///
    /// # Panics
    /// If the residues belong to another modulus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(low(&ring.multiply(&x, &y)?), [21, 55]);
    /// let ten = ring.enter(&batch(&[10]))?;
    /// assert_eq!(low(&ring.multiply(&x, &ten)?), [30, 50]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply(&self, a: &Residues, b: &Residues) -> Result<Residues, BigIntError> {
        self.assert_owns(a);
        self.assert_owns(b);
        if a.len() != b.len() {
            return match (a.len(), b.len()) {
                (1, _) => self.multiply(&self.repeat(a, b.len()), b),
                (_, 1) => self.multiply(a, &self.repeat(b, a.len())),
                (left, right) => Err(BigIntError::Length { left, right }),
            };
        }
        let kernel = self.kernel();
        let mut out = Residues::uninitialised(self, a.len());
        let mut scratch = Scratch::new(kernel);
        for ((out, a), b) in out.groups_mut().zip(a.groups()).zip(b.groups()) {
            kernel.multiply(out, a, b, &mut scratch.0);
        }
        Ok(out)
    }

    /// Squares, element by element.
    ///
    /// # Panics
    /// If the residues belong to another modulus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(low(&ring.square(&x)), [9, 25]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn square(&self, a: &Residues) -> Residues {
        self.assert_owns(a);
        let kernel = self.kernel();
        let mut out = Residues::uninitialised(self, a.len());
        let mut scratch = Scratch::new(kernel);
        for (out, a) in out.groups_mut().zip(a.groups()) {
            kernel.square(out, a, &mut scratch.0);
        }
        out
    }

    /// a·(1 + m·n) modulo n², element by element, for m < n: what adds m to the plaintext of a Paillier ciphertext.
    ///
    /// # Errors
    /// [`BigIntError::Length`] if `m` has not as many rows as `a`; [`BigIntError::NotReduced`] names a row that is not below n.
    ///
    /// # Panics
    /// If the residues belong to another modulus, or this one is not a square.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let square = OddModulus::square_of(&n, Path::current())?;
    /// let product = square.multiply_unit(&square.one(1), &batch(&[42]))?;
    /// // 1 + 42·n, as its remainder and quotient by n.
    /// let (remainder, quotient) = square.leave_parts(&product);
    /// assert_eq!((remainder.row(0)[0], quotient.row(0)[0]), (1, 42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply_unit(&self, a: &Residues, m: &IntegerBatch) -> Result<Residues, BigIntError> {
        self.assert_owns(a);
        let kernel = self.inner.arithmetic.square().expect("a modulus n²");
        if a.len() != m.len() {
            return Err(BigIntError::Length { left: a.len(), right: m.len() });
        }
        let limbs = kernel.value_limbs();
        self.check_below_root(m)?;
        let padded;
        let m = if m.limbs() == limbs {
            m
        } else {
            padded = m.resized(limbs);
            &padded
        };
        let mut out = Residues::uninitialised(self, a.len());
        let mut scratch = Scratch::new(kernel);
        let rows = m.words().chunks(kernel.lanes() * limbs);
        for ((out, a), words) in out.groups_mut().zip(a.groups()).zip(rows) {
            kernel.multiply_unit(out, a, Rows { limbs, words }, &mut scratch.0);
        }
        Ok(out)
    }

    /// Every limb of every row is looked at, whatever is found.
    fn check_below_root(&self, m: &IntegerBatch) -> Result<(), BigIntError> {
        let root = self.root().expect("a modulus n²");
        let mut first = None;
        for (index, row) in m.rows().enumerate() {
            let (low, high) = row.split_at(row.len().min(root.len()));
            let excess = high.iter().fold(0, |any, &limb| any | limb);
            let below = limbs::less_than_padded(low, root);
            if excess != 0 || below == 0 {
                first = first.or(Some(index));
            }
        }
        first.map_or(Ok(()), |index| Err(BigIntError::NotReduced { index }))
    }

    /// One residue, `len` times.
    ///
    /// # Panics
    /// If `single` has another length than 1, or belongs to another modulus.
    pub fn repeat(&self, single: &Residues, len: usize) -> Residues {
        assert_eq!(single.len(), 1, "one residue");
        self.gather(single, &vec![0; len])
    }

    /// The residues at the given (public) places, in that order.
    ///
    /// # Panics
    /// If there is no such place, or the residues belong to another modulus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(low(&ring.gather(&x, &[1, 0, 1])), [5, 3, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gather(&self, from: &Residues, places: &[usize]) -> Residues {
        self.assert_owns(from);
        let kernel = self.kernel();
        let lanes = kernel.lanes();
        let mut out = self.one(places.len());
        let mut single = AlignedWords::zeroed(kernel.single_words());
        for (to, &place) in places.iter().enumerate() {
            assert!(place < from.len(), "place {place} of {}", from.len());
            kernel.extract(&mut single, from.group(place / lanes), place % lanes);
            kernel.insert(out.group_mut(to / lanes), to % lanes, &single);
        }
        single.zeroize();
        out
    }
}

/// Scratch of a kernel, wiped when dropped.
pub(super) struct Scratch(pub(super) AlignedWords);

impl Scratch {
    pub(super) fn new(kernel: &(impl Kernel + ?Sized)) -> Self {
        Self(AlignedWords::zeroed(kernel.scratch_words()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The limbs of a modulus that can be worked with.
fn checked(n: &BoxedUint, path: Path, square: bool) -> Result<Vec<u64>, BigIntError> {
    let bits = n.bits_vartime();
    let max = if square { MAX_MODULUS_BITS / 2 } else { MAX_MODULUS_BITS };
    if !(MIN_MODULUS_BITS..=max).contains(&bits) {
        return Err(BigIntError::ModulusBits { bits, square });
    }
    if n.as_limbs()[0].0 & 1 == 0 {
        return Err(BigIntError::EvenModulus);
    }
    if !path.is_available() {
        return Err(BigIntError::PathUnavailable(path));
    }
    Ok(limbs::from_uint(n, limbs::limbs_for(bits)))
}

/// Shows the shape only: a modulus may be secret.
impl fmt::Debug for OddModulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OddModulus").field("bits", &self.bits()).field("path", &self.path()).finish_non_exhaustive()
    }
}
