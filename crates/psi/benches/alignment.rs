//! The steps of a party, on the threads of `RAYON_NUM_THREADS`. `cargo bench -p ciphermill-psi`; one JSON record a line.

use std::hint::black_box;
use std::time::Instant;

use ciphermill_psi::{Ids, Points, RunKey, common};

/// Ids of each party, and samples.
const CASES: [(u32, usize); 2] = [(1_000, 41), (100_000, 5)];

fn report(case: &str, ids: u32, samples: usize, mut job: impl FnMut()) {
    let mut times: Vec<u128> = (0..samples)
        .map(|_| {
            let start = Instant::now();
            job();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    let (min, median, threads) = (times[0], times[samples / 2], rayon::current_num_threads());
    println!(
        "{{\"schema\":1,\"case\":\"psi-{case}\",\"ids\":{ids},\"threads\":{threads},\"samples\":{samples},\"min_ns\":{min},\
         \"median_ns\":{median},\"kind\":\"measured\"}}"
    );
}

fn main() {
    for (len, samples) in CASES {
        // Every third id of the guest is one of the host.
        let ids = |step: u32| Ids::new((0..len).map(|i| (step * i).to_string())).expect("distinct numbers");
        let (guest, host) = (ids(1), ids(3));
        let key = || RunKey::new().expect("randomness of the system");
        let (a, b) = (key(), key());
        let (ours, theirs) =
            (a.blind(&guest, &|| ()).expect("randomness"), b.blind(&host, &|| ()).expect("randomness"));
        report("blind", len, samples, || drop(black_box(a.blind(&guest, &|| ()))));
        let bytes = ours.points().as_bytes();
        report("read", len, samples, || drop(black_box(Points::from_bytes(bytes, guest.len(), &|| ()))));
        report("raise", len, samples, || drop(black_box(key().raise(ours.points(), &|| ()))));
        let (answers, raised) = (b.raise(ours.points(), &|| ()), a.raise(theirs.points(), &|| ()));
        report("common", len, samples, || drop(black_box(common(&answers, &raised))));
        assert_eq!(common(&answers, &raised).len(), len.div_ceil(3) as usize);
    }
}
