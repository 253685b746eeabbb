//! Objects that do not fit are refused with a reason, and leave no trace.

use ciphermill_bigint::IntegerBatch;
use ciphermill_device::{Device, DeviceConfig, DeviceError, HandlerError, ReadMode, handlers};
use ciphermill_paillier::serial::{BODY_VERSION, CIPHERTEXT_VECTOR};
use ciphermill_paillier::{PublicKey, SizePolicy};
use ciphermill_tfhe::{Backend, SecurityPolicy};
use ciphermill_wire::{Encoder, seal};

use crate::parties::{Client, device, device_with, message, program, put, space, vr, weights};

/// A sealed vector of any numbers, ciphertexts or not.
fn sealed(key: &PublicKey, values: &IntegerBatch) -> Vec<u8> {
    let mut out = Encoder::default();
    out.u64(key.tag().0).u32(key.bits().get()).u32(0).u64(values.len() as u64).u64s(values.words());
    seal(CIPHERTEXT_VECTOR, BODY_VERSION, &out.into_vec())
}

fn invalid(result: Result<(), DeviceError>) -> bool {
    matches!(result, Err(DeviceError::Handler(HandlerError::Invalid { .. })))
}

#[test]
fn small_keys_only_where_they_are_allowed() {
    let directory = tempfile::tempdir().expect("a directory");
    let client = Client::small();
    {
        let device = device_with(&directory, SizePolicy::Standard);
        let refusal = message(put(&space(&device), "16:0:1", &client.public()));
        assert!(refusal.contains("a key of 512 bits") && refusal.contains("2048"), "{refusal}");
        assert!(space(&device).list().is_empty());
    }
    {
        let device = device(&directory);
        put(&space(&device), "16:0:1", &client.public()).expect("a key where small ones are allowed");
    }
    // A key that was stored under another policy is not computed with either.
    let device = device_with(&directory, SizePolicy::Standard);
    let space = space(&device);
    let mut client = client;
    let refusal = message(put(&space, "18:0:0", &client.encrypt(&[1])));
    assert!(refusal.contains("a key of 512 bits"), "{refusal}");
}

#[test]
fn what_is_no_key_or_the_key_of_something_else() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut client = Client::small();
    let device = device(&directory);
    let space = space(&device);
    let public = client.public();
    assert!(message(put(&space, "16:0:2", &public)).contains("no Paillier key has data id 2"));
    for (what, bytes) in [
        ("a secret key", client.key.to_secret_key_bytes().to_vec()),
        ("weights", weights(1, &[1])),
        ("a vector", client.encrypt(&[1])),
        ("a short one", public[..public.len() - 1].to_vec()),
    ] {
        assert!(invalid(put(&space, "16:0:1", &bytes)), "{what}");
    }
    let long = message(put(&space, "16:0:1", &[public.as_slice(), &[0; 2000]].concat()));
    assert!(long.contains("1 to 1572 bytes"), "{long}");
    for bit in 0..public.len() * 8 {
        let mut damaged = public.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(invalid(put(&space, "16:0:1", &damaged)), "bit {bit}");
    }
    assert!(space.list().is_empty());
}

#[test]
fn what_is_no_vector_of_the_key() {
    let directory = tempfile::tempdir().expect("a directory");
    let (mut client, mut other) = (Client::small(), Client::small());
    let device = device(&directory);
    let space = space(&device);
    put(&space, "16:0:1", &client.public()).expect("a key");
    let refusal = message(put(&space, "18:0:0", &other.encrypt(&[1, 2])));
    assert!(refusal.contains(&format!("a vector of key {}", other.key.tag())), "{refusal}");
    assert!(refusal.contains(&format!("stands key {}", client.key.tag())), "{refusal}");

    let key = client.key.public_key().clone();
    let square = key.modulus() * key.modulus();
    let batch = |values: &[num_bigint::BigUint]| {
        let mut batch = IntegerBatch::zeros(values.len(), 16);
        for (row, value) in values.iter().enumerate() {
            let words = value.to_u64_digits();
            batch.row_mut(row)[..words.len()].copy_from_slice(&words);
        }
        sealed(&key, &batch)
    };
    let one = num_bigint::BigUint::from(1_u32);
    put(&space, "18:0:0", &batch(&[one.clone(), &square - 1_u32])).expect("the least and the greatest unit");
    for (what, value, reason) in [
        ("zero", one.clone() - 1_u32, "ciphertext 1 lies outside 0 < c < n²"),
        ("n²", square.clone(), "ciphertext 1 lies outside 0 < c < n²"),
        ("n² + 1", square + 1_u32, "ciphertext 1 lies outside 0 < c < n²"),
        ("n", key.modulus(), "ciphertext 1 shares a factor with n"),
        ("3 n", key.modulus() * 3_u32, "ciphertext 1 shares a factor with n"),
    ] {
        for register in ["18:0:0", "19:0:0"] {
            let bytes = batch(&[one.clone(), value.clone()]);
            assert!(invalid(put(&space, register, &bytes)), "{what}");
            let refusal = message(put(&space, register, &bytes));
            assert!(refusal.contains(reason), "{what}: {refusal}");
        }
    }
    assert!(message(put(&space, "18:0:1", &batch(&[]))).contains("register 18:0:1 takes 52 + 128·k for k ciphertexts"));

    // Damaged bits, one after another; other objects.
    let good = client.encrypt(&[7]);
    for bit in 0..good.len() * 8 {
        let mut damaged = good.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(invalid(put(&space, "18:0:2", &damaged)), "bit {bit}");
    }
    for length in 1..good.len() {
        assert!(!message(put(&space, "18:0:2", &good[..length])).is_empty(), "{length} bytes");
    }
    assert!(!message(put(&space, "18:0:2", &weights(1, &[1]))).is_empty());
    assert!(!message(put(&space, "18:0:2", &client.public())).is_empty());
    assert!(invalid(put(&space, "17:0:2", &good)));
    assert!(invalid(put(&space, "17:0:2", &client.public())));
    assert_eq!(space.list().len(), 2, "the key and the vector of units");
    assert!(!message(space.read_bytes(vr("18:0:2"), ReadMode::Stored)).is_empty());
}

#[test]
fn without_a_key_vectors_are_judged_by_what_they_say() {
    let directory = tempfile::tempdir().expect("a directory");
    let (mut client, mut other) = (Client::small(), Client::small());
    let device = device(&directory);
    let space = space(&device);
    let key = client.key.public_key().clone();
    put(&space, "18:0:0", &client.encrypt(&[1, 2])).expect("a vector before its key");
    put(&space, "18:0:1", &other.encrypt(&[1, 2])).expect("another's");
    put(&space, "18:0:2", &sealed(&key, &IntegerBatch::zeros(2, 16))).expect("what nobody can judge yet");
    put(&space, "17:0:0", &weights(2, &[1, 2])).expect("weights");
    assert!(message(put(&space, "18:0:3", &sealed(&key, &IntegerBatch::zeros(0, 16)))).contains("the vector is empty"));
    assert!(!message(put(&space, "18:0:3", &client.encrypt(&[1])[..100])).is_empty());
    let double = |data: u32| program(&format!("padd 18:0:{data}, 18:0:{data}\nreturn 18:0:{data}"));
    assert!(message(space.run(&double(0))).contains("the Paillier public key 16:0:1 is not stored"));
    // Moving needs no key.
    assert_eq!(client.decrypt(&space.run(&program("mov t, 18:0:0\nreturn t")).expect("a copy")), [1, 2]);

    put(&space, "16:0:1", &client.public()).expect("a key");
    assert_eq!(client.decrypt(&space.run(&double(0)).expect("a sum")), [2, 4]);
    let refusal = message(space.run(&double(1)));
    assert!(
        refusal.contains("operand 18:0:1") && refusal.contains(&format!("of key {}", other.key.tag())),
        "{refusal}"
    );
    assert!(message(space.run(&double(2))).contains("lies outside 0 < c < n²"));

    // The key of another client in the place of the first one.
    put(&space, "16:0:1", &other.public()).expect("a key");
    assert_eq!(other.decrypt(&space.run(&double(1)).expect("a sum")), [2, 4]);
    assert!(message(space.run(&double(0))).contains("operand 18:0:0"));
}

#[test]
fn shapes_that_do_not_go_together() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut client = Client::small();
    let device = device(&directory);
    let space = space(&device);
    put(&space, "16:0:1", &client.public()).expect("a key");
    put(&space, "18:0:1", &client.encrypt(&[1])).expect("a vector");
    put(&space, "18:0:2", &client.encrypt(&[1, 2])).expect("a vector");
    put(&space, "18:0:3", &client.encrypt(&[1, 2, 3])).expect("a vector");
    put(&space, "17:0:2", &weights(2, &[1, 2])).expect("a row");
    put(&space, "17:0:4", &weights(2, &[1, 2, 3, 4])).expect("two rows");
    put(&space, "17:0:9", &weights(1, &vec![0; 1 << 19])).expect("many rows");
    let refusal = |text: &str| message(space.run(&program(text)));
    // Known before anything runs.
    assert!(
        refusal("padd 18:0:2, 18:0:3\nreturn 18:0:2").contains("store ciphertexts of one parameter set and length")
    );
    assert!(
        refusal("psub 18:0:1, 18:0:3\nreturn 18:0:1").contains("store ciphertexts of one parameter set and length")
    );
    // Known when the product exists: no vector is repeated to fit another.
    for text in ["padd", "psub"] {
        let text = format!("mov t, 18:0:2\npmatvec 17:0:2, t\n{text} t, 18:0:3\nreturn t");
        assert!(refusal(&text).contains("a vector of 1 elements cannot be paired with one of 3"), "{}", refusal(&text));
    }
    for name in ["paddplain", "pscale"] {
        assert!(refusal(&format!("{name} 17:0:2, 18:0:3\nreturn 18:0:3")).contains("operand 17:0:2: a vector of 3"));
        assert!(refusal(&format!("{name} 17:0:4, 18:0:2\nreturn 18:0:2")).contains("operand 17:0:4: it has 2 rows"));
    }
    assert!(refusal("pmatvec 17:0:4, 18:0:3\nreturn 18:0:3").contains("operand 17:0:4: a vector of 3"));
    let large = refusal("pmatvec 17:0:9, 18:0:1\nreturn 18:0:1");
    assert!(large.contains("at most 67108864 are allowed"), "{large}");
    // Nothing of all this changed what is stored.
    assert_eq!(client.decrypt(&space.read_bytes(vr("18:0:3"), ReadMode::Stored).expect("a vector")), [1, 2, 3]);
}

#[test]
fn sizes_are_judged_before_the_bytes_arrive() {
    let directory = tempfile::tempdir().expect("a directory");
    let client = Client::small();
    let device = device(&directory);
    let space = space(&device);
    let declared = |register: &str, size: u64| message(space.write(vr(register), size, Default::default()));
    let limit = 64 << 20;
    for register in ["17:0:0", "18:0:0", "19:0:0"] {
        assert_eq!(declared(register, limit), "");
        assert!(declared(register, limit + 1).contains("1 to 67108864"));
    }
    put(&space, "16:0:1", &client.public()).expect("a key");
    for register in ["18:0:0", "19:0:0"] {
        assert_eq!(declared(register, 52 + 128 * 9), "");
        for size in [1, 51, 52, 53, 52 + 127, 52 + 129, limit] {
            assert!(declared(register, size).contains("takes 52 + 128·k for k ciphertexts"), "{size}");
        }
    }
    assert_eq!(declared("17:0:0", limit), "");
}

/// An engine without Paillier: objects are judged and stored, instructions are refused by its name.
#[test]
fn a_scheme_that_the_engine_lacks_is_stored_only() {
    let engines = handlers::Engines { name: "half", mod_exp: None, ..handlers::Engines::cpu(Backend::Ntt) };
    let secure = SecurityPolicy::Require128Bits;
    let policy = handlers::Policy { tfhe: secure, bfv: secure, paillier: SizePolicy::InsecureBench };
    let device = Device::open(DeviceConfig::in_memory(), handlers::standard(engines, policy, None)).expect("a device");
    let space = space(&device);
    let mut client = Client::small();
    put(&space, "16:3:1", &client.public()).expect("a key");
    assert!(invalid(put(&space, "16:4:1", &weights(1, &[1]))), "weights are not a key");
    let (x, y) = (client.encrypt(&[1, 2]), client.encrypt(&[3, 4]));
    put(&space, "18:3:1", &x).expect("a vector");
    assert!(put(&space, "18:3:1", &x[1..]).is_err(), "half a ciphertext");
    let sum = program("padd 19:3:2, 18:3:1\nreturn 19:3:2");
    put(&space, "0:3:0", &sum.encode()).expect("a program");
    let refused = message(put(&space, "19:3:2", &y));
    assert!(refused.contains("engine half does not implement Paillier"), "{refused}");
    assert_eq!(space.read_bytes(vr("18:3:1"), ReadMode::Stored).expect("x"), x);
    assert!(space.read_bytes(vr("19:3:2"), ReadMode::Stored).is_err(), "the operand was not stored");
    // Moves need no engine.
    let moved = space.run(&program("mov 18:3:9, 18:3:1\nreturn 18:3:9")).expect("a copy");
    assert_eq!(client.decrypt(&moved), [1, 2]);
}
