//! Mistakes with pragmas.

use super::Case;

/// Pragmas.
pub(super) const PRAGMAS: &[Case] = &[
    (
        "a pragma before the body of a loop",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++)
    #pragma HLS pipeline
    a[i] = 1;
}",
        "f.c:6:5: a pragma between a loop or a condition and its body; put braces around the body, and the pragma first into them",
    ),
    (
        "a pragma before the body of a condition",
        r"void f(uint8_t a[4]) {
  if (a[0] > 1)
#pragma HLS pipeline
    a[2] = 1;
}",
        "f.c:6:1: a pragma between a loop or a condition and its body; put braces around the body, and the pragma first into them",
    ),
    (
        "a pragma after a statement without its semicolon",
        r"void f(uint8_t a[4]) {
  a[0] = 1
#pragma HLS pipeline
  a[1] = 2;
}",
        "f.c:5:3: a syntax error near `a[0] = 1`; write C that a C compiler accepts",
    ),
    (
        "another pragma",
        r"void f(uint8_t a[4]) {
#pragma omp parallel
  a[0] = 1;
}",
        "f.c:5:1: pragma `omp` is not known; use `#pragma HLS …`, or remove it",
    ),
    (
        "an unknown pragma",
        r"void f(uint8_t a[4]) {
#pragma HLS dataflow
  a[0] = 1;
}",
        "f.c:5:1: pragma HLS `dataflow` is not supported; remove it, or use array_partition, pipeline, unroll, dependence, interface, bind_storage or inline",
    ),
    (
        "a pragma with an unknown setting",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline II=1 rewind
    a[i] = 1;
  }
}",
        "f.c:6:1: pragma pipeline: `rewind` is not supported; remove it",
    ),
    (
        "a pragma with a setting in two forms",
        r"void f(uint8_t a[4]) {
#pragma HLS array_partition variable=a block type=cyclic factor=2
  a[0] = 1;
}",
        "f.c:5:1: pragma array_partition: type=cyclic and `block`; use one of them",
    ),
    (
        "a pragma with a repeated setting",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline II=1 ii = 2
    a[i] = 1;
  }
}",
        "f.c:6:1: pragma pipeline: ii=1 and ii=2; use one ii",
    ),
    (
        "a pragma of an unknown variable",
        r"void f(uint8_t a[4]) {
#pragma HLS array_partition variable=b complete
  a[0] = 1;
}",
        "f.c:5:1: `b` is not declared; declare it, or define it as a macro",
    ),
    (
        "a pragma of a missing dimension",
        r"void f(uint8_t a[4]) {
#pragma HLS array_partition variable=a complete dim=2
  a[0] = 1;
}",
        "f.c:5:1: dimension 2 of `a`, which has 1; name an existing dimension",
    ),
    (
        "a partition of too many banks",
        r"void f(uint8_t a[4]) {
#pragma HLS array_partition variable=a cyclic factor=1025
  a[0] = 1;
}",
        "f.c:5:1: pragma array_partition: factor=1025; use 1 to 1024",
    ),
    (
        "an unroll factor",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS unroll factor=2
    a[i] = 1;
  }
}",
        "f.c:6:1: pragma unroll: `factor` is not supported, because a loop is unrolled completely; remove it, or split the loop into two and unroll the inner one",
    ),
    (
        "a pragma in the wrong place",
        r"void f(uint8_t a[4]) {
#pragma HLS pipeline
  a[0] = 1;
}",
        "f.c:5:1: a pragma of a loop outside of loops; put it first into the loop's body",
    ),
    (
        "a pragma inside of an iteration",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) {
    a[i] = 1;
#pragma HLS pipeline
  }
}",
        "f.c:7:1: a pragma inside of a kernel; put it after the declaration, or first into its loop",
    ),
    (
        "a dependence of an unknown variable",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS dependence variable=b inter false
    a[i] = 1;
  }
}",
        "f.c:6:1: `b` is not declared; declare it, or define it as a macro",
    ),
    (
        "a pipeline and another one",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline II=1
#pragma HLS pipeline II=2
    a[i] = 1;
  }
}",
        "f.c:7:1: a second pragma `pipeline` of a loop; use one of them",
    ),
    (
        "a pipeline that is unrolled",
        r"void f(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS unroll
#pragma HLS pipeline II=1
    a[i] = 1;
  }
}",
        "f.c:7:1: a pragma of a loop that is unrolled; remove it, or remove the pragma `unroll`",
    ),
    (
        "two partitions of a dimension",
        r"void f(uint8_t a[8]) {
#pragma HLS array_partition variable=a cyclic factor=2
#pragma HLS array_partition variable=a block factor=2
  a[0] = 1;
}",
        "f.c:6:1: a second, different partition of dimension 1 of `a`; use one of them",
    ),
    (
        "partitions of all dimensions and of the last one",
        r"void f(uint8_t a[4][4]) {
#pragma HLS array_partition variable=a complete dim=0
#pragma HLS array_partition variable=a block factor=2 dim=2
  a[0][0] = 1;
}",
        "f.c:6:1: a second, different partition of dimension 2 of `a`; use one of them",
    ),
    (
        "a partition that a function repeats",
        r"static void g(uint8_t b[4]) {
#pragma HLS array_partition variable=b cyclic factor=2
  for (unsigned i = 0; i < 4; i++) b[i] = i;
}
void f(uint8_t a[4]) {
#pragma HLS array_partition variable=a cyclic factor=2
  g(a);
  g(a);
}",
        "accepted",
    ),
    (
        "two storages of an array",
        r"void f(uint8_t a[8]) {
#pragma HLS bind_storage variable=a type=ram_s2p
#pragma HLS bind_storage variable=a type=ram_t2p
  a[0] = 1;
}",
        "f.c:6:1: a second, different storage of `a`; use one of them",
    ),
    (
        "two interfaces of an array",
        r"void f(uint8_t a[8]) {
#pragma HLS interface ap_memory port=a
#pragma HLS interface axis port=a
  a[0] = 1;
}",
        "f.c:6:1: a second, different interface of `a`; use one of them",
    ),
    (
        "the control of an array",
        r"void f(uint8_t a[4]) {
#pragma HLS interface ap_ctrl_hs port=a
  a[0] = 1;
}",
        "f.c:5:1: the interface `ap_ctrl_hs` of `a`, which is that of the function; use port=return, or the mode `ap_memory` or `axis`",
    ),
    (
        "the memory of a value",
        r"void f(uint8_t a[4], uint8_t x) {
#pragma HLS interface ap_memory port=x
  a[0] = x;
}",
        "f.c:5:1: `x` is a value, and not in a memory; make it an array, or remove the pragma `interface ap_memory`",
    ),
    (
        "the memory of a local array",
        r"void f(uint8_t a[4]) {
  uint8_t b[4];
#pragma HLS interface ap_memory port=b
  a[0] = 1;
}",
        "f.c:6:1: `b` is not a parameter; name a parameter",
    ),
    (
        "the interface of a function that is called",
        r"static void g(uint8_t b[4]) {
#pragma HLS interface ap_memory port=b
  for (unsigned i = 0; i < 4; i++) b[i] = i;
}
void f(uint8_t a[4]) {
  g(a);
}",
        "f.c:5:1: a pragma `interface` in `g`, which becomes part of `f`; put it into `f`",
    ),
];
