/* Products, sums and differences by the RVFHE instructions. */
#include <stdint.h>
#include "rvfhe.h"

typedef uint64_t factor_t;

static inline uint32_t multiply(uint32_t x, factor_t w, uint32_t q)
{
    (void)q;
    return rvfhe_mmul0(x, w);
}

static inline uint32_t add(uint32_t x, uint32_t y, uint32_t q)
{
    (void)q;
    return rvfhe_madd0(x, y);
}

static inline uint32_t subtract(uint32_t x, uint32_t y, uint32_t q)
{
    (void)q;
    return rvfhe_msub0(x, y);
}

static inline void prepare(uint32_t q)
{
    rvfhe_set_modulus0(q);
}

#include "transform.h"
