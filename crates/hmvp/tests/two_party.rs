//! Products of a matrix of one party with a vector that two share.

use crate::support::{Setting, numbers, product, rng, rngs};
use ciphermill_bfv::{BfvError, PublicKey, SecretKey};
use ciphermill_hmvp::two_party::{
    Guarantee, MaskOptions, Response, add_share, assess, encrypt_share, encrypt_share_public, mask, reconstruct, share,
};
use ciphermill_hmvp::{DenseMatrix, EncryptedVector, Encryption, HmvpError, Plan, Request, Strategy};
use ciphermill_lattice::SecretSeed;
use ciphermill_math::Isa;

fn request(rows: usize, cols: usize) -> Request {
    Request { unsplit: true, ..Request::new(rows, cols) }
}

/// Runs the protocol; gives A's answer.
fn run(setting: &mut Setting, options: &MaskOptions, matrix: &DenseMatrix, vector: &[i64]) -> Response {
    let t = setting.plan.context().t();
    let public = PublicKey::generate(&setting.secret).expect("a public key");
    let [a, b] = share(vector, t, &mut setting.rng).expect("shares");
    let encrypted = if setting.request().encryption == Encryption::Public {
        encrypt_share_public(&setting.plan, &public, &a, &mut setting.rng)
    } else {
        encrypt_share(&setting.plan, &setting.secret, &a, &mut setting.rng)
    };
    let sent = encrypted.expect("a vector").to_bytes();
    let encrypted = EncryptedVector::from_bytes(&setting.plan, &sent).expect("what was sent");
    let both = add_share(&encrypted, &b).expect("a vector");
    let masked = setting.multiply(&setting.prepare(matrix), &[&both]).remove(0);
    let (response, share_b) = mask(&masked, options, Some(&public), &mut setting.rng).expect("an answer");
    let sent = response.to_bytes();
    assert_eq!(sent.len() as u64, response.sealed_len());
    let response = Response::from_bytes(&setting.plan, &sent).expect("what was sent");
    assert_eq!(response.to_bytes(), sent);
    let share_a = response.decrypt(&setting.secret).expect("a share");
    let outcome = reconstruct([&share_a, &share_b], t).expect("shares");
    assert_eq!(outcome, product(matrix, matrix_rows(setting), vector), "{:?} with {options:?}", setting.request());
    response
}

fn matrix_rows(setting: &Setting) -> usize {
    setting.request().rows
}

#[test]
fn shares_of_every_strategy_make_the_product() {
    for strategy in Strategy::ALL {
        for (rows, cols) in [(1, 1), (50, 300)] {
            let mut setting = Setting::new(&Request { strategy: Some(strategy), ..request(rows, cols) });
            let (matrix, vector) = (setting.random_matrix(), setting.random_vector());
            run(&mut setting, &MaskOptions::plaintexts_only(), &matrix, &vector);
        }
    }
}

#[test]
fn public_keys_and_several_tiles() {
    let mut setting = Setting::new(&Request { encryption: Encryption::Public, ..request(4100, 4200) });
    let (matrix, vector) = (setting.random_matrix(), setting.random_vector());
    run(&mut setting, &MaskOptions { rerandomise: true, ..MaskOptions::plaintexts_only() }, &matrix, &vector);
}

#[test]
fn options_alone_and_together() {
    let flooding_bits = 40;
    let mut setting = Setting::new(&Request { flooding_bits, ..request(300, 256) });
    let (matrix, vector) = (setting.random_matrix(), setting.random_vector());
    let mut sizes = Vec::new();
    for (rerandomise, flooding_bits) in [(false, 0), (true, 0), (true, 1), (true, flooding_bits)] {
        for response_bits in [None, Some(45), Some(59)] {
            let options = MaskOptions { rerandomise, flooding_bits, response_bits };
            let assessment = assess(&setting.plan, &options).expect("room");
            println!("{options:?}: 2^{:.1}, {}", assessment.log2_failure, assessment.guarantee);
            assert!(assessment.log2_failure <= -64.0);
            let response = run(&mut setting, &options, &matrix, &vector);
            let left = response.noise_bits_left(&setting.secret).expect("noise");
            assert!(left > 0.0, "{left} bits left with {options:?}");
            sizes.push(response.sealed_len());
            match assessment.guarantee {
                Guarantee::PlaintextsOnly => assert!(!rerandomise),
                Guarantee::Rerandomised { hint_bits } => {
                    assert!(flooding_bits == 0 && (1.0..16.0).contains(&hint_bits))
                }
                Guarantee::Hidden { statistical_bits } => {
                    // Less what 300 entries and the rounding to a power of two cost.
                    let flooding_bits = f64::from(flooding_bits);
                    assert!(
                        statistical_bits > flooding_bits - 9.0 && statistical_bits < flooding_bits,
                        "{statistical_bits}"
                    );
                }
            }
        }
    }
    assert!(sizes[1] * 2 < sizes[0], "a response of 45 bits is less than half of one of Q");
}

/// A response of as few bits as are admitted is right, and has little left; one of fewer is refused with that number.
#[test]
fn the_least_response_is_right() {
    let mut setting = Setting::new(&request(1024, 256));
    let (matrix, vector) = (setting.random_matrix(), setting.random_vector());
    let options = |bits| MaskOptions { rerandomise: true, flooding_bits: 0, response_bits: Some(bits) };
    let least = (1..=59).find(|&bits| assess(&setting.plan, &options(bits)).is_ok()).expect("one that will do");
    let response = run(&mut setting, &options(least), &matrix, &vector);
    let full = run(&mut setting, &MaskOptions::plaintexts_only(), &matrix, &vector);
    let left = response.noise_bits_left(&setting.secret).expect("noise");
    println!(
        "{least} bits: {left:.1} bits of noise left, {} instead of {} bytes",
        response.sealed_len(),
        full.sealed_len()
    );
    assert!(left > 0.5 && left < 3.5, "{left} bits left of a response of {least} bits");
    assert!(response.sealed_len() < full.sealed_len());
    let error = assess(&setting.plan, &options(least - 1)).expect_err("too few bits").to_string();
    assert!(error.contains(&format!("2^{}", least - 1)) && error.contains(&format!("use {least} to")), "{error}");
    for bits in [0, 60, u32::MAX] {
        assert!(assess(&setting.plan, &options(bits)).is_err(), "{bits} bits");
    }
}

#[test]
fn masks_are_fresh_and_the_vector_stays_hidden_from_nobody_but_b() {
    for mut other in rngs() {
        let mut setting = Setting::new(&request(20, 30));
        let (matrix, vector) = (setting.random_matrix(), setting.random_vector());
        let t = setting.plan.context().t();
        let [a, b] = share(&vector, t, &mut other).expect("shares");
        let encrypted = encrypt_share(&setting.plan, &setting.secret, &a, &mut other).expect("a vector");
        let both = add_share(&encrypted, &b).expect("a vector");
        let masked = setting.multiply(&setting.prepare(&matrix), &[&both]).remove(0);
        let (_, first) = mask(&masked, &MaskOptions::plaintexts_only(), None, &mut other).expect("an answer");
        let (_, second) = mask(&masked, &MaskOptions::plaintexts_only(), None, &mut other).expect("an answer");
        assert!(first.iter().zip(&second).filter(|(x, y)| x == y).count() < 3, "two masks of one product");
    }
}

fn unsupported(result: Result<impl Sized, HmvpError>, parts: &[&str]) {
    match result.map(drop) {
        Err(HmvpError::Scheme(BfvError::Unsupported { what })) => {
            assert!(parts.iter().all(|part| what.contains(part)), "{parts:?} are not all in: {what}");
        }
        other => panic!("{other:?} instead of {parts:?}"),
    }
}

#[test]
fn what_the_protocol_does_not_offer_is_refused() {
    let mut setting = Setting::new(&request(8, 16));
    let (plan, matrix) = (setting.plan.clone(), setting.random_matrix());
    let t = plan.context().t();
    let mut rng = rng(3);
    let share_of = vec![1u64; 16];
    // Shares of another length or modulus.
    for wrong in [vec![1u64; 15], vec![t; 16], vec![u64::MAX; 16]] {
        assert!(encrypt_share(&plan, &setting.secret, &wrong, &mut rng).is_err());
    }
    let encrypted = encrypt_share(&plan, &setting.secret, &share_of, &mut rng).expect("a vector");
    assert!(add_share(&encrypted, &[0; 17]).is_err() && add_share(&encrypted, &[t; 16]).is_err());
    let public = PublicKey::generate(&setting.secret).expect("a public key");
    unsupported(encrypt_share_public(&plan, &public, &share_of, &mut rng), &["public key"]);
    // Keys of others.
    let foreign = SecretKey::generate(plan.context(), &SecretSeed::from_bytes([9; 32]));
    let foreign_public = PublicKey::generate(&foreign).expect("a public key");
    let masked = setting.multiply(&setting.prepare(&matrix), &[&encrypted]).remove(0);
    let rerandomise = MaskOptions { rerandomise: true, ..MaskOptions::plaintexts_only() };
    assert!(matches!(
        mask(&masked, &rerandomise, Some(&foreign_public), &mut rng),
        Err(HmvpError::Scheme(BfvError::WrongKey { .. }))
    ));
    unsupported(mask(&masked, &rerandomise, None, &mut rng), &["public key"]);
    let (response, _) = mask(&masked, &rerandomise, Some(&public), &mut rng).expect("an answer");
    assert!(matches!(response.decrypt(&foreign), Err(HmvpError::Scheme(BfvError::WrongKey { .. }))));
    // Flooding for which there is no room, or that would be in vain.
    unsupported(assess(&plan, &MaskOptions { flooding_bits: 8, ..rerandomise }), &["8", "room for 0"]);
    let roomy = Plan::new(&Request { flooding_bits: 20, ..request(8, 16) }, Isa::current()).expect("a plan");
    unsupported(
        assess(&roomy, &MaskOptions { flooding_bits: 8, ..MaskOptions::plaintexts_only() }),
        &["re-randomising"],
    );
    unsupported(assess(&roomy, &MaskOptions { flooding_bits: 21, ..rerandomise }), &["21", "room for 20"]);
    // A plan that may split entries.
    let mut split = Setting::new(&Request { matrix_bits: 16, vector_bits: 16, ..Request::new(8, 16) });
    unsupported(assess(&split.plan, &MaskOptions::plaintexts_only()), &["unsplit"]);
    unsupported(encrypt_share(&split.plan, &split.secret, &share_of, &mut rng), &["unsplit"]);
    let vector = split.random_vector();
    let vector = split.encrypt(&vector);
    unsupported(add_share(&vector, &share_of), &["unsplit"]);
    let matrix = split.random_matrix();
    let whole = split.multiply(&split.prepare(&matrix), &[&vector]).remove(0);
    unsupported(mask(&whole, &MaskOptions::plaintexts_only(), None, &mut rng), &["unsplit"]);
}

#[test]
fn damaged_responses_are_refused() {
    let mut setting = Setting::new(&request(8, 16));
    let (matrix, vector) = (setting.random_matrix(), numbers(&mut rng(8), 8, 16));
    let other = std::sync::Arc::new(Plan::new(&request(8, 17), Isa::current()).expect("a plan"));
    for response_bits in [None, Some(35)] {
        let options = MaskOptions { response_bits, ..MaskOptions::plaintexts_only() };
        let sent = run(&mut setting, &options, &matrix, &vector).to_bytes();
        for at in (0..sent.len()).step_by(sent.len() / 97) {
            let mut damaged = sent.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(Response::from_bytes(&setting.plan, &damaged).is_err(), "byte {at} changed");
            assert!(Response::from_bytes(&setting.plan, &sent[..at]).is_err(), "{at} bytes");
        }
        assert!(Response::from_bytes(&setting.plan, &[&sent[..], &[0]].concat()).is_err(), "one byte more");
        assert!(matches!(Response::from_bytes(&other, &sent), Err(HmvpError::WrongPlan { .. })));
        // A response's head with good checksums: the bits, then a reserved byte.
        let head = 24 + 2 + setting.plan.to_bytes().len() - 28 + 8;
        for (at, values) in [(head, &[1u8, 44, 46, 60, 255][..]), (head + 1, &[1])] {
            for &value in values {
                let mut body = sent[24..sent.len() - 4].to_vec();
                body[at - 24] = value;
                let forged = ciphermill_wire::seal(ciphermill_bfv::serial::RESPONSE, 1, &body);
                assert!(Response::from_bytes(&setting.plan, &forged).is_err(), "byte {at} is {value}");
            }
        }
    }
}

#[test]
fn streamed_matrices_and_other_paths_serve_two_parties_too() {
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let mut setting = Setting::on(&request(100, 64), isa, 2);
        let (matrix, vector) = (setting.random_matrix(), setting.random_vector());
        run(&mut setting, &MaskOptions { rerandomise: true, ..MaskOptions::plaintexts_only() }, &matrix, &vector);
        let t = setting.plan.context().t();
        let [a, b] = share(&vector, t, &mut setting.rng).expect("shares");
        let encrypted = encrypt_share(&setting.plan, &setting.secret, &a, &mut setting.rng).expect("a vector");
        let both = add_share(&encrypted, &b).expect("a vector");
        let streamed = setting.keys.multiply_streamed(&matrix, &both).expect("a product");
        let (response, share_b) =
            mask(&streamed, &MaskOptions::plaintexts_only(), None, &mut setting.rng).expect("an answer");
        let share_a = response.decrypt(&setting.secret).expect("a share");
        assert_eq!(reconstruct([&share_a, &share_b], t).expect("shares"), product(&matrix, 100, &vector));
    }
}

/// No option that is admitted makes an answer wrong more often than its plan allows, and the least admitted response bits are
/// the least that keep the bound.
#[test]
fn admitted_options_keep_the_plans_failure_probability() {
    for (flooding_bits, log2_failure, rows) in
        [(0, -64.0, 1), (0, -1.0, 300), (8, -40.0, 64), (20, -64.0, 64), (64, -128.0, 20)]
    {
        let request = Request { unsplit: true, flooding_bits, log2_failure, ..Request::new(rows, 100) };
        let plan = Plan::new(&request, Isa::current()).expect("a plan");
        let (mut admitted, mut refused) = (0, 0);
        for rerandomise in [false, true] {
            for flooding_bits in [0, flooding_bits / 2, flooding_bits] {
                for response_bits in (1..=59).map(Some).chain([None]) {
                    let options = MaskOptions { rerandomise, flooding_bits, response_bits };
                    match assess(&plan, &options) {
                        Ok(assessment) => {
                            admitted += 1;
                            // The bound of the noise is found to 10^-9 of its logarithm.
                            let slack = log2_failure.abs() * 1e-9;
                            assert!(assessment.log2_failure <= log2_failure + slack, "{options:?}: {assessment:?}");
                        }
                        Err(error) => {
                            refused += 1;
                            assert!(response_bits.is_some() || !rerandomise, "{options:?}: {error}");
                        }
                    }
                }
            }
        }
        assert!(admitted > 10 && refused > 10, "{request:?}: {admitted} admitted, {refused} refused");
        assert_eq!(
            MaskOptions::strongest(&plan),
            MaskOptions { rerandomise: true, flooding_bits, response_bits: None }
        );
        assess(&plan, &MaskOptions::strongest(&plan)).expect("the plan has room for it");
    }
}
