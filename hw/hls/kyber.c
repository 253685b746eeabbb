// Kyber's ring: polynomials modulo x^256 + 1 over 3329, transformed in seven layers (FIPS 203, Algorithms 9 to 12).
#include "sizes.h"

#if Q == 3329 && !defined(GENERATOR)
// Its power 13 is 17, the root of FIPS 203.
#define GENERATOR 147
#endif
#define LAYERS (LOG_N - 1)
#include "negacyclic.h"

// Algorithm 9. Word x of a is at [bank(x)][row(x)].
void kyber_ntt(word_t a[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
  static word_t w[ROOTS];
  roots(w);
  transform(a, w);
}

// Algorithm 10.
void kyber_intt(word_t a[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
  static word_t w[ROOTS];
  inverse_roots(w);
  inverse_transform(a, w);
}

// The odd powers of the root by which polynomials of degree 1 are reduced: x^2 is w[i].
static void moduli(word_t w[ROOTS]) {
  word_t root = power(GENERATOR, (Q - 1) / (2 * ROOTS));
  word_t next = root;
  for (unsigned i = 0; i < ROOTS; i++) {
    w[reversed(i, LAYERS)] = next;
    next = times(next, times(root, root));
  }
}

// Algorithm 11: B products of polynomials of degree 1 an iteration. a becomes the product of a and b.
static void products(word_t a[BANKS][N / BANKS], word_t b[BANKS][N / BANKS], word_t w[ROOTS]) {
PRODUCTS:
  for (unsigned s = 0; s < N / 2; s += B) {
#pragma HLS pipeline II=1
    word_t even[B], odd[B];
    for (unsigned k = 0; k < B; k++) {
      unsigned e = 2 * (s + k), o = 2 * (s + k) + 1;
      word_t a0 = a[bank(e)][row(e)], a1 = a[bank(o)][row(o)], b0 = b[bank(e)][row(e)], b1 = b[bank(o)][row(o)];
      assert(a0 < Q);
      assert(a1 < Q);
      assert(b0 < Q);
      assert(b1 < Q);
      even[k] = ((wide_t)times(a1, b1) * w[s + k] + (wide_t)a0 * b0) % Q;
      odd[k] = ((wide_t)a0 * b1 + (wide_t)a1 * b0) % Q;
    }
    for (unsigned k = 0; k < B; k++) {
      unsigned e = 2 * (s + k), o = 2 * (s + k) + 1;
      a[bank(e)][row(e)] = even[k];
      a[bank(o)][row(o)] = odd[k];
    }
  }
}

// The product of a and b is left in a; b is left as its transform.
void kyber_product(word_t a[BANKS][N / BANKS], word_t b[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
#pragma HLS array_partition variable=b complete dim=1
  static word_t w[ROOTS], inverse[ROOTS], squares[ROOTS];
  roots(w);
  inverse_roots(inverse);
  moduli(squares);
  transform(a, w);
  transform(b, w);
  products(a, b, squares);
  inverse_transform(a, inverse);
}
