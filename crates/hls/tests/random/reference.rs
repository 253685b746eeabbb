//! The golden result: a C compiler builds many programs as one, and the sanitizer stops at undefined behaviour.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use ciphermill_hls::Argument;

use super::expression::type_name;
use super::{HEAD, Parameter, Program, Random};

/// Inputs of each program.
pub(crate) const SAMPLES: usize = 3;

/// The final state of a program: the elements of each array parameter, and its result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) arrays: Vec<Vec<i128>>,
    pub(crate) result: Option<i128>,
}

const HARNESS: &str = r#"
static uint64_t state;
static uint64_t draw(void) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static uint64_t given(unsigned sample, uint64_t most) {
  uint64_t x = draw(), which = draw() % 3;
  x = most == UINT64_MAX ? x : x % (most + 1);
  if (sample == 1) return most;
  return sample == 2 && which < 2 ? which * most : x;
}
#define ELEMENTS(type, name) \
  static void give_##name(type *at, unsigned count, unsigned sample, uint64_t most) { \
    for (unsigned i = 0; i < count; i++) at[i] = given(sample, most); \
  } \
  static void show_##name(const type *at, unsigned count) { \
    for (unsigned i = 0; i < count; i++) printf(" %llu", (unsigned long long)at[i]); \
  }
ELEMENTS(bool, 1)
ELEMENTS(uint8_t, 8)
ELEMENTS(uint16_t, 16)
ELEMENTS(uint32_t, 32)
ELEMENTS(uint64_t, 64)
"#;

/// The value that [`HARNESS`] computes.
fn given(random: &mut Random, sample: usize, most: u64) -> u64 {
    let (x, which) = (random.draw(), random.draw() % 3);
    let x = most.checked_add(1).map_or(x, |count| x % count);
    match sample {
        1 => most,
        2 if which < 2 => which * most,
        _ => x,
    }
}

/// The state from which the inputs of a program are drawn.
fn seed(program: &Program, sample: usize) -> u64 {
    program.number.wrapping_mul(1_000_003) + sample as u64
}

/// The inputs of a program.
pub(crate) fn inputs(program: &Program, sample: usize) -> Vec<Vec<u64>> {
    let mut random = Random::new(seed(program, sample));
    let of = |parameter: &Parameter| {
        let count = parameter.lengths.iter().product();
        (0..count).map(|_| given(&mut random, sample, parameter.most)).collect()
    };
    program.parameters.iter().map(of).collect()
}

/// The same as arguments of the function.
pub(crate) fn arguments(program: &Program, sample: usize) -> Vec<Argument> {
    let parameters = inputs(program, sample).into_iter().zip(&program.parameters);
    let argument = |(values, parameter): (Vec<u64>, &Parameter)| {
        let values: Vec<i128> = values.into_iter().map(i128::from).collect();
        if parameter.lengths.is_empty() { Argument::Value(values[0]) } else { Argument::Elements(values) }
    };
    parameters.map(argument).collect()
}

/// A function of the harness that runs one program and prints its final state.
fn run_function(program: &Program) -> String {
    let (number, function) = (program.number, &program.function);
    let mut text = format!(
        "static void run{number}(unsigned sample) {{\n  state = {number}ull * 1000003u + sample;\n  \
         printf(\"{number} %u\", sample);\n  fflush(stdout);\n"
    );
    let (mut names, mut prints) = (Vec::new(), String::new());
    for (at, Parameter { bits, lengths, most }) in program.parameters.iter().enumerate() {
        let of = type_name(*bits);
        let count: usize = lengths.iter().product();
        let lengths: String = lengths.iter().map(|length| format!("[{length}]")).collect();
        let _ = writeln!(text, "  {of} p{at}{lengths};\n  give_{bits}(({of} *)&p{at}, {count}, sample, {most}ull);");
        if !lengths.is_empty() {
            let _ = writeln!(prints, "  show_{bits}(({of} *)p{at}, {count});");
        }
        names.push(format!("p{at}"));
    }
    let call = format!("{function}({})", names.join(", "));
    let call = match program.result {
        Some(_) => format!("  unsigned long long result = {call};\n"),
        None => format!("  {call};\n"),
    };
    let last = if program.result.is_some() { "  printf(\" %llu\", result);\n" } else { "" };
    format!("{text}{call}{prints}{last}  printf(\"\\n\");\n}}\n")
}

/// The final states of the programs from the C compiler, by number and sample.
///
/// # Panics
/// If there is no C compiler, a program does not compile, or its behaviour is undefined.
pub(crate) fn outcomes(folder: &Path, programs: &[Program]) -> HashMap<(u64, usize), Outcome> {
    let mut text = format!("{HEAD}#include <stdio.h>\n{HARNESS}");
    for program in programs {
        text += &program.text;
        text += &run_function(program);
    }
    let names: Vec<String> = programs.iter().map(|program| format!("run{}", program.number)).collect();
    let _ = writeln!(
        text,
        "static void (*const all[])(unsigned) = {{{}}};\nint main(void) {{\n  \
         for (unsigned i = 0; i < {}; i++) for (unsigned sample = 0; sample < {SAMPLES}; sample++) all[i](sample);\n  \
         return 0;\n}}",
        names.join(", "),
        names.len()
    );
    let first = programs.first().map_or(0, |program| program.number);
    let (source, binary) = (folder.join(format!("batch{first}.c")), folder.join(format!("batch{first}")));
    std::fs::write(&source, text).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    build(&source, &binary);
    let output = Command::new(&binary).output().unwrap_or_else(|error| panic!("{}: {error}", binary.display()));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "undefined behaviour, or an assertion that fails, in program {}:\n{}",
        printed.lines().last().unwrap_or_default(),
        String::from_utf8_lossy(&output.stderr)
    );
    let by_number: HashMap<u64, &Program> = programs.iter().map(|program| (program.number, program)).collect();
    printed.lines().map(|line| outcome(line, &by_number)).collect()
}

fn build(source: &Path, binary: &PathBuf) {
    let output = Command::new("cc")
        // The compiler takes most of the time, and the programs none.
        .args(["-std=c11", "-O0", "-w", "-fsanitize=undefined", "-fno-sanitize-recover=undefined"])
        // The programs have no pointers, and `bounds` checks indices. This check would take more than half of the time.
        .args(["-fno-sanitize=null,alignment,object-size,pointer-overflow", "-o"])
        .args([binary, &source.to_path_buf()])
        .output()
        .unwrap_or_else(|error| panic!("cc, which these tests need: {error}"));
    assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
}

fn outcome(line: &str, programs: &HashMap<u64, &Program>) -> ((u64, usize), Outcome) {
    let mut words = line.split(' ').map(|word| word.parse::<u64>().unwrap_or_else(|error| panic!("{word}: {error}")));
    let (number, sample) = (words.next().unwrap_or_default(), words.next().unwrap_or_default() as usize);
    let program = programs[&number];
    let mut outcome = Outcome::default();
    for parameter in program.parameters.iter().filter(|parameter| !parameter.lengths.is_empty()) {
        let count = parameter.lengths.iter().product();
        outcome.arrays.push(words.by_ref().take(count).map(i128::from).collect());
        assert_eq!(outcome.arrays.last().map(Vec::len), Some(count), "a line of the C program is too short: {line}");
    }
    outcome.result = program.result.and_then(|_| words.next()).map(i128::from);
    assert_eq!((outcome.result.is_some(), words.next()), (program.result.is_some(), None), "{line}");
    ((number, sample), outcome)
}
