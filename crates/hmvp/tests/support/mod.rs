//! Shared parts of the tests of products.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

pub mod failures;

use std::sync::Arc;

use ciphermill_bfv::{GaloisKeys, PublicKey, SecretKey};
use ciphermill_hmvp::{
    CpuEngine, DenseMatrix, EncryptedProduct, EncryptedVector, Encryption, HmvpEngine, MatrixHandle, Plan,
    PreparedKeys, Request,
};
use ciphermill_lattice::{Csprng, PublicSeed, SecretSeed};
use ciphermill_math::Isa;

/// A stream of a seed made of one repeated byte.
pub fn rng(byte: u8) -> Csprng {
    Csprng::from_secret(&SecretSeed::from_bytes([byte; 32]), 7)
}

/// Streams of a fixed seed and of a fresh one, which is printed so that a failure can be repeated.
pub fn rngs() -> [Csprng; 2] {
    let bytes = PublicSeed::from_os().expect("randomness of the system").0;
    println!("fresh seed: {bytes:?}");
    [rng(23), Csprng::from_secret(&SecretSeed::from_bytes(bytes), 7)]
}

/// Signed numbers of `bits` bits.
pub fn numbers(rng: &mut Csprng, bits: u32, count: usize) -> Vec<i64> {
    (0..count).map(|_| rng.next_u64() as i64 >> (64 - bits)).collect()
}

/// A·v by the definition.
pub fn product(matrix: &DenseMatrix, rows: usize, vector: &[i64]) -> Vec<i64> {
    (0..rows).map(|i| matrix.row(i).iter().zip(vector).map(|(a, v)| a * v).sum()).collect()
}

/// A plan with the keys of a client.
pub struct Setting {
    pub plan: Arc<Plan>,
    pub secret: SecretKey,
    pub galois: GaloisKeys,
    pub keys: Arc<dyn PreparedKeys>,
    pub rng: Csprng,
}

impl Setting {
    pub fn new(request: &Request) -> Self {
        Self::on(request, Isa::current(), 1)
    }

    pub fn on(request: &Request, isa: Isa, seed: u8) -> Self {
        let plan = Arc::new(Plan::new(request, isa).unwrap_or_else(|error| panic!("{request:?}: {error}")));
        let secret = SecretKey::generate(plan.context(), &SecretSeed::from_bytes([seed; 32]));
        let galois = GaloisKeys::generate(&secret, &plan.galois_requests()).expect("keys");
        let keys = CpuEngine::new().prepare(&plan, &galois).expect("prepared keys");
        Self { plan, secret, galois, keys, rng: rng(seed.wrapping_add(100)) }
    }

    pub fn request(&self) -> &Request {
        self.plan.request()
    }

    pub fn random_matrix(&mut self) -> DenseMatrix {
        let Request { rows, cols, matrix_bits, .. } = *self.plan.request();
        DenseMatrix::new(rows, cols, numbers(&mut self.rng, matrix_bits, rows * cols)).expect("a matrix")
    }

    pub fn random_vector(&mut self) -> Vec<i64> {
        let Request { cols, vector_bits, .. } = *self.plan.request();
        numbers(&mut self.rng, vector_bits, cols)
    }

    pub fn encrypt(&mut self, vector: &[i64]) -> EncryptedVector {
        if self.request().encryption == Encryption::Public {
            let public = PublicKey::generate(&self.secret).expect("a public key");
            return EncryptedVector::encrypt_public(&self.plan, &public, vector, &mut self.rng).expect("encryption");
        }
        EncryptedVector::encrypt(&self.plan, &self.secret, vector, &mut self.rng).expect("encryption")
    }

    pub fn prepare(&self, matrix: &DenseMatrix) -> MatrixHandle {
        CpuEngine::new().prepare_matrix(&self.plan, matrix).expect("a prepared matrix")
    }

    pub fn multiply(&self, matrix: &MatrixHandle, vectors: &[&EncryptedVector]) -> Vec<EncryptedProduct> {
        self.keys.multiply_all(matrix, vectors).expect("products")
    }

    /// Multiplies one matrix with some vectors, and compares every entry with the definition. Gives the least number of
    /// bits of noise that were left.
    pub fn check(&mut self, matrix: &DenseMatrix, vectors: &[Vec<i64>]) -> f64 {
        let encrypted: Vec<EncryptedVector> = vectors.iter().map(|vector| self.encrypt(vector)).collect();
        let prepared = self.prepare(matrix);
        let products = self.multiply(&prepared, &encrypted.iter().collect::<Vec<_>>());
        assert_eq!(products.len(), vectors.len());
        let mut left = f64::INFINITY;
        for (encrypted, vector) in products.iter().zip(vectors) {
            let expected = product(matrix, self.request().rows, vector);
            assert_eq!(encrypted.decrypt(&self.secret).expect("a product"), expected, "{:?}", self.plan.request());
            left = left.min(encrypted.noise_bits_left(&self.secret).expect("a product"));
        }
        left
    }
}
