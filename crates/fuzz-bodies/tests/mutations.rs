//! Every target on mutated inputs: bits, bytes, lengths, and pieces of other inputs.
//!
//! `CIPHERMILL_MUTATIONS` sets the number of inputs of each target; `make evidence AREA=fuzz` takes 50,000 in all.

mod panics;

use ciphermill_fuzz_bodies::{TARGETS, Target};
use ciphermill_testing::fresh_seed;
use panics::panics_of;
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// Inputs of a target in an ordinary run.
const INPUTS: u32 = 60;
/// The longest time for one input. The slowest takes some milliseconds; only a hang reaches the limit.
const LIMIT: Duration = Duration::from_secs(5);
/// Values at which lengths, counts and signs go wrong.
const EDGES: [u64; 10] = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX];

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Changes `data` once; `other` is another input of the target.
fn mutate(data: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(data.len().max(1));
    if data.is_empty() {
        data.extend_from_slice(other);
        return;
    }
    match random.below(7) {
        0 => data[at] ^= 1 << random.below(8),
        1 => data[at] = random.next() as u8,
        2 => data.truncate(at),
        3 => {
            let len = (1 + random.below(16)).min(data.len() - at);
            data.drain(at..at + len);
        }
        4 => {
            let len = (1 + random.below(64)).min(data.len() - at);
            data.splice(at..at, data[at..at + len].to_vec());
        }
        5 => {
            let edge = EDGES[random.below(EDGES.len())].to_le_bytes();
            let len = [1, 2, 4, 8][random.below(4)].min(data.len() - at);
            data[at..at + len].copy_from_slice(&edge[..len]);
        }
        _ => {
            let from = random.below(other.len().max(1)).min(other.len());
            data.truncate(at);
            data.extend_from_slice(&other[from..]);
        }
    }
}

fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target.name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("an input")).collect()
}

/// The longest time that one of `inputs` mutated inputs took.
fn run(target: &Target, inputs: u32, random: &mut Random) -> Duration {
    let corpus = corpus(target);
    let mut longest = Duration::ZERO;
    for _ in 0..inputs {
        let mut data = corpus[random.below(corpus.len())].clone();
        for _ in 0..=random.below(6) {
            let other = &corpus[random.below(corpus.len())];
            mutate(&mut data, other, random);
        }
        let begun = Instant::now();
        let panics = panics_of(|| (target.body)(&data));
        let took = begun.elapsed();
        assert_eq!(panics, 0, "{}: panics (the messages are above) at the input {data:02x?}", target.name);
        assert!(took < LIMIT, "{}: {took:?} for the input {data:02x?}", target.name);
        longest = longest.max(took);
    }
    longest
}

#[test]
fn no_mutated_input_breaks_a_target_or_holds_it_up() {
    let inputs = std::env::var("CIPHERMILL_MUTATIONS").map_or(INPUTS, |text| text.parse().expect("a number of inputs"));
    let seed = fresh_seed("mutations");
    for (number, target) in TARGETS.iter().enumerate() {
        let longest = run(target, inputs, &mut Random(seed ^ number as u64));
        println!("{}: longest {} us", target.name, longest.as_micros());
    }
    println!("{} mutated inputs without a panic", inputs as usize * TARGETS.len());
}

#[test]
fn mutations_change_inputs_in_every_way() {
    let mut random = Random(1);
    let (original, other) = (vec![7u8; 40], vec![9u8; 20]);
    let mutated: Vec<Vec<u8>> = (0..2000)
        .map(|_| {
            let mut data = original.clone();
            mutate(&mut data, &other, &mut random);
            data
        })
        .collect();
    assert!(mutated.iter().any(|data| data.len() < 40) && mutated.iter().any(|data| data.len() > 40));
    assert!(mutated.iter().any(|data| data.ends_with(&[9])) && mutated.iter().any(|data| data.contains(&0xff)));
    assert!(mutated.iter().filter(|data| **data != original).count() > 1500);
}
