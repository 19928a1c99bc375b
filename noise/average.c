/* Deviations from few samples of noise: means over neighbours, as many as predict the other half of the samples best.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "noise/noise.h"

enum {
    TIMES = 2,        /* in a row, means over 2 r + 1 voxels are near a Gaussian of the variance 2 r (r + 1) / 3 */
    RADII = 4,        /* r: those that are tried, */
    PART_OF_SIDE = 4, /* but none of more than this part of the shortest side */
};
static const int radius[RADII] = {2, 4, 6, 8};

/* Along one axis of x, whose neighbours there are step apart. */
typedef struct line {
    int64_t count, step;
} line;

/* to <- sums of from over 2 r + 1 neighbours, those outside being zero. */
static void add_along(const float *from, line l, int64_t r, float *to)
{
    double sum = 0;
    for (int64_t i = 0; i < r && i < l.count; i++) sum += from[i * l.step];
    for (int64_t i = 0; i < l.count; i++) {
        if (i + r < l.count) sum += from[(i + r) * l.step];
        if (i > r) sum -= from[(i - r - 1) * l.step];
        to[i] = (float)sum;
    }
}

static void blur_axis(float *x, larmor_shape shape, int axis, int64_t r, float *room)
{
    line l = {shape.dim[axis], 1};
    for (int d = 0; d < axis; d++) l.step *= shape.dim[d];
    const int64_t all = larmor_shape_count(shape), block = l.step * l.count;
    for (int64_t first = 0; first < all; first += block)
        for (int64_t i = 0; i < l.step; i++) {
            float *at = x + first + i;
            for (int t = 0; t < TIMES; t++) {
                add_along(at, l, r, room);
                for (int64_t k = 0; k < l.count; k++) at[k * l.step] = room[k];
            }
        }
}

/* The squares of an image's samples, in units in which they are alike. */
typedef struct halves {
    larmor_shape shape;
    larmor_grid grid; /* whose voxels are no neighbours along some axes */
    int64_t voxels;
    const unsigned char *part; /* of each voxel: 0 none, 1 the object, 2 around it: means are taken within a part */
    float *half[2];            /* of the real and of the imaginary parts */
    float *mean[2], *weight, *x, *room;
} halves;

static void free_halves(halves *h)
{
    float *const owned[] = {h->half[0], h->half[1], h->mean[0], h->mean[1], h->weight, h->x, h->room};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static larmor_status make_room(halves *h)
{
    float **const room[] = {&h->half[0], &h->half[1], &h->mean[0], &h->mean[1], &h->weight, &h->x, &h->room};
    for (size_t i = 0; i < sizeof room / sizeof *room; i++) LMR_ALLOCATE_ZEROS(*room[i], h->voxels + 1);
    return LARMOR_OK;
}

static int has_neighbours(const halves *h, int axis)
{
    return h->shape.dim[axis] > 1 && (axis > 2 || !h->grid.apart[axis]);
}

static void blur(const halves *h, float *x, int64_t r)
{
    for (int d = 0; d < h->shape.ndim; d++)
        if (has_neighbours(h, d)) blur_axis(x, h->shape, d, r, h->room);
}

/* mean <- that of each half over the neighbours of the same part. */
static void average_part(halves *h, int part, int64_t r)
{
    for (int64_t v = 0; v < h->voxels; v++) h->weight[v] = h->part[v] == part;
    blur(h, h->weight, r);
    for (int k = 0; k < 2; k++) {
        for (int64_t v = 0; v < h->voxels; v++) h->x[v] = h->part[v] == part ? h->half[k][v] : 0;
        blur(h, h->x, r);
        for (int64_t v = 0; v < h->voxels; v++)
            if (h->part[v] == part) h->mean[k][v] = h->x[v] / h->weight[v];
    }
}

/* Minus the logarithm of the likelihood of each half where the other one's means are the variances; of the object. */
static double surprise(const halves *h)
{
    double sum = 0;
    for (int64_t v = 0; v < h->voxels; v++)
        for (int k = 0; k < 2 && h->part[v] == 1; k++) {
            const double mean = fmax((double)h->mean[1 - k][v], 1e-30);
            sum += log(mean) + h->half[k][v] / mean;
        }
    return sum;
}

static int64_t choose_radius(halves *h)
{
    int64_t best = radius[0], side = INT64_MAX;
    double least = INFINITY;
    for (int d = 0; d < h->shape.ndim; d++)
        if (has_neighbours(h, d) && h->shape.dim[d] < side) side = h->shape.dim[d];
    for (int i = 0; i < RADII && (i == 0 || radius[i] <= side / PART_OF_SIDE); i++) {
        average_part(h, 1, radius[i]);
        const double s = surprise(h);
        if (s < least) best = radius[i];
        least = fmin(least, s);
    }
    return best;
}

/* 1 where the image is bright, 2 elsewhere; 0 where no coil sees anything. */
static void divide_voxels(const lmr_noisy *n, int image, const double *unit, const double *square,
                          unsigned char *part)
{
    const double least = lmr_noisy_object(n, image);
    for (int64_t v = 0; v < n->voxels[image]; v++) {
        part[v] = lmr_noisy_size(n, image, v) > least ? 1 : 2;
        if ((unit && !(unit[v] > 0)) || !(square[v] > 0)) part[v] = 0;
    }
}

static double square_of(const double *unit, int64_t v)
{
    return unit ? unit[v] * unit[v] : 1;
}

larmor_status lmr_noise_average(const lmr_noisy *n, int image, const double *unit, const double *real, double *square,
                                double *width)
{
    const int64_t voxels = n->voxels[image];
    LMR_HEAP unsigned char *part = calloc((size_t)voxels + 1, 1);
    LMR_FREED_BY(free_halves)
    halves h = {.shape = n->shape[image], .grid = n->frames->grid, .voxels = voxels, .part = part};
    double scale = 0;
    if (!part) return LMR_NO_MEMORY();
    LMR_TRY(make_room(&h));
    divide_voxels(n, image, unit, square, part);
    for (int64_t v = 0; v < voxels; v++)
        if (part[v]) scale = fmax(scale, square[v] / square_of(unit, v));
    if (!(scale > 0)) return LARMOR_OK;
    for (int64_t v = 0; v < voxels; v++) {
        const double one = scale * square_of(unit, v);
        h.half[0][v] = part[v] ? (float)(real[v] / one) : 0;
        h.half[1][v] = part[v] ? (float)((square[v] - real[v]) / one) : 0;
    }
    const int64_t r = choose_radius(&h);
    for (int p = 1; p <= 2; p++) average_part(&h, p, r);
    for (int64_t v = 0; v < voxels; v++)
        if (part[v]) square[v] = scale * square_of(unit, v) * fmax(0, (double)h.mean[0][v] + (double)h.mean[1][v]);
    if (width) *width = sqrt(TIMES * (double)(r * (r + 1)) / 3);
    return LARMOR_OK;
}
