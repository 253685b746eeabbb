//! A memory behind AXI4 ports of a model: bytes, seeded latency and gaps, error responses, and the rules of the ports.
//!
//! An [`AxiMemory`] holds the bytes. Each [`AxiPort`] drives the signals of one AXI4 master of a module, whose names
//! have a common prefix, such as `data_ar_valid_o`. Per clock cycle, [`AxiPort::cycle`] comes before [`Model::clock`].
//! No output of the module may depend on an input of the same cycle.
//!
//! [`AxiPort::violation`] reports the first broken rule of AXI or of this project. A burst is INCR, of whole words, within
//! a page of 4096 bytes. At most 32 are outstanding. An offer stays until it is taken, and `last` marks the last word.

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};

use crate::model::{Model, Port};

/// Bursts that may be outstanding in each direction.
const OUTSTANDING: usize = 32;
/// Bytes of a page that no burst may leave.
const PAGE: u64 = 4096;
/// The data of a read beyond the memory: as many bytes as the widest port has.
const ABSENT: [u8; 128] = [0; 128];
/// OKAY, SLVERR and DECERR.
const RESPONSES: [u64; 3] = [0, 2, 3];

/// The times of a memory.
#[derive(Clone, Debug)]
pub struct AxiTiming {
    /// Cycles from an address to the first word, or from the last word to the response, at least 1.
    pub latency: RangeInclusive<u64>,
    /// Of 256 cycles, those in which a port accepts or offers nothing, on each of its channels.
    pub gaps: u32,
}

impl AxiTiming {
    /// A memory that accepts everything at once and answers in the next cycle.
    #[must_use]
    pub fn never_waits() -> Self {
        Self { latency: 1..=1, gaps: 0 }
    }

    /// A latency of 50 to 400 cycles, and one gap in four cycles.
    #[must_use]
    pub fn slow() -> Self {
        Self { latency: 50..=400, gaps: 64 }
    }
}

/// Bytes that AXI ports read and write.
#[derive(Clone, Debug)]
pub struct AxiMemory {
    base: u64,
    bytes: Vec<u8>,
    /// Addresses whose reads are answered with SLVERR.
    pub failing_reads: Vec<Range<u64>>,
    /// Addresses whose writes are answered with SLVERR, and not carried out.
    pub failing_writes: Vec<Range<u64>>,
}

impl AxiMemory {
    /// `size` zero bytes from address `base` on.
    #[must_use]
    pub fn new(base: u64, size: usize) -> Self {
        Self { base, bytes: vec![0; size], failing_reads: Vec::new(), failing_writes: Vec::new() }
    }

    /// The address of the first byte.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The bytes from an address on.
    ///
    /// # Panics
    /// If they are not all in this memory.
    #[must_use]
    pub fn bytes(&self, address: u64, len: usize) -> &[u8] {
        let first = self.place(address, len).expect("the bytes are in this memory");
        &self.bytes[first..first + len]
    }

    /// The bytes from an address on, to be changed.
    ///
    /// # Panics
    /// If they are not all in this memory.
    pub fn bytes_mut(&mut self, address: u64, len: usize) -> &mut [u8] {
        let first = self.place(address, len).expect("the bytes are in this memory");
        &mut self.bytes[first..first + len]
    }

    fn place(&self, address: u64, len: usize) -> Option<usize> {
        let first = usize::try_from(address.checked_sub(self.base)?).ok()?;
        (first.checked_add(len)? <= self.bytes.len()).then_some(first)
    }

    /// The response to an access, as an index of `RESPONSES`.
    fn response(&self, address: u64, len: usize, failing: &[Range<u64>]) -> usize {
        if self.place(address, len).is_none() {
            return 2;
        }
        usize::from(failing.iter().any(|range| range.start < address + len as u64 && address < range.end))
    }
}

/// A burst whose address has come.
#[derive(Clone, Copy, Debug)]
struct Burst {
    address: u64,
    words: u64,
    done: u64,
    /// The first cycle in which it can be answered.
    due: u64,
}

/// The offer of a channel, which must stay until it is taken.
#[derive(Clone, Debug, Default)]
struct Offer(Option<Vec<u64>>);

impl Offer {
    /// Whether an offer that was not taken has changed.
    fn changed(&mut self, valid: bool, content: impl FnOnce() -> Vec<u64>, taken: bool) -> bool {
        let now = valid.then(content);
        let changed = self.0.is_some() && self.0 != now;
        self.0 = if taken { None } else { now };
        changed
    }
}

/// A signal of one AXI port: a port of the module, or a lane of one that has a lane for each AXI port.
#[derive(Clone, Copy, Debug)]
struct Signal {
    port: Port,
    first: u32,
    bits: u32,
}

impl Signal {
    fn get(self, model: &Model) -> u64 {
        model.get_slice(self.port, self.first, self.bits)
    }

    fn set(self, model: &mut Model, value: u64) {
        model.set_slice(self.port, self.first, self.bits, value);
    }

    /// The 64-bit words of a signal of whole words.
    fn words(self, model: &Model) -> impl Iterator<Item = u64> + '_ {
        (0..self.bits / 64).map(move |i| model.get_slice(self.port, self.first + 64 * i, 64))
    }

    /// Sets a signal of whole words from its bytes.
    fn set_bytes(self, model: &mut Model, bytes: &[u8]) {
        for (i, word) in (0..).zip(bytes.as_chunks::<8>().0) {
            model.set_slice(self.port, self.first + 64 * i, 64, u64::from_le_bytes(*word));
        }
    }
}

/// The signals of a master whose names begin with `prefix`, in lane `lane` of `lanes`.
#[derive(Clone, Copy)]
struct Signals<'a> {
    model: &'a Model,
    prefix: &'a str,
    lane: u32,
    lanes: u32,
}

impl Signals<'_> {
    fn signal(self, name: &str) -> Signal {
        let port = self.model.port(&format!("{}{name}", self.prefix));
        let bits = port.bits() / self.lanes;
        Signal { port, first: self.lane * bits, bits }
    }
}

#[derive(Clone, Copy, Debug)]
struct AddressPorts {
    valid: Signal,
    ready: Signal,
    address: Signal,
    len: Signal,
    size: Signal,
    burst: Signal,
}

impl AddressPorts {
    fn new(signals: Signals<'_>, channel: &str) -> Self {
        let port = |name: &str| signals.signal(&format!("{channel}_{name}"));
        Self {
            valid: port("valid_o"),
            ready: port("ready_i"),
            address: port("addr_o"),
            len: port("len_o"),
            size: port("size_o"),
            burst: port("burst_o"),
        }
    }

    fn content(self, model: &Model) -> Vec<u64> {
        [self.address, self.len, self.size, self.burst].map(|signal| signal.get(model)).to_vec()
    }
}

#[derive(Clone, Copy, Debug)]
struct ReadPorts {
    valid: Signal,
    ready: Signal,
    data: Signal,
    resp: Signal,
    last: Signal,
}

#[derive(Clone, Copy, Debug)]
struct WritePorts {
    address: AddressPorts,
    valid: Signal,
    ready: Signal,
    data: Signal,
    strb: Signal,
    last: Signal,
    b_valid: Signal,
    b_ready: Signal,
    b_resp: Signal,
}

/// One AXI4 master of a model.
#[derive(Debug)]
pub struct AxiPort {
    name: String,
    ar: AddressPorts,
    r: ReadPorts,
    /// A port that only reads has none.
    w: Option<WritePorts>,
    bytes: usize,
    timing: AxiTiming,
    random: u64,
    cycle: u64,
    reads: VecDeque<Burst>,
    /// Bursts that wait for data, and finished bursts that wait for their response with it.
    writes: VecDeque<Burst>,
    answers: VecDeque<(u64, usize)>,
    write_response: usize,
    /// The beat of the read channel, and the response, that are offered.
    read_offered: bool,
    answer_offered: bool,
    offers: [Offer; 3],
    violation: Option<String>,
    /// Words that were read and written.
    words: [u64; 2],
}

impl AxiPort {
    /// The master whose signals begin with `prefix`; its times follow from `seed`.
    ///
    /// # Panics
    /// If the module lacks a signal.
    #[must_use]
    pub fn new(model: &Model, prefix: &str, timing: AxiTiming, seed: u64) -> Self {
        let signals = Signals { model, prefix, lane: 0, lanes: 1 };
        let port = |name: &str| signals.signal(name);
        let w = WritePorts {
            address: AddressPorts::new(signals, "aw"),
            valid: port("w_valid_o"),
            ready: port("w_ready_i"),
            data: port("w_data_o"),
            strb: port("w_strb_o"),
            last: port("w_last_o"),
            b_valid: port("b_valid_i"),
            b_ready: port("b_ready_o"),
            b_resp: port("b_resp_i"),
        };
        Self::with(signals, Some(w), prefix.trim_end_matches('_').to_owned(), timing, seed)
    }

    /// Master `lane` of `lanes` that only read and whose signals are the lanes of ports with this prefix.
    ///
    /// # Panics
    /// If the module lacks a signal.
    #[must_use]
    pub fn reader(model: &Model, prefix: &str, lane: u32, lanes: u32, timing: AxiTiming, seed: u64) -> Self {
        let name = format!("{prefix}{lane}");
        Self::with(Signals { model, prefix, lane, lanes }, None, name, timing, seed)
    }

    fn with(signals: Signals<'_>, w: Option<WritePorts>, name: String, timing: AxiTiming, seed: u64) -> Self {
        let port = |name: &str| signals.signal(name);
        let r = ReadPorts {
            valid: port("r_valid_i"),
            ready: port("r_ready_o"),
            data: port("r_data_i"),
            resp: port("r_resp_i"),
            last: port("r_last_i"),
        };
        Self {
            name,
            ar: AddressPorts::new(signals, "ar"),
            bytes: r.data.bits as usize / 8,
            r,
            w,
            timing,
            random: seed ^ 0x9e37_79b9_7f4a_7c15,
            cycle: 0,
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            answers: VecDeque::new(),
            write_response: 0,
            read_offered: false,
            answer_offered: false,
            offers: Default::default(),
            violation: None,
            words: [0; 2],
        }
    }

    /// Forgets all bursts, as after a reset of the module, and sets the port's inputs to idle.
    pub fn reset(&mut self, model: &mut Model) {
        self.reads.clear();
        self.writes.clear();
        self.answers.clear();
        (self.read_offered, self.answer_offered, self.write_response) = (false, false, 0);
        self.offers = Default::default();
        for signal in [self.ar.ready, self.r.valid] {
            signal.set(model, 0);
        }
        for signal in self.w.iter().flat_map(|w| [w.address.ready, w.ready, w.b_valid]) {
            signal.set(model, 0);
        }
    }

    /// The first broken rule.
    #[must_use]
    pub fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// The prefix of its signals, with its lane.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Words that were read and written so far.
    #[must_use]
    pub fn words(&self) -> (u64, u64) {
        (self.words[0], self.words[1])
    }

    /// Bytes that were read and written so far.
    #[must_use]
    pub fn traffic(&self) -> (u64, u64) {
        let bytes = self.bytes as u64;
        (self.words[0] * bytes, self.words[1] * bytes)
    }

    fn draw(&mut self) -> u64 {
        // splitmix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn gap(&mut self) -> bool {
        self.timing.gaps != 0 && self.draw() % 256 < u64::from(self.timing.gaps)
    }

    fn due(&mut self) -> u64 {
        let (first, last) = (*self.timing.latency.start(), *self.timing.latency.end());
        self.cycle + (first + self.draw() % (last - first + 1)).max(1)
    }

    fn broken(&mut self, rule: &str) {
        if self.violation.is_none() {
            self.violation = Some(format!("port {}, cycle {}: {rule}", self.name, self.cycle));
        }
    }

    /// Sets the port's inputs for the coming clock edge and carries out its transfers.
    pub fn cycle(&mut self, model: &mut Model, memory: &mut AxiMemory) {
        self.answer_reads(model, memory);
        if let Some(w) = self.w {
            self.answer_writes(w, model);
            self.take_read(model);
            self.take_word(w, model, memory);
            self.take_write(w.address, model);
        } else {
            self.take_read(model);
        }
        self.cycle += 1;
    }

    fn burst(&mut self, channel: &str, ports: AddressPorts, model: &Model) -> Burst {
        let (address, words) = (ports.address.get(model), ports.len.get(model) + 1);
        let bytes = self.bytes as u64;
        if ports.burst.get(model) != 1 {
            self.broken(&format!("{channel}: a burst that is not INCR"));
        }
        if 1 << ports.size.get(model) != bytes || address % bytes != 0 {
            self.broken(&format!("{channel}: a burst of less than whole words"));
        }
        if address / PAGE != (address + words * bytes - 1) / PAGE {
            self.broken(&format!("{channel}: a burst leaves its page"));
        }
        let due = self.due();
        Burst { address, words, done: 0, due }
    }

    fn take_read(&mut self, model: &mut Model) {
        let ready = !self.gap();
        self.ar.ready.set(model, u64::from(ready));
        let valid = self.ar.valid.get(model) == 1;
        let ports = self.ar;
        if self.offers[0].changed(valid, || ports.content(model), ready) {
            self.broken("ar: an offer changed");
        }
        if valid && ready {
            let burst = self.burst("ar", self.ar, model);
            self.reads.push_back(burst);
            if self.reads.len() > OUTSTANDING {
                self.broken("ar: too many bursts are outstanding");
            }
        }
    }

    fn answer_reads(&mut self, model: &mut Model, memory: &AxiMemory) {
        let due = self.reads.front().is_some_and(|burst| burst.due <= self.cycle);
        if due && !self.read_offered && !self.gap() {
            self.read_offered = true;
        }
        self.r.valid.set(model, u64::from(self.read_offered));
        if !self.read_offered {
            return;
        }
        let Some(burst) = self.reads.front_mut() else { return };
        let address = burst.address + burst.done * self.bytes as u64;
        let response = memory.response(address, self.bytes, &memory.failing_reads);
        match memory.place(address, self.bytes) {
            Some(first) => self.r.data.set_bytes(model, &memory.bytes[first..first + self.bytes]),
            None => self.r.data.set_bytes(model, &ABSENT[..self.bytes]),
        }
        self.r.resp.set(model, RESPONSES[response]);
        let last = burst.done + 1 == burst.words;
        self.r.last.set(model, u64::from(last));
        if self.r.ready.get(model) == 1 {
            burst.done += 1;
            self.words[0] += 1;
            self.read_offered = false;
            if last {
                self.reads.pop_front();
            }
        }
    }

    fn take_write(&mut self, ports: AddressPorts, model: &mut Model) {
        let ready = !self.gap();
        ports.ready.set(model, u64::from(ready));
        let valid = ports.valid.get(model) == 1;
        if self.offers[1].changed(valid, || ports.content(model), ready) {
            self.broken("aw: an offer changed");
        }
        if valid && ready {
            let burst = self.burst("aw", ports, model);
            self.writes.push_back(burst);
            if self.writes.len() + self.answers.len() > OUTSTANDING {
                self.broken("aw: too many bursts are outstanding");
            }
        }
    }

    /// Accepts a word only after its address.
    fn take_word(&mut self, ports: WritePorts, model: &mut Model, memory: &mut AxiMemory) {
        let ready = !self.writes.is_empty() && !self.gap();
        ports.ready.set(model, u64::from(ready));
        let valid = ports.valid.get(model) == 1;
        let (strobe, marked) = (ports.strb.get(model), ports.last.get(model));
        let content = || ports.data.words(model).chain([strobe, marked]).collect();
        if self.offers[2].changed(valid, content, ready) {
            self.broken("w: an offer changed");
        }
        if !(valid && ready) {
            return;
        }
        let bytes = self.bytes;
        let Some(burst) = self.writes.front_mut() else { return };
        let address = burst.address + burst.done * bytes as u64;
        burst.done += 1;
        let last = burst.done == burst.words;
        let response = memory.response(address, bytes, &memory.failing_writes);
        self.write_response = self.write_response.max(response);
        let words: Vec<u64> = ports.data.words(model).collect();
        if let (0, Some(first)) = (response, memory.place(address, bytes)) {
            for (i, byte) in memory.bytes[first..first + bytes].iter_mut().enumerate() {
                if strobe >> i & 1 == 1 {
                    *byte = (words[i / 8] >> (8 * (i % 8))) as u8;
                }
            }
        }
        self.words[1] += 1;
        if (marked == 1) != last {
            self.broken("w: last is wrong");
        }
        if last {
            self.writes.pop_front();
            let due = self.due();
            self.answers.push_back((due, self.write_response));
            self.write_response = 0;
        }
    }

    fn answer_writes(&mut self, ports: WritePorts, model: &mut Model) {
        let due = self.answers.front().is_some_and(|&(due, _)| due <= self.cycle);
        if due && !self.answer_offered && !self.gap() {
            self.answer_offered = true;
        }
        ports.b_valid.set(model, u64::from(self.answer_offered));
        if !self.answer_offered {
            return;
        }
        let Some(&(_, response)) = self.answers.front() else { return };
        ports.b_resp.set(model, RESPONSES[response]);
        if ports.b_ready.get(model) == 1 {
            self.answer_offered = false;
            self.answers.pop_front();
        }
    }
}
