//! Algorithms over whole vectors, for both rings on every path, against the plain definitions.

use ciphermill_bigint::reference::big;
use ciphermill_bigint::{BigIntError, Exponents, IntegerBatch, OddModulus, Path, Residues, WeightMatrix, limbs};
use ciphermill_testing::available;
use crypto_bigint::BoxedUint;
use num_bigint::BigUint;
use proptest::prelude::*;

/// A generator with short code: Steele, Lea and Flood's SplitMix64 (2014).
struct Numbers(u64);

impl Numbers {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn batch(&mut self, limbs: usize, len: usize) -> IntegerBatch {
        IntegerBatch::from_words(limbs, (0..limbs * len).map(|_| self.word()).collect())
    }

    /// Exponents of `bits` bits: 0, 1, all ones, then any.
    fn exponents(&mut self, bits: u32, len: usize) -> IntegerBatch {
        let mut batch = self.batch(limbs::limbs_for(bits).max(1), len);
        for index in 0..len {
            let row = batch.row_mut(index);
            match index {
                0 => row.fill(0),
                1 => row.fill(u64::MAX),
                2 => {
                    row.fill(0);
                    row[0] = 1;
                }
                _ => {}
            }
            for (i, limb) in row.iter_mut().enumerate() {
                let kept = bits.saturating_sub(64 * i as u32).min(64);
                *limb &= u64::MAX.checked_shr(64 - kept).unwrap_or(0);
            }
        }
        batch
    }
}

/// Products of primes of 128 bits with n of 256 bits and of five limbs: random numbers share no factor with them.
fn moduli() -> [BoxedUint; 2] {
    let p = BigUint::from(u128::MAX - 158);
    let q = BigUint::from((1u128 << 127) - 1);
    [&p * &p, &p * &q * BigUint::from((1u64 << 61) - 1)].map(|n| {
        let digits = n.to_u64_digits();
        limbs::to_uint(&digits)
    })
}

/// Both rings on all paths of this CPU.
fn rings(mut test: impl FnMut(&OddModulus)) {
    for path in available(Path::ALL, |path| path.is_available()) {
        for n in moduli() {
            test(&OddModulus::new(&n, path).unwrap());
            test(&OddModulus::square_of(&n, path).unwrap());
        }
    }
}

fn values(ring: &OddModulus, residues: &Residues) -> Vec<BigUint> {
    ring.leave(residues).rows().map(big).collect()
}

fn powers(ring: &OddModulus, bases: &IntegerBatch, exponents: &IntegerBatch) -> Vec<BigUint> {
    let modulus = big(ring.value());
    let at = |batch: &IntegerBatch, i| big(batch.row(if batch.len() == 1 { 0 } else { i }));
    (0..bases.len().max(exponents.len())).map(|i| at(bases, i).modpow(&at(exponents, i), &modulus)).collect()
}

const COUNTS: [usize; 6] = [1, 2, 7, 8, 9, 17];
/// Widths that are and are not multiples of windows and limbs.
const WIDTHS: [u32; 8] = [0, 1, 5, 63, 64, 65, 130, 257];

#[test]
fn powers_equal_the_definition() {
    let mut numbers = Numbers(1);
    rings(|ring| {
        for count in COUNTS {
            for bits in WIDTHS {
                let bases = numbers.batch(ring.limbs(), count);
                let entered = ring.enter(&bases).unwrap();
                let exponents = numbers.exponents(bits, count);
                let each = Exponents::each(exponents.clone(), bits).unwrap();
                let expected = powers(ring, &bases, &exponents);
                assert_eq!(values(ring, &ring.pow(&entered, &each).unwrap()), expected, "{count} of {bits} bits");
                assert_eq!(
                    values(ring, &ring.pow_public(&entered, &each).unwrap()),
                    expected,
                    "{count} of {bits} bits"
                );
                let last = exponents.slice(count - 1..count);
                let shared = Exponents::shared(&last.uint(0), bits).unwrap();
                let expected = powers(ring, &bases, &last);
                assert_eq!(values(ring, &ring.pow(&entered, &shared).unwrap()), expected, "{count}, shared {bits}");
                assert_eq!(
                    values(ring, &ring.pow_public(&entered, &shared).unwrap()),
                    expected,
                    "{count}, shared {bits}"
                );
            }
        }
        let two = ring.one(2);
        let three = Exponents::each(IntegerBatch::zeros(3, 1), 1).unwrap();
        assert_eq!(ring.pow(&two, &three).unwrap_err(), BigIntError::Length { left: 2, right: 3 });
        assert_eq!(ring.pow_public(&two, &three).unwrap_err(), BigIntError::Length { left: 2, right: 3 });
    });
}

#[test]
fn powers_of_a_fixed_base_equal_the_definition() {
    let mut numbers = Numbers(2);
    rings(|ring| {
        for bits in [0, 1, 2, 9, 64, 129, 300] {
            let base = numbers.batch(ring.limbs(), 1);
            for bytes in [0, 3000, 20_000, 200_000, 1 << 22] {
                let fixed = ring.fixed_base_within(&ring.enter(&base).unwrap(), bits, bytes);
                assert_eq!(fixed.bits(), bits);
                let least = 2 * ring.lanes().max(2) * ring.one(1).memory_bytes();
                assert!(fixed.memory_bytes() <= bytes.max(least), "{} of {bytes}", fixed.memory_bytes());
                for count in [1, 7, 8, 9, 17, 33] {
                    let exponents = numbers.exponents(bits, count);
                    let got = ring.pow_fixed(&fixed, &exponents).unwrap();
                    assert_eq!(
                        values(ring, &got),
                        powers(ring, &base, &exponents),
                        "{count} of {bits} bits, {fixed:?}"
                    );
                    assert_eq!(
                        values(ring, &ring.product(&got))[0],
                        powers(ring, &base, &exponents).iter().product::<BigUint>() % big(ring.value())
                    );
                }
            }
            let mut wide = IntegerBatch::zeros(3, 6);
            wide.row_mut(1)[(bits / 64) as usize] = 1 << (bits % 64);
            let fixed = ring.fixed_base(&ring.one(1), bits);
            assert_eq!(ring.pow_fixed(&fixed, &wide).unwrap_err(), BigIntError::ExponentBits { index: 1, bits });
        }
    });
}

#[test]
fn more_memory_takes_fewer_operations() {
    rings(|ring| {
        let one = ring.one(1);
        let counts = [1 << 12, 1 << 16, 1 << 20].map(|bytes| {
            let (products, squarings) = ring.fixed_base_within(&one, 1024, bytes).operations();
            products + squarings
        });
        // How far it goes depends on the cost of a scan compared with a product of this size.
        assert!(counts.is_sorted_by(|a, b| a >= b) && counts[0] > counts[2], "{counts:?}");
        assert!(counts[2] < 1024 / 2, "{counts:?}");
    });
}

#[test]
fn inverses_times_values_are_one() {
    let mut numbers = Numbers(3);
    rings(|ring| {
        let modulus = big(ring.value());
        for count in COUNTS.into_iter().chain([0]) {
            let plain = numbers.batch(ring.limbs(), count);
            let entered = ring.enter(&plain).unwrap();
            let expected: Vec<_> = plain.rows().map(|row| big(row).modinv(&modulus).unwrap()).collect();
            assert_eq!(values(ring, &ring.invert(&entered).unwrap()), expected);
            assert_eq!(values(ring, &ring.invert_public(&entered).unwrap()), expected);
            assert_eq!(ring.all_units_public(&entered), Ok(()));
            let product = plain.rows().fold(BigUint::from(1u32), |product, row| product * big(row) % &modulus);
            assert_eq!(values(ring, &ring.product(&entered)), [product]);
        }
    });
}

#[test]
fn the_first_value_without_inverse_is_named() {
    let mut numbers = Numbers(4);
    rings(|ring| {
        for count in [1, 9, 26] {
            for first in 0..count {
                let mut plain = numbers.batch(ring.limbs(), count);
                for index in [first, (first + 3).max(count - 1)].into_iter().filter(|&i| i < count) {
                    let row = plain.row_mut(index);
                    // A prime factor of each modulus; 0 has no inverse either.
                    row.fill(0);
                    if index % 3 > 0 {
                        row[..2].copy_from_slice(&[u64::MAX - 158, u64::MAX]);
                    }
                }
                let entered = ring.enter(&plain).unwrap();
                let expected = BigIntError::NotInvertible { index: first };
                assert_eq!(ring.all_units_public(&entered), Err(expected.clone()));
                assert_eq!(ring.invert(&entered).unwrap_err(), expected);
                assert_eq!(ring.invert_public(&entered).unwrap_err(), expected);
            }
        }
    });
}

/// Data behind the end of a slice plays no part.
#[test]
fn lanes_behind_a_slice_are_left_out() {
    let mut numbers = Numbers(5);
    rings(|ring| {
        let modulus = big(ring.value());
        let mut plain = numbers.batch(ring.limbs(), 24);
        plain.row_mut(13).fill(0);
        let part = ring.enter(&plain).unwrap().slice(8..13);
        let expected: Vec<_> = (8..13).map(|i| big(plain.row(i))).collect();
        assert_eq!(ring.all_units_public(&part), Ok(()));
        let product = expected.iter().fold(BigUint::from(1u32), |product, x| product * x % &modulus);
        assert_eq!(values(ring, &ring.product(&part)), [product]);
        let inverses: Vec<_> = expected.iter().map(|x| x.modinv(&modulus).unwrap()).collect();
        assert_eq!(values(ring, &ring.invert(&part).unwrap()), inverses);
    });
}

fn check_weights(ring: &OddModulus, bases: &IntegerBatch, columns: usize, weights: Vec<i128>) {
    let modulus = big(ring.value());
    let matrix = WeightMatrix::new(columns, weights).unwrap();
    let got = values(ring, &ring.multi_pow_public(&ring.enter(bases).unwrap(), &matrix).unwrap());
    for (row, got) in got.iter().enumerate() {
        let expected = bases.rows().zip(matrix.row(row)).fold(BigUint::from(1u32), |product, (base, &weight)| {
            let base = if weight < 0 { big(base).modinv(&modulus).unwrap() } else { big(base) };
            product * base.modpow(&weight.unsigned_abs().into(), &modulus) % &modulus
        });
        assert_eq!(*got, expected, "row {row} of {:?}", matrix.row(row));
    }
}

#[test]
fn products_of_powers_equal_the_definition() {
    let mut numbers = Numbers(6);
    let extreme = [0, 1, -1, i128::from(u64::MAX), -i128::from(u64::MAX), 1 << 63, -(1 << 63), 2, -2, 0x5555, 1 << 32];
    rings(|ring| {
        for (rows, columns) in [(0, 3), (1, 1), (1, 7), (1, 130), (2, 9), (7, 8), (8, 3), (9, 17), (17, 16)] {
            let bases = numbers.batch(ring.limbs(), columns);
            for kind in 0..4 {
                let weights = (0..rows * columns)
                    .map(|_| match kind {
                        0 => extreme[(numbers.word() % 11) as usize],
                        1 => i128::from(numbers.word()),
                        2 => i128::from(numbers.word() as i64),
                        _ => i128::from(numbers.word() as i8) * i128::from(numbers.word().is_multiple_of(3)),
                    })
                    .collect();
                check_weights(ring, &bases, columns, weights);
            }
        }
        let one = WeightMatrix::new(2, vec![1, 1]).unwrap();
        let error = ring.multi_pow_public(&ring.one(3), &one).unwrap_err();
        assert_eq!(error, BigIntError::Length { left: 3, right: 2 });
    });
}

/// Tables that are made in parts, and lists long enough for buckets.
#[test]
fn large_matrices_equal_the_definition() {
    let mut numbers = Numbers(7);
    let n = &moduli()[0];
    for path in ciphermill_testing::available(Path::ALL, |path| path.is_available()) {
        let ring = OddModulus::new(n, path).unwrap();
        for (rows, columns) in [(1, 1024), (48, 80)] {
            let bases = numbers.batch(ring.limbs(), columns);
            let weights = (0..rows * columns).map(|_| i128::from(numbers.word() as i64) * 2 + 1).collect();
            check_weights(&ring, &bases, columns, weights);
        }
    }
}

#[test]
fn weights_that_cannot_be_are_refused() {
    assert_eq!(WeightMatrix::new(0, vec![]), Err(BigIntError::WeightShape { columns: 0, values: 0 }));
    assert_eq!(WeightMatrix::new(2, vec![1, 2, 3]), Err(BigIntError::WeightShape { columns: 2, values: 3 }));
    for extreme in [1 << 64, -(1 << 64), i128::MAX, i128::MIN] {
        assert_eq!(WeightMatrix::new(1, vec![5, extreme]), Err(BigIntError::WeightMagnitude { index: 1 }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_matrix_equals_the_definition(
        seed in any::<u64>(),
        rows in 1usize..12,
        columns in 1usize..24,
        bits in 1u32..=64,
        density in 1u64..5,
        signed in any::<bool>(),
    ) {
        let mut numbers = Numbers(seed);
        rings(|ring| {
            let bases = numbers.batch(ring.limbs(), columns);
            let weights = (0..rows * columns)
                .map(|_| {
                    let magnitude = i128::from(numbers.word() >> (64 - bits)) * i128::from(numbers.word().is_multiple_of(density));
                    if signed && numbers.word() & 1 == 1 { -magnitude } else { magnitude }
                })
                .collect();
            check_weights(ring, &bases, columns, weights);
        });
    }
}
