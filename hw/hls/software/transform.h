// What a software transform defines for driver.c: the cyclic transform of N words below Q, from natural to bit-reversed
// order, as the accelerator of hw/hls/ntt_gs.c computes it.
#pragma once

#include VARIANT

// Makes the powers. Not measured.
static void prepare(void);
// In place; words are below Q before and after.
static void transform(word_t words[N]);
// Where word i lies.
static unsigned place(unsigned i);
