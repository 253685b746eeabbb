//! The ports of banks with two ports: accesses of a cycle have different ones.

use ciphermill_hls::ir::State;
use ciphermill_hls::schedule::Target;
use ciphermill_hls::schedule::simulate::SimulationError;
use ciphermill_hls::{Argument, Design, Source};

/// Two reads an iteration.
const TWO: &str = "b[i] = a[i] ^ a[i + 1];";
/// Two of three reads an iteration, another pair in each third of the run. No port for each read is right for all pairs.
const PAIRS: &str = "
    uint8_t x = 0, y = 0, z = 0;
    if (i < 4) x = a[i];
    if (i < 2 || i >= 4) y = a[i + 1];
    if (i >= 2) z = a[i + 2];
    b[i] = x ^ y ^ z;";

fn source(body: &str) -> Source {
    let text = format!(
        "#include <stdint.h>\nvoid f(uint8_t a[8], uint8_t b[8]) {{\n#pragma HLS bind_storage variable=a type=ram_t2p\n  \
         for (unsigned i = 0; i < 6; i++) {{\n#pragma HLS pipeline\n    {body}\n  }}\n}}"
    );
    Source::new("f.c", text)
}

fn design(body: &str) -> Design {
    source(body).compile(&[], "f", &Target::ecp5(120.0)).unwrap_or_else(|error| panic!("{error}"))
}

/// The memories after a run by the schedule.
fn run(design: &Design) -> Result<Vec<Vec<Option<i128>>>, SimulationError> {
    let elements: Vec<i128> = (0..8).map(|element| 37 * element % 251).collect();
    let mut state = State::before(&design.program, std::iter::repeat(elements));
    design.simulate(&mut state)?;
    Ok(state.memories)
}

/// Whether the schedule leaves what the reference leaves.
fn is_right(body: &str, design: &Design) -> bool {
    let elements = Argument::Elements((0..8).map(|element| 37 * element % 251).collect());
    let expected = source(body).interpret(&[], "f", &[elements.clone(), elements]);
    let (_, expected) = expected.unwrap_or_else(|error| panic!("{error}"));
    run(design).unwrap_or_else(|error| panic!("{error}\n{body}"))[..2] == expected
}

#[test]
fn two_reads_of_a_cycle_have_different_ports() {
    assert!(is_right(TWO, &design(TWO)));
}

#[test]
fn reads_that_meet_in_a_circle_are_in_different_cycles() {
    let design = design(PAIRS);
    let schedule = &design.kernels[0].schedule;
    let reads = &schedule.accesses[..3];
    assert_eq!(schedule.interval, 1);
    assert!(reads.iter().any(|cycle| *cycle != reads[0]), "{reads:?}");
    assert!(is_right(PAIRS, &design));
}

#[test]
fn one_port_for_two_accesses_is_found() {
    let mut wrong = design(TWO);
    assert_eq!(wrong.kernels[0].schedule.interval, 1, "both reads are in one cycle");
    wrong.kernels[0].schedule.ports.fill(0);
    let found = run(&wrong);
    assert!(matches!(found, Err(SimulationError::Ports { .. })), "{found:?}");
}
