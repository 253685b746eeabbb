//! Shared parts of the tests of keys, encryption and byte formats.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

pub mod objects;

use ciphermill_bfv::serial::SECRET_KEY;
use ciphermill_bfv::{Ciphertext, Context, ParameterSet, Plaintext, SecretKey, SecurityPolicy};
use ciphermill_lattice::rns::{Coefficients, RnsPoly};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;
use num_bigint::BigInt;

pub const INSECURE: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

/// A named set's context on the best path.
pub fn context(name: &str) -> Context {
    Context::new(&ParameterSet::named(name, INSECURE).expect("a named set"), Isa::current()).expect("tables")
}

/// A seed made of one repeated byte.
pub fn seed(byte: u8) -> SecretSeed {
    SecretSeed::from_bytes([byte; 32])
}

/// The first stream of such a seed.
pub fn rng(byte: u8) -> Csprng {
    Csprng::from_secret(&seed(byte), 0)
}

/// A fresh seed, printed so that a failure can be repeated.
pub fn fresh_seed() -> SecretSeed {
    SecretSeed::from_bytes(ciphermill_testing::fresh_seed_bytes("bfv"))
}

/// A uniform plaintext.
pub fn plaintext(context: &Context, rng: &mut Csprng) -> Plaintext {
    let t = u128::from(context.t());
    let coefficients = (0..context.n()).map(|_| ((u128::from(rng.next_u64()) * t) >> 64) as u64);
    context.plaintext(coefficients.collect()).expect("N coefficients below t")
}

/// The bytes between an envelope's header and its checksum.
pub fn body(sealed: &[u8]) -> &[u8] {
    &sealed[24..sealed.len() - 4]
}

/// The coefficients of a secret key, by the documented layout of its bytes.
pub fn secret_coefficients(key: &SecretKey) -> Vec<i64> {
    let bytes = key.to_secret_key_bytes();
    let spec = body(&key.context().parameters().to_bytes()).len();
    let n = key.context().n();
    let (_, mut fields) = ciphermill_wire::open(&bytes, SECRET_KEY, 1..=1, 1 << 20).expect("sealed");
    fields.bytes(spec + 8).expect("parameter set and tag");
    let packed = fields.bytes(n / 4).expect("coefficients");
    fields.finish().expect("nothing more");
    let values = (0..n).map(|i| match packed[i / 4] >> (2 * (i % 4)) & 3 {
        0 => 0,
        1 => 1,
        3 => -1,
        code => panic!("coefficient {i} has code {code}"),
    });
    values.collect()
}

/// The integers ⌊Q·m/t⌉ for the coefficients of a plaintext, by the definition.
pub fn scaled(context: &Context, plaintext: &Plaintext, limbs: usize) -> Vec<BigInt> {
    let (q, t) = (BigInt::from(context.basis(limbs).product()), BigInt::from(context.t()));
    // ⌊x + 1/2⌋ of a fraction that is never a half: Q is odd and coprime to t.
    plaintext.coefficients().iter().map(|&m| (&q * m * 2 + &t) / (&t * 2)).collect()
}

/// c_0 + c_1·s + c_2·s² − ⌊Q·m/t⌉ coefficient by coefficient, from the ciphertext's public parts and the key's bytes.
pub fn noise(key: &SecretKey, ciphertext: &Ciphertext, plaintext: &Plaintext) -> Vec<BigInt> {
    let (context, limbs) = (key.context(), ciphertext.limb_count());
    let basis = context.basis(limbs);
    let secret = basis.forward(basis.from_signed(&secret_coefficients(key)));
    let mut power = secret.clone();
    let mut phase = ciphertext.parts()[0].clone();
    for part in &ciphertext.parts()[1..] {
        let mut product = basis.forward(part.clone());
        basis.multiply(&mut product, &power);
        basis.add_assign(&mut phase, &basis.inverse(product));
        basis.multiply(&mut power, &secret);
    }
    basis.sub_assign(&mut phase, &poly(context, limbs, &scaled(context, plaintext, limbs)));
    (0..context.n()).map(|i| basis.compose(&phase, i)).collect()
}

/// The polynomial with these integers for coefficients.
pub fn poly(context: &Context, limbs: usize, integers: &[BigInt]) -> RnsPoly<Coefficients> {
    let basis = context.basis(limbs);
    let mut poly = basis.zero();
    for (i, x) in integers.iter().enumerate() {
        for (limb, residue) in poly.limbs_mut().zip(basis.residues(x)) {
            limb[i] = residue;
        }
    }
    poly
}
