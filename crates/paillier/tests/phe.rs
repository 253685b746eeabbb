//! Known answers made with `phe` (`vectors/generate_phe.py`): ciphertexts to the last bit, and their plaintexts.

use ciphermill_bigint::{Exponents, IntegerBatch, Path, limbs};
use ciphermill_paillier::{CiphertextVector, Csprng, PlaintextVector, Scalars, SecretKey, SizePolicy};
use ciphermill_testing::available;
use num_bigint::{BigInt, BigUint};
use serde_json::Value;

const VECTORS: &str = include_str!("vectors/phe.json");

fn number(value: &Value) -> BigInt {
    BigInt::parse_bytes(value.as_str().expect("a string").as_bytes(), 16).expect("hexadecimal")
}

fn natural(value: &Value) -> BigUint {
    number(value).to_biguint().expect("no sign")
}

fn list<'a>(record: &'a Value, name: &str) -> &'a [Value] {
    record[name].as_array().unwrap_or_else(|| panic!("{name} is a list"))
}

/// A plaintext as a residue, whatever sign it was given with.
fn residue(value: &BigInt, n: &BigUint) -> BigUint {
    let n = BigInt::from(n.clone());
    (((value % &n) + &n) % &n).to_biguint().expect("not negative")
}

fn rows(values: &[BigUint], width: usize) -> IntegerBatch {
    let words = values.iter().flat_map(|value| {
        let mut words = value.to_u64_digits();
        assert!(words.len() <= width);
        words.resize(width, 0);
        words
    });
    IntegerBatch::from_words(width, words.collect())
}

fn naturals(plaintexts: &PlaintextVector) -> Vec<BigUint> {
    plaintexts
        .residues()
        .rows()
        .map(|row| BigUint::from_bytes_le(&row.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>()))
        .collect()
}

/// Everything that a record contains, on one path.
fn check(record: &Value, path: Path) {
    let (n, p, q) = (natural(&record["n"]), natural(&record["p"]), natural(&record["q"]));
    let mut rng = Csprng::from_os().unwrap();
    let owner = SecretKey::from_primes(&p, &q, SizePolicy::InsecureBench, &mut rng).unwrap().on_path(path).unwrap();
    let key = owner.public_key();
    assert_eq!(key.modulus(), n);
    assert_eq!(u64::from(key.bits().get()), record["bits"].as_u64().unwrap());
    let context = |what: &str| format!("{what}, {} bits, path {path}", key.bits());

    let given = list(record, "ciphertexts");
    let plain: Vec<BigUint> = given.iter().map(|c| residue(&number(&c["m"]), &n)).collect();
    let expected: Vec<BigUint> = given.iter().map(|c| natural(&c["c"])).collect();

    // Encryption with a given r, by the steps that encryption is made of.
    let ring = key.ring();
    let r: Vec<BigUint> = given.iter().map(|c| natural(&c["r"])).collect();
    let exponent = Exponents::shared(&limbs::to_uint(key.n()), key.bits().get()).unwrap();
    let factors = ring.pow(&ring.enter(&rows(&r, key.n().len())).unwrap(), &exponent).unwrap();
    let encrypted = ring.multiply_unit(&factors, &rows(&plain, key.n().len())).unwrap();
    let all = CiphertextVector::from_biguints(key, &expected).unwrap();
    assert_eq!(ring.leave(&encrypted), all.to_integers(), "{}", context("encryption"));
    assert_eq!(all.to_biguints(), expected);
    assert_eq!(naturals(&owner.decrypt(&all).unwrap()), plain, "{}", context("decryption"));

    // What was computed by phe, here in one batch per operation.
    let operands = |name: &str, operand: &str| {
        let places: Vec<usize> = list(record, name).iter().map(|s| s[operand].as_u64().unwrap() as usize).collect();
        all.gather(&places).unwrap()
    };
    let plaintexts =
        |name: &str, field: &str| -> Vec<BigInt> { list(record, name).iter().map(|s| number(&s[field])).collect() };
    let sums = operands("sums", "a").add(&operands("sums", "b")).unwrap();
    let differences = operands("differences", "a").subtract(&operands("differences", "b")).unwrap();
    let addends = PlaintextVector::from_bigints(key, &plaintexts("plain_sums", "plain")).unwrap();
    let plain_sums = operands("plain_sums", "a").add_plain(&addends).unwrap();
    let scalars = Scalars::from_bigints(&plaintexts("products", "scalar"), key.bits().get()).unwrap();
    let products = operands("products", "a").multiply_scalars(&scalars).unwrap();
    for (name, got) in
        [("sums", sums), ("differences", differences), ("plain_sums", plain_sums), ("products", products)]
    {
        let expected: Vec<BigUint> = list(record, name).iter().map(|s| natural(&s["c"])).collect();
        let plain: Vec<BigUint> = list(record, name).iter().map(|s| natural(&s["m"])).collect();
        assert_eq!(got.to_biguints(), expected, "{}", context(name));
        assert_eq!(naturals(&owner.decrypt(&got).unwrap()), plain, "{}", context(name));
    }
}

#[test]
fn known_answers_of_phe() {
    let records: Value = serde_json::from_str(VECTORS).unwrap();
    let records = records.as_array().unwrap();
    assert_eq!(records.iter().map(|r| r["bits"].as_u64().unwrap()).collect::<Vec<_>>(), [512, 1024, 2048, 3072]);
    for path in available(Path::ALL, |path| path.is_available()) {
        records.iter().for_each(|record| check(record, path));
    }
}

#[test]
fn their_keys_are_refused_where_they_protect_nothing() {
    let records: Value = serde_json::from_str(VECTORS).unwrap();
    for record in records.as_array().unwrap() {
        let (p, q) = (natural(&record["p"]), natural(&record["q"]));
        let result = SecretKey::from_primes(&p, &q, SizePolicy::Standard, &mut Csprng::from_os().unwrap());
        assert_eq!(result.is_ok(), record["bits"].as_u64().unwrap() >= 2048);
    }
}
