//! Modular exponentiation and multiplication with odd moduli, beside GMP, OpenSSL and crypto_mb.

use std::path::Path as FilePath;
use std::time::Duration;

use ciphermill_bench_integers::crypto_mb::{self, CryptoMb};
use ciphermill_bench_integers::gmp::{self, Gmp};
use ciphermill_bench_integers::openssl::{self, OpenSsl};
use ciphermill_bench_integers::{Operands, Work};
use ciphermill_bench_peers::Peer;
use ciphermill_bigint::{Exponents, IntegerBatch, OddModulus, Path, Residues, limbs};
use serde_json::json;

use super::integers::{Compared, Group, Ours, Theirs};
use super::{Numbers, Settings};
use crate::Failure;
use crate::harness::Effort;
use crate::report::{Case, Report};

/// Where scripts/bench.sh leaves crypto_mb.
const CRYPTO_MB: &str = "CIPHERMILL_BENCH_CRYPTO_MB";

/// Bits of the moduli.
const SIZES: [usize; 7] = [512, 1024, 2048, 3072, 4096, 6144, 8192];

/// Exponentiations that are given together: as many as crypto_mb takes.
const BATCH: usize = crypto_mb::LANES;
/// Multiplications that are given together.
const PRODUCTS: usize = 64;

const SEED: u64 = 5;

/// Numbers of `bits` bits modulo one of them, as they are in every run.
struct Inputs {
    modulus: Vec<u64>,
    bases: Vec<u64>,
    others: Vec<u64>,
}

impl Inputs {
    /// The modulus is odd and as long as is said, the others but their top bit are random; so are all exponents.
    fn new(bits: usize, count: usize) -> Self {
        let limbs = bits / 64;
        let mut numbers = Numbers(SEED + bits as u64);
        let mut rows = |count: usize| -> Vec<u64> { numbers.by_ref().take(count * limbs).collect() };
        let (mut modulus, mut bases, mut others) = (rows(1), rows(count), rows(count));
        modulus[0] |= 1;
        modulus[limbs - 1] |= 1 << 63;
        for top in bases.iter_mut().chain(&mut others).skip(limbs - 1).step_by(limbs) {
            *top &= !(1 << 63);
        }
        Self { modulus, bases, others }
    }

    fn operands(&self) -> Operands<'_> {
        Operands { modulus: &self.modulus, bases: &self.bases, others: &self.others }
    }
}

/// From plain integers to plain integers.
struct Power {
    ring: OddModulus,
    bases: IntegerBatch,
    exponents: Exponents,
    out: Option<IntegerBatch>,
}

impl Power {
    fn new(operands: &Operands<'_>, path: Path) -> Result<Self, Failure> {
        let rows = |words: &[u64]| IntegerBatch::from_words(operands.limbs(), words.to_vec());
        Ok(Self {
            ring: OddModulus::new(&limbs::to_uint(operands.modulus), path)?,
            bases: rows(operands.bases),
            exponents: Exponents::each(rows(operands.others), 64 * operands.limbs() as u32)?,
            out: None,
        })
    }
}

impl Work for Power {
    fn run(&mut self) {
        let powers = self.ring.enter(&self.bases).and_then(|bases| self.ring.pow(&bases, &self.exponents));
        self.out = powers.ok().map(|powers| self.ring.leave(&powers));
    }

    fn results(&mut self) -> Vec<u64> {
        self.out.as_ref().map(|out| out.words().to_vec()).unwrap_or_default()
    }
}

/// In Montgomery form.
struct Product {
    ring: OddModulus,
    factors: [Residues; 2],
    out: Option<Residues>,
}

impl Product {
    fn new(operands: &Operands<'_>, path: Path) -> Result<Self, Failure> {
        let ring = OddModulus::new(&limbs::to_uint(operands.modulus), path)?;
        let enter = |words: &[u64]| ring.enter(&IntegerBatch::from_words(operands.limbs(), words.to_vec()));
        Ok(Self { factors: [enter(operands.bases)?, enter(operands.others)?], ring, out: None })
    }
}

impl Work for Product {
    fn run(&mut self) {
        self.out = self.ring.multiply(&self.factors[0], &self.factors[1]).ok();
    }

    fn results(&mut self) -> Vec<u64> {
        self.out.as_ref().map(|out| self.ring.leave(out).words().to_vec()).unwrap_or_default()
    }
}

fn peer(name: &'static str, version: &'static str, licence: &'static str) -> Peer {
    Peer { name, version, licence }
}

/// GMP's and OpenSSL's exponentiations, those of constant time last.
fn exponentiations<'a>(operands: &Operands<'_>, expected: &'a [u64]) -> Result<Vec<Theirs<'a>>, Failure> {
    let count = operands.count();
    let mut theirs = Vec::new();
    let mut add = |peer: Peer, contender| theirs.push(Theirs { peer, cases: &[0], path: None, count, contender });
    for (function, name) in [(gmp::Function::Pow, "mpz_powm"), (gmp::Function::PowSecure, "mpz_powm_sec")] {
        let contender = Compared::new(Gmp::new(function, operands), move |results| results == expected);
        add(peer(name, gmp::version(), gmp::LICENCE), contender);
    }
    let functions =
        [(openssl::Function::ModExp, "BN_mod_exp"), (openssl::Function::ModExpConsttime, "BN_mod_exp_mont_consttime")];
    for (function, name) in functions {
        let contender = Compared::new(OpenSsl::new(function, operands)?, move |results| results == expected);
        add(peer(name, openssl::version(), openssl::LICENCE), contender);
    }
    Ok(theirs)
}

pub(crate) fn run(settings: &Settings<'_>, report: &mut Report) -> Result<(), Failure> {
    let library = match std::env::var_os(CRYPTO_MB) {
        None => Err(format!("{CRYPTO_MB} does not name it; scripts/bench.sh installs it")),
        Some(path) => CryptoMb::load(FilePath::new(&path)).map_err(|error| error.to_string()),
    };
    if let Err(reason) = &library {
        report.note(format!("modexp: no row of crypto_mb: {reason}"));
    }
    let clock = settings.clock;
    let effort = match settings.quick {
        true => Effort { rounds: 2, least_rounds: 1, budget: Duration::from_millis(50), clock },
        false => Effort { rounds: 200, least_rounds: 7, budget: Duration::from_secs(3), clock },
    };
    for bits in SIZES {
        let params = |count: usize| [("bits", json!(bits)), ("batch", json!(count))];
        for (name, count) in [("modexp", BATCH), ("modexp-single", 1)] {
            let inputs = Inputs::new(bits, count);
            let operands = inputs.operands();
            let expected = gmp::expected(gmp::Function::Pow, &operands);
            let right = |results: &[u64]| results == expected;
            let mut ours = Vec::new();
            for &path in &settings.paths {
                ours.push(Ours { path, case: 0, count, contender: Compared::new(Power::new(&operands, path)?, right) });
            }
            let mut theirs = exponentiations(&operands, &expected)?;
            // It has kernels for four sizes.
            if let (Ok(library), BATCH, 1024 | 2048 | 3072 | 4096) = (&library, count, bits) {
                let contender = Compared::new(library.exponentiation(&operands)?, right);
                let peer = peer("crypto_mb", crypto_mb::VERSION, crypto_mb::LICENCE);
                theirs.push(Theirs { peer, cases: &[0], path: None, count, contender });
            }
            let case = Case::new(format!("{name}/{bits}"), params(count))
                .note("per exponentiation, exponents as long as the modulus, plain integers in and out");
            Group { cases: vec![case], ours, theirs }.run(settings, effort, report);
        }

        let inputs = Inputs::new(bits, PRODUCTS);
        let operands = inputs.operands();
        let expected = gmp::expected(gmp::Function::Multiply, &operands);
        let right = |results: &[u64]| results == expected;
        let (count, mut ours) = (PRODUCTS, Vec::new());
        for &path in &settings.paths {
            ours.push(Ours { path, case: 0, count, contender: Compared::new(Product::new(&operands, path)?, right) });
        }
        let montgomery = OpenSsl::new(openssl::Function::MultiplyMontgomery, &operands)?;
        let theirs = vec![
            Theirs {
                peer: peer("mpz_mul, mpz_mod", gmp::version(), gmp::LICENCE),
                cases: &[0],
                path: None,
                count,
                contender: Compared::new(Gmp::new(gmp::Function::Multiply, &operands), right),
            },
            Theirs {
                peer: peer("BN_mod_mul_montgomery", openssl::version(), openssl::LICENCE),
                cases: &[0],
                path: None,
                count,
                contender: Compared::new(montgomery, right),
            },
        ];
        let case = Case::new(format!("modmul/{bits}"), params(count))
            .note("per product; in Montgomery form, but for GMP, which divides");
        Group { cases: vec![case], ours, theirs }.run(settings, settings.kernels, report);
    }
    Ok(())
}
