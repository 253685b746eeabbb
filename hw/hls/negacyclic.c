// Polynomials modulo x^N + 1 over a prime Q with 2N dividing Q - 1, as in Dilithium and homomorphic encryption.
#ifndef Q
#define Q 8380417
#endif
#include "sizes.h"

#if Q == 8380417 && !defined(GENERATOR)
// Its power (Q - 1) / 512 is 1753, the root of FIPS 204.
#define GENERATOR 874
#endif
#include "negacyclic.h"

// The transform, from natural to bit-reversed order. Word x of a is at [bank(x)][row(x)].
void negacyclic(word_t a[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
  static word_t w[ROOTS];
  roots(w);
  transform(a, w);
}

// Its inverse.
void negacyclic_inverse(word_t a[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
  static word_t w[ROOTS];
  inverse_roots(w);
  inverse_transform(a, w);
}

// The product of a and b is left in a; b is left as its transform.
void negacyclic_product(word_t a[BANKS][N / BANKS], word_t b[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
#pragma HLS array_partition variable=b complete dim=1
  static word_t w[ROOTS], inverse[ROOTS];
  roots(w);
  inverse_roots(inverse);
  transform(a, w);
  transform(b, w);
POINTS:
  for (unsigned r = 0; r < N / BANKS; r++) {
#pragma HLS pipeline II=1
    for (unsigned k = 0; k < BANKS; k++) {
      assert(a[k][r] < Q);
      assert(b[k][r] < Q);
      a[k][r] = times(a[k][r], b[k][r]);
    }
  }
  inverse_transform(a, inverse);
}
