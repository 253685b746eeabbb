//! The seam for accelerators, on the engine of this CPU, and the refusals of the rings.

use ciphermill_bigint::reference::big;
use ciphermill_bigint::{
    BigIntError, CpuEngine, EngineError, EngineModulus, Exponents, IntegerBatch, MAX_EXPONENT_BITS, ModExpEngine,
    OddModulus, Path, limbs, reference,
};
use ciphermill_testing::available;
use num_bigint::BigUint;

/// 2^bits − 105, or its odd part.
fn modulus(bits: u32) -> Vec<u64> {
    let mut n = vec![u64::MAX; limbs::limbs_for(bits)];
    n[0] -= 104;
    n
}

fn engines() -> impl Iterator<Item = CpuEngine> {
    let paths = available(Path::ALL, |path| path.is_available());
    paths.into_iter().map(|path| CpuEngine::new(path).expect("an available path"))
}

fn values(limbs: usize, count: usize, seed: u64) -> IntegerBatch {
    let words = (1..=(limbs * count) as u64).map(|i| (i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    IntegerBatch::from_words(limbs, words)
}

/// Batches around the length at which the engine changes from one by one to groups; one operand for all.
#[test]
fn results_equal_the_definition_for_every_length() {
    for engine in engines() {
        for (bits, square) in [(512, false), (1024, true), (2048, false)] {
            let n = limbs::to_uint(&modulus(bits));
            let spec = if square { EngineModulus::SquareOf(&n) } else { EngineModulus::Value(&n) };
            let prepared = engine.prepare(spec).unwrap();
            let n = big(&modulus(bits));
            let n = if square { &n * &n } else { n };
            let width = prepared.limbs();
            for count in [1, 2, 3, 4, 9] {
                let (a, b) = (values(width, count, 1), values(width, count, 2));
                let one = values(width, 1, 3);
                let exponents = values(2, count, 4);
                let each = Exponents::each(exponents.clone(), 128).unwrap();
                let product = prepared.multiply(&a, &b).unwrap();
                let scaled = prepared.multiply(&one, &b).unwrap();
                let powers = prepared.pow(&a, &each).unwrap();
                let of_one = prepared.pow(&one, &each).unwrap();
                let base = prepared.prepare_base(&one, 128).unwrap();
                let fixed = prepared.pow_fixed(&base, &exponents).unwrap();
                for results in [&product, &scaled, &powers, &of_one, &fixed] {
                    assert_eq!((results.len(), results.limbs()), (count, width));
                }
                for i in 0..count {
                    let power = |base: &BigUint| base.modpow(&big(exponents.row(i)), &n);
                    assert_eq!(big(product.row(i)), reference::multiply(&big(a.row(i)), &big(b.row(i)), &n));
                    assert_eq!(big(scaled.row(i)), reference::multiply(&big(one.row(0)), &big(b.row(i)), &n));
                    assert_eq!(big(powers.row(i)), power(&big(a.row(i))));
                    assert_eq!(big(of_one.row(i)), power(&big(one.row(0))));
                    assert_eq!(fixed.row(i), of_one.row(i));
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_worked_on_is_refused_whatever_the_length() {
    for engine in engines() {
        let n = limbs::to_uint(&modulus(1024));
        let prepared = engine.prepare(EngineModulus::SquareOf(&n)).unwrap();
        let exponent = Exponents::shared(&n, 1024).unwrap();
        for count in [1, 2, 9] {
            let wide = prepared.pow(&values(81, count, 5), &exponent);
            assert!(matches!(wide, Err(EngineError::Operands(BigIntError::TooWide { limbs: 81, max: 80 }))), "{count}");
        }
        for count in [0, 2] {
            let bases = prepared.prepare_base(&values(32, count, 6), 128).err();
            assert!(matches!(bases, Some(EngineError::Operands(BigIntError::Length { .. }))), "{count}");
        }
        let width = prepared.prepare_base(&values(32, 1, 6), u32::MAX).err();
        assert!(matches!(width, Some(EngineError::Operands(BigIntError::ExponentWidth { bits: u32::MAX }))));
    }
}

#[test]
fn widths_of_exponents_are_bounded() {
    let three = || IntegerBatch::from_u64s(&[3]);
    assert!(Exponents::each(three(), MAX_EXPONENT_BITS).is_ok());
    let refused = Exponents::each(three(), u32::MAX - 1).unwrap_err();
    assert_eq!(refused, BigIntError::ExponentWidth { bits: u32::MAX - 1 });
}

/// A plaintext that is not below n would be taken for another one on some paths.
#[test]
fn a_unit_is_made_of_numbers_below_n_only() {
    for path in ciphermill_testing::available(Path::ALL, |path| path.is_available()) {
        let n = modulus(512);
        let ring = OddModulus::square_of(&limbs::to_uint(&n), path).unwrap();
        let one = ring.one(3);
        let mut m = IntegerBatch::zeros(3, 9);
        m.row_mut(1)[..8].copy_from_slice(&n);
        assert_eq!(ring.multiply_unit(&one, &m).unwrap_err(), BigIntError::NotReduced { index: 1 }, "{path}");
        m.row_mut(1)[0] -= 1;
        let (_, high) = ring.leave_parts(&ring.multiply_unit(&one, &m).unwrap());
        assert_eq!(high.row(1), &m.row(1)[..8], "{path}");
        m.row_mut(2)[8] = 1;
        assert_eq!(ring.multiply_unit(&one, &m).unwrap_err(), BigIntError::NotReduced { index: 2 }, "{path}");
        // Narrow ones are allowed.
        let (_, high) = ring.leave_parts(&ring.multiply_unit(&one, &IntegerBatch::from_u64s(&[0, 7, 1])).unwrap());
        assert_eq!((high.row(1)[0], high.row(2)[0]), (7, 1), "{path}");
    }
}
