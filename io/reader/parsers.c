/* The parsers by suffix. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/parsers.h"

#include <string.h>

#define PARSERS(X)                                                                                                   \
    X(h5)                                                                                                            \
    X(nii)                                                                                                           \
    X(nii_gz)                                                                                                        \
    X(png)                                                                                                           \
    X(cfl)                                                                                                           \
    X(dcm)                                                                                                           \
    X(npy)

#define DECLARE(name) extern const lmr_parser lmr_parser_##name;
#define ROW(name) &lmr_parser_##name,
PARSERS(DECLARE)
static const lmr_parser *const table[] = {PARSERS(ROW)};

const lmr_parser *lmr_parser_of(const char *suffix)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i]->suffix, suffix)) return table[i];
    return NULL;
}
