// Cyclic transforms, and the product of two transforms.
#pragma once

#include "modulus.h"

#if (Q - 1) % N != 0
#error "N must divide Q - 1"
#endif

// The powers of the root, or of its inverse.
static void powers(word_t w[N / 2], unsigned inverse) {
  word_t root = power(GENERATOR, (Q - 1) / N);
  // A root of order N; otherwise GENERATOR does not generate the units.
  word_t half = power(root, N / 2);
  assert(half == Q - 1);
  root = inverse ? power(root, Q - 2) : root;
  w[0] = 1;
  for (unsigned i = 1; i < N / 2; i++) w[i] = times(w[i - 1], root);
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
        odd[b] = scaled(difference(u, t), inverse);
      }
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), i), o = rotate(2 * (s + b) + 1, i);
        a[bank(e)][row(e)] = even[b];
        a[bank(o)][row(o)] = odd[b];
      }
    }
  }
}

// Word by word, a becomes the product of a and b.
static void points(word_t a[BANKS][N / BANKS], word_t b[BANKS][N / BANKS]) {
POINTS:
  for (unsigned r = 0; r < N / BANKS; r++) {
#pragma HLS pipeline II=1
    for (unsigned k = 0; k < BANKS; k++) {
      assert(a[k][r] < Q);
      assert(b[k][r] < Q);
      a[k][r] = times(a[k][r], b[k][r]);
    }
  }
}
