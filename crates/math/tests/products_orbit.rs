//! Spectra in orbit order: automorphisms are rotations.

use ciphermill_math::Isa;
use ciphermill_math::automorphism::{SpectrumAutomorphism, reference};
use ciphermill_math::modulus::ntt_primes;
use ciphermill_math::ntt::{NttEngine, PrimeNtt};
use ciphermill_math::products::{OrbitOrder, Rotation};

/// Residues that look random.
fn polynomial(seed: u64, n: usize, p: u64) -> Vec<u64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    (0..n).map(|_| ((u128::from(next()) * u128::from(p)) >> 64) as u64).collect()
}

fn engine(n: usize, bits: u32, isa: Isa) -> PrimeNtt {
    let p = ntt_primes(bits, n).next().expect("a prime");
    PrimeNtt::new(n, p.value(), isa).expect("an engine")
}

fn check(engine: &PrimeNtt, order: &OrbitOrder, g: usize) {
    let (n, p) = (engine.polynomial_size(), engine.modulus());
    let (c, name) = (order.step(), format!("{}, N = {n}, c = {}, g = {g}", engine.info(), order.step()));
    let spectrum = polynomial(g as u64, n, p);
    let (mut expected, mut orbit, mut given) = (vec![0; n], vec![0; n], vec![0; n]);
    SpectrumAutomorphism::new(engine, g).expect("an automorphism").apply(&spectrum, &mut expected);
    order.to_orbit(&spectrum, &mut orbit);

    let back = order.from_orbit_automorphism(g).expect("an automorphism");
    assert_eq!(back.automorphism().exponent(), g % (2 * n));
    back.apply(&orbit, &mut given);
    assert!(given == expected, "σ_g on the way back, {name}");
    let mut acc = vec![p - 1; n];
    back.accumulate(&orbit, &mut acc);
    let sums: Vec<u64> = expected.iter().map(|&x| (x + p - 1) % p).collect();
    assert!(acc == sums, "σ_g added on the way back, {name}");

    if g % c == 1 {
        let rotation = order.rotation(g);
        let mut rotated = vec![0; n];
        rotation.apply(&orbit, &mut rotated);
        order.from_orbit(&rotated, &mut given);
        assert!(given == expected, "rotation, {name}");
        assert!((0..n).all(|i| rotated[i] == orbit[rotation.source(i)]), "word by word, {name}");
    }
}

#[test]
fn automorphisms_are_rotations_for_every_exponent_of_small_sizes() {
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        for n in [16, 32, 64] {
            let engine = engine(n, 40, isa);
            for c in (1..=(2 * n).ilog2()).map(|log| 1 << log) {
                let order = OrbitOrder::new(&engine, c);
                (1..2 * n).step_by(2).for_each(|g| check(&engine, &order, g));
            }
        }
    }
}

#[test]
fn automorphisms_are_rotations_for_n_4096() {
    let engine = engine(4096, 46, Isa::best());
    for c in (1..=13).map(|log| 1 << log) {
        let order = OrbitOrder::new(&engine, c);
        for g in [1, 3, 5, 1 + c, 1 + 3 * c, 8192 - c + 1, 4097, 8191, 8192 + 1 + c] {
            check(&engine, &order, g);
        }
    }
}

/// The whole way: coefficients, transform, rotation, inverse.
#[test]
fn a_rotated_spectrum_is_that_of_the_permuted_polynomial() {
    let engine = engine(1024, 50, Isa::best());
    let a = polynomial(7, 1024, engine.modulus());
    let mut spectrum = a.clone();
    engine.forward_in_place(&mut spectrum);
    for (c, g) in [(2, 2047), (2, 3), (4, 5), (8, 2041), (256, 513), (2048, 1)] {
        let order = OrbitOrder::new(&engine, c);
        let (mut orbit, mut rotated, mut back) = (vec![0; 1024], vec![0; 1024], vec![0; 1024]);
        order.to_orbit(&spectrum, &mut orbit);
        order.rotation(g).apply(&orbit, &mut rotated);
        order.from_orbit(&rotated, &mut back);
        engine.inverse_in_place(&mut back);
        assert!(back == reference::modular(g, engine.modulus(), &a), "c = {c}, g = {g}");
    }
}

#[test]
#[should_panic(expected = "is not a rotation")]
fn other_automorphisms_are_no_rotations() {
    OrbitOrder::new(&engine(16, 40, Isa::Portable), 8).rotation(5);
}

#[test]
#[should_panic(expected = "is not a power of two")]
fn the_step_divides_2n() {
    OrbitOrder::new(&engine(16, 40, Isa::Portable), 64);
}

#[test]
fn even_exponents_are_refused() {
    let order = OrbitOrder::new(&engine(16, 40, Isa::Portable), 8);
    order.from_orbit_automorphism(4).expect_err("even");
}

#[test]
#[should_panic(expected = "other spectra")]
fn rotations_check_lengths() {
    Rotation { sequence: 8, offset: 3, swap: true }.apply(&[0; 32], &mut [0; 32]);
}
