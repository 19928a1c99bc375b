/* Nonlinear inversion of frames, each begun at and held to the one before (Uecker et al., NMR Biomed. 23, 986, 2010).
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/bytes.h"
#include "recon/inputs.h"
#include "recon/maps/maps.h"

/* Of frames that follow: more steps, or more of conjugate gradients in each, lower the error by 1 to 2 % for 2.5
 * times the time, and less damping raises it (docs/records/live.md). */
enum { STEPS = 6, INNER = 6 };

#define ALPHA 0.1
#define REDUCTION 2.
#define DAMPING 0.9

enum { MOST_OF_MEDIAN = 64 };

struct larmor_nlinv_series {
    lmr_newton s; /* its options are those of the next frame */
    larmor_nlinv_series_opts o;
    larmor_shape image;
    larmor_array *before;         /* the unknowns of the last frame; NULL: there was none */
    double *last[MOST_OF_MEDIAN]; /* real and imaginary parts of the last images, in turn */
    int64_t frames;               /* images that there were */
};

static larmor_status fill_opts(const larmor_nlinv_series_opts *given, larmor_nlinv_series_opts *o)
{
    *o = given ? *given : (larmor_nlinv_series_opts){.steps = 0};
    if (!o->steps) o->steps = STEPS;
    if (!o->inner) o->inner = INNER;
    if (o->alpha == 0) o->alpha = ALPHA;
    if (o->reduction == 0) o->reduction = REDUCTION;
    if (o->damping == 0) o->damping = DAMPING;
    if (o->damping < 0) o->damping = 0;
    if (!o->median) o->median = 1;
    LMR_REFUSE(!(o->damping <= 1), LARMOR_ERR_ARG, "nlinv: damping is %g, expected at most 1", o->damping);
    LMR_REFUSE(o->median < 1 || o->median > MOST_OF_MEDIAN, LARMOR_ERR_ARG, "nlinv: median is %d, expected 1 to %d",
               o->median, MOST_OF_MEDIAN);
    LMR_REFUSE(o->all.side || o->all.weights, LARMOR_ERR_ARG, "nlinv: side and weights are not for frames");
    return LARMOR_OK;
}

larmor_status larmor_nlinv_series_create(larmor_shape image, const larmor_nlinv_series_opts *opts,
                                         larmor_nlinv_series **series)
{
    larmor_nlinv_series_opts o;
    larmor_nlinv_opts first;
    LMR_NEED_OUT(series);
    LMR_TRY(fill_opts(opts, &o));
    LMR_TRY(lmr_newton_opts(&o.all, &first));
    larmor_nlinv_opts each = first;
    each.steps = o.steps;
    each.inner = o.inner;
    each.alpha = o.alpha;
    each.reduction = o.reduction;
    LMR_TRY(lmr_newton_opts(&each, &each));
    LMR_REFUSE(image.ndim < 2 || image.ndim > 3, LARMOR_ERR_SHAPE, "nlinv: image has %d dimensions, expected 2 or 3",
               image.ndim);
    LMR_NEW_ZEROS(larmor_nlinv_series, made, 1);
    made->o = o;
    made->s.o = first;
    made->image = image;
    *series = made;
    return LARMOR_OK;
}

void larmor_nlinv_series_free(larmor_nlinv_series *series)
{
    if (!series) return;
    lmr_newton_free(&series->s);
    larmor_array_free(series->before);
    for (int i = 0; i < MOST_OF_MEDIAN; i++) free(series->last[i]);
    free(series);
}

/* ---- the frame before ---- */

/* The next frame begins at the one before, which, damped, is the centre of its penalty. */
static larmor_status follow(larmor_nlinv_series *f)
{
    lmr_newton *s = &f->s;
    if (!f->before) return LARMOR_OK;
    LMR_TRY(larmor_copy(f->before, s->x));
    return larmor_axpby(f->o.damping, f->before, 0, s->centre);
}

/* The frame that is done is the one before from now on. */
static larmor_status keep(larmor_nlinv_series *f)
{
    lmr_newton *s = &f->s;
    if (f->before) return larmor_copy(s->x, f->before);
    LMR_OWN(larmor_array, before, larmor_array_create(s->x->dev, s->x->dtype, s->x->shape, &before));
    LMR_TRY(larmor_array_create(s->x->dev, s->x->dtype, s->x->shape, &s->centre));
    LMR_TRY(larmor_copy(s->x, before));
    LMR_HAND_ON(f->before, before);
    s->o.steps = f->o.steps;
    s->o.inner = f->o.inner;
    s->o.alpha = f->o.alpha;
    s->o.reduction = f->o.reduction;
    s->o.least_gain = -1;
    return LARMOR_OK;
}

/* ---- the median ---- */

static double magnitude(const double *image, int64_t i)
{
    return hypot(image[2 * i], image[2 * i + 1]);
}

/* The image of which the magnitude of voxel i is the median. */
static const double *find_median(const larmor_nlinv_series *f, int64_t i, int64_t count)
{
    double sorted[MOST_OF_MEDIAN];
    int64_t k = 0;
    for (int64_t j = 0; j < count; j++) sorted[j] = magnitude(f->last[j], i);
    const double median = lmr_select_f64(sorted, count, (count - 1) / 2);
    while (k < count - 1 && magnitude(f->last[k], i) != median) k++;
    return f->last[k];
}

/* x becomes the median of the last images, of which it is one. */
static larmor_status take_median(larmor_nlinv_series *f, larmor_array *x)
{
    const int64_t numbers = larmor_array_count(x), place = f->frames % f->o.median;
    LMR_HEAP LMR_NEW(double, median, 2 * numbers);
    double *now = NULL;
    LMR_TRY(larmor_array_download(x, LARMOR_C128, &now));
    free(f->last[place]);
    f->last[place] = now;
    f->frames++;
    const int64_t count = f->frames < f->o.median ? f->frames : f->o.median;
    for (int64_t i = 0; i < numbers; i++)
        memcpy(median + 2 * i, find_median(f, i, count) + 2 * i, 2 * sizeof *median);
    LMR_OWN(larmor_array, made, larmor_array_upload(x->dev, x->dtype, x->shape, LARMOR_C128, median, &made));
    return larmor_copy(made, x);
}

/* ---- a frame ---- */

static larmor_status check_frame(const larmor_nlinv_series *f, const larmor_array *kspace, const larmor_array *traj)
{
    const lmr_nlinv *n = &f->s.model;
    LMR_TRY(lmr_newton_check(kspace, traj, f->image, NULL));
    if (!f->before || (kspace->dev == n->dev && kspace->dtype == n->dtype && kspace->shape.dim[2] == n->coils))
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "nlinv: kspace is %s, expected %lld coils, type and device of the first frame",
                    lmr_describe(kspace).s, (long long)n->coils);
}

static larmor_status solve(larmor_nlinv_series *f, const larmor_array *kspace, const larmor_array *points,
                           larmor_array **x, larmor_array **maps)
{
    lmr_newton *s = &f->s;
    larmor_array *found = NULL;
    LMR_TRY(follow(f));
    LMR_TRY(lmr_newton_take(s, kspace, points, f->image));
    LMR_TRY(lmr_newton_run(s));
    if (x || maps) LMR_TRY(lmr_nlinv_result(&s->model, 1 / s->factor, x, &found));
    if (maps)
        *maps = found;
    else
        larmor_array_free(found);
    if (x && f->o.median > 1) LMR_TRY(take_median(f, *x));
    return keep(f);
}

larmor_status larmor_nlinv_series_add(larmor_nlinv_series *series, const larmor_array *kspace,
                                      const larmor_array *traj, larmor_array **x, larmor_array **maps,
                                      larmor_nlinv_report *report)
{
    if (x) *x = NULL;
    if (maps) *maps = NULL;
    if (report) *report = (larmor_nlinv_report){0};
    LMR_NEED(series);
    LMR_TRY(check_frame(series, kspace, traj));
    LMR_OWN(larmor_array, points, lmr_input_traj("nlinv", traj, series->image, &points));
    lmr_newton *s = &series->s;
    const larmor_status st = solve(series, kspace, points, x, maps);
    if (st && !series->before) { /* the next frame is the first */
        const larmor_nlinv_opts o = s->o;
        lmr_newton_free(s);
        *s = (lmr_newton){.o = o};
    }
    if (st && x) larmor_array_free(*x);
    if (st && x) *x = NULL;
    if (st && maps) larmor_array_free(*maps);
    if (st && maps) *maps = NULL;
    LMR_TRY(st);
    s->report.seconds = lmr_seconds() - s->begin;
    if (report) *report = s->report;
    return LARMOR_OK;
}

larmor_status larmor_nlinv_series_memory(const larmor_device *dev, const larmor_problem *p,
                                         const larmor_nlinv_series_opts *opts, int64_t *bytes)
{
    larmor_nlinv_series_opts o;
    larmor_nlinv_opts all;
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    LMR_TRY(fill_opts(opts, &o));
    LMR_TRY(lmr_newton_opts(&o.all, &all));
    return lmr_nlinv_bytes(dev, p, &all, 2, bytes);
}
