//! Reads versions of peers from the files that pin them, so that no report can name one which was not measured.

use std::fs;

const LOCK: &str = "../Cargo.lock";
const PYTHON: &str = "../python-peers.txt";

fn main() {
    println!("cargo:rerun-if-changed={LOCK}");
    println!("cargo:rerun-if-changed={PYTHON}");
    let lock = fs::read_to_string(LOCK).expect("bench/Cargo.lock is readable");
    let (_, rug) = lock.split_once("name = \"rug\"\nversion = \"").expect("rug is locked");
    println!("cargo:rustc-env=VERSION_RUG={}", rug.split('"').next().expect("a version"));
    let python = fs::read_to_string(PYTHON).expect("bench/python-peers.txt is readable");
    let wheel = python.lines().find_map(|line| line.strip_prefix("ipp-crypto==")).expect("ipp-crypto is pinned");
    println!("cargo:rustc-env=VERSION_IPP_CRYPTO={wheel}");
}
