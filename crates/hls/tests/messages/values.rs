//! Mistakes in loops, with banks, indices and values.

use super::Case;

/// Loops.
pub(super) const LOOPS: &[Case] = &[
    (
        "a bound that depends on an outer loop",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++)
    for (unsigned j = 0; j < i; j++) a[j] = i;
}",
        "f.c:6:30: the bound of a loop is not a constant; use constants for its first value, bound and step, and an `if` in the body",
    ),
    (
        "a return before the end",
        r"uint8_t f(uint8_t x) {
  if (x > 3) return 1;
  return 0;
}",
        "f.c:5:14: a `return` before the end of the function; assign the result to a variable, and return it at the end",
    ),
    (
        "a read of an element that nothing has written",
        r"void f(uint8_t a[4]) {
  uint8_t t[4];
  for (unsigned i = 0; i < 3; i++) t[i] = a[i];
  for (unsigned i = 0; i < 4; i++) a[i] = t[i];
}",
        "f.c:7:43: iteration 3 of `i` reads `t[3]`, which nothing has written; write it first",
    ),
    (
        "a static table whose next run begins with other elements",
        r"static void init(uint8_t t[4]) { t[0] = 1; }
static void next(uint8_t t[4]) { t[3] = (uint8_t)(t[3] + 1); }
void f(uint8_t a[4]) {
  static uint8_t t[4];
  init(t);
  next(t);
  for (unsigned i = 0; i < 4; i++) a[i] = t[i];
}",
        "f.c:5:51: an element of `t` has no value yet; assign to it first",
    ),
    (
        "a call before a loop without an iteration",
        r"static uint8_t touch(uint8_t a[4]) { a[0] = 1; return 2; }
void f(uint8_t a[4], uint8_t b[4]) {
  for (unsigned i = 0; i < 2; i++) {
    uint8_t x = touch(a);
    for (unsigned j = 0; j < 0; j++) b[j] = x;
  }
  b[3] = 7;
}",
        "f.c:7:5: a call of `touch`, which may change an array, before a loop without an iteration; call it outside of the loops",
    ),
    (
        "a call in an assertion before a loop without an iteration",
        r"static uint8_t touch(uint8_t a[4]) { a[0] = 1; return 2; }
void f(uint8_t a[4], uint8_t b[4]) {
  for (unsigned i = 0; i < 2; i++) {
    assert(touch(a) == 2);
    for (unsigned j = 0; j < 0; j++) b[j] = 1;
  }
  b[3] = 7;
}",
        "f.c:7:5: a call of `touch`, which may change an array, before a loop without an iteration; call it outside of the loops",
    ),
    (
        "a table that is filled again",
        r"static void fill(uint8_t t[4], uint8_t k) {
  for (unsigned i = 0; i < 4; i++) t[i] = k + i;
}
void f(uint8_t a[4], uint8_t s[4]) {
  static uint8_t t[4];
  fill(t, 1);
  for (unsigned i = 0; i < 4; i++) a[i] = t[s[i] & 3];
  fill(t, 50);
}",
        "f.c:11:3: the table `t` is filled after its read at f.c:10:43; fill it before, or use another table",
    ),
    (
        "a sum without a first value",
        r"void f(uint8_t a[4], uint8_t b[1]) {
  uint8_t s;
  for (unsigned i = 0; i < 4; i++) s = s ^ a[i];
  b[0] = s;
}",
        "f.c:6:40: iteration 0 of `i` reads `s`, which nothing has written; write it first",
    ),
    (
        "a bound that is not a constant",
        r"void f(uint8_t a[4], uint8_t n) {
  for (unsigned i = 0; i < n; i++) a[0] = 1;
}",
        "f.c:5:28: the bound of a loop is not a constant; use constants for its first value, bound and step, and an `if` in the body",
    ),
    (
        "a first value that is not a constant",
        r"void f(uint8_t a[4], uint8_t n) {
  for (unsigned i = n; i < 9; i++) a[0] = 1;
}",
        "f.c:5:21: the first value of a loop is not a constant; use constants for its first value, bound and step, and an `if` in the body",
    ),
    (
        "a step that is not a constant",
        r"void f(uint8_t a[4], uint8_t n) {
  for (unsigned i = 0; i < 9; i += n) a[0] = 1;
}",
        "f.c:5:36: the step of a loop is not a constant; use constants for its first value, bound and step, and an `if` in the body",
    ),
    (
        "too many iterations of a loop",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4194305; i++) a[0] = 1;
}",
        "f.c:5:3: a loop of 4194305 iterations, at most 4194304; use fewer",
    ),
    (
        "too many iterations of a nest",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 2049; i++)
    for (unsigned k = 0; k < 2048; k++) a[0] = 1;
}",
        "f.c:5:3: more than 4194304 iterations in all; use fewer",
    ),
    (
        "too many iterations of several loops",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4194304; i++) a[0] = 1;
  for (unsigned i = 0; i < 1; i++) a[0] = 1;
}",
        "f.c:6:3: more than 4194304 iterations in all; use fewer",
    ),
    (
        "a loop without an end",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i += 0) a[0] = 1;
}",
        "f.c:5:3: a loop without an end; let its step reach its bound",
    ),
    (
        "a loop that misses its end",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i != 5; i += 2) a[0] = 1;
}",
        "f.c:5:3: a loop without an end; let its step reach its bound",
    ),
    (
        "a loop that counts below zero",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 3; i >= 0; i--) a[i] = 1;
}",
        "f.c:5:3: `i` is -1 after the last iteration, below zero; count up, or end above zero",
    ),
    (
        "a loop variable beyond its type",
        r"void f(uint8_t a[4]) {
  for (uint8_t i = 0; i < 256; i++) a[0] = 1;
}",
        "f.c:5:3: `i` is 256 after the last iteration, beyond uint8_t; use a wider type",
    ),
    (
        "a loop variable beyond 63 bits",
        r"void f(uint64_t a[4]) {
  for (uint64_t i = 0xfffffffffffffff0; i < 0xfffffffffffffff4; i++) a[0] = i;
}",
        "f.c:5:3: 18446744073709551604 of a loop, beyond 63 bits; count from a smaller number",
    ),
    (
        "too many loops in one another",
        r"void f(uint8_t a[4]) {
  for (unsigned i0 = 0; i0 < 1; i0++)
  for (unsigned i1 = 0; i1 < 1; i1++)
  for (unsigned i2 = 0; i2 < 1; i2++)
  for (unsigned i3 = 0; i3 < 1; i3++)
  for (unsigned i4 = 0; i4 < 1; i4++)
  for (unsigned i5 = 0; i5 < 1; i5++)
  for (unsigned i6 = 0; i6 < 1; i6++)
  for (unsigned i7 = 0; i7 < 1; i7++)
  for (unsigned i8 = 0; i8 < 1; i8++)
    a[0] = 1;
}",
        "f.c:13:3: more than 8 loops inside of one another; unroll some, or merge two loops into one",
    ),
    (
        "a while loop",
        r"void f(uint8_t a[4]) {
  while (a[0]) a[0] = 0;
}",
        "f.c:5:3: a `while` loop; use a `for` loop with a constant number of iterations",
    ),
    (
        "a do loop",
        r"void f(uint8_t a[4]) {
  do a[0] = 0; while (a[0]);
}",
        "f.c:5:3: a `do` loop; use a `for` loop with a constant number of iterations",
    ),
    (
        "a loop without a declaration",
        r"void f(uint8_t a[4]) {
  unsigned i;
  for (i = 0; i < 4; i++) a[i] = 1;
}",
        "f.c:6:8: `i = 0` in a loop; use the form `for (unsigned i = a; i < b; i += c)`: declare its variable there",
    ),
    (
        "a loop with another condition",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; 4 > i; i++) a[i] = 1;
}",
        "f.c:5:24: `4 > i` in a loop; use the form `for (unsigned i = a; i < b; i += c)`: compare the variable with a constant",
    ),
    (
        "a loop with another step",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 1; i < 4; i *= 2) a[i] = 1;
}",
        "f.c:5:31: `i *= 2` in a loop; use the form `for (unsigned i = a; i < b; i += c)`: add a constant to the variable, or subtract it",
    ),
    (
        "break",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) {
    if (a[i]) break;
  }
}",
        "f.c:6:15: a loop that ends an iteration early; use `if` for the rest of the body",
    ),
    (
        "a return in a loop",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) return;
}",
        "f.c:5:36: a `return` before the end of the function; assign the result to a variable, and return it at the end",
    ),
    (
        "a statement after an inner loop",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 2; i++) {
    for (unsigned k = 0; k < 2; k++) a[k] = 1;
    a[i] = 2;
  }
}",
        "f.c:7:5: a statement after an inner loop; put it into its own loop, or into the inner loop under an `if`",
    ),
    (
        "a statement before an inner loop",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 2; i++) {
    a[i] = 2;
    for (unsigned k = 0; k < 2; k++) a[k] = 1;
  }
}",
        "f.c:6:5: a statement before an inner loop; put it into its own loop, or into the inner loop under an `if`",
    ),
    (
        "a value read before an inner loop that changes it",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 2; i++) {
    uint8_t x = a[0];
    for (unsigned k = 0; k < 2; k++) a[k] = x / 2;
  }
}",
        "f.c:6:17: `a` is read before an inner loop that changes it; read it in the inner loop, or copy it in an earlier loop",
    ),
    (
        "a variable before an inner loop that assigns to it",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 2; i++) {
    uint8_t x = 0;
    for (unsigned k = 0; k < 2; k++) { x ^= 1; a[k] = x; }
  }
}",
        "f.c:6:13: `x` is declared before an inner loop that assigns to it; declare it outside of all loops, or in the inner loop",
    ),
];

/// Banks, ports and dependences.
pub(super) const BANKS: &[Case] = &[
    (
        "two accesses in a bank",
        r"void f(uint8_t a[8], uint8_t b[8]) {
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline II=1
    b[i] = a[i] ^ a[i + 4];
  }
}",
        "f.c:7:19: this access of `a` and the one at f.c:7:12 are in the same bank in iteration 0 of `i`; interval 1 is not possible for `i`: the ports require at least 2, and the dependences at least 1; ask for `II=2`, or use more banks, or another order of iterations",
    ),
    (
        "a refuted dependence",
        r"void f(uint8_t a[8]) {
  for (unsigned i = 1; i < 8; i++) {
#pragma HLS pipeline
#pragma HLS dependence variable=a inter false
    a[i] = a[i - 1] ^ 1;
  }
}",
        "f.c:7:1: iteration 1 of `i` reads `a[1]`, which iteration 0 writes, so iterations depend on one another; remove the pragma, or change the order of iterations",
    ),
    (
        "an interval out of reach",
        r"void f(uint32_t a[8]) {
  for (unsigned i = 1; i < 8; i++) {
#pragma HLS pipeline II=1
    a[i] = (uint64_t)a[i - 1] * a[i - 1] % 12289;
  }
}",
        "f.c:7:22: interval 1 is not possible for `i`: the ports require at least 1, and the dependences at least 12, because this access of `a` depends on the one at f.c:7:5, 1 iteration before; ask for `II=12`, or use another order of iterations",
    ),
    (
        "more banks than elements",
        r"void f(uint8_t a[256], uint8_t b[2]) {
#pragma HLS array_partition variable=a block factor=300
  b[0] = a[1];
}",
        "f.c:5:1: factor=300 for a dimension of `a`, which has 256 elements; use 1 to 256",
    ),
    (
        "more banks than elements of one of two dimensions",
        r"void f(uint8_t a[8][4], uint8_t b[2]) {
#pragma HLS array_partition variable=a cyclic factor=8 dim=0
  b[0] = a[1][1];
}",
        "f.c:5:1: factor=8 for a dimension of `a`, which has 4 elements; use 1 to 4",
    ),
    (
        "too many banks of a dimension",
        r"void f(uint8_t a[100000], uint8_t b[2]) {
#pragma HLS array_partition variable=a complete
  b[0] = a[1];
}",
        "f.c:4:16: `a` has 100000 banks in a dimension, at most 1024; use `block` or `cyclic` with a factor of 1 to 1024",
    ),
    (
        "too many banks of all dimensions",
        r"void f(uint8_t b[2]) {
  uint8_t a[128][64];
#pragma HLS array_partition variable=a complete dim=0
  for (unsigned i = 0; i < 64; i++) a[1][i] = i;
  b[0] = a[1][1];
}",
        "f.c:5:11: `a` has 8192 banks in all dimensions, at most 4096; use smaller factors, or partition fewer dimensions",
    ),
    (
        "as many banks as possible",
        r"void f(uint8_t a[1024], uint8_t b[2]) {
#pragma HLS array_partition variable=a complete
  b[0] = a[1];
}",
        "accepted",
    ),
    (
        "an interval that the busiest of many banks excludes",
        r"void f(uint8_t a[4][8], uint8_t b[8]) {
#pragma HLS array_partition variable=a complete dim=1
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline II=2
    b[i] = a[0][i] ^ a[1][i] ^ a[2][i] ^ a[2][7 - i] ^ a[2][i ^ 1];
  }
}",
        "f.c:8:42: this access of `a` and the one at f.c:8:32 are in the same bank in iteration 0 of `i`; interval 2 is not possible for `i`: the ports require at least 3, and the dependences at least 1; ask for `II=3`, or use more banks, or another order of iterations",
    ),
];

/// Indices and values.
pub(super) const VALUES: &[Case] = &[
    (
        "an index out of range",
        r"void f(uint8_t a[8]) {
  for (unsigned i = 0; i < 8; i++) a[i + 1] = 1;
}",
        "f.c:5:38: an index of `a` is 8 in i = 7; its length is 8; keep indices below the length, or assert it",
    ),
    (
        "an index that may be out of range",
        r"void f(uint8_t a[8], uint8_t x) {
  a[x] = 1;
}",
        "f.c:5:5: an index of `a` may be 255; its length is 8; keep indices below the length, or assert it",
    ),
    (
        "an index out of range in a table",
        r"static const uint8_t t[2] = {1, 2};
void f(uint8_t a[8]) {
  for (unsigned i = 0; i < 8; i++) a[i] = t[i];
}",
        "f.c:6:45: an index of `t` is 2 in i = 2; its length is 2; keep indices below the length, or assert it",
    ),
    (
        "too few indices",
        r"void f(uint8_t a[2][2]) {
  a[1] = 1;
}",
        "f.c:5:3: 1 indices of `a`, which has 2 dimensions; use one index for each dimension",
    ),
    (
        "an index of a variable",
        r"void f(uint8_t a[2], uint8_t x) {
  a[0] = x[0];
}",
        "f.c:5:10: 1 indices of `x`, which has 0 dimensions; use one index for each dimension",
    ),
    (
        "an array as a value",
        r"void f(uint8_t a[2], uint8_t b[2]) {
  a[0] = b;
}",
        "f.c:5:10: `b` is an array; use one of its elements",
    ),
    (
        "a value below zero",
        r"void f(uint8_t a[4], uint8_t x, uint8_t y) {
  a[0] = x - y;
}",
        "f.c:5:3: a value that may be -255, below zero; subtract from a number that is never less, or add a condition that ensures it",
    ),
    (
        "a result below zero",
        r"void f(uint32_t a[4], uint32_t x, uint32_t y) {
  a[0] = x - y;
}",
        "f.c:5:10: a result that may be -4294967295, below zero; subtract from a number that is never less, or add a condition that ensures it",
    ),
    (
        "a number below zero",
        r"void f(uint8_t a[4]) {
  a[0] = -1;
}",
        "f.c:5:10: `-1` is below zero; subtract from a number that is not less",
    ),
    (
        "a value over its type",
        r"void f(uint8_t a[4], uint8_t x) {
  a[0] = x + 1;
}",
        "f.c:5:3: a value that may be 256, beyond uint8_t; use a wider type, a mask, or assert its range",
    ),
    (
        "a result over its type",
        r"void f(uint64_t a[4], uint32_t x) {
  a[0] = x * x;
}",
        "f.c:5:10: a result that may be 18446744065119617025, beyond uint32_t; first convert an operand to a wider type, or assert its range",
    ),
    (
        "a comparison with a number below zero",
        r"void f(uint8_t a[4], uint8_t x) {
  a[0] = ~x < 5u;
}",
        "f.c:5:10: a value that may be -256, below zero; subtract from a number that is never less, or add a condition that ensures it",
    ),
    (
        "a number for a bool",
        r"void f(uint8_t a[4], uint8_t x) {
  bool b = x;
  a[0] = b;
}",
        "f.c:5:8: a value that may be 255, beyond bool; use a wider type, a mask, or assert its range",
    ),
    (
        "a complement of 128 bits",
        r"void f(uint64_t a[4], uint64_t x) {
  a[0] = (uint64_t)(~(unsigned __int128)x >> 64);
}",
        "f.c:5:21: `~` of 128 bits, but values have at most 127 bits; use `^` with the bits to invert, or `~` of a narrower type",
    ),
    (
        "a constant complement of 128 bits",
        r"static const uint64_t n = (uint64_t)(~(unsigned __int128)1 >> 64);
void f(uint64_t a[4]) {
  a[0] = n;
}",
        "f.c:4:38: `~` of 128 bits, but values have at most 127 bits; use `^` with the bits to invert, or `~` of a narrower type",
    ),
    (
        "elements of 128 bits",
        r"void f(unsigned __int128 a[4], uint64_t b[4]) {
  b[0] = (uint64_t)(a[1] >> 64);
}",
        "f.c:4:26: `a` may have values of more than 127 bits; assert the range of its values, or use two values of 64 bits",
    ),
    (
        "a value of 128 bits",
        r"void f(uint64_t a[4], unsigned __int128 x) {
  a[0] = (uint64_t)(x >> 64);
}",
        "f.c:4:41: `x` may have values of more than 127 bits; assert the range of its values, or use two values of 64 bits",
    ),
    (
        "elements of 128 bits with a range",
        r"unsigned __int128 f(unsigned __int128 a[4], unsigned __int128 b[1], unsigned __int128 x) {
  assert(a[1] < ((unsigned __int128)1 << 126));
  assert(x <= ((unsigned __int128)1 << 126));
  b[0] = a[1] + 1;
  return a[1] | x;
}",
        "accepted",
    ),
    (
        "a shift by too much",
        r"void f(uint8_t a[4], uint8_t x) {
  a[0] = x >> x;
}",
        "f.c:5:10: a shift by 255 of 32 bits; shift by less",
    ),
    (
        "a variable divisor",
        r"void f(uint8_t a[4], uint8_t x) {
  a[0] = a[1] % x;
}",
        "f.c:5:10: a division by a variable or by zero; divide by a constant above zero",
    ),
    (
        "a division by zero",
        r"void f(uint8_t a[4]) {
  a[0] = a[1] / 0;
}",
        "f.c:5:10: a division by a variable or by zero; divide by a constant above zero",
    ),
    (
        "a variable without a value",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) { uint8_t x; a[i] = x; }
}",
        "f.c:5:56: `x` has no value yet; assign to it first",
    ),
    (
        "an assertion that never holds",
        r"void f(uint8_t a[4]) {
  assert(1 > 2);
  a[0] = 1;
}",
        "f.c:5:3: an assertion that never holds; correct it",
    ),
    (
        "a constant that is assigned to",
        r"void f(uint8_t a[4]) {
  const uint8_t n = 3;
  n = 4;
  a[0] = n;
}",
        "f.c:6:3: `n` is a constant; remove its `const`, or assign to another variable",
    ),
    (
        "a table that is assigned to",
        r"static const uint8_t t[2] = {1, 2};
void f(uint8_t a[4]) {
  t[0] = a[0];
}",
        "f.c:6:3: `t` is a constant; remove its `const`, or assign to another variable",
    ),
    (
        "a table that is assigned to after its function",
        r"static void fill(uint8_t t[2]) {
  for (unsigned i = 0; i < 2; i++) t[i] = i;
}
void f(uint8_t a[4]) {
  static uint8_t t[2];
  fill(t);
  for (unsigned i = 0; i < 2; i++) t[i] = a[i];
}",
        "f.c:10:36: `t` is a table; remove `static` or `const`, or fill it by a function of constants alone",
    ),
    (
        "a constant array that a function of constants changes",
        r"static void fill(uint8_t t[2]) { t[0] = 3; }
void f(uint8_t a[2]) {
  const uint8_t t[2] = {1, 2};
  fill(t);
  for (unsigned i = 0; i < 2; i++) a[i] = t[i];
}",
        "f.c:7:3: `t` is a constant, and `fill` changes it; make it `static` and not `const`, or fill another array",
    ),
    (
        "a static array for two parameters",
        r"static void fill(uint8_t x[2], uint8_t y[2]) { x[0] = 1; y[1] = 2; }
void f(uint8_t a[2]) {
  static uint8_t t[2];
  fill(t, t);
  for (unsigned i = 0; i < 2; i++) a[i] = t[i];
}",
        "f.c:7:3: `t` is an argument for two parameters, and `fill` changes it; use another array for one of them",
    ),
    (
        "a constant beyond the type of a parameter",
        r"static void fill(uint8_t x[1], uint8_t v) { x[0] = v >> 4; }
void f(uint8_t a[1]) {
  static uint8_t t[1];
  fill(t, 300);
  a[0] = t[0];
}",
        "f.c:7:11: 300 is beyond uint8_t; use a wider type, or a mask",
    ),
    (
        "a static variable of a function of constants",
        r"static uint8_t next(void) { static uint8_t n = 0; n = (uint8_t)(n + 1); return n; }
void f(uint8_t a[2]) {
  uint8_t x = next();
  uint8_t y = next();
  a[0] = x;
  a[1] = y;
}",
        "f.c:4:44: `n` keeps its value from call to call; remove `static`",
    ),
    (
        "an index where no iteration is left",
        r"void f(uint8_t a[8]) {
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline
    uint8_t t[4] = {1, 2, 3, 4};
    uint8_t s = 0;
    for (unsigned k = 0; k < 8; k++) if (i < 4) if (k < i) s = t[k];
    a[i] = s;
  }
}",
        "f.c:9:64: an index of `t` is 4; its length is 4; keep indices below the length",
    ),
    (
        "an octal number with a sign",
        r"void f(uint8_t a[1]) {
  a[0] = +017;
}",
        "f.c:5:10: number `+017`; use a decimal or hexadecimal number of up to 64 bits",
    ),
    (
        "a changing call in the index of a compound assignment",
        r"static uint8_t next(uint8_t c[1]) { c[0] = c[0] ^ 1; return c[0]; }
void f(uint8_t a[2], uint8_t c[1]) {
  assert(c[0] < 2);
  a[next(c)] ^= 1;
}",
        "f.c:7:3: a call of `next`, which may change an array, in the index of a compound assignment; assign its result to a variable first, or make its arrays `const`",
    ),
    (
        "a changing call in the index of a compound assignment of constants",
        r"static uint8_t next(uint8_t c[1]) { c[0] = c[0] ^ 1; return c[0]; }
static void fill(uint8_t t[2]) { uint8_t c[1]; c[0] = 0; t[0] = 0; t[1] = 0; t[next(c)] ^= 1; }
void f(uint8_t a[2]) {
  static uint8_t t[2];
  fill(t);
  a[0] = t[0];
  a[1] = t[1];
}",
        "f.c:5:78: a call of `next`, which may change an array, in the index of a compound assignment; assign its result to a variable first, or make its arrays `const`",
    ),
    (
        "a directive with a comment that ends in a slash",
        r"void f(uint8_t a[1]) {
  a[0] = 1;
#define K 4 // see docs/
  a[0] = K;
}",
        "f.c:6:11: a directive with a comment that ends in `/`; end the comment with another character",
    ),
    (
        "a pragma with a comment that ends in a slash",
        r"void f(uint8_t a[2]) {
  for (unsigned i = 0; i < 2; i++) {
#pragma HLS pipeline // see docs/
    a[i] = 1;
  }
}",
        "f.c:6:9: a directive with a comment that ends in `/`; end the comment with another character",
    ),
    (
        "a name in capitals that is no number",
        r"void f(uint8_t a[1]) {
  a[0] = TRUE;
}",
        "f.c:5:10: `TRUE` is not declared; declare it, or define it as a macro",
    ),
    (
        "a function with the name of the macro of assertions",
        r"static uint8_t assert(uint8_t x) { return x; }
void f(uint8_t a[4]) {
  a[0] = assert(a[1]);
}",
        "f.c:4:16: a function `assert`, which is the macro of <assert.h>; rename it",
    ),
    (
        "a constant array that a function changes at run time",
        r"static void g(uint8_t t[2], uint8_t v) { t[0] = v; }
void f(uint8_t a[2]) {
  const uint8_t t[2] = {1, 2};
  g(t, a[0]);
  a[1] = t[0];
}",
        "f.c:4:42: `t` is a table; remove `static` or `const`, or fill it by a function of constants alone",
    ),
];
