//! What rotations cost and how much noise they add.

use crate::{MAX_DIMENSION, Operands};
use ciphermill_bfv::error::{BfvError, require_range};
use ciphermill_bfv::keys::GaloisRequest;
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::noise;
use ciphermill_bfv::parameters::ParameterSet;

use super::{SumStep, rotation_element};

/// Counts and variances for one parameter set.
#[derive(Clone, Debug)]
pub(crate) struct SlotModel {
    parameters: ParameterSet,
}

impl SlotModel {
    /// The model, for a product of `rows` × `cols`.
    ///
    /// # Errors
    /// If a dimension is out of range, or the set has no slots or no special modulus.
    pub(crate) fn new(rows: usize, cols: usize, parameters: &ParameterSet) -> Result<Self, BfvError> {
        require_range("number of rows", rows as u64, 1, MAX_DIMENSION as u64)?;
        require_range("number of columns", cols as u64, 1, MAX_DIMENSION as u64)?;
        if !parameters.has_slots() {
            let (t, turn) = (parameters.plaintext_modulus, 2 * parameters.polynomial_size.get());
            let what = format!("slots modulo t = {t}; use a prime t that is 1 modulo 2N = {turn}");
            return Err(BfvError::Unsupported { what });
        }
        if parameters.special_moduli.is_empty() {
            let what = "rotations without a special modulus; use a parameter set with one".to_owned();
            return Err(BfvError::Unsupported { what });
        }
        Ok(Self { parameters: parameters.clone() })
    }

    /// N.
    pub(crate) fn n(&self) -> usize {
        self.parameters.polynomial_size.get()
    }

    /// L.
    pub(crate) fn top(&self) -> usize {
        self.parameters.ciphertext_moduli.len()
    }

    /// L + K.
    pub(crate) fn extended(&self) -> usize {
        self.top() + self.parameters.special_moduli.len()
    }

    /// Digits of a polynomial modulo Q.
    pub(crate) fn digits(&self) -> usize {
        match self.parameters.gadget {
            Gadget::Limbs { limbs_per_digit } => self.top().div_ceil(limbs_per_digit),
            Gadget::Bits { base_log } => {
                let bits = self.parameters.ciphertext_moduli.iter().map(|q| (u64::BITS - q.leading_zeros()) as usize);
                bits.map(|bits| bits.div_ceil(base_log.0)).sum()
            }
        }
    }

    /// The requests for keys of these rotations.
    pub(crate) fn requests(&self, rotations: &[usize]) -> Vec<GaloisRequest> {
        let gadget = self.parameters.gadget;
        rotations.iter().map(|&k| GaloisRequest { element: rotation_element(self.n(), k), gadget }).collect()
    }

    /// Bytes of a polynomial over the first `limbs` primes of the chain, packed: as many to a word as its prime has.
    pub(crate) fn packed_bytes(&self, limbs: usize) -> u64 {
        let spec = self.parameters.spec();
        let chain = spec.ciphertext_moduli.iter().chain(&spec.special_moduli).take(limbs);
        let bytes: u32 = chain.map(|p| (u64::BITS - p.leading_zeros()).div_ceil(8)).sum();
        u64::from(bytes) * self.n() as u64
    }

    /// Bytes of one prepared key.
    pub(crate) fn key_bytes(&self) -> u64 {
        2 * self.digits() as u64 * self.packed_bytes(self.extended())
    }

    /// Transforms of a key switch of a lifted ciphertext: back of c_1, forward of its digits.
    pub(crate) fn switch_ntts(&self) -> u64 {
        (self.extended() * (1 + self.digits())) as u64
    }

    /// Transforms that end a product: both parts, back.
    pub(crate) fn finish_ntts(&self) -> u64 {
        (2 * self.extended()) as u64
    }

    /// Variance of a coefficient of a vector's ciphertexts.
    pub(crate) fn vector_variance(&self, operands: &Operands) -> f64 {
        operands.vector_variance(self.parameters.spec())
    }

    /// Variance that the errors of one key add.
    pub(crate) fn key_variance(&self) -> f64 {
        noise::key_error_variance(self.parameters.spec(), self.parameters.gadget, self.top())
    }

    /// Variance of a division by P, which comes before the digits of a lifted ciphertext and at the end.
    pub(crate) fn rounding_variance(&self) -> f64 {
        noise::rounding_variance(self.n() as f64)
    }

    /// A bound of N·E\[m²\] over the coefficients m of any plaintext, by which it multiplies a variance: N·t²/4, as
    /// coefficients are below t/2. Those of random slots are uniform: N·t²/12.
    pub(crate) fn plaintext_growth(&self) -> f64 {
        let t = self.parameters.plaintext_modulus as f64;
        self.n() as f64 * t * t / 4.0
    }

    /// Variance of the worst coefficient after `steps`, from that before. The constant coefficient stays where it is under
    /// every rotation, so that the summands' errors add up there as they are; those of different keys are independent.
    pub(crate) fn summed_variance(&self, variance: f64, steps: &[SumStep]) -> f64 {
        steps.iter().fold(variance, |variance, step| {
            let others = (step.count - 1) as f64;
            let count = step.count as f64;
            variance * count * count + self.rounding_variance() * others * others + self.key_variance() * others
        })
    }
}
