//! A source that keeps to the rules, and mutations that do not.

/// A source that keeps to all rules.
pub(crate) const GOOD: &str = "#include <assert.h>
#include <stdint.h>
#define N 16
#define Q 3329
typedef uint16_t word_t;

static word_t times(word_t x, word_t y) { return (uint32_t)x * y % Q; }

void scale(word_t a[N], word_t b[N]) {
#pragma HLS interface ap_memory port=b
#pragma HLS array_partition variable=a cyclic factor=2 dim=1
  word_t c[N];
#pragma HLS bind_storage variable=c type=ram_s2p
LOOP:
  for (unsigned i = 0; i < N; i += 2) {
#pragma HLS pipeline II=1
#pragma HLS dependence variable=a inter false
    word_t x = a[i];
    assert(x < Q);
    c[i] = x;
    a[i] = times(x, 17);
  }
  for (unsigned i = 0; i < N; i += 2) b[i] = c[i];
}
";

/// The mistake, the text that is replaced, its replacement, and the violated rule.
pub(crate) const MUTATIONS: &[(&str, &str, &str, &str)] = &[
    ("an unknown pragma", "HLS pipeline II=1", "HLS pipelined II=1", "pragma form"),
    ("an unknown setting", "HLS pipeline II=1", "HLS pipeline interval=1", "pragma form"),
    ("a value that is not a number", "HLS pipeline II=1", "HLS pipeline II=fast", "pragma form"),
    ("a partition without a variable", "array_partition variable=a", "array_partition", "pragma form"),
    ("a block partition without a factor", "cyclic factor=2", "block", "pragma form"),
    ("a complete partition with a factor", "cyclic factor=2", "complete factor=2", "pragma form"),
    ("an unknown memory", "type=ram_s2p", "type=ram_3p", "pragma form"),
    ("a dependence without a truth value", "inter false", "inter", "pragma form"),
    ("another tool's pragma", "#pragma HLS pipeline II=1", "#pragma omp parallel", "pragma form"),
    (
        "a partition of an array of another function",
        "array_partition variable=a",
        "array_partition variable=z",
        "pragma place",
    ),
    ("a pragma outside of functions", "typedef", "#pragma HLS pipeline II=1\ntypedef", "pragma place"),
    (
        "a pipeline in a branch",
        "    c[i] = x;",
        "    if (x) {\n#pragma HLS pipeline\n      c[i] = x;\n    }",
        "pragma place",
    ),
    ("a type of the machine", "typedef uint16_t", "typedef unsigned long", "types"),
    ("a structure", "typedef uint16_t word_t;", "typedef uint16_t word_t;\nstruct pair { word_t x; };", "types"),
    ("recursion", "return (uint32_t)x * y % Q;", "return y ? times(x, y - 1) : x;", "recursion"),
    ("a pointer to a pointer", "word_t b[N]) {", "word_t **b) {", "pointers"),
    ("a pointer to a function", "word_t b[N]) {", "word_t b[N], word_t (*g)(word_t)) {", "pointers"),
    ("memory from the heap", "word_t c[N];", "word_t *c = malloc(2 * N);", "dynamic memory"),
    ("a system call", "    c[i] = x;", "    c[i] = time(0);", "system calls"),
    ("a header of the system", "#include <stdint.h>", "#include <stdint.h>\n#include <stdio.h>", "system calls"),
    ("an array of variable length", "word_t c[N];", "unsigned n = N;\n  word_t c[n];", "array lengths"),
    ("an array without a length", "word_t b[N]) {", "word_t b[]) {", "array lengths"),
    ("a bound that depends on data", "i < N; i += 2) {", "i < b[0]; i += 2) {", "trip counts"),
    ("a while loop", "    c[i] = x;", "    while (x > 3) x -= 3;", "trip counts"),
    ("a jump", "    c[i] = x;", "    if (x) goto LOOP;", "jumps"),
    ("a word of C++", "word_t x = a[i];", "word_t x = a[i], class = x;", "words of C++"),
    ("an assertion with an effect", "assert(x < Q)", "assert(x++ < Q)", "assertions"),
    ("an assertion that is no range", "assert(x < Q)", "assert(times(x, x))", "assertions"),
    ("assertions without their header", "#include <assert.h>\n", "", "assertions"),
    ("a static top function", "void scale", "static void scale", "top function"),
    ("an interface of a variable", "interface ap_memory port=b", "interface ap_memory port=c", "top function"),
    ("an interface that arrays do not have", "interface ap_memory port=b", "interface ap_none port=b", "top function"),
];
