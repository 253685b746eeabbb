//! Every target on every committed input, and no target missing.

mod panics;

use ciphermill_device::storage::{DatabaseError, guarded};
use ciphermill_fuzz_bodies::TARGETS;
use panics::panics_of;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    thread,
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
            let panics = panics_of(|| (target.body)(&data));
            if panics > 0 || begun.elapsed() > LIMIT {
                let (name, took) = (target.name, begun.elapsed());
                failed.push(format!("{name}: number of panics {panics}, time {took:?}, input {}", input.display()));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A body's own threads and tasks count too.
#[test]
fn panics_of_every_thread_are_counted() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
    let in_thread = || assert!(thread::spawn(|| panic!("in a thread")).join().is_err());
    let in_task = || {
        let task = runtime.spawn(async { panic!("in a task") });
        // The panic has happened, and no caller joins the task.
        while !task.is_finished() {
            thread::yield_now();
        }
    };
    assert_eq!(panics_of(in_thread), 1);
    assert_eq!(panics_of(in_task), 1);
    assert_eq!(panics_of(|| panic!("in the body")), 1);
    assert_eq!(panics_of(|| [in_thread, in_thread].into_iter().for_each(|run| run())), 2);
    assert_eq!(panics_of(|| ()), 0, "counted once");
    let on_purpose = || guarded("read", || -> Result<(), DatabaseError> { panic!("caught on purpose") });
    assert_eq!(panics_of(|| assert!(on_purpose().is_err())), 0);
    assert_eq!(panics_of(|| assert!(thread::spawn(on_purpose).join().is_ok_and(|result| result.is_err()))), 0);
}
