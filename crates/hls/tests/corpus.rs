//! Replays the fuzzer's corpus and, from its seeds, a fixed set of mutations that keep to words and lines of C.

mod invariants;

use std::path::Path;
use std::time::{Duration, Instant};

use invariants::hls_compile;

/// Mutations of the whole corpus.
const MUTATIONS: usize = 1500;
/// Most time for one input.
const LIMIT: Duration = Duration::from_secs(20);
/// Seeds that do not compile.
const REFUSED: [&str; 3] = ["pointer.c", "recursion.c", "while.c"];

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/hls_compile");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut seeds: Vec<_> = entries
        .map(|entry| entry.expect("an input").path())
        .map(|path| {
            (path.file_name().expect("a name").to_string_lossy().into_owned(), std::fs::read(&path).expect("it"))
        })
        .collect();
    seeds.sort();
    seeds
}

fn random(seed: &mut u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 11) as usize
}

/// Changes some words: another one of the same or another source, a number, an operator, or none.
fn mutated(text: &[u8], other: &[u8], seed: &mut u64) -> Vec<u8> {
    let words = |text: &[u8]| -> Vec<Vec<u8>> {
        text.chunk_by(|a, b| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric()).map(<[u8]>::to_vec).collect()
    };
    let (mut new, others) = (words(text), words(other));
    let extra: [&[u8]; 12] =
        [b"0", b"4194304", b"18446744073709551615", b"(", b"}", b"%", b"<<", b"*", b"?", b"\"", b"\x1b", b"unroll"];
    for _ in 0..=random(seed) % 3 {
        let at = random(seed) % new.len();
        match random(seed) % 5 {
            0 => new[at] = others[random(seed) % others.len()].clone(),
            1 => new[at] = extra[random(seed) % extra.len()].to_vec(),
            2 => new[at].clear(),
            // Another number keeps most sources in the subset.
            3 => {
                let digit = (random(seed) % 17).to_string().into_bytes();
                let numbers: Vec<usize> =
                    (0..new.len()).filter(|&at| new[at].first().is_some_and(u8::is_ascii_digit)).collect();
                if !numbers.is_empty() {
                    new[numbers[random(seed) % numbers.len()]] = digit;
                }
            }
            _ => {
                let from = random(seed) % new.len();
                let stretch = new[from..(from + random(seed) % 40).min(new.len())].to_vec();
                new.splice(at..at, stretch);
            }
        }
    }
    new.concat()
}

#[test]
fn seeds_compile_or_are_refused() {
    for (name, text) in corpus() {
        assert_eq!(hls_compile(&text), !REFUSED.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn mutated_seeds_end_in_time_and_without_a_panic() {
    let seeds = corpus();
    let (mut seed, mut outcomes, mut slowest) = (1, [0_usize; 2], Duration::ZERO);
    for number in 0..MUTATIONS {
        let other = &seeds[random(&mut seed) % seeds.len()].1;
        let text = mutated(&seeds[number % seeds.len()].1, other, &mut seed);
        let begun = Instant::now();
        let result = std::panic::catch_unwind(|| hls_compile(&text));
        let Ok(compiled) = result else { panic!("a panic with this source:\n{}", String::from_utf8_lossy(&text)) };
        outcomes[usize::from(compiled)] += 1;
        slowest = slowest.max(begun.elapsed());
        assert!(begun.elapsed() < LIMIT, "{:?} with this source:\n{}", begun.elapsed(), String::from_utf8_lossy(&text));
    }
    println!("{} refused, {} compiled, the slowest in {slowest:?}", outcomes[0], outcomes[1]);
    assert!(outcomes.iter().all(|count| *count > MUTATIONS / 50), "{outcomes:?}");
}
