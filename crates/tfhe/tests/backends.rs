//! The two back ends give the same decryptions, over many bootstraps.

use crate::support::{fresh_seed, keys, seed};
use ciphermill_lattice::Csprng;
use ciphermill_tfhe::parameters::TEST_SMALL_U64;
use ciphermill_tfhe::{Backend, Encoding, KeyForm, KeyOrder};

/// 1,000 bootstraps of random messages: 250 for each of two seeds and two key choices.
#[test]
fn fft_and_ntt_decrypt_alike_on_1000_bootstraps() {
    let keys = keys(TEST_SMALL_U64, KeyForm::Seeded, 60);
    let servers = [keys.load(Backend::Fft), keys.load(Backend::Ntt)];
    let parameters = keys.client.parameters();
    let encoding = Encoding::signed(parameters.message_bits, true).expect("few bits");
    let f = |m: i64| (3 * m + 1).rem_euclid(16) - 8;
    let table = parameters.test_vector(&encoding, &encoding, f).expect("a table");
    for mut rng in [Csprng::from_secret(&seed(61), 0), Csprng::from_secret(&fresh_seed(), 0)] {
        for choice in [KeyOrder::Small, KeyOrder::Big] {
            for _ in 0..250 {
                let message = (rng.next_u64() % 16) as i64 - 8;
                let input = keys.client.encrypt(&encoding, message, choice, &mut rng).expect("in range");
                let decrypted = servers.each_ref().map(|server| {
                    let output = server.bootstrap(&input, &table).expect("one key set");
                    keys.client.decrypt(&encoding, &output).expect("a message")
                });
                assert_eq!(decrypted, [f(message); 2], "{choice} {message}");
            }
        }
    }
}
