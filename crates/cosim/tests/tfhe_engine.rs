//! The TFHE engine with keys of random residues, against plain arithmetic modulo p.

#[allow(dead_code, reason = "these tests do not use all helpers")]
mod support;
#[path = "support/tfhe.rs"]
mod tfhe;

use ciphermill_arch::tfhe_engine::{TfheCost, TfheJob, TfheKey, cmux_cycles, cost};
use ciphermill_cosim::Configuration;
use ciphermill_cosim::axi_memory::AxiTiming;
use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::units::engine_job::registers as job;
use ciphermill_cosim::units::engine_ring::{Descriptor, JobStatus};
use ciphermill_cosim::units::tfhe_engine::{
    BIG, Gadget, Instruction, Key, KeyShape, Object, TfheEngine, VERB_BOOTSTRAP, VERB_KEY, VERB_RUN, registers,
};
use ciphermill_math::EngineCost;
use ciphermill_math::goldilocks::{MODULUS, from_torus, neg, to_torus};
use ciphermill_tfhe::dimension::{Decomposition, LweDimension};
use ciphermill_tfhe::keyswitch::{KeyswitchShape, LweKeyswitchKey};
use ciphermill_tfhe::lwe::LweCiphertext;
use support::{Source, each, with_seeds};
use tfhe::{cmux, rotated};

/// n = 8, and the gadgets of the paper.
const SHAPE: KeyShape =
    KeyShape { dimension: 8, rotation: Gadget { base_log: 9, levels: 5 }, switch: Gadget { base_log: 2, levels: 7 } };

/// A key of random residues, whose products are those of the definition.
struct RandomKey {
    n: usize,
    shape: KeyShape,
    /// A spectrum for each selector, component, digit and column.
    spectra: Vec<Vec<u64>>,
    switch: LweKeyswitchKey,
}

impl RandomKey {
    fn new(source: &mut Source, n: usize, shape: KeyShape) -> Self {
        let count = shape.dimension * 4 * shape.rotation.levels as usize;
        let spectra = (0..count).map(|_| (0..n).map(|_| source.below(MODULUS)).collect()).collect();
        let switch_shape = KeyswitchShape {
            input_dimension: LweDimension(n),
            output_dimension: LweDimension(shape.dimension),
            decomposition: Decomposition::new(shape.switch.base_log as usize, shape.switch.levels as usize),
        };
        let elements: Vec<u32> = (0..switch_shape.len()).map(|_| source.any() as u32).collect();
        let switch = LweKeyswitchKey::from_elements(&elements, switch_shape).unwrap();
        Self { n, shape, spectra, switch }
    }

    fn columns(&self, selector: usize, component: usize, digit: usize) -> [&[u64]; 2] {
        let first = 2 * ((2 * selector + component) * self.shape.rotation.levels as usize + digit);
        [&self.spectra[first], &self.spectra[first + 1]]
    }

    fn put(&self, engine: &mut TfheEngine) -> Key {
        let size = self.shape.dimension + 1;
        engine.put_key(
            self.shape,
            |selector, component, digit| self.columns(selector, component, digit),
            |row| &self.switch.elements()[row * size..][..size],
        )
    }

    /// X^−b times the test vector, and a CMux for each element of the mask; then the sample of coefficient 0.
    fn rotate(&self, small: &[u32], vector: &[u64]) -> Vec<u64> {
        let (n, dimension) = (self.n, self.shape.dimension);
        let gadget = (self.shape.rotation.base_log as usize, self.shape.rotation.levels as usize);
        let exponent = |x: u32| ((u64::from(x) * 2 * n as u64 + (1 << 31)) >> 32) as usize % (2 * n);
        let start = (2 * n - exponent(small[dimension])) % (2 * n);
        let entered: Vec<u64> = vector.iter().map(|&x| from_torus(x)).collect();
        let mut acc = [rotated(&entered[..n], start), rotated(&entered[n..], start)];
        for (selector, &x) in small[..dimension].iter().enumerate() {
            let columns = |component, digit| self.columns(selector, component, digit);
            acc = cmux(&acc, exponent(x), gadget, columns);
        }
        let mask = (0..n).map(|i| if i == 0 { acc[0][0] } else { neg(acc[0][n - i]) });
        mask.chain([acc[1][0]]).map(to_torus).collect()
    }

    fn switch(&self, big: &[u64]) -> Vec<u32> {
        self.switch.switch(&LweCiphertext::from_elements(big.to_vec())).unwrap().elements().to_vec()
    }
}

/// An engine with keys in its first slots, and places for the objects of jobs.
struct Setting {
    engine: TfheEngine,
    n: usize,
    keys: Vec<RandomKey>,
    loaded: Vec<Key>,
    /// Places of ciphertexts, each big enough for one under the big key, and of a test vector and a program.
    places: Vec<u64>,
    test_vector: u64,
    program: u64,
    /// The test vector of each ciphertext of a batch.
    vectors: Vec<Vec<u64>>,
}

const PLACES: usize = 6;

impl Setting {
    fn new(configuration: &'static Configuration, source: &mut Source, keys: usize, timing: &AxiTiming) -> Self {
        let n = 1 << configuration.parameter("LogN");
        let memory = TfheEngine::memory_for(configuration, &vec![SHAPE; keys], PLACES + 3, 1);
        let mut engine = TfheEngine::new(configuration, memory, timing, source.any() as u32).unwrap();
        let keys: Vec<_> = (0..keys).map(|_| RandomKey::new(source, n, SHAPE)).collect();
        let loaded: Vec<_> = keys.iter().map(|key| key.put(&mut engine)).collect();
        let places = (0..PLACES).map(|_| engine.allocate_ciphertext()).collect();
        let test_vector = engine.allocate_test_vector();
        let program = engine.allocate(4096);
        let vectors: Vec<Vec<u64>> = (0..engine.batch()).map(|_| (0..2 * n).map(|_| source.any()).collect()).collect();
        for (place, vector) in vectors.iter().enumerate() {
            engine.put_test_vector_at(test_vector, place, vector);
        }
        let mut setting = Self { engine, n, keys, loaded, places, test_vector, program, vectors };
        setting.load();
        setting
    }

    fn load(&mut self) {
        for (slot, key) in self.loaded.clone().iter().enumerate() {
            self.engine.load_key(slot as u32, key).unwrap().unwrap();
        }
    }

    fn small(&self, source: &mut Source) -> Vec<u32> {
        (0..=SHAPE.dimension).map(|_| source.any() as u32).collect()
    }

    fn patience(&self) -> u64 {
        self.engine.patience(SHAPE)
    }

    fn bootstrap_job(&self, length: u32) -> Descriptor {
        let operands = [self.places[0], self.test_vector, self.places[1], 0, 0, 0];
        Descriptor { operation: VERB_BOOTSTRAP, length, operands }
    }

    /// Runs a bootstrap under the small key, of other ciphertexts in each place of a batch, and checks its results; returns
    /// its cycles.
    fn bootstrap(&mut self, source: &mut Source, slot: usize) -> u32 {
        let inputs: Vec<Vec<u32>> = self.vectors.iter().map(|_| self.small(source)).collect();
        for (place, small) in inputs.iter().enumerate() {
            self.engine.put_small_at(self.places[0], place, small);
        }
        let cycles = self.engine.run_job(self.bootstrap_job(slot as u32), self.patience()).unwrap().unwrap();
        let key = &self.keys[slot];
        for (place, (small, vector)) in inputs.iter().zip(&self.vectors).enumerate() {
            let expected = key.switch(&key.rotate(small, vector));
            let found = self.engine.small_at(self.places[1], place, SHAPE.dimension);
            assert_eq!(found, expected, "key {slot}, place {place}");
        }
        cycles
    }

    /// The same under the big key.
    fn bootstrap_big(&mut self, source: &mut Source) -> u32 {
        let inputs: Vec<Vec<u64>> = self.vectors.iter().map(|_| (0..=self.n).map(|_| source.any()).collect()).collect();
        for (place, big) in inputs.iter().enumerate() {
            self.engine.put_big_at(self.places[0], place, big);
        }
        let cycles = self.engine.run_job(self.bootstrap_job(BIG), self.patience()).unwrap().unwrap();
        let key = &self.keys[0];
        for (place, (big, vector)) in inputs.iter().zip(&self.vectors).enumerate() {
            assert_eq!(
                self.engine.big_at(self.places[1], place),
                key.rotate(&key.switch(big), vector),
                "place {place}"
            );
        }
        cycles
    }

    /// Registers 1 to 4 stand for the ciphertexts at places 1 to 4, register 9 for the test vector.
    fn set_registers(&mut self, slot: u32) {
        for number in 1..=4u8 {
            let address = self.places[usize::from(number)];
            self.engine.set_register(number, Some(Object { address, slot, test_vector: false })).unwrap();
        }
        let object = Object { address: self.test_vector, slot, test_vector: true };
        self.engine.set_register(9, Some(object)).unwrap();
    }

    /// The job of a program with a stack of two places. Its result goes to place 0.
    fn program_job(&mut self, program: &[Instruction]) -> Descriptor {
        self.engine.put_program(self.program, program);
        let operands = [self.program, self.places[0], self.places[5], 2, 0, 0];
        Descriptor { operation: VERB_RUN, length: program.len() as u32, operands }
    }

    /// Runs a program and returns its results and its cycles.
    fn run_batch(&mut self, program: &[Instruction]) -> Result<(Vec<Vec<u32>>, u32), JobStatus> {
        let job = self.program_job(program);
        let patience = 2 * self.patience();
        let cycles = self.engine.run_job(job, patience).unwrap()?;
        let result = |place| self.engine.small_at(self.places[0], place, SHAPE.dimension);
        Ok(((0..self.engine.batch()).map(result).collect(), cycles))
    }

    /// The same for operands that are alike in all places of a batch.
    fn run(&mut self, program: &[Instruction]) -> Result<(Vec<u32>, u32), JobStatus> {
        let (results, cycles) = self.run_batch(program)?;
        assert!(results.iter().all(|result| *result == results[0]), "all places of the batch have the same operands");
        Ok((results[0].clone(), cycles))
    }
}

fn instruction(opcode: u8, first: u8, second: u8) -> Instruction {
    Instruction { opcode, first, second, integer: 0 }
}

fn ret(register: u8) -> Instruction {
    instruction(0, register, 0)
}

fn times(register: u8, integer: i32) -> Instruction {
    Instruction { opcode: 7, first: register, second: 0, integer }
}

fn combined(x: &[u32], y: &[u32], f: impl Fn(u32, u32) -> u32) -> Vec<u32> {
    x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect()
}

#[test]
fn bootstraps_of_both_orders() {
    each("tfhe_engine", |configuration| {
        with_seeds(|source| {
            let mut setting = Setting::new(configuration, source, 1, &AxiTiming::never_waits());
            let cycles = setting.bootstrap(source, 0).into();
            println!("{configuration}: {cycles} cycles");
            let batch = setting.engine.batch() as u64;
            let (n, transforms) = (setting.n as u64, 12 * batch / configuration.parameter("Circuits") as u64);
            let rotation = SHAPE.dimension as u64 * transforms * 3 * n / 32;
            let bound = rotation + n * u64::from(SHAPE.switch.levels) + 2 * batch * n / 8;
            record::cycles(configuration, Cycles { cycles, latency: cycles, bound });
            let cycles = setting.bootstrap_big(source);
            println!("{configuration}: {cycles} cycles with the key switch first");
            // Words of the two ciphertexts of a batch then come at different times.
            Setting::new(configuration, source, 1, &AxiTiming::slow()).bootstrap_big(source);
        });
    });
}

#[test]
fn instructions_do_what_the_table_says() {
    each("tfhe_engine", |configuration| {
        with_seeds(|source| {
            let mut setting = Setting::new(configuration, source, 1, &AxiTiming::never_waits());
            setting.set_registers(0);
            // The values of each place of a batch: those of five ciphertexts.
            let batch: Vec<Vec<Vec<u32>>> =
                setting.vectors.iter().map(|_| (0..5).map(|_| setting.small(source)).collect()).collect();
            let put = |setting: &mut Setting| {
                for (place, values) in batch.iter().enumerate() {
                    for (&address, value) in setting.places.iter().zip(values) {
                        setting.engine.put_small_at(address, place, value);
                    }
                }
            };
            let integer = source.any() as i32;
            let (push, pop) = (2, 3);
            type Values<'v> = &'v [Vec<u32>];
            type Expected = Box<dyn Fn(Values<'_>) -> Vec<u32>>;
            let value = |number: usize| -> Expected { Box::new(move |values| values[number].clone()) };
            for (program, expected, most) in [
                (vec![ret(3)], value(3), 150),
                (vec![instruction(1, 1, 2), ret(1)], value(2), 300),
                (
                    vec![instruction(5, 1, 2), ret(1)],
                    Box::new(|values: Values<'_>| combined(&values[1], &values[2], u32::wrapping_add)),
                    300,
                ),
                (
                    vec![instruction(6, 1, 2), ret(1)],
                    Box::new(|values: Values<'_>| combined(&values[1], &values[2], u32::wrapping_sub)),
                    300,
                ),
                (
                    vec![times(1, integer), ret(1)],
                    Box::new(move |values: Values<'_>| {
                        values[1].iter().map(|x| x.wrapping_mul(integer as u32)).collect()
                    }),
                    400,
                ),
                (vec![instruction(push, 1, 0), instruction(push, 2, 0), instruction(pop, 3, 0), ret(3)], value(2), 400),
                (
                    vec![
                        instruction(push, 1, 0),
                        instruction(push, 2, 0),
                        instruction(pop, 3, 0),
                        instruction(pop, 4, 0),
                        ret(4),
                    ],
                    value(1),
                    400,
                ),
                // More instructions than a word of memory has.
                (
                    (0..20).map(|_| instruction(5, 1, 3)).chain([ret(1)]).collect(),
                    Box::new(|values: Values<'_>| {
                        combined(&values[1], &values[3], |x, y| x.wrapping_add(y.wrapping_mul(20)))
                    }),
                    2500,
                ),
            ] {
                put(&mut setting);
                let (results, cycles) = setting.run_batch(&program).unwrap();
                for (result, values) in results.iter().zip(&batch) {
                    assert_eq!(*result, expected(values), "{configuration}: {program:?}");
                }
                println!("{configuration}: {program:?}: {cycles} cycles");
                assert!(cycles <= most, "{configuration}: {program:?}: {cycles} cycles");
            }
        });
    });
}

/// The program of the paper's Table 5 for x·y = (x + y)²/4 − (x − y)²/4.
fn product() -> [Instruction; 7] {
    let (mov, bootstrap, add, sub) = (1, 4, 5, 6);
    [
        instruction(mov, 1, 2),
        instruction(add, 1, 3),
        instruction(bootstrap, 9, 1),
        instruction(sub, 2, 3),
        instruction(bootstrap, 9, 2),
        instruction(sub, 1, 2),
        ret(1),
    ]
}

#[test]
fn the_program_of_table_5_with_any_memory() {
    each("tfhe_engine", |configuration| {
        for timing in [AxiTiming::never_waits(), AxiTiming::slow()] {
            let source = &mut Source::seeded(5);
            let mut setting = Setting::new(configuration, source, 1, &timing);
            setting.set_registers(0);
            let [x, y] = [(); 2].map(|()| setting.small(source));
            setting.engine.put_small(setting.places[2], &x);
            setting.engine.put_small(setting.places[3], &y);
            let (results, cycles) = setting.run_batch(&product()).unwrap();
            let key = &setting.keys[0];
            for (result, vector) in results.iter().zip(&setting.vectors) {
                let squared = |x: &[u32]| key.switch(&key.rotate(x, vector));
                let sum = squared(&combined(&x, &y, u32::wrapping_add));
                let difference = squared(&combined(&x, &y, u32::wrapping_sub));
                assert_eq!(*result, combined(&sum, &difference, u32::wrapping_sub), "{configuration}");
            }
            println!("{configuration}, {timing:?}: {cycles} cycles");
        }
    });
}

#[test]
fn two_keys_in_turn() {
    each("tfhe_engine", |configuration| {
        let source = &mut Source::seeded(6);
        let mut setting = Setting::new(configuration, source, 2, &AxiTiming::never_waits());
        let first = setting.bootstrap(source, 1);
        assert_eq!(setting.bootstrap(source, 0), first, "the cycles depend on no number");
    });
}

#[test]
fn what_is_wrong_has_a_status_and_the_next_job_runs() {
    each("tfhe_engine", |configuration| {
        let source = &mut Source::seeded(7);
        let mut setting = Setting::new(configuration, source, 2, &AxiTiming::never_waits());
        setting.set_registers(0);
        let value = setting.small(source);
        setting.engine.put_small(setting.places[1], &value);
        let other = Object { address: setting.places[4], slot: 1, test_vector: false };
        setting.engine.set_register(4, Some(other)).unwrap();
        let unset = Object { address: setting.places[3], slot: 3, test_vector: false };
        setting.engine.set_register(3, Some(unset)).unwrap();
        let (push, pop, bootstrap, add) = (2, 3, 4, 5);
        for (program, status) in [
            (vec![instruction(8, 1, 0), ret(1)], job::STATUS_CODE_WRONG_INSTRUCTION),
            (vec![instruction(0x10, 1, 0), ret(1)], job::STATUS_CODE_WRONG_INSTRUCTION),
            (vec![instruction(0xff, 1, 0), ret(1)], job::STATUS_CODE_WRONG_INSTRUCTION),
            (vec![instruction(0, 1, 1)], job::STATUS_CODE_WRONG_INSTRUCTION),
            (vec![Instruction { integer: 1, ..ret(1) }], job::STATUS_CODE_WRONG_INSTRUCTION),
            (vec![ret(200)], job::STATUS_CODE_WRONG_REGISTER),
            (vec![ret(9)], job::STATUS_CODE_WRONG_REGISTER),
            (vec![instruction(bootstrap, 1, 2), ret(1)], job::STATUS_CODE_WRONG_REGISTER),
            (vec![instruction(bootstrap, 9, 9), ret(1)], job::STATUS_CODE_WRONG_REGISTER),
            (vec![instruction(add, 1, 4), ret(1)], job::STATUS_CODE_WRONG_KEY),
            (vec![instruction(push, 4, 0), ret(1)], job::STATUS_CODE_WRONG_KEY),
            (vec![ret(3)], job::STATUS_CODE_NO_KEY),
            (vec![instruction(pop, 1, 0), ret(1)], job::STATUS_CODE_STACK_LIMIT),
            (vec![instruction(push, 1, 0); 3], job::STATUS_CODE_STACK_LIMIT),
            (vec![instruction(push, 1, 0); 2], job::STATUS_CODE_NO_RETURN),
        ] {
            assert_eq!(setting.run(&program), Err(JobStatus(status)), "{configuration}: {program:?}");
            assert_eq!(setting.run(&[ret(1)]).unwrap().0, value, "{configuration}: after {program:?}");
        }
        // A byte of an instruction that must be 0.
        let reserved = setting.program_job(&[ret(1)]);
        setting.engine.host.memory.bytes_mut(reserved.operands[0], 8)[3] = 1;
        let found = setting.engine.run_job(reserved, setting.patience()).unwrap();
        assert_eq!(found, Err(JobStatus(job::STATUS_CODE_WRONG_INSTRUCTION)), "{configuration}");
        let right = setting.program_job(&[ret(1)]);
        let set = |index: usize, address: u64| {
            let mut job = right;
            job.operands[index] = address;
            job
        };
        let header = setting.loaded[0].header;
        let top = (1u64 << 40) - 64;
        for (wrong, status) in [
            (Descriptor { operation: 0, ..right }, job::STATUS_CODE_UNSUPPORTED),
            (Descriptor { operation: 4, ..right }, job::STATUS_CODE_UNSUPPORTED),
            (Descriptor { operation: VERB_RUN | 1 << 8, ..right }, job::STATUS_CODE_MALFORMED),
            (set(5, 64), job::STATUS_CODE_MALFORMED),
            (Descriptor { length: 0, ..right }, job::STATUS_CODE_WRONG_LENGTH),
            (Descriptor { length: 65536, ..right }, job::STATUS_CODE_WRONG_LENGTH),
            (set(3, 65536), job::STATUS_CODE_WRONG_LENGTH),
            (set(0, right.operands[0] + 8), job::STATUS_CODE_WRONG_ADDRESS),
            (set(1, 1 << 40), job::STATUS_CODE_WRONG_ADDRESS),
            (set(0, top), job::STATUS_CODE_READ_FAILED),
            (
                Descriptor { operands: [header, header, header, 1, 0, 0], ..setting.bootstrap_job(0) },
                job::STATUS_CODE_MALFORMED,
            ),
            // The result begins at the last address and ends beyond it.
            (
                Descriptor {
                    operands: [setting.places[0], setting.test_vector, top, 0, 0, 0],
                    ..setting.bootstrap_job(BIG)
                },
                job::STATUS_CODE_WRONG_ADDRESS,
            ),
            (setting.bootstrap_job(4), job::STATUS_CODE_WRONG_LENGTH),
            (setting.bootstrap_job(3), job::STATUS_CODE_NO_KEY),
            (Descriptor { operands: [top, header, header, 0, 0, 0], ..setting.bootstrap_job(BIG) }, {
                job::STATUS_CODE_WRONG_ADDRESS
            }),
            (Descriptor { operation: VERB_KEY, length: 4, operands: [header, 0, 0, 0, 0, 0] }, {
                job::STATUS_CODE_WRONG_LENGTH
            }),
            (Descriptor { operation: VERB_KEY, length: 3, operands: [header, 64, 0, 0, 0, 0] }, {
                job::STATUS_CODE_MALFORMED
            }),
            (Descriptor { operation: VERB_KEY, length: 3, operands: [header, 0, 64, 0, 0, 0] }, {
                job::STATUS_CODE_MALFORMED
            }),
            (Descriptor { operation: VERB_KEY, length: 3, operands: [right.operands[0], 0, 0, 0, 0, 0] }, {
                job::STATUS_CODE_MALFORMED
            }),
        ] {
            let found = setting.engine.run_job(wrong, setting.patience()).unwrap().unwrap_err();
            assert_eq!(found, JobStatus(status), "{configuration}: {wrong:?}");
            assert_eq!(setting.run(&[ret(1)]).unwrap().0, value, "{configuration}: after {wrong:?}");
        }
        // Headers of keys: a byte, its value, the status.
        let original = setting.engine.host.memory.bytes(header, 64).to_vec();
        for (byte, value, status) in [
            (0, b't', job::STATUS_CODE_MALFORMED),
            (4, 0, job::STATUS_CODE_WRONG_KEY),
            (5, 4, job::STATUS_CODE_WRONG_KEY),
            (8, 11, job::STATUS_CODE_WRONG_KEY),
            (12, 0, job::STATUS_CODE_WRONG_KEY),
            (12, 17, job::STATUS_CODE_WRONG_KEY),
            (13, 0, job::STATUS_CODE_WRONG_KEY),
            (13, 8, job::STATUS_CODE_WRONG_KEY),
            (13, 16, job::STATUS_CODE_WRONG_KEY),
            (16, 5, job::STATUS_CODE_WRONG_KEY),
            (17, 0, job::STATUS_CODE_WRONG_KEY),
            (20, 1, job::STATUS_CODE_MALFORMED),
            (24, 1, job::STATUS_CODE_WRONG_ADDRESS),
            (29, 1, job::STATUS_CODE_WRONG_ADDRESS),
            (36, 0xff, job::STATUS_CODE_WRONG_ADDRESS),
            (52, 0xff, job::STATUS_CODE_WRONG_ADDRESS),
            (63, 1, job::STATUS_CODE_MALFORMED),
        ] {
            setting.engine.host.memory.bytes_mut(header, 64)[byte] = value;
            let key = setting.loaded[0];
            assert_eq!(setting.engine.load_key(0, &key).unwrap(), Err(JobStatus(status)), "byte {byte} is {value}");
            // A key that is refused leaves its slot empty.
            assert_eq!(setting.run(&[ret(1)]), Err(JobStatus(job::STATUS_CODE_NO_KEY)), "byte {byte} is {value}");
            setting.engine.host.memory.bytes_mut(header, 64).copy_from_slice(&original);
            setting.engine.load_key(0, &key).unwrap().unwrap();
        }
        assert_eq!(setting.run(&[ret(1)]).unwrap().0, setting.engine.small(setting.places[1], SHAPE.dimension));
        // A wrong job among others in the ring.
        let (first, wrong) = (setting.program_job(&[ret(1)]), Descriptor { operation: 0, ..right });
        let jobs = [first, wrong, first].map(|job| job.to_bytes());
        let indices = setting.engine.host.push(&jobs).unwrap();
        setting.engine.host.wait(setting.patience()).unwrap();
        let statuses: Vec<u32> = indices.iter().map(|&index| setting.engine.host.status(index)).collect();
        let done = job::STATUS_CODE_DONE;
        assert_eq!(statuses, [done, job::STATUS_CODE_UNSUPPORTED, done], "{configuration}");
    });
}

#[test]
fn errors_of_memory_end_a_job_and_the_next_one_runs() {
    each("tfhe_engine", |configuration| {
        let source = &mut Source::seeded(8);
        let mut setting = Setting::new(configuration, source, 1, &AxiTiming::slow());
        setting.set_registers(0);
        let value = setting.small(source);
        let key = setting.loaded[0];
        let bootstrap = [instruction(4, 9, 1), ret(1)];
        let word = |address: u64| address..address + 64;
        let reads = [
            ("program", word(setting.program)),
            ("ciphertext", word(setting.places[1])),
            ("test vector", word(setting.test_vector + 9 * setting.n as u64)),
            ("first beat of a key", word(key.rotation_slice(3))),
            ("a later beat of a key", word(key.rotation_slice(1) + 2 * 8192)),
            ("key switch", word(key.switch_slice(2) + 4096)),
        ];
        for (what, range) in reads {
            setting.engine.put_small(setting.places[1], &value);
            setting.engine.host.memory.failing_reads = vec![range];
            let failed = Err(JobStatus(job::STATUS_CODE_READ_FAILED));
            assert_eq!(setting.run(&bootstrap), failed, "{configuration}: {what}");
            setting.engine.host.memory.failing_reads.clear();
            assert_eq!(setting.run(&[ret(1)]).unwrap().0, value, "{configuration}: after {what}");
        }
        setting.engine.host.memory.failing_writes = vec![word(setting.places[1])];
        let sum = [instruction(5, 1, 1), ret(1)];
        assert_eq!(setting.run(&sum), Err(JobStatus(job::STATUS_CODE_WRITE_FAILED)), "{configuration}");
        setting.engine.host.memory.failing_writes.clear();
        // Words before the failing one, or after it, may have been written.
        setting.engine.put_small(setting.places[1], &value);
        assert_eq!(setting.run(&sum).unwrap().0, combined(&value, &value, u32::wrapping_add));
        setting.bootstrap(source, 0);
    });
}

#[test]
fn reset_and_clear_in_mid_job() {
    each("tfhe_engine", |configuration| {
        let source = &mut Source::seeded(9);
        let mut setting = Setting::new(configuration, source, 1, &AxiTiming::never_waits());
        // Before the test vector, at each place of a batch in it, in two CMuxes, and twice in the key switch.
        let (n, size, key) = (setting.n as u64, TfheEngine::size_of(configuration), model_key(SHAPE));
        let cmux = cmux_cycles(size, key) + 4096;
        let end = cost(size, key, &TfheJob::Bootstrap { big: false }).cycles - n / 2;
        for (i, cycles) in [20, 3000, 3001, cmux, 2 * cmux + 777, end, end + 1].into_iter().enumerate() {
            let small = setting.small(source);
            setting.engine.put_small(setting.places[0], &small);
            setting.engine.host.push(&[setting.bootstrap_job(0).to_bytes()]).unwrap();
            setting.engine.host.idle(cycles).unwrap();
            if i % 2 == 0 {
                setting.engine.host.clear().unwrap();
            } else {
                setting.engine.host.reset();
            }
            setting.engine.start().unwrap();
            let without_key = setting.engine.run_job(setting.bootstrap_job(0), setting.patience()).unwrap();
            assert_eq!(without_key, Err(JobStatus(job::STATUS_CODE_NO_KEY)), "{configuration}: the key is gone");
            setting.load();
        }
        setting.bootstrap(source, 0);
    });
}

#[test]
fn registers_are_read_and_kept_from_running_programs() {
    each("tfhe_engine", |configuration| {
        let source = &mut Source::seeded(10);
        let mut setting = Setting::new(configuration, source, 1, &AxiTiming::never_waits());
        let place = |number: u32| registers::OBJECTS + 8 * number;
        for number in [0u8, 1, 128, 255] {
            let address = source.below(1 << 34) << 6;
            let object = Object { address, slot: 2, test_vector: number % 2 == 1 };
            setting.engine.set_register(number, Some(object)).unwrap();
            let low = setting.engine.host.read(place(number.into())).unwrap();
            assert_eq!(low, address as u32 | 1 | u32::from(number % 2) << 1 | 2 << 2);
            assert_eq!(setting.engine.host.read(place(number.into()) + 4).unwrap(), (address >> 32) as u32);
        }
        assert!(setting.engine.host.write(place(3), 1 << 4).is_err(), "a reserved bit");
        setting.engine.host.write(place(3) + 4, 1 << 8).unwrap();
        assert!(setting.engine.host.write(place(3), 1).is_err(), "an address of 41 bits");
        assert!(setting.engine.host.read(0x104).is_err() && setting.engine.host.write(registers::STEPS, 0).is_err());
        let small = setting.small(source);
        setting.engine.put_small(setting.places[0], &small);
        setting.engine.host.push(&[setting.bootstrap_job(0).to_bytes()]).unwrap();
        setting.engine.host.idle(100).unwrap();
        assert!(setting.engine.host.write(place(1), 0).is_err() && setting.engine.host.read(place(1)).is_err());
        let patience = setting.patience();
        setting.engine.host.wait(patience).unwrap();
        assert_eq!(setting.engine.host.read(registers::STEPS).unwrap(), SHAPE.dimension as u32);
    });
}

/// The shape of a key, as the cycle model has it.
fn model_key(shape: KeyShape) -> TfheKey {
    TfheKey {
        dimension: shape.dimension as u64,
        levels: shape.rotation.levels.into(),
        switch_levels: shape.switch.levels.into(),
    }
}

/// Runs a job and returns its cost.
fn measured(engine: &mut TfheEngine, descriptor: Descriptor, patience: u64) -> TfheCost {
    let before = engine.host.counters().unwrap();
    let cycles = engine.run_job(descriptor, patience).unwrap().unwrap();
    let EngineCost { cycles: counted, stalls, ports } = engine.host.cost_since(&before).unwrap();
    assert_eq!(counted, u64::from(cycles));
    let bytes: Vec<[u64; 2]> = ports.iter().map(|(_, read, written)| [*read, *written]).collect();
    assert!(bytes[2..].iter().all(|port| *port == [bytes[2][0], 0]), "the key ports read the same number of bytes");
    TfheCost { cycles: counted, stalls, data: bytes[1], key: bytes[2][0] }
}

#[test]
fn bootstraps_have_the_cost_of_the_model() {
    each("tfhe_engine", |configuration| {
        for (dimension, levels, switch_levels) in [(1, 5, 2), (2, 1, 1), (2, 3, 3), (18, 1, 1), (128, 1, 1)] {
            let shape = KeyShape {
                dimension,
                rotation: Gadget { base_log: 4, levels },
                switch: Gadget { base_log: 4, levels: switch_levels },
            };
            let memory = TfheEngine::memory_for(configuration, &[shape], 2, 1);
            let mut engine = TfheEngine::new(configuration, memory, &AxiTiming::never_waits(), 1).unwrap();
            // The cycles depend on no number, so a key of zeros does.
            let key = engine.reserve_key(shape);
            let [input, output] = [(); 2].map(|()| engine.allocate_ciphertext());
            let (test_vector, program) = (engine.allocate_test_vector(), engine.allocate(4096));
            let expect = |job| cost(TfheEngine::size_of(configuration), model_key(shape), &job);
            let operands = [key.header, 0, 0, 0, 0, 0];
            let found = measured(&mut engine, Descriptor { operation: VERB_KEY, length: 0, operands }, 1000);
            assert_eq!(found, expect(TfheJob::Key), "{configuration}: {shape:?}: a key");
            let patience = 3 * engine.patience(shape);
            // Two beats for a row of the key switch, with as few jobs as possible: each has 128 CMuxes.
            let one_job = dimension >= 128;
            for big in if one_job { &[false][..] } else { &[false, true] } {
                let (big, operands) = (*big, [input, test_vector, output, 0, 0, 0]);
                let length = if big { BIG } else { 0 };
                let job = Descriptor { operation: VERB_BOOTSTRAP, length, operands };
                let found = measured(&mut engine, job, patience);
                assert_eq!(found, expect(TfheJob::Bootstrap { big }), "{configuration}: {shape:?}, big: {big}");
            }
            if one_job {
                continue;
            }
            let object = |address, test_vector| Some(Object { address, slot: 0, test_vector });
            engine.set_register(1, object(input, false)).unwrap();
            engine.set_register(9, object(test_vector, true)).unwrap();
            let instructions = [instruction(4, 9, 1), instruction(4, 9, 1), instruction(5, 1, 1), ret(1)];
            engine.put_program(program, &instructions);
            let operands = [program, output, 0, 0, 0, 0];
            let found = measured(&mut engine, Descriptor { operation: VERB_RUN, length: 4, operands }, patience);
            assert_eq!(found, expect(TfheJob::Program(vec![4, 4, 5, 0])), "{configuration}: {shape:?}: a program");
        }
    });
}

#[test]
fn stalls_are_the_cycles_that_a_slow_memory_adds() {
    each("tfhe_engine", |configuration| {
        // Half a word in a cycle: the CMux waits for its key, and so does the key switch.
        let timing = AxiTiming { latency: 1..=1, gaps: 128 };
        let source = &mut Source::seeded(11);
        let mut setting = Setting::new(configuration, source, 1, &timing);
        let patience = 4 * setting.patience();
        let job = setting.bootstrap_job(0);
        let found = measured(&mut setting.engine, job, patience);
        let model = cost(TfheEngine::size_of(configuration), model_key(SHAPE), &TfheJob::Bootstrap { big: false });
        let (added, stalls) = (found.cycles - model.cycles, found.stalls - model.stalls);
        println!("{configuration}: {added} cycles more, {stalls} stalls more");
        assert!(added > 10_000 && stalls.abs_diff(added) <= added / 50, "{configuration}: {added}, {stalls}");
    });
}

/// The result of a program without bootstraps, in the place of register 0, which no program uses; and all other registers.
fn interpreted(program: &[Instruction], registers: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut registers = registers.to_vec();
    let mut stack = Vec::new();
    for step in program {
        let (first, second) = (usize::from(step.first), usize::from(step.second));
        let with = |operation: fn(u32, u32) -> u32| combined(&registers[first], &registers[second], operation);
        match step.opcode {
            0 => {
                registers[0] = registers[first].clone();
                return registers;
            }
            1 => registers[first] = registers[second].clone(),
            2 => stack.push(registers[first].clone()),
            3 => registers[first] = stack.pop().unwrap(),
            5 => registers[first] = with(u32::wrapping_add),
            6 => registers[first] = with(u32::wrapping_sub),
            7 => registers[first].iter_mut().for_each(|x| *x = x.wrapping_mul(step.integer as u32)),
            other => panic!("opcode {other}"),
        }
    }
    panic!("no Return")
}

#[test]
fn programs_of_every_length_have_their_values_and_the_cost_of_the_model() {
    each("tfhe_engine", |configuration| {
        let source = &mut Source::seeded(12);
        let mut engine = TfheEngine::new(configuration, 1 << 17, &AxiTiming::never_waits(), 1).unwrap();
        let places: Vec<u64> = (0..4).map(|_| engine.allocate_stack(1)).collect();
        let (stack, program) = (engine.allocate_stack(2), engine.allocate(4096));
        for dimension in [1, 15, 16, 31, 32, 100, 255, 256, 800, 1007, 1008, 1023] {
            let shape = KeyShape { dimension, ..SHAPE };
            let key = engine.put_shape(shape);
            engine.load_key(1, &key).unwrap().unwrap();
            for number in 1..4u8 {
                let object = Object { address: places[usize::from(number)], slot: 1, test_vector: false };
                engine.set_register(number, Some(object)).unwrap();
            }
            // Of each place of a batch, the values of all registers.
            let batch: Vec<Vec<Vec<u32>>> = (0..engine.batch())
                .map(|_| (0..4).map(|_| (0..=dimension).map(|_| source.any() as u32).collect()).collect())
                .collect();
            let add = instruction(5, 1, 2);
            let alone = cost(TfheEngine::size_of(configuration), model_key(shape), &TfheJob::Program(vec![0])).cycles;
            for instructions in [
                vec![ret(1)],
                vec![instruction(1, 1, 2), ret(1)],
                vec![add, ret(1)],
                vec![instruction(6, 2, 3), add, ret(1)],
                vec![times(1, 5), ret(2)],
                vec![times(1, 5), times(1, 5), add, ret(2)],
                vec![instruction(2, 1, 0), ret(1)],
                vec![instruction(2, 1, 0), instruction(2, 1, 0), instruction(3, 3, 0), instruction(3, 1, 0), ret(1)],
                [vec![add; 7], vec![ret(1)]].concat(),
                [vec![add; 8], vec![ret(1)]].concat(),
                [vec![add; 17], vec![ret(1)]].concat(),
            ] {
                for (place, values) in batch.iter().enumerate() {
                    for (&address, value) in places.iter().zip(values) {
                        engine.put_small_at(address, place, value);
                    }
                }
                engine.put_program(program, &instructions);
                let job = Descriptor {
                    operation: VERB_RUN,
                    length: instructions.len() as u32,
                    operands: [program, places[0], stack, 2, 0, 0],
                };
                let opcodes: Vec<u8> = instructions.iter().map(|instruction| instruction.opcode).collect();
                let found = measured(&mut engine, job, 100_000);
                let expected =
                    cost(TfheEngine::size_of(configuration), model_key(shape), &TfheJob::Program(opcodes.clone()));
                assert_eq!(found, expected, "{configuration}: n = {dimension}, {opcodes:?}");
                for (place, values) in batch.iter().enumerate() {
                    let found: Vec<_> = places.iter().map(|&at| engine.small_at(at, place, dimension)).collect();
                    let expected = interpreted(&instructions, values);
                    assert_eq!(found, expected, "{configuration}: n = {dimension}, {opcodes:?}");
                }
                // The paper's n. An instruction costs the difference from Return alone.
                if dimension == 800 && instructions.len() == 2 {
                    let each = (found.cycles - alone) / engine.batch() as u64;
                    println!("{configuration}: {opcodes:?}: {each} cycles for each ciphertext");
                    assert!(each <= 300, "{configuration}: {opcodes:?}");
                }
            }
        }
    });
}
