//! Objects that are refused before they are stored.

use crate::state::{Fixture, KEY};
use crate::support::*;
use ciphermill_device::handlers;
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, HandlerError, SpaceId, StoreError, WriteOptions, handlers::tfhe::TfheHandler,
};
use ciphermill_program::{KeyId, VrId};
use ciphermill_tfhe::server_key::MAX_KEY_LEN;
use ciphermill_tfhe::{
    Backend, Ciphertext, ClientKey, CpuEngine, KeyForm, KeyOrder, KeySeeds, ParameterSet, SecurityPolicy,
    parameters::TEST_SMALL_U32,
};
use ciphermill_wire::{HEADER_LEN, Header, seal};
use std::sync::Arc;

fn write(id: VrId, bytes: &[u8]) -> impl FnOnce(&ciphermill_device::Space) -> Result<(), DeviceError> {
    move |space| space.write_bytes(id, bytes, WriteOptions::default()).map(drop)
}

fn is_invalid(error: &DeviceError) -> bool {
    matches!(error, DeviceError::Handler(HandlerError::Invalid { .. }))
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1;
    bytes
}

/// The object with another kind, body version or body.
fn resealed(bytes: &[u8], change: impl FnOnce(&mut Header, &mut Vec<u8>)) -> Vec<u8> {
    let mut header = Header::decode(bytes).expect("sealed");
    let mut body = bytes[HEADER_LEN..bytes.len() - 4].to_vec();
    change(&mut header, &mut body);
    seal(header.kind, header.version, &body)
}

#[test]
fn wrong_sizes() {
    let mut f = Fixture::in_memory();
    let operand = f.operand();
    let spec = f.keys.client.parameters().spec();
    let small = spec.sealed_ciphertext_len(KeyOrder::Small);
    let big = spec.sealed_ciphertext_len(KeyOrder::Big);
    let table = f.keys.table();
    let sizes = format!("{small} (small key) or {big} (big key)");
    for id in [x_of(KEY), y_of(KEY)] {
        for given in [1, small - 1, small + 1, big - 1, big + 1, 1 << 30] {
            let error = f.refuses(&[&id.to_string(), &sizes, &format!("{given} were given")], |space| {
                space.write(id, given, WriteOptions::default())
            });
            assert!(matches!(error, DeviceError::Handler(HandlerError::WrongSize { .. })), "{error}");
        }
        let error = f.refuses(&["at least one byte"], write(id, &[]));
        assert!(matches!(error, DeviceError::Store(StoreError::EmptyObject)), "{error}");
        // The declared size is right, and what comes is less or more.
        let error = f.refuses(&[&small.to_string(), "only 100"], |space| {
            let mut sink = space.write(id, small, WriteOptions::default())?;
            sink.push(&operand[..100])?;
            sink.commit()
        });
        assert!(matches!(error, DeviceError::Store(StoreError::Incomplete { written: 100, .. })), "{error}");
        let error = f.refuses(&[&small.to_string(), "more were written"], |space| {
            let mut sink = space.write(id, small, WriteOptions::default())?;
            sink.push(&operand)?;
            Ok(sink.push(&[0])?)
        });
        assert!(matches!(error, DeviceError::Store(StoreError::TooManyBytes { .. })), "{error}");
    }
    let expected = table.len().to_string();
    for given in [table.len() - 1, table.len() + 1, 8] {
        let error = f.refuses(&[&expected, &given.to_string()], write(table_of(KEY), &vec![0; given]));
        assert!(matches!(error, DeviceError::Handler(HandlerError::WrongSize { .. })), "{error}");
    }
    let limit = f.device.config().max_object_bytes;
    assert!(limit < MAX_KEY_LEN);
    let key = handlers::tfhe::bootstrapping_key(KEY);
    let error = f.refuses(&[&limit.to_string(), &(limit + 1).to_string()], |space| {
        space.write(key, limit + 1, WriteOptions::default())
    });
    assert!(matches!(error, DeviceError::TooLarge { .. }), "{error}");
    // Without a key under the Key ID, only the largest objects of all sets bound the size.
    let homeless = register("3:77:1");
    let error =
        f.refuses(&["1 to 4194304", "4194305"], |space| space.write(homeless, (4 << 20) + 1, WriteOptions::default()));
    assert!(matches!(error, DeviceError::Handler(HandlerError::WrongSize { .. })), "{error}");
    f.computes();
}

#[test]
fn damaged_and_forged_contents() {
    let mut f = Fixture::in_memory();
    let operand = f.operand();
    let objects: Vec<(VrId, Vec<u8>, usize)> = vec![
        (x_of(KEY), operand.clone(), 40),
        (y_of(KEY), operand, 40),
        (table_of(KEY), f.keys.table(), 8),
        (handlers::tfhe::bootstrapping_key(KEY), f.keys.bootstrap.clone(), 90),
        (handlers::tfhe::key_switching_key(KEY), f.keys.keyswitch.clone(), 90),
    ];
    for (id, bytes, step) in objects {
        // Bits of the head, in the middle, in the checksum.
        let places = (0..24).step_by(5).chain([24 + step, bytes.len() / 2, bytes.len() - 1]);
        for at in places {
            let error = f.refuses(&[&id.to_string()], write(id, &flipped(&bytes, at)));
            assert!(is_invalid(&error), "{id} byte {at}: {error}");
        }
        let newest = if id.type_code == handlers::tfhe::KEY { 3 } else { 2 };
        let newer = resealed(&bytes, |header, _| header.version = newest + 1);
        let expected = format!("version {} is unsupported, versions 1 to {newest}", newest + 1);
        let error = f.refuses(&[&expected], write(id, &newer));
        assert!(is_invalid(&error), "{error}");
        let other = resealed(&bytes, |header, _| header.kind.0 = 0x0101);
        let error = f.refuses(&["kind 0x0101"], write(id, &other));
        assert!(is_invalid(&error), "{error}");
        // The right size, of which the object takes less.
        let mut shorter = resealed(&bytes, |_, body| body.truncate(body.len() - 8));
        shorter.extend([0; 8]);
        let error = f.refuses(&[], write(id, &shorter));
        assert!(is_invalid(&error), "{error}");
    }
    // Keys have no fixed size: too short and too long ones are recognised by their content.
    for (id, bytes) in [
        (handlers::tfhe::bootstrapping_key(KEY), &f.keys.bootstrap),
        (handlers::tfhe::key_switching_key(KEY), &f.keys.keyswitch),
    ] {
        for cut in [1, 23, 100, bytes.len() - 1] {
            let error = f.refuses(&["truncated", "available"], write(id, &bytes[..cut]));
            assert!(is_invalid(&error), "{id} cut to {cut}: {error}");
        }
        let error = f.refuses(&["3 bytes follow"], write(id, &[&bytes[..], &[0; 3]].concat()));
        assert!(is_invalid(&error), "{error}");
    }
    // A table of the right size for another k and N: 4·512 words instead of 2·1024.
    let forged = resealed(&f.keys.table(), |_, body| body[1..3].copy_from_slice(&[3, 9]));
    let error = f.refuses(&["GLWE dimension of the test vector is 3 where 1"], write(table_of(KEY), &forged));
    assert!(is_invalid(&error), "{error}");
    // A label that the table does not bear out: another padding bit.
    let forged = resealed(&f.keys.table(), |_, body| body[24] ^= 1);
    let error = f.refuses(&["not that of a function between its stated encodings"], write(table_of(KEY), &forged));
    assert!(is_invalid(&error), "{error}");
    f.computes();
}

#[test]
fn programs_that_are_none() {
    let mut f = Fixture::in_memory();
    let sound = xy(x_of(KEY), y_of(KEY)).encode();
    let id = program_of(KEY);
    let longer = [&sound[..], &[0]].concat();
    let newer = resealed(&sound, |header, _| header.version = 99);
    let hostile = (0..sound.len()).map(|at| flipped(&sound, at)).chain([longer, newer, sound[..30].to_vec()]);
    for bytes in hostile {
        let error = f.refuses(&[&id.to_string()], write(id, &bytes));
        assert!(matches!(error, DeviceError::InvalidProgram { .. }), "{error}");
    }
    let error = f.refuses(&["0:0:1", "0:0:0"], write(register("0:0:1"), &sound));
    assert!(matches!(error, DeviceError::NotAProgramRegister { .. }), "{error}");
    f.computes();
}

#[test]
fn objects_of_another_key_set() {
    let mut f = Fixture::in_memory();
    let other = Keys::new(50, KeyForm::Seeded, KeyOrder::Small);
    let tags = [f.keys.client.tag(), other.client.tag()].map(|tag| format!("{:016x}", tag.0));
    let foreign = other.operand(1, &mut f.rng);
    for id in [x_of(KEY), y_of(KEY)] {
        let error = f.refuses(&[&tags[0], &tags[1], "its own key"], write(id, &foreign));
        assert!(is_invalid(&error), "{error}");
    }
    for (id, bytes) in [
        (handlers::tfhe::bootstrapping_key(KEY), &other.bootstrap),
        (handlers::tfhe::key_switching_key(KEY), &other.keyswitch),
    ] {
        let error = f.refuses(&[&tags[0], &tags[1], "delete that first"], write(id, bytes));
        assert!(is_invalid(&error), "{error}");
    }
    // One tag over two parameter sets.
    let narrow = ParameterSet::named(TEST_SMALL_U32, INSECURE).expect("a named set");
    let client = ClientKey::generate(&narrow, &ciphermill_lattice::SecretSeed::from_bytes([1; 32]));
    assert_eq!(client.tag(), f.keys.client.tag());
    let keyswitch = client
        .write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_bytes([3; 32], [4; 32]), Vec::new())
        .expect("in memory");
    let sets = [TEST_SMALL_U32, &f.keys.client.parameters().name];
    let error = f.refuses(&sets, write(handlers::tfhe::key_switching_key(KEY), &keyswitch));
    assert!(is_invalid(&error), "{error}");
    // A ciphertext that names our key and has the other set's width.
    let encoding = ciphermill_tfhe::Encoding::unsigned(1, true).expect("one bit");
    let big = client.encrypt(&encoding, 1, KeyOrder::Big, &mut f.rng).expect("in range");
    let (tag, choice) = (big.key_tag(), KeyOrder::Small);
    let forged = Ciphertext::new(tag, choice, big.elements().clone()).to_bytes();
    let error = f.refuses(&[], write(x_of(KEY), &forged));
    assert!(matches!(error, DeviceError::Handler(HandlerError::WrongSize { .. })), "{error}");
    let sound = f.operand();
    let forged = resealed(&sound, |_, body| body[8] = 0);
    let error = f.refuses(&["torus width of the ciphertext is 32 where 64"], write(x_of(KEY), &forged));
    assert!(is_invalid(&error), "{error}");
    f.computes();
}

#[test]
fn registers_that_keys_do_not_have() {
    let mut f = Fixture::in_memory();
    let bootstrap = f.keys.bootstrap.clone();
    for id in ["2:0:0", "2:0:4", "2:9:4294967295"] {
        let error = f.refuses(&["no TFHE key has data id"], write(register(id), &bootstrap));
        assert!(is_invalid(&error), "{error}");
    }
    let error = f.refuses(&["unknown object type 5"], write(register("5:0:1"), &bootstrap));
    assert!(matches!(error, DeviceError::UnknownType { .. }), "{error}");
    // Neither register of a key takes secrets, nor each other's part.
    let secrets = f.keys.client.to_secret_key_bytes();
    for (id, given, expected) in [
        (handlers::tfhe::bootstrapping_key(KEY), "0x0207", "0x0205"),
        (handlers::tfhe::key_switching_key(KEY), "0x0207", "0x0206"),
        (handlers::tfhe::conversion_key(KEY), "0x0207", "0x0208"),
    ] {
        let error = f.refuses(&[given, expected], write(id, &secrets));
        assert!(is_invalid(&error), "{error}");
    }
    let error = f.refuses(&["0x0205", "0x0206"], write(handlers::tfhe::key_switching_key(KEY), &bootstrap));
    assert!(is_invalid(&error), "{error}");
    f.computes();
}

#[test]
fn insecure_keys_need_the_opt_in() {
    let engine = Arc::new(CpuEngine::new(Backend::Fft));
    let strict = Arc::new(TfheHandler::new(engine, SecurityPolicy::Require128Bits));
    let device = Device::open(DeviceConfig::in_memory(), vec![strict]).expect("open");
    let space = device.space(SpaceId::EMBEDDED).expect("space 0");
    let keys = Keys::new(1, KeyForm::Seeded, KeyOrder::Small);
    for (id, bytes) in keys.objects(KeyId(4)).into_iter().take(2) {
        let error = space.write_bytes(id, &bytes, WriteOptions::default()).expect_err("insecure");
        assert!(matches!(error, DeviceError::Handler(HandlerError::Insecure { .. })), "{error}");
        for part in ["TEST_SMALL_U64", "required 128", "opt in"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        assert!(space.list().is_empty());
    }
}
