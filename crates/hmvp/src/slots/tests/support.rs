//! A client and a server in one place.

use std::sync::Arc;

use ciphermill_lattice::{Csprng, PolynomialSize, SecretSeed};
use ciphermill_math::Isa;
use ciphermill_math::modulus::{is_prime, ntt_primes};
use num_traits::ToPrimitive;

use crate::diagonal::Diagonal;
use crate::rotate_and_sum::RotateAndSum;
use crate::{Algorithm, Prepared};
use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::context::Context;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::keys::{GaloisKeys, SecretKey};
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::parameters::{ParameterSet, ParameterSpec, SecurityPolicy};

pub(super) const INSECURE: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

/// The least prime t with slots that is above `least`.
pub(super) fn slot_modulus(n: usize, least: u64) -> u64 {
    let order = 2 * n as u64;
    (1..).map(|k| (least / order + k) * order + 1).find(|&t| is_prime(t)).expect("a prime")
}

/// Primes of these lengths, distinct.
pub(super) fn parameters(
    n: usize,
    ciphertext: &[u32],
    special: &[u32],
    t: u64,
    gadget: Gadget,
    policy: SecurityPolicy,
) -> ParameterSet {
    let mut primes = Vec::new();
    for &bits in ciphertext.iter().chain(special) {
        let prime = ntt_primes(bits, n).map(|p| p.value()).find(|p| !primes.contains(p) && *p != t);
        primes.push(prime.expect("enough primes"));
    }
    let special_moduli = primes.split_off(ciphertext.len());
    let spec = ParameterSpec {
        name: "TEST".into(),
        polynomial_size: PolynomialSize::new(n).expect("a power of two"),
        ciphertext_moduli: primes,
        special_moduli,
        plaintext_modulus: t,
        gadget,
    };
    ParameterSet::new(spec, policy).expect("admissible")
}

pub(super) const LIMBS: Gadget = Gadget::Limbs { limbs_per_digit: 1 };

/// Two limbs and a special prime, for small N.
pub(super) fn small(n: usize) -> ParameterSet {
    parameters(n, &[40, 40], &[41], slot_modulus(n, 1 << 20), LIMBS, INSECURE)
}

/// Which strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    RotateAndSum,
    Diagonal,
    /// The strategy with these numbers of diagonals and baby steps.
    Fixed(usize, usize),
}

pub(super) fn algorithm(
    kind: Kind,
    rows: usize,
    cols: usize,
    parameters: &ParameterSet,
) -> Result<Box<dyn Algorithm>, BfvError> {
    Ok(match kind {
        Kind::RotateAndSum => Box::new(RotateAndSum::new(rows, cols, parameters)?),
        Kind::Diagonal => Box::new(Diagonal::new(rows, cols, parameters)?),
        Kind::Fixed(diagonals, babies) => Box::new(Diagonal::fixed(rows, cols, parameters, diagonals, babies)?),
    })
}

pub(super) type Matrix = Vec<Vec<i64>>;

/// The definition.
pub(super) fn product(matrix: &Matrix, vector: &[i64]) -> Vec<i64> {
    matrix.iter().map(|row| row.iter().zip(vector).map(|(a, v)| a * v).sum()).collect()
}

/// SplitMix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// `count` integers in [−2^(`bits`−1), 2^(`bits`−1)).
    pub(super) fn vector(&mut self, count: usize, bits: u32) -> Vec<i64> {
        (0..count).map(|_| (self.next() >> (64 - bits)) as i64 - (1 << (bits - 1))).collect()
    }

    pub(super) fn matrix(&mut self, rows: usize, cols: usize, bits: u32) -> Matrix {
        (0..rows).map(|_| self.vector(cols, bits)).collect()
    }
}

/// Everything for the products of one shape.
pub(super) struct Parties {
    pub(super) context: Context,
    pub(super) secret: SecretKey,
    pub(super) algorithm: Box<dyn Algorithm>,
    pub(super) keys: Arc<dyn Prepared>,
    noise: Csprng,
}

impl Parties {
    pub(super) fn new(parameters: &ParameterSet, isa: Isa, kind: Kind, rows: usize, cols: usize, seed: u8) -> Self {
        let context = Context::new(parameters, isa).expect("available");
        let secret = SecretKey::generate(&context, &SecretSeed::from_bytes([seed; 32]));
        let algorithm = algorithm(kind, rows, cols, parameters).expect("admissible");
        let galois = GaloisKeys::generate(&secret, &algorithm.galois_requests()).expect("admissible elements");
        let keys = algorithm.prepare_keys(&context, &galois).expect("complete");
        let noise = Csprng::from_secret(&SecretSeed::from_bytes([seed ^ 0x55; 32]), 0);
        Self { context, secret, algorithm, keys, noise }
    }

    pub(super) fn encrypt(&mut self, vector: &[i64]) -> Arc<dyn Prepared> {
        let plaintexts = self.algorithm.encode_vector(&self.context, vector).expect("in range");
        assert_eq!(plaintexts.len(), self.algorithm.vector_len());
        let limbs = self.algorithm.vector_limbs();
        let mut encrypt = |plaintext| self.secret.encrypt(plaintext, limbs, &mut self.noise).expect("encrypts");
        let ciphertexts: Vec<Ciphertext> = plaintexts.iter().map(&mut encrypt).collect();
        self.algorithm.prepare_vector(&self.context, &*self.keys, &ciphertexts).expect("of this plan")
    }

    pub(super) fn prepare(&self, tile: usize, matrix: &Matrix) -> Arc<dyn Prepared> {
        let read = |row: usize, out: &mut [i64]| out.copy_from_slice(&matrix[row]);
        self.algorithm.prepare(&self.context, tile, &read).expect("in range")
    }

    /// The ciphertexts of the products of one tile of every matrix with every vector.
    pub(super) fn multiply(
        &self,
        tile: usize,
        matrices: &[Arc<dyn Prepared>],
        vectors: &[Arc<dyn Prepared>],
    ) -> Vec<Vec<Vec<Ciphertext>>> {
        let matrices: Vec<&dyn Prepared> = matrices.iter().map(|matrix| &**matrix).collect();
        let vectors: Vec<&dyn Prepared> = vectors.iter().map(|vector| &**vector).collect();
        self.algorithm.multiply(&self.context, &*self.keys, tile, &matrices, &vectors).expect("of this plan")
    }

    /// The entries of a tile.
    pub(super) fn decrypt(&self, tile: usize, ciphertexts: &[Ciphertext]) -> Vec<i64> {
        assert_eq!(ciphertexts.len(), self.algorithm.product_len(tile));
        assert!(ciphertexts.iter().all(|c| c.limb_count() == self.algorithm.product_limbs()));
        let decrypt = |ciphertext| self.secret.decrypt(ciphertext).expect("of this key");
        let plaintexts: Vec<Plaintext> = ciphertexts.iter().map(decrypt).collect();
        self.algorithm.decode_product(&self.context, tile, &plaintexts).expect("as many as a tile has")
    }

    /// The products of every matrix with every vector: by vector, then matrix.
    pub(super) fn products(&mut self, matrices: &[Matrix], vectors: &[Vec<i64>]) -> Vec<Vec<Vec<i64>>> {
        let encrypted: Vec<_> = vectors.iter().map(|vector| self.encrypt(vector)).collect();
        let mut products = vec![vec![Vec::new(); matrices.len()]; vectors.len()];
        for (tile, rows) in self.algorithm.tiles().into_iter().enumerate() {
            let prepared: Vec<_> = matrices.iter().map(|matrix| self.prepare(tile, matrix)).collect();
            let outcome = self.multiply(tile, &prepared, &encrypted);
            for (products, outcome) in products.iter_mut().zip(&outcome) {
                for (product, ciphertexts) in products.iter_mut().zip(outcome) {
                    assert_eq!(product.len(), rows.start);
                    product.extend(self.decrypt(tile, ciphertexts));
                    assert_eq!(product.len(), rows.end);
                }
            }
        }
        products
    }

    /// The noise of every coefficient.
    pub(super) fn noise(&self, ciphertext: &Ciphertext) -> Vec<f64> {
        let limbs = ciphertext.limb_count();
        let basis = self.context.basis(limbs);
        let mut phase = self.secret.phase(ciphertext).expect("of this key").clone();
        let plaintext = self.secret.decrypt(ciphertext).expect("of this key");
        basis.sub_assign(&mut phase, &self.context.scale_up(&plaintext, limbs));
        (0..self.context.n()).map(|i| basis.compose(&phase, i).to_f64().expect("finite")).collect()
    }
}
