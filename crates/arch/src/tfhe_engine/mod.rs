//! Cycle model of the TFHE engine of `hw/rtl/tfhe_engine`, and its microprogram.
//!
//! The model carries out the micro-operations of a job and has no values. Its memory never waits: it accepts every
//! address and word at once and answers in the next cycle. With such a memory the RTL takes the same cycles, exactly.

pub mod micro;

use micro::{Op, Stream};

/// Lanes of a row of a polynomial.
const LANES: u64 = 32;
/// Values of 64 bits and elements of 32 bits in a word of memory, elements in a beat of the key switch.
const WORD_VALUES: u64 = 8;
const WORD_ELEMENTS: u64 = 16;
const BEAT_ELEMENTS: u64 = 128;
/// Bytes of a word, and of a descriptor.
pub(crate) const WORD_BYTES: u64 = 64;
/// Instructions in a word.
const WORD_INSTRUCTIONS: usize = 8;

/// Cycles from a run of the data port to its first word, if no earlier run is on its way.
const READ: u64 = 7;
/// From a result to its response in memory, in addition to one cycle for each word.
const WRITE: u64 = 5;
/// From the decoding of an instruction to its first micro-operation, and from a micro-operation to the next one.
const DECODE: u64 = 5;
const STEP: u64 = 2;
/// Before the first state of a job and after its last one: the fetch of the descriptor, and its status in memory.
const AROUND: u64 = 19;
/// Cycles of a CMux in addition to its transforms: twice the emptying of the pipeline.
const CMUX: u64 = 56;
/// Of a rotation with its test vector and the key switch after it, in addition to the work of the units.
const ROTATE: u64 = 25;
/// Of a key switch from memory, in addition to its beats.
const SWITCH_MEMORY: u64 = 20;
/// Of these, cycles in which the body, and then the first beat of the key, have not come.
const SWITCH_MEMORY_STALLS: u64 = 13;
/// Beats for which a key switch with one circuit does not wait. After a rotation, they are added to twice the beats of the
/// queues; before one, they come before the first coefficient.
const HELD_BEATS: u64 = 3;
const FIRST_BEATS: u64 = 5;
/// Of a product with an integer.
const SCALE: u64 = 92;

/// The size of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TfheSize {
    /// The number of coefficients N.
    pub polynomial_size: u64,
    /// Transform circuits: 1, 2, or 4 for two ciphertexts at a time.
    pub circuits: u64,
}

impl TfheSize {
    /// Ciphertexts on which a job computes at a time.
    #[must_use]
    pub fn batch(self) -> u64 {
        if self.circuits == 4 { 2 } else { 1 }
    }

    /// Transform circuits of each ciphertext.
    #[must_use]
    pub fn lane_circuits(self) -> u64 {
        self.circuits / self.batch()
    }

    /// Ports of the keys.
    #[must_use]
    pub fn key_ports(self) -> u64 {
        4 * self.lane_circuits()
    }
}

/// The parameters of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TfheKey {
    /// n, the dimension of small ciphertexts.
    pub dimension: u64,
    /// Digits of the rotation.
    pub levels: u64,
    /// Digits of the key switch.
    pub switch_levels: u64,
}

/// A job that the engine carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TfheJob {
    /// Makes a key known.
    Key,
    /// A bootstrap of a ciphertext under the small key, or the big one.
    Bootstrap {
        /// Whether it is under the big key.
        big: bool,
    },
    /// A program: the opcodes of its instructions up to the first Return.
    Program(Vec<u8>),
}

/// The cost of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TfheCost {
    /// Cycles from the fetch of its descriptor to its status in memory.
    pub cycles: u64,
    /// Cycles in which the engine waits for memory.
    pub stalls: u64,
    /// Bytes that the data port reads and writes.
    pub data: [u64; 2],
    /// Bytes that each key port reads.
    pub key: u64,
}

/// Cycles of a CMux.
///
/// # Example
/// ```
/// use ciphermill_arch::tfhe_engine::{TfheKey, TfheSize, cmux_cycles};
///
/// let size = TfheSize { polynomial_size: 16384, circuits: 2 };
/// let key = TfheKey { dimension: 800, levels: 5, switch_levels: 7 };
/// assert_eq!(cmux_cycles(size, key), 9272);
/// ```
#[must_use]
pub fn cmux_cycles(size: TfheSize, key: TfheKey) -> u64 {
    (2 * key.levels + 2) / size.lane_circuits() * 3 * size.polynomial_size / LANES + CMUX
}

/// The times at which the engine's state changes.
struct Engine {
    size: TfheSize,
    key: TfheKey,
    /// When the present micro-operation begins.
    now: u64,
    /// When the last word of all runs is taken, and when results are in memory.
    words_end: u64,
    written: u64,
    /// When the vector unit is idle.
    idle: u64,
    cost: TfheCost,
}

impl Engine {
    /// A run of the data port. It begins at `now`.
    fn read(&mut self, words: u64) {
        let first = self.now + READ;
        // The words of one run follow those of the run before.
        if first > self.words_end {
            self.cost.stalls += first - self.words_end.max(self.now) - 1;
        }
        self.words_end = self.words_end.max(first - 1) + words;
        self.cost.data[0] += words * WORD_BYTES;
    }

    fn write(&mut self, words: u64) {
        self.cost.data[1] += words * WORD_BYTES;
    }

    /// Words of a batch's ciphertexts under the small key.
    fn sample_words(&self) -> u64 {
        (self.key.dimension / WORD_ELEMENTS + 1) * self.size.batch()
    }

    /// Cycles in which a key switch waits for its key. With one circuit, the four ports give half a beat in a cycle, and all
    /// beats but `held` come late.
    fn late_beats(&self, held: u64) -> u64 {
        if self.size.lane_circuits() == 1 { self.size.polynomial_size * self.switch_beats() - held } else { 0 }
    }

    /// Beats of the key switch for one coefficient.
    fn switch_beats(&self) -> u64 {
        self.key.switch_levels * (self.key.dimension / BEAT_ELEMENTS + 1)
    }

    fn op(&mut self, op: Op) {
        let n = self.size.polynomial_size;
        match op {
            Op::Read(..) => {
                self.now = self.now.max(self.written);
                self.read(self.sample_words());
            }
            Op::Join => self.now = self.now.max(self.words_end + 1).max(self.idle),
            Op::Write(_) => {
                self.written = self.now + WRITE + self.sample_words();
                self.write(self.sample_words());
            }
            Op::Scale => self.idle = self.now + SCALE,
            Op::Stream(Stream::Rotation) => {
                self.cost.key += self.key.dimension * self.key.levels * 4 * n * 8 / self.size.key_ports();
            }
            Op::Stream(Stream::Switch) => {
                self.cost.key += n * self.switch_beats() * 4 * BEAT_ELEMENTS / self.size.key_ports();
            }
            Op::Test(_) => self.read(2 * n / WORD_VALUES * self.size.batch()),
            Op::Rotate => self.now += self.key.dimension * cmux_cycles(self.size, self.key) + ROTATE,
            Op::Switch => {
                // The queues hold a frame, and come to hold another one while the first one leaves.
                let late = self.late_beats(2 * n / LANES + HELD_BEATS);
                self.now += n * self.switch_beats() + late;
                self.cost.stalls += late;
            }
            Op::SwitchMemory(_) => {
                // The next word of each ciphertext comes when all have given their last value. One value is in the
                // vector unit meanwhile.
                let (beats, batch) = (self.switch_beats(), self.size.batch());
                let wait = (batch + 1).saturating_sub(beats) * (n / WORD_VALUES - 1);
                let late = self.late_beats(FIRST_BEATS);
                self.now += n * beats + wait.max(late) + SWITCH_MEMORY + 2 * (batch - 1);
                self.cost.stalls += late;
                self.cost.data[0] += (n / WORD_VALUES + 1) * self.size.batch() * WORD_BYTES;
                self.cost.stalls += SWITCH_MEMORY_STALLS - 2 * (self.size.batch() - 1);
            }
            Op::Extract(_) => {
                self.written = self.now + n;
                self.write((n / WORD_VALUES + 1) * self.size.batch());
            }
            Op::Push | Op::Pop | Op::Return | Op::End => {}
        }
        self.now += STEP;
    }

    /// Carries out an entry of the microprogram. `now` is then the cycle after it.
    fn entry(&mut self, number: usize) {
        for &op in micro::entry(number) {
            self.op(op);
        }
        self.now -= STEP - 1;
    }
}

/// The cost of a job that succeeds, with a memory that never waits. Registers of a program all have the same key.
///
/// # Example
/// ```
/// use ciphermill_arch::tfhe_engine::{TfheJob, TfheKey, TfheSize, cost};
///
/// let size = TfheSize { polynomial_size: 16384, circuits: 2 };
/// let key = TfheKey { dimension: 800, levels: 5, switch_levels: 7 };
/// let bootstrap = cost(size, key, &TfheJob::Bootstrap { big: false });
/// assert_eq!(bootstrap.cycles, 8_224_690);
/// // One circuit, and four for two ciphertexts.
/// let on = |circuits| cost(TfheSize { circuits, ..size }, key, &TfheJob::Bootstrap { big: false }).cycles;
/// assert_eq!((on(1), on(4)), (16_399_279, 8_228_888));
/// ```
#[must_use]
pub fn cost(size: TfheSize, key: TfheKey, job: &TfheJob) -> TfheCost {
    let mut engine = Engine { size, key, now: 0, words_end: 0, written: 0, idle: 0, cost: TfheCost::default() };
    match job {
        TfheJob::Key => {
            engine.read(1);
            engine.now = engine.words_end + 2;
        }
        TfheJob::Bootstrap { big } => {
            engine.now = 1;
            engine.entry(if *big { micro::ENTRY_BIG } else { micro::ENTRY_SMALL });
        }
        TfheJob::Program(opcodes) => {
            for (place, &opcode) in opcodes.iter().enumerate() {
                if place % WORD_INSTRUCTIONS == 0 {
                    engine.now = engine.now.max(engine.written);
                    engine.read(1);
                    engine.now = engine.words_end + 1;
                }
                engine.now += DECODE;
                engine.entry(opcode.into());
            }
        }
    }
    let cycles = engine.now.max(engine.written) + AROUND;
    TfheCost { cycles, ..engine.cost }
}
