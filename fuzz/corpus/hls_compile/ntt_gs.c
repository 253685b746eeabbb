// Transforms by Gentleman-Sande butterflies.
#include "ntt.h"

// The cyclic transform, from natural to bit-reversed order.
void ntt_gs(word_t a[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
  static word_t w[N / 2];
  powers(w, 0);
  gentleman_sande(a, w, 0);
}

// Its inverse, from natural to bit-reversed order.
void intt_gs(word_t a[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
  static word_t w[N / 2];
  powers(w, 1);
  gentleman_sande(a, w, 1);
}
