//! `phe` with gmpy2, a Python process (bench/peers/python/phe_server.py). One request does its work many times, so that the pipes
//! do not count.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use ciphermill_bench_process as process;

use crate::Error;

/// Of phe; of gmpy2 and GMP it is LGPL-3.0-or-later.
pub const LICENCE: &str = "GPL-3.0-only, LGPL-3.0-or-later";

/// The process.
pub struct Process {
    process: process::Process,
    limbs: usize,
    failed: bool,
}

impl Process {
    /// Starts the program `python` on `server`.
    ///
    /// # Errors
    /// If it does not start, or lacks phe.
    pub fn start(python: &OsStr, server: &Path) -> Result<Self, Error> {
        let process = process::Process::start("phe", Command::new(python).arg(server))?;
        Ok(Self { process, limbs: 0, failed: false })
    }

    fn tell(&mut self, name: &str, limbs: usize, words: &[u64]) -> Result<(), Error> {
        let mut line = name.to_owned();
        for row in words.chunks_exact(limbs) {
            line.push(' ');
            row.iter().rev().try_for_each(|word| write!(line, "{word:016x}"))?;
        }
        self.process.ask(&line).map(drop)
    }

    /// Of phe, gmpy2 and its GMP.
    ///
    /// # Errors
    /// If the process does not answer.
    pub fn versions(&mut self) -> Result<String, Error> {
        self.process.ask("versions")
    }

    /// The key of two primes of one width.
    ///
    /// # Errors
    /// If the process does not take it.
    pub fn key(&mut self, p: &[u64], q: &[u64]) -> Result<(), Error> {
        let limbs = p.len();
        self.limbs = 2 * limbs;
        self.tell("key", limbs, &[p, q].concat())
    }

    /// Plaintexts, as wide as n.
    ///
    /// # Errors
    /// If the process does not take them.
    pub fn plaintexts(&mut self, words: &[u64]) -> Result<(), Error> {
        self.tell("plaintexts", self.limbs, words)
    }

    /// Ciphertexts, as wide as n².
    ///
    /// # Errors
    /// If the process does not take them.
    pub fn ciphertexts(&mut self, words: &[u64]) -> Result<(), Error> {
        self.tell("ciphertexts", 2 * self.limbs, words)
    }

    /// Scalars, or a matrix of weights row by row.
    ///
    /// # Errors
    /// If the process does not take them.
    pub fn scalars(&mut self, scalars: &[u64]) -> Result<(), Error> {
        self.tell("scalars", 1, scalars)
    }

    /// Does `operation` (encrypt, decrypt, add, multiply, matvec) to all operands, `times` times.
    pub fn run(&mut self, operation: &str, times: usize) {
        self.failed |= self.process.ask(&format!("run {operation} {times}")).is_err();
    }

    /// The last results: rows of `limbs` limbs, none if anything failed.
    pub fn results(&mut self, limbs: usize) -> Vec<u64> {
        let parse = |text: &str| {
            let mut row = vec![0; limbs];
            for (word, digits) in row.iter_mut().zip(text.as_bytes().rchunks(16)) {
                *word = u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
            }
            Some(row)
        };
        match self.process.ask("results") {
            Ok(answer) if !self.failed => {
                answer.split_whitespace().map(parse).collect::<Option<Vec<_>>>().unwrap_or_default().concat()
            }
            _ => Vec::new(),
        }
    }
}
