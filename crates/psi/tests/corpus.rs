//! Replays the fuzzer's corpus and, from each seed, a fixed set of mutations.

use crate::replay::replay;

#[test]
fn psi_points() {
    let accepted = ["fifteen_points", "one_point", "two_points"];
    replay("psi_points", crate::invariants::psi_points, &accepted);
}
