/* cuFINUFFT's C interface, for programs that link liblarmor_cufinufft: what those of cuFINUFFT 2.6 find in its
 * cufinufft.h. C and C++. All arrays are on the GPU. The names, orders of arguments, options and codes are the
 * interface's; docs/finufft.md says what differs. Source: FINUFFT's documentation and public headers (Flatiron
 * Institute, Apache-2.0). SPDX-License-Identifier: Apache-2.0 */
#ifndef CUFINUFFT_H
#define CUFINUFFT_H

#include "cufinufft_opts.h"
#include "finufft_errors.h"
#include "finufft_functions.h"

#if defined(__has_include)
#if __has_include(<cuComplex.h>)
#include <cuComplex.h>
#define CUFINUFFT_HAS_COMPLEX_
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CUFINUFFT_HAS_COMPLEX_ /* without CUDA's headers: its types, known by their names alone */
typedef struct float2 cuFloatComplex;
typedef struct double2 cuDoubleComplex;
#endif

FINUFFT_EXPORT void cufinufft_default_opts(cufinufft_opts *opts);

/* Plans: made once, then points as often as they change, then any number of executions, which are queued on
 * opts.gpu_stream and not waited for. */
#define CUFINUFFT_PRECISION_(name, real, number)                                                                     \
    typedef struct name##_plan_s *name##_plan;                                                                       \
    FINUFFT_EXPORT int name##_makeplan(int type, int dim, const int64_t *n_modes, int iflag, int n_transf, real tol, \
                                       name##_plan *plan, const cufinufft_opts *opts);                               \
    FINUFFT_EXPORT int name##_setpts(name##_plan plan, int64_t nj, const real *x, const real *y, const real *z,      \
                                     int nk, const real *s, const real *t, const real *u);                           \
    FINUFFT_EXPORT int name##_execute(name##_plan plan, number *c, number *f);                                       \
    FINUFFT_EXPORT int name##_destroy(name##_plan plan);                                                             \
    FINUFFT_SIMPLE_(name, real, number, cufinufft_opts)

CUFINUFFT_PRECISION_(cufinufft, double, cuDoubleComplex)
CUFINUFFT_PRECISION_(cufinufftf, float, cuFloatComplex)

#ifdef __cplusplus
}
#endif

#endif
