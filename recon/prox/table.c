/* Regularisers by name, and the solver that suits each. SPDX-License-Identifier: Apache-2.0 */
#include "recon/prox/table.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const lmr_regulariser_kind *const table[] = {
    &lmr_regulariser_tv,
    &lmr_regulariser_tgv,
    &lmr_regulariser_wavelet,
    &lmr_regulariser_llr,
};
enum { COUNT = sizeof table / sizeof *table };

struct larmor_regulariser {
    const lmr_regulariser_kind *kind;
    larmor_device *dev;
    larmor_dtype dtype;
    larmor_shape shape;
    larmor_penalty penalty;
    double weight; /* the absolute one of the last run */
    atomic_int refs;
};

/* ---- the table ---- */

const char *larmor_regulariser_name(int i)
{
    return i >= 0 && i < COUNT ? table[i]->name : NULL;
}

const char *larmor_regulariser_help(int i)
{
    return i >= 0 && i < COUNT ? table[i]->help : NULL;
}

static larmor_status find(const char *name, const lmr_regulariser_kind **kind)
{
    char known[128] = "";
    *kind = NULL;
    for (int i = 0; i < COUNT; i++) {
        if (name && !strcmp(name, table[i]->name)) *kind = table[i];
        if (i) strncat(known, i + 1 < COUNT ? ", " : " or ", sizeof known - strlen(known) - 1);
        strncat(known, table[i]->name, sizeof known - strlen(known) - 1);
    }
    if (*kind) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "regulariser: got \"%s\", expected %s", name ? name : "(null)", known);
}

static larmor_status check(const char *name, const larmor_regulariser_opts *o)
{
    if (isnan(o->lambda) || isinf(o->lambda))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: lambda is %g, expected a finite number", name, o->lambda);
    if (isnan(o->time) || isinf(o->time))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: the weight of time is %g, expected a finite number", name, o->time);
    if (!(o->ratio >= 0) || isinf(o->ratio))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: ratio is %g, expected a finite number >= 0", name, o->ratio);
    for (int d = 0; d < 3; d++)
        if (o->block[d] < 0)
            return LMR_FAIL(LARMOR_ERR_ARG, "%s: block[%d] is %lld, expected at least 1, or 0 for the default", name,
                            d, (long long)o->block[d]);
    return LARMOR_OK;
}

larmor_status larmor_regulariser_defaults(const char *name, larmor_regulariser_opts *opts, larmor_solve_opts *solve)
{
    const lmr_regulariser_kind *kind;
    LMR_TRY(find(name, &kind));
    if (opts) opts->lambda = kind->lambda;
    if (solve) solve->max_iter = kind->max_iter, solve->tol = kind->tol;
    return LARMOR_OK;
}

/* ---- the object ---- */

larmor_status larmor_regulariser_create(larmor_device *dev, const char *name, const larmor_regulariser_opts *opts,
                                        larmor_dtype dtype, larmor_shape shape, larmor_regulariser **out)
{
    if (!out) return LMR_FAIL(LARMOR_ERR_ARG, "regulariser: r is NULL");
    *out = NULL;
    const lmr_regulariser_kind *kind;
    const larmor_regulariser_opts o = opts ? *opts : (larmor_regulariser_opts){0};
    LMR_TRY(find(name, &kind));
    if (!dev || !lmr_is_complex(dtype))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: a device and a complex type are needed", kind->name);
    LMR_TRY(check(kind->name, &o));
    larmor_regulariser *r = calloc(1, sizeof *r);
    if (!r) return LMR_NO_MEMORY();
    r->kind = kind, r->dev = lmr_device_ref(dev), r->dtype = dtype, r->shape = shape, r->refs = 1;
    r->penalty.lambda = o.lambda == 0 ? kind->lambda : fmax(0, o.lambda);
    const larmor_status st = kind->make(dev, &o, dtype, shape, &r->penalty);
    if (st)
        larmor_regulariser_free(r);
    else
        *out = r;
    return st;
}

larmor_regulariser *larmor_regulariser_ref(larmor_regulariser *r)
{
    if (r) r->refs++;
    return r;
}

void larmor_regulariser_free(larmor_regulariser *r)
{
    if (!r || --r->refs > 0) return;
    larmor_op_free(r->penalty.K), larmor_op_free(r->penalty.E);
    larmor_prox_free(r->penalty.g);
    larmor_device_free(r->dev);
    free(r);
}

larmor_penalty larmor_regulariser_penalty(const larmor_regulariser *r)
{
    return r->penalty;
}

double larmor_regulariser_weight(const larmor_regulariser *r)
{
    return r->weight;
}

larmor_status larmor_regularised_memory(const char *name, const larmor_regulariser_opts *opts, larmor_dtype dtype,
                                        larmor_shape shape, int64_t *bytes)
{
    enum { OF_Z = 11, OF_KZ = 6 }; /* the vectors of larmor_admm and of its preconditioner */
    const lmr_regulariser_kind *kind;
    *bytes = 0;
    LMR_TRY(find(name, &kind));
    const larmor_regulariser_opts o = opts ? *opts : (larmor_regulariser_opts){0};
    LMR_TRY(check(kind->name, &o));
    double z, Kz, kept;
    kind->sizes(&o, shape, &z, &Kz, &kept);
    const double numbers = (OF_Z * z + OF_KZ * Kz + kept + 1) * (double)larmor_shape_count(shape);
    if (!(numbers >= 0) || numbers * (double)larmor_dtype_size(dtype) > 0x1p62)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: the image's size is out of range", kind->name);
    *bytes = (int64_t)(numbers * (double)larmor_dtype_size(dtype));
    return LARMOR_OK;
}

/* ---- the unit of lambda ---- */

larmor_status larmor_lambda_unit(larmor_op *A, const larmor_array *b, double *unit)
{
    *unit = 0;
    if (!A || !b) return LMR_FAIL(LARMOR_ERR_ARG, "lambda: A and b are needed");
    larmor_array *r = NULL, *square = NULL;
    larmor_status st;
    double norm, fourth;
    LMR_OR(done, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &r));
    LMR_OR(done, larmor_op_adjoint(A, b, r));
    LMR_OR(done, larmor_nrm2(r, &norm));
    if (!isfinite(norm)) {
        st = LMR_FAIL(LARMOR_ERR_NUMERIC, "lambda: |A^H b| is %g, expected a finite number; look for NaN or Inf",
                      norm);
        goto done;
    }
    if (norm == 0) goto done;
    LMR_OR(done, larmor_axpby(1 / norm, r, 0, r));
    LMR_OR(done, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &square));
    LMR_OR(done, larmor_copy(r, square));
    LMR_OR(done, larmor_mul(r, 1, square)); /* |r|^2 */
    LMR_OR(done, larmor_nrm2(square, &fourth));
    *unit = norm * fourth;
done:
    larmor_array_free(square), larmor_array_free(r);
    return st;
}

/* ---- a run ---- */

/* What a run needs beside the caller's: the solver works on z, the caller sees images. */
typedef struct run {
    larmor_op *AE, *M;
    larmor_prox *g;
    larmor_array *z;
    larmor_op *E; /* not owned */
    larmor_array *x;
    const larmor_solve_opts *opts;
} run;

static int show_image(void *user, const larmor_progress *p)
{
    const run *u = user;
    larmor_progress shown = *p;
    if (larmor_op_forward(u->E, p->x, u->x)) return 1;
    shown.x = u->x;
    return u->opts->monitor(u->opts->user, &shown);
}

static void run_free(run *u)
{
    larmor_op_free(u->AE), larmor_op_free(u->M), larmor_prox_free(u->g), larmor_array_free(u->z);
}

/* A E, z with E z = x, and g at its absolute weight. */
static larmor_status extend(const larmor_regulariser *r, larmor_op *A, larmor_array *x, run *u)
{
    const larmor_penalty *p = &r->penalty;
    *u = (run){.E = p->E, .x = x};
    larmor_status st = larmor_prox_scaled(p->g, r->weight, &u->g);
    if (!st && p->E) {
        st = larmor_op_chain(A, p->E, &u->AE);
        if (!st) st = larmor_array_create(r->dev, r->dtype, larmor_op_in_shape(p->E), &u->z);
        if (!st) st = larmor_op_adjoint(p->E, x, u->z);
    } else if (!st) {
        u->AE = larmor_op_ref(A), u->z = larmor_array_ref(x);
    }
    return st;
}

/* ---- preconditioners for what is more than an image ---- */

/* M of the image, and 1 / of what has no data. */
typedef struct extended {
    larmor_op *E, *M;
    double rest;
    larmor_array *x, *y; /* like the image */
} extended;

static larmor_status extended_apply(void *self, const larmor_array *x, larmor_array *y)
{
    const extended *s = self;
    LMR_TRY(larmor_op_forward(s->E, x, s->x));
    LMR_TRY(larmor_op_forward(s->M, s->x, s->y));
    LMR_TRY(larmor_axpby(-1 / s->rest, s->x, 1, s->y));
    LMR_TRY(larmor_op_adjoint(s->E, s->y, y));
    return larmor_axpby(1 / s->rest, x, 1, y);
}

static void extended_destroy(void *self)
{
    extended *s = self;
    larmor_op_free(s->E), larmor_op_free(s->M);
    larmor_array_free(s->x), larmor_array_free(s->y);
    free(s);
}

static larmor_status precondition_extended(const larmor_regulariser *r, larmor_op *M, double rest, larmor_op **out)
{
    static const larmor_op_impl impl = {"extended", extended_apply, extended_apply, NULL, extended_destroy};
    const larmor_shape shape = larmor_op_in_shape(r->penalty.E);
    extended *s = calloc(1, sizeof *s);
    if (!s) return LMR_NO_MEMORY();
    *s = (extended){.E = larmor_op_ref(r->penalty.E), .M = larmor_op_ref(M), .rest = rest};
    larmor_status st;
    LMR_OR(fail, larmor_array_create(r->dev, r->dtype, r->shape, &s->x));
    LMR_OR(fail, larmor_array_create(r->dev, r->dtype, r->shape, &s->y));
    LMR_OR(fail, larmor_op_create(r->dev, &impl, s, r->dtype, shape, shape, out));
    return LARMOR_OK;
fail:
    extended_destroy(s);
    return st;
}

/* The same M for every frame. */
static larmor_status precondition_series(const larmor_regulariser *r, larmor_op *M, larmor_op **out)
{
    const int frames = (int)r->shape.dim[r->shape.ndim - 1];
    larmor_op **all = calloc((size_t)frames, sizeof *all);
    if (!all) return LMR_NO_MEMORY();
    for (int i = 0; i < frames; i++) all[i] = M;
    const larmor_status st = larmor_op_frames(all, frames, out);
    free(all);
    return st;
}

/* larmor_admm makes its own from a circulant where z is one image; elsewhere u->M takes its place. */
static larmor_status precondition(const larmor_regulariser *r, larmor_solve_opts *o, run *u)
{
    larmor_op *M;
    if (!o->circulant) return LARMOR_OK;
    LMR_TRY(larmor_circulant_inverse(o->circulant, o->lambda, NULL, r->kind->curvature * o->penalty, &M));
    const int series = larmor_op_in_shape(M).ndim < r->shape.ndim;
    larmor_status st = LARMOR_OK;
    if (r->penalty.E)
        st = precondition_extended(r, M, 6 * o->penalty, &u->M);
    else if (series)
        st = precondition_series(r, M, &u->M);
    if (u->M) o->circulant = NULL, o->precondition = u->M;
    larmor_op_free(M);
    return st;
}

/* ---- the solution ---- */

static larmor_status solve(larmor_op *A, const larmor_array *b, const larmor_regulariser *r, larmor_solve_opts *o,
                           run *u, larmor_report *report)
{
    double largest = o->largest;
    if (o->max_iter == 0) o->max_iter = r->kind->max_iter;
    if (o->tol == 0) o->tol = r->kind->tol;
    if (o->inner == 0) o->inner = r->kind->inner;
    if (largest == 0 && o->penalty == 0) LMR_TRY(larmor_opnorm(A, 6, &largest));
    if (o->penalty == 0) o->penalty = r->kind->penalty * largest;
    if (u->E && o->monitor) o->monitor = show_image, o->user = u;
    LMR_TRY(precondition(r, o, u));
    return larmor_admm(u->AE, b, r->penalty.K, u->g, u->z, o, report);
}

larmor_status larmor_regularised(larmor_op *A, const larmor_array *b, larmor_regulariser *r, larmor_array *x,
                                 const larmor_solve_opts *opts, larmor_report *report)
{
    if (report) *report = (larmor_report){0};
    if (!A || !b || !r || !x) return LMR_FAIL(LARMOR_ERR_ARG, "regularised: A, b, r and x are needed");
    larmor_solve_opts o = opts ? *opts : (larmor_solve_opts){0};
    double unit;
    run u;
    LMR_TRY(lmr_expect(r->kind->name, "image", x, r->dev, r->dtype, r->shape));
    LMR_TRY(larmor_lambda_unit(A, b, &unit));
    r->weight = r->penalty.lambda * unit;
    larmor_status st = extend(r, A, x, &u);
    u.opts = opts;
    if (!st) st = solve(A, b, r, &o, &u, report);
    if (u.E && u.z && (!st || st == LARMOR_STOPPED || st == LARMOR_ERR_NUMERIC)) {
        const larmor_status taken = larmor_op_forward(u.E, u.z, x);
        if (taken) st = taken;
    }
    run_free(&u);
    return st;
}
