//! Computing on slots at every full size, one pass each; depth; the noise that operations add.

use crate::evaluation_support::Party;
use crate::support::{INSECURE, fresh_seed, noise, plaintext, seed};
use ciphermill_bfv::encoding::BatchEncoder;
use ciphermill_bfv::noise::{ERROR_VARIANCE, rounding_variance};
use ciphermill_bfv::{Ciphertext, ParameterSet, RelinearizationKey};
use ciphermill_lattice::SecretSeed;
use ciphermill_math::Isa;
use num_traits::ToPrimitive;

fn party(name: &str, seed: &SecretSeed) -> (Party, BatchEncoder) {
    let party = Party::new(&ParameterSet::named(name, INSECURE).expect("a named set"), Isa::current(), seed);
    let encoder = BatchEncoder::new(&party.context).expect("a set with slots");
    (party, encoder)
}

/// Slots that a ciphertext decrypts to, with room for noise.
fn slots(party: &Party, encoder: &BatchEncoder, ciphertext: &Ciphertext, what: &str) -> Vec<i64> {
    let budget = party.secret.noise_budget(ciphertext).expect("a ciphertext of this key");
    println!("{}: {what} leaves {budget:.1} bits", party.context.parameters().name);
    assert!(budget > 0.5, "{what}");
    encoder.decode(&party.secret.decrypt(ciphertext).expect("a ciphertext of this key"))
}

/// The representative of x modulo t that slots have.
fn modulo(t: u64, x: i128) -> i64 {
    let x = x.rem_euclid(i128::from(t)) as i64;
    if x > (t as i64 - 1) / 2 { x - t as i64 } else { x }
}

/// The common checks of all sets: sums, small multiples, and as far as `products` and `rotations` say the rest.
fn check(name: &str, seed: &SecretSeed, products: bool, rotations: &[i64], swap: bool) {
    let (mut party, encoder) = party(name, seed);
    let (context, n, t) = (party.context.clone(), party.context.n(), party.context.t());
    let [x, y] = [0, 1].map(|_| plaintext(&context, &mut party.rng));
    let [sx, sy] = [&x, &y].map(|x| encoder.decode(x));
    let [cx, cy] = [&x, &y].map(|x| party.encrypt(x, context.top()));
    let each = |f: &dyn Fn(i128, i128) -> i128| -> Vec<i64> {
        sx.iter().zip(&sy).map(|(&x, &y)| modulo(t, f(x.into(), y.into()))).collect()
    };
    let check = |what: &str, ciphertext: &Ciphertext, expected: Vec<i64>| {
        assert!(slots(&party, &encoder, ciphertext, what) == expected, "{name}: {what}");
    };
    check("encryption", &cx, sx.clone());
    check("sum", &context.add(&cx, &cy).expect("one key"), each(&|x, y| x + y));
    check("difference", &context.sub_plain(&cx, &y).expect("one set"), each(&|x, y| x - y));
    let three = context.encode(&[-3]).expect("in range");
    check("multiple", &context.mul_plain(&cx, &three).expect("one set"), each(&|x, _| -3 * x));
    if products {
        check("product with a plaintext", &context.mul_plain(&cx, &y).expect("one set"), each(&|x, y| x * y));
        let key = RelinearizationKey::generate(&party.secret).expect("a special modulus");
        let product = context.multiply(&cx, &cy).expect("one key");
        check("product", &product, each(&|x, y| x * y));
        let product = context.relinearize(&product, &key).expect("three parts");
        check("relinearised product", &product, each(&|x, y| x * y));
        let limbs = context.top() - 1;
        check(
            "product with a limb less",
            &context.switch_modulus(&product, limbs).expect("a level"),
            each(&|x, y| x * y),
        );
    }
    // One key at a time: those of N = 32768 take 160 MB each.
    for &steps in rotations {
        let g = encoder.rotation(steps);
        let rotated = context.automorphism(&cx, g, &party.galois(&[g])).expect("a key");
        let mut expected = sx.clone();
        expected.chunks_exact_mut(n / 2).for_each(|row| row.rotate_left(steps.rem_euclid(n as i64 / 2) as usize));
        check(&format!("rotation by {steps}"), &rotated, expected);
    }
    if swap {
        let swapped = context.automorphism(&cx, encoder.row_swap(), &party.galois(&[encoder.row_swap()]));
        check("swap of rows", &swapped.expect("a key"), [&sx[n / 2..], &sx[..n / 2]].concat());
    }
}

#[test]
fn slots_are_computed_at_sizes_up_to_8192() {
    let fresh = fresh_seed();
    for seed in [&seed(51), &fresh] {
        check("BFV_1024_128", seed, false, &[], false);
        check("BFV_2048_128", seed, false, &[1, -5, 1000], true);
        check("BFV_4096_128", seed, true, &[1, -1, 77], true);
        check("BFV_8192_128", seed, true, &[1, -2, 4000, -4095], true);
    }
}

#[test]
fn slots_are_computed_at_size_16384() {
    check("BFV_16384_128", &seed(52), true, &[-3], true);
}

#[test]
fn slots_are_computed_at_size_32768() {
    check("BFV_32768_128", &seed(53), true, &[11], false);
}

/// Squares of squares, as deep as the noise allows.
#[test]
fn products_have_depth_at_8192() {
    let (mut party, encoder) = party("BFV_8192_128", &seed(54));
    let context = party.context.clone();
    let key = RelinearizationKey::generate(&party.secret).expect("a special modulus");
    let message = plaintext(&context, &mut party.rng);
    let mut expected = encoder.decode(&message);
    let mut ciphertext = party.encrypt(&message, context.top());
    let mut depth = 0;
    loop {
        let square = context.multiply(&ciphertext, &ciphertext).expect("one key");
        ciphertext = context.relinearize(&square, &key).expect("three parts");
        if party.secret.noise_budget(&ciphertext).expect("this key") < 1.0 {
            break;
        }
        depth += 1;
        expected.iter_mut().for_each(|x| *x = modulo(context.t(), i128::from(*x) * i128::from(*x)));
        assert!(slots(&party, &encoder, &ciphertext, &format!("depth {depth}")) == expected);
        // The lowest level that is still far above the noise does as well.
        if depth == 2 {
            let lower = context.switch_modulus(&ciphertext, 3).expect("a level below");
            assert!(slots(&party, &encoder, &lower, "depth 2 with a limb less") == expected);
        }
    }
    assert!(depth >= 4, "depth {depth}");
}

/// The standard deviation of the noise of `ciphertext`, which encrypts `expected`.
fn std_dev(party: &Party, ciphertext: &Ciphertext, expected: &[u64]) -> f64 {
    let expected = party.context.plaintext(expected.to_vec()).expect("below t");
    let noise = noise(&party.secret, ciphertext, &expected);
    let greatest = noise.iter().max_by_key(|x| x.magnitude().clone()).expect("N coefficients");
    assert!(party.secret.noise(ciphertext).expect("this key").magnitude() == greatest.magnitude());
    let squares: f64 = noise.iter().map(|x| x.to_f64().expect("finite").powi(2)).sum();
    (squares / noise.len() as f64).sqrt()
}

/// With noises e of variance σ² and c_0 + c_1·s = ⌊Q·m/t⌉ + e + k·Q over the integers, a product's noise is about
/// t·(e·k′ + e′·k) + e·m′ + e′·m: k has variance N/18 + 1/12 for a ternary s, m/t one of 1/12. A switch of the modulus
/// rounds, and divides the noise.
#[test]
fn products_and_modulus_switches_add_the_noise_that_they_should() {
    let fresh = fresh_seed();
    for seed in [&seed(55), &fresh] {
        let (mut party, _) = party("BFV_4096_128", seed);
        let (context, n, t) = (party.context.clone(), 4096.0, party.context.t() as f64);
        let [x, y] = [0, 1].map(|_| plaintext(&context, &mut party.rng));
        let [cx, cy] = [&x, &y].map(|x| party.encrypt(x, context.top()));

        let three = context.multiply(&cx, &cy).expect("one key");
        let product = party.secret.decrypt(&three).expect("this key").coefficients().to_vec();
        let got = std_dev(&party, &three, &product);
        let model = t * (2.0 * n * ERROR_VARIANCE * (n / 18.0 + 2.0 / 12.0)).sqrt();
        println!("product: standard deviation {got:.3e}, model {model:.3e}");
        assert!((0.9..1.1).contains(&(got / model)), "{got} instead of {model}");

        let plain = context.mul_plain(&cx, &y).expect("one set");
        let product = party.secret.decrypt(&plain).expect("this key").coefficients().to_vec();
        let got = std_dev(&party, &plain, &product);
        // The error and the rounding of the encoding, times a y of variance t²/12.
        let model = t * (n * (ERROR_VARIANCE + 1.0 / 12.0) / 12.0).sqrt();
        println!("product with a plaintext: standard deviation {got:.3e}, model {model:.3e}");
        assert!((0.9..1.1).contains(&(got / model)), "{got} instead of {model}");

        let lower = context.switch_modulus(&cx, 1).expect("a level below");
        let got = std_dev(&party, &lower, x.coefficients());
        let model = rounding_variance(n).sqrt();
        println!("modulus switch: standard deviation {got:.3}, model {model:.3}");
        assert!((0.9..1.1).contains(&(got / model)), "{got} instead of {model}");
    }
}
