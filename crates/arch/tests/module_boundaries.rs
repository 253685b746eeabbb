//! The models share no code beyond descriptions, records and traces.
//!
//! `array`, `paillier_engine`, `pipeline`, `scalar` and `tfhe_engine` model different machines. Each could be a crate; this
//! test keeps them independent without the cost of five. Only `report` compares models, and only `engines` has two.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Modules at the root of the crate, and the other root modules that each may name.
const ALLOWED: [(&str, &[&str]); 10] = [
    ("array", &["description", "record", "trace"]),
    ("description", &[]),
    ("engines", &["paillier_engine", "tfhe_engine"]),
    ("paillier_engine", &[]),
    ("pipeline", &["description", "record", "trace"]),
    ("record", &[]),
    ("report", &["array", "description", "record", "scalar", "trace"]),
    ("scalar", &["description"]),
    ("tfhe_engine", &[]),
    ("trace", &[]),
];

/// The Rust code of a module, with comments removed.
fn code(path: &Path, into: &mut String) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a source folder") {
            code(&entry.expect("an entry").path(), into);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        for line in fs::read_to_string(path).expect("a source file").lines() {
            into.push_str(line.split("//").next().unwrap_or_default());
            into.push('\n');
        }
    }
}

/// The identifiers that follow `crate::`, also in a group `crate::{a, b::c}`.
fn named(code: &str) -> BTreeSet<String> {
    let word = |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let mut names = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            None => drop(names.insert(word(after))),
            Some(group) => {
                let mut depth = 0_i32;
                let mut start = true;
                for (at, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => start = true,
                        _ if start && !c.is_whitespace() => {
                            names.insert(word(&group[at..]));
                            start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    names
}

#[test]
fn models_share_only_descriptions_records_and_traces() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let root = fs::read_to_string(source.join("lib.rs")).expect("the root module");
    let modules: BTreeSet<&str> = root
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    assert_eq!(modules, ALLOWED.map(|(module, _)| module).into(), "list a new root module in ALLOWED");
    for (module, allowed) in ALLOWED {
        let mut text = String::new();
        code(&source.join(module), &mut text);
        code(&source.join(format!("{module}.rs")).as_path().canonicalize().unwrap_or_default(), &mut text);
        assert!(!text.is_empty(), "{module} has no source");
        let others: BTreeSet<String> = named(&text).into_iter().filter(|name| modules.contains(&name[..])).collect();
        let foreign: Vec<&String> =
            others.iter().filter(|name| *name != module && !allowed.contains(&&name[..])).collect();
        assert!(foreign.is_empty(), "{module} uses {foreign:?}; it may use {allowed:?}");
        let unused: Vec<&&str> = allowed.iter().filter(|name| !others.contains(**name)).collect();
        assert!(unused.is_empty(), "{module} no longer uses {unused:?}: remove them from ALLOWED");
        // A path through `super` from the module's root would leave the module.
        let (own, root) = (source.join(format!("{module}.rs")), source.join(module).join("mod.rs"));
        let root = fs::read_to_string(if own.is_file() { own } else { root }).expect("a module root");
        let root = root.split("#[cfg(test)]").next().unwrap_or_default();
        assert!(!root.contains("super::"), "{module} reaches its siblings through `super`");
    }
}

#[test]
fn names_are_found_in_plain_and_grouped_paths() {
    let code =
        "use crate::array::Machine; use crate::{record::{Label, Record}, trace}; fn f(x: crate::scalar::Program) {}";
    assert_eq!(named(code), ["array", "record", "scalar", "trace"].map(str::to_owned).into());
}
