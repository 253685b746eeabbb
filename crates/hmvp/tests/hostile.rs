//! Objects of products that do not belong together, and bytes that are not an object.

use std::sync::Arc;

use crate::support::{Setting, product};
use ciphermill_bfv::keys::GaloisRequest;
use ciphermill_bfv::{BfvError, GaloisKeys, SecurityPolicy};
use ciphermill_hmvp::{
    CpuEngine, DenseMatrix, EncryptedProduct, EncryptedVector, HmvpEngine, HmvpError, PlainMatrix, Plan, Request,
    SealedMatrix, Strategy,
};
use ciphermill_math::Isa;
use ciphermill_wire::{Header, seal};

const STRICT: SecurityPolicy = SecurityPolicy::Require128Bits;

/// An object's bytes and their reader.
type Reader<'a> = Box<dyn Fn(&[u8]) -> Result<(), HmvpError> + 'a>;

/// Every object of a product by `setting`, small enough to be damaged in many places.
fn objects(setting: &mut Setting) -> Vec<(&'static str, Vec<u8>, Reader<'static>)> {
    let (matrix, vector) = (setting.random_matrix(), setting.random_vector());
    let vector = setting.encrypt(&vector);
    let product = setting.keys.multiply(&setting.prepare(&matrix), &vector).expect("a product");
    let matrix = PlainMatrix::new(&setting.plan, &matrix).expect("a matrix");
    let (plan, other) = (setting.plan.clone(), setting.plan.clone());
    vec![
        (
            "plan",
            setting.plan.to_bytes(),
            Box::new(|bytes: &[u8]| Plan::from_bytes(bytes, STRICT, Isa::current()).map(drop)),
        ),
        ("vector", vector.to_bytes(), Box::new(move |bytes| EncryptedVector::from_bytes(&plan, bytes).map(drop))),
        ("product", product.to_bytes(), Box::new(move |bytes| EncryptedProduct::from_bytes(&other, bytes).map(drop))),
        ("matrix", matrix.to_bytes(), Box::new(|bytes: &[u8]| SealedMatrix::from_bytes(bytes, STRICT).map(drop))),
    ]
}

#[test]
fn every_length_and_flipped_bit_is_refused() {
    let mut setting = Setting::new(&Request::new(7, 5));
    for (what, bytes, read) in objects(&mut setting) {
        read(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        let step = (bytes.len() / 400).max(1);
        for len in (0..bytes.len()).step_by(step) {
            assert!(read(&bytes[..len]).is_err(), "{what} cut to {len}");
        }
        assert!(read(&[&bytes[..], &[0]].concat()).is_err(), "{what} and a byte");
        for at in (0..bytes.len()).step_by(step) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(read(&damaged).is_err(), "{what}, bit {} of byte {at}", at % 8);
        }
    }
}

/// Damage behind a right checksum: an error, or another object of the same plan, never a panic.
#[test]
fn sealed_damage_does_no_harm() {
    let mut setting = Setting::new(&Request::new(7, 5));
    for (what, bytes, read) in objects(&mut setting) {
        let header = Header::decode(&bytes).expect("an envelope");
        let body = &bytes[24..bytes.len() - 4];
        let reseal = |body: &[u8]| seal(header.kind, header.version, body);
        let mut refused = 0;
        for at in 0..body.len().min(300) {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = body.to_vec();
                damaged[at] ^= flip;
                refused += usize::from(read(&reseal(&damaged)).is_err());
            }
        }
        assert!(refused > 100, "{what}: {refused} refused");
        for len in (0..body.len()).step_by((body.len() / 200).max(1)) {
            assert!(read(&reseal(&body[..len])).is_err(), "{what}, body cut to {len}");
        }
        assert!(read(&reseal(&[body, &[0]].concat())).is_err(), "{what}, body and a byte");
    }
}

#[test]
fn what_belongs_to_others_is_refused() {
    let mut ours = Setting::on(&Request::new(300, 30), Isa::current(), 1);
    let theirs = Setting::on(&Request::new(300, 30), Isa::current(), 2);
    let mut wider = Setting::new(&Request::new(300, 31));
    let (matrix, values) = (ours.random_matrix(), ours.random_vector());
    let vector = ours.encrypt(&values);
    let engine = CpuEngine::new();
    let prepared = ours.prepare(&matrix);
    let result = theirs.keys.multiply(&prepared, &vector);
    assert!(matches!(result, Err(HmvpError::Scheme(BfvError::WrongKey { .. }))), "keys of another client");
    let product = ours.keys.multiply(&prepared, &vector).expect("ours");
    assert!(
        matches!(product.decrypt(&theirs.secret), Err(HmvpError::Scheme(BfvError::WrongKey { .. }))),
        "another client's secret key"
    );
    let other_values = wider.random_vector();
    let other_vector = wider.encrypt(&other_values);
    assert!(ours.keys.multiply(&prepared, &other_vector).is_err(), "a vector of another plan");
    assert!(wider.keys.multiply(&prepared, &vector).is_err(), "keys of another plan");
    // One bad vector among good ones: nothing partial.
    assert!(ours.keys.multiply_all(&prepared, &[&vector, &other_vector]).is_err());
    assert!(EncryptedVector::from_bytes(&ours.plan, &other_vector.to_bytes()).is_err());
    assert!(engine.prepare_matrix(&wider.plan, &matrix).is_err(), "a matrix of another shape");

    let requests = ours.plan.galois_requests();
    let some: Vec<GaloisRequest> = requests[1..].to_vec();
    let galois = GaloisKeys::generate(&ours.secret, &some).expect("keys");
    match engine.prepare(&ours.plan, &galois).map(drop) {
        Err(HmvpError::Scheme(BfvError::MissingGaloisKeys { elements })) => assert_eq!(elements, [requests[0].element]),
        other => panic!("{other:?}"),
    }
    for (rows, cols, entries) in [(300, 30, 8999), (0, 30, 0), (20, 20_000, 400_000)] {
        assert!(DenseMatrix::new(rows, cols, vec![0; entries]).is_err(), "{rows} × {cols} of {entries}");
    }
    for values in [vec![0; 29], vec![0; 31], vec![128; 30], vec![-129; 30], vec![i64::MIN; 30]] {
        assert!(EncryptedVector::encrypt(&ours.plan, &ours.secret, &values, &mut ours.rng).is_err(), "{values:?}");
    }
    let wide = DenseMatrix::new(300, 30, vec![128; 9000]).expect("a matrix");
    assert!(engine.prepare_matrix(&ours.plan, &wide).is_err(), "an entry that takes nine bits");
    assert!(PlainMatrix::new(&ours.plan, &wide).is_err(), "an entry that takes nine bits");
}

/// Wide entries are split, several vectors share a pass, and a streamed matrix gives a prepared one's products.
#[test]
fn splitting_several_vectors_and_streaming() {
    for strategy in Strategy::ALL {
        for (matrix_bits, vector_bits) in [(16, 16), (8, 16), (24, 10), (32, 20)] {
            let request = Request { strategy: Some(strategy), matrix_bits, vector_bits, ..Request::new(70, 40) };
            let mut setting = Setting::new(&request);
            let matrix = setting.random_matrix();
            let values: Vec<Vec<i64>> = (0..3).map(|_| setting.random_vector()).collect();
            let encrypted: Vec<EncryptedVector> = values.iter().map(|v| setting.encrypt(v)).collect();
            let encrypted: Vec<&EncryptedVector> = encrypted.iter().collect();
            let products = setting.keys.multiply_all(&setting.prepare(&matrix), &encrypted).expect("products");
            let streamed =
                |vector: &&EncryptedVector| setting.keys.multiply_streamed(&matrix, vector).expect("a product");
            for ((v, a), b) in values.iter().zip(&products).zip(encrypted.iter().map(streamed)) {
                let expected = product(&matrix, 70, v);
                assert_eq!(a.decrypt(&setting.secret).expect("our key"), expected, "{request:?}");
                assert_eq!(b.decrypt(&setting.secret).expect("our key"), expected, "{request:?}, streamed");
            }
            // By way of the stored forms, and a plan made again from the same request.
            let plan = Arc::new(Plan::new(&request, Isa::current()).expect("a plan"));
            let matrix = PlainMatrix::new(&setting.plan, &matrix).expect("in range").to_bytes();
            let matrix = PlainMatrix::from_bytes(&matrix, STRICT, Isa::current()).expect("own bytes");
            let matrix = CpuEngine::new().prepare_matrix(&plan, &matrix).expect("in range");
            let vector = EncryptedVector::from_bytes(&plan, &encrypted[0].to_bytes()).expect("own bytes");
            let sent = setting.keys.multiply(&matrix, &vector).expect("a product").to_bytes();
            let received = EncryptedProduct::from_bytes(&plan, &sent).expect("own bytes");
            assert_eq!(
                received.decrypt(&setting.secret).expect("our key"),
                products[0].decrypt(&setting.secret).unwrap()
            );
        }
    }
}
