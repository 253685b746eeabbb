//! Words of two keys, and where faults of words, keys and memory are reported.

use crate::support::*;
use crate::words::{Fixture, KEY, client, dense, parts};
use ciphermill_device::handler::KeyPart as StoredPart;
use ciphermill_device::handlers::tfhe::{TfheHandler, conversion_key, key_switching_key};
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, HandlerError, KeyMemory, KeyMemoryError, ObjectHandler, RunError, SpaceId,
};
use ciphermill_math::EngineInfo;
use ciphermill_program::KeyId;
use ciphermill_tfhe::engine::KeyPart;
use ciphermill_tfhe::progress::Progress;
use ciphermill_tfhe::word::Word;
use ciphermill_tfhe::{
    Backend, CpuEngine, KeyPartError, KeyPartId, ParameterSet, PreparedKey, SecurityPolicy, TfheEngine, TfheError,
};
use std::{io::Cursor, sync::Arc};

#[test]
fn each_key_has_its_own_selectors() {
    let mut f = Fixture::new(DeviceConfig::in_memory());
    let other = client(6);
    f.store_keys(KeyId(1), &other);
    f.table(0, dense(4, 4, &[0, 1], |x| 15 - x));
    put(&f.space, register("32:1:0"), &dense(4, 4, &[0, 1], |x| (x + 1) & 15).to_bytes());
    f.store("33:0:1", 6, 4);
    let word = other.encrypt_word(9, 4, &mut rng(4)).expect("4 bits").to_bytes();
    put(&f.space, register("33:1:1"), &word);
    // Selected in turn, at the same positions.
    let source = "wselect 33:0:1, 0\nwselect 33:1:1, 0\nwlook 32:0:0, 33:0:9\nwlook 32:1:0, 33:1:9\n";
    assert_eq!(f.run(&format!("{source}return 33:0:9")), 9);
    let result = f.space.run(&program(&format!("{source}return 33:1:9"))).expect("a result");
    assert_eq!(other.decrypt_word(&Word::from_bytes(&result).expect("a word")).expect("its key"), 10);
    // What one key selects, the other has not.
    let (index, what) = f.operand("wselect 33:0:1, 0\nwlook 32:1:0, 33:1:9\nreturn 33:1:9");
    assert_eq!((index, what.contains("position 0, which is empty")), (1, true), "{what}");
}

/// The word of another key set stays when the keys are replaced; the batch that has it names it.
#[test]
fn an_error_of_a_batch_names_its_word() {
    let mut f = Fixture::new(DeviceConfig::in_memory());
    f.table(0, dense(4, 4, &[0, 1], |x| x));
    f.store("33:0:2", 6, 4);
    let other = client(6);
    for (register, _) in parts(KEY, &other) {
        f.space.delete(register).expect("stored");
    }
    f.store_keys(KEY, &other);
    let word = other.encrypt_word(9, 4, &mut rng(4)).expect("4 bits").to_bytes();
    put(&f.space, register("33:0:1"), &word);
    let cause = f.refusal("wselect 33:0:1, 0\nwselect 33:0:2, 2\nwlook 32:0:0, 33:0:9\nreturn 33:0:9");
    let RunError::Instruction { index: 1, instruction, source: HandlerError::Operand { id, what } } = &cause else {
        panic!("{cause}")
    };
    assert_eq!((instruction.to_string(), id.to_string()), ("wselect 33:0:2, 2".into(), "33:0:2".into()));
    assert!(what.contains("key tag of the word"), "{what}");
}

#[test]
fn a_run_without_memory_for_its_selectors_is_refused() {
    let set = client(5).parameters().clone();
    let key = CpuEngine::new(Backend::Fft).key_bytes(&set);
    let selectors = set.selectors_bytes(2 * 64);
    let run = |bytes| {
        let key_memory = KeyMemory { bytes, ..KeyMemory::default() };
        let (device, space) = open(DeviceConfig { key_memory, ..DeviceConfig::in_memory() });
        let mut f = Fixture::on(device, space);
        f.table(0, dense(4, 4, &[0, 1], |x| 15 - x));
        f.store("33:0:1", 6, 4);
        f.space.run(&program("wselect 33:0:1, 0\nwlook 32:0:0, 33:0:9\nreturn 33:0:9")).map(|bytes| f.decrypt(&bytes))
    };
    // A table and its decoding need a little more.
    assert_eq!(run(key + selectors + (1 << 20)).expect("enough memory"), 9);
    match run(key.max(selectors - 1)) {
        Err(DeviceError::GivenProgramFailed { cause, .. }) => {
            let RunError::KeyMemory { source: KeyMemoryError::TooLarge { .. }, .. } = *cause else { panic!("{cause}") };
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn noise_of_words_survives_moves_and_the_stack() {
    let mut f = Fixture::new(DeviceConfig::in_memory());
    f.table(0, dense(4, 4, &[0, 1], |x| x));
    let word = Word::from_bytes(&f.word(9, 4)).expect("a word");
    put(&f.space, register("33:0:1"), &word.with_variance(1e-3).expect("a variance").to_bytes());
    f.store("33:0:2", 3, 4);
    let look = "wselect 33:0:5, 0\nwlook 32:0:0, 33:0:9\nreturn 33:0:9";
    for way in [
        "mov 33:0:5, 33:0:1\n",
        "push 33:0:1\npop 33:0:5\n",
        "push 33:0:1\nmov 33:0:1, 33:0:2\npop 33:0:5\n",
        // The noisier of two words, and a part of one.
        "mov 33:0:5, 33:0:2\nwcat 33:0:5, 33:0:1\n",
        "mov 33:0:5, 33:0:1\nwslice 33:0:5, 256\nwcat 33:0:5, 33:0:2\n",
    ] {
        let cause = f.refusal(&format!("{way}{look}"));
        assert!(matches!(cause, RunError::FailureTooLikely { .. }), "{way}: {cause}");
    }
    assert_eq!(f.run(&format!("mov 33:0:5, 33:0:2\n{look}")), 3);
}

/// An engine from before words.
#[derive(Debug)]
struct WithoutWords(CpuEngine);

impl TfheEngine for WithoutWords {
    fn info(&self) -> EngineInfo {
        self.0.info()
    }

    fn key_bytes(&self, parameters: &ParameterSet) -> u64 {
        self.0.key_bytes(parameters)
    }

    fn prepare(
        &self,
        parts: Vec<KeyPart<'_>>,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Arc<dyn PreparedKey>, TfheError> {
        if parts.iter().any(|part| part.id == KeyPartId::CONVERSION) {
            return Err(KeyPartError::Unknown(KeyPartId::CONVERSION).into());
        }
        self.0.prepare(parts, policy, progress)
    }
}

#[test]
fn an_engine_without_words_refuses_the_conversion_key() {
    let handler = TfheHandler::new(Arc::new(WithoutWords(CpuEngine::new(Backend::Fft))), INSECURE);
    let device = Device::open(DeviceConfig::in_memory(), vec![Arc::new(handler)]).expect("open");
    let space = device.space(SpaceId::EMBEDDED).expect("space 0");
    let mut f = Fixture::on(device, space);
    f.table(0, dense(4, 4, &[0, 1], |x| x));
    f.store("33:0:1", 6, 4);
    let cause = f.refusal("wselect 33:0:1, 0\nwlook 32:0:0, 33:0:9\nreturn 33:0:9");
    let RunError::Key { source: HandlerError::Invalid { id, .. }, .. } = &cause else { panic!("{cause}") };
    assert_eq!(*id, conversion_key(KEY), "{cause}");
}

/// A key of three parts of which one is cut short.
#[test]
fn the_faulty_part_of_a_key_is_named() {
    let handler = TfheHandler::new(Arc::new(CpuEngine::new(Backend::Fft)), INSECURE);
    let whole = parts(KEY, &client(5));
    for faulty in 0..3 {
        let parts = whole.iter().enumerate().map(|(index, (id, bytes))| {
            let len = if index == faulty { bytes.len() - 7 } else { bytes.len() };
            StoredPart { id: *id, size: len as u64, content: Box::new(Cursor::new(bytes[..len].to_vec())) }
        });
        match handler.open_key(KEY, parts.collect()) {
            Err(HandlerError::Invalid { id, .. }) => assert_eq!(id, whole[faulty].0),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("part {faulty} was cut short"),
        }
    }
    let parts = whole.iter().filter(|(id, _)| *id != key_switching_key(KEY)).map(|(id, bytes)| StoredPart {
        id: *id,
        size: bytes.len() as u64,
        content: Box::new(Cursor::new(bytes.clone())),
    });
    assert!(matches!(handler.open_key(KEY, parts.collect()), Err(HandlerError::KeyIncomplete { .. })));
}
