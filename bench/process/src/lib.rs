//! A peer in another language, as a separate process. Requests and answers are lines of text.
//!
//! Every answer begins with `ok`. It inherits the cores of the thread that starts it. The pipes cost some
//! ten microseconds per request, counted against the peer.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What goes wrong between us and the process.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The process. It ends when this is dropped.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts the process; `name` is for error messages.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start(name: &'static str, command: &mut Command) -> Result<Self, Error> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{name}: {} does not start: {error}", command.get_program().display()))?;
        let input = child.stdin.take().ok_or("no pipe to the process")?;
        let output = BufReader::new(child.stdout.take().ok_or("no pipe from the process")?);
        Ok(Self { name, child, input, output })
    }

    /// Sends a line; returns what follows `ok` in the answer.
    ///
    /// # Errors
    /// If the process is gone, or answers anything else.
    pub fn ask(&mut self, line: &str) -> Result<String, Error> {
        writeln!(self.input, "{line}")?;
        self.input.flush()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        let rest = answer.trim_end().strip_prefix("ok").ok_or_else(|| {
            let request: String = line.chars().take(40).collect();
            format!("{}: {request}: {answer:?}", self.name)
        })?;
        Ok(rest.trim_start().to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It ends with its input; if it does not, nothing waits for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
