// The Gentleman-Sande transform of ntt_gs.c with the choices of an exploration: INTERVAL is the cycles from iteration to
// iteration, and PARTITION is the banks.
//
//   PARTITION   banks   ports of a bank            cycles of the ports for an iteration
//   1           2B      one to read, one to write  1
//   2           B       two, for either            2
//   3           B       one to read, one to write  2
#include "ntt.h"

#ifndef INTERVAL
#define INTERVAL 1
#endif
#ifndef PARTITION
#define PARTITION 1
#endif

#if PARTITION == 1
#define PARTS BANKS
#define LOG_PARTS LOG_BANKS
#elif PARTITION == 2 || PARTITION == 3
// Of the banks of ntt.h, two are one: the highest bit of a word's bank becomes the lowest bit of its row.
#define PARTS B
#define LOG_PARTS (LOG_BANKS - 1)
#else
#error "PARTITION must be 1, 2 or 3"
#endif

static unsigned part(unsigned x) { return bank(x) & (PARTS - 1); }
static unsigned place(unsigned x) { return x >> LOG_PARTS; }

// From natural to bit-reversed order. Word x is at a[part(x)][place(x)].
void ntt_choices(word_t a[PARTS][N / PARTS]) {
#pragma HLS array_partition variable=a complete dim=1
#if PARTITION == 2
#pragma HLS bind_storage variable=a type=ram_t2p
#endif
  static word_t w[N / 2];
  powers(w, 0);
STAGES:
  for (unsigned i = 0; i < LOG_N; i++) {
  BUTTERFLIES:
    for (unsigned s = 0; s < N / 2; s += B) {
#pragma HLS pipeline II=INTERVAL
#pragma HLS dependence variable=a inter false
      word_t even[B], odd[B];
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), LOG_N - i - 1), o = rotate(2 * (s + b) + 1, LOG_N - i - 1);
        word_t u = a[part(e)][place(e)], v = a[part(o)][place(o)];
        assert(u < Q);
        assert(v < Q);
        even[b] = sum(u, v);
        odd[b] = times(u + Q - v, w[(s + b) >> i << i]);
      }
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), LOG_N - i - 1), o = rotate(2 * (s + b) + 1, LOG_N - i - 1);
        a[part(e)][place(e)] = even[b];
        a[part(o)][place(o)] = odd[b];
      }
    }
  }
}
