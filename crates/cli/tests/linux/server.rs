//! `ciphermill serve` as a child process.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::guest::stop;
use crate::support::Bench;

/// A running server, ended when dropped.
pub struct Server {
    child: Child,
    ended: bool,
    address: SocketAddr,
    blocks: u64,
}

impl Server {
    /// Serves the new store `name` in the bench's directory on a free port of the loopback, to these hosts. Its log is the
    /// file `name.log` there.
    pub fn start(bench: &Bench, name: &str, nqn: &str, hosts: &[&str], options: &[&str]) -> Self {
        let fixed = ["serve", "--listen", "127.0.0.1:0", "--store", name, "--insecure-params", "--json"];
        let mut command = bench.command(fixed);
        command.args(["--nqn", nqn, "--log", "debug"]).args(options);
        for host in hosts {
            command.args(["--allow-host", host]);
        }
        let log = bench.path(format!("{name}.log"));
        let log_text = || String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()).into_owned();
        let out = File::create(&log).expect("room");
        let mut child = command.stdout(Stdio::piped()).stderr(out).spawn().expect("the binary starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let Some(Ok(line)) = lines.next() else {
            stop(&mut child);
            panic!("the server does not say where it listens: {}", log_text());
        };
        let started: Value = serde_json::from_str(&line).expect("JSON");
        let address = started["listening"].as_str().and_then(|text| text.parse().ok()).expect("an address");
        let blocks = started["namespaces"][0]["blocks"].as_u64().expect("a number");
        Self { child, ended: false, address, blocks }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many blocks its namespace has.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Stops it as a service manager does; it must end well.
    pub fn stop(mut self) {
        self.ended = true;
        assert_eq!(stop(&mut self.child), Some(0), "the server ends with code 0");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.ended {
            stop(&mut self.child);
        }
    }
}
