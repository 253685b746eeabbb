//! Shared parts of the tests of evaluation: small parameter sets, and plaintexts computed by the definition.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use ciphermill_bfv::keys::GaloisRequest;
use ciphermill_bfv::{Ciphertext, Context, Gadget, GaloisKeys, ParameterSet, ParameterSpec, Plaintext, SecretKey};
use ciphermill_lattice::{Csprng, DecompositionBaseLog, PolynomialSize, SecretSeed};
use ciphermill_math::Isa;
use ciphermill_math::modulus::ntt_primes;

use crate::support::INSECURE;

pub const LIMBS: Gadget = Gadget::Limbs { limbs_per_digit: 1 };

pub fn limbs(limbs_per_digit: usize) -> Gadget {
    Gadget::Limbs { limbs_per_digit }
}

pub fn bits(base_log: usize) -> Gadget {
    Gadget::Bits { base_log: DecompositionBaseLog(base_log) }
}

/// A set of distinct primes of these lengths, the largest of each.
pub fn set(n: usize, ciphertext: &[u32], special: &[u32], t: u64, gadget: Gadget) -> ParameterSet {
    let mut moduli: Vec<u64> = Vec::new();
    for &bits in special.iter().chain(ciphertext) {
        let fresh = ntt_primes(bits, n).find(|p| !moduli.contains(&p.value()));
        moduli.push(fresh.expect("enough primes of that length").value());
    }
    let special_moduli = moduli.drain(..special.len()).collect();
    let spec = ParameterSpec {
        name: "SMALL".to_owned(),
        polynomial_size: PolynomialSize::new(n).expect("a power of two"),
        ciphertext_moduli: moduli,
        special_moduli,
        plaintext_modulus: t,
        gadget,
    };
    ParameterSet::new(spec, INSECURE).expect("an admissible set")
}

/// A secret key with its noise.
pub struct Party {
    pub context: Context,
    pub secret: SecretKey,
    pub rng: Csprng,
}

impl Party {
    pub fn new(set: &ParameterSet, isa: Isa, seed: &SecretSeed) -> Self {
        let context = Context::new(set, isa).expect("an available path");
        Self { secret: SecretKey::generate(&context, seed), rng: Csprng::from_secret(seed, 9), context }
    }

    pub fn encrypt(&mut self, plaintext: &Plaintext, limbs: usize) -> Ciphertext {
        self.secret.encrypt(plaintext, limbs, &mut self.rng).expect("a level of the set")
    }

    /// The plaintext of a ciphertext, which must have room for noise.
    pub fn decrypt(&self, ciphertext: &Ciphertext) -> Vec<u64> {
        let budget = self.secret.noise_budget(ciphertext).expect("a ciphertext of this key");
        assert!(budget > 0.5, "a budget of {budget} bits");
        self.secret.decrypt(ciphertext).expect("a ciphertext of this key").coefficients().to_vec()
    }

    /// Keys for some elements with the set's gadget.
    pub fn galois(&self, elements: &[usize]) -> GaloisKeys {
        let gadget = self.context.parameters().gadget;
        let requests: Vec<_> = elements.iter().map(|&element| GaloisRequest { element, gadget }).collect();
        GaloisKeys::generate(&self.secret, &requests).expect("a special modulus")
    }
}

/// lhs + rhs modulo t.
pub fn sum(t: u64, lhs: &[u64], rhs: &[u64]) -> Vec<u64> {
    lhs.iter().zip(rhs).map(|(x, y)| (x + y) % t).collect()
}

/// −x modulo t.
pub fn negative(t: u64, x: &[u64]) -> Vec<u64> {
    x.iter().map(|x| (t - x) % t).collect()
}

/// lhs·rhs modulo X^N + 1 and t, term by term.
pub fn product(t: u64, lhs: &[u64], rhs: &[u64]) -> Vec<u64> {
    let (n, t) = (lhs.len(), u128::from(t));
    let mut out = vec![0u128; n];
    for (i, &x) in lhs.iter().enumerate() {
        for (j, &y) in rhs.iter().enumerate() {
            let term = u128::from(x) * u128::from(y) % t;
            let at = &mut out[(i + j) % n];
            *at = (*at + if i + j < n { term } else { t - term }) % t;
        }
    }
    out.into_iter().map(|x| x as u64).collect()
}

/// The polynomial with X^g for X, for odd g, or times X^e by way of `shift`, modulo X^N + 1 and t, term by term.
pub fn substituted(t: u64, x: &[u64], g: usize, shift: usize) -> Vec<u64> {
    let n = x.len();
    let mut out = vec![0; n];
    for (i, &x) in x.iter().enumerate() {
        let e = (g * i + shift) % (2 * n);
        out[e % n] = if e < n { x } else { (t - x) % t };
    }
    out
}
