//! Both rings at every size in use, on every path: extreme operands and long chains of products.

use ciphermill_bigint::reference::big;
use ciphermill_bigint::{BigIntError, IntegerBatch, MAX_ENTRY_RATIO, OddModulus, Path, limbs};
use ciphermill_testing::available;
use num_bigint::BigUint;

fn limbs_of(value: &BigUint, width: usize) -> Vec<u64> {
    let mut limbs = value.to_u64_digits();
    limbs.resize(width, 0);
    limbs
}

fn words(count: usize, seed: u64) -> Vec<u64> {
    let word =
        |i: u64| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (0..count as u64).map(word).collect()
}

/// 2^bits − 1, 2^(bits−1) + 1 and one without a pattern.
fn moduli(bits: u32) -> [BigUint; 3] {
    let one = BigUint::from(1u32);
    let mut pattern = big(&words(limbs::limbs_for(bits), u64::from(bits))) & ((&one << bits) - 1u32);
    pattern.set_bit(0, true);
    pattern.set_bit(u64::from(bits) - 1, true);
    [(&one << bits) - 1u32, (&one << (bits - 1)) + 1u32, pattern]
}

fn check(ring: &OddModulus, n: &BigUint, steps: usize) {
    let modulus = big(ring.value());
    let size = limbs::limbs_for(n.bits() as u32);
    let width = MAX_ENTRY_RATIO * size;
    let context = format!("{} bits, {}, square {}", n.bits(), ring.path(), ring.root().is_some());
    let wide = (BigUint::from(1u32) << (64 * width)) - 1u32;
    let mut values = vec![
        BigUint::ZERO,
        BigUint::from(1u32),
        &modulus - 1u32,
        modulus.clone(),
        n - 1u32,
        n.clone(),
        n * 2u32 - 1u32,
        wide,
    ];
    values.extend((0..3).map(|i| big(&words(width, i))));
    let rows: Vec<u64> = values.iter().flat_map(|value| limbs_of(value, width)).collect();
    let mut x = ring.enter(&IntegerBatch::from_words(width, rows)).unwrap();
    let expect = |got: &IntegerBatch, values: &[BigUint], what: &str| {
        assert_eq!(got.len(), values.len(), "{what}, {context}");
        for (i, (row, value)) in got.rows().zip(values).enumerate() {
            assert!(big(row) == value % &modulus, "{what}, row {i}, {context}");
        }
    };
    expect(&ring.leave(&x), &values, "enter");
    // A chain: what a kernel returns, not reduced, is its next operand.
    let places: Vec<usize> = (0..values.len()).rev().collect();
    let (y, others) = (ring.gather(&x, &places), values.iter().rev().cloned().collect::<Vec<_>>());
    expect(&ring.leave(&y), &others, "gather");
    for step in 0..steps {
        x = ring.multiply(&x, &y).unwrap();
        x = ring.square(&x);
        for (value, other) in values.iter_mut().zip(&others) {
            *value = &*value * other % &modulus;
            *value = &*value * &*value % &modulus;
        }
        if step % 8 == 7 || step + 1 == steps {
            expect(&ring.leave(&x), &values, "chain");
        }
    }
    if ring.root().is_some() {
        let m: Vec<BigUint> =
            (0..values.len()).map(|i| if i % 4 == 0 { n - 1u32 } else { big(&words(size, i as u64)) % n }).collect();
        let rows: Vec<u64> = m.iter().flat_map(|m| limbs_of(m, size)).collect();
        // Twice, as it takes what it returns.
        for _ in 0..2 {
            x = ring.multiply_unit(&x, &IntegerBatch::from_words(size, Vec::clone(&rows))).unwrap();
            for (value, m) in values.iter_mut().zip(&m) {
                *value = &*value * (m * n + 1u32) % &modulus;
            }
        }
        expect(&ring.leave(&ring.square(&x)), &values.iter().map(|v| v * v).collect::<Vec<_>>(), "multiply_unit");
        let (low, high) = ring.leave_parts(&x);
        for ((low, high), value) in low.rows().zip(high.rows()).zip(&values) {
            assert!(big(low) == value % n && big(high) == value / n, "parts, {context}");
        }
    }
}

fn check_sizes(sizes: &[u32], square: bool, steps: usize) {
    let paths = available(Path::ALL, |path| path.is_available());
    for n in sizes.iter().flat_map(|&bits| moduli(bits)) {
        let value = limbs::to_uint(&n.to_u64_digits());
        for &path in &paths {
            let ring = if square { OddModulus::square_of(&value, path) } else { OddModulus::new(&value, path) };
            check(&ring.unwrap(), &n, steps);
        }
    }
}

#[test]
fn plain_ring_at_small_sizes() {
    check_sizes(&[256, 257, 319, 509, 512, 513, 515, 776, 1024, 1030, 1035, 1536, 2048], false, 24);
}

#[test]
fn plain_ring_at_large_sizes() {
    check_sizes(&[3072, 4095, 4096, 4155, 6144, 8191, 8192], false, 8);
}

#[test]
fn square_ring_at_small_sizes() {
    check_sizes(&[256, 300, 511, 512, 514, 515, 768, 1024, 1035, 1536], true, 24);
}

#[test]
fn square_ring_at_large_sizes() {
    check_sizes(&[2048, 2075, 3072, 4095, 4096], true, 8);
}

#[test]
fn sizes_beyond_the_bounds_are_refused() {
    for (bits, square) in [(255, false), (8193, false), (255, true), (4097, true)] {
        let n = limbs::to_uint(&moduli(bits)[0].to_u64_digits());
        let ring = if square { OddModulus::square_of(&n, Path::Portable) } else { OddModulus::new(&n, Path::Portable) };
        assert!(matches!(ring, Err(BigIntError::ModulusBits { .. })), "{bits} bits, square {square}");
    }
}
