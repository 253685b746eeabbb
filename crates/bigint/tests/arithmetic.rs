//! Both rings on every path against the plain definitions.

use ciphermill_bigint::reference::big;
use ciphermill_bigint::{Exponents, IntegerBatch, OddModulus, Path, limbs, reference};
use crypto_bigint::BoxedUint;
use num_bigint::BigUint;
use proptest::prelude::*;

/// `count` numbers of `limbs` limbs, some of them extreme.
fn numbers(limbs: usize, count: usize) -> impl Strategy<Value = Vec<u64>> {
    let word = prop_oneof![4 => any::<u64>(), 1 => Just(0), 1 => Just(u64::MAX)];
    prop::collection::vec(word, limbs * count)
}

fn check(bits: u32, square: bool, path: Path, modulus: &[u64], values: Vec<u64>, exponents: &[u64]) {
    let size = limbs::limbs_for(bits);
    let mut n = modulus.to_vec();
    n[0] |= 1;
    if !bits.is_multiple_of(64) {
        n[size - 1] &= (1 << (bits % 64)) - 1;
    }
    n[size - 1] |= 1 << ((bits - 1) % 64);
    let n_uint: BoxedUint = limbs::to_uint(&n);
    let ring = if square { OddModulus::square_of(&n_uint, path) } else { OddModulus::new(&n_uint, path) }.unwrap();
    let modulus = big(ring.value());
    assert_eq!(modulus, if square { big(&n) * big(&n) } else { big(&n) });
    let width = if square { 2 * size } else { size };
    let a = IntegerBatch::from_words(width, values);
    let x = ring.enter(&a).unwrap();
    let b = IntegerBatch::from_words(width, a.words().iter().rev().copied().collect());
    let y = ring.enter(&b).unwrap();
    let expect = |name: &str, got: &IntegerBatch, f: &dyn Fn(usize) -> BigUint| {
        assert_eq!(got.len(), a.len(), "{name}");
        for (i, row) in got.rows().enumerate() {
            assert_eq!(big(row), f(i), "{name}, {bits} bits, square {square}, {path}, row {i}");
        }
    };
    expect("enter", &ring.leave(&x), &|i| big(a.row(i)) % &modulus);
    let product = ring.multiply(&x, &y).unwrap();
    expect("multiply", &ring.leave(&product), &|i| reference::multiply(&big(a.row(i)), &big(b.row(i)), &modulus));
    expect("square", &ring.leave(&ring.square(&product)), &|i| {
        let p = big(a.row(i)) * big(b.row(i));
        reference::multiply(&p, &p, &modulus)
    });
    let rows = IntegerBatch::from_words(2, exponents[..2 * a.len()].to_vec());
    let each = Exponents::each(rows.clone(), 128).unwrap();
    expect("pow", &ring.leave(&ring.pow(&x, &each).unwrap()), &|i| big(a.row(i)).modpow(&big(rows.row(i)), &modulus));
    if square {
        let m = IntegerBatch::from_words(
            size,
            a.rows()
                .flat_map(|r| {
                    limbs::from_uint(
                        &(limbs::to_uint(&r[..size]) % crypto_bigint::NonZero::new(n_uint.clone()).unwrap()),
                        size,
                    )
                })
                .collect(),
        );
        let shifted = ring.multiply_unit(&product, &m).unwrap();
        expect("multiply_unit", &ring.leave(&shifted), &|i| {
            big(a.row(i)) * big(b.row(i)) * (big(&n) * big(m.row(i)) + 1u32) % &modulus
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn rings_equal_the_definition(
        bits in prop_oneof![Just(256u32), Just(512), Just(1024), 256u32..1100],
        count in 1usize..20,
        modulus in numbers(18, 1),
        values in numbers(36, 20),
        exponents in numbers(2, 20),
    ) {
        let size = limbs::limbs_for(bits);
        for path in ciphermill_testing::available(Path::ALL, |path| path.is_available()) {
            for square in [false, true] {
                let width = if square { 2 * size } else { size };
                check(bits, square, path, &modulus[..size], values[..width * count].to_vec(), &exponents);
            }
        }
    }
}
