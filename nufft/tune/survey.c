/* How points are spread: a histogram of a sample. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/tune/survey.h"

#include "core/core.h"
#include "nufft/device.h"

enum { SAMPLES = 1024, MOST_BINS = 512, ENDS = 128 };
static const int sides[3] = {256, 16, 8}; /* bins in each dimension */

/* Where pairs of points begin: all of them, or at most so many. */
static int choose_pairs(int64_t m, int most, int64_t *from)
{
    const int count = m - 1 < most ? (int)(m - 1) : most;
    for (int i = 0; i < count; i++) /* at random, as whatever is regular may have a period of the points' */
        from[i] = m - 1 == count ? i : (int64_t)(lmr_random_uniform(5, (uint64_t)i) * (double)(m - 1));
    return count;
}

/* A point and the one after it, in the points' own precision; from[] says of which points. */
static larmor_status read_pairs(const larmor_array *points, size_t each, const int64_t *from, int count, void *pairs)
{
    const lmr_nufft_kernels *kernels = lmr_nufft_kernels_of(points->dev, LMR_F64);
    int64_t at[SAMPLES];
    if (!kernels) return LARMOR_ERR_UNSUPPORTED;
    for (int i = 0; i < count; i++) at[i] = from[i] * (int64_t)each;
    if (kernels->collect)
        return kernels->collect(points->dev->ctx, count, at, (int)(2 * each / sizeof(float)), points->data, pairs);
    for (int i = 0; i < count; i++)
        memcpy((char *)pairs + 2 * each * (size_t)i, (const char *)points->data + at[i], 2 * each);
    return LARMOR_OK;
}

static double coordinate(const larmor_array *points, const void *pairs, int i)
{
    return points->dtype == LARMOR_F64 ? ((const double *)pairs)[i] : (double)((const float *)pairs)[i];
}

static int bin_of(int ndim, const int64_t modes[3], const larmor_array *points, const void *pairs, int which)
{
    int bin = 0;
    for (int d = 0; d < ndim; d++) {
        const int i = which * ndim + d;
        const double cycles = coordinate(points, pairs, i) / (double)modes[d], part = cycles - floor(cycles);
        const int at = isfinite(part) ? (int)(part * sides[ndim - 1]) : 0;
        bin = bin * sides[ndim - 1] + (at < sides[ndim - 1] ? at : 0);
    }
    return bin;
}

larmor_status lmr_survey_points(int ndim, const int64_t modes[3], const larmor_array *points, int64_t m,
                                lmr_survey *survey)
{
    *survey = (lmr_survey){0};
    if (m < 3) return LARMOR_OK;
    const size_t each = (size_t)ndim * larmor_dtype_size(points->dtype);
    int64_t from[SAMPLES];
    const int count = choose_pairs(m, SAMPLES, from);
    int in_bin[MOST_BINS] = {0}, bins = 1, in_one_bin = 0;
    void *pairs = malloc(2 * each * (size_t)count);
    if (!pairs) return LMR_NO_MEMORY();
    const larmor_status st = read_pairs(points, each, from, count, pairs);
    for (int i = 0; i < count && !st; i++) {
        const int bin = bin_of(ndim, modes, points, pairs, 2 * i);
        in_bin[bin]++;
        in_one_bin += bin == bin_of(ndim, modes, points, pairs, 2 * i + 1);
    }
    free(pairs);
    if (st) return st;
    double met = 0; /* pairs of the sample that share a bin */
    for (int d = 0; d < ndim; d++) bins *= sides[ndim - 1];
    for (int b = 0; b < bins; b++) met += (double)in_bin[b] * (in_bin[b] - 1);
    const double crowding = bins * met / ((double)count * (count - 1));
    survey->crowding = (int)fmin(rint(log2(fmax(crowding, 1))), LMR_CROWDING_MOST);
    survey->ordered = 2 * in_one_bin > count;
    return LARMOR_OK;
}

larmor_status lmr_survey_lattice(int ndim, const larmor_array *points, int64_t m, int *lattice)
{
    union {
        double doubles[LMR_LATTICE * 3];
        float floats[LMR_LATTICE * 3];
    } first;
    const int count = (int)(m < LMR_LATTICE ? m : LMR_LATTICE) * ndim;
    *lattice = m > 0;
    LMR_TRY(points->dev->be->copy(points->dev->ctx, LMR_TO_HOST, &first, points->data,
                                  (size_t)count * larmor_dtype_size(points->dtype)));
    for (int i = 0; i < count && *lattice; i++) {
        const double k = points->dtype == LARMOR_F64 ? first.doubles[i] : (double)first.floats[i];
        *lattice = 2 * k == rint(2 * k);
    }
    return LARMOR_OK;
}

/* Of random points an eighth lies so near the ends in a small sample, and two or three make the box. */
larmor_status lmr_survey_ends(int ndim, const larmor_array *points, int64_t m, const double middle[3],
                              const double half[3], double share[3])
{
    static const double near_end = 15.0 / 16, usual = 0.125;
    double pairs[2 * ENDS * 3];
    int64_t from[ENDS];
    for (int d = 0; d < 3; d++) share[d] = 0;
    if (m < 3) return LARMOR_OK;
    const int count = choose_pairs(m, ENDS, from);
    LMR_TRY(read_pairs(points, (size_t)ndim * larmor_dtype_size(points->dtype), from, count, pairs));
    for (int d = 0; d < ndim; d++) {
        int ends = 0;
        for (int i = 0; i < 2 * count; i++)
            ends += fabs(coordinate(points, pairs, i * ndim + d) - middle[d]) >= near_end * half[d];
        share[d] = fmax(0, 0.5 * ends / count - usual - 3.0 / (double)m);
    }
    return LARMOR_OK;
}
