//! The initiator against a scripted target that is byte for byte under control, and against this crate's own target.

mod deadlines;
mod fake;
mod hostile;
mod opening;
mod paths;
mod real;
mod reconnect;

use ciphermill_nvme::{
    Host,
    initiator::{Controller, InitiatorConfig, RemoteNamespace},
};
use fake::{Fake, HOST, SUBSYSTEM};
use std::time::Duration;

pub(crate) fn host() -> Host {
    Host { nqn: HOST.into(), id: std::array::from_fn(|index| index as u8) }
}

/// Short times, so that what waits for them is soon done.
pub(crate) fn config(fake: &Fake) -> InitiatorConfig {
    let mut config = InitiatorConfig::new(fake.address.to_string(), SUBSYSTEM, host());
    config.connect_timeout = Duration::from_secs(2);
    config.command_timeout = Duration::from_secs(5);
    config.reconnect.first = Duration::from_millis(5);
    config.reconnect.most = Duration::from_millis(50);
    config.reconnect.give_up_after = Duration::from_secs(5);
    config
}

pub(crate) async fn connect(config: InitiatorConfig) -> (Controller, RemoteNamespace) {
    let controller = Controller::connect(config).await.unwrap();
    let namespace = controller.namespace(1).await.unwrap();
    (controller, namespace)
}

/// `blocks` blocks that differ from each other and from those of another seed.
pub(crate) fn pattern(blocks: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = Vec::with_capacity(blocks * 4096);
    while out.len() < blocks * 4096 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out
}
