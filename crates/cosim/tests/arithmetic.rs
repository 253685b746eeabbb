//! The arithmetic units against plain definitions: values, latencies, standstill, reset.

mod support;

use std::collections::VecDeque;

use ciphermill_cosim::Configuration;
use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::units::{Butterfly, ButterflyCtGs, Factors, ModAddSub, ModMul, Wing};
use ciphermill_math::{Modulus, goldilocks};
use support::{Source, counted, each, with_seeds};

fn mul_mod(x: u64, y: u64, modulus: u64) -> u64 {
    (u128::from(x) * u128::from(y) % u128::from(modulus)) as u64
}

fn add_mod(x: u64, y: u64, modulus: u64) -> u64 {
    ((u128::from(x) + u128::from(y)) % u128::from(modulus)) as u64
}

fn sub_mod(x: u64, y: u64, modulus: u64) -> u64 {
    ((u128::from(x) + u128::from(modulus) - u128::from(y)) % u128::from(modulus)) as u64
}

/// 1 to 2^bits - 1, the ends often.
fn a_modulus(source: &mut Source, bits: u32) -> u64 {
    1 + source.below(if bits == 64 { u64::MAX } else { (1 << bits) - 1 })
}

#[test]
fn sums_and_differences_are_modular() {
    each("mod_addsub", |configuration| {
        let bits = configuration.parameter("Width") as u32;
        let stages = configuration.stated("Stages").unwrap_or(0) as usize;
        with_seeds(|source| {
            let mut unit = ModAddSub::new(configuration, source.any() as u32);
            let mut expected = VecDeque::new();
            let mut last = None;
            let mut checked = 0;
            while checked < 40_000 {
                let modulus = a_modulus(source, bits);
                let (x, y) = (source.below(modulus), source.below(modulus));
                // Every sum that is just the modulus is zero: the paper's comparison gets it wrong.
                let y = if source.chance(1, 16) { (modulus - x) % modulus } else { y };
                let subtract = source.chance(1, 2);
                // Nothing stands still where there is no register.
                let enable = stages == 0 || !source.chance(1, 5);
                let shown = unit.step(x, y, modulus, subtract, enable);
                if !enable {
                    assert!(last.is_none_or(|last| last == shown), "{configuration}: changed while nothing moved");
                    continue;
                }
                last = Some(shown);
                let result = if subtract { sub_mod(x, y, modulus) } else { add_mod(x, y, modulus) };
                expected.push_back((result, x, y, modulus, subtract));
                // What is shown after an edge came with it where there are no registers, or one.
                if expected.len() >= stages.max(1) {
                    let (result, x, y, modulus, subtract) = expected.pop_front().expect("there is one");
                    assert_eq!(shown, result, "{configuration}: {x}, {y} mod {modulus}, subtract {subtract}");
                    checked += 1;
                }
            }
            counted(configuration, checked, "results");
        });
        record::cycles(configuration, Cycles { cycles: 1, latency: stages as u64, bound: 1 });
    });
}

/// Streams factors through a multiplier, standing still now and then, and checks each product as it is due.
fn check_multiplier(
    configuration: &'static Configuration,
    latency: u64,
    count: usize,
    factors: impl Fn(&mut Source) -> (Factors, u64),
) {
    with_seeds(|source| {
        let mut unit = ModMul::new(configuration, source.any() as u32);
        // What each enabled cycle must show: as many cycles old as the unit is long.
        let mut expected: VecDeque<(u64, u64, Factors)> = VecDeque::new();
        let mut enabled = 0u64;
        let mut checked = 0;
        let mut last = None;
        while checked < count {
            let enable = !source.chance(1, 5);
            let (given, product) = factors(source);
            let shown = unit.step(given, enable);
            if !enable {
                assert!(
                    last.is_none_or(|last| last == shown),
                    "{configuration}: the result changed while nothing moved"
                );
                continue;
            }
            last = Some(shown);
            enabled += 1;
            expected.push_back((enabled - 1 + latency, product, given));
            if let Some(&(due, product, given)) = expected.front()
                && due == enabled
            {
                assert_eq!(shown, product, "{configuration}: {given:?}");
                expected.pop_front();
                checked += 1;
            }
        }
        counted(configuration, checked, "results");
    });
    record::cycles(configuration, Cycles { cycles: 1, latency, bound: 1 });
}

#[test]
fn shoup_products_are_modular() {
    each("mod_mul_shoup", |configuration| {
        let width = configuration.parameter("Width") as u32;
        check_multiplier(configuration, configuration.parameter("Stages") as u64, 20_000, move |source| {
            // Up to and with 2^(Width - 1).
            let modulus = 1 + source.below(1 << (width - 1));
            let x = source.below(modulus);
            let y = source.below(1 << width);
            let x_shoup = ((u128::from(x) << width) / u128::from(modulus)) as u64;
            (Factors { x, x_shoup, y, modulus }, mul_mod(x, y, modulus))
        });
    });
}

#[test]
fn goldilocks_products_are_those_of_math() {
    each("mod_mul_goldilocks", |configuration| {
        check_multiplier(configuration, 6, 20_000, |source| {
            let (x, y) = (source.any(), source.any());
            let product = goldilocks::mul(x % goldilocks::MODULUS, y % goldilocks::MODULUS);
            (Factors { x, y, ..Factors::default() }, product)
        });
    });
}

#[test]
fn low_weight_products_are_montgomery_products() {
    each("mod_mul_lowham", |configuration| {
        let (high, low) = (configuration.parameter("HighBit"), configuration.parameter("LowBit"));
        let value = (1u64 << high) + (1 << low) + 1;
        let modulus = Modulus::new(value).expect("an odd number of at most 39 bits");
        let fold = configuration.stated("Fold").unwrap_or((high + 2) / 2);
        let inverse = modulus.inverse(modulus.pow(2, 2 * fold as u64)).expect("2 is a unit");
        check_multiplier(configuration, 6, 20_000, move |source| {
            let (x, y) = (source.below(value), source.below(value));
            (Factors { x, y, ..Factors::default() }, mul_mod(mul_mod(x, y, value), inverse, value))
        });
    });
}

#[test]
fn products_with_a_root_of_minus_one_need_no_multiplier() {
    each("mod_mul_root4", |configuration| {
        let parameter = |name| configuration.parameter(name) as u64;
        let modulus = Modulus::new((1 << parameter("HighBit")) + (1 << parameter("LowBit")) + 1).expect("of 35 bits");
        let value = modulus.value();
        let high = |name| configuration.stated(name).unwrap_or(0) as u64;
        let set = |low, above| (parameter(low) + (high(above) << 32)) % value;
        let digits = sub_mod(set("Plus", "PlusHigh"), set("Minus", "MinusHigh"), value);
        let folded = modulus.pow(2, parameter("Folds") * parameter("FoldBits"));
        let root = modulus.mul(digits, modulus.inverse(folded).expect("2 is a unit"));
        assert_eq!(modulus.mul(root, root), value - 1);
        check_multiplier(configuration, 3 + parameter("Folds"), 20_000, move |source| {
            let x = source.below(value);
            (Factors { x, ..Factors::default() }, mul_mod(x, root, value))
        });
    });
}

fn a_wing(source: &mut Source, width: u32) -> Wing {
    let modulus = 1 + source.below(1 << (width - 1));
    let w = source.below(modulus);
    let w_shoup = ((u128::from(w) << width) / u128::from(modulus)) as u64;
    Wing { x: source.below(modulus), y: source.below(1 << width), w, w_shoup, modulus }
}

fn of(wing: Wing) -> (u64, u64) {
    let Wing { x, y, w, modulus, .. } = wing;
    let product = mul_mod(w, y, modulus);
    (add_mod(x, product, modulus), sub_mod(x, product, modulus))
}

#[test]
fn butterflies_come_out_in_order_whatever_stands_still() {
    each("butterfly", |configuration| {
        let width = configuration.parameter("Width") as u32;
        let latency = (configuration.parameter("MulStages") + configuration.stated("AddStages").unwrap_or(1)) as u64;
        with_seeds(|source| {
            let mut unit = Butterfly::new(configuration, source.any() as u32);
            let mut inside: VecDeque<(u64, Wing)> = VecDeque::new();
            let (mut enabled, mut checked) = (0u64, 0);
            for _ in 0..30_000 {
                let enable = !source.chance(1, 6);
                let wing = source.chance(3, 4).then(|| a_wing(source, width));
                let shown = unit.step(wing, enable);
                if !enable {
                    continue;
                }
                enabled += 1;
                if let Some(wing) = wing {
                    inside.push_back((enabled - 1 + latency, wing));
                }
                let due = inside.front().is_some_and(|(due, _)| *due == enabled);
                assert_eq!(shown.is_some(), due, "{configuration}: a result in the wrong cycle");
                if let (Some(shown), true) = (shown, due) {
                    let (_, wing) = inside.pop_front().expect("just seen");
                    assert_eq!(shown, of(wing), "{configuration}: {wing:?}");
                    checked += 1;
                }
                if source.chance(1, 3_000) {
                    unit.reset();
                    inside.clear();
                }
            }
            counted(configuration, checked, "results");
        });
        record::cycles(configuration, Cycles { cycles: 1, latency, bound: 1 });
    });
}

#[test]
fn one_butterfly_is_cooley_tukeys_and_gentleman_sandes() {
    each("butterfly_ctgs", |configuration| {
        const LATENCY: u64 = 7;
        let is_goldilocks = configuration.parameter("Field") == 0;
        let halved = configuration.stated("HalveSum") == Some(1);
        let (value, unscale) = if is_goldilocks {
            (goldilocks::MODULUS, 1)
        } else {
            let (high, low) = (configuration.parameter("HighBit"), configuration.parameter("LowBit"));
            let modulus = Modulus::new((1 << high) + (1 << low) + 1).expect("a modulus of 35 bits");
            let unscale = modulus.inverse(modulus.pow(2, (high as u64 + 2) / 2 * 2)).expect("2 is a unit");
            (modulus.value(), unscale)
        };
        let half = value / 2 + 1;
        with_seeds(|source| {
            let mut unit = ButterflyCtGs::new(configuration, source.any() as u32);
            let mut checked = 0;
            for turn in 0..6 {
                let gs = turn % 2 == 1;
                let mut inside: VecDeque<(u64, [u64; 3])> = VecDeque::new();
                let mut enabled = 0;
                while enabled < 3_000 {
                    let enable = !source.chance(1, 6);
                    let wing = [(); 3].map(|()| source.below(value));
                    let shown = unit.step(gs, wing, enable);
                    if !enable {
                        continue;
                    }
                    enabled += 1;
                    inside.push_back((enabled - 1 + LATENCY, wing));
                    let Some(&(due, [x, y, w])) = inside.front() else { continue };
                    if due != enabled {
                        continue;
                    }
                    inside.pop_front();
                    let by_w = |factor| mul_mod(mul_mod(factor, w, value), unscale, value);
                    let expected = if gs {
                        let sum = add_mod(x, y, value);
                        (if halved { mul_mod(sum, half, value) } else { sum }, by_w(sub_mod(x, y, value)))
                    } else {
                        (add_mod(x, by_w(y), value), sub_mod(x, by_w(y), value))
                    };
                    assert_eq!(shown, expected, "{configuration}: x {x}, y {y}, w {w}, Gentleman-Sande {gs}");
                    checked += 1;
                }
            }
            counted(configuration, checked, "results");
        });
        record::cycles(configuration, Cycles { cycles: 1, latency: LATENCY, bound: 1 });
    });
}
