//! Against Microsoft SEAL: tests/vectors/generate_seal.py had it encode, encrypt and compute the values compared here.

use std::collections::HashMap;

use crate::support::INSECURE;
use ciphermill_bfv::encoding::BatchEncoder;
use ciphermill_bfv::keys::GaloisRequest;
use ciphermill_bfv::{
    Ciphertext, Context, Gadget, GaloisKeys, ParameterSet, ParameterSpec, RelinearizationKey, SecretKey,
};
use ciphermill_lattice::{Csprng, PolynomialSize, SecretSeed};
use ciphermill_math::Isa;
use ciphermill_wire::{Encoder, Header, seal};

const WORDS: &[u8] = include_bytes!("vectors/seal.bin");
const RECORD: &str = include_str!("vectors/seal.json");

/// The named sections of the record.
fn sections() -> HashMap<String, Vec<u64>> {
    let record: serde_json::Value = serde_json::from_str(RECORD).expect("a record");
    let mut words = WORDS.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let sections = record["sections"].as_array().expect("a list").iter().map(|section| {
        let count = section["words"].as_u64().expect("a number") as usize;
        (section["name"].as_str().expect("a name").to_owned(), words.by_ref().take(count).collect())
    });
    let sections = sections.collect();
    assert_eq!(words.next(), None, "words left over");
    sections
}

/// SEAL's default set for 4096 coefficients and 128 bits.
fn parameters() -> ParameterSet {
    let record: serde_json::Value = serde_json::from_str(RECORD).expect("a record");
    let moduli = |name: &str| -> Vec<u64> {
        record[name].as_array().expect("a list").iter().map(|p| p.as_u64().expect("a prime")).collect()
    };
    let spec = ParameterSpec {
        name: "SEAL_4096".to_owned(),
        polynomial_size: PolynomialSize::new(4096).expect("a power of two"),
        ciphertext_moduli: moduli("ciphertext_moduli"),
        special_moduli: moduli("special_moduli"),
        plaintext_modulus: record["plaintext_modulus"].as_u64().expect("a number"),
        gadget: Gadget::Limbs { limbs_per_digit: 1 },
    };
    // SEAL's default has 109 bits, the bound of the standard of 2018: 125 bits of security today.
    ParameterSet::new(spec, INSECURE).expect("SEAL's own set")
}

fn context(isa: Isa) -> Context {
    Context::new(&parameters(), isa).expect("an available path")
}

/// Slots modulo t as SEAL gives them.
fn unsigned(context: &Context, slots: &[i64]) -> Vec<u64> {
    slots.iter().map(|&x| x.rem_euclid(context.t() as i64) as u64).collect()
}

fn signed(context: &Context, slots: &[u64]) -> Vec<i64> {
    let t = context.t() as i64;
    slots.iter().map(|&x| x as i64).map(|x| if x > (t - 1) / 2 { x - t } else { x }).collect()
}

/// The key that SEAL drew, brought in by way of the byte format.
fn secret_key(isa: Isa, coefficients: &[u64]) -> SecretKey {
    // A key of this crate for the head; its coefficients are replaced.
    let ours = SecretKey::generate(&context(isa), &SecretSeed::from_bytes([7; 32])).to_secret_key_bytes();
    let header = Header::decode(&ours).expect("a sealed key");
    let body = &ours[24..ours.len() - 4];
    let mut out = Encoder::with_capacity(body.len());
    out.bytes(&body[..body.len() - coefficients.len() / 4]);
    for four in coefficients.chunks_exact(4) {
        out.u8(four.iter().enumerate().fold(0, |byte, (i, &x)| byte | ((x as u8 & 3) << (2 * i))));
    }
    let sealed = seal(header.kind, header.version, &out.into_vec());
    SecretKey::from_secret_key_bytes(&sealed, INSECURE, isa).expect("a ternary key")
}

/// Two parts of two limbs as a ciphertext under `key`, by way of the byte format.
fn ciphertext(key: &SecretKey, words: &[u64]) -> Ciphertext {
    let context = key.context();
    let zero = context.encode(&[]).expect("no value");
    let template = key.encrypt(&zero, context.top(), &mut Csprng::from_secret(&SecretSeed::from_bytes([8; 32]), 0));
    let sealed = template.expect("a ciphertext").to_bytes(context).expect("of this set");
    let header = Header::decode(&sealed).expect("a sealed ciphertext");
    let basis = context.basis(context.top());
    let mut out = Encoder::with_capacity(sealed.len());
    out.bytes(&sealed[24..sealed.len() - 4 - 2 * basis.packed_len()]);
    for part in words.chunks_exact(words.len() / 2) {
        let poly = ciphermill_lattice::rns::RnsPoly::from_words(basis.polynomial_size(), part.to_vec());
        out.bytes(&basis.pack(&poly));
    }
    Ciphertext::from_bytes(context, &seal(header.kind, header.version, &out.into_vec())).expect("canonical residues")
}

#[test]
fn slots_stand_where_seal_has_them() {
    let sections = sections();
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let context = context(isa);
        let encoder = BatchEncoder::new(&context).expect("a set with slots");
        for name in ["x", "y"] {
            let encoded = context.plaintext(sections[&format!("encoded {name}")].clone()).expect("below t");
            let slots = encoder.decode(&encoded);
            if name == "x" {
                assert!(unsigned(&context, &slots) == sections["slots x"], "{isa}");
            }
            assert!(encoder.encode(&slots).expect("in range") == encoded, "{name}, {isa}");
        }
    }
}

#[test]
fn what_seal_encrypts_and_computes_decrypts_under_its_key() {
    let sections = sections();
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let key = secret_key(isa, &sections["secret key"]);
        let encoder = BatchEncoder::new(key.context()).expect("a set with slots");
        for name in ["x", "x * y"] {
            let ciphertext = ciphertext(&key, &sections[&format!("ciphertext {name}")]);
            let slots = encoder.decode(&key.decrypt(&ciphertext).expect("of this key"));
            assert!(unsigned(key.context(), &slots) == sections[&format!("slots {name}")], "{name}, {isa}");
            assert!(key.noise_budget(&ciphertext).expect("of this key") > 0.0, "{name}");
        }
    }
}

/// The same computations on our ciphertexts.
#[test]
fn what_we_compute_is_what_seal_computes() {
    let sections = sections();
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let context = context(isa);
        let key = SecretKey::generate(&context, &SecretSeed::from_os().expect("randomness"));
        let mut noise = Csprng::from_os().expect("randomness");
        let encoder = BatchEncoder::new(&context).expect("a set with slots");
        let plain =
            ["x", "y"].map(|name| context.plaintext(sections[&format!("encoded {name}")].clone()).expect("below t"));
        let [x, y] = [0, 1].map(|i| key.encrypt(&plain[i], context.top(), &mut noise).expect("a ciphertext"));
        let relinearization = RelinearizationKey::generate(&key).expect("a key");
        let rotations = [1i64, -3, 1024].map(|steps| (format!("rotate {steps}"), encoder.rotation(steps)));
        let elements = rotations.iter().map(|&(_, g)| g).chain([encoder.row_swap()]);
        let requests: Vec<GaloisRequest> =
            elements.map(|element| GaloisRequest { element, gadget: context.parameters().gadget }).collect();
        let galois = GaloisKeys::generate(&key, &requests).expect("keys");

        let product = context.multiply(&x, &y).expect("two ciphertexts of a key");
        let mut results = vec![
            ("x + y".to_owned(), context.add(&x, &y)),
            ("x - y".to_owned(), context.sub(&x, &y)),
            ("x * plain y".to_owned(), context.mul_plain(&x, &plain[1])),
            ("x * y".to_owned(), context.relinearize(&product, &relinearization)),
            ("swap rows".to_owned(), context.automorphism(&x, encoder.row_swap(), &galois)),
        ];
        results.extend(rotations.into_iter().map(|(name, g)| (name, context.automorphism(&x, g, &galois))));
        for (name, result) in results {
            let slots = encoder.decode(&key.decrypt(&result.expect("operands of one key")).expect("of this key"));
            assert!(unsigned(&context, &slots) == sections[&format!("slots {name}")], "{name}, {isa}");
        }
        assert!(signed(&context, &sections["slots x"]) == encoder.decode(&plain[0]));
    }
}
