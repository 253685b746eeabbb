//! Operands that do not belong together are refused, with the bound that they violate.

use crate::evaluation_support::{LIMBS, Party, set};
use crate::support::{plaintext, seed};
use ciphermill_bfv::{BfvError, Ciphertext, Plaintext, RelinearizationKey};
use ciphermill_math::Isa;

struct Fixture {
    party: Party,
    relinearization: RelinearizationKey,
    message: Plaintext,
    /// By limbs − 1.
    levels: Vec<Ciphertext>,
    three: Ciphertext,
}

fn fixture(t: u64, n: usize, key: u8) -> Fixture {
    let mut party = Party::new(&set(n, &[40, 40], &[41], t, LIMBS), Isa::current(), &seed(key));
    let context = party.context.clone();
    let message = plaintext(&context, &mut party.rng);
    let levels: Vec<_> = (1..=3).map(|limbs| party.encrypt(&message, limbs)).collect();
    let three = context.multiply(&levels[1], &levels[1]).expect("two parts");
    let relinearization = RelinearizationKey::generate(&party.secret).expect("a special modulus");
    Fixture { party, relinearization, message, levels, three }
}

type Outcome = Result<Ciphertext, BfvError>;

fn wrong_key(outcome: Outcome) {
    let error = outcome.expect_err("another key");
    assert!(matches!(error, BfvError::WrongKey { .. }), "{error}");
}

fn wrong_parameters(outcome: Outcome) {
    let error = outcome.expect_err("another parameter set");
    assert!(matches!(error, BfvError::WrongParameters { .. }), "{error}");
}

fn wrong_length(outcome: Outcome, wrong: usize, right: usize) {
    let error = outcome.expect_err("another length");
    assert!(
        matches!(error, BfvError::Length { given, expected, .. } if (given, expected) == (wrong, right)),
        "{error}"
    );
}

fn out_of_range(outcome: Outcome, wrong: i128, least: i128, most: i128) {
    let error = outcome.expect_err("out of range");
    let expected = (wrong, least, most);
    assert!(matches!(error, BfvError::Range { given, min, max, .. } if (given, min, max) == expected), "{error}");
}

#[test]
fn operands_of_another_key_are_refused() {
    let (ours, theirs) = (fixture(97, 16, 1), fixture(97, 16, 2));
    let (context, x, y) = (&ours.party.context, &ours.levels[1], &theirs.levels[1]);
    wrong_key(context.add(x, y));
    wrong_key(context.sub(x, y));
    wrong_key(context.multiply(x, y));
    wrong_key(context.relinearize(&ours.three, &theirs.relinearization));
    wrong_key(context.automorphism(x, 3, &theirs.party.galois(&[3])));
    wrong_key(ours.party.secret.decrypt(y).map(|_| x.clone()));
}

#[test]
fn operands_of_another_set_are_refused() {
    for theirs in [fixture(101, 16, 1), fixture(97, 32, 1)] {
        let ours = fixture(97, 16, 1);
        let (context, x, y) = (&ours.party.context, &ours.levels[1], &theirs.levels[1]);
        for (x, y) in [(x, y), (y, x), (y, y)] {
            wrong_parameters(context.add(x, y));
            wrong_parameters(context.sub(x, y));
            wrong_parameters(context.multiply(x, y));
        }
        wrong_parameters(context.negate(y));
        wrong_parameters(context.add_plain(y, &ours.message));
        wrong_parameters(context.sub_plain(y, &ours.message));
        wrong_parameters(context.mul_plain(y, &ours.message));
        wrong_parameters(context.multiply_monomial(y, 1));
        wrong_parameters(context.switch_modulus(y, 1));
        wrong_parameters(context.relinearize(&theirs.three, &ours.relinearization));
        wrong_parameters(context.relinearize(&ours.three, &theirs.relinearization));
        wrong_parameters(context.automorphism(y, 3, &ours.party.galois(&[3])));
        wrong_parameters(context.automorphism(x, 3, &theirs.party.galois(&[3])));
    }
}

#[test]
fn plaintexts_of_another_set_are_refused() {
    let (ours, long) = (fixture(97, 16, 1), fixture(97, 32, 1));
    let (context, x) = (&ours.party.context, &ours.levels[1]);
    let large = fixture(193, 16, 1).party.context.plaintext(vec![100; 16]).expect("below 193");
    for outcome in [context.add_plain(x, &large), context.sub_plain(x, &large), context.mul_plain(x, &large)] {
        out_of_range(outcome, 100, 0, 96);
    }
    let m = &long.message;
    for outcome in [context.add_plain(x, m), context.sub_plain(x, m), context.mul_plain(x, m)] {
        wrong_length(outcome, 32, 16);
    }
}

#[test]
fn levels_and_parts_that_do_not_fit_are_refused() {
    let ours = fixture(97, 16, 1);
    let (context, [one, two, all]) = (&ours.party.context, [0, 1, 2].map(|i| &ours.levels[i]));
    let galois = ours.party.galois(&[3]);
    wrong_length(context.add(two, one), 1, 2);
    wrong_length(context.sub(one, two), 2, 1);
    wrong_length(context.multiply(one, two), 2, 1);
    // Keys are switched, and products made, below the special primes.
    out_of_range(context.multiply(all, all), 3, 1, 2);
    out_of_range(context.automorphism(all, 3, &galois), 3, 1, 2);
    wrong_length(context.multiply(&ours.three, two), 3, 2);
    wrong_length(context.multiply(two, &ours.three), 3, 2);
    wrong_length(context.relinearize(two, &ours.relinearization), 2, 3);
    wrong_length(context.automorphism(&ours.three, 3, &galois), 3, 2);
    for (ciphertext, limbs) in [(one, 1), (two, 2), (two, 3), (two, 0), (all, usize::MAX)] {
        let most = ciphertext.limb_count() as i128 - 1;
        out_of_range(context.switch_modulus(ciphertext, limbs), limbs as i128, 1, most);
    }
    assert_eq!(context.switch_modulus(&ours.three, 1).expect("a level below").parts().len(), 3);
}

#[test]
fn automorphisms_without_keys_are_refused() {
    let ours = fixture(97, 16, 1);
    let (context, x, galois) = (&ours.party.context, &ours.levels[1], ours.party.galois(&[3, 31]));
    let error = context.automorphism(x, 5, &galois).expect_err("no key for 5");
    assert!(matches!(&error, BfvError::MissingGaloisKeys { elements } if elements == &[5]), "{error}");
    for g in [0, 2, 16, 32, 33, 35, usize::MAX] {
        assert!(context.automorphism(x, g, &galois).is_err(), "{g} is no element");
    }
    let error = galois.require([31, 7, 3, 5, 7]).expect_err("no keys for 5 and 7");
    assert!(matches!(&error, BfvError::MissingGaloisKeys { elements } if elements == &[5, 7]), "{error}");
}
