//! Programmable bootstraps: `pbs/…` from the small to the big key, `ks-pbs/…` with the key switch before it.

use std::time::Duration;

use ciphermill_bench_peers::Contender;
use ciphermill_bench_peers::lwe::{Client, FftBootstrap, FourierKey, KeyswitchKey, NttBootstrap, NttVariant, PEER};
use ciphermill_math::Isa;
use ciphermill_tfhe::{Backend, ParameterSet, ServerKey};

use super::Settings;
use super::scheme::{InPool, Job, Ours, SentKeys, Server, f, numbers, parameters, peer_parameters};
use crate::Failure;
use crate::harness::{Effort, alternate};
use crate::machine::Pools;
use crate::report::{Case, Report};

/// Ciphertexts per pass over the key.
const BATCH: usize = 8;

/// A key of ours and the path that it computes on.
#[derive(Clone, Copy)]
struct Loaded<'k> {
    key: &'k ServerKey,
    isa: Isa,
}

struct Run<'r> {
    settings: &'r Settings<'r>,
    pools: &'r Pools,
    parameters: &'r ParameterSet,
    ours: &'r Ours,
    peer: &'r Client,
}

impl Run<'_> {
    fn effort(&self, isa: Isa) -> Effort {
        let clock = self.settings.clock;
        match (self.settings.quick, isa == self.settings.isas[0]) {
            (true, _) => Effort { rounds: 2, least_rounds: 1, budget: Duration::from_secs(1), clock },
            (false, true) => Effort { rounds: 24, least_rounds: 6, budget: Duration::from_secs(20), clock },
            (false, false) => Effort { rounds: 6, least_rounds: 3, budget: Duration::from_secs(8), clock },
        }
    }

    fn case(&self, start: &str, end: &str) -> Case {
        let name = format!("{start}/{}/{end}", self.parameters.name);
        eprintln!("{name}");
        Case::new(name, numbers(self.parameters))
    }

    /// Ours on one thread and, if asked, on two, beside a peer on one.
    fn threads(
        &self,
        case: &Case,
        Loaded { key, isa }: Loaded<'_>,
        job: Job,
        two: bool,
        peer: impl Contender + Send,
        report: &mut Report,
    ) {
        let one = &self.pools.one;
        let mut ours = InPool { pool: one, contender: Server::new(self.ours, key, job) };
        let mut theirs = InPool { pool: one, contender: peer };
        let two = self.pools.two.as_ref().filter(|_| two);
        let mut ours_on_two = two.map(|pool| InPool { pool, contender: Server::new(self.ours, key, job) });
        let mut lanes: Vec<&mut dyn Contender> = vec![&mut theirs, &mut ours];
        lanes.extend(ours_on_two.as_mut().map(|lane| lane as &mut dyn Contender));
        let stats = alternate(&mut lanes, self.effort(isa));
        for (i, &ours) in stats[1..].iter().enumerate() {
            report.tell(case.row(isa.name(), (i + 1, 1), ours, PEER, stats[0], self.settings.cpu));
        }
    }

    fn fft(&self, loaded: Loaded<'_>, fourier: &FourierKey, keyswitch: &KeyswitchKey, report: &mut Report) {
        let Loaded { key, isa } = loaded;
        let best = isa == self.settings.isas[0];
        let peer = |keyswitch, batch| FftBootstrap::new(self.peer, fourier, keyswitch, batch, f);
        let case = self.case("pbs", "fft");
        self.threads(&case, loaded, Job::Bootstrap, best, peer(None, 1), report);
        if !best {
            return;
        }
        let case = self.case("ks-pbs", "fft").note("the peer's key switch has elements of 32 bits, as ours");
        self.threads(&case, loaded, Job::KeyswitchBootstrap(1), true, peer(Some(keyswitch), 1), report);

        let case = self.case("ks-pbs", &format!("fft/batch{BATCH}"));
        let pool = &self.pools.one;
        let mut ours = InPool { pool, contender: Server::new(self.ours, key, Job::KeyswitchBootstrap(BATCH)) };
        let mut batch = InPool { pool, contender: peer(Some(keyswitch), BATCH) };
        let mut single = InPool { pool, contender: peer(Some(keyswitch), 1) };
        let stats = alternate(&mut [&mut ours, &mut batch, &mut single], self.effort(isa));
        let ours = stats[0].each(BATCH);
        let noted = case.clone().note("per ciphertext; the peer's batch shares its pass over the key too");
        report.tell(noted.row(isa.name(), (1, 1), ours, PEER, stats[1].each(BATCH), self.settings.cpu));
        let mut noted = case.note("per ciphertext; the peer one by one");
        noted.name += "-peer-single";
        report.tell(noted.row(isa.name(), (1, 1), ours, PEER, stats[2], self.settings.cpu));
    }
}

pub(crate) fn run(settings: &Settings<'_>, pools: &Pools, report: &mut Report) -> Result<(), Failure> {
    let parameters = parameters(settings.params)?;
    eprintln!("pbs: keys");
    let ours = Ours::new(&parameters)?;
    let peer = Client::new(peer_parameters(&parameters)?);
    let sent = pools.widest().install(|| SentKeys::generate(&ours.client))?;
    let standard = pools.widest().install(|| peer.standard_key());
    let run = Run { settings, pools, parameters: &parameters, ours: &ours, peer: &peer };
    if pools.two.is_none() {
        report.note("pbs: no rows on two threads: one core allowed, or CPU time asked for");
    }

    let (fourier, keyswitch) = pools.widest().install(|| (standard.to_fourier(), peer.keyswitch_key_32()));
    for &isa in settings.taken_isas() {
        let key = pools.widest().install(|| sent.load(isa, Backend::Fft))?;
        run.fft(Loaded { key: &key, isa }, &fourier, &keyswitch, report);
    }
    drop((fourier, keyswitch));

    for (variant, end, note) in [
        (NttVariant::Modular, "ntt", "the peer's ciphertexts are modulo p, ours modulo 2^64"),
        (NttVariant::Native, "ntt-native", "the peer switches between 2^64 and p around each external product"),
    ] {
        let theirs = pools.widest().install(|| standard.to_ntt(variant));
        for &isa in settings.taken_isas() {
            let key = pools.widest().install(|| sent.load(isa, Backend::Ntt))?;
            let best = isa == settings.isas[0] && variant == NttVariant::Modular;
            let case = run.case("pbs", end).note(note);
            let loaded = Loaded { key: &key, isa };
            run.threads(&case, loaded, Job::Bootstrap, best, NttBootstrap::new(&peer, &theirs, f), report);
        }
    }
    Ok(())
}
