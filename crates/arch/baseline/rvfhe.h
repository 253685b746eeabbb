/* The RVFHE instructions of a scalar core on x registers, with modulus register 0. custom-1: funct3 names the modulus register,
 * funct7 the operation. */
#ifndef RVFHE_H
#define RVFHE_H

#include <stdint.h>

/* x + y mod m; both below m. */
static inline uint32_t rvfhe_madd0(uint32_t x, uint32_t y)
{
    uint32_t result;
    __asm__(".insn r 0x2b, 0, 0, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* x - y mod m; both below m. */
static inline uint32_t rvfhe_msub0(uint32_t x, uint32_t y)
{
    uint32_t result;
    __asm__(".insn r 0x2b, 0, 1, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* y * w mod m; any word y. pair: w in bits 31:0, floor(w * 2^32 / m) in bits 63:32. */
static inline uint32_t rvfhe_mmul0(uint32_t y, uint64_t pair)
{
    uint32_t result;
    __asm__(".insn r 0x2b, 0, 2, %0, %1, %2" : "=r"(result) : "r"(y), "r"(pair));
    return result;
}

/* Writes CSR 0x800: m from 1 to 2^31. (The assembler wants the number signed.) Volatile, as what follows depends on it. */
static inline void rvfhe_set_modulus0(uint32_t m)
{
    __asm__ volatile(".insn i 0x73, 1, x0, %0, -2048" : : "r"(m) : "memory");
}

#endif
