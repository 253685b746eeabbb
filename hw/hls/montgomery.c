// A Montgomery product of numbers of 256 bits: a * b / 2^272 modulo n.
//
// a and n are limbs of 26 bits, b is digits of 17, so that a product of both fits a multiplier of 26 by 17. Carries
// between the sums are added at the end. The method is P. Montgomery's (Mathematics of Computation, 1985) digit by digit.
#include <assert.h>
#include <stdint.h>

#define LIMBS 10
#define DIGITS 16

// n is odd and below 2^256, u is -1/n modulo 2^17; a, b and the result are below 2n.
void montgomery(uint32_t a[LIMBS], uint32_t b[DIGITS], uint32_t n[LIMBS], uint32_t u, uint32_t r[LIMBS]) {
#pragma HLS array_partition variable=a complete
#pragma HLS array_partition variable=n complete
  uint64_t sums[LIMBS];
#pragma HLS array_partition variable=sums complete
DIGITS_OF_B:
  for (unsigned i = 0; i < DIGITS; i++) {
#pragma HLS pipeline
    uint64_t digit = b[i], s[LIMBS + 1];
    assert(digit < 1 << 17);
    assert(u < 1 << 17);
    for (unsigned j = 0; j < LIMBS; j++) {
      assert(a[j] < 1 << 26);
      uint64_t before = i == 0 ? 0 : sums[j];
      assert(before < 1 << 29);
      s[j] = before + a[j] * digit;
    }
    s[LIMBS] = 0;
    // The multiple of n after which the lowest digit is 0.
    uint64_t factor = (s[0] & 0x1ffff) * u & 0x1ffff;
    for (unsigned j = 0; j < LIMBS; j++) {
      assert(n[j] < 1 << 26);
      s[j] += n[j] * factor;
    }
    for (unsigned j = 0; j < LIMBS; j++) sums[j] = (s[j] >> 17) + ((s[j + 1] & 0x1ffff) << 9);
  }
  uint64_t carry = 0;
CARRIES:
  for (unsigned j = 0; j < LIMBS; j++) {
#pragma HLS pipeline
    uint64_t limb = sums[j];
    assert(limb < 1 << 29);
    assert(carry < 1 << 29);
    uint64_t now = limb + carry;
    r[j] = now & 0x3ffffff;
    carry = now >> 26;
  }
}
