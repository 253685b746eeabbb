//! The algorithms of the Paillier paper: as they must be read, and the results of the printed listings.

use ciphermill_bigint::reference::{Cios256, DIGIT_BITS, pow};
use num_bigint::BigUint;
use proptest::prelude::*;

fn number(words: &[u32]) -> BigUint {
    BigUint::from_slice(words)
}

/// `bits` bits, the highest set, odd.
fn modulus(bits: u64, words: &[u32]) -> BigUint {
    let top = BigUint::from(1u32) << (bits - 1);
    (number(words) % &top) | top | BigUint::from(1u32)
}

fn one() -> BigUint {
    BigUint::from(1u32)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A step returns a·b·R^-1. Algorithms 1 and 2 take Montgomery forms A·R and B·R, so their output A·B·R is right: it is
    /// the Montgomery form of the product.
    #[test]
    fn a_product_carries_the_inverse_of_the_radix(
        bits in prop_oneof![Just(256u64), Just(512), Just(1000), Just(1024), Just(2048), Just(4096)],
        n in prop::collection::vec(any::<u32>(), 128),
        a in prop::collection::vec(any::<u32>(), 128),
        b in prop::collection::vec(prop_oneof![any::<u32>(), Just(u32::MAX)], 128),
    ) {
        let n = modulus(bits, &n);
        let cios = Cios256::new(n.clone()).unwrap();
        prop_assert_eq!(cios.digits() as u64, bits.div_ceil(DIGIT_BITS.into()));
        // Operands below R, not only below N.
        let (a, b) = (number(&a) % cios.radix(), number(&b) % cios.radix());
        let step = cios.step(&a, &b);
        prop_assert_eq!(&step.product * cios.radix() % &n, &a * &b % &n);
        prop_assert!(step.product < cios.radix());
        prop_assert_eq!(step.quotients.len(), cios.digits());
        // The quotient digits make the sum exact: (a·b + q·N)/R.
        let q = step.quotients.iter().rev().fold(BigUint::ZERO, |q, m| (q << DIGIT_BITS) + m);
        let exact = (&a * &b + q * &n) / cios.radix();
        prop_assert_eq!(if step.corrected { exact - &n } else { exact }, step.product);
    }
}

/// Section 1.2 bounds a result by R + N before the correction, section 2.3 by 2N after it. The first always holds. The second
/// holds for N ≥ R/2, since a corrected result is below R; for a smaller N it does not.
#[test]
fn results_reach_beyond_twice_the_modulus() {
    for (bits, within) in [(1023u32, true), (1000, false)] {
        let n = (one() << bits) + 1u32;
        let cios = Cios256::new(n.clone()).unwrap();
        let greatest = cios.radix() - 1u32;
        let step = cios.step(&greatest, &greatest);
        assert!(step.corrected);
        let before = &step.product + &n;
        assert!(before > &n * 2u32 && before < cios.radix() + &n, "before the correction");
        assert_eq!(step.product < &n * 2u32, within, "after it, N of {} bits", bits + 1);
        assert_eq!(&step.product * cios.radix() % &n, &greatest * &greatest % &n);
    }
}

/// The output that algorithms 1 and 2 name: A·B·R from the Montgomery forms of A and B, their inputs.
#[test]
fn montgomery_forms_give_the_montgomery_form_of_their_product() {
    let n = modulus(1024, &[0x9e37_79b9; 32]);
    let cios = Cios256::new(n.clone()).unwrap();
    let (a, b) = (BigUint::from(0xdead_beefu32).pow(30), BigUint::from(0xfeed_f00du32).pow(31));
    let form = |number: &BigUint| number * cios.radix() % &n;
    let step = cios.step(&form(&a), &form(&b));
    assert_eq!(step.product % &n, form(&(&a * &b)));
}

/// Algorithm 1 subtracts N if T > N. A·B ≡ 0 for A and B other than 0 gives T = N, so T ≥ N must be the condition.
#[test]
fn a_product_of_zero_divisors_is_left_at_the_modulus() {
    let (p, q) = (modulus(512, &[0x9e37_79b9; 16]), modulus(512, &[0x85eb_ca6b; 16]));
    let n = &p * &q;
    let cios = Cios256::new(n.clone()).unwrap();
    let step = cios.step(&p, &q);
    // Nothing was subtracted, since T is below R; the printed condition subtracts nothing either.
    assert!(!step.corrected);
    assert_eq!(step.product, n);
}

/// Algorithm 3 with the exponent's bits from the highest down, as its text says, raises to the number read backwards.
#[test]
fn the_listing_of_exponentiation_reads_bits_from_the_lowest() {
    let n = modulus(1024, &[0x9e37_79b9; 32]);
    let (base, exponent) = (BigUint::from(0xdead_beefu32), BigUint::from(0b1101_0010_0000u32));
    let cios = Cios256::new(n.clone()).unwrap();
    assert_eq!(cios.pow(&base, &exponent, 12), pow(&base, &exponent, &n));

    let listing = |bits: &mut dyn Iterator<Item = bool>| {
        let (mut x, mut a) = (one(), base.clone());
        for bit in bits {
            if bit {
                x = x * &a % &n;
            }
            a = &a * &a % &n;
        }
        x
    };
    assert_eq!(listing(&mut (0..12).map(|i| exponent.bit(i))), pow(&base, &exponent, &n));
    let backwards = (0..12).fold(BigUint::ZERO, |value, i| (value << 1u32) + u32::from(exponent.bit(i)));
    assert_eq!(listing(&mut (0..12).rev().map(|i| exponent.bit(i))), pow(&base, &backwards, &n));
    assert_ne!(backwards, exponent);
}

#[test]
fn the_paper_size_takes_four_digits_and_agrees_with_the_definition() {
    let n = modulus(1024, &(1..=32u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect::<Vec<_>>());
    let cios = Cios256::new(n.clone()).unwrap();
    assert_eq!(cios.digits(), 4);
    let exponent = modulus(1024, &(1..=32u32).map(|i| i.wrapping_mul(0x85eb_ca6b)).collect::<Vec<_>>());
    for base in [BigUint::ZERO, one(), &n - 1u32, cios.radix() - 1u32] {
        assert_eq!(cios.pow(&base, &exponent, 1024), pow(&base, &exponent, &n));
    }
}

#[test]
fn an_even_modulus_is_refused() {
    assert!(Cios256::new(BigUint::from(10u32)).is_err());
}
