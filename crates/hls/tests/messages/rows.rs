//! Each kind of bad input that the compiler promises to explain has a golden message, with file, line, column and a way out.

use super::{Case, names, pragmas, streams, texts, values};

/// Kinds of bad input, and a part of the golden message of each.
const ROWS: &[(&str, &str)] = &[
    ("a trip count that is not constant", "the bound of a loop is not a constant"),
    ("a trip count over 2^22", "a loop of 4194305 iterations, at most 4194304"),
    ("trip counts over 2^22 in all", "more than 4194304 iterations in all"),
    ("two accesses in a bank: both places", "this access of `a` and the one at f.c:7:12 are in the same bank"),
    ("two accesses in a bank: the iteration", "in iteration 0 of `i`"),
    (
        "two accesses in a bank: the least II that works",
        "the ports require at least 2, and the dependences at least 1; ask for `II=2`",
    ),
    ("an index out of range", "an index of `a` is 8 in i = 7; its length is 8"),
    ("an index that may be out of range", "an index of `a` may be 255; its length is 8"),
    ("a value below zero", "a value that may be -255, below zero"),
    ("a value over its type", "a value that may be 256, beyond uint8_t"),
    (
        "a refuted `dependence`: two iterations and an element",
        "iteration 1 of `i` reads `a[1]`, which iteration 0 writes",
    ),
    (
        "an II out of reach",
        "interval 1 is not possible for `i`: the ports require at least 1, and the dependences at least 12",
    ),
    ("recursion", "`g` calls itself"),
    ("a pointer", "a pointer; use an array with its length"),
    ("a float", "type `float`"),
    ("a while loop", "a `while` loop"),
    ("a signed variable", "type `int`"),
    ("an unknown pragma", "pragma HLS `dataflow` is not supported"),
    ("an unknown variable", "`x` is not declared"),
    ("an unknown variable of a pragma", "`b` is not declared"),
    ("a variable divisor", "a division by a variable or by zero"),
    ("a macro with arguments", "a macro with arguments"),
    ("over 2^16 operations", "more than 65536 operations"),
];

fn cases() -> impl Iterator<Item = &'static Case> {
    let all = [
        [values::LOOPS, values::BANKS, values::VALUES],
        [names::FUNCTIONS, names::TYPES, names::NAMES],
        [texts::MACROS, texts::STATEMENTS, texts::BOUNDS],
        [streams::STREAMS, streams::SETTINGS, pragmas::PRAGMAS],
    ];
    all.into_iter().flatten().flatten()
}

#[test]
fn each_kind_of_bad_input_has_a_message() {
    for (row, part) in ROWS {
        assert!(cases().any(|(_, _, message)| message.contains(part)), "no golden message for {row}");
    }
}

/// `FILE:LINE:COLUMN: what; way out`
fn has_form(message: &str) -> bool {
    let mut parts = message.splitn(4, ':');
    let (file, line, column) = (parts.next(), parts.next(), parts.next());
    let number = |text: Option<&str>| text.is_some_and(|text| text.parse::<u32>().is_ok_and(|number| number > 0));
    let (what, way_out) = parts.next().unwrap_or_default().split_once("; ").unwrap_or_default();
    file.is_some_and(|file| !file.is_empty())
        && number(line)
        && number(column)
        && !what.trim().is_empty()
        && !way_out.is_empty()
}

#[test]
fn each_message_has_a_place_and_a_way_out() {
    for (what, _, message) in cases().filter(|(_, _, message)| *message != "accepted") {
        assert!(has_form(message), "{what}: {message}");
    }
    assert!(!has_form("f.c:5: without a column; a way out") && !has_form("f.c:5:3: without a way out"));
}
