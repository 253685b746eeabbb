//! Packed values against plain arithmetic, to the last bit that a slot has.

use std::sync::LazyLock;

use ciphermill_paillier::packing::{
    MAX_SLOT_BITS, MAX_VALUE_BITS, PackedCiphertextVector, PackedPlaintext, Packing, PackingError,
};
use ciphermill_paillier::{Blinding, Csprng, KeyBits, PaillierError, PlaintextVector, Scalars, SecretKey};
use num_bigint::BigInt;
use proptest::prelude::*;

/// Two keys, small ones: these tests do not depend on their size.
static KEYS: LazyLock<[SecretKey; 2]> = LazyLock::new(|| {
    let bits = KeyBits::insecure_bench(512).unwrap();
    [3, 4].map(|seed| SecretKey::generate(bits, &mut Csprng::from_seed([seed; 32])).unwrap())
});

fn owner() -> &'static SecretKey {
    &KEYS[0]
}

fn encrypted(packing: Packing, values: &[i64]) -> PackedCiphertextVector {
    let plain = PackedPlaintext::pack(packing, values).unwrap();
    let mut rng = Csprng::from_os().unwrap();
    plain.encrypt_by(owner().public_key(), |p| owner().encrypt(p, Blinding::Djn, &mut rng)).unwrap()
}

/// A layout and values for it, extreme ones among them.
fn packed() -> impl Strategy<Value = (Packing, Vec<i64>)> {
    (2..=MAX_VALUE_BITS, 0..=63u32, 1..20usize).prop_flat_map(|(value_bits, guard_bits, slots)| {
        let packing = Packing::new(value_bits, guard_bits.min(MAX_SLOT_BITS - value_bits), slots).unwrap();
        let bound = packing.value_bound() as i64;
        let value = prop_oneof![2 => -bound..=bound, 1 => Just(bound), 1 => Just(-bound), 1 => Just(-1), 1 => Just(0)];
        (Just(packing), prop::collection::vec(value, 0..50))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn unpacks_what_was_packed((packing, values) in packed()) {
        let plain = PackedPlaintext::pack(packing, &values).unwrap();
        let expected: Vec<i128> = values.iter().map(|&v| v.into()).collect();
        prop_assert_eq!(plain.unpack().unwrap(), expected);
        prop_assert_eq!(plain.len(), values.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn computes_in_all_slots(
        (packing, a) in packed().prop_filter("fits the key", |(packing, _)| packing.bits() <= 510),
        seed in any::<i64>(),
        scalar in -300..300i64,
    ) {
        let bound = packing.value_bound() as i64;
        let b: Vec<i64> = a.iter().map(|&v| if v == 0 { bound } else { (v ^ seed) % bound.max(1) }).collect();
        let (x, y) = (encrypted(packing, &a), encrypted(packing, &b));
        let plain = PackedPlaintext::pack(packing, &b).unwrap();
        let each = |f: &dyn Fn(i128, i128) -> i128| -> Vec<i128> {
            a.iter().zip(&b).map(|(&a, &b)| f(a.into(), b.into())).collect()
        };
        let twice = 2 * packing.value_bound();
        let scaled = u128::from(scalar.unsigned_abs()) * packing.value_bound();
        for (result, bound, expected) in [
            (x.add(&y), twice, each(&|a, b| a + b)),
            (x.subtract(&y), twice, each(&|a, b| a - b)),
            (x.add_plain(&plain), twice, each(&|a, b| a + b)),
            (x.subtract_plain(&plain), twice, each(&|a, b| a - b)),
            (x.negate(), packing.value_bound(), each(&|a, _| -a)),
            (x.multiply_public(scalar), scaled, each(&|a, _| a * i128::from(scalar))),
        ] {
            match result {
                Ok(result) => {
                    prop_assert!(bound <= packing.limit());
                    prop_assert_eq!(result.bound(), bound);
                    prop_assert_eq!(result.decrypt(owner()).unwrap(), expected);
                }
                Err(PackingError::Spill { bound: Some(given), limit }) => {
                    prop_assert!(given == bound && limit == packing.limit() && given > limit);
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[test]
fn every_slot_may_reach_the_limit_and_no_more() {
    // 3 value bits and 5 guard bits: 3 at first, 127 at most.
    let packing = Packing::fill(3, 5, 512).unwrap();
    assert_eq!((packing.slots(), packing.value_bound(), packing.limit()), (63, 3, 127));
    let values: Vec<i64> = (0..63).map(|i| if i % 3 == 0 { -3 } else { 3 }).collect();
    let x = encrypted(packing, &values);
    let most = x.multiply_public(-42).unwrap();
    assert_eq!(most.bound(), 126);
    let expected: Vec<i128> = values.iter().map(|&v| i128::from(v) * -42).collect();
    assert_eq!(most.decrypt(owner()).unwrap(), expected);
    let refused = |result: Result<PackedCiphertextVector, PackingError>, expected: u128| {
        let error = result.unwrap_err();
        assert!(error.to_string().contains(&expected.to_string()) && error.to_string().contains("127"), "{error}");
        assert!(matches!(error, PackingError::Spill { bound: Some(b), limit: 127 } if b == expected), "{error}");
    };
    refused(x.multiply_public(43), 129);
    refused(most.add(&x), 129);
    refused(most.subtract(&x), 129);
    refused(most.add_plain(&PackedPlaintext::pack(packing, &values).unwrap()), 129);
    // Secret scalars count by their declared width.
    let scalars = Scalars::from_i64(&[-31]).with_bits(5).unwrap();
    assert_eq!(x.multiply(&scalars).unwrap().bound(), 93);
    refused(x.multiply(&scalars.with_bits(6).unwrap()), 189);
    assert!(matches!(x.multiply(&Scalars::from_i128(&[1])), Err(PackingError::Spill { bound: None, limit: 127 })));
    let mut rng = Csprng::from_os().unwrap();
    let again = most.rerandomise(Blinding::Strict, &mut rng).unwrap();
    assert_ne!(again, most);
    assert_eq!(again.decrypt(owner()).unwrap(), expected);
}

#[test]
fn layouts_that_cannot_be_are_refused() {
    for (value_bits, guard_bits, slots) in
        [(1, 4, 3), (65, 0, 1), (64, 64, 1), (8, 8, 0), (8, u32::MAX, 1), (8, 120, 1), (2, 0, usize::MAX)]
    {
        assert!(matches!(Packing::new(value_bits, guard_bits, slots), Err(PackingError::Layout { .. })));
    }
    assert!(matches!(Packing::fill(64, 63, 128), Err(PackingError::Layout { slots: 0, .. })));
    // 51 slots of 10 bits take the 510 bits that a key of 512 bits has; one bit more per slot is too much.
    let key = owner().public_key();
    let pack = |packing| PackedPlaintext::pack(packing, &[1]).unwrap();
    let encrypt = |plain: PackedPlaintext| {
        plain.encrypt_by(key, |p| key.encrypt(p, Blinding::Djn, &mut Csprng::from_os().unwrap()))
    };
    assert!(encrypt(pack(Packing::new(5, 5, 51).unwrap())).is_ok());
    let error = encrypt(pack(Packing::new(7, 0, 73).unwrap())).unwrap_err();
    assert!(matches!(error, PackingError::KeyTooSmall { bits: 511, max: 510 }), "{error}");
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let packing = Packing::new(8, 8, 4).unwrap();
    let error = PackedPlaintext::pack(packing, &[127, -127, 128]).unwrap_err();
    assert!(matches!(error, PackingError::Value { index: 2, value_bits: 8, bound: 127 }), "{error}");
    assert!(!format!("{error} {error:?}").contains("128"), "a plaintext is shown: {error}");
    assert!(PackedPlaintext::pack(packing, &[-128]).is_err());
    assert!(PackedPlaintext::pack(Packing::new(64, 0, 1).unwrap(), &[i64::MIN]).is_err());
    assert!(PackedPlaintext::pack(Packing::new(64, 0, 1).unwrap(), &[i64::MAX, -i64::MAX]).is_ok());
}

#[test]
fn operands_that_do_not_belong_together_are_refused() {
    let packing = Packing::new(8, 8, 4).unwrap();
    let x = encrypted(packing, &[1, 2, 3, 4, 5]);
    let other = encrypted(Packing::new(8, 8, 5).unwrap(), &[1, 2, 3, 4, 5]);
    assert!(matches!(x.add(&other), Err(PackingError::Mismatch { .. })));
    let shorter = encrypted(packing, &[1, 2, 3, 4]);
    assert!(matches!(x.subtract(&shorter), Err(PackingError::Length { left: 5, right: 4 })));
    let stranger = KEYS[1].public_key();
    let foreign = PackedPlaintext::pack(packing, &[1, 2, 3, 4, 5])
        .unwrap()
        .encrypt_by(stranger, |p| stranger.encrypt(p, Blinding::Djn, &mut Csprng::from_os().unwrap()))
        .unwrap();
    assert!(matches!(x.add(&foreign), Err(PackingError::Paillier(PaillierError::WrongKey { .. }))));
    assert!(matches!(x.decrypt(&KEYS[1]), Err(PackingError::Paillier(PaillierError::WrongKey { .. }))));
    let declare = |len, bound| PackedCiphertextVector::from_parts(x.ciphertexts().clone(), packing, len, bound);
    assert!(matches!(declare(9, 127), Err(PackingError::Ciphertexts { expected: 3, given: 2, .. })));
    assert!(matches!(declare(4, 127), Err(PackingError::Ciphertexts { expected: 1, given: 2, .. })));
    assert!(matches!(declare(5, 1 << 15), Err(PackingError::Spill { bound: Some(32768), limit: 32767 })));
}

#[test]
fn a_false_declaration_shows_when_it_is_decrypted() {
    let packing = Packing::new(8, 8, 4).unwrap();
    let key = owner().public_key();
    let declared = |value: BigInt, len: usize, bound: u128| {
        let plaintexts = PlaintextVector::from_bigints(key, &[value]).unwrap();
        let ciphertexts = key.encrypt(&plaintexts, Blinding::Strict, &mut Csprng::from_os().unwrap()).unwrap();
        PackedCiphertextVector::from_parts(ciphertexts, packing, len, bound).unwrap().decrypt(owner())
    };
    // The lowest slot is −2, the third 7.
    let value: BigInt = (BigInt::from(7) << 32) - 2;
    assert_eq!(declared(value.clone(), 4, 7).unwrap(), [-2, 0, 7, 0]);
    assert!(matches!(declared(value.clone(), 4, 6), Err(PackingError::BeyondBound { index: 2, bound: 6 })));
    assert!(matches!(declared(value, 2, 7), Err(PackingError::BeyondBound { index: 2, bound: 0 })));
    let first_above: BigInt = BigInt::from(1) << 64;
    for above in [first_above.clone(), -first_above, BigInt::from(key.max_plaintext())] {
        assert!(matches!(declared(above, 4, 32767), Err(PackingError::BeyondBound { .. })));
    }
}
