/* Products by one 64-bit division. */
#include <stdint.h>
#include "conditional.h"

typedef uint32_t factor_t;

static inline uint32_t multiply(uint32_t x, factor_t w, uint32_t q)
{
    return (uint32_t)((uint64_t)x * w % (uint64_t)q);
}

static inline void prepare(uint32_t q)
{
    (void)q;
}

#include "transform.h"
