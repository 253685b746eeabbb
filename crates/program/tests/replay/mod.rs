//! Replay of a fuzzer's corpus, with mutations; shared by the crates that have fuzz targets.

use std::fs;
use std::path::{Path, PathBuf};

/// Mutations tried per seed.
const MUTATIONS: usize = 2_000;

/// SplitMix64: enough for a mutation's choices, and the same on every machine.
struct Choices(u64);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut seeds: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect();
    seeds.sort();
    seeds
}

/// Changes a few bytes, or cuts, repeats or splices a stretch.
fn mutate(data: &mut Vec<u8>, other: &[u8], choices: &mut Choices) {
    for _ in 0..=choices.below(4) {
        let at = choices.below(data.len() + 1);
        let length = choices.below(32).min(data.len() - at);
        match choices.below(6) {
            0 if at < data.len() => data[at] ^= 1 << choices.below(8),
            1 if at < data.len() => data[at] = [0, 1, 0x7f, 0x80, 0xff, b':', b',', b'\n'][choices.below(8)],
            2 => drop(data.drain(at..at + length)),
            3 => {
                let stretch = data[at..at + length].to_vec();
                data.splice(at..at, stretch);
            }
            4 => {
                let from = choices.below(other.len() + 1);
                let to = (from + choices.below(32)).min(other.len());
                data.splice(at..at, other[from..to].iter().copied());
            }
            _ => data.truncate(at),
        }
    }
}

/// Runs `target` over its corpus and the mutations. Both outcomes must occur, or the seeds test nothing.
pub(crate) fn replay(target: &str, check: fn(&[u8]) -> bool, accepted: &[&str]) {
    let seeds = corpus(target);
    let mut outcomes = [0_usize; 2];
    for (path, seed) in &seeds {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(check(seed), accepted.contains(&name), "{}", path.display());
    }
    for (number, (_, seed)) in seeds.iter().enumerate() {
        let mut choices = Choices(number as u64);
        for _ in 0..MUTATIONS {
            let mut data = seed.clone();
            let other = choices.below(seeds.len());
            mutate(&mut data, &seeds[other].1, &mut choices);
            outcomes[usize::from(check(&data))] += 1;
        }
    }
    assert!(outcomes.iter().all(|&count| count > 50), "{target}: {outcomes:?} rejected and accepted");
}
