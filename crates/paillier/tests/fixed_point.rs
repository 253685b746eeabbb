//! Encodings against exact arithmetic, and vectors of encrypted numbers with their bounds.

use ciphermill_bigint::{IntegerBatch, WeightMatrix};
use ciphermill_paillier::fixed_point::{
    FixedPoint, FixedPointError, FixedPointPlaintext, FixedPointVector, MAX_FRACTION_BITS, MAX_INTEGER_BITS, Number,
};
use ciphermill_paillier::{Blinding, CiphertextVector, Csprng, KeyBits, PaillierError, PlaintextVector, SecretKey};
use num_bigint::{BigInt, BigUint};
use num_traits::{Signed, Zero};
use proptest::prelude::*;
use std::sync::LazyLock;

/// Two keys, small ones: these tests do not depend on their size.
static KEYS: LazyLock<[SecretKey; 2]> = LazyLock::new(|| {
    let bits = KeyBits::insecure_bench(512).unwrap();
    [1, 2].map(|seed| SecretKey::generate(bits, &mut Csprng::from_seed([seed; 32])).unwrap())
});

fn owner() -> &'static SecretKey {
    &KEYS[0]
}

fn encrypted(plain: &FixedPointPlaintext) -> FixedPointVector {
    let key = owner().public_key();
    let mut rng = Csprng::from_os().unwrap();
    plain.encrypt_by(key, |plaintexts| owner().encrypt(plaintexts, Blinding::Djn, &mut rng)).unwrap()
}

fn plain(format: FixedPoint, values: &[f64]) -> FixedPointPlaintext {
    FixedPointPlaintext::from_f64(format, values).unwrap()
}

/// A finite number as numerator and denominator.
fn ratio(value: f64) -> (BigInt, BigInt) {
    let (mut numerator, mut denominator) = (BigInt::from(1), BigInt::from(1));
    let bits = value.to_bits();
    let field = (bits >> 52 & 0x7ff) as i32;
    let significand = bits & ((1 << 52) - 1) | if field == 0 { 0 } else { 1 << 52 };
    let exponent = field.max(1) - 1075;
    numerator *= if value < 0.0 { -i128::from(significand) } else { i128::from(significand) };
    if exponent >= 0 {
        numerator <<= exponent
    } else {
        denominator <<= -exponent
    }
    (numerator, denominator)
}

/// Whether `encoded` is the nearest integer to numerator·2^f/denominator, ties to even.
fn assert_nearest(encoded: &BigInt, (numerator, denominator): &(BigInt, BigInt), f: u32) {
    let error = ((numerator << f) - encoded * denominator).abs() * 2;
    let denominator = denominator.abs();
    assert!(error <= denominator, "more than half a step off");
    assert!(error < denominator || !encoded.bit(0), "a tie that did not go to the even one");
}

/// Numbers of all sizes, subnormal ones and short ones too.
fn any_finite() -> impl Strategy<Value = f64> {
    let short = (-4096i32..4096, -12i32..12).prop_map(|(v, e)| f64::from(v) * 2f64.powi(e));
    prop_oneof![
        2 => any::<f64>().prop_filter("finite", |v| v.is_finite()),
        2 => short,
        1 => -1e9..1e9f64,
        1 => prop_oneof![Just(0.0), Just(-0.0), Just(0.5), Just(-0.5), Just(1.5), Just(f64::MIN_POSITIVE), Just(5e-324)],
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn encodes_to_the_nearest(value in any_finite(), f in prop_oneof![0..80u32, 1000..1200u32]) {
        let format = FixedPoint::new(1024, f).unwrap();
        let encoded = format.encode_f64(value).unwrap();
        let exact = ratio(value);
        assert_nearest(&encoded, &exact, f);
        prop_assert_eq!(&format.encode_ratio(&exact.0, &exact.1).unwrap(), &encoded);
        prop_assert_eq!(plain(format, &[value]).to_numbers(), vec![Number::new(encoded.clone(), f)]);
        // The exact format refuses just what would have been rounded.
        let is_exact = &encoded * &exact.1 == &exact.0 << f;
        match format.exact().encode_f64(value) {
            Ok(same) => prop_assert!(is_exact && same == encoded),
            Err(FixedPointError::Inexact { index: 0, fraction_bits }) => prop_assert!(!is_exact && fraction_bits == f),
            Err(other) => panic!("{other}"),
        }
        if is_exact {
            prop_assert_eq!(Number::new(encoded, f).to_f64(), Some(value));
        }
    }

    #[test]
    fn ratios_encode_to_the_nearest(n in any::<i64>(), d in any::<i64>().prop_filter("not 0", |d| *d != 0), f in 0..70u32) {
        let format = FixedPoint::new(63, f).unwrap();
        let exact = (BigInt::from(n), BigInt::from(d));
        match format.encode_ratio(&exact.0, &exact.1) {
            Ok(encoded) => assert_nearest(&encoded, &exact, f),
            // |i64::MIN| / 1 is 2^63: within the bound.
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn refuses_magnitudes_just_above_the_bound(bits in 0..60u32, f in 0..60u32, negative in any::<bool>()) {
        let sign = if negative { -1.0 } else { 1.0 };
        let format = FixedPoint::new(bits, f).unwrap();
        let bound = 2f64.powi(bits as i32);
        let greatest = format.encode_f64(sign * bound).unwrap();
        prop_assert_eq!(greatest.magnitude(), &format.bound());
        let refused = |e| matches!(e, FixedPointError::Magnitude { index: 0, integer_bits } if integer_bits == bits);
        prop_assert!(refused(format.encode_f64(sign * bound.next_up()).unwrap_err()));
        let above: BigInt = (BigInt::from(1) << bits) + 1;
        prop_assert!(refused(format.encode_integer(&above).unwrap_err()));
        // Nothing above the bound is rounded down to it.
        let hair = BigInt::from(1) << 200;
        let numerator: BigInt = (&hair << bits) + 1;
        prop_assert!(refused(format.encode_ratio(&numerator, &hair).unwrap_err()));
    }

    #[test]
    fn to_f64_is_the_nearest(mantissa in any::<i128>(), f in prop_oneof![0..200u32, 1000..1250u32]) {
        let number = Number::new(mantissa.into(), f);
        let got = number.to_f64().unwrap();
        let distance = |value: f64| {
            let (n, d) = ratio(value);
            // |mantissa/2^f − n/d| times 2^f·d, at the common denominator 2^1074·2^f.
            let unit: BigInt = BigInt::from(1) << 1074;
            (BigInt::from(mantissa) * &unit - (n << f) * (&unit / d)).abs()
        };
        let error = distance(got);
        for neighbour in [got.next_up(), got.next_down()] {
            let other = distance(neighbour);
            prop_assert!(error < other || error == other && got.to_bits() & 1 == 0, "{got:e} against {neighbour:e}");
        }
    }
}

#[test]
fn to_f64_ends_where_binary64_ends() {
    let max = ratio(f64::MAX).0;
    assert_eq!(Number::new(max.clone(), 0).to_f64(), Some(f64::MAX));
    assert_eq!(Number::new(-max.clone(), 0).to_f64(), Some(f64::MIN));
    // Half a step above the greatest number is the least that has no nearest.
    let step: BigInt = BigInt::from(1) << 971;
    let half: BigInt = BigInt::from(1) << 970;
    assert_eq!(Number::new(&max + &half - 1, 0).to_f64(), Some(f64::MAX));
    assert_eq!(Number::new(&max + &half, 0).to_f64(), None);
    assert_eq!(Number::new(&max + &step, 0).to_f64(), None);
    assert_eq!(Number::new(BigInt::from(1) << 5000, 4096).to_f64(), Some(2f64.powi(904)));
    assert_eq!(Number::new(BigInt::from(1), 1074).to_f64(), Some(5e-324));
    assert_eq!(Number::new(BigInt::from(1), 1075).to_f64(), Some(0.0));
    assert_eq!(Number::new(BigInt::from(3), 1076).to_f64(), Some(5e-324));
}

#[test]
fn numbers_compare_by_value() {
    assert_eq!(Number::new(6.into(), 2), Number::new(3.into(), 1));
    assert_ne!(Number::new(6.into(), 2), Number::new(3.into(), 2));
    assert_eq!(Number::new(12.into(), 2).to_integer(), Some(3.into()));
    assert_eq!(Number::new(6.into(), 2).to_integer(), None);
    assert_eq!(Number::new((-6).into(), 2).ratio(), ((-3).into(), BigUint::from(2u32)));
    assert_eq!(Number::new(0.into(), 9).ratio(), (0.into(), BigUint::from(1u32)));
}

#[test]
fn refuses_what_is_no_number() {
    let format = FixedPoint::new(8, 8).unwrap();
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = FixedPointPlaintext::from_f64(format, &[1.0, value]).unwrap_err();
        assert!(matches!(error, FixedPointError::NotFinite { index: 1 }), "{error}");
    }
    let error = FixedPointPlaintext::from_ratios(format, &[(1.into(), 3.into()), (1.into(), 0.into())]).unwrap_err();
    assert!(matches!(error, FixedPointError::ZeroDenominator { index: 1 }), "{error}");
    let error = FixedPointPlaintext::from_integers(format, &[256.into(), 257.into()]).unwrap_err();
    assert!(matches!(error, FixedPointError::Magnitude { index: 1, integer_bits: 8 }), "{error}");
    for (integer, fraction) in [(MAX_INTEGER_BITS + 1, 0), (0, MAX_FRACTION_BITS + 1), (u32::MAX, u32::MAX)] {
        assert!(matches!(FixedPoint::new(integer, fraction), Err(FixedPointError::Format { .. })));
    }
}

#[test]
fn sums_are_aligned_and_exact() {
    let (coarse, fine) = (FixedPoint::new(10, 4).unwrap(), FixedPoint::new(10, 70).unwrap());
    let (a, b) = (plain(coarse, &[1.5, -1024.0, 0.0625, 7.0]), plain(fine, &[0.1, -1024.0, 1e-15, -7.0]));
    let (x, y) = (encrypted(&a), encrypted(&b));
    let exact = |sign: i32| -> Vec<Number> {
        let pairs = a.to_numbers().into_iter().zip(b.to_numbers());
        pairs.map(|(a, b)| Number::new((a.mantissa() << 66u32) + b.mantissa() * sign, 70)).collect()
    };
    let greatest = BigUint::from(2u32) << 80;
    for (result, expected) in [
        (x.add(&y), exact(1)),
        (y.add(&x), exact(1)),
        (x.subtract(&y), exact(-1)),
        (x.add_plain(&b), exact(1)),
        (y.add_plain(&a), exact(1)),
        (x.subtract_plain(&b), exact(-1)),
        (y.subtract(&x).and_then(|v| v.negate()), exact(-1)),
        (y.subtract_plain(&a).and_then(|v| v.negate()), exact(-1)),
    ] {
        let result = result.unwrap();
        assert_eq!((result.fraction_bits(), result.bound()), (70, &greatest));
        assert_eq!(result.decrypt(owner()).unwrap(), expected);
    }
    assert_eq!(x.align(40).unwrap().decrypt_f64(owner()).unwrap(), x.decrypt_f64(owner()).unwrap());
    assert!(matches!(x.align(3), Err(FixedPointError::Coarser { given: 4, asked: 3 })));
    // One element is used for all.
    let one = encrypted(&plain(coarse, &[2.0]));
    assert_eq!(x.add(&one).unwrap().decrypt_f64(owner()).unwrap(), [3.5, -1022.0, 2.0625, 9.0]);
    let mut rng = Csprng::from_os().unwrap();
    let again = x.rerandomise(Blinding::Djn, &mut rng).unwrap();
    assert_ne!(again, x);
    assert_eq!(again.decrypt(owner()).unwrap(), x.decrypt(owner()).unwrap());
}

#[test]
fn products_and_sums_of_products_are_exact() {
    let format = FixedPoint::new(6, 20).unwrap();
    let values = [0.1, -63.7, 64.0, -64.0, 1e-5];
    let factors = [-64.0, 0.3, 64.0, 64.0, 0.0];
    let (a, b) = (plain(format, &values), plain(FixedPoint::new(6, 12).unwrap(), &factors));
    let x = encrypted(&a);
    let products: Vec<BigInt> =
        (a.to_numbers().iter().zip(b.to_numbers())).map(|(a, b)| a.mantissa() * b.mantissa()).collect();
    let got = x.multiply(&b).unwrap();
    assert_eq!((got.fraction_bits(), got.bound()), (32, &(BigUint::from(1u32) << 44)));
    assert_eq!(got.decrypt(owner()).unwrap(), products.iter().map(|p| Number::new(p.clone(), 32)).collect::<Vec<_>>());
    let sum = got.sum().unwrap();
    assert_eq!(sum.bound(), &(BigUint::from(5u32) << 44));
    assert_eq!(sum.decrypt(owner()).unwrap(), [Number::new(products.iter().sum(), 32)]);
    let half = x.multiply(&plain(FixedPoint::new(0, 1).unwrap(), &[0.5])).unwrap();
    assert_eq!(half.add(&half).unwrap().decrypt(owner()).unwrap(), a.to_numbers());

    // Weights w/2^12, the same as b, then rows of which the second has the greater sum.
    let weights: Vec<i128> = b.to_numbers().iter().map(|n| i128::try_from(n.mantissa()).unwrap()).collect();
    let dot = x.dot_public(&weights, 12).unwrap();
    assert_eq!(dot.decrypt(owner()).unwrap(), sum.decrypt(owner()).unwrap());
    let magnitudes: u128 = weights.iter().map(|w| w.unsigned_abs()).sum();
    assert_eq!(dot.bound(), &(BigUint::from(magnitudes) << 26));
    let rows = [1, -1, 1, -1, 1, 3, 0, -3, 0, i128::from(u64::MAX)];
    let product = x.matrix_vector_public(&WeightMatrix::new(5, rows.to_vec()).unwrap(), 0).unwrap();
    assert_eq!(product.bound(), &((BigUint::from(u64::MAX) + 6u32) << 26));
    let expected = rows.chunks(5).map(|row| {
        let terms = row.iter().zip(a.to_numbers()).map(|(w, x)| x.mantissa() * w);
        Number::new(terms.sum(), 20)
    });
    assert_eq!(product.decrypt(owner()).unwrap(), expected.collect::<Vec<_>>());
}

/// A vector whose bound is exactly the limit (n − 1)/2, and holds it.
fn full() -> FixedPointVector {
    let key = owner().public_key();
    let limit = key.max_plaintext();
    let values = [BigInt::from(limit.clone()), -BigInt::from(limit.clone())];
    let plaintexts = PlaintextVector::from_bigints(key, &values).unwrap();
    let ciphertexts = key.encrypt(&plaintexts, Blinding::Strict, &mut Csprng::from_os().unwrap()).unwrap();
    FixedPointVector::from_parts(ciphertexts, 3, limit).unwrap()
}

#[test]
fn overflow_is_refused_at_the_first_unit_above_the_limit() {
    let key = owner().public_key();
    let limit = key.max_plaintext();
    let full = full();
    // The limit itself is usable.
    let values = full.decrypt(owner()).unwrap();
    assert_eq!(*values[0].mantissa(), BigInt::from(limit.clone()));
    assert_eq!(*values[1].mantissa(), -BigInt::from(limit.clone()));

    let overflow = |result: Result<FixedPointVector, FixedPointError>, expected: BigUint| match result.unwrap_err() {
        error @ FixedPointError::Overflow { .. } => {
            let FixedPointError::Overflow { bound, limit: given } = &error else { unreachable!() };
            assert_eq!((bound, given), (&expected, &limit));
            let text = error.to_string();
            assert!(text.contains(&expected.to_string()) && text.contains(&limit.to_string()), "{text}");
        }
        other => panic!("{other}"),
    };
    overflow(FixedPointVector::from_parts(full.ciphertexts().clone(), 3, &limit + 1u32), &limit + 1u32);
    let unit = plain(FixedPoint::new(0, 0).unwrap(), &[1.0, 1.0]);
    overflow(full.add_plain(&unit), &limit + 8u32);
    overflow(full.subtract_plain(&unit), &limit + 8u32);
    overflow(full.add(&encrypted(&unit)), &limit + 8u32);
    overflow(full.subtract(&encrypted(&unit)), &limit + 8u32);
    overflow(full.sum(), &limit * 2u32);
    overflow(full.align(4), &limit * 2u32);
    overflow(full.multiply(&plain(FixedPoint::new(1, 0).unwrap(), &[1.0])), &limit * 2u32);
    overflow(full.dot_public(&[1, -1], 0), &limit * 2u32);
    overflow(full.matrix_vector_public(&WeightMatrix::new(2, vec![1, 0, 0, -2]).unwrap(), 5), &limit * 2u32);
    // What just fits is done: one row picks, one is 0.
    let picked = full.matrix_vector_public(&WeightMatrix::new(2, vec![0, -1, 0, 0]).unwrap(), 0).unwrap();
    assert_eq!(*picked.decrypt(owner()).unwrap()[0].mantissa(), BigInt::from(limit.clone()));
    assert!(picked.decrypt(owner()).unwrap()[1].mantissa().is_zero());
    // A format that the key has no room for: 2^510 fits below (n−1)/2 of 512-bit n, 2^511 does not.
    let wide = plain(FixedPoint::new(500, 10).unwrap(), &[1.0]);
    assert!(wide.encrypt_by(key, |p| key.encrypt(p, Blinding::Djn, &mut Csprng::from_os().unwrap())).is_ok());
    let wider = plain(FixedPoint::new(500, 11).unwrap(), &[1.0]);
    let result = wider.encrypt_by(key, |_| panic!("refused before anything is encrypted"));
    overflow(result, BigUint::from(1u32) << 511);
    let fine = FixedPointVector::from_parts(full.ciphertexts().clone(), MAX_FRACTION_BITS, limit.clone()).unwrap();
    let half = plain(FixedPoint::new(0, 1).unwrap(), &[0.5]);
    assert!(matches!(fine.multiply(&half), Err(FixedPointError::FractionBits { fraction_bits: 4097 })));
    assert!(matches!(fine.dot_public(&[1, 1], u32::MAX), Err(FixedPointError::FractionBits { .. })));
}

#[test]
fn a_false_declaration_shows_when_it_is_decrypted() {
    let full = full();
    let limit = owner().public_key().max_plaintext();
    let lie = FixedPointVector::from_parts(full.ciphertexts().clone(), 3, &limit - 1u32).unwrap();
    match lie.decrypt(owner()).unwrap_err() {
        FixedPointError::BeyondBound { index: 0, bound } => assert_eq!(bound, limit - 1u32),
        other => panic!("{other}"),
    }
    let tiny = encrypted(&plain(FixedPoint::new(200, 0).unwrap(), &[2f64.powi(200)]));
    let huge = tiny.multiply(&plain(FixedPoint::new(250, 0).unwrap(), &[2f64.powi(250)])).unwrap();
    assert_eq!(huge.decrypt_f64(owner()).unwrap(), [2f64.powi(450)]);
}

#[test]
fn operands_that_do_not_belong_together_are_refused() {
    let format = FixedPoint::new(8, 8).unwrap();
    let (two, three) = (encrypted(&plain(format, &[1.0, 2.0])), plain(format, &[1.0, 2.0, 3.0]));
    let length = |e| matches!(e, FixedPointError::Paillier(PaillierError::Length { left: 2, right: 3 }));
    assert!(length(two.add(&encrypted(&three)).unwrap_err()));
    assert!(length(two.subtract(&encrypted(&three)).unwrap_err()));
    assert!(length(two.add_plain(&three).unwrap_err()));
    assert!(length(two.multiply(&three).unwrap_err()));
    assert!(length(two.dot_public(&[1, 2, 3], 0).unwrap_err()));
    let three_columns = WeightMatrix::new(3, vec![1, 2, 3]).unwrap();
    assert!(length(two.matrix_vector_public(&three_columns, 0).unwrap_err()));
    let stranger = KEYS[1].public_key();
    let other = plain(format, &[1.0, 2.0])
        .encrypt_by(stranger, |p| stranger.encrypt(p, Blinding::Djn, &mut Csprng::from_os().unwrap()))
        .unwrap();
    let wrong = |e| matches!(e, FixedPointError::Paillier(PaillierError::WrongKey { .. }));
    assert!(wrong(two.add(&other).unwrap_err()));
    assert!(wrong(two.decrypt(&KEYS[1]).unwrap_err()));
    let empty = FixedPointVector::from_parts(
        CiphertextVector::from_integers(stranger, &IntegerBatch::zeros(0, 16)).unwrap(),
        0,
        1u32.into(),
    )
    .unwrap();
    assert!(matches!(empty.dot_public(&[], 0), Err(FixedPointError::Paillier(PaillierError::Empty))));
}
