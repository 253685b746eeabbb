//! The f32 transform. In any order of its butterflies it equals exact arithmetic with one rounding per operation, bit for
//! bit, and the definition in f64 within the stated errors.

use std::f64::consts::{FRAC_PI_4, TAU};

use ciphermill_math::fft::reference32::{
    Direction, Point32, butterfly, relative_error_bound, relative_error_rms, reorder, transform, twiddles,
};
use proptest::prelude::*;

const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Inverse];

/// By size of [1, 2, 4, 8, 64, 512], forward and inverse: what generate_fft32.py wrote.
const WORDS: &[u8] = include_bytes!("vectors/fft32.bin");

type Point64 = (f64, f64);

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// Parts of 24 bits in [−1, 1).
fn points(random: &mut Random, n: usize) -> Vec<Point32> {
    let part = |bits: u64| (bits as i32 - (1 << 23)) as f32 / (1 << 23) as f32;
    (0..n)
        .map(|_| {
            let word = random.word();
            (part(word >> 40), part(word >> 16 & 0xff_ffff))
        })
        .collect()
}

/// Uniform in [−1, 1), with all the digits that f32 has: so that sums are rounded from the first level on.
fn reals(random: &mut Random, n: usize) -> Vec<Point32> {
    let mut part = || (random.word() as i64 as f64 / 2f64.powi(63)) as f32;
    (0..n).map(|_| (part(), part())).collect()
}

fn bits(values: &[Point32]) -> Vec<(u32, u32)> {
    values.iter().map(|(re, im)| (re.to_bits(), im.to_bits())).collect()
}

fn transformed(direction: Direction, values: &[Point32]) -> Vec<Point32> {
    let mut values = values.to_vec();
    transform(direction, &mut values);
    reorder(&mut values);
    values
}

/// Value k by its sum in f64.
fn defined(direction: Direction, values: &[Point32], roots: &[Point64], k: usize) -> Point64 {
    values.iter().enumerate().fold((0.0, 0.0), |sum, (j, x)| {
        let (x, (cos, sin)) = ((f64::from(x.0), f64::from(x.1)), roots[j * k % values.len()]);
        let sin = if direction == Direction::Forward { -sin } else { sin };
        (sum.0 + x.0 * cos - x.1 * sin, sum.1 + x.0 * sin + x.1 * cos)
    })
}

fn roots(n: usize) -> Vec<Point64> {
    (0..n).map(|i| TAU * i as f64 / n as f64).map(|angle| (angle.cos(), angle.sin())).collect()
}

/// The 2-norms of the error and of the values, over the values of which the numbers are given.
fn error(direction: Direction, values: &[Point32], numbers: &[usize]) -> (f64, f64) {
    let (ours, roots) = (transformed(direction, values), roots(values.len()));
    let (error, norm) = numbers.iter().fold((0.0, 0.0), |(error, norm), &k| {
        let (re, im) = defined(direction, values, &roots, k);
        let difference = (f64::from(ours[k].0) - re, f64::from(ours[k].1) - im);
        (error + difference.0.powi(2) + difference.1.powi(2), norm + re * re + im * im)
    });
    (error.sqrt(), norm.sqrt())
}

#[test]
fn exact_arithmetic_with_one_rounding_per_operation_gives_the_same() {
    let mut words = WORDS.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word));
    for n in [1, 2, 4, 8, 64, 512] {
        let values = points(&mut Random(n as u64), n);
        for direction in DIRECTIONS {
            let expected: Vec<Point32> =
                (0..n).map(|_| (words.next().expect("a word"), words.next().expect("a word"))).collect();
            // Rational numbers have no signed zero; all else that is equal has equal bits.
            assert!(transformed(direction, &values) == expected, "{direction:?}, N = {n}");
        }
    }
    assert_eq!(words.next(), None, "words left over");
}

/// Four other schedules: depth first, columns before rows, the textbook's loops over reversed input, and a random one that
/// draws each next butterfly from the ready ones.
#[test]
fn the_order_of_the_butterflies_does_not_matter() {
    fn depth_first(values: &mut [Point32], block: usize, factors: &[Point32]) {
        if values.len() > 1 {
            let (low, high) = values.split_at_mut(values.len() / 2);
            for (a, b) in low.iter_mut().zip(&mut *high).rev() {
                (*a, *b) = butterfly(factors[block], *a, *b);
            }
            depth_first(high, 2 * block + 1, factors);
            depth_first(low, 2 * block, factors);
        }
    }
    fn at(values: &mut [Point32], low: usize, high: usize, w: Point32) {
        (values[low], values[high]) = butterfly(w, values[low], values[high]);
    }
    let mut random = Random(0x5eed);
    for log_n in [1, 2, 3, 6, 9, 12] {
        let n = 1usize << log_n;
        let input = points(&mut random, n);
        for direction in DIRECTIONS {
            let factors = twiddles(n, direction);
            let mut expected = input.clone();
            transform(direction, &mut expected);

            let mut values = input.clone();
            depth_first(&mut values, 0, &factors);
            assert!(bits(&values) == bits(&expected), "depth first, {direction:?}, N = {n}");

            for log_columns in 0..=log_n {
                let columns = 1 << log_columns;
                let mut values = input.clone();
                for column in 0..columns {
                    for level in 0..log_n - log_columns {
                        let half = n >> (level + 1);
                        for low in (column..n).step_by(columns).filter(|place| place & half == 0) {
                            at(&mut values, low, low + half, factors[low / (2 * half)]);
                        }
                    }
                }
                for (row, values) in values.chunks_exact_mut(columns).enumerate() {
                    depth_first(values, row, &factors);
                }
                assert!(bits(&values) == bits(&expected), "{columns} columns, {direction:?}, N = {n}");
            }

            let mut values = input.clone();
            reorder(&mut values);
            let mut natural = factors.clone();
            reorder(&mut natural);
            for half in (0..log_n).map(|level| 1 << level) {
                for low in (0..n).filter(|place| place & half == 0) {
                    at(&mut values, low, low + half, natural[low % half * (n / (2 * half))]);
                }
            }
            reorder(&mut values);
            assert!(bits(&values) == bits(&expected), "reversed input, {direction:?}, N = {n}");

            // Level by place: a butterfly is ready when both of its places have reached its level.
            let mut values = input.clone();
            let mut reached = vec![0; n];
            let mut left = n / 2 * log_n;
            while left > 0 {
                let place = random.word() as usize % n;
                let level = reached[place];
                if level < log_n {
                    let half = n >> (level + 1);
                    let (low, high) = (place & !half, place | half);
                    if reached[low] == level && reached[high] == level {
                        at(&mut values, low, high, factors[low / (2 * half)]);
                        (reached[low], reached[high]) = (level + 1, level + 1);
                        left -= 1;
                    }
                }
            }
            assert!(bits(&values) == bits(&expected), "as drawn, {direction:?}, N = {n}");
        }
    }
}

/// Any f64 sine that is right to eight last places rounds to the same f32: the factors are the same everywhere.
#[test]
fn no_factor_hangs_on_the_last_places_of_a_sine() {
    let eighth = 1 << 17;
    let nearest = (1..=eighth)
        .flat_map(|i| {
            let (sin, cos) = (FRAC_PI_4 * f64::from(i) / f64::from(eighth)).sin_cos();
            [sin, cos]
        })
        // The 29 bits that an f32 has no room for, from their middle.
        .map(|x| ((x.to_bits() & 0x1fff_ffff) as i64 - (1 << 28)).abs())
        .min()
        .expect("many of them");
    println!("the nearest is {nearest} last places off");
    assert!(nearest > 8, "{nearest}");
}

#[test]
fn factors_are_symmetric_and_exact_on_the_axes() {
    for log_n in [1, 2, 3, 4, 10, 20] {
        let n = 1 << log_n;
        let [mut forward, mut inverse] = DIRECTIONS.map(|direction| twiddles(n, direction));
        reorder(&mut forward);
        reorder(&mut inverse);
        assert_eq!((forward.len(), bits(&inverse[..1])), (n / 2, bits(&[(1.0, 0.0)])));
        for (f, i) in forward.iter().zip(&inverse) {
            // Conjugates, but that a zero stays positive.
            assert_eq!(bits(&[*i]), bits(&[(f.0, 0.0 - f.1)]));
        }
        for k in 1..n / 2 {
            let (here, mirrored) = (inverse[k], inverse[n / 2 - k]);
            assert_eq!((here.0, here.1), (0.0 - mirrored.0, mirrored.1), "{k} of {n}");
            assert!(here.1 > 0.0);
        }
        for k in 1..n / 4 {
            assert_eq!(inverse[k], (inverse[n / 4 - k].1, inverse[n / 4 - k].0), "{k} of {n}");
        }
        if n >= 4 {
            assert_eq!(bits(&inverse[n / 4..=n / 4]), bits(&[(0.0, 1.0)]));
            assert_eq!(bits(&forward[n / 4..=n / 4]), bits(&[(0.0, -1.0)]));
        }
        if n >= 16 {
            // √(1/2), cos(π/8) and sin(π/8), as tables of sines have them.
            assert_eq!(inverse[n / 8], (0.707_106_77, 0.707_106_77));
            assert_eq!(inverse[n / 16], (0.923_879_5, 0.382_683_43));
        }
    }
    assert!(twiddles(1, Direction::Forward).is_empty());
}

#[test]
fn what_has_an_exact_transform_has_it() {
    for n in [2, 64, 1 << 13] {
        let mut unit = vec![(0.0, 0.0); n];
        unit[0] = (1.0, -2.0);
        assert!(transformed(Direction::Forward, &unit) == vec![(1.0, -2.0); n]);
        let mut constant = vec![(0.0, 0.0); n];
        constant[0] = (n as f32, -2.0 * n as f32);
        assert!(transformed(Direction::Forward, &vec![(1.0, -2.0); n]) == constant);
        // The unit at N/2 alternates, and at N/4 it turns by a right angle.
        unit.rotate_right(n / 2);
        let alternating: Vec<_> = (0..n).map(|k| if k % 2 == 0 { (1.0, -2.0) } else { (-1.0, 2.0) }).collect();
        assert!(transformed(Direction::Inverse, &unit) == alternating);
    }
    // A point is its own transform.
    assert_eq!(transformed(Direction::Forward, &[(3.0, 4.0)]), [(3.0, 4.0)]);
}

/// The error against its expectation, on random input: at N = 2 and 4 nothing but sums is rounded. Up to 2^11 all values are
/// looked at, then 256 of them.
#[test]
fn the_error_is_as_large_as_independent_roundings_make_it() {
    let mut random = Random(0x5eed);
    for log_n in 1..=17 {
        let n = 1usize << log_n;
        for direction in DIRECTIONS {
            let (mut errors, mut norms) = (0.0, 0.0);
            for _ in 0..(4096 / n).max(1) {
                let values = reals(&mut random, n);
                let numbers: Vec<usize> =
                    if n <= 2048 { (0..n).collect() } else { (0..256).map(|_| random.word() as usize % n).collect() };
                let (error, norm) = error(direction, &values, &numbers);
                (errors, norms) = (errors + error * error, norms + norm * norm);
            }
            let (measured, expected) = ((errors / norms).sqrt(), relative_error_rms(n));
            println!("N = 2^{log_n}: {measured:.3e}, {:.3} of the expectation", measured / expected);
            assert!(
                (0.85..1.15).contains(&(measured / expected)),
                "N = {n}, {direction:?}: {measured}, not {expected}"
            );
            assert!(measured < relative_error_bound(n), "N = {n}, {direction:?}: {measured}");
        }
    }
}

/// The bound holds for structured input, and there and back is the input times N.
#[test]
fn the_bound_holds_for_all() {
    let mut random = Random(0x5eed);
    for n in [2, 8, 64, 1024] {
        let all: Vec<usize> = (0..n).collect();
        let tone = |frequency: f64| -> Vec<Point32> {
            (0..n)
                .map(|j| (TAU * frequency * j as f64 / n as f64).sin_cos())
                .map(|(s, c)| (c as f32, s as f32))
                .collect()
        };
        let mut last = vec![(0.0, 0.0); n];
        last[n - 1] = (0.1, 0.7);
        let spread = reals(&mut random, n);
        let spread: Vec<Point32> =
            spread.iter().map(|x| (x.0 * 2f32.powi((random.word() % 40) as i32 - 20), x.1)).collect();
        let inputs =
            [reals(&mut random, n), tone(1.0), tone(0.5), tone(n as f64 / 3.0), last, vec![(0.1, 0.3); n], spread];
        for (case, values) in inputs.iter().enumerate() {
            for direction in DIRECTIONS {
                let (error, norm) = error(direction, values, &all);
                assert!(
                    error <= relative_error_bound(n) * norm,
                    "N = {n}, {direction:?}, input {case}: {error}, {norm}"
                );
            }
            let back = transformed(Direction::Inverse, &transformed(Direction::Forward, values));
            let scale = 1.0 / n as f64;
            let (error, norm) = values.iter().zip(&back).fold((0.0, 0.0), |(error, norm), (x, y)| {
                let parts = [(x.0, y.0), (x.1, y.1)].map(|(x, y)| (f64::from(x), f64::from(y) * scale));
                (
                    error + parts.iter().map(|(x, y)| (y - x).powi(2)).sum::<f64>(),
                    norm + parts.iter().map(|(x, _)| x * x).sum::<f64>(),
                )
            });
            assert!(
                error.sqrt() <= 2.01 * relative_error_bound(n) * norm.sqrt(),
                "N = {n}, input {case}, back: {error}"
            );
        }
    }
}

#[test]
fn sizes_are_powers_of_two() {
    for n in [0, 3, 12] {
        let panics = |call: fn(usize)| std::panic::catch_unwind(|| call(n)).is_err();
        assert!(panics(|n| transform(Direction::Forward, &mut vec![(0.0, 0.0); n])));
        assert!(panics(|n| reorder(&mut vec![0; n])));
        assert!(panics(|n| drop(twiddles(n, Direction::Forward))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// One butterfly on any bits, subnormal, infinite and no numbers among them. f64 has more than twice the digits of f32, so
    /// that rounding its result again is rounding once (S. Figueroa, "When is double rounding innocuous?", 1995).
    #[test]
    fn each_operation_is_rounded_by_itself(words in any::<[u32; 6]>(), near in any::<[bool; 6]>()) {
        let [wr, wi, ar, ai, br, bi]: [f32; 6] = std::array::from_fn(|i| {
            // Half of them near 1, where sums cancel and a fused product shows.
            f32::from_bits(if near[i] { words[i] & 0x81ff_ffff | 0x3e00_0000 } else { words[i] })
        });
        let times = |x: f32, y: f32| (f64::from(x) * f64::from(y)) as f32;
        let plus = |x: f32, y: f32| (f64::from(x) + f64::from(y)) as f32;
        let tr = plus(times(wr, br), -times(wi, bi));
        let ti = plus(times(wr, bi), times(wi, br));
        let expected = [plus(ar, tr), plus(ai, ti), plus(ar, -tr), plus(ai, -ti)];
        let (a, b) = butterfly((wr, wi), (ar, ai), (br, bi));
        for (ours, theirs) in [a.0, a.1, b.0, b.1].into_iter().zip(expected) {
            prop_assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(), "{ours} {theirs}");
        }
    }
}
