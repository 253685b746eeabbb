//! Known answers for words from tfhe-rs: it decrypts digits of ours, we decrypt its digits, and its `wopbs` gives what our tables
//! give. `bench/examples/word-vectors.rs` wrote them.

use ciphermill_lattice::Csprng;
use ciphermill_tfhe::lwe::LweCiphertext;
use ciphermill_tfhe::parameters::WORD_2M64;
use ciphermill_tfhe::word::{DenseTable, Table, Word};
use ciphermill_tfhe::{Backend, ClientKey, KeyForm, ParameterSet, SelectorFile};

use crate::support::{INSECURE, Keys, Seed};

/// The fields of the lines of a kind.
fn lines(kind: &str) -> Vec<Vec<&'static str>> {
    let file = include_str!("../data/word_vectors.csv");
    let fields = |line: &'static str| line.split(',').collect::<Vec<_>>();
    file.lines().map(fields).filter(|fields| fields[0] == kind).map(|fields| fields[1..].to_vec()).collect()
}

fn digit(hex: &str) -> LweCiphertext<u32> {
    let element = |at: usize| u32::from_str_radix(&hex[at..at + 8], 16).expect("eight hexadecimal digits");
    LweCiphertext::from_elements((0..hex.len()).step_by(8).map(element).collect())
}

/// Digits that the peer encrypted under our key, and digits of ours that it decrypted.
#[test]
fn digits_are_those_of_the_peer() {
    let secret = lines("secret");
    assert_eq!(secret[0][0], WORD_2M64);
    let bytes = |hex: &str| {
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("two hexadecimal digits");
        (0..hex.len()).step_by(2).map(byte).collect::<Vec<_>>()
    };
    let client = ClientKey::from_secret_key_bytes(&bytes(secret[0][1]), INSECURE).expect("sealed keys");
    for kind in ["encrypted", "decrypted"] {
        let (digits, given): (Vec<_>, Vec<_>) =
            lines(kind).iter().map(|line| (digit(line[1]), line[0].parse::<u8>().expect("a digit"))).unzip();
        let word = Word::new(client.tag(), digits, 0.0).expect("digits of one key");
        assert_eq!(
            (client.decrypt_digits(&word).expect("its key"), &given[..]),
            (vec![0, 1, 2, 3], &given[..]),
            "{kind}"
        );
        assert_eq!(given, [0, 1, 2, 3], "{kind}");
    }
}

/// The function of the look-ups.
fn f(x: u64) -> u64 {
    x.wrapping_mul(x).wrapping_mul(0x2c9b) ^ x >> 3
}

#[test]
fn tables_give_what_the_peer_looks_up() {
    let seed = Seed::fresh();
    let set = ParameterSet::named(WORD_2M64, INSECURE).expect("a named set");
    let keys = Keys::generate(&set, KeyForm::Seeded, seed, 0);
    let conversion = keys.client.write_conversion_key(KeyForm::Seeded, seed.server(3), Vec::new()).expect("words");
    let server = keys.load(Backend::Fft).with_conversion(&conversion[..], INSECURE).expect("its set");
    let mut rng = Csprng::from_secret(&seed.secret(4), 0);
    let known = lines("wopbs");
    assert_eq!(known.len(), 12);
    for line in known {
        let [bits, value, expected]: [u64; 3] =
            line.iter().map(|field| field.parse().expect("a number")).collect::<Vec<_>>().try_into().expect("three");
        let bits = bits as u32;
        let entry = |x: u32| (f(x.into()) & (u64::MAX >> (64 - bits))) as u32;
        let table = Table::Dense(DenseTable::of_function(bits, bits, entry).expect("a table"));
        let mut file = SelectorFile::new();
        let word = keys.client.encrypt_word(value, bits, &mut rng).expect("in range");
        file.put(0, &server.select(&word).expect("its key")).expect("room");
        let result = keys.client.decrypt_word(&server.look_up(&file, &table).expect("selected")).expect("its key");
        assert_eq!(result, u128::from(expected), "{bits} bits: {value}");
    }
}
