//! Every operation on ciphertexts against the same operation on plaintexts, computed term by term.

use crate::evaluation_support::{LIMBS, Party, bits, limbs, negative, product, set, substituted, sum};
use crate::support::{fresh_seed, plaintext, rng, seed};
use ciphermill_bfv::{Ciphertext, Context, GaloisKeys, ParameterSet, RelinearizationKey};
use ciphermill_lattice::SecretSeed;
use ciphermill_math::Isa;
use proptest::prelude::*;

/// Small sets of every kind: gadgets, special primes, plaintext moduli that are prime, even and powers of two, limbs for
/// each strategy of transforms. Two limbs hold a product.
fn small_sets() -> Vec<ParameterSet> {
    vec![
        set(16, &[30, 30, 30], &[31], 2, LIMBS),
        set(16, &[40, 41], &[42], 65537, bits(14)),
        set(32, &[50, 49, 48, 47], &[55, 50], 1 << 16, limbs(2)),
        set(32, &[36, 36, 36], &[18], 257, bits(9)),
        set(64, &[60, 61], &[61], (1 << 30) - 1, bits(32)),
        set(64, &[46, 46, 46], &[46, 46, 46], 786_433, limbs(3)),
    ]
}

/// The results for the plaintexts of one set and level.
fn check_operations(party: &mut Party, relinearization: &RelinearizationKey, galois: &GaloisKeys, level: usize) {
    let (context, t, n) = (party.context.clone(), party.context.t(), party.context.n());
    let [x, y] = [0, 1].map(|_| plaintext(&context, &mut party.rng));
    let [cx, cy] = [&x, &y].map(|x| party.encrypt(x, level));
    let [mx, my] = [&x, &y].map(|x| x.coefficients().to_vec());
    let check = |what: &str, ciphertext: Result<Ciphertext, _>, parts: usize, expected: Vec<u64>| {
        let ciphertext = ciphertext.expect(what);
        assert_eq!(ciphertext.parts().len(), parts, "parts of {what}");
        let (name, isa) = (&context.parameters().spec(), context.isa());
        assert_eq!(party.decrypt(&ciphertext), expected, "{what} at {level} limbs of {name:?}, {isa}");
    };
    let minus_y = negative(t, &my);
    check("sum", context.add(&cx, &cy), 2, sum(t, &mx, &my));
    check("difference", context.sub(&cx, &cy), 2, sum(t, &mx, &minus_y));
    check("negative", context.negate(&cy), 2, minus_y.clone());
    check("sum with a plaintext", context.add_plain(&cx, &y), 2, sum(t, &mx, &my));
    check("difference with a plaintext", context.sub_plain(&cx, &y), 2, sum(t, &mx, &minus_y));
    for e in [0, 1, n - 1, n, 2 * n - 1, 2 * n + 3] {
        check("product with a monomial", context.multiply_monomial(&cx, e), 2, substituted(t, &mx, 1, e));
    }
    if level < context.top().min(2) {
        return;
    }
    let expected = product(t, &mx, &my);
    check("product with a plaintext", context.mul_plain(&cx, &y), 2, expected.clone());
    for lower in 1..level {
        check("switched modulus", context.switch_modulus(&cx, lower), 2, mx.clone());
    }
    if level > context.top() {
        return;
    }
    let three = context.multiply(&cx, &cy).expect("operands of one level");
    check("product", Ok(three.clone()), 3, expected.clone());
    check("square", context.multiply(&cx, &cx), 3, product(t, &mx, &mx));
    check("relinearised product", context.relinearize(&three, relinearization), 2, expected.clone());
    check("product times −1", context.negate(&three), 3, negative(t, &expected));
    check("sum of three and two parts", context.add(&three, &cx), 3, sum(t, &expected, &mx));
    check("difference of two and three parts", context.sub(&cx, &three), 3, sum(t, &mx, &negative(t, &expected)));
    check("three parts plus a plaintext", context.add_plain(&three, &x), 3, sum(t, &expected, &mx));
    for g in galois.elements() {
        check("automorphism", context.automorphism(&cx, g, galois), 2, substituted(t, &mx, g, 0));
    }
    check("identity", context.automorphism(&cx, 1, galois), 2, mx.clone());
}

fn check_sets(isa: Isa, seed: &SecretSeed) {
    for set in small_sets() {
        let mut party = Party::new(&set, isa, seed);
        let n = party.context.n();
        let relinearization = RelinearizationKey::generate(&party.secret).expect("a special modulus");
        let galois = party.galois(&[3, 5, n - 1, n + 1, 2 * n - 1]);
        for level in 1..=party.context.chain().len() {
            check_operations(&mut party, &relinearization, &galois, level);
        }
    }
}

#[test]
fn operations_are_those_of_plaintexts_on_every_path() {
    let fresh = fresh_seed();
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        check_sets(isa, &seed(1));
        check_sets(isa, &fresh);
    }
}

/// The same keys and ciphertexts give the same words on every path.
#[test]
fn all_paths_compute_the_same_words() {
    for set in small_sets().into_iter().chain([set(512, &[46, 50, 60], &[60], 12289, LIMBS)]) {
        let results = ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()).into_iter().map(|isa| {
            let context = Context::new(&set, isa).expect("an available path");
            (context, isa)
        });
        let mut results = results.collect::<Vec<_>>().into_iter();
        let (first, _) = results.next().expect("at least the portable path");
        let mut party = Party::new(&set, first.isa(), &seed(2));
        let relinearization = RelinearizationKey::generate(&party.secret).expect("a special modulus");
        let galois = party.galois(&[5]);
        let [x, y] = [3, 4].map(|byte| {
            let plaintext = plaintext(&first, &mut rng(byte));
            party.encrypt(&plaintext, first.top())
        });
        let compute = |context: &Context, relinearization: &RelinearizationKey, galois: &GaloisKeys| {
            let product = context.multiply(&x, &y).expect("operands of one key");
            let product = context.relinearize(&product, relinearization).expect("three parts");
            let rotated = context.automorphism(&product, 5, galois).expect("a key for 5");
            let lower = context.switch_modulus(&rotated, 1).expect("more than one limb");
            [product, rotated, lower]
        };
        let expected = compute(&first, &relinearization, &galois);
        let bytes = [relinearization.to_bytes(&first), galois.to_bytes(&first)].map(|bytes| bytes.expect("this set"));
        for (context, isa) in results {
            // The order of spectra is a path's own; keys travel as coefficients.
            let relinearization = RelinearizationKey::from_bytes(&context, &bytes[0]).expect("sound bytes");
            let galois = GaloisKeys::from_bytes(&context, &bytes[1]).expect("sound bytes");
            assert!(compute(&context, &relinearization, &galois) == expected, "{isa} is not {}", first.isa());
        }
    }
}

/// σ_g(σ_h(m)) = σ_gh(m).
#[test]
fn automorphisms_compose() {
    let set = set(32, &[40, 40], &[41], 12289, LIMBS);
    let mut party = Party::new(&set, Isa::current(), &seed(5));
    let (context, n, t) = (party.context.clone(), 32, 12289);
    let all: Vec<usize> = (3..2 * n).step_by(2).collect();
    let galois = party.galois(&all);
    let message = plaintext(&context, &mut party.rng);
    let ciphertext = party.encrypt(&message, 2);
    let apply = |ciphertext: &Ciphertext, g| context.automorphism(ciphertext, g, &galois).expect("a key");
    for &h in &all {
        let once = apply(&ciphertext, h);
        for &g in &all {
            let expected = substituted(t, message.coefficients(), g * h % (2 * n), 0);
            assert_eq!(party.decrypt(&apply(&once, g)), expected, "σ_{g} of σ_{h}");
            assert_eq!(party.decrypt(&apply(&ciphertext, g * h % (2 * n))), expected, "σ_{g}·{h}");
        }
    }
}

/// One step of a random computation.
#[derive(Clone, Debug)]
enum Step {
    Add(Vec<u64>),
    SubPlain(Vec<u64>),
    MultiplyPlain(Vec<u64>),
    Multiply(Vec<u64>),
    Automorphism(usize),
    Monomial(usize),
    Down,
}

const T: u64 = 97;
const N: usize = 16;

fn message() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![proptest::collection::vec(0..T, N), Just(vec![T - 1; N]), Just(vec![T / 2; N]), Just(vec![0; N])]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        message().prop_map(Step::Add),
        message().prop_map(Step::SubPlain),
        message().prop_map(Step::MultiplyPlain),
        message().prop_map(Step::Multiply),
        (1..N).prop_map(|i| Step::Automorphism(2 * i + 1)),
        (0..4 * N).prop_map(Step::Monomial),
        Just(Step::Down),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn computations_of_any_steps_are_those_of_plaintexts(
        start in message(),
        steps in proptest::collection::vec(step(), 1..6),
        gadget in prop_oneof![(1usize..=3).prop_map(limbs), (4usize..=32).prop_map(bits)],
        key in any::<[u8; 32]>(),
    ) {
        // The special primes are as large as the digits of three limbs.
        let set = set(N, &[50, 50, 50], &[60, 60, 60], T, gadget);
        let mut party = Party::new(&set, Isa::current(), &SecretSeed::from_bytes(key));
        let context = party.context.clone();
        let relinearization = RelinearizationKey::generate(&party.secret).expect("a special modulus");
        let galois = party.galois(&(1..N).map(|i| 2 * i + 1).collect::<Vec<_>>());
        let encode = |x: &[u64]| context.plaintext(x.to_vec()).expect("below t");
        let (mut expected, mut ciphertext) = (start.clone(), party.encrypt(&encode(&start), 3));
        for step in steps {
            let limbs = ciphertext.limb_count();
            ciphertext = match step {
                Step::Add(x) => {
                    expected = sum(T, &expected, &x);
                    context.add(&ciphertext, &party.encrypt(&encode(&x), limbs))
                }
                Step::SubPlain(x) => {
                    expected = sum(T, &expected, &negative(T, &x));
                    context.sub_plain(&ciphertext, &encode(&x))
                }
                Step::MultiplyPlain(x) => {
                    expected = product(T, &expected, &x);
                    context.mul_plain(&ciphertext, &encode(&x))
                }
                Step::Multiply(x) => {
                    expected = product(T, &expected, &x);
                    let three = context.multiply(&ciphertext, &party.encrypt(&encode(&x), limbs));
                    context.relinearize(&three.expect("two parts"), &relinearization)
                }
                Step::Automorphism(g) => {
                    expected = substituted(T, &expected, g, 0);
                    context.automorphism(&ciphertext, g, &galois)
                }
                Step::Monomial(e) => {
                    expected = substituted(T, &expected, 1, e);
                    context.multiply_monomial(&ciphertext, e)
                }
                // Two limbs hold what five steps add.
                Step::Down => context.switch_modulus(&ciphertext, 2).or(Ok(ciphertext)),
            }
            .expect("operands of one key and level");
        }
        prop_assert_eq!(party.decrypt(&ciphertext), expected);
    }
}
