/* The scalar RVFHE instructions as functions, for GCC and Clang with GNU as.
 * Made from crates/rvfhe/opcodes/rv_xrvfhe by the example `rvfhe-generate`: do not edit.
 *
 * The digit in a name is the modulus register, 0 to 7. Set it before use, to 1 to 2^31. All are volatile, so that none moves across
 * the setting of a modulus. */
#ifndef RVFHE_H
#define RVFHE_H

#include <stdint.h>

#if !defined(__riscv) || __riscv_xlen != 64
#error rvfhe.h is for RISC-V with 64-bit registers
#endif

/* What rvfhe_mmul multiplies by: factor below modulus, with its companion floor(factor * 2^32 / modulus). */
static inline uint64_t rvfhe_pair(uint32_t factor, uint32_t modulus) {
    return ((((uint64_t)factor << 32) / modulus) << 32) | factor;
}

/* CSR 0x800 <- modulus. */
static inline void rvfhe_set_modulus0(uint32_t modulus) {
    __asm__ volatile(".insn i 0x73, 1, x0, %0, -2048" : : "r"(modulus));
}

/* x + y, modulo register 0. */
static inline uint32_t rvfhe_madd0(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 0, 0, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* x - y, modulo register 0. */
static inline uint32_t rvfhe_msub0(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 0, 1, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* y * the factor of pair, modulo register 0. */
static inline uint32_t rvfhe_mmul0(uint32_t y, uint64_t pair) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 0, 2, %0, %1, %2" : "=r"(result) : "r"(y), "r"(pair));
    return result;
}

/* CSR 0x801 <- modulus. */
static inline void rvfhe_set_modulus1(uint32_t modulus) {
    __asm__ volatile(".insn i 0x73, 1, x0, %0, -2047" : : "r"(modulus));
}

/* x + y, modulo register 1. */
static inline uint32_t rvfhe_madd1(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 1, 0, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* x - y, modulo register 1. */
static inline uint32_t rvfhe_msub1(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 1, 1, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* y * the factor of pair, modulo register 1. */
static inline uint32_t rvfhe_mmul1(uint32_t y, uint64_t pair) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 1, 2, %0, %1, %2" : "=r"(result) : "r"(y), "r"(pair));
    return result;
}

/* CSR 0x802 <- modulus. */
static inline void rvfhe_set_modulus2(uint32_t modulus) {
    __asm__ volatile(".insn i 0x73, 1, x0, %0, -2046" : : "r"(modulus));
}

/* x + y, modulo register 2. */
static inline uint32_t rvfhe_madd2(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 2, 0, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* x - y, modulo register 2. */
static inline uint32_t rvfhe_msub2(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 2, 1, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* y * the factor of pair, modulo register 2. */
static inline uint32_t rvfhe_mmul2(uint32_t y, uint64_t pair) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 2, 2, %0, %1, %2" : "=r"(result) : "r"(y), "r"(pair));
    return result;
}

/* CSR 0x803 <- modulus. */
static inline void rvfhe_set_modulus3(uint32_t modulus) {
    __asm__ volatile(".insn i 0x73, 1, x0, %0, -2045" : : "r"(modulus));
}

/* x + y, modulo register 3. */
static inline uint32_t rvfhe_madd3(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 3, 0, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* x - y, modulo register 3. */
static inline uint32_t rvfhe_msub3(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 3, 1, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* y * the factor of pair, modulo register 3. */
static inline uint32_t rvfhe_mmul3(uint32_t y, uint64_t pair) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 3, 2, %0, %1, %2" : "=r"(result) : "r"(y), "r"(pair));
    return result;
}

/* CSR 0x804 <- modulus. */
static inline void rvfhe_set_modulus4(uint32_t modulus) {
    __asm__ volatile(".insn i 0x73, 1, x0, %0, -2044" : : "r"(modulus));
}

/* x + y, modulo register 4. */
static inline uint32_t rvfhe_madd4(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 4, 0, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* x - y, modulo register 4. */
static inline uint32_t rvfhe_msub4(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 4, 1, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* y * the factor of pair, modulo register 4. */
static inline uint32_t rvfhe_mmul4(uint32_t y, uint64_t pair) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 4, 2, %0, %1, %2" : "=r"(result) : "r"(y), "r"(pair));
    return result;
}

/* CSR 0x805 <- modulus. */
static inline void rvfhe_set_modulus5(uint32_t modulus) {
    __asm__ volatile(".insn i 0x73, 1, x0, %0, -2043" : : "r"(modulus));
}

/* x + y, modulo register 5. */
static inline uint32_t rvfhe_madd5(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 5, 0, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* x - y, modulo register 5. */
static inline uint32_t rvfhe_msub5(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 5, 1, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* y * the factor of pair, modulo register 5. */
static inline uint32_t rvfhe_mmul5(uint32_t y, uint64_t pair) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 5, 2, %0, %1, %2" : "=r"(result) : "r"(y), "r"(pair));
    return result;
}

/* CSR 0x806 <- modulus. */
static inline void rvfhe_set_modulus6(uint32_t modulus) {
    __asm__ volatile(".insn i 0x73, 1, x0, %0, -2042" : : "r"(modulus));
}

/* x + y, modulo register 6. */
static inline uint32_t rvfhe_madd6(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 6, 0, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* x - y, modulo register 6. */
static inline uint32_t rvfhe_msub6(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 6, 1, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* y * the factor of pair, modulo register 6. */
static inline uint32_t rvfhe_mmul6(uint32_t y, uint64_t pair) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 6, 2, %0, %1, %2" : "=r"(result) : "r"(y), "r"(pair));
    return result;
}

/* CSR 0x807 <- modulus. */
static inline void rvfhe_set_modulus7(uint32_t modulus) {
    __asm__ volatile(".insn i 0x73, 1, x0, %0, -2041" : : "r"(modulus));
}

/* x + y, modulo register 7. */
static inline uint32_t rvfhe_madd7(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 7, 0, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* x - y, modulo register 7. */
static inline uint32_t rvfhe_msub7(uint32_t x, uint32_t y) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 7, 1, %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));
    return result;
}

/* y * the factor of pair, modulo register 7. */
static inline uint32_t rvfhe_mmul7(uint32_t y, uint64_t pair) {
    uint32_t result;
    __asm__ volatile(".insn r 0x2b, 7, 2, %0, %1, %2" : "=r"(result) : "r"(y), "r"(pair));
    return result;
}

#endif
