// Bit reversal of N words in place, in eight blocks of two ports each.
//
// A word in block t goes to block u = t ^ j, and a word of block u goes to block t. For each j from 1 to 7 and each value of
// the middle bits, each of the eight blocks gives one word and takes one. Words that stay in their block are read by both
// ports in the first iterations. The second word of each pair waits in a register until the last iterations. All ports are
// busy in all cycles: 30 cycles for the 240 words that move at N = 256, and 60 cycles for 480 words at N = 512.
#include "sizes.h"

#if LOG_N != 8 && LOG_N != 9
#error "N must be 256 or 512"
#endif

#define BLOCKS 8
#define LOG_MIDDLE (LOG_N - 6)
#define MIDDLE (1 << LOG_MIDDLE)
// Pairs of words that stay in their block.
#define STAY (LOG_N - 7)
#define MOVES (STAY + 7 * MIDDLE)

// Middle bits that are less than their reversal.
static const uint8_t less[2] = {1, 3};

// The word that block t gives in iteration i.
static unsigned given(unsigned i, unsigned t) {
  unsigned j = i < STAY ? 0 : (i - STAY) / MIDDLE + 1;
  unsigned middle = i < STAY ? less[i] : (i - STAY) % MIDDLE;
  // The block of the destination gives the word with the reversed bits.
  middle = t < (t ^ j) || i < STAY ? middle : reversed(middle, LOG_MIDDLE);
  return t << (LOG_N - 3) | middle << 3 | reversed(t ^ j, 3);
}

// Algorithm 3 of T. Sasaki and Y. Hara: masks.
void bit_reverse(word_t a[N]) {
#pragma HLS array_partition variable=a block factor=8
#pragma HLS bind_storage variable=a type=ram_t2p
  word_t waiting[STAY][BLOCKS];
#pragma HLS array_partition variable=waiting complete dim=0
MASKS:
  for (unsigned i = 0; i < MOVES; i++) {
#pragma HLS pipeline II=1
#pragma HLS dependence variable=a inter false
    word_t moved[BLOCKS];
    for (unsigned t = 0; t < BLOCKS; t++) {
      unsigned x = given(i, t);
      moved[t] = a[x];
      assert(moved[t] < Q);
      if (i < STAY) {
        word_t second = a[reversed(x, LOG_N)];
        assert(second < Q);
        waiting[i][t] = second;
      }
    }
    for (unsigned t = 0; t < BLOCKS; t++) {
      unsigned x = given(i, t);
      a[reversed(x, LOG_N)] = moved[t];
      if (i >= MOVES - STAY) a[given(i - (MOVES - STAY), t)] = waiting[i - (MOVES - STAY)][t];
    }
  }
}

static void fill(uint16_t table[N]) {
  for (unsigned i = 0; i < N; i++) table[i] = reversed(i, LOG_N);
}

// The same by a table of all reversed indices.
void bit_reverse_table(word_t a[N]) {
#pragma HLS array_partition variable=a block factor=8
#pragma HLS bind_storage variable=a type=ram_t2p
  static uint16_t table[N];
  fill(table);
  word_t waiting[STAY][BLOCKS];
#pragma HLS array_partition variable=waiting complete dim=0
TABLE:
  for (unsigned i = 0; i < MOVES; i++) {
#pragma HLS pipeline II=1
#pragma HLS dependence variable=a inter false
    word_t moved[BLOCKS];
    for (unsigned t = 0; t < BLOCKS; t++) {
      unsigned x = given(i, t);
      moved[t] = a[x];
      assert(moved[t] < Q);
      if (i < STAY) {
        word_t second = a[table[x]];
        assert(second < Q);
        waiting[i][t] = second;
      }
    }
    for (unsigned t = 0; t < BLOCKS; t++) {
      unsigned x = given(i, t);
      a[table[x]] = moved[t];
      if (i >= MOVES - STAY) a[given(i - (MOVES - STAY), t)] = waiting[i - (MOVES - STAY)][t];
    }
  }
}
