//! Twenty times more ciphertexts than main memory.

use crate::support::*;
use ciphermill_device::handlers;
use ciphermill_device::{DeviceConfig, MetricsSnapshot, ReadMode};
use ciphermill_program::KeyId;
use ciphermill_tfhe::{Ciphertext, Encoding, KeyForm, KeyOrder, MessageRange};
use std::fmt::Write;

const OBJECTS: u32 = 200;
const PAGE: u64 = 4096;
const KEY: KeyId = KeyId(0);
const SIZE: u64 = 8268;

/// Adds all objects to y and reduces the sum by a bootstrap after every 25, keeping the sum of each such group in a separate
/// register. All registers come in again at the end.
fn sum_of_all() -> Vec<u8> {
    let y = y_of(KEY);
    let mut source = String::new();
    for i in 0..OBJECTS {
        let _ = writeln!(source, "homadd {y}, 3:0:{}", 100 + i);
        if i % 25 == 24 {
            let _ = writeln!(source, "bootstrap 1:0:0, {y}\npush {y}");
        }
    }
    for group in 0..OBJECTS / 25 {
        let _ = writeln!(source, "pop 3:0:{}", 1000 + group);
    }
    for group in 0..OBJECTS / 25 {
        let _ = writeln!(source, "homintmult 3:0:{0}, -1\nhomsub {y}, 3:0:{0}", 1000 + group);
    }
    let _ = writeln!(source, "return {y}");
    program(&source).encode()
}

/// The results of three runs, bit for bit and decrypted.
fn workload(config: DeviceConfig) -> (MetricsSnapshot, Vec<Vec<u8>>, Vec<i64>) {
    let (device, space) = open(config);
    let keys = Keys::new(1, KeyForm::Seeded, KeyOrder::Big);
    let encoding = Encoding::unsigned(4, true).expect("few bits");
    // Sums of 25 fit because each ciphertext states its own message as its range.
    let only = |message| MessageRange::new(encoding.places(), message, message).expect("one of the encoding");
    let mut rng = rng(77);
    let mut encrypt = |message: i64| {
        let choice = KeyOrder::Big;
        keys.client.encrypt_in(&only(message), message, choice, &mut rng).expect("in range").to_bytes()
    };
    let reduce = keys.client.parameters().test_vector(&encoding, &encoding, |m| m % 4).expect("a table");
    put(&space, handlers::tfhe::bootstrapping_key(KEY), &keys.bootstrap);
    put(&space, handlers::tfhe::key_switching_key(KEY), &keys.keyswitch);
    put(&space, table_of(KEY), &reduce.to_bytes());
    for i in 0..OBJECTS {
        let bytes = encrypt(message(i));
        assert_eq!(bytes.len() as u64, SIZE);
        put(&space, register(&format!("3:0:{}", 100 + i)), &bytes);
    }
    put(&space, program_of(KEY), &sum_of_all());
    let results: Vec<_> = (0..3)
        .map(|start| {
            assert!(put(&space, y_of(KEY), &encrypt(start)));
            space.read_bytes(y_of(KEY), ReadMode::Stored).expect("stored")
        })
        .collect();
    // The places of the sum are those of its parts, and it may use the padding bit.
    let wide = Encoding::unsigned(5, false).expect("few bits");
    let messages = results
        .iter()
        .map(|bytes| keys.client.decrypt(&wide, &Ciphertext::from_bytes(bytes).expect("ours")).expect("a message"))
        .collect();
    (device.metrics(), results, messages)
}

/// Every eighth object is a 1, every 50th a 2: the sum within a group stays below 16.
fn message(i: u32) -> i64 {
    i64::from(i % 8 == 3) + 2 * i64::from(i % 50 == 7)
}

/// What [`sum_of_all`] computes, in the clear.
fn expected(start: i64) -> i64 {
    let mut y = start;
    let mut groups = Vec::new();
    for i in 0..OBJECTS {
        y += message(i);
        if i % 25 == 24 {
            assert!(y < 16);
            y %= 4;
            groups.push(y);
        }
    }
    let sum = y + groups.iter().sum::<i64>();
    assert!(sum < 32);
    sum
}

#[test]
fn twenty_times_more_ciphertexts_than_memory_give_the_same_results() {
    let (all, unbounded, messages) = workload(DeviceConfig::in_memory());
    assert_eq!(messages, [0, 1, 2].map(expected));
    assert_eq!((all.memory.page_ins, all.memory.page_outs), (0, 0));

    let directory = tempfile::TempDir::new().expect("a directory");
    let mut config = DeviceConfig::in_directory(directory.path());
    config.main_memory_bytes = u64::from(OBJECTS) * SIZE / 20 / PAGE * PAGE;
    assert!(u64::from(OBJECTS) * SIZE >= 20 * config.main_memory_bytes);
    let frames = config.main_memory_bytes / PAGE;
    let (few, paged, messages) = workload(config);
    assert!(paged == unbounded, "bit for bit");
    assert_eq!(messages, [0, 1, 2].map(expected));
    // Each run touches every object, of three pages, and hardly any of them is still in memory.
    assert!(few.memory.page_ins > 3 * 2 * u64::from(OBJECTS), "{:?}", few.memory);
    assert!(few.memory.page_outs > 2 * u64::from(OBJECTS), "{:?}", few.memory);
    assert!(few.memory.frames == frames && few.memory.used_frames <= frames, "{:?}", few.memory);
    assert_eq!(few.instructions["bootstrap"].count, 3 * 8);
}
