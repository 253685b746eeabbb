//! Key generation on all cores (two at most). `keygen/…`: until the first bootstrap can begin: both server keys are made and in
//! transformed form; ours are also written and read, as they would be sent. `keygen-made/…`: only what the client does; ours
//! writes the compressed keys, the peer makes full ones.

use std::time::Duration;

use ciphermill_bench_peers::Contender;
use ciphermill_bench_peers::lwe::{Client, FftBootstrap, PEER};
use ciphermill_tfhe::Backend;

use super::Settings;
use super::scheme::{Job, Ours, SentKeys, Server, f, numbers, parameters, peer_parameters};
use crate::Failure;
use crate::harness::Stats;
use crate::machine::Pools;
use crate::report::{Case, Report};

/// Times of one side in nanoseconds: making, and until ready.
#[derive(Default)]
struct Times {
    made: Vec<f64>,
    ready: Vec<f64>,
    correct: bool,
}

impl Times {
    fn stats(samples: &[f64], correct: bool) -> Stats {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Stats { min_ns: sorted[0], median_ns: sorted[sorted.len() / 2], samples: sorted.len(), correct }
    }
}

pub(crate) fn run(settings: &Settings<'_>, pools: &Pools, report: &mut Report) -> Result<(), Failure> {
    let parameters = parameters(settings.params)?;
    let (pool, isa) = (pools.widest(), settings.isas[0]);
    let ours = Ours::new(&parameters)?;
    let peer = Client::new(peer_parameters(&parameters)?);
    let (mut mine, mut theirs) =
        (Times { correct: true, ..Times::default() }, Times { correct: true, ..Times::default() });
    for round in 0..if settings.quick { 1 } else { 3 } {
        eprintln!("keygen/{}", parameters.name);
        let clock = settings.clock;
        let ns = |begun: Duration| (clock.now() - begun).as_nanos() as f64;
        let begun = clock.now();
        let sent = pool.install(|| SentKeys::generate(&ours.client))?;
        mine.made.push(ns(begun));
        let key = pool.install(|| sent.load(isa, Backend::Fft))?;
        mine.ready.push(ns(begun));
        drop(sent);
        mine.correct &= bootstraps(&mut Server::new(&ours, &key, Job::KeyswitchBootstrap(1)), round);
        drop(key);

        let begun = clock.now();
        let (standard, keyswitch) = pool.install(|| (peer.standard_key(), peer.keyswitch_key_32()));
        theirs.made.push(ns(begun));
        let fourier = pool.install(|| standard.to_fourier());
        theirs.ready.push(ns(begun));
        drop(standard);
        theirs.correct &= bootstraps(&mut FftBootstrap::new(&peer, &fourier, Some(&keyswitch), 1, f), round);
    }
    let threads = pool.current_num_threads();
    for (start, note, mine_ns, theirs_ns) in [
        ("keygen", "until the first bootstrap can begin", &mine.ready, &theirs.ready),
        ("keygen-made", "what the client does", &mine.made, &theirs.made),
    ] {
        let case = Case::new(format!("{start}/{}/fft", parameters.name), numbers(&parameters)).note(note);
        let (mine, theirs) = (Times::stats(mine_ns, mine.correct), Times::stats(theirs_ns, theirs.correct));
        report.tell(case.row(isa.name(), (threads, threads), mine, PEER, theirs, settings.cpu));
    }
    Ok(())
}

/// Whether one bootstrap with the new keys gives the right message.
fn bootstraps(contender: &mut dyn Contender, round: usize) -> bool {
    contender.prepare(round);
    contender.run();
    contender.correct()
}
