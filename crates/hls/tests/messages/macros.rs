//! Mistakes with the names and values of macros, and with conditions of the preprocessor.

use super::Case;

/// Values of macros.
pub(super) const VALUES: &[Case] = &[
    (
        "a macro whose value is a sum",
        r"#define A 1 + 2
void f(uint8_t a[4]) {
  a[0] = A * 3;
}",
        "f.c:6:10: macro A: its value `1 + 2` has operators outside of parentheses; put its value into parentheses",
    ),
    (
        "a macro whose value is a selection",
        r"#define A a[1] ? 1 : 2
void f(uint8_t a[4]) {
  a[0] = 3 ^ A;
}",
        "f.c:6:14: macro A: its value `a[1] ? 1 : 2` has operators outside of parentheses; put its value into parentheses",
    ),
    (
        "a macro whose value is a sum in a condition",
        r"#define A 1 + 2
#if A * 3 == 9
#endif
void f(uint8_t a[4]) {
  a[0] = 1;
}",
        "f.c:5:5: macro A: its value `1 + 2` has operators outside of parentheses; put its value into parentheses",
    ),
    (
        "a macro in the value of another one",
        r"#define A 1 + 2
#define C (A * 3)
void f(uint8_t a[4]) {
  a[0] = C;
}",
        "f.c:7:10: macro A: its value `1 + 2` has operators outside of parentheses; put its value into parentheses",
    ),
    (
        "macros whose values are whole",
        r"#define A 3
#define C (A + 2)
#define D (uint8_t)C
#define E ~D
#define F g(A)
#define G a[1]
static uint8_t g(uint8_t x) { return x; }
void f(uint8_t a[4]) {
  a[0] = A * C ^ D * 2 ^ (E & 7) ^ F ^ G;
}",
        "accepted",
    ),
];

/// Names of macros.
pub(super) const NAMES: &[Case] = &[
    (
        "a variable with the name of a macro",
        r"#define x y
void f(uint8_t a[4]) {
  uint8_t y = 1;
  { uint8_t x = 2; a[0] = y; }
}",
        "f.c:7:13: `x` is the name of a macro as well; rename it",
    ),
    (
        "a parameter with the name of a macro",
        r"#define a c
void f(uint8_t a[4]) {
  c[0] = 1;
}",
        "f.c:5:16: `a` is the name of a macro as well; rename it",
    ),
    (
        "a variable of a loop with the name of a macro",
        r"#define i k
void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) a[i] = 1;
}",
        "f.c:6:17: `i` is the name of a macro as well; rename it",
    ),
    (
        "an array with the name of a macro",
        r"#define a c
void f(uint8_t c[4]) {
  a[0] = 1;
}",
        "f.c:6:3: `a` is the name of a macro as well; rename it",
    ),
    (
        "a function with the name of a macro",
        r"#define g h
static uint8_t g(uint8_t x) { return x; }
void f(uint8_t a[4]) {
  a[0] = 1;
}",
        "f.c:5:16: `g` is the name of a macro as well; rename it",
    ),
    (
        "a call of a macro",
        r"#define g h
static uint8_t h(uint8_t x) { return x; }
void f(uint8_t a[4]) {
  a[0] = g(1);
}",
        "f.c:7:10: `g` is the name of a macro as well; rename it",
    ),
    (
        "a label with the name of a macro",
        r"#define L M
void f(uint8_t a[4]) {
L:
  for (unsigned i = 0; i < 4; i++) a[i] = 1;
}",
        "f.c:6:1: `L` is the name of a macro as well; rename it",
    ),
    (
        "a type with the name of a macro",
        r"typedef uint8_t word;
#define word uint16_t
void f(word a[4]) {
  a[0] = 1;
}",
        "f.c:6:8: `word` is the name of a macro as well; rename it",
    ),
    (
        "a macro with the name of a type",
        r"#define uint8_t uint16_t
void f(uint8_t a[4]) {
  a[0] = 1;
}",
        "f.c:4:9: macro uint8_t has a name of C and its headers; rename it",
    ),
    (
        "a macro with the name of a limit",
        r"#define UINT8_MAX 7
void f(uint8_t a[4]) {
  a[0] = UINT8_MAX;
}",
        "f.c:4:9: macro UINT8_MAX has a name of C and its headers; rename it",
    ),
];

/// Conditions.
pub(super) const CONDITIONS: &[Case] = &[
    (
        "a limit in a condition",
        r"#if UINT8_MAX == 255
#endif
void f(uint8_t a[4]) { a[0] = 1; }",
        "f.c:4:5: `UINT8_MAX` in a condition is a name for compilers and their headers; use a macro with another name",
    ),
    (
        "a macro of a compiler",
        r"#ifdef __GNUC__
#endif
void f(uint8_t a[4]) { a[0] = 1; }",
        "f.c:4:8: `__GNUC__` in a condition is a name for compilers and their headers; use a macro with another name",
    ),
    (
        "a macro of a tool",
        r"#ifndef __SYNTHESIS__
#endif
void f(uint8_t a[4]) { a[0] = 1; }",
        "f.c:4:9: `__SYNTHESIS__` in a condition is a name for compilers and their headers; use a macro with another name",
    ),
    (
        "a macro of a system",
        r"#if defined(linux) || defined(N)
#endif
void f(uint8_t a[4]) { a[0] = 1; }",
        "f.c:4:13: `linux` in a condition is a name for compilers and their headers; use a macro with another name",
    ),
    (
        "an unsigned number below zero",
        r"#if 0u - 1 > 0
#endif
void f(uint8_t a[4]) { a[0] = 1; }",
        "f.c:4:5: `0u - 1` in an #if mixes unsigned numbers with a number below zero; remove the suffix `u`, or use greater numbers",
    ),
    (
        "a comparison of unsigned numbers with a number below zero",
        r"#define LESS (2 - 3)
#if LESS < 1u
#endif
void f(uint8_t a[4]) { a[0] = 1; }",
        "f.c:5:5: `LESS < 1u` in an #if mixes unsigned numbers with a number below zero; remove the suffix `u`, or use greater numbers",
    ),
    (
        "a number of more than 63 bits",
        r"#if 0x4000000000000000 * 2 > 0
#endif
void f(uint8_t a[4]) { a[0] = 1; }",
        "f.c:4:5: `0x4000000000000000 * 2` in an #if has more than 63 bits; use smaller numbers",
    ),
    (
        "a division by zero in a condition",
        r"#if 1 / 0
#endif
void f(uint8_t a[4]) { a[0] = 1; }",
        "f.c:4:5: `1 / 0` in an #if; compare macros and constants",
    ),
    (
        "an alternative that is not supported",
        r"#ifdef N
#elifdef M
#endif
void f(uint8_t a[4]) { a[0] = 1; }",
        "f.c:5:1: directive `#elifdef M`; use `#elif defined(…)`, or `#else`",
    ),
    (
        "conditions that hold as in C",
        r"#define N 4
#define SMALL (N < 5u)
#define LARGE (N > 2 ? 0 : 1)
# ifndef N
#error `# ifndef` is not `#ifdef`
# endif
#if 2 - 3 > 0 || !SMALL || 0xffffffff + 1 != 4294967296 || UNKNOWN || LARGE
#error a condition
#endif
#undef N // a comment
#ifdef N
#error `#undef` with a comment
#endif
void f(uint8_t a[4]) { a[0] = 1; }",
        "accepted",
    ),
];
