//! Lattigo's BFV/BGV, a Go module: a process (bench/peers/lattigo).

use std::path::Path;
use std::process::Command;

use ciphermill_bench_process::{Error, Process};

use crate::{Contender, Peer};

/// The module; the version is that of bench/peers/lattigo/go.mod.
pub const PEER: Peer = Peer { name: "lattigo", version: env!("VERSION_LATTIGO"), licence: "Apache-2.0" };

/// One product to be computed.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// log2 N.
    pub log_n: u32,
    /// Bits of the ciphertext primes, separated by commas.
    pub log_q: &'a str,
    /// Bits of the special primes.
    pub log_p: &'a str,
    /// t, a prime that is 1 modulo 2N.
    pub plaintext_modulus: u64,
    /// m, a power of two up to N/2.
    pub rows: usize,
    /// n, likewise.
    pub cols: usize,
    /// Of the entries.
    pub seed: u64,
}

/// What `run` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The product with the matrix encoded beforehand.
    Prepared,
    /// Encoding and product.
    Fresh,
}

/// The process, set up for one product.
pub struct Product {
    process: Process,
    work: Work,
    expected: Vec<i64>,
    failed: bool,
}

impl Product {
    /// Starts `program`, on one thread, and has it make keys, matrix and vector; `expected` is the product.
    ///
    /// # Errors
    /// If the program does not start or does not answer.
    pub fn new(program: &Path, setup: &Setup<'_>, work: Work, expected: Vec<i64>) -> Result<Self, Error> {
        let mut process = Process::start("lattigo", Command::new(program).env("GOMAXPROCS", "1"))?;
        let Setup { log_n, log_q, log_p, plaintext_modulus, rows, cols, seed } = setup;
        process.ask(&format!("setup {log_n} {log_q} {log_p} {plaintext_modulus} {rows} {cols} {seed}"))?;
        Ok(Self { process, work, expected, failed: false })
    }

    fn product(&mut self) -> Result<Vec<i64>, Error> {
        let answer = self.process.ask("check")?;
        Ok(answer.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
    }
}

impl Contender for Product {
    fn run(&mut self) {
        let line = if self.work == Work::Fresh { "fresh" } else { "run" };
        self.failed |= self.process.ask(line).is_err();
    }

    fn correct(&mut self) -> bool {
        !self.failed && self.product().is_ok_and(|product| product == self.expected)
    }
}
