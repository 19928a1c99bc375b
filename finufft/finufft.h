/* FINUFFT's C interface, for programs that link liblarmor_finufft: what those of FINUFFT 2.6 find in its
 * finufft.h. C and C++. The names, orders of arguments, options and codes are the interface's; docs/finufft.md
 * says what differs. Source: FINUFFT's documentation and public headers (Flatiron Institute, Apache-2.0).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FINUFFT_H
#define FINUFFT_H

#include "finufft_errors.h"
#include "finufft_functions.h"

#ifdef __cplusplus
#include <complex>
#define FINUFFT_COMPLEX_(real) std::complex<real>
extern "C" {
#else
#include <complex.h>
#define FINUFFT_COMPLEX_(real) real _Complex
#endif

/* FFTW_ESTIMATE, the default of opts.fftw */
FINUFFT_EXPORT extern const int FINUFFT_FFT_DEFAULT;

typedef struct finufft_opts {
    int modeord;          /* 0: -N/2 first, 1: 0 first, as FFTs have it */
    int spreadinterponly; /* 1: no FFT and no deconvolution */
    int debug, spread_debug;
    int showwarn; /* 1: warnings and errors on stderr */
    int nthreads; /* 0: all */
    int fftw;
    int spread_sort;
    int spread_kerevalmeth, spread_kerpad; /* without effect since 2.6 */
    double upsampfac;                      /* 0: chosen */
    int spread_thread;                     /* without effect since 2.6 */
    int maxbatchsize;                      /* 0: chosen */
    int spread_nthr_atomic, spread_max_sp_size;
    int spread_kerformula;         /* 0, or one of three forms of the same window, 7 to 9 */
    int allow_eps_too_small;       /* 1: a tolerance below the machine's precision becomes that */
    void (*fftw_lock_fun)(void *); /* around FFTW's planner: both or neither */
    void (*fftw_unlock_fun)(void *);
    void *fftw_lock_data;
} finufft_opts;

/* Plans: made once, then points as often as they change, then any number of executions. */
#define FINUFFT_PRECISION_(name, real)                                                                               \
    typedef struct name##_plan_s *name##_plan;                                                                       \
    FINUFFT_EXPORT void name##_default_opts(finufft_opts *opts);                                                     \
    FINUFFT_EXPORT int name##_makeplan(int type, int dim, const int64_t *n_modes, int iflag, int n_transf, real tol, \
                                       name##_plan *plan, const finufft_opts *opts);                                 \
    FINUFFT_EXPORT int name##_setpts(name##_plan plan, int64_t nj, const real *x, const real *y, const real *z,      \
                                     int64_t nk, const real *s, const real *t, const real *u);                       \
    FINUFFT_EXPORT int name##_execute(name##_plan plan, FINUFFT_COMPLEX_(real) * weights,                            \
                                      FINUFFT_COMPLEX_(real) * result);                                              \
    FINUFFT_EXPORT int name##_execute_adjoint(name##_plan plan, FINUFFT_COMPLEX_(real) * weights,                    \
                                              FINUFFT_COMPLEX_(real) * result);                                      \
    FINUFFT_EXPORT int name##_destroy(name##_plan plan);                                                             \
    FINUFFT_SIMPLE_(name, real, FINUFFT_COMPLEX_(real), finufft_opts)

FINUFFT_PRECISION_(finufft, double)
FINUFFT_PRECISION_(finufftf, float)

#ifdef __cplusplus
}
#endif

#endif
