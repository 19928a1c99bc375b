/* The table of regularisers. SPDX-License-Identifier: Apache-2.0 */
#include "recon/prox/regulariser.h"

#include <stddef.h>

/* A new regulariser is a line here and a file in this folder that defines lmr_regulariser_<name>. */
#define REGULARISERS(X)                                                                                              \
    X(tv)                                                                                                            \
    X(tgv)                                                                                                           \
    X(wavelet)                                                                                                       \
    X(llr)                                                                                                           \
    X(l1)                                                                                                            \
    X(fft)                                                                                                           \
    X(lowrank)                                                                                                       \
    X(lowrank_sparse)                                                                                                \
    X(lowrank_multiscale)                                                                                            \
    X(clear)

#define DECLARE(name) extern const lmr_regulariser_kind lmr_regulariser_##name;
#define ROW(name) &lmr_regulariser_##name,
REGULARISERS(DECLARE)
static const lmr_regulariser_kind *const table[] = {REGULARISERS(ROW)};
enum { COUNT = sizeof table / sizeof *table };

larmor_regulariser_info larmor_regulariser_entry(int i)
{
    if (i < 0 || i >= COUNT) return (larmor_regulariser_info){.name = NULL};
    return (larmor_regulariser_info){table[i]->name, table[i]->help, table[i]->takes};
}

const lmr_regulariser_kind *lmr_regulariser_kind_of(int entry)
{
    return table[entry];
}
