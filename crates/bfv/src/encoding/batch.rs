//! One number per slot (N. Smart, F. Vercauteren, "Fully homomorphic SIMD operations", DCC 71, 2014).
//!
//! For a prime t ≡ 1 modulo 2N a plaintext m is its N values m(ζ^e), e odd, for a primitive 2N-th root of unity ζ modulo
//! t. The slots are two rows of N/2: row 0 has m(ζ^(3^i)), row 1 m(ζ^(−3^i)) at column i. σ_3 rotates both rows by one to the
//! left, σ_(3^k) by k; σ_(2N−1) swaps the rows. The order is that of SEAL (libraries that rotate by powers of 5 have another
//! order of the columns); ζ is the least primitive root, as in SEAL.

use std::sync::Arc;

use ciphermill_lattice::rns::Limb;
use ciphermill_math::Modulus;

use super::coefficient::signed;
use crate::ciphertext::Plaintext;
use crate::context::Context;
use crate::error::BfvError;

/// Encodes vectors of N numbers so that sums and products of plaintexts are those of the numbers, slot by slot.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let encoder = BatchEncoder::new(&context)?;
/// let x = secret.encrypt(&encoder.encode(&[1, 2, 3])?, top, &mut rng)?;
/// let y = context.mul_plain(&x, &encoder.encode(&[5, 6, 7])?)?;
/// assert_eq!(encoder.decode(&secret.decrypt(&y)?)[..4], [5, 12, 21, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchEncoder {
    context: Context,
    /// t and its transform.
    limb: Limb,
    /// The place in the transform's spectrum of each slot, row 0 first: a permutation of 0..N.
    places: Arc<[u32]>,
}

impl BatchEncoder {
    /// The encoder of a set with slots.
    ///
    /// # Errors
    /// If t is not a prime or not 1 modulo 2N, or the context's provider has no transform modulo t.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!(BatchEncoder::new(&context)?.columns(), 16);
    /// let paper = Context::new(&ParameterSet::named("CHAM_PAPER", policy)?, Isa::current())?;
    /// assert!(matches!(BatchEncoder::new(&paper), Err(BfvError::Unsupported { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(context: &Context) -> Result<Self, BfvError> {
        let (n, t) = (context.n(), context.t());
        let parameters = context.parameters();
        let modulus = if parameters.has_slots() { Modulus::new(t).ok() } else { None };
        let Some((modulus, root)) = modulus.and_then(|p| Some((p, p.primitive_root_2n(n)?))) else {
            let what = format!(
                "set {} has no slots: its plaintext modulus {t} is not a prime that is 1 modulo {}; use one that is",
                parameters.name,
                2 * n
            );
            return Err(BfvError::Unsupported { what });
        };
        let limb = context.bases().limb(t)?;
        let mut place_of = vec![0; n];
        for place in 0..n {
            place_of[limb.engine().exponent(place) / 2] = place as u32;
        }
        let order = 2 * n;
        let mut exponent = least_root_exponent(modulus, root, n);
        let mut places = vec![0; n];
        for column in 0..n / 2 {
            places[column] = place_of[exponent / 2];
            places[n / 2 + column] = place_of[(order - exponent) / 2];
            exponent = 3 * exponent % order;
        }
        Ok(Self { context: context.clone(), limb, places: places.into() })
    }

    /// The number of columns, N/2.
    pub fn columns(&self) -> usize {
        self.context.n() / 2
    }

    /// Slots from `values`, row 0 first; missing ones are 0.
    ///
    /// # Errors
    /// If there are more than N values or one is out of range.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let encoder = BatchEncoder::new(&context)?;
    /// let slots = [-4; 32];
    /// assert_eq!(encoder.decode(&encoder.encode(&slots)?), slots);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode(&self, values: &[i64]) -> Result<Plaintext, BfvError> {
        let mut coefficients = vec![0; self.context.n()];
        for (&place, residue) in self.places.iter().zip(self.context.residues(values)?) {
            coefficients[place as usize] = residue;
        }
        self.limb.engine().inverse_in_place(&mut coefficients);
        Ok(Plaintext { coefficients })
    }

    /// The N slots, row 0 first, signed.
    ///
    /// # Panics
    /// If the plaintext is of another parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let encoder = BatchEncoder::new(&context)?;
    /// // A constant has its value in every slot.
    /// assert_eq!(encoder.decode(&context.encode(&[9])?), [9; 32]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode(&self, plaintext: &Plaintext) -> Vec<i64> {
        let t = self.context.t();
        let mut values = plaintext.coefficients.clone();
        self.limb.engine().forward_in_place(&mut values);
        // An engine may leave residues beyond t in a spectrum.
        self.places.iter().map(|&place| signed(values[place as usize] % t, (t - 1) / 2, t)).collect()
    }

    /// g such that σ_g rotates both rows by `steps` to the left (negative: to the right).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let encoder = BatchEncoder::new(&context)?;
    /// let element = encoder.rotation(1);
    /// let keys = GaloisKeys::generate(&secret, &[GaloisRequest { element, gadget }])?;
    /// let x = secret.encrypt(&encoder.encode(&[1, 2, 3])?, top, &mut rng)?;
    /// let rotated = context.automorphism(&x, element, &keys)?;
    /// assert_eq!(encoder.decode(&secret.decrypt(&rotated)?)[..3], [2, 3, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rotation(&self, steps: i64) -> usize {
        let order = 2 * self.context.n();
        // 3 has order N/2 modulo 2N.
        let steps = steps.rem_euclid(self.columns() as i64);
        (0..steps).fold(1, |g, _| 3 * g % order)
    }

    /// g such that σ_g swaps the rows.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let encoder = BatchEncoder::new(&context)?;
    /// let element = encoder.row_swap();
    /// let keys = GaloisKeys::generate(&secret, &[GaloisRequest { element, gadget }])?;
    /// let x = secret.encrypt(&encoder.encode(&[8])?, top, &mut rng)?;
    /// let swapped = context.automorphism(&x, element, &keys)?;
    /// assert_eq!(encoder.decode(&secret.decrypt(&swapped)?)[16], 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn row_swap(&self) -> usize {
        2 * self.context.n() - 1
    }
}

/// The exponent k such that `root`^k is the least primitive 2N-th root of unity modulo p, for one of them.
fn least_root_exponent(p: Modulus, root: u64, n: usize) -> usize {
    let square = p.mul(root, root);
    let roots = std::iter::successors(Some(root), |&x| Some(p.mul(x, square)));
    let (index, _) = roots.take(n).enumerate().min_by_key(|&(_, x)| x).expect("N is not 0");
    2 * index + 1
}
