/* Coil calibration of slices that were excited together, by scans of each alone.
 * SPDX-License-Identifier: Apache-2.0 */
#include "physics/multiband_reference.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "core/array.h"
#include "core/owned.h"
#include "core/status.h"
#include "scan/source.h"
#include "scan/trajectory.h"

#define MAX_DIFFERENCE 1e-3 /* of trajectories from slice to slice, in cycles per field of view */

/* ---- which images ---- */

/* From the scan's position along its slice direction. */
static double offset_of(const larmor_image_meta *scan, const larmor_image_meta *image)
{
    double mm = 0;
    for (int d = 0; d < 3; d++) mm += (image->position_mm[d] - scan->position_mm[d]) * scan->slice_dir[d];
    return mm;
}

larmor_status lmr_reference_find(const lmr_slice_scans *r, const larmor_image_meta *scan,
                                 int group[LARMOR_MOST_BANDS])
{
    const int groups = larmor_source_describe(r->source).groups;
    for (int s = 0; s < r->bands; s++) {
        double nearest = INFINITY;
        for (int i = 0; i < groups; i++) {
            larmor_group g;
            larmor_image_meta meta;
            LMR_TRY(lmr_source_group(r->source, i, &g));
            LMR_TRY(lmr_source_meta(r->source, i, &meta));
            const double off = fabs(offset_of(scan, &meta) - r->offset_mm[s]);
            if ((r->encoding >= 0 && g.encoding != r->encoding) || !(off < nearest)) continue;
            nearest = off;
            group[s] = i;
        }
        if (nearest <= r->reach_mm) continue;
        return LMR_FAIL(
            LARMOR_ERR_ARG,
            "multiband: no reference image of %s lies at %g mm, where a slice is; the nearest one is %.3g mm "
            "off",
            lmr_source_name(r->source), r->offset_mm[s], nearest);
    }
    return LARMOR_OK;
}

larmor_status lmr_reference_count(const lmr_slice_scans *r, const int group[LARMOR_MOST_BANDS], int64_t *readouts)
{
    *readouts = 0;
    for (int s = 0; s < r->bands; s++) {
        larmor_group g;
        LMR_TRY(lmr_source_group(r->source, group[s], &g));
        *readouts += g.readouts;
    }
    return LARMOR_OK;
}

/* ---- their samples ---- */

typedef struct volume {
    larmor_shape shape; /* [samples, readouts, coils] of a slice */
    int bands;
    double *plane;         /* [2, samples, readouts] the first slice's trajectory */
    float complex *kspace; /* [samples, readouts * bands, coils] */
} volume;

static void free_volume(volume *v)
{
    free(v->plane);
    free(v->kspace);
}

static larmor_status begin(const larmor_samples *first, int bands, volume *v)
{
    v->shape = larmor_array_shape(first->kspace);
    v->bands = bands;
    v->kspace = lmr_new(larmor_shape_count(v->shape), (int64_t)sizeof *v->kspace * bands);
    if (!v->kspace) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < larmor_shape_count(v->shape) * bands; i++) v->kspace[i] = 0;
    return larmor_array_download(first->traj, LARMOR_F64, &v->plane);
}

static larmor_status check_slice(const lmr_slice_scans *r, const volume *v, const larmor_samples *one)
{
    LMR_HEAP double *k = NULL;
    int same = larmor_shape_equal(v->shape, larmor_array_shape(one->kspace));
    if (same) LMR_TRY(larmor_array_download(one->traj, LARMOR_F64, &k));
    for (int64_t i = 0; same && i < 2 * v->shape.dim[0] * v->shape.dim[1]; i++)
        same = fabs(k[i] - v->plane[i]) <= MAX_DIFFERENCE;
    if (same) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE,
                    "multiband: reference images of %s have other readouts from slice to slice, expected the same "
                    "trajectory",
                    lmr_source_name(r->source));
}

/* The slice's part of each partition. */
static void add_slice(const volume *v, int slice, const float complex *x, float complex *y)
{
    const int64_t plane = v->shape.dim[0] * v->shape.dim[1], coils = v->shape.dim[2];
    const int middle = v->bands / 2;
    for (int p = 0; p < v->bands; p++) {
        const double turns = (double)((p - middle) * (slice - middle)) / v->bands;
        const float complex w = (float complex)(cexp(-2 * M_PI * I * turns) / sqrt(v->bands));
        for (int64_t c = 0; c < coils; c++)
            for (int64_t i = 0; i < plane; i++) y[i + plane * (p + v->bands * c)] += w * x[i + plane * c];
    }
}

/* Samples of an image with their trajectory, also where that follows from the counters. */
static larmor_status read_image(const lmr_slice_scans *r, int group, const larmor_grid *grid, int64_t coils,
                                larmor_device *dev, larmor_samples *out)
{
    lmr_spoke_angles spokes = {.decided = 0};
    larmor_group g;
    larmor_encoding e;
    LMR_TRY(lmr_source_group(r->source, group, &g));
    LMR_TRY(lmr_source_encoding(r->source, g.encoding, &e));
    LMR_TRY(lmr_source_samples(r->source, group, grid, 0, coils, dev, out));
    if (out->first)
        return LMR_FAIL(LARMOR_ERR_UNSUPPORTED,
                        "multiband: reference images of %s have readouts of several lengths, expected one length",
                        lmr_source_name(r->source));
    return out->traj ? LARMOR_OK : lmr_make_trajectory(dev, &g, &e, grid, out, &spokes, &out->traj);
}

static larmor_status take_slice(const lmr_slice_scans *r, int slice, int group, const larmor_grid *flat,
                                int64_t coils, larmor_device *dev, volume *v)
{
    LMR_FREED_BY(larmor_samples_free) larmor_samples one = {0};
    LMR_HEAP float complex *x = NULL;
    LMR_TRY(read_image(r, group, flat, coils, dev, &one));
    if (!slice) LMR_TRY(begin(&one, r->bands, v));
    LMR_TRY(check_slice(r, v, &one));
    LMR_TRY(larmor_array_download(one.kspace, LARMOR_C64, &x));
    add_slice(v, slice, x, v->kspace);
    return LARMOR_OK;
}

static larmor_status upload(const volume *v, double scale, larmor_device *dev, larmor_samples *out)
{
    const int64_t n = v->shape.dim[0], readouts = v->shape.dim[1], count = n * readouts;
    LMR_HEAP double *k = lmr_new(count * v->bands, 3 * sizeof *k);
    if (!k) return LMR_NO_MEMORY();
    for (int p = 0; p < v->bands; p++)
        for (int64_t i = 0; i < count; i++) {
            double *to = k + 3 * (i + count * p);
            to[0] = v->plane[2 * i];
            to[1] = v->plane[2 * i + 1];
            to[2] = scale * (p - v->bands / 2);
        }
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(3, n, readouts * v->bands), LARMOR_F64, k, &out->traj));
    return larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(n, readouts * v->bands, v->shape.dim[2]), LARMOR_C64,
                               v->kspace, &out->kspace);
}

larmor_status lmr_reference_samples(const lmr_slice_scans *r, const int group[LARMOR_MOST_BANDS],
                                    const larmor_grid *flat, double scale, int64_t coils, larmor_device *dev,
                                    larmor_samples *out)
{
    LMR_FREED_BY(free_volume) volume v = {.bands = 0};
    *out = (larmor_samples){0};
    for (int s = 0; s < r->bands; s++) LMR_TRY(take_slice(r, s, group[s], flat, coils, dev, &v));
    const larmor_status st = upload(&v, scale, dev, out);
    if (st) larmor_samples_free(out);
    return st;
}
