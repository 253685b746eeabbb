//! Reads the peers' versions from the lock file, so that no report can name a version which was not measured.

use std::{env, fs, path::Path};

const LOCK: &str = "../Cargo.lock";
const GO_MODULE: &str = "lattigo/go.mod";
const CONCRETE: &str = "../concrete-peer.txt";

/// The versions of `package`'s direct dependencies: in the lock file a dependency carries its version only where several are
/// locked.
fn dependency_versions(lock: &str, package: &str) -> Vec<(String, String)> {
    let field = |block: &str, key: &str| {
        block
            .lines()
            .find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(" = \"")?.trim_end_matches('"').to_owned()))
    };
    let blocks: Vec<&str> = lock.split("[[package]]").collect();
    let find = |name: &str| blocks.iter().find(|block| field(block, "name").as_deref() == Some(name));
    let own = find(package).expect("this package is in the lock file");
    let (_, list) = own.split_once("dependencies = [").expect("this package has dependencies");
    let list = list.split(']').next().unwrap_or_default();
    list.split(',')
        .map(|entry| entry.trim().trim_matches('"'))
        .filter(|entry| !entry.is_empty())
        .map(|entry| match entry.split_once(' ') {
            Some((name, version)) => (name.to_owned(), version.to_owned()),
            None => {
                (entry.to_owned(), find(entry).and_then(|block| field(block, "version")).expect("a locked version"))
            }
        })
        .collect()
}

/// The version of Lattigo that the Go module requires.
fn lattigo_version(module: &str) -> Option<&str> {
    let line = module.lines().find(|line| line.contains("github.com/tuneinsight/lattigo/v6 "))?;
    line.split_whitespace().last()?.strip_prefix('v')
}

fn main() {
    println!("cargo:rerun-if-changed={LOCK}");
    println!("cargo:rerun-if-changed={GO_MODULE}");
    println!("cargo:rerun-if-changed={CONCRETE}");
    let packages = fs::read_to_string(CONCRETE).expect("the list of packages is readable");
    let concrete = packages.lines().find_map(|line| line.strip_prefix("concrete-python=="));
    println!("cargo:rustc-env=VERSION_CONCRETE={}", concrete.expect("it has Concrete"));
    let module = fs::read_to_string(GO_MODULE).expect("the Go module's file is readable");
    println!("cargo:rustc-env=VERSION_LATTIGO={}", lattigo_version(&module).expect("it requires Lattigo"));
    let lock = fs::read_to_string(Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join(LOCK))
        .expect("bench/Cargo.lock is readable");
    for (name, version) in dependency_versions(&lock, &env::var("CARGO_PKG_NAME").expect("set by cargo")) {
        println!("cargo:rustc-env=VERSION_{}={version}", name.replace('-', "_").to_uppercase());
    }
}
