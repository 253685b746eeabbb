//! Batches and several threads: the same bits as one bootstrap after the other.

use crate::support::{keys, seed};
use ciphermill_lattice::Csprng;
use ciphermill_tfhe::parameters::{TEST_SMALL_U32, TEST_SMALL_U64};
use ciphermill_tfhe::{Backend, BootstrapJob, Ciphertext, Encoding, KeyForm, KeyOrder};

/// 1 to 37 jobs, with both key choices mixed, in pools of 1 to 4 threads.
#[test]
fn batches_give_the_bits_of_single_bootstraps() {
    for (name, offset) in [(TEST_SMALL_U64, 0), (TEST_SMALL_U32, 1)] {
        let keys = keys(name, KeyForm::Seeded, 70 + offset);
        let parameters = keys.client.parameters();
        let encoding = Encoding::unsigned(parameters.message_bits, true).expect("few bits");
        let tables = [1, 3].map(|f| parameters.test_vector(&encoding, &encoding, |m| f * m % 2).expect("a table"));
        let mut rng = Csprng::from_secret(&seed(72), u64::from(offset));
        let inputs: Vec<Ciphertext> = (0..37)
            .map(|i| {
                let choice = if i % 3 == 0 { KeyOrder::Small } else { KeyOrder::Big };
                keys.client.encrypt(&encoding, i % 2, choice, &mut rng).expect("in range")
            })
            .collect();
        let jobs: Vec<BootstrapJob<'_>> = inputs
            .iter()
            .zip(tables.iter().cycle())
            .map(|(input, test_vector)| BootstrapJob { input, test_vector })
            .collect();
        for backend in [Backend::Fft, Backend::Ntt] {
            let server = keys.load(backend);
            let singles: Vec<Ciphertext> =
                jobs.iter().map(|job| server.bootstrap(job.input, job.test_vector).expect("one key set")).collect();
            for threads in 1..=4 {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("few threads");
                for count in [0, 1, 2, 3, 5, 8, 37] {
                    let batch = pool.install(|| server.bootstrap_batch(&jobs[..count])).expect("one key set");
                    assert!(batch == singles[..count], "{name} {backend}: {count} jobs on {threads} threads");
                }
                for (job, single) in jobs.iter().zip(&singles).take(2) {
                    let one = || server.bootstrap_with(job.input, job.test_vector, threads);
                    // Also in a pool of fewer threads than the bootstrap asks for.
                    assert_eq!(pool.install(one).expect("one key set"), *single, "{name} {backend}: {threads} threads");
                    assert_eq!(one().expect("one key set"), *single, "{name} {backend}: {threads} threads");
                }
            }
            let foreign = crate::support::keys(name, KeyForm::Seeded, 74).client;
            let foreign = foreign.encrypt(&encoding, 1, KeyOrder::Big, &mut rng).expect("in range");
            let mut jobs = jobs.clone();
            jobs[5].input = &foreign;
            assert!(server.bootstrap_batch(&jobs).is_err());
        }
    }
}
