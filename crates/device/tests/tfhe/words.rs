//! Words and tables: looked up by programs, refused where they do not fit, and paged.

use crate::support::*;
use ciphermill_device::handlers::tfhe::{bootstrapping_key, conversion_key, key_switching_key};
use ciphermill_device::{Device, DeviceConfig, DeviceError, HandlerError, ReadMode, RunError, Space};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_program::{Fault, KeyId, VerifyError, VrId};
use ciphermill_tfhe::parameters::TEST_WORD;
use ciphermill_tfhe::word::{DenseTable, Diagram, Edge, Node, SelectorId, Table, Word};
use ciphermill_tfhe::{
    Bounds, Ciphertext, ClientKey, Encoding, KeyForm, KeyOrder, KeySeeds, MessageRange, ParameterSet,
};

pub(crate) const KEY: KeyId = KeyId(0);

pub(crate) fn client(seed: u8) -> ClientKey {
    let parameters = ParameterSet::named(TEST_WORD, INSECURE).expect("a named set");
    ClientKey::generate(&parameters, &SecretSeed::from_bytes([seed; 32]))
}

/// The parts of a key set, with their registers.
pub(crate) fn parts(id: KeyId, client: &ClientKey) -> [(VrId, Vec<u8>); 3] {
    let (form, seeds) = (KeyForm::Seeded, |purpose: u8| KeySeeds::from_bytes([purpose; 32], [!purpose; 32]));
    let bootstrap = client.write_bootstrap_key(form, seeds(1), Vec::new(), &mut |_, _| ()).expect("in memory");
    [
        (bootstrapping_key(id), bootstrap),
        (key_switching_key(id), client.write_keyswitch_key(form, seeds(2), Vec::new()).expect("in memory")),
        (conversion_key(id), client.write_conversion_key(form, seeds(3), Vec::new()).expect("in memory")),
    ]
}

/// A device with the keys of a set of words.
pub(crate) struct Fixture {
    pub(crate) device: Device,
    pub(crate) space: Space,
    pub(crate) client: ClientKey,
    rng: Csprng,
}

impl Fixture {
    pub(crate) fn new(config: DeviceConfig) -> Self {
        let (device, space) = open(config);
        Self::on(device, space)
    }

    pub(crate) fn on(device: Device, space: Space) -> Self {
        let client = client(5);
        let fixture = Self { device, space, client, rng: rng(9) };
        fixture.store_keys(KEY, &fixture.client);
        fixture
    }

    pub(crate) fn store_keys(&self, id: KeyId, client: &ClientKey) {
        for (register, part) in parts(id, client) {
            put(&self.space, register, &part);
        }
    }

    pub(crate) fn word(&mut self, value: u64, bits: u32) -> Vec<u8> {
        self.client.encrypt_word(value, bits, &mut self.rng).expect("in range").to_bytes()
    }

    pub(crate) fn store(&mut self, id: &str, value: u64, bits: u32) {
        let word = self.word(value, bits);
        put(&self.space, register(id), &word);
    }

    /// Table 32:0:`number`.
    pub(crate) fn table(&self, number: u32, table: Table) {
        put(&self.space, register(&format!("32:0:{number}")), &table.to_bytes());
    }

    pub(crate) fn decrypt(&self, bytes: &[u8]) -> u128 {
        self.client.decrypt_word(&Word::from_bytes(bytes).expect("a word")).expect("its key")
    }

    pub(crate) fn run(&self, source: &str) -> u128 {
        self.decrypt(&self.space.run(&program(source)).unwrap_or_else(|error| panic!("{error}\n{source}")))
    }

    pub(crate) fn refusal(&self, source: &str) -> RunError {
        match self.space.run(&program(source)) {
            Err(DeviceError::GivenProgramFailed { cause, .. }) => *cause,
            other => panic!("{source}: {other:?}"),
        }
    }

    /// The instruction and the text of a handler's refusal.
    pub(crate) fn operand(&self, source: &str) -> (usize, String) {
        match self.refusal(source) {
            RunError::Instruction { index, source: HandlerError::Operand { what, .. }, .. } => (index, what),
            other => panic!("{source}: {other}"),
        }
    }
}

pub(crate) fn dense(input: u32, output: u32, positions: &[u8], f: impl Fn(u32) -> u32) -> Table {
    Table::Dense(DenseTable::new(input, output, positions.to_vec(), (0..1 << input).map(f).collect()).expect("a table"))
}

/// Whether the word at positions 0 to 2 is less than that at positions 3 to 5, the lowest bits first.
fn less() -> Table {
    let mut nodes: Vec<Node> = Vec::new();
    // For each digit: d = 2h + l, with the selectors s = h ⊕ l and h.
    let mut below = Edge::Digit(0);
    for digit in 0..3u8 {
        // x < y if y's digit is greater, or they are equal and the digits below decide.
        let mut leaf = |selector: SelectorId, edges: [Edge; 2]| {
            nodes.push(Node { selector, edges });
            Edge::Node(nodes.len() as u32 - 1)
        };
        let compare = |x: u8, y: u8| match x.cmp(&y) {
            std::cmp::Ordering::Less => Edge::Digit(1),
            std::cmp::Ordering::Equal => below,
            std::cmp::Ordering::Greater => Edge::Digit(0),
        };
        // By x's h, x's s, y's h, y's s.
        let gray = |h: u8, s: u8| 2 * h + (h ^ s);
        let high = |position: u8| SelectorId { position, high: true };
        let sum = |position: u8| SelectorId { position, high: false };
        let x_edges = [0u8, 1].map(|xh| {
            let edges = [0u8, 1].map(|xs| {
                let x = gray(xh, xs);
                let edges = [0u8, 1].map(|yh| leaf(sum(digit + 3), [0u8, 1].map(|ys| compare(x, gray(yh, ys)))));
                leaf(high(digit + 3), edges)
            });
            leaf(sum(digit), edges)
        });
        below = leaf(high(digit), x_edges);
    }
    Table::Diagram(Diagram::new(nodes, vec![below]).expect("children come first"))
}

/// The refusal of a table that reads an empty position, with its remedies.
fn empty(position: u8) -> String {
    format!(
        "it reads position {position}, which is empty; select it before, or give the selected word more digits: by a wider \
         --range of the integer, or by wcat with a word of 0"
    )
}

#[test]
fn tables_are_looked_up_and_chained() {
    let mut f = Fixture::new(DeviceConfig::in_memory());
    f.table(0, dense(8, 6, &[0, 1, 2, 3], |x| x.wrapping_mul(77) >> 3 & 63));
    f.table(1, dense(6, 9, &[4, 5, 6], |x| (x * x) >> 3));
    let (first, second) = (|x: u32| x.wrapping_mul(77) >> 3 & 63, |x: u32| (x * x) >> 3);
    // The second table reads the first one's result at other positions; the selectors of both exist together.
    let source = "wselect 33:0:1, 0\nwlook 32:0:0, 33:0:9\nwselect 33:0:9, 4\nwlook 32:0:1, 33:0:9\nreturn 33:0:9";
    for value in [0, 1, 77, 200, 255] {
        f.store("33:0:1", value.into(), 8);
        assert_eq!(f.run(source), u128::from(second(first(value))), "{value}");
    }
    // The same by writing, and by reading.
    put(&f.space, program_of(KEY), &program(&source.replace("33:0:1,", "34:0:1,")).encode());
    let word = f.word(93, 8);
    assert!(put(&f.space, register("34:0:1"), &word), "the write computes");
    let stored = f.space.read_bytes(register("34:0:1"), ReadMode::Stored).expect("stored");
    assert_eq!(f.decrypt(&stored), u128::from(second(first(93))));
    f.store("33:0:1", 94, 8);
    put(&f.space, program_of(KEY), &program(source).encode());
    let read = f.space.read_bytes(register("33:0:1"), ReadMode::Compute).expect("a result");
    assert_eq!(f.decrypt(&read), u128::from(second(first(94))));
    let metrics = f.device.metrics();
    assert_eq!((metrics.instructions["wselect"].count, metrics.instructions["wlook"].count), (14, 14));
}

#[test]
fn a_diagram_compares_words_that_were_selected_as_one_batch() {
    let mut f = Fixture::new(DeviceConfig::in_memory());
    f.table(0, less());
    let source = "wselect 33:0:1, 0\nwselect 33:0:2, 3\nwlook 32:0:0, 33:0:9\nreturn 33:0:9";
    for (x, y) in [(0, 0), (62, 63), (63, 62), (17, 17), (15, 16)] {
        f.store("33:0:1", x, 6);
        f.store("33:0:2", y, 6);
        assert_eq!(f.run(source), u128::from(x < y), "{x} < {y}");
    }
}

#[test]
fn slices_and_concatenations_keep_the_digits() {
    let mut f = Fixture::new(DeviceConfig::in_memory());
    f.store("33:0:1", 0b11_10_01_00, 8);
    f.store("33:0:2", 0b01_11, 4);
    // Two digits from digit 1 on.
    assert_eq!(f.run("wslice 33:0:1, 513\nreturn 33:0:1"), 0b10_01);
    assert_eq!(f.run("wcat 33:0:1, 33:0:2\nreturn 33:0:1"), 0b01_11_11_10_01_00);
    assert_eq!(f.run("wcat 33:0:2, 33:0:2\nreturn 33:0:2"), 0b01_11_01_11);
    assert_eq!(f.run("push 33:0:1\nmov 33:0:8, 33:0:2\npop 33:0:7\nwcat 33:0:8, 33:0:7\nreturn 33:0:8"), {
        0b11_10_01_00_01_11
    });
    // Words of one to 64 digits.
    let slice = |count: u32, first: u32| {
        format!(
            "a slice of {count} digits from digit {first} on, and the word has 4; use v = 256 · c + f with c from 1 and c + f \
             up to 4"
        )
    };
    assert_eq!(f.operand("wslice 33:0:1, 3\nreturn 33:0:1"), (0, slice(0, 3)));
    assert_eq!(f.operand("wslice 33:0:1, 515\nreturn 33:0:1"), (0, slice(2, 3)));
    assert_eq!(f.operand("wslice 33:0:1, -1\nreturn 33:0:1"), (0, "the slice is -1; use 0 or more".into()));
    let doubled = format!("{}return 33:0:1", "wcat 33:0:1, 33:0:1\n".repeat(5));
    assert_eq!(f.operand(&doubled), (4, "the word would have 128 digits; use 1 to 64".into()));
}

#[test]
fn positions_and_keys_are_checked_before_anything_runs() {
    let mut f = Fixture::new(DeviceConfig::in_memory());
    f.table(0, dense(4, 4, &[0, 2], |x| x));
    f.store("33:0:1", 6, 4);
    let look = "wlook 32:0:0, 33:0:9\nreturn 33:0:9";
    assert_eq!(f.operand(look), (0, empty(0)));
    assert_eq!(f.operand(&format!("wselect 33:0:1, 0\n{look}")), (1, empty(2)));
    let far = "2 digits at position 63 end at 65; the selector file has 64";
    assert_eq!(f.operand(&format!("wselect 33:0:1, 63\n{look}")), (0, far.into()));
    assert_eq!(f.operand(&format!("wselect 33:0:1, -1\n{look}")), (0, "the position is -1; use 0 or more".into()));
    assert_eq!(f.device.metrics().programs_run, 0);
    // The selectors of a run end with it.
    assert_eq!(f.run(&format!("wselect 33:0:1, 1\nwselect 33:0:1, 0\nwselect 33:0:1, 2\n{look}")), 0b10_10);
    assert_eq!(f.operand(look), (0, empty(0)));
    // Without the conversion key.
    f.space.delete(conversion_key(KEY)).expect("stored");
    match f.refusal(&format!("wselect 33:0:1, 0\n{look}")) {
        RunError::Verify(VerifyError::Instruction { fault: Fault::MissingKey { key, role }, .. }) => {
            assert_eq!((key, role), (conversion_key(KEY), "conversion key"));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_word_that_states_much_noise_is_not_selected() {
    let mut f = Fixture::new(DeviceConfig::in_memory());
    f.table(0, dense(4, 4, &[0, 1], |x| x));
    let word = Word::from_bytes(&f.word(9, 4)).expect("a word");
    let source = "wselect 33:0:1, 0\nwlook 32:0:0, 33:0:9\nreturn 33:0:9";
    // It states less than a fresh encryption has, and counts as fresh.
    put(&f.space, register("33:0:1"), &word.clone().with_variance(0.0).expect("a variance").to_bytes());
    assert_eq!(f.run(source), 9);
    put(&f.space, register("33:0:1"), &word.with_variance(1e-3).expect("a variance").to_bytes());
    assert!(matches!(f.refusal(source), RunError::FailureTooLikely { .. }), "{}", f.refusal(source));
    // The result of a table states the noise of its depth, whatever the engine says.
    f.store("33:0:1", 9, 4);
    let result = Word::from_bytes(&f.space.run(&program(source)).expect("a result")).expect("a word");
    let noise = ciphermill_tfhe::noise::word::WordNoise::new(f.client.parameters()).expect("words");
    assert_eq!(result.variance(), noise.digit(4));
}

/// Sums of products at 2^8 places, as words.
#[test]
fn an_integer_is_split_and_enters_a_table() {
    let mut f = Fixture::new(DeviceConfig::in_memory());
    f.table(0, dense(8, 8, &[0, 1, 2, 3], |x| (x * x) & 0xff));
    let encoding = Encoding::unsigned(8, false).expect("8 bits");
    let encrypt = |f: &mut Fixture, m: i64, range: Option<(i64, i64)>| {
        let integer = f.client.encrypt(&encoding, m, KeyOrder::Big, &mut f.rng).expect("8 bits");
        let range = range.map(|(min, max)| MessageRange::new(256, min, max).expect("a range"));
        let range = range.or(integer.bounds().range());
        integer.clone().with_bounds(integer.bounds().with_range(range)).to_bytes()
    };
    let sum = "homintmult 3:0:1, 5\nhomadd 3:0:1, 4:0:2\nwsplit 33:0:9, 3:0:1\n";
    let look = "wselect 33:0:9, 0\nwlook 32:0:0, 33:0:9\nreturn 33:0:9";
    for (a, b) in [(0, 0), (40, 3), (25, 130), (31, 100)] {
        let (x, y) = (encrypt(&mut f, a, Some((0, 40))), encrypt(&mut f, b, Some((0, 55))));
        put(&f.space, register("3:0:1"), &x);
        put(&f.space, register("4:0:2"), &y);
        let value = (5 * a + b) as u128 & 0xff;
        assert_eq!(f.run(&format!("{sum}return 33:0:9")), value);
        assert_eq!(f.run(&format!("{sum}{look}")), (value * value) & 0xff);
    }
    // The range says how many digits the word has: 0 to 12 have four bits, and with negative messages there are all eight.
    let digits = |f: &Fixture| {
        let bytes = f.space.run(&program("wsplit 33:0:9, 3:0:1\nreturn 33:0:9")).expect("a word");
        let word = Word::from_bytes(&bytes).expect("a word");
        let noise = ciphermill_tfhe::noise::word::WordNoise::new(f.client.parameters()).expect("words");
        assert_eq!(word.variance(), noise.split());
        f.client.decrypt_digits(&word).expect("its key")
    };
    for (m, range, expected) in
        [(9, (0, 12), &[1, 2][..]), (9, (0, 16), &[1, 2, 0]), (0, (0, 0), &[0]), (253, (-5, 5), &[1, 3, 3, 3])]
    {
        let integer = encrypt(&mut f, m, Some(range));
        put(&f.space, register("3:0:1"), &integer);
        assert_eq!(digits(&f), expected, "{m} in {range:?}");
    }
    let metrics = f.device.metrics();
    assert_eq!(metrics.instructions["wsplit"].count, 12);
    // The selection of a word counts its digits before anything runs.
    f.table(1, dense(10, 2, &[0, 1, 2, 3, 4], |x| x & 3));
    assert_eq!(
        f.operand("wsplit 33:0:9, 3:0:1\nwselect 33:0:9, 0\nwlook 32:0:1, 33:0:9\nreturn 33:0:9"),
        (2, empty(4))
    );
}

#[test]
fn integers_that_cannot_be_split_are_refused_before_anything_runs() {
    let mut f = Fixture::new(DeviceConfig::in_memory());
    let source = "wsplit 33:0:9, 3:0:1\nreturn 33:0:9";
    let mut refuse = |encoding: &Encoding, order, change: &dyn Fn(Ciphertext) -> Ciphertext| {
        let integer = f.client.encrypt(encoding, 1, order, &mut f.rng).expect("in range");
        put(&f.space, register("3:0:1"), &change(integer).to_bytes());
        let cause = f.refusal(source);
        assert_eq!(f.device.metrics().programs_run, 0, "{cause}");
        cause
    };
    let bits = Encoding::unsigned(8, false).expect("8 bits");
    let same = |integer| integer;
    let handler = |cause| match cause {
        RunError::Instruction { index: 0, source, .. } => source,
        other => panic!("{other}"),
    };
    match handler(refuse(&Encoding::new(0, 9, true).expect("ten"), KeyOrder::Big, &same)) {
        HandlerError::Range { what, .. } => {
            assert!(what.contains("20 places cannot be split into bits; encrypt it with --bits"), "{what}")
        }
        other => panic!("{other}"),
    }
    match handler(refuse(&bits, KeyOrder::Small, &same)) {
        HandlerError::Operand { what, .. } => assert!(what.contains("under the small one"), "{what}"),
        other => panic!("{other}"),
    }
    let unknown = |integer: Ciphertext| integer.clone().with_bounds(integer.bounds().with_range(None));
    assert!(matches!(handler(refuse(&bits, KeyOrder::Big, &unknown)), HandlerError::UnknownRange { .. }));
    let noisy = |integer: Ciphertext| {
        let bounds = Bounds::new(integer.bounds().range(), (-16f64).exp2()).expect("a variance");
        integer.with_bounds(bounds)
    };
    let cause = refuse(&bits, KeyOrder::Big, &noisy);
    assert!(matches!(cause, RunError::FailureTooLikely { .. }), "{cause}");
    assert!(cause.to_string().contains("integers of fewer bits"), "{cause}");
    // The conversion key is not needed, and the others are.
    f.space.delete(conversion_key(KEY)).expect("stored");
    let integer = f.client.encrypt(&bits, 200, KeyOrder::Big, &mut f.rng).expect("8 bits");
    put(&f.space, register("3:0:1"), &integer.to_bytes());
    assert_eq!(f.run(source), 200);
    f.space.delete(key_switching_key(KEY)).expect("stored");
    match f.refusal(source) {
        RunError::Verify(VerifyError::Instruction { fault: Fault::MissingKey { key, .. }, .. }) => {
            assert_eq!(key, key_switching_key(KEY));
        }
        other => panic!("{other}"),
    }
}

/// A range is never assumed for a split: it says which bits there are.
#[test]
fn a_split_assumes_no_range() {
    let mut f = Fixture::new(DeviceConfig { assume_range: true, ..DeviceConfig::in_memory() });
    let bits = Encoding::unsigned(8, false).expect("8 bits");
    let integer = f.client.encrypt(&bits, 1, KeyOrder::Big, &mut f.rng).expect("8 bits");
    let bounds = integer.bounds().with_range(None);
    put(&f.space, register("3:0:1"), &integer.with_bounds(bounds).to_bytes());
    match f.refusal("wsplit 33:0:9, 3:0:1\nreturn 33:0:9") {
        RunError::Instruction { source: HandlerError::UnknownRange { .. }, .. } => {}
        other => panic!("{other}"),
    }
}

#[test]
fn objects_of_other_sizes_sets_and_forms_are_refused() {
    let mut f = Fixture::new(DeviceConfig::in_memory());
    let refuses = |id: &str, bytes: &[u8], part: &str| {
        let error = f.space.write_bytes(register(id), bytes, Default::default()).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    };
    let word = f.client.encrypt_word(1, 4, &mut rng(3)).expect("in range").to_bytes();
    refuses("33:0:1", &word[..word.len() - 1], " for each of 1 to 64 digits of a word, in bytes under");
    let other = ClientKey::generate(f.client.parameters(), &SecretSeed::from_bytes([6; 32]));
    let foreign = other.encrypt_word(1, 4, &mut rng(3)).expect("in range").to_bytes();
    refuses("33:0:1", &foreign, "key tag of the word");
    let table = dense(4, 4, &[0, 1], |x| x).to_bytes();
    refuses("32:0:1", &table[..table.len() - 1], "");
    refuses("32:0:1", &vec![0; 5 << 20], "1 to ");
    refuses("33:0:1", &table, " for each of 1 to 64 digits of a word");
    refuses("32:0:1", &word, "");
    // An operand of the wrong class.
    f.store("33:0:1", 1, 4);
    let cause = f.refusal("wselect 33:0:1, 0\nhomadd 33:0:1, 33:0:1\nreturn 33:0:1");
    assert!(matches!(cause, RunError::Verify(_)), "{cause}");
}

#[test]
fn words_and_tables_are_paged() {
    let words = |config: DeviceConfig| {
        let mut f = Fixture::new(config);
        f.table(0, dense(6, 6, &[0, 1, 2], |x| 63 - x));
        let mut source = String::new();
        for i in 0..40 {
            f.store(&format!("33:0:{}", 100 + i), i, 6);
            source += &format!("wselect 33:0:{}, 0\nwlook 32:0:0, 33:0:{}\n", 100 + i, 200 + i);
        }
        source += "mov 33:0:1, 33:0:200\n";
        for i in 1..20 {
            source += &format!("wcat 33:0:1, 33:0:{}\n", 200 + i);
        }
        (f.run(&(source + "return 33:0:1")), f.device.metrics())
    };
    let expected = (0..20u128).map(|i| (63 - i) << (6 * i)).sum::<u128>();
    let (value, _) = words(DeviceConfig::in_memory());
    assert_eq!(value, expected);
    let (value, metrics) = words(DeviceConfig { main_memory_bytes: 64 << 10, ..DeviceConfig::in_memory() });
    assert_eq!(value, expected);
    assert!(metrics.memory.page_outs > 0, "{metrics:?}");
}
