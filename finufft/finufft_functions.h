/* What finufft.h and cufinufft.h have in common: the simple functions, for a name, a type of numbers and a type of
 * options. Source: FINUFFT's documentation and public headers (Flatiron Institute, Apache-2.0).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FINUFFT_FUNCTIONS_H
#define FINUFFT_FUNCTIONS_H

#include <stdint.h>

#ifdef __GNUC__
#define FINUFFT_EXPORT __attribute__((visibility("default")))
#else
#define FINUFFT_EXPORT
#endif

/* Coordinates x, y, z and targets s, t, u of a dimension; numbers of modes ms, mt, mu. */
#define FINUFFT_X1_(real) const real *x
#define FINUFFT_X2_(real) const real *x, const real *y
#define FINUFFT_X3_(real) const real *x, const real *y, const real *z
#define FINUFFT_S1_(real) const real *s
#define FINUFFT_S2_(real) const real *s, const real *t
#define FINUFFT_S3_(real) const real *s, const real *t, const real *u
#define FINUFFT_N1_ int64_t ms
#define FINUFFT_N2_ int64_t ms, int64_t mt
#define FINUFFT_N3_ int64_t ms, int64_t mt, int64_t mu

/* The transforms of a dimension, of one vector and of many: types 1 (points to modes), 2 (modes to points) and 3
 * (points to targets). opts NULL: the defaults. They return 0 or a code. */
#define FINUFFT_DIMENSION_(name, real, number, options, dim)                                                         \
    FINUFFT_EXPORT int name##dim##d1(int64_t nj, FINUFFT_X##dim##_(real), const number *c, int iflag, real eps,      \
                                     FINUFFT_N##dim##_, number *f, const options *opts);                             \
    FINUFFT_EXPORT int name##dim##d1many(int ntransf, int64_t nj, FINUFFT_X##dim##_(real), const number *c,          \
                                         int iflag, real eps, FINUFFT_N##dim##_, number *f, const options *opts);    \
    FINUFFT_EXPORT int name##dim##d2(int64_t nj, FINUFFT_X##dim##_(real), number *c, int iflag, real eps,            \
                                     FINUFFT_N##dim##_, const number *f, const options *opts);                       \
    FINUFFT_EXPORT int name##dim##d2many(int ntransf, int64_t nj, FINUFFT_X##dim##_(real), number *c, int iflag,     \
                                         real eps, FINUFFT_N##dim##_, const number *f, const options *opts);         \
    FINUFFT_EXPORT int name##dim##d3(int64_t nj, FINUFFT_X##dim##_(real), const number *c, int iflag, real eps,      \
                                     int64_t nk, FINUFFT_S##dim##_(real), number *f, const options *opts);           \
    FINUFFT_EXPORT int name##dim##d3many(int ntransf, int64_t nj, FINUFFT_X##dim##_(real), const number *c,          \
                                         int iflag, real eps, int64_t nk, FINUFFT_S##dim##_(real), number *f,        \
                                         const options *opts);

#define FINUFFT_SIMPLE_(name, real, number, options)                                                                 \
    FINUFFT_DIMENSION_(name, real, number, options, 1)                                                               \
    FINUFFT_DIMENSION_(name, real, number, options, 2)                                                               \
    FINUFFT_DIMENSION_(name, real, number, options, 3)

#endif
