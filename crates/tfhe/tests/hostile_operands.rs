//! Operands that do not belong together, and messages and tables outside of their encodings. What fails changes nothing.

use crate::support::hostile::assert_names;
use crate::support::{INSECURE, keys, seed};
use ciphermill_lattice::{Csprng, NoiseDistribution, PolynomialSize};
use ciphermill_tfhe::ciphertext::LweElements;
use ciphermill_tfhe::dimension::{Decomposition, GlweDimension, LweDimension};
use ciphermill_tfhe::encoding::MAX_LEVELS;
use ciphermill_tfhe::gates::{Gate, evaluate};
use ciphermill_tfhe::ggsw::{GgswCiphertext, GgswShape};
use ciphermill_tfhe::glwe::{GlweCiphertext, GlweSecretKey};
use ciphermill_tfhe::lwe::LweCiphertext;
use ciphermill_tfhe::parameters::{TEST_SMALL_U32, TEST_SMALL_U64};
use ciphermill_tfhe::quarter_square::QuarterSquare;
use ciphermill_tfhe::{
    Backend, Ciphertext, ClientKey, Encoding, EncodingError, KeyForm, KeyOrder, KeyTag, ParameterSet, ParameterSpec,
    TestVector, TestVectorElements, TfheError, TorusWidth,
};

const SMALL: KeyOrder = KeyOrder::Small;
const BIG: KeyOrder = KeyOrder::Big;

fn encoding() -> Encoding {
    Encoding::unsigned(2, true).expect("few bits")
}

fn mismatch(error: &TfheError, quantity: &str, given: u64, expected: u64) {
    let TfheError::Mismatch { what, given: g, expected: e } = error else { panic!("{error}") };
    assert!(what.contains(quantity) && (*g, *e) == (given, expected), "{error}");
    assert_names(error, &[quantity, &format!("is {given} where {expected} is needed")]);
}

/// The refusal of an object of another key set, with both tags in their hexadecimal form.
fn stranger(error: &TfheError, quantity: &str, given: KeyTag, expected: KeyTag) {
    let TfheError::KeySet { what, given: g, expected: e } = error else { panic!("{error}") };
    assert!(what.contains(quantity) && (*g, *e) == (given, expected), "{error}");
    assert_names(error, &[quantity, &format!("is {:016x} where {:016x} is needed", given.0, expected.0)]);
}

#[test]
fn ciphertexts_and_tables_of_another_key_do_not_bootstrap() {
    let [ours, theirs] = [1, 4].map(|byte| keys(TEST_SMALL_U64, KeyForm::Seeded, byte));
    let narrow = ClientKey::generate(&ParameterSet::named(TEST_SMALL_U32, INSECURE).expect("a named set"), &seed(1));
    assert_eq!(narrow.tag(), ours.client.tag(), "one seed, one tag: only the sizes tell the sets apart");
    let server = ours.load(Backend::Fft);
    let table = ours.client.parameters().test_vector(&encoding(), &encoding(), |m| m).expect("a table");
    let mut rng = Csprng::from_secret(&seed(7), 0);
    let (given, expected) = (theirs.client.tag(), ours.client.tag());
    for choice in [SMALL, BIG] {
        let foreign = theirs.client.encrypt(&encoding(), 1, choice, &mut rng).expect("in range");
        let sound = ours.client.encrypt(&encoding(), 1, choice, &mut rng).expect("in range");
        let tag = "key tag of the ciphertext";
        stranger(&server.bootstrap(&foreign, &table).expect_err("another key"), tag, given, expected);
        stranger(&server.keyswitch(&foreign).expect_err("another key"), tag, given, expected);
        stranger(&ours.client.decrypt(&encoding(), &foreign).expect_err("another key"), tag, given, expected);
        let gate = evaluate(&server, Gate::And, &sound, &foreign).expect_err("another key");
        stranger(&gate, "key tag", given, expected);

        // A ciphertext that claims our tag and has another set's sizes.
        let forged = narrow.encrypt(&encoding(), 1, choice, &mut rng).expect("in range");
        match choice {
            // Small ciphertexts of both sets have 97 words of 32 bits: sizes do not distinguish them.
            SMALL => assert_eq!(forged.dimension(), sound.dimension()),
            BIG => mismatch(&server.bootstrap(&forged, &table).expect_err("width"), "torus width", 32, 64),
        }
    }
    let small = ours.client.encrypt(&encoding(), 1, SMALL, &mut rng).expect("in range");
    mismatch(&server.keyswitch(&small).expect_err("small already"), "LWE dimension", 96, 1024);
    let wrong = [
        (SMALL, LweElements::U32(LweCiphertext::trivial(0, LweDimension(95))), "LWE dimension", 95, 96),
        (SMALL, LweElements::U64(LweCiphertext::trivial(0, LweDimension(96))), "torus width", 64, 32),
        (SMALL, LweElements::U32(LweCiphertext::trivial(0, LweDimension(1024))), "LWE dimension", 1024, 96),
        (BIG, LweElements::U64(LweCiphertext::trivial(0, LweDimension(1025))), "LWE dimension", 1025, 1024),
        (BIG, LweElements::U32(LweCiphertext::trivial(0, LweDimension(1024))), "torus width", 32, 64),
        (BIG, LweElements::U64(LweCiphertext::trivial(0, LweDimension(0))), "LWE dimension", 0, 1024),
    ];
    for (choice, elements, quantity, given, expected) in wrong {
        let forged = Ciphertext::new(ours.client.tag(), choice, elements);
        mismatch(&server.bootstrap(&forged, &table).expect_err("forged"), quantity, given, expected);
        if quantity == "LWE dimension" {
            mismatch(&ours.client.decrypt(&encoding(), &forged).expect_err("forged"), quantity, given, expected);
        }
    }
}

#[test]
fn tables_of_another_size_do_not_bootstrap() {
    let keys = keys(TEST_SMALL_U64, KeyForm::Seeded, 1);
    let server = keys.load(Backend::Ntt);
    let input = keys.client.parameters().trivial(&encoding(), 1, SMALL, keys.client.tag()).expect("in range");
    let trivial = |k: usize, n: usize| {
        let size = PolynomialSize::new(n).expect("a power of two");
        let glwe = GlweCiphertext::trivial(&vec![0; n], GlweDimension(k), size).expect("N coefficients");
        TestVector::new(TestVectorElements::U64(glwe), None)
    };
    let size = PolynomialSize::new(1024).expect("a power of two");
    let narrow = GlweCiphertext::trivial(&[0u32; 1024], GlweDimension(1), size).expect("N coefficients");
    for (table, quantity, given, expected) in [
        (trivial(1, 512), "polynomial size of the test vector", 512, 1024),
        (trivial(1, 2048), "polynomial size of the test vector", 2048, 1024),
        (trivial(2, 1024), "GLWE dimension of the test vector", 2, 1),
        (trivial(0, 1024), "GLWE dimension of the test vector", 0, 1),
        (TestVector::new(TestVectorElements::U32(narrow), None), "torus width of the test vector", 32, 64),
    ] {
        mismatch(&server.bootstrap(&input, &table).expect_err("another size"), quantity, given, expected);
        let checked = keys.client.parameters().check_test_vector(&table).expect_err("another size");
        mismatch(&checked, quantity, given, expected);
    }
}

/// A set in which the small and the big key have equally many bits, so that sizes do not distinguish them.
fn equal_dimensions() -> ParameterSet {
    let spec = ParameterSpec {
        torus: TorusWidth::U32,
        lwe_dimension: LweDimension(512),
        glwe_dimension: GlweDimension(1),
        polynomial_size: PolynomialSize::new(512).expect("a power of two"),
        pbs: Decomposition::new(7, 3),
        ..ParameterSet::named(TEST_SMALL_U32, INSECURE).expect("a named set").spec().clone()
    };
    ParameterSet::new(spec, INSECURE).expect("admissible")
}

#[test]
fn sums_of_what_does_not_belong_together() {
    let parameters = ParameterSet::named(TEST_SMALL_U64, INSECURE).expect("a named set");
    let [ours, theirs] = [1, 2].map(|byte| ClientKey::generate(&parameters, &seed(byte)));
    let equal = ClientKey::generate(&equal_dimensions(), &seed(1));
    let mut rng = Csprng::from_secret(&seed(8), 0);
    let mut encrypt = |client: &ClientKey, choice| client.encrypt(&encoding(), 2, choice, &mut rng).expect("in range");
    let (small, big) = (encrypt(&ours, SMALL), encrypt(&ours, BIG));
    let (equal_small, equal_big) = (encrypt(&equal, SMALL), encrypt(&equal, BIG));
    assert_eq!((equal_small.dimension(), equal_small.torus()), (equal_big.dimension(), equal_big.torus()));
    let widths = Ciphertext::new(ours.tag(), SMALL, LweElements::U64(LweCiphertext::trivial(0, LweDimension(96))));
    let longer = Ciphertext::new(ours.tag(), SMALL, LweElements::U32(LweCiphertext::trivial(0, LweDimension(97))));
    for (lhs, rhs) in [(&small, encrypt(&theirs, SMALL)), (&big, encrypt(&theirs, BIG))] {
        let mut sum = lhs.clone();
        stranger(&sum.add_assign(&rhs).expect_err("another key"), "key tag", theirs.tag(), ours.tag());
        stranger(&sum.sub_assign(&rhs).expect_err("another key"), "key tag", theirs.tag(), ours.tag());
    }
    let cases = [
        (&small, big.clone(), "key choice", 0, 1),
        (&big, small.clone(), "key choice", 1, 0),
        (&equal_small, equal_big.clone(), "key choice", 0, 1),
        (&small, widths, "torus width", 64, 32),
        (&small, longer, "LWE dimension", 97, 96),
    ];
    for (lhs, rhs, quantity, given, expected) in cases {
        let mut sum = lhs.clone();
        mismatch(&sum.add_assign(&rhs).expect_err(quantity), quantity, given, expected);
        mismatch(&sum.sub_assign(&rhs).expect_err(quantity), quantity, given, expected);
        assert!(sum == *lhs, "a refused operation leaves its operand alone");
    }
}

#[test]
fn polynomials_of_another_size() {
    let size = |n| PolynomialSize::new(n).expect("a power of two");
    let key = GlweSecretKey::generate(GlweDimension(1), size(16), &mut Csprng::from_secret(&seed(1), 0));
    let noise = ParameterSet::named(TEST_SMALL_U64, INSECURE).expect("a named set").glwe_noise;
    let mut rng = Csprng::from_secret(&seed(2), 0);
    mismatch(&key.encrypt(&[0u64; 15], noise, &mut rng).expect_err("15"), "coefficients", 15, 16);
    let ours = key.encrypt(&[0u64; 16], noise, &mut rng).expect("N coefficients");
    let longer = GlweCiphertext::trivial(&[0u64; 32], GlweDimension(1), size(32)).expect("N coefficients");
    let deeper = GlweCiphertext::trivial(&[0u64; 16], GlweDimension(2), size(16)).expect("N coefficients");
    mismatch(&key.decrypt_phase(&longer).expect_err("N"), "polynomial size", 32, 16);
    mismatch(&key.decrypt_phase(&deeper).expect_err("k"), "GLWE dimension", 2, 1);
    let mut sum = ours.clone();
    mismatch(&sum.add_assign(&longer).expect_err("N"), "polynomial size", 32, 16);
    mismatch(&sum.sub_assign(&deeper).expect_err("k"), "GLWE dimension", 2, 1);
    assert!(sum == ours);
    let error = ours.extract(16).expect_err("degree");
    assert!(matches!(error, TfheError::Field { given: 16, min: 0, max: 15, .. }), "{error}");
    assert_names(&error, &["degree to extract is 16", "0 to 15"]);
    let ragged = GlweCiphertext::<u64>::from_coefficients(vec![0; 17], size(16)).expect_err("17");
    mismatch(&ragged, "remainder of the coefficients", 1, 0);
    let none = GlweCiphertext::<u64>::from_coefficients(vec![], size(16)).expect_err("none");
    assert_names(&none, &["number of polynomials (k + 1) is 0", "2 to 9"]);
    let shape = GgswShape {
        glwe_dimension: GlweDimension(1),
        polynomial_size: size(16),
        decomposition: Decomposition::new(8, 2),
    };
    let short = GgswCiphertext::<u64>::from_coefficients(vec![0; 127], shape).expect_err("127");
    mismatch(&short, "coefficients of the GGSW ciphertext", 127, 128);
}

#[test]
fn messages_outside_the_encoding() {
    let parameters = ParameterSet::named(TEST_SMALL_U64, INSECURE).expect("a named set");
    let client = ClientKey::generate(&parameters, &seed(1));
    let mut rng = Csprng::from_secret(&seed(3), 0);
    let signed = Encoding::signed(3, true).expect("few bits");
    for (encoding, min, max) in [(encoding(), 0, 3), (signed, -4, 3)] {
        for message in [min - 1, max + 1, i64::MIN, i64::MAX] {
            let expected = EncodingError::OutOfRange { given: message, min, max };
            let outside = [
                client.encrypt(&encoding, message, SMALL, &mut rng).map(drop),
                client.encrypt(&encoding, message, BIG, &mut rng).map(drop),
                parameters.trivial(&encoding, message, SMALL, KeyTag(0)).map(drop),
                encoding.encode::<u64>(message).map(drop).map_err(TfheError::from),
                // A table one of whose values is outside.
                parameters.test_vector(&encoding, &encoding, |m| if m == 1 { message } else { m }).map(drop),
            ];
            for outcome in outside {
                let error = outcome.expect_err("outside");
                assert!(matches!(&error, TfheError::Encoding(e) if *e == expected), "{error}");
                assert_names(&error, &[&message.to_string(), &format!("{min} to {max}")]);
            }
        }
        // The half of the torus that padding keeps free belongs to no message.
        let free = encoding.encode::<u64>(max).expect("a message").wrapping_add(3 << 61);
        let error = encoding.decode(free).expect_err("no message");
        assert!(matches!(error, EncodingError::OutOfRange { given, .. } if given > max), "{error}");
    }
}

#[test]
fn intervals_that_make_no_encoding() {
    let limit = MAX_LEVELS as i64;
    for (min, max) in [(1, 3), (-3, -1), (3, 2), (0, limit), (-limit, limit), (i64::MIN, i64::MAX)] {
        for padding in [false, true] {
            let error = Encoding::new(min, max, padding).expect_err("no encoding");
            assert_eq!(error, EncodingError::Interval { min, max });
            assert_names(&error, &[&min.to_string(), &max.to_string(), &limit.to_string()]);
        }
    }
    Encoding::new(0, limit - 1, true).expect("the largest");
    for bits in [21, 62, 63, 64, u32::MAX] {
        assert!(matches!(Encoding::unsigned(bits, true), Err(EncodingError::Interval { .. })), "{bits}");
        assert!(matches!(Encoding::signed(bits, true), Err(EncodingError::Interval { .. })), "{bits}");
    }
    assert!(matches!(Encoding::signed(0, true), Err(EncodingError::Interval { .. })));
}

#[test]
fn tables_that_cannot_be_evaluated() {
    let parameters = ParameterSet::named(TEST_SMALL_U64, INSECURE).expect("a named set");
    let bare = Encoding::signed(3, false).expect("few bits");
    // f(m + 4) must be −f(m): with the sign it is, the identity fails at its first message.
    let sign = |m: i64| if m < 0 { -1 } else { 1 };
    parameters.test_vector(&bare, &bare, sign).expect("negacyclic");
    let error = parameters.test_vector(&bare, &bare, |m| m).expect_err("not negacyclic");
    let TfheError::Encoding(EncodingError::NotNegacyclic { message }) = error else { panic!("{error}") };
    assert!((-4..4).contains(&message));
    assert_names(&error, &[&message.to_string(), "use an encoding with padding"]);
    // An odd number of messages has no half turn.
    let odd = Encoding::new(-1, 1, false).expect("three messages");
    let error = parameters.test_vector(&odd, &odd, |_| 0).expect_err("odd");
    assert!(matches!(error, TfheError::Encoding(EncodingError::NotNegacyclic { message: -1 })), "{error}");
    // More places than phase indices.
    let fine = Encoding::unsigned(11, true).expect("few bits");
    let error = parameters.test_vector(&fine, &encoding(), |_| 0).expect_err("4096 places");
    assert!(matches!(error, TfheError::Field { given: 4096, max: 2048, .. }), "{error}");
    assert_names(&error, &["number of places", "is 4096", "1 to 2048"]);
}

#[test]
fn products_outside_their_range() {
    for name in [TEST_SMALL_U64, TEST_SMALL_U32] {
        let parameters = ParameterSet::named(name, INSECURE).expect("a named set");
        for choice in [SMALL, BIG] {
            let product = QuarterSquare::new(parameters.spec(), choice, -40.0).expect("some range");
            let max = product.max();
            for operand in [-1, max + 1, i64::MIN, i64::MAX] {
                let error = product.check(operand).expect_err("outside");
                assert_eq!(error, EncodingError::OutOfRange { given: operand, min: 0, max });
                assert_names(&error, &[&operand.to_string(), &format!("0 to {max}")]);
            }
            let mut noisy = parameters.spec().clone();
            noisy.lwe_noise = NoiseDistribution::Gaussian { std_dev: 0.01 };
            let error = QuarterSquare::new(&noisy, choice, -40.0).expect_err("too much noise");
            assert!(matches!(error, TfheError::NoRange { wanted: -40.0, .. }), "{error}");
            assert_names(&error, &["products of 0 and 1", "2^-40", "another parameter set"]);
        }
    }
}
