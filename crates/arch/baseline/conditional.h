/* Sums and differences with one conditional correction. q is below 2^31, so that a sum fits a word. */
#include <stdint.h>

static inline uint32_t add(uint32_t x, uint32_t y, uint32_t q)
{
    uint32_t sum = x + y;
    return sum >= q ? sum - q : sum;
}

static inline uint32_t subtract(uint32_t x, uint32_t y, uint32_t q)
{
    return x >= y ? x - y : x + q - y;
}
