//! Random numbers for the tests: a fixed seed, and a fresh one that is printed. And how many of them.

use ciphermill_cosim::{Configuration, configurations};
use ciphermill_testing::{Need, not_run};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// Runs a test with the fixed seed and with a fresh one.
pub(crate) fn with_seeds(test: impl Fn(&mut Source)) {
    for seed in [0x6369_7068_6572_6d69, ciphermill_testing::fresh_seed("random frames")] {
        println!("seed {seed:#x}");
        test(&mut Source(ChaCha20Rng::seed_from_u64(seed)));
    }
}

/// Random numbers with the corners of their range more often than chance has them.
pub(crate) struct Source(ChaCha20Rng);

impl Source {
    /// The numbers of one seed.
    #[allow(dead_code, reason = "most tests take several seeds")]
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(ChaCha20Rng::seed_from_u64(seed))
    }

    /// A number below `bound`: one in eight is a corner.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let kind = self.0.next_u32();
        match kind % 32 {
            0 => 0,
            1 => bound - 1,
            2 => 1 % bound,
            3 => bound / 2,
            _ => ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64,
        }
    }

    /// Any 64-bit number: one in eight is a corner.
    #[allow(dead_code, reason = "most tests have a modulus")]
    pub(crate) fn any(&mut self) -> u64 {
        match self.0.next_u32() % 32 {
            0 => 0,
            1 => u64::MAX,
            2 => 1,
            3 => 1 << 63,
            _ => self.0.next_u64(),
        }
    }

    /// True `numerator` times in `denominator`.
    pub(crate) fn chance(&mut self, numerator: u32, denominator: u32) -> bool {
        self.0.next_u32() % denominator < numerator
    }
}

/// Runs a test on every configuration of a unit that was built: at least one, unless the build was asked for certain units only.
pub(crate) fn each(unit: &str, test: impl Fn(&'static Configuration)) {
    for configuration in built(unit) {
        println!("{configuration}");
        test(configuration);
    }
}

/// As [`each`], on all at once: for a test that takes a minute and more.
#[allow(dead_code, reason = "few tests take so long")]
pub(crate) fn each_at_once(unit: &str, test: impl Fn(&'static Configuration) + Sync) {
    std::thread::scope(|scope| {
        for configuration in built(unit) {
            let test = &test;
            scope.spawn(move || {
                println!("{configuration}");
                test(configuration);
            });
        }
    });
}

fn built(unit: &str) -> Vec<&'static Configuration> {
    let built: Vec<_> = configurations(unit).collect();
    assert!(!built.is_empty() || some_units_only(), "no configuration of {unit} was built");
    if built.is_empty() {
        not_run(Need::Rtl, format_args!("{unit}: CIPHERMILL_HW leaves it out"));
    }
    built
}

/// A built configuration of a unit for a value of a parameter: it exists, unless the build was asked for certain units only.
#[allow(dead_code, reason = "few tests need one size")]
pub(crate) fn with(unit: &str, parameter: &str, value: i64) -> Option<&'static Configuration> {
    let found = configurations(unit).find(|configuration| configuration.parameter(parameter) == value);
    assert!(found.is_some() || some_units_only(), "no configuration of {unit} with {parameter} = {value} was built");
    if found.is_none() {
        not_run(Need::Rtl, format_args!("{unit} with {parameter} = {value}: CIPHERMILL_HW leaves it out"));
    }
    found
}

fn some_units_only() -> bool {
    !matches!(option_env!("CIPHERMILL_HW"), None | Some("" | "quick" | "all"))
}

/// How many random frames one of `runs` runs takes: `usual`, or its share of `CIPHERMILL_HW_FRAMES`, which `make evidence` sets.
#[allow(dead_code, reason = "not every unit has frames")]
pub(crate) fn frames(usual: usize, runs: usize) -> usize {
    let all = std::env::var("CIPHERMILL_HW_FRAMES").map_or(0, |number| {
        number.parse::<usize>().unwrap_or_else(|_| panic!("CIPHERMILL_HW_FRAMES is no number: {number}"))
    });
    usual.max(all.div_ceil(runs))
}

/// Says how many random things of a kind were checked; `make evidence` adds these up.
pub(crate) fn counted(configuration: &Configuration, number: usize, things: &str) {
    println!("counted: {configuration} {number} random {things}");
}
