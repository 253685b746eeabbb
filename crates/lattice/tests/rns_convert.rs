//! Conversion, division and scaling between residue number systems, against integers.

mod rns_support;

use ciphermill_lattice::rns::{BaseConverter, ModDown, RnsBasis, ScaleAndRound, ScaleToBasis};
use ciphermill_math::Isa;
use num_bigint::BigInt;
use rns_support::{basis, exactly_rounded, polynomial, put, rounded};

const SIZES: [usize; 3] = [16, 256, 4096];

/// Coefficients to compare: all corners and a few others, as composing them takes its time.
fn places(n: usize) -> impl Iterator<Item = usize> {
    (0..16).chain((16..n).step_by(n / 16))
}

/// Every case with primes of several lengths, among them those of one digit and those longer than a float.
fn bases(n: usize, isa: Isa) -> Vec<(RnsBasis, RnsBasis)> {
    let cases: [(&[u32], &[u32]); 8] = [
        (&[45], &[45]),
        (&[30], &[62, 45, 20]),
        (&[62], &[62, 61, 31, 20]),
        (&[45, 46], &[47]),
        (&[50, 51, 62], &[60, 49]),
        (&[62, 62, 62, 62], &[62, 62, 62, 62, 62]),
        (&[30, 31, 40, 50, 60, 62], &[62, 61, 50, 41, 31, 30]),
        (&[46, 46, 46, 46, 46, 46], &[46]),
    ];
    cases.iter().map(|(from, to)| (basis(n, from, 0, isa), basis(n, to, 6, isa))).collect()
}

#[test]
fn conversion_takes_the_centred_integer() {
    for isa in Isa::available() {
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
    for isa in Isa::available() {
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
    for isa in Isa::available() {
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
    for isa in Isa::available() {
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

/// What is within the margin of a half may go either way, and is not off by more; what is outside goes the right way.
#[test]
fn the_margin_at_a_half_is_as_documented() {
    let n = 64;
    for isa in Isa::available() {
        let (from, to) = (basis(n, &[62; 6], 0, isa), basis(n, &[62; 6], 6, isa));
        let q = BigInt::from(from.product());
        let half = &q / 2;
        for outside in [true, false] {
            let mut poly = from.zero();
            let mut wanted = Vec::new();
            for i in 0..n {
                // From Q/2 down by a little more than Q·2^-50, or less and less than that.
                let distance = if outside { (&q >> 50) + 1 + i } else { &q >> (50 + 4 * i) };
                let x = if i % 2 == 0 { &half - distance } else { distance - &half };
                put(&from, &mut poly, i, &x);
                wanted.push(x);
            }
            let converted = BaseConverter::new(&from, &to).convert(&poly);
            for (i, x) in wanted.iter().enumerate() {
                let given: Vec<u64> = converted.limbs().map(|limb| limb[i]).collect();
                let right = given == to.residues(x);
                let near = given == to.residues(&(x + &q)) || given == to.residues(&(x - &q));
                assert!(right || !outside && near, "{isa}, coefficient {i}");
            }
        }
    }
}
