//! Mistakes with streams.

use super::Case;

/// Streams.
pub(super) const STREAMS: &[Case] = &[
    (
        "a stream from its end",
        r"void f(uint8_t a[4], uint8_t b[4]) {
#pragma HLS interface axis port=a
  for (unsigned i = 0; i < 4; i++) b[i] = a[3 - i];
}",
        "f.c:6:43: the stream `a` begins with element 3 in iteration 0 of `i`, not with element 0; access the elements in ascending order, or remove the pragma `interface axis`",
    ),
    (
        "an element of a stream that is read twice",
        r"void f(uint8_t a[4], uint8_t b[4]) {
#pragma HLS interface axis port=a
  for (unsigned i = 0; i < 4; i++) b[i] = a[i / 2];
}",
        "f.c:6:43: the stream `a` has element 0 in iteration 1 of `i` after element 0 in iteration 0 of `i` at f.c:6:43; access each element once, in ascending order, or remove the pragma `interface axis`",
    ),
    (
        "an element of a stream that is left out",
        r"void f(uint8_t a[8], uint8_t b[4]) {
#pragma HLS interface axis port=a
  for (unsigned i = 0; i < 4; i++) b[i] = a[2 * i];
}",
        "f.c:6:43: the stream `a` has element 2 in iteration 1 of `i` after element 0 in iteration 0 of `i` at f.c:6:43; access each element once, in ascending order, or remove the pragma `interface axis`",
    ),
    (
        "two elements of a stream in the wrong order",
        r"void f(uint8_t a[4], uint8_t b[4]) {
#pragma HLS interface axis port=b
  for (unsigned i = 0; i < 2; i++) {
    b[2 * i + 1] = a[2 * i];
    b[2 * i] = a[2 * i + 1];
  }
}",
        "f.c:7:5: the stream `b` begins with element 1 in iteration 0 of `i`, not with element 0; access the elements in ascending order, or remove the pragma `interface axis`",
    ),
    (
        "a stream that is not read to its end",
        r"void f(uint8_t a[8], uint8_t b[4]) {
#pragma HLS interface axis port=a
  for (unsigned i = 0; i < 4; i++) b[i] = a[i];
}",
        "f.c:6:43: the stream `a` ends with element 3 in iteration 3 of `i`; its length is 8; access each element once, in ascending order, or remove the pragma `interface axis`",
    ),
    (
        "a stream of two kernels",
        r"void f(uint8_t a[8], uint8_t b[8]) {
#pragma HLS interface axis port=a
  for (unsigned i = 0; i < 4; i++) b[i] = a[i];
  for (unsigned k = 4; k < 8; k++) b[k] = a[k];
}",
        "f.c:7:43: the stream `a` is accessed in two kernels: element 3 in iteration 3 of `i` at f.c:6:43, and element 4 in iteration 0 of `k`; copy the elements to an array in the first loop, or remove the pragma `interface axis`",
    ),
    (
        "a stream that is read and written",
        r"void f(uint8_t a[8]) {
#pragma HLS interface axis port=a
  for (unsigned i = 0; i < 8; i++) a[i] = a[i] ^ 1;
}",
        "f.c:6:36: the stream `a` is read and written: element 0 in iteration 0 of `i` at f.c:6:43, and element 0 in iteration 0 of `i`; use one stream for the input and another one for the output, or remove the pragma `interface axis`",
    ),
    (
        "an index of a stream that depends on data",
        r"void f(uint8_t a[8], uint8_t b[8]) {
#pragma HLS interface axis port=a
  for (unsigned i = 0; i < 8; i++) a[b[i] & 7] = 1;
}",
        "f.c:6:36: an index of the stream `a` depends on data in iteration 0 of `i`; access the elements in ascending order, or remove the pragma `interface axis`",
    ),
    (
        "an access of a stream that depends on data",
        r"void f(uint8_t a[8], uint8_t b[8]) {
#pragma HLS interface axis port=a
  for (unsigned i = 0; i < 8; i++) if (b[i] & 1) a[i] = 1;
}",
        "f.c:6:50: the condition of an access of the stream `a` depends on data in iteration 0 of `i`; access the element in every case, or remove the pragma `interface axis`",
    ),
    (
        "a stream that is not used",
        r"void f(uint8_t a[8], uint8_t b[8]) {
#pragma HLS interface axis port=a
  for (unsigned i = 0; i < 8; i++) b[i] = 1;
}",
        "f.c:4:16: the stream `a` is not used; access each element once, in ascending order, or remove the pragma `interface axis`",
    ),
    (
        "a value as a stream",
        r"void f(uint8_t a, uint8_t b[8]) {
#pragma HLS interface axis port=a
  for (unsigned i = 0; i < 8; i++) b[i] = a;
}",
        "f.c:4:16: the stream `a` is a value; make it an array of one element, or remove the pragma `interface axis`",
    ),
    (
        "a stream in banks",
        r"void f(uint8_t a[8], uint8_t b[8]) {
#pragma HLS interface axis port=a
#pragma HLS array_partition variable=a complete
  for (unsigned i = 0; i < 8; i++) b[i] = a[i];
}",
        "f.c:4:16: the stream `a` has a partition, but no banks; remove the pragma `array_partition`, or remove the pragma `interface axis`",
    ),
];

/// Settings of pragmas that are macros. UG1399, "Using Constants with Pragmas", names macros and constants, and no expressions.
pub(super) const SETTINGS: &[Case] = &[
    (
        "a macro as a setting",
        r"#define BANKS (2 * TWO)
#define TWO 2
static const unsigned INTERVAL = 1;
void f(uint8_t a[8]) {
#pragma HLS array_partition variable=a cyclic factor=BANKS
  for (unsigned i = 0; i < 8; i += 4) {
#pragma HLS pipeline II=INTERVAL // a comment
    for (unsigned k = 0; k < 4; k++) a[i + k] = 1;
  }
}",
        "accepted",
    ),
    (
        "an expression as a setting",
        r"#define B 2
void f(uint8_t a[8]) {
#pragma HLS array_partition variable=a block factor=2*B
  a[0] = 1;
}",
        "f.c:6:1: pragma array_partition: factor=2*B; use a number, or the name of a macro or of a constant outside of functions",
    ),
    (
        "an expression with spaces as a setting",
        r"#define B 2
void f(uint8_t a[8]) {
#pragma HLS array_partition variable=a block factor=2 * B
  a[0] = 1;
}",
        "f.c:6:1: pragma array_partition: `*` is not a setting; use a macro in place of an expression",
    ),
    (
        "a setting that is not defined",
        r"void f(uint8_t a[8]) {
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline II=N
    a[i] = 1;
  }
}",
        "f.c:6:1: pragma pipeline: ii=N; use a number, or the name of a macro or of a constant outside of functions",
    ),
    (
        "a setting that is a variable",
        r"#define N (x + 1)
void f(uint8_t a[8], uint8_t x) {
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline II=N
    a[i] = x;
  }
}",
        "f.c:7:1: pragma pipeline: ii=N; use a number, or the name of a macro or of a constant outside of functions",
    ),
    (
        "a macro beyond the bound of its setting",
        r"#define B (2 * 1024)
void f(uint8_t a[8]) {
#pragma HLS array_partition variable=a block factor=B
  a[0] = 1;
}",
        "f.c:6:1: pragma array_partition: factor=2048; use 1 to 1024",
    ),
];
