//! Against naive products.

use ciphermill_lattice::DecompositionBaseLog;
use ciphermill_math::Isa;

use super::super::RowPackedOptions;
use super::support::{Parties, entries, naive, parameters};
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::parameters::SecurityPolicy;

const INSECURE: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

fn options(baby_steps: usize, base_log: usize) -> RowPackedOptions {
    RowPackedOptions {
        baby_steps,
        baby_gadget: Gadget::Bits { base_log: DecompositionBaseLog(base_log) },
        giant_gadget: Gadget::Limbs { limbs_per_digit: 1 },
    }
}

/// Checks all products of `matrices` and `vectors`.
fn check(parties: &mut Parties, rows: usize, cols: usize, matrices: &[Vec<i64>], vectors: &[Vec<i64>]) {
    let t = parties.context.t();
    for (outcomes, vector) in parties.products(matrices, vectors).iter().zip(vectors) {
        for (outcome, matrix) in outcomes.iter().zip(matrices) {
            assert!(outcome.entries == naive(rows, cols, matrix, vector, t), "{rows} by {cols}");
        }
    }
}

#[test]
fn products_are_right_for_every_shape() {
    let parameters = parameters(32, &[45], &[45], 1 << 22, INSECURE);
    let shapes = [
        (1, 1, 1),
        (1, 19, 1),
        (23, 1, 4),
        (3, 5, 1),
        (8, 8, 2),
        (9, 8, 1),
        (17, 15, 8),
        (32, 32, 4),
        (32, 31, 1),
        (31, 32, 32),
        (33, 7, 2),
        (100, 12, 2),
        (20, 70, 4),
        (70, 100, 8),
    ];
    for isa in Isa::available() {
        for (rows, cols, baby_steps) in shapes {
            let mut parties = Parties::new(&parameters, isa, rows, cols, options(baby_steps, 15));
            let matrix = entries(1, rows * cols, 8);
            check(&mut parties, rows, cols, &[matrix], &[entries(2, cols, 8)]);
        }
    }
}

#[test]
fn extreme_entries_give_exact_products() {
    let parameters = parameters(64, &[45], &[45], 1 << 22, INSECURE);
    let (rows, cols) = (64, 64);
    let mut parties = Parties::new(&parameters, Isa::current(), rows, cols, options(8, 15));
    let (low, high) = (vec![-128; rows * cols], vec![127; rows * cols]);
    let alternating: Vec<i64> = (0..rows * cols).map(|i| if (i / cols + i) % 2 == 0 { -128 } else { 127 }).collect();
    let vectors = [vec![-128; cols], vec![127; cols], alternating[..cols].to_vec(), vec![0; cols]];
    check(&mut parties, rows, cols, &[low, high, alternating, vec![0; rows * cols]], &vectors);
}

#[test]
fn several_limbs_special_primes_and_gadgets_multiply() {
    let sets: [(&[u32], &[u32]); 3] = [(&[35, 36], &[40]), (&[30, 30], &[31, 31]), (&[61], &[60])];
    for (ciphertext, special) in sets {
        let parameters = parameters(64, ciphertext, special, (1 << 30) + 1, INSECURE);
        for isa in Isa::available() {
            for limbs_per_digit in 1..=ciphertext.len().min(special.len()) {
                let gadget = Gadget::Limbs { limbs_per_digit };
                let options = RowPackedOptions { giant_gadget: gadget, ..options(4, 12) };
                let (rows, cols) = (60, 90);
                let mut parties = Parties::new(&parameters, isa, rows, cols, options);
                let matrices: Vec<_> = (0..2).map(|part| entries(part, rows * cols, 12)).collect();
                let vectors: Vec<_> = (0..3).map(|part| entries(10 + part, cols, 9)).collect();
                check(&mut parties, rows, cols, &matrices, &vectors);
            }
        }
    }
}

#[test]
fn several_threads_give_the_same_ciphertexts() {
    let parameters = parameters(64, &[45], &[45], 1 << 22, INSECURE);
    let (rows, cols) = (130, 100);
    let mut parties = Parties::new(&parameters, Isa::current(), rows, cols, options(4, 15));
    let matrix = entries(1, rows * cols, 8);
    let vector = parties.encrypt(&entries(2, cols, 8));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let algorithm: &dyn crate::Algorithm = &parties.algorithm;
        let (context, keys) = (&parties.context, &*parties.keys);
        pool.install(|| {
            let vector = algorithm.prepare_vector(context, keys, &vector).expect("of this plan");
            let tiles = 0..algorithm.tiles().len();
            let product = |tile: usize| {
                let matrix = parties.prepare(tile, &matrix);
                algorithm.multiply(context, keys, tile, &[&*matrix], &[&*vector]).expect("of this plan")
            };
            tiles.map(product).collect::<Vec<_>>()
        })
    };
    let expected = run(1);
    for threads in [2, 5] {
        assert_eq!(run(threads), expected, "{threads} threads");
    }
}

#[test]
fn full_sizes_multiply_with_128_bits_of_security() {
    // Rows, columns, baby steps, lengths of the primes, t, base of the digits.
    let cases = [
        (64, 256, 4, [46, 46], 1 << 24, 23),
        (1024, 256, 16, [46, 46], 1 << 24, 23),
        (2048, 256, 16, [46, 46], 1 << 24, 23),
        (2048, 4096, 32, [50, 46], 1 << 28, 25),
    ];
    for (rows, cols, baby_steps, [q, p], t, base_log) in cases {
        let parameters = parameters(4096, &[q], &[p], t, SecurityPolicy::Require128Bits);
        let mut parties = Parties::new(&parameters, Isa::current(), rows, cols, options(baby_steps, base_log));
        let matrices = [entries(1, rows * cols, 8)];
        check(&mut parties, rows, cols, &matrices, &[entries(2, cols, 8)]);
    }
}
