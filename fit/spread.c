/* What a voxel's neighbours differ from it by, beyond their noise. On the host.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "fit/fit.h"

typedef struct maps {
    larmor_shape shape;
    double *value, *deviation, *spread;
} maps;

LMR_FREES(free_maps, maps, value, deviation, spread)

/* Adds a pair of neighbours to what voxel i has: the square of their difference that noise does not explain. */
static void add_neighbour(const maps *m, int64_t i, int64_t neighbour, double *sum, int *count)
{
    if (!(m->deviation[neighbour] > 0)) return;
    const double apart = m->value[i] - m->value[neighbour];
    *sum += apart * apart - m->deviation[i] * m->deviation[i] - m->deviation[neighbour] * m->deviation[neighbour];
    ++*count;
}

static double spread_of(const maps *m, int64_t i)
{
    double sum = 0;
    int count = 0;
    int64_t step = 1;
    if (!(m->deviation[i] > 0)) return 0;
    for (int d = 0; d < m->shape.ndim && d < 3; d++) {
        const int64_t at = i / step % m->shape.dim[d];
        if (at > 0) add_neighbour(m, i, i - step, &sum, &count);
        if (at + 1 < m->shape.dim[d]) add_neighbour(m, i, i + step, &sum, &count);
        step *= m->shape.dim[d];
    }
    return count ? sqrt(fmax(0, sum / count)) : 0;
}

/* The median over voxels with a deviation of spread over deviation; the room of value is taken for it. */
static double median_ratio(const maps *m, int64_t voxels)
{
    int64_t count = 0;
    for (int64_t i = 0; i < voxels; i++)
        if (m->deviation[i] > 0) m->value[count++] = m->spread[i] / m->deviation[i];
    return count ? lmr_median_f64(m->value, count) : 0;
}

larmor_status larmor_fit_spread(const larmor_array *value, const larmor_array *deviation, larmor_array **spread,
                                double *over_deviation)
{
    LMR_NEED(spread);
    *spread = NULL;
    LMR_NEED(value, deviation);
    LMR_REFUSE(!lmr_is_real(value->dtype) || value->shape.ndim < 1, LARMOR_ERR_SHAPE,
               "value: got %s, expected real [voxels]", lmr_describe(value).s);
    LMR_TRY(lmr_expect("spread", "deviation", deviation, value->dev, deviation->dtype, value->shape));
    LMR_TRY(larmor_array_expect_finite(value, "value"));
    LMR_TRY(larmor_array_expect_finite(deviation, "deviation"));
    const int64_t voxels = larmor_array_count(value);
    LMR_FREED_BY(free_maps) maps m = {.shape = value->shape};
    LMR_TRY(larmor_array_download(value, LARMOR_F64, &m.value));
    LMR_TRY(larmor_array_download(deviation, LARMOR_F64, &m.deviation));
    LMR_ALLOCATE(m.spread, voxels + 1);
    for (int64_t i = 0; i < voxels; i++) m.spread[i] = spread_of(&m, i);
    LMR_TRY(larmor_array_upload(value->dev, LARMOR_F32, value->shape, LARMOR_F64, m.spread, spread));
    if (over_deviation) *over_deviation = median_ratio(&m, voxels);
    return LARMOR_OK;
}
