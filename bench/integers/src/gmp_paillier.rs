//! Paillier's formulas written with GMP, as a native peer: what a careful program without vector instructions does. Its
//! exponentiations are `mpz_powm`, faster than those of constant time and not safe for secrets.

use rug::integer::Order;
use rug::ops::{RemRounding, RemRoundingAssign};
use rug::{Assign, Complete, Integer};

use crate::Work;
use crate::gmp::{integers, words};

/// A key pair with what its formulas need.
#[derive(Clone)]
pub struct Key {
    n: Integer,
    n_squared: Integer,
    p: HalfKey,
    q: HalfKey,
    /// q^-1 mod p.
    q_inverse: Integer,
    /// q^-2 mod p².
    q_squared_inverse: Integer,
    limbs: usize,
}

#[derive(Clone)]
struct HalfKey {
    prime: Integer,
    less: Integer,
    squared: Integer,
    /// L((1 + n)^(p-1) mod p²)^-1 mod p.
    h: Integer,
}

impl HalfKey {
    fn new(prime: Integer, n: &Integer) -> Self {
        let (less, squared) = ((&prime - 1u32).complete(), prime.clone().square());
        let mut key = Self { prime, less, squared, h: Integer::from(1) };
        let g = (n + 1u32).complete();
        key.h = key.plaintext(&g).invert(&key.prime).expect("n is coprime to φ(n)");
        key
    }

    /// L(c^(p-1) mod p²)·h mod p.
    fn plaintext(&self, ciphertext: &Integer) -> Integer {
        let reduced = (ciphertext % &self.squared).complete();
        let power = reduced.pow_mod(&self.less, &self.squared).expect("a power");
        ((power - 1u32).div_exact(&self.prime) * &self.h) % &self.prime
    }
}

/// x mod ab from x mod a and x mod b, with b^-1 mod a.
fn combine(x_a: &Integer, a: &Integer, x_b: &Integer, b: &Integer, b_inverse: &Integer) -> Integer {
    let mut step = (x_a - x_b).complete() * b_inverse;
    step.rem_euc_assign(a);
    step * b + x_b
}

impl Key {
    /// Of two primes with gcd(pq, (p-1)(q-1)) = 1.
    pub fn new(p: &[u64], q: &[u64]) -> Self {
        let (p, q) = (Integer::from_digits(p, Order::Lsf), Integer::from_digits(q, Order::Lsf));
        let n = (&p * &q).complete();
        let q_inverse = q.clone().invert(&p).expect("different primes");
        let q_squared_inverse = q.clone().square().invert(&p.clone().square()).expect("different primes");
        let limbs = n.significant_digits::<u64>();
        let n_squared = n.clone().square();
        Self { p: HalfKey::new(p, &n), q: HalfKey::new(q, &n), n, n_squared, q_inverse, q_squared_inverse, limbs }
    }

    fn decrypt_one(&self, ciphertext: &Integer) -> Integer {
        let (m_p, m_q) = (self.p.plaintext(ciphertext), self.q.plaintext(ciphertext));
        combine(&m_p, &self.p.prime, &m_q, &self.q.prime, &self.q_inverse)
    }

    /// Limbs of n; ciphertexts have twice as many.
    pub fn limbs(&self) -> usize {
        self.limbs
    }

    /// n.
    pub fn modulus(&self) -> Vec<u64> {
        self.n.to_digits(Order::Lsf)
    }

    /// Rows of plaintexts, as wide as n.
    pub fn decrypt(&self, ciphertexts: &[u64]) -> Vec<u64> {
        let plaintexts: Vec<_> =
            integers(2 * self.limbs, ciphertexts).iter().map(|ciphertext| self.decrypt_one(ciphertext)).collect();
        words(self.limbs, &plaintexts)
    }
}

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// (1 + mn)·r^n mod n².
    Encrypt,
    /// (1 + mn)·h^x mod n² with x half as wide as n: Damgård, Jurik and Nielsen.
    EncryptShort,
    /// The first with r^p mod p² and r^q mod q², combined.
    OwnerEncrypt,
    /// The second with h^x modulo p² and q², combined.
    OwnerEncryptShort,
    /// By p and q, combined.
    Decrypt,
    /// Of neighbours: c₁c₂ mod n².
    Add,
    /// c^w mod n².
    Multiply,
    /// The sums of all ciphertexts times one row of weights each, term by term.
    MatVec,
}

/// What the functions work on; each takes what it needs.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// Rows as wide as n.
    pub plaintexts: &'a [u64],
    /// Rows as wide as n: random, below n.
    pub randoms: &'a [u64],
    /// Rows of twice the width.
    pub ciphertexts: &'a [u64],
    /// Scalars, or rows of as many weights as there are ciphertexts.
    pub scalars: &'a [u64],
}

/// One of the functions on prepared inputs.
pub struct Paillier {
    key: Key,
    function: Function,
    plaintexts: Vec<Integer>,
    randoms: Vec<Integer>,
    ciphertexts: Vec<Integer>,
    scalars: Vec<Integer>,
    h: Integer,
    out: Vec<Integer>,
}

impl Paillier {
    /// Prepares the inputs.
    pub fn new(key: &Key, function: Function, inputs: &Inputs<'_>) -> Self {
        let limbs = key.limbs;
        let mut randoms = integers(limbs, inputs.randoms);
        let x = randoms.first().cloned().unwrap_or_default();
        // h = (-x²)^n mod n².
        let h = (-x.square()).rem_euc(&key.n).pow_mod(&key.n, &key.n_squared).expect("a power");
        if matches!(function, Function::EncryptShort | Function::OwnerEncryptShort) {
            randoms.iter_mut().for_each(|x| x.keep_bits_mut(key.n.significant_bits().div_ceil(2)));
        }
        Self {
            key: key.clone(),
            function,
            plaintexts: integers(limbs, inputs.plaintexts),
            randoms,
            ciphertexts: integers(2 * limbs, inputs.ciphertexts),
            scalars: inputs.scalars.iter().map(|&scalar| Integer::from(scalar)).collect(),
            h,
            out: Vec::new(),
        }
    }

    fn mask(&self, r: &Integer) -> Integer {
        let Key { n, n_squared, p, q, q_squared_inverse, .. } = &self.key;
        let power = |base: &Integer, exponent: &Integer, modulus: &Integer| {
            let reduced = (base % modulus).complete();
            reduced.pow_mod(exponent, modulus).expect("a power")
        };
        let combined = |a: Integer, b: Integer| combine(&a, &p.squared, &b, &q.squared, q_squared_inverse);
        match self.function {
            Function::Encrypt => power(r, n, n_squared),
            Function::OwnerEncrypt => combined(power(r, &p.prime, &p.squared), power(r, &q.prime, &q.squared)),
            Function::OwnerEncryptShort => combined(power(&self.h, r, &p.squared), power(&self.h, r, &q.squared)),
            _ => power(&self.h, r, n_squared),
        }
    }

    fn times(&self, ciphertext: &Integer, scalar: &Integer) -> Integer {
        Integer::from(ciphertext.pow_mod_ref(scalar, &self.key.n_squared).expect("a power"))
    }
}

impl Work for Paillier {
    fn run(&mut self) {
        let Key { n, n_squared, .. } = &self.key;
        let (c, w) = (&self.ciphertexts, &self.scalars);
        self.out = match self.function {
            Function::Decrypt => c.iter().map(|c| self.key.decrypt_one(c)).collect(),
            Function::Add => {
                let neighbours = c.iter().zip(c.iter().skip(1).chain(c.first()));
                neighbours.map(|(a, b)| (a * b).complete() % n_squared).collect()
            }
            Function::Multiply => c.iter().zip(w).map(|(c, w)| self.times(c, w)).collect(),
            Function::MatVec => {
                let mut sum = Integer::new();
                let rows = w.chunks_exact(c.len());
                rows.map(|row| {
                    sum.assign(1);
                    for (c, w) in c.iter().zip(row) {
                        sum *= self.times(c, w);
                        sum %= n_squared;
                    }
                    sum.clone()
                })
                .collect()
            }
            _ => self
                .plaintexts
                .iter()
                .zip(&self.randoms)
                .map(|(m, r)| ((m * n).complete() + 1u32) * self.mask(r) % n_squared)
                .collect(),
        };
    }

    fn results(&mut self) -> Vec<u64> {
        let width = if self.function == Function::Decrypt { 1 } else { 2 };
        words(width * self.key.limbs, &self.out)
    }
}
