//! Ciphertexts that cross between this crate and a running `phe`, in both directions, under fresh keys.
//!
//! `phe` runs in the Python environment that `scripts/setup.sh test` makes. Without it these tests are reported as not run.

use ciphermill_testing::{Need, not_run};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ciphermill_bigint::WeightMatrix;
use ciphermill_paillier::fixed_point::{FixedPointVector, Number};
use ciphermill_paillier::{
    Blinding, CiphertextVector, Csprng, KeyBits, PlaintextVector, PublicKey, Scalars, SecretKey, SizePolicy,
};
use num_bigint::{BigInt, BigUint};
use serde_json::{Value, json};

/// `phe` at the other end of a pipe.
struct Phe {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Phe {
    /// `None`, and a line that reports it, if the Python environment is missing.
    fn start() -> Option<Self> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let python = root.join(".venv/bin/python");
        let usable = Command::new(&python)
            .args(["-c", "import phe, gmpy2"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !usable {
            not_run(Need::Python, "comparison with a running phe: .venv has no phe; use `make setup`");
            return None;
        }
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/live_phe.py");
        let mut child = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().expect("a pipe")));
        Some(Self { child, input, output })
    }

    fn ask(&mut self, fields: Value) -> Value {
        writeln!(self.input.as_mut().expect("open"), "{fields}").expect("phe listens");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("phe answers");
        serde_json::from_str(&line).expect("an answer in JSON; what went wrong is above")
    }

    fn decrypt(&mut self, (p, q): &(BigUint, BigUint), ciphertexts: &CiphertextVector) -> Vec<BigInt> {
        let ciphertexts: Vec<String> = ciphertexts.to_biguints().iter().map(hex).collect();
        let answer = self.ask(json!({"do": "decrypt", "p": hex(p), "q": hex(q), "ciphertexts": ciphertexts}));
        numbers(&answer["values"])
    }
}

impl Drop for Phe {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

fn hex(value: &BigUint) -> String {
    value.to_str_radix(16)
}

fn number(value: &Value) -> BigInt {
    BigInt::parse_bytes(value.as_str().expect("a string").as_bytes(), 16).expect("hexadecimal")
}

fn natural(value: &Value) -> BigUint {
    number(value).to_biguint().expect("no sign")
}

fn numbers(value: &Value) -> Vec<BigInt> {
    value.as_array().expect("a list").iter().map(number).collect()
}

fn ciphertexts(key: &PublicKey, values: &Value) -> CiphertextVector {
    let values: Vec<BigUint> = values.as_array().expect("a list").iter().map(natural).collect();
    CiphertextVector::from_biguints(key, &values).expect("ciphertexts of phe")
}

fn values(key: &PublicKey) -> Vec<BigInt> {
    // phe takes up to n/3.
    let most = BigInt::from(key.modulus() / 4u32);
    vec![0.into(), 1.into(), (-1).into(), i64::MAX.into(), i64::MIN.into(), most.clone(), -most]
}

/// Results from x, y under one key, by both libraries: sums, differences, multiples, and a matrix product.
fn check_ours(phe: &mut Phe, primes: &(BigUint, BigUint), x: &CiphertextVector, plain: &[BigInt]) {
    let key = x.key();
    assert_eq!(phe.decrypt(primes, x), plain, "what we encrypted");
    let short = x.slice(0..5).unwrap();
    let plain = &plain[..5];
    let doubled: Vec<BigInt> = plain.iter().map(|v| v * 2).collect();
    assert_eq!(phe.decrypt(primes, &short.add(&short).unwrap()), doubled);
    assert_eq!(phe.decrypt(primes, &short.subtract(&short).unwrap()), vec![BigInt::ZERO; 5]);
    let addends = PlaintextVector::from_bigints(key, plain).unwrap();
    assert_eq!(phe.decrypt(primes, &short.add_plain(&addends).unwrap()), doubled);
    let scaled: Vec<BigInt> = plain.iter().map(|v| v * -12345).collect();
    assert_eq!(phe.decrypt(primes, &short.multiply_scalars(&Scalars::from_i64(&[-12345])).unwrap()), scaled);
    let weights = [3i128, -1, 4, 1, -5, 9, -2, 6, 5, -3];
    let products = short.matrix_vector_public(&WeightMatrix::new(5, weights.to_vec()).unwrap()).unwrap();
    let expected = weights.chunks(5).map(|row| row.iter().zip(plain).map(|(w, v)| v * w).sum());
    assert_eq!(phe.decrypt(primes, &products), expected.collect::<Vec<BigInt>>());
}

#[test]
fn under_a_key_of_phe() {
    let Some(mut phe) = Phe::start() else { return };
    for bits in [1024, 2048] {
        let key = phe.ask(json!({"do": "key", "bits": bits}));
        let primes = (natural(&key["p"]), natural(&key["q"]));
        let mut rng = Csprng::from_os().unwrap();
        let owner = SecretKey::from_primes(&primes.0, &primes.1, SizePolicy::InsecureBench, &mut rng).unwrap();
        // We encrypt knowing n only.
        let public = PublicKey::from_modulus(&natural(&key["n"]), SizePolicy::InsecureBench).unwrap();
        assert_eq!(&public, owner.public_key());
        let plain = values(&public);
        let plaintexts = PlaintextVector::from_bigints(&public, &plain).unwrap();
        let encrypted = public.encrypt(&plaintexts, Blinding::Strict, &mut rng).unwrap();
        check_ours(&mut phe, &primes, &encrypted, &plain);
        // And so does the owner, by the primes.
        let own = PlaintextVector::from_bigints(owner.public_key(), &plain).unwrap();
        assert_eq!(phe.decrypt(&primes, &owner.encrypt(&own, Blinding::Strict, &mut rng).unwrap()), plain);

        check_theirs(&mut phe, &owner, &plain);
    }
}

#[test]
fn under_a_key_of_ours() {
    let Some(mut phe) = Phe::start() else { return };
    let mut rng = Csprng::from_os().unwrap();
    let owner = SecretKey::generate(KeyBits::insecure_bench(1024).unwrap(), &mut rng).unwrap();
    let key = owner.public_key();
    let exposed = owner.expose_primes();
    let (p, q) = exposed.split_at(exposed.len() / 2);
    let primes = (BigUint::from_bytes_le(p), BigUint::from_bytes_le(q));
    assert_eq!(&primes.0 * &primes.1, key.modulus());
    let plain = values(key);
    let plaintexts = PlaintextVector::from_bigints(key, &plain).unwrap();
    for blinding in [Blinding::Djn, Blinding::Strict] {
        check_ours(&mut phe, &primes, &key.encrypt(&plaintexts, blinding, &mut rng).unwrap(), &plain);
        check_ours(&mut phe, &primes, &owner.encrypt(&plaintexts, blinding, &mut rng).unwrap(), &plain);
    }
    check_theirs(&mut phe, &owner, &plain);
}

/// What phe encrypts and computes, decrypted by us.
fn check_theirs(phe: &mut Phe, owner: &SecretKey, plain: &[BigInt]) {
    let key = owner.public_key();
    let n = hex(&key.modulus());
    let given: Vec<String> = plain.iter().map(|v| v.to_str_radix(16)).collect();
    let answer = phe.ask(json!({"do": "encrypt", "n": n, "values": given}));
    let theirs = ciphertexts(key, &answer["ciphertexts"]);
    assert_eq!(owner.decrypt(&theirs).unwrap().to_bigints(), plain, "what phe encrypted");

    // phe computes with a ciphertext of phe and one of this crate.
    let (a, b, scalar) = (&plain[3], BigInt::from(-987654321), BigInt::from(-77));
    let plaintexts = PlaintextVector::from_bigints(key, std::slice::from_ref(&b)).unwrap();
    let ours = key.encrypt(&plaintexts, key.default_blinding(), &mut Csprng::from_os().unwrap()).unwrap();
    let (left, right) = (hex(&theirs.to_biguints()[3]), hex(&ours.to_biguints()[0]));
    let question = json!({"do": "compute", "n": n, "a": left, "b": right, "scalar": scalar.to_str_radix(16)});
    let answer = phe.ask(question);
    for (name, expected) in
        [("sum", a + &b), ("difference", a - &b), ("product", a * &scalar), ("plain_sum", a + &scalar)]
    {
        let result = CiphertextVector::from_biguints(key, &[natural(&answer[name])]).unwrap();
        assert_eq!(owner.decrypt(&result).unwrap().to_bigints(), [expected], "{name} by phe");
    }

    // Floats: phe encodes them as m·16^exponent, exactly.
    let floats = [0.1, -2.5e10, 1.0 / 3.0, 7.0, -1e-9];
    let answer = phe.ask(json!({"do": "encrypt_floats", "n": n, "values": floats}));
    let theirs = ciphertexts(key, &answer["ciphertexts"]);
    for (index, &value) in floats.iter().enumerate() {
        let exponent = answer["exponents"][index].as_i64().unwrap();
        let bound = key.max_plaintext();
        let element = theirs.get(index).unwrap();
        let number = if exponent <= 0 {
            FixedPointVector::from_parts(element, (-4 * exponent) as u32, bound)
                .unwrap()
                .decrypt(owner)
                .unwrap()
                .remove(0)
        } else {
            Number::new(owner.decrypt(&element).unwrap().to_bigints().remove(0) << (4 * exponent), 0)
        };
        assert_eq!(number.to_f64(), Some(value));
    }
}
