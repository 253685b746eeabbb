// The cyclic transform of N words by Cooley-Tukey butterflies, from bit-reversed to natural order. With INVERSE, its inverse.
//
// The order of A. El-Kady et al., "High-Level Synthesis design approach for Number-Theoretic Transform Implementations"
// (VLSI-SoC 2021), with banks for B butterflies an iteration.
#include "ntt.h"

// a[bank(x)][row(x)] is word x, below Q.
void ntt_ct(word_t a[BANKS][N / BANKS]) {
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
        unsigned e = rotate(2 * (s + b), i), o = rotate(2 * (s + b) + 1, i);
        word_t u = a[bank(e)][row(e)], v = a[bank(o)][row(o)];
        assert(u < Q);
        assert(v < Q);
        word_t t = times(v, w[(s + b) >> (LOG_N - 1 - i) << (LOG_N - 1 - i)]);
        even[b] = sum(u, t);
        odd[b] = sum(u, Q - t);
      }
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), i), o = rotate(2 * (s + b) + 1, i);
        a[bank(e)][row(e)] = even[b];
        a[bank(o)][row(o)] = odd[b];
      }
    }
  }
}
