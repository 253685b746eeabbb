//! Ranges and noise bounds: what the device writes, what it refuses, and what survives.

use crate::state::KEY;
use crate::support::*;
use ciphermill_device::handlers;
use ciphermill_device::{DeviceConfig, DeviceError, HandlerError, ReadMode, RunError, Space, WriteMode, WriteOptions};
use ciphermill_program::{Program, VrId};
use ciphermill_tfhe::judgement::log2_p_output;
use ciphermill_tfhe::{
    Bounds, Ciphertext, Encoding, KeyForm, KeyOrder, MessageRange, Table, TestVector, noise, quarter_square,
};

const CHOICE: KeyOrder = KeyOrder::Big;

fn encoding() -> Encoding {
    Encoding::unsigned(4, true).expect("few bits")
}

/// A device with keys and the table of the identity on [`encoding`], and the keys.
fn bench(config: DeviceConfig) -> (ciphermill_device::Device, Space, Keys) {
    let (device, space) = open(config);
    let keys = Keys::new(1, KeyForm::Seeded, CHOICE);
    put(&space, handlers::tfhe::bootstrapping_key(KEY), &keys.bootstrap);
    put(&space, handlers::tfhe::key_switching_key(KEY), &keys.keyswitch);
    put(&space, table_of(KEY), &identity(&keys).to_bytes());
    (device, space, keys)
}

fn identity(keys: &Keys) -> TestVector {
    keys.client.parameters().test_vector(&encoding(), &encoding(), |m| m).expect("a table")
}

/// A ciphertext of a message that is known to be the only one of its range.
fn known(keys: &Keys, message: i64) -> Ciphertext {
    let range = MessageRange::new(encoding().places(), message, message).expect("one message");
    keys.client.encrypt_in(&range, message, CHOICE, &mut rng(5)).expect("in range")
}

fn store(space: &Space, id: &str, ciphertext: &Ciphertext) -> VrId {
    let options = WriteOptions { mode: WriteMode::Stored, ..WriteOptions::default() };
    space.write_bytes(register(id), &ciphertext.to_bytes(), options).expect("stored");
    register(id)
}

fn run(space: &Space, source: &str) -> Ciphertext {
    let bytes = space.run(&program(source)).unwrap_or_else(|error| panic!("{source}: {error}"));
    Ciphertext::from_bytes(&bytes).expect("a ciphertext")
}

/// The cause of a refusal, which `check` and `run` agree on.
fn refusal(space: &Space, program: &Program) -> RunError {
    let cause = |error| match error {
        DeviceError::GivenProgramFailed { cause, .. } => *cause,
        other => panic!("{other}"),
    };
    let checked = cause(space.check(program).map(drop).expect_err("a refusal"));
    let run = cause(space.run(program).map(drop).expect_err("a refusal"));
    assert_eq!(checked.to_string(), run.to_string());
    run
}

/// Results are chained through the store, across restarts, until their noise is too much: at the very step that the model
/// names, and the last accepted result still decrypts.
#[test]
fn chained_results_are_refused_when_their_noise_passes_the_limit() {
    let directory = tempfile::TempDir::new().expect("a directory");
    let config = || DeviceConfig::in_directory(directory.path());
    let (device, space, keys) = bench(config());
    let fresh = known(&keys, 0);
    let range = fresh.bounds().range().expect("stated");
    let variance = |steps: i32| 9f64.powi(steps) * noise::fresh_variance(keys.client.parameters(), CHOICE);
    let last = (0..).take_while(|&steps| log2_p_output(&range, variance(steps)) <= -64.0).last().expect("a step");
    assert!(last > 10, "{last} steps show little");
    put(&space, program_of(KEY), &program("homintmult 4:0:3, 3\nreturn 4:0:3").encode());
    drop((space, device));
    let mut operand = fresh.to_bytes();
    for step in 1..=last {
        // Another process each time: the bound can only come from the stored object.
        let (_device, space) = open(config());
        assert!(put(&space, y_of(KEY), &operand), "step {step}");
        operand = space.read_bytes(y_of(KEY), ReadMode::Stored).expect("stored");
        let stated = Ciphertext::from_bytes(&operand).expect("a ciphertext").bounds();
        let ratio = stated.variance().expect("always stated") / variance(step);
        assert!((ratio - 1.0).abs() < 1e-9, "step {step}: {ratio}");
    }
    let (_device, space) = open(config());
    let error = space.write_bytes(y_of(KEY), &operand, WriteOptions::default()).expect_err("too much noise");
    let DeviceError::ProgramFailed { cause, .. } = &error else { panic!("{error}") };
    let RunError::FailureTooLikely { log2_p_fail, limit } = **cause else { panic!("{cause}") };
    assert!(
        limit == -64.0 && log2_p_fail > limit && (log2_p_fail - log2_p_output(&range, variance(last + 1))).abs() < 1e-6
    );
    assert!(error.to_string().contains("the limit is 2^-64.0") && error.to_string().contains("--max-log2-p-fail"));
    // The register is as it was.
    let stored = space.read_bytes(y_of(KEY), ReadMode::Stored).expect("stored");
    assert!(stored == operand);
    let result = Ciphertext::from_bytes(&stored).expect("a ciphertext");
    assert_eq!(keys.client.decrypt(&encoding(), &result).expect("a message"), 0);
}

/// Three multiplications and a bootstrap: by the range of the message, and by its noise alone.
#[test]
fn three_multiplications_and_a_bootstrap_do_not_turn_five_into_another_number() {
    let (_device, space, keys) = bench(DeviceConfig::in_memory());
    store(&space, "3:0:2", &known(&keys, 5));
    let source = "homintmult 3:0:2, 2\nhomintmult 3:0:2, 2\nhomintmult 3:0:2, 2\nbootstrap 1:0:0, 3:0:2\nreturn 3:0:2";
    let cause = refusal(&space, &program(source));
    let RunError::Instruction { index: 2, source: HandlerError::Range { id, what }, .. } = &cause else {
        panic!("{cause}")
    };
    assert_eq!(*id, register("3:0:2"));
    assert!(what.contains("messages from 40 to 40 exceed the 32 places"), "{what}");
    // 10 fits the padding bit and 20 does not fit the table.
    let source = "homintmult 3:0:2, 2\nhomintmult 3:0:2, 2\nbootstrap 1:0:0, 3:0:2\nreturn 3:0:2";
    let cause = refusal(&space, &program(source));
    assert!(matches!(&cause, RunError::Instruction { index: 2, source: HandlerError::Range { .. }, .. }), "{cause}");
    assert!(cause.to_string().contains("20 to 20 are not all in the test vector, which covers 0 to 15"), "{cause}");
    // A zero stays in range, and its noise does not.
    store(&space, "3:0:2", &known(&keys, 0));
    let noisy = "homintmult 3:0:2, 40000\nhomintmult 3:0:2, 40000\nhomintmult 3:0:2, 40000\nbootstrap 1:0:0, 3:0:2\nreturn 3:0:2";
    let cause = refusal(&space, &program(noisy));
    assert!(matches!(cause, RunError::FailureTooLikely { .. }), "{cause}");
    let harmless =
        "homintmult 3:0:2, 3\nhomintmult 3:0:2, 3\nhomintmult 3:0:2, 3\nbootstrap 1:0:0, 3:0:2\nreturn 3:0:2";
    assert_eq!(keys.client.decrypt(&encoding(), &run(&space, harmless)).expect("a message"), 0);
    // Whoever wants the noisy result says so.
    let (_device, space, _) = bench(DeviceConfig { max_log2_p_fail: Some(0.0), ..DeviceConfig::in_memory() });
    store(&space, "3:0:2", &known(&keys, 0));
    run(&space, noisy);
}

/// The product's failure is that of the model: two look-ups and one decryption.
#[test]
fn a_check_reports_the_failure_of_every_output() {
    for choice in [KeyOrder::Small, KeyOrder::Big] {
        let (_device, space) = open(DeviceConfig::in_memory());
        let keys = Keys::new(1, KeyForm::Seeded, choice);
        keys.install(&space, KEY);
        for (id, message) in [(x_of(KEY), 1), (y_of(KEY), 2)] {
            let options = WriteOptions { mode: WriteMode::Stored, ..WriteOptions::default() };
            space.write_bytes(id, &keys.operand(message, &mut rng(6)), options).expect("stored");
        }
        let checked = space.check(&xy(x_of(KEY), y_of(KEY))).expect("accepted");
        let [output] = &checked.outputs[..] else { panic!("one output") };
        let log2 = output.log2_p_fail.expect("known");
        let excess = log2 - keys.product.log2_p_fail();
        match choice {
            KeyOrder::Big => assert!(excess.abs() < 1e-6, "{log2}: {excess}"),
            // The bias of the key switch, which the model of the product counts twice, cancels in the difference. The look-ups
            // fail more often than that decryption.
            KeyOrder::Small => assert!((-1.0..1e-6).contains(&excess), "{log2}: {excess}"),
        }
        assert!(log2 <= quarter_square::DEFAULT_LOG2_P_FAIL && checked.limit == -64.0);
        // An object that no instruction changed is as right as it was.
        let checked = space.check(&program("mov 3:0:9, 3:0:2\nreturn 3:0:9")).expect("accepted");
        assert_eq!(checked.outputs[0].log2_p_fail, Some(f64::NEG_INFINITY));
    }
}

/// A program over registers and stack, in a memory that holds two ciphertexts: the bound is the one of plenty of memory.
#[test]
fn bounds_survive_move_push_pop_and_paging() {
    let source = "homadd 3:0:2, 3:0:3\npush 3:0:2\nmov 3:0:9, 3:0:4\nhomintmult 3:0:9, -2\npush 3:0:9\npop 3:0:5\n\
                  pop 3:0:6\nmov 3:0:7, 3:0:6\nhomsub 3:0:7, 3:0:5\nreturn 3:0:7";
    let directory = tempfile::TempDir::new().expect("a directory");
    let small = DeviceConfig { main_memory_bytes: 7 * 4096, ..DeviceConfig::in_directory(directory.path()) };
    let bounds = [DeviceConfig::in_memory(), small].map(|config| {
        let paged = config.main_memory_bytes < 1 << 20;
        let (device, space, keys) = bench(config);
        for (id, message) in [("3:0:2", 1), ("3:0:3", 2), ("3:0:4", 3)] {
            store(&space, id, &known(&keys, message));
        }
        let result = run(&space, source);
        assert_eq!(device.metrics().memory.page_outs > 0, paged);
        assert_eq!(keys.client.decrypt(&Encoding::unsigned(5, false).expect("places"), &result).expect("ours"), 9);
        result.bounds()
    });
    let keys = Keys::new(1, KeyForm::Seeded, CHOICE);
    let fresh = noise::fresh_variance(keys.client.parameters(), CHOICE);
    let range = MessageRange::new(32, 9, 9).expect("one message");
    for bounds in bounds {
        assert_eq!(bounds.range(), Some(range));
        // Two fresh ones, and twice a fresh one.
        let ratio = bounds.variance().expect("stated") / (6.0 * fresh);
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    }
}

/// The noise of a sum depends on the origin of its operands: x + x has that of 2x, however it is written.
#[test]
fn sums_of_one_ciphertext_have_the_noise_of_its_multiple() {
    let (_device, space, keys) = bench(DeviceConfig::in_memory());
    let variance = |source: &str| run(&space, source).bounds().variance().expect("stated");
    let fresh = noise::fresh_variance(keys.client.parameters(), CHOICE);
    let bootstrapped = noise::bootstrap_variance(keys.client.parameters(), CHOICE, ciphermill_tfhe::Backend::Fft);
    let x = known(&keys, 0);
    store(&space, "3:0:2", &x);
    store(
        &space,
        "3:0:3",
        &keys.client.encrypt_in(&x.bounds().range().expect("known"), 0, CHOICE, &mut rng(6)).expect("in range"),
    );
    store(&space, "3:0:4", &x);
    let twice = "bootstrap 1:0:0, 3:0:2\nbootstrap 1:0:0, 3:0:4\nhomadd 3:0:2, 3:0:4\nreturn 3:0:2";
    let two = twice.replace("3:0:4", "3:0:3");
    for (source, expected) in [
        ("homadd 3:0:2, 3:0:2\nreturn 3:0:2", 4.0 * fresh),
        ("homadd 3:0:2, 3:0:3\nreturn 3:0:2", 2.0 * fresh),
        ("mov 3:0:7, 3:0:2\nhomadd 3:0:7, 3:0:3\nhomadd 3:0:7, 3:0:2\nreturn 3:0:7", 5.0 * fresh),
        // The same words in another register.
        ("homadd 3:0:2, 3:0:4\nreturn 3:0:2", 4.0 * fresh),
        (twice, 4.0 * bootstrapped),
        (&two, 2.0 * bootstrapped),
    ] {
        let ratio = variance(source) / expected;
        assert!((ratio - 1.0).abs() < 1e-9, "{source}: {ratio}");
    }
    let doublings = |count: usize| "homadd 3:0:2, 3:0:2\n".repeat(count) + "return 3:0:2";
    let ratio = variance(&doublings(9)) / variance("homintmult 3:0:2, 512\nreturn 3:0:2");
    assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    // 81 of them were once accepted.
    let cause = refusal(&space, &program(&doublings(81)));
    assert!(matches!(cause, RunError::FailureTooLikely { .. }), "{cause}");
}

/// The origin of a stored result is not known any more: it may depend on every other object.
#[test]
fn stored_results_count_as_dependent() {
    let (_device, space, keys) = bench(DeviceConfig::in_memory());
    let fresh = noise::fresh_variance(keys.client.parameters(), CHOICE);
    store(&space, "3:0:2", &known(&keys, 0));
    for (source, true_factor) in
        [("homintmult 3:0:2, -1\nreturn 3:0:2", -1.0f64), ("homintmult 3:0:2, 3\nreturn 3:0:2", 3.0)]
    {
        store(&space, "3:0:5", &run(&space, source));
        for (operation, sign) in [("homadd", 1.0), ("homsub", -1.0)] {
            let bounds = run(&space, &format!("{operation} 3:0:5, 3:0:2\nreturn 3:0:5")).bounds();
            let (stated, true_variance) = (bounds.variance().expect("stated"), fresh * (true_factor + sign).powi(2));
            assert!(stated >= true_variance, "{source}, {operation}: {stated} {true_variance}");
        }
    }
    // A copy, which no instruction has changed, has the name of its origin.
    store(&space, "3:0:6", &run(&space, "mov 3:0:9, 3:0:2\nreturn 3:0:9"));
    let sum = run(&space, "homadd 3:0:6, 3:0:2\nreturn 3:0:6").bounds().variance().expect("stated");
    assert!((sum / (4.0 * fresh) - 1.0).abs() < 1e-9, "{sum}");
}

/// A client cannot claim less noise than that of a fresh encryption, and more counts.
#[test]
fn a_submitted_bound_is_raised_to_the_fresh_variance() {
    let (_device, space, keys) = bench(DeviceConfig::in_memory());
    let fresh = noise::fresh_variance(keys.client.parameters(), CHOICE);
    for (stated, counted) in [(0.0, fresh), (fresh / 2.0, fresh), (fresh, fresh), (8.0 * fresh, 8.0 * fresh)] {
        let honest = known(&keys, 1);
        let bounds = Bounds::new(honest.bounds().range(), stated).expect("a variance");
        let submitted = honest.with_bounds(bounds);
        store(&space, "3:0:2", &submitted);
        // The object itself stays as it was sent.
        assert!(space.read_bytes(register("3:0:2"), ReadMode::Stored).expect("stored") == submitted.to_bytes());
        let result = run(&space, "homintmult 3:0:2, -3\nreturn 3:0:2").bounds().variance().expect("stated");
        assert!((result / (9.0 * counted) - 1.0).abs() < 1e-9, "{stated}: {result}");
    }
    // Nothing known: no result can be relied on.
    store(&space, "3:0:2", &known(&keys, 1).with_bounds(Bounds::UNKNOWN.with_range(known(&keys, 1).bounds().range())));
    let cause = refusal(&space, &program("homintmult 3:0:2, 1\nreturn 3:0:2"));
    assert!(matches!(cause, RunError::FailureTooLikely { log2_p_fail: 0.0, .. }), "{cause}");
}

/// The bound of a bootstrap is that of the model, whatever the engine says, and its range has the values of the table at
/// the messages that are possible.
#[test]
fn a_bootstrap_states_the_models_variance_and_the_tables_values() {
    let (_device, space, keys) = bench(DeviceConfig::in_memory());
    let squares = keys.client.parameters().test_vector(&encoding(), &encoding(), |m| m * m % 16).expect("a table");
    put(&space, register("1:0:4"), &squares.to_bytes());
    let range = MessageRange::new(32, 2, 5).expect("four messages");
    store(&space, "3:0:2", &keys.client.encrypt_in(&range, 5, CHOICE, &mut rng(8)).expect("in range"));
    let result = run(&space, "bootstrap 1:0:4, 3:0:2\nreturn 3:0:2");
    let table = Table::of(&squares).expect("its own").expect("stated");
    let expected =
        keys.client.parameters().bootstrap_bounds(&Bounds::UNSTATED.with_range(Some(range)), Some(&table), CHOICE);
    assert_eq!(result.bounds(), expected.expect("covered"));
    // 4, 9, 0 and 9.
    assert_eq!(result.bounds().range(), Some(MessageRange::new(32, 0, 9).expect("a part")));
    assert_eq!(keys.client.decrypt(&encoding(), &result).expect("ours"), 9);
}

/// Objects of the first version count as fresh, with unknown range: they mix with the second, and what needs the range is
/// refused unless it is assumed.
#[test]
fn objects_without_bounds_need_the_assumption() {
    let keys = Keys::new(1, KeyForm::Seeded, CHOICE);
    let first = known(&keys, 3).with_bounds(Bounds::UNSTATED);
    let unlabelled = TestVector::new(identity(&keys).elements().clone(), None);
    let spec = keys.client.parameters().spec();
    assert_eq!(first.to_bytes().len() as u64, spec.sealed_ciphertext_lens(CHOICE)[0]);
    let sources = [
        "bootstrap 1:0:0, 3:0:2\nreturn 3:0:2",
        "bootstrap 1:0:4, 3:0:3\nreturn 3:0:3",
        "homadd 3:0:2, 3:0:3\nreturn 3:0:2",
        "homintmult 3:0:2, 2\nreturn 3:0:2",
    ];
    for assume_range in [false, true] {
        let (_device, space, _) = bench(DeviceConfig { assume_range, ..DeviceConfig::in_memory() });
        store(&space, "3:0:2", &first);
        store(&space, "3:0:3", &known(&keys, 3));
        put(&space, register("1:0:4"), &unlabelled.to_bytes());
        // Nothing is computed, so nothing is needed.
        assert!(run(&space, "return 3:0:2") == first);
        for (source, message) in sources.into_iter().zip([3, 3, 6, 6]) {
            let code = program(source);
            if !assume_range {
                let cause = refusal(&space, &code);
                let RunError::Instruction { source: HandlerError::UnknownRange { .. }, .. } = &cause else {
                    panic!("{cause}")
                };
                assert!(cause.to_string().contains("--assume-range"), "{cause}");
                continue;
            }
            assert!(space.check(&code).expect("accepted").outputs[0].log2_p_fail.expect("the set's own") < -64.0);
            let result = run(&space, source);
            assert_eq!(keys.client.decrypt(&encoding(), &result).expect("ours"), message, "{source}");
            // It counts as fresh: the variance is known.
            assert!(result.bounds().variance().expect("stated").is_finite(), "{source}");
        }
    }
}

/// A sum of two encodings has no meaning.
#[test]
fn encodings_do_not_mix() {
    let (_device, space, keys) = bench(DeviceConfig::in_memory());
    let other = Encoding::unsigned(3, true).expect("few bits");
    store(&space, "3:0:2", &known(&keys, 1));
    store(&space, "3:0:3", &keys.client.encrypt(&other, 1, CHOICE, &mut rng(9)).expect("in range"));
    let cause = refusal(&space, &program("homadd 3:0:2, 3:0:3\nreturn 3:0:2"));
    assert!(cause.to_string().contains("32 places do not go with those at 16 places"), "{cause}");
    let cause = refusal(&space, &program("bootstrap 1:0:0, 3:0:3\nreturn 3:0:3"));
    assert!(cause.to_string().contains("16 places do not go with those at 32 places"), "{cause}");
}

/// Many bootstraps fail more often than one: the union counts.
#[test]
fn the_failure_of_a_run_is_the_union_over_its_bootstraps() {
    let (_device, space, keys) = bench(DeviceConfig::in_memory());
    let one = "homintmult 3:0:2, 9000\nbootstrap 1:0:0, 3:0:2\n";
    let log2 = |count: usize, factor: i32| {
        let (_device, space, keys) = bench(DeviceConfig { max_log2_p_fail: Some(0.0), ..DeviceConfig::in_memory() });
        store(&space, "3:0:2", &known(&keys, 0));
        let source = one.replace("9000", &factor.to_string()).repeat(count) + "return 3:0:2";
        space.check(&program(&source)).expect("accepted").outputs[0].log2_p_fail.expect("known")
    };
    // The factor at which the bootstraps of bootstrapped ciphertexts decide.
    let factor = (1..).map(|i| 1 << i).find(|&factor| log2(2, factor) > -60.0).expect("some factor");
    let (two, nine) = (log2(2, factor), log2(9, factor));
    // One fresh look-up and one noisier one, then eight of these.
    assert!((nine - two - 3.0).abs() < 0.1, "{two} {nine}");
    store(&space, "3:0:2", &known(&keys, 0));
    let source = one.replace("9000", &factor.to_string()).repeat(2) + "return 3:0:2";
    let cause = refusal(&space, &program(&source));
    let RunError::FailureTooLikely { log2_p_fail, .. } = cause else { panic!("{cause}") };
    assert_eq!(log2_p_fail, two);
}
