/* Nonlinear inversion of one image's samples, of all of them or of those of low resolution, whose maps are
 * interpolated. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/bytes.h"
#include "recon/inputs.h"
#include "recon/maps/maps.h"

/* ---- low resolution ---- */

/* The shape that is solved for: the image's field of view with at most `side` voxels along an axis. */
static larmor_shape low_shape(const larmor_nlinv_opts *o, larmor_shape image)
{
    for (int d = 0; d < image.ndim && o->side; d++)
        if (image.dim[d] > o->side) image.dim[d] = o->side;
    return image;
}

/* Image and maps of all of the samples. traj and weights are f64, and checked. */
static larmor_status invert(lmr_newton *s, const larmor_array *kspace, const larmor_array *traj, larmor_shape image,
                            larmor_array **x, larmor_array **maps)
{
    LMR_TRY(lmr_newton_take(s, kspace, traj, image));
    LMR_TRY(lmr_newton_run(s));
    return lmr_nlinv_result(&s->model, 1 / s->factor, x, maps);
}

/* The samples [m, 1, coils] of k-space that an image of the shape `low` can have, their places [nd, m, 1] and
 * weights. */
typedef struct selection {
    lmr_centre centre;
    larmor_array *ones, *values, *kspace, *traj, *weights;
} selection;

static void selection_free(selection *c)
{
    larmor_array *const arrays[] = {c->ones, c->values, c->kspace, c->traj, c->weights};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) larmor_array_free(arrays[i]);
    lmr_centre_free(&c->centre);
}

static larmor_status select_samples(const lmr_newton *s, const larmor_array *kspace, const larmor_array *traj,
                                    larmor_shape low, selection *c)
{
    const int64_t coils = kspace->shape.dim[2];
    lmr_centre *centre = &c->centre;
    double radius[3] = {0.5, 0.5, 0.5};
    for (int d = 0; d < low.ndim; d++) radius[d] = (double)low.dim[d] / 2;
    LMR_TRY(lmr_centre_select(traj, kspace->dtype, radius, centre));
    LMR_REFUSE(!centre->m, LARMOR_ERR_NUMERIC, "nlinv: no samples within %g/FOV of the centre of k-space; raise side",
               radius[0]);
    LMR_TRY(larmor_array_create(kspace->dev, LARMOR_F64, LARMOR_SHAPE(centre->m), &c->ones));
    LMR_TRY(larmor_fill(c->ones, 1));
    LMR_TRY(lmr_centre_gather(centre, c->ones, kspace, coils, &c->values));
    LMR_TRY(larmor_array_reshape(c->values, LARMOR_SHAPE(centre->m, 1, coils), &c->kspace));
    LMR_TRY(larmor_array_reshape(centre->points, LARMOR_SHAPE(low.ndim, centre->m, 1), &c->traj));
    if (!s->o.weights) return LARMOR_OK;
    LMR_TRY(larmor_array_create(kspace->dev, LARMOR_F64, LARMOR_SHAPE(centre->m, 1), &c->weights));
    return centre->kernels->pick(kspace->dev->ctx, 1, centre->m, centre->index->data, 1, s->o.weights->data,
                                 c->weights->data);
}

/* maps <- those of low resolution, over the same field of view. */
static larmor_status enlarge(const larmor_array *found, larmor_shape low, larmor_shape image, larmor_array **maps)
{
    larmor_shape shape = found->shape;
    int64_t n[3] = {1, 1, 1};
    for (int d = 0; d < image.ndim; d++) {
        n[d] = low.dim[d];
        shape.dim[d] = image.dim[d];
    }
    const int64_t count = larmor_shape_count(shape) / larmor_shape_count(image); /* coils of all sets */
    LMR_OWN(larmor_array, in_double, larmor_array_convert(found, LARMOR_C128, &in_double));
    LMR_OWN(larmor_array, out, larmor_array_create(found->dev, found->dtype, shape, &out));
    LMR_OWN(larmor_array, joined, larmor_array_reshape(out, larmor_shape_append(image, count), &joined));
    LMR_TRY(lmr_maps_interpolate(in_double, n, joined));
    return LMR_HAND_ON(*maps, out);
}

static larmor_status invert_low(lmr_newton *s, const larmor_array *kspace, const larmor_array *traj, larmor_shape low,
                                larmor_shape image, larmor_array **maps)
{
    LMR_FREED_BY(selection_free) selection c = {.ones = NULL};
    LMR_TRY(select_samples(s, kspace, traj, low, &c));
    s->o.weights = c.weights;
    LMR_OWN(larmor_array, found, invert(s, c.kspace, c.traj, low, NULL, &found));
    return enlarge(found, low, image, maps);
}

/* ---- the whole ---- */

larmor_status larmor_nlinv(const larmor_array *kspace, const larmor_array *traj, larmor_shape image,
                           const larmor_nlinv_opts *opts, larmor_array **x, larmor_array **maps,
                           larmor_nlinv_report *report)
{
    LMR_FREED_BY(lmr_newton_free) lmr_newton s = {.begin = 0};
    LMR_OWNED(larmor_array) *points = NULL, *weights = NULL;
    if (x) *x = NULL;
    if (report) *report = (larmor_nlinv_report){0};
    LMR_NEED_OUT(maps);
    LMR_TRY(lmr_newton_opts(opts, &s.o));
    LMR_TRY(lmr_newton_check(kspace, traj, image, s.o.weights));
    const larmor_shape low = low_shape(&s.o, image);
    const int is_whole = larmor_shape_equal(low, image);
    LMR_REFUSE(x && !is_whole, LARMOR_ERR_ARG,
               "nlinv: side %lld, expected at least as many as the image has, or no image", (long long)s.o.side);
    LMR_TRY(lmr_input_traj("nlinv", traj, image, &points));
    if (s.o.weights) LMR_TRY(lmr_input_real("nlinv", "weights", s.o.weights, &weights));
    s.o.weights = weights;
    LMR_TRY(is_whole ? invert(&s, kspace, points, image, x, maps) : invert_low(&s, kspace, points, low, image, maps));
    s.report.seconds = lmr_seconds() - s.begin;
    if (report) *report = s.report;
    return LARMOR_OK;
}

/* ---- memory ---- */

larmor_status larmor_nlinv_memory(const larmor_device *dev, const larmor_problem *p, const larmor_nlinv_opts *opts,
                                  int64_t *bytes)
{
    larmor_nlinv_opts o;
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    LMR_TRY(lmr_newton_opts(opts, &o));
    larmor_problem low = *p;
    low.image = low_shape(&o, p->image);
    LMR_TRY(lmr_nlinv_bytes(dev, &low, &o, 0, bytes));
    if (larmor_shape_equal(low.image, p->image)) return LARMOR_OK;
    const double samples = (double)p->samples, coils = (double)p->coils * (double)o.sets;
    const double chosen =
        (24 + 8.0 * p->image.ndim) * samples + lmr_bytes_of(p->dtype, LARMOR_SHAPE(p->samples, p->coils));
    const double interpolated =
        24 * (double)larmor_shape_count(low.image) * coils + lmr_maps_interpolate_bytes(p->dtype, p->image);
    return lmr_bytes_store((double)*bytes + chosen + interpolated, bytes);
}
