//! Polynomials over residue number systems: construction and arithmetic, against integers.

use crate::rns_support::{basis, polynomial, put};
use ciphermill_lattice::rng::{Keystream, MaskStream};
use ciphermill_lattice::rns::{Coefficients, RnsBasis, RnsBasisError, RnsPoly};
use ciphermill_lattice::{PolynomialSize, PublicSeed};
use ciphermill_math::Isa;
use num_bigint::BigInt;
use proptest::prelude::*;

/// The lengths of primes of the tests: each strategy of the transforms, one limb to six.
const LENGTHS: [&[u32]; 5] = [&[45], &[62], &[30, 50], &[62, 61, 20, 46], &[46, 46, 50, 60, 61, 62]];

fn all_bases(n: usize) -> impl Iterator<Item = RnsBasis> {
    ciphermill_testing::available(Isa::ALL, |isa| isa.is_available())
        .into_iter()
        .flat_map(move |isa| LENGTHS.map(|bits| basis(n, bits, 0, isa)))
}

/// All coefficients, centred.
fn integers(basis: &RnsBasis, poly: &RnsPoly<Coefficients>) -> Vec<BigInt> {
    (0..poly.polynomial_size()).map(|i| basis.compose(poly, i)).collect()
}

/// The polynomial with these coefficients.
fn from_integers(basis: &RnsBasis, coefficients: &[BigInt]) -> RnsPoly<Coefficients> {
    let mut poly = basis.zero();
    for (i, x) in coefficients.iter().enumerate() {
        put(basis, &mut poly, i, x);
    }
    poly
}

/// The product modulo X^N + 1, term by term.
fn negacyclic(lhs: &[BigInt], rhs: &[BigInt]) -> Vec<BigInt> {
    let n = lhs.len();
    let mut out = vec![BigInt::ZERO; n];
    for (i, x) in lhs.iter().enumerate() {
        for (j, y) in rhs.iter().enumerate() {
            if i + j < n { out[i + j] += x * y } else { out[i + j - n] -= x * y }
        }
    }
    out
}

#[test]
fn composition_undoes_residues() {
    for basis in all_bases(16) {
        let q = BigInt::from(basis.product());
        let half: BigInt = &q / 2;
        let corners = [BigInt::ZERO, 1.into(), (-1).into(), half.clone(), -&half, &half - 1, 1 - &half];
        let poly = from_integers(&basis, &corners);
        assert_eq!(integers(&basis, &poly)[..corners.len()], corners);
        // Integers beyond Q come back modulo Q.
        let far = from_integers(&basis, &[&q * 5 + 3, &q * -7 - 2, &half + 1]);
        assert_eq!(integers(&basis, &far)[..3], [3.into(), (-2).into(), -&half]);
        assert!(basis.is_canonical(&poly) && basis.is_canonical(&far));
    }
}

#[test]
fn signed_words_are_reduced() {
    for n in [16, 256] {
        for basis in all_bases(n) {
            let p = basis.moduli().next().unwrap().value() as i64;
            let corners = [0, 1, -1, i64::MAX, i64::MIN, i64::MIN + 1, p, -p, p - 1, 1 - p, p + 1, -p - 1, 2 * p];
            let coefficients: Vec<i64> = corners.into_iter().cycle().take(n).collect();
            let poly = basis.from_signed(&coefficients);
            assert!(basis.is_canonical(&poly));
            for (p, limb) in basis.moduli().zip(poly.limbs()) {
                let expected = coefficients.iter().map(|x| i128::from(*x).rem_euclid(p.value().into()) as u64);
                assert!(expected.eq(limb.iter().copied()), "modulo {p}");
            }
        }
    }
}

/// Word by word, as the documentation says; and the stream goes on behind the last word that was needed.
#[test]
fn uniform_polynomials_follow_the_stream() {
    let seed = PublicSeed([3; 32]);
    for n in [16, 1024] {
        for basis in all_bases(n) {
            let mut stream = MaskStream::new(&seed, 9);
            let given = basis.uniform(&mut stream);
            let mut words = MaskStream::new(&seed, 9);
            let mut next = || {
                let mut word = [0];
                words.fill_u64(&mut word);
                word[0]
            };
            let mut expected = Vec::new();
            for p in basis.moduli() {
                let draw = |_| std::iter::repeat_with(&mut next).map(|w| w % (1 << p.bits())).find(|&w| w < p.value());
                expected.extend((0..n).filter_map(draw));
            }
            assert_eq!(given.words(), expected);
            let mut after = [0];
            stream.fill_u64(&mut after);
            assert_eq!(after[0], next());
        }
    }
}

/// Every residue of a small prime about as often: a χ² of 96 degrees of freedom, which exceeds 170 once in 2^17 runs.
#[test]
fn uniform_polynomials_are_uniform() {
    let n = PolynomialSize::new(16).unwrap();
    let basis = RnsBasis::new(n, &[97], Isa::best()).unwrap();
    let fresh = PublicSeed::from_os().unwrap();
    for seed in [PublicSeed([1; 32]), fresh] {
        let mut counts = [0u32; 97];
        let mut stream = MaskStream::new(&seed, 0);
        for _ in 0..6000 {
            basis.uniform(&mut stream).words().iter().for_each(|&x| counts[x as usize] += 1);
        }
        let mean = 6000.0 * 16.0 / 97.0;
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - mean).powi(2) / mean).sum();
        assert!(chi2 < 170.0, "χ² = {chi2}, seed {seed:?}");
    }
}

#[test]
fn arithmetic_is_that_of_integers() {
    for n in [16, 64] {
        for basis in all_bases(n) {
            let (a, b, c) = (polynomial(&basis, 1), polynomial(&basis, 2), polynomial(&basis, 3));
            let [x, y, z] = [&a, &b, &c].map(|poly| integers(&basis, poly));
            let pairs = || x.iter().zip(&y);

            let mut sum = a.clone();
            basis.add_assign(&mut sum, &b);
            assert_eq!(sum, from_integers(&basis, &pairs().map(|(x, y)| x + y).collect::<Vec<_>>()));
            let mut difference = a.clone();
            basis.sub_assign(&mut difference, &b);
            assert_eq!(difference, from_integers(&basis, &pairs().map(|(x, y)| x - y).collect::<Vec<_>>()));
            let mut negative = a.clone();
            basis.negate(&mut negative);
            assert_eq!(negative, from_integers(&basis, &x.iter().map(|x| -x).collect::<Vec<_>>()));
            let factor = BigInt::from(basis.product()) / 3 + 12345;
            let mut multiple = a.clone();
            basis.multiply_scalar(&mut multiple, &basis.residues(&factor));
            assert_eq!(multiple, from_integers(&basis, &x.iter().map(|x| x * &factor).collect::<Vec<_>>()));

            let [fa, fb, fc] = [&a, &b, &c].map(|poly| basis.forward(poly.clone()));
            assert_eq!(basis.inverse(fa.clone()), a);
            let mut product = fa.clone();
            basis.multiply(&mut product, &fb);
            let expected = negacyclic(&x, &y);
            assert_eq!(basis.inverse(product), from_integers(&basis, &expected));
            let mut accumulated = fc;
            basis.multiply_accumulate(&mut accumulated, &fa, &fb);
            let expected: Vec<BigInt> = expected.iter().zip(&z).map(|(xy, z)| xy + z).collect();
            assert_eq!(basis.inverse(accumulated), from_integers(&basis, &expected));
        }
    }
}

#[test]
fn inverses_exist_for_units_only() {
    for basis in all_bases(16) {
        let (q, p) = (BigInt::from(basis.product()), basis.moduli().last().unwrap().value());
        for x in [BigInt::from(1), BigInt::from(-5), &q / 2, &q + 2] {
            let inverses = basis.inverse_residues(&x).expect("a unit");
            let products = basis.moduli().zip(basis.residues(&x)).zip(inverses).map(|((p, x), y)| p.mul(x, y));
            assert!(products.into_iter().all(|one| one == 1));
        }
        for x in [BigInt::ZERO, BigInt::from(p), q.clone(), -q] {
            assert_eq!(basis.inverse_residues(&x), None);
        }
    }
}

#[test]
fn automorphisms_and_monomials_move_coefficients() {
    for n in [16, 128] {
        for basis in all_bases(n) {
            let poly = polynomial(&basis, 4);
            let x = integers(&basis, &poly);
            // X^e at place e modulo N, with the sign of X^N = −1.
            let moved = |place: &dyn Fn(usize) -> usize| {
                let mut out = vec![BigInt::ZERO; n];
                for (j, x) in x.iter().enumerate() {
                    let e = place(j) % (2 * n);
                    out[e % n] = if e < n { x.clone() } else { -x };
                }
                from_integers(&basis, &out)
            };
            for g in [1, 3, 5, n - 1, n + 1, 2 * n - 1] {
                assert_eq!(basis.automorphism(&poly, g), moved(&|j| g * j), "g = {g}");
            }
            for e in [0, 1, 7, n - 1, n, n + 1, 2 * n - 1, 2 * n, 5 * n + 3] {
                assert_eq!(basis.multiply_monomial(&poly, e), moved(&|j| e + j), "e = {e}");
            }
        }
    }
}

#[test]
fn bases_are_cut_and_joined() {
    let all = basis(64, &[46, 50, 60, 62], 0, Isa::best());
    let (head, tail) = (all.slice(0..1), all.slice(1..4));
    assert_eq!((head.len(), tail.len(), all.len()), (1, 3, 4));
    assert!(head.join(&tail).moduli().eq(all.moduli()));
    assert_eq!(head.product() * tail.product(), all.product());
    assert!((all.log2() - all.product().bits() as f64).abs() < 1.0);
    let poly = polynomial(&all, 0);
    assert!(all.is_canonical(&poly) && !tail.is_canonical(&poly));
    let mut cut = poly.clone();
    cut.truncate(1);
    assert!(head.is_canonical(&cut));
    cut.limb_mut(0)[63] = head.moduli().next().unwrap().value();
    assert!(!head.is_canonical(&cut));
}

#[test]
fn moduli_without_arithmetic_are_refused() {
    let n = PolynomialSize::new(64).unwrap();
    let p = basis(64, &[40], 0, Isa::Portable).moduli().next().unwrap().value();
    let new = |moduli: &[u64]| RnsBasis::new(n, moduli, Isa::Portable).map(|_| ());
    assert_eq!(new(&[]), Err(RnsBasisError::Empty));
    assert_eq!(new(&[p, p]), Err(RnsBasisError::Repeated { modulus: p }));
    for bad in [0, 1, 2, 7, p + 2, p + 128, 1 << 62, u64::MAX] {
        assert!(matches!(new(&[p, bad]), Err(RnsBasisError::Ntt(_))), "modulus {bad}");
    }
    if let Some(missing) = Isa::ALL.into_iter().find(|isa| !isa.is_available()) {
        assert!(RnsBasis::new(n, &[p], missing).is_err());
    }
}

proptest! {
    #[test]
    fn any_coefficients_compose(seed in any::<u64>(), shape in 0..LENGTHS.len(), place in 0usize..256) {
        for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
            let basis = basis(256, LENGTHS[shape], 0, isa);
            let poly = polynomial(&basis, seed);
            let x = basis.compose(&poly, place);
            let residues: Vec<u64> = poly.limbs().map(|limb| limb[place]).collect();
            prop_assert_eq!(basis.residues(&x), residues);
            prop_assert!(x.magnitude() * 2u32 < basis.product());
        }
    }
}
