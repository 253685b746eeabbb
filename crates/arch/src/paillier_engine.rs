//! Cycle model of the Paillier engine of `hw/rtl/paillier_engine`.
//!
//! The model has the engine's state machines, queues and turns, and no numbers. Its memory never waits: it accepts every
//! address and word at once and answers in the next cycle. With such a memory the RTL takes the same cycles, exactly.

use std::collections::VecDeque;

/// Words of a burst on the data port.
const BURST: u64 = 8;
/// Jobs that the ring has in progress at most.
const JOBS: usize = 16;
/// Cycles from the start of a product to that of the next one on the same core.
const PERIOD: u64 = 8;
/// Numbers of a key.
const KEY_NUMBERS: u64 = 6;

/// The size of an instance.
#[derive(Clone, Copy, Debug)]
pub struct PaillierSize {
    /// Bits of the longest modulus.
    pub bits: u64,
    /// Bits of a word of the AXI ports.
    pub data_width: u64,
    /// Exponentiations that share a core.
    pub places: usize,
}

/// A job that the engine carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaillierJob {
    /// Loads a key.
    Key {
        /// Bits of n.
        bits: u64,
    },
    /// Encrypts with the last key.
    Encrypt,
    /// A power.
    Power {
        /// Bits of the exponent.
        bits: u64,
    },
    /// A product.
    Multiply,
}

impl PaillierJob {
    /// The products that a job needs, with a key whose n has `key` bits: powers 0 and 1, powers 2 to 31, six for each
    /// window after the highest one, and those of the message or the end.
    #[must_use]
    pub fn products(self, key: u64) -> u64 {
        let power = |bits: u64| 32 + 6 * (bits.div_ceil(5) - 1);
        match self {
            Self::Key { .. } => 0,
            Self::Encrypt => power(key) + 2,
            Self::Power { bits } => power(bits) + 1,
            Self::Multiply => 2,
        }
    }
}

/// `prim_axi_read` in front of a memory that never waits.
struct Reader {
    burst: u64,
    buffer: u64,
    address: u64,
    left: u64,
    room: u64,
    /// A burst whose address is on the port, and bursts whose words come.
    asked: Option<(u64, bool)>,
    coming: VecDeque<(u64, bool)>,
    /// The bursts of which the port knows: from the cycle after it asks, to the last word.
    known: u64,
    /// Words in the memory of the queue, in its two registers, and behind them; true ends a run.
    stored: VecDeque<bool>,
    registers: [Option<bool>; 2],
    landed: VecDeque<bool>,
}

impl Reader {
    fn new(burst: u64, buffer: u64) -> Self {
        Self {
            burst,
            buffer,
            address: 0,
            left: 0,
            room: buffer,
            asked: None,
            coming: VecDeque::new(),
            known: 0,
            stored: VecDeque::new(),
            registers: [None; 2],
            landed: VecDeque::new(),
        }
    }

    fn ready(&self) -> bool {
        self.left == 0
    }

    /// The word at the output: whether it ends a run.
    fn word(&self) -> Option<bool> {
        self.landed.front().copied()
    }

    fn idle(&self) -> bool {
        let queued = !self.stored.is_empty() || !self.landed.is_empty() || self.registers.iter().any(Option::is_some);
        self.left == 0 && self.asked.is_none() && self.known == 0 && !queued
    }

    /// One clock edge: a run (its first word and their number) that is taken, and whether the word leaves.
    fn clock(&mut self, run: Option<(u64, u64)>, leaves: bool) {
        let leaves = leaves && !self.landed.is_empty();
        let words = self.left.min(self.burst - self.address % self.burst);
        let asks = self.left != 0 && self.known < 32 && self.room >= words;
        // A word that reaches the landing queue holds a credit from its read on.
        let held = self.landed.len() + self.registers.iter().flatten().count();
        let read = if held < 4 { self.stored.pop_front() } else { None };
        if leaves {
            self.landed.pop_front();
        }
        self.landed.extend(self.registers[1]);
        self.registers = [read, self.registers[0]];
        // The memory's word.
        if let Some((words, ends)) = self.coming.front_mut() {
            *words -= 1;
            let last = *words == 0;
            self.stored.push_back(last && *ends);
            if last {
                self.coming.pop_front();
                self.known -= 1;
            }
        }
        self.coming.extend(self.asked.take());
        self.room += u64::from(leaves);
        if asks {
            self.asked = Some((words, self.left == words));
            self.known += 1;
            self.room -= words;
            self.address += words;
            self.left -= words;
        }
        if let Some((address, words)) = run {
            (self.address, self.left) = (address, words);
        }
        debug_assert!(self.room <= self.buffer);
    }
}

/// `prim_axi_write` in front of a memory that never waits.
struct Writer {
    burst: u64,
    address: u64,
    left: u64,
    bursts: u64,
    /// A burst whose address is on the port.
    asked: Option<u64>,
    /// The lengths of bursts whose data has not passed, and the words of the first that have.
    lengths: VecDeque<u64>,
    passed: u64,
    /// Words in the register at the port; true ends a burst.
    out: VecDeque<bool>,
    /// Bursts whose address the memory has, and whether it answers in this cycle.
    open: u64,
    answers: bool,
}

impl Writer {
    fn new(burst: u64) -> Self {
        Self {
            burst,
            address: 0,
            left: 0,
            bursts: 0,
            asked: None,
            lengths: VecDeque::new(),
            passed: 0,
            out: VecDeque::new(),
            open: 0,
            answers: false,
        }
    }

    fn ready(&self) -> bool {
        self.left == 0
    }

    fn word_ready(&self) -> bool {
        !self.lengths.is_empty() && self.out.len() < 2
    }

    fn idle(&self) -> bool {
        self.left == 0 && self.bursts == 0
    }

    fn clock(&mut self, run: Option<(u64, u64)>, word: bool) {
        let word = word && self.word_ready();
        let words = self.left.min(self.burst - self.address % self.burst);
        let begins = self.left != 0 && self.bursts != 32;
        self.bursts -= u64::from(self.answers);
        // The memory takes a word of a burst whose address came in an earlier cycle.
        self.answers = false;
        if self.open > 0
            && let Some(last) = self.out.pop_front()
        {
            self.answers = last;
            self.open -= u64::from(last);
        }
        self.open += u64::from(self.asked.take().is_some());
        if word {
            self.passed += 1;
            let last = self.lengths.front() == Some(&self.passed);
            self.out.push_back(last);
            if last {
                self.lengths.pop_front();
                self.passed = 0;
            }
        }
        if begins {
            self.asked = Some(words);
            self.lengths.push_back(words);
            self.bursts += 1;
            self.address += words;
            self.left -= words;
        }
        if let Some((address, words)) = run {
            (self.address, self.left) = (address, words);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fetch {
    Idle,
    Read,
    Check,
    Offer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    Idle,
    Look,
    Place,
    FirstRun,
    SecondRun,
    Words,
    Store,
    Check,
    Start,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Store {
    Idle,
    Read,
    Run,
    Words,
    Wait,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Report {
    Idle,
    Run,
    Word,
    Wait,
}

/// A place of a core.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Idle,
    /// Products that have not begun; 0 waits for the last result.
    Busy(u64),
    Done,
}

/// `prim_arbiter`.
struct Arbiter {
    last: usize,
    offered: Option<usize>,
}

impl Arbiter {
    fn choice(&self, requests: &[bool]) -> Option<usize> {
        let turn = || (1..=requests.len()).map(|distance| (self.last + distance) % requests.len());
        if !requests.contains(&true) {
            return None;
        }
        self.offered.or_else(|| turn().find(|&i| requests[i]))
    }

    fn clock(&mut self, choice: Option<usize>, served: bool) {
        self.offered = choice.filter(|_| !served);
        if let (Some(choice), true) = (choice, served) {
            self.last = choice;
        }
    }
}

/// The cost of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PaillierCost {
    /// Cycles in which the engine has a job, as its register CYCLES counts them.
    pub cycles: u64,
    /// Cycles in which the engine waits for memory.
    pub stalls: u64,
    /// Bytes that the port of the ring reads and writes.
    pub ring: [u64; 2],
    /// Bytes that the data port reads and writes.
    pub data: [u64; 2],
}

/// The cost of jobs that reach an idle engine together.
///
/// `start` is the number of clock edges from the end of the reset to the write of TAIL: the turns of the places follow
/// the clock and not the jobs. `slot` is the descriptor of the first job in the ring; `key` are the bits of the n of the
/// key that is loaded before the jobs. The operands of job i are numbers 3·i to 3·i + 2 of a memory that is aligned to
/// bursts, and each key is aligned likewise.
///
/// # Example
/// ```
/// use ciphermill_arch::paillier_engine::{PaillierJob, PaillierSize, cost};
///
/// let size = PaillierSize { bits: 1024, data_width: 128, places: 6 };
/// let product = cost(size, &[PaillierJob::Multiply], 0, 512);
/// // Two factors of 1024 bits, and their product.
/// assert_eq!(product.data, [256, 128]);
/// ```
#[must_use]
pub fn cost(size: PaillierSize, jobs: &[PaillierJob], start: u64, key: u64) -> PaillierCost {
    Simulation::new(size, jobs, start, key).run()
}

struct Simulation<'a> {
    size: PaillierSize,
    words: u64,
    jobs: &'a [PaillierJob],
    now: u64,
    key: u64,
    fetch: Fetch,
    /// The job that is fetched.
    next: usize,
    ring_read: Reader,
    ring_write: Writer,
    report: Report,
    reported: usize,
    finished: Vec<bool>,
    retired: usize,
    load: Load,
    job: usize,
    place: usize,
    word: u64,
    which: u64,
    read: Reader,
    places: Vec<Place>,
    /// The state that the turn of each core looked up in its cycle 0; all cores have the same turns.
    seen: Vec<Place>,
    jobs_of: Vec<usize>,
    store: Store,
    choice: Arbiter,
    ends: Arbiter,
    out: u64,
    read_valid: bool,
    write: Writer,
    cost: PaillierCost,
}

impl<'a> Simulation<'a> {
    fn new(size: PaillierSize, jobs: &'a [PaillierJob], start: u64, key: u64) -> Self {
        let all = 2 * size.places;
        let ring_burst = (512 / size.data_width).max(2);
        Self {
            size,
            words: size.bits / size.data_width,
            jobs,
            now: start,
            key,
            fetch: Fetch::Idle,
            next: 0,
            ring_read: Reader::new(ring_burst, 2 * ring_burst),
            ring_write: Writer::new(2),
            report: Report::Idle,
            reported: 0,
            finished: vec![false; jobs.len()],
            retired: 0,
            load: Load::Idle,
            job: 0,
            place: 0,
            word: 0,
            which: 0,
            read: Reader::new(BURST, 2 * BURST),
            places: vec![Place::Idle; all],
            seen: vec![Place::Idle; 2],
            jobs_of: vec![0; all],
            store: Store::Idle,
            choice: Arbiter { last: all - 1, offered: None },
            ends: Arbiter { last: 1, offered: None },
            out: 0,
            read_valid: false,
            write: Writer::new(BURST),
            cost: PaillierCost::default(),
        }
    }

    fn run(mut self) -> PaillierCost {
        while self.retired < self.jobs.len() {
            // A job is in progress from the cycle after its fetch begins.
            self.cost.cycles += u64::from(self.next > self.retired || self.fetch != Fetch::Idle);
            self.cost.stalls += u64::from(self.stalls());
            self.clock();
        }
        self.cost
    }

    /// Whether the engine waits in this cycle: for words, for room, or for the memory's answer.
    fn stalls(&self) -> bool {
        self.load == Load::Words && self.read.word().is_none()
            || self.store == Store::Words && !self.write.word_ready()
            || self.store == Store::Wait && !self.write.idle()
    }

    /// Bytes of a run of words.
    fn bytes(&self, run: Option<(u64, u64)>) -> u64 {
        run.map_or(0, |(_, words)| words * self.size.data_width / 8)
    }

    fn clock(&mut self) {
        let ends = [self.store == Store::End, self.load == Load::End];
        let end = self.ends.choice(&ends);
        let taken = end.is_some() && self.report == Report::Idle;
        let (store_ends, load_ends) = (taken && end == Some(0), taken && end == Some(1));
        let done: Vec<_> = self.places.iter().map(|&place| place == Place::Done).collect();
        let chosen = self.choice.choice(&done);
        let offered = self.fetch == Fetch::Offer;
        let job_taken = offered && self.load == Load::Idle;
        let ended = if store_ends { chosen.map_or(0, |place| self.jobs_of[place]) } else { self.job };

        let retires = self.finished.get(self.retired) == Some(&true);
        self.clock_report(taken, ended);
        self.clock_fetch(job_taken);
        let turn = (self.now / PERIOD) as usize % self.size.places;
        let cycle = self.now % PERIOD;
        let released = chosen.filter(|_| store_ends);
        let started = (self.load == Load::Start).then_some(self.place);
        let program = self.jobs.get(self.job).copied();
        self.clock_store(chosen, cycle, store_ends);
        self.clock_load(job_taken, cycle, load_ends);
        self.clock_places(turn, cycle, released, started, program);
        self.choice.clock(chosen, store_ends);
        self.ends.clock(end, taken);
        self.retired += usize::from(retires);
        self.now += 1;
    }

    /// The descriptors.
    fn clock_fetch(&mut self, job_taken: bool) {
        let words = 512 / self.size.data_width;
        let mut run = None;
        let (word, idle) = (self.ring_read.word(), self.ring_read.idle());
        let begins = self.fetch == Fetch::Idle
            && self.next < self.jobs.len()
            && self.next - self.retired < JOBS
            && self.ring_read.ready();
        self.fetch = match self.fetch {
            Fetch::Idle if begins => {
                run = Some((self.next as u64 * words, words));
                Fetch::Read
            }
            Fetch::Read if word == Some(true) => Fetch::Check,
            Fetch::Check if idle => Fetch::Offer,
            Fetch::Offer if job_taken => {
                self.next += 1;
                Fetch::Idle
            }
            same => same,
        };
        self.cost.ring[0] += self.bytes(run);
        self.ring_read.clock(run, true);
    }

    /// The statuses.
    fn clock_report(&mut self, taken: bool, ended: usize) {
        let (mut run, word) = (None, self.report == Report::Word);
        let (ready, word_ready, idle) = (self.ring_write.ready(), self.ring_write.word_ready(), self.ring_write.idle());
        self.report = match self.report {
            Report::Idle if taken => {
                self.reported = ended;
                Report::Run
            }
            Report::Run if ready => {
                // The status is in the first word of a descriptor, and so is the burst's only word.
                run = Some((0, 1));
                Report::Word
            }
            Report::Word if word_ready => Report::Wait,
            Report::Wait if idle => {
                self.finished[self.reported] = true;
                Report::Idle
            }
            same => same,
        };
        self.cost.ring[1] += self.bytes(run);
        self.ring_write.clock(run, word);
    }

    /// The numbers of jobs.
    fn clock_load(&mut self, job_taken: bool, cycle: u64, ended: bool) {
        let job = self.jobs[self.job.min(self.jobs.len() - 1)];
        let is_key = matches!(job, PaillierJob::Key { .. });
        let exponent = match job {
            PaillierJob::Power { bits } if self.which == 1 => Some(bits.div_ceil(self.size.data_width)),
            _ => None,
        };
        let mut run = None;
        let takes = self.load == Load::Words;
        let (word, ready, idle) = (self.read.word(), self.read.ready(), self.read.idle());
        let idle_place = self.places.iter().position(|&place| place == Place::Idle);
        let all_idle = self.places.iter().all(|&place| place == Place::Idle);
        let number = 3 * self.job as u64;
        self.load = match self.load {
            Load::Idle if job_taken => {
                // The ring has already gone to the next job.
                self.job = self.next - 1;
                Load::Look
            }
            Load::Look => Load::Place,
            Load::Place if if is_key { all_idle } else { idle_place.is_some() } => {
                self.place = idle_place.unwrap_or(0);
                (self.word, self.which) = (0, 0);
                Load::FirstRun
            }
            Load::FirstRun if ready => {
                let words = if is_key { KEY_NUMBERS } else { 1 } * self.words;
                run = Some((if is_key { 0 } else { number * self.words }, words));
                if is_key { Load::Words } else { Load::SecondRun }
            }
            Load::SecondRun if ready => {
                let words = match job {
                    PaillierJob::Power { bits } => bits.div_ceil(self.size.data_width),
                    _ => self.words,
                };
                run = Some(((number + 1) * self.words, words));
                Load::Words
            }
            Load::Words if word.is_some() => {
                self.word += 1;
                if self.word < exponent.unwrap_or(self.words) {
                    Load::Words
                } else if exponent.is_some() {
                    Load::Check
                } else {
                    Load::Store
                }
            }
            Load::Store if is_key || (cycle != 4 && cycle != 5) => {
                self.word = 0;
                self.which += 1;
                if self.which == if is_key { KEY_NUMBERS } else { 2 } { Load::Check } else { Load::Words }
            }
            Load::Check if idle => Load::Start,
            Load::Start => {
                if let PaillierJob::Key { bits } = job {
                    self.key = bits;
                }
                self.jobs_of[self.place] = self.job;
                if is_key { Load::End } else { Load::Idle }
            }
            Load::End if ended => Load::Idle,
            same => same,
        };
        self.cost.data[0] += self.bytes(run);
        self.read.clock(run, takes);
    }

    /// The results.
    fn clock_store(&mut self, chosen: Option<usize>, cycle: u64, ended: bool) {
        let (mut run, word) = (None, self.store == Store::Words);
        let (ready, word_ready, idle) = (self.write.ready(), self.write.word_ready(), self.write.idle());
        let reads = cycle == 1 && self.store == Store::Read;
        let was_valid = self.read_valid;
        self.store = match self.store {
            Store::Idle if chosen.is_some() => Store::Read,
            Store::Read if was_valid => Store::Run,
            Store::Run if ready => {
                let job = chosen.map_or(0, |place| self.jobs_of[place]) as u64;
                run = Some(((3 * job + 2) * self.words, self.words));
                self.out = 0;
                Store::Words
            }
            Store::Words if word_ready => {
                self.out += 1;
                if self.out == self.words { Store::Wait } else { Store::Words }
            }
            Store::Wait if idle => Store::End,
            Store::End if ended => Store::Idle,
            same => same,
        };
        self.read_valid = reads;
        self.cost.data[1] += self.bytes(run);
        self.write.clock(run, word);
    }

    fn clock_places(
        &mut self,
        turn: usize,
        cycle: u64,
        released: Option<usize>,
        started: Option<usize>,
        job: Option<PaillierJob>,
    ) {
        let places = self.size.places;
        let begun = (turn + places - 1) % places;
        for core in 0..2 {
            let begins = core * places + begun;
            let looked = self.places[core * places + turn];
            if cycle == 0 && started != Some(begins) && released != Some(begins) {
                self.places[begins] = match self.seen[core] {
                    Place::Busy(0) => Place::Done,
                    Place::Busy(products) => Place::Busy(products - 1),
                    _ => self.places[begins],
                };
            }
            if cycle == 0 {
                self.seen[core] = looked;
            }
        }
        if let Some(place) = released {
            self.places[place] = Place::Idle;
        }
        if let (Some(place), Some(job)) = (started, job)
            && !matches!(job, PaillierJob::Key { .. })
        {
            self.places[place] = Place::Busy(job.products(self.key));
        }
    }
}
