//! Exact functions of words at full size, on every path of the CPU. A table may follow another, and wrong inputs are refused.

use ciphermill_lattice::Csprng;
use ciphermill_math::Isa;
use ciphermill_testing::available;
use ciphermill_tfhe::circuit::Split;
use ciphermill_tfhe::parameters::{MESSAGE_2_2M64, TEST_WORD, WORD_2M64};
use ciphermill_tfhe::server_key::validate_key;
use ciphermill_tfhe::word::{DenseTable, Diagram, Edge, MAX_LIVE_NODES, Node, SelectorId, Table, TableError, Word};
use ciphermill_tfhe::{
    Backend, Ciphertext, ClientKey, CpuEngine, Encoding, Job, KeyForm, KeyKind, KeyOrder, KeyPart, KeyPartError,
    KeyPartId, LookUpJob, Output, PreparedKey, SelectJob, SelectorFile, SplitJob, TfheEngine, TfheError, serial,
};
use ciphermill_wire::seal;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{INSECURE, Keys, Seed, keys, server_seeds};

/// The integer square root.
fn isqrt(x: u32) -> u32 {
    x.isqrt()
}

/// CRC-16/CCITT-FALSE of the two bytes of x, of which 14 bits stay.
fn crc(x: u32) -> u32 {
    let bits =
        |crc: u32| (0..8).fold(crc, |crc, _| if crc & 0x8000 != 0 { crc << 1 ^ 0x1021 } else { crc << 1 } & 0xffff);
    [x >> 8, x & 0xff].into_iter().fold(0xffff, |crc, byte| bits(crc ^ byte << 8)) & 0x3fff
}

/// A permutation without structure.
fn shuffle(x: u32) -> u32 {
    let mixed = x.wrapping_mul(0x2c9b) ^ x >> 5;
    mixed.wrapping_mul(0x1f35) & 0x3fff
}

struct Bench {
    keys: Keys,
    conversion: Vec<u8>,
}

impl Bench {
    fn new(name: &str, byte: u8) -> Self {
        let keys = keys(name, KeyForm::Seeded, byte);
        let conversion = keys.client.write_conversion_key(KeyForm::Seeded, server_seeds(byte ^ 0x55), Vec::new());
        Self { conversion: conversion.expect("words"), keys }
    }

    fn client(&self) -> &ClientKey {
        &self.keys.client
    }

    fn parts(&self) -> Vec<KeyPart<'_>> {
        vec![
            KeyPart::bootstrap(&self.keys.bootstrap),
            KeyPart::keyswitch(&self.keys.keyswitch),
            KeyPart::new(KeyPartId::CONVERSION, &self.conversion),
        ]
    }

    fn prepare(&self, engine: &CpuEngine) -> Arc<dyn PreparedKey> {
        engine.prepare(self.parts(), INSECURE, &mut |_, _| ()).expect("one key set")
    }
}

fn select(key: &dyn PreparedKey, word: &Word) -> SelectorFile {
    let outputs = key.run(&[SelectJob { word }.into()]).expect("its key");
    let [Output::Selectors(selectors)] = &outputs[..] else { panic!("{outputs:?}") };
    let mut file = SelectorFile::new();
    file.put(0, selectors).expect("room");
    file
}

fn look_up(key: &dyn PreparedKey, file: &SelectorFile, table: &Table) -> Word {
    let outputs = key.run(&[LookUpJob { file, table }.into()]).expect("selected");
    let [Output::Word(word)] = &outputs[..] else { panic!("{outputs:?}") };
    word.clone()
}

fn split_one(key: &dyn PreparedKey, input: &Ciphertext, split: Split) -> Word {
    let outputs = key.run(&[SplitJob { input, split }.into()]).expect("its key");
    let [Output::Word(word)] = &outputs[..] else { panic!("{outputs:?}") };
    word.clone()
}

/// A function and its table.
type Tabulated = (fn(u32) -> u32, Table);

fn tables() -> [Tabulated; 3] {
    [isqrt as fn(u32) -> u32, crc, shuffle]
        .map(|f| (f, Table::Dense(DenseTable::of_function(14, 14, f).expect("a table"))))
}

/// A permutation of 16 bits without structure.
fn shuffle_16(x: u32) -> u32 {
    let mixed = x.wrapping_mul(0x2c9b) & 0xffff;
    ((mixed ^ mixed >> 7).wrapping_mul(0x1f35)) & 0xffff
}

/// Whether this run takes the counts of `make evidence AREA=table`.
fn is_full() -> bool {
    match std::env::var("CIPHERMILL_TABLES") {
        Err(std::env::VarError::NotPresent) => false,
        Ok(given) if given == "full" => true,
        given => panic!("CIPHERMILL_TABLES is {given:?}; use \"full\", or unset it"),
    }
}

/// Looks inputs up in each table, each input selected once, on the threads of the machine.
fn look_inputs_up(bench: &Bench, key: &dyn PreparedKey, bits: u32, tables: &[Tabulated], inputs: &[u64], seed: Seed) {
    let errors = AtomicUsize::new(0);
    inputs.par_chunks(64).enumerate().for_each(|(stream, inputs)| {
        let mut rng = Csprng::from_secret(&seed.secret(0), stream as u64);
        for &value in inputs {
            let word = bench.client().encrypt_word(value, bits, &mut rng).expect("in range");
            let file = select(key, &word);
            for (number, (f, table)) in tables.iter().enumerate() {
                let decrypted = bench.client().decrypt_word(&look_up(key, &file, table)).expect("its key");
                if decrypted != u128::from(f(value as u32)) {
                    println!("{bits} bits, table {number}: {value} gives {decrypted}");
                    errors.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    });
    let (tables, inputs, errors) = (tables.len(), inputs.len(), errors.into_inner());
    println!(r#"table record: {{"bits": {bits}, "tables": {tables}, "inputs": {inputs}, "errors": {errors}}}"#);
    assert_eq!(errors, 0, "{bits} bits");
}

/// Looks random inputs up on every path. `make test` takes 100 inputs on the best path, `make evidence AREA=table` takes `full` of
/// them, or each input once if there are no more. Every other path takes 3.
fn functions_on_every_path(bench: &Bench, bits: u32, tables: &[Tabulated], full: usize) {
    let seed = Seed::fresh();
    for isa in available(Isa::ALL, |isa| isa.is_available()) {
        let key = bench.prepare(&CpuEngine::on(isa, Backend::Fft));
        let best = isa == Isa::current();
        let count = if best && is_full() {
            full
        } else if best {
            100
        } else {
            3
        };
        let mut rng = Csprng::from_secret(&seed.secret(1), 0);
        let inputs: Vec<u64> = match count == 1 << bits {
            true => (0..1 << bits).collect(),
            false => (0..count).map(|_| rng.next_u64() >> (64 - bits)).collect(),
        };
        println!("{isa}:");
        look_inputs_up(bench, &*key, bits, tables, &inputs, seed);
    }
}

#[test]
fn functions_of_14_bits_on_every_path() {
    functions_on_every_path(&Bench::new(WORD_2M64, 70), 14, &tables(), 1 << 14);
}

#[test]
fn functions_of_16_bits_on_every_path() {
    let table = Table::Dense(DenseTable::of_function(16, 16, shuffle_16).expect("a table"));
    functions_on_every_path(&Bench::new(WORD_2M64, 83), 16, &[(shuffle_16, table)], 4096);
}

/// Both back ends, several tables on one selection, and a table on the result of another.
#[test]
fn tables_follow_each_other() {
    let bench = Bench::new(TEST_WORD, 71);
    let mut rng = Csprng::from_secret(&Seed::fresh().secret(0), 0);
    let tables = tables();
    for backend in [Backend::Fft, Backend::Ntt] {
        let key = bench.prepare(&CpuEngine::new(backend));
        let mut value = rng.next_u64() as u32 >> 18;
        let mut word = bench.client().encrypt_word(value.into(), 14, &mut rng).expect("14 bits");
        for _ in 0..4 {
            let file = select(&*key, &word);
            for (f, table) in &tables {
                let result = look_up(&*key, &file, table);
                assert_eq!(
                    bench.client().decrypt_word(&result).expect("its key"),
                    u128::from(f(value)),
                    "{backend} {value}"
                );
            }
            word = look_up(&*key, &file, &tables[2].1);
            value = shuffle(value);
        }
    }
}

/// Words of every width, and tables of other positions than the first.
#[test]
fn widths_and_positions() {
    let bench = Bench::new(TEST_WORD, 72);
    let mut rng = Csprng::from_secret(&Seed::fresh().secret(0), 0);
    let key = bench.prepare(&CpuEngine::new(Backend::Fft));
    for (bits, output) in [(1, 1), (2, 32), (3, 5), (8, 8), (9, 2), (13, 1), (16, 16)] {
        let f = |x: u32| x.wrapping_mul(0x9e37_79b9) >> (32 - output);
        let positions: Vec<u8> = (0..u32::div_ceil(bits, 2) as u8).map(|i| 63 - 2 * i).collect();
        let entries = (0..1u32 << bits).map(f).collect();
        let table = Table::Dense(DenseTable::new(bits, output, positions.clone(), entries).expect("a table"));
        let value = rng.next_u64() & (u64::MAX >> (64 - bits));
        let word = bench.client().encrypt_word(value, bits, &mut rng).expect("in range");
        let mut file = SelectorFile::new();
        for (digit, &position) in positions.iter().enumerate() {
            let one = word.slice(digit, 1).expect("a digit");
            let outputs = key.run(&[SelectJob { word: &one }.into()]).expect("its key");
            let [Output::Selectors(selectors)] = &outputs[..] else { panic!("{outputs:?}") };
            file.put(position.into(), selectors).expect("room");
        }
        let result = look_up(&*key, &file, &table);
        assert_eq!(
            bench.client().decrypt_word(&result).expect("its key"),
            u128::from(f(value as u32)),
            "{bits} {output}"
        );
    }
}

/// Sums of products of 14 bits as one LWE ciphertext, and a table of their bits.
#[test]
fn integers_of_14_bits_on_every_path() {
    let bench = Bench::new(WORD_2M64, 79);
    let seed = Seed::fresh();
    let (encoding, split) = (Encoding::unsigned(14, false).expect("14 bits"), Split::new(14, 14).expect("14 bits"));
    let (f, table) = &tables()[2];
    for isa in available(Isa::ALL, |isa| isa.is_available()) {
        let key = bench.prepare(&CpuEngine::on(isa, Backend::Fft));
        let mut rng = Csprng::from_secret(&seed.secret(1), 0);
        for round in 0..if isa == Isa::current() { 12 } else { 2 } {
            let [a, b] = [0; 2].map(|_| rng.next_u64() as i64 & 0x3fff);
            let [mut sum, other] =
                [a, b].map(|m| bench.client().encrypt(&encoding, m, KeyOrder::Big, &mut rng).expect("14 bits"));
            sum.scalar_mul_assign(-5);
            sum.add_assign(&other).expect("one key");
            let value = (b - 5 * a).rem_euclid(1 << 14);
            let word = split_one(&*key, &sum, split);
            assert_eq!(bench.client().decrypt_word(&word).expect("its key"), value as u128, "{isa}, {round}");
            let result = look_up(&*key, &select(&*key, &word), table);
            assert_eq!(
                bench.client().decrypt_word(&result).expect("its key"),
                f(value as u32).into(),
                "{isa}, {round}"
            );
        }
    }
}

/// Widths and back ends, several integers in one batch and alone, on one thread and on two.
#[test]
fn integers_of_every_width() {
    let bench = Bench::new(TEST_WORD, 80);
    let mut rng = Csprng::from_secret(&Seed::fresh().secret(0), 0);
    let widths = [(1, 1), (2, 1), (5, 5), (9, 4), (12, 12), (21, 21)];
    let mut inputs = Vec::new();
    for (log2_places, bits) in widths {
        let value = rng.next_u64() & (u64::MAX >> (64 - bits));
        // Encodings above 2^20 places have a padding bit.
        let encoding = Encoding::unsigned(log2_places - 1, true).expect("a width");
        let half = bench.client().encrypt(&encoding, (value / 2) as i64, KeyOrder::Big, &mut rng).expect("in range");
        let mut input = half.clone();
        input.add_assign(&half).expect("one key");
        if value % 2 == 1 {
            // Two places have no room for padding.
            let max = (1 << (log2_places - 1)) - 2;
            let one = Encoding::new(-1, max.max(0), log2_places > 1).expect("a width");
            let minus = bench.client().encrypt(&one, -1, KeyOrder::Big, &mut rng).expect("in range");
            input.sub_assign(&minus).expect("one key");
        }
        inputs.push((value, input, Split::new(log2_places, bits).expect("a width")));
    }
    let jobs: Vec<Job<'_>> = inputs.iter().map(|(_, input, split)| SplitJob { input, split: *split }.into()).collect();
    for backend in [Backend::Fft, Backend::Ntt] {
        let key = bench.prepare(&CpuEngine::new(backend));
        let outputs = key.run(&jobs).expect("its key");
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            assert_eq!(pool.install(|| key.run(&jobs)).expect("its key"), outputs, "{backend}, {threads} threads");
        }
        for ((value, input, split), output) in inputs.iter().zip(&outputs) {
            let Output::Word(word) = output else { panic!("{output:?}") };
            assert_eq!(word.digits().len(), split.digits());
            assert_eq!(bench.client().decrypt_word(word).expect("its key"), u128::from(*value), "{backend} {split:?}");
            assert_eq!(&split_one(&*key, input, *split), word, "{backend} {split:?}: alone");
        }
    }
    // Integers of another key set, under the small key, and of a set without words.
    let key = bench.prepare(&CpuEngine::new(Backend::Fft));
    let (encoding, split) = (Encoding::unsigned(2, false).expect("2 bits"), Split::new(2, 2).expect("2 bits"));
    let stranger = Bench::new(TEST_WORD, 81);
    let strange = stranger.client().encrypt(&encoding, 1, KeyOrder::Big, &mut rng).expect("2 bits");
    let small = bench.client().encrypt(&encoding, 1, KeyOrder::Small, &mut rng).expect("2 bits");
    let refused = key.run(&[SplitJob { input: &strange, split }.into()]);
    assert!(matches!(refused, Err(TfheError::KeySet { .. })), "{refused:?}");
    let refused = key.run(&[SplitJob { input: &small, split }.into()]);
    assert!(matches!(refused, Err(TfheError::Mismatch { .. })), "{refused:?}");
    let without = keys(MESSAGE_2_2M64, KeyForm::Seeded, 82);
    let input = without.client.encrypt(&encoding, 1, KeyOrder::Big, &mut rng).expect("2 bits");
    let refused = without.load(Backend::Fft).run(&[SplitJob { input: &input, split }.into()]);
    assert!(matches!(refused, Err(TfheError::NoWords { .. })), "{refused:?}");
}

#[test]
fn words_and_keys_that_do_not_belong_together_are_refused() {
    let bench = Bench::new(TEST_WORD, 73);
    let mut rng = Csprng::from_secret(&Seed::fresh().secret(0), 0);
    let key = bench.prepare(&CpuEngine::new(Backend::Fft));
    let word = bench.client().encrypt_word(5, 4, &mut rng).expect("4 bits");
    let table = Table::Dense(DenseTable::of_function(6, 2, |x| x & 3).expect("a table"));
    // A position without selectors.
    let file = select(&*key, &word);
    let refused = key.run(&[LookUpJob { file: &file, table: &table }.into()]);
    assert!(matches!(refused, Err(TfheError::NoSelector { position: 2 })), "{refused:?}");
    // Selectors of another back end, of another path, and of the same engine with the key loaded again.
    let table = Table::Dense(DenseTable::of_function(4, 2, |x| x & 3).expect("a table"));
    for other in
        [CpuEngine::new(Backend::Ntt), CpuEngine::on(Isa::Portable, Backend::Fft), CpuEngine::new(Backend::Fft)]
    {
        let refused = bench.prepare(&other).run(&[LookUpJob { file: &file, table: &table }.into()]);
        assert!(matches!(refused, Err(TfheError::ForeignSelectors)), "{refused:?}");
    }
    // Words and selectors of another key set.
    let stranger = Bench::new(TEST_WORD, 75);
    let strange = stranger.client().encrypt_word(5, 4, &mut rng).expect("4 bits");
    let refused = key.run(&[SelectJob { word: &strange }.into()]);
    assert!(matches!(refused, Err(TfheError::KeySet { .. })), "{refused:?}");
    let strange = select(&*stranger.prepare(&CpuEngine::new(Backend::Fft)), &strange);
    let refused = key.run(&[LookUpJob { file: &strange, table: &table }.into()]);
    assert!(matches!(refused, Err(TfheError::KeySet { .. })), "{refused:?}");
    assert!(bench.client().decrypt_word(&stranger.client().encrypt_word(1, 2, &mut rng).expect("2 bits")).is_err());
    // A server key without a conversion key, and a conversion key of another key set.
    let plain = bench.keys.load(Backend::Fft);
    let refused = plain.run(&[Job::from(SelectJob { word: &word })]);
    let missing = KeyPartError::Missing(KeyPartId::CONVERSION);
    assert!(matches!(refused, Err(TfheError::KeyPart(error)) if error == missing), "{refused:?}");
    assert!(matches!(plain.with_conversion(&stranger.conversion[..], INSECURE), Err(TfheError::KeySet { .. })));
    // A parameter set without words.
    let small = keys(MESSAGE_2_2M64, KeyForm::Seeded, 76);
    let refused = small.client.encrypt_word(1, 2, &mut rng);
    assert!(matches!(refused, Err(TfheError::NoWords { .. })), "{refused:?}");
    assert!(small.client.write_conversion_key(KeyForm::Seeded, server_seeds(1), Vec::new()).is_err());
    // Values and digits out of range.
    let text = |refused: Result<Word, TfheError>| refused.expect_err("out of range").to_string();
    let large = text(bench.client().encrypt_word(16_384, 14, &mut rng));
    assert_eq!(large, "the value of the word is 16384; use 0 to 16383");
    let long = text(bench.client().encrypt_word(0, 65, &mut rng));
    assert_eq!(long, "the number of bits of the word is 65; use 1 to 64");
    assert!(
        bench.client().encrypt_word(0, 0, &mut rng).is_err() && bench.client().encrypt_word(0, 65, &mut rng).is_err()
    );
    assert!(
        bench.client().encrypt_digits(&[4], &mut rng).is_err() && bench.client().encrypt_digits(&[], &mut rng).is_err()
    );
    assert!(bench.client().encrypt_digits(&[0; 65], &mut rng).is_err());
    let twice = (0..5).try_fold(word.clone(), |word, _| word.concatenate(&word.clone()));
    assert!(twice.is_ok_and(|word| word.digits().len() == 64 && word.concatenate(&word.clone()).is_err()));
}

#[test]
fn words_and_tables_come_back_from_their_bytes() {
    let bench = Bench::new(TEST_WORD, 77);
    let mut rng = Csprng::from_secret(&Seed::fresh().secret(0), 0);
    let word = bench.client().encrypt_word(0x1234, 14, &mut rng).expect("14 bits");
    let bytes = word.to_bytes();
    assert_eq!(bytes.len() as u64, bench.client().parameters().sealed_word_len(7));
    assert_eq!(Word::from_bytes(&bytes).expect("its bytes"), word);
    for table in tables().into_iter().map(|(_, table)| table).chain([comparison(8)]) {
        assert_eq!(Table::from_bytes(&table.to_bytes()).expect("its bytes"), table);
    }
    for cut in 0..bytes.len() {
        assert!(Word::from_bytes(&bytes[..cut]).is_err());
    }
}

/// x < y for two words of `digits` digits each, x at the positions from 0 on and y behind it: 3 if so, else 0. From the lowest
/// digits up, a node for each Gray bit that decides.
fn comparison(digits: u8) -> Table {
    let selector = |position, high| SelectorId { position, high };
    let mut nodes = Vec::new();
    let mut below = Edge::Digit(0);
    let mut add = |position, high, zero, one| {
        nodes.push(Node { selector: selector(position, high), edges: [zero, one] });
        Edge::Node(nodes.len() as u32 - 1)
    };
    let (yes, no) = (Edge::Digit(3), Edge::Digit(0));
    for digit in 0..digits {
        let (x, y) = (digit, digits + digit);
        // Digits in the order of (h, h ⊕ l): 0 = (0, 0), 1 = (0, 1), 2 = (1, 1), 3 = (1, 0).
        let against = |value: u8| {
            [0, 1, 2, 3].map(|other: u8| {
                if value < other {
                    yes
                } else if value > other {
                    no
                } else {
                    below
                }
            })
        };
        let rows = [0, 1, 2, 3].map(|value| {
            let [zero, one, two, three] = against(value);
            let low = add(y, false, zero, one);
            let high = add(y, false, three, two);
            add(y, true, low, high)
        });
        let low = add(x, false, rows[0], rows[1]);
        let high = add(x, false, rows[3], rows[2]);
        below = add(x, true, low, high);
    }
    Table::Diagram(Diagram::new(nodes, vec![below, Edge::Digit(1)]).expect("in order"))
}

/// A comparison of two words of 16 bits, for which no dense table exists, with both transforms.
#[test]
fn diagrams_compare_words() {
    let bench = Bench::new(TEST_WORD, 78);
    let mut rng = Csprng::from_secret(&Seed::fresh().secret(0), 0);
    let table = comparison(8);
    for backend in [Backend::Fft, Backend::Ntt] {
        let key = bench.prepare(&CpuEngine::new(backend));
        let x = rng.next_u64() & 0xffff;
        for y in [rng.next_u64() & 0xffff, x, x ^ 1, x ^ 0x8000] {
            let word = |value, rng: &mut _| bench.client().encrypt_word(value, 16, rng).expect("16 bits");
            let pair = word(x, &mut rng).concatenate(&word(y, &mut rng)).expect("16 digits");
            let result = look_up(&*key, &select(&*key, &pair), &table);
            let digits = bench.client().decrypt_digits(&result).expect("its key");
            assert_eq!(digits, [if x < y { 3 } else { 0 }, 1], "{backend}: {x} {y}");
        }
    }
}

/// A word of an even number of bits, read by a table of one bit less: the table and its oracle agree for every digit.
#[test]
fn tables_of_odd_bits_and_their_oracle_agree() {
    let bench = Bench::new(TEST_WORD, 79);
    let mut rng = Csprng::from_secret(&Seed::fresh().secret(0), 0);
    let key = bench.prepare(&CpuEngine::new(Backend::Fft));
    let table = Table::Dense(DenseTable::of_function(3, 3, |x| 7 - x).expect("a table"));
    for value in 0..16u64 {
        let word = bench.client().encrypt_word(value, 4, &mut rng).expect("4 bits");
        let result = bench.client().decrypt_digits(&look_up(&*key, &select(&*key, &word), &table)).expect("its key");
        assert_eq!(result, table.value(&|position| (value >> (2 * position) & 3) as u8), "{value}");
    }
}

#[test]
fn conversion_keys_are_judged_before_they_are_used() {
    let bench = Bench::new(TEST_WORD, 80);
    let client = bench.client();
    let full = client.write_conversion_key(KeyForm::Full, server_seeds(80 ^ 0x55), Vec::new()).expect("words");
    for (bytes, form) in [(&bench.conversion, KeyForm::Seeded), (&full, KeyForm::Full)] {
        let header = validate_key(KeyKind::Conversion, &bytes[..], INSECURE).expect("its own bytes");
        assert_eq!((header.form(), header.tag()), (form, client.tag()));
        assert_eq!(bytes.len() as u64, client.parameters().sealed_key_len(KeyKind::Conversion, form));
        assert!(bench.keys.load(Backend::Fft).with_conversion(&bytes[..], INSECURE).is_ok());
        let len = bytes.len();
        for cut in (0..200).chain([len / 2, len - 5, len - 1]) {
            assert!(validate_key(KeyKind::Conversion, &bytes[..cut], INSECURE).is_err(), "cut to {cut}");
            let loaded = bench.keys.load(Backend::Fft).with_conversion(&bytes[..cut], INSECURE);
            assert!(loaded.is_err(), "cut to {cut}");
        }
        for at in (0..200).chain([len / 2, len - 1]) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 4;
            assert!(bench.keys.load(Backend::Fft).with_conversion(&flipped[..], INSECURE).is_err(), "byte {at}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(bench.keys.load(Backend::Fft).with_conversion(&longer[..], INSECURE).is_err());
    }
    // Both forms give the same rows, a key of another kind is none, and the memory has a limit.
    assert!(bench.keys.load(Backend::Fft).with_conversion(&bench.keys.keyswitch[..], INSECURE).is_err());
    let parameters = client.parameters();
    let needed = parameters.loaded_key_bytes(Backend::Fft) + parameters.loaded_conversion_bytes(Backend::Fft);
    let load = |max_bytes| {
        CpuEngine::new(Backend::Fft).with_max_key_bytes(max_bytes).prepare(bench.parts(), INSECURE, &mut |_, _| ())
    };
    assert_eq!(load(needed).expect("room").memory_bytes(), needed);
    assert!(needed <= CpuEngine::new(Backend::Fft).key_bytes(parameters));
    let refused = load(needed - 1);
    assert!(matches!(refused, Err(TfheError::KeyTooLarge { .. })), "{refused:?}");
}

/// A digit that is selected again gives its memory back, whatever word it came with.
#[test]
fn replaced_selectors_are_dropped() {
    let bench = Bench::new(TEST_WORD, 79);
    let key = bench.prepare(&CpuEngine::new(Backend::Fft));
    let mut rng = Csprng::from_secret(&Seed::fresh().secret(0), 0);
    let word = bench.client().encrypt_word(0, 16, &mut rng).expect("16 bits");
    let mut file = SelectorFile::new();
    for digits in (1..=8).rev() {
        let outputs =
            key.run(&[SelectJob { word: &word.slice(0, digits).expect("its digits") }.into()]).expect("selected");
        let [Output::Selectors(selectors)] = &outputs[..] else { panic!("{outputs:?}") };
        file.put(0, selectors).expect("room");
        assert!(file.memory_bytes() <= bench.client().parameters().selectors_bytes(8), "{digits}");
        // The handles of the file are the only ones of their selectors.
        assert_eq!(file.at(0).expect("selected"), &selectors.digits()[0]);
    }
    assert_eq!(file.memory_bytes(), bench.client().parameters().selectors_bytes(8));
}

#[test]
fn tables_that_contradict_themselves_are_refused() {
    let sealed = |body: &[u8]| Table::from_bytes(&seal(serial::TABLE, 1, body));
    // Two bits to two bits, at position 0.
    assert!(sealed(&[0, 2, 2, 0, 0, 0, 1, 2, 3]).is_ok());
    for (why, body) in [
        ("no form", vec![2, 2, 2, 0, 0, 0, 1, 2, 3]),
        ("no bits", vec![0, 0, 2, 0]),
        ("255 bits", vec![0, 255, 2, 0]),
        ("wide entries", vec![0, 2, 33, 0, 0, 0, 1, 2, 3]),
        ("an entry too large", vec![0, 2, 2, 0, 0, 0, 1, 2, 4]),
        ("a position too high", vec![0, 2, 2, 0, 64, 0, 1, 2, 3]),
        ("too few entries", vec![0, 2, 2, 0, 0, 0, 1, 2]),
        ("a byte more", vec![0, 2, 2, 0, 0, 0, 1, 2, 3, 0]),
        ("a diagram without outputs", vec![1, 0, 0, 0, 0, 0, 0, 0]),
        ("100,001 nodes", [[1, 1, 0, 0].as_slice(), &100_001u32.to_le_bytes(), &[0; 4]].concat()),
        ("a node that does not exist", vec![1, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0]),
        ("an edge to itself", vec![1, 1, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0]),
    ] {
        let refused = sealed(&body);
        assert!(refused.is_err(), "{why}: {refused:?}");
    }
    // The same selector twice on a path.
    let high = SelectorId { position: 5, high: true };
    let leaf = Node { selector: high, edges: [Edge::Digit(0), Edge::Digit(1)] };
    let again = Node { selector: high, edges: [Edge::Digit(2), Edge::Node(0)] };
    let repeated = Diagram::new(vec![leaf, again], vec![Edge::Node(1)]);
    assert_eq!(repeated, Err(TableError::RepeatedSelector { node: 1, position: 5 }));
    let other = Node { selector: SelectorId { high: false, ..high }, ..again };
    assert!(Diagram::new(vec![leaf, other], vec![Edge::Node(1)]).is_ok());
    // Many nodes in use at one time: a tree whose leaves all come first.
    let wide = |count: u32| {
        let mut nodes = vec![leaf; count as usize];
        let mut level: Vec<Edge> = (0..count).map(Edge::Node).collect();
        for position in 6.. {
            let selector = SelectorId { position, high: true };
            let mut next = Vec::new();
            for pair in level.chunks(2) {
                next.push(match *pair {
                    [zero, one] => {
                        nodes.push(Node { selector, edges: [zero, one] });
                        Edge::Node(nodes.len() as u32 - 1)
                    }
                    _ => pair[0],
                });
            }
            level = next;
            if level.len() == 1 {
                break;
            }
        }
        Diagram::new(nodes, level)
    };
    assert!(wide(MAX_LIVE_NODES as u32 - 1).is_ok());
    assert!(matches!(wide(MAX_LIVE_NODES as u32 + 1), Err(TableError::Size { .. })));
}
