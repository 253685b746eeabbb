//! Tests whether the time of exponentiations depends on secrets, by the method of dudect (Reparaz, Balasch,
//! Verbauwhede, "Dude, is my code constant time?", 2017). Two classes of secrets are interleaved at random, and Welch's
//! t-test compares the times, whole and cropped at several percentiles. |t| above 4.5 counts as a leak. The run
//! continues until the result is clear or the samples are used up.
//!
//! cargo run --release -p ciphermill-evidence --example bigint-leakage -- [--samples N] [--bits B] [--path NAME] [--ring n|n2]
//!
//! `--ring n2` takes Z/n² through n, in which Paillier works, with a modulus n² of B bits.
//!
//! It is not a test: it needs a quiet machine, and it can only ever show a leak, not the absence of one. A control
//! whose time does depend on the secret comes first; it has to be found.

use std::process::ExitCode;
use std::time::Instant;

use ciphermill_bigint::{Exponents, IntegerBatch, OddModulus, Path, limbs};

/// The threshold of the method's authors.
const THRESHOLD: f64 = 4.5;
/// Percentiles above which times are left out, in addition to the whole sample: interrupts lie in the upper tail.
const CROPS: [f64; 6] = [0.5, 0.7, 0.8, 0.9, 0.95, 0.99];

struct Settings {
    samples: usize,
    bits: u32,
    path: Path,
    square: bool,
}

fn main() -> ExitCode {
    let settings = match Settings::read(std::env::args().skip(1)) {
        Ok(settings) => settings,
        Err(message) => {
            eprintln!(
                "{message}\nusage: leakage [--samples N] [--bits B] [--path portable|adx|ifma-single|ifma] [--ring n|n2]"
            );
            return ExitCode::from(2);
        }
    };
    let Settings { samples, bits, path, square } = settings;
    let name = if square { "Z/n² through n" } else { "Z/N" };
    println!("{name}, {bits} bits, path {path}, {samples} times per class, seed from the clock");
    let mut numbers = Numbers(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64),
    );
    let ring = if square {
        OddModulus::square_of(&limbs::to_uint(&numbers.modulus(bits / 2)), path)
    } else {
        OddModulus::new(&limbs::to_uint(&numbers.modulus(bits)), path)
    };
    let ring = match ring {
        Ok(ring) => ring,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let found = [
        ("control: the exponent's length", control(&ring, samples.min(2000), &mut numbers)),
        ("exponent: few bits set, or random", exponents(&ring, samples, &mut numbers)),
        ("base: 1, or random", bases(&ring, samples, &mut numbers)),
        ("exponent of a fixed base: few bits set, or random", fixed_base(&ring, samples, &mut numbers)),
        ("value that enters and leaves: N − 1, or random", passage(&ring, samples, &mut numbers)),
    ];
    println!("\n{:<52} {:>9}  at most", "secret", "|t|");
    for (name, t) in &found {
        println!("{name:<52} {t:>9.2}  {}", if *t > THRESHOLD { "LEAK" } else { "no leak seen" });
    }
    let right = found[0].1 > THRESHOLD && found[1..].iter().all(|(_, t)| *t <= THRESHOLD);
    if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Settings {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut settings = Settings { samples: 20_000, bits: 1024, path: Path::current(), square: false };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            let number = || value.parse::<u32>().map_err(|error| format!("{name} {value}: {error}"));
            match name.as_str() {
                "--samples" => settings.samples = number()? as usize,
                "--bits" => settings.bits = number()?,
                "--path" => {
                    settings.path = Path::ALL
                        .into_iter()
                        .find(|path| path.name() == value)
                        .ok_or_else(|| format!("unknown path {value}"))?;
                }
                "--ring" if value == "n" || value == "n2" => settings.square = value == "n2",
                _ => return Err(format!("unknown option {name} {value}")),
            }
        }
        Ok(settings)
    }
}

/// One group of exponents: all of the class that `random` names.
fn secrets(ring: &OddModulus, random: bool, numbers: &mut Numbers) -> IntegerBatch {
    let mut batch = numbers.batch(ring.lanes(), ring.bits());
    if !random {
        // The highest bit and the lowest, so that both classes have the same length.
        let width = batch.limbs();
        batch.words_mut().fill(0);
        for row in 0..batch.len() {
            batch.row_mut(row)[0] = 1;
            batch.row_mut(row)[width - 1] = 1 << ((ring.bits() - 1) % 64);
        }
    }
    batch
}

fn control(ring: &OddModulus, samples: usize, numbers: &mut Numbers) -> f64 {
    let base = ring.enter(&numbers.batch(ring.lanes(), ring.bits())).expect("as wide as the modulus");
    measure("control", samples, numbers, |random, numbers| {
        // One class has one window fewer.
        let bits = if random { 64 } else { 58 };
        let exponents = Exponents::each(numbers.batch(ring.lanes(), bits), bits).expect("of that width");
        let base = &base;
        move || drop(ring.pow(base, &exponents))
    })
}

fn exponents(ring: &OddModulus, samples: usize, numbers: &mut Numbers) -> f64 {
    let base = ring.enter(&numbers.batch(ring.lanes(), ring.bits())).expect("as wide as the modulus");
    measure("exponents", samples, numbers, |random, numbers| {
        let exponents = Exponents::each(secrets(ring, random, numbers), ring.bits()).expect("of that width");
        let base = &base;
        move || drop(ring.pow(base, &exponents))
    })
}

fn bases(ring: &OddModulus, samples: usize, numbers: &mut Numbers) -> f64 {
    let exponents = Exponents::each(numbers.batch(ring.lanes(), ring.bits()), ring.bits()).expect("of that width");
    measure("bases", samples, numbers, |random, numbers| {
        let mut base = numbers.batch(ring.lanes(), ring.bits());
        if !random {
            base.words_mut().fill(0);
            (0..base.len()).for_each(|row| base.row_mut(row)[0] = 1);
        }
        let base = ring.enter(&base).expect("as wide as the modulus");
        let exponents = &exponents;
        move || drop(ring.pow(&base, exponents))
    })
}

fn fixed_base(ring: &OddModulus, samples: usize, numbers: &mut Numbers) -> f64 {
    let base = ring.enter(&numbers.batch(1, ring.bits())).expect("as wide as the modulus");
    let base = ring.fixed_base(&base, ring.bits());
    measure("fixed base", samples, numbers, |random, numbers| {
        let exponents = secrets(ring, random, numbers);
        let base = &base;
        move || drop(ring.pow_fixed(base, &exponents))
    })
}

/// The final subtractions of a reduction happen for one class and, in most rings, not for the other.
fn passage(ring: &OddModulus, samples: usize, numbers: &mut Numbers) -> f64 {
    let mut greatest = numbers.batch(ring.lanes(), ring.bits());
    for row in 0..greatest.len() {
        greatest.row_mut(row).copy_from_slice(ring.value());
        greatest.row_mut(row)[0] -= 1;
    }
    measure("passage", samples, numbers, |random, numbers| {
        // The same work for both classes, as what is timed is short: what is not taken is touched all the same.
        let drawn = numbers.batch(ring.lanes(), ring.bits());
        let mask = u64::from(random).wrapping_neg();
        let words = drawn.words().iter().zip(greatest.words()).map(|(a, b)| (a & mask) | (b & !mask)).collect();
        let values = IntegerBatch::from_words(drawn.limbs(), words);
        move || drop(ring.leave(&ring.enter(&values).expect("as wide as the modulus")))
    })
}

/// The greatest |t| over all crops. `set_up` makes the work of one sample for a class; only the work is timed.
fn measure<W: FnOnce()>(
    name: &str,
    samples: usize,
    numbers: &mut Numbers,
    mut set_up: impl FnMut(bool, &mut Numbers) -> W,
) -> f64 {
    let mut times = [Vec::with_capacity(samples), Vec::with_capacity(samples)];
    // The first runs find caches and clock cold.
    for _ in 0..20 {
        set_up(true, numbers)();
    }
    while times.iter().any(|class| class.len() < samples) {
        let class = (numbers.word() >> 40 & 1) as usize;
        let work = set_up(class == 1, numbers);
        let start = Instant::now();
        work();
        let nanoseconds = start.elapsed().as_nanos() as f64;
        if times[class].len() < samples {
            times[class].push(nanoseconds);
        }
    }
    let mut sorted: Vec<f64> = times.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let limits = CROPS.iter().map(|p| sorted[(sorted.len() as f64 * p) as usize]).chain([f64::INFINITY]);
    let worst = limits
        .map(|limit| {
            let [a, b] = [0, 1].map(|class| Moments::of(times[class].iter().copied().filter(|time| *time <= limit)));
            a.welch(&b).abs()
        })
        .fold(0.0, f64::max);
    println!("  {name}: median {:.1} µs, greatest |t| {worst:.2}", sorted[sorted.len() / 2] / 1000.0);
    worst
}

struct Moments {
    count: f64,
    mean: f64,
    variance: f64,
}

impl Moments {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Self { count, mean, variance }
    }

    fn welch(&self, other: &Self) -> f64 {
        (self.mean - other.mean) / (self.variance / self.count + other.variance / other.count).sqrt()
    }
}

#[path = "../../bigint/tests/support/numbers.rs"]
mod numbers;

use numbers::Numbers;
