// Products of two polynomials modulo x^N - 1.
#include "ntt.h"

// Gentleman-Sande transforms and a Cooley-Tukey inverse: no step reverses bits. a and b are coefficients, word x at
// [bank(x)][row(x)]. The product is left in a; b is left as its transform.
void product(word_t a[BANKS][N / BANKS], word_t b[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
#pragma HLS array_partition variable=b complete dim=1
  static word_t w[N / 2], inverse[N / 2];
  powers(w, 0);
  powers(inverse, 1);
  gentleman_sande(a, w, 0);
  gentleman_sande(b, w, 0);
  points(a, b);
  cooley_tukey(a, inverse, 1);
}

// `to` becomes `from` in bit-reversed order. An iteration moves neighbours, which are in different banks. Their reversed
// indices are in different banks as well.
static void reverse(word_t from[BANKS][N / BANKS], word_t to[BANKS][N / BANKS]) {
REVERSE:
  for (unsigned x = 0; x < N; x += BANKS) {
#pragma HLS pipeline II=1
    for (unsigned k = 0; k < BANKS; k++) {
      unsigned y = reversed(x + k, LOG_N);
      word_t moved = from[bank(x + k)][row(x + k)];
      assert(moved < Q);
      to[bank(y)][row(y)] = moved;
    }
  }
}

// The same product by Cooley-Tukey transforms alone, each of which needs its input in bit-reversed order.
void product_reversed(word_t a[BANKS][N / BANKS], word_t b[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
#pragma HLS array_partition variable=b complete dim=1
  static word_t w[N / 2], inverse[N / 2];
  word_t c[BANKS][N / BANKS], d[BANKS][N / BANKS];
#pragma HLS array_partition variable=c complete dim=1
#pragma HLS array_partition variable=d complete dim=1
  powers(w, 0);
  powers(inverse, 1);
  reverse(a, c);
  cooley_tukey(c, w, 0);
  reverse(b, d);
  cooley_tukey(d, w, 0);
  points(c, d);
  reverse(c, a);
  cooley_tukey(a, inverse, 1);
}
