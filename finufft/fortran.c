/* FINUFFT's Fortran interface on its C interface: names with an underscore, all arguments by reference, the code
 * last. Compiled twice, as finufft.c is. What a Fortran type of options has for the functions of FFTW's lock is as
 * long as they are in some of FINUFFT's releases and shorter in others, so they are neither written nor read here.
 * Source: FINUFFT's documentation of its Fortran interface. SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "finufft/precision.h"

/* of three integers at least, of the functions of the lock, which every such type has */
enum { BEFORE_LOCK = offsetof(finufft_opts, fftw_lock_fun), LEAST_OF_LOCK = 3 * sizeof(int) };

/* The options that a Fortran program has set; NULL for the defaults. */
static const finufft_opts *take(const void *from, finufft_opts *opts)
{
    if (!from) return NULL;
    memset(opts, 0, sizeof *opts);
    memcpy(opts, from, BEFORE_LOCK);
    return opts;
}

/* Declared and defined, because there is no header in C. */
#define FUNCTION(suffix, ...)                                                                                        \
    FINUFFT_EXPORT void NAME(suffix)(__VA_ARGS__);                                                                   \
    void NAME(suffix)(__VA_ARGS__)

FUNCTION(_default_opts_, void *o)
{
    finufft_opts opts;
    NAME(_default_opts)(&opts);
    memcpy(o, &opts, BEFORE_LOCK);
    memset((char *)o + BEFORE_LOCK, 0, LEAST_OF_LOCK);
}

FUNCTION(_makeplan_, const int *type, const int *dim, const int64_t *n_modes, const int *iflag, const int *n_transf,
         const real *tol, plan **p, const void *o, int *ier)
{
    finufft_opts opts;
    *ier = NAME(_makeplan)(*type, *dim, n_modes, *iflag, *n_transf, *tol, p, take(o, &opts));
}

FUNCTION(_setpts_, plan **p, const int64_t *nj, const real *x, const real *y, const real *z, const int64_t *nk,
         const real *s, const real *t, const real *u, int *ier)
{
    *ier = NAME(_setpts)(*p, *nj, x, y, z, nk ? *nk : 0, s, t, u);
}

FUNCTION(_execute_, plan **p, complex_real *weights, complex_real *result, int *ier)
{
    *ier = NAME(_execute)(*p, weights, result);
}

FUNCTION(_execute_adjoint_, plan **p, complex_real *weights, complex_real *result, int *ier)
{
    *ier = NAME(_execute_adjoint)(*p, weights, result);
}

FUNCTION(_destroy_, plan **p, int *ier)
{
    *ier = NAME(_destroy)(*p);
    *p = NULL;
}

/* ---- the simple interface ---- */

#define MODES1 const int64_t *ms
#define MODES2 const int64_t *ms, const int64_t *mt
#define MODES3 const int64_t *ms, const int64_t *mt, const int64_t *mu
#define X1 x
#define X2 x, y
#define X3 x, y, z
#define S1 s
#define S2 s, t
#define S3 s, t, u
#define N1 *ms
#define N2 *ms, *mt
#define N3 *ms, *mt, *mu

/* Types 1 and 2 of a dimension, for one vector and for many. */
#define UNIFORM(dim, type)                                                                                           \
    FUNCTION(dim##d##type##_, const int64_t *nj, FINUFFT_X##dim##_(real), C##type, const int *iflag,                 \
             const real *eps, MODES##dim, F##type, const void *o, int *ier)                                          \
    {                                                                                                                \
        finufft_opts opts;                                                                                           \
        *ier = NAME(dim##d##type)(*nj, X##dim, c, *iflag, *eps, N##dim, f, take(o, &opts));                          \
    }                                                                                                                \
    FUNCTION(dim##d##type##many_, const int *ntrans, const int64_t *nj, FINUFFT_X##dim##_(real), C##type,            \
             const int *iflag, const real *eps, MODES##dim, F##type, const void *o, int *ier)                        \
    {                                                                                                                \
        finufft_opts opts;                                                                                           \
        *ier = NAME(dim##d##type##many)(*ntrans, *nj, X##dim, c, *iflag, *eps, N##dim, f, take(o, &opts));           \
    }

#define POINTS(dim)                                                                                                  \
    FUNCTION(dim##d3_, const int64_t *nj, FINUFFT_X##dim##_(real), C1, const int *iflag, const real *eps,            \
             const int64_t *nk, FINUFFT_S##dim##_(real), F1, const void *o, int *ier)                                \
    {                                                                                                                \
        finufft_opts opts;                                                                                           \
        *ier = NAME(dim##d3)(*nj, X##dim, c, *iflag, *eps, *nk, S##dim, f, take(o, &opts));                          \
    }                                                                                                                \
    FUNCTION(dim##d3many_, const int *ntrans, const int64_t *nj, FINUFFT_X##dim##_(real), C1, const int *iflag,      \
             const real *eps, const int64_t *nk, FINUFFT_S##dim##_(real), F1, const void *o, int *ier)               \
    {                                                                                                                \
        finufft_opts opts;                                                                                           \
        *ier = NAME(dim##d3many)(*ntrans, *nj, X##dim, c, *iflag, *eps, *nk, S##dim, f, take(o, &opts));             \
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
