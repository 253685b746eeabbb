//! Keys that are missing, replaced and deleted.

use crate::state::{Fixture, KEY};
use crate::support::*;
use ciphermill_device::handlers;
use ciphermill_device::{DeviceError, ReadMode, RunError, WriteOptions};
use ciphermill_program::KeyId;
use ciphermill_tfhe::{KeyForm, KeyOrder};

#[test]
fn a_missing_part_is_named() {
    let mut f = Fixture::in_memory();
    let key = KeyId(6);
    let parts = [handlers::tfhe::bootstrapping_key(key), handlers::tfhe::key_switching_key(key)];
    for (id, bytes) in f.keys.objects(key) {
        put(&f.space, id, &bytes);
    }
    let (x, y) = (f.operand(), f.operand());
    put(&f.space, x_of(key), &x);
    for (missing, bytes) in [(parts[0], f.keys.bootstrap.clone()), (parts[1], f.keys.keyswitch.clone())] {
        f.space.delete(missing).expect("stored");
        let error = f.refuses(&[&missing.to_string(), "not stored", "write it"], |space| {
            space.write_bytes(y_of(key), &y, WriteOptions::default())
        });
        let DeviceError::ProgramFailed { cause, .. } = error else { panic!("{error}") };
        assert!(matches!(*cause, RunError::Verify(_) | RunError::Key { .. }), "{cause}");
        put(&f.space, missing, &bytes);
    }
    assert!(put(&f.space, y_of(key), &y));
    f.computes();
}

#[test]
fn replacing_a_key_drops_what_was_loaded() {
    let mut f = Fixture::in_memory();
    let loaded = |f: &Fixture| f.device.metrics().key_memory.keys;
    assert_eq!(loaded(&f), 1);
    f.computes();
    assert_eq!(loaded(&f), 1);
    // The same part once more, in the other form.
    let full = Keys::new(1, KeyForm::Full, KeyOrder::Small);
    assert_ne!(full.keyswitch.len(), f.keys.keyswitch.len());
    put(&f.space, handlers::tfhe::key_switching_key(KEY), &full.keyswitch);
    assert_eq!(loaded(&f), 0);
    f.computes();
    assert_eq!(loaded(&f), 1);
    // Another key set takes the place of the first: what was computed under that stays, and cannot be computed on.
    let old = f.space.read_bytes(x_of(KEY), ReadMode::Stored).expect("stored");
    for id in [handlers::tfhe::bootstrapping_key(KEY), handlers::tfhe::key_switching_key(KEY)] {
        f.space.delete(id).expect("stored");
        assert_eq!(loaded(&f), 0);
    }
    let other = Keys::new(50, KeyForm::Seeded, KeyOrder::Small);
    other.install(&f.space, KEY);
    assert!(f.space.read_bytes(x_of(KEY), ReadMode::Stored).expect("stored") == old);
    let y = other.operand(2, &mut f.rng);
    let tags = [&f.keys, &other].map(|keys| keys.client.tag().to_string());
    let error =
        f.refuses(&["key tag", &tags[0], &tags[1]], |space| space.write_bytes(y_of(KEY), &y, WriteOptions::default()));
    assert!(matches!(error, DeviceError::ProgramFailed { .. }), "{error}");
    assert_eq!(other.multiply(&f.space, KEY, (2, 3), &mut f.rng), 6);
    assert_eq!(loaded(&f), 1);
}
