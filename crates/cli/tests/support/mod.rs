//! The shared parts of the tests of the command: a separate directory for each test, and the binary.

#![allow(dead_code, unreachable_pub)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

pub const SET: &str = "TEST_SMALL_U64";

/// The result of a run of the binary.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Ran {
    fn new(output: Output) -> Self {
        Self {
            code: output.status.code().expect("no signal ended it"),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
        }
    }

    /// Standard output of a run that must have succeeded.
    #[track_caller]
    pub fn done(self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        String::from_utf8(self.stdout).expect("text")
    }

    /// Standard output of a run that must have succeeded, as JSON.
    #[track_caller]
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.done()).expect("JSON")
    }

    /// Checks that the run failed with code 1, nothing on standard output, and one line on standard error that contains
    /// all of `words`.
    #[track_caller]
    pub fn failed(self, words: &[&str]) {
        assert_eq!(self.code, 1, "{}", self.stderr);
        assert_eq!(String::from_utf8_lossy(&self.stdout), "");
        let lines: Vec<_> = self.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "{}", self.stderr);
        assert!(lines[0].starts_with("ciphermill: error: "), "{}", self.stderr);
        for word in words {
            assert!(lines[0].contains(word), "`{word}` is not in: {}", self.stderr);
        }
    }

    /// Checks that the run ended with code 2 and said something that contains all of `words`.
    #[track_caller]
    pub fn usage(self, words: &[&str]) {
        assert_eq!(self.code, 2, "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not in: {}", self.stderr);
        }
    }
}

/// A directory in which the binary runs.
pub struct Bench {
    directory: TempDir,
    binary: PathBuf,
}

impl Bench {
    /// An empty directory.
    pub fn new() -> Self {
        Self::with_binary(Path::new(env!("CARGO_BIN_EXE_ciphermill")))
    }

    /// An empty directory for another binary of the command.
    pub fn with_binary(binary: &Path) -> Self {
        Self { directory: tempfile::tempdir().expect("a directory"), binary: binary.to_owned() }
    }

    /// A directory with `me.key`, `server.key` and `server.key.ksk` of the toy set.
    pub fn with_keys() -> Self {
        let bench = Self::new();
        bench.keygen("me.key", "server.key").done();
        bench
    }

    pub fn keygen(&self, secret: &str, server: &str) -> Ran {
        let (secret, server) = (format!("--secret-key={secret}"), format!("--server-key={server}"));
        self.run(["keygen", "--params", SET, "--insecure-params", &secret, &server])
    }

    /// Encrypts under `me.key` with 4 bits.
    pub fn encrypt(&self, message: &str, out: &str) -> Ran {
        let options = ["--bits", "4", "--message", message, "--out", out];
        self.run(["encrypt", "--secret-key", "me.key", "--insecure-params"].into_iter().chain(options))
    }

    /// Decrypts with `key` and 4 bits.
    pub fn decrypt(&self, key: &str, file: &str) -> Ran {
        self.run(["decrypt", "--secret-key", key, "--insecure-params", "--bits", "4", file])
    }

    /// A verb on the store `s`, as in `["blob", "put"]`.
    pub fn store(&self, verb: [&str; 2], rest: &[&str]) -> Ran {
        self.run(verb.into_iter().chain(["--store", "s", "--insecure-params"]).chain(rest.iter().copied()))
    }

    pub fn put(&self, register: &str, file: &str) -> Ran {
        self.store(["blob", "put"], &["--id", register, file])
    }

    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        let output = self.command(arguments).output();
        Ran::new(output.expect("the binary starts"))
    }

    /// As [`Bench::run`], with a variable of the environment.
    pub fn run_with<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        variable: &str,
        value: &str,
    ) -> Ran {
        Ran::new(self.command(arguments).env(variable, value).output().expect("the binary starts"))
    }

    /// The binary in this directory, without the environment's options.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("room");
    }

    /// The same with rights for the owner only, as secret keys need them.
    pub fn write_private(&self, name: &str, bytes: impl AsRef<[u8]>) {
        self.write(name, bytes);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).expect("ours");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("a file")
    }

    /// Writes a copy of `from` as `to`, changed by `change`.
    pub fn copy_changed(&self, from: &str, to: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = self.read(from);
        change(&mut bytes);
        self.write(to, bytes);
    }

    /// The names in the directory, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).expect("a directory");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}
