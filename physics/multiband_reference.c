/* Coil calibration of slices that were excited together, by scans of each alone, or by a volume of all of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "physics/multiband_reference.h"

#include <complex.h>

#include "core/core.h"
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

/* How far an image is from where it must be: a slice has its place, a volume reaches to it. */
static larmor_status distance_of(const lmr_slice_scans *r, const larmor_image_meta *scan, int group, int slice,
                                 double *mm)
{
    larmor_group g;
    larmor_encoding e;
    larmor_image_meta meta;
    LMR_TRY(lmr_source_group(r->source, group, &g));
    LMR_TRY(lmr_source_meta(r->source, group, &meta));
    LMR_TRY(lmr_source_encoding(r->source, g.encoding, &e));
    *mm = fabs(offset_of(scan, &meta) - r->offset_mm[slice]);
    if (r->solid) *mm = fmax(0, *mm - e.fov_mm[2] / 2);
    if (r->encoding >= 0 && g.encoding != r->encoding) *mm = INFINITY;
    return LARMOR_OK;
}

larmor_status lmr_reference_find(const lmr_slice_scans *r, const larmor_image_meta *scan,
                                 int group[LARMOR_MOST_BANDS])
{
    const int groups = larmor_source_describe(r->source).groups;
    for (int s = 0; s < r->bands; s++) {
        double nearest = INFINITY;
        for (int i = 0; i < groups; i++) {
            double off;
            LMR_TRY(distance_of(r, scan, i, s, &off));
            if (!(off < nearest)) continue;
            nearest = off;
            group[s] = i;
        }
        if (nearest <= r->reach_mm) continue;
        return LMR_FAIL(
            LARMOR_ERR_ARG,
            "multiband: no reference image of %s lies at %g mm, where a slice is; the nearest one is %.3g mm off",
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

LMR_FREES(free_volume, volume, plane, kspace)

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
    LMR_REFUSE(out->first, LARMOR_ERR_UNSUPPORTED,
               "multiband: reference images of %s have readouts of several lengths, expected one length",
               lmr_source_name(r->source));
    return out->traj ? LARMOR_OK : lmr_make_trajectory(dev, &g, &e, grid, out, &spokes, &out->traj);
}

/* ---- a volume of all slices: a sum over its partitions is a slice at a place ---- */

typedef struct stack {
    int64_t n, readouts, coils, lines;  /* lines: readouts of a partition */
    double *k;                          /* [3, n, readouts] */
    float complex *y, *sum;             /* [n, readouts, coils], [n, lines, coils] */
    int64_t *line, *first, *partitions; /* [readouts] which line, [lines] its first readout, its readouts */
} stack;

LMR_FREES(free_stack, stack, k, y, sum, line, first, partitions)

static int same_plane(const stack *s, int64_t a, int64_t b)
{
    const double *x = s->k + 3 * s->n * a, *y = s->k + 3 * s->n * b;
    for (int64_t i = 0; i < s->n; i++)
        if (fabs(x[3 * i] - y[3 * i]) > MAX_DIFFERENCE || fabs(x[3 * i + 1] - y[3 * i + 1]) > MAX_DIFFERENCE)
            return 0;
    return 1;
}

/* 1 if readouts each have one kz, and all lines as many partitions. */
static int sort_readouts(stack *s)
{
    int good = 1;
    for (int64_t j = 0; j < s->readouts; j++) {
        int64_t l = 0;
        for (int64_t i = 0; i < s->n; i++)
            good &= fabs(s->k[3 * (i + s->n * j) + 2] - s->k[3 * s->n * j + 2]) <= MAX_DIFFERENCE;
        while (l < s->lines && !same_plane(s, s->first[l], j)) l++;
        if (l == s->lines) s->first[s->lines++] = j;
        s->line[j] = l;
        s->partitions[l]++;
    }
    for (int64_t l = 0; l < s->lines; l++) good &= s->partitions[l] == s->partitions[0];
    return good && s->partitions[0] > 1;
}

static larmor_status open_stack(const larmor_samples *x, stack *s)
{
    const larmor_shape shape = larmor_array_shape(x->kspace);
    *s = (stack){.n = shape.dim[0], .readouts = shape.dim[1], .coils = shape.dim[2]};
    LMR_TRY(larmor_array_download(x->traj, LARMOR_F64, &s->k));
    LMR_TRY(larmor_array_download(x->kspace, LARMOR_C64, &s->y));
    s->line = calloc((size_t)s->readouts, sizeof *s->line);
    s->first = calloc((size_t)s->readouts, sizeof *s->first);
    s->partitions = calloc((size_t)s->readouts, sizeof *s->partitions);
    s->sum = calloc((size_t)larmor_shape_count(shape), sizeof *s->sum);
    return s->line && s->first && s->partitions && s->sum ? LARMOR_OK : LMR_NO_MEMORY();
}

/* The samples of a slice at z, in parts of the volume's field of view; noise stays what it is in a readout. */
static void add_partitions(stack *s, double z)
{
    for (int64_t j = 0; j < s->readouts; j++) {
        const double turns = s->k[3 * s->n * j + 2] * z;
        const float complex w = (float complex)(cexp(2 * M_PI * I * turns) / sqrt((double)s->partitions[0]));
        for (int64_t c = 0; c < s->coils; c++) {
            const float complex *from = s->y + s->n * (j + s->readouts * c);
            float complex *to = s->sum + s->n * (s->line[j] + s->lines * c);
            for (int64_t i = 0; i < s->n; i++) to[i] += w * from[i];
        }
    }
}

static larmor_status upload_plane(const stack *s, larmor_device *dev, larmor_samples *out)
{
    LMR_HEAP LMR_NEW(double, k, 2 * s->n * s->lines);
    for (int64_t i = 0; i < s->n * s->lines; i++) {
        const double *from = s->k + 3 * (i % s->n + s->n * s->first[i / s->n]);
        k[2 * i] = from[0];
        k[2 * i + 1] = from[1];
    }
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, s->n, s->lines), LARMOR_F64, k, &out->traj));
    return larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(s->n, s->lines, s->coils), LARMOR_C64, s->sum,
                               &out->kspace);
}

static larmor_status read_plane(const lmr_slice_scans *r, int slice, int group, const larmor_grid *flat,
                                int64_t coils, larmor_device *dev, larmor_samples *out)
{
    LMR_FREED_BY(larmor_samples_free) larmor_samples all = {0};
    LMR_FREED_BY(free_stack) stack s = {.n = 0};
    larmor_group g;
    larmor_encoding e;
    larmor_image_meta meta;
    larmor_grid grid = *flat;
    LMR_TRY(lmr_source_group(r->source, group, &g));
    LMR_TRY(lmr_source_encoding(r->source, g.encoding, &e));
    LMR_TRY(lmr_source_meta(r->source, group, &meta));
    grid.ndim = 3;
    grid.matrix[2] = grid.crop[2] = e.matrix[2];
    grid.fov_mm[2] = e.fov_mm[2];
    LMR_TRY(read_image(r, group, &grid, coils, dev, &all));
    LMR_TRY(open_stack(&all, &s));
    LMR_REFUSE(!sort_readouts(&s), LARMOR_ERR_UNSUPPORTED,
               "multiband: the reference volume of %s is no stack of the same readouts in each partition, "
               "which slices can be cut from; give maps by opts.maps.",
               lmr_source_name(r->source));
    add_partitions(&s, (r->offset_mm[slice] - offset_of(r->scan, &meta)) / e.fov_mm[2]);
    return upload_plane(&s, dev, out);
}

static larmor_status take_slice(const lmr_slice_scans *r, int slice, int group, const larmor_grid *flat,
                                int64_t coils, larmor_device *dev, volume *v)
{
    LMR_FREED_BY(larmor_samples_free) larmor_samples one = {0};
    if (r->solid)
        LMR_TRY(read_plane(r, slice, group, flat, coils, dev, &one));
    else
        LMR_TRY(read_image(r, group, flat, coils, dev, &one));
    if (!slice) LMR_TRY(begin(&one, r->bands, v));
    LMR_TRY(check_slice(r, v, &one));
    LMR_OWN_MEMORY(float complex, x, larmor_array_download(one.kspace, LARMOR_C64, &x));
    add_slice(v, slice, x, v->kspace);
    return LARMOR_OK;
}

static larmor_status upload(const volume *v, double scale, larmor_device *dev, larmor_samples *out)
{
    const int64_t n = v->shape.dim[0], readouts = v->shape.dim[1], count = n * readouts;
    LMR_HEAP LMR_NEW(double, k, 3 * count * v->bands);
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
