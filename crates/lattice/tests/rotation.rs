//! Rotation and torus conversions against their definitions.

use ciphermill_lattice::rotate::{ModularRotatedDifference, RotatedDifference, reference, rotate_into};
use ciphermill_lattice::{Csprng, PolynomialSize, SecretSeed, Torus, sampler};
use ciphermill_math::goldilocks::MODULUS as P;
use ciphermill_math::{CoefficientSource, Isa};
use proptest::prelude::*;

fn polynomial<T: Torus>(n: usize, stream: u64) -> Vec<T> {
    let mut out = vec![T::ZERO; n];
    sampler::uniform(&mut Csprng::from_secret(&SecretSeed::from_bytes([5; 32]), stream), &mut out);
    out
}

/// Multiplication by X, once: the definition that the reference itself must meet.
fn times_x<T: Torus>(src: &[T]) -> Vec<T> {
    let (last, head) = src.split_last().unwrap();
    [last.wrapping_neg()].into_iter().chain(head.iter().copied()).collect()
}

/// Reads a source in blocks of `step`.
fn read_all<T: Copy + Default>(source: &impl CoefficientSource<T>, step: usize) -> Vec<T> {
    let mut out = vec![T::default(); source.len()];
    for (i, part) in out.chunks_mut(step).enumerate() {
        source.read(i * step, part);
    }
    out
}

fn check<T: Torus>(poly: &[T], exponent: usize, step: usize) {
    let expected = reference::rotate(poly, exponent);
    let difference: Vec<T> = expected.iter().zip(poly).map(|(r, p)| r.wrapping_sub(*p)).collect();
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let mut out = vec![T::ZERO; poly.len()];
        rotate_into(isa, poly, exponent, &mut out);
        assert!(out == expected, "{isa}, exponent {exponent}");
        let source = RotatedDifference::new(isa, poly, exponent);
        assert!(read_all(&source, step) == difference, "{isa}, exponent {exponent}, step {step}");
    }
}

fn check_modular(poly: &[u64], exponent: usize, step: usize) {
    let n = poly.len();
    let p = i128::from(P);
    let expected: Vec<u64> = (0..n)
        .map(|i| {
            let from = (i + 2 * n - exponent) % (2 * n);
            let rotated = if from < n { i128::from(poly[from]) } else { -i128::from(poly[from - n]) };
            (rotated - i128::from(poly[i])).rem_euclid(p) as u64
        })
        .collect();
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let source = ModularRotatedDifference::new(isa, poly, exponent);
        assert!(read_all(&source, step) == expected, "{isa}, exponent {exponent}, step {step}");
    }
}

#[test]
fn the_reference_is_repeated_multiplication_by_x() {
    let poly = polynomial::<u64>(16, 0);
    let mut power = poly.clone();
    for exponent in 0..=64 {
        assert_eq!(reference::rotate(&poly, exponent), power, "X^{exponent}");
        power = times_x(&power);
    }
}

#[test]
fn every_exponent_and_step_of_a_small_size() {
    let (poly, narrow) = (polynomial::<u64>(32, 1), polynomial::<u32>(32, 2));
    let mut residues: Vec<u64> = poly.iter().map(|x| x % P).collect();
    residues[..3].copy_from_slice(&[0, 1, P - 1]);
    for exponent in 0..64 {
        for step in 1..=32 {
            check(&poly, exponent, step);
            check(&narrow, exponent, step);
            check_modular(&residues, exponent, step);
        }
    }
}

#[test]
fn full_size() {
    let (poly, narrow) = (polynomial::<u64>(16384, 3), polynomial::<u32>(16384, 4));
    let residues: Vec<u64> = poly.iter().map(|x| x % P).collect();
    for exponent in [0, 1, 7, 8191, 16383, 16384, 16385, 20001, 32767] {
        for step in [16384, 1024, 37] {
            check(&poly, exponent, step);
            check(&narrow, exponent, step);
            check_modular(&residues, exponent, step);
        }
    }
}

#[test]
fn polynomial_sizes() {
    for n in 0..=(1usize << 18) {
        let valid = (4..=17).any(|k| n == 1 << k);
        assert_eq!(PolynomialSize::try_from(n).is_ok(), valid, "{n}");
    }
    let size = PolynomialSize::new(16384).unwrap();
    assert_eq!((size.get(), size.log2(), usize::from(size)), (16384, 14, 16384));
    assert!(PolynomialSize::new(100).unwrap_err().to_string().contains("100; use a power of two from 16 to 131072"));
}

#[test]
fn torus_conversions_at_the_edges() {
    assert_eq!((u32::from_f64_torus(0.5), u64::from_f64_torus(0.5)), (1 << 31, 1 << 63));
    assert_eq!((u32::from_f64_torus(-0.25), u64::from_f64_torus(1.75)), (3 << 30, 3 << 62));
    assert_eq!((u32::from_f64_torus(f64::NAN), u64::from_f64_torus(f64::INFINITY)), (0, 0));
    // The largest f64 below 1/2 lies above the largest signed u32: it wraps to −1/2 = 1/2.
    assert_eq!(u32::from_f64_torus(0.5 - 2f64.powi(-54)), 1 << 31);
    assert_eq!((u32::MAX.to_f64_signed(), (1u64 << 63).to_f64_signed()), (-2f64.powi(-32), -0.5));
    // Rounds the halves upward, and around the whole torus.
    assert_eq!(
        (u32::from_u64_msb(0x7fff_ffff), u32::from_u64_msb(0x8000_0000), u32::from_u64_msb(u64::MAX)),
        (0, 1, 0)
    );
}

proptest! {
    #[test]
    fn torus_conversions(x: u32, y: u64, k: i64) {
        prop_assert_eq!(u32::from_f64_torus(x.to_f64_signed()), x);
        prop_assert_eq!(u32::from_u64_msb(x.to_u64_msb()), x);
        prop_assert_eq!(u64::from_u64_msb(y.to_u64_msb()), y);
        prop_assert_eq!(u32::from_signed_i64(x.to_signed_i64()), x);
        prop_assert_eq!(u64::from_signed_i64(y.to_signed_i64()), y);
        // 53 of 64 bits survive the way through f64.
        prop_assert!(u64::from_f64_torus(y.to_f64_signed()).wrapping_sub(y).to_signed_i64().abs() <= 512);
        prop_assert!((u32::from_u64_msb(y).to_u64_msb()).wrapping_sub(y).to_signed_i64().abs() <= 1 << 31);
        prop_assert_eq!(Torus::wrapping_mul_i64(x, k), (i128::from(x) * i128::from(k)).rem_euclid(1 << 32) as u32);
        prop_assert_eq!(
            Torus::wrapping_mul_i64(y, k),
            (i128::from(y).wrapping_mul(i128::from(k))).rem_euclid(1i128 << 64) as u64
        );
    }
}
