// Transforms words a number of times and writes them. It runs on Linux and, without a C library, on the cycle model of
// crates/arch. hw/flow/hls_arm.py counts between the labels.
#include "transform.h"

#ifndef REPEATS
#define REPEATS 1
#endif
// The words are random, from LEAST to Q - 1.
#ifndef SEED
#define SEED 1
#endif
#ifndef LEAST
#define LEAST 0
#endif

#ifdef FREESTANDING
static long write(long file, const void *bytes, unsigned long count) {
  register long a0 __asm__("a0") = file;
  register const void *a1 __asm__("a1") = bytes;
  register unsigned long a2 __asm__("a2") = count;
  register long a7 __asm__("a7") = 64;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
  return a0;
}
#else
#include <unistd.h>
#endif

static word_t words[N];

// Neither inlined nor copied, so that each label exists once.
static __attribute__((noipa)) void measured(void) {
  __asm__ volatile(".globl transform_begin\ntransform_begin:" ::: "memory");
  transform(words);
  __asm__ volatile(".globl transform_end\ntransform_end:" ::: "memory");
}

int main(void) {
  uint32_t state = SEED;
  for (unsigned i = 0; i < N; i++) {
    state = state * 1664525 + 1013904223;
    words[place(i)] = LEAST + (state >> 16) % (Q - LEAST);
  }
  prepare();
  for (unsigned r = 0; r < REPEATS; r++) measured();
  static word_t out[N];
  for (unsigned i = 0; i < N; i++) out[i] = words[place(i)];
  return write(1, out, sizeof out) != (long)sizeof out;
}
