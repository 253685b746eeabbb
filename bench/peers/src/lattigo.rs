//! Lattigo's BFV/BGV, a Go module: a process of its own (bench/peers/lattigo) that is spoken to line by line. It inherits the
//! cores of the thread that starts it; the pipes cost some ten microseconds per call, counted against it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::{Contender, Peer};

/// The module; the version is that of bench/peers/lattigo/go.mod.
pub const PEER: Peer = Peer { name: "lattigo", version: env!("VERSION_LATTIGO"), licence: "Apache-2.0" };

/// What goes wrong between us and the process.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

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
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
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
        let mut child = Command::new(program)
            .env("GOMAXPROCS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{} does not start: {error}", program.display()))?;
        let input = child.stdin.take().ok_or("no pipe to the peer")?;
        let output = BufReader::new(child.stdout.take().ok_or("no pipe from the peer")?);
        let mut product = Self { child, input, output, work, expected, failed: false };
        let Setup { log_n, log_q, log_p, plaintext_modulus, rows, cols, seed } = setup;
        product.ask(&format!("setup {log_n} {log_q} {log_p} {plaintext_modulus} {rows} {cols} {seed}"))?;
        Ok(product)
    }

    /// What follows `ok` in the answer.
    fn ask(&mut self, line: &str) -> Result<String, Error> {
        writeln!(self.input, "{line}")?;
        self.input.flush()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        let rest = answer.trim_end().strip_prefix("ok").ok_or_else(|| format!("lattigo: {line}: {answer:?}"))?;
        Ok(rest.to_owned())
    }

    fn product(&mut self) -> Result<Vec<i64>, Error> {
        let answer = self.ask("check")?;
        Ok(answer.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
    }
}

impl Contender for Product {
    fn run(&mut self) {
        let line = if self.work == Work::Fresh { "fresh" } else { "run" };
        self.failed |= self.ask(line).is_err();
    }

    fn correct(&mut self) -> bool {
        !self.failed && self.product().is_ok_and(|product| product == self.expected)
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        // It ends with its input; if it does not, nothing waits for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
