#include <stdint.h>
#include <stdbool.h>
static uint8_t parity(uint8_t x) {
  uint8_t p = 0;
  for (unsigned i = 0; i < 8; i++) p ^= x >> i & 1;
  return p;
}
static void fill(uint8_t w[8], unsigned c) {
  w[0] = 1;
  for (unsigned i = 1; i < 8; i++) w[i] = (unsigned)w[i - 1] * c % 251;
}
void f(uint8_t a[2][8]) {
#pragma HLS interface ap_ctrl_hs port=return
#pragma HLS array_partition variable=a complete dim=1
  static uint8_t w[8];
  fill(w, 6);
  for (unsigned s = 0; s < 2; s++) {
#pragma HLS unroll
    for (unsigned i = 8; i > 0; i--) {
#pragma HLS pipeline II=2
      bool odd = parity(a[s][i - 1]);
      a[s][i - 1] = odd ? ~a[s][i - 1] & 0x7f : w[i - 1] << 1 & 0xff;
    }
  }
}
