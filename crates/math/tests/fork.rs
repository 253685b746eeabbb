//! The mark of a process changes in a forked child.

use ciphermill_math::fork::Mark;
use ciphermill_testing::in_forked_child;

#[test]
fn a_forked_child_has_another_mark() {
    let birth = Mark::now();
    assert!(in_forked_child(move || Mark::now() != birth && Mark::now() == Mark::now()));
    assert_eq!(Mark::now(), birth);
}
