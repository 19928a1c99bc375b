/* The sets of cases of `larmor-bench nufft`. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "args.h"
#include "case.h"

/* What is asked for: for one case its numbers, for a set what chooses from it. Zero or NULL: not asked for. */
typedef struct bench_wish {
    app_list types, dims, modes, upsample;
    const char *precision, *distribution, *matrix, *precompute;
    int64_t points, batch;
    double tol, scale, undersampling;
    int equal_error; /* 1: each case at several tolerances around its own, so that times at the same error can be
                      * told */
} bench_wish;

#define BENCH_MATRICES "paper|mri|cpu|gnufftw"

/* The cases, at least one, to be freed.
 *
 * Errors  LARMOR_ERR_ARG for options that make no case; LARMOR_ERR_MEMORY. */
larmor_status bench_list_cases(const bench_wish *wish, bench_case **cases, int *count);

/* 1 if the case, its type included, is one of those asked for. */
int bench_is_wanted(const bench_wish *wish, const bench_case *c);
