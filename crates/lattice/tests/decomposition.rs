//! Gadget decomposition against its definition.

use ciphermill_lattice::gadget::{DecompositionError, ModularDecomposer, SignedDecomposer};
use ciphermill_lattice::{
    Csprng, DecompositionBaseLog as Base, DecompositionLevelCount as Levels, SecretSeed, Torus, sampler,
};
use ciphermill_math::Isa;
use ciphermill_math::goldilocks::MODULUS as P;
use proptest::prelude::*;

/// Every base and level count that fits `bits`.
fn shapes(bits: usize) -> impl Strategy<Value = (usize, usize)> {
    (1..=bits.min(32)).prop_flat_map(move |b| (Just(b), 1..=bits / b))
}

/// Digits by the textbook: round, then carry from the least significant digit up.
fn textbook(x: u128, modulus: u128, base_log: usize, levels: usize) -> Vec<i64> {
    let (b, used) = (1i128 << base_log, base_log * levels);
    let mut t = (((x << used) + modulus / 2) / modulus) as i128;
    let mut digits = vec![0; levels];
    for digit in digits.iter_mut().rev() {
        let mut d = t.rem_euclid(b);
        if d >= b / 2 {
            d -= b;
        }
        *digit = d as i64;
        t = (t - d) / b;
    }
    digits
}

/// The distance of `a` and `b` modulo `modulus`.
fn distance(a: u128, b: u128, modulus: u128) -> u128 {
    let d = (a + modulus - b) % modulus;
    d.min(modulus - d)
}

fn check_torus<T: Torus>(x: T, base_log: usize, levels: usize) -> Result<(), TestCaseError> {
    let decomposer = SignedDecomposer::<T>::new(Base(base_log), Levels(levels)).unwrap();
    let (q, used) = (1u128 << T::BITS, (base_log * levels) as u32);
    let integer = u128::from(x.to_u64_msb() >> (64 - T::BITS));
    let digits: Vec<i64> = decomposer.decompose(x).collect();
    prop_assert_eq!(&digits, &textbook(integer, q, base_log, levels));
    for (level, digit) in (1..).zip(&digits) {
        prop_assert_eq!(decomposer.digit(x, level), *digit);
    }
    let closest = decomposer.closest_representable(x);
    prop_assert_eq!(decomposer.recompose(digits), closest);
    let closest = u128::from(closest.to_u64_msb() >> (64 - T::BITS));
    prop_assert!(distance(integer, closest, q) <= (q >> used) / 2);
    prop_assert_eq!(closest % (q >> used), 0);
    Ok(())
}

fn check_modular(x: u64, base_log: usize, levels: usize) -> Result<(), TestCaseError> {
    let decomposer = ModularDecomposer::new(Base(base_log), Levels(levels)).unwrap();
    let p = u128::from(P);
    let digits = textbook(x.into(), p, base_log, levels);
    let mut sum = 0i128;
    for (level, digit) in (1..).zip(digits) {
        prop_assert_eq!(decomposer.digit(x, level), digit);
        let gadget = decomposer.gadget(level);
        // ⌊p/B^j⌉ by its definition: 2·|g·B^j − p| ≤ B^j.
        let scaled = u128::from(gadget) << (base_log * level);
        prop_assert!(2 * scaled.abs_diff(p) <= 1 << (base_log * level));
        sum += i128::from(digit) * i128::from(gadget);
    }
    let bound = (p >> (base_log * levels + 1)) + 1 + ((levels as u128) << base_log).div_ceil(4);
    let error = distance(x.into(), sum.rem_euclid(p as i128) as u128, p);
    prop_assert!(error <= bound, "error {} beyond {}", error, bound);
    Ok(())
}

/// Residues where the switch to the torus has its corners.
fn residue() -> impl Strategy<Value = u64> {
    let multiple = (0..P >> 32, -2i64..=2).prop_map(|(hi, d)| (hi << 32).saturating_add_signed(d).min(P - 1));
    prop_oneof![0..P, multiple, 0u64..4, P - 4..P]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn torus_64(x: u64, (b, l) in shapes(64)) {
        check_torus(x, b, l)?;
    }

    #[test]
    fn torus_32(x: u32, (b, l) in shapes(32)) {
        check_torus(x, b, l)?;
    }

    #[test]
    fn modular(x in residue(), (b, l) in shapes(63)) {
        check_modular(x, b, l)?;
    }

    /// Around the halves of the rounding, where the switch must choose the same side as exact arithmetic.
    #[test]
    fn modular_near_halves((b, l) in shapes(63), t: u64, d in -2i64..=2) {
        let used = b * l;
        let odd = (u128::from(t) << 1 | 1) & ((1 << (used + 1)) - 1);
        let half = ((odd * u128::from(P)) >> (used + 1)) as u64;
        check_modular(half.saturating_add_signed(d).min(P - 1), b, l)?;
    }
}

#[test]
fn corners() {
    for (b, l) in [(1, 1), (1, 63), (9, 5), (31, 2), (32, 1), (7, 9)] {
        for x in [0, 1, P / 2, P / 2 + 1, P - 1, u64::from(u32::MAX), 1 << 32, (1 << 32) + 1, P - (1 << 32)] {
            check_modular(x, b, l).unwrap();
        }
        for x in [0, 1, 1 << 63, (1 << 63) - 1, u64::MAX] {
            check_torus(x, b, l).unwrap();
        }
    }
    for x in [0, 1, u64::MAX, 1 << 63] {
        check_torus(x, 32, 2).unwrap();
        check_torus(x, 1, 64).unwrap();
        check_torus(x as u32, 32, 1).unwrap();
        check_torus(x as u32, 8, 4).unwrap();
    }
}

/// At full size, on every path, and at a length that no vector width divides.
#[test]
fn filled_digits_equal_single_ones() {
    let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([3; 32]), 0);
    let mut wide = vec![0u64; 16384 + 13];
    let mut narrow = vec![0u32; wide.len()];
    sampler::uniform(&mut rng, &mut wide);
    sampler::uniform(&mut rng, &mut narrow);
    let residues: Vec<u64> = wide.iter().map(|x| x % P).collect();
    let wide_decomposer = SignedDecomposer::<u64>::new(Base(9), Levels(5)).unwrap();
    let narrow_decomposer = SignedDecomposer::<u32>::new(Base(9), Levels(3)).unwrap();
    let modular_decomposer = ModularDecomposer::new(Base(9), Levels(5)).unwrap();
    let mut digits = vec![0i64; wide.len()];
    let mut residue_digits = vec![0u64; wide.len()];
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        for level in 1..=5 {
            wide_decomposer.fill_digits(isa, &wide, level, &mut digits);
            assert!(wide.iter().zip(&digits).all(|(x, d)| wide_decomposer.digit(*x, level) == *d), "{isa}");
            modular_decomposer.fill_digits(isa, &residues, level, &mut residue_digits);
            for (x, d) in residues.iter().zip(&residue_digits) {
                let expected = i128::from(modular_decomposer.digit(*x, level)).rem_euclid(i128::from(P));
                assert_eq!(i128::from(*d), expected, "{isa}");
            }
        }
        for level in 1..=3 {
            narrow_decomposer.fill_digits(isa, &narrow, level, &mut digits);
            assert!(narrow.iter().zip(&digits).all(|(x, d)| narrow_decomposer.digit(*x, level) == *d), "{isa}");
        }
    }
}

/// 2^20 digits of uniform elements: mean and second moment within 5 standard errors of the documented figures.
#[test]
fn digit_moments() {
    let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([4; 32]), 0);
    let mut xs = vec![0u64; 1 << 20];
    sampler::uniform(&mut rng, &mut xs);
    let decomposer = SignedDecomposer::<u64>::new(Base(9), Levels(5)).unwrap();
    let (b2, n) = (512f64 * 512.0, xs.len() as f64);
    for level in 1..=5 {
        let digits = || xs.iter().map(|x| decomposer.digit(*x, level) as f64);
        let mean = digits().sum::<f64>() / n;
        let second = digits().map(|d| d * d).sum::<f64>() / n;
        assert!((mean + 0.5).abs() < 5.0 * (b2 / 12.0 / n).sqrt(), "level {level}: mean {mean}");
        // The variance of d² of a uniform digit is about B⁴/180.
        assert!((second - (b2 + 2.0) / 12.0).abs() < 5.0 * (b2 * b2 / 180.0 / n).sqrt(), "level {level}: {second}");
    }
}

#[test]
fn refusals_name_the_bound() {
    let new = |b, l| SignedDecomposer::<u32>::new(Base(b), Levels(l)).map(drop);
    assert_eq!(new(0, 1), Err(DecompositionError::BaseLog { given: 0, max: 32 }));
    assert_eq!(new(33, 1), Err(DecompositionError::BaseLog { given: 33, max: 32 }));
    assert_eq!(new(9, 0), Err(DecompositionError::NoLevel));
    // The paper's decomposition cannot exist on 32 bits.
    assert_eq!(new(9, 5), Err(DecompositionError::TooManyBits { base_log: 9, levels: 5, bits: 32 }));
    assert!(new(9, usize::MAX).is_err());
    assert!(
        ModularDecomposer::new(Base(32), Levels(2)).is_err() && ModularDecomposer::new(Base(21), Levels(3)).is_ok()
    );
}
