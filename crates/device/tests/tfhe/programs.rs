//! Programs that are refused or fail: the operand that would have run them is not stored either.

use crate::state::{Fixture, KEY};
use crate::support::*;
use ciphermill_device::{
    DeviceConfig, DeviceError, HandlerError, ReadMode, RunError, Space, SpaceId, SpaceLimits, WriteMode, WriteOptions,
};
use ciphermill_program::{Fault, Program, VerifyError};
use ciphermill_tfhe::{KeyForm, KeyOrder};
use std::time::Duration;

/// Stores the program; writing y, reading x and running the program without storing it all fail with the same cause.
fn fails(f: &mut Fixture, code: &Program, parts: &[&str]) -> RunError {
    put(&f.space, program_of(KEY), &code.encode());
    let operand = f.operand();
    let written = |space: &Space| space.write_bytes(y_of(KEY), &operand, WriteOptions::default());
    let DeviceError::ProgramFailed { trigger, program, cause, .. } = f.refuses(parts, written) else { panic!() };
    assert_eq!((trigger, program), (y_of(KEY), program_of(KEY)));
    let error = f.refuses(parts, |space| space.read_bytes(x_of(KEY), ReadMode::Compute));
    assert!(matches!(error, DeviceError::ProgramFailed { trigger, .. } if trigger == x_of(KEY)), "{error}");
    let error = f.refuses(parts, |space| space.run(code));
    assert!(matches!(error, DeviceError::GivenProgramFailed { .. }), "{error}");
    *cause
}

fn fault(f: &mut Fixture, source: &str, parts: &[&str]) -> Fault {
    match fails(f, &program(source), parts) {
        RunError::Verify(VerifyError::Instruction { fault, .. }) => fault,
        other => panic!("{source}: {other}"),
    }
}

/// The program of the fixture is back, and multiplies.
fn recovers(mut f: Fixture) {
    put(&f.space, program_of(KEY), &xy(x_of(KEY), y_of(KEY)).encode());
    f.computes();
    assert!(f.device.metrics().programs_failed >= 2);
}

#[test]
fn what_the_verifier_rejects() {
    let mut config = DeviceConfig::in_memory();
    config.max_stack = 8;
    let mut f = Fixture::new(config, KeyOrder::Small);
    let f_ = &mut f;
    let underflow = fault(f_, "push 4:0:3\npop 3:0:9\npop 3:0:8\nreturn 4:0:3", &["instruction 2", "stack is empty"]);
    assert_eq!(underflow, Fault::StackUnderflow);
    let undefined = fault(f_, "homadd 4:0:3, 3:0:99\nreturn 4:0:3", &["instruction 0", "3:0:99 is read"]);
    assert_eq!(undefined, Fault::Undefined { register: register("3:0:99") });
    let table = fault(f_, "bootstrap 1:0:7, 4:0:3\nreturn 4:0:3", &["1:0:7 is read"]);
    assert_eq!(table, Fault::Undefined { register: register("1:0:7") });
    let endless = fault(f_, "homadd 4:0:3, 3:0:2", &["not return"]);
    assert_eq!(endless, Fault::NoReturn);
    let dead = fault(f_, "return 4:0:3\nhomadd 4:0:3, 3:0:2", &["follows the return at instruction 0"]);
    assert_eq!(dead, Fault::AfterReturn { at: 0 });
    let left = fault(f_, "push 4:0:3\nreturn 4:0:3", &["1 pushed"]);
    assert_eq!(left, Fault::StackImbalance { depth: 1 });
    let deep = format!("{}return 4:0:3", "push 4:0:3\n".repeat(9));
    assert_eq!(fault(f_, &deep, &["instruction 8", "8 ciphertexts"]), Fault::StackOverflow { limit: 8 });
    let into_table = fault(f_, "mov 1:0:0, 4:0:3\nreturn 4:0:3", &["1:0:0"]);
    assert!(matches!(into_table, Fault::NotWritable { .. } | Fault::WrongType { .. }), "{into_table}");
    recovers(f);
}

#[test]
fn programs_beyond_the_limits() {
    let mut config = DeviceConfig::in_memory();
    config.max_program_instructions = 1000;
    let mut f = Fixture::new(config, KeyOrder::Small);
    let long = program(&format!("{}return 4:0:3", "homadd 4:0:3, 3:0:2\n".repeat(1000)));
    // It is not even stored, and given to run it is refused.
    let bytes = long.encode();
    let error = f.space.write_bytes(program_of(KEY), &bytes, WriteOptions::default()).expect_err("too long");
    assert!(matches!(error, DeviceError::TooLarge { size, .. } if size == bytes.len() as u64), "{error}");
    assert!(error.to_string().contains("max_program_instructions"), "{error}");
    let DeviceError::GivenProgramFailed { cause, .. } = f.space.run(&long).expect_err("too long") else {
        panic!("another error");
    };
    let expected = VerifyError::TooManyInstructions { count: 1001, limit: 1000 };
    assert!(matches!(*cause, RunError::Verify(error) if error == expected));
    f.computes();

    let mut config = DeviceConfig::in_memory();
    config.max_program_duration = Duration::from_secs(2);
    let mut f = Fixture::new(config, KeyOrder::Small);
    // A bootstrap is estimated from those before it; 60,000 take minutes on any machine.
    let slow = program(&format!("{}return 4:0:3", "bootstrap 1:0:0, 4:0:3\n".repeat(60_000)));
    let cause = fails(&mut f, &slow, &["estimated", "limit is 2.000 s"]);
    let RunError::Verify(VerifyError::TooSlow { estimate, limit }) = cause else { panic!("{cause}") };
    assert!(estimate > limit && limit == Duration::from_secs(2));
    recovers(f);
}

#[test]
fn operands_that_do_not_go_together() {
    let mut f = Fixture::in_memory();
    // Another key id, and the same key's other kind of ciphertext.
    let other = Keys::new(50, ciphermill_tfhe::KeyForm::Seeded, KeyOrder::Small);
    put(&f.space, register("3:1:2"), &other.operand(1, &mut f.rng));
    let keys = fault(&mut f, "homadd 4:0:3, 3:1:2\nreturn 4:0:3", &["4:0:3 has key id 0", "3:1:2 has key id 1"]);
    assert!(matches!(keys, Fault::KeyMismatch { .. }), "{keys}");
    let client = &f.keys.client;
    let big = client.encrypt(f.keys.product.input(), 1, KeyOrder::Big, &mut f.rng).expect("in range");
    put(&f.space, register("3:0:7"), &big.to_bytes());
    for operation in ["homadd", "homsub"] {
        let source = format!("{operation} 4:0:3, 3:0:7\nreturn 4:0:3");
        let cause = fails(&mut f, &program(&source), &["456", "8268"]);
        assert!(matches!(cause, RunError::Verify(_)), "{cause}");
    }
    // A result of the other kind is right for the register: both kinds are stored under one key.
    put(&f.space, program_of(KEY), &program("return 3:0:7").encode());
    let operand = f.operand();
    assert!(put(&f.space, register("4:0:8"), &operand));
    assert!(f.space.read_bytes(register("4:0:8"), ReadMode::Stored).expect("stored") == big.to_bytes());
    recovers(f);
}

/// Ciphertexts of equal sizes under two key sets in one Key ID, stored before any key could distinguish them.
#[test]
fn operands_of_two_key_sets() {
    let mut f = Fixture::in_memory();
    let other = Keys::new(50, ciphermill_tfhe::KeyForm::Seeded, KeyOrder::Small);
    let (ours, theirs) = (f.operand(), other.operand(1, &mut f.rng));
    put(&f.space, register("3:5:1"), &ours);
    put(&f.space, register("3:5:2"), &theirs);
    let tags = [&f.keys, &other].map(|keys| keys.client.tag().to_string());
    let add = program("homadd 3:5:1, 3:5:2\nreturn 3:5:1");
    let error = f.refuses(&["instruction 0", "3:5:2", "key tag", &tags[0], &tags[1]], |space| space.run(&add));
    let DeviceError::GivenProgramFailed { cause, .. } = error else { panic!("{error}") };
    let RunError::Instruction { index: 0, source: HandlerError::Operand { id, .. }, .. } = *cause else {
        panic!("{cause}")
    };
    assert_eq!(id, register("3:5:2"));
    // With the keys of one set, the ciphertext of the other does not bootstrap.
    for (id, bytes) in f.keys.objects(ciphermill_program::KeyId(5)).into_iter().take(3) {
        put(&f.space, id, &bytes);
    }
    let bootstrap = program("bootstrap 1:5:0, 3:5:2\nreturn 3:5:2");
    let error =
        f.refuses(&["instruction 0", "key tag of the ciphertext", &tags[0], &tags[1]], |space| space.run(&bootstrap));
    assert!(matches!(error, DeviceError::GivenProgramFailed { .. }), "{error}");
    f.computes();
}

/// Slow programs of one space must not have those of another refused.
#[test]
fn programs_of_one_space_do_not_change_the_estimates_of_another() {
    let (device, one) = open(DeviceConfig::in_memory());
    let other = device.create_space(SpaceId(7), SpaceLimits::UNLIMITED).expect("a space");
    let (keys, mut rng) = (Keys::new(3, KeyForm::Seeded, KeyOrder::Small), rng(5));
    let code = xy(x_of(KEY), y_of(KEY));
    for space in [&one, &other] {
        keys.install(space, KEY);
        keys.multiply(space, KEY, (3, 2), &mut rng);
    }
    // An operand in place of the product, which has another encoding.
    let stored = WriteOptions { mode: WriteMode::Stored, ..WriteOptions::default() };
    let mut restore = |space: &Space| {
        space.write_bytes(y_of(KEY), &keys.operand(1, &mut rng), stored.clone()).expect("stored");
    };
    [&one, &other].into_iter().for_each(&mut restore);
    let (mine, before) = (one.check(&code).expect("good"), other.check(&code).expect("good"));
    let mut noise = crate::support::rng(6);
    for _ in 0..4 {
        keys.multiply(&one, KEY, (3, 2), &mut noise);
    }
    restore(&one);
    assert_ne!(one.check(&code).expect("good"), mine, "the measured times count here");
    assert_eq!(other.check(&code).expect("good"), before);
}
