// Sizes, arithmetic and banks of the transforms.
//
// N is the number of words, Q the prime, B the butterflies an iteration. Without -D they are the paper's.
#pragma once

#include <assert.h>
#include <stdint.h>

#ifndef N
#define N 256
#endif
#ifndef Q
#define Q 3329
#endif
#ifndef B
#define B 2
#endif

#if N == 64
#define LOG_N 6
#elif N == 128
#define LOG_N 7
#elif N == 256
#define LOG_N 8
#elif N == 512
#define LOG_N 9
#elif N == 1024
#define LOG_N 10
#elif N == 2048
#define LOG_N 11
#elif N == 4096
#define LOG_N 12
#else
#error "N must be a power of two from 64 to 4096"
#endif

#if B == 1
#define LOG_BANKS 1
#elif B == 2
#define LOG_BANKS 2
#elif B == 4
#define LOG_BANKS 3
#elif B == 8
#define LOG_BANKS 4
#elif B == 16
#define LOG_BANKS 5
#else
#error "B must be a power of two from 1 to 16"
#endif
#define BANKS (2 * B)

// A generator of the field's units, which a prime of one's own brings along.
#ifndef GENERATOR
#if Q == 3329
#define GENERATOR 3
#elif Q == 8380417
#define GENERATOR 10
#elif Q == 1073479681
#define GENERATOR 11
#else
#error "give a generator of the field: -D GENERATOR=..."
#endif
#endif
#if (Q - 1) % N != 0
#error "N must divide Q - 1"
#endif

// Words hold sums of two residues, wide_t their products.
#if Q < 32768
typedef uint16_t word_t;
typedef uint32_t wide_t;
#elif Q < 2147483648
typedef uint32_t word_t;
typedef uint64_t wide_t;
#else
#error "Q must be below 2^31"
#endif

#include "banks.h"

static word_t times(word_t x, word_t y) { return (wide_t)x * y % Q; }

// x^e.
static word_t power(word_t x, wide_t e) {
  word_t result = 1;
  for (unsigned i = 0; i < 32; i++) {
    result = e >> i & 1 ? times(result, x) : result;
    x = times(x, x);
  }
  return result;
}

static unsigned parity(unsigned x) {
  unsigned p = 0;
  for (unsigned i = 0; i < LOG_N; i++) p ^= x >> i & 1;
  return p;
}

// Where word x of a transform is: its bank, and its row there.
static unsigned bank(unsigned x) {
  unsigned found = 0;
  for (unsigned i = 0; i < LOG_BANKS; i++) found |= parity(x & bank_masks[i]) << i;
  return found;
}
static unsigned row(unsigned x) { return x >> LOG_BANKS; }

// x with its LOG_N bits turned to the left.
static unsigned rotate(unsigned x, unsigned by) { return (x << by | x >> (LOG_N - by)) & (N - 1); }

// The powers of the root, or of its inverse.
static void powers(word_t w[N / 2], unsigned inverse) {
  word_t root = power(GENERATOR, (Q - 1) / N);
  root = inverse ? power(root, Q - 2) : root;
  w[0] = 1;
  for (unsigned i = 1; i < N / 2; i++) w[i] = times(w[i - 1], root);
}

// Half of a residue if `halved`. The inverse transforms halve in every stage, so that they divide by N.
static word_t scaled(word_t x, unsigned halved) { return halved ? (x >> 1) + (x & 1 ? (Q + 1) / 2 : 0) : x; }

static word_t sum(word_t x, word_t y) {
  word_t s = x + y;
  return s >= Q ? s - Q : s;
}

// The transforms below work on word x at a[bank(x)][row(x)]. Words are below Q before and after. `w` are the powers, of the
// inverse if `inverse`.

// Gentleman-Sande butterflies, from natural to bit-reversed order. The loops are those of T. Sasaki and Y. Hara, Algorithm 2,
// with its rotation by l-i-1, the powers ((s+b) >> i) << i, and banks for B butterflies an iteration. docs/papers.md says
// where the paper differs.
static void gentleman_sande(word_t a[BANKS][N / BANKS], word_t w[N / 2], unsigned inverse) {
GS_STAGES:
  for (unsigned i = 0; i < LOG_N; i++) {
  GS_BUTTERFLIES:
    for (unsigned s = 0; s < N / 2; s += B) {
#pragma HLS pipeline II=1
#pragma HLS dependence variable=a inter false
      word_t even[B], odd[B];
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), LOG_N - i - 1), o = rotate(2 * (s + b) + 1, LOG_N - i - 1);
        word_t u = a[bank(e)][row(e)], v = a[bank(o)][row(o)];
        assert(u < Q);
        assert(v < Q);
        even[b] = scaled(sum(u, v), inverse);
        odd[b] = scaled(times(u + Q - v, w[(s + b) >> i << i]), inverse);
      }
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), LOG_N - i - 1), o = rotate(2 * (s + b) + 1, LOG_N - i - 1);
        a[bank(e)][row(e)] = even[b];
        a[bank(o)][row(o)] = odd[b];
      }
    }
  }
}

// Cooley-Tukey butterflies, from bit-reversed to natural order. The loops are those of A. El-Kady et al., "High-Level
// Synthesis design approach for Number-Theoretic Transform Implementations" (VLSI-SoC 2021), with banks as above.
static void cooley_tukey(word_t a[BANKS][N / BANKS], word_t w[N / 2], unsigned inverse) {
CT_STAGES:
  for (unsigned i = 0; i < LOG_N; i++) {
  CT_BUTTERFLIES:
    for (unsigned s = 0; s < N / 2; s += B) {
#pragma HLS pipeline II=1
#pragma HLS dependence variable=a inter false
      word_t even[B], odd[B];
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), i), o = rotate(2 * (s + b) + 1, i);
        word_t u = a[bank(e)][row(e)], v = a[bank(o)][row(o)];
        assert(u < Q);
        assert(v < Q);
        word_t t = times(v, w[(s + b) >> (LOG_N - 1 - i) << (LOG_N - 1 - i)]);
        even[b] = scaled(sum(u, t), inverse);
        odd[b] = scaled(sum(u, Q - t), inverse);
      }
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), i), o = rotate(2 * (s + b) + 1, i);
        a[bank(e)][row(e)] = even[b];
        a[bank(o)][row(o)] = odd[b];
      }
    }
  }
}
