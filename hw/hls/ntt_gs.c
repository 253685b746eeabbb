// The cyclic transform of N words by Gentleman-Sande butterflies, from natural to bit-reversed order. With INVERSE, its inverse.
//
// The order of T. Sasaki and Y. Hara, Algorithm 2, with its rotation by l-i-1, the powers ((s+b) >> i) << i, and banks for B
// butterflies an iteration. docs/papers.md says where the paper differs.
#include "ntt.h"

// a[bank(x)][row(x)] is word x, below Q.
void ntt_gs(word_t a[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
  static word_t w[N / 2];
  powers(w);
STAGES:
  for (unsigned i = 0; i < LOG_N; i++) {
  BUTTERFLIES:
    for (unsigned s = 0; s < N / 2; s += B) {
#pragma HLS pipeline II=1
#pragma HLS dependence variable=a inter false
      word_t even[B], odd[B];
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), LOG_N - i - 1), o = rotate(2 * (s + b) + 1, LOG_N - i - 1);
        word_t u = a[bank(e)][row(e)], v = a[bank(o)][row(o)];
        assert(u < Q);
        assert(v < Q);
        even[b] = sum(u, v);
        odd[b] = scaled(times(u + Q - v, w[(s + b) >> i << i]));
      }
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), LOG_N - i - 1), o = rotate(2 * (s + b) + 1, LOG_N - i - 1);
        a[bank(e)][row(e)] = even[b];
        a[bank(o)][row(o)] = odd[b];
      }
    }
  }
}
