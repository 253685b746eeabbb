//! Programs of many threads at once.

use crate::state::Fixture;
use crate::support::*;
use ciphermill_device::{DeviceConfig, ReadMode};
use ciphermill_program::KeyId;
use ciphermill_tfhe::{KeyForm, KeyOrder};
use std::thread;

/// Threads that share a key, each with separate registers and programs that are not stored.
#[test]
fn one_key_many_programs() {
    for choice in [KeyOrder::Small, KeyOrder::Big] {
        let mut config = DeviceConfig::in_memory();
        config.max_running_programs = 4;
        let f = Fixture::new(config, choice);
        let max = f.keys.product.max();
        thread::scope(|scope| {
            for number in 0..8u8 {
                let (space, keys) = (&f.space, &f.keys);
                scope.spawn(move || {
                    let mut rng = rng(100 + number);
                    let x = register(&format!("3:0:{}", 10 + number));
                    let y = register(&format!("3:0:{}", 20 + number));
                    for round in 0..4 {
                        let (a, b) = (i64::from(number) % (max + 1), (max - round).max(0));
                        put(space, x, &keys.operand(a, &mut rng));
                        put(space, y, &keys.operand(b, &mut rng));
                        let result = space.run(&xy(x, y)).expect("a product");
                        assert_eq!(keys.decrypt_product(&result), a * b, "{choice}: {a} * {b}");
                    }
                });
            }
        });
        let metrics = f.device.metrics();
        assert_eq!((metrics.programs_run, metrics.programs_failed), (33, 0));
        assert_eq!((metrics.key_memory.keys, metrics.programs_running, metrics.queue_depth), (1, 0, 0));
    }
}

/// Threads under a key each: compute-on-write, while others read x with compute-on-read.
#[test]
fn many_keys_at_once() {
    let (device, space) = open(DeviceConfig::in_memory());
    thread::scope(|scope| {
        for number in 0..4u8 {
            let space = &space;
            scope.spawn(move || {
                let keys = Keys::new(30 + 5 * number, KeyForm::Seeded, KeyOrder::Small);
                let (key, mut rng) = (KeyId(u32::from(number)), rng(150 + number));
                keys.install(space, key);
                for y in 0..=3 {
                    let x = i64::from(number);
                    assert_eq!(keys.multiply(space, key, (x, y), &mut rng), x * y, "{x} * {y}");
                    // With y in its register, the read of x computes too; the product stands where y did, so put y back.
                    let stored = ciphermill_device::WriteMode::Stored;
                    let options = ciphermill_device::WriteOptions { mode: stored, ..Default::default() };
                    space.write_bytes(y_of(key), &keys.operand(y, &mut rng), options).expect("plain");
                    let read = space.read_bytes(x_of(key), ReadMode::Compute).expect("a product");
                    assert_eq!(keys.decrypt_product(&read), x * y, "{x} * {y}, read");
                }
            });
        }
    });
    let metrics = device.metrics();
    assert_eq!((metrics.programs_run, metrics.programs_failed, metrics.key_memory.keys), (32, 0, 4));
}
