/* What programs that were compiled with FINUFFT's headers hand over: the struct of options and the error codes, as the
 * public headers of release 2.6 have them (finufft_opts.h and finufft_errors.h, Flatiron Institute, Apache-2.0).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_FINUFFT_H
#define LARMOR_FINUFFT_H

#include <stdint.h>

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
    int spread_kerformula; /* 0, or one of three forms of the same window, 7 to 9 */
    int allow_eps_too_small;
    void (*fftw_lock_fun)(void *);
    void (*fftw_unlock_fun)(void *);
    void *fftw_lock_data;
} finufft_opts;

enum {
    FINUFFT_ERR_MAXNALLOC = 2,
    FINUFFT_ERR_SPREAD_BOX_SMALL = 3,
    FINUFFT_ERR_UPSAMPFAC_TOO_SMALL = 7,
    FINUFFT_ERR_NTRANS_NOTVALID = 9,
    FINUFFT_ERR_TYPE_NOTVALID = 10,
    FINUFFT_ERR_ALLOC = 11,
    FINUFFT_ERR_DIM_NOTVALID = 12,
    FINUFFT_ERR_PLAN_NOTVALID = 16,
    FINUFFT_ERR_NUM_NU_PTS_INVALID = 20,
    FINUFFT_ERR_INVALID_ARGUMENT = 21,
    FINUFFT_ERR_LOCK_FUNS_INVALID = 22,
    FINUFFT_ERR_NTHREADS_NOTVALID = 23,
    FINUFFT_ERR_KERFORMULA_NOTVALID = 24,
    FINUFFT_ERR_UNKNOWN_EXCEPTION = 25,
    FINUFFT_ERR_EPS_TOO_SMALL = 26
};

#endif
