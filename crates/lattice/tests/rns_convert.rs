//! Conversion, division and scaling between residue number systems, against integers.

use crate::rns_support::{basis, polynomial, put};
use ciphermill_lattice::rns::{BaseConverter, ModDown, RnsBasis, ScaleAndRound, ScaleToBasis};
use ciphermill_math::Isa;
use num_bigint::{BigInt, BigUint};

const SIZES: [usize; 3] = [16, 256, 4096];

/// Coefficients to compare: all corners and a few others, as composing them takes its time.
fn places(n: usize) -> impl Iterator<Item = usize> {
    (0..16).chain((16..n).step_by(n / 16))
}

/// What ⌊x/m⌉ may be: one integer, or two if x/m is within 2^-50 of a half.
fn rounded(x: &BigInt, m: &BigUint) -> Vec<BigInt> {
    let m = BigInt::from(m.clone());
    let rest: BigInt = ((x % &m) + &m) % &m;
    let down = (x - &rest) / &m;
    // 2·rest/m is 1 for a half.
    let distance: BigInt = &rest * 2 - &m;
    if distance.magnitude() << 49u32 <= *m.magnitude() {
        vec![down.clone(), down + 1]
    } else if distance > BigInt::ZERO {
        vec![down + 1]
    } else {
        vec![down]
    }
}

/// ⌊x/m⌉ for odd m.
fn exactly_rounded(x: &BigInt, m: &BigUint) -> BigInt {
    let m = BigInt::from(m.clone());
    let shifted: BigInt = x + &m / 2;
    let rest = ((&shifted % &m) + &m) % &m;
    (shifted - rest) / m
}

/// Every case with primes of several lengths, among them those of one digit and those longer than a float.
fn bases(n: usize, isa: Isa) -> Vec<(RnsBasis, RnsBasis)> {
    let cases: [(&[u32], &[u32]); 10] = [
        (&[45], &[45]),
        (&[30], &[62, 45, 20]),
        (&[62], &[62, 61, 31, 20]),
        (&[45, 46], &[47]),
        (&[50, 51, 62], &[60, 49]),
        (&[62, 62, 62, 62], &[62, 62, 62, 62, 62]),
        (&[30, 31, 40, 50, 60, 62], &[62, 61, 50, 41, 31, 30]),
        (&[46, 46, 46, 46, 46, 46], &[46]),
        (&[50, 50, 50, 50, 50, 50], &[50, 20]),
        (&[40; 20], &[50, 30]),
    ];
    cases.iter().map(|(from, to)| (basis(n, from, 0, isa), basis(n, to, 6, isa))).collect()
}

#[test]
fn conversion_takes_the_centred_integer() {
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        for n in SIZES {
            for (case, (from, to)) in bases(n, isa).into_iter().enumerate() {
                let poly = polynomial(&from, case as u64);
                let converted = BaseConverter::new(&from, &to).convert(&poly);
                assert!(to.is_canonical(&converted));
                let single = from.len() == 1;
                // In several limbs the corners ±Q/2 are within the margin.
                for i in places(n).filter(|i| single || !(3..7).contains(i)) {
                    let x = from.compose(&poly, i);
                    let residues: Vec<u64> = converted.limbs().map(|limb| limb[i]).collect();
                    assert_eq!(residues, to.residues(&x), "{isa}, N = {n}, case {case}, coefficient {i}");
                }
            }
        }
    }
}

#[test]
fn rounded_division_by_the_last_primes() {
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        for n in SIZES {
            for (case, (drop, keep)) in bases(n, isa).into_iter().enumerate() {
                let all = keep.join(&drop);
                let poly = polynomial(&all, case as u64);
                let quotient = ModDown::new(&keep, &drop).apply(poly.clone());
                assert!(keep.is_canonical(&quotient));
                for i in places(n) {
                    let (x, p) = (all.compose(&poly, i), drop.product());
                    let right = if drop.len() == 1 { vec![exactly_rounded(&x, &p)] } else { rounded(&x, &p) };
                    let residues: Vec<u64> = quotient.limbs().map(|limb| limb[i]).collect();
                    let is_right = right.iter().any(|x| residues == keep.residues(x));
                    assert!(is_right, "{isa}, N = {n}, case {case}, coefficient {i}");
                }
            }
        }
    }
}

#[test]
fn scaling_to_the_plaintext_modulus() {
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        for n in SIZES {
            for (case, (basis, _)) in bases(n, isa).into_iter().enumerate() {
                let first = basis.moduli().next().unwrap().value();
                let mut moduli = vec![2, 3, 65537, 1 << 17, 0x3fff_ffff_ffff, (1 << 60) - 1];
                moduli.extend([Some(first), first.checked_mul(6)].into_iter().flatten().filter(|&t| t < 1 << 60));
                for t in moduli {
                    let poly = polynomial(&basis, case as u64);
                    let scaled = ScaleAndRound::new(&basis, t).apply(&poly);
                    for i in places(n) {
                        let right = rounded(&(basis.compose(&poly, i) * t), &basis.product());
                        let is_right = right.iter().any(|x| (x - scaled[i]) % t == BigInt::ZERO);
                        assert!(scaled[i] < t && is_right, "{isa}, N = {n}, case {case}, t = {t}, coefficient {i}");
                    }
                }
            }
        }
    }
}

#[test]
fn scaling_to_another_basis() {
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        for n in SIZES {
            for (case, (q, b)) in bases(n, isa).into_iter().enumerate() {
                let all = q.join(&b);
                for t in [1, 2, 65537, 1 << 20, (1 << 60) - 1] {
                    let poly = polynomial(&all, case as u64);
                    let scaled = ScaleToBasis::new(&q, &b, t).apply(&poly);
                    assert!(b.is_canonical(&scaled));
                    for i in places(n) {
                        let right = rounded(&(all.compose(&poly, i) * t), &q.product());
                        let residues: Vec<u64> = scaled.limbs().map(|limb| limb[i]).collect();
                        let is_right = right.iter().any(|x| residues == b.residues(x));
                        assert!(is_right, "{isa}, N = {n}, case {case}, t = {t}, coefficient {i}");
                    }
                }
            }
        }
    }
}

/// A value within the margin of a half may go either way, the same on every path; a value outside goes the right way.
#[test]
fn the_margin_at_a_half_is_as_documented() {
    let n = 64;
    for lengths in [&[62; 6][..], &[50; 6], &[40; 20], &[20, 62]] {
        let mut on_all_paths = Vec::new();
        for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
            let (from, to) = (basis(n, lengths, 0, isa), basis(n, &[50, 47, 20], 6, isa));
            let q = BigInt::from(from.product());
            let half: BigInt = &q / 2;
            let mut poly = from.zero();
            let mut wanted = Vec::new();
            for i in 0..n {
                // From Q/2 down by a little more than Q·2^-50, or by less and less than that.
                let distance = if i < n / 2 { (&q >> 50) + 1 + i } else { &q >> (50 + (i - n / 2) / 2) };
                let x = if i % 2 == 0 { &half - distance } else { distance - &half };
                put(&from, &mut poly, i, &x);
                wanted.push(x);
            }
            let converted = BaseConverter::new(&from, &to).convert(&poly);
            for (i, x) in wanted.iter().enumerate() {
                let given: Vec<u64> = converted.limbs().map(|limb| limb[i]).collect();
                let right = given == to.residues(x);
                let near = given == to.residues(&(x + &q)) || given == to.residues(&(x - &q));
                assert!(right || i >= n / 2 && near, "{isa}, coefficient {i}");
            }
            on_all_paths.push(converted);
        }
        assert!(on_all_paths.iter().all(|converted| *converted == on_all_paths[0]), "paths differ");
    }
}

/// Limbs that both bases have are copied, wherever they stand.
#[test]
fn shared_primes_keep_their_residues() {
    let n = 16;
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let all = basis(n, &[40, 50, 62, 61, 45], 0, isa);
        for from in [all.slice(0..1), all.slice(1..2), all.slice(1..3), all.slice(3..5), all.clone()] {
            let poly = from.from_signed(&(0..n as i64).map(|i| (i - 8) << 35).collect::<Vec<_>>());
            let converted = BaseConverter::new(&from, &all).convert(&poly);
            for i in 0..n {
                let residues: Vec<u64> = converted.limbs().map(|limb| limb[i]).collect();
                assert_eq!(residues, all.residues(&from.compose(&poly, i)), "{isa}, coefficient {i}");
            }
        }
    }
}

/// A product of ciphertexts: the tensor's coefficients are products of two integers below Q, N times, and come back from
/// B to Q.
#[test]
fn scaled_products_return_to_the_basis() {
    let n = 64;
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let (q, b) = (basis(n, &[50, 50, 50], 0, isa), basis(n, &[50, 50, 50, 50], 6, isa));
        let all = q.join(&b);
        let t = 65537;
        let extend = BaseConverter::new(&q, &all);
        let (lhs, rhs) = (extend.convert(&polynomial(&q, 1)), extend.convert(&polynomial(&q, 2)));
        let mut product = all.forward(lhs);
        all.multiply(&mut product, &all.forward(rhs));
        let product = all.inverse(product);
        let scaled = BaseConverter::new(&b, &q).convert(&ScaleToBasis::new(&q, &b, t).apply(&product));
        for i in 0..n {
            let right = rounded(&(all.compose(&product, i) * t), &q.product());
            let residues: Vec<u64> = scaled.limbs().map(|limb| limb[i]).collect();
            assert!(right.iter().any(|x| residues == q.residues(x)), "{isa}, coefficient {i}");
        }
    }
}
