//! Encrypted sums of a million values, on one thread. `cargo bench -p ciphermill-bfv --bench sums`; one JSON record a line.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use ciphermill_bfv::sums::{EncryptedSums, Segment, SumPlan, SumRequest, Values};
use ciphermill_bfv::{PublicKey, SecretKey};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;

/// Values of each vector.
const LEN: usize = 1_000_000;

const SAMPLES: usize = 21;

fn report(case: &str, plan: &SumPlan, mut job: impl FnMut()) {
    let mut times: Vec<u128> = (0..SAMPLES)
        .map(|_| {
            let start = Instant::now();
            job();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    let (min, median, set) = (times[0], times[SAMPLES / 2], &plan.context().parameters().name);
    println!(
        "{{\"schema\":1,\"case\":\"bfv-sums-{case}\",\"params\":\"{set}\",\"isa\":\"{}\",\"threads\":1,\"samples\":{SAMPLES},\
         \"min_ns\":{min},\"median_ns\":{median},\"bytes\":{},\"kind\":\"measured\"}}",
        plan.context().isa(),
        plan.sealed_sums_len()
    );
}

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the first pool");
    // Counts, 32-bit integers, sums of squares.
    for bits in [8, 20, 32, 60, 100] {
        let bound = 1u128 << bits;
        let request = SumRequest::new(vec![Segment { len: LEN, bound }], 16);
        let plan = Arc::new(SumPlan::new(&request, Isa::current()).expect("a plan"));
        let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os().expect("randomness of the system"));
        let public = PublicKey::generate(&secret).expect("a key");
        let mut rng = Csprng::from_os().expect("randomness of the system");
        let narrow: Vec<i64> = (0..LEN as i64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64)).collect();
        let narrow: Vec<i64> = narrow.iter().map(|x| x >> (63 - bits.min(62))).collect();
        let wide: Vec<i128> = narrow.iter().map(|&x| i128::from(x) << (bits.max(62) - 62)).collect();
        let values = [if bits <= 62 { Values::Narrow(&narrow) } else { Values::Wide(&wide) }];
        let sums = EncryptedSums::encrypt(&plan, &public, &values, &mut rng).expect("values in range");
        report(&format!("encrypt-{bits}"), &plan, || {
            drop(black_box(EncryptedSums::encrypt(&plan, &public, black_box(&values), &mut rng)));
        });
        report(&format!("to-bytes-{bits}"), &plan, || drop(black_box(sums.to_bytes())));
        let bytes = sums.to_bytes();
        report(&format!("from-bytes-{bits}"), &plan, || drop(black_box(EncryptedSums::from_bytes(&plan, &bytes))));
        report(&format!("add-{bits}"), &plan, || {
            let mut sum = sums.clone();
            sum.add_assign(black_box(&sums)).expect("of one plan");
            drop(black_box(sum));
        });
        report(&format!("decrypt-{bits}"), &plan, || drop(black_box(sums.decrypt(&secret))));
        let totals = sums.decrypt(&secret).expect("of this key");
        assert!(totals[0] == wide || bits <= 62 && totals[0].iter().zip(&narrow).all(|(&x, &y)| x == i128::from(y)));
    }
}
