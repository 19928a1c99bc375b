/* The simple interface: plan, points and execution at once. For a file that has NAME(suffix), real, complex_real
 * and plan (precision.h), and besides
 *   OPTIONS      the type of options;
 *   SET_POINTS   the function of the plan that sets points.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/mutable.h"

typedef struct places {
    const real *x[3], *s[3];
} places;

static int all(int type, int dim, int ntrans, int64_t nj, places at, void *c, int iflag, real eps,
               const int64_t *modes, int64_t nk, void *f, const OPTIONS *o)
{
    plan *p = NULL;
    int code = NAME(_makeplan)(type, dim, modes, iflag, ntrans, eps, &p, o);
    if (!code) code = SET_POINTS(p, nj, at.x[0], at.x[1], at.x[2], nk, at.s[0], at.s[1], at.s[2]);
    if (!code) code = NAME(_execute)(p, c, f);
    if (p) NAME(_destroy)(p);
    return code;
}

#define MODES1 ms, 1, 1
#define MODES2 ms, mt, 1
#define MODES3 ms, mt, mu
#define AT1 x, NULL, NULL
#define AT2 x, y, NULL
#define AT3 x, y, z
#define TO1 s, NULL, NULL
#define TO2 s, t, NULL
#define TO3 s, t, u

/* Types 1 and 2 of a dimension, for one vector and for many. */
#define UNIFORM(dim, type)                                                                                           \
    int NAME(dim##d##type##many)(int ntrans, int64_t nj, FINUFFT_X##dim##_(real), C##type, int iflag, real eps,      \
                                 FINUFFT_N##dim##_, F##type, const OPTIONS *o)                                       \
    {                                                                                                                \
        const int64_t modes[3] = {MODES##dim};                                                                       \
        const places at = {.x = {AT##dim}};                                                                          \
        return all(type, dim, ntrans, nj, at, lmr_mutable(c), iflag, eps, modes, 0, lmr_mutable(f), o);              \
    }                                                                                                                \
    int NAME(dim##d##type)(int64_t nj, FINUFFT_X##dim##_(real), C##type, int iflag, real eps, FINUFFT_N##dim##_,     \
                           F##type, const OPTIONS *o)                                                                \
    {                                                                                                                \
        const int64_t modes[3] = {MODES##dim};                                                                       \
        const places at = {.x = {AT##dim}};                                                                          \
        return all(type, dim, 1, nj, at, lmr_mutable(c), iflag, eps, modes, 0, lmr_mutable(f), o);                   \
    }

#define POINTS(dim)                                                                                                  \
    int NAME(dim##d3many)(int ntrans, int64_t nj, FINUFFT_X##dim##_(real), C1, int iflag, real eps, int64_t nk,      \
                          FINUFFT_S##dim##_(real), F1, const OPTIONS *o)                                             \
    {                                                                                                                \
        const int64_t none[3] = {0, 0, 0};                                                                           \
        const places at = {.x = {AT##dim}, .s = {TO##dim}};                                                          \
        return all(3, dim, ntrans, nj, at, lmr_mutable(c), iflag, eps, none, nk, f, o);                              \
    }                                                                                                                \
    int NAME(dim##d3)(int64_t nj, FINUFFT_X##dim##_(real), C1, int iflag, real eps, int64_t nk,                      \
                      FINUFFT_S##dim##_(real), F1, const OPTIONS *o)                                                 \
    {                                                                                                                \
        const int64_t none[3] = {0, 0, 0};                                                                           \
        const places at = {.x = {AT##dim}, .s = {TO##dim}};                                                          \
        return all(3, dim, 1, nj, at, lmr_mutable(c), iflag, eps, none, nk, f, o);                                   \
    }

UNIFORM(1, 1)
UNIFORM(1, 2)
POINTS(1)
UNIFORM(2, 1)
UNIFORM(2, 2)
POINTS(2)
UNIFORM(3, 1)
UNIFORM(3, 2)
POINTS(3)
