// Arithmetic modulo the prime Q.
#pragma once

#include "sizes.h"

// A generator of the field's units. Other primes need their own: -D GENERATOR=...
#ifndef GENERATOR
#if Q == 3329
#define GENERATOR 3
#elif Q == 7681
#define GENERATOR 17
#elif Q == 12289
#define GENERATOR 11
#elif Q == 8380417
#define GENERATOR 10
#elif Q == 1073479681
#define GENERATOR 11
#elif Q == 1152921504606584833
#define GENERATOR 10
#else
#error "give a generator of the field: -D GENERATOR=..."
#endif
#endif

// x * y mod Q for x below 2Q and y below Q.
#if Q < 2147483648
static word_t times(word_t x, word_t y) { return (wide_t)x * y % Q; }
#else
// Q = 2^60 - 2^18 + 1, so 2^60 is 2^18 - 1. Halves of 30 bits keep all products below 2^62.
static word_t times(word_t x, word_t y) {
  word_t x0 = x & 0x3fffffff, x1 = x >> 30, y0 = y & 0x3fffffff, y1 = y >> 30;
  word_t cross = x0 * y1 + x1 * y0;
  word_t low = x0 * y0 + ((cross & 0x3fffffff) << 30);
  word_t high = x1 * y1 + (cross >> 30);
  word_t high0 = high & 0x3ffffffffff, high1 = high >> 42;
  word_t folded = low + (high0 << 18) + (high1 << 18) + 3 * Q - high1 - high;
  word_t again = (folded & 0xfffffffffffffff) + (folded >> 60 << 18) - (folded >> 60);
  return again >= Q ? again - Q : again;
}
#endif

// The comparisons below do not wait for a sum, so that hardware computes both results at the same time and selects one.

static word_t sum(word_t x, word_t y) {
  word_t room = Q - x;
  word_t s = y >= room ? y - room : x + y;
  assert(s < Q);
  return s;
}

static word_t difference(word_t x, word_t y) {
  word_t d = x >= y ? x - y : x + Q - y;
  assert(d < Q);
  return d;
}

// Half of a residue if `halved`. The inverse transforms halve in every stage, so that they divide by the number of points.
static word_t scaled(word_t x, unsigned halved) { return halved ? (x >> 1) + (x & 1 ? (Q + 1) / 2 : 0) : x; }

// x^e for e below 2^60, or below 2^31 if Q is.
static word_t power(word_t x, wide_t e) {
  word_t result = 1;
  for (unsigned i = 0; i < (Q < 2147483648 ? 31 : 60); i++) {
    result = e >> i & 1 ? times(result, x) : result;
    x = times(x, x);
  }
  return result;
}
