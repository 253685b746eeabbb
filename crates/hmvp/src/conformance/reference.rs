//! An engine made of the reference definitions.

use std::sync::Arc;

use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::context::Context;
use ciphermill_bfv::encoding::BatchEncoder;
use ciphermill_bfv::keys::{GaloisKeys, GaloisRequest};
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::lwe::reference::{Key, Keys, Residues, Ring, Rlwe, product, residue};
use ciphermill_lattice::KeyTag;
use ciphermill_lattice::rns::RnsPoly;
use ciphermill_math::ntt::{CpuNttProvider, NttEngine, NttProvider};
use ciphermill_math::{EngineInfo, EngineKind, Isa, Modulus, automorphism};
use num_bigint::BigInt;
use rayon::prelude::*;

use crate::engine::{HmvpEngine, Job, MatrixHandle, Output, PreparedKeys, PreparedMatrix};
use crate::error::HmvpError;
use crate::layout::{PlanLayout, RowPackedLayout, SlotLayout, SumStep, rotation_element};
use crate::{EncryptedProduct, EncryptedVector, MatrixSource, Plan, reference};

/// Computes every strategy by the plain definitions: polynomials as lists of residues, divisions of big integers. Up to
/// N = 256 and in algorithm 1, products are computed term by term; for a larger N by the portable transform, which has its
/// own conformance suite. The engine takes seconds where the CPU engine takes milliseconds, so use small sets or few rows.
///
/// The engine uses the public interface of this crate only, as an engine in another crate does.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_hmvp::conformance::{ReferenceEngine, small};
///
/// let plan = Arc::new(Plan::new(&small(Strategy::RowPacked, 2, 3), Isa::current())?);
/// # let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
/// # let vector = EncryptedVector::encrypt(&plan, &secret, &[1, 0, -1], &mut rng)?;
/// let keys = ReferenceEngine.prepare(&plan, &GaloisKeys::generate(&secret, &plan.galois_requests())?)?;
/// let matrix = ReferenceEngine.prepare_matrix(&plan, &dense)?;
/// assert_eq!(keys.multiply(&matrix, &vector)?.decrypt(&secret)?, [-2, -2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceEngine;

/// A matrix: its entries by part and row.
struct Entries {
    plan: Arc<Plan>,
    parts: Vec<Vec<Vec<i64>>>,
}

impl PreparedMatrix for Entries {
    fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    fn memory_bytes(&self) -> u64 {
        let entries: usize = self.parts.iter().flatten().map(Vec::len).sum();
        (entries * size_of::<i64>()) as u64
    }
}

impl Entries {
    fn read(plan: &Arc<Plan>, matrix: &dyn MatrixSource) -> Result<Self, HmvpError> {
        plan.require_matrix(matrix)?;
        // A matrix of the plan checks the range of every entry.
        let matrix = crate::PlainMatrix::new(plan, matrix)?;
        let row = |part, row| {
            let mut out = vec![0; matrix.cols()];
            plan.read_matrix_part(&matrix, row, part, &mut out);
            out
        };
        let part = |part| (0..matrix.rows()).map(|i| row(part, i)).collect();
        Ok(Self { plan: plan.clone(), parts: (0..plan.matrix_parts().len()).map(part).collect() })
    }
}

/// Keys in coefficient form.
#[derive(Debug)]
struct ReferenceKeys {
    plan: Arc<Plan>,
    tag: KeyTag,
    ring: Ring,
    keys: Keys,
}

impl HmvpEngine for ReferenceEngine {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("reference", EngineKind::Cpu(Isa::Portable))
    }

    /// A pair of polynomials for each digit of each key, as it was given and as it is kept.
    fn keys_bytes(&self, plan: &Plan) -> u64 {
        let context = plan.context();
        let digits = |request: &GaloisRequest| context.digit_count(request.gadget, context.top()).unwrap_or(0);
        let digits: usize = plan.galois_requests().iter().map(digits).sum();
        (2 * 2 * digits * context.parameters().chain().count() * context.n() * size_of::<u64>()) as u64
    }

    /// Each part of each entry in 8 bytes.
    fn matrix_bytes(&self, plan: &Plan) -> u64 {
        let request = plan.request();
        (2 * 8 * request.rows * request.cols * plan.matrix_parts().len()) as u64
    }

    fn prepare(&self, plan: &Arc<Plan>, keys: &GaloisKeys) -> Result<Arc<dyn PreparedKeys>, HmvpError> {
        plan.require_galois_keys(keys)?;
        let context = plan.context();
        let ring = Ring::new(context, context.top());
        let all = ring.keys(context, keys);
        Ok(Arc::new(ReferenceKeys { plan: plan.clone(), tag: keys.tag(), ring, keys: all }))
    }

    fn prepare_matrix(&self, plan: &Arc<Plan>, matrix: &dyn MatrixSource) -> Result<MatrixHandle, HmvpError> {
        Ok(MatrixHandle::new(Entries::read(plan, matrix)?))
    }
}

impl PreparedKeys for ReferenceKeys {
    fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    fn tag(&self) -> KeyTag {
        self.tag
    }

    fn memory_bytes(&self) -> u64 {
        let words = |(_, digits): &Key| digits.iter().flatten().flatten().map(Vec::len).sum::<usize>();
        (self.keys.values().map(words).sum::<usize>() * size_of::<u64>()) as u64
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, HmvpError> {
        let run = |job: &Job<'_>| {
            job.require(&self.plan, self.tag)?;
            let product = match *job {
                Job::Multiply { matrix, vector } => self.product(matrix.downcast()?, vector)?,
                Job::MultiplyStreamed { matrix, vector } => {
                    self.product(&Entries::read(&self.plan, matrix)?, vector)?
                }
            };
            Ok(Output::Product(product))
        };
        jobs.iter().map(run).collect()
    }
}

impl ReferenceKeys {
    fn product(&self, matrix: &Entries, vector: &EncryptedVector) -> Result<EncryptedProduct, HmvpError> {
        let plan = &self.plan;
        let tile = |vector: &[Rlwe], rows: &[Vec<i64>], tile: usize| -> Vec<Ciphertext> {
            let ciphertexts = match plan.layout() {
                PlanLayout::Algorithm1 { .. } => {
                    let rows = &rows[plan.row_tiles()[tile].clone()];
                    vec![reference::algorithm1::multiply(&self.ring, rows, vector, &self.keys)]
                }
                PlanLayout::RowPacked { layout, baby_gadget, giant_gadget } => {
                    vec![self.row_packed(layout, [baby_gadget, giant_gadget], vector, rows, tile)]
                }
                PlanLayout::Slots { layout, babies, sums } => {
                    let first = |ciphertext| {
                        let rows = plan.row_tiles()[tile].clone();
                        (rows.start + ciphertext * layout.rows_per_ciphertext())..rows.end
                    };
                    let slots = |i| self.slots(layout, babies, sums, vector, &rows[first(i)]);
                    (0..plan.product_ciphertexts(tile)).map(slots).collect()
                }
            };
            ciphertexts.into_iter().map(|ciphertext| self.ciphertext(ciphertext)).collect()
        };
        let tiles = 0..plan.row_tiles().len();
        let vector_part = |part: usize| {
            let vector: Vec<Rlwe> = vector.ciphertexts(part).map(Rlwe::from).collect();
            let matrix_part = |rows: &Vec<Vec<i64>>| tiles.clone().map(|i| tile(&vector, rows, i)).collect();
            matrix.parts.iter().map(matrix_part).collect()
        };
        let parts = (0..plan.vector_parts().len()).map(vector_part).collect();
        EncryptedProduct::new(plan, self.tag, parts)
    }

    fn ciphertext(&self, Rlwe { c0, c1 }: Rlwe) -> Ciphertext {
        let parameters = self.plan.context().parameters();
        let part = |part: Residues| RnsPoly::from_words(parameters.polynomial_size, part.concat());
        Ciphertext::new(parameters.id(), self.tag, vec![part(c0), part(c1)])
    }

    /// See the module `row_packed` of this crate: baby steps, sums of products, giant steps.
    fn row_packed(
        &self,
        layout: &RowPackedLayout,
        [baby_gadget, giant_gadget]: [Gadget; 2],
        vector: &[Rlwe],
        rows: &[Vec<i64>],
        tile: usize,
    ) -> Rlwe {
        let (ring, tile) = (&self.ring, layout.tile(tile));
        let lifted = LiftedRing::new(ring);
        let entry = |row: usize, col: usize| rows[row][col];
        let mut sums = vec![lifted.zero(); tile.giants];
        for (column_tile, ciphertext) in vector.iter().enumerate() {
            let divided = divide(ring, ciphertext, layout.divisor());
            let (head, digits) = (lifted.lift(&divided), ring.digits(baby_gadget, &divided.c1));
            let digits: Vec<Residues> = digits.iter().map(|digit| lifted.residues(digit)).collect();
            let plaintexts: Vec<_> = (0..tile.plaintexts)
                .map(|i| reference::row_packed::plaintext(layout, &tile, column_tile, i, &entry))
                .collect();
            for baby in 0..layout.babies() {
                let g = layout.baby(baby);
                let rotated = if baby == 0 {
                    head.clone()
                } else {
                    let mut rotated = lifted.key_products(g, &digits, &self.keys[&g]);
                    lifted.add(&mut rotated.c0, &lifted.automorphism(g, &head.c0));
                    rotated
                };
                for (giant, sum) in sums.iter_mut().enumerate() {
                    let entry = reference::row_packed::entry(layout, &tile, baby, giant, &plaintexts);
                    lifted.add_product(sum, &lifted.signed(&entry), &rotated);
                }
            }
        }
        let mut total = lifted.zero();
        for (giant, sum) in sums.iter().enumerate() {
            if giant == 0 {
                lifted.add(&mut total.c0, &sum.c0);
                lifted.add(&mut total.c1, &sum.c1);
                continue;
            }
            let g = layout.giant(giant);
            let moved = ring.divide_by_special(&lifted.automorphism(g, &sum.c1));
            let digits: Vec<Residues> =
                ring.digits(giant_gadget, &moved).iter().map(|digit| lifted.residues(digit)).collect();
            let switched = lifted.key_products(1, &digits, &self.keys[&g]);
            lifted.add(&mut total.c0, &lifted.automorphism(g, &sum.c0));
            lifted.add(&mut total.c0, &switched.c0);
            lifted.add(&mut total.c1, &switched.c1);
        }
        lifted.finish(&total)
    }

    /// See the module `slots` of this crate: rotations of the vector, sums of products, rotations of the sums, and sums of
    /// slots. `rows` starts at the first row of the ciphertext.
    fn slots(&self, layout: &SlotLayout, babies: usize, sums: &[SumStep], vector: &[Rlwe], rows: &[Vec<i64>]) -> Rlwe {
        let (ring, context) = (&self.ring, self.plan.context());
        let (lifted, gadget) = (LiftedRing::new(ring), context.parameters().gadget);
        let digits = |part: &Residues| -> Vec<Residues> {
            ring.digits(gadget, part).iter().map(|digit| lifted.residues(digit)).collect()
        };
        let rotate = |steps: usize, head: &Residues, digits: &[Residues]| {
            let g = rotation_element(layout.slots, steps);
            let mut rotated = lifted.key_products(g, digits, &self.keys[&g]);
            lifted.add(&mut rotated.c0, &lifted.automorphism(g, head));
            rotated
        };
        let vector: Vec<(Rlwe, Vec<Residues>)> =
            vector.iter().map(|ciphertext| (lifted.lift(ciphertext), digits(&ciphertext.c1))).collect();
        let mut total = lifted.zero();
        for giant in (0..layout.diagonals).step_by(babies) {
            let mut sum = lifted.zero();
            for (column_tile, (head, parts)) in vector.iter().enumerate() {
                for baby in 0..babies {
                    let rotated = if baby == 0 { head.clone() } else { rotate(baby, &head.c0, parts) };
                    let plaintext = diagonal(context, layout, column_tile, giant, baby, rows);
                    lifted.add_product(&mut sum, &lifted.signed(&plaintext), &rotated);
                }
            }
            if giant > 0 {
                sum = rotate(giant, &sum.c0, &digits(&ring.divide_by_special(&sum.c1)));
            }
            lifted.add(&mut total.c0, &sum.c0);
            lifted.add(&mut total.c1, &sum.c1);
        }
        for step in sums {
            let (head, digits) = (total.c0.clone(), digits(&ring.divide_by_special(&total.c1)));
            for steps in step.rotations() {
                let rotated = rotate(steps, &head, &digits);
                lifted.add(&mut total.c0, &rotated.c0);
                lifted.add(&mut total.c1, &rotated.c1);
            }
        }
        lifted.finish(&total)
    }
}

/// The plaintext of a diagonal, as integers of smallest magnitude.
fn diagonal(
    context: &Context,
    layout: &SlotLayout,
    column_tile: usize,
    giant: usize,
    baby: usize,
    rows: &[Vec<i64>],
) -> Vec<i64> {
    let slot = |slot| {
        let (row, col) = layout.diagonal_entry(slot, giant, baby);
        rows.get(row).and_then(|row| row.get(column_tile * layout.width + col)).copied().unwrap_or(0)
    };
    let slots: Vec<i64> = (0..layout.slots).map(slot).collect();
    let encoder = BatchEncoder::new(context).expect("the plan's strategy needs slots");
    let plaintext: Plaintext = encoder.encode(&slots).expect("entries of the plan are in range");
    context.centred(&plaintext)
}

/// The ciphertext divided by `divisor`, a power of two, modulo Q.
fn divide(ring: &Ring, ciphertext: &Rlwe, divisor: usize) -> Rlwe {
    let part = |part: &Residues| -> Residues {
        let limb = |(limb, &q): (&Vec<u64>, &u64)| {
            let q = Modulus::new(q).expect("a prime of the chain");
            let inverse = q.inverse(divisor as u64).expect("an odd prime");
            limb.iter().map(|&x| q.mul(x, inverse)).collect()
        };
        part.iter().zip(&ring.moduli).map(limb).collect()
    };
    Rlwe { c0: part(&ciphertext.c0), c1: part(&ciphertext.c1) }
}

/// Ciphertexts times P modulo Q·P: residues for the primes of ciphertexts, then the special ones.
struct LiftedRing<'a> {
    ring: &'a Ring,
    primes: Vec<u64>,
    /// The transforms for large N.
    engines: Option<Vec<Arc<dyn NttEngine>>>,
}

/// The greatest N whose products are computed term by term.
const MAX_SCHOOLBOOK: usize = 256;

impl<'a> LiftedRing<'a> {
    fn new(ring: &'a Ring) -> Self {
        let primes = ring.extended();
        let engine =
            |&p: &u64| CpuNttProvider::new(Isa::Portable).prime(ring.n, p).expect("a prime and an N of the chain");
        let engines = (ring.n > MAX_SCHOOLBOOK).then(|| primes.iter().map(engine).collect());
        Self { ring, primes, engines }
    }

    fn zero(&self) -> Rlwe {
        let part = || vec![vec![0; self.ring.n]; self.primes.len()];
        Rlwe { c0: part(), c1: part() }
    }

    /// P·c, which is 0 modulo the special primes.
    fn lift(&self, ciphertext: &Rlwe) -> Rlwe {
        let part = |part: &Residues| -> Residues {
            let limb = |(i, &p): (usize, &u64)| {
                let p = Modulus::new(p).expect("a prime of the chain");
                let special = self.ring.special.iter().fold(1, |product, q| p.mul(product, q % p.value()));
                part.get(i)
                    .map_or_else(|| vec![0; self.ring.n], |limb| limb.iter().map(|&x| p.mul(x, special)).collect())
            };
            self.primes.iter().enumerate().map(limb).collect()
        };
        Rlwe { c0: part(&ciphertext.c0), c1: part(&ciphertext.c1) }
    }

    /// The residues of small integers.
    fn signed(&self, integers: &[i64]) -> Residues {
        let limb = |&p: &u64| {
            let p = Modulus::new(p).expect("a prime of the chain");
            integers.iter().map(|&x| p.reduce_signed(x)).collect()
        };
        self.primes.iter().map(limb).collect()
    }

    /// The residues of integers.
    fn residues(&self, integers: &[BigInt]) -> Residues {
        self.primes.iter().map(|&p| integers.iter().map(|x| residue(x, p)).collect()).collect()
    }

    /// acc += term.
    fn add(&self, acc: &mut Residues, term: &Residues) {
        for ((acc, term), p) in acc.iter_mut().zip(term).zip(&self.primes) {
            acc.iter_mut().zip(term).for_each(|(acc, term)| *acc = (*acc + term) % p);
        }
    }

    /// σ_g.
    fn automorphism(&self, g: usize, part: &Residues) -> Residues {
        let limb = |(limb, &p): (&Vec<u64>, &u64)| automorphism::reference::modular(g, p, limb);
        part.iter().zip(&self.primes).map(limb).collect()
    }

    /// lhs·rhs.
    fn product(&self, lhs: &Residues, rhs: &Residues) -> Residues {
        let limb = |i: usize| match &self.engines {
            None => product(&lhs[i], &rhs[i], self.primes[i]),
            Some(engines) => {
                let (mut lhs, mut rhs) = (lhs[i].clone(), rhs[i].clone());
                engines[i].forward_in_place(&mut lhs);
                engines[i].forward_in_place(&mut rhs);
                engines[i].multiply(&mut lhs, &rhs);
                engines[i].inverse_in_place(&mut lhs);
                lhs
            }
        };
        (0..self.primes.len()).into_par_iter().map(limb).collect()
    }

    /// acc += plaintext·ciphertext.
    fn add_product(&self, acc: &mut Rlwe, plaintext: &Residues, ciphertext: &Rlwe) {
        self.add(&mut acc.c0, &self.product(plaintext, &ciphertext.c0));
        self.add(&mut acc.c1, &self.product(plaintext, &ciphertext.c1));
    }

    /// Σ_j σ_g(digit j)·(b_j, a_j).
    fn key_products(&self, g: usize, digits: &[Residues], (_, key): &Key) -> Rlwe {
        let mut sum = self.zero();
        for (digit, [b, a]) in digits.iter().zip(key) {
            let digit = self.automorphism(g, digit);
            self.add(&mut sum.c0, &self.product(&digit, b));
            self.add(&mut sum.c1, &self.product(&digit, a));
        }
        sum
    }

    /// ⌊c/P⌉ modulo Q.
    fn finish(&self, ciphertext: &Rlwe) -> Rlwe {
        Rlwe { c0: self.ring.divide_by_special(&ciphertext.c0), c1: self.ring.divide_by_special(&ciphertext.c1) }
    }
}
