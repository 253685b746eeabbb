//! Replays the fuzzer's corpus and, from each seed, a fixed set of mutations.

mod invariants;
#[path = "../../program/tests/replay/mod.rs"]
mod replay;

#[test]
fn wire_open() {
    replay::replay("wire_open", invariants::wire_open, &["empty_body", "words"]);
}
