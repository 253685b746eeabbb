//! Encoders against their definitions.

use crate::evaluation_support::{LIMBS, product, set, substituted, sum};
use crate::support::{INSECURE, context, plaintext, rng};
use ciphermill_bfv::encoding::BatchEncoder;
use ciphermill_bfv::{BfvError, Context};
use ciphermill_math::{Isa, Modulus};
use proptest::prelude::*;

fn small(n: usize, t: u64, isa: Isa) -> Context {
    Context::new(&set(n, &[62], &[], t, LIMBS), isa).expect("an available path")
}

#[test]
fn integers_are_taken_modulo_t_in_their_whole_range() {
    for t in [2, 3, 4, 97, 256, (1 << 59) - 1, 1 << 58] {
        let context = small(16, t, Isa::current());
        let (min, max) = (-((t / 2) as i64), ((t - 1) / 2) as i64);
        let values = [0, max, min, 0.max(max - 1), (min + 1).min(0), 0, max.min(1), min.max(-1)];
        let encoded = context.encode(&values).expect("in range");
        assert_eq!(encoded.coefficients().len(), 16);
        for (&c, &x) in encoded.coefficients().iter().zip(&values) {
            assert_eq!(i128::from(c), i128::from(x).rem_euclid(i128::from(t)), "{x} modulo {t}");
        }
        assert_eq!(context.decode(&encoded)[..8], values, "modulo {t}");
        assert!(context.decode(&encoded)[8..].iter().all(|&x| x == 0));
        for x in [min - 1, max + 1, i64::MIN, i64::MAX] {
            let error = context.encode(&[0, x]).expect_err("out of range");
            let expected = (i128::from(x), i128::from(min), i128::from(max));
            assert!(
                matches!(error, BfvError::Range { given, min, max, .. } if (given, min, max) == expected),
                "{error}"
            );
            assert!(context.encode_reversed(&[x]).is_err());
        }
        assert!(matches!(context.encode(&[0; 17]), Err(BfvError::Range { given: 17, min: 0, max: 16, .. })));
        assert!(matches!(context.plaintext(vec![0; 15]), Err(BfvError::Length { given: 15, expected: 16, .. })));
        assert!(matches!(context.plaintext(vec![0; 17]), Err(BfvError::Length { given: 17, expected: 16, .. })));
        let mut beyond = vec![0; 16];
        beyond[7] = t;
        assert!(matches!(context.plaintext(beyond), Err(BfvError::Range { .. })));
        assert_eq!(context.plaintext(vec![t - 1; 16]).expect("below t").coefficients(), [t - 1; 16]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The constant coefficient of a reversed vector times a vector is their dot product.
    #[test]
    fn reversed_vectors_make_dot_products(
        t in 2u64..1 << 40,
        lhs in proptest::collection::vec(any::<i64>(), 0..=32),
        rhs in proptest::collection::vec(any::<i64>(), 0..=32),
    ) {
        let context = small(32, t, Isa::current());
        let into_range = |x: &i64| (i128::from(*x).rem_euclid(i128::from(t)) - i128::from(t / 2)) as i64;
        let [lhs, rhs]: [Vec<i64>; 2] = [lhs, rhs].map(|x| x.iter().map(into_range).collect());
        let reversed = context.encode_reversed(&lhs).expect("in range");
        let vector = context.encode(&rhs).expect("in range");
        let dot: i128 = lhs.iter().zip(&rhs).map(|(&x, &y)| i128::from(x) * i128::from(y) % i128::from(t)).sum();
        let got = product(t, reversed.coefficients(), vector.coefficients())[0];
        prop_assert_eq!(i128::from(got), dot.rem_euclid(i128::from(t)));
    }
}

/// m(x) modulo t.
fn evaluate(t: Modulus, coefficients: &[u64], x: u64) -> u64 {
    coefficients.iter().rev().fold(0, |sum, &c| t.add(t.mul(sum, x), c))
}

/// The least x with x^N = −1, by trying them all.
fn least_root(t: Modulus, n: usize) -> u64 {
    (2..).find(|&x| t.pow(x, n as u64) == t.value() - 1).expect("a root")
}

/// Slot i of row 0 is the value at ζ^(3^i), of row 1 at its inverse, for the least primitive 2N-th root of unity ζ.
#[test]
fn slots_are_the_values_at_powers_of_the_least_root() {
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        for (n, t) in [(16, 97), (16, 193), (32, 193), (64, 12289), (512, 12289), (1024, 65537)] {
            let context = small(n, t, isa);
            let encoder = BatchEncoder::new(&context).expect("a set with slots");
            assert_eq!(encoder.columns(), n / 2);
            let message = plaintext(&context, &mut rng(n as u8));
            let slots = encoder.decode(&message);
            let t = Modulus::new(t).expect("a prime");
            let mut root = least_root(t, n);
            for column in 0..n / 2 {
                let inverse = t.inverse(root).expect("not 0");
                for (row, x) in [root, inverse].into_iter().enumerate() {
                    let value = evaluate(t, message.coefficients(), x);
                    let slot = slots[row * n / 2 + column];
                    assert_eq!(t.reduce_signed(slot), value, "row {row}, column {column}, N = {n}, {isa}");
                    assert!((-((t.value() / 2) as i64)..=(t.value() / 2) as i64).contains(&slot));
                }
                root = t.pow(root, 3);
            }
            assert!(encoder.encode(&slots).expect("in range") == message, "N = {n}, {isa}");
        }
    }
}

#[test]
fn slots_add_multiply_rotate_and_swap_on_plaintexts() {
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let (n, t) = (64usize, 12289u64);
        let context = small(n, t, isa);
        let encoder = BatchEncoder::new(&context).expect("a set with slots");
        let [x, y] = [5, 6].map(|byte| plaintext(&context, &mut rng(byte)));
        let [sx, sy] = [&x, &y].map(|x| encoder.decode(x));
        let slots = |coefficients| encoder.decode(&context.plaintext(coefficients).expect("below t"));
        let modulo = |x: i64| {
            let x = x.rem_euclid(t as i64);
            if x > (t as i64 - 1) / 2 { x - t as i64 } else { x }
        };
        let pairs = |f: fn(i64, i64) -> i64| sx.iter().zip(&sy).map(|(&x, &y)| modulo(f(x, y))).collect::<Vec<_>>();
        assert_eq!(slots(sum(t, x.coefficients(), y.coefficients())), pairs(|x, y| x + y));
        assert_eq!(slots(product(t, x.coefficients(), y.coefficients())), pairs(|x, y| x * y));
        let (row, half) = (n as i64 / 2, n / 2);
        for steps in [0, 1, 2, 5, row - 1, row, row + 3, -1, -7, -row, i64::MAX, i64::MIN] {
            let rotated = slots(substituted(t, x.coefficients(), encoder.rotation(steps), 0));
            for (i, &value) in rotated.iter().enumerate() {
                let from = (i128::from(steps) + (i % half) as i128).rem_euclid(half as i128) as usize;
                assert_eq!(value, sx[i / half * half + from], "{steps} steps, slot {i}");
            }
        }
        let swapped = slots(substituted(t, x.coefficients(), encoder.row_swap(), 0));
        assert_eq!((&swapped[..half], &swapped[half..]), (&sx[half..], &sx[..half]));
        assert_eq!(encoder.rotation(0), 1);
        assert_eq!(encoder.rotation(1), 3);
    }
}

#[test]
fn fewer_values_leave_zeros_and_more_are_refused() {
    let context = context("BFV_4096");
    let encoder = BatchEncoder::new(&context).expect("a set with slots");
    let encoded = encoder.encode(&[5, -6, 7]).expect("in range");
    let slots = encoder.decode(&encoded);
    assert_eq!(slots[..3], [5, -6, 7]);
    assert!(slots[3..].iter().all(|&x| x == 0));
    assert!(matches!(encoder.encode(&[0; 4097]), Err(BfvError::Range { given: 4097, .. })));
    assert!(matches!(encoder.encode(&[0, 516_097]), Err(BfvError::Range { given: 516_097, .. })));
    assert!(encoder.encode(&vec![-516_096; 4096]).is_ok());
}

#[test]
fn sets_without_slots_are_refused() {
    // Not a prime, not 1 modulo 2N, a prime power that is 1 modulo 2N, and the paper's power of two.
    let small = [4, 101, 289].map(|t| small(16, t, Isa::current()));
    let paper = ciphermill_bfv::ParameterSet::named("CHAM_PAPER", INSECURE).expect("a named set");
    let paper = Context::new(&paper, Isa::current()).expect("tables");
    for context in small.iter().chain([&paper]) {
        let error = BatchEncoder::new(context).expect_err("no slots");
        assert!(matches!(error, BfvError::Unsupported { .. }) && error.to_string().contains("slots"), "{error}");
    }
}
