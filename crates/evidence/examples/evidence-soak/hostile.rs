//! Hostile clients: idle sockets, floods, noise, half a handshake, mutated conversations, hosts without a name on the list.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ciphermill_nvme::Host;
use ciphermill_nvme::initiator::{Controller, InitiatorConfig, Reconnect};
use serde_json::{Value, json};

use crate::crash_support::Numbers;

/// Clients at one time.
pub(crate) const ATTACKERS: u64 = 3;
/// Sockets of one flood.
const FLOOD: usize = 60;
/// How long an idle socket stays.
const IDLE: Duration = Duration::from_millis(300);
const STRANGER: &str = "nqn.2026-01.org.example:stranger";

/// The server under attack.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: String,
    pub(crate) subsystem: String,
}

/// Attacks of each kind.
#[derive(Default)]
pub(crate) struct Counts {
    floods: AtomicU64,
    noise: AtomicU64,
    conversations: AtomicU64,
    strangers: AtomicU64,
    admitted_strangers: AtomicU64,
}

impl Counts {
    /// Hosts that were let in although no list names them.
    pub(crate) fn admitted(&self) -> u64 {
        self.admitted_strangers.load(Ordering::Relaxed)
    }

    pub(crate) fn record(&self) -> Value {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        json!({
            "floods_of_idle_sockets": of(&self.floods), "streams_of_noise": of(&self.noise),
            "mutated_conversations": of(&self.conversations), "refused_strangers": of(&self.strangers),
            "admitted_strangers": of(&self.admitted_strangers),
        })
    }
}

/// Attacks until the round is over.
pub(crate) fn attack(target: &Target, seed: u64, over: &AtomicBool, counts: &Counts) {
    let mut numbers = Numbers::new(seed);
    let corpus = corpus();
    let address: SocketAddr = target.address.parse().expect("an address");
    let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok();
    while !over.load(Ordering::SeqCst) {
        let count = match numbers.below(4) {
            0 => {
                let sockets: Vec<_> = (0..FLOOD).filter_map(|_| connect()).collect();
                std::thread::sleep(IDLE);
                drop(sockets);
                &counts.floods
            }
            1 => {
                let bytes: Vec<u8> = (0..512).map(|_| numbers.below(256) as u8).collect();
                connect().into_iter().for_each(|stream| send(stream, &bytes));
                &counts.noise
            }
            2 => {
                let mut bytes = corpus[numbers.below(corpus.len() as u64) as usize].clone();
                for _ in 0..=numbers.below(8) {
                    let at = numbers.below(bytes.len() as u64) as usize;
                    bytes[at] = numbers.below(256) as u8;
                }
                connect().into_iter().for_each(|stream| send(stream, &bytes));
                &counts.conversations
            }
            _ => match stranger(target) {
                true => &counts.admitted_strangers,
                false => &counts.strangers,
            },
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Writes, and reads a little of the answer. Errors belong to an attack.
fn send(mut stream: TcpStream, bytes: &[u8]) {
    let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
    let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
    let _ = stream.write_all(bytes);
    let _ = stream.read(&mut [0; 256]);
}

/// Whether the server lets a host in that no list names.
fn stranger(target: &Target) -> bool {
    let host = Host { nqn: STRANGER.to_owned(), id: *b"soak-stranger-id" };
    let mut config = InitiatorConfig::new(&target.address, &target.subsystem, host);
    let once = Duration::from_millis(10);
    config.reconnect = Reconnect { first: once, most: once, give_up_after: Duration::ZERO };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async { Controller::connect(config).await.is_ok() })
}

/// The committed inputs of the fuzz target that talks to a server; each has at least one byte.
fn corpus() -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/nvme_pdu");
    let entries = fs::read_dir(folder).expect("committed inputs").map(|entry| entry.expect("an entry").path());
    let inputs: Vec<Vec<u8>> = entries.map(|path| fs::read(path).expect("an input")).collect();
    inputs.into_iter().filter(|bytes| !bytes.is_empty()).collect()
}
