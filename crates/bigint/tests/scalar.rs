//! The kernels of one residue per group (64-bit limbs, and one number over the lanes of vectors) against the plain
//! definitions: every size at which they change their ways, with operands and moduli that make carries run.

use ciphermill_bigint::reference::big;
use ciphermill_bigint::{CpuEngine, EngineModulus, Exponents, IntegerBatch, ModExpEngine, OddModulus, Path, limbs};
use ciphermill_testing::available;
use num_bigint::BigUint;
use proptest::prelude::*;

const SINGLE_LANE: [Path; 3] = [Path::Portable, Path::Adx, Path::IfmaSingle];

/// The single-lane paths of this CPU.
fn paths() -> Vec<Path> {
    available(SINGLE_LANE, |path| path.is_available())
}

fn small(value: &BigUint, limbs: usize) -> Vec<u64> {
    let mut words = value.to_u64_digits();
    words.resize(limbs, 0);
    words
}

/// Words without a pattern, from a seed.
fn words(count: usize, seed: u64) -> Vec<u64> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ state >> 29
        })
        .collect()
}

/// Odd moduli of `limbs` limbs whose quotients and carries are extreme: 2^(64·limbs) − 1, the least one, ones with runs of
/// zeros and ones, and one without a pattern.
fn moduli(limbs: usize) -> Vec<Vec<u64>> {
    let ones = vec![u64::MAX; limbs];
    let mut least = vec![0; limbs];
    least[0] = 1;
    least[limbs - 1] = 1 << 63;
    let mut halves = vec![0; limbs];
    halves[..limbs / 2].fill(u64::MAX);
    halves[limbs - 1] |= 1 << 63;
    let mut plain = words(limbs, limbs as u64);
    plain[0] |= 1;
    // One bit in the top limb, where 256 are left below.
    plain[limbs - 1] = if limbs > 4 { 1 } else { 1 << 63 };
    let mut full = words(limbs, !(limbs as u64));
    full[0] |= 1;
    full[limbs - 1] |= 1 << 63;
    vec![ones, least, halves, plain, full]
}

/// 0, 1, N − 1, N/2, 2^k − 1, runs, and words without a pattern, all of `limbs` limbs and not all below N.
fn operands(modulus: &BigUint, limbs: usize) -> IntegerBatch {
    let mut runs = vec![0; limbs];
    runs[limbs / 2..].fill(u64::MAX);
    let values = [
        small(&BigUint::ZERO, limbs),
        small(&BigUint::from(1u32), limbs),
        small(&(modulus - 1u32), limbs),
        small(&(modulus >> 1u32), limbs),
        vec![u64::MAX; limbs],
        runs,
        words(limbs, 77),
    ];
    IntegerBatch::from_words(limbs, values.concat())
}

fn check(ring: &OddModulus, values: &IntegerBatch) {
    let modulus = big(ring.value());
    let label = format!("{}, {} bits, square {}", ring.path(), ring.bits(), ring.root().is_some());
    let reversed = (0..values.len()).rev().flat_map(|i| values.row(i)).copied().collect();
    let reversed = IntegerBatch::from_words(values.limbs(), reversed);
    let (x, y) = (ring.enter(values).unwrap(), ring.enter(&reversed).unwrap());
    let (a, b) = (values.rows().map(big).collect::<Vec<_>>(), reversed.rows().map(big).collect::<Vec<_>>());
    let product = ring.multiply(&x, &y).unwrap();
    let square = ring.square(&x);
    // Results as operands again: they need not be canonical inside.
    let again = ring.square(&ring.multiply(&product, &square).unwrap());
    assert_eq!([&product, &square, &again].map(|results| ring.leave(results).len()), [values.len(); 3], "{label}");
    for (i, ((product, square), again)) in
        ring.leave(&product).rows().zip(ring.leave(&square).rows()).zip(ring.leave(&again).rows()).enumerate()
    {
        let expected = &a[i] * &b[i] % &modulus;
        assert_eq!(big(product), expected, "product {i}, {label}");
        let expected_square = &a[i] * &a[i] % &modulus;
        assert_eq!(big(square), expected_square, "square {i}, {label}");
        let expected = expected * expected_square % &modulus;
        assert_eq!(big(again), &expected * &expected % &modulus, "product of results {i}, {label}");
    }
}

/// Limbs from 512 to 8192 bits around every length at which products, squares and reductions are split, and at which the
/// digits need one vector more.
const LIMBS: [usize; 26] =
    [4, 5, 6, 7, 8, 9, 13, 16, 24, 26, 28, 30, 31, 32, 33, 36, 40, 48, 50, 60, 64, 66, 72, 96, 97, 128];

#[test]
fn products_modulo_extreme_moduli() {
    for path in paths() {
        for limbs in LIMBS {
            for n in moduli(limbs) {
                let modulus = OddModulus::new(&limbs::to_uint(&n), path).unwrap();
                check(&modulus, &operands(&big(&n), limbs));
            }
        }
    }
}

#[test]
fn products_modulo_squares_of_extreme_numbers() {
    for path in paths() {
        for limbs in LIMBS.into_iter().filter(|&limbs| limbs <= 64) {
            for n in moduli(limbs) {
                let modulus = OddModulus::square_of(&limbs::to_uint(&n), path).unwrap();
                check(&modulus, &operands(&big(modulus.value()), 2 * limbs));
            }
        }
    }
}

#[test]
fn values_five_times_as_wide_enter() {
    for path in paths() {
        for limbs in [4, 5, 16, 33, 64] {
            for n in moduli(limbs) {
                let n_uint = limbs::to_uint(&n);
                for modulus in [OddModulus::new(&n_uint, path).unwrap(), OddModulus::square_of(&n_uint, path).unwrap()]
                {
                    for width in [1, limbs - 1, limbs + 1, 2 * limbs, 5 * limbs] {
                        let values = [vec![u64::MAX; width], words(width, 5), vec![0; width]].concat();
                        let values = IntegerBatch::from_words(width, values);
                        let back = modulus.leave(&modulus.enter(&values).unwrap());
                        for (value, back) in values.rows().zip(back.rows()) {
                            assert_eq!(
                                big(back),
                                big(value) % big(modulus.value()),
                                "{path}, {limbs} limbs, width {width}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn exponentiations_of_every_size() {
    for path in paths() {
        for limbs in [8, 16, 24, 32, 48, 64, 96, 128] {
            let mut n = words(limbs, 3 + limbs as u64);
            n[0] |= 1;
            n[limbs - 1] |= 1 << 63;
            let modulus = OddModulus::new(&limbs::to_uint(&n), path).unwrap();
            let bases = operands(&big(&n), limbs);
            let exponent = words(2, 9);
            let exponents = Exponents::shared(&limbs::to_uint(&exponent), 128).unwrap();
            let powers = modulus.leave(&modulus.pow(&modulus.enter(&bases).unwrap(), &exponents).unwrap());
            for (base, power) in bases.rows().zip(powers.rows()) {
                assert_eq!(big(power), big(base).modpow(&big(&exponent), &big(&n)), "{path}, {limbs} limbs");
            }
        }
    }
}

/// The engine takes short batches and long ones by different kernels: their results are the same.
#[test]
fn the_engine_agrees_with_itself_at_every_length() {
    let mut n = words(16, 21);
    n[0] |= 1;
    n[15] |= 1 << 63;
    let n_uint = limbs::to_uint(&n);
    for path in ciphermill_testing::available(Path::ALL, |path| path.is_available()) {
        let engine = CpuEngine::new(path).unwrap();
        for (prepared, n) in [
            (engine.prepare(EngineModulus::Value(&n_uint)).unwrap(), big(&n)),
            (engine.prepare(EngineModulus::SquareOf(&n_uint)).unwrap(), big(&n) * big(&n)),
        ] {
            for count in 1..=10 {
                let bases = IntegerBatch::from_words(prepared.limbs(), words(prepared.limbs() * count, 1));
                let rows = IntegerBatch::from_words(2, words(2 * count, 2));
                let powers = prepared.pow(&bases, &Exponents::each(rows.clone(), 128).unwrap()).unwrap();
                assert_eq!(powers.len(), count);
                for i in 0..count {
                    assert_eq!(
                        big(powers.row(i)),
                        big(bases.row(i)).modpow(&big(rows.row(i)), &n),
                        "{path}, {i} of {count}"
                    );
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn products_of_words_of_runs(
        limbs in 4usize..70,
        top in 1u64..,
        word in prop::collection::vec(prop_oneof![any::<u64>(), Just(0), Just(1), Just(u64::MAX), Just(u64::MAX << 32)], 70 * 4),
    ) {
        let (modulus, values) = word.split_at(70);
        let mut n = modulus[..limbs].to_vec();
        n[0] |= 1;
        n[limbs - 1] = top;
        if n.len() == 4 {
            n[3] |= 1 << 63;
        }
        for path in paths() {
            let modulus = OddModulus::new(&limbs::to_uint(&n), path).unwrap();
            check(&modulus, &IntegerBatch::from_words(limbs, values[..3 * limbs].to_vec()));
            if limbs <= 35 {
                let modulus = OddModulus::square_of(&limbs::to_uint(&n), path).unwrap();
                check(&modulus, &IntegerBatch::from_words(2 * limbs, values[..6 * limbs].to_vec()));
            }
        }
    }
}
