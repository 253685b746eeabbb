//! The noise of words, stage by stage: from a digit to its selectors, through the CMuxes of a table, to a digit again.
//!
//! All variances are of a coefficient, relative to the square of the torus, with keys of mean weight. N' = k·N is the size of
//! the ring of tables, S' its key, and m = (B² + 2)/12 the second moment of a digit of a gadget, of which 1/4 is the square of
//! its mean −1/2.
//!
//! **Trace.** Step i, with the automorphism X ↦ X^(N'/2^i + 1), adds the noise v of a key switch to every coefficient. The later
//! steps double the constant coefficient, so its variance grows by 4 with each of them: v·(4^L − 1)/3 after L =
//! log2(N') steps. A coefficient j = 2^c·odd is cleared by step c. Before that it doubles; after that, the steps move it to
//! another coefficient, and two of these add up. So the noise of step i in the coefficients with c ≤ i stays, and grows by 2
//! with each later step. The noise of the bit itself is in the constant coefficient alone.
//!
//! **CMux.** A selector has the rows R_j of the gadget's level j, with noise e_j, and −S'·R_j, with noise −S'·e_j + w_j of the scheme
//! switch. With the digits a_j of the mask and b_j of the body, the noise of the product is Σ_j e_j·(b_j − S'·a_j) + a_j·w_j, and
//! the rounding of the decomposition times the selector's bit. Coefficient i of S'·a_j has the second moment
//! (m − ¼)·N'/2 + ¼·((N'/2 − 1 − i)² + N'/4), as the means of digits and key bits add up: more at the ends of a
//! polynomial than in the middle.

use super::{
    Backend, FFT_ERROR_FACTOR, KeyWeights, bits, blind_rotation_variance_of, digit_moment, fft_sum_variance,
    glwe_variance, keyswitch_variance, log2_sum, log2_tails, rounding, ulp2,
};
use crate::circuit::{DIGIT_PLACES, FUNCTIONS, SPLIT_FUNCTIONS, Split};
use crate::dimension::Decomposition;
use crate::parameters::{ParameterSpec, TorusWidth, WordGadgets};
use crate::word::{DenseTable, Table};
use ciphermill_math::fft::PackedWord;

/// The variances of a parameter set with words.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// use ciphermill_tfhe::noise::word::WordNoise;
/// let parameters = ParameterSet::named("WORD_2M64", policy)?;
/// let noise = WordNoise::new(&parameters).ok_or("a set with words")?;
/// let table = Table::Dense(DenseTable::of_function(14, 14, |x| x)?);
/// assert!(noise.log2_p_table(&table) < -64.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WordNoise {
    /// N'.
    size: f64,
    /// A bit that is extracted from a rotation.
    pub rotation: f64,
    /// The constant coefficient of a bit after the trace: of the rotation, of the ring switch, of the trace.
    pub bit: f64,
    /// The other coefficients after the trace, on average.
    pub rest: f64,
    /// The noise that the scheme switch adds to a coefficient, in addition to the noise of its input times S'.
    pub square: f64,
    /// The rounding of a CMux, for a selector of 1.
    pub cmux_rounding: f64,
    /// The errors of the transform in a CMux.
    pub cmux_transform: f64,
    /// m of the selectors' gadget, and its levels.
    moment: f64,
    levels: f64,
    /// The key switch of an output digit.
    pub keyswitch: f64,
    /// The modulus switch of a digit before its rotation.
    pub modulus_switch: f64,
    /// The modulus switch of a bit before its rotation in a split.
    pub split_switch: f64,
}

/// Where in a polynomial a CMux is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// At a coefficient.
    At(f64),
    /// On average over all.
    Anywhere,
}

/// What the f64 transform of a parameter set adds to sums of products of one polynomial.
#[derive(Clone, Copy)]
struct Transform<'a> {
    spec: &'a ParameterSpec,
    /// k·N.
    size: f64,
    /// The root mean square error, as in [`FFT_ERROR_FACTOR`].
    factor: f64,
}

impl Transform<'_> {
    /// Variance of the error in Σ_j digit_j·row_j over the l levels of one polynomial.
    fn sum(self, gadget: Decomposition) -> f64 {
        fft_sum_variance(1.0, self.size, gadget, self.factor)
    }

    /// Variance of a blind rotation.
    fn rotation(self) -> f64 {
        let of =
            |backend| blind_rotation_variance_of(self.spec, backend, PackedWord::Float64, &KeyWeights::mean(self.spec));
        let (bound, exact) = (of(Backend::Fft), of(Backend::Ntt));
        exact + (bound - exact) * (self.factor / FFT_ERROR_FACTOR).powi(2)
    }

    /// Variance of a key switch of one polynomial: digits times noise, the transform, and the rounding of the decomposition
    /// times a polynomial of the sum of squares `weight`.
    fn switch(self, gadget: Decomposition, weight: f64) -> f64 {
        let Self { spec, size, .. } = self;
        let ulp2 = ulp2(TorusWidth::U64);
        let rows = size * gadget.level_count.0 as f64 * digit_moment(gadget) * glwe_variance(spec);
        // An error of the mask enters with a bit of the key.
        let transform = (self.sum(gadget) + ulp2 / 12.0) * (1.0 + size / 2.0);
        rows + transform + rounding(bits(gadget), ulp2) * weight
    }
}

impl WordNoise {
    /// The variances of a set; `None` if it has no words. The errors of the transform count with their bound
    /// [`FFT_ERROR_FACTOR`].
    #[must_use]
    pub fn new(spec: &ParameterSpec) -> Option<Self> {
        Self::with_fft_error(spec, FFT_ERROR_FACTOR)
    }

    /// The variances with another root mean square error of the transform, in the unit of [`FFT_ERROR_FACTOR`]; 0 for exact
    /// products.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// use ciphermill_tfhe::noise::word::WordNoise;
    /// let parameters = ParameterSet::named("WORD_2M64", policy)?;
    /// let noise = WordNoise::new(&parameters).ok_or("a set with words")?;
    /// let exact = WordNoise::with_fft_error(&parameters, 0.0).ok_or("a set with words")?;
    /// assert!(exact.rest < noise.rest && exact.keyswitch == noise.keyswitch);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_fft_error(spec: &ParameterSpec, factor: f64) -> Option<Self> {
        let WordGadgets { selector, trace, square } = spec.word?;
        let (size, ulp2) = (spec.big_lwe_dimension().0 as f64, ulp2(spec.torus));
        let through_key = 1.0 + size / 2.0;
        let transform = Transform { spec, size, factor };
        let rotation = transform.rotation();
        // Rounded to multiples of N'.
        let ring_switch = size * size * ulp2 / 12.0 * through_key;
        let step = transform.switch(trace, size / 2.0);
        let steps = size.log2() as i32;
        let rest = (0..steps).map(|i| f64::from(steps - 1 - i).exp2() * (1.0 - (-f64::from(i + 1)).exp2()));
        // The coefficients of S'²: their mean (2i + 2 − N')/4, and the variance 3/4 of each of N'/2 products.
        let squares = size * (size * size / 48.0 + 3.0 * size / 8.0);
        let index = |functions: usize| {
            let bits = (2 * spec.polynomial_size.get() / functions).trailing_zeros() as usize;
            0.25 * spec.lwe_dimension.0 as f64 * super::rounding(bits, super::ulp2(TorusWidth::U32))
        };
        Some(Self {
            size,
            rotation,
            bit: rotation + ring_switch + step * ((2.0 * f64::from(steps)).exp2() - 1.0) / 3.0,
            rest: step * rest.sum::<f64>(),
            square: transform.switch(square, squares),
            cmux_rounding: rounding(bits(selector), ulp2) * through_key,
            // Two polynomials in, and the errors of both out.
            cmux_transform: (2.0 * transform.sum(selector) + ulp2 / 12.0) * through_key,
            moment: digit_moment(selector),
            levels: selector.level_count.0 as f64,
            keyswitch: keyswitch_variance(spec),
            modulus_switch: index(FUNCTIONS),
            split_switch: index(SPLIT_FUNCTIONS),
        })
    }

    /// Second moment of a coefficient of b_j − S'·a_j.
    fn spread(&self, place: Place) -> f64 {
        let half = self.size / 2.0;
        let means = match place {
            Place::At(i) => (half - 1.0 - i) * (half - 1.0 - i),
            Place::Anywhere => half * half / 3.0,
        };
        self.moment + (self.moment - 0.25) * half + 0.25 * (means + self.size / 4.0)
    }

    fn cmux_at(&self, place: Place, ones: f64) -> f64 {
        let constant = self.bit * self.spread(place);
        let rest = self.rest * self.size * self.spread(Place::Anywhere);
        let square = self.square * self.size * self.moment;
        self.levels * (constant + rest + square) + ones * self.cmux_rounding + self.cmux_transform
    }

    /// The most that one CMux adds to a coefficient: at an end of the polynomial, with a selector of 1.
    #[must_use]
    pub fn cmux(&self) -> f64 {
        self.cmux_at(Place::At(-1.0), 1.0)
    }

    /// The most noise that a table adds to an output digit under the big key.
    #[must_use]
    pub fn table(&self, depth: usize) -> f64 {
        depth as f64 * self.cmux()
    }

    /// The noise that a dense table adds to an output digit under the big key, on average over all inputs. A CMux that rotates
    /// counts at the coefficients from which later ones fetch the output.
    #[must_use]
    pub fn dense(&self, table: &DenseTable) -> f64 {
        let size = self.size as usize;
        let (rotated, all) = (table.rotated_bits(size), table.input_bits());
        let digits = table.output_digits();
        // The entries are multiples of 1/4, so the first CMux rounds nothing, and the noise of its mask is 0. That of its body,
        // about 2/N' of a CMux, is left out.
        let first = u32::from(all == rotated);
        let rotations = (first..rotated).map(|bit| {
            // Bits above this one move the output by multiples of 2^(bit + 1) entries.
            let (entries, step) = (1usize << (rotated - 1 - bit), digits << (bit + 1));
            let at = |entry: usize| self.cmux_at(Place::At((entry * step) as f64), 0.5);
            (0..entries).map(at).sum::<f64>() / entries as f64
        });
        let choosing = f64::from((all - rotated).saturating_sub(1));
        rotations.sum::<f64>() + choosing * self.cmux_at(Place::Anywhere, 0.5)
    }

    /// Variance of the index of a digit at its rotation, for a digit of variance `digit` under the small key.
    #[must_use]
    pub fn index(&self, digit: f64) -> f64 {
        digit + self.modulus_switch
    }

    /// Variance of a digit under the small key after a table of this depth.
    #[must_use]
    pub fn digit(&self, depth: usize) -> f64 {
        self.table(depth) + self.keyswitch
    }

    /// The most noise of a digit of a split, under the small key: of two bits, and of its key switch.
    #[must_use]
    pub fn split(&self) -> f64 {
        2.0 * self.rotation + self.keyswitch
    }

    /// Variance of the index of a bit of a split at its rotation, for an integer of variance `integer` under the big key. Each bit
    /// below has left the noise of a rotation.
    #[must_use]
    pub fn split_index(&self, split: Split, bit: u32, integer: f64) -> f64 {
        let factor = f64::from(split.log2_places() - 1 - bit).exp2();
        (integer + f64::from(bit) * self.rotation) * factor * factor + self.keyswitch + self.split_switch
    }

    /// log2 of the probability that some bit of a split is read wrongly, for an integer of variance `integer` under the big key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// use ciphermill_tfhe::circuit::Split;
    /// use ciphermill_tfhe::noise::word::WordNoise;
    /// let parameters = ParameterSet::named("WORD_2M64", policy)?;
    /// let noise = WordNoise::new(&parameters).ok_or("a set with words")?;
    /// let split = Split::new(14, 14)?;
    /// assert!(noise.log2_p_split(split, noise.rotation) < -64.0);
    /// assert_eq!(noise.log2_p_split(split, f64::INFINITY), 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn log2_p_split(&self, split: Split, integer: f64) -> f64 {
        // A bit of 1 is half a turn away.
        let bits = (0..split.bits()).map(|bit| log2_tails(0.25, self.split_index(split, bit, integer)));
        bits.reduce(log2_sum).expect("a split has bits").min(0.0)
    }

    /// log2 of the probability that a digit of this variance is read wrongly at its next rotation.
    #[must_use]
    pub fn log2_p_digit(&self, digit: f64) -> f64 {
        log2_tails(0.5 / DIGIT_PLACES as f64, self.index(digit)).min(0.0)
    }

    /// log2 of the probability that a digit of this variance is decrypted wrongly.
    #[must_use]
    pub fn log2_p_decryption(&self, digit: f64) -> f64 {
        log2_tails(0.5 / DIGIT_PLACES as f64, digit).min(0.0)
    }

    /// log2 of the probability that one of the output digits of a table is read wrongly at its next rotation, if its input was
    /// read rightly.
    #[must_use]
    pub fn log2_p_table(&self, table: &Table) -> f64 {
        (table.output_digits() as f64).log2() + self.log2_p_digit(self.digit(table.depth()))
    }
}

impl crate::parameters::ParameterSet {
    /// The noise of words; refuses a set without any.
    pub(crate) fn require_word_noise(&self) -> Result<WordNoise, crate::error::TfheError> {
        WordNoise::new(self).ok_or_else(|| self.no_words())
    }
}
