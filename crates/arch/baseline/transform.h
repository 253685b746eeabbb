/* The transforms of the baselines, over the arithmetic that the including file defines before this one:
 *   factor_t                                         a twiddle factor as it lies in memory
 *   multiply(uint32_t x, factor_t w, uint32_t q)     x * w mod q
 *   add(uint32_t x, uint32_t y, uint32_t q)          x + y mod q
 *   subtract(uint32_t x, uint32_t y, uint32_t q)     x - y mod q
 *   prepare(uint32_t q)                              before the first of them
 * Words are below q, an odd prime below 2^31.
 *
 * A program reads its job from standard input and writes the transformed words to standard output: see `job`. It runs on the
 * scalar model and, where it has no instructions of ours, under qemu-riscv64. Between the labels transform_begin and
 * transform_end lies the transform alone.
 */
#include <stddef.h>
#include <stdint.h>

enum { LOG_N_MAX = 14, N_MAX = 1 << LOG_N_MAX };

/* What is read: this, n words of data, n factors. Little-endian. */
struct job {
    uint32_t magic; /* "NTT1" */
    uint32_t ring;  /* 0 cyclic, 1 negacyclic */
    uint32_t log_n; /* 1 ... LOG_N_MAX */
    uint32_t modulus;
};

static uint32_t words[N_MAX];
static uint32_t reversed[N_MAX];
static factor_t factors[N_MAX];

#ifndef OWN_CYCLIC_BUTTERFLIES
/* Decimation in time behind a bit reversal. factors[h + k] is the k-th power of the root of unity of order 2h. */
static inline void cyclic_butterflies(uint32_t *a, const factor_t *w, size_t n, uint32_t q)
{
    for (size_t half = 1; half < n; half *= 2) {
        for (size_t start = 0; start < n; start += 2 * half) {
            for (size_t k = start; k < start + half; k++) {
                uint32_t x = a[k];
                uint32_t y = multiply(a[k + half], w[half + k - start], q);
                a[k] = add(x, y, q);
                a[k + half] = subtract(x, y, q);
            }
        }
    }
}
#endif

/* The paper's reordering: a table of reversed indices, each from that of half the index, then swaps. */
static inline void bit_reversal(uint32_t *a, uint32_t *table, size_t n, uint32_t log_n)
{
    table[0] = 0;
    for (size_t i = 1; i < n; i++) {
        table[i] = table[i >> 1] >> 1 | (uint32_t)(i & 1) << (log_n - 1);
    }
    for (size_t i = 0; i < n; i++) {
        size_t j = table[i];
        if (i < j) {
            uint32_t t = a[i];
            a[i] = a[j];
            a[j] = t;
        }
    }
}

/* Cooley and Tukey with the powers of psi merged into the factors, in bit-reversed order: natural order in, bit-reversed out. */
static inline void negacyclic_butterflies(uint32_t *a, const factor_t *w, size_t n, uint32_t q)
{
    for (size_t blocks = 1, half = n / 2; blocks < n; blocks *= 2, half /= 2) {
        for (size_t i = 0; i < blocks; i++) {
            factor_t factor = w[blocks + i];
            for (size_t k = 2 * i * half; k < (2 * i + 1) * half; k++) {
                uint32_t x = a[k];
                uint32_t y = multiply(a[k + half], factor, q);
                a[k] = add(x, y, q);
                a[k + half] = subtract(x, y, q);
            }
        }
    }
}

static __attribute__((noinline)) void transform(uint32_t ring, size_t n, uint32_t log_n, uint32_t q)
{
    prepare(q);
    if (ring == 0) {
        bit_reversal(words, reversed, n, log_n);
        cyclic_butterflies(words, factors, n, q);
    } else {
        negacyclic_butterflies(words, factors, n, q);
    }
}

static long system_call(long number, long a, long b, long c)
{
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

/* Calls read (63) or write (64) until all is done; 0 if it was. */
static int transfer(long number, long file, void *buffer, size_t bytes)
{
    for (char *at = buffer; bytes > 0;) {
        long done = system_call(number, file, (long)at, (long)bytes);
        if (done <= 0) {
            return 1;
        }
        at += done;
        bytes -= (size_t)done;
    }
    return 0;
}

/* Exit status: 0 done, 1 input or output failed, 2 the job is not one. */
int main(void)
{
    struct job job;
    if (transfer(63, 0, &job, sizeof job)) {
        return 1;
    }
    if (job.magic != 0x3154544e || job.ring > 1 || job.log_n < 1 || job.log_n > LOG_N_MAX || job.modulus < 3 ||
        job.modulus >> 31 != 0) {
        return 2;
    }
    size_t n = (size_t)1 << job.log_n;
    if (transfer(63, 0, words, n * sizeof *words) || transfer(63, 0, factors, n * sizeof *factors)) {
        return 1;
    }
    __asm__ volatile(".globl transform_begin\ntransform_begin:" ::: "memory");
    transform(job.ring, n, job.log_n, job.modulus);
    __asm__ volatile(".globl transform_end\ntransform_end:" ::: "memory");
    return transfer(64, 1, words, n * sizeof *words);
}
