//! Key switches from the big to the small key. Ours streams a key of 32-bit elements; the peer has both widths.

use std::time::Duration;

use ciphermill_bench_peers::lwe::{Client, Keyswitch, PEER};
use ciphermill_tfhe::Backend;

use super::Settings;
use super::scheme::{InPool, Job, Ours, SentKeys, Server, numbers, parameters, peer_parameters};
use crate::Failure;
use crate::harness::{Effort, alternate};
use crate::machine::Pools;
use crate::report::{Case, Report};

pub(crate) fn run(settings: &Settings<'_>, pools: &Pools, report: &mut Report) -> Result<(), Failure> {
    let parameters = parameters(settings.params)?;
    let clock = settings.clock;
    let effort = match settings.quick {
        true => Effort { rounds: 3, least_rounds: 1, budget: Duration::from_secs(1), clock },
        false => Effort { rounds: 100, least_rounds: 20, budget: Duration::from_secs(10), clock },
    };
    eprintln!("ks: keys");
    let ours = Ours::new(&parameters)?;
    let peer = Client::new(peer_parameters(&parameters)?);
    let (keys64, keys32) = (peer.keyswitch_key_64(), peer.keyswitch_key_32());
    let sent = pools.widest().install(|| SentKeys::generate(&ours.client))?;
    let pool = &pools.one;
    for &isa in settings.taken_isas() {
        let key = pools.widest().install(|| sent.load(isa, Backend::Fft))?;
        let case = |width: &str, note: &str| {
            Case::new(format!("ks/{}/{width}", parameters.name), numbers(&parameters)).note(note)
        };
        eprintln!("ks/{}", parameters.name);
        let mut mine = InPool { pool, contender: Server::new(&ours, &key, Job::Keyswitch) };
        let mut theirs64 = InPool { pool, contender: Keyswitch::new(&peer, &keys64) };
        let mut theirs32 = InPool { pool, contender: Keyswitch::new(&peer, &keys32) };
        let stats = alternate(&mut [&mut mine, &mut theirs64, &mut theirs32], effort);
        let cases = [
            case("u64", "the peer's key has elements of 64 bits, ours of 32"),
            case("u32", "both keys have elements of 32 bits"),
        ];
        for (case, &theirs) in cases.iter().zip(&stats[1..]) {
            report.tell(case.row(isa.name(), (1, 1), stats[0], PEER, theirs, settings.cpu));
        }
    }
    Ok(())
}
