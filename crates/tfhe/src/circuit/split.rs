//! Integers into words with a loaded key; [`integer`](super::integer) has the algorithm.

use super::evaluation::rotate_all;
use super::integer::Remainder;
use super::reference::{split_bits, split_exponents_by, split_vector};
use crate::bootstrap::BlindRotation;
use crate::ciphertext::{Ciphertext, LweElements};
use crate::dimension::PolynomialSize;
use crate::engine::SplitJob;
use crate::error::TfheError;
use crate::lwe::LweCiphertext;
use crate::modulus_switch::ModulusSwitch;
use crate::parameters::{KeyOrder, ParameterSet};
use crate::server_key::{Rotation as TransformedKey, ServerKey};
use crate::word::Word;

impl ServerKey {
    /// The word of an integer under the big key.
    ///
    /// # Errors
    /// [`TfheError::NoWords`] for a set without words; [`TfheError::KeySet`] for a ciphertext of another key set;
    /// [`TfheError::Mismatch`] for one under the small key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// use ciphermill_tfhe::circuit::Split;
    /// use ciphermill_tfhe::{Encoding, KeyOrder, SplitJob};
    /// // An integer of 10 bits without a padding bit, and five times it.
    /// let encoding = Encoding::unsigned(10, false)?;
    /// let mut input = client.encrypt(&encoding, 123, KeyOrder::Big, &mut rng)?;
    /// input.scalar_mul_assign(5);
    /// let word = server.split(SplitJob { input: &input, split: Split::new(10, 10)? })?;
    /// assert_eq!((word.digits().len(), client.decrypt_word(&word)?), (5, 615));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn split(&self, job: SplitJob<'_>) -> Result<Word, TfheError> {
        // One job, one word.
        Ok(self.split_batch(&[job])?.swap_remove(0))
    }

    /// [`split`](Self::split) for several integers, whose bits share the passes over the key, on the threads of the current Rayon
    /// pool.
    ///
    /// # Errors
    /// As [`split`](Self::split), for any of the jobs.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// use ciphermill_tfhe::circuit::Split;
    /// use ciphermill_tfhe::{Encoding, KeyOrder, SplitJob};
    /// let encode = |bits| Encoding::unsigned(bits, false);
    /// let inputs = [
    ///     (client.encrypt(&encode(3)?, 5, KeyOrder::Big, &mut rng)?, Split::new(3, 3)?),
    ///     (client.encrypt(&encode(8)?, 200, KeyOrder::Big, &mut rng)?, Split::new(8, 8)?),
    /// ];
    /// let words = server.split_batch(&inputs.each_ref().map(|(input, split)| SplitJob { input, split: *split }))?;
    /// assert_eq!((client.decrypt_word(&words[0])?, client.decrypt_word(&words[1])?), (5, 200));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn split_batch(&self, jobs: &[SplitJob<'_>]) -> Result<Vec<Word>, TfheError> {
        let big = self.split_big(jobs)?;
        let digits: Vec<&LweCiphertext<u64>> = big.iter().flatten().collect();
        let mut switched = self.switch(&digits, rayon::current_num_threads())?.into_iter();
        let variance = self.parameters.require_word_noise()?.split();
        big.iter().map(|digits| Word::new(self.tag, switched.by_ref().take(digits.len()).collect(), variance)).collect()
    }

    /// The digits of [`split_batch`](Self::split_batch) under the big key, before their key switch.
    ///
    /// # Errors
    /// As [`split`](Self::split), for any of the jobs.
    pub fn split_big(&self, jobs: &[SplitJob<'_>]) -> Result<Vec<Vec<LweCiphertext<u64>>>, TfheError> {
        let parameters = &self.parameters;
        let rotation = rotation(&self.rotation, parameters)?;
        let begin = |job: &SplitJob<'_>| {
            self.check(job.input)?;
            integer(parameters, job.input).map(|input| Remainder::new(job.split, input))
        };
        let mut remainders = jobs.iter().map(begin).collect::<Result<Vec<_>, TfheError>>()?;
        for bit in 0..jobs.iter().map(|job| job.split.bits()).max().unwrap_or(0) {
            let active: Vec<&mut Remainder> =
                remainders.iter_mut().filter(|remainder| bit < remainder.split().bits()).collect();
            self.take_bit(rotation, bit, active)?;
        }
        Ok(remainders.into_iter().map(Remainder::into_digits).collect())
    }

    /// Takes one bit from each integer.
    fn take_bit(
        &self,
        rotation: &dyn BlindRotation<u64>,
        bit: u32,
        mut integers: Vec<&mut Remainder>,
    ) -> Result<(), TfheError> {
        let (dimension, size) = (self.parameters.glwe_dimension, self.parameters.polynomial_size);
        let scaled: Vec<LweCiphertext<u64>> = integers.iter().map(|integer| integer.scaled(bit)).collect();
        let inputs: Vec<&LweCiphertext<u64>> = scaled.iter().collect();
        let switched = self.switch(&inputs, rayon::current_num_threads())?;
        let start = |(integer, input): (&&mut Remainder, &LweCiphertext<u32>)| {
            Ok((split_exponents(input, size)?, split_vector(integer.split().weights(bit), dimension, size)?))
        };
        let rotations = integers.iter().zip(&switched).map(start).collect::<Result<Vec<_>, TfheError>>()?;
        let rotations: Vec<_> = rotations.iter().map(|(exponents, vector)| (&exponents[..], vector)).collect();
        for (integer, rotated) in integers.iter_mut().zip(rotate_all(rotation, &rotations)?) {
            let bits = split_bits(&rotated, integer.split().weights(bit))?;
            integer.take(bit, &bits)?;
        }
        Ok(())
    }
}

/// The exponents of [`reference::split_exponents`](super::reference::split_exponents), by the quick modulus switch.
fn split_exponents(bit: &LweCiphertext<u32>, size: PolynomialSize) -> Result<Vec<usize>, TfheError> {
    split_exponents_by(size, |coarse| ModulusSwitch::Centred.exponents(bit.elements(), coarse))
}

fn rotation<'a>(key: &'a TransformedKey, parameters: &ParameterSet) -> Result<&'a dyn BlindRotation<u64>, TfheError> {
    parameters.require_words()?;
    match key {
        TransformedKey::U64(rotation) => Ok(&**rotation),
        TransformedKey::U32(_) => Err(parameters.no_words()),
    }
}

/// The elements of an integer, which is under the big key.
fn integer<'a>(parameters: &ParameterSet, input: &'a Ciphertext) -> Result<&'a LweCiphertext<u64>, TfheError> {
    match (input.choice(), input.elements()) {
        (KeyOrder::Big, LweElements::U64(elements)) => Ok(elements),
        _ => {
            let (given, expected) = (input.dimension().0 as u64, parameters.big_lwe_dimension().0 as u64);
            Err(TfheError::Mismatch { what: "LWE dimension of the integer", given, expected })
        }
    }
}
