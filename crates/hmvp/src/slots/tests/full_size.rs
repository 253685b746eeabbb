//! Parameters of 128 bits of security and entries of 8 bits.

use ciphermill_math::Isa;

use super::support::{Kind, LIMBS, Parties, Random, parameters, product, slot_modulus};
use ciphermill_bfv::parameters::{ParameterSet, SecurityPolicy};

/// N, and log2 of the plaintext modulus for a number of columns.
fn secure(n: usize, cols: usize) -> ParameterSet {
    let t = slot_modulus(n, (2 * cols as u64) << 14);
    let (ciphertext, special) = match (n, cols) {
        (4096, ..=256) => (&[33, 33][..], 40),
        (4096, _) => (&[35, 35][..], 36),
        _ => (&[45, 45][..], 49),
    };
    parameters(n, ciphertext, &[special], t, LIMBS, SecurityPolicy::Require128Bits)
}

fn check(n: usize, kind: Kind, rows: usize, cols: usize, isa: Isa, extreme: bool) {
    let mut parties = Parties::new(&secure(n, cols), isa, kind, rows, cols, 3);
    let mut random = Random((rows + cols) as u64);
    let (matrix, vector) = if extreme {
        (vec![vec![-128; cols]; rows], vec![-128; cols])
    } else {
        (random.matrix(rows, cols, 8), random.vector(cols, 8))
    };
    let expected = product(&matrix, &vector);
    let got = parties.products(&[matrix], &[vector]).swap_remove(0).swap_remove(0);
    assert!(got == expected, "{kind:?}, {rows} × {cols}, N = {n}, {isa}");
}

#[test]
fn products_at_full_size() {
    for (rows, cols) in [(1024, 256), (64, 256), (256, 1024), (300, 77)] {
        for kind in [Kind::RotateAndSum, Kind::Diagonal] {
            check(4096, kind, rows, cols, Isa::best(), false);
            check(4096, kind, rows, cols, Isa::best(), true);
        }
    }
}

#[test]
fn products_at_full_size_for_n_8192() {
    for kind in [Kind::RotateAndSum, Kind::Diagonal] {
        check(8192, kind, 300, 5000, Isa::best(), false);
    }
}

#[test]
fn products_at_full_size_on_every_path() {
    for isa in Isa::available() {
        for kind in [Kind::RotateAndSum, Kind::Diagonal] {
            check(4096, kind, 64, 256, isa, false);
        }
    }
}
