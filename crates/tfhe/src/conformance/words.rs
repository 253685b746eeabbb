//! Conformance of the jobs of words: selections, look-ups and splits.

use std::sync::Arc;

use ciphermill_lattice::{Csprng, KeyTag, SecretSeed};

use super::{Agreement, ConformanceError, DEVIATIONS, POLICY, distance};
use crate::ciphertext::Ciphertext;
use crate::circuit::Split;
use crate::client::{ClientKey, KeySeeds};
use crate::encoding::Encoding;
use crate::engine::{
    Job, KeyPart, KeyPartError, KeyPartId, LookUpJob, Output, PreparedKey, SelectJob, SelectorFile, Selectors,
    SplitJob, TfheEngine,
};
use crate::error::TfheError;
use crate::lwe::LweCiphertext;
use crate::noise::word::WordNoise;
use crate::parameters::{KeyOrder, ParameterSet, TEST_WORD};
use crate::server_key::KeyForm;
use crate::word::{DenseTable, Diagram, Edge, Node, SelectorId, Table, Word};

/// Keys of a small set with words, two words, an integer, and two tables, from fixed seeds.
///
/// # Example
/// ```
/// use ciphermill_tfhe::conformance::{Agreement, WordCase};
/// use ciphermill_tfhe::{Backend, CpuEngine};
///
/// let case = WordCase::small()?;
/// let [fft, ntt] = [Backend::Fft, Backend::Ntt].map(|backend| case.prepare(&CpuEngine::new(backend)));
/// let (fft, ntt) = (case.outputs(&*fft?)?, case.outputs(&*ntt?)?);
/// case.compare(&fft, &ntt, Agreement::Phase)?;
/// assert!(case.compare(&fft, &ntt[1..], Agreement::Phase).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WordCase {
    client: ClientKey,
    parts: [Vec<u8>; 3],
    noise: WordNoise,
    /// Selected at the positions from 0 and from 3 on.
    words: [(u64, Word); 2],
    integer: (u64, Ciphertext),
    split: Split,
    tables: [Table; 2],
}

/// A word, the digits that it must have, and the variance of each.
struct Expected {
    what: &'static str,
    digits: Vec<u8>,
    variance: f64,
}

/// The digits of a value, the lowest first.
fn digits(value: u64, count: usize) -> Vec<u8> {
    (0..count).map(|i| (value >> (2 * i) & 3) as u8).collect()
}

/// A dense table that rotates and chooses, and a diagram that reads both words, shares a node and raises values.
fn tables() -> Result<[Table; 2], TfheError> {
    let dense = DenseTable::new(9, 7, vec![0, 1, 2, 3, 4], (0..512).map(|x| ((x * 73) >> 2) & 127).collect())?;
    let node = |position, high, edges| Node { selector: SelectorId { position, high }, edges };
    let nodes = vec![
        node(0, true, [Edge::Digit(1), Edge::Digit(2)]),
        node(3, false, [Edge::Node(0), Edge::Digit(3)]),
        node(4, true, [Edge::Node(1).raised(2), Edge::Node(1)]),
    ];
    let diagram = Diagram::new(nodes, vec![Edge::Node(2), Edge::Node(1).raised(3), Edge::Digit(1)])?;
    Ok([Table::Dense(dense), Table::Diagram(diagram)])
}

impl WordCase {
    /// The test set with words.
    ///
    /// # Errors
    /// Never for an admissible parameter set.
    pub fn small() -> Result<Self, TfheError> {
        let parameters = ParameterSet::named(TEST_WORD, POLICY)?;
        let client = ClientKey::generate(&parameters, &SecretSeed::from_bytes([60; 32]));
        let seeds = |byte: u8| KeySeeds::from_bytes([byte; 32], [!byte; 32]);
        let parts = [
            client.write_bootstrap_key(KeyForm::Seeded, seeds(61), Vec::new(), &mut |_, _| ())?,
            client.write_keyswitch_key(KeyForm::Seeded, seeds(62), Vec::new())?,
            client.write_conversion_key(KeyForm::Seeded, seeds(63), Vec::new())?,
        ];
        let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([64; 32]), 0);
        let mut word = |value| client.encrypt_word(value, 6, &mut rng).map(|word| (value, word));
        let words = [word(0b10_01_11)?, word(0b00_10_01)?];
        let (value, encoding) = (0b101_1010, Encoding::unsigned(7, false)?);
        let integer = (value, client.encrypt(&encoding, value as i64, KeyOrder::Big, &mut rng)?);
        let noise = parameters.require_word_noise()?;
        Ok(Self { client, parts, noise, words, integer, split: Split::new(7, 7)?, tables: tables()? })
    }

    /// The sealed parts of the server key.
    #[must_use]
    pub fn parts(&self) -> Vec<KeyPart<'_>> {
        let [bootstrap, keyswitch, conversion] = &self.parts;
        vec![
            KeyPart::bootstrap(bootstrap),
            KeyPart::keyswitch(keyswitch),
            KeyPart::new(KeyPartId::CONVERSION, conversion),
        ]
    }

    /// The key in the engine's form.
    ///
    /// # Errors
    /// As [`TfheEngine::prepare`], and if the key takes more memory than the engine said.
    pub fn prepare(&self, engine: &dyn TfheEngine) -> Result<Arc<dyn PreparedKey>, ConformanceError> {
        let key = engine.prepare(self.parts(), POLICY, &mut |_, _| ())?;
        let (taken, said) = (key.memory_bytes(), engine.key_bytes(key.parameters()));
        self.require(taken <= said, || format!("the key takes {taken} bytes, the engine said at most {said}"))?;
        Ok(key)
    }

    /// Selects both words, looks up both tables and splits the integer: in batches and one by one, which must give the same bits.
    /// Every word must decrypt to its value, with phases within ten standard deviations of their places. Returns the results of
    /// the look-ups, and the word of the integer.
    ///
    /// # Errors
    /// If the engine fails or a result is wrong.
    pub fn outputs(&self, key: &dyn PreparedKey) -> Result<Vec<Word>, ConformanceError> {
        let [(_, low), (_, high)] = &self.words;
        let integer = SplitJob { input: &self.integer.1, split: self.split };
        let outputs = key.run(&[SelectJob { word: low }.into(), integer.into(), SelectJob { word: high }.into()])?;
        let Ok([Output::Selectors(low_selectors), Output::Word(split), Output::Selectors(high_selectors)]) =
            <[Output; 3]>::try_from(outputs)
        else {
            return Err(self.wrong("two selections and a split returned something else".to_owned()));
        };
        let mut file = SelectorFile::new();
        for (first, word, selectors) in [(0, low, low_selectors), (3, high, high_selectors)] {
            self.judge_selectors(&selectors, word)?;
            file.put(first, &selectors)?;
        }
        let [dense, diagram] = self.tables.each_ref().map(|table| Job::from(LookUpJob { file: &file, table }));
        let mut words = self.words_of(key.run(&[dense, diagram])?)?;
        words.push(split);
        let mut alone = SelectorFile::new();
        for (first, word) in [(0, low), (3, high)] {
            let [Output::Selectors(selectors)] = &key.run(&[SelectJob { word }.into()])?[..] else {
                return Err(self.wrong("a selection returned something else".to_owned()));
            };
            alone.put(first, selectors)?;
        }
        let single =
            self.tables.iter().map(|table| Job::from(LookUpJob { file: &alone, table })).chain([integer.into()]);
        for (word, job) in words.iter().zip(single) {
            let same = self.words_of(key.run(&[job])?)?.first().is_some_and(|other| same_bits(other, word));
            self.require(same, || format!("the result of a {} depends on its batch", job.name()))?;
        }
        for (word, expected) in words.iter().zip(self.expected()) {
            self.judge(word, &expected)?;
        }
        Ok(words)
    }

    /// Compares the results of two engines.
    ///
    /// # Errors
    /// If they do not agree.
    pub fn compare(&self, words: &[Word], reference: &[Word], agreement: Agreement) -> Result<(), ConformanceError> {
        self.require(words.len() == reference.len(), || "the numbers of words differ".to_owned())?;
        for ((word, reference), expected) in words.iter().zip(reference).zip(self.expected()) {
            if agreement == Agreement::Bits {
                self.require(same_bits(word, reference), || {
                    format!("{}: the bits differ from the reference's", expected.what)
                })?;
                continue;
            }
            // A small difference before the key switch changes the digits of the decomposition: both results have their own noise.
            let bound = DEVIATIONS * (2.0 * expected.variance).sqrt();
            for (digit, other) in word.digits().iter().zip(reference.digits()) {
                let error = distance(self.phase(digit)?, self.phase(other)?);
                self.require(error <= bound, || {
                    format!("{}: phases differ by {error:e}, more than {bound:e}", expected.what)
                })?;
            }
        }
        Ok(())
    }

    fn expected(&self) -> [Expected; 3] {
        let file = |position: u8| match position {
            0..3 => digits(self.words[0].0, 3)[usize::from(position)],
            _ => digits(self.words[1].0, 3)[usize::from(position) - 3],
        };
        let [dense, diagram] = self.tables.each_ref().map(|table| {
            let variance = self.noise.digit(table.depth());
            Expected { what: "look-up", digits: table.value(&file), variance }
        });
        let digits = digits(self.integer.0, self.split.digits());
        [dense, diagram, Expected { what: "split", digits, variance: self.noise.split() }]
    }

    fn judge(&self, word: &Word, expected: &Expected) -> Result<(), ConformanceError> {
        let (what, tag) = (expected.what, self.client.tag);
        self.require(word.key_tag() == tag, || format!("the result of a {what} is under another key set"))?;
        let decrypted = self.client.decrypt_digits(word)?;
        self.require(decrypted == expected.digits, || {
            format!("a {what} gave {decrypted:?}, not {:?}", expected.digits)
        })?;
        let bound = DEVIATIONS * expected.variance.sqrt();
        for (digit, place) in word.digits().iter().zip(&expected.digits) {
            let error = distance(self.phase(digit)?, u64::from(*place) << 62);
            self.require(error <= bound, || format!("{what}: phase error {error:e} above the bound {bound:e}"))?;
        }
        Ok(())
    }

    fn judge_selectors(&self, selectors: &Selectors, word: &Word) -> Result<(), ConformanceError> {
        let (given, expected) = (selectors.digits().len(), word.digits().len());
        self.require(given == expected, || format!("selectors of {given} digits for a word of {expected}"))?;
        let own = selectors.digits().iter().all(|digit| digit.key_tag() == self.client.tag);
        self.require(own, || "selectors are under another key set".to_owned())?;
        let (taken, said) = (selectors.memory_bytes(), self.client.parameters.selectors_bytes(expected));
        self.require(0 < taken && taken <= said, || format!("selectors take {taken} bytes, and {said} are set aside"))
    }

    fn words_of(&self, outputs: Vec<Output>) -> Result<Vec<Word>, ConformanceError> {
        let words = outputs.into_iter().map(|output| match output {
            Output::Word(word) => Ok(word),
            _ => Err(self.wrong("a look-up or a split returned no word".to_owned())),
        });
        words.collect()
    }

    /// Words and selectors that every engine must refuse, by type.
    pub(super) fn check_refusals(&self, engine: &dyn TfheEngine) -> Result<(), ConformanceError> {
        let key = self.prepare(engine)?;
        let (_, word) = &self.words[0];
        let foreign = Word::new(KeyTag(!self.client.tag.0), word.digits().to_vec(), word.variance())?;
        let refused = key.run(&[SelectJob { word: &foreign }.into()]).is_err();
        self.require(refused, || "a word of another key set was selected".to_owned())?;
        let [table, _] = &self.tables;
        let select = |key: &dyn PreparedKey| match &key.run(&[SelectJob { word }.into()])?[..] {
            [Output::Selectors(selectors)] => Ok(selectors.clone()),
            _ => Err(self.wrong("a selection returned something else".to_owned())),
        };
        let mut file = SelectorFile::new();
        file.put(0, &select(&*key)?)?;
        let error = key.run(&[LookUpJob { file: &file, table }.into()]).err();
        let empty = matches!(error, Some(TfheError::NoSelector { position: 3 }));
        self.require(empty, || format!("a look-up at an empty position: {error:?}"))?;
        // Of the same engine, which prepared the key again.
        let other = self.prepare(engine)?;
        file.put(3, &select(&*other)?)?;
        let error = key.run(&[LookUpJob { file: &file, table }.into()]).err();
        let refused = matches!(error, Some(TfheError::ForeignSelectors));
        self.require(refused, || format!("a look-up with selectors of another prepared key: {error:?}"))?;
        let (encoding, mut rng) =
            (Encoding::unsigned(2, false), Csprng::from_secret(&SecretSeed::from_bytes([65; 32]), 0));
        let small = self.client.encrypt(&encoding.map_err(TfheError::from)?, 1, KeyOrder::Small, &mut rng)?;
        let refused = key.run(&[SplitJob { input: &small, split: Split::new(2, 2)? }.into()]).is_err();
        self.require(refused, || "an integer under the small key was split".to_owned())?;
        // A key without its conversion part selects nothing.
        let key = engine.prepare(self.parts().into_iter().take(2).collect(), POLICY, &mut |_, _| ())?;
        let error = key.run(&[SelectJob { word }.into()]).err();
        let missing = KeyPartError::Missing(KeyPartId::CONVERSION);
        let refused = matches!(&error, Some(TfheError::KeyPart(given)) if *given == missing);
        self.require(refused, || format!("a selection without a conversion key: {error:?}"))
    }

    /// An engine without words refuses the conversion key and the jobs of words.
    pub(super) fn check_absence(&self, engine: &dyn TfheEngine) -> Result<(), ConformanceError> {
        let error = engine.prepare(self.parts(), POLICY, &mut |_, _| ()).err();
        let unknown = KeyPartError::Unknown(KeyPartId::CONVERSION);
        let refused = matches!(&error, Some(TfheError::KeyPart(given)) if *given == unknown);
        self.require(refused, || format!("an engine without words and a conversion key: {error:?}"))?;
        let key = engine.prepare(self.parts().into_iter().take(2).collect(), POLICY, &mut |_, _| ())?;
        let (file, [table, _]) = (SelectorFile::new(), &self.tables);
        let jobs: [Job<'_>; 3] = [
            SelectJob { word: &self.words[0].1 }.into(),
            LookUpJob { file: &file, table }.into(),
            SplitJob { input: &self.integer.1, split: self.split }.into(),
        ];
        for job in jobs {
            let error = key.run(&[job]).err();
            let refused = matches!(error, Some(TfheError::UnsupportedJob { .. }));
            self.require(refused, || format!("an engine without words and a {}: {error:?}", job.name()))?;
        }
        Ok(())
    }

    fn phase(&self, digit: &LweCiphertext<u32>) -> Result<u64, TfheError> {
        let phase: u32 = self.client.lwe.decrypt_phase(digit)?;
        Ok(u64::from(phase) << 32)
    }

    fn require(&self, holds: bool, what: impl FnOnce() -> String) -> Result<(), ConformanceError> {
        if holds { Ok(()) } else { Err(self.wrong(what())) }
    }

    fn wrong(&self, what: String) -> ConformanceError {
        ConformanceError::Wrong { case: self.client.parameters.name.clone(), what }
    }
}

/// Whether two words have the same key and the same digits; engines need not state a variance.
fn same_bits(left: &Word, right: &Word) -> bool {
    (left.key_tag(), left.digits()) == (right.key_tag(), right.digits())
}
