//! Words and tables: their types, their instructions, and what holds of their contents.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ciphermill_program::{
    Access, DataId, Effect, Fact, Facts, Instruction, InstructionSpec, KeyId, KeyUse, LogProbability, ObjectClass,
    Operand, Operands, TypeCode, VrId,
};
use ciphermill_tfhe::circuit::Split;
use ciphermill_tfhe::engine::{Job as EngineJob, LookUpJob, Output, SelectJob, SplitJob};
use ciphermill_tfhe::noise::{fresh_variance, word::WordNoise};
use ciphermill_tfhe::word::{MAX_DIGITS, MAX_POSITIONS};
use ciphermill_tfhe::{KeyOrder, KeyTag, ParameterSet, SelectorFile, TfheError, word};

use super::{KEY, Loaded, Shape, opcode};
use crate::cost::{BySize, Rate};
use crate::handler::{HandlerError, Job, KeyContext, Residency, Role, Trigger, TypeDescriptor};
use crate::handlers::{downcast, invalid, loaded, operand_error};

/// A table: a function of words, which the device sees.
pub const TABLE: TypeCode = TypeCode(32);
/// A word of encrypted digits; reading it runs the program (compute-on-read).
pub const WORD_COR: TypeCode = TypeCode(33);
/// A word of encrypted digits; writing it runs the program (compute-on-write).
pub const WORD_COW: TypeCode = TypeCode(34);

/// The data id of the conversion key. It is the paper's slot of the private functional key-switching key, which no instruction
/// here needs.
pub const CONVERSION_KEY: DataId = DataId(3);

/// The register of the conversion key of `key_id`.
///
/// # Example
/// ```
#[doc = include_str!("../../example.txt")]
/// assert_eq!(tfhe::conversion_key(KeyId(1)).to_string(), "2:1:3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub const fn conversion_key(key_id: KeyId) -> VrId {
    VrId::new(KEY, key_id, CONVERSION_KEY)
}

/// Most bytes of a stored table.
const MAX_TABLE_BYTES: u64 = (4 << 20) + 256;
/// Most bytes of a stored word of any admissible set.
const MAX_WORD_BYTES: u64 = (2 << 20) + 256;

pub(super) static TABLES: ObjectClass = ObjectClass::operand("a table", TABLE);
pub(super) static WORDS: ObjectClass = ObjectClass::ciphertext("a word", WORD_COR, WORD_COW);

/// The selectors of a run, by position.
const SELECTOR_FILE: &str = "the selector file";

const KEYS: &[KeyUse] = &[
    KeyUse { name: "bootstrapping key", type_code: KEY, data_id: super::BOOTSTRAPPING_KEY },
    KeyUse { name: "key-switching key", type_code: KEY, data_id: super::KEY_SWITCHING_KEY },
    KeyUse { name: "conversion key", type_code: KEY, data_id: CONVERSION_KEY },
];

/// The selectors of a word's digits.
pub static SELECT: InstructionSpec = InstructionSpec::new(
    opcode::SELECT,
    "wselect",
    &[Operand::read("n", &WORDS)],
    "selectors from position v on ← digits of n; neighbours run as one batch",
)
.factor("v")
.keys(KEYS)
.state(SELECTOR_FILE, Access::ReadWrite);

/// A table of the selected digits.
pub static LOOK_UP: InstructionSpec = InstructionSpec::new(
    opcode::LOOK_UP,
    "wlook",
    &[Operand::read("t", &TABLES), Operand::write("n", &WORDS)],
    "n ← the entry of table t at the selectors that t names",
)
.keys(KEYS)
.state(SELECTOR_FILE, Access::Read);

/// Some digits of a word.
pub static SLICE: InstructionSpec = InstructionSpec::new(
    opcode::SLICE,
    "wslice",
    &[Operand::read_write("n", &WORDS)],
    "n ← c digits of n from digit f on, v = 256 · c + f",
)
.factor("v");

/// The digits of two words.
pub static CONCATENATE: InstructionSpec = InstructionSpec::new(
    opcode::CONCATENATE,
    "wcat",
    &[Operand::read_write("n1", &WORDS), Operand::read("n2", &WORDS)],
    "n1 ← the digits of n1, then those of n2",
);

/// The word of an integer.
pub static SPLIT: InstructionSpec = InstructionSpec::new(
    opcode::SPLIT,
    "wsplit",
    &[Operand::write("n1", &WORDS), Operand::read("n2", &super::TLWE)],
    "n1 ← the bits of the integer n2, which is under the big key and states its range",
)
.keys(super::SERVER_KEYS);

pub(super) const TYPES: [TypeDescriptor; 3] = [
    TypeDescriptor { code: TABLE, name: "table", residency: Residency::Persistent, role: Role::TestVector },
    TypeDescriptor {
        code: WORD_COR,
        name: "word, compute-on-read",
        residency: Residency::Paged,
        role: Role::Value(Trigger::OnRead),
    },
    TypeDescriptor {
        code: WORD_COW,
        name: "word, compute-on-write",
        residency: Residency::Paged,
        role: Role::Value(Trigger::OnWrite),
    },
];

pub(super) fn is_word(code: TypeCode) -> bool {
    code == WORD_COR || code == WORD_COW
}

/// The measured times of words under one key.
#[derive(Debug)]
pub(super) struct Times {
    /// By digit.
    select: Rate,
    /// By bytes of the table.
    look_up: BySize,
    /// By bit. The bits of an integer do not follow from its size.
    split: Rate,
}

/// The time of a look-up before any was timed: that of 20 input bits.
const INITIAL_LOOK_UP_NS: f64 = 100e6;

impl Times {
    /// `bootstrap_ns`: the expected time of a bootstrap before anything was timed.
    pub(super) fn new(bootstrap_ns: f64) -> Self {
        // A digit needs a rotation, and about a third of its work afterwards.
        let digit_ns = 1.5 * bootstrap_ns;
        Self {
            select: Rate::new(digit_ns, 8.0 * digit_ns),
            look_up: BySize::new(INITIAL_LOOK_UP_NS, 1 << 20),
            split: Rate::new(bootstrap_ns, 14.0 * bootstrap_ns),
        }
    }
}

/// A loaded table, and its bytes when stored.
struct Tabulated {
    table: word::Table,
    stored: u64,
}

impl KeyContext for Tabulated {
    fn memory_bytes(&self) -> u64 {
        table_bytes(&self.table)
    }
}

/// Memory of a table: entries of 4 bytes, or nodes of 20 with the last reader of each.
fn table_bytes(table: &word::Table) -> u64 {
    let len = match table {
        word::Table::Dense(table) => 4 * table.entries().len(),
        word::Table::Diagram(diagram) => 40 * diagram.nodes().len() + 32 * diagram.outputs().len(),
    };
    len as u64 + 256
}

/// Reads a table in the form that instructions use.
pub(super) fn prepare(id: VrId, operand: &[u8]) -> Result<Arc<dyn KeyContext>, HandlerError> {
    let table = word::Table::from_bytes(operand).map_err(|e| operand_error(id, &e))?;
    Ok(Arc::new(Tabulated { table, stored: operand.len() as u64 }))
}

/// The most memory that reading a table takes: entries of one to four bytes become four, nodes of 12 bytes about 80 while they
/// are checked.
pub(super) fn prepare_bytes(operand: &[u8]) -> u64 {
    8 * operand.len() as u64 + 1024
}

/// Checks the size of a table or a word.
pub(super) fn check_size(id: VrId, size: u64, parameters: Option<&ParameterSet>) -> Result<(), HandlerError> {
    let wrong = |expected: String| Err(HandlerError::WrongSize { id, given: size, expected });
    let max = if id.type_code == TABLE { MAX_TABLE_BYTES } else { MAX_WORD_BYTES };
    match parameters.filter(|_| id.type_code != TABLE) {
        _ if !(1..=max).contains(&size) => wrong(format!("1 to {max}")),
        Some(parameters) if digits_of(parameters, size).is_none() => {
            let [one, two] = [1, 2].map(|digits| parameters.sealed_word_len(digits));
            wrong(format!("{} and {} for each of 1 to {MAX_DIGITS} digits of a word, in", 2 * one - two, two - one))
        }
        _ => Ok(()),
    }
}

/// The digits of a stored word of this size.
fn digits_of(parameters: &ParameterSet, size: u64) -> Option<usize> {
    let [one, two] = [1, 2].map(|digits| parameters.sealed_word_len(digits));
    let more = size.checked_sub(one)?;
    let digits = 1 + (more / (two - one)) as usize;
    (more.is_multiple_of(two - one) && digits <= MAX_DIGITS).then_some(digits)
}

/// Judges the content of a table or a word.
pub(super) fn validate(id: VrId, bytes: &[u8], key: Option<(&ParameterSet, KeyTag)>) -> Result<(), HandlerError> {
    if id.type_code == TABLE {
        return word::Table::from_bytes(bytes).map(drop).map_err(|e| invalid(id, e));
    }
    let word = word::Word::from_bytes(bytes).map_err(|e| invalid(id, e))?;
    key.map_or(Ok(()), |(parameters, tag)| word.check(parameters, tag).map_err(|e| invalid(id, e)))
}

/// The knowledge about a word.
#[derive(Clone, Copy, Debug)]
struct Known {
    digits: usize,
    variance: f64,
}

impl Fact for Known {
    fn memory_bytes(&self) -> u64 {
        size_of::<Self>() as u64
    }
}

/// The facts of a word.
pub(super) fn of_word(digits: usize, variance: f64) -> Facts {
    Facts::new(Known { digits, variance })
}

/// The knowledge about a table.
#[derive(Clone, Copy, Debug)]
struct Head {
    /// A bit for each position that it reads.
    positions: u64,
    outputs: usize,
    depth: usize,
}

impl Fact for Head {
    fn memory_bytes(&self) -> u64 {
        size_of::<Self>() as u64
    }
}

/// The filled positions of the selector file, a bit for each.
#[derive(Clone, Copy, Debug, Default)]
struct Filled(u64);

impl Fact for Filled {
    fn memory_bytes(&self) -> u64 {
        size_of::<Self>() as u64
    }
}

/// The facts of a table or a word.
pub(super) fn facts(id: VrId, bytes: &[u8]) -> Result<Facts, TfheError> {
    if id.type_code == TABLE {
        let table = word::Table::from_bytes(bytes)?;
        let positions = table.selectors().into_iter().fold(0, |mask, id| mask | 1 << id.position);
        return Ok(Facts::new(Head { positions, outputs: table.output_digits(), depth: table.depth() }));
    }
    let word = word::Word::from_bytes(bytes)?;
    Ok(of_word(word.digits().len(), word.variance()))
}

/// The variance that a result states.
fn variance(facts: &Facts) -> f64 {
    facts.get::<Known>().map_or(f64::INFINITY, |known| known.variance)
}

/// A factor as a position or a slice.
fn unsigned(id: VrId, factor: i32, what: &str) -> Result<usize, HandlerError> {
    let wrong = |_| HandlerError::Operand { id, what: format!("{what} is {factor}; use 0 or more") };
    usize::try_from(factor).map_err(wrong)
}

/// The positions from `first` on of `digits` digits, a bit for each.
fn positions(id: VrId, first: i32, digits: usize) -> Result<u64, HandlerError> {
    let first = unsigned(id, first, "the position")?;
    let end = first.saturating_add(digits);
    if end > MAX_POSITIONS {
        let what = format!("{digits} digits at position {first} end at {end}; the selector file has {MAX_POSITIONS}");
        return Err(HandlerError::Operand { id, what });
    }
    Ok((u64::MAX >> (64 - digits)) << first)
}

/// The digits of a slice.
fn slice(id: VrId, factor: i32, digits: usize) -> Result<std::ops::Range<usize>, HandlerError> {
    let factor = unsigned(id, factor, "the slice")?;
    let (first, count) = (factor % 256, factor / 256);
    if count == 0 || first + count > digits {
        let what = format!(
            "a slice of {count} digits from digit {first} on, and the word has {digits}; use v = 256 · c + f with c from 1 and \
             c + f up to {digits}"
        );
        return Err(HandlerError::Operand { id, what });
    }
    Ok(first..first + count)
}

/// The probability that one of some digits goes wrong.
fn any_of(digits: usize, log2_p: f64) -> LogProbability {
    LogProbability::new((digits as f64).log2() + log2_p)
}

/// The knowledge about a word. One from outside has at least the variance of a fresh encryption.
fn known(facts: &Facts, parameters: Option<&ParameterSet>) -> Known {
    let fresh = parameters.map_or(0.0, |parameters| fresh_variance(parameters, KeyOrder::Small));
    match facts.get::<Known>() {
        Some(known) => Known { variance: known.variance.max(fresh), ..*known },
        None => Known { digits: 1, variance: f64::INFINITY },
    }
}

/// The transfer function of an instruction of words; `None` for another one.
pub(super) fn effect(
    instruction: &Instruction,
    operands: &[Facts],
    parameters: Option<&ParameterSet>,
) -> Option<Result<Effect, HandlerError>> {
    let noise = parameters.and_then(|parameters| WordNoise::new(parameters));
    let exact = |known: Known| Effect { facts: Facts::new(known), ..Effect::default() };
    Some(match (instruction.opcode(), instruction.operands(), operands) {
        (opcode::SELECT, Operands::Factor(n, first), [word, state]) => {
            let Known { digits, variance } = known(word, parameters);
            positions(n, first, digits).map(|new| {
                let Filled(filled) = state.get().copied().unwrap_or_default();
                let failure = noise.map_or(LogProbability::UNKNOWN, |n| any_of(digits, n.log2_p_digit(variance)));
                Effect { facts: Facts::NONE, failure, state: Facts::new(Filled(filled | new)) }
            })
        }
        (opcode::LOOK_UP, Operands::Two(t, _), [table, state]) => {
            let Filled(filled) = state.get().copied().unwrap_or_default();
            let Some(&Head { positions, outputs, depth }) = table.get() else {
                return Some(Err(HandlerError::Operand { id: t, what: "it is not a table".to_owned() }));
            };
            let empty = positions & !filled;
            if empty != 0 {
                let what = format!(
                    "it reads position {}, which is empty; select it before, or give the selected word more digits: by a wider \
                     --range of the integer, or by wcat with a word of 0",
                    empty.trailing_zeros()
                );
                return Some(Err(HandlerError::Operand { id: t, what }));
            }
            let variance = noise.map_or(f64::INFINITY, |noise| noise.digit(depth));
            Ok(exact(Known { digits: outputs, variance }))
        }
        (opcode::SLICE, Operands::Factor(n, factor), [word]) => {
            let word = known(word, parameters);
            slice(n, factor, word.digits).map(|digits| exact(Known { digits: digits.len(), ..word }))
        }
        (opcode::CONCATENATE, Operands::Two(n1, _), [lower, upper]) => {
            let (lower, upper) = (known(lower, parameters), known(upper, parameters));
            let (digits, variance) = (lower.digits + upper.digits, lower.variance.max(upper.variance));
            match digits {
                ..=MAX_DIGITS => Ok(exact(Known { digits, variance })),
                _ => {
                    let what = format!("the word would have {digits} digits; use 1 to {MAX_DIGITS}");
                    Err(HandlerError::Operand { id: n1, what })
                }
            }
        }
        _ => return None,
    })
}

/// The probability that a word decrypts to another value.
pub(super) fn output(facts: &Facts, parameters: Option<&ParameterSet>) -> LogProbability {
    let Known { digits, variance } = known(facts, parameters);
    let noise = parameters.and_then(|parameters| WordNoise::new(parameters));
    noise.map_or(LogProbability::UNKNOWN, |noise| any_of(digits, noise.log2_p_decryption(variance)))
}

/// Memory of a full selector file, and of a batch of new selectors next to it.
pub(super) fn state_bytes(parameters: &ParameterSet) -> u64 {
    parameters.selectors_bytes(2 * MAX_POSITIONS)
}

/// How many selections run as one: those of up to as many digits as the selector file has positions.
pub(super) fn joined(instructions: &[Instruction], sizes: &[u64], parameters: Option<&ParameterSet>) -> usize {
    let Some(parameters) = parameters.filter(|_| instructions[0].opcode() == opcode::SELECT) else { return 1 };
    let digits = sizes.iter().scan(0, |sum, &size| {
        *sum += digits_of(parameters, size).unwrap_or(MAX_DIGITS);
        Some(*sum)
    });
    digits.take_while(|&digits| digits <= MAX_POSITIONS).count().max(1)
}

pub(super) fn estimate(instruction: &Instruction, operands: &[Option<u64>], shape: Option<&Shape>) -> Option<Duration> {
    let shape = shape?;
    let first = operands.first().copied().flatten();
    Some(match instruction.opcode() {
        opcode::SELECT => {
            let digits = first.and_then(|size| digits_of(&shape.parameters, size));
            shape.words.select.expect(digits.map(|digits| digits as f64))
        }
        opcode::LOOK_UP => shape.words.look_up.expect(first),
        opcode::SPLIT => shape.words.split.expect(None),
        _ => return None,
    })
}

/// The size of the word that an instruction writes, as far as it follows from the sizes of its operands.
pub(super) fn result_size(
    instruction: &Instruction,
    operands: &[Option<u64>],
    parameters: &ParameterSet,
) -> Option<u64> {
    let digits = |index: usize| digits_of(parameters, operands.get(index).copied().flatten()?);
    let digits = match (instruction.opcode(), instruction.operands()) {
        (opcode::SLICE, Operands::Factor(_, factor)) => usize::try_from(factor / 256).ok()?,
        (opcode::CONCATENATE, _) => digits(0)? + digits(1)?,
        _ => return None,
    };
    (1..=MAX_DIGITS).contains(&digits).then(|| parameters.sealed_word_len(digits))
}

fn word(id: VrId, bytes: &[u8]) -> Result<word::Word, HandlerError> {
    word::Word::from_bytes(bytes).map_err(|e| operand_error(id, &e))
}

/// Slices, concatenations and splits; `None` for another instruction.
pub(super) fn execute(job: &Job<'_>) -> Option<Result<Vec<u8>, HandlerError>> {
    let result = match (job.instruction.opcode(), job.instruction.operands(), job.operands) {
        (opcode::SLICE, Operands::Factor(n, factor), [bytes]) => word(n, bytes).and_then(|word| {
            let digits = slice(n, factor, word.digits().len())?;
            let part = word.slice(digits.start, digits.len()).map_err(|e| operand_error(n, &e))?;
            part.with_variance(variance(job.facts)).map_err(|e| operand_error(n, &e))
        }),
        (opcode::CONCATENATE, Operands::Two(n1, n2), [lower, upper]) => word(n1, lower).and_then(|lower| {
            let both = lower.concatenate(&word(n2, upper)?).map_err(|e| operand_error(n2, &e))?;
            both.with_variance(variance(job.facts)).map_err(|e| operand_error(n1, &e))
        }),
        (opcode::SPLIT, Operands::Two(_, n2), [integer]) => split(job, n2, integer),
        _ => return None,
    };
    Some(result.map(|word| word.to_bytes()))
}

fn split(job: &Job<'_>, n: VrId, bytes: &[u8]) -> Result<word::Word, HandlerError> {
    let (key, input, begun) = (loaded::<Loaded>(job.key, "a split")?, super::ciphertext(n, bytes)?, Instant::now());
    // The transfer function has refused an integer without a range.
    let range = input.bounds().range().ok_or_else(|| super::transfer::no_range(n))?;
    let split = Split::of(&range).map_err(|e| operand_error(n, &TfheError::from(e)))?;
    let word = one_word(job, key, n, SplitJob { input: &input, split }.into())?;
    if let Some(times) = times(job) {
        times.split.observe(split.bits().into(), begun.elapsed());
    }
    Ok(word)
}

/// The word that an engine's job has, with the variance of the transfer function: what an engine states does not count.
fn one_word(job: &Job<'_>, key: &Loaded, id: VrId, run: EngineJob<'_>) -> Result<word::Word, HandlerError> {
    let outputs = key.0.run(&[run]).map_err(|e| operand_error(id, &e))?;
    match <[Output; 1]>::try_from(outputs) {
        Ok([Output::Word(word)]) => word.with_variance(variance(job.facts)).map_err(|e| operand_error(id, &e)),
        _ => Err(broken(&format!("a {} without a word", run.name()))),
    }
}

/// Selections, which share the passes over the key, or one look-up. An error names the job at fault.
pub(super) fn execute_on_state(
    jobs: &[Job<'_>],
    state: &mut (dyn Any + Send),
    result: &mut Vec<u8>,
) -> Result<(), (usize, HandlerError)> {
    let whole = |error| (0, error);
    let file = state.downcast_mut::<SelectorFile>().ok_or_else(|| whole(broken("a run without a selector file")))?;
    let Some(first) = jobs.first() else { return Ok(()) };
    match first.instruction.opcode() {
        opcode::SELECT => select(jobs, file),
        opcode::LOOK_UP => look_up(first, file, result).map_err(whole),
        opcode => Err(whole(HandlerError::Unsupported { handler: "tfhe", opcode })),
    }
}

fn broken(what: &str) -> HandlerError {
    HandlerError::Engine { what: what.to_owned() }
}

/// The times under the key of a job.
fn times<'a>(job: &Job<'a>) -> Option<&'a Times> {
    downcast::<Shape>(job.shape).map(|shape| &shape.words)
}

fn select(jobs: &[Job<'_>], file: &mut SelectorFile) -> Result<(), (usize, HandlerError)> {
    let (key, begun) = (loaded::<Loaded>(jobs[0].key, "a selection").map_err(|error| (0, error))?, Instant::now());
    // Each word is checked alone, so that an error finds its instruction.
    let read = |(index, job): (usize, &Job<'_>)| match (job.instruction.operands(), job.operands) {
        (Operands::Factor(n, at), [bytes]) => word(n, bytes)
            .and_then(|word| {
                word.check(key.0.parameters(), key.0.tag()).map_err(|e| operand_error(n, &e))?;
                positions(n, at, word.digits().len())?;
                Ok((n, at as usize, word))
            })
            .map_err(|error| (index, error)),
        _ => Err((index, broken("a selection without its word"))),
    };
    let words = jobs.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    let selections: Vec<EngineJob<'_>> = words.iter().map(|(_, _, word)| SelectJob { word }.into()).collect();
    let outputs = key.0.run(&selections).map_err(|e| (0, operand_error(words[0].0, &e)))?;
    for (index, ((n, at, _), output)) in words.iter().zip(&outputs).enumerate() {
        let Output::Selectors(selectors) = output else {
            return Err((index, broken("a selection without selectors")));
        };
        file.put(*at, selectors).map_err(|e| (index, operand_error(*n, &e)))?;
    }
    if let Some(times) = times(&jobs[0]) {
        let digits: usize = words.iter().map(|(_, _, word)| word.digits().len()).sum();
        times.select.observe(digits as f64, begun.elapsed());
    }
    Ok(())
}

fn look_up(job: &Job<'_>, file: &SelectorFile, result: &mut Vec<u8>) -> Result<(), HandlerError> {
    let Operands::Two(t, _) = job.instruction.operands() else { return Err(broken("a look-up without its table")) };
    let (key, begun) = (loaded::<Loaded>(job.key, "a look-up")?, Instant::now());
    let Tabulated { table, stored } = loaded(job.prepared, "a look-up")?;
    let word = one_word(job, key, t, LookUpJob { file, table }.into())?;
    result.extend_from_slice(&word.to_bytes());
    if let Some(times) = times(job) {
        times.look_up.observe(*stored, begun.elapsed());
    }
    Ok(())
}
