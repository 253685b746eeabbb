//! The paper's dimensions in full, on every path of this CPU and both back ends.

mod support;

use std::time::Instant;

use ciphermill_lattice::Csprng;
use ciphermill_math::Isa;
use ciphermill_tfhe::parameters::NVME_TFHE_PAPER;
use ciphermill_tfhe::quarter_square::{DEFAULT_LOG2_P_FAIL, QuarterSquare};
use ciphermill_tfhe::server_key::MAX_LOADED_KEY_BYTES;
use ciphermill_tfhe::{Backend, KeyForm, KeyOrder, ServerKey};
use support::{INSECURE, keys, seed};

/// One product x·y by Table 5's formula on every combination of instruction set and back end; key choices alternate.
#[test]
fn products_at_the_papers_dimensions() {
    let start = Instant::now();
    let keys = keys(NVME_TFHE_PAPER, KeyForm::Seeded, 80);
    println!("keys: {:.1} s", start.elapsed().as_secs_f64());
    let parameters = keys.client.parameters();
    let mut rng = Csprng::from_secret(&seed(81), 0);
    for isa in Isa::ALL {
        if !isa.is_available() {
            println!("not run: the {isa} path, which this CPU lacks");
            continue;
        }
        for backend in [Backend::Fft, Backend::Ntt] {
            let start = Instant::now();
            let key_readers = (&keys.bootstrap[..], &keys.keyswitch[..]);
            let server = ServerKey::load_on(
                isa,
                MAX_LOADED_KEY_BYTES,
                key_readers.0,
                key_readers.1,
                backend,
                INSECURE,
                &mut |_, _| (),
            )
            .expect("well-formed keys");
            let loaded = start.elapsed().as_secs_f64();
            let choice = match backend {
                Backend::Fft => KeyOrder::Small,
                Backend::Ntt => KeyOrder::Big,
            };
            let product = QuarterSquare::new(parameters.spec(), choice, DEFAULT_LOG2_P_FAIL).expect("a range");
            let table = product.test_vector(parameters).expect("a table");
            let operands = (rng.next_u64() % 3, rng.next_u64() % 3);
            let (x, y) = (product.max() - operands.0 as i64, product.max() - operands.1 as i64);
            let start = Instant::now();
            let mut sum = keys.client.encrypt(product.input(), x, choice, &mut rng).expect("in range");
            let mut difference = sum.clone();
            let rhs = keys.client.encrypt(product.input(), y, choice, &mut rng).expect("in range");
            sum.add_assign(&rhs).expect("one key");
            difference.sub_assign(&rhs).expect("one key");
            let mut result = server.bootstrap(&sum, &table).expect("one key");
            result.sub_assign(&server.bootstrap(&difference, &table).expect("one key")).expect("one key");
            let decrypted = keys.client.decrypt(product.output(), &result).expect("a message");
            println!(
                "{isa} {backend} {choice}: {x}*{y}={decrypted}, load {loaded:.1} s, product {:.2} s",
                start.elapsed().as_secs_f64()
            );
            assert_eq!(decrypted, x * y, "{isa} {backend}");
        }
    }
}
