/* The fully sampled centre of k-space on a grid: taken from samples that lie on it, or solved for.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "nufft/toeplitz.h"
#include "recon/bytes.h"
#include "recon/density/gridder.h"
#include "recon/inputs.h"
#include "recon/maps/maps.h"

enum {
    DEFAULT_SIDE = 24,     /* samples, as BART's ecalib has */
    SOLVE_ITERS = 10,      /* of a damped fit */
    MOST_TIMES_LONGER = 2, /* a region of lines on one side of k = 0 than on the other, */
    LEAST_MORE = 3,        /* and so many cells beside that; docs/records/maps.md, "Lines missing near the centre" */
};

/* Samples so near to a grid point are on it, in units of its spacing: a phase of at most 0.06 at the edge. */
static const double grid_tolerance = 0.02;

/* Samples that are so far from a cell of 1/FOV fill it, in units of that. No record has a measurement. */
static const double cell_reach = 0.3;

/* The boundary's plane of a box of solved samples may lack so many of its cells. No record has a measurement. */
static const double max_missing_part = 0.03;

/* Of the weights' density times samples: holds what gaps let through. */
static const double damping = 1e-3;

/* Cells low .. low + side - 1 along each axis, 0 the centre of k-space. */
typedef struct box {
    int64_t low[3], side[3];
} box;

/* All that is looked at: samples, and how many fall into each cell around the centre. */
typedef struct search {
    lmr_centre centre;
    double *k;         /* [nd, m] */
    double spacing[3]; /* of the grid, in 1/FOV of the image */
    int64_t most[3];   /* side of the region, at most */
    box all;           /* cells that are looked at */
    int64_t *hits;     /* [all.side...] */
    int cartesian;
} search;

static void search_free(search *s)
{
    lmr_centre_free(&s->centre);
    LMR_FREE(s->k, s->hits);
}

/* ---- where the samples are ---- */

static int on_grid(const search *s)
{
    const lmr_centre *c = &s->centre;
    for (int64_t j = 0; j < c->m; j++)
        for (int d = 0; d < c->nd; d++) {
            const double at = s->k[j * c->nd + d] / s->spacing[d];
            if (fabs(at - round(at)) > grid_tolerance) return 0;
        }
    return c->m > 0;
}

/* The cell's number among those that are looked at, or -1. */
static int64_t cell_of(const box *all, int nd, const int64_t at[3])
{
    int64_t cell = 0;
    for (int d = nd - 1; d >= 0; d--) {
        const int64_t i = at[d] - all->low[d];
        if (i < 0 || i >= all->side[d]) return -1;
        cell = cell * all->side[d] + i;
    }
    return cell;
}

/* A sample fills its own cell and neighbours that it is near to. */
static void hit(const search *s, const double *k, int64_t *hits)
{
    const int nd = s->centre.nd;
    const double far = s->cartesian ? 0 : cell_reach;
    int64_t side[2][3];
    for (int d = 0; d < nd; d++) {
        const double place = k[d] / s->spacing[d];
        side[0][d] = (int64_t)floor(place - far + .5);
        side[1][d] = (int64_t)floor(place + far + .5);
    }
    for (int corner = 0; corner < 1 << nd; corner++) {
        int64_t at[3];
        for (int d = 0; d < nd; d++) at[d] = side[corner >> d & 1][d];
        const int64_t cell = cell_of(&s->all, nd, at);
        if (cell >= 0) hits[cell]++;
        if (s->cartesian) return;
    }
}

enum { LEAST_SHARE = 1 << 14 }; /* samples of one thread, and no fewer than cells */

/* Samples in shares, each of which has counts of its own. */
typedef struct shares {
    const search *s;
    int64_t cells, count;
    int64_t *hits; /* [cells, count] */
} shares;

static void hit_share(void *self, int64_t i)
{
    const shares *all = self;
    const search *s = all->s;
    const int64_t end = s->centre.m * (i + 1) / all->count;
    for (int64_t j = s->centre.m * i / all->count; j < end; j++)
        hit(s, s->k + j * s->centre.nd, all->hits + all->cells * i);
}

/* How many samples fall into each cell. */
static larmor_status count_hits(search *s, int64_t cells)
{
    const int threads = lmr_device_threads(s->centre.dev);
    const int64_t least = cells > LEAST_SHARE ? cells : LEAST_SHARE;
    const int64_t most = s->centre.m / least + 1;
    shares all = {.s = s, .cells = cells, .count = threads < most ? threads : most};
    LMR_ALLOCATE_ZEROS(s->hits, cells);
    LMR_HEAP LMR_NEW_ZEROS(int64_t, hits, cells * all.count);
    all.hits = hits;
    LMR_TRY(lmr_parallel(threads, all.count, hit_share, &all));
    for (int64_t i = 0; i < cells * all.count; i++) s->hits[i % cells] += hits[i];
    return LARMOR_OK;
}

/* Of an ellipsoid that holds the corners of a region with so many samples along each axis. */
static void corner_radius(const int64_t most[3], const double encoded[3], int nd, double radius[3])
{
    for (int d = 0; d < 3; d++) radius[d] = d < nd ? ((double)most[d] / 2 + 1) * sqrt(nd) / encoded[d] : 0.5;
}

/* The samples within that ellipsoid; of an image's k-space alone where `image` is given. */
static larmor_status select_samples(const larmor_array *k, larmor_dtype dtype, const larmor_shape *image,
                                    const double encoded[3], search *s)
{
    const int nd = (int)k->shape.dim[0];
    double radius[3];
    corner_radius(s->most, encoded, nd, radius);
    for (int d = 0; d < nd && image; d++) radius[d] = fmin(radius[d], (double)image->dim[d] / 2);
    lmr_centre_free(&s->centre);
    LMR_CLEAR(s->k);
    LMR_TRY(lmr_centre_select(k, dtype, radius, &s->centre));
    LMR_REFUSE(!s->centre.m, LARMOR_ERR_NUMERIC,
               "calibration region: no samples within %g/FOV of the centre of k-space", radius[0]);
    return larmor_array_download(s->centre.points, LARMOR_F64, &s->k);
}

static int is_beyond(const lmr_centre *c, larmor_shape image)
{
    int beyond = 0;
    for (int d = 0; d < c->nd; d++) beyond |= c->radius[d] > (double)image.dim[d] / 2;
    return beyond;
}

static larmor_status find_samples(const larmor_array *k, larmor_dtype dtype, larmor_shape image,
                                  const double encoded[3], search *s)
{
    const int nd = image.ndim;
    int64_t cells = 1;
    for (int d = 0; d < 3; d++) s->spacing[d] = d < nd ? 1 / encoded[d] : 1;
    LMR_TRY(select_samples(k, dtype, NULL, encoded, s));
    s->cartesian = on_grid(s);
    if (!s->cartesian && is_beyond(&s->centre, image)) LMR_TRY(select_samples(k, dtype, &image, encoded, s));
    for (int d = 0; d < 3; d++) {
        if (!s->cartesian) s->spacing[d] = 1;
        s->all.side[d] = d < nd ? s->most[d] : 1;
        s->all.low[d] = -(s->all.side[d] / 2);
        cells *= s->all.side[d];
    }
    return count_hits(s, cells);
}

/* ---- the box ---- */

/* The part of a plane's cells that have no sample: of the box's extent, at `at` along an axis. */
static double lacking(const search *s, const box *b, int axis, int64_t at)
{
    int64_t cells = 0, empty = 0;
    box plane = *b;
    plane.low[axis] = at;
    plane.side[axis] = 1;
    for (int64_t z = 0; z < plane.side[2]; z++)
        for (int64_t y = 0; y < plane.side[1]; y++)
            for (int64_t x = 0; x < plane.side[0]; x++) {
                const int64_t place[3] = {plane.low[0] + x, plane.low[1] + y, plane.low[2] + z};
                const int64_t cell = cell_of(&s->all, 3, place);
                cells++;
                empty += cell < 0 || !s->hits[cell];
            }
    return (double)empty / (double)cells;
}

/* 1 if the box may go on to that side of k = 0: maps from lines on a grid that lie mostly beside the centre, where a
 * line is missing near it, have holes and errors of 0.2 to 0.5. */
static int is_balanced(const search *s, int64_t side, int64_t other)
{
    return !s->cartesian || side < MOST_TIMES_LONGER * other + LEAST_MORE;
}

/* From the centre outwards, plane by plane, the shortest axis first, as long as planes are full. */
static box grow(const search *s)
{
    const double limit = s->cartesian ? 0 : max_missing_part;
    box b = {.low = {0, 0, 0}, .side = {1, 1, 1}};
    int closed[3][2] = {{0}};
    for (;;) {
        int axis = -1;
        for (int d = 0; d < s->centre.nd; d++) {
            if (b.side[d] >= s->all.side[d] || (closed[d][0] && closed[d][1])) continue;
            if (axis < 0 || b.side[d] < b.side[axis]) axis = d;
        }
        if (axis < 0) return b;
        const int64_t below = -b.low[axis], above = b.side[axis] - 1 - below;
        const int up = closed[axis][0] || (!closed[axis][1] && below > above);
        const int64_t at = up ? b.low[axis] + b.side[axis] : b.low[axis] - 1;
        if (!is_balanced(s, up ? above : below, up ? below : above) || lacking(s, &b, axis, at) > limit) {
            closed[axis][up] = 1;
            continue;
        }
        b.side[axis]++;
        b.low[axis] -= !up;
    }
}

static int64_t samples_of(const box *b)
{
    return b->side[0] * b->side[1] * b->side[2];
}

/* ---- samples on the grid ---- */

/* c128 [m, coils] on the host; free it. */
static larmor_status values_of(const search *s, const larmor_array *kspace, int64_t coils, double complex **values)
{
    const lmr_centre *c = &s->centre;
    LMR_OWN(larmor_array, ones, larmor_array_create(c->dev, LARMOR_F64, LARMOR_SHAPE(c->m), &ones));
    LMR_TRY(larmor_fill(ones, 1));
    LMR_OWN(larmor_array, gathered, lmr_centre_gather(c, ones, kspace, coils, &gathered));
    return larmor_array_download(gathered, LARMOR_C128, values);
}

/* Each sample to its place, divided by how many there are. */
static larmor_status take(const search *s, const box *b, const larmor_array *kspace, int64_t coils,
                          double complex *region)
{
    const lmr_centre *c = &s->centre;
    const int64_t size = samples_of(b);
    LMR_OWN_MEMORY(double complex, values, values_of(s, kspace, coils, &values));
    for (int64_t j = 0; j < c->m; j++) {
        int64_t at[3] = {0, 0, 0};
        for (int d = 0; d < c->nd; d++) at[d] = (int64_t)round(s->k[j * c->nd + d] / s->spacing[d]);
        const int64_t to = cell_of(b, 3, at), cell = cell_of(&s->all, 3, at);
        if (to < 0) continue;
        for (int64_t i = 0; i < coils; i++) region[to + size * i] += values[j + c->m * i] / (double)s->hits[cell];
    }
    return LARMOR_OK;
}

/* ---- samples anywhere ---- */

enum { COILS_TOGETHER = 8 };

typedef struct solver {
    larmor_op *A;         /* of `count` coils, weighted */
    larmor_array *root;   /* of the weights, f64 [m] */
    larmor_op *transform; /* of the images */
    larmor_shape image;   /* [n..., count] */
} solver;

LMR_FREES(solver_free, solver, A, transform, root)

static larmor_nufft_opts low_nufft(int nd, const int64_t n[3], int64_t coils, larmor_dtype dtype)
{
    larmor_nufft_opts opts = {.type = 2, .ndim = nd, .batch = coils, .tol = 1e-4, .dtype = dtype};
    for (int d = 0; d < nd; d++) opts.modes[d] = n[d];
    return opts;
}

/* Voxels of the images behind the region: as many as hold the samples that were chosen. */
static void low_size(const double radius[3], int nd, int64_t n[3])
{
    for (int d = 0; d < 3; d++) n[d] = d < nd ? 2 * (int64_t)ceil(radius[d]) : 1;
}

static larmor_status solver_create(const search *s, const int64_t n[3], int64_t count, larmor_dtype dtype, solver *v)
{
    const lmr_centre *c = &s->centre;
    const larmor_nufft_opts nufft = low_nufft(c->nd, n, count, dtype);
    const larmor_fft_opts fft = {.centred = 1};
    LMR_OWNED(larmor_array) *weights = NULL;
    v->image = larmor_shape_append(larmor_shape_of(c->nd, n), count);
    LMR_TRY(lmr_density_pipe(c->points, larmor_shape_of(c->nd, n), 0, LMR_MAPS_DENSITY_TOL, &weights));
    LMR_OWN_MEMORY(double, root, larmor_array_download(weights, LARMOR_F64, &root));
    for (int64_t j = 0; j < c->m; j++) root[j] = sqrt(root[j]);
    LMR_TRY(larmor_array_upload(c->dev, LARMOR_F64, LARMOR_SHAPE(c->m), LARMOR_F64, root, &v->root));
    LMR_OWN(larmor_op, F, larmor_op_nufft(c->dev, &nufft, c->points, &F));
    LMR_OWN(larmor_op, W, larmor_op_weights(v->root, dtype, count, &W));
    LMR_OWN(larmor_op, WF, larmor_op_chain(W, F, &WF));
    LMR_OWN(larmor_op, N, larmor_op_toeplitz(c->dev, &nufft, c->points, weights, &N));
    LMR_TRY(larmor_op_with_normal(WF, N, &v->A));
    return larmor_op_fft(c->dev, dtype, v->image, (1u << c->nd) - 1, &fft, &v->transform);
}

/* The k-space [n..., count] of coils first ... */
static larmor_status solve_coils(const search *s, const solver *v, larmor_array *kspace, int64_t first, int64_t count,
                                 double complex **values)
{
    const lmr_centre *c = &s->centre;
    const int64_t voxels = larmor_shape_count(v->image) / count;
    const larmor_solve_opts opts = {.max_iter = SOLVE_ITERS, .tol = 1e-4, .lambda = damping * (double)voxels};
    LMR_OWN(larmor_array, few, larmor_array_slice(kspace, first, count, &few));
    LMR_OWN(larmor_array, data, lmr_centre_gather(c, v->root, few, count, &data));
    LMR_OWN(larmor_array, x, larmor_array_create(c->dev, kspace->dtype, v->image, &x));
    LMR_OWN(larmor_array, k, larmor_array_create(c->dev, kspace->dtype, v->image, &k));
    LMR_TRY(larmor_cg(v->A, data, x, &opts, NULL));
    LMR_TRY(larmor_op_forward(v->transform, x, k));
    return larmor_array_download(k, LARMOR_C128, values);
}

static void copy_box(const box *b, const int64_t n[3], const double complex *from, double complex *to)
{
    for (int64_t z = 0; z < b->side[2]; z++)
        for (int64_t y = 0; y < b->side[1]; y++) {
            const int64_t row = b->low[1] + n[1] / 2 + y + n[1] * (b->low[2] + n[2] / 2 + z);
            memcpy(to + b->side[0] * (y + b->side[1] * z), from + b->low[0] + n[0] / 2 + n[0] * row,
                   (size_t)b->side[0] * sizeof *to);
        }
}

static larmor_status solve(const search *s, const box *b, larmor_array *kspace, int64_t coils, double complex *region)
{
    const lmr_centre *c = &s->centre;
    const int64_t size = samples_of(b);
    int64_t n[3];
    low_size(c->radius, c->nd, n);
    for (int64_t first = 0; first < coils; first += COILS_TOGETHER) {
        const int64_t count = coils - first < COILS_TOGETHER ? coils - first : COILS_TOGETHER;
        LMR_FREED_BY(solver_free) solver v = {0};
        LMR_TRY(solver_create(s, n, count, kspace->dtype, &v));
        LMR_OWN_MEMORY(double complex, values, solve_coils(s, &v, kspace, first, count, &values));
        for (int64_t i = 0; i < count; i++)
            copy_box(b, n, values + n[0] * n[1] * n[2] * i, region + size * (first + i));
    }
    return LARMOR_OK;
}

/* ---- the whole ---- */

static larmor_status check(const larmor_array *kspace, const larmor_array *traj, const larmor_region_opts *o)
{
    LMR_REFUSE(!kspace || !lmr_is_complex(kspace->dtype) || kspace->shape.ndim < 2, LARMOR_ERR_SHAPE,
               "calibration region: k-space is %s, expected complex [samples, readouts, coils]",
               lmr_describe(kspace).s);
    const int64_t coils = kspace->shape.dim[kspace->shape.ndim - 1];
    LMR_TRY(lmr_expect("calibration region", "k-space", kspace, traj->dev, kspace->dtype,
                       larmor_shape_append(lmr_weights_shape(traj), coils)));
    LMR_REFUSE(coils < 1, LARMOR_ERR_SHAPE, "calibration region: k-space has no coils, expected at least 1");
    for (int d = 0; d < 3; d++) {
        LMR_REFUSE(!(o->encoded[d] >= 0 && o->encoded[d] < 1e3), LARMOR_ERR_ARG,
                   "calibration region: encoded field of view %g along axis %d, expected 0 to 1000", o->encoded[d],
                   d);
        LMR_REFUSE(!(o->side[d] >= 0 && o->side[d] <= 4096), LARMOR_ERR_ARG,
                   "calibration region: side %lld along axis %d, expected 0 to 4096", (long long)o->side[d], d);
    }
    return LARMOR_OK;
}

/* The most samples along each axis, and the field of view that was encoded. */
static void region_side(const larmor_region_opts *o, larmor_shape image, int64_t most[3], double encoded[3])
{
    for (int d = 0; d < 3; d++) {
        encoded[d] = o->encoded[d] > 0 ? o->encoded[d] : 1;
        most[d] = 1;
        if (d >= image.ndim) continue;
        most[d] = o->side[d] > 0 ? o->side[d] : (int64_t)ceil(DEFAULT_SIDE * fmax(encoded[d], 1) - 1e-6);
        const int64_t there = (int64_t)ceil((double)image.dim[d] * encoded[d]);
        if (most[d] > there) most[d] = there;
    }
}

/* What a box holds. */
static larmor_status fill_box(const search *s, const box *b, const larmor_array *kspace, int nd,
                              larmor_array **region)
{
    const int64_t coils = kspace->shape.dim[kspace->shape.ndim - 1];
    LMR_HEAP double complex *values = NULL;
    LMR_ALLOCATE_ZEROS(values, samples_of(b) * coils);
    LMR_OWN(larmor_array, shared, larmor_array_reshape(kspace, kspace->shape, &shared));
    LMR_TRY(s->cartesian ? take(s, b, kspace, coils, values) : solve(s, b, shared, coils, values));
    return larmor_array_upload(kspace->dev, kspace->dtype, larmor_shape_append(larmor_shape_of(nd, b->side), coils),
                               LARMOR_C128, values, region);
}

larmor_status larmor_calibration_region(const larmor_array *kspace, const larmor_array *traj, larmor_shape image,
                                        const larmor_region_opts *opts, larmor_array **region,
                                        larmor_region_report *report)
{
    if (region) *region = NULL;
    if (report) *report = (larmor_region_report){.samples = 0};
    const larmor_region_opts o = opts ? *opts : (larmor_region_opts){{0}, {0}};
    LMR_OWN(larmor_array, k, lmr_input_traj("calibration region", traj, image, &k));
    LMR_FREED_BY(search_free) search s = {.hits = NULL};
    double encoded[3];
    LMR_TRY(check(kspace, traj, &o));
    region_side(&o, image, s.most, encoded);
    LMR_TRY(find_samples(k, kspace->dtype, image, encoded, &s));
    const box b = grow(&s);
    if (region) LMR_TRY(fill_box(&s, &b, kspace, image.ndim, region));
    if (!report) return LARMOR_OK;
    *report = (larmor_region_report){.cartesian = s.cartesian, .samples = s.centre.m};
    for (int d = 0; d < 3; d++) {
        report->fov[d] = 1 / s.spacing[d];
        report->side[d] = b.side[d];
    }
    return LARMOR_OK;
}

/* ---- memory ---- */

larmor_status lmr_region_bytes(const larmor_device *dev, const larmor_problem *p, const larmor_region_opts *opts,
                               double *bytes)
{
    const larmor_region_opts o = opts ? *opts : (larmor_region_opts){{0}, {0}};
    const int nd = p->image.ndim;
    int64_t most[3], n[3], density;
    double encoded[3], radius[3];
    region_side(&o, p->image, most, encoded);
    corner_radius(most, encoded, nd, radius);
    for (int d = 0; d < nd; d++) radius[d] = fmin(radius[d], (double)p->image.dim[d] / 2);
    low_size(radius, nd, n);
    const int64_t count = p->coils < COILS_TOGETHER ? p->coils : COILS_TOGETHER;
    const larmor_nufft_opts nufft = low_nufft(nd, n, count, p->dtype);
    const larmor_shape images = larmor_shape_append(larmor_shape_of(nd, n), count);
    larmor_problem low = *p;
    low.image = larmor_shape_of(nd, n);
    LMR_TRY(lmr_density_memory(dev, &low, LMR_MAPS_DENSITY_TOL, &density));
    double making, held, transform = 0;
    int64_t vectors;
    LMR_TRY(lmr_bytes_add_nufft(dev, &nufft, p->samples, &transform));
    LMR_TRY(lmr_toeplitz_bytes(dev, &nufft, p->samples, 1, &making, &held));
    LMR_TRY(larmor_cg_memory(p->dtype, images, &vectors));
    held += (double)vectors + 4 * lmr_bytes_of(LARMOR_C128, images) +
            3 * lmr_bytes_of(p->dtype, LARMOR_SHAPE(p->samples, count));
    const double solved = transform + fmax(making, held) + 32 * (double)p->samples;
    const double taken = 2 * lmr_bytes_of(LARMOR_C128, LARMOR_SHAPE(p->samples, p->coils)) + 8 * (double)p->samples;
    const double region = 24 * (double)(most[0] * most[1] * most[2]) * (double)p->coils;
    const double chosen =
        (8 + 16.0 * nd + 8) * (double)p->samples; /* indices, points on the device and on the host */
    *bytes = chosen + region + fmax(fmax((double)density, solved), taken);
    return LARMOR_OK;
}

void lmr_region_most(const larmor_region_opts *opts, larmor_shape image, int64_t most[3])
{
    const larmor_region_opts o = opts ? *opts : (larmor_region_opts){{0}, {0}};
    double encoded[3];
    region_side(&o, image, most, encoded);
}

void larmor_calibration_radius(const larmor_region_opts *opts, larmor_shape image, double radius[3])
{
    const larmor_region_opts o = opts ? *opts : (larmor_region_opts){{0}, {0}};
    double encoded[3];
    int64_t most[3];
    if (!radius) return;
    region_side(&o, image, most, encoded);
    corner_radius(most, encoded, image.ndim, radius);
}
