// The source of the accelerator, compiled as it is: it computes banks and rows for every word, which software does not need.
#include "../ntt.h"

static word_t table[N / 2];

static void prepare(void) { powers(table, 0); }

static void transform(word_t words[N]) { gentleman_sande((word_t(*)[N / BANKS])words, table, 0); }

static unsigned place(unsigned i) { return bank(i) * (N / BANKS) + row(i); }
