// Small kernels, whose modules are proved to have the values of the unscheduled program: crates/hls/tests/proofs.
#include <assert.h>
#include <stdint.h>

// A recurrence: an iteration needs the sum of the one before it.
void sums(uint8_t a[8]) {
  for (unsigned i = 1; i < 8; i++) {
#pragma HLS pipeline
    a[i] = (a[i] + a[i - 1]) & 15;
  }
}

// Remainders: an estimate of the quotient, and one subtraction.
void remainders(uint8_t a[4]) {
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline
    a[i] = (5 * a[i] + 3) % 13;
  }
}

// Three reads and one write an iteration through one bank with two ports.
void windows(uint8_t a[8], uint8_t b[8]) {
#pragma HLS bind_storage variable=a type=ram_t2p
  for (unsigned i = 0; i < 6; i++) {
#pragma HLS pipeline II=2
    b[i] = a[i] ^ (a[i + 1] & a[i + 2]);
  }
}

// Stages that read what the stage before has written, so that cycles are left between them.
void stages(uint8_t a[4]) {
#pragma HLS array_partition variable=a cyclic factor=2 dim=1
  for (unsigned s = 0; s < 3; s++) {
    for (unsigned i = 0; i < 2; i++) {
#pragma HLS pipeline
      uint8_t x = a[2 * i], y = a[2 * i + 1];
      a[2 * i] = (x + y) & 7;
      a[2 * i + 1] = x ^ y;
    }
  }
}

// Two banks, of which an iteration reads both and writes one.
void banks(uint8_t a[8], uint8_t b[4]) {
#pragma HLS array_partition variable=a block factor=2 dim=1
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline II=1
    b[i] = a[i] > a[i + 4] ? a[i] - a[i + 4] : a[i + 4] - a[i];
  }
}

// A table, read at an index that depends on data.
void tables(uint8_t a[4]) {
  static const uint8_t squares[8] = {0, 1, 4, 1, 0, 1, 4, 9};
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline
    a[i] = squares[a[i] & 7];
  }
}

// Reads and conditional writes at indices that depend on data.
void counts(uint8_t a[4], uint8_t b[4]) {
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline
    if (a[i] > 1) b[a[i] & 3] = (b[a[i] & 3] + 1) & 15;
  }
}

// One read an iteration, from one or the other of two banks.
void strides(uint8_t a[8], uint8_t b[4]) {
#pragma HLS array_partition variable=a cyclic factor=2 dim=1
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline II=1
    b[i] = a[3 * i & 7];
  }
}
