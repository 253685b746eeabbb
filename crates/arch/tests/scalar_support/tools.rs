//! The cross compiler and QEMU, if they are installed: Debian's gcc-riscv64-linux-gnu and qemu-user.

use ciphermill_testing::{Need, not_run};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether `program --version` runs. If not, reports that `what` is not tested.
pub fn have(program: &str, what: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return true;
    }
    not_run(Need::Riscv, format_args!("{what}: {program} is not installed; use `make setup` as root"));
    false
}

/// A separate folder for a test, removed on drop.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ciphermill-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o700);
        std::io::Write::write_all(&mut options.open(&path).expect("a temporary file"), bytes).expect("it is written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// QEMU's report on a program.
pub struct QemuRun {
    pub status: i32,
    pub output: Vec<u8>,
    /// The addresses of its instructions, in order.
    pub trace: Vec<u64>,
}

fn command(folder: &Folder, elf: &[u8], input: &[u8], arguments: &[&str]) -> Command {
    let (program, input) = (folder.file("program.elf", elf), folder.file("input", input));
    let mut command = Command::new("qemu-riscv64");
    // A file, not a pipe: one call of read gets all that it asks for.
    command.args(arguments).arg(program).stdin(File::open(input).expect("the input"));
    command
}

/// Runs a program in QEMU's user mode.
pub fn qemu(folder: &Folder, elf: &[u8], input: &[u8]) -> (i32, Vec<u8>) {
    let output = command(folder, elf, input, &[]).stderr(Stdio::inherit()).output().expect("QEMU runs");
    (output.status.code().unwrap_or(-1), output.stdout)
}

/// As above, one instruction at a time. Each is logged to a pipe as it executes.
pub fn qemu_traced(folder: &Folder, elf: &[u8], input: &[u8]) -> QemuRun {
    // The option's name changed in QEMU 8.1.
    let help = Command::new("qemu-riscv64").arg("--help").output().expect("QEMU runs");
    let single = if String::from_utf8_lossy(&help.stdout).contains("one-insn-per-tb") {
        "-one-insn-per-tb"
    } else {
        "-singlestep"
    };
    let mut child = command(folder, elf, input, &[single, "-d", "exec,nochain"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("QEMU runs");
    let mut stdout = child.stdout.take().expect("piped");
    let reader = std::thread::spawn(move || {
        let mut output = Vec::new();
        stdout.read_to_end(&mut output).map(|_| output)
    });
    let mut trace = Vec::new();
    let mut lines = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    while lines.read_line(&mut line).expect("QEMU's log is text") > 0 {
        // Trace 0: 0x7f… [0000000000000000/0000000000010000/00207600/00000201]
        if line.starts_with("Trace ") {
            let pc = line.split('/').nth(1).and_then(|pc| u64::from_str_radix(pc, 16).ok());
            trace.push(pc.unwrap_or_else(|| panic!("QEMU's log has another form: {line}")));
        }
        line.clear();
    }
    let output = reader.join().expect("no panic").expect("QEMU's output");
    let status = child.wait().expect("QEMU ends").code().unwrap_or(-1);
    QemuRun { status, output, trace }
}

/// The folder of the committed programs.
pub fn baseline_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("baseline")
}
