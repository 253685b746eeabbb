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
    (
        "a bound with a variable that hides a constant",
        r"void f(uint8_t a[5]) {
  unsigned n = 5;
  for (unsigned i = 0; i < 2; i++) {
    unsigned n = 3;
    for (unsigned j = 0; j < n; j++) a[j] = i;
  }
}",
        "f.c:8:30: the bound of a loop is not a constant; use constants for its first value, bound and step, and an `if` in the body",
    ),
    (
        "a bound with an array that hides a constant",
        r"static const uint8_t t[1] = {5};
void f(uint8_t a[5]) {
  for (unsigned i = 0; i < 2; i++) {
    uint8_t t[1] = {3};
    for (unsigned j = 0; j < t[0]; j++) a[j] = i;
  }
}",
        "f.c:8:30: the bound of a loop is not a constant; use constants for its first value, bound and step, and an `if` in the body",
    ),
    (
        "a step by the loop's variable, which hides a constant",
        r"void f(uint8_t a[8]) {
  unsigned s = 1;
  for (unsigned s = 1; s < 8; s += s) a[s] = 1;
}",
        "f.c:6:36: the step of a loop is not a constant; use constants for its first value, bound and step, and an `if` in the body",
    ),
    (
        "a bound by the variable of an unrolled loop, which hides a constant",
        r"void f(uint8_t a[8]) {
  unsigned s = 4;
  for (unsigned i = 0; i < 2; i++) {
#pragma HLS pipeline
    for (unsigned s = 0; s < s + 1; s++) a[s] = 1;
  }
}",
        "f.c:8:30: the bound of a loop is not a constant; use constants for its first value, bound and step, and an `if` in the body",
    ),
    (
        "a variable in its own initial value",
        r"void f(uint8_t a[2]) {
  unsigned x = 1;
  for (unsigned i = 0; i < 2; i++) {
    unsigned x = x + 1;
    a[i] = x;
  }
}",
        "f.c:7:14: `x` is in its own initial value; use another variable there, or another name",
    ),
    (
        "a variable of a loop in its own initial value",
        r"void f(uint8_t a[2]) {
  unsigned i = 1;
  for (unsigned i = i - 1; i < 2; i++) a[i] = 1;
}",
        "f.c:6:21: `i` is in its own initial value; use another variable there, or another name",
    ),
];
