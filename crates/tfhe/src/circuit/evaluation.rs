//! Words with a loaded key: selections, look-ups, and the ciphertexts between.

use rayon::prelude::*;

use super::FUNCTIONS;
use super::reference::{extract_bits, vector};
use super::transformed::Circuit;
use crate::bootstrap::{BlindRotation, Rotation, share_among_threads};
use crate::dimension::PolynomialSize;
use crate::engine::{DigitSelectors, KeyPartError, KeyPartId, SelectorFile, Selectors};
use crate::error::TfheError;
use crate::glwe::GlweCiphertext;
use crate::lwe::LweCiphertext;
use crate::modulus_switch::ModulusSwitch;
use crate::server_key::{Rotation as TransformedKey, ServerKey};
use crate::word::{Table, Word};

/// The intermediate ciphertexts between a digit and its selectors, for measurements and for comparisons of engines.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// let stages = server.digit_stages(&word)?;
/// // Each digit has two bits at two levels.
/// assert_eq!((stages.len(), stages[0].bits.len(), stages[0].traced.len()), (3, 4, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DigitStages {
    /// The bits under the big key, in the order of the functions of a rotation: h ⊕ l at both levels, then h.
    pub bits: Vec<LweCiphertext<u64>>,
    /// Each bit after the trace: the row of a selector for the body.
    pub traced: Vec<GlweCiphertext<u64>>,
    /// Each bit after the scheme switch: the row of a selector for the mask.
    pub switched: Vec<GlweCiphertext<u64>>,
}

impl ServerKey {
    fn circuit(&self) -> Result<(&dyn Circuit, &dyn BlindRotation<u64>), TfheError> {
        match (&self.circuit, &self.rotation) {
            (Some(circuit), TransformedKey::U64(rotation)) => Ok((&**circuit, &**rotation)),
            _ => Err(KeyPartError::Missing(KeyPartId::CONVERSION).into()),
        }
    }

    /// The selectors of a word's digits, on the threads of the current Rayon pool: one rotation for each digit, all in one pass
    /// over the key for each thread.
    ///
    /// # Errors
    /// [`TfheError::KeyPart`] without a conversion key; [`TfheError::KeySet`] for a word of another key set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// let selectors = server.select(&word)?;
    /// assert_eq!(selectors.digits().len(), word.digits().len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn select(&self, word: &Word) -> Result<Selectors, TfheError> {
        // One word, one handle.
        Ok(self.select_batch(&[word])?.swap_remove(0))
    }

    /// [`select`](Self::select) for several words, whose digits share the passes over the key.
    ///
    /// # Errors
    /// As [`select`](Self::select), for any of the words.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// let upper = client.encrypt_word(1, 4, &mut rng)?;
    /// let selectors = server.select_batch(&[&word, &upper])?;
    /// assert_eq!((selectors[0].digits().len(), selectors[1].digits().len()), (3, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn select_batch(&self, words: &[&Word]) -> Result<Vec<Selectors>, TfheError> {
        let (circuit, rotation) = self.circuit()?;
        words.iter().try_for_each(|word| word.check(&self.parameters, self.tag))?;
        let digits: Vec<&LweCiphertext<u32>> = words.iter().flat_map(|word| word.digits()).collect();
        let bits = self.bits(rotation, &digits)?;
        let select = |bits| circuit.select(bits).map(|(content, bytes)| DigitSelectors::new(self.tag, bytes, content));
        let selected = bits.par_chunks_exact(FUNCTIONS).map(select).collect::<Result<Vec<_>, _>>()?;
        let mut rest = selected.into_iter();
        Ok(words.iter().map(|word| Selectors::new(rest.by_ref().take(word.digits().len()).collect())).collect())
    }

    /// The bits of all digits under the big key, four for each.
    fn bits(
        &self,
        rotation: &dyn BlindRotation<u64>,
        digits: &[&LweCiphertext<u32>],
    ) -> Result<Vec<LweCiphertext<u64>>, TfheError> {
        let selector = self.parameters.require_words()?.selector;
        let (dimension, size) = (self.parameters.glwe_dimension, self.parameters.polynomial_size);
        let vector = vector(selector, dimension, size)?;
        // Those of `reference::exponents`.
        let coarse = PolynomialSize::try_from(size.get() / FUNCTIONS).map_err(TfheError::transform)?;
        let switch = |digit: &LweCiphertext<u32>| ModulusSwitch::Centred.exponents(digit.elements(), coarse);
        let exponents =
            |digit: &&LweCiphertext<u32>| switch(digit).into_iter().map(|exponent| FUNCTIONS * exponent).collect();
        let exponents: Vec<Vec<usize>> = digits.iter().map(exponents).collect();
        let rotations: Vec<_> = exponents.iter().map(|exponents| (&exponents[..], &vector)).collect();
        let rotated = rotate_all(rotation, &rotations)?;
        let bits = rotated.iter().map(|glwe| extract_bits(glwe, selector)).collect::<Result<Vec<_>, _>>()?;
        Ok(bits.concat())
    }

    /// The intermediate ciphertexts between each digit of a word and its selectors.
    ///
    /// # Errors
    /// As [`select`](Self::select).
    pub fn digit_stages(&self, word: &Word) -> Result<Vec<DigitStages>, TfheError> {
        let (circuit, rotation) = self.circuit()?;
        word.check(&self.parameters, self.tag)?;
        let bits = self.bits(rotation, &word.digits().iter().collect::<Vec<_>>())?;
        let stages = |bits: &[LweCiphertext<u64>]| {
            let rows = bits.iter().map(|bit| circuit.rows(bit)).collect::<Result<Vec<_>, _>>()?;
            let (traced, switched) = rows.into_iter().map(|[traced, switched]| (traced, switched)).unzip();
            Ok(DigitStages { bits: bits.to_vec(), traced, switched })
        };
        bits.chunks_exact(FUNCTIONS).map(stages).collect()
    }

    /// The output digits of a table under the big key, before their key switch.
    ///
    /// # Errors
    /// As [`look_up`](Self::look_up).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// let mut file = SelectorFile::new();
    /// file.put(0, &server.select(&word)?)?;
    /// let digits = server.look_up_big(&file, &root)?;
    /// let key = client.glwe_secret_key().to_lwe_secret_key();
    /// let phase: u64 = key.decrypt_phase(&digits[0])?;
    /// assert_eq!(phase.wrapping_add(1 << 61) >> 62, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn look_up_big(&self, file: &SelectorFile, table: &Table) -> Result<Vec<LweCiphertext<u64>>, TfheError> {
        let (circuit, _) = self.circuit()?;
        file.check(table, self.tag)?;
        circuit.look_up(table, file)
    }

    /// The word that a table has for the selected digits.
    ///
    /// # Errors
    /// [`TfheError::NoSelector`] if the table reads an empty position, [`TfheError::ForeignSelectors`] for selectors of another
    /// engine, and the errors of [`select`](Self::select).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// let mut file = SelectorFile::new();
    /// file.put(0, &server.select(&word)?)?;
    /// assert_eq!(client.decrypt_word(&server.look_up(&file, &root)?)?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn look_up(&self, file: &SelectorFile, table: &Table) -> Result<Word, TfheError> {
        let digits = self.look_up_big(file, table)?;
        let inputs: Vec<&LweCiphertext<u64>> = digits.iter().collect();
        let switched = self.switch(&inputs, rayon::current_num_threads())?;
        Word::new(self.tag, switched, self.parameters.require_word_noise()?.digit(table.depth()))
    }
}

/// The rotation of each polynomial by its exponents.
pub(super) fn rotate_all(
    key: &dyn BlindRotation<u64>,
    rotations: &[(&[usize], &GlweCiphertext<u64>)],
) -> Result<Vec<GlweCiphertext<u64>>, TfheError> {
    share_among_threads(rotations, |rotations, threads| {
        let rotation = |&(exponents, accumulator)| Rotation { exponents, accumulator };
        let rotations: Vec<_> = rotations.iter().map(rotation).collect();
        match rotations[..] {
            [rotation] => Ok(vec![key.blind_rotate(rotation, threads)?]),
            _ => key.blind_rotate_batch(&rotations),
        }
    })
}
