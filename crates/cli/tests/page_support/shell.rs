//! One shell that runs the commands of a page one after the other.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Bench;

/// A command that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(300);
const MARK: &str = "-- done with ";

/// Takes a line, runs it without standard input, and reports its exit code after a mark.
const LOOP: &str = r#"set -m; exec 3<&0 </dev/null 2>&1
while IFS= read -r line <&3; do eval "$line"; printf '\n-- done with %s\n' $?; done"#;

/// A bash in the directory of a bench, with the binary in its PATH and that directory as its home.
pub(crate) struct Shell {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Shell {
    pub(crate) fn new(bench: &Bench) -> Self {
        let binary = std::path::Path::new(env!("CARGO_BIN_EXE_ciphermill"));
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let directories = binary.parent().map(Into::into).into_iter().chain(std::env::split_paths(&paths));
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-c", LOOP]).current_dir(bench.path("."));
        command.env("PATH", std::env::join_paths(directories).expect("paths")).env("HOME", bench.path("."));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("bash starts");
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let stdin = child.stdin.take();
        Self { child, stdin, lines }
    }

    /// The exit code and the output of a command; of one in the background, the output of its first `expected` lines.
    pub(crate) fn run(&mut self, command: &str, expected: usize) -> (i32, Vec<String>) {
        let stdin = self.stdin.as_mut().expect("it is open");
        writeln!(stdin, "{command}").expect("the shell reads");
        let (deadline, mut code) = (Instant::now() + LIMIT, None);
        let mut output: Vec<String> = Vec::new();
        while code.is_none() || (command.ends_with('&') && output.len() < expected) {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("no end of `{command}`: {output:?}"));
            match line.strip_prefix(MARK) {
                Some(number) => {
                    code = Some(number.parse().expect("an exit code"));
                    // The line feed before the mark.
                    output.pop_if(|line| line.is_empty());
                }
                None => output.push(line),
            }
        }
        (code.expect("the mark"), output)
    }
}

impl Drop for Shell {
    /// Ends the shell and its jobs.
    fn drop(&mut self) {
        if let Some(mut stdin) = self.stdin.take() {
            // The shell may have ended by itself.
            let _ = writeln!(stdin, "kill $(jobs -p) 2>/dev/null; exit");
        }
        let _ = self.child.wait();
    }
}
