// Transforms of the ring of polynomials modulo x^N + 1, in LAYERS layers.
//
// With LOG_N layers the ring is a product of fields. With one layer less, as in Kyber, it is a product of rings of
// polynomials of degree 1.
#pragma once

#include "modulus.h"

#ifndef LAYERS
#define LAYERS LOG_N
#endif
// Factors: the powers of a root of order 2^(LAYERS + 1).
#define ROOTS (1 << LAYERS)
#if (Q - 1) % (2 << LAYERS) != 0
#error "2^(LAYERS + 1) must divide Q - 1"
#endif

// The powers of a root of order 2 * ROOTS in bit-reversed order.
static void roots(word_t w[ROOTS]) {
  word_t root = power(GENERATOR, (Q - 1) / (2 * ROOTS));
  // A root of order 2 * ROOTS; otherwise GENERATOR does not generate the units.
  word_t half = power(root, ROOTS);
  assert(half == Q - 1);
  word_t next = 1;
  for (unsigned i = 0; i < ROOTS; i++) {
    w[reversed(i, LAYERS)] = next;
    next = times(next, root);
  }
}

// The same of the root's inverse.
static void inverse_roots(word_t w[ROOTS]) {
  word_t root = power(power(GENERATOR, (Q - 1) / (2 * ROOTS)), Q - 2);
  word_t next = 1;
  for (unsigned i = 0; i < ROOTS; i++) {
    w[reversed(i, LAYERS)] = next;
    next = times(next, root);
  }
}

// Word x is at a[bank(x)][row(x)]. Words are below Q before and after.

// Cooley-Tukey butterflies, from natural to bit-reversed order (P. Longa, M. Naehrig, CANS 2016, Algorithm 1).
static void transform(word_t a[BANKS][N / BANKS], word_t w[ROOTS]) {
FORWARD_LAYERS:
  for (unsigned i = 0; i < LAYERS; i++) {
  FORWARD:
    for (unsigned s = 0; s < N / 2; s += B) {
#pragma HLS pipeline II=1
#pragma HLS dependence variable=a inter false
      word_t even[B], odd[B];
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), LOG_N - i - 1), o = rotate(2 * (s + b) + 1, LOG_N - i - 1);
        word_t u = a[bank(e)][row(e)], v = a[bank(o)][row(o)];
        assert(u < Q);
        assert(v < Q);
        word_t t = times(v, w[(1 << i) + (e >> (LOG_N - i))]);
        even[b] = sum(u, t);
        odd[b] = difference(u, t);
      }
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), LOG_N - i - 1), o = rotate(2 * (s + b) + 1, LOG_N - i - 1);
        a[bank(e)][row(e)] = even[b];
        a[bank(o)][row(o)] = odd[b];
      }
    }
  }
}

// Gentleman-Sande butterflies, from bit-reversed to natural order (the same, Algorithm 2). Each layer halves.
static void inverse_transform(word_t a[BANKS][N / BANKS], word_t w[ROOTS]) {
INVERSE_LAYERS:
  for (unsigned k = 0; k < LAYERS; k++) {
  INVERSE:
    for (unsigned s = 0; s < N / 2; s += B) {
#pragma HLS pipeline II=1
#pragma HLS dependence variable=a inter false
      unsigned i = LAYERS - 1 - k;
      word_t even[B], odd[B];
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), LOG_N - i - 1), o = rotate(2 * (s + b) + 1, LOG_N - i - 1);
        word_t u = a[bank(e)][row(e)], v = a[bank(o)][row(o)];
        assert(u < Q);
        assert(v < Q);
        even[b] = scaled(sum(u, v), 1);
        odd[b] = scaled(times(u + Q - v, w[(1 << i) + (e >> (LOG_N - i))]), 1);
      }
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), LOG_N - i - 1), o = rotate(2 * (s + b) + 1, LOG_N - i - 1);
        a[bank(e)][row(e)] = even[b];
        a[bank(o)][row(o)] = odd[b];
      }
    }
  }
}
