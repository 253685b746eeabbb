//! Key switching with both kinds of gadgets at every level: its results, and its noise compared with the model.

use crate::evaluation_support::{LIMBS, bits, limbs, set};
use crate::support::{INSECURE, fresh_seed, secret_coefficients, seed};
use ciphermill_bfv::keys::GaloisRequest;
use ciphermill_bfv::noise::key_switch_variance;
use ciphermill_bfv::{BfvError, Context, Gadget, GaloisKeys, ParameterSet, RelinearizationKey, SecretKey};
use ciphermill_lattice::rns::{Coefficients, RnsPoly};
use ciphermill_lattice::{MaskStream, PublicSeed, SecretSeed};
use ciphermill_math::Isa;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// A uniform polynomial.
fn uniform(context: &Context, limbs: usize, seed: [u8; 32]) -> RnsPoly<Coefficients> {
    context.basis(limbs).uniform(&mut MaskStream::new(&PublicSeed(seed), limbs as u64))
}

/// The coefficients of u_0 + u_1·s − poly·s′.
fn errors(
    context: &Context,
    secret: &[i64],
    from: &RnsPoly<Coefficients>,
    poly: &RnsPoly<Coefficients>,
    switched: &[RnsPoly<Coefficients>; 2],
) -> Vec<BigInt> {
    let basis = context.basis(poly.limb_count());
    let product = |x: &RnsPoly<Coefficients>, y: &RnsPoly<Coefficients>| {
        let mut product = basis.forward(x.clone());
        basis.multiply(&mut product, &basis.forward(y.clone()));
        basis.inverse(product)
    };
    let mut error = product(&switched[1], &basis.from_signed(secret));
    basis.add_assign(&mut error, &switched[0]);
    basis.sub_assign(&mut error, &product(poly, from));
    (0..context.n()).map(|i| basis.compose(&error, i)).collect()
}

fn std_dev(errors: &[BigInt]) -> f64 {
    let squares: f64 = errors.iter().map(|x| x.to_f64().expect("finite").powi(2)).sum();
    (squares / errors.len() as f64).sqrt()
}

/// Least number of coefficients of a standard deviation. The rounding errors times the secret depend on each other: the
/// standard deviation of N coefficients has the relative error 1/√N, so that of 2048 is 13 such errors below a bound of 1.3.
const COEFFICIENTS: usize = 2048;

/// Switches from σ_g(s) at every level; the standard deviation of the added noise is between `least` and `most` of the
/// model's.
fn check(set: &ParameterSet, gadget: Gadget, isa: Isa, key_seed: &SecretSeed, least: f64, most: f64) {
    let context = Context::new(set, isa).expect("an available path");
    let secret = SecretKey::generate(&context, key_seed);
    let coefficients = secret_coefficients(&secret);
    let g = 5;
    let galois = GaloisKeys::generate(&secret, &[GaloisRequest { element: g, gadget }]).expect("a special modulus");
    let key = galois.get(g).expect("the key");
    assert_eq!((key.gadget(), key.tag(), key.parameter_id()), (gadget, secret.tag(), set.id()));
    assert_eq!(key.digits().len(), context.digit_count(gadget, context.top()).expect("a gadget that fits"));
    for limbs in 1..=context.top() {
        let basis = context.basis(limbs);
        let from = basis.automorphism(&basis.from_signed(&coefficients), g);
        let what = format!("N = {}, {gadget:?}, {limbs} limbs, {isa}", context.n());
        let (mut direct, mut hoisted) = (Vec::new(), Vec::new());
        for index in 0..COEFFICIENTS.div_ceil(context.n()) as u8 {
            let poly = uniform(&context, limbs, [16 * index + limbs as u8; 32]);
            let switched = context.key_switch(&poly, key);
            assert!(switched.iter().all(|part| basis.is_canonical(part)));
            direct.extend(errors(&context, &coefficients, &from, &poly, &switched));

            // In two steps, with the automorphism of the digits in between, from σ_g(s) again: of σ_g(poly).
            let digits = context.decompose(&poly, gadget);
            let extended = context.extended(limbs);
            let divide = |part| context.mod_down(limbs).apply(extended.inverse(part));
            assert!(context.key_switch_extended(&digits, key, 1).map(divide) == switched, "{what}");
            let moved = context.key_switch_extended(&digits, key, g).map(divide);
            let moved_poly = basis.automorphism(&poly, g);
            hoisted.extend(errors(&context, &coefficients, &from, &moved_poly, &moved));
            if gadget == LIMBS {
                // Digits that are odd functions of the polynomial commute with automorphisms.
                assert!(context.key_switch(&moved_poly, key) == moved, "{what}, hoisted");
            }
        }
        let model = key_switch_variance(set, gadget, limbs).sqrt();
        for (what, errors) in [(what.clone(), direct), (format!("{what}, hoisted"), hoisted)] {
            let got = std_dev(&errors);
            println!("{what}: standard deviation {got:.2}, model {model:.2}");
            assert!((least * model..most * model).contains(&got), "{what}: {got} instead of {model}");
        }
    }
}

#[test]
fn switching_adds_the_noise_of_the_model_at_every_level() {
    let fresh = fresh_seed();
    // Of the two digits of 20 bits of a limb of 36 the upper one is smaller than the model says.
    let gadgets =
        [(LIMBS, 0.8, 1.2), (limbs(2), 0.8, 1.2), (limbs(3), 0.8, 1.2), (bits(9), 0.8, 1.2), (bits(20), 0.5, 1.2)];
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        for (gadget, least, most) in gadgets {
            let one = set(512, &[36, 36, 36, 36], &[37], 97, LIMBS);
            let three = set(512, &[36, 36, 36, 36], &[37, 37, 37], 97, LIMBS);
            check(&three, gadget, isa, &seed(31), least, most);
            if gadget != limbs(2) && gadget != limbs(3) {
                check(&one, gadget, isa, &seed(32), least, most);
                check(&one, gadget, isa, &fresh, least, most);
            }
        }
    }
}

/// Digits of up to 32 bits, and primes far smaller and far larger than they are.
#[test]
fn digits_may_be_larger_than_a_prime() {
    let small = set(256, &[61, 24, 40], &[61, 20], 97, LIMBS);
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        for base_log in [1, 7, 31, 32] {
            check(&small, bits(base_log), isa, &seed(33), 0.4, 1.3);
        }
        for per_digit in [1, 2, 3] {
            check(&small, limbs(per_digit), isa, &seed(34), 0.5, 1.3);
        }
    }
}

/// The sets at full size that switch keys, with their own gadgets and others.
#[test]
fn full_sizes_switch_with_the_noise_of_the_model() {
    let named = |name| ParameterSet::named(name, INSECURE).expect("a named set");
    for (name, gadget, least) in [
        ("BFV_2048", bits(18), 0.9),
        ("CHAM_PAPER", LIMBS, 0.9),
        ("BFV_4096", LIMBS, 0.9),
        ("BFV_4096", bits(12), 0.9),
        ("BFV_4096_128", LIMBS, 0.9),
        ("BFV_2048_128", bits(17), 0.9),
        ("BFV_8192", LIMBS, 0.9),
        ("BFV_8192", bits(22), 0.9),
    ] {
        check(&named(name), gadget, Isa::current(), &seed(35), least, 1.1);
    }
}

#[test]
fn gadgets_that_do_not_fit_are_refused() {
    let with = set(16, &[30, 30], &[31], 97, LIMBS);
    let without = set(16, &[30, 30], &[], 97, LIMBS);
    let secret = |set: &ParameterSet| {
        SecretKey::generate(&Context::new(set, Isa::current()).expect("an available path"), &seed(36))
    };
    let key = secret(&with);
    let context = key.context();
    assert_eq!(context.digit_count(LIMBS, 2).expect("fits"), 2);
    assert_eq!(context.digit_count(limbs(2), 2).expect("fits"), 1);
    assert_eq!(context.digit_count(limbs(2), 1).expect("fits"), 1);
    assert_eq!(context.digit_count(bits(7), 2).expect("fits"), 10);
    assert_eq!(context.digit_count(bits(32), 1).expect("fits"), 1);
    for gadget in [limbs(0), limbs(3), limbs(usize::MAX), bits(0), bits(33), bits(usize::MAX)] {
        let request = GaloisRequest { element: 3, gadget };
        assert!(matches!(context.digit_count(gadget, 2), Err(BfvError::Range { .. })), "{gadget:?}");
        assert!(matches!(GaloisKeys::generate(&key, &[request]), Err(BfvError::Range { .. })), "{gadget:?}");
    }
    for level in [0, 3, usize::MAX] {
        assert!(matches!(context.digit_count(LIMBS, level), Err(BfvError::Range { .. })), "{level} limbs");
    }
    let key = secret(&without);
    assert!(matches!(RelinearizationKey::generate(&key), Err(BfvError::Unsupported { .. })));
    assert!(matches!(key.context().digit_count(LIMBS, 1), Err(BfvError::Unsupported { .. })));
}
