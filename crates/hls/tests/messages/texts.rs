//! Mistakes of the preprocessor and in statements, and texts that are too long.

use super::Case;

/// The preprocessor.
pub(super) const MACROS: &[Case] = &[
    (
        "a macro with arguments",
        r"#define SQUARE(x) ((x) * (x))
void f(uint8_t a[4]) {
  a[0] = SQUARE(2);
}",
        "f.c:4:1: a macro with arguments; write a `static` function",
    ),
    (
        "a macro of itself",
        r"#define M (M + 1)
void f(uint8_t a[4]) {
  a[0] = M;
}",
        "f.c:6:10: macro M: it expands to itself; give it a constant expression",
    ),
    (
        "two macros of one another",
        r"#define M P
#define P M
void f(uint8_t a[4]) {
  a[0] = M;
}",
        "f.c:7:10: macro M: it expands to itself; give it a constant expression",
    ),
    (
        "macros that grow",
        r"#define A (1 + 1)
#define B (A + A)
#define C (B + B)
#define D (C + C)
#define E (D + D)
#define F (E + E)
#define G (F + F)
#define H (G + G)
#define I (H + H)
#define J (I + I)
#define K (J + J)
#define L (K + K)
#define M (L + L)
#define N (M + M)
#define O (N + N)
#define P (O + O)
#define Q (P + P)
void f(uint32_t a[4]) {
  a[0] = Q;
}",
        "f.c:22:10: macro A: more than 16384 uses of macros; give it a constant expression",
    ),
    (
        "a macro without a value",
        r"#define M
void f(uint8_t a[4]) {
  a[0] = M;
}",
        "f.c:6:10: macro M: it has no value; give it a constant expression",
    ),
    (
        "a macro that is not an expression",
        r"#define M 1; a[1] = 2
void f(uint8_t a[4]) {
  a[0] = M;
}",
        "f.c:6:10: macro M: `1; a[1] = 2` is not an expression; give it a constant expression",
    ),
    (
        "a macro with two values",
        r"#define M 1
#define M 2
void f(uint8_t a[4]) {
  a[0] = M;
}",
        "f.c:5:1: macro M is defined with two values; use `#undef`, or `#ifndef` around the second one",
    ),
    (
        "an include of the system",
        r"#include <stdio.h>
void f(uint8_t a[4]) {
  a[0] = 1;
}",
        r#"f.c:4:1: `#include <stdio.h>`; include <stdint.h>, <assert.h>, <stdbool.h>, <stddef.h>, "self.h" only"#,
    ),
    (
        "an include of an unknown header",
        r#"#include "other.h"
void f(uint8_t a[4]) {
  a[0] = 1;
}"#,
        r#"f.c:4:1: `#include "other.h"`; add `other.h` to the folder of the source, or include <stdint.h>, <assert.h>, <stdbool.h>, <stddef.h>, "self.h""#,
    ),
    (
        "an include in a function",
        r#"void f(uint8_t a[4]) {
#include "self.h"
  a[0] = 1;
}"#,
        "f.c:5:1: an #include in a function; include at the top of the source",
    ),
    (
        "a header that includes itself",
        r#"#include "self.h"
void f(uint8_t a[4]) {
  a[0] = 1;
}"#,
        "self.h:1:1: more than 64 headers are included; write `#pragma once` at the top of the header",
    ),
    (
        "an error of the source",
        r"#error choose N
void f(uint8_t a[4]) {
  a[0] = 1;
}",
        "f.c:4:1: #error choose N; define the macros that the source requires, or change their values",
    ),
];

/// Statements.
pub(super) const STATEMENTS: &[Case] = &[
    (
        "a goto",
        r"void f(uint8_t a[4]) {
  goto end;
end:
  a[0] = 1;
}",
        "f.c:5:3: `goto`; use loops and `if`",
    ),
    (
        "a switch",
        r"void f(uint8_t a[4]) {
  switch (a[0]) { case 1: a[0] = 2; }
}",
        "f.c:5:3: `switch`; use `if`",
    ),
    (
        "an assignment in an expression",
        r"void f(uint8_t a[4]) {
  a[0] = a[1] = 1;
}",
        "f.c:5:10: an assignment inside of an expression: `a[1] = 1`; make it a statement",
    ),
    (
        "an increment in an expression",
        r"void f(uint8_t a[4], uint8_t x) {
  a[0] = x++;
}",
        "f.c:5:10: an assignment inside of an expression: `x++`; make it a statement",
    ),
    (
        "a comma",
        r"void f(uint8_t a[4]) {
  a[0] = (1, 2);
}",
        "f.c:5:11: a comma: `1, 2`; use statements",
    ),
    (
        "sizeof",
        r"void f(uint8_t a[4]) {
  a[0] = sizeof(a);
}",
        "f.c:5:10: `sizeof`: `sizeof(a)`; use a macro for the length",
    ),
    (
        "a text",
        r"void f(uint8_t a[4]) {
  a[0] = 'x';
}",
        "f.c:5:10: a string or character: `'x'`; use numbers",
    ),
    (
        "a statement without effect",
        r"void f(uint8_t a[4]) {
  a[0];
}",
        "f.c:5:3: `a[0]` has no effect; assign its value to a variable",
    ),
    (
        "a syntax error",
        r"void f(uint8_t a[4]) {
  a[0] = ;
}",
        "f.c:5:8: a syntax error near `=`; write C that a C compiler accepts",
    ),
    (
        "a return before the end",
        r"uint8_t f(uint8_t a[4]) {
  return a[1];
  a[0] = 1;
}",
        "f.c:5:3: a `return` before the end; return at the end",
    ),
];

/// Bounds.
pub(super) const BOUNDS: &[Case] = &[
    (
        "a literal of more than 64 bits",
        r"void f(uint8_t a[4]) {
  a[0] = 18446744073709551616;
}",
        "f.c:5:10: number `18446744073709551616`; use a decimal or hexadecimal number of up to 64 bits",
    ),
    (
        "an octal literal",
        r"void f(uint8_t a[4]) {
  a[0] = 010;
}",
        "f.c:5:10: number `010`; use a decimal or hexadecimal number of up to 64 bits",
    ),
    (
        "a literal of many digits",
        r"void f(uint8_t a[4]) {
  a[0] = 999999999999999999999999999999999999999999999999999999999999;
}",
        "f.c:5:10: number `9999999999999999999999999999999999999999…`; use a decimal or hexadecimal number of up to 64 bits",
    ),
    (
        "a value of loop variables beyond 63 bits",
        r"void f(uint64_t a[8]) {
  for (uint64_t i = 0; i < 8; i++) a[i] = (i + 1) * 0x7fffffffffffffff;
}",
        "f.c:5:43: a value of more than 63 bits that depends on loop variables alone; use smaller steps and factors",
    ),
    (
        "a value beyond 127 bits",
        r"void f(uint64_t a[8], uint64_t x) {
  unsigned __int128 y = x;
  a[0] = y * x * x & 1;
}",
        "f.c:6:10: a value of more than 127 bits; use narrower operands, or assert their ranges",
    ),
    (
        "too many operations",
        r"void f(uint64_t a[64]) {
  for (unsigned i = 0; i < 2; i++) {
#pragma HLS pipeline
    uint64_t x = a[i];
    for (unsigned k = 0; k < 40000; k++) x = (x ^ k) >> 1;
    a[i] = x;
  }
}",
        "f.c:8:51: more than 65536 operations; unroll less",
    ),
    (
        "too many statements",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 2; i++) {
#pragma HLS pipeline
    for (unsigned k = 0; k < 1000; k++)
      for (unsigned m = 0; m < 1000; m++) ;
    a[i] = 1;
  }
}",
        "f.c:8:7: more than 262144 statements after unrolling; unroll less",
    ),
    (
        "too many accesses",
        r"void f(uint8_t a[2]) {
#pragma HLS array_partition variable=a complete
  for (unsigned i = 0; i < 4194304; i++) {
#pragma HLS pipeline
    a[0] = a[1] ^ 1;
    a[1] = a[0];
    a[0] = a[1] ^ 3;
  }
}",
        "f.c:6:3: 4 accesses in each of 4194304 iterations; unroll less, or use fewer iterations",
    ),
    (
        "a longer interval than can be",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline II=4097
    a[i] = 1;
  }
}",
        "f.c:6:1: pragma pipeline: ii=4097; use 1 to 4096",
    ),
];
