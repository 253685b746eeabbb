//! The transform pair as printed for the NVMe-TFHE platform (its Fig. 5 and Appendix A) is the transpose of the negacyclic
//! transform. The pair inverts itself, so a round trip does not show this, but products do.

use ciphermill_math::goldilocks::{PAPER_PSI, inverse, mul, pow, primitive_root_2n};
use ciphermill_math::ntt::reference::{
    bit_reverse, cyclic_product, forward, negacyclic_product, negacyclic_product_by_ntt, normalise, paper_forward,
    paper_inverse,
};

fn residues(seed: u64, n: usize) -> Vec<u64> {
    (0..n as u64).map(|j| pow(7, seed + 31 * j + j * j)).collect()
}

/// The product as the paper's CMux forms it, with `correction` applied to entry i of the spectrum.
fn product_by_the_printed_pair(a: &[u64], b: &[u64], correction: impl Fn(u64) -> u64) -> Vec<u64> {
    let bits = a.len().trailing_zeros();
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    paper_forward(&mut a);
    paper_forward(&mut b);
    for (i, (x, &y)) in a.iter_mut().zip(&b).enumerate() {
        *x = mul(mul(*x, y), correction(bit_reverse(i, bits) as u64));
    }
    paper_inverse(&mut a);
    normalise(&mut a);
    a
}

#[test]
fn the_printed_pair_inverts_itself() {
    for n in [8, 1024, 16384] {
        let polynomial = residues(1, n);
        let mut values = polynomial.clone();
        paper_forward(&mut values);
        assert_ne!(values, polynomial);
        paper_inverse(&mut values);
        normalise(&mut values);
        assert_eq!(values, polynomial, "N = {n}");
    }
}

/// Entry (i, j) of the printed forward matrix is entry (j, i) of the negacyclic one, ψ^j·w^(ij), both in natural order.
#[test]
fn the_printed_forward_transform_is_the_transpose() {
    let n = 64;
    let bits = 6;
    let columns = |transform: fn(&mut [u64])| -> Vec<Vec<u64>> {
        (0..n)
            .map(|j| {
                let mut column = vec![0; n];
                column[j] = 1;
                transform(&mut column);
                (0..n).map(|i| column[bit_reverse(i, bits)]).collect()
            })
            .collect()
    };
    let (printed, right) = (columns(paper_forward), columns(forward));
    let psi = primitive_root_2n(n).unwrap();
    for i in 0..n {
        for j in 0..n {
            assert_eq!(right[j][i], pow(psi, (j * (2 * i + 1)) as u64));
            assert_eq!(printed[j][i], right[i][j]);
        }
    }
    assert_ne!(printed, right);
}

/// Its products are not negacyclic. They come from the cyclic product: once the surplus factor ψ^i is taken off the
/// product's spectrum they are exactly cyclic, and as printed they are neither.
#[test]
fn products_of_the_printed_pair_are_not_negacyclic() {
    for n in [8, 64, 256] {
        let (a, b) = (residues(1, n), residues(2, n));
        let printed = product_by_the_printed_pair(&a, &b, |_| 1);
        assert_ne!(printed, negacyclic_product(&a, &b), "N = {n}");
        assert_ne!(printed, cyclic_product(&a, &b), "N = {n}");
        let psi_inverse = inverse(primitive_root_2n(n).unwrap()).unwrap();
        let untwisted = product_by_the_printed_pair(&a, &b, |i| pow(psi_inverse, i));
        assert_eq!(untwisted, cyclic_product(&a, &b), "N = {n}");
    }
}

/// At the paper's size and ψ even 1·1 is not 1, while the corrected pair gives it.
#[test]
fn one_times_one_at_full_size() {
    let n = 16384;
    assert_eq!(primitive_root_2n(n), Some(PAPER_PSI));
    let mut one = vec![0; n];
    one[0] = 1;
    assert_eq!(negacyclic_product_by_ntt(&one, &one), one);
    let printed = product_by_the_printed_pair(&one, &one, |_| 1);
    // The inverse transform of ψ^i is −2/(N·(ψ^(1−2j) − 1)): no coefficient of it is zero.
    assert!(printed.iter().all(|&c| c != 0));
    let psi_inverse = inverse(PAPER_PSI).unwrap();
    assert_eq!(product_by_the_printed_pair(&one, &one, |i| pow(psi_inverse, i)), one);
}
