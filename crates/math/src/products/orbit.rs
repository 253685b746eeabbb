//! The order of a spectrum in which automorphisms are rotations.
//!
//! Let N be the polynomial size and c = 2N/n a power of two from 2 to 2N. The automorphisms σ_g with g ≡ 1 modulo c
//! form a group of n elements.
//!
//! * c ≥ 4: the group is cyclic with generator h = 1 + c. Every odd exponent is e₀·h^u modulo 2N for exactly one odd e₀
//!   < c and one u < n. So a spectrum is one *sequence* of n steps of c/2 words each: word u·c/2 + (e₀ − 1)/2 holds
//!   a(ψ^(e₀·h^u)). σ_(h^k) reads the value at exponent h^k·e for the one at e: it rotates the words to the left by
//!   k·c/2.
//! * c = 2, n = N: every odd number is ±5^u for one sign and one u < N/2. There are two sequences of N/2 words, one for
//!   each sign. σ_(±5^k) rotates both by k words and, for the lower sign, swaps them.
//!
//! n = 1 (c = 2N) is the degenerate case of one step and of the identity alone.

use crate::automorphism::{Automorphism, AutomorphismError, Permutation};
use crate::ntt::NttEngine;

/// The effect of σ_g on the words of a spectrum in an [`OrbitOrder`]: word i of sequence s of the result is word
/// (i + `offset`) mod `sequence` of sequence s or, with `swap`, of the other sequence.
///
/// # Example
/// ```
/// use ciphermill_math::products::Rotation;
///
/// let rotation = Rotation { sequence: 4, offset: 1, swap: false };
/// let mut out = [0; 4];
/// rotation.apply(&[10, 11, 12, 13], &mut out);
/// assert_eq!(out, [11, 12, 13, 10]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Words of a sequence, a power of two: N, or N/2 if there are two sequences.
    pub sequence: usize,
    /// Words by which every sequence is rotated to the left, less than `sequence`.
    pub offset: usize,
    /// Whether the two sequences change places.
    pub swap: bool,
}

impl Rotation {
    /// The identity on `polynomial_size` words of any order.
    pub fn none(polynomial_size: usize) -> Self {
        Self { sequence: polynomial_size, offset: 0, swap: false }
    }

    /// The index in the argument of word `index` of the result.
    pub fn source(&self, index: usize) -> usize {
        // A sequence is a power of two.
        let mask = self.sequence - 1;
        ((index & !mask) ^ (self.sequence * usize::from(self.swap))) | ((index + self.offset) & mask)
    }

    /// out = the rotated `spectrum`.
    ///
    /// # Panics
    /// If the lengths differ or are not whole sequences.
    pub fn apply(&self, spectrum: &[u64], out: &mut [u64]) {
        assert_eq!(spectrum.len(), out.len(), "lengths of the spectra");
        self.check(out.len());
        for (s, out) in out.chunks_exact_mut(self.sequence).enumerate() {
            let from = &spectrum[(s ^ usize::from(self.swap)) * self.sequence..][..self.sequence];
            let (head, tail) = from.split_at(self.offset);
            out[..tail.len()].copy_from_slice(tail);
            out[tail.len()..].copy_from_slice(head);
        }
    }

    /// Panics unless the rotation is for spectra of `len` words.
    pub(super) fn check(&self, len: usize) {
        assert!(
            self.sequence.is_power_of_two()
                && self.offset < self.sequence
                && len == self.sequence << u32::from(len != self.sequence),
            "the rotation is one of other spectra than of {len} words"
        );
        assert!(!self.swap || len != self.sequence, "a swap needs two sequences; there is one of {len} words");
    }
}

/// The order of one engine's spectra, and the orbit order for one c.
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::ntt::prime_engine;
/// use ciphermill_math::products::OrbitOrder;
///
/// let engine = prime_engine(256, 7681, Isa::current())?;
/// let order = OrbitOrder::new(&*engine, 2);
/// let spectrum: Vec<u64> = (0..256).collect();
/// let (mut orbit, mut back) = (vec![0; 256], vec![0; 256]);
/// order.to_orbit(&spectrum, &mut orbit);
/// order.from_orbit(&orbit, &mut back);
/// assert_eq!(back, spectrum);
/// // X ↦ X^5 rotates both sequences of 128 words by one.
/// let rotation = order.rotation(5);
/// assert_eq!((rotation.sequence, rotation.offset, rotation.swap), (128, 1, false));
/// # Ok::<(), ciphermill_math::ntt::NttError>(())
/// ```
#[derive(Clone, Debug)]
pub struct OrbitOrder {
    polynomial_size: usize,
    /// c.
    step: usize,
    /// The sequence's length in words.
    sequence: usize,
    to_orbit: Permutation,
    from_orbit: Permutation,
    /// The index in the orbit order of the word with exponent 2i + 1, for each i.
    places: Vec<u32>,
    /// The exponents of the engine's places.
    exponents: Vec<u32>,
}

impl OrbitOrder {
    /// The orbit order for `step` = c of the spectra of `engine`.
    ///
    /// # Panics
    /// If `step`, which callers derive from validated dimensions, is not a power of two from 2 to 2N.
    pub fn new(engine: &dyn NttEngine, step: usize) -> Self {
        let n = engine.polynomial_size();
        assert!(step.is_power_of_two() && (2..=2 * n).contains(&step), "{step} is not a power of two from 2 to 2N");
        let (sequence, words) = orbit_exponents(n, step);
        let mut places = vec![u32::MAX; n];
        for (word, e) in words.iter().enumerate() {
            places[e / 2] = word as u32;
        }
        let exponents: Vec<u32> = (0..n).map(|place| engine.exponent(place) as u32).collect();
        let from: Vec<u32> = exponents.iter().map(|e| places[*e as usize / 2]).collect();
        let mut to = vec![u32::MAX; n];
        for (place, &word) in from.iter().enumerate() {
            to[word as usize] = place as u32;
        }
        let (isa, modulus) = (engine.info().host_isa(), engine.modulus());
        Self {
            polynomial_size: n,
            step,
            sequence,
            to_orbit: Permutation::new(isa, modulus, to),
            from_orbit: Permutation::new(isa, modulus, from),
            places,
            exponents,
        }
    }

    /// N.
    pub fn polynomial_size(&self) -> usize {
        self.polynomial_size
    }

    /// c: the automorphisms σ_g with g ≡ 1 modulo c are rotations.
    pub fn step(&self) -> usize {
        self.step
    }

    /// Converts `spectrum` from the engine's order to the orbit order, in `out`.
    ///
    /// # Panics
    /// If a length is not N.
    pub fn to_orbit(&self, spectrum: &[u64], out: &mut [u64]) {
        self.to_orbit.apply(spectrum, out);
    }

    /// Converts `orbit` from the orbit order to the engine's order, in `out`.
    ///
    /// # Panics
    /// If a length is not N.
    pub fn from_orbit(&self, orbit: &[u64], out: &mut [u64]) {
        self.from_orbit.apply(orbit, out);
    }

    /// σ_g combined with the conversion to the engine's order; `exponent` is any odd number, modulo 2N. This call makes
    /// its table (N words of 32 bits), so callers should keep the result.
    ///
    /// # Errors
    /// If `exponent` is even.
    pub fn from_orbit_automorphism(&self, exponent: usize) -> Result<FromOrbit, AutomorphismError> {
        let automorphism = Automorphism::new(self.polynomial_size, exponent)?;
        let (g, turn) = (automorphism.exponent(), 2 * self.polynomial_size);
        let table = self.exponents.iter().map(|&e| self.places[e as usize * g % turn / 2]).collect();
        Ok(FromOrbit { automorphism, table: self.from_orbit.with_table(table) })
    }

    /// The rotation that σ_g is for spectra in orbit order; `exponent` is reduced modulo 2N.
    ///
    /// # Panics
    /// If `exponent` is not 1 modulo c.
    pub fn rotation(&self, exponent: usize) -> Rotation {
        let (n, turn) = (self.polynomial_size, 2 * self.polynomial_size);
        let g = exponent % turn;
        assert_eq!(g % self.step, 1, "X ↦ X^{exponent} is not a rotation of steps of {}", self.step);
        // Exponent 1 is first, and σ_g moves the word with exponent g to its place.
        let word = self.places[g / 2] as usize;
        Rotation { sequence: self.sequence, offset: word % self.sequence, swap: n != self.sequence && word >= n / 2 }
    }
}

/// The words of a sequence, and the exponent of every word of the orbit order.
fn orbit_exponents(n: usize, step: usize) -> (usize, Vec<usize>) {
    let turn = 2 * n;
    let powers = |generator: usize, count: usize| {
        std::iter::successors(Some(1), move |&power| Some(power * generator % turn)).take(count)
    };
    if step == 2 && n > 1 {
        let plus: Vec<usize> = powers(5, n / 2).collect();
        let minus = plus.iter().map(|e| turn - e);
        return (n / 2, plus.iter().copied().chain(minus).collect());
    }
    let generator = (1 + step) % turn;
    let words = powers(generator, turn / step).flat_map(|power| (1..step).step_by(2).map(move |e| e * power % turn));
    (n, words.collect())
}

/// σ_g from the orbit order to the engine's order: see [`OrbitOrder::from_orbit_automorphism`].
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::ntt::prime_engine;
/// use ciphermill_math::products::OrbitOrder;
///
/// // The spectrum of X in orbit order becomes the spectrum of X^3 in the engine's order.
/// let engine = prime_engine(256, 7681, Isa::current())?;
/// let order = OrbitOrder::new(&*engine, 2);
/// let (mut spectrum, mut orbit) = (vec![0; 256], vec![0; 256]);
/// spectrum[1] = 1;
/// engine.forward_in_place(&mut spectrum);
/// order.to_orbit(&spectrum, &mut orbit);
/// order.from_orbit_automorphism(3)?.apply(&orbit, &mut spectrum);
/// engine.inverse_in_place(&mut spectrum);
/// assert_eq!(spectrum[..5], [0, 0, 0, 1, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FromOrbit {
    automorphism: Automorphism,
    table: Permutation,
}

impl FromOrbit {
    /// The automorphism.
    pub fn automorphism(&self) -> Automorphism {
        self.automorphism
    }

    /// out = the spectrum of σ_g(a) in the engine's order, given the spectrum of a in orbit order.
    ///
    /// # Panics
    /// If a length is not N.
    pub fn apply(&self, orbit: &[u64], out: &mut [u64]) {
        self.table.apply(orbit, out);
    }

    /// acc += the spectrum of σ_g(a) in the engine's order, given the spectrum of a in orbit order; canonical.
    ///
    /// # Panics
    /// If a length is not N.
    pub fn accumulate(&self, orbit: &[u64], acc: &mut [u64]) {
        self.table.accumulate(orbit, acc);
    }
}
