// Sizes, words and banks of all kernels.
//
// N is the number of words, Q the modulus, B the butterflies an iteration. Without -D they are those of T. Sasaki and Y. Hara.
#pragma once

#include <assert.h>
#include <stdint.h>

#ifndef N
#define N 256
#endif
#ifndef Q
#define Q 3329
#endif
#ifndef B
#define B 2
#endif

#if N == 64
#define LOG_N 6
#elif N == 128
#define LOG_N 7
#elif N == 256
#define LOG_N 8
#elif N == 512
#define LOG_N 9
#elif N == 1024
#define LOG_N 10
#elif N == 2048
#define LOG_N 11
#elif N == 4096
#define LOG_N 12
#else
#error "N must be a power of two from 64 to 4096"
#endif

#if B == 1
#define LOG_BANKS 1
#elif B == 2
#define LOG_BANKS 2
#elif B == 4
#define LOG_BANKS 3
#elif B == 8
#define LOG_BANKS 4
#elif B == 16
#define LOG_BANKS 5
#else
#error "B must be a power of two from 1 to 16"
#endif
#define BANKS (2 * B)

// Words hold sums of two residues, wide_t their products.
#if Q < 32768
typedef uint16_t word_t;
typedef uint32_t wide_t;
#elif Q < 2147483648
typedef uint32_t word_t;
typedef uint64_t wide_t;
#elif Q == 1152921504606584833
typedef uint64_t word_t;
typedef uint64_t wide_t;
#else
#error "Q must be below 2^31, or 2^60 - 2^18 + 1"
#endif

#include "banks.h"

static unsigned parity(unsigned x) {
  unsigned p = 0;
  for (unsigned i = 0; i < LOG_N; i++) p ^= x >> i & 1;
  return p;
}

// Where word x is: its bank, and its row there.
static unsigned bank(unsigned x) {
  unsigned found = 0;
  for (unsigned i = 0; i < LOG_BANKS; i++) found |= parity(x & bank_masks[i]) << i;
  return found;
}
static unsigned row(unsigned x) { return x >> LOG_BANKS; }

// x with its LOG_N bits turned to the left.
static unsigned rotate(unsigned x, unsigned by) { return (x << by | x >> (LOG_N - by)) & (N - 1); }

// Bits in the other order: neighbours change places, then pairs, fours and eights. It is Algorithm 3 of T. Sasaki and Y. Hara
// for 16 bits, of which a shift leaves the lower ones.
static unsigned reversed(unsigned x, unsigned bits) {
  x = (x & 0x5555) << 1 | (x >> 1 & 0x5555);
  x = (x & 0x3333) << 2 | (x >> 2 & 0x3333);
  x = (x & 0x0f0f) << 4 | (x >> 4 & 0x0f0f);
  x = (x & 0x00ff) << 8 | (x >> 8 & 0x00ff);
  return x >> (16 - bits);
}
