// A transform as one writes it for a processor: natural loops over one array, Montgomery products of signed 16-bit words
// (P. Montgomery, "Modular multiplication without trial division", 1985), and sums reduced by P. Barrett's method (1986)
// only where they would leave 16 bits.
//
// Sums double in each stage, from below Q: below 8 Q < 2^15 after three. So the sums of every third stage are reduced, and a
// product is always of two words whose absolute values multiply to less than Q * 2^15.
#include <stdint.h>

#define N 256
#define LOG_N 8
#define Q 3329
#define GENERATOR 3
// Q^-1 modulo 2^16, signed.
#define Q_INVERSE (-3327)

typedef uint16_t word_t;

static int16_t table[N];

// x / 2^16 modulo Q, between -Q and Q, for |x| < Q * 2^15.
static inline int16_t montgomery(int32_t x) {
  int16_t m = (int16_t)((uint16_t)x * (uint16_t)Q_INVERSE);
  return (int16_t)((x - (int32_t)m * Q) >> 16);
}

// x modulo Q, from 0 to Q, for any x.
static inline int16_t barrett(int16_t x) {
  int16_t quotient = (int16_t)(((int32_t)x * 20159) >> 26);
  return (int16_t)(x - quotient * Q);
}

// x modulo Q, below Q, for any x.
static inline int16_t reduced(int16_t x) {
  int16_t r = barrett(x);
  return r == Q ? 0 : r;
}

static uint32_t power(uint32_t x, uint32_t e) {
  uint32_t result = 1;
  for (; e > 0; e >>= 1, x = x * x % Q)
    if (e & 1) result = result * x % Q;
  return result;
}

// Stage after stage, so that a stage reads its powers in order: the stage with `half` powers has them from `half` on, each
// times 2^16.
static void prepare(void) {
  for (uint32_t half = N / 2; half > 0; half /= 2) {
    uint32_t root = power(GENERATOR, (Q - 1) / (2 * half)), w = 1;
    for (uint32_t k = 0; k < half; k++, w = w * root % Q) {
      int32_t scaled = (int32_t)((w << 16) % Q);
      table[half + k] = (int16_t)(scaled > Q / 2 ? scaled - Q : scaled);
    }
  }
}

static inline void stage(int16_t *restrict a, const int16_t *restrict w, unsigned half, int reduce) {
  for (unsigned start = 0; start < N; start += 2 * half) {
    int16_t *restrict low = a + start, *restrict high = a + start + half;
    for (unsigned k = 0; k < half; k++) {
      int16_t u = low[k], v = high[k];
      int16_t sum = (int16_t)(u + v);
      low[k] = reduce ? barrett(sum) : sum;
      high[k] = montgomery((int32_t)(u - v) * w[k]);
    }
  }
}

static __attribute__((noinline)) void transform(word_t words[N]) {
  int16_t *a = (int16_t *)words;
  stage(a, table + 128, 128, 0);
  stage(a, table + 64, 64, 0);
  stage(a, table + 32, 32, 1);
  stage(a, table + 16, 16, 0);
  stage(a, table + 8, 8, 0);
  stage(a, table + 4, 4, 1);
  stage(a, table + 2, 2, 0);
  stage(a, table + 1, 1, 0);
  for (unsigned i = 0; i < N; i++) a[i] = reduced(a[i]);
}

static unsigned place(unsigned i) { return i; }
