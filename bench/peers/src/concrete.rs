//! Concrete, a compiler of Python functions for encrypted numbers: a process (bench/peers/python/concrete_server.py).

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use ciphermill_bench_process::{Error, Process};

use crate::table::mask;
use crate::{Contender, Peer};

/// The package; the version is that of bench/concrete-peer.txt.
pub const PEER: Peer = Peer { name: "concrete", version: env!("VERSION_CONCRETE"), licence: "BSD-3-Clause-Clear" };

/// The process, with one compiled table and its keys.
pub struct LookUp {
    process: Process,
    values: Vec<u64>,
    f: fn(u64) -> u64,
    bits: u32,
    round: usize,
    failed: bool,
    keys: String,
}

impl LookUp {
    /// Starts `python` on the server, on the cores of this thread. It compiles the table of `f` from `bits` to `bits` for a
    /// failure probability of 2^`log2_p` of a look-up, makes keys and encrypts the values, which are looked up in turn.
    ///
    /// # Errors
    /// If the process does not start, lacks Concrete or cannot compile the table.
    pub fn new(python: &Path, bits: u32, log2_p: i32, f: fn(u64) -> u64, values: &[u64]) -> Result<Self, Error> {
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/concrete_server.py");
        let mut process = Process::start("concrete", Command::new(python).args(["-W", "ignore"]).arg(server))?;
        let mut table = format!("table {log2_p}");
        for x in 0..1 << bits {
            write!(table, " {}", f(x) & mask(bits))?;
        }
        let keys = process.ask(&table)?;
        let mut inputs = "inputs".to_owned();
        values.iter().try_for_each(|value| write!(inputs, " {value}"))?;
        process.ask(&inputs)?;
        Ok(Self { process, values: values.to_vec(), f, bits, round: 0, failed: false, keys })
    }

    /// Bytes of its keys, in words.
    #[must_use]
    pub fn keys(&self) -> &str {
        &self.keys
    }

    fn index(&self) -> usize {
        self.round % self.values.len()
    }
}

impl Contender for LookUp {
    fn prepare(&mut self, round: usize) {
        self.round = round;
    }

    fn run(&mut self) {
        let line = format!("run {}", self.index());
        self.failed |= self.process.ask(&line).is_err();
    }

    fn correct(&mut self) -> bool {
        let expected = (self.f)(self.values[self.index()]) & mask(self.bits);
        !self.failed && self.process.ask("result").is_ok_and(|result| result == expected.to_string())
    }
}
