//! Paillier's encryption beside phe, and beside the plain formulas written with GMP.

use std::cell::{Cell, RefCell};
use std::path::Path as FilePath;
use std::time::Duration;

use ciphermill_bench_integers::Work;
use ciphermill_bench_integers::gmp;
use ciphermill_bench_integers::gmp_paillier::{self, Function, Inputs};
use ciphermill_bench_integers::phe::{self, Process};
use ciphermill_bench_peers::Peer;
use ciphermill_bigint::{IntegerBatch, Path, WeightMatrix, limbs};
use ciphermill_paillier::{
    Blinding, CiphertextVector, Csprng, KeyBits, PaillierError, PlaintextVector, PublicKey, Scalars, SecretKey,
};
use serde_json::json;

use super::integers::{Compared, Group, Ours, Theirs};
use super::{Numbers, Settings};
use crate::Failure;
use crate::harness::Effort;
use crate::report::{Case, Report};

/// Where scripts/bench.sh leaves a Python that has phe.
const PYTHON: &str = "CIPHERMILL_BENCH_PYTHON";
/// From bench/, where the program runs.
const SERVER: &str = "peers/python/phe_server.py";

/// Bits of n: the paper's size, which protects nothing, and two that do.
const KEYS: [usize; 3] = [512, 2048, 3072];

/// Ciphertexts that ours works on at once where it is fast, and where an operation is an exponentiation by n.
const MANY: usize = 256;
const FEW: usize = 32;
/// What peers work on at once: they do it one by one.
const PEERS_MANY: usize = 64;
const PEERS_FEW: usize = 16;
/// Ciphertexts that are opened again in every sample.
const CHECKED_AGAIN: usize = 8;
/// Of the square matrix.
const SIDE: usize = 64;

/// So many bits of n are not used by plaintexts, so that no result passes n, or phe's third of it.
const HEADROOM: usize = 128;

const SEED: u64 = 6;

/// The key pair, what is computed on, and what must come out.
struct Inventory {
    key: SecretKey,
    gmp: gmp_paillier::Key,
    /// p and q.
    primes: [Vec<u64>; 2],
    /// Rows of n's limbs.
    plaintexts: Vec<u64>,
    randoms: Vec<u64>,
    ciphertexts: Vec<u64>,
    /// The weights of the matrix; the first ones are the scalars.
    weights: Vec<u64>,
    limbs: usize,
}

impl Inventory {
    fn new(bits: usize, path: Path) -> Result<Self, Failure> {
        let (limbs, mut rng) = (bits / 64, Csprng::from_os()?);
        let key = SecretKey::generate_on(KeyBits::insecure_bench(bits as u32)?, &mut rng, path)?;
        let bytes = key.expose_primes();
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let (p, q) = words.split_at(limbs / 2);
        let primes = [p.to_vec(), q.to_vec()];
        let gmp = gmp_paillier::Key::new(p, q);
        let mut numbers = Numbers(SEED);
        let mut plaintexts: Vec<u64> = numbers.by_ref().take(MANY * limbs).collect();
        plaintexts.chunks_exact_mut(limbs).for_each(|row| row[limbs - HEADROOM / 64..].fill(0));
        let randoms = rng.below(PEERS_FEW, key.public_key().n())?.words().to_vec();
        let public = key.public_key();
        let batch = PlaintextVector::from_residues(public, IntegerBatch::from_words(limbs, plaintexts.clone()))?;
        let ciphertexts = public.encrypt(&batch, Blinding::Strict, &mut rng)?.to_integers().words().to_vec();
        let weights = numbers.take(SIDE * SIDE).collect();
        Ok(Self { key, gmp, primes, plaintexts, randoms, ciphertexts, weights, limbs })
    }

    fn plaintexts(&self, count: usize) -> &[u64] {
        &self.plaintexts[..count * self.limbs]
    }

    fn ciphertexts(&self, count: usize) -> &[u64] {
        &self.ciphertexts[..2 * count * self.limbs]
    }

    /// Scalars of `count` ciphertexts.
    fn scalars(&self, count: usize) -> &[u64] {
        &self.weights[..count]
    }

    /// Sums of products of plaintexts and weights: for each result its terms.
    fn sums<'t>(&self, results: impl Iterator<Item = Vec<(usize, &'t [u64])>>) -> Vec<u64> {
        let row = |index: usize| &self.plaintexts[index * self.limbs..(index + 1) * self.limbs];
        results
            .flat_map(|terms| {
                let mut sum = vec![0; self.limbs + 1];
                terms.iter().for_each(|&(index, weight)| limbs::multiply_add(&mut sum, row(index), weight));
                sum.truncate(self.limbs);
                sum
            })
            .collect()
    }

    /// What an operation on `count` ciphertexts must decrypt to.
    fn expected(&self, operation: Operation, count: usize) -> Vec<u64> {
        let weight = std::slice::from_ref;
        match operation {
            Operation::Encrypt(..) | Operation::Decrypt => self.plaintexts(count).to_vec(),
            Operation::Add => self.sums((0..count).map(|i| vec![(i, &[1u64][..]), ((i + 1) % count, &[1][..])])),
            Operation::Multiply => self.sums((0..count).map(|i| vec![(i, weight(&self.weights[i]))])),
            Operation::MatVec | Operation::TermByTerm => {
                self.sums(self.weights.chunks_exact(SIDE).map(|row| row.iter().map(weight).enumerate().collect()))
            }
        }
    }

    /// Whether results are right: ours are opened by GMP's key, a peer's by ours. All of them the first time, then
    /// [`CHECKED_AGAIN`] of those that are other ones each time, as opening takes longer than what is timed.
    fn check(&self, operation: Operation, count: usize, by_peer: bool) -> impl Fn(&[u64]) -> bool + use<'_> {
        let (expected, width, opened) = (self.expected(operation, count), 2 * self.limbs, Cell::new(false));
        move |results| {
            if operation == Operation::Decrypt {
                return results == expected;
            }
            if results.len() != 2 * expected.len() {
                return false;
            }
            let taken =
                if opened.replace(true) { CHECKED_AGAIN.min(results.len() / width) } else { results.len() / width };
            let (results, expected) = (&results[..taken * width], &expected[..taken * self.limbs]);
            if !by_peer {
                return self.gmp.decrypt(results) == expected;
            }
            let rows = IntegerBatch::from_words(width, results.to_vec());
            let ciphertexts = CiphertextVector::from_integers(self.key.public_key(), &rows);
            let plaintexts = ciphertexts.and_then(|ciphertexts| self.key.decrypt(&ciphertexts));
            plaintexts.is_ok_and(|plaintexts| plaintexts.residues().words() == expected)
        }
    }
}

/// What ours does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    /// Publicly, or as the owner of the key.
    Encrypt(Blinding, bool),
    Decrypt,
    /// Of neighbours.
    Add,
    /// By 64 bits.
    Multiply,
    MatVec,
    /// The same as products with scalars and sums.
    TermByTerm,
}

/// Ours on one path.
struct Mine<'a> {
    operation: Operation,
    key: SecretKey,
    rng: Csprng,
    plaintexts: PlaintextVector,
    ciphertexts: CiphertextVector,
    neighbours: CiphertextVector,
    scalars: Scalars,
    weights: &'a [u64],
    out: Result<Output, PaillierError>,
}

enum Output {
    Nothing,
    Plaintexts(PlaintextVector),
    Ciphertexts(CiphertextVector),
}

impl<'a> Mine<'a> {
    fn new(inventory: &'a Inventory, path: Path, operation: Operation, count: usize) -> Result<Self, Failure> {
        let key = inventory.key.on_path(path)?;
        let (public, width) = (key.public_key(), inventory.limbs);
        let rows = |limbs: usize, words: &[u64]| IntegerBatch::from_words(limbs, words.to_vec());
        let plaintexts = PlaintextVector::from_residues(public, rows(width, inventory.plaintexts(count)))?;
        let ciphertexts = CiphertextVector::from_integers(public, &rows(2 * width, inventory.ciphertexts(count)))?;
        let places: Vec<usize> = (0..count).map(|i| (i + 1) % count).collect();
        let neighbours = ciphertexts.gather(&places)?;
        let scalars = Scalars::from_u64(inventory.scalars(count));
        let (rng, weights) = (Csprng::from_os()?, &inventory.weights[..]);
        let out = Ok(Output::Nothing);
        Ok(Self { operation, rng, plaintexts, ciphertexts, neighbours, scalars, weights, out, key })
    }

    fn public(&self) -> &PublicKey {
        self.key.public_key()
    }

    fn compute(&mut self) -> Result<Output, PaillierError> {
        let ciphertexts = match self.operation {
            Operation::Decrypt => return self.key.decrypt(&self.ciphertexts).map(Output::Plaintexts),
            Operation::Encrypt(blinding, true) => self.key.encrypt(&self.plaintexts, blinding, &mut self.rng),
            Operation::Encrypt(blinding, false) => {
                self.key.public_key().encrypt(&self.plaintexts, blinding, &mut self.rng)
            }
            Operation::Add => self.ciphertexts.add(&self.neighbours),
            Operation::Multiply => self.ciphertexts.multiply_scalars(&self.scalars),
            Operation::MatVec => {
                let weights = self.weights.iter().map(|&weight| i128::from(weight)).collect();
                self.ciphertexts.matrix_vector_public(&WeightMatrix::new(SIDE, weights)?)
            }
            Operation::TermByTerm => {
                let rows = self.weights.chunks_exact(SIDE);
                let sums = rows.map(|row| self.ciphertexts.multiply_scalars(&Scalars::from_u64(row))?.sum());
                CiphertextVector::concat(&sums.collect::<Result<Vec<_>, _>>()?)
            }
        };
        ciphertexts.map(Output::Ciphertexts)
    }
}

impl Work for Mine<'_> {
    fn run(&mut self) {
        self.out = self.compute();
    }

    fn results(&mut self) -> Vec<u64> {
        match &self.out {
            Ok(Output::Plaintexts(plaintexts)) => plaintexts.residues().words().to_vec(),
            Ok(Output::Ciphertexts(ciphertexts)) => ciphertexts.to_integers().words().to_vec(),
            Ok(Output::Nothing) => Vec::new(),
            Err(error) => {
                eprintln!("paillier on {}: {error}", self.public().path());
                Vec::new()
            }
        }
    }
}

/// phe, which does one operation `times` times per request.
struct Phe<'p> {
    process: &'p RefCell<Process>,
    operation: &'static str,
    times: usize,
    limbs: usize,
}

impl Work for Phe<'_> {
    fn run(&mut self) {
        self.process.borrow_mut().run(self.operation, self.times);
    }

    fn results(&mut self) -> Vec<u64> {
        self.process.borrow_mut().results(self.limbs)
    }
}

/// The cases of a group: ours with operations per run; phe's function and its repetitions; operations per run of the peers;
/// formulas with GMP. The peer `GMP` is the formula that ours has, `GMP r^n` the one without any shortcut.
struct Plan {
    cases: &'static [(&'static str, Operation, usize)],
    phe: (&'static str, usize),
    count: usize,
    formulas: &'static [(&'static str, Function, &'static [usize])],
}

const ALL: &[usize] = &[0, 1, 2, 3];

const PLANS: [Plan; 5] = [
    Plan {
        cases: &[
            ("encrypt", Operation::Encrypt(Blinding::Djn, false), MANY),
            ("encrypt_strict", Operation::Encrypt(Blinding::Strict, false), FEW),
            ("encrypt_owner", Operation::Encrypt(Blinding::Djn, true), MANY),
            ("encrypt_owner_strict", Operation::Encrypt(Blinding::Strict, true), FEW),
        ],
        phe: ("encrypt", 1),
        count: PEERS_FEW,
        formulas: &[
            ("GMP", Function::EncryptShort, &[0]),
            ("GMP", Function::Encrypt, &[1]),
            ("GMP", Function::OwnerEncryptShort, &[2]),
            ("GMP", Function::OwnerEncrypt, &[3]),
            ("GMP r^n", Function::Encrypt, &[0, 2, 3]),
        ],
    },
    Plan {
        cases: &[("decrypt", Operation::Decrypt, MANY)],
        phe: ("decrypt", 1),
        count: PEERS_FEW,
        formulas: &[("GMP", Function::Decrypt, ALL)],
    },
    Plan {
        cases: &[("add", Operation::Add, MANY)],
        phe: ("add", 64),
        count: PEERS_MANY,
        formulas: &[("GMP", Function::Add, ALL)],
    },
    Plan {
        cases: &[("mul64", Operation::Multiply, MANY)],
        phe: ("multiply", 8),
        count: PEERS_MANY,
        formulas: &[("GMP", Function::Multiply, ALL)],
    },
    Plan {
        cases: &[("matvec/64x64", Operation::MatVec, SIDE)],
        phe: ("matvec", 1),
        count: SIDE,
        formulas: &[("GMP", Function::MatVec, ALL)],
    },
];

/// Ours term by term, as a peer of our own product.
const TERM_BY_TERM: Peer =
    Peer { name: "ours term by term", version: env!("CARGO_PKG_VERSION"), licence: "Apache-2.0" };

impl Plan {
    fn is_matvec(&self) -> bool {
        self.cases[0].1 == Operation::MatVec
    }

    fn group<'a>(
        &self,
        settings: &Settings<'_>,
        inventory: &'a Inventory,
        phe: Option<&'a (RefCell<Process>, Peer)>,
        bits: usize,
    ) -> Result<Group<'a>, Failure> {
        // A matrix-vector product is one operation.
        let per_run = |count: usize| if self.is_matvec() { 1 } else { count };
        let mut group = Group { cases: Vec::new(), ours: Vec::new(), theirs: Vec::new() };
        for (index, &(name, operation, count)) in self.cases.iter().enumerate() {
            let params = [("key_bits", json!(bits)), ("batch", json!(count)), ("peer_batch", json!(self.count))];
            let case = Case::new(format!("paillier/{bits}/{name}"), params);
            group.cases.push(case.note(match operation {
                Operation::Encrypt(..) => "per encryption; phe is strict; GMP: our formula, not of constant time",
                Operation::Decrypt => "per decryption; GMP is not of constant time and does not check its results",
                Operation::Add => "per sum; ours in Montgomery form",
                Operation::Multiply => "per product with a 64-bit scalar; ours of constant time in it",
                Operation::MatVec | Operation::TermByTerm => "per product of a public 64 x 64 matrix of 64-bit weights",
            }));
            for &path in &settings.paths {
                let check = inventory.check(operation, count, false);
                let contender = Compared::new(Mine::new(inventory, path, operation, count)?, check);
                group.ours.push(Ours { path, case: index, count: per_run(count), contender });
            }
        }
        let (count, operation) = (self.count, self.cases[0].1);
        if self.is_matvec() {
            let path = settings.paths.first().copied();
            let mine = Mine::new(inventory, settings.paths[0], Operation::TermByTerm, SIDE)?;
            let contender = Compared::new(mine, inventory.check(operation, count, false));
            group.theirs.push(Theirs { peer: TERM_BY_TERM, cases: ALL, path, count: 1, contender });
        }
        let limbs = if operation == Operation::Decrypt { inventory.limbs } else { 2 * inventory.limbs };
        if let Some((process, peer)) = phe {
            let mut told = process.borrow_mut();
            told.plaintexts(inventory.plaintexts(count))?;
            told.ciphertexts(inventory.ciphertexts(count))?;
            told.scalars(if self.is_matvec() { &inventory.weights } else { inventory.scalars(count) })?;
            let (operation_name, times) = self.phe;
            let contender = Compared::new(
                Phe { process, operation: operation_name, times, limbs },
                inventory.check(operation, count, true),
            );
            let count = per_run(count) * times;
            group.theirs.push(Theirs { peer: *peer, cases: ALL, path: None, count, contender });
        }
        for &(name, function, cases) in self.formulas {
            let inputs = Inputs {
                plaintexts: inventory.plaintexts(count),
                randoms: &inventory.randoms,
                ciphertexts: inventory.ciphertexts(count),
                scalars: if self.is_matvec() { &inventory.weights } else { inventory.scalars(count) },
            };
            let contender = Compared::new(
                gmp_paillier::Paillier::new(&inventory.gmp, function, &inputs),
                inventory.check(operation, count, true),
            );
            let peer = Peer { name, version: gmp::version(), licence: gmp::LICENCE };
            group.theirs.push(Theirs { peer, cases, path: None, count: per_run(count), contender });
        }
        Ok(group)
    }
}

pub(crate) fn run(settings: &Settings<'_>, report: &mut Report) -> Result<(), Failure> {
    // Started by the pinned thread, so that it is pinned too.
    let phe = match std::env::var_os(PYTHON) {
        None => {
            report.note(format!("paillier: no row of phe, as {PYTHON} names no Python; scripts/bench.sh installs it"));
            None
        }
        Some(python) => {
            let mut process = Process::start(&python, FilePath::new(SERVER))?;
            // Once per run of the program.
            let version = process.versions()?.leak();
            Some((RefCell::new(process), Peer { name: "phe", version, licence: phe::LICENCE }))
        }
    };
    let clock = settings.clock;
    let effort = match settings.quick {
        true => Effort { rounds: 2, least_rounds: 1, budget: Duration::from_millis(50), clock },
        false => Effort { rounds: 100, least_rounds: 3, budget: Duration::from_secs(3), clock },
    };
    for bits in KEYS {
        if !PLANS
            .iter()
            .any(|plan| plan.cases.iter().any(|case| settings.takes(&format!("paillier/{bits}/{}", case.0))))
        {
            continue;
        }
        let inventory = Inventory::new(bits, settings.paths[0])?;
        if let Some((process, _)) = &phe {
            process.borrow_mut().key(&inventory.primes[0], &inventory.primes[1])?;
        }
        for plan in &PLANS {
            plan.group(settings, &inventory, phe.as_ref(), bits)?.run(settings, effort, report);
        }
    }
    Ok(())
}
