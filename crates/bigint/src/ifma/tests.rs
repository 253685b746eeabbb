use ciphermill_testing::{Need, not_run};
use num_bigint::BigUint;

use super::*;
use crate::MAX_ENTRY_RATIO;
use crate::reference::big;
use ciphermill_math::Isa;
use ciphermill_math::memory::AlignedWords;

fn available() -> bool {
    let available = Isa::Avx512.has_ifma();
    if !available {
        not_run(Need::Cpu, "AVX-512 with IFMA");
    }
    available
}

fn value(digits: impl DoubleEndedIterator<Item = u64>) -> BigUint {
    digits.rev().fold(BigUint::ZERO, |value, digit| {
        assert!(digit >> DIGIT_BITS == 0, "a digit has 52 bits");
        (value << DIGIT_BITS) + digit
    })
}

/// One operand of one lane.
fn lane(words: &[u64], lane: usize) -> BigUint {
    value(words.iter().skip(lane).step_by(LANES).copied())
}

fn limbs_of(value: &BigUint, limbs: usize) -> Vec<u64> {
    let mut limbs_of = value.to_u64_digits();
    limbs_of.resize(limbs, 0);
    limbs_of
}

fn words(count: usize, seed: u64) -> Vec<u64> {
    let word =
        |i: u64| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (0..count as u64).map(word).collect()
}

/// 2^bits − 1 and 2^(bits−1) + 1, of as many limbs as they need.
fn moduli(bits: u32) -> [Vec<u64>; 2] {
    let one = BigUint::from(1u32);
    [(&one << bits) - 1u32, (&one << (bits - 1)) + 1u32].map(|n| limbs_of(&n, limbs::limbs_for(bits)))
}

/// Sizes with the least slack, with the most, and of every number of blocks that is in use.
const SIZES: [u32; 14] = [256, 512, 514, 515, 1024, 1034, 1035, 1536, 2048, 2074, 3072, 4096, 6144, 8192];

#[test]
fn constants_are_as_defined() {
    if !available() {
        return;
    }
    for n in SIZES.into_iter().flat_map(moduli) {
        let modulus = Modulus::new(&n);
        let of = |digits: &[u64]| value(digits.iter().copied());
        let block = BigUint::from(1u32) << (DIGIT_BITS as usize * TILE);
        assert_eq!(of(&modulus.n), big(&n));
        assert_eq!(of(&modulus.thrice), big(&n) * 3u32);
        assert_eq!(of(&modulus.multiple) * &block, of(&modulus.factor) * big(&n) + 1u32);
        assert!(of(&modulus.factor) < block && big(&n) << SLACK_BITS < BigUint::from(1u32) << modulus.radix_bits());
    }
}

/// Operands at their greatest, 3n − 1, give results below 3n: the bounds in the documentation hold where they are tight.
#[test]
fn greatest_operands_stay_in_bounds() {
    if !available() {
        return;
    }
    for n in SIZES.into_iter().flat_map(moduli) {
        let (plain, square) = (Plain::new(&n), Square::new(&n));
        let (words, big_n) = (plain.modulus.words(), big(&n));
        let greatest = digits_of(&limbs_of(&(&big_n * 3u32 - 1u32), n.len() + 1), plain.modulus.digits());
        let radix = BigUint::from(1u32) << plain.modulus.radix_bits();
        let mut scratch = AlignedWords::zeroed(plain.scratch_words().max(square.scratch_words()));
        let (mut a, mut out) = (AlignedWords::zeroed(2 * words), AlignedWords::zeroed(2 * words));
        plain.modulus.fill(&mut a[..words], &greatest);
        plain.modulus.fill(&mut a[words..], &greatest);
        let below = |x: &BigUint| assert!(*x < &big_n * 3u32, "{} bits", big_n.bits());
        for squaring in [false, true] {
            for _ in 0..3 {
                let x = lane(&a[..words], 5);
                if squaring {
                    plain.square(&mut out[..words], &a[..words], &mut scratch);
                } else {
                    plain.multiply(&mut out[..words], &a[..words], &a[..words], &mut scratch);
                }
                let z = lane(&out[..words], 5);
                below(&z);
                assert_eq!(&z * &radix % &big_n, &x * &x % &big_n);
                // The pair x₀ − x₁·n.
                let (x0, x1) = (lane(&a[..words], 2), lane(&a[words..], 2));
                if squaring {
                    square.square(&mut out, &a, &mut scratch);
                } else {
                    square.multiply(&mut out, &a, &a, &mut scratch);
                }
                let (z0, z1) = (lane(&out[..words], 2), lane(&out[words..], 2));
                below(&z0);
                below(&z1);
                let modulus = &big_n * &big_n;
                let pair = |x0: &BigUint, x1: &BigUint| (x0 + &modulus * 3u32 - x1 * &big_n) % &modulus;
                let x = pair(&x0, &x1);
                assert_eq!(pair(&z0, &z1) * &radix % &modulus, &x * &x % &modulus);
                a.copy_from_slice(&out);
            }
            plain.modulus.fill(&mut a[..words], &greatest);
            plain.modulus.fill(&mut a[words..], &greatest);
        }
    }
}

/// What enters at its widest is below 3n, and comes out.
#[test]
fn widest_values_enter_in_bounds() {
    if !available() {
        return;
    }
    for n in SIZES.into_iter().flat_map(moduli) {
        let (plain, square) = (Plain::new(&n), Square::new(&n));
        let (words, big_n) = (plain.modulus.words(), big(&n));
        let limbs = MAX_ENTRY_RATIO * n.len();
        let rows = vec![u64::MAX; 3 * limbs];
        let mut scratch = AlignedWords::zeroed(square.scratch_words());
        let mut out = AlignedWords::zeroed(2 * words);
        let (mut low, mut high) = (vec![0; 3 * n.len()], vec![0; 3 * n.len()]);
        plain.enter(&mut out[..words], Rows { limbs, words: &rows }, &mut scratch);
        for l in 0..LANES {
            assert!(lane(&out[..words], l) < &big_n * 3u32);
        }
        plain.leave(&mut low, &mut [], &out[..words], &mut scratch);
        for row in low.chunks_exact(n.len()) {
            assert_eq!(big(row), big(&rows[..limbs]) % &big_n);
        }
        square.enter(&mut out, Rows { limbs, words: &rows }, &mut scratch);
        for part in out.chunks_exact(words) {
            for l in 0..LANES {
                assert!(lane(part, l) < &big_n * 3u32);
            }
        }
        square.leave(&mut low, &mut high, &out, &mut scratch);
        for (low, high) in low.chunks_exact(n.len()).zip(high.chunks_exact(n.len())) {
            assert!(big(low) < big_n && big(high) < big_n);
            assert_eq!(big(low) + big(high) * &big_n, big(&rows[..limbs]) % (&big_n * &big_n));
        }
        // Lanes without a row hold 1.
        let mut all = vec![0; LANES * n.len()];
        plain.enter(&mut out[..words], Rows { limbs, words: &rows }, &mut scratch);
        plain.leave(&mut all, &mut [], &out[..words], &mut scratch);
        for row in all.chunks_exact(n.len()).skip(3) {
            assert_eq!(big(row), BigUint::from(1u32));
        }
    }
}

#[test]
fn entries_are_chosen_per_lane() {
    if !available() {
        return;
    }
    for bits in [256, 1024, 1536] {
        let [n, _] = moduli(bits);
        let kernels: [Box<dyn Kernel>; 2] = [Box::new(Plain::new(&n)), Box::new(Square::new(&n))];
        for kernel in kernels {
            let (group, single, entries) = (kernel.group_words(), kernel.single_words(), 19);
            let table = words(group * entries, 3);
            let mut single_out = vec![0; single];
            let extracted = |group: &[u64], lane: usize| {
                let mut single = vec![0; single];
                kernel.extract(&mut single, group, lane);
                single
            };
            for shift in 0..entries {
                let index: Vec<u64> = (0..LANES).map(|l| ((7 * l + shift) % entries) as u64).collect();
                let mut outs = [(); 4].map(|()| vec![1; group]);
                kernel.select(&mut outs[0], &table, &index);
                kernel.select_public(&mut outs[1], &table, &index);
                kernel.select_single(&mut outs[2], &table, &index);
                kernel.select_single_public(&mut outs[3], &table, &index);
                for (l, &i) in index.iter().enumerate() {
                    let of_group = extracted(&table[i as usize * group..][..group], l);
                    let of_single = &table[i as usize * single..][..single];
                    assert!(extracted(&outs[0], l) == of_group && extracted(&outs[1], l) == of_group);
                    assert!(extracted(&outs[2], l) == of_single && extracted(&outs[3], l) == of_single);
                }
                let same = [shift as u64; LANES];
                kernel.select_public(&mut outs[1], &table, &same);
                assert_eq!(outs[1], table[shift * group..][..group]);
                // Lanes of a table, for two groups at once.
                let lanes: Vec<u64> = (0..2 * LANES).map(|l| ((37 * l + shift) % (entries * LANES)) as u64).collect();
                let mut out = vec![0; 2 * group];
                kernel.select_lane(&mut out, &table, &lanes);
                for (l, &i) in lanes.iter().enumerate() {
                    let entry = extracted(&table[i as usize / LANES * group..][..group], i as usize % LANES);
                    assert_eq!(extracted(&out[l / LANES * group..][..group], l % LANES), entry);
                }
                kernel.insert(&mut out[..group], shift % LANES, &table[..single]);
                kernel.extract(&mut single_out, &out[..group], shift % LANES);
                assert_eq!(single_out, table[..single]);
            }
        }
    }
}
