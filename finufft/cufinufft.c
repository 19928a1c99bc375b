/* cuFINUFFT's C interface on larmor's NUFFT: a program that is linked to cuFINUFFT runs on larmor when it is
 * linked to liblarmor_cufinufft.so, or preloads it. Compiled twice: LMR_REAL is 32 for the functions cufinufftf_*,
 * 64 for cufinufft_*. docs/finufft.md says what differs. Source of the interface: FINUFFT's documentation and
 * public headers, Shih, Wright, Anden, Blaschke, Barnett, IPDPSW 2021, 688. SPDX-License-Identifier: Apache-2.0 */
#include "finufft/cufinufft.h"

#include <limits.h>

#include "finufft/gpu.h"
#include "finufft/precision.h"
#include "finufft/transform.h"

/* No GPU has more shared memory for a block of threads. */
enum { MOST_SHARED = 227 * 1024 };

static const char *const who = "cufinufft";

/* A plan is a transform. */
static lmr_transform *of(plan *p)
{
    return (lmr_transform *)p;
}

/* cuFINUFFT has no option for its messages. */
static int complain(int code, const char *text)
{
    return lmr_transform_complain(who, 1, code, text);
}

#if LMR_REAL == 64
void cufinufft_default_opts(cufinufft_opts *o)
{
    *o = (cufinufft_opts){.gpu_sort = 1, .gpu_maxsubprobsize = 1024, .gpu_kerevalmeth = 1};
}
#endif

/* ---- plans ---- */

/* Whether tiles of these sides, which larmor does not use, could be held by a GPU. */
static int fits(const cufinufft_opts *o, int dim)
{
    const int sides[3] = {o->gpu_binsizex, o->gpu_binsizey, o->gpu_binsizez};
    double bytes = 2 * sizeof(real);
    for (int d = 0; d < dim; d++) bytes *= sides[d] > 0 ? sides[d] : 1;
    return bytes <= MOST_SHARED;
}

static int check_options(const cufinufft_opts *o, int dim)
{
    if (o->upsampfac != 0 && !(o->upsampfac > 1) && o->gpu_kerevalmeth == 1)
        return complain(FINUFFT_ERR_HORNER_WRONG_BETA, "upsampfac is not above 1, with gpu_kerevalmeth = 1");
    if (o->upsampfac != 0 && !(o->upsampfac > 1))
        return complain(FINUFFT_ERR_UPSAMPFAC_TOO_SMALL, "upsampfac is not above 1");
    if (o->gpu_method < 0 || o->gpu_method > 4 || (o->gpu_method == 4 && dim != 3))
        return complain(FINUFFT_ERR_METHOD_NOTVALID, "gpu_method is not 0 to 3, or 4 in three dimensions");
    if (o->gpu_method > 1 && !fits(o, dim))
        return complain(FINUFFT_ERR_INSUFFICIENT_SHMEM, "gpu_binsize is more than a GPU's shared memory holds");
    return 0;
}

/* cuFINUFFT counts modes by int. */
static int check_modes(const lmr_transform_request *r)
{
    int64_t all = 1;
    for (int d = 0; d < r->dim && r->type != 3; d++) {
        if (r->modes[d] < 1 || r->modes[d] > INT_MAX / all)
            return complain(FINUFFT_ERR_NDATA_NOTVALID, "numbers of modes must be at least 1 and below 2^31 in all");
        all *= r->modes[d];
    }
    return 0;
}

static int make_plan(const lmr_transform_request *asked, const cufinufft_opts *o, plan **out)
{
    larmor_device *dev = NULL;
    lmr_transform *t = NULL;
    int code = 0;
    void *const current = lmr_gpu_current();
    if (lmr_gpu_open(o->gpu_device_id, o->gpu_stream, &dev))
        code = complain(FINUFFT_ERR_CUDA_FAILURE, larmor_last_error());
    if (!code) code = lmr_transform_create(asked, dev, &t);
    lmr_gpu_make_current(current);
    *out = (plan *)t;
    return code;
}

int NAME(_makeplan)(int type, int dim, const int64_t *n_modes, int iflag, int n_transf, real tol, plan **out,
                    const cufinufft_opts *opts)
{
    cufinufft_opts o;
    cufinufft_default_opts(&o);
    if (opts) o = *opts;
    if (!out) return complain(FINUFFT_ERR_PLAN_NOTVALID, "there is no place for the plan");
    *out = NULL;
    const lmr_transform_request asked = {.who = who,
                                         .warns = 1,
                                         .raises_tol = 1,
                                         .type = type,
                                         .dim = dim,
                                         .sign = iflag,
                                         .ntrans = n_transf,
                                         .modes = n_modes,
                                         .tol = (double)tol,
                                         .upsample = o.upsampfac,
                                         .dtype = DTYPE,
                                         .fft_order = o.modeord,
                                         .spread_only = o.gpu_spreadinterponly,
                                         .max_batch = o.gpu_maxbatchsize > 0 ? o.gpu_maxbatchsize : 0};
    int code = lmr_transform_check(&asked);
    if (!code) code = check_modes(&asked);
    if (!code) code = check_options(&o, dim);
    return code ? code : make_plan(&asked, &o, out);
}

static int set_points(plan *p, int64_t nj, const real *x, const real *y, const real *z, int64_t nk, const real *s,
                      const real *t, const real *u)
{
    void *const current = lmr_gpu_current();
    const int code = lmr_transform_set_points(of(p), nj, (const void *[3]){x, y, z}, nk, (const void *[3]){s, t, u});
    lmr_gpu_make_current(current);
    return code;
}

int NAME(_setpts)(plan *p, int64_t nj, const real *x, const real *y, const real *z, int nk, const real *s,
                  const real *t, const real *u)
{
    return set_points(p, nj, x, y, z, nk, s, t, u);
}

int NAME(_execute)(plan *p, complex_real *c, complex_real *f)
{
    void *const current = lmr_gpu_current();
    const int code = lmr_transform_execute(of(p), 0, c, f);
    lmr_gpu_make_current(current);
    return code;
}

int NAME(_destroy)(plan *p)
{
    void *const current = lmr_gpu_current();
    const int code = lmr_transform_free(of(p));
    lmr_gpu_make_current(current);
    return code;
}

#define OPTIONS cufinufft_opts
#define SET_POINTS set_points
#include "finufft/simple.h"
