//! Prime moduli: primality, roots of unity, the definitions of the transform over them.

use ciphermill_math::modulus::{Modulus, ModulusError, is_prime, ntt_primes};
use ciphermill_math::ntt::reference::{bit_reverse, prime};
use proptest::prelude::*;

/// Primes in use elsewhere with a generator and the power of two in p − 1.
const PUBLISHED: [(u64, u64, u32); 7] = [
    (998_244_353, 3, 23),
    (469_762_049, 3, 26),
    (2_013_265_921, 31, 27),
    (12_289, 11, 12),
    ((1 << 34) + (1 << 27) + 1, 10, 27),
    ((1 << 34) + (1 << 19) + 1, 10, 19),
    ((1 << 38) + (1 << 23) + 1, 5, 23),
];

#[test]
fn primality_by_trial_division() {
    for n in 0..20_000u64 {
        let divided = n >= 2 && (2..n).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
        assert_eq!(is_prime(n), divided, "{n}");
    }
}

#[test]
fn primality_of_hard_cases() {
    // The least strong pseudoprimes to the first 4, 9 and 11 bases; Carmichael numbers; a square of a prime.
    let pseudoprimes = [3_215_031_751, 3_825_123_056_546_413_051, 561, 1_729, 4_294_967_291 * 4_294_967_291];
    for composite in pseudoprimes {
        assert!(!is_prime(composite), "{composite}");
    }
    for p in [2, 3, 37, 41, u64::MAX - 58, 0xffff_ffff_0000_0001, (1 << 61) - 1, (1 << 31) - 1] {
        assert!(is_prime(p), "{p}");
    }
}

#[test]
fn what_is_no_modulus() {
    for given in [0, 1, 2, 1 << 62, (1 << 62) + 135, u64::MAX] {
        assert_eq!(Modulus::new(given), Err(ModulusError::Range { given }));
    }
    for given in [4, 9, (1 << 40) + 1, (1 << 62) - 1] {
        assert_eq!(Modulus::new(given), Err(ModulusError::NotPrime { given }));
    }
    assert!(Modulus::new(9).unwrap_err().to_string().contains("9 is not an odd prime"));
    assert_eq!(Modulus::new(3).map(Modulus::value), Ok(3));
    assert_eq!(Modulus::new((1 << 62) - 57).map(Modulus::bits), Ok(62));
}

#[test]
fn published_primes_have_the_roots_of_their_generators() {
    for (p, generator, two_adicity) in PUBLISHED {
        let modulus = Modulus::new(p).unwrap();
        assert_eq!(modulus.two_adicity(), two_adicity, "{p}");
        let root = modulus.root_of_unity(two_adicity).unwrap();
        // Some odd power of the generator's root: both generate the same group.
        let order = 1 << two_adicity.min(12);
        let from_generator = modulus.pow(generator, (p - 1) / order);
        let ours = modulus.root_of_unity(order.trailing_zeros()).unwrap();
        assert!((1..order).step_by(2).any(|e| modulus.pow(from_generator, e) == ours), "{p}");
        assert_eq!(modulus.pow(root, 1 << (two_adicity - 1)), p - 1, "{p}");
        assert_eq!(modulus.root_of_unity(two_adicity + 1), None);
    }
    let modulus = Modulus::new(998_244_353).unwrap();
    assert_eq!(modulus.root_of_unity(23), Some(15_311_432), "3^119, the root that is printed everywhere");
}

#[test]
fn roots_of_one_family() {
    let modulus = ntt_primes(62, 1 << 17).next().unwrap();
    for log_n in 0..17 {
        let psi = modulus.primitive_root_2n(1 << log_n).unwrap();
        let next = modulus.primitive_root_2n(2 << log_n).unwrap();
        assert_eq!(modulus.mul(next, next), psi);
        assert_eq!(modulus.pow(psi, 1 << log_n), modulus.value() - 1);
    }
    assert_eq!(modulus.primitive_root_2n(0), None);
    assert_eq!(modulus.primitive_root_2n(3), None);
}

#[test]
fn listed_primes() {
    for (bits, n) in [(62, 1 << 17), (50, 1 << 12), (31, 1 << 16), (20, 1 << 12), (14, 256)] {
        let primes: Vec<_> = ntt_primes(bits, n).take(4).map(Modulus::value).collect();
        assert!(!primes.is_empty(), "{bits} bits");
        assert!(primes.is_sorted_by(|a, b| a > b));
        for p in primes {
            assert_eq!((p % (2 * n as u64), 64 - p.leading_zeros(), is_prime(p)), (1, bits, true));
        }
    }
    // All of them, where all can be counted.
    let all: Vec<_> = ntt_primes(14, 256).map(Modulus::value).collect();
    let expected: Vec<_> = (1 << 13..1 << 14).rev().filter(|p| p % 512 == 1 && is_prime(*p)).collect();
    assert_eq!(all, expected);
    assert_eq!(ntt_primes(5, 8).map(Modulus::value).collect::<Vec<_>>(), [17]);
    assert_eq!(ntt_primes(2, 1).map(Modulus::value).collect::<Vec<_>>(), [3]);
    assert_eq!(ntt_primes(63, 8).count() + ntt_primes(1, 1).count() + ntt_primes(30, 12).count(), 0);
    assert_eq!(ntt_primes(62, 1 << 63).count(), 0);
}

#[test]
fn known_answers_of_the_transform() {
    // X^4 + 1 modulo 17: 2 is a root of order 8, but 3 is the smallest non-residue and 3^2 = 9 the root of the family.
    let modulus = Modulus::new(17).unwrap();
    assert_eq!(modulus.primitive_root_2n(4), Some(9));
    // 9, 9^3, 9^5, 9^7 are 9, 15, 8, 2; entry i belongs to the bit reversal of i.
    let mut x = [0, 1, 0, 0];
    prime::forward(modulus, &mut x);
    assert_eq!(x, [9, 8, 15, 2]);
    assert_eq!(prime::negacyclic_product(modulus, &[1, 2, 3, 4], &[5, 6, 7, 8]), [12, 15, 2, 9]);
}

#[test]
fn golden_pair_evaluates_and_multiplies() {
    for modulus in [12_289, 998_244_353, (1 << 34) + (1 << 27) + 1].map(|p| Modulus::new(p).unwrap()) {
        for log_n in 0..=7 {
            let n = 1usize << log_n;
            let polynomial =
                |seed: u64| -> Vec<u64> { (0..n as u64).map(|i| modulus.pow(seed + 7, 11 * i + 5)).collect() };
            let (a, b) = (polynomial(1), polynomial(4));
            let values = prime::evaluate_at_odd_powers(modulus, &a);
            let mut spectrum = a.clone();
            prime::forward(modulus, &mut spectrum);
            for (i, &value) in spectrum.iter().enumerate() {
                assert_eq!(value, values[bit_reverse(i, log_n)], "p = {modulus}, N = {n}, entry {i}");
            }
            prime::inverse_unnormalised(modulus, &mut spectrum);
            prime::normalise(modulus, &mut spectrum);
            assert_eq!(spectrum, a);
            let product = prime::negacyclic_product_by_ntt(modulus, &a, &b);
            assert_eq!(product, prime::negacyclic_product(modulus, &a, &b), "p = {modulus}, N = {n}");
        }
    }
}

proptest! {
    #[test]
    fn field_operations(index in 0usize..6, a: u64, b: u64, x: u64, wide: u128, signed: i64) {
        let bits = [2, 14, 31, 46, 50, 62][index];
        let modulus = ntt_primes(bits, 1).next().unwrap();
        let p = modulus.value();
        let (a, b) = (modulus.reduce(a), modulus.reduce(b));
        let wide_mod = |x: u128| (x % u128::from(p)) as u64;
        prop_assert_eq!(modulus.add(a, b), wide_mod(u128::from(a) + u128::from(b)));
        prop_assert_eq!(modulus.add(modulus.sub(a, b), b), a);
        prop_assert_eq!(modulus.add(modulus.neg(a), a), 0);
        prop_assert_eq!(modulus.mul(a, x), wide_mod(u128::from(a) * u128::from(x)));
        prop_assert_eq!(modulus.reduce_u128(wide), wide_mod(wide));
        prop_assert_eq!(modulus.reduce_signed(signed), (i128::from(signed)).rem_euclid(i128::from(p)) as u64);
        prop_assert_eq!(modulus.inverse(a).map(|i| modulus.mul(i, a)), (a != 0).then_some(1));
        let quotient = (u128::from(modulus.shoup_quotient(a)) * u128::from(x)) >> 64;
        let product = u128::from(a) * u128::from(x) - quotient * u128::from(p);
        prop_assert!(product < 2 * u128::from(p) && wide_mod(product) == modulus.mul(a, x));
    }
}
