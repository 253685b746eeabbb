//! Exponentiation through the registers, as a host does it: values, cycles that do not depend on secrets, refusals, clearing,
//! reset.

mod support;

use ciphermill_cosim::Configuration;
use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::units::mod_exp::{BusError, ModExp, ModExpError, registers};
use num_bigint::BigUint;
use support::{Source, counted, with_seeds};

/// A number below `bound`, its ends more often.
fn below(source: &mut Source, bound: &BigUint) -> BigUint {
    if source.chance(1, 8) {
        return BigUint::from(source.below(3)) % bound;
    }
    if source.chance(1, 8) {
        return bound - 1u32;
    }
    BigUint::new((0..bound.bits().div_ceil(32) + 2).map(|_| source.any() as u32).collect()) % bound
}

fn odd(source: &mut Source, bits: u32) -> BigUint {
    below(source, &(BigUint::from(1u32) << bits)) | BigUint::from(3u32)
}

fn power_of_two(bits: u32) -> BigUint {
    BigUint::from(1u32) << bits
}

/// From START to DONE: products, each as long as `mont_mul` takes without its last subtractions, and the cycles
/// between.
fn expected_cycles(configuration: &Configuration, exponent_bits: u64) -> u64 {
    let value = |name| configuration.parameter(name) as u64;
    let digits = (value("Bits") + 4).div_ceil(17 * value("Rows"));
    // Digits of the operand 5 cycles apart, 4 for the last quotient, 2 + 4 from the last reduction to the result.
    let product = 5 * digits + 4 + 6;
    let (products, around) = if value("Cores") == 1 {
        let window = value("Window");
        let windows = exponent_bits.div_ceil(window);
        // Powers 0 and 1, the others, the windows after the highest, out of Montgomery form; four cycles for the power of
        // the highest window, and where the table is short, what it takes to count the windows.
        ((1 << window) + (windows - 1) * (window + 1) + 1, 4 + windows.saturating_sub((product << window) + 1))
    } else {
        (exponent_bits + 2, 0)
    };
    // START is written in a cycle; four cycles take the modulus away, one more shows it.
    products * product + around + 6
}

fn each(test: impl Fn(&'static Configuration)) {
    support::each("mod_exp", test);
}

#[test]
fn powers_are_right_and_take_the_same_time_whatever_the_numbers() {
    support::each_at_once("mod_exp", |configuration| {
        let bits = configuration.parameter("Bits") as u32;
        with_seeds(|source| {
            let mut unit = ModExp::new(configuration, source.any() as u32);
            assert_eq!(unit.bits(), Ok(bits));
            let expected = expected_cycles(configuration, u64::from(bits));
            for round in 0..if bits > 256 { 4 } else { 30 } {
                let modulus = if round == 0 { power_of_two(bits) - 1u32 } else { odd(source, bits) };
                unit.load_modulus(&modulus).expect("odd and short enough");
                let base = below(source, &modulus);
                let exponent = match round {
                    0 => power_of_two(bits) - 1u32,
                    1 => BigUint::ZERO,
                    4 => BigUint::from(1u32),
                    5 => power_of_two(bits - 1),
                    _ => below(source, &power_of_two(bits)),
                };
                let (power, cycles) = unit.compute(&base, &modulus, &exponent, bits).expect("within range");
                assert_eq!(power, base.modpow(&exponent, &modulus), "{base}^{exponent} mod {modulus}");
                assert_eq!(cycles, expected, "{configuration}");
                if !matches!(round, 0 | 1 | 4 | 5) {
                    counted(configuration, 1, "powers");
                }
            }
            if bits == 1024 {
                assert!(expected <= 50_000, "{configuration}: {expected} cycles");
            }
            let bound = bound(configuration);
            record::cycles(configuration, Cycles { cycles: expected, latency: expected, bound });
        });
    });
}

/// Each squaring and each product by a digit on an array that is busy in every cycle.
fn bound(configuration: &Configuration) -> u64 {
    let value = |name| configuration.parameter(name) as u64;
    let slots = 2 * (value("Bits") + 4).div_ceil(17 * value("Rows"));
    slots * (value("Bits") + if value("Cores") == 1 { value("Bits").div_ceil(value("Window")) } else { 0 })
}

#[test]
fn short_exponents_take_less_time() {
    each(|configuration| {
        let bits = configuration.parameter("Bits") as u32;
        with_seeds(|source| {
            let mut unit = ModExp::new(configuration, source.any() as u32);
            let modulus = odd(source, bits);
            unit.load_modulus(&modulus).expect("odd and short enough");
            for exponent_bits in [1, 2, 4, 5, 6, 9, 10, 11, 64, 65, 1 + source.below(u64::from(bits) / 4) as u32] {
                let base = below(source, &modulus);
                let exponent = below(source, &power_of_two(exponent_bits));
                let (power, cycles) = unit.compute(&base, &modulus, &exponent, exponent_bits).expect("within range");
                assert_eq!(power, base.modpow(&exponent, &modulus), "{exponent_bits} bits");
                assert_eq!(cycles, expected_cycles(configuration, u64::from(exponent_bits)), "{exponent_bits} bits");
            }
            // Bits above those that are looked at change nothing.
            let base = below(source, &modulus);
            unit.compute(&base, &modulus, &BigUint::from(5u32), 3).expect("within range");
            unit.write(registers::EXPONENT, 0xffff_fffd).expect("not busy");
            unit.write(registers::CONTROL, registers::CONTROL_START).expect("not busy");
            unit.wait(100_000).expect("it ends");
            assert_eq!(unit.result(), Ok(base.modpow(&BigUint::from(5u32), &modulus)));
        });
    });
}

#[test]
fn what_a_host_may_not_do_is_refused_and_changes_nothing() {
    each(|configuration| {
        let bits = configuration.parameter("Bits") as u32;
        let words = bits / 32;
        with_seeds(|source| {
            let mut unit = ModExp::new(configuration, source.any() as u32);
            assert_eq!(unit.read(registers::ID), Ok(0x4d45_0001));
            let refused = |address, write| Err(BusError { address, write });

            // Numbers that go in do not come out.
            for window in [
                registers::MODULUS,
                registers::NHAT,
                registers::U,
                registers::RSQUARED,
                registers::BASE,
                registers::EXPONENT,
            ] {
                assert_eq!(unit.read(window), refused(window, false).map(|()| 0));
                assert_eq!(unit.write(window + 4 * words, 1), refused(window + 4 * words, true));
            }
            // What is only read; nothing there; not aligned; less than a word.
            for address in
                [registers::ID, registers::PARAMETERS, registers::STATUS, registers::CYCLES, registers::RESULT]
            {
                assert_eq!(unit.write(address, 1), refused(address, true));
            }
            for address in [0x1c, 0xffc, registers::RESULT + 4 * words, registers::MODULUS + 2, registers::CONTROL] {
                assert_eq!(unit.read(address), refused(address, false).map(|()| 0));
            }
            assert_eq!(unit.write_bytes(registers::INTERRUPT, 1, 0x3), refused(registers::INTERRUPT, true));
            assert_eq!(unit.read(registers::INTERRUPT), Ok(0));
            assert_eq!(unit.write(registers::INTERRUPT + 1, 1), refused(registers::INTERRUPT + 1, true));
            assert_eq!(unit.read(registers::INTERRUPT), Ok(0));

            // A start that cannot be: no modulus yet, none of the exponent's bits, too many.
            assert_eq!(unit.read(registers::EXPONENT_BITS), Ok(bits));
            unit.write(registers::INTERRUPT, registers::INTERRUPT_ENABLE).expect("always");
            for (modulus, exponent_bits) in [(0, bits), (2, bits), (3, 0), (3, bits + 1)] {
                unit.write(registers::MODULUS, modulus).expect("not busy");
                unit.write(registers::EXPONENT_BITS, exponent_bits).expect("not busy");
                assert!(!unit.interrupt());
                unit.write(registers::CONTROL, registers::CONTROL_START).expect("not busy");
                assert_eq!(unit.read(registers::STATUS), Ok(registers::STATUS_REFUSED));
                assert!(unit.interrupt());
                unit.clear().expect("not busy");
            }

            // While it computes: no writes, no result, and the result is what it would have been.
            let modulus = odd(source, bits);
            unit.load_modulus(&modulus).expect("odd and short enough");
            let (base, exponent) = (below(source, &modulus), below(source, &power_of_two(40)));
            unit.compute(&base, &modulus, &exponent, 40).expect("within range");
            unit.write(registers::CONTROL, registers::CONTROL_START).expect("not busy");
            for address in [registers::BASE, registers::MODULUS, registers::CONTROL, registers::EXPONENT_BITS] {
                assert_eq!(unit.write(address, 3), refused(address, true));
            }
            assert_eq!(unit.read(registers::STATUS), Ok(registers::STATUS_BUSY));
            assert_eq!(unit.result(), Ok(BigUint::ZERO));
            assert!(!unit.interrupt());
            unit.wait(100_000).expect("it ends");
            assert_eq!(unit.read(registers::STATUS), Ok(registers::STATUS_DONE));
            assert!(unit.interrupt());
            assert_eq!(unit.result(), Ok(base.modpow(&exponent, &modulus)));
            unit.write(registers::INTERRUPT, 0).expect("always");
            assert!(!unit.interrupt());
        });
    });
}

#[test]
fn the_driver_refuses_what_the_unit_cannot_check() {
    each(|configuration| {
        let bits = configuration.parameter("Bits") as u32;
        let mut unit = ModExp::new(configuration, 3);
        let number = |value: u32| BigUint::from(value);
        assert_eq!(unit.load_modulus(&number(10)), Err(ModExpError::EvenModulus));
        let long = power_of_two(bits) + 1u32;
        let bits_of_long = u64::from(bits) + 1;
        assert_eq!(unit.load_modulus(&long), Err(ModExpError::LongModulus { bits: bits_of_long, most: bits }));
        unit.load_modulus(&number(11)).expect("odd and short");
        assert_eq!(unit.compute(&number(11), &number(11), &number(1), 1), Err(ModExpError::LargeBase));
        for (exponent, exponent_bits) in [(0, 0), (4, 2), (1, bits + 1)] {
            let has = number(exponent).bits();
            let expected = Err(ModExpError::Exponent { bits: exponent_bits, most: bits, has });
            assert_eq!(unit.compute(&number(2), &number(11), &number(exponent), exponent_bits), expected);
        }
        assert_eq!(unit.compute(&number(2), &number(11), &number(10), 4).map(|(power, _)| power), Ok(number(1)));
    });
}

#[test]
fn clearing_leaves_nothing_of_the_numbers() {
    each(|configuration| {
        let bits = configuration.parameter("Bits") as u32;
        with_seeds(|source| {
            let mut unit = ModExp::new(configuration, source.any() as u32);
            let modulus = odd(source, bits);
            unit.load_modulus(&modulus).expect("odd and short enough");
            let (base, exponent) = (below(source, &modulus), below(source, &power_of_two(20)));
            unit.compute(&base, &modulus, &exponent, 20).expect("within range");
            unit.clear().expect("not busy");
            assert_eq!(unit.read(registers::STATUS), Ok(0));
            assert_eq!(unit.result(), Ok(BigUint::ZERO));
            // The modulus is gone too: there is nothing to start with.
            unit.write(registers::CONTROL, registers::CONTROL_START).expect("not busy");
            assert_eq!(unit.read(registers::STATUS), Ok(registers::STATUS_REFUSED));
            // The driver also reports it, and does not take the zeros for a result.
            assert!(matches!(unit.compute(&BigUint::ZERO, &modulus, &exponent, 20), Err(ModExpError::Refused)));
            // Nothing is left of the base: zero to the power of one.
            unit.load_modulus(&modulus).expect("odd and short enough");
            unit.write(registers::EXPONENT, 1).expect("not busy");
            unit.write(registers::EXPONENT_BITS, 7).expect("not busy");
            unit.write(registers::CONTROL, registers::CONTROL_START).expect("not busy");
            unit.wait(100_000).expect("it ends");
            assert_eq!(unit.result(), Ok(BigUint::ZERO), "the base is zero");
            unit.write(registers::EXPONENT, 0).expect("not busy");
            // Zero to the power of zero is one, where the modulus is above one.
            unit.load_modulus(&BigUint::from(3u32)).expect("odd");
            unit.write(registers::CONTROL, registers::CONTROL_START).expect("not busy");
            unit.wait(100_000).expect("it ends");
            assert_eq!(unit.result(), Ok(BigUint::from(1u32)), "base and exponent are zero");
        });
    });
}

#[test]
fn a_reset_in_the_middle_leaves_a_working_unit() {
    each(|configuration| {
        let bits = configuration.parameter("Bits") as u32;
        with_seeds(|source| {
            let mut unit = ModExp::new(configuration, source.any() as u32);
            for _ in 0..3 {
                let modulus = odd(source, bits);
                unit.load_modulus(&modulus).expect("odd and short enough");
                unit.write(registers::CONTROL, registers::CONTROL_START).expect("not busy");
                unit.idle(source.below(3_000));
                unit.reset();
                assert_eq!(unit.read(registers::STATUS), Ok(0));
                unit.load_modulus(&modulus).expect("odd and short enough");
                let (base, exponent) = (below(source, &modulus), below(source, &power_of_two(9)));
                let (power, _) = unit.compute(&base, &modulus, &exponent, 9).expect("within range");
                assert_eq!(power, base.modpow(&exponent, &modulus));
            }
        });
    });
}
