//! The guest as the test sees it: its location, its run and its report.

use ciphermill_testing::{Need, not_run};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A guest that takes longer hangs, unless CIPHERMILL_GUEST_SECONDS says otherwise: QEMU emulates every instruction, so
/// that other load on the machine slows it down. On two free cores it takes less than half of it.
fn limit() -> Duration {
    let given = std::env::var("CIPHERMILL_GUEST_SECONDS").ok();
    Duration::from_secs(
        given.map_or(180, |text| text.parse().expect("CIPHERMILL_GUEST_SECONDS is a number of seconds")),
    )
}

/// The scripts that say which steps there are.
const STEPS: [&str; 3] = [
    include_str!("../../../../scripts/linux-guest/steps.sh"),
    include_str!("../../../../scripts/linux-guest/steps-objects.sh"),
    include_str!("../../../../scripts/linux-guest/steps-namespaces.sh"),
];

/// The script that makes the guest; a copy lies next to its products.
const BUILD: &[u8] = include_bytes!("../../../../scripts/linux-guest/build.sh");

/// A guest that can be run.
pub struct Guest {
    scripts: PathBuf,
}

/// One step of the guest.
#[derive(Debug)]
struct Step {
    name: String,
    ok: bool,
    milliseconds: u64,
    detail: String,
}

/// The report of a guest.
pub struct Report {
    steps: Vec<Step>,
    data: BTreeMap<String, Vec<u8>>,
    /// How it ended, if not as it should.
    trouble: Option<String>,
    console: String,
    took: Duration,
}

impl Guest {
    /// The guest that `scripts/setup.sh guest` made; `None`, and a report, without one.
    pub fn find() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let made = fs::read(root.join(".tools/guest/built-by")).is_ok_and(|by| by == BUILD);
        let qemu = Command::new("qemu-system-x86_64").arg("--version").stdout(Stdio::null()).status().is_ok();
        if made && qemu {
            return Some(Self { scripts: root.join("scripts/linux-guest") });
        }
        let what =
            if qemu { "the guest is not made, or by another version of its script" } else { "QEMU is not installed" };
        not_run(Need::Guest, format_args!("Linux end to end: {what}; use scripts/setup.sh guest"));
        None
    }

    /// Boots it with this job and these variables, and takes its report until it ends or the time is up.
    pub fn run(&self, job: &Path, variables: &[String]) -> Report {
        let console = job.with_extension("console");
        let (began, limit) = (Instant::now(), limit());
        let mut command = Command::new(self.scripts.join("run.sh"));
        command.arg("--console").arg(&console).arg("--job").arg(job).args(variables);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the script starts");
        let output = child.stdout.take().expect("it is piped");
        let (sender, lines) = mpsc::channel();
        let reader = thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if line.is_err() || sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut report = Report {
            steps: Vec::new(),
            data: BTreeMap::new(),
            trouble: None,
            console: String::new(),
            took: Duration::ZERO,
        };
        loop {
            match lines.recv_timeout(limit.saturating_sub(began.elapsed())) {
                Ok(line) => {
                    if report.take(line.expect("text").trim_end()) {
                        break;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    report.trouble = Some(format!("it did not end within {} s", limit.as_secs()));
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    report.trouble = Some("it ended before its last step".to_owned());
                    break;
                }
            }
        }
        // What it had to say is said; its way down is of no interest.
        stop(&mut child);
        reader.join().expect("the reader does not panic");
        report.took = began.elapsed();
        report.console =
            fs::read(&console).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        report
    }
}

/// Ends a child politely, so that it ends its own.
pub fn stop(child: &mut Child) -> Option<i32> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
    // One that has just ended by itself cannot be signalled.
    let _ = kill_process(pid, Signal::TERM);
    child.wait().expect("it is ours").code()
}

impl Report {
    /// Takes one line; true after the last.
    fn take(&mut self, line: &str) -> bool {
        let mut words = line.splitn(5, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some("END"), None, None) => return true,
            (Some("DATA"), Some(name), Some(hex)) => {
                let byte = |at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
                let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
                self.data.insert(name.to_owned(), bytes.unwrap_or_else(|| panic!("not hexadecimal: {line}")));
            }
            (Some("STEP"), Some(name), Some(verdict)) => self.steps.push(Step {
                name: name.to_owned(),
                ok: verdict == "ok",
                milliseconds: words.next().and_then(|number| number.parse().ok()).expect("milliseconds"),
                detail: words.next().unwrap_or_default().to_owned(),
            }),
            _ => panic!("the guest said `{line}`"),
        }
        false
    }

    /// Bytes that the guest sent under this name.
    pub fn data(&self, name: &str) -> &[u8] {
        self.data.get(name).unwrap_or_else(|| panic!("the guest sent no {name}"))
    }

    /// Checks that every step of the scripts was taken, in their order, and succeeded; if not, shows the guest's
    /// console and the server's log.
    pub fn assert_all_ok(&self, log: &Path) {
        let names =
            |script: &'static str| script.lines().filter_map(|line| line.strip_prefix("step ")?.split(' ').next());
        let [plain, objects, namespaces] = STEPS.map(names);
        let mut expected: Vec<_> = plain.collect();
        let last = expected.pop().expect("the last step disconnects, after those of the other scripts");
        expected.extend(objects.chain(namespaces));
        expected.push(last);
        let taken: Vec<_> = self.steps.iter().map(|step| step.name.as_str()).collect();
        let failed: Vec<_> = self.steps.iter().filter(|step| !step.ok).map(|step| step.name.as_str()).collect();
        let well = self.trouble.is_none() && failed.is_empty() && taken == expected;
        if !well {
            let log = fs::read(log).unwrap_or_default();
            let log = String::from_utf8_lossy(&log[log.len().saturating_sub(20_000)..]).into_owned();
            let Self { trouble, console, .. } = self;
            panic!("failed: {failed:?}; {trouble:?}\n{self}\nconsole:\n{console}\nserver:\n{log}");
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Step { name, ok, milliseconds, detail } in &self.steps {
            writeln!(f, "{milliseconds:6} ms  {} {name}: {detail}", if *ok { "ok    " } else { "FAILED" })?;
        }
        write!(f, "the guest took {:.1} s", self.took.as_secs_f64())
    }
}
