//! Asking a target which subsystems it has.

use super::{
    admin,
    config::InitiatorConfig,
    error::InitiatorError,
    session::{drive, establish, malformed, shut_down},
};
use crate::{
    fabrics::DISCOVERY_NQN,
    log::{DISCOVERY_BYTES, DiscoveryEntry, DiscoveryHeader, id},
    namespace::Host,
};
use std::time::Duration;

/// The most entries that are read.
const MAX_RECORDS: u64 = 4096;
/// Entries of one command.
const RECORDS_AT_ONCE: u64 = 16;
/// How often the page is read from its beginning because it changed meanwhile.
const ATTEMPTS: usize = 5;

/// The entries of the discovery log of the target at `address` (`host:port`) for this host. Each step of connecting and
/// each command has `time`.
///
/// # Errors
/// See [`InitiatorError`]; [`InitiatorError::Malformed`] for a log that keeps changing, has more than 4,096 entries or cannot
/// be read.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = served(subsystem()?).await?;
/// let found = discover(&config.address, &config.host, Duration::from_secs(5)).await?;
/// assert_eq!(found[0].subsystem, config.subsystem);
/// assert_eq!(format!("{}:{}", found[0].address, found[0].service), config.address);
/// # Ok(())
/// # }
/// ```
pub async fn discover(address: &str, host: &Host, time: Duration) -> Result<Vec<DiscoveryEntry>, InitiatorError> {
    let mut config = InitiatorConfig::new(address, DISCOVERY_NQN, host.clone());
    (config.connect_timeout, config.command_timeout, config.keep_alive) = (time, time, Duration::ZERO);
    config.check()?;
    let mut session = establish(&config).await?;
    let private = session.private;
    let read = async {
        for _ in 0..ATTEMPTS {
            if let Some(entries) = read_page(&private, time).await? {
                let _ = shut_down(&private, time).await;
                return Ok(entries);
            }
        }
        Err(wrong(format!("it changed {ATTEMPTS} times while it was read")))
    };
    drive(&mut session.admin, &private, read).await
}

fn wrong(why: String) -> InitiatorError {
    InitiatorError::Malformed { what: "discovery log", why }
}

/// The page, or nothing if it changed while it was read.
async fn read_page(private: &super::call::Port, time: Duration) -> Result<Option<Vec<DiscoveryEntry>>, InitiatorError> {
    let read = async |offset, length| admin::log_page(private, time, 0, id::DISCOVERY, offset, length).await;
    let header = async || {
        let bytes = read(0, DISCOVERY_BYTES).await?;
        DiscoveryHeader::decode(&bytes).map_err(|error| malformed("discovery log", &error))
    };
    let before = header().await?;
    if before.format != 0 {
        return Err(wrong(format!("its format is {}, only 0 is known", before.format)));
    }
    if before.records > MAX_RECORDS {
        return Err(wrong(format!("it has {} entries, at most {MAX_RECORDS} are read", before.records)));
    }
    let mut entries = Vec::new();
    let mut next = 0;
    while next < before.records {
        let count = RECORDS_AT_ONCE.min(before.records - next);
        let bytes = read((next + 1) * DISCOVERY_BYTES as u64, count as usize * DISCOVERY_BYTES).await?;
        if bytes.len() as u64 != count * DISCOVERY_BYTES as u64 {
            return Err(wrong(format!("{} of {count} entries came", bytes.len() / DISCOVERY_BYTES)));
        }
        for bytes in bytes.chunks_exact(DISCOVERY_BYTES) {
            entries.push(DiscoveryEntry::decode(bytes).map_err(|error| malformed("discovery log", &error))?);
        }
        next += count;
    }
    let after = header().await?;
    Ok((after.generation == before.generation).then_some(entries))
}
