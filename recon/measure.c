/* Kernels of reconstruction for the device that counts. SPDX-License-Identifier: Apache-2.0 */
#include "recon/measure.h"

#include "core/core.h"
#include "recon/kernels.h"
#include "recon/kernels_series.h"
#include "recon/kernels_sparse.h"

/* NOLINTBEGIN(misc-unused-parameters) */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* ---- sparsity ---- */

LMR_MEASURE_NOTHING(shrink_groups, void *ctx, int64_t n, int64_t groups, double t, const void *x, void *y)
LMR_MEASURE_NOTHING(weigh, void *ctx, int64_t n, int64_t batch, const void *w, const void *x, void *y)
LMR_MEASURE_NOTHING(clip, void *ctx, int64_t n, double low, double high, const void *x, void *y)
LMR_MEASURE_NOTHING(root, void *ctx, int64_t n, void *w)
LMR_MEASURE_NOTHING(modulate, void *ctx, const int64_t dim[3], int64_t batch, const void *phases, int conj,
                    double scale, const void *x, void *y)
LMR_MEASURE_NOTHING(transpose, void *ctx, const int64_t dim[3], const void *x, void *y)
LMR_MEASURE_NOTHING(difference, void *ctx, int64_t n, int64_t row, const lmr_axes *axes, int adjoint, const void *x,
                    void *y)
LMR_MEASURE_NOTHING(gradient_normal, void *ctx, int64_t n, int64_t row, const lmr_axes *axes, const void *x, void *y)
LMR_MEASURE_NOTHING(filter_box, void *ctx, const lmr_box *box, int axis, const lmr_filter *filter, int64_t shift,
                    const void *from, void *to)
LMR_MEASURE_NOTHING(copy_box, void *ctx, const lmr_box *box, const void *from, void *to)

static larmor_status sum_norms(void *ctx, int64_t n, int64_t groups, const void *x, double *out)
{
    *out = 1;
    return LARMOR_OK;
}

static const lmr_sparse_kernels sparse = {
    .shrink_groups = shrink_groups,
    .sum_norms = sum_norms,
    .weigh = weigh,
    .clip = clip,
    .root = root,
    .modulate = modulate,
    .transpose = transpose,
    .gradient = difference,
    .gradient_normal = gradient_normal,
    .symmetrised = difference,
    .analyse = filter_box,
    .synthesise = filter_box,
    .copy_box = copy_box,
};

/* ---- series ---- */

LMR_MEASURE_NOTHING(cut, void *ctx, const lmr_blocks *blocks, const void *x, void *y)
LMR_MEASURE_NOTHING(gram, void *ctx, int64_t m, int64_t n, int64_t count, int left, const void *x, void *g)
LMR_MEASURE_NOTHING(project, void *ctx, int64_t s, int64_t count, double t, const void *v, const double *w, void *p)
LMR_MEASURE_NOTHING(multiply, void *ctx, int64_t m, int64_t n, int64_t k, int64_t count, const void *a, const void *b,
                    void *c)
LMR_MEASURE_NOTHING(planes, void *ctx, int64_t n, int64_t voxels, int64_t count, int64_t batch, const int64_t *index,
                    const void *factor, const void *x, void *y)
LMR_MEASURE_NOTHING(columns, void *ctx, int64_t m, int64_t count, int64_t total, int64_t batch, const int64_t *index,
                    const void *x, void *y)
LMR_MEASURE_NOTHING(evolve, void *ctx, int64_t n, int64_t batch, double time, const double *f, int add, const void *x,
                    void *y)
LMR_MEASURE_NOTHING(weigh_by_index, void *ctx, int64_t m, int64_t batch, const int64_t *index, const void *b,
                    int conj, int add, const void *x, void *y)

static const lmr_series_kernels series = {
    .blocks = cut,
    .unblocks = cut,
    .gram = gram,
    .project = project,
    .multiply = multiply,
    .planes = planes,
    .lines = planes,
    .scatter_columns = columns,
    .gather_columns = columns,
    .evolve = evolve,
    .weigh = weigh_by_index,
};

/* ---- images: those that preconditioners and densities call ---- */

LMR_MEASURE_NOTHING(pick, void *ctx, int nd, int64_t m, const int64_t *index, double scale, const double *from,
                    double *to)
LMR_MEASURE_NOTHING(overlap, void *ctx, int nd, const int64_t dim[3], double scale, void *y)
LMR_MEASURE_NOTHING(balance, void *ctx, int64_t m, double *w, void *g)
LMR_MEASURE_NOTHING(resize, void *ctx, const int64_t dim[3], int64_t n, const void *x, void *y)
LMR_MEASURE_NOTHING(move, void *ctx, const int64_t from[3], const int64_t to[3], double scale, const void *x, void *y)
LMR_MEASURE_NOTHING(power, void *ctx, int64_t n, int halves, double low, void *x)

static larmor_status largest(void *ctx, int64_t n, const void *x, double *out)
{
    *out = 1;
    return LARMOR_OK;
}

static larmor_status outlier(void *ctx, int64_t n, const double *x, double low, int64_t *index)
{
    *index = -1;
    return LARMOR_OK;
}

static const lmr_recon_kernels images = {.outlier = outlier,
                                         .pick = pick,
                                         .overlap = overlap,
                                         .balance = balance,
                                         .resize = resize,
                                         .crop = move,
                                         .fold = move,
                                         .power = power,
                                         .largest = largest};

static const void *table(const char *layer, uint32_t abi, int precision)
{
    if (!strcmp(layer, "sparse")) return &sparse;
    if (!strcmp(layer, "series")) return &series;
    return strcmp(layer, "recon") != 0 ? NULL : &images;
}
/* NOLINTEND(misc-unused-parameters) */

larmor_status lmr_recon_measure(const larmor_device *like, larmor_device **dev)
{
    return lmr_measure_open(like, table, dev);
}

larmor_status lmr_measure_problem_create(larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                                         lmr_measure_problem *m)
{
    *m = (lmr_measure_problem){.A = NULL};
    LMR_TRY(lmr_measure_op(dev, 0, dtype, shape, shape, &m->A));
    LMR_TRY(larmor_array_create(dev, dtype, shape, &m->x));
    return larmor_array_create(dev, dtype, shape, &m->b);
}

void lmr_measure_problem_free(lmr_measure_problem *m)
{
    LMR_FREE(m->A, m->x, m->b);
}

larmor_status lmr_measure_scan_create(const larmor_device *like, const larmor_problem *p, lmr_measure_scan *s)
{
    *s = (lmr_measure_scan){.dev = NULL};
    LMR_TRY(lmr_recon_measure(like, &s->dev));
    lmr_measure_set_repeats(s->dev, p->repeats);
    LMR_TRY(larmor_array_create(s->dev, p->dtype, larmor_shape_append(p->image, p->coils), &s->maps));
    LMR_TRY(larmor_array_create(s->dev, LARMOR_F32, LARMOR_SHAPE(p->image.ndim, p->samples, 1), &s->traj));
    LMR_TRY(larmor_array_create(s->dev, LARMOR_F32, LARMOR_SHAPE(p->samples, 1), &s->weights));
    lmr_measure_begin(s->dev);
    return LARMOR_OK;
}

void lmr_measure_scan_free(lmr_measure_scan *s)
{
    LMR_FREE(s->maps, s->traj, s->weights, s->dev);
}
