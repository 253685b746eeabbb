#include <assert.h>
#include <stdint.h>
#define Q 12289
static const uint16_t table[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
uint32_t f(uint16_t a[16], uint16_t x) {
#pragma HLS array_partition variable=a cyclic factor=2 dim=1
#pragma HLS bind_storage variable=a type=ram_s2p
  uint32_t sum = 0;
LINES:
  for (unsigned i = 0; i < 2; i++)
    for (uint8_t k = 0; k != 8; k += 2) {
#pragma HLS pipeline
      uint16_t t = a[2 * k + i & 15];
      assert(t < Q);
      if (t & 1) sum = (sum + (uint64_t)t * table[i][k / 2]) % Q;
      else a[k ^ 1] = t >= Q / 2 ? t - Q / 2 : t;
    }
  return sum ^ x;
}
