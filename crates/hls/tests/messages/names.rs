//! Mistakes with functions, types and names.

use super::Case;

/// Functions.
pub(super) const FUNCTIONS: &[Case] = &[
    (
        "two functions of a name",
        r"static uint8_t g(uint8_t x) { return x; }
static uint8_t g(uint8_t x) { return x ^ 1; }
void f(uint8_t a[4]) { a[0] = g(a[1]); }",
        "f.c:5:16: `g` is declared twice in a scope, first at f.c:4:16; rename one of the two, or remove it",
    ),
    (
        "a function with the name of a constant",
        r"static const uint8_t g[2] = {1, 2};
void g(uint8_t a[4]) { a[0] = 1; }
void f(uint8_t a[4]) { g(a); }",
        "f.c:5:6: `g` is declared twice in a scope, first at f.c:4:22; rename one of the two, or remove it",
    ),
    (
        "a parameter with the name of a type",
        r"typedef uint8_t y;
static uint32_t g(uint32_t y, uint32_t x) { return (y) + (y) * (x); }
void f(uint32_t a[4]) { a[0] = g(300, 2); }",
        "f.c:5:28: `y` is the name of a type as well; rename it",
    ),
    (
        "a macro with the name of a type",
        r"typedef uint8_t word;
#define word uint16_t
void f(uint32_t a[4]) { a[0] = (word)(a[1]); }",
        "f.c:6:33: `word` is the name of a macro as well; rename it",
    ),
    (
        "a variable with the name of a parameter",
        r"void f(uint8_t a[4], uint8_t x) {
  uint8_t x = 1;
  a[0] = x;
}",
        "f.c:5:11: `x` is declared twice in a scope, first at f.c:4:30; rename one of the two, or remove it",
    ),
    (
        "two loops with a label",
        r"void f(uint8_t a[4]) {
X:
  for (unsigned i = 0; i < 4; i++) a[i] = 1;
X:
  for (unsigned i = 0; i < 4; i++) a[i] = 2;
}",
        "f.c:8:3: `X` is declared twice in a scope, first at f.c:6:3; rename one of the two, or remove it",
    ),
    (
        "a write to a constant array",
        r"void f(const uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) a[i] = 1;
}",
        "f.c:5:36: `a` is a constant; remove its `const`, or assign to another variable",
    ),
    (
        "an assignment to a constant parameter",
        r"void f(uint8_t a[4], const uint8_t x) {
  x += 1;
  a[0] = x;
}",
        "f.c:5:3: `x` is a constant; remove its `const`, or assign to another variable",
    ),
    (
        "a function that returns no value",
        r"uint8_t f(uint8_t a) {
  a = 3;
}",
        "f.c:4:9: `f` returns no value; return one at its end",
    ),
    (
        "a return without a value",
        r"uint8_t f(uint8_t a) {
  a = 3;
  return;
}",
        "f.c:4:9: `f` returns no value; return one at its end",
    ),
    (
        "recursion",
        r"static uint8_t g(uint8_t x) { return x ? g(x / 2) : 0; }
void f(uint8_t a[4]) {
  a[0] = g(a[1]);
}",
        "f.c:4:42: `g` calls itself; use a loop",
    ),
    (
        "recursion of two functions",
        r"static uint8_t h(uint8_t x);
static uint8_t g(uint8_t x) { return h(x); }
static uint8_t h(uint8_t x) { return g(x); }
void f(uint8_t a[4]) {
  a[0] = g(a[1]);
}",
        "f.c:6:38: `g` calls itself; use a loop",
    ),
    (
        "recursion of a constant",
        r"static unsigned g(unsigned x) { return g(x); }
void f(uint8_t a[4]) {
  for (unsigned i = 0; i < g(1); i++) a[0] = 1;
}",
        "f.c:4:40: `g` is called inside of more than 64 calls; use a loop in place of recursion",
    ),
    (
        "a parameter with the name of the clock",
        r"void f(uint8_t clk[4]) {
  clk[0] = 1;
}",
        "f.c:4:16: `clk` is a name of the module's own signals; rename it",
    ),
    (
        "a parameter with the name of a signal of a kernel",
        r"void f(uint8_t k0_x0[4]) {
  k0_x0[0] = 1;
}",
        "f.c:4:16: `k0_x0` begins with `k0`, as the module's own signals do; rename it",
    ),
    (
        "a parameter with the name of a port of another one",
        r"void f(uint8_t a_en, uint8_t a[4]) {
  a[0] = a_en;
}",
        "f.c:4:16: `a_en` is a name of the ports of `a`; rename it",
    ),
    (
        "a parameter with the name of the returned value",
        r"uint8_t f(uint8_t result) {
  uint8_t x = result ^ 1;
  return x;
}",
        "f.c:4:19: `result` is the name of the returned value; rename it",
    ),
    (
        "a function that does nothing",
        r"void f(uint8_t a[4]) {
}",
        "f.c:4:6: `f` does nothing; write to an array, or return a value",
    ),
    (
        "a function that does not exist",
        r"void f(uint8_t a[4]) {
  a[0] = g(1);
}",
        "f.c:5:10: no function `g`; define it; the source has f",
    ),
    (
        "an argument too many",
        r"static uint8_t g(uint8_t x) { return x; }
void f(uint8_t a[4]) {
  a[0] = g(1, 2);
}",
        "f.c:6:10: 2 arguments of `g`, which has 1 parameters; give one argument for each parameter",
    ),
    (
        "an array of other lengths",
        r"static void g(uint8_t b[8]) { b[0] = 1; }
void f(uint8_t a[4]) {
  g(a);
}",
        "f.c:6:5: `a` has the lengths [4], not [8]; give an array for `b`",
    ),
    (
        "a function without a result",
        r"static void g(uint8_t x) { }
void f(uint8_t a[4]) {
  a[0] = g(1);
}",
        "f.c:6:10: `g` returns no value; return one",
    ),
    (
        "a return on one way",
        r"static uint8_t g(uint8_t x) { if (x) return 1; }
void f(uint8_t a[4]) {
  a[0] = g(a[1]);
}",
        "f.c:4:31: a `return` on one of two ways; return on both",
    ),
    (
        "a call through a pointer",
        r"void f(uint8_t a[4]) {
  a[0] = (*g)(1);
}",
        "f.c:5:10: a call through a pointer; call a function by its name",
    ),
];

/// Types and declarations.
pub(super) const TYPES: &[Case] = &[
    (
        "a pointer parameter",
        r"void f(uint8_t *a) {
  a[0] = 1;
}",
        "f.c:4:16: a pointer; use an array with its length, such as `a[N]`",
    ),
    (
        "a pointer that is followed",
        r"void f(uint8_t a[4]) {
  *a = 1;
}",
        "f.c:5:3: a pointer: `*a`; use an array and an index",
    ),
    (
        "an address",
        r"void f(uint8_t a[4]) {
  a[0] = &a[1];
}",
        "f.c:5:10: a pointer: `&a[1]`; use an array and an index",
    ),
    (
        "a float",
        r"void f(float a[4]) {
  a[0] = 1;
}",
        "f.c:4:8: type `float`; use integers; a fixed-point number is an integer",
    ),
    (
        "a double",
        r"void f(uint8_t a[4]) {
  double x = 1;
}",
        "f.c:5:3: type `double`; use integers; a fixed-point number is an integer",
    ),
    (
        "a number with a fraction",
        r"void f(uint8_t a[4]) {
  a[0] = 1.5;
}",
        "f.c:5:10: number `1.5` has a fraction; use integers; a fixed-point number is an integer",
    ),
    (
        "a signed variable",
        r"void f(uint8_t a[4]) {
  int x = 1;
  a[0] = x;
}",
        "f.c:5:3: type `int`; use uint8_t, uint16_t, uint32_t, uint64_t, unsigned or unsigned __int128",
    ),
    (
        "a signed loop variable",
        r"void f(uint8_t a[4]) {
  for (int i = 0; i < 4; i++) a[i] = 1;
}",
        "f.c:5:8: type `int`; use uint8_t, uint16_t, uint32_t, uint64_t, unsigned or unsigned __int128",
    ),
    (
        "a signed parameter",
        r"void f(int16_t a[4]) {
  a[0] = 1;
}",
        "f.c:4:8: type `int16_t`; use uint8_t, uint16_t, uint32_t, uint64_t, unsigned or unsigned __int128",
    ),
    (
        "a type of the machine",
        r"void f(unsigned long a[4]) {
  a[0] = 1;
}",
        "f.c:4:8: type `unsigned long`; use uint64_t, as the bits of this type depend on the machine",
    ),
    (
        "a structure",
        r"struct s { uint8_t x; };
void f(uint8_t a[4]) {
  a[0] = 1;
}",
        "f.c:4:1: `struct s { uint8_t x; }` outside of a function; use only constants, types and functions there",
    ),
    (
        "a volatile array",
        r"void f(volatile uint8_t a[4]) {
  a[0] = 1;
}",
        "f.c:4:8: `volatile`; remove it",
    ),
    (
        "an array without a length",
        r"void f(uint8_t a[]) {
  a[0] = 1;
}",
        "f.c:4:16: an array without its length; state the length",
    ),
    (
        "an array of no element",
        r"void f(uint8_t a[0]) {
  a[0] = 1;
}",
        "f.c:4:18: a length of 0; use 1 to 4194304",
    ),
    (
        "an array that is too long",
        r"void f(uint8_t a[4194305]) {
  a[0] = 1;
}",
        "f.c:4:18: a length of 4194305; use 1 to 4194304",
    ),
    (
        "an array of variable length",
        r"void f(uint8_t n, uint8_t a[n]) {
  a[0] = 1;
}",
        "f.c:4:29: the length of `a` is not a constant; use a constant or a macro",
    ),
    (
        "a variable outside of functions",
        r"uint8_t x;
void f(uint8_t a[4]) {
  a[0] = 1;
}",
        "f.c:4:9: `x` is a variable outside of a function; make it `const`, or declare it in a function",
    ),
    (
        "a variable that keeps its value",
        r"void f(uint8_t a[4]) {
  static uint8_t x = 0;
  x ^= 1;
  a[0] = x;
}",
        "f.c:5:18: `x` keeps its value from call to call; remove `static`",
    ),
];

/// Names.
pub(super) const NAMES: &[Case] = &[
    (
        "an unknown variable",
        r"void f(uint8_t a[4]) {
  a[0] = x;
}",
        "f.c:5:10: `x` is not declared; declare it, or define it as a macro",
    ),
    (
        "an unknown array",
        r"void f(uint8_t a[4]) {
  b[0] = 1;
}",
        "f.c:5:3: `b` is not declared; declare it, or define it as a macro",
    ),
    (
        "a name beyond ASCII",
        r"void f(uint8_t ä[4]) {
  ä[0] = 1;
}",
        "f.c:4:16: `ä` has other characters than ASCII letters, digits and `_`; rename it",
    ),
    (
        "a name with a dollar",
        r"void f(uint8_t a$1[4]) {
  a$1[0] = 1;
}",
        "f.c:4:16: `a$1` has other characters than ASCII letters, digits and `_`; rename it",
    ),
];
