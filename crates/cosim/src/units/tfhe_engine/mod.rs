//! `tfhe_engine`: keys, ciphertexts and programs in its memory, and a ring of jobs.

pub mod registers;

use ciphermill_arch::tfhe_engine::TfheSize;

use super::engine_job::registers as job;
use super::engine_ring::registers as ring;
use super::engine_ring::{DESCRIPTOR, Descriptor, EngineHost, HostError, JobStatus};
use crate::axi_memory::{AxiMemory, AxiTiming};
use crate::model::Configuration;

/// The verb that runs a program.
pub const VERB_RUN: u32 = 1;
/// The verb of one bootstrap.
pub const VERB_BOOTSTRAP: u32 = 2;
/// The verb that makes a key known.
pub const VERB_KEY: u32 = 3;
/// In LENGTH of [`VERB_BOOTSTRAP`]: the ciphertext is under the big key.
pub const BIG: u32 = 1 << 8;

/// Keys that the engine knows at a time.
pub const SLOTS: u32 = 4;
/// Registers of a program.
pub const REGISTERS: usize = 256;
/// The word that begins a key in memory: "TKEY".
pub const KEY_MAGIC: u32 = u32::from_le_bytes(*b"TKEY");
/// Bytes of a place of the stack for each ciphertext.
const STACK_PLACE: u64 = 4096;

/// Descriptors of the driver's ring.
const RING_SIZE: u32 = 16;
/// The address of the memory: above 4 GiB, so that both words of an address matter.
const MEMORY: u64 = 0x1_0000_0000;
/// Bytes of a word, to which all addresses are aligned, and of a page.
const WORD: u64 = 64;
const PAGE: u64 = 4096;
/// Lanes of the transforms, and the values of 64 bits in a beat of one port.
const LANES: usize = 32;
const PORT_VALUES: usize = 16;
/// Elements of 32 bits in a word, and words in a beat of the key switch.
const WORD_ELEMENTS: usize = 16;
const BEAT_WORDS: usize = 8;
/// Values of 64 bits in a word.
const WORD_VALUES: usize = 8;

/// Digits of a decomposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gadget {
    /// log2 of the base.
    pub base_log: u32,
    /// The number of digits.
    pub levels: u32,
}

impl Gadget {
    fn word(self) -> u32 {
        self.base_log | self.levels << 8
    }
}

/// The parameters of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyShape {
    /// n, the dimension of small ciphertexts.
    pub dimension: usize,
    /// The decomposition of the rotation.
    pub rotation: Gadget,
    /// The decomposition of the key switch.
    pub switch: Gadget,
}

/// The object of a register of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its address.
    pub address: u64,
    /// The slot of its key.
    pub slot: u32,
    /// Whether it is a test vector.
    pub test_vector: bool,
}

/// An instruction of a program, as Table 4 of the nvme-tfhe paper numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// The number of the instruction.
    pub opcode: u8,
    /// Its first register.
    pub first: u8,
    /// Its second register.
    pub second: u8,
    /// Its integer.
    pub integer: i32,
}

impl Instruction {
    /// The instruction in memory.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 8] {
        let [a, b, c, d] = self.integer.to_le_bytes();
        [self.opcode, self.first, self.second, 0, a, b, c, d]
    }
}

/// A key in the engine's memory.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The address of its header.
    pub header: u64,
    /// Its parameters.
    pub shape: KeyShape,
    rotation: Slices,
    switch: Slices,
}

impl Key {
    /// The address of the bootstrapping key's slice for a port.
    #[must_use]
    pub fn rotation_slice(&self, port: u64) -> u64 {
        self.rotation.base + port * self.rotation.stride
    }

    /// The address of the key-switching key's slice for a port.
    #[must_use]
    pub fn switch_slice(&self, port: u64) -> u64 {
        self.switch.base + port * self.switch.stride
    }
}

/// The slices of a key, one for each port.
#[derive(Clone, Copy, Debug)]
struct Slices {
    base: u64,
    stride: u64,
}

/// The engine with its host's driver.
///
/// An engine with four circuits carries out each job on two ciphertexts, its batch. An object in memory then has the words
/// of both in turn. Functions without a place in the batch write the same for each ciphertext, and read the first one.
#[derive(Debug)]
pub struct TfheEngine {
    /// Registers, ring and memory.
    pub host: EngineHost,
    size: TfheSize,
    /// The first byte of memory that is not in use.
    free: u64,
}

impl TfheEngine {
    /// An instance of a configuration of `tfhe_engine` with a memory of `memory` bytes, reset and running.
    ///
    /// # Errors
    /// If the engine refuses a register access.
    pub fn new(
        configuration: &'static Configuration,
        memory: usize,
        timing: &AxiTiming,
        seed: u32,
    ) -> Result<Self, HostError> {
        let size = Self::size_of(configuration);
        let memory = AxiMemory::new(MEMORY, memory);
        let readers = [("key_", size.key_ports() as u32)];
        let mut host = EngineHost::new(configuration, &["ring_", "data_"], &readers, memory, timing, seed);
        host.start(MEMORY, RING_SIZE)?;
        Ok(Self { host, size, free: MEMORY + u64::from(RING_SIZE) * DESCRIPTOR as u64 })
    }

    /// The number of coefficients N.
    #[must_use]
    pub fn polynomial_size(&self) -> usize {
        self.size.polynomial_size as usize
    }

    /// N and the number of transform circuits.
    #[must_use]
    pub fn size(&self) -> TfheSize {
        self.size
    }

    /// The ciphertexts on which a job computes.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.size.batch() as usize
    }

    /// Sets the ring again, as after a reset or a CLEAR.
    ///
    /// # Errors
    /// If the engine refuses a register access.
    pub fn start(&mut self) -> Result<(), HostError> {
        self.host.start(MEMORY, RING_SIZE)
    }

    /// The size of a configuration's instances.
    #[must_use]
    pub fn size_of(configuration: &Configuration) -> TfheSize {
        TfheSize {
            polynomial_size: 1 << configuration.parameter("LogN"),
            circuits: configuration.parameter("Circuits") as u64,
        }
    }

    /// Bytes of memory for these keys and these numbers of big ciphertexts and test vectors, the ring and the borders between them included.
    #[must_use]
    pub fn memory_for(configuration: &Configuration, keys: &[KeyShape], samples: usize, vectors: usize) -> usize {
        let size = Self::size_of(configuration);
        let [n, batch, ports] = [size.polynomial_size, size.batch(), size.key_ports()].map(|number| number as usize);
        let pages = |bytes: usize| bytes.next_multiple_of(PAGE as usize);
        let key = |key: &KeyShape| {
            let rotation = key.dimension * key.rotation.levels as usize * n * 4 * 8;
            let switch = n * key.switch.levels as usize * (key.dimension / 128 + 1) * BEAT_WORDS * WORD as usize;
            pages(rotation / ports) * ports + pages(switch / ports) * ports + PAGE as usize
        };
        // A sample under the big key has the most bytes.
        let sample = pages((n + 8) * 8 * batch);
        pages(RING_SIZE as usize * DESCRIPTOR)
            + keys.iter().map(key).sum::<usize>()
            + (samples + 2 * vectors + 4) * sample
    }

    /// Cycles after which the driver gives up a bootstrap: about twice those of a slow memory.
    #[must_use]
    pub fn patience(&self, shape: KeyShape) -> u64 {
        let (n, dimension) = (self.polynomial_size() as u64, shape.dimension as u64);
        let cmux = (2 * u64::from(shape.rotation.levels) + 2) * 3 * n / LANES as u64;
        let switch = n * u64::from(shape.switch.levels) * (dimension / 128 + 1);
        4 * (dimension * (cmux + 100) + switch + 4 * n) + 100_000
    }

    /// The first address that is not in use.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.free
    }

    /// Gives all memory from an address on back.
    pub fn release(&mut self, address: u64) {
        self.free = address;
    }

    /// Takes bytes of memory, from a page's beginning on.
    ///
    /// # Panics
    /// If the memory has no room for them.
    pub fn allocate(&mut self, bytes: u64) -> u64 {
        let address = self.free.next_multiple_of(PAGE);
        self.free = address + bytes;
        // Panics if it is beyond the memory.
        let _ = self.host.memory.bytes(address, bytes as usize);
        address
    }

    /// Takes memory for a ciphertext under either key.
    pub fn allocate_ciphertext(&mut self) -> u64 {
        let words = self.polynomial_size() as u64 / WORD_VALUES as u64 + 1;
        self.allocate(words * WORD * self.size.batch())
    }

    /// Takes memory for a test vector.
    pub fn allocate_test_vector(&mut self) -> u64 {
        self.allocate(16 * self.size.polynomial_size * self.size.batch())
    }

    /// Takes memory for a stack. Its places also hold ciphertexts under the small key.
    pub fn allocate_stack(&mut self, places: u64) -> u64 {
        self.allocate(STACK_PLACE * self.size.batch() * places)
    }

    /// Puts a key into memory. `rotation(i, component, digit)` gives the spectra of both columns, in bit-reversed order
    /// and times 1/N; `switch(row)` gives the n + 1 elements of a row of the key-switching key.
    pub fn put_key<'k>(
        &mut self,
        shape: KeyShape,
        mut rotation: impl FnMut(usize, usize, usize) -> [&'k [u64]; 2],
        mut switch: impl FnMut(usize) -> &'k [u32],
    ) -> Key {
        let key = self.reserve_key(shape);
        for i in 0..shape.dimension {
            self.put_selector(&key, i, |component, digit| rotation(i, component, digit));
        }
        self.put_switch(&key, &mut switch);
        key
    }

    /// Takes memory for a key and writes its header.
    pub fn reserve_key(&mut self, shape: KeyShape) -> Key {
        let (n, ports) = (self.size.polynomial_size, self.size.key_ports());
        let levels = u64::from(shape.rotation.levels);
        let mut slices = |bytes: u64| {
            let stride = (bytes / ports).next_multiple_of(PAGE);
            Slices { base: self.allocate(stride * ports), stride }
        };
        let rotation = slices(shape.dimension as u64 * levels * n * 4 * 8);
        let beats = n * u64::from(shape.switch.levels) * (shape.dimension as u64 / 128 + 1);
        let switch = slices(beats * BEAT_WORDS as u64 * WORD);
        self.put_header(shape, rotation, switch)
    }

    /// Writes the header of a key without slices, for programs without a bootstrap.
    pub fn put_shape(&mut self, shape: KeyShape) -> Key {
        let nowhere = Slices { base: 0, stride: 0 };
        self.put_header(shape, nowhere, nowhere)
    }

    fn put_header(&mut self, shape: KeyShape, rotation: Slices, switch: Slices) -> Key {
        let header = self.allocate(WORD);
        let words = [
            KEY_MAGIC,
            shape.dimension as u32,
            self.size.polynomial_size.ilog2(),
            shape.rotation.word(),
            shape.switch.word(),
            0,
        ];
        let addresses = [rotation.base, rotation.stride, switch.base, switch.stride];
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        let bytes: Vec<u8> = bytes.chain(addresses.iter().flat_map(|address| address.to_le_bytes())).collect();
        self.host.memory.bytes_mut(header, bytes.len()).copy_from_slice(&bytes);
        Key { header, shape, rotation, switch }
    }

    /// Puts the `index`-th GGSW ciphertext of a key into memory: `spectra(component, digit)` as in
    /// [`put_key`](Self::put_key).
    pub fn put_selector<'k>(
        &mut self,
        key: &Key,
        index: usize,
        mut spectra: impl FnMut(usize, usize) -> [&'k [u64]; 2],
    ) {
        let rows = self.polynomial_size() / LANES;
        let circuits = self.size.lane_circuits() as usize;
        let (levels, turns) = (key.shape.rotation.levels as usize, 2 / circuits);
        let beat = (PORT_VALUES * 8) as u64;
        for turn in 0..turns {
            for digit in 0..levels {
                let frame = ((index * turns + turn) * levels + digit) * rows;
                for circuit in 0..circuits {
                    let component = if turns == 2 { turn } else { circuit };
                    for (column, spectrum) in spectra(component, digit).into_iter().enumerate() {
                        for half in 0..2 {
                            let port = (4 * circuit + 2 * column + half) as u64;
                            let first = key.rotation_slice(port) + frame as u64 * beat;
                            let place = self.host.memory.bytes_mut(first, rows * beat as usize);
                            let values =
                                spectrum.chunks_exact(LANES).flat_map(|row| &row[half * PORT_VALUES..][..PORT_VALUES]);
                            for (bytes, value) in place.as_chunks_mut::<8>().0.iter_mut().zip(values) {
                                *bytes = value.to_le_bytes();
                            }
                        }
                    }
                }
            }
        }
    }

    /// Puts the rows of a key-switching key into memory.
    pub fn put_switch<'k>(&mut self, key: &Key, mut row: impl FnMut(usize) -> &'k [u32]) {
        let rows = self.polynomial_size() * key.shape.switch.levels as usize;
        let beats = key.shape.dimension / 128 + 1;
        let ports = self.size.key_ports() as usize;
        let each = BEAT_WORDS / ports;
        for r in 0..rows {
            for (w, elements) in row(r).chunks(WORD_ELEMENTS).enumerate() {
                // Word w of a row is word `place` of beat `beat`.
                let (beat, place) = (r * beats + w / BEAT_WORDS, w % BEAT_WORDS);
                let first = key.switch_slice((place % ports) as u64) + (beat * each + place / ports) as u64 * WORD;
                let bytes = self.host.memory.bytes_mut(first, 4 * elements.len());
                for (bytes, element) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(elements) {
                    *bytes = element.to_le_bytes();
                }
            }
        }
    }

    /// Makes a key known to the engine.
    ///
    /// # Errors
    /// If the host fails, or the status is not `DONE`.
    pub fn load_key(&mut self, slot: u32, key: &Key) -> Result<Result<(), JobStatus>, HostError> {
        let descriptor = Descriptor { operation: VERB_KEY, length: slot, operands: [key.header, 0, 0, 0, 0, 0] };
        Ok(self.run_job(descriptor, 100_000)?.map(|_| ()))
    }

    /// Runs one job alone, and returns the cycles in which there was a job.
    ///
    /// # Errors
    /// If the host fails, or the status is not `DONE`.
    pub fn run_job(&mut self, descriptor: Descriptor, patience: u64) -> Result<Result<u32, JobStatus>, HostError> {
        self.run_job_with(descriptor, patience, &mut |_| ())
    }

    /// The same; `progress` receives the clock edges since the beginning.
    ///
    /// # Errors
    /// As [`run_job`](Self::run_job).
    pub fn run_job_with(
        &mut self,
        descriptor: Descriptor,
        patience: u64,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Result<u32, JobStatus>, HostError> {
        let before = self.host.read(ring::CYCLES)?;
        let index = self.host.push(&[descriptor.to_bytes()])?[0];
        let after = self.host.wait_with(patience, progress)?;
        Ok(match self.host.status(index) {
            job::STATUS_CODE_DONE => Ok(after.wrapping_sub(before)),
            other => Err(JobStatus(other)),
        })
    }

    /// Sets a register of programs; `None` makes it unusable.
    ///
    /// # Errors
    /// If the engine refuses, as it does while a job is in progress.
    pub fn set_register(&mut self, number: u8, object: Option<Object>) -> Result<(), HostError> {
        let base = registers::OBJECTS + 8 * u32::from(number);
        let Object { address, slot, test_vector } =
            object.unwrap_or(Object { address: 0, slot: 0, test_vector: false });
        self.host.write(base + 4, (address >> 32) as u32)?;
        let flags = u32::from(object.is_some()) | u32::from(test_vector) << 1 | slot << 2;
        self.host.write(base, address as u32 | flags)
    }

    /// The address of a word of an object: word `index` of the ciphertext at `place` of the batch.
    fn word(&self, address: u64, place: usize, index: usize) -> u64 {
        debug_assert!(place < self.batch());
        address + (index * self.batch() + place) as u64 * WORD
    }

    /// Writes an object, filled with zeros to whole words.
    fn put_bytes(&mut self, address: u64, place: usize, bytes: &[u8]) {
        for (index, part) in bytes.chunks(WORD as usize).enumerate() {
            let at = self.word(address, place, index);
            let word = self.host.memory.bytes_mut(at, WORD as usize);
            word.fill(0);
            word[..part.len()].copy_from_slice(part);
        }
    }

    fn bytes(&self, address: u64, place: usize, length: usize) -> Vec<u8> {
        let words = (0..length.div_ceil(WORD as usize)).map(|index| self.word(address, place, index));
        let mut bytes: Vec<u8> = words.flat_map(|at| self.host.memory.bytes(at, WORD as usize)).copied().collect();
        bytes.truncate(length);
        bytes
    }

    /// [`put_bytes`](Self::put_bytes) at all places of the batch.
    fn put_bytes_everywhere(&mut self, address: u64, bytes: &[u8]) {
        (0..self.batch()).for_each(|place| self.put_bytes(address, place, bytes));
    }

    /// Writes a ciphertext under the small key to memory.
    pub fn put_small(&mut self, address: u64, elements: &[u32]) {
        self.put_bytes_everywhere(address, &small_bytes(elements));
    }

    /// [`put_small`](Self::put_small) at one place of the batch.
    pub fn put_small_at(&mut self, address: u64, place: usize, elements: &[u32]) {
        self.put_bytes(address, place, &small_bytes(elements));
    }

    /// Reads a ciphertext under the small key from memory.
    #[must_use]
    pub fn small(&self, address: u64, dimension: usize) -> Vec<u32> {
        self.small_at(address, 0, dimension)
    }

    /// [`small`](Self::small) at one place of the batch.
    #[must_use]
    pub fn small_at(&self, address: u64, place: usize, dimension: usize) -> Vec<u32> {
        let bytes = self.bytes(address, place, 4 * (dimension + 1));
        bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
    }

    /// Writes a ciphertext under the big key to memory.
    pub fn put_big(&mut self, address: u64, elements: &[u64]) {
        self.put_bytes_everywhere(address, &big_bytes(elements));
    }

    /// [`put_big`](Self::put_big) at one place of the batch.
    pub fn put_big_at(&mut self, address: u64, place: usize, elements: &[u64]) {
        self.put_bytes(address, place, &big_bytes(elements));
    }

    /// Reads a ciphertext under the big key from memory.
    #[must_use]
    pub fn big(&self, address: u64) -> Vec<u64> {
        self.big_at(address, 0)
    }

    /// [`big`](Self::big) at one place of the batch.
    #[must_use]
    pub fn big_at(&self, address: u64, place: usize) -> Vec<u64> {
        let bytes = self.bytes(address, place, 8 * (self.polynomial_size() + 1));
        bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
    }

    /// Writes a test vector to memory: both components of a GLWE ciphertext, the mask first. Row t of a component has the
    /// coefficients t, t + N/32, t + 2N/32 …
    pub fn put_test_vector(&mut self, address: u64, coefficients: &[u64]) {
        self.put_bytes_everywhere(address, &self.test_vector_bytes(coefficients));
    }

    /// [`put_test_vector`](Self::put_test_vector) at one place of the batch.
    pub fn put_test_vector_at(&mut self, address: u64, place: usize, coefficients: &[u64]) {
        self.put_bytes(address, place, &self.test_vector_bytes(coefficients));
    }

    fn test_vector_bytes(&self, coefficients: &[u64]) -> Vec<u8> {
        let (n, rows) = (self.polynomial_size(), self.polynomial_size() / LANES);
        let from = |i: usize| i / n * n + i % n / LANES + i % LANES * rows;
        (0..coefficients.len()).flat_map(|i| coefficients[from(i)].to_le_bytes()).collect()
    }

    /// Writes a program to memory.
    pub fn put_program(&mut self, address: u64, program: &[Instruction]) {
        let bytes = self.host.memory.bytes_mut(address, 8 * program.len());
        for (bytes, instruction) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(program) {
            *bytes = instruction.to_bytes();
        }
    }
}

fn small_bytes(elements: &[u32]) -> Vec<u8> {
    elements.iter().flat_map(|element| element.to_le_bytes()).collect()
}

fn big_bytes(elements: &[u64]) -> Vec<u8> {
    elements.iter().flat_map(|element| element.to_le_bytes()).collect()
}
