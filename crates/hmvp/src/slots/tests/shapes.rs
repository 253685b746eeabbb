//! Any shape, path, number of vectors and digits.

use ciphermill_lattice::DecompositionBaseLog;
use ciphermill_math::Isa;
use proptest::prelude::*;

use super::support::{INSECURE, Kind, LIMBS, Parties, Random, algorithm, parameters, product, slot_modulus, small};
use crate::rotate_and_sum::RotateAndSum;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::keys::GaloisKeys;
use ciphermill_bfv::keyswitch::Gadget;

fn check(
    parameters: &ciphermill_bfv::ParameterSet,
    isa: Isa,
    kind: Kind,
    rows: usize,
    cols: usize,
    counts: [usize; 2],
) {
    let mut parties = Parties::new(parameters, isa, kind, rows, cols, 7);
    let mut random = Random((rows * 1000 + cols) as u64);
    let matrices: Vec<_> = (0..counts[0]).map(|_| random.matrix(rows, cols, 6)).collect();
    let vectors: Vec<_> = (0..counts[1]).map(|_| random.vector(cols, 6)).collect();
    let expected: Vec<Vec<Vec<i64>>> =
        vectors.iter().map(|vector| matrices.iter().map(|matrix| product(matrix, vector)).collect()).collect();
    let got = parties.products(&matrices, &vectors);
    assert!(got == expected, "{kind:?}, {rows} × {cols}, {isa}, N = {}", parameters.polynomial_size.get());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn every_shape_gives_the_product(
        log_n in 4u32..8,
        rows in 1usize..140,
        cols in 1usize..140,
        kind in 0usize..3,
        log_diagonals in 0u32..6,
        log_babies in 0u32..6,
        matrices in 1usize..3,
        vectors in 1usize..4,
    ) {
        let kind = match kind {
            0 => Kind::RotateAndSum,
            1 => Kind::Diagonal,
            _ => Kind::Fixed(1 << log_diagonals, 1 << log_babies.min(log_diagonals)),
        };
        check(&small(1 << log_n), Isa::best(), kind, rows, cols, [matrices, vectors]);
    }
}

#[test]
fn every_path_gives_the_product() {
    for isa in Isa::available() {
        for kind in [Kind::RotateAndSum, Kind::Diagonal, Kind::Fixed(16, 4)] {
            check(&small(64), isa, kind, 50, 70, [1, 2]);
        }
    }
}

#[test]
fn digits_of_any_kind_give_the_product() {
    let t = slot_modulus(64, 1 << 20);
    let bits = |base_log| Gadget::Bits { base_log: DecompositionBaseLog(base_log) };
    let sets = [
        (&[60][..], &[30][..], bits(15)),
        (&[45, 50], &[50], bits(16)),
        (&[40, 40, 40], &[41, 41], Gadget::Limbs { limbs_per_digit: 2 }),
        (&[30, 30, 30, 30], &[45], LIMBS),
    ];
    for (ciphertext, special, gadget) in sets {
        let parameters = parameters(64, ciphertext, special, t, gadget, INSECURE);
        for kind in [Kind::RotateAndSum, Kind::Fixed(16, 4)] {
            check(&parameters, Isa::best(), kind, 64, 32, [1, 1]);
        }
    }
}

#[test]
fn threads_do_not_change_the_product() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    for threads in [1, 2, 5] {
        pool(threads).install(|| {
            for kind in [Kind::RotateAndSum, Kind::Fixed(32, 1), Kind::Fixed(32, 8)] {
                check(&small(64), Isa::best(), kind, 128, 100, [2, 2]);
            }
        });
    }
}

#[test]
fn one_tile_holds_as_many_rows_as_there_are_slots() {
    let parameters = small(32);
    let diagonal = algorithm(Kind::Fixed(16, 4), 100, 16, &parameters).expect("admissible");
    assert_eq!(diagonal.tiles(), [0..32, 32..64, 64..96, 96..100]);
    assert_eq!((diagonal.vector_len(), diagonal.product_len(0)), (1, 1));
    let places: Vec<usize> = diagonal.product_places(0, 0).into_iter().map(|(slot, _)| slot).collect();
    assert_eq!(places, (0..32).collect::<Vec<_>>());
    let sums = RotateAndSum::new(100, 12, &parameters).expect("admissible");
    let sums: &dyn crate::Algorithm = &sums;
    assert_eq!(sums.tiles().len(), 1);
    assert_eq!(sums.product_len(0), 50);
    assert_eq!(sums.product_places(0, 49), [(0, 98), (16, 99)]);
}

#[test]
fn costs_count_what_there_is() {
    let parameters = small(64);
    // 32 columns, 64/32 segments of 8 diagonals: 16 rows at a time.
    let diagonal = algorithm(Kind::Fixed(8, 4), 40, 30, &parameters).expect("admissible");
    let (shared, diagonal) = (diagonal.shared_costs(), diagonal.costs());
    assert_eq!((shared.hoisted_key_switches, shared.key_switches, shared.ntts), (9, 0, 4 + 6));
    // Keys of two digits by two parts, words of 5, 5 and 6 bytes.
    let key = 2 * 2 * 64 * 16;
    assert_eq!(shared.words, 9 * key / 8);
    assert_eq!(diagonal.plain_products, 3 * 8);
    assert_eq!(diagonal.hoisted_key_switches, 3 * (3 + 3));
    assert_eq!(diagonal.key_switches, 3);
    assert_eq!(diagonal.matrix_bytes, 3 * 8 * 64 * 16);
    // Three babies, a giant, three rotations of the sum.
    assert_eq!(diagonal.key_bytes, 7 * key);
    assert_eq!(diagonal.ntts, (4 + 6) + 3 * (2 * 9 + 6));
    let sums = algorithm(Kind::RotateAndSum, 40, 30, &parameters).expect("admissible").costs();
    assert_eq!((sums.plain_products, sums.key_switches, sums.hoisted_key_switches), (20, 20 * 5, 0));
    assert_eq!(sums.matrix_bytes, 20 * 64 * 10);
    assert_eq!(sums.key_bytes, 5 * key);
}

#[test]
fn what_does_not_fit_is_refused() {
    let parameters = small(32);
    for kind in [Kind::RotateAndSum, Kind::Diagonal] {
        for (rows, cols) in [(0, 1), (1, 0), (16385, 1), (1, 16385), (usize::MAX, 1), (1, usize::MAX)] {
            assert!(matches!(algorithm(kind, rows, cols, &parameters), Err(BfvError::Range { .. })));
        }
        let unslotted = super::support::parameters(32, &[40], &[41], 1 << 20, LIMBS, INSECURE);
        assert!(matches!(algorithm(kind, 4, 4, &unslotted), Err(BfvError::Unsupported { .. })));
        let no_special = super::support::parameters(32, &[40], &[], parameters.plaintext_modulus, LIMBS, INSECURE);
        assert!(matches!(algorithm(kind, 4, 4, &no_special), Err(BfvError::Unsupported { .. })));

        let parties = Parties::new(&parameters, Isa::best(), kind, 20, 10, 1);
        let (algorithm, context) = (&parties.algorithm, &parties.context);
        assert!(matches!(algorithm.encode_vector(context, &[0; 9]), Err(BfvError::Length { .. })));
        assert!(matches!(algorithm.encode_vector(context, &[i64::MAX; 10]), Err(BfvError::Range { .. })));
        let read = |_: usize, out: &mut [i64]| out.fill(i64::MIN);
        assert!(matches!(algorithm.prepare(context, 0, &read), Err(BfvError::Range { .. })));
        assert!(matches!(algorithm.decode_product(context, 0, &[]), Err(BfvError::Length { .. })));
        let requests = algorithm.galois_requests();
        let some = GaloisKeys::generate(&parties.secret, &requests[1..]).expect("keys");
        match algorithm.prepare_keys(context, &some) {
            Err(BfvError::MissingGaloisKeys { elements }) => assert_eq!(elements, [requests[0].element]),
            other => panic!("{:?}", other.map(|_| ()).map_err(|e| e.to_string())),
        }
        let mut others = requests.clone();
        others[0].gadget = Gadget::Bits { base_log: DecompositionBaseLog(10) };
        let others = GaloisKeys::generate(&parties.secret, &others).expect("keys");
        assert!(matches!(algorithm.prepare_keys(context, &others), Err(BfvError::Unsupported { .. })));
    }
}

#[test]
fn keys_are_asked_for_once() {
    let parameters = small(64);
    for (kind, count) in [(Kind::RotateAndSum, 5), (Kind::Fixed(8, 4), 3 + 1 + 3), (Kind::Fixed(32, 8), 7 + 3)] {
        let mut elements: Vec<usize> = algorithm(kind, 60, 30, &parameters)
            .expect("admissible")
            .galois_requests()
            .iter()
            .map(|request| request.element)
            .collect();
        elements.sort_unstable();
        elements.dedup();
        assert_eq!(elements.len(), count, "{kind:?}");
        assert!(elements.iter().all(|&g| g % 2 == 1 && g > 1 && g < 128));
    }
}
