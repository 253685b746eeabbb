// Transforms by Cooley-Tukey butterflies.
#include "ntt.h"

// The cyclic transform, from bit-reversed to natural order.
void ntt_ct(word_t a[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
  static word_t w[N / 2];
  powers(w, 0);
  cooley_tukey(a, w, 0);
}

// Its inverse, from bit-reversed to natural order.
void intt_ct(word_t a[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
  static word_t w[N / 2];
  powers(w, 1);
  cooley_tukey(a, w, 1);
}
