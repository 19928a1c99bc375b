/* FINUFFT's C interface on larmor's NUFFT: a program that is linked to FINUFFT runs on larmor when it is linked to
 * liblarmor_finufft.so, or preloads it. Compiled twice: LMR_REAL is 32 for the functions finufftf_*, 64 for finufft_*.
 *
 * This library alone writes to stderr, as FINUFFT's users expect it to with opts.showwarn. docs/finufft.md says what
 * differs. Source of the interface: FINUFFT's documentation and public headers, Barnett, Magland, af Klinteberg, SIAM J.
 * Sci. Comput. 41, C479 (2019). SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "finufft/precision.h"
#include "larmor/larmor.h"

#if LMR_REAL == 32
#define DTYPE LARMOR_C64
#define EPSILON FLT_EPSILON
#else
#define DTYPE LARMOR_C128
#define EPSILON DBL_EPSILON
#endif

#define MOST_POINTS INT64_C(100000000000000)
static const double two_pi = 6.283185307179586476925286766559;

/* What larmor can give at most and at least. */
enum { LOOSER = 4, TRIES = 24 };
static const double loosest = 0.5;
static const double least_upsample = 1.15;
static const double most_upsample = 2.5;

struct NAME(_plan_s) {
    larmor_nufft_opts nufft;
    larmor_nufft *run; /* NULL: there are no modes, so nothing is computed */
    larmor_device *dev;
    int64_t modes; /* of all dimensions; of type 3 targets */
    int64_t points;
    int warns, has_points;
    pthread_mutex_t lock; /* a plan of larmor serves one thread at a time; FINUFFT's may be executed by several */
};

/* Returns code. */
static int complain(int warns, int code, const char *text)
{
    if (warns) fprintf(stderr, "larmor's finufft: %s.\n", text);
    return code;
}

/* The code for what larmor said. */
static int code_of(int warns, larmor_status st)
{
    int code = FINUFFT_ERR_UNKNOWN_EXCEPTION;
    if (!st) return 0;
    if (st == LARMOR_ERR_MEMORY) code = FINUFFT_ERR_MAXNALLOC;
    if (st == LARMOR_ERR_NUMERIC) code = FINUFFT_ERR_EPS_TOO_SMALL;
    if (st == LARMOR_ERR_ARG || st == LARMOR_ERR_SHAPE) code = FINUFFT_ERR_INVALID_ARGUMENT;
    return complain(warns, code, larmor_last_error());
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
        return complain(o->showwarn, FINUFFT_ERR_LOCK_FUNS_INVALID,
                        "fftw_lock_fun and fftw_unlock_fun: one is set; set both or neither");
    if (o->nthreads < 0) return complain(o->showwarn, FINUFFT_ERR_NTHREADS_NOTVALID, "nthreads is negative");
    if (o->upsampfac != 0 && !(o->upsampfac > 1))
        return complain(o->showwarn, FINUFFT_ERR_UPSAMPFAC_TOO_SMALL, "upsampfac is not above 1");
    if (o->spread_kerformula && (o->spread_kerformula < 7 || o->spread_kerformula > 9))
        return complain(o->showwarn, FINUFFT_ERR_KERFORMULA_NOTVALID, "spread_kerformula is none of 0, 7, 8, 9");
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

/* A tolerance that larmor takes. `least` is what it can reach at most. */
static int choose_tol(const finufft_opts *o, plan *p, double tol)
{
    double least = 0;
    if (!(tol >= EPSILON) && !o->allow_eps_too_small)
        return complain(o->showwarn, FINUFFT_ERR_EPS_TOO_SMALL, "the tolerance is below the machine's precision");
    p->nufft.tol = fmin(fmax(tol, EPSILON), loosest);
    if (!(tol > 0)) p->nufft.tol = EPSILON;
    larmor_status st = larmor_nufft_least_tol(p->dev, &p->nufft, &least);
    if (st) return code_of(o->showwarn, st);
    if (least <= p->nufft.tol) return 0;
    if (o->showwarn)
        fprintf(stderr, "larmor's finufft warning: tol = %.3g is out of reach; %.3g is taken.\n", tol, least);
    p->nufft.tol = least;
    return 0;
}

static int open_device(const finufft_opts *o, plan *p)
{
    char spec[32] = "cpu";
    if (o->nthreads) snprintf(spec, sizeof spec, "cpu:%d", o->nthreads);
    if (o->fftw_lock_fun) larmor_set_fftw_lock(o->fftw_lock_fun, o->fftw_unlock_fun, o->fftw_lock_data);
    return code_of(o->showwarn, larmor_device_open(spec, &p->dev));
}

static double upsample(const finufft_opts *o)
{
    if (o->upsampfac == 0) return 0;
    const double taken = fmin(fmax(o->upsampfac, least_upsample), most_upsample);
    if (taken != o->upsampfac && o->showwarn)
        fprintf(stderr, "larmor's finufft warning: upsampfac = %.3g is outside of %.3g to %.3g; %.3g is taken.\n",
                o->upsampfac, least_upsample, most_upsample, taken);
    return taken;
}

static int fill_plan(plan *p, int type, int dim, const int64_t *n_modes, int iflag, int n_transf, double tol,
                     const finufft_opts *o)
{
    p->warns = o->showwarn;
    p->nufft = (larmor_nufft_opts){.size = sizeof p->nufft,
                                   .type = type,
                                   .ndim = dim,
                                   .batch = n_transf,
                                   .sign = iflag >= 0 ? 1 : -1,
                                   .upsample = upsample(o),
                                   .dtype = DTYPE,
                                   .mode_order = o->modeord ? LARMOR_MODES_FFT : LARMOR_MODES_CENTRED,
                                   .spread_only = type != 3 && o->spreadinterponly,
                                   .max_batch = o->maxbatchsize};
    p->modes = type == 3 ? 0 : 1;
    for (int d = 0; d < dim && type != 3; d++) {
        if (n_modes[d] < 0) return complain(p->warns, FINUFFT_ERR_INVALID_ARGUMENT, "a number of modes is negative");
        if (n_modes[d] && p->modes > INT64_MAX / 32 / n_modes[d])
            return complain(p->warns, FINUFFT_ERR_MAXNALLOC, "there are more modes than memory can hold");
        p->nufft.modes[d] = n_modes[d];
        p->modes *= n_modes[d];
    }
    int code = open_device(o, p);
    const int empty = type != 3 && !p->modes;
    for (int d = 0; d < dim && empty; d++) p->nufft.modes[d] = 1; /* the tolerance is checked all the same */
    if (!code) code = choose_tol(o, p, tol);
    if (code || empty) return code;
    return code_of(p->warns, larmor_nufft_create(p->dev, &p->nufft, &p->run));
}

int NAME(_destroy)(plan *p)
{
    if (!p) return FINUFFT_ERR_PLAN_NOTVALID;
    larmor_nufft_free(p->run);
    larmor_device_free(p->dev);
    pthread_mutex_destroy(&p->lock);
    free(p);
    return 0;
}

int NAME(_makeplan)(int type, int dim, const int64_t *n_modes, int iflag, int n_transf, real tol, plan **out,
                    const finufft_opts *opts)
{
    finufft_opts o;
    NAME(_default_opts)(&o);
    if (opts) o = *opts;
    if (!out) return complain(o.showwarn, FINUFFT_ERR_PLAN_NOTVALID, "there is no place for the plan");
    *out = NULL;
    int code = check_options(&o);
    if (code) return code;
    if (type < 1 || type > 3) return complain(o.showwarn, FINUFFT_ERR_TYPE_NOTVALID, "type is not 1, 2 or 3");
    if (dim < 1 || dim > 3) return complain(o.showwarn, FINUFFT_ERR_DIM_NOTVALID, "dim is not 1, 2 or 3");
    if (n_transf < 1) return complain(o.showwarn, FINUFFT_ERR_NTRANS_NOTVALID, "ntrans is below 1");
    plan *p = calloc(1, sizeof *p);
    if (!p) return FINUFFT_ERR_ALLOC;
    pthread_mutex_init(&p->lock, NULL);
    code = fill_plan(p, type, dim, n_modes, iflag, n_transf, (double)tol, &o);
    if (code) {
        NAME(_destroy)(p);
        return code;
    }
    *out = p;
    return 0;
}

/* ---- points ---- */

/* Coordinates that lie one after the other become points [ndim, count], times a factor for each dimension. */
static larmor_status interleave(const plan *p, int64_t count, const real *const from[3], const double factor[3],
                                larmor_array **points)
{
    const int ndim = p->nufft.ndim;
    *points = NULL;
    for (int d = 0; d < ndim; d++)
        if (count && !from[d])
            return larmor_fail(LARMOR_ERR_ARG, "finufft: coordinates along dimension %d are NULL", d);
    larmor_status st = larmor_array_create(p->dev, LARMOR_F64, LARMOR_SHAPE(ndim, count), points);
    if (st) return st;
    double *to = larmor_array_data(*points);
    double sum = 0;
    for (int64_t j = 0; j < count; j++) {
        for (int d = 0; d < ndim; d++) {
            to[j * ndim + d] = (double)from[d][j] * factor[d];
            sum += 0 * to[j * ndim + d];
        }
    }
    return isfinite(sum) ? LARMOR_OK : larmor_fail(LARMOR_ERR_ARG, "finufft: a coordinate is not finite");
}

/* Points of type 3 that lie far apart set a limit to the tolerance that only they show. FINUFFT goes on with a larger
 * error there, and so does this: with a warning. */
static larmor_status set_points(plan *p, const larmor_array *points, const larmor_array *targets)
{
    larmor_status st = larmor_nufft_set_points(p->run, points, targets);
    for (int i = 0; i < TRIES && st == LARMOR_ERR_NUMERIC; i++) {
        if (p->nufft.tol * LOOSER > loosest) break;
        p->nufft.tol *= LOOSER;
        larmor_nufft *other = NULL;
        st = larmor_nufft_create(p->dev, &p->nufft, &other);
        if (st) break;
        larmor_nufft_free(p->run);
        p->run = other;
        st = larmor_nufft_set_points(p->run, points, targets);
        if (!st && p->warns)
            fprintf(stderr, "larmor's finufft warning: tol is out of reach for these points; %.3g is taken.\n",
                    p->nufft.tol);
    }
    return st;
}

int NAME(_setpts)(plan *p, int64_t nj, const real *x, const real *y, const real *z, int64_t nk, const real *s,
                  const real *t, const real *u)
{
    if (!p) return FINUFFT_ERR_PLAN_NOTVALID;
    const int is_3 = p->nufft.type == 3;
    if (nj < 0 || nj > MOST_POINTS || (is_3 && (nk < 0 || nk > MOST_POINTS)))
        return complain(p->warns, FINUFFT_ERR_NUM_NU_PTS_INVALID, "the number of points is negative or above 1e14");
    const real *const from[3] = {x, y, z};
    const real *const to[3] = {s, t, u};
    double forth[3], back[3];
    for (int d = 0; d < 3; d++) {
        forth[d] = is_3 ? 1 : (double)p->nufft.modes[d] / two_pi;
        back[d] = 1 / two_pi;
    }
    larmor_array *points = NULL;
    larmor_array *targets = NULL;
    pthread_mutex_lock(&p->lock);
    larmor_status st = p->run ? interleave(p, nj, from, forth, &points) : LARMOR_OK;
    if (!st && is_3) st = interleave(p, nk, to, back, &targets);
    if (!st && p->run) st = set_points(p, points, targets);
    if (!st) {
        p->points = nj;
        if (is_3) p->modes = nk;
        p->has_points = 1;
    }
    pthread_mutex_unlock(&p->lock);
    larmor_array_free(points);
    larmor_array_free(targets);
    return code_of(p->warns, st);
}

/* ---- execution ---- */

typedef larmor_status (*execution)(larmor_nufft *, const larmor_array *, larmor_array *);

/* The caller's values, or where their memory is aligned for half a number only, as C allows, a copy of them. */
typedef struct values {
    larmor_array *array;
    void *copied; /* the caller's memory, NULL if the array is that */
    size_t bytes;
} values;

static larmor_status take(const plan *p, int64_t count, void *data, int is_read, values *v)
{
    *v = (values){.bytes = 0};
    if ((uintptr_t)data % sizeof(complex_real) == 0)
        return larmor_array_wrap(p->dev, DTYPE, LARMOR_SHAPE(count, p->nufft.batch), data, NULL, NULL, &v->array);
    const larmor_status st = larmor_array_create(p->dev, DTYPE, LARMOR_SHAPE(count, p->nufft.batch), &v->array);
    if (st) return st;
    v->copied = data;
    v->bytes = (size_t)(count * p->nufft.batch) * sizeof(complex_real);
    if (is_read) memcpy(larmor_array_data(v->array), data, v->bytes);
    return LARMOR_OK;
}

static void give_back(values *v, int is_written)
{
    if (v->copied && is_written) memcpy(v->copied, larmor_array_data(v->array), v->bytes);
    larmor_array_free(v->array);
}

static int run(plan *p, execution execute, int to_modes, void *at_points, void *at_modes)
{
    if (!p) return FINUFFT_ERR_PLAN_NOTVALID;
    if (!p->has_points) return complain(p->warns, FINUFFT_ERR_INVALID_ARGUMENT, "setpts was not called");
    if (!p->run) { /* a sum over no modes */
        if (!to_modes && p->points) memset(at_points, 0, (size_t)(p->points * p->nufft.batch) * sizeof(complex_real));
        return 0;
    }
    values points = {.bytes = 0};
    values modes = {.bytes = 0};
    pthread_mutex_lock(&p->lock);
    larmor_status st = take(p, p->points, at_points, to_modes, &points);
    if (!st) st = take(p, p->modes, at_modes, !to_modes, &modes);
    if (!st && to_modes) st = execute(p->run, points.array, modes.array);
    if (!st && !to_modes) st = execute(p->run, modes.array, points.array);
    give_back(&points, !st && !to_modes);
    give_back(&modes, !st && to_modes);
    pthread_mutex_unlock(&p->lock);
    return code_of(p->warns, st);
}

int NAME(_execute)(plan *p, complex_real *weights, complex_real *result)
{
    return run(p, larmor_nufft_execute, !p || p->nufft.type != 2, weights, result);
}

int NAME(_execute_adjoint)(plan *p, complex_real *weights, complex_real *result)
{
    return run(p, larmor_nufft_execute_adjoint, p && p->nufft.type == 2, weights, result);
}

/* ---- the simple interface: all of it at once ---- */

typedef struct places {
    const real *x[3], *s[3];
} places;

static int all(int type, int dim, int ntrans, int64_t nj, places at, void *c, int iflag, real eps,
               const int64_t *modes, int64_t nk, void *f, const finufft_opts *o)
{
    plan *p = NULL;
    int code = NAME(_makeplan)(type, dim, modes, iflag, ntrans, eps, &p, o);
    if (!code) code = NAME(_setpts)(p, nj, at.x[0], at.x[1], at.x[2], nk, at.s[0], at.s[1], at.s[2]);
    if (!code) code = NAME(_execute)(p, c, f);
    if (p) NAME(_destroy)(p);
    return code;
}

#define MODES1                                                                                                       \
    {                                                                                                                \
        ms, 1, 1                                                                                                     \
    }
#define MODES2                                                                                                       \
    {                                                                                                                \
        ms, mt, 1                                                                                                    \
    }
#define MODES3                                                                                                       \
    {                                                                                                                \
        ms, mt, mu                                                                                                   \
    }
#define AT1                                                                                                          \
    {                                                                                                                \
        x, NULL, NULL                                                                                                \
    }
#define AT2                                                                                                          \
    {                                                                                                                \
        x, y, NULL                                                                                                   \
    }
#define AT3                                                                                                          \
    {                                                                                                                \
        x, y, z                                                                                                      \
    }
#define TO1                                                                                                          \
    {                                                                                                                \
        s, NULL, NULL                                                                                                \
    }
#define TO2                                                                                                          \
    {                                                                                                                \
        s, t, NULL                                                                                                   \
    }
#define TO3                                                                                                          \
    {                                                                                                                \
        s, t, u                                                                                                      \
    }

/* Types 1 and 2 of a dimension, for one vector and for many. */
#define UNIFORM(dim, type)                                                                                           \
    int NAME(dim##d##type##many)(int ntrans, int64_t nj, FINUFFT_X##dim##_(real), C##type, int iflag, real eps,      \
                                 FINUFFT_N##dim##_, F##type, const finufft_opts *o)                                  \
    {                                                                                                                \
        const int64_t modes[3] = MODES##dim;                                                                         \
        const places at = {.x = AT##dim};                                                                            \
        return all(type, dim, ntrans, nj, at, (void *)c, iflag, eps, modes, 0, (void *)f, o);                        \
    }                                                                                                                \
    int NAME(dim##d##type)(int64_t nj, FINUFFT_X##dim##_(real), C##type, int iflag, real eps, FINUFFT_N##dim##_,     \
                           F##type, const finufft_opts *o)                                                           \
    {                                                                                                                \
        const int64_t modes[3] = MODES##dim;                                                                         \
        const places at = {.x = AT##dim};                                                                            \
        return all(type, dim, 1, nj, at, (void *)c, iflag, eps, modes, 0, (void *)f, o);                             \
    }

#define POINTS(dim)                                                                                                  \
    int NAME(dim##d3many)(int ntrans, int64_t nj, FINUFFT_X##dim##_(real), C1, int iflag, real eps, int64_t nk,      \
                          FINUFFT_S##dim##_(real), F1, const finufft_opts *o)                                        \
    {                                                                                                                \
        const int64_t none[3] = {0, 0, 0};                                                                           \
        const places at = {.x = AT##dim, .s = TO##dim};                                                              \
        return all(3, dim, ntrans, nj, at, (void *)c, iflag, eps, none, nk, f, o);                                   \
    }                                                                                                                \
    int NAME(dim##d3)(int64_t nj, FINUFFT_X##dim##_(real), C1, int iflag, real eps, int64_t nk,                      \
                      FINUFFT_S##dim##_(real), F1, const finufft_opts *o)                                            \
    {                                                                                                                \
        const int64_t none[3] = {0, 0, 0};                                                                           \
        const places at = {.x = AT##dim, .s = TO##dim};                                                              \
        return all(3, dim, 1, nj, at, (void *)c, iflag, eps, none, nk, f, o);                                        \
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
