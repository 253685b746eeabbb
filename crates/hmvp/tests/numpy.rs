//! Against NumPy: tests/vectors/generate_numpy.py computed the products that are compared here.

use std::ops::Range;
use std::sync::Arc;

use ciphermill_bfv::{GaloisKeys, SecretKey};
use ciphermill_hmvp::{CpuEngine, EncryptedVector, HmvpEngine, MatrixSource, Plan, Request, Strategy};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;
use ciphermill_testing::available;
use serde_json::Value;

const WORDS: &[u8] = include_bytes!("vectors/numpy.bin");
const RECORD: &str = include_str!("vectors/numpy.json");

/// Number `index` of SplitMix64 (S. Vigna) from `seed`: its highest `bits` bits, signed.
fn number(seed: u64, index: usize, bits: u32) -> i64 {
    let z = seed.wrapping_add((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) as i64 >> (64 - bits)
}

/// Where entries come from.
#[derive(Clone, Copy, Debug)]
enum Entries {
    Seed(u64),
    Constants { matrix: i64, vector: i64 },
}

#[derive(Clone, Debug)]
struct Case {
    rows: usize,
    cols: usize,
    matrix_bits: u32,
    vector_bits: u32,
    entries: Entries,
    product: Vec<i64>,
}

impl Case {
    fn vector(&self) -> Vec<i64> {
        let entry = |j| match self.entries {
            Entries::Seed(seed) => number(seed, self.rows * self.cols + j, self.vector_bits),
            Entries::Constants { vector, .. } => vector,
        };
        (0..self.cols).map(entry).collect()
    }

    fn request(&self) -> Request {
        Request { matrix_bits: self.matrix_bits, vector_bits: self.vector_bits, ..Request::new(self.rows, self.cols) }
    }
}

impl MatrixSource for Case {
    fn rows(&self) -> usize {
        self.rows
    }

    fn cols(&self) -> usize {
        self.cols
    }

    fn read_row(&self, row: usize, out: &mut [i64]) {
        for (j, entry) in out.iter_mut().enumerate() {
            *entry = match self.entries {
                Entries::Seed(seed) => number(seed, row * self.cols + j, self.matrix_bits),
                Entries::Constants { matrix, .. } => matrix,
            };
        }
    }
}

fn cases() -> Vec<Case> {
    let record: Vec<Value> = serde_json::from_str(RECORD).expect("a list");
    let mut words = WORDS.as_chunks::<8>().0.iter().map(|word| i64::from_le_bytes(*word));
    let case = |value: &Value| {
        let number = |name: &str| value[name].as_i64().unwrap_or_else(|| panic!("{name} in {value}"));
        let entries = match value.get("seed") {
            Some(_) => Entries::Seed(number("seed") as u64),
            None => Entries::Constants { matrix: number("matrix"), vector: number("vector") },
        };
        let rows = number("rows") as usize;
        Case {
            rows,
            cols: number("cols") as usize,
            matrix_bits: number("matrix_bits") as u32,
            vector_bits: number("vector_bits") as u32,
            entries,
            product: words.by_ref().take(rows).collect(),
        }
    };
    let cases: Vec<Case> = record.iter().map(case).collect();
    assert_eq!(words.next(), None, "words left over");
    cases
}

/// Everything from the plan to the decrypted product.
fn multiply(case: &Case, request: &Request, isa: Isa) -> Vec<i64> {
    let plan = Arc::new(Plan::new(request, isa).unwrap_or_else(|error| panic!("{request:?}: {error}")));
    let key = SecretKey::generate(plan.context(), &SecretSeed::from_os().expect("randomness"));
    let mut noise = Csprng::from_os().expect("randomness");
    let galois = GaloisKeys::generate(&key, &plan.galois_requests()).expect("keys");
    let engine = CpuEngine::default();
    let keys = engine.prepare(&plan, &galois).expect("all keys");
    let vector = EncryptedVector::encrypt(&plan, &key, &case.vector(), &mut noise).expect("a vector");
    let matrix = engine.prepare_matrix(&plan, case).expect("a matrix");
    let product = keys.multiply(&matrix, &vector).expect("one key set");
    product.decrypt(&key).expect("its key")
}

/// Entries of a matrix up to which all paths of the CPU take part. Larger ones would take minutes on the portable path, whose
/// bits are those of the best one (`engine_conformance.rs`).
const ON_ALL_PATHS: usize = 1 << 17;

/// The cases in a range of rows × columns.
fn check(sizes: Range<usize>, strategy: Option<Strategy>) {
    for isa in available(Isa::ALL, |isa| isa.is_available()) {
        let takes = |entries: usize| sizes.contains(&entries) && (entries <= ON_ALL_PATHS || isa == Isa::best());
        for case in cases().iter().filter(|case| takes(case.rows * case.cols)) {
            let request = Request { strategy, ..case.request() };
            let product = multiply(case, &request, isa);
            let Case { rows, cols, entries, .. } = case;
            assert!(product == case.product, "{rows} × {cols}, {entries:?}, {strategy:?}, {isa}");
        }
    }
}

/// All but the large ones.
const SMALL: Range<usize> = 1..2048 * 256 + 1;

#[test]
fn the_planners_choice() {
    check(SMALL, None);
}

#[test]
fn row_packed() {
    check(SMALL, Some(Strategy::RowPacked));
}

#[test]
fn the_papers_algorithm() {
    check(SMALL, Some(Strategy::Algorithm1));
}

#[test]
fn rotate_and_sum() {
    check(SMALL, Some(Strategy::RotateAndSum));
}

#[test]
fn diagonal() {
    check(SMALL, Some(Strategy::Diagonal));
}

#[test]
fn large_matrices() {
    check(SMALL.end..usize::MAX, None);
}
