// The product of two polynomials modulo x^N - 1, without a step that reverses bits.
#include "ntt.h"

// a and b are coefficients, word x at [bank(x)][row(x)]. The product is left in a; b is left as its transform.
void product(word_t a[BANKS][N / BANKS], word_t b[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
#pragma HLS array_partition variable=b complete dim=1
  static word_t w[N / 2], inverse[N / 2];
  powers(w, 0);
  powers(inverse, 1);
  gentleman_sande(a, w, 0);
  gentleman_sande(b, w, 0);
POINTS:
  for (unsigned r = 0; r < N / BANKS; r++) {
#pragma HLS pipeline II=1
    for (unsigned k = 0; k < BANKS; k++) {
      assert(a[k][r] < Q);
      assert(b[k][r] < Q);
      a[k][r] = times(a[k][r], b[k][r]);
    }
  }
  cooley_tukey(a, inverse, 1);
}
