/* Off-resonance by time segmentation: sums of operators between phases, and their normal map as a sum of Toeplitz
 * operators between phases (Fessler et al. 2005). SPDX-License-Identifier: Apache-2.0 */
#include "recon/field/off_resonance.h"

#include "core/core.h"
#include "core/gate.h"
#include "nufft/toeplitz.h"
#include "recon/bytes.h"
#include "recon/field/model.h"
#include "recon/field/segments.h"
#include "recon/field/sum.h"
#include "recon/inputs.h"
#include "recon/low_rank.h"

LMR_OWNS(larmor_segments, larmor_segments_free)

#define DEFAULT_ERROR 1e-3        /* of the phases, relative, which is 60 dB below the signal */
#define DEFAULT_NORMAL_ERROR 1e-4 /* of the normal map, relative */

typedef lmr_number number;

/* ---- segments ---- */

/* A real array's values on the host, n of them. */
static larmor_status download(const char *what, const larmor_array *x, double **out)
{
    *out = NULL;
    LMR_OWN(larmor_array, in_double, lmr_input_real("off-resonance", what, x, &in_double));
    return larmor_array_download(in_double, LARMOR_F64, out);
}

/* What is found on the host: fit, interpolators and the middles; *f and *place become the caller's, also on
 * errors. */
static larmor_status find(larmor_segments *s, const larmor_array *field, const larmor_array *times,
                          const larmor_off_resonance_opts *o, double **f, int64_t **place)
{
    const int64_t voxels = larmor_array_count(field), samples = larmor_array_count(times);
    s->fit.threads = lmr_device_threads(larmor_array_device(field));
    LMR_ALLOCATE(*place, samples + 1);
    LMR_TRY(download("field map", field, f));
    LMR_OWN_MEMORY(double, t, download("array of times", times, &t));
    LMR_TRY(lmr_fit_times(samples, t, &s->fit, *place, &s->t0));
    LMR_TRY(lmr_fit_frequencies(voxels, *f, &s->fit, &s->f0));
    return lmr_fit_segments(&s->fit, o->segments, o->error > 0 ? o->error : DEFAULT_ERROR, &s->forward);
}

static larmor_status upload(larmor_segments *s, double *f, const int64_t *place)
{
    const int64_t voxels = larmor_shape_count(s->image), samples = larmor_shape_count(s->samples);
    for (int64_t i = 0; i < voxels; i++) f[i] -= s->f0;
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(voxels), LARMOR_F64, f, &s->field));
    return larmor_array_upload(s->dev, LARMOR_I64, LARMOR_SHAPE(samples), LARMOR_I64, place, &s->place);
}

static larmor_status check_opts(const larmor_off_resonance_opts *o)
{
    LMR_REFUSE(o->segments < 0 || o->segments > LMR_MOST_SEGMENTS || !(o->error >= 0) || !(o->normal_error >= 0),
               LARMOR_ERR_ARG,
               "off-resonance: got %d segments and errors of %g and %g, expected 0 .. %d and at least 0", o->segments,
               o->error, o->normal_error, LMR_MOST_SEGMENTS);
    return LARMOR_OK;
}

static larmor_status check_arrays(const larmor_array *field, const larmor_array *times)
{
    LMR_REFUSE(!field, LARMOR_ERR_ARG, "off-resonance: no field map given");
    LMR_REFUSE(!times, LARMOR_ERR_ARG, "off-resonance: no array of times given");
    LMR_REFUSE(field->dev != times->dev, LARMOR_ERR_SHAPE, "off-resonance: field map and times are on two devices");
    LMR_REFUSE(larmor_array_count(field) < 1 || larmor_array_count(times) < 1, LARMOR_ERR_SHAPE,
               "off-resonance: field map or array of times is empty");
    return LARMOR_OK;
}

larmor_status larmor_segments_create(const larmor_array *field, const larmor_array *times,
                                     const larmor_off_resonance_opts *opts, larmor_segments **segments)
{
    LMR_NEED_OUT(segments);
    const larmor_off_resonance_opts o = opts ? *opts : (larmor_off_resonance_opts){0};
    LMR_HEAP double *f = NULL;
    LMR_HEAP int64_t *place = NULL;
    LMR_TRY(check_arrays(field, times));
    LMR_TRY(check_opts(&o));
    larmor_segments *s = lmr_segments_new(field->dev, field->shape, times->shape);
    if (!s) return LMR_NO_MEMORY();
    s->normal_bound = o.normal_error > 0 ? o.normal_error : DEFAULT_NORMAL_ERROR;
    larmor_status st = find(s, field, times, &o, &f, &place);
    if (!st) st = upload(s, f, place);
    return LMR_GIVE(segments, s, larmor_segments_free, st);
}

/* ---- of the terms of a model ---- */

static larmor_status upload_separated(larmor_segments *s, const lmr_model *t, const lmr_separated *found)
{
    LMR_HEAP LMR_NEW(int64_t, voxel, t->e.voxels);
    for (int64_t i = 0; i < t->e.voxels; i++) voxel[i] = i;
    s->fit.times = t->e.times;
    s->forward = (lmr_interpolators){.segments = found->rank, .error = found->error};
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_I64, LARMOR_SHAPE(t->e.voxels), LARMOR_I64, voxel, &s->voxel));
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_I64, LARMOR_SHAPE(larmor_shape_count(s->samples)), LARMOR_I64,
                                t->place, &s->place));
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_C64, LARMOR_SHAPE(t->e.voxels, found->rank), LARMOR_C64, found->space,
                                &s->space));
    return larmor_array_upload(s->dev, LARMOR_C64, LARMOR_SHAPE(t->e.times, found->rank), LARMOR_C64, found->time,
                               &s->time);
}

larmor_status larmor_segments_of_terms(const larmor_model_term *terms, int count,
                                       const larmor_off_resonance_opts *opts, larmor_segments **segments)
{
    LMR_NEED_OUT(segments, terms);
    const larmor_off_resonance_opts o = opts ? *opts : (larmor_off_resonance_opts){0};
    LMR_FREED_BY(lmr_model_free) lmr_model t = {.place = NULL};
    LMR_FREED_BY(lmr_separated_free) lmr_separated found = {.rank = 0};
    LMR_TRY(check_opts(&o));
    LMR_TRY(lmr_model_read(terms, count, &t));
    LMR_TRY(lmr_separate(&t.e, o.segments, o.error > 0 ? o.error : DEFAULT_ERROR, &found));
    larmor_segments *s = lmr_segments_new(terms[0].space->dev, terms[0].space->shape, terms[0].time->shape);
    if (!s) return LMR_NO_MEMORY();
    const larmor_status st = upload_separated(s, &t, &found);
    return LMR_GIVE(segments, s, larmor_segments_free, st);
}

static larmor_status fit_terms(larmor_segments *s)
{
    lmr_fit differences;
    larmor_status st = lmr_fit_differences(&s->fit, &differences);
    if (!st) st = lmr_fit_segments(&differences, 0, s->normal_bound, &s->normal);
    const int64_t times = s->fit.times, count = times * s->normal.segments;
    for (int64_t i = 0; !st && i < count; i++) s->normal.b[i] = creal(s->normal.b[i]);
    if (!st)
        st = larmor_array_upload(s->dev, LARMOR_C128, LARMOR_SHAPE(times, s->normal.segments), LARMOR_C128,
                                 s->normal.b, &s->terms);
    LMR_FREE(differences.f, s->normal.b);
    s->normal.b = NULL;
    return st;
}

/* Find the terms of the normal map, once. LARMOR_ERR_NUMERIC if there are more than 512, or none. */
static larmor_status find_terms(larmor_segments *s)
{
    LMR_REFUSE(s->space, LARMOR_ERR_NUMERIC,
               "off-resonance: models of terms have no Toeplitz operator beside a basis");
    LMR_TRY(lmr_gate_enter(&s->gate));
    const larmor_status st = s->terms ? LARMOR_OK : fit_terms(s);
    lmr_gate_leave(&s->gate);
    return st;
}

larmor_status larmor_segments_describe(const larmor_segments *s, larmor_segments_info *info)
{
    LMR_NEED(s, info);
    const lmr_fit *p = &s->fit;
    LMR_TRY(lmr_gate_enter(&s->gate));
    *info = (larmor_segments_info){.segments = s->forward.segments,
                                   .error = s->forward.error,
                                   .terms = s->terms ? s->normal.segments : 0,
                                   .terms_error = s->terms ? s->normal.error : 0,
                                   .low_hz = p->nodes ? s->f0 + p->f[0] : 0,
                                   .high_hz = p->nodes ? s->f0 + p->f[p->nodes - 1] : 0,
                                   .first_s = s->t0 - p->reach,
                                   .last_s = s->t0 + p->reach};
    lmr_gate_leave(&s->gate);
    return LARMOR_OK;
}

larmor_status lmr_segments_count(const larmor_sense_opts *opts, int *segments, int *terms)
{
    larmor_segments_info info;
    *segments = *terms = 1;
    if (!opts || !opts->off_resonance) return LARMOR_OK;
    const larmor_status st = find_terms(opts->off_resonance);
    if (st && st != LARMOR_ERR_NUMERIC) return st;
    LMR_TRY(larmor_segments_describe(opts->off_resonance, &info));
    *segments = info.segments;
    *terms = info.terms;
    return LARMOR_OK;
}

/* y <- exp(2 pi i field tau) x, or y + that; on leading dimensions. */
static larmor_status evolve(const larmor_segments *s, const lmr_series_kernels *kernels, double tau, int add,
                            const larmor_array *x, larmor_array *y)
{
    const int64_t voxels = larmor_array_count(s->field);
    return kernels->evolve(x->dev->ctx, voxels, larmor_array_count(x) / voxels, tau, s->field->data, add, x->data,
                           y->data);
}

/* ---- the operator ---- */

typedef struct off_resonance {
    larmor_op *F;
    const lmr_series_kernels *kernels;
    larmor_segments *segments;
    larmor_array *b; /* [times, segments] with the phase of the middle frequency */
    larmor_array *v; /* [voxels, segments] of the terms of a model, else NULL */
    larmor_array *image, *values;
} off_resonance;

static void destroy(void *self)
{
    off_resonance *s = self;
    larmor_op_free(s->F);
    larmor_segments_free(s->segments);
    LMR_FREE(s->b, s->v, s->image, s->values, s);
}

static double tau_of(const larmor_segments *s, const lmr_interpolators *q, int l)
{
    return s->t0 + lmr_segment_time(&s->fit, q->segments, l);
}

/* y <- b_l x or its adjoint, or y + that */
static larmor_status weigh(const off_resonance *s, int l, int conj, int add, const larmor_array *x, larmor_array *y)
{
    const int64_t times = s->segments->fit.times, samples = larmor_array_count(s->segments->place);
    const char *b = (const char *)s->b->data + (size_t)(times * l) * larmor_dtype_size(s->b->dtype);
    return s->kernels->weigh(x->dev->ctx, samples, larmor_array_count(x) / samples, s->segments->place->data, b, conj,
                             add, x->data, y->data);
}

/* y <- v_l x or its adjoint, or y + that, v_l the phase at the segment's time or a function of a model */
static larmor_status to_segment(const off_resonance *s, int l, int conj, int add, const larmor_array *x,
                                larmor_array *y)
{
    const larmor_segments *p = s->segments;
    const double tau = s->v ? 0 : tau_of(p, &p->forward, l);
    if (!s->v) return evolve(p, s->kernels, conj ? -tau : tau, add, x, y);
    const int64_t voxels = larmor_array_count(p->voxel);
    const char *v = (const char *)s->v->data + (size_t)(voxels * l) * larmor_dtype_size(s->v->dtype);
    return s->kernels->weigh(x->dev->ctx, voxels, larmor_array_count(x) / voxels, p->voxel->data, v, conj, add,
                             x->data, y->data);
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    off_resonance *s = self;
    const larmor_segments *p = s->segments;
    for (int l = 0; l < p->forward.segments; l++) {
        LMR_TRY(to_segment(s, l, 0, 0, x, s->image));
        LMR_TRY(larmor_op_forward(s->F, s->image, s->values));
        LMR_TRY(weigh(s, l, 0, l > 0, s->values, y));
    }
    return LARMOR_OK;
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    off_resonance *s = self;
    const larmor_segments *p = s->segments;
    for (int l = 0; l < p->forward.segments; l++) {
        LMR_TRY(weigh(s, l, 1, 0, y, s->values));
        LMR_TRY(larmor_op_adjoint(s->F, s->values, s->image));
        LMR_TRY(to_segment(s, l, 1, l > 0, s->image, x));
    }
    return LARMOR_OK;
}

static const larmor_op_impl impl = {"off-resonance", forward, adjoint, NULL, destroy};

/* The interpolators with the phase of the middle frequency, on the device. */
static larmor_status upload_interpolators(off_resonance *s, larmor_dtype dtype)
{
    const larmor_segments *p = s->segments;
    if (p->space) {
        LMR_TRY(larmor_array_convert(p->space, dtype, &s->v));
        return larmor_array_convert(p->time, dtype, &s->b);
    }
    const int64_t times = p->fit.times, count = times * p->forward.segments;
    LMR_HEAP LMR_NEW(number, b, count);
    for (int64_t i = 0; i < count; i++) {
        const double cycles = p->f0 * (p->fit.t[i % times] + p->t0);
        b[i] = p->forward.b[i] * lmr_unit_phase(cycles - rint(cycles));
    }
    return larmor_array_upload(p->dev, dtype, LARMOR_SHAPE(times, p->forward.segments), LARMOR_C128, b, &s->b);
}

/* `shape` the leading dimensions of `whole`. */
static larmor_status expect_leading(const char *what, const larmor_op *F, const larmor_device *dev,
                                    larmor_dtype dtype, larmor_shape shape, larmor_shape whole)
{
    larmor_shape leading = whole;
    if (shape.ndim < leading.ndim) leading.ndim = shape.ndim;
    if (dev == larmor_op_device(F) && shape.ndim > 0 && larmor_shape_equal(shape, leading)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "off-resonance: %s is %s, expected the leading dimensions of %s", what,
                    lmr_describe_as(dev, dtype, shape).s,
                    lmr_describe_as(larmor_op_device(F), larmor_op_dtype(F), whole).s);
}

static larmor_status check(const larmor_op *F, const larmor_array *field, const larmor_array *times,
                           const larmor_off_resonance_opts *o)
{
    LMR_REFUSE(!F, LARMOR_ERR_ARG, "off-resonance: no operator given");
    const larmor_shape in = larmor_op_in_shape(F), out = larmor_op_out_shape(F);
    LMR_REFUSE(!field, LARMOR_ERR_ARG, "off-resonance: no field map given");
    LMR_REFUSE(!times, LARMOR_ERR_ARG, "off-resonance: no array of times given");
    LMR_TRY(expect_leading("field map", F, field->dev, field->dtype, field->shape, in));
    LMR_TRY(expect_leading("array of times", F, times->dev, times->dtype, times->shape, out));
    LMR_TRY(check_arrays(field, times));
    return check_opts(o);
}

larmor_status larmor_op_segments(larmor_op *F, larmor_segments *segments, larmor_op **A)
{
    LMR_NEED_OUT(A, F, segments);
    const larmor_shape in = larmor_op_in_shape(F), out = larmor_op_out_shape(F);
    larmor_device *dev = larmor_op_device(F);
    const larmor_dtype dtype = larmor_op_dtype(F);
    LMR_TRY(expect_leading("field map", F, segments->dev, LARMOR_F64, segments->image, in));
    LMR_TRY(expect_leading("array of times", F, segments->dev, LARMOR_F64, segments->samples, out));
    LMR_MAKE(off_resonance, s, destroy);
    s->F = larmor_op_ref(F);
    s->segments = larmor_segments_ref(segments);
    LMR_TRY(lmr_series_kernels_of(dev, dtype, &s->kernels));
    LMR_TRY(upload_interpolators(s, dtype));
    LMR_TRY(larmor_array_create(dev, dtype, in, &s->image));
    LMR_TRY(larmor_array_create(dev, dtype, out, &s->values));
    return lmr_hand_on(&s_made, larmor_op_create(dev, &impl, s, dtype, in, out, A));
}

larmor_status larmor_op_off_resonance(larmor_op *F, const larmor_array *field, const larmor_array *times,
                                      const larmor_off_resonance_opts *opts, larmor_op **A)
{
    LMR_REFUSE(!A, LARMOR_ERR_ARG, "larmor_op_off_resonance: A is NULL");
    *A = NULL;
    const larmor_off_resonance_opts o = opts ? *opts : (larmor_off_resonance_opts){0};
    LMR_TRY(check(F, field, times, &o));
    LMR_OWN(larmor_segments, segments, larmor_segments_create(field, times, &o, &segments));
    return larmor_op_segments(F, segments, A);
}

/* ---- the normal map ---- */

/* N = sum_k diag(exp(-2 pi i f tau_k)) T_k diag(exp(2 pi i f tau_k)): the phases act on the leading dimensions,
 * whatever the others are, coils or coefficients of a subspace. */
typedef struct between_phases {
    larmor_segments *segments;
    const lmr_series_kernels *kernels;
    lmr_toeplitz *terms;
    larmor_array *before, *after;
} between_phases;

static void free_between(void *self)
{
    between_phases *s = self;
    lmr_toeplitz_free(s->terms);
    larmor_segments_free(s->segments);
    LMR_FREE(s->before, s->after, s);
}

static larmor_status apply_terms(void *self, const larmor_array *x, larmor_array *y)
{
    between_phases *s = self;
    const larmor_segments *p = s->segments;
    for (int k = 0; k < p->normal.segments; k++) {
        const double tau = tau_of(p, &p->normal, k);
        LMR_TRY(evolve(p, s->kernels, tau, 0, x, s->before));
        LMR_TRY(lmr_toeplitz_apply(s->terms, k, s->before, s->after));
        LMR_TRY(evolve(p, s->kernels, -tau, k > 0, s->after, y));
    }
    return LARMOR_OK;
}

/* values <- a_k(times) .* base, for lmr_toeplitz_create */
static larmor_status weigh_term(void *user, int k, const larmor_array *base, larmor_array *values)
{
    const larmor_segments *s = user;
    const lmr_series_kernels *kernels;
    const int64_t samples = larmor_array_count(s->place), all = larmor_array_count(base);
    const char *b = (const char *)s->terms->data + (size_t)(s->fit.times * k) * larmor_dtype_size(s->terms->dtype);
    LMR_TRY(lmr_series_kernels_of(s->dev, LARMOR_C128, &kernels));
    return kernels->weigh(s->dev->ctx, samples, all / samples, s->place->data, b, 0, 0, base->data, values->data);
}

static larmor_status check_normal(const larmor_nufft_opts *opts, const larmor_array *traj,
                                  const larmor_segments *segments)
{
    const larmor_shape samples = lmr_weights_shape(traj);
    larmor_shape own = samples;
    if (segments->samples.ndim < own.ndim) own.ndim = segments->samples.ndim;
    LMR_REFUSE(!larmor_shape_equal(own, segments->samples) || segments->dev != traj->dev, LARMOR_ERR_SHAPE,
               "off-resonance: times are %s, expected the leading dimensions of %s",
               lmr_describe_as(segments->dev, LARMOR_F64, segments->samples).s,
               lmr_describe_as(traj->dev, LARMOR_F64, samples).s);
    LMR_REFUSE(!larmor_shape_equal(larmor_shape_of(opts->ndim, opts->modes), segments->image), LARMOR_ERR_SHAPE,
               "off-resonance: the field map is %s, another shape than the modes",
               lmr_describe_as(segments->dev, LARMOR_F64, segments->image).s);
    return LARMOR_OK;
}

larmor_status lmr_op_segments_toeplitz(const larmor_nufft_opts *opts, const larmor_array *traj,
                                       const larmor_array *weights, const larmor_array *factors,
                                       larmor_segments *segments, larmor_op **N)
{
    static const larmor_op_impl between = {"off-resonance-toeplitz", apply_terms, apply_terms, NULL, free_between};
    *N = NULL;
    LMR_TRY(check_normal(opts, traj, segments));
    if (segments->space && !factors) return lmr_op_model_toeplitz(opts, traj, weights, segments, N);
    LMR_TRY(find_terms(segments));
    const lmr_toeplitz_weights terms = {segments->normal.segments, weigh_term, segments};
    LMR_MAKE(between_phases, s, free_between);
    s->segments = larmor_segments_ref(segments);
    LMR_TRY(lmr_toeplitz_create(traj->dev, opts, traj, weights, &terms, factors, &s->terms));
    const larmor_dtype dtype = lmr_toeplitz_dtype(s->terms);
    const larmor_shape shape = lmr_toeplitz_shape(s->terms);
    LMR_TRY(lmr_series_kernels_of(segments->dev, dtype, &s->kernels));
    LMR_TRY(larmor_array_create(segments->dev, dtype, shape, &s->before));
    LMR_TRY(larmor_array_create(segments->dev, dtype, shape, &s->after));
    return lmr_hand_on(&s_made, larmor_op_create(segments->dev, &between, s, dtype, shape, shape, N));
}

larmor_status larmor_op_segments_toeplitz(const larmor_nufft_opts *opts, const larmor_array *traj,
                                          const larmor_array *weights, larmor_segments *segments, larmor_op **N)
{
    LMR_NEED_OUT(N, opts, traj, segments);
    return lmr_op_segments_toeplitz(opts, traj, weights, NULL, segments, N);
}

/* ---- memory ---- */

double lmr_segments_op_bytes(const larmor_segments *s, larmor_dtype dtype, larmor_shape in, larmor_shape out)
{
    const double b = (double)s->fit.times * s->forward.segments,
                 arrays = lmr_bytes_of(dtype, in) + lmr_bytes_of(dtype, out);
    if (s->space) {
        const double v = (double)larmor_shape_count(s->image) * s->forward.segments;
        return dtype == LARMOR_C64 ? arrays : arrays + (double)larmor_dtype_size(dtype) * (b + v);
    }
    return (32 + (double)larmor_dtype_size(dtype)) * b +
           arrays; /* the copy with phases, on the host and on its way */
}

double lmr_segments_bytes(const larmor_segments *s)
{
    const double voxels = (double)larmor_shape_count(s->image), samples = (double)larmor_shape_count(s->samples);
    const double times = (double)s->fit.times;
    if (s->space) return 8 * (voxels + samples) + 8 * s->forward.segments * (voxels + times);
    return 8 * (voxels + samples) + 16 * times * (s->forward.segments + 2.0 * s->normal.segments);
}
