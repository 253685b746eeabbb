//! The server's memory and its answer to `/healthz`, while it lives.

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

const INTERVAL: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(10);
const REQUEST: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// The observations of all servers.
#[derive(Default)]
pub(crate) struct Watched {
    pub(crate) resident_mib: u64,
    healthy: u64,
}

/// The observations of one server.
pub(crate) struct Seen {
    resident_mib: u64,
    healthy: u64,
    /// The first answer that was not 200, and not owed to the kill.
    trouble: Option<String>,
}

impl Watched {
    pub(crate) fn add(&mut self, seen: Seen) -> Result<(), Box<dyn Error>> {
        self.resident_mib = self.resident_mib.max(seen.resident_mib);
        self.healthy += seen.healthy;
        seen.trouble.map_or(Ok(()), |trouble| Err(trouble.into()))
    }

    pub(crate) fn record(&self) -> Value {
        json!({ "most_resident_mib": self.resident_mib, "healthz_answers": self.healthy })
    }
}

/// Looks at the server until the round is over.
pub(crate) fn watch(pid: u32, metrics: &str, over: &AtomicBool) -> Seen {
    let address: SocketAddr = metrics.parse().expect("an address");
    let mut seen = Seen { resident_mib: 0, healthy: 0, trouble: None };
    while !over.load(Ordering::SeqCst) && seen.trouble.is_none() {
        let Some(mib) = ciphermill_evidence::resident_mib(pid) else { break };
        seen.resident_mib = seen.resident_mib.max(mib);
        match health(address) {
            Ok(answer) if answer.starts_with("HTTP/1.1 200 ") => seen.healthy += 1,
            // A killed server answers nothing.
            other if alive(pid) => seen.trouble = Some(format!("/healthz: {other:?}")),
            _ => break,
        }
        std::thread::sleep(INTERVAL);
    }
    seen
}

fn health(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(REQUEST)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Whether the process still runs: a killed one is a zombie until its parent waits for it.
fn alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !matches!(rest.trim_start().chars().next(), None | Some('Z' | 'X')))
}
