//! The C sources of hw/hls keep to what Vitis HLS documents.
//!
//! The rules are those of the Vitis HLS user guide, AMD's UG1399. The pragmas have the syntax of release 2020.2, and asserts are
//! supported up to release 2021.1. This test has its own reading of the sources and shares no code with the compiler: a source
//! does not pass because the compiler accepts it.

mod pragmas;
mod rules;
mod snippets;
mod source;

use std::path::Path;

use source::{Finding, Sources};

/// A rule of the user guide.
struct Rule {
    name: &'static str,
    /// The section of the user guide that states it.
    section: &'static str,
    check: fn(&Sources) -> Vec<Finding>,
}

const RULES: &[Rule] = &[
    Rule {
        name: "pragma form",
        section: "UG1399 2020.2, HLS Pragmas: the syntax of each pragma; Using Constants with Pragmas",
        check: pragmas::forms,
    },
    Rule {
        name: "pragma place",
        section: "UG1399 2020.2, HLS Pragmas: `Place the pragma …` of each pragma",
        check: pragmas::places,
    },
    Rule { name: "types", section: "UG1399, Standard Types: exact-width integer types", check: rules::types },
    Rule { name: "recursion", section: "UG1399, Recursive Functions", check: rules::recursion },
    Rule { name: "pointers", section: "UG1399, Pointers: pointers to pointers", check: rules::pointers },
    Rule { name: "dynamic memory", section: "UG1399, Dynamic Memory Usage", check: rules::dynamic_memory },
    Rule {
        name: "system calls",
        section: "UG1399, System Calls; Unsupported C/C++ Constructs: the function contains the entire functionality",
        check: rules::system_calls,
    },
    Rule {
        name: "array lengths",
        section: "UG1399, Arrays on the Interface: arrays must be sized; Unsupported C/C++ Constructs: of a fixed size",
        check: rules::lengths,
    },
    Rule { name: "trip counts", section: "UG1399, Variable Loop Bounds", check: rules::trip_counts },
    Rule {
        name: "jumps",
        section: "UG1399, Unsupported C/C++ Constructs: unambiguous; no section names `goto`, and no source needs it",
        check: rules::jumps,
    },
    Rule {
        name: "words of C++",
        section: "ISO C++14, [lex.key]: a test bench in C++ includes the headers; no section of UG1399 lists them",
        check: rules::words,
    },
    Rule {
        name: "assertions",
        section: "UG1399 2021.1, Assertions: ranges of variables, with <assert.h>; later releases ignore them under -DNDEBUG",
        check: rules::assertions,
    },
    Rule {
        name: "top function",
        section: "UG1399, Functions Primer: the top-level function is not static; HLS Pragmas, interface: modes of arrays",
        check: rules::top,
    },
];

/// What violates the rules.
fn findings(sources: &Sources) -> Vec<(&'static Rule, Finding)> {
    RULES.iter().flat_map(|rule| (rule.check)(sources).into_iter().map(move |finding| (rule, finding))).collect()
}

#[test]
fn sources_keep_to_the_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hw/hls");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "c" || extension == "h")).collect();
    assert!(paths.len() > 10, "{paths:?}");
    let text =
        |path: &Path| std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let sources = Sources::new(paths.iter().map(|path| (name(path), text(path))));
    let found: Vec<String> = findings(&sources)
        .iter()
        .map(|(rule, one)| format!("{}:{}: {} ({}; {})", one.file, one.line, one.what, rule.name, rule.section))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_small_source_keeps_to_the_rules() {
    let sources = Sources::new([("good.c".to_owned(), snippets::GOOD.to_owned())]);
    let found: Vec<_> = findings(&sources).into_iter().map(|(rule, one)| (rule.name, one)).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn mutated_sources_are_refused() {
    for (what, from, to, rule) in snippets::MUTATIONS {
        assert_eq!(snippets::GOOD.matches(from).count(), 1, "{what}: {from}");
        let sources = Sources::new([("bad.c".to_owned(), snippets::GOOD.replace(from, to))]);
        let found: Vec<&str> = findings(&sources).iter().map(|(rule, _)| rule.name).collect();
        assert!(found.contains(rule), "{what} violates {found:?}, not {rule}");
    }
    // Each rule has a mutation that it finds.
    for rule in RULES {
        assert!(snippets::MUTATIONS.iter().any(|(.., name)| *name == rule.name), "no mutation violates {}", rule.name);
    }
}
