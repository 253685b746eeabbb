// The product of two transforms.
#include "ntt.h"

// a becomes the product of a and b, word by word. Both have their words at [bank(x)][row(x)].
void pointwise(word_t a[BANKS][N / BANKS], word_t b[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
#pragma HLS array_partition variable=b complete dim=1
  points(a, b);
}
