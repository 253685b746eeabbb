/* As textbooks write it: every operation ends in `%`, and the cyclic transform makes its factors as it goes, so that it has
 * two products a butterfly. */
#include <stddef.h>
#include <stdint.h>

typedef uint32_t factor_t;

static inline uint32_t multiply(uint32_t x, factor_t w, uint32_t q)
{
    return (uint32_t)((uint64_t)x * w % (uint64_t)q);
}

static inline uint32_t add(uint32_t x, uint32_t y, uint32_t q)
{
    return (uint32_t)(((uint64_t)x + y) % (uint64_t)q);
}

static inline uint32_t subtract(uint32_t x, uint32_t y, uint32_t q)
{
    return (uint32_t)(((uint64_t)x + q - y) % (uint64_t)q);
}

static inline void prepare(uint32_t q)
{
    (void)q;
}

/* Of the factors only the roots are read: that of order 2 * half is w[half + 1], the first power. */
#define OWN_CYCLIC_BUTTERFLIES
static inline void cyclic_butterflies(uint32_t *a, const factor_t *w, size_t n, uint32_t q)
{
    for (size_t half = 1; half < n; half *= 2) {
        uint32_t root = half == 1 ? q - 1 : w[half + 1];
        for (size_t start = 0; start < n; start += 2 * half) {
            uint32_t power = 1;
            for (size_t k = start; k < start + half; k++) {
                uint32_t x = a[k];
                uint32_t y = multiply(a[k + half], power, q);
                a[k] = add(x, y, q);
                a[k + half] = subtract(x, y, q);
                power = multiply(power, root, q);
            }
        }
    }
}

#include "transform.h"
