//! Instructions on the simulated array compared with the reference page, and compiled programs as valid programs of the
//! instruction set.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ciphermill_arch::array::{Array, CIPHERMILL, Machine, PAPER};
use ciphermill_math::Modulus;
use ciphermill_rvfhe::compiler::{Direction, Ring, Task, Transform, compile};
use ciphermill_rvfhe::isa::{Core, Instruction, InstructionMemory, Program, assemble};

/// The words of the scratchpad after core 0 has run a program on a scratchpad with `words`. All other cores run none.
fn after(machine: &Machine, text: &str, words: &[u32]) -> Vec<u32> {
    let encoded = |text: &str| -> Vec<u32> {
        let program = assemble(text, Core::new(0).unwrap(), InstructionMemory::PAPER).unwrap().program;
        program.instructions().iter().map(Instruction::encode).collect()
    };
    let mut programs = vec![encoded("ebreak"); machine.cores() as usize];
    programs[0] = encoded(text);
    let mut array = Array::new(machine.clone());
    array.scratchpad_mut()[..words.len()].copy_from_slice(words);
    array.run(&programs, &[], 0, 100_000).unwrap_or_else(|error| panic!("{error}\n{text}"));
    array.scratchpad().to_vec()
}

/// The result of all loads of tiles of 2^`log` rows, vector after vector, if the scratchpad's first 2^`log` vectors are
/// brought to rows before. A row begins with the word `base` times its number. The loads empty the rows, which a second
/// pass of the same with the words inverted relies on: a copy waits until its row is empty.
fn loads(machine: &Machine, log: usize, option: &str, base: usize) -> Vec<u32> {
    let (lanes, side) = (machine.core.lanes as usize, 1 << log);
    // The first row is a multiple of every side, and not 0.
    let (first_row, results) = (96, 2 * side);
    let mut text = String::new();
    for pass in 0..2 {
        for row in 0..side {
            let _ = writeln!(text, "lds v0, {}(x0)\ncopy c0, v0, {}(x0)", pass * side + row, first_row + row);
        }
        for part in 0..side {
            let result = results + pass * side + part;
            let _ = writeln!(text, "ldp v1, {}(x0)!{option}\nsts v1, {result}(x0)", first_row + part);
        }
    }
    let mut words: Vec<u32> =
        (0..side).flat_map(|row| (0..lanes).map(move |lane| (base * row + lane) as u32)).collect();
    words.extend(words.clone().iter().map(|word| !word));
    let scratchpad = after(machine, &(text + "ebreak\n"), &words);
    let (once, twice) = scratchpad[results * lanes..][..2 * side * lanes].split_at(side * lanes);
    assert!(once.iter().zip(twice).all(|(word, inverted)| *word == !inverted));
    once.to_vec()
}

/// The rule of the page: the uppermost lane bits change places with the lowest row bits, and a rotation moves the
/// others up.
#[test]
fn tiles_exchange_bits_of_rows_and_lanes() {
    for log_lanes in 1..=5 {
        let mut machine = Machine::from_toml(CIPHERMILL).unwrap();
        machine.core.lanes = 1 << log_lanes;
        machine.check().unwrap();
        for (log, rotate) in (0..=log_lanes).flat_map(|log| [(log, false), (log, true)]) {
            let option = match (log, rotate) {
                (0, false) => String::new(),
                (0, true) => continue,
                (_, false) => format!(", tile={log}"),
                (_, true) => format!(", tile={log}, rotate"),
            };
            let loaded = loads(&machine, log, &option, 1 << log_lanes);
            for (number, word) in loaded.into_iter().enumerate() {
                // The bits of where a word is now, lowest first, and of where they were: first the lane's, then the row's.
                let now: Vec<usize> = (0..log_lanes + log).map(|bit| number >> bit & 1).collect();
                let (lane, part) = now.split_at(log_lanes);
                let (row, below) = if rotate {
                    (&lane[..log], &lane[log..])
                } else {
                    (&lane[log_lanes - log..], &lane[..log_lanes - log])
                };
                let before = [below, part, row].concat();
                let expected = before.iter().rev().fold(0, |number, bit| number << 1 | *bit as u32);
                assert_eq!(word, expected, "{} lanes, tile={log}, rotate {rotate}: word {number}", 1 << log_lanes);
            }
        }
    }
}

/// The picture of the reference page.
#[test]
fn the_page_shows_what_loads_give() {
    let eight = CIPHERMILL.replace("lanes = 32", "lanes = 8").replace("link_bytes = 128", "link_bytes = 32");
    let machine = Machine::from_toml(&eight).unwrap();
    assert_eq!(machine.core.lanes, 8);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rvfhe-isa.md");
    let page = fs::read_to_string(page).unwrap();
    for (option, name) in [(", tile=1", "tile=1"), (", tile=1, rotate", "tile=1, rotate")] {
        let (_, shown) = page.split_once(&format!("\n{name}  ")).expect("a part of the picture");
        // The page has two digits: of the row and of the lane.
        let loaded = loads(&machine, 1, option, 10);
        for (part, (words, line)) in loaded.chunks(8).zip(shown.lines()).enumerate() {
            let words: Vec<String> = words.iter().map(|word| format!("{word:02}")).collect();
            assert_eq!(line.trim(), format!("c = {part} {}", words.join("  ")), "{name}");
        }
    }
}

/// The compiler emits valid programs, which survive conversion to bytes and to text.
#[test]
fn compiled_programs_are_programs() {
    for machine in [CIPHERMILL, PAPER] {
        let machine = Machine::from_toml(machine).unwrap();
        let memory = InstructionMemory::new(machine.memory.instruction_words as usize * Instruction::BYTES).unwrap();
        for direction in [Direction::Forward, Direction::Inverse] {
            let modulus = Modulus::new(2_013_265_921).unwrap();
            let transform = Transform { polynomial_size: 1 << 13, modulus, ring: Ring::Negacyclic, direction };
            let compiled = compile(&machine.target(), &Task::Transform(transform), 1).unwrap();
            for (number, image) in compiled.cores.iter().enumerate() {
                let core = Core::new(number).unwrap();
                let program = Program::new(core, image.instructions.clone(), memory).unwrap();
                assert_eq!(Program::from_bytes(core, &program.to_bytes(), memory).as_ref(), Ok(&program));
                assert_eq!(assemble(&program.to_string(), core, memory).unwrap().program, program);
            }
        }
    }
}
