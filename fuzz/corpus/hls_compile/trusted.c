#include <stdint.h>
#define BANKS 2
void gather(uint8_t keys[32], uint16_t sums[16]) {
#pragma HLS array_partition variable=sums cyclic factor=BANKS
  for (unsigned i = 0; i < 32; i++) {
#pragma HLS pipeline II=1
#pragma HLS dependence variable=sums inter false
    uint8_t key = keys[i] & 15;
    sums[key] = ((uint32_t)(sums[key] & 4095) * 17 + 1) % 3329;
  }
}
