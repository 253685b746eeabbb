//! Random commands, and the corpus of the fuzz target, against the model.

use crate::{
    model::{BLOCKS, Checksum, Command, IDS, commands, run},
    support::*,
};
use proptest::{collection::vec, prelude::*, test_runner::TestRunner};
use std::{fs, path::Path, sync::Arc, thread};
use tokio::runtime::Builder;

fn command() -> impl Strategy<Value = Command> {
    let range = || (0..BLOCKS, 1..6u64).prop_map(|(lba, blocks)| (lba, blocks.min(BLOCKS - lba)));
    let declare = (0..BLOCKS, 0..IDS.len(), 1..1600u64, any::<bool>(), 0..4u8, 0..8u64);
    prop_oneof![
        4 => declare.prop_map(|(first, id, words, armed, stored, seed)| {
            let checksum = if seed < 4 { Checksum::Seed(seed) } else { Checksum::None };
            Command::Declare { first, id, size: words * 8, armed, stored: stored == 0, checksum }
        }),
        10 => (range(), 0..4u64).prop_map(|((lba, blocks), seed)| Command::Write { lba, blocks, seed }),
        1 => (0..BLOCKS).prop_map(|first| Command::WriteMeta { first }),
        1 => (range(), 0..4u8).prop_map(|((lba, blocks), meta)| Command::Zero { lba, blocks, meta: meta == 0 }),
        1 => (range(), any::<bool>()).prop_map(|((lba, blocks), meta)| Command::Deallocate { lba, blocks, meta }),
        1 => Just(Command::Restart),
    ]
}

/// Sequences at a time. Each command waits for other threads several times, so that one sequence leaves the CPUs idle.
const AT_A_TIME: u32 = 8;

#[test]
fn commands_do_what_the_model_does() {
    let cases = if evidence() { 20_000 } else { 152 };
    thread::scope(|scope| (0..AT_A_TIME).for_each(|_| drop(scope.spawn(|| sequences(cases / AT_A_TIME)))));
    println!("evidence: adapter model sequences {cases}");
}

fn sequences(cases: u32) {
    // What a command spawns runs on the thread that waits for it.
    let runtime = Arc::new(Builder::new_current_thread().enable_all().build().expect("a runtime"));
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&vec(command(), 1..40), |commands| {
        run(&commands, &runtime);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// The corpus of `fuzz/fuzz_targets/blockspace_commands.rs`, and a fixed set of mutations of it.
#[test]
fn the_corpus_does_what_the_model_does() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/blockspace_commands");
    let runtime = runtime();
    let mut entries: Vec<_> =
        fs::read_dir(directory).expect("the corpus").map(|entry| entry.expect("a file").path()).collect();
    entries.sort();
    assert!(entries.len() >= 5, "{entries:?}");
    let mut dice = Dice(77);
    for path in entries {
        let bytes = fs::read(&path).expect("a file");
        run(&commands(&bytes), &runtime);
        for _ in 0..8 {
            let mut mutated = bytes.clone();
            for _ in 0..1 + dice.below(4) {
                let at = dice.below(mutated.len() as u64) as usize;
                mutated[at] = dice.below(256) as u8;
            }
            run(&commands(&mutated), &runtime);
        }
    }
}
