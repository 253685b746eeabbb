//! A server as a child process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::Bench;

/// The default name of a host.
pub(crate) const HOST: &str = "nqn.2026-01.io.github.ciphermill:host";

const SERVE: [&str; 9] =
    ["serve", "--store", "s", "--listen", "127.0.0.1:0", "--json", "--insecure-params", "--log", "warn"];

/// A server over the store `s`; killed when dropped.
pub(crate) struct Served {
    child: Child,
    listening: String,
    pub(crate) metrics: Option<String>,
}

impl Served {
    /// Starts it and waits until it listens.
    pub(crate) fn start(bench: &Bench, options: &[&str]) -> Self {
        Self::of(bench.command(SERVE.iter().chain(options)))
    }

    /// As [`Served::start`], in a process that may use this much memory for data.
    pub(crate) fn start_within(bench: &Bench, bytes: u64, options: &[&str]) -> Self {
        let serve = bench.command(SERVE.iter().chain(options));
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -d {} && exec \"$0\" \"$@\"", bytes / 1024)]);
        shell.arg(serve.get_program()).args(serve.get_args());
        shell.current_dir(serve.get_current_dir().expect("the bench's directory"));
        Self::of(shell)
    }

    /// As [`Served::start`]; its log goes to the file `log` of the bench.
    pub(crate) fn start_logged(bench: &Bench, options: &[&str]) -> Self {
        let mut command = bench.command(SERVE.iter().chain(options));
        command.stderr(std::fs::File::create(bench.path("log")).expect("room"));
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let started: serde_json::Value = serde_json::from_str(&line).expect("the server started");
        let text = |key: &str| started[key].as_str().map(str::to_owned);
        Self { child, listening: text("listening").expect("an address"), metrics: text("metrics") }
    }

    /// The most memory that it had resident so far, in MiB.
    pub(crate) fn peak_resident_mib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a figure");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
    }

    /// Its open descriptors.
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("it runs").count()
    }

    /// Its address, for `--connect`.
    pub(crate) fn connect(&self) -> String {
        self.listening.clone()
    }

    /// Sends SIGTERM; the server must end by itself with 0.
    pub(crate) fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match self.child.try_wait().expect("a child") {
                Some(status) => break assert_eq!(status.code(), Some(0)),
                None if Instant::now() > deadline => panic!("the server does not stop"),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Sends bytes to the metrics' address; the status and the body of the answer, 0 when there is none.
    pub(crate) fn http(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.metrics.as_deref().expect("metrics")).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let mut answer = String::new();
        // A server that has seen enough may close before it took everything.
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.read_to_string(&mut answer);
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status, body.to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Already ended, mostly.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
