//! Products by the transform against exact schoolbook products, within the stated error.

use ciphermill_math::Isa;
use ciphermill_math::fft::{FftEngine, SpectrumBuffer, TorusFft, reference, rounding_error_bound, rounding_error_std};

use crate::fft_support::{Random, paths, sizes};

type Rows = Vec<(Vec<i64>, Vec<i64>)>;

fn spectrum_of_product(fft: &TorusFft, rows: &Rows) -> SpectrumBuffer {
    let n = fft.polynomial_size();
    let (mut lhs, mut rhs) = (vec![0.0; n * rows.len()], vec![0.0; n * rows.len()]);
    for (row, (l, r)) in rows.iter().enumerate() {
        fft.forward(l, &mut lhs[row * n..][..n]);
        fft.forward(r, &mut rhs[row * n..][..n]);
    }
    let mut acc = SpectrumBuffer::zeroed(n);
    fft.multiply_accumulate(&mut acc, &lhs, &rhs);
    acc
}

fn random_rows(random: &mut Random, n: usize, rows: usize, digit_bits: u32, torus_bits: u32) -> Rows {
    (0..rows).map(|_| (random.digits(n, digit_bits), random.digits(n, torus_bits))).collect()
}

#[test]
fn one_coefficient_is_the_product_s() {
    let mut random = Random::fixed();
    let (l, r) = (random.digits(64, 63), random.digits(64, 63));
    let product = reference::negacyclic_product(&l, &r);
    assert!((0..64).all(|k| reference::negacyclic_coefficient(&l, &r, k) == product[k]));
    // X^63 · X^2 = -X.
    let monomial = |j: usize| (0..64).map(|k| i64::from(k == j)).collect::<Vec<_>>();
    let product = reference::negacyclic_product(&monomial(63), &monomial(2));
    assert!((0..64).all(|k| product[k] == if k == 1 { u64::MAX } else { 0 }));
}

#[test]
fn small_products_are_exact_and_added_modulo_both_words() {
    let mut random = Random::fresh();
    for n in sizes().filter(|n| *n <= 8192) {
        let rows = random_rows(&mut random, n, 3, 8, 14);
        assert!(rounding_error_bound(n, 3, 256.0) * 2f64.powi(14 - 63) < 0.5, "N = {n}");
        let start: Vec<u64> = (0..n).map(|_| random.word()).collect();
        let mut expected = start.clone();
        for (l, r) in &rows {
            let product = reference::negacyclic_product(l, r);
            expected.iter_mut().zip(product).for_each(|(e, p)| *e = e.wrapping_add(p));
        }
        for isa in paths() {
            let fft = TorusFft::new(n, isa).unwrap();
            let mut out = start.clone();
            fft.inverse_add_u64(&mut spectrum_of_product(&fft, &rows), &mut out);
            assert_eq!(out, expected, "{isa} N = {n}");
            let mut out: Vec<u32> = start.iter().map(|x| *x as u32).collect();
            fft.inverse_add_u32(&mut spectrum_of_product(&fft, &rows), &mut out);
            assert!(out.iter().zip(&expected).all(|(o, e)| *o == *e as u32), "{isa} N = {n}");
        }
    }
}

/// Largest and root-mean-square distance modulo 2^64 from the exact coefficients at `positions`.
fn errors(out: &[u64], exact: &[(usize, u64)]) -> (f64, f64) {
    let error = |&(k, exact): &(usize, u64)| (out[k].wrapping_sub(exact) as i64 as f64).abs();
    let max = exact.iter().map(error).fold(0.0, f64::max);
    (max, (exact.iter().map(|e| error(e).powi(2)).sum::<f64>() / exact.len() as f64).sqrt())
}

#[test]
fn torus_products_keep_the_stated_error() {
    let mut random = Random::fresh();
    let rows_count = 2;
    for n in sizes() {
        for bits in [1, 8] {
            let rows = random_rows(&mut random, n, rows_count, bits, 63);
            let exact: Vec<(usize, u64)> = (0..n)
                .step_by((n / 512).max(1))
                .map(|k| k + random.word() as usize % (n / 512).max(1))
                .map(|k| {
                    (k, rows.iter().map(|(l, r)| reference::negacyclic_coefficient(l, r, k)).fold(0, u64::wrapping_add))
                })
                .collect();
            let bound = rounding_error_bound(n, rows_count, 2f64.powi(bits as i32)) + 0.5;
            let digit_std = 2f64.powi(bits as i32) / 3f64.sqrt();
            let std = rounding_error_std(n, rows_count, digit_std, 2f64.powi(63) / 3f64.sqrt());
            for isa in paths() {
                let fft = TorusFft::new(n, isa).unwrap();
                let mut out = vec![0u64; n];
                fft.inverse_add_u64(&mut spectrum_of_product(&fft, &rows), &mut out);
                let (max, rms) = errors(&out, &exact);
                println!(
                    "{isa:?} N = {n} digits 2^{bits}: max 2^{:.1}, bound 2^{:.1}; rms 2^{:.1}, expected 2^{:.1}",
                    max.log2(),
                    bound.log2(),
                    rms.log2(),
                    std.log2()
                );
                assert!(max <= bound, "{isa} N = {n}");
                assert!(max <= 8.0 * std, "{isa} N = {n}: max {max}, expected rms {std}");
                // Sixteen coefficients scatter; from 512 on the estimate must hold within a factor of two.
                let slack = if n < 512 { 3.0 } else { 2.0 };
                assert!(rms < slack * std && rms > std / slack, "{isa} N = {n}: rms {rms}, expected {std}");
            }
        }
    }
}

#[test]
fn inputs_that_add_up_keep_the_bound() {
    // Magnitudes at their limits and signs in step, so that nothing averages out: sums as large as N · 2^(63 + bits).
    let bits = 8;
    type IsPositive = fn(usize, usize) -> bool;
    let signs: [(&str, IsPositive); 4] = [
        ("constant", |_, _| false),
        ("alternating", |j, _| j % 2 == 1),
        ("half", |j, n| j >= n / 2),
        ("pairs", |j, _| j / 2 % 2 == 1),
    ];
    for n in sizes() {
        let digits = |sign: IsPositive| -> Vec<i64> {
            (0..n).map(|j| if sign(j, n) { 1 << bits } else { -1 << bits }).collect()
        };
        let torus = |sign: IsPositive| -> Vec<i64> {
            (0..n).map(|j| if sign(j, n) { i64::MAX - 0x1234_5678 } else { i64::MIN + 0x0765_4321 }).collect()
        };
        for (name, sign) in signs {
            let rows = vec![(digits(sign), torus(sign)), (digits(signs[0].1), torus(sign))];
            let exact: Vec<(usize, u64)> = (0..8)
                .map(|k| k * (n - 1) / 7)
                .map(|k| {
                    (k, rows.iter().map(|(l, r)| reference::negacyclic_coefficient(l, r, k)).fold(0, u64::wrapping_add))
                })
                .collect();
            let bound = rounding_error_bound(n, rows.len(), 2f64.powi(bits)) + 0.5;
            assert!(bound < 2f64.powi(62), "the bound must be far below a turn");
            for isa in paths() {
                let fft = TorusFft::new(n, isa).unwrap();
                let mut out = vec![0u64; n];
                fft.inverse_add_u64(&mut spectrum_of_product(&fft, &rows), &mut out);
                let (max, _) = errors(&out, &exact);
                assert!(max <= bound, "{isa} N = {n} {name}: 2^{:.1}, bound 2^{:.1}", max.log2(), bound.log2());
            }
        }
    }
}

#[test]
fn large_values_are_reduced_and_halves_rounded_to_even() {
    // A spectrum of constant polynomials: every value is the constant, so the inverse is exact.
    let constant = |fft: &TorusFft, value: f64| {
        let n = fft.polynomial_size();
        let mut one = vec![0i64; n];
        one[0] = 1;
        let mut spectrum = SpectrumBuffer::zeroed(n);
        fft.forward(&one, &mut spectrum);
        spectrum.iter_mut().for_each(|x| *x *= value);
        spectrum
    };
    let two = |exponent| 2f64.powi(exponent);
    let cases: [(f64, u64); 14] = [
        (0.0, 0),
        (1.0, 1),
        (-1.0, u64::MAX),
        (0.5, 0),
        (1.5, 2),
        (-2.5, 2u64.wrapping_neg()),
        (two(31) + 0.5, 1 << 31),
        (two(63), 1 << 63),
        (-two(63), 1 << 63),
        (two(64) + two(20), 1 << 20),
        (-two(64) + two(40), 1 << 40),
        (3.0 * two(80) + two(50), 1 << 50),
        (two(115) + two(63), 1 << 63),
        (two(1000), 0),
    ];
    for isa in paths() {
        for n in sizes() {
            let fft = TorusFft::new(n, isa).unwrap();
            for (value, expected) in cases {
                let mut out = vec![7u64; n];
                fft.inverse_add_u64(&mut constant(&fft, value), &mut out);
                assert_eq!(out[0], expected.wrapping_add(7), "{isa} N = {n}: {value}");
                let mut out = vec![7u32; n];
                fft.inverse_add_u32(&mut constant(&fft, value), &mut out);
                assert_eq!(out[0], (expected as u32).wrapping_add(7), "{isa} N = {n}: {value} to 32 bits");
            }
        }
    }
}

#[test]
fn no_rows_change_nothing() {
    let fft = TorusFft::new(64, Isa::best()).unwrap();
    let mut acc = vec![1.5; 64];
    fft.multiply_accumulate(&mut acc, &[], &[]);
    assert!(acc.iter().all(|x| *x == 1.5));
}
