/* FINUFFT's C interface on larmor's NUFFT: a program that is linked to FINUFFT runs on larmor when it is linked to
 * liblarmor_finufft.so, or preloads it. Compiled twice: LMR_REAL is 32 for the functions finufftf_*, 64 for
 * finufft_*.
 *
 * This library and liblarmor_cufinufft.so alone write to stderr, as FINUFFT's users expect it to with
 * opts.showwarn. docs/finufft.md says what differs. Source of the interface: FINUFFT's documentation and public
 * headers, Barnett, Magland, af Klinteberg, SIAM J. Sci. Comput. 41, C479 (2019). SPDX-License-Identifier:
 * Apache-2.0 */
#include <stdio.h>

#include "finufft/precision.h"
#include "finufft/transform.h"

static const char *const who = "finufft";

/* A plan is a transform. */
static lmr_transform *of(plan *p)
{
    return (lmr_transform *)p;
}

static int complain(const finufft_opts *o, int code, const char *text)
{
    return lmr_transform_complain(who, o->showwarn, code, text);
}

void NAME(_default_opts)(finufft_opts *o)
{
    *o = (finufft_opts){.showwarn = 1,
                        .fftw = 64, /* FFTW_ESTIMATE */
                        .spread_sort = 2,
                        .spread_kerevalmeth = 1,
                        .spread_kerpad = 1,
                        .spread_nthr_atomic = -1};
}

/* ---- plans ---- */

static int check_options(const finufft_opts *o)
{
    if (!o->fftw_lock_fun != !o->fftw_unlock_fun)
        return complain(o, FINUFFT_ERR_LOCK_FUNS_INVALID,
                        "fftw_lock_fun and fftw_unlock_fun: one is set; set both or neither");
    if (o->nthreads < 0) return complain(o, FINUFFT_ERR_NTHREADS_NOTVALID, "nthreads is negative");
    if (o->upsampfac != 0 && !(o->upsampfac > 1))
        return complain(o, FINUFFT_ERR_UPSAMPFAC_TOO_SMALL, "upsampfac is not above 1");
    if (o->spread_kerformula && (o->spread_kerformula < 7 || o->spread_kerformula > 9))
        return complain(o, FINUFFT_ERR_KERFORMULA_NOTVALID, "spread_kerformula is none of 0, 7, 8, 9");
    const struct {
        const char *name;
        int changed;
    } old[] = {{"spread_thread", o->spread_thread != 0},
               {"spread_kerevalmeth", o->spread_kerevalmeth != 1},
               {"spread_kerpad", o->spread_kerpad != 1}};
    for (int i = 0; i < 3; i++)
        if (old[i].changed && o->showwarn)
            fprintf(stderr, "larmor's finufft warning: opts.%s is deprecated and ignored.\n", old[i].name);
    return 0;
}

static int open_device(const finufft_opts *o, larmor_device **dev)
{
    char spec[32] = "cpu";
    if (o->nthreads) snprintf(spec, sizeof spec, "cpu:%d", o->nthreads);
    if (o->fftw_lock_fun) larmor_set_fftw_lock(o->fftw_lock_fun, o->fftw_unlock_fun, o->fftw_lock_data);
    return lmr_transform_code(who, o->showwarn, larmor_device_open(spec, dev));
}

int NAME(_makeplan)(int type, int dim, const int64_t *n_modes, int iflag, int n_transf, real tol, plan **out,
                    const finufft_opts *opts)
{
    finufft_opts o;
    larmor_device *dev = NULL;
    lmr_transform *t = NULL;
    NAME(_default_opts)(&o);
    if (opts) o = *opts;
    if (!out) return complain(&o, FINUFFT_ERR_PLAN_NOTVALID, "there is no place for the plan");
    *out = NULL;
    const lmr_transform_request asked = {.who = who,
                                         .warns = o.showwarn,
                                         .on_host = 1,
                                         .raises_tol = o.allow_eps_too_small,
                                         .type = type,
                                         .dim = dim,
                                         .sign = iflag,
                                         .ntrans = n_transf,
                                         .modes = n_modes,
                                         .tol = (double)tol,
                                         .upsample = o.upsampfac,
                                         .dtype = DTYPE,
                                         .fft_order = o.modeord,
                                         .spread_only = o.spreadinterponly,
                                         .max_batch = o.maxbatchsize};
    int code = check_options(&o);
    if (!code) code = lmr_transform_check(&asked);
    if (!code) code = open_device(&o, &dev);
    if (!code) code = lmr_transform_create(&asked, dev, &t);
    *out = (plan *)t;
    return code;
}

int NAME(_setpts)(plan *p, int64_t nj, const real *x, const real *y, const real *z, int64_t nk, const real *s,
                  const real *t, const real *u)
{
    return lmr_transform_set_points(of(p), nj, (const void *[3]){x, y, z}, nk, (const void *[3]){s, t, u});
}

int NAME(_execute)(plan *p, complex_real *weights, complex_real *result)
{
    return lmr_transform_execute(of(p), 0, weights, result);
}

int NAME(_execute_adjoint)(plan *p, complex_real *weights, complex_real *result)
{
    return lmr_transform_execute(of(p), 1, weights, result);
}

int NAME(_destroy)(plan *p)
{
    return lmr_transform_free(of(p));
}

#define OPTIONS finufft_opts
#define SET_POINTS NAME(_setpts)
#include "finufft/simple.h"
