//! Every target on every committed input, and no target missing.

use ciphermill_fuzz_bodies::TARGETS;
use std::{
    collections::BTreeSet,
    fs,
    panic::catch_unwind,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// libFuzzer's own limit for one input; see scripts/fuzz.sh.
const LIMIT: Duration = Duration::from_secs(20);

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Names in a folder of `fuzz/`, without the ending.
fn names(folder: &str, ending: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(fuzz().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("a name in UTF-8");
    entries.map(|entry| name(entry.expect("an entry"))).map(|name| name.trim_end_matches(ending).to_owned()).collect()
}

#[test]
fn no_target_is_missing() {
    let expected: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(expected.len(), TARGETS.len(), "a name stands twice");
    assert_eq!(names("fuzz_targets", ".rs"), expected, "files in fuzz/fuzz_targets");
    assert_eq!(names("corpus", ""), expected, "folders in fuzz/corpus");
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("fuzz/Cargo.toml");
    let programs = manifest.split("[[bin]]").skip(1).filter_map(|section| section.split('"').nth(1));
    assert_eq!(programs.map(str::to_owned).collect::<BTreeSet<_>>(), expected, "programs in fuzz/Cargo.toml");
    for target in TARGETS {
        let file = fuzz().join("fuzz_targets").join(target.name).with_extension("rs");
        let text = fs::read_to_string(&file).expect("the file of a target");
        assert!(text.contains(&format!("ciphermill_fuzz_bodies::{}(data)", target.name)), "{}", file.display());
    }
}

#[test]
fn every_target_bears_its_committed_inputs() {
    let mut failed = Vec::new();
    for target in TARGETS {
        let mut inputs: Vec<_> = fs::read_dir(fuzz().join("corpus").join(target.name))
            .expect("a folder of inputs")
            .map(|entry| entry.expect("an input").path())
            .collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "{} has no inputs", target.name);
        for input in inputs {
            let data = fs::read(&input).expect("an input");
            let begun = Instant::now();
            let outcome = catch_unwind(|| (target.body)(&data));
            if outcome.is_err() || begun.elapsed() > LIMIT {
                failed.push(format!("{}: {:?} after {:?}", input.display(), outcome.is_ok(), begun.elapsed()));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
