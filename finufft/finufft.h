/* FINUFFT's C interface, for programs that link liblarmor_finufft: what those of FINUFFT 2.6 find in its finufft.h. C and
 * C++. The names, orders of arguments, options and codes are the interface's; docs/finufft.md says what differs. Source:
 * FINUFFT's documentation and public headers (Flatiron Institute, Apache-2.0). SPDX-License-Identifier: Apache-2.0 */
#ifndef FINUFFT_H
#define FINUFFT_H

#include <stdint.h>

#ifdef __cplusplus
#include <complex>
#define FINUFFT_COMPLEX_(real) std::complex<real>
extern "C" {
#else
#include <complex.h>
#define FINUFFT_COMPLEX_(real) real _Complex
#endif

#ifdef __GNUC__
#define FINUFFT_EXPORT __attribute__((visibility("default")))
#else
#define FINUFFT_EXPORT
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

enum {
    FINUFFT_WARN_EPS_TOO_SMALL = 1, /* of releases before 2.6 */
    FINUFFT_ERR_MAXNALLOC = 2,
    FINUFFT_ERR_SPREAD_BOX_SMALL = 3,
    FINUFFT_ERR_SPREAD_PTS_OUT_RANGE = 4,
    FINUFFT_ERR_SPREAD_ALLOC = 5,
    FINUFFT_ERR_SPREAD_DIR = 6,
    FINUFFT_ERR_UPSAMPFAC_TOO_SMALL = 7,
    FINUFFT_ERR_HORNER_WRONG_BETA = 8,
    FINUFFT_ERR_NTRANS_NOTVALID = 9,
    FINUFFT_ERR_TYPE_NOTVALID = 10,
    FINUFFT_ERR_ALLOC = 11,
    FINUFFT_ERR_DIM_NOTVALID = 12,
    FINUFFT_ERR_SPREAD_THREAD_NOTVALID = 13,
    FINUFFT_ERR_NDATA_NOTVALID = 14,
    FINUFFT_ERR_CUDA_FAILURE = 15,
    FINUFFT_ERR_PLAN_NOTVALID = 16,
    FINUFFT_ERR_METHOD_NOTVALID = 17,
    FINUFFT_ERR_BINSIZE_NOTVALID = 18,
    FINUFFT_ERR_INSUFFICIENT_SHMEM = 19,
    FINUFFT_ERR_NUM_NU_PTS_INVALID = 20,
    FINUFFT_ERR_INVALID_ARGUMENT = 21,
    FINUFFT_ERR_LOCK_FUNS_INVALID = 22,
    FINUFFT_ERR_NTHREADS_NOTVALID = 23,
    FINUFFT_ERR_KERFORMULA_NOTVALID = 24,
    FINUFFT_ERR_UNKNOWN_EXCEPTION = 25,
    FINUFFT_ERR_EPS_TOO_SMALL = 26,
    FINUFFT_ERR_PSWF_SETUP = 27
};

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

/* The transforms of a dimension, of one vector and of many: types 1 (points to modes), 2 (modes to points) and 3 (points
 * to targets). opts NULL: the defaults. They return 0 or a code. */
#define FINUFFT_DIMENSION_(name, real, dim)                                                                          \
    FINUFFT_EXPORT int name##dim##d1(int64_t nj, FINUFFT_X##dim##_(real), const FINUFFT_COMPLEX_(real) * c,          \
                                     int iflag, real eps, FINUFFT_N##dim##_, FINUFFT_COMPLEX_(real) * f,             \
                                     const finufft_opts *opts);                                                      \
    FINUFFT_EXPORT int name##dim##d1many(int ntransf, int64_t nj, FINUFFT_X##dim##_(real),                           \
                                         const FINUFFT_COMPLEX_(real) * c, int iflag, real eps, FINUFFT_N##dim##_,   \
                                         FINUFFT_COMPLEX_(real) * f, const finufft_opts *opts);                      \
    FINUFFT_EXPORT int name##dim##d2(int64_t nj, FINUFFT_X##dim##_(real), FINUFFT_COMPLEX_(real) * c, int iflag,     \
                                     real eps, FINUFFT_N##dim##_, const FINUFFT_COMPLEX_(real) * f,                  \
                                     const finufft_opts *opts);                                                      \
    FINUFFT_EXPORT int name##dim##d2many(int ntransf, int64_t nj, FINUFFT_X##dim##_(real),                           \
                                         FINUFFT_COMPLEX_(real) * c, int iflag, real eps, FINUFFT_N##dim##_,         \
                                         const FINUFFT_COMPLEX_(real) * f, const finufft_opts *opts);                \
    FINUFFT_EXPORT int name##dim##d3(int64_t nj, FINUFFT_X##dim##_(real), const FINUFFT_COMPLEX_(real) * c,          \
                                     int iflag, real eps, int64_t nk, FINUFFT_S##dim##_(real),                       \
                                     FINUFFT_COMPLEX_(real) * f, const finufft_opts *opts);                          \
    FINUFFT_EXPORT int name##dim##d3many(                                                                            \
        int ntransf, int64_t nj, FINUFFT_X##dim##_(real), const FINUFFT_COMPLEX_(real) * c, int iflag, real eps,     \
        int64_t nk, FINUFFT_S##dim##_(real), FINUFFT_COMPLEX_(real) * f, const finufft_opts *opts);

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
    FINUFFT_DIMENSION_(name, real, 1)                                                                                \
    FINUFFT_DIMENSION_(name, real, 2)                                                                                \
    FINUFFT_DIMENSION_(name, real, 3)

FINUFFT_PRECISION_(finufft, double)
FINUFFT_PRECISION_(finufftf, float)

#ifdef __cplusplus
}
#endif

#endif
