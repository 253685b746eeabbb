//! The definitions of the functions of hw/hls, which owe nothing to the sources. Words are in the order of their indices.

use std::collections::BTreeMap;

use ciphermill_math::ntt::reference::bit_reverse;
use num_bigint::BigUint;

use crate::support::Source;

/// The words of each array.
pub(crate) type Arrays = BTreeMap<String, Vec<u64>>;

fn times(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

fn power(base: u64, exponent: u64, q: u64) -> u64 {
    let bits = (0..64).rev().map(|bit| exponent >> bit & 1);
    bits.fold(1, |result, bit| times(times(result, result, q), if bit == 1 { base } else { 1 }, q))
}

/// The value of a polynomial, by Horner's rule.
fn value<'c>(coefficients: impl DoubleEndedIterator<Item = &'c u64>, x: u64, q: u64) -> u64 {
    let add = |sum: u64, &coefficient: &u64| {
        ((u128::from(times(sum, x, q)) + u128::from(coefficient)) % u128::from(q)) as u64
    };
    coefficients.rev().fold(0, add)
}

/// An index of `n` with its bits in the other order.
fn reversed(index: usize, n: usize) -> usize {
    bit_reverse(index, n.ilog2())
}

fn in_reversed_order(words: &[u64]) -> Vec<u64> {
    (0..words.len()).map(|index| words[reversed(index, words.len())]).collect()
}

/// The values of a polynomial at powers of the root of order n, in natural order. The root is a power of the generator 3.
fn cyclic(coefficients: &[u64], q: u64) -> Vec<u64> {
    let n = coefficients.len();
    let root = power(3, (q - 1) / n as u64, q);
    (0..n).map(|index| value(coefficients.iter(), power(root, index as u64, q), q)).collect()
}

/// The values of a polynomial at the odd powers of a root of order 2n, in bit-reversed order.
fn negacyclic(coefficients: &[u64], q: u64) -> Vec<u64> {
    let n = coefficients.len();
    let root = match q {
        // FIPS 204, section 2.5.
        8380417 => 1753,
        _ => power(10, (q - 1) / (2 * n as u64), q),
    };
    assert_eq!(power(root, n as u64, q), q - 1, "a root of order 2n");
    let point = |index: usize| power(root, 2 * reversed(index, n) as u64 + 1, q);
    (0..n).map(|index| value(coefficients.iter(), point(index), q)).collect()
}

/// FIPS 203, section 4.3: the remainders modulo x^2 − 17^(2·brv(i) + 1).
fn kyber(coefficients: &[u64], q: u64) -> Vec<u64> {
    let pairs = coefficients.len() / 2;
    let pair = |index: usize| {
        let point = power(17, 2 * reversed(index, pairs) as u64 + 1, q);
        [0, 1].map(|first| value(coefficients[first..].iter().step_by(2), point, q))
    };
    (0..pairs).flat_map(pair).collect()
}

/// The product of two polynomials modulo x^n − 1, or x^n + 1.
fn convolution(a: &[u64], b: &[u64], q: u64, is_negacyclic: bool) -> Vec<u64> {
    let n = a.len();
    let mut product = vec![0u64; n];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let term = times(x, y, q);
            let term = if is_negacyclic && i + j >= n { q - term } else { term };
            product[(i + j) % n] = (product[(i + j) % n] + term) % q;
        }
    }
    product
}

/// The number whose limbs of `bits` bits these are, the lowest first.
fn joined(limbs: &[u64], bits: u32) -> BigUint {
    limbs.iter().rev().fold(BigUint::ZERO, |number, &limb| (number << bits) + limb)
}

fn limbs(number: &BigUint, bits: u32, count: u32) -> Vec<u64> {
    let mask = BigUint::from((1u64 << bits) - 1);
    let limb = |place: u32| (number >> (place * bits)) & &mask;
    (0..count).map(|place| u64::try_from(limb(place)).expect("a limb")).collect()
}

/// Operands of a Montgomery product of 256 bits.
pub(crate) fn montgomery(source: &mut Source) -> Arrays {
    let any = |source: &mut Source| BigUint::new((0..8).map(|_| source.any() as u32).collect());
    let n = any(source) | BigUint::from(1u32) | (BigUint::from(1u32) << 255);
    let [a, b] = [0; 2].map(|_| (any(source) << 1 | BigUint::from(source.below(2))) % (&n << 1));
    let low = limbs(&n, 17, 1)[0];
    let inverse = (1..1 << 17).find(|inverse| (inverse * low) & 0x1ffff == 1).expect("n is odd");
    BTreeMap::from([
        ("a".to_owned(), limbs(&a, 26, 10)),
        ("b".to_owned(), limbs(&b, 17, 16)),
        ("n".to_owned(), limbs(&n, 26, 10)),
        ("u".to_owned(), vec![(1 << 17) - inverse]),
        ("r".to_owned(), vec![0; 10]),
    ])
}

/// Compares the arrays after a run with the definition of the function.
pub(crate) fn check(function: &str, q: Option<u64>, given: &Arrays, left: &Arrays) {
    if function == "montgomery" {
        let [a, n] = ["a", "n"].map(|name| joined(&given[name], 26));
        let (b, r) = (joined(&given["b"], 17), joined(&left["r"], 26));
        assert!(r < &n << 1u32, "{r} is not below 2 * {n}");
        assert_eq!((&r << 272u32) % &n, a * b % &n);
        return;
    }
    let q = q.expect("a modulus");
    let (before, after) = (&given["a"], &left["a"]);
    match function {
        "ntt_gs" => assert_eq!(in_reversed_order(after), cyclic(before, q)),
        "intt_gs" => assert_eq!(*before, cyclic(&in_reversed_order(after), q)),
        "ntt_ct" => assert_eq!(*after, cyclic(&in_reversed_order(before), q)),
        "intt_ct" => assert_eq!(in_reversed_order(before), cyclic(after, q)),
        "negacyclic" => assert_eq!(*after, negacyclic(before, q)),
        "kyber_ntt" => assert_eq!(*after, kyber(before, q)),
        "kyber_intt" => assert_eq!(*before, kyber(after, q)),
        "bit_reverse" | "bit_reverse_table" => assert_eq!(*after, in_reversed_order(before)),
        _ => products(function, q, given, left),
    }
}

/// Functions of two arrays.
fn products(function: &str, q: u64, given: &Arrays, left: &Arrays) {
    let (a, b) = (&given["a"], &given["b"]);
    let (after, other) = (&left["a"], &left["b"]);
    match function {
        "pointwise" => assert_eq!(*after, a.iter().zip(b).map(|(&x, &y)| times(x, y, q)).collect::<Vec<_>>()),
        "schoolbook" => assert_eq!(left["c"], convolution(a, b, q, true)),
        "product" => {
            assert_eq!(*after, convolution(a, b, q, false));
            assert_eq!(in_reversed_order(other), cyclic(b, q));
        }
        "product_reversed" => {
            assert_eq!(*after, convolution(a, b, q, false));
            assert_eq!(other, b);
        }
        "kyber_product" => {
            assert_eq!(*after, convolution(a, b, q, true));
            assert_eq!(*other, kyber(b, q));
        }
        "negacyclic_product" => {
            assert_eq!(*after, convolution(a, b, q, true));
            assert_eq!(*other, negacyclic(b, q));
        }
        _ => panic!("{function} has no definition"),
    }
}

#[test]
fn the_transform_of_kyber_has_the_factors_of_fips_203() {
    // Appendix A: the first powers of 17 in bit-reversed order, and the first ones of products.
    let powers: Vec<u64> = (0..8).map(|index| power(17, reversed(index, 128) as u64, 3329)).collect();
    assert_eq!(powers, [1, 1729, 2580, 3289, 2642, 630, 1897, 848]);
    let mut x = vec![0; 256];
    x[2] = 1;
    // x^2 is its factor modulo each x^2 − factor.
    let factors: Vec<u64> = kyber(&x, 3329).into_iter().step_by(2).take(4).collect();
    assert_eq!(factors, [17, 3329 - 17, 2761, 3329 - 2761]);
}
