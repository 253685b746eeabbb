//! The modules from C of hw/hls: what they leave in their memories against the source's reference, and against the definitions
//! of transforms and products; cycles from start to done; streams that stand still.

mod hls_definitions;
mod support;

use std::collections::BTreeMap;
use std::path::Path;

use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::{Configuration, Model};
use ciphermill_hls::analysis::{Layout, Visits, is_registers, read_cycles};
use ciphermill_hls::ir::{Kernel, Memory, Role};
use ciphermill_hls::pragma::{Mode, Ports};
use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Argument, Design, Scheduled, Source as Code, banks};
use hls_definitions::Arrays;
use support::{Source, counted, each, with_seeds};

/// A module of hw/units.toml, compiled.
struct Compiled {
    source: Code,
    function: String,
    defines: Vec<(String, String)>,
    design: Design,
}

impl Compiled {
    fn of(configuration: &Configuration) -> Self {
        let hw = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hw");
        let text = std::fs::read_to_string(hw.join("units.toml")).expect("hw/units.toml");
        let units: toml::Table = text.parse().expect("TOML");
        let all = units["unit"].as_array().expect("units").iter();
        let mut all = all.flat_map(|unit| unit["configuration"].as_array().expect("configurations"));
        let top = format!("hls_{}", configuration.name);
        let one = all.find(|one| one.get("top").and_then(toml::Value::as_str) == Some(&top)).expect("it");
        let said = |name: &str| one["hls"][name].as_str().expect("a text").to_owned();
        let source = Code::read(&hw.join("hls").join(said("source"))).unwrap_or_else(|error| panic!("{error}"));
        let defines = one["hls"]["defines"].as_table().expect("macros").iter();
        let defines: Vec<_> =
            defines.map(|(name, value)| (name.clone(), value.as_integer().expect("a number").to_string())).collect();
        let function = said("function");
        let target = Target::ecp5(120.0);
        let design = source.compile(&defines, &function, &target).unwrap_or_else(|error| panic!("{error}"));
        Self { source, function, defines, design }
    }

    fn macro_of(&self, name: &str) -> Option<u64> {
        let (_, value) = self.defines.iter().find(|(other, _)| other == name)?;
        Some(value.parse().expect("a number"))
    }

    fn parameters(&self) -> impl Iterator<Item = &Memory> {
        self.design.program.memories.iter().filter(|memory| memory.role == Role::Parameter)
    }

    /// The reference's arrays after a call.
    fn expected(&self, given: &BTreeMap<String, Vec<u64>>) -> BTreeMap<String, Vec<Option<u64>>> {
        let argument = |memory: &Memory| {
            let values: Vec<i128> = given[&memory.name].iter().map(|&value| value.into()).collect();
            if memory.lengths.is_empty() { Argument::Value(values[0]) } else { Argument::Elements(values) }
        };
        let arguments: Vec<Argument> = self.parameters().map(argument).collect();
        let (_, left) =
            self.source.interpret(&self.defines, &self.function, &arguments).unwrap_or_else(|error| panic!("{error}"));
        let names = self.parameters().filter(|memory| !memory.lengths.is_empty()).map(|memory| memory.name.clone());
        let numbers = |values: Vec<Option<i128>>| {
            values.into_iter().map(|value| value.map(|value| u64::try_from(value).expect("a word"))).collect()
        };
        names.zip(left.into_iter().map(numbers)).collect()
    }

    /// Compares the arrays after a run with those of the reference. Elements that the reference does not write may have any value.
    fn check(&self, given: &BTreeMap<String, Vec<u64>>, left: &BTreeMap<String, Vec<u64>>) {
        for (name, expected) in self.expected(given) {
            for (element, (expected, found)) in expected.iter().zip(&left[&name]).enumerate() {
                assert!(expected.is_none_or(|expected| expected == *found), "{name}[{element}]");
            }
        }
    }
}

/// A module with its memories.
struct Bench<'c> {
    model: Model,
    compiled: &'c Compiled,
}

impl<'c> Bench<'c> {
    fn new(configuration: &'static Configuration, compiled: &'c Compiled, seed: u32) -> Self {
        let mut model = Model::new(configuration, seed);
        for memory in compiled.parameters().filter(|memory| is_inside(memory)) {
            model.set(model.port(&format!("{}_en_i", memory.name)), 0);
        }
        for memory in compiled.parameters().filter(|memory| is_stream(memory)) {
            let input = if compiled.design.is_stream_written(memory) { "ready_i" } else { "valid_i" };
            model.set(model.port(&format!("{}_{input}", memory.name)), 0);
        }
        model.set(model.port("start_i"), 0);
        model.reset();
        Self { model, compiled }
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.model.port(name);
        self.model.set(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.model.port(name))
    }

    /// Points the host's port at an element.
    fn point(&mut self, memory: &Memory, element: usize) {
        let layout = Layout::of(memory);
        let (bank, row) = layout.place(memory.indices(element));
        if layout.banks > 1 {
            self.set(&format!("{}_bank_i", memory.name), bank as u64);
        }
        self.set(&format!("{}_row_i", memory.name), row as u64);
    }

    fn store(&mut self, memory: &Memory, values: &[u64]) {
        let name = &memory.name;
        self.set(&format!("{name}_en_i"), 1);
        self.set(&format!("{name}_write_i"), 1);
        for (element, &value) in values.iter().enumerate() {
            self.point(memory, element);
            self.set(&format!("{name}_data_i"), value);
            self.model.clock();
        }
        self.set(&format!("{name}_en_i"), 0);
    }

    /// Reads an element in each cycle. Neighbouring reads are of the first and the second half, so of different banks.
    fn load(&mut self, memory: &Memory) -> Vec<u64> {
        let (name, half) = (&memory.name, memory.len().div_ceil(2));
        let order: Vec<usize> = (0..half).flat_map(|low| [low, low + half]).filter(|&at| at < memory.len()).collect();
        let mut found = vec![0; memory.len()];
        self.set(&format!("{name}_write_i"), 0);
        // The request of a cycle is in the registers of the port after its clock edge.
        let later = read_cycles(memory) as usize - 1;
        for cycle in 0..order.len() + later {
            self.set(&format!("{name}_en_i"), u64::from(cycle < order.len()));
            order.get(cycle).into_iter().for_each(|&element| self.point(memory, element));
            self.model.clock();
            self.model.eval();
            if let Some(&element) = cycle.checked_sub(later).and_then(|before| order.get(before)) {
                found[element] = self.get(&format!("{name}_data_o"));
            }
        }
        found
    }

    /// Sets the signals to which the module must not react during a run.
    fn disturb(&mut self, source: &mut Source, disturbed: bool) {
        self.model.eval();
        let disturbs = disturbed && self.get("idle_o") == 0;
        self.set("start_i", u64::from(disturbs && source.chance(1, 2)));
        for memory in self.compiled.parameters().filter(|memory| is_inside(memory)) {
            self.set(&format!("{}_en_i", memory.name), u64::from(disturbs && source.chance(1, 2)));
            self.set(&format!("{}_write_i", memory.name), 1);
        }
    }

    /// A run on these contents: the arrays after it, and the cycles from start to done. In a disturbed run, streams wait at
    /// random, and starts and writes of the host come that the module must ignore.
    fn run(
        &mut self,
        given: &BTreeMap<String, Vec<u64>>,
        source: &mut Source,
        disturbed: bool,
    ) -> (BTreeMap<String, Vec<u64>>, u64) {
        let compiled = self.compiled;
        for memory in compiled.parameters().filter(|memory| !is_stream(memory)) {
            let values = &given[&memory.name];
            if is_inside(memory) {
                self.store(memory, values);
            } else {
                let port = self.model.port(&format!("{}_i", memory.name));
                self.model.set_elements(port, memory.bits(), values);
            }
        }
        // Writes of the host end behind the registers of the ports.
        self.model.clock();
        self.set("start_i", 1);
        let mut streams: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let mut offered: BTreeMap<String, (usize, bool)> = BTreeMap::new();
        let mut cycles = 0;
        loop {
            for memory in compiled.parameters().filter(|memory| is_stream(memory)) {
                let name = &memory.name;
                if compiled.design.is_stream_written(memory) {
                    self.set(&format!("{name}_ready_i"), u64::from(!disturbed || source.chance(3, 4)));
                } else {
                    let (at, held) = offered.entry(name.clone()).or_default();
                    *held = *at < memory.len() && (*held || !disturbed || source.chance(3, 4));
                    let (at, held) = (*at, *held);
                    self.set(&format!("{name}_valid_i"), u64::from(held));
                    self.set(&format!("{name}_data_i"), if held { given[name][at] } else { 0 });
                }
            }
            self.model.eval();
            for memory in compiled.parameters().filter(|memory| is_stream(memory)) {
                let name = &memory.name;
                if compiled.design.is_stream_written(memory) {
                    if self.get(&format!("{name}_valid_o")) == 1 && self.get(&format!("{name}_ready_i")) == 1 {
                        let element = self.get(&format!("{name}_data_o"));
                        streams.entry(name.clone()).or_default().push(element);
                    }
                } else if self.get(&format!("{name}_ready_o")) == 1
                    && let Some((at, held)) = offered.get_mut(name)
                    && *held
                {
                    (*at, *held) = (*at + 1, false);
                }
            }
            if cycles > 0 && self.get("done_o") == 1 {
                break;
            }
            assert!(cycles < 1 << 20, "no end");
            self.model.clock();
            cycles += 1;
            self.disturb(source, disturbed);
        }
        let mut left = BTreeMap::new();
        for memory in compiled.parameters().filter(|memory| !memory.lengths.is_empty()) {
            let values = if is_stream(memory) {
                match streams.remove(&memory.name) {
                    Some(values) => values,
                    None => given[&memory.name].clone(),
                }
            } else if is_inside(memory) {
                self.load(memory)
            } else {
                let mut values = Vec::new();
                self.model.get_elements(self.model.port(&format!("{}_o", memory.name)), memory.bits(), &mut values);
                values
            };
            left.insert(memory.name.clone(), values);
        }
        (left, cycles)
    }
}

fn is_stream(memory: &Memory) -> bool {
    memory.mode == Some(Mode::Stream)
}

fn is_inside(memory: &Memory) -> bool {
    !is_stream(memory) && !is_registers(memory)
}

fn random(compiled: &Compiled, source: &mut Source) -> BTreeMap<String, Vec<u64>> {
    let values = |memory: &Memory, source: &mut Source| {
        // Words are residues, even where the memory has room for more.
        let most = u64::try_from(memory.range.1).expect("a word");
        let most = compiled.macro_of("Q").map_or(most, |q| most.min(q - 1));
        (0..memory.len()).map(|_| source.below(most + 1)).collect()
    };
    compiled.parameters().map(|memory| (memory.name.clone(), values(memory, source))).collect()
}

/// The least number of cycles of a kernel: an iteration in each of them, and no bank with more accesses than ports.
fn least(kernel: &Kernel, memories: &[Memory]) -> u64 {
    let visits = Visits::of(kernel, memories);
    let mut asked: BTreeMap<(usize, usize, bool), u64> = BTreeMap::new();
    let mut most = kernel.iterations() as u64;
    for (number, access) in kernel.accesses.iter().enumerate() {
        let memory = &memories[access.memory];
        if matches!(memory.role, Role::Table(_)) || is_registers(memory) {
            continue;
        }
        let any = memory.ports == Ports::TwoOfAny;
        for visit in (0..kernel.iterations()).filter_map(|iteration| visits.get(number, iteration)) {
            let bank = visit.bank.expect("no index depends on data");
            let count = asked.entry((access.memory, bank, !any && access.written.is_some())).or_default();
            *count += 1;
            most = most.max(count.div_ceil(if any { 2 } else { 1 }));
        }
    }
    most
}

#[test]
fn kernels_have_the_values_of_their_source() {
    each("hls", |configuration| {
        let compiled = Compiled::of(configuration);
        with_seeds(|source| {
            let mut bench = Bench::new(configuration, &compiled, source.below(1 << 32) as u32);
            let runs = support::frames(2, 2);
            counted(configuration, runs, "runs");
            for _ in 0..runs {
                for disturbed in [true, false] {
                    let given = random(&compiled, source);
                    let (left, cycles) = bench.run(&given, source, disturbed);
                    compiled.check(&given, &left);
                    assert!(disturbed || cycles == compiled.design.run_cycles(), "{cycles} cycles");
                }
                let cycles = compiled.design.run_cycles();
                let least = |one: &Scheduled| least(&one.kernel, &compiled.design.program.memories);
                let bound = compiled.design.kernels.iter().map(least).sum();
                record::cycles(configuration, Cycles { cycles, latency: cycles, bound });
            }
        });
    });
}

/// Words in the order of the arrays' banks.
struct Words {
    log_n: u32,
    masks: Vec<u32>,
}

impl Words {
    fn of(compiled: &Compiled) -> Self {
        let log_n = compiled.macro_of("N").expect("N").ilog2();
        let butterflies = compiled.macro_of("B").expect("B").ilog2();
        Self { log_n, masks: banks::masks(log_n, butterflies).expect("banks") }
    }

    /// The place of word x in an array of [banks][rows].
    fn place(&self, x: usize) -> usize {
        let bit = |(i, mask): (usize, &u32)| ((x as u32 & mask).count_ones() as usize & 1) << i;
        let bank: usize = self.masks.iter().enumerate().map(bit).sum();
        bank * ((1 << self.log_n) >> self.masks.len()) + (x >> self.masks.len())
    }

    fn placed(&self, words: &[u64]) -> Vec<u64> {
        let mut array = vec![0; words.len()];
        words.iter().enumerate().for_each(|(x, &word)| array[self.place(x)] = word);
        array
    }

    fn taken(&self, array: &[u64]) -> Vec<u64> {
        (0..array.len()).map(|x| array[self.place(x)]).collect()
    }
}

/// All functions by their definitions.
#[test]
fn modules_have_the_values_of_their_definitions() {
    each("hls", |configuration| {
        let compiled = Compiled::of(configuration);
        let mut source = Source::seeded(11);
        let mut bench = Bench::new(configuration, &compiled, 3);
        let words = match compiled.function.as_str() {
            "montgomery" => hls_definitions::montgomery(&mut source),
            _ => random(&compiled, &mut source),
        };
        // A transform's array is banks of rows, by the masks of its size.
        let is_placed =
            |name: &str| compiled.parameters().any(|memory| memory.name == name && memory.lengths.len() == 2);
        let each_array = |arrays: &Arrays, place: fn(&Words, &[u64]) -> Vec<u64>| -> Arrays {
            let words = |(name, array): (&String, &Vec<u64>)| {
                let array = if is_placed(name) { place(&Words::of(&compiled), array) } else { array.clone() };
                (name.clone(), array)
            };
            arrays.iter().map(words).collect()
        };
        let (left, _) = bench.run(&each_array(&words, Words::placed), &mut source, true);
        let left = each_array(&left, Words::taken);
        hls_definitions::check(&compiled.function, compiled.macro_of("Q"), &words, &left);
    });
}
