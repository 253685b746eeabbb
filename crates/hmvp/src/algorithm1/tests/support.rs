//! A client and a server in one place.

use std::sync::Arc;

use ciphermill_lattice::rns::{Coefficients, RnsPoly};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;
use num_bigint::BigInt;

use super::super::Algorithm1;
use crate::{Algorithm, Prepared};
use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::context::Context;
use ciphermill_bfv::keys::{GaloisKeys, SecretKey};
use ciphermill_bfv::parameters::{ParameterSet, SecurityPolicy};

pub(super) fn named(name: &str) -> ParameterSet {
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    ParameterSet::named(name, policy).expect("a named set")
}

/// Everything for the products of one shape.
pub(super) struct Parties {
    pub(super) context: Context,
    pub(super) secret: SecretKey,
    pub(super) algorithm: Algorithm1,
    pub(super) galois: GaloisKeys,
    pub(super) keys: Arc<dyn Prepared>,
    noise: Csprng,
}

impl Parties {
    pub(super) fn new(parameters: &ParameterSet, isa: Isa, rows: usize, cols: usize, seed: &SecretSeed) -> Self {
        let context = Context::new(parameters, isa).expect("available");
        let secret = SecretKey::generate(&context, seed);
        let algorithm = Algorithm1::new(rows, cols, parameters).expect("admissible");
        let galois = GaloisKeys::generate(&secret, &algorithm.galois_requests()).expect("admissible elements");
        let keys = algorithm.prepare_keys(&context, &galois).expect("complete");
        Self { context, secret, algorithm, galois, keys, noise: Csprng::from_secret(seed, 2) }
    }

    /// The ciphertexts of a vector.
    pub(super) fn encrypt(&mut self, vector: &[i64]) -> Vec<Ciphertext> {
        let plaintexts = self.algorithm.encode_vector(&self.context, vector).expect("in range");
        assert_eq!(plaintexts.len(), self.algorithm.vector_len());
        let limbs = self.algorithm.vector_limbs();
        plaintexts.iter().map(|p| self.secret.encrypt(p, limbs, &mut self.noise).expect("a level")).collect()
    }

    /// The ciphertexts of the products of all matrices (row after row) with all vectors: by tile, vector, matrix.
    pub(super) fn products(&self, matrices: &[Vec<i64>], vectors: &[Vec<Ciphertext>]) -> Vec<Vec<Vec<Ciphertext>>> {
        let prepare = |vector: &Vec<Ciphertext>| self.algorithm.prepare_vector(&self.context, &*self.keys, vector);
        let prepared: Vec<_> = vectors.iter().map(prepare).collect::<Result<_, _>>().expect("of this plan");
        let vectors: Vec<&dyn Prepared> = prepared.iter().map(|vector| &**vector).collect();
        let tile = |tile: usize| {
            let prepared: Vec<_> = matrices.iter().map(|matrix| self.prepare(tile, matrix)).collect();
            let tiles: Vec<&dyn Prepared> = prepared.iter().map(|matrix| &**matrix).collect();
            let products = self.algorithm.multiply(&self.context, &*self.keys, tile, &tiles, &vectors);
            let one = |mut ciphertexts: Vec<Ciphertext>| {
                assert_eq!(ciphertexts.len(), self.algorithm.product_len(tile));
                ciphertexts.remove(0)
            };
            let vector = |matrices: Vec<Vec<Ciphertext>>| matrices.into_iter().map(one).collect();
            products.expect("of this plan").into_iter().map(vector).collect()
        };
        (0..self.algorithm.tiles().len()).map(tile).collect()
    }

    /// A row tile of a matrix.
    pub(super) fn prepare(&self, tile: usize, matrix: &[i64]) -> Arc<dyn Prepared> {
        let read = |row: usize, out: &mut [i64]| out.copy_from_slice(&matrix[row * out.len()..][..out.len()]);
        self.algorithm.prepare(&self.context, tile, &read).expect("in range")
    }

    /// The entries of a tile.
    pub(super) fn decrypt(&self, tile: usize, ciphertext: &Ciphertext) -> Vec<i64> {
        let plaintext = self.secret.decrypt(ciphertext).expect("of this key");
        let entries =
            self.algorithm.decode_product(&self.context, tile, std::slice::from_ref(&plaintext)).expect("one");
        // Each place holds what it is said to hold.
        let coefficients = self.context.decode(&plaintext);
        let places = self.algorithm.product_places(tile, 0);
        assert_eq!(places.len(), entries.len());
        assert!(places.iter().all(|&(place, row)| coefficients[place] == entries[row]));
        entries
    }

    /// The noise of a ciphertext of `plaintext`, coefficient by coefficient.
    pub(super) fn noise(&self, ciphertext: &Ciphertext, plaintext: &Plaintext) -> RnsPoly<Coefficients> {
        let limbs = ciphertext.limb_count();
        let basis = self.context.basis(limbs);
        let mut noise = (*self.secret.phase(ciphertext).expect("of this key")).clone();
        basis.sub_assign(&mut noise, &self.context.scale_up(plaintext, limbs));
        noise
    }

    /// The noise of one coefficient of a ciphertext of `plaintext`.
    pub(super) fn noise_at(&self, ciphertext: &Ciphertext, plaintext: &Plaintext, place: usize) -> BigInt {
        self.context.basis(ciphertext.limb_count()).compose(&self.noise(ciphertext, plaintext), place)
    }
}

/// The product modulo t, centred.
pub(super) fn naive(cols: usize, matrix: &[i64], vector: &[i64], t: u64) -> Vec<i64> {
    let t = i128::from(t);
    let product = |row: &[i64]| {
        let sum: i128 = row.iter().zip(vector).map(|(&a, &v)| i128::from(a) * i128::from(v)).sum();
        let residue = sum.rem_euclid(t);
        (if residue > (t - 1) / 2 { residue - t } else { residue }) as i64
    };
    matrix.chunks_exact(cols).map(product).collect()
}

/// Entries in [−2^(bits−1), 2^(bits−1)), all values about as often.
pub(super) fn entries(stream: u64, count: usize, bits: u32) -> Vec<i64> {
    let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([3; 32]), stream);
    (0..count).map(|_| rng.next_u64() as i64 >> (64 - bits)).collect()
}
