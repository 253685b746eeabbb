//! Key switches and products of ciphertexts. `cargo bench -p ciphermill-bfv --bench evaluation`; one JSON record a line.

use std::hint::black_box;
use std::time::Instant;

use ciphermill_bfv::encoding::BatchEncoder;
use ciphermill_bfv::keys::GaloisRequest;
use ciphermill_bfv::{Context, GaloisKeys, ParameterSet, RelinearizationKey, SecretKey, SecurityPolicy};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;

fn report(case: &str, context: &Context, samples: usize, mut job: impl FnMut()) {
    let mut times: Vec<u128> = (0..samples)
        .map(|_| {
            let start = Instant::now();
            job();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    let (min, median, params, isa) = (times[0], times[samples / 2], &context.parameters().name, context.isa());
    println!(
        "{{\"schema\":1,\"case\":\"bfv-{case}\",\"params\":\"{params}\",\"isa\":\"{isa}\",\"threads\":1,\
         \"samples\":{samples},\"min_ns\":{min},\"median_ns\":{median},\"kind\":\"measured\"}}"
    );
}

fn main() {
    for name in ["BFV_4096_128", "BFV_8192_128", "BFV_16384_128"] {
        let set = ParameterSet::named(name, SecurityPolicy::Require128Bits).expect("a named set");
        let context = Context::new(&set, Isa::current()).expect("tables");
        let seed = SecretSeed::from_os().expect("randomness of the system");
        let secret = SecretKey::generate(&context, &seed);
        let encoder = BatchEncoder::new(&context).expect("a set with slots");
        let plaintext = encoder.encode(&vec![7; context.n()]).expect("values in range");
        let mut rng = Csprng::from_secret(&seed, 7);
        let [x, y] = [0, 1].map(|_| secret.encrypt(&plaintext, context.top(), &mut rng).expect("encryption"));
        let g = encoder.rotation(1);
        let galois = GaloisKeys::generate(&secret, &[GaloisRequest { element: g, gadget: set.gadget }]).expect("keys");
        let relinearization = RelinearizationKey::generate(&secret).expect("a key");
        let (key, poly) = (galois.get(g).expect("the key"), &x.parts()[1]);

        let samples = (401 * 8192 / context.n()).min(1001) | 1;
        report("key-switch", &context, samples, || drop(black_box(context.key_switch(black_box(poly), key))));
        let digits = context.decompose(poly, set.gadget);
        report("decompose", &context, samples, || drop(black_box(context.decompose(black_box(poly), set.gadget))));
        report("key-switch-extended", &context, samples, || {
            drop(black_box(context.key_switch_extended(black_box(&digits), key, 1)));
        });
        report("key-switch-extended-rotated", &context, samples, || {
            drop(black_box(context.key_switch_extended(black_box(&digits), key, g)));
        });
        report("automorphism", &context, samples, || {
            drop(black_box(context.automorphism(black_box(&x), g, &galois)));
        });
        report("multiply", &context, samples, || drop(black_box(context.multiply(black_box(&x), &y))));
        report("multiply-relinearize", &context, samples, || {
            let product = context.multiply(black_box(&x), &y).expect("operands of one key");
            drop(black_box(context.relinearize(&product, &relinearization)));
        });
        report("multiply-plain", &context, samples, || drop(black_box(context.mul_plain(black_box(&x), &plaintext))));
        report("switch-modulus", &context, samples, || {
            drop(black_box(context.switch_modulus(black_box(&x), context.top() - 1)));
        });
        report("batch-encode", &context, samples, || {
            drop(black_box(encoder.encode(black_box(&[1, 2, 3]))));
        });
    }
}
