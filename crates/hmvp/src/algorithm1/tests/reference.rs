//! Ciphertexts compared with those of the plain definition, bit for bit.

use ciphermill_lattice::{DecompositionBaseLog, SecretSeed};
use ciphermill_math::Isa;

use super::super::reference;
use super::support::{Parties, entries, named};
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::lwe::reference::{Ring, Rlwe};
use ciphermill_bfv::parameters::{CHAM_PAPER, ParameterSet, SecurityPolicy};

fn check(parameters: &ParameterSet, isa: Isa, rows: usize, cols: usize, seed: &SecretSeed) {
    let mut parties = Parties::new(parameters, isa, rows, cols, seed);
    let (matrix, vector) = (entries(1, rows * cols, 5), parties.encrypt(&entries(2, cols, 5)));
    let products = parties.products(std::slice::from_ref(&matrix), std::slice::from_ref(&vector));
    let ring = Ring::new(&parties.context, parties.context.top());
    let keys = ring.keys(&parties.context, &parties.galois);
    let vector: Vec<Rlwe> = vector.iter().map(Rlwe::from).collect();
    let rows: Vec<Vec<i64>> = matrix.chunks_exact(cols).map(<[i64]>::to_vec).collect();
    for (rows, product) in rows.chunks(parameters.polynomial_size.get()).zip(&products) {
        let expected = reference::multiply(&ring, rows, &vector, &keys);
        assert!(Rlwe::from(&product[0][0]) == expected, "{} rows on {isa}", rows.len());
    }
}

#[test]
fn small_products_are_those_of_the_definition_on_every_path() {
    for isa in Isa::available() {
        for (rows, cols) in [(1, 1), (2, 32), (3, 5), (32, 33), (37, 100)] {
            check(&named("TEST_32"), isa, rows, cols, &SecretSeed::from_bytes([1; 32]));
        }
    }
}

#[test]
fn the_papers_parameters_give_the_definition_at_full_size_on_every_path() {
    for isa in Isa::available() {
        check(&named(CHAM_PAPER), isa, 3, 256, &SecretSeed::from_bytes([2; 32]));
    }
}

#[test]
fn other_gadgets_and_two_special_primes_give_the_definition() {
    let mut spec = named("TEST_32").spec().clone();
    spec.name = "TWO_SPECIAL".to_owned();
    // The third ciphertext prime becomes a special one.
    spec.special_moduli.extend(spec.ciphertext_moduli.pop());
    for gadget in [
        Gadget::Limbs { limbs_per_digit: 1 },
        Gadget::Limbs { limbs_per_digit: 2 },
        Gadget::Bits { base_log: DecompositionBaseLog(11) },
        Gadget::Bits { base_log: DecompositionBaseLog(32) },
    ] {
        spec.gadget = gadget;
        let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
        let parameters = ParameterSet::new(spec.clone(), policy).expect("admissible");
        check(&parameters, Isa::current(), 11, 40, &SecretSeed::from_bytes([4; 32]));
    }
}
