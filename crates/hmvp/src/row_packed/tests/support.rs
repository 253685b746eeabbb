//! A client and a server in one place.

use std::sync::Arc;

use ciphermill_lattice::{Csprng, PolynomialSize, SecretSeed};
use ciphermill_math::Isa;
use ciphermill_math::modulus::ntt_primes;
use num_traits::ToPrimitive;

use super::super::{RowPacked, RowPackedOptions};
use crate::{Algorithm, Encryption, Operands, Prepared};
use ciphermill_bfv::ciphertext::Ciphertext;
use ciphermill_bfv::context::Context;
use ciphermill_bfv::keys::{GaloisKeys, SecretKey};
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::parameters::{ParameterSet, ParameterSpec, SecurityPolicy};

/// Primes of these lengths, distinct, for N = `n`: ciphertext moduli and special ones.
pub(super) fn parameters(
    n: usize,
    ciphertext: &[u32],
    special: &[u32],
    t: u64,
    policy: SecurityPolicy,
) -> ParameterSet {
    let mut primes = Vec::new();
    for &bits in ciphertext.iter().chain(special) {
        let prime = ntt_primes(bits, n).map(|p| p.value()).find(|p| !primes.contains(p)).expect("enough primes");
        primes.push(prime);
    }
    let special = primes.split_off(ciphertext.len());
    let spec = ParameterSpec {
        name: "TEST".into(),
        polynomial_size: PolynomialSize::new(n).expect("a power of two"),
        ciphertext_moduli: primes,
        special_moduli: special,
        plaintext_modulus: t,
        gadget: Gadget::Limbs { limbs_per_digit: 1 },
    };
    ParameterSet::new(spec, policy).expect("admissible")
}

/// Everything for the products of one shape.
pub(super) struct Parties {
    pub(super) context: Context,
    pub(super) secret: SecretKey,
    pub(super) algorithm: RowPacked,
    pub(super) keys: Arc<dyn Prepared>,
    noise: Csprng,
}

/// The product of one matrix part and one vector part, decrypted.
pub(super) struct Outcome {
    pub(super) entries: Vec<i64>,
    /// Of the places of all entries.
    pub(super) noise: Vec<f64>,
}

impl Parties {
    pub(super) fn new(
        parameters: &ParameterSet,
        isa: Isa,
        rows: usize,
        cols: usize,
        options: RowPackedOptions,
    ) -> Self {
        let context = Context::new(parameters, isa).expect("available");
        let secret = SecretKey::generate(&context, &SecretSeed::from_bytes([7; 32]));
        let algorithm = RowPacked::new(rows, cols, parameters, options).expect("admissible");
        let galois = GaloisKeys::generate(&secret, &algorithm.galois_requests()).expect("admissible elements");
        let keys = algorithm.prepare_keys(&context, &galois).expect("complete");
        let noise = Csprng::from_secret(&SecretSeed::from_bytes([9; 32]), 0);
        Self { context, secret, algorithm, keys, noise }
    }

    /// The ciphertexts of a vector.
    pub(super) fn encrypt(&mut self, vector: &[i64]) -> Vec<Ciphertext> {
        let plaintexts = self.algorithm.encode_vector(&self.context, vector).expect("in range");
        let limbs = self.algorithm.vector_limbs();
        plaintexts.iter().map(|p| self.secret.encrypt(p, limbs, &mut self.noise).expect("a level")).collect()
    }

    /// The products of all matrices (row after row) with all vectors: by vector, then matrix.
    pub(super) fn products(&mut self, matrices: &[Vec<i64>], vectors: &[Vec<i64>]) -> Vec<Vec<Outcome>> {
        let prepared: Vec<_> = vectors
            .iter()
            .map(|vector| {
                let ciphertexts = self.encrypt(vector);
                assert_eq!(ciphertexts.len(), self.algorithm.vector_len());
                self.algorithm.prepare_vector(&self.context, &*self.keys, &ciphertexts).expect("of this plan")
            })
            .collect();
        let vectors: Vec<&dyn Prepared> = prepared.iter().map(|vector| &**vector).collect();
        let mut outcomes: Vec<Vec<Outcome>> = Vec::new();
        for _ in &vectors {
            outcomes.push(matrices.iter().map(|_| Outcome { entries: Vec::new(), noise: Vec::new() }).collect());
        }
        for (tile, rows) in self.algorithm.tiles().into_iter().enumerate() {
            let prepared: Vec<_> = matrices.iter().map(|matrix| self.prepare(tile, matrix)).collect();
            let tiles: Vec<&dyn Prepared> = prepared.iter().map(|matrix| &**matrix).collect();
            let products =
                self.algorithm.multiply(&self.context, &*self.keys, tile, &tiles, &vectors).expect("of this plan");
            for (outcomes, products) in outcomes.iter_mut().zip(products) {
                assert_eq!(products.len(), matrices.len());
                for (outcome, ciphertexts) in outcomes.iter_mut().zip(products) {
                    self.decrypt(tile, &ciphertexts, outcome);
                    assert_eq!(outcome.entries.len(), rows.end);
                }
            }
        }
        outcomes
    }

    /// A row tile of a matrix.
    pub(super) fn prepare(&self, tile: usize, matrix: &[i64]) -> Arc<dyn Prepared> {
        let read = |row: usize, out: &mut [i64]| out.copy_from_slice(&matrix[row * out.len()..][..out.len()]);
        self.algorithm.prepare(&self.context, tile, &read).expect("in range")
    }

    /// Appends the entries of a tile, and the noise at their places.
    pub(super) fn decrypt(&self, tile: usize, ciphertexts: &[Ciphertext], outcome: &mut Outcome) {
        assert_eq!(ciphertexts.len(), self.algorithm.product_len(tile));
        let ciphertext = &ciphertexts[0];
        assert_eq!(ciphertext.limb_count(), self.algorithm.product_limbs());
        let plaintext = self.secret.decrypt(ciphertext).expect("of this key");
        // Each place holds what it is said to hold.
        let entries =
            self.algorithm.decode_product(&self.context, tile, std::slice::from_ref(&plaintext)).expect("one");
        let places = self.algorithm.product_places(tile, 0);
        let coefficients = self.context.decode(&plaintext);
        assert!(places.iter().all(|&(place, row)| coefficients[place] == entries[row]));
        outcome.entries.extend(entries);

        let basis = self.context.basis(ciphertext.limb_count());
        let mut phase = self.secret.phase(ciphertext).expect("of this key").clone();
        basis.sub_assign(&mut phase, &self.context.scale_up(&plaintext, basis.len()));
        let noise = places.iter().map(|&(place, _)| basis.compose(&phase, place).to_f64().expect("finite"));
        outcome.noise.extend(noise);
    }

    /// The noise by the model.
    pub(super) fn expected_noise(&self, bits: u32) -> f64 {
        let operands = Operands { matrix_bits: bits, encryption: Encryption::Secret, summands: 1 };
        self.algorithm.noise_std_dev(&operands)
    }
}

/// The product modulo t, centred.
pub(super) fn naive(rows: usize, cols: usize, matrix: &[i64], vector: &[i64], t: u64) -> Vec<i64> {
    let t = i128::from(t);
    let product = |row: usize| {
        let sum: i128 = (0..cols).map(|j| i128::from(matrix[row * cols + j]) * i128::from(vector[j])).sum();
        let residue = sum.rem_euclid(t);
        (if residue > (t - 1) / 2 { residue - t } else { residue }) as i64
    };
    (0..rows).map(product).collect()
}

/// Numbers that need no randomness: entries in [−2^(bits−1), 2^(bits−1)), all values about as often.
pub(super) fn entries(seed: u64, count: usize, bits: u32) -> Vec<i64> {
    let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([3; 32]), seed);
    (0..count).map(|_| rng.next_u64() as i64 >> (64 - bits)).collect()
}
