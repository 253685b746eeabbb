//! Every plan gives the definition's result, and takes the operations that it promises.

use crate::reference::big;
use crypto_bigint::BoxedUint;
use num_bigint::BigUint;

use super::super::side_by_side::counted;
use super::super::{Exponents, IntegerBatch, limbs};
use super::*;

/// A generator with short code: Steele, Lea and Flood's SplitMix64 (2014).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(super) fn words(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.next()).collect()
    }

    fn weight(&mut self, bits: u32, signed: bool) -> i128 {
        let magnitude = i128::from(self.next() >> (64 - bits));
        if signed && self.next() & 1 == 1 { -magnitude } else { magnitude }
    }
}

/// The greatest prime below 2^256: no random number shares a factor with it.
fn prime() -> BoxedUint {
    limbs::to_uint(&[u64::MAX - 188, u64::MAX, u64::MAX, u64::MAX])
}

fn definition(ring: &OddModulus, bases: &IntegerBatch, weights: &[i128]) -> BigUint {
    let modulus = big(ring.value());
    bases.rows().zip(weights).fold(BigUint::from(1u32), |product, (base, &weight)| {
        let base = big(base);
        let base = if weight < 0 { base.modinv(&modulus).expect("a unit") } else { base };
        product * base.modpow(&weight.unsigned_abs().into(), &modulus) % &modulus
    })
}

#[test]
fn every_plan_equals_the_definition() {
    let mut numbers = Numbers(1);
    let n = prime();
    for (square, lanes) in [(true, 1), (true, 8), (false, 8)] {
        let (ring, _) = counted(&n, square, lanes);
        for (rows, columns, bits) in [(1, 1, 64), (3, 19, 64), (9, 8, 13), (17, 5, 1), (2, 3, 7)] {
            let values: Vec<i128> = (0..rows * columns).map(|_| numbers.weight(bits, true)).collect();
            let weights = WeightMatrix::new(columns, values).unwrap();
            let bases = IntegerBatch::from_words(4, numbers.words(4 * columns));
            let entered = ring.enter(&bases).unwrap();
            let expected: Vec<_> = (0..rows).map(|row| definition(&ring, &bases, weights.row(row))).collect();
            let unsigned = Unsigned::new(&weights);
            for plan in Plan::all(&Shape::of(&unsigned, ring.kernel())) {
                let got = ring.leave(&ring.multi_pow_planned(&entered, &unsigned, plan).unwrap());
                let got: Vec<_> = got.rows().map(big).collect();
                assert_eq!(got, expected, "{plan:?}, {rows} x {columns}, {bits} bits, {lanes} lanes, square {square}");
            }
        }
    }
}

/// The count equals [`Plan::cost`], except for the two terms that it leaves out: lanes that wait for others, and the
/// first factor.
#[test]
fn plans_take_what_they_cost() {
    let mut numbers = Numbers(2);
    for lanes in [1, 8] {
        let (ring, counts) = counted(&prime(), true, lanes);
        for (rows, columns, bits) in [(64, 64, 64), (1, 1024, 64), (16, 100, 8), (3, 40, 33)] {
            let bases = ring.enter(&IntegerBatch::from_words(4, numbers.words(4 * columns))).unwrap();
            let values = (0..rows * columns).map(|_| numbers.weight(bits, false)).collect();
            let unsigned = Unsigned::new(&WeightMatrix::new(columns, values).unwrap());
            let shape = Shape { gather: 0.0, ..Shape::of(&unsigned, ring.kernel()) };
            let best = Plan::best(&shape);
            for plan in [best, Plan { way: Way::Buckets { window: 6 }, parts: 1 }] {
                counts.take();
                ring.multi_pow_planned(&bases, &unsigned, plan).unwrap();
                let (products, squarings) = counts.take();
                let taken = products as f64 + squarings as f64 * super::super::exponent::SQUARING;
                let ratio = taken / plan.cost(&shape);
                let per_term = taken * lanes as f64 / (rows * columns) as f64;
                println!("{lanes} lanes, {rows} x {columns}, {bits} bits: {plan:?}, {per_term:.2} per term");
                assert!((0.8..1.2).contains(&ratio), "{plan:?} took {ratio} of its cost");
            }
        }
    }
}

/// Term by term takes a chain of squarings and a table for every weight.
#[test]
fn few_products_per_term() {
    let mut numbers = Numbers(3);
    for lanes in [1, 8] {
        let (ring, counts) = counted(&prime(), true, lanes);
        let columns = 64;
        let plain = IntegerBatch::from_words(4, numbers.words(4 * columns));
        let bases = ring.enter(&plain).unwrap();
        let exponents = Exponents::each(IntegerBatch::from_words(1, numbers.words(columns)), 64).unwrap();
        counts.take();
        ring.product(&ring.pow(&bases, &exponents).unwrap());
        let (products, squarings) = counts.take();
        let term_by_term = (products + squarings) as f64 / columns as f64;
        for (rows, columns) in [(64, 64), (1, 1024)] {
            let bases = ring.enter(&IntegerBatch::from_words(4, numbers.words(4 * columns))).unwrap();
            for signed in [false, true] {
                let values = (0..rows * columns).map(|_| numbers.weight(64, signed)).collect();
                let weights = WeightMatrix::new(columns, values).unwrap();
                counts.take();
                ring.multi_pow_public(&bases, &weights).unwrap();
                let (products, squarings) = counts.take();
                let ratio = term_by_term / ((products + squarings) as f64 / (rows * columns) as f64);
                println!("{lanes} lanes, {rows} x {columns}, signed {signed}: {ratio:.2} times fewer operations");
                assert!(ratio > 5.0, "{ratio}");
            }
        }
    }
}

/// Zeros cost nothing, and small weights little.
#[test]
fn cost_follows_the_weights() {
    let mut numbers = Numbers(4);
    for lanes in [1, 8] {
        let (ring, counts) = counted(&prime(), false, lanes);
        let bases = ring.enter(&IntegerBatch::from_words(4, numbers.words(4 * 64))).unwrap();
        let taken = |values: Vec<i128>| {
            counts.take();
            ring.multi_pow_public(&bases, &WeightMatrix::new(64, values).unwrap()).unwrap();
            let (products, squarings) = counts.take();
            products + squarings
        };
        assert_eq!(taken(vec![0; 640]), 0);
        assert!(taken(vec![1; 640]) <= 63 * 10usize.div_ceil(lanes) + 64, "sums take a product for each term");
        let mut sparse = vec![0; 640];
        sparse[5] = 3;
        assert!(taken(sparse) <= 4, "one small weight");
        let bytes = taken((0..640).map(|_| numbers.weight(8, false)).collect());
        let words = taken((0..640).map(|_| numbers.weight(64, false)).collect());
        assert!(bytes * 4 < words, "{bytes} {words}");
    }
}

#[test]
fn the_culprit_is_named() {
    for lanes in [1, 8] {
        // n = 3·m: multiples of 3 have no inverse.
        let mut n = vec![0; 5];
        limbs::multiply_add(&mut n, &[3], prime().as_words());
        let (ring, _) = counted(&limbs::to_uint(&n), true, lanes);
        let bases: Vec<u64> = (0..20).map(|i| if i % 5 == 4 { 3 } else { 2 }).collect();
        let bases = ring.enter(&IntegerBatch::from_u64s(&bases)).unwrap();
        let run = |negative: &[usize]| {
            let mut values = vec![0; 40];
            values[4] = 7;
            negative.iter().for_each(|&at| values[at] = -2);
            ring.multi_pow_public(&bases, &WeightMatrix::new(20, values).unwrap()).map(|_| ())
        };
        assert_eq!(run(&[1, 2, 25]), Ok(()));
        assert_eq!(run(&[1, 20 + 14, 20 + 9, 25]), Err(BigIntError::NotInvertible { index: 9 }));
        assert_eq!(run(&[19]), Err(BigIntError::NotInvertible { index: 19 }));
    }
}
