//! Work of a test that this machine cannot do.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The environment variable that turns skipped work into a failure: `all`, or names of [`Need`]s, separated by commas.
pub const REQUIRE_VARIABLE: &str = "CIPHERMILL_REQUIRE";

/// A part of the machine that a test needs, and that not every machine has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// An instruction set of the CPU.
    Cpu,
    /// Python packages in `.venv`.
    Python,
    /// Debian's binutils, GCC and QEMU for RISC-V.
    Riscv,
    /// Verilator, or a unit of the RTL that the build left out.
    Rtl,
    /// QEMU and a Linux kernel for the guest.
    Guest,
    /// Valgrind.
    Valgrind,
}

impl Need {
    /// All of them.
    pub const ALL: [Need; 6] = [Need::Cpu, Need::Python, Need::Riscv, Need::Rtl, Need::Guest, Need::Valgrind];

    /// The name in [`REQUIRE_VARIABLE`].
    pub const fn name(self) -> &'static str {
        match self {
            Need::Cpu => "cpu",
            Need::Python => "python",
            Need::Riscv => "riscv",
            Need::Rtl => "rtl",
            Need::Guest => "guest",
            Need::Valgrind => "valgrind",
        }
    }
}

impl Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reports that this test leaves out `what`, because the machine lacks `need`. The caller then returns or goes on without it.
///
/// The line begins with `not run: ` and names the crate, the test program and the test. It goes past the test harness, which swallows the
/// output of tests that pass, so that `make test` can list it. Each line is written once per process.
///
/// # Panics
/// If [`REQUIRE_VARIABLE`] names the need, or has an unknown name.
///
/// # Example
/// ```
/// use ciphermill_testing::{Need, not_run};
///
/// if !cfg!(target_arch = "x86_64") {
///     not_run(Need::Cpu, "products on the AVX2 path");
/// }
/// ```
#[track_caller]
pub fn not_run(need: Need, what: impl Display) {
    let test = std::thread::current().name().filter(|name| *name != "main").map(|name| format!("{name}: "));
    let line = format!("not run: {}: {}{what} (needs {need})", program(), test.unwrap_or_default());
    if is_required(need, std::env::var(REQUIRE_VARIABLE).ok().as_deref()) {
        panic!("{line}, and {REQUIRE_VARIABLE} makes it a failure");
    }
    write_once(line);
}

/// The paths that this CPU offers, in order. The others are reported by [`not_run`].
///
/// # Panics
/// As [`not_run`].
///
/// # Example
/// ```
/// let paths = ciphermill_testing::available(["portable", "avx9"], |path| *path == "portable");
/// assert_eq!(paths, ["portable"]);
/// ```
#[track_caller]
pub fn available<P: Display>(paths: impl IntoIterator<Item = P>, is_available: impl Fn(&P) -> bool) -> Vec<P> {
    let (can, cannot): (Vec<_>, Vec<_>) = paths.into_iter().partition(is_available);
    cannot.iter().for_each(|path| not_run(Need::Cpu, format_args!("the path {path}")));
    can
}

/// Whether the variable's value turns a missing `need` into a failure.
fn is_required(need: Need, value: Option<&str>) -> bool {
    let names = value.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
    names.fold(false, |required, name| {
        let known = name == "all" || Need::ALL.iter().any(|need| need.name() == name);
        assert!(known, "{REQUIRE_VARIABLE}: {name:?} is not known; use all, {}", Need::ALL.map(Need::name).join(", "));
        required || name == "all" || name == need.name()
    })
}

/// The crate, and the test program without the hash that cargo adds.
fn program() -> String {
    let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let path = std::env::current_exe().unwrap_or_default();
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let (package, program) = (name(&folder), name(&path));
    let program = match program.rsplit_once('-') {
        Some((stem, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => stem.to_owned(),
        _ => program,
    };
    if package.is_empty() { program } else { format!("{package}/{program}") }
}

fn write_once(line: String) {
    static WRITTEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    if written.contains(&line) {
        return;
    }
    // The harness catches what `println!` writes, and nothing else. One write, so that lines stay whole.
    let result = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
    result.expect("standard error takes the line: skipped work must not go unseen");
    written.insert(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_needs() {
        for need in Need::ALL {
            assert!(!is_required(need, None) && !is_required(need, Some("")));
            assert!(is_required(need, Some("all")) && is_required(need, Some(need.name())));
        }
        assert!(is_required(Need::Rtl, Some("python, rtl")) && !is_required(Need::Cpu, Some("python, rtl")));
    }

    #[test]
    #[should_panic(expected = "\"pyhton\" is not known; use all, cpu, python")]
    fn a_slip_in_the_variable_is_found() {
        is_required(Need::Cpu, Some("pyhton"));
    }

    /// Set in the process that [`skipped_work_is_seen_or_fails`] starts.
    const CHILD: &str = "CIPHERMILL_TESTING_SKIPS";

    /// Skips, but only as a child of the next test.
    #[test]
    fn the_child_skips() {
        if std::env::var_os(CHILD).is_some() {
            not_run(Need::Cpu, "a path of the child");
        }
    }

    #[test]
    fn skipped_work_is_seen_or_fails() {
        for (required, passes) in [(None, true), (Some("python"), true), (Some("cpu"), false), (Some("all"), false)] {
            let mut child = std::process::Command::new(std::env::current_exe().expect("this program"));
            child.args(["--exact", "skip::tests::the_child_skips"]).env(CHILD, "1").env_remove(REQUIRE_VARIABLE);
            let output = child.envs(required.map(|value| (REQUIRE_VARIABLE, value))).output().expect("it runs");
            assert_eq!(output.status.success(), passes, "{required:?}: {output:?}");
            // The harness of the child captures its output, so a line on standard error went past it.
            let said = String::from_utf8_lossy(&output.stderr);
            let line = "skip::tests::the_child_skips: a path of the child (needs cpu)";
            assert_eq!(
                said.lines().any(|said| said.starts_with("not run: ") && said.ends_with(line)),
                passes,
                "{said}"
            );
        }
    }

    #[test]
    fn the_program_has_no_hash() {
        assert!(program().ends_with("ciphermill_testing"), "{}", program());
    }
}
