//! Products compared with those of the integers.

use ciphermill_lattice::SecretSeed;
use ciphermill_math::Isa;
use proptest::prelude::*;

use super::super::Algorithm1;
use super::support::{Parties, entries, naive, named};
use crate::{Algorithm, MAX_DIMENSION};
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::parameters::{CHAM_PAPER, ParameterSet, SecurityPolicy};

const SEED: SecretSeedBytes = [5; 32];
type SecretSeedBytes = [u8; 32];

/// One matrix and one vector, decrypted, against the integers.
fn check(parameters: &ParameterSet, isa: Isa, cols: usize, matrix: &[i64], vector: &[i64]) {
    let rows = matrix.len() / cols;
    let mut parties = Parties::new(parameters, isa, rows, cols, &SecretSeed::from_bytes(SEED));
    let ciphertexts = parties.encrypt(vector);
    let products = parties.products(&[matrix.to_vec()], &[ciphertexts]);
    let entries: Vec<i64> =
        products.iter().enumerate().flat_map(|(tile, product)| parties.decrypt(tile, &product[0][0])).collect();
    assert_eq!(entries, naive(cols, matrix, vector, parameters.plaintext_modulus), "{rows} x {cols} on {isa}");
}

#[test]
fn every_paper_size_is_right_at_the_papers_moduli() {
    let parameters = named(CHAM_PAPER);
    for rows in [64, 128, 256, 512, 1024, 2048] {
        check(&parameters, Isa::current(), 256, &entries(rows, rows as usize * 256, 8), &entries(1, 256, 8));
    }
}

#[test]
fn greatest_entries_are_right_on_every_path() {
    let parameters = named(CHAM_PAPER);
    for isa in Isa::available() {
        for (a, v) in [(-128, -128), (-128, 127), (127, -128), (127, 127)] {
            check(&parameters, isa, 256, &vec![a; 8 * 256], &vec![v; 256]);
        }
    }
}

#[test]
fn shapes_that_fill_nothing_are_right_on_every_path() {
    let parameters = named("TEST_32");
    for isa in Isa::available() {
        for (rows, cols) in [(1, 1), (1, 32), (2, 33), (3, 5), (31, 32), (32, 31), (33, 70), (64, 64), (100, 97)] {
            check(&parameters, isa, cols, &entries(7, rows * cols, 5), &entries(8, cols, 5));
        }
    }
}

#[test]
fn entries_longer_than_primes_are_reduced() {
    // 32-bit entries and primes of 30 and 31 bits; t is so small that nothing but their residues can be seen.
    let parameters = named("TEST_32");
    let extremes = [i64::from(i32::MIN), i64::from(i32::MAX), -1, 0, 1, -(1 << 30), 1 << 30];
    let matrix: Vec<i64> = extremes.into_iter().cycle().take(3 * 40).collect();
    check(&parameters, Isa::current(), 40, &matrix, &entries(2, 40, 5));
}

#[test]
fn several_matrices_and_vectors_share_a_pass() {
    let (rows, cols) = (40, 50);
    let mut parties = Parties::new(&named("TEST_32"), Isa::current(), rows, cols, &SecretSeed::from_bytes(SEED));
    let matrices: Vec<Vec<i64>> = (0..3).map(|i| entries(i, rows * cols, 4)).collect();
    let vectors: Vec<Vec<i64>> = (10..12).map(|i| entries(i, cols, 5)).collect();
    let ciphertexts: Vec<_> = vectors.iter().map(|vector| parties.encrypt(vector)).collect();
    let products = parties.products(&matrices, &ciphertexts);
    assert_eq!(products.len(), 2, "row tiles");
    for (v, vector) in vectors.iter().enumerate() {
        for (m, matrix) in matrices.iter().enumerate() {
            let tiles = products.iter().enumerate();
            let entries: Vec<i64> = tiles.flat_map(|(tile, products)| parties.decrypt(tile, &products[v][m])).collect();
            assert_eq!(entries, naive(cols, matrix, vector, parties.context.t()), "vector {v}, matrix {m}");
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let (rows, cols) = (75, 40);
    let mut parties = Parties::new(&named("TEST_512"), Isa::current(), rows, cols, &SecretSeed::from_bytes(SEED));
    let (matrix, vector) = (entries(1, rows * cols, 8), parties.encrypt(&entries(2, cols, 8)));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| parties.products(std::slice::from_ref(&matrix), std::slice::from_ref(&vector)))
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(7));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_shape_is_right(rows in 1usize..80, cols in 1usize..80, stream: u64, bits in 2u32..6) {
        let (matrix, vector) = (entries(stream, rows * cols, bits), entries(!stream, cols, bits));
        check(&named("TEST_32"), Isa::current(), cols, &matrix, &vector);
    }
}

#[test]
fn rows_are_cut_into_tiles_of_a_ciphertext_each() {
    let parameters = named(CHAM_PAPER);
    for (rows, tile_rows) in [(1, 1), (5, 8), (4096, 4096), (4097, 4096), (16384, 4096)] {
        let algorithm = Algorithm1::new(rows, 16384, &parameters).expect("admissible");
        assert_eq!((algorithm.tile_rows, algorithm.vector_len()), (tile_rows, 4), "{rows} rows");
        let tiles = algorithm.tiles();
        assert!(tiles.iter().all(|tile| !tile.is_empty() && tile.len() <= tile_rows));
        assert_eq!(tiles.iter().flat_map(Clone::clone).collect::<Vec<_>>(), (0..rows).collect::<Vec<_>>());
    }
}

#[test]
fn costs_are_those_of_what_is_done() {
    let (parameters, n) = (named(CHAM_PAPER), 4096);
    let algorithm = Algorithm1::new(1024, 256, &parameters).expect("admissible");
    let costs = algorithm.costs();
    assert_eq!((costs.plain_products, costs.key_switches, costs.hoisted_key_switches), (1024, 1023, 0));
    // Two polynomials of the vector, two for each row, two digits and two sums for each merge; three limbs each.
    assert_eq!(costs.ntts, 3 * (2 + 1024 * 2 + 1023 * 4));
    assert_eq!((algorithm.shared_costs().ntts, costs.prepare_ntts), (3 * 2, 0));
    assert_eq!(costs.matrix_bytes, 1024 * 256 * 4);
    assert_eq!(costs.key_bytes, 10 * 2 * 2 * 3 * n * 8);
    assert_eq!(costs.words, 1024 * 256 / 2 + 1023 * 2 * 2 * 3 * n);
    assert_eq!(algorithm.galois_requests().len(), 10);
    // Rows that fill a tile partly: nodes of which all leaves are missing cost nothing. 5 of 8: 4, then 2, then 1.
    let costs = Algorithm1::new(4096 + 5, 4097, &parameters).expect("admissible").costs();
    assert_eq!(costs.plain_products, 2 * 4101);
    assert_eq!(costs.key_switches, 4095 + (4 + 2 + 1));
}

#[test]
fn what_cannot_be_multiplied_is_refused() {
    let parameters = named(CHAM_PAPER);
    for (rows, cols) in [(0, 1), (1, 0), (MAX_DIMENSION + 1, 1), (1, MAX_DIMENSION + 1)] {
        assert!(matches!(Algorithm1::new(rows, cols, &parameters), Err(BfvError::Range { .. })), "{rows} x {cols}");
    }
    let mut spec = parameters.spec().clone();
    spec.special_moduli.clear();
    spec.name = "WITHOUT_SPECIAL".to_owned();
    let without = ParameterSet::new(spec, SecurityPolicy::Require128Bits).expect("admissible");
    assert!(matches!(Algorithm1::new(4, 4, &without), Err(BfvError::Unsupported { .. })));
    let parties = Parties::new(&named("TEST_32"), Isa::current(), 8, 8, &SecretSeed::from_bytes(SEED));
    assert!(matches!(parties.algorithm.encode_vector(&parties.context, &[0; 7]), Err(BfvError::Length { .. })));
    let long = |_: usize, row: &mut [i64]| row.fill(1 << 31);
    let refused = parties.algorithm.prepare(&parties.context, 0, &long).map(|_| ());
    assert!(matches!(refused, Err(BfvError::Range { given: 0x8000_0000, .. })));
    assert!(matches!(parties.algorithm.decode_product(&parties.context, 0, &[]), Err(BfvError::Length { .. })));
    let larger = Algorithm1::new(32, 8, &named("TEST_32")).expect("admissible");
    let missing = larger.prepare_keys(&parties.context, &parties.galois).map(|_| ());
    let Err(BfvError::MissingGaloisKeys { elements }) = missing else { panic!("keys are missing") };
    assert_eq!(elements, [17, 33]);
    assert_eq!(parties.galois.elements().collect::<Vec<_>>(), [3, 5, 9]);
    assert_eq!(parameters.gadget, Gadget::Limbs { limbs_per_digit: 1 });
}
