//! The measured server, a separate process.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ciphermill_client::engines::EngineName;
use ciphermill_nvme::Host;
use ciphermill_nvme::initiator::{Controller, InitiatorConfig};
use rustix::process::Pid;

use crate::error::CliError;

/// A server in a separate process, which is killed on drop.
pub(super) struct Server {
    child: Child,
    address: String,
    subsystem: String,
}

/// The name of host number `number`.
fn name(number: u32) -> String {
    format!("nqn.2014-08.org.nvmexpress:uuid:be9c0000-0000-4000-8000-{number:012x}")
}

impl Server {
    /// Serves a store for the hosts 0 to `hosts`. Each is named, so that each has its own share of the connections.
    pub(super) fn start(store: &Path, engine: EngineName, hosts: u32) -> Result<Self, CliError> {
        let this = std::env::current_exe().map_err(CliError::file("find", Path::new("ciphermill")))?;
        let mut child = Command::new(&this)
            .args(["serve", "--listen", "127.0.0.1:0", "--insecure-params", "--json"])
            .args((0..=hosts).flat_map(|number| ["--allow-host".to_owned(), name(number)]))
            .args(["--engine", engine.name(), "--store"])
            .arg(store)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(CliError::file("start", &this))?;
        let mut line = String::new();
        if let Some(said) = child.stdout.take() {
            BufReader::new(said).read_line(&mut line).map_err(CliError::file("hear from", &this))?;
        }
        let started: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        let field = |name: &str| started[name].as_str().map(str::to_owned);
        match (field("listening"), field("subsystem")) {
            (Some(address), Some(subsystem)) => Ok(Self { child, address, subsystem }),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                Err(CliError::Server(format!("it did not say where it listens: {line:?}")))
            }
        }
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Connects as host number `number`.
    pub(super) async fn connect(&self, number: u32) -> Result<Controller, CliError> {
        let nqn = name(number);
        let mut id = *b"bench-host-00000";
        id[12..].copy_from_slice(&number.to_be_bytes());
        let config = InitiatorConfig::new(&self.address, &self.subsystem, Host { nqn, id });
        Ok(Controller::connect(config).await?)
    }

    /// Seconds of CPU that it has used.
    pub(super) fn cpu_seconds(&self) -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        // After the name in parentheses: state is the first field, user and system time are the 12th and 13th.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
