#include <stdint.h>
void pairs(uint8_t a[16], uint16_t b[16]) {
#pragma HLS interface axis port=a
#pragma HLS interface axis port=b
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline
    uint8_t x = a[2 * i], y = a[2 * i + 1];
    b[2 * i] = (uint32_t)x * y % 3329;
    b[2 * i + 1] = y;
  }
}
