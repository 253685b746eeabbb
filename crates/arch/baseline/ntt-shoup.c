/* Products without division, by the factor's companion floor(w * 2^32 / q) (Shoup's method, as in V. Shoup's NTL). */
#include <stdint.h>
#include "conditional.h"

typedef struct {
    uint32_t factor;
    uint32_t companion;
} factor_t;

static inline uint32_t multiply(uint32_t x, factor_t w, uint32_t q)
{
    uint32_t quotient = (uint32_t)((uint64_t)x * w.companion >> 32);
    uint32_t remainder = x * w.factor - quotient * q;
    return remainder >= q ? remainder - q : remainder;
}

static inline void prepare(uint32_t q)
{
    (void)q;
}

#include "transform.h"
