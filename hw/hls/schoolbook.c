// The product of two polynomials modulo x^LENGTH + 1, one coefficient of a in each cycle.
//
// Each of the LENGTH sums has its own multiplier. b is in registers and is multiplied by x in each cycle. Coefficient j of
// x^i * b therefore meets sum j when coefficient i of a arrives.
#include "modulus.h"

#ifndef LENGTH
#define LENGTH 16
#endif

void schoolbook(word_t a[LENGTH], word_t b[LENGTH], word_t c[LENGTH]) {
#pragma HLS interface axis port=a
#pragma HLS interface axis port=c
#pragma HLS array_partition variable=b complete
  word_t turned[LENGTH], sums[LENGTH];
#pragma HLS array_partition variable=turned complete
#pragma HLS array_partition variable=sums complete
TERMS:
  for (unsigned i = 0; i < LENGTH; i++) {
#pragma HLS pipeline II=1
    word_t x = a[i], now[LENGTH];
    assert(x < Q);
    for (unsigned j = 0; j < LENGTH; j++) {
      now[j] = i == 0 ? b[j] : turned[j];
      assert(now[j] < Q);
    }
    for (unsigned j = 0; j < LENGTH; j++) {
      word_t s = i == 0 ? 0 : sums[j];
      assert(s < Q);
      word_t term = times(x, now[j]);
      // Computed before the sum, which must be ready for the next term within a cycle.
      word_t rest = Q - term;
      word_t more = s >= rest ? s - rest : s + term;
      assert(more < Q);
      sums[j] = more;
      turned[j] = j > 0 ? now[j - 1] : now[LENGTH - 1] ? Q - now[LENGTH - 1] : 0;
    }
  }
RESULTS:
  for (unsigned j = 0; j < LENGTH; j++) {
#pragma HLS pipeline II=1
    c[j] = sums[j];
  }
}
