//! Bootstrapping with every back end, order and torus.

use crate::support::{keys, seed};
use ciphermill_lattice::Csprng;
use ciphermill_tfhe::parameters::{TEST_SMALL_U32, TEST_SMALL_U64};
use ciphermill_tfhe::{Backend, Encoding, KeyForm, KeyOrder};

/// Evaluates a table on every message, under both key choices.
fn every_message(name: &str, backend: Backend, form: KeyForm) {
    let keys = keys(name, form, 7);
    let server = keys.load(backend);
    let bits = keys.client.parameters().message_bits;
    let encoding = Encoding::unsigned(bits, true).expect("few bits");
    let square = |m: i64| (m * m + 1) % (1 << bits);
    let table = keys.client.parameters().test_vector(&encoding, &encoding, square).expect("a table");
    let mut rng = Csprng::from_secret(&seed(40), 0);
    for choice in [KeyOrder::Small, KeyOrder::Big] {
        for message in 0..1 << bits {
            let input = keys.client.encrypt(&encoding, message, choice, &mut rng).expect("in range");
            assert_eq!(keys.client.decrypt(&encoding, &input).expect("ours"), message);
            let output = server.bootstrap(&input, &table).expect("ours");
            assert_eq!(output.choice(), choice);
            assert_eq!(keys.client.decrypt(&encoding, &output).expect("ours"), square(message), "{choice} {message}");
        }
    }
}

#[test]
fn tables_on_u64_by_fft() {
    every_message(TEST_SMALL_U64, Backend::Fft, KeyForm::Seeded);
}

#[test]
fn tables_on_u64_by_ntt() {
    every_message(TEST_SMALL_U64, Backend::Ntt, KeyForm::Full);
}

#[test]
fn tables_on_u32_by_fft() {
    every_message(TEST_SMALL_U32, Backend::Fft, KeyForm::Full);
}

#[test]
fn tables_on_u32_by_ntt() {
    every_message(TEST_SMALL_U32, Backend::Ntt, KeyForm::Seeded);
}
