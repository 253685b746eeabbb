//! The four-step transform against the quadratic definitions, against the golden pair at full size, and step by step.

use ciphermill_math::Modulus;
use ciphermill_math::ntt::reference::{bit_reverse, prime};
use ciphermill_math::ntt::{Convolution, FourStepError, FourStepNtt};
use proptest::prelude::*;

const RINGS: [Convolution; 2] = [Convolution::Cyclic, Convolution::Negacyclic];

/// The least prime there is, small ones, primes of 30, 32 and 46 bits, and the greatest below 2^62 that is 1 modulo 2^22.
const PRIMES: [u64; 7] =
    [3, 17, 12289, (1 << 30) - (1 << 18) + 1, (1 << 32) - (1 << 20) + 1, 70_368_743_669_761, 4_611_686_018_326_724_609];

/// It has roots of order 2^22 and above.
const LARGEST: u64 = PRIMES[6];

fn modulus(p: u64) -> Modulus {
    Modulus::new(p).expect("a prime")
}

fn random(n: usize, p: u64, seed: u64) -> Vec<u64> {
    // Knuth's multiplier: any spread-out numbers do.
    (0..n as u64).map(|i| (seed ^ i).wrapping_mul(6_364_136_223_846_793_005).rotate_left(23) % p).collect()
}

/// Random values, the greatest ones, and a unit.
fn inputs(n: usize, p: u64) -> [Vec<u64>; 3] {
    let mut unit = vec![0; n];
    unit[n - 1] = 1;
    [random(n, p, 11), vec![p - 1; n], unit]
}

/// All values by Horner's rule, in natural order.
fn definition(ring: Convolution, p: u64, values: &[u64]) -> Vec<u64> {
    match ring {
        Convolution::Cyclic => prime::evaluate_at_powers(modulus(p), values),
        Convolution::Negacyclic => prime::evaluate_at_odd_powers(modulus(p), values),
    }
}

/// The same by the golden pair: it leaves the order of reversed bits, and cyclic values are the negacyclic ones of
/// x_n·ψ^-n.
fn golden(ring: Convolution, p: u64, values: &[u64]) -> Vec<u64> {
    let (m, n) = (modulus(p), values.len());
    let mut values = values.to_vec();
    if ring == Convolution::Cyclic {
        let step = m.inverse(m.primitive_root_2n(n).expect("a root")).expect("not zero");
        let mut weight = 1;
        for value in &mut values {
            *value = m.mul(*value, weight);
            weight = m.mul(weight, step);
        }
    }
    prime::forward(m, &mut values);
    (0..n).map(|i| values[bit_reverse(i, n.ilog2())]).collect()
}

fn transformed(transform: &FourStepNtt, values: &[u64]) -> Vec<u64> {
    let mut values = values.to_vec();
    transform.forward(&mut values);
    values
}

/// All ways to write 2^`log_size` as a product of powers of two from 2 on, in order.
fn compositions(log_size: u32) -> Vec<Vec<usize>> {
    // Bit i of `cuts` says whether a factor ends after i + 1 of the twos.
    (0..1usize << (log_size - 1))
        .map(|cuts| {
            let mut factors = vec![2];
            for i in 0..log_size - 1 {
                if cuts >> i & 1 == 1 {
                    factors.push(2);
                } else if let Some(last) = factors.last_mut() {
                    *last *= 2;
                }
            }
            factors
        })
        .collect()
}

fn check(factors: &[usize], ring: Convolution, p: u64, values: &[u64], expected: &[u64]) {
    let transform = FourStepNtt::new(factors, ring, modulus(p)).expect("a split on offer");
    let mut ours = transformed(&transform, values);
    assert!(ours == expected, "{ring:?}, p = {p}, split {factors:?}");
    transform.inverse(&mut ours);
    assert!(ours == values, "{ring:?}, p = {p}, split {factors:?}, back");
}

#[test]
fn every_split_of_small_sizes_is_the_definition() {
    let mut checked = 0;
    for p in PRIMES {
        for (log_size, ring) in (1..=8u32).flat_map(|log_size| RINGS.map(|ring| (log_size, ring))) {
            let order = log_size + u32::from(ring == Convolution::Negacyclic);
            if order > modulus(p).two_adicity() {
                continue;
            }
            for values in inputs(1 << log_size, p) {
                let expected = definition(ring, p, &values);
                for log_rows in 0..=log_size {
                    check(&[1 << log_rows, 1 << (log_size - log_rows)], ring, p, &values, &expected);
                    checked += 1;
                }
            }
        }
    }
    // 44 splits of the 8 sizes, less for the two smallest primes: with 3 there is only the cyclic one of N = 2.
    assert_eq!(checked, 3 * (2 + (14 + 9) + 5 * 2 * 44));
}

#[test]
fn every_split_into_more_factors_is_the_definition() {
    for p in [PRIMES[3], LARGEST] {
        for ring in RINGS {
            for log_size in [2, 3, 6, 7] {
                let values = random(1 << log_size, p, 5);
                let expected = definition(ring, p, &values);
                for factors in compositions(log_size) {
                    if factors.len() >= FourStepNtt::MIN_FACTORS {
                        check(&factors, ring, p, &values, &expected);
                    }
                    // Factors 1 change nothing. In the first place they leave the weights to a separate twist.
                    for place in 0..=factors.len() {
                        let mut with_one = factors.clone();
                        with_one.insert(place, 1);
                        check(&with_one, ring, p, &values, &expected);
                    }
                    let with_two = [&[1, 1], &factors[..]].concat();
                    check(&with_two, ring, p, &values, &expected);
                }
            }
        }
    }
}

#[test]
fn full_sizes_are_the_golden_pair() {
    for log_size in 10..=16u32 {
        let near_root = log_size.div_ceil(2);
        for p in [PRIMES[3], PRIMES[4], LARGEST] {
            for ring in RINGS {
                let values = random(1 << log_size, p, 3);
                let expected = golden(ring, p, &values);
                for log_rows in [3, near_root, log_size - 2] {
                    check(&[1 << log_rows, 1 << (log_size - log_rows)], ring, p, &values, &expected);
                }
                check(&[1 << (log_size - 8), 16, 16], ring, p, &values, &expected);
            }
        }
    }
}

#[test]
fn the_greatest_size_in_two_factors_and_in_most() {
    let (n, p) = (FourStepNtt::MAX_SIZE, LARGEST);
    let values = random(n, p, 9);
    let expected = golden(Convolution::Negacyclic, p, &values);
    check(&[1 << 10, 1 << 10], Convolution::Negacyclic, p, &values, &expected);
    let most = [&[1][..], &[2; 20]].concat();
    assert_eq!(most.len(), FourStepNtt::MAX_FACTORS);
    check(&most, Convolution::Negacyclic, p, &values, &expected);
}

/// Each of the four steps by its formula, so that an accelerator may be compared after any of them.
#[test]
fn the_steps_are_what_they_are_said_to_be() {
    let p = PRIMES[5];
    let m = modulus(p);
    for ring in RINGS {
        for (a, b) in [(8, 4), (4, 8), (16, 16), (1, 8), (8, 1)] {
            let n = a * b;
            let transform = FourStepNtt::new(&[a, b], ring, m).unwrap();
            let negacyclic = ring == Convolution::Negacyclic;
            let (order, unit) = if negacyclic { (2 * n, 2) } else { (n, 1) };
            let root = transform.root();
            assert_eq!(root, m.root_of_unity(order.ilog2()).unwrap());
            let folded = usize::from(negacyclic);
            let mut values = random(n, p, 21);

            // The sum of a column of `length` values at stride `width`, at the points root^(width·e).
            let sum = |values: &[u64], column: usize, length: usize, e: usize| {
                let width = n / length;
                (0..length).fold(0, |sum, i| {
                    m.add(sum, m.mul(values[i * width + column], m.pow(root, (width * e * i) as u64)))
                })
            };
            let columns: Vec<u64> = (0..n).map(|i| sum(&values, i % b, a, unit * (i / b) + folded)).collect();
            transform.columns(0, &mut values);
            assert_eq!(values, columns, "columns, {ring:?}, {a} x {b}");

            let twisted: Vec<u64> = (0..n)
                .map(|i| {
                    let (k1, n2) = (i / b, i % b);
                    m.mul(columns[i], m.pow(root, (n2 * (unit * k1 + folded)) as u64))
                })
                .collect();
            transform.twist(0, &mut values);
            assert_eq!(values, twisted, "twist, {ring:?}, {a} x {b}");

            let transposed: Vec<u64> = (0..n).map(|i| twisted[i % a * b + i / a]).collect();
            transform.transpose(0, &mut values);
            assert_eq!(values, transposed, "transpose, {ring:?}, {a} x {b}");

            let last: Vec<u64> = (0..n).map(|i| sum(&transposed, i % a, b, unit * (i / a))).collect();
            transform.columns(1, &mut values);
            assert_eq!(values, last, "last columns, {ring:?}, {a} x {b}");
            assert_eq!(values, definition(ring, p, &random(n, p, 21)));

            // Backwards: each step is undone up to its factor.
            let times = |values: &[u64], factor: u64| values.iter().map(|&x| m.mul(x, factor)).collect::<Vec<_>>();
            transform.inverse_columns(1, &mut values);
            assert_eq!(values, times(&transposed, b as u64));
            transform.inverse_transpose(0, &mut values);
            assert_eq!(values, times(&twisted, b as u64));
            transform.inverse_twist(0, &mut values);
            assert_eq!(values, times(&columns, m.inverse(a as u64).unwrap()));
            transform.inverse_columns(0, &mut values);
            assert_eq!(values, random(n, p, 21));
        }
    }
}

/// 12289 has roots of order 4096 and no others: enough for X^4096 − 1, and for X^N + 1 only up to 2048.
#[test]
fn cyclic_transforms_need_half_the_order() {
    let (m, n) = (modulus(12289), 4096);
    let transform = FourStepNtt::new(&[64, 64], Convolution::Cyclic, m).unwrap();
    let (mut a, mut b) = (random(n, 12289, 1), random(n, 12289, 2));
    let expected = prime::cyclic_product(m, &a, &b);
    transform.forward(&mut a);
    transform.forward(&mut b);
    a.iter_mut().zip(&b).for_each(|(x, &y)| *x = m.mul(*x, y));
    transform.inverse(&mut a);
    assert!(a == expected);
    let no_root = FourStepError::NoRoot { modulus: 12289, order: 8192 };
    assert_eq!(FourStepNtt::new(&[64, 64], Convolution::Negacyclic, m).unwrap_err(), no_root);
    assert_eq!(FourStepNtt::new(&[64, 128], Convolution::Cyclic, m).unwrap_err(), no_root);
}

#[test]
fn what_is_not_offered_is_refused() {
    let refusal = |factors: &[usize], p: u64| {
        RINGS.map(|ring| FourStepNtt::new(factors, ring, modulus(p)).expect_err("not on offer"))
    };
    for count in [0, 1, 22, 1000] {
        assert_eq!(refusal(&vec![2; count], LARGEST), [FourStepError::FactorCount { given: count }; 2]);
    }
    for (factors, place) in [([0, 8], 0), ([8, 0], 1), ([3, 8], 0), ([8, usize::MAX], 1), ([4, 12], 1)] {
        let given = factors[place];
        assert_eq!(refusal(&factors, LARGEST), [FourStepError::Factor { place, given }; 2]);
    }
    let top = 1usize << (usize::BITS - 1);
    for (factors, log2_given) in [
        (vec![1, 1], 0),
        (vec![1 << 10, 1 << 11], 21),
        (vec![2, top], usize::BITS),
        (vec![top; 21], 21 * (usize::BITS - 1)),
    ] {
        assert_eq!(refusal(&factors, LARGEST), [FourStepError::Size { log2_given }; 2]);
    }
    // 3 and 7 have the root -1 only.
    for p in [3, 7] {
        let orders = [8, 16].map(|order| FourStepError::NoRoot { modulus: p, order });
        assert_eq!(refusal(&[2, 4], p), orders);
    }
    let message = FourStepNtt::new(&[1 << 10, 1 << 11], Convolution::Cyclic, modulus(LARGEST)).unwrap_err().to_string();
    assert_eq!(message, "the factors make N = 2^21, which is not supported; use a product from 2 to 2^20");
}

#[test]
fn wrong_lengths_and_passes_are_the_callers_error() {
    let transform = FourStepNtt::new(&[4, 4], Convolution::Cyclic, modulus(17)).unwrap();
    let panics = |call: &dyn Fn(&mut [u64]), length: usize| {
        let mut values = vec![0; length];
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| call(&mut values))).is_err()
    };
    for length in [0, 15, 17, 32] {
        assert!(panics(&|values| transform.forward(values), length));
        assert!(panics(&|values| transform.inverse(values), length));
        assert!(panics(&|values| transform.twist(0, values), length));
    }
    assert!(!panics(&|values| transform.columns(1, values), 16));
    assert!(panics(&|values| transform.columns(2, values), 16));
    assert!(panics(&|values| transform.twist(1, values), 16));
    assert!(panics(&|values| transform.transpose(usize::MAX, values), 16));
    assert!(panics(&|values| transform.inverse_twist(usize::MAX, values), 16));
}

proptest! {
    /// Products of spectra are products in the ring, and the inverse undoes the transform, for any split.
    #[test]
    fn products_are_the_rings(log_size in 1u32..10, cuts: usize, leading_one: bool, negacyclic: bool, prime in 3usize..7, seed: u64) {
        let p = PRIMES[prime];
        let (m, n, ring) = (modulus(p), 1 << log_size, RINGS[usize::from(negacyclic)]);
        let all = compositions(log_size);
        let mut factors = all[cuts % all.len()].clone();
        if leading_one || factors.len() < 2 {
            factors.insert(0, 1);
        }
        let transform = FourStepNtt::new(&factors, ring, m).unwrap();
        prop_assert_eq!((transform.size(), transform.passes(), transform.convolution()), (n, factors.len(), ring));
        prop_assert!((0..factors.len()).all(|pass| transform.column_length(pass) == factors[pass]));
        let (a, b) = (random(n, p, seed), random(n, p, seed ^ 0xabcd_0000));
        let expected = match ring {
            Convolution::Cyclic => prime::cyclic_product(m, &a, &b),
            Convolution::Negacyclic => prime::negacyclic_product(m, &a, &b),
        };
        let (mut x, y) = (transformed(&transform, &a), transformed(&transform, &b));
        let mut back = x.clone();
        transform.inverse(&mut back);
        prop_assert_eq!(back, a);
        x.iter_mut().zip(&y).for_each(|(x, &y)| *x = m.mul(*x, y));
        transform.inverse(&mut x);
        prop_assert_eq!(x, expected);
    }
}
