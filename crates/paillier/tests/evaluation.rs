//! Computing on ciphertexts, against computing on plaintexts.

use crate::support::{key, keys_on_paths, other_key, rng, signed};
use ciphermill_bigint::{BigIntError, WeightMatrix};
use ciphermill_paillier::{Blinding, CiphertextVector, PaillierError, PlaintextVector, Scalars, SecretKey};
use num_bigint::BigInt;
use proptest::prelude::*;

fn encrypted(key: &SecretKey, values: &[BigInt], seed: u8) -> CiphertextVector {
    let m = PlaintextVector::from_bigints(key.public_key(), values).expect("in range");
    key.encrypt(&m, key.public_key().default_blinding(), &mut rng(seed)).expect("an encryption")
}

fn check(key: &SecretKey, what: &str, c: Result<CiphertextVector, PaillierError>, expected: &[BigInt]) {
    let expected: Vec<BigInt> = expected.iter().map(|m| signed(m, key.public_key())).collect();
    let found = key.decrypt(&c.expect(what)).expect(what).to_bigints();
    assert_eq!(found, expected, "{what}, {}", key.public_key().path());
}

fn bigs(values: &[i128]) -> Vec<BigInt> {
    values.iter().map(|&v| v.into()).collect()
}

/// Every operation on vectors of the given values, of which sums may leave the range and wrap.
fn everything(key: &SecretKey, a: &[BigInt], b: &[BigInt], scalars: &[i64]) {
    let public = key.public_key();
    let (ca, cb) = (encrypted(key, a, 1), encrypted(key, b, 2));
    let mb = PlaintextVector::from_bigints(public, b).unwrap();
    let zip = |f: &dyn Fn(&BigInt, &BigInt) -> BigInt| a.iter().zip(b).map(|(a, b)| f(a, b)).collect::<Vec<_>>();
    check(key, "add", ca.add(&cb), &zip(&|a, b| a + b));
    check(key, "subtract", ca.subtract(&cb), &zip(&|a, b| a - b));
    check(key, "add_plain", ca.add_plain(&mb), &zip(&|a, b| a + b));
    check(key, "subtract_plain", ca.subtract_plain(&mb), &zip(&|a, b| a - b));
    check(key, "negate", ca.negate(), &a.iter().map(|a| -a).collect::<Vec<_>>());
    check(key, "sum", ca.sum(), &[a.iter().sum()]);
    let products: Vec<BigInt> = a.iter().zip(scalars).map(|(a, &s)| a * s).collect();
    check(key, "multiply_scalars", ca.multiply_scalars(&Scalars::from_i64(&scalars[..a.len()])), &products);
    let wide: Vec<BigInt> = scalars[..a.len()].iter().map(|&s| BigInt::from(s) << 70).collect();
    let products: Vec<BigInt> = a.iter().zip(&wide).map(|(a, s)| a * s).collect();
    check(key, "wide scalars", ca.multiply_scalars(&Scalars::from_bigints(&wide, 134).unwrap()), &products);
    for shared in [scalars[0], -scalars[0].saturating_abs(), 0, 1, -1] {
        let products: Vec<BigInt> = a.iter().map(|a| a * shared).collect();
        check(key, "shared scalar", ca.multiply_scalars(&Scalars::from_i64(&[shared])), &products);
    }
    let positive: Vec<u64> = scalars[..a.len()].iter().map(|&s| s as u64).collect();
    let products: Vec<BigInt> = a.iter().zip(&positive).map(|(a, &s)| a * s).collect();
    check(key, "scalars without sign", ca.multiply_scalars(&Scalars::from_u64(&positive)), &products);
    if !a.is_empty() {
        let weights: Vec<i128> = scalars[..a.len()].iter().map(|&s| s.into()).collect();
        let dot = a.iter().zip(&weights).map(|(a, &w)| a * w).sum();
        check(key, "dot_public", ca.dot_public(&weights), &[dot]);
        let one = encrypted(key, &b[..1], 3);
        check(key, "one for all", ca.add(&one), &a.iter().map(|a| a + &b[0]).collect::<Vec<_>>());
        check(key, "all from one", one.subtract(&ca), &a.iter().map(|a| &b[0] - a).collect::<Vec<_>>());
    }
    for blinding in [Blinding::Djn, Blinding::Strict] {
        let again = ca.rerandomise(blinding, &mut rng(4)).unwrap();
        assert!(again.to_biguints().iter().zip(ca.to_biguints()).all(|(x, y)| *x != y));
        check(key, "rerandomise", Ok(again), a);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn small_keys_on_every_path(
        a in prop::collection::vec(any::<i128>(), 0..20),
        b in prop::collection::vec(any::<i128>(), 20),
        scalars in prop::collection::vec(prop_oneof![8 => any::<i64>(), 1 => Just(0), 1 => Just(i64::MIN)], 20),
        shift in prop_oneof![Just(0usize), 0usize..380],
    ) {
        let (a, b): (Vec<BigInt>, Vec<BigInt>) =
            a.iter().zip(&b).map(|(&a, &b)| (BigInt::from(a) << shift, BigInt::from(b) << shift)).unzip();
        for key in keys_on_paths(512) {
            everything(&key, &a, &b, &scalars);
        }
    }

    #[test]
    fn matrices(
        columns in 1usize..12,
        rows in 0usize..7,
        values in prop::collection::vec(any::<i64>(), 12),
        weights in prop::collection::vec(prop_oneof![2 => any::<i64>().prop_map(i128::from), 1 => -3i128..4], 84),
    ) {
        let values = bigs(&values[..columns].iter().map(|&v| v.into()).collect::<Vec<_>>());
        let matrix = WeightMatrix::new(columns, weights[..rows * columns].to_vec()).unwrap();
        let expected: Vec<BigInt> = (0..rows)
            .map(|row| matrix.row(row).iter().zip(&values).map(|(&w, v)| v * w).sum())
            .collect();
        for key in keys_on_paths(512) {
            let c = encrypted(&key, &values, 1);
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                check(&key, "matrix_vector_public", pool.install(|| c.matrix_vector_public(&matrix)), &expected);
            }
        }
    }
}

fn full_size(bits: u32) {
    for key in keys_on_paths(bits) {
        let max = BigInt::from(key.public_key().max_plaintext());
        let a = [max.clone(), -&max, 5.into(), 0.into(), (-77).into()];
        let b = [max.clone(), max, (-6).into(), (-1).into(), 77.into()];
        everything(&key, &a, &b, &[i64::MIN, i64::MAX, -1, 0, 1_000_003]);
    }
}

#[test]
fn full_size_2048() {
    full_size(2048);
}

#[test]
fn full_size_3072() {
    full_size(3072);
}

/// Ciphertexts of a result do not depend on the number of threads.
#[test]
fn results_do_not_depend_on_threads() {
    let key = key(512);
    let values = bigs(&(0..61).map(|i| i * i - 900).collect::<Vec<i128>>());
    let (a, b) = (encrypted(key, &values, 1), encrypted(key, &values, 2));
    let scalars = Scalars::from_i64(&(0..61).map(|i| 5 - i).collect::<Vec<_>>());
    let results = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            [
                a.add(&b),
                a.subtract(&b),
                a.sum(),
                a.multiply_scalars(&scalars),
                a.dot_public(&[3; 61]),
                a.rerandomise(Blinding::Djn, &mut rng(1)),
            ]
            .map(|c| c.unwrap().to_biguints())
        })
    };
    let expected = results(1);
    for threads in [2, 3, 4] {
        assert!(results(threads) == expected);
    }
}

#[test]
fn keys_without_a_base_blind_strictly() {
    let public =
        ciphermill_paillier::PublicKey::from_modulus(&key(512).public_key().modulus(), crate::support::INSECURE)
            .unwrap();
    let c = encrypted(key(512), &bigs(&[8]), 1);
    let c = CiphertextVector::from_integers(&public, &c.to_integers()).unwrap();
    assert!(matches!(c.rerandomise(Blinding::Djn, &mut rng(1)), Err(PaillierError::NoBlindingBase)));
    check(key(512), "rerandomise", c.rerandomise(Blinding::Strict, &mut rng(1)), &bigs(&[8]));
}

#[test]
fn operands_that_do_not_belong_together() {
    let (mine, theirs) = (key(512), other_key());
    let a = encrypted(mine, &bigs(&[1, 2, 3]), 1);
    let (b, c) = (encrypted(mine, &bigs(&[1, 2]), 1), encrypted(theirs, &bigs(&[1, 2, 3]), 1));
    let length =
        |error: PaillierError| assert!(matches!(error, PaillierError::Length { left: 3, right: 2 }), "{error}");
    length(a.add(&b).unwrap_err());
    length(a.subtract(&b).unwrap_err());
    length(a.add_plain(&PlaintextVector::from_i64(mine.public_key(), &[1, 2])).unwrap_err());
    length(a.multiply_scalars(&Scalars::from_i64(&[1, 2])).unwrap_err());
    length(a.dot_public(&[1, 2]).unwrap_err());
    length(a.matrix_vector_public(&WeightMatrix::new(2, vec![1, 2]).unwrap()).unwrap_err());
    let wrong = |error: PaillierError| match error {
        PaillierError::WrongKey { given, expected } => assert_eq!((given, expected), (theirs.tag(), mine.tag())),
        other => panic!("{other}"),
    };
    wrong(a.add(&c).unwrap_err());
    wrong(a.subtract(&c).unwrap_err());
    wrong(a.add_plain(&PlaintextVector::from_i64(theirs.public_key(), &[1, 2, 3])).unwrap_err());
    wrong(CiphertextVector::concat(&[a.clone(), c]).unwrap_err());
    assert!(matches!(
        a.dot_public(&[1, 1 << 64, 1]),
        Err(PaillierError::BigInt(BigIntError::WeightMagnitude { index: 1 }))
    ));
    assert!(matches!(a.slice(0..0).unwrap().dot_public(&[]), Err(PaillierError::Empty)));
    assert!(matches!(a.get(3), Err(PaillierError::OutOfBounds { .. })));
    assert!(matches!(a.get(usize::MAX), Err(PaillierError::OutOfBounds { .. })));
    assert!(matches!(a.gather(&[0, 3]), Err(PaillierError::OutOfBounds { .. })));
    check(mine, "gather", a.gather(&[2, 0, 0]), &bigs(&[3, 1, 1]));
    check(mine, "the sum of none", a.slice(1..1).unwrap().sum(), &bigs(&[0]));
}

#[test]
fn scalars_out_of_range() {
    let values = [BigInt::from(7), BigInt::from(8), BigInt::from(-9)];
    assert!(matches!(Scalars::from_bigints(&values, 3), Err(PaillierError::ScalarRange { index: 1, bits: 3 })));
    assert!(Scalars::from_bigints(&values, 4).is_ok());
    assert!(matches!(Scalars::from_bigints(&values, 0), Err(PaillierError::ScalarBits { bits: 0 })));
    assert!(matches!(Scalars::from_bigints(&values, 4097), Err(PaillierError::ScalarBits { bits: 4097 })));
    let wide = [BigInt::from(1) << 200];
    assert!(matches!(Scalars::from_bigints(&wide, 64), Err(PaillierError::ScalarRange { index: 0, bits: 64 })));
    let narrow = |bits| Scalars::from_i64(&[1, -8, 7]).with_bits(bits);
    assert!(matches!(narrow(3), Err(PaillierError::ScalarRange { index: 1, bits: 3 })));
    assert!(matches!(narrow(0), Err(PaillierError::ScalarBits { bits: 0 })));
    let c = encrypted(key(512), &bigs(&[10, 20, -30]), 1);
    check(key(512), "narrow scalars", c.multiply_scalars(&narrow(4).unwrap()), &bigs(&[10, -160, -210]));
    let big = Scalars::from_i128(&[i128::MIN, i128::MAX, -1]);
    let expected = [BigInt::from(10) * i128::MIN, BigInt::from(20) * i128::MAX, 30.into()];
    check(key(512), "scalars of 128 bits", c.multiply_scalars(&big), &expected);
}
