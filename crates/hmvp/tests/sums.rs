//! Sums of encrypted vectors.

use ciphermill_bfv::parameters::{ParameterSet, SecurityPolicy};
use ciphermill_bfv::{BfvError, PublicKey};
use ciphermill_hmvp::{EncryptedVector, Encryption, HmvpError, MAX_SUMMANDS, Plan, Request, Strategy};
use ciphermill_math::Isa;

use crate::support::{Setting, numbers, product};

fn request(summands: u32) -> Request {
    Request { summands, encryption: Encryption::Public, vector_bits: 12, unsplit: true, ..Request::new(24, 200) }
}

fn vectors(setting: &mut Setting, count: usize, bits: u32) -> (Vec<Vec<i64>>, Vec<EncryptedVector>) {
    let public = PublicKey::generate(&setting.secret).expect("a public key");
    let cols = setting.request().cols;
    let plain: Vec<_> = (0..count).map(|_| numbers(&mut setting.rng, bits, cols)).collect();
    let rng = &mut setting.rng;
    let encrypted = plain.iter().map(|values| {
        let sent = EncryptedVector::encrypt_public(&setting.plan, &public, values, rng).expect("a vector").to_bytes();
        EncryptedVector::from_bytes(&setting.plan, &sent).expect("the sent vector")
    });
    let encrypted = encrypted.collect();
    (plain, encrypted)
}

fn sum(vectors: &[EncryptedVector]) -> Result<EncryptedVector, HmvpError> {
    vectors[1..].iter().try_fold(vectors[0].clone(), |sum, vector| sum.add(vector))
}

#[test]
fn products_with_sums_of_every_strategy() {
    for strategy in Strategy::ALL {
        let mut setting = Setting::new(&Request { strategy: Some(strategy), ..request(16) });
        let matrix = setting.random_matrix();
        let prepared = setting.prepare(&matrix);
        // 16 numbers of 8 bits have 12 bits together.
        let (plain, encrypted) = vectors(&mut setting, 16, 8);
        let total = sum(&encrypted).expect("a sum");
        let received = EncryptedVector::from_bytes(&setting.plan, &total.to_bytes()).expect("a sum");
        let expected: Vec<i64> = (0..200).map(|j| plain.iter().map(|values| values[j]).sum()).collect();
        for vector in [&total, &received] {
            let found = setting.multiply(&prepared, &[vector]).remove(0);
            assert!(found.noise_bits_left(&setting.secret).expect("noise") > 0.0);
            assert_eq!(
                found.decrypt(&setting.secret).expect("a product"),
                product(&matrix, 24, &expected),
                "{strategy:?}"
            );
        }
    }
}

#[test]
fn the_plan_expects_the_noise_of_sums() {
    for strategy in Strategy::ALL {
        let noise = |summands| {
            let request = Request { strategy: Some(strategy), ..request(summands) };
            Plan::new(&request, Isa::current()).expect("a plan").explain().noise_bits
        };
        // Sixteen times the variance of a vector; other noise does not grow.
        let (one, sixteen) = (noise(1), noise(16));
        assert!((0.0..=2.0 + 1e-9).contains(&(sixteen - one)), "{strategy:?}: {one} and {sixteen}");
    }
    // The noise of the vector dominates here.
    let noise = |summands| {
        let request = Request { strategy: Some(Strategy::RowPacked), ..request(summands) };
        Plan::new(&request, Isa::current()).expect("a plan").explain().noise_bits
    };
    assert!(noise(256) - noise(1) > 3.0);
}

#[test]
fn sums_beyond_the_plan_are_refused() {
    let mut setting = Setting::new(&request(3));
    let (_, encrypted) = vectors(&mut setting, 4, 8);
    let three = sum(&encrypted[..3]).expect("a sum");
    let range = |outcome: Result<EncryptedVector, HmvpError>| {
        let error = outcome.map(|_| ()).expect_err("a sum of too many");
        assert!(error.to_string().contains("number of encryptions of a sum is 4; use 1 to 3"), "{error}");
    };
    range(three.add(&encrypted[3]));
    range(encrypted[3].add(&three));
    // Another key set, another plan.
    let mut other = Setting::on(&request(3), Isa::current(), 2);
    let (_, foreign) = vectors(&mut other, 1, 8);
    assert!(matches!(encrypted[0].add(&foreign[0]), Err(HmvpError::Scheme(BfvError::WrongKey { .. }))));
    let mut other = Setting::new(&request(4));
    let (_, foreign) = vectors(&mut other, 1, 8);
    assert!(matches!(encrypted[0].add(&foreign[0]), Err(HmvpError::WrongPlan { .. })));
}

#[test]
fn sums_of_split_entries_are_refused() {
    // Entries of 16 bits by a set with room for 8.
    let paper = ParameterSet::named("CHAM_PAPER", SecurityPolicy::Require128Bits).expect("a set");
    let wide =
        Request { parameters: Some(paper), matrix_bits: 16, vector_bits: 16, summands: 2, ..Request::new(64, 256) };
    let mut setting = Setting::new(&Request { log2_failure: -20.0, strategy: Some(Strategy::Algorithm1), ..wide });
    let vector = setting.random_vector();
    let vector = setting.encrypt(&vector);
    assert!(setting.plan.explain().vector_parts > 1, "this plan splits");
    assert!(matches!(vector.add(&vector), Err(HmvpError::Scheme(BfvError::Unsupported { .. }))));
}

#[test]
fn plans_carry_the_number_of_summands() {
    for summands in [1, 2, MAX_SUMMANDS] {
        let plan = Plan::new(&request(summands), Isa::current()).expect("a plan");
        let policy = SecurityPolicy::Require128Bits;
        let read = Plan::from_bytes(&plan.to_bytes(), policy, Isa::current()).expect("a plan");
        assert_eq!(read.request().summands, summands);
    }
}
