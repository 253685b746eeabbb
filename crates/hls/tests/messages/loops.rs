//! Mistakes with the variables of loops.

use super::Case;

/// Assignments to the variable of a loop.
pub(super) const ASSIGNED: &[Case] = &[
    (
        "an assignment to the variable of a loop",
        r"void f(uint8_t a[16]) {
  for (unsigned i = 0; i < 16; i++) {
    a[i] = 1;
    i = i + 1;
  }
}",
        "f.c:7:5: `i` is assigned to in the body of its loop; assign to another variable, and let the loop's step change this one",
    ),
    (
        "an increment of the variable of a loop",
        r"void f(uint8_t a[16]) {
  for (unsigned i = 0; i < 16; i++) if (i == 4) i++; else a[i] = 1;
}",
        "f.c:5:49: `i` is assigned to in the body of its loop; assign to another variable, and let the loop's step change this one",
    ),
    (
        "a compound assignment to the variable of an outer loop",
        r"void f(uint8_t a[16]) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline
    for (unsigned k = 0; k < 2; k++) { a[i] = k; i += 1; }
  }
}",
        "f.c:7:50: `i` is assigned to in the body of its loop; assign to another variable, and let the loop's step change this one",
    ),
    (
        "an assignment after the block of another variable of this name",
        r"void f(uint8_t a[16]) {
  for (unsigned i = 0; i < 16; i++) {
    { uint8_t i = 1; i = 2; }
    i = 3;
  }
}",
        "f.c:7:5: `i` is assigned to in the body of its loop; assign to another variable, and let the loop's step change this one",
    ),
    (
        "an assignment in a function of constants",
        r"static unsigned g(unsigned n) {
  unsigned x = 0;
  for (unsigned i = 0; i < n; i++) { x ^= i; i++; }
  return x;
}
void f(uint8_t a[16]) {
  for (unsigned i = 0; i < g(4); i++) a[i] = 1;
}",
        "f.c:6:46: `i` is assigned to in the body of its loop; assign to another variable, and let the loop's step change this one",
    ),
    (
        "assignments to other variables of this name",
        r"void f(uint8_t a[16]) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline
    uint8_t x = i;
    { uint8_t i = x; i += 1; a[x] = i; }
    for (unsigned i = 0; i < 2; i++) x ^= i;
    a[i] = x;
  }
}",
        "accepted",
    ),
];

/// Variables of loops with the name of another variable in the same nest.
pub(super) const HIDDEN: &[Case] = &[
    (
        "an inner loop with the variable of an outer one",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) {
    uint8_t x = i;
    for (unsigned i = 0; i < 2; i++) a[i] = x;
  }
}",
        "f.c:7:5: `i` is the variable of an outer loop as well; rename it",
    ),
    (
        "a variable before an inner loop with the loop's variable",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) {
    unsigned k = 3;
    for (unsigned k = 0; k < 2; k++) a[k] = i;
  }
}",
        "f.c:6:14: `k` is the variable of a loop as well; rename it",
    ),
];
