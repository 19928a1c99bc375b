/* Statistics of an image in regions. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>
#include <stdio.h>

#include "core/array.h"
#include "core/owned.h"
#include "core/select.h"
#include "larmor/operators.h"
#include "recon/inputs.h"

static int is_alike(const larmor_array *x, const larmor_array *y)
{
    const larmor_shape s = larmor_array_shape(x), t = larmor_array_shape(y);
    int d = 0, e = 0;
    for (;; d++, e++) {
        while (d < s.ndim && s.dim[d] == 1) d++;
        while (e < t.ndim && t.dim[e] == 1) e++;
        if (d == s.ndim || e == t.ndim) return d == s.ndim && e == t.ndim;
        if (s.dim[d] != t.dim[e]) return 0;
    }
}

static larmor_status expect_alike(const larmor_array *image, const larmor_array *other, const char *what)
{
    if (is_alike(image, other)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "stats: the image is %s, the %s %s; both must have one shape",
                    lmr_describe(image).s, what, lmr_describe(other).s);
}

/* The values; free them. */
static larmor_status take(const larmor_array *x, const char *what, double _Complex **value)
{
    const int64_t count = larmor_array_count(x);
    char name[64];
    double energy = 0;
    snprintf(name, sizeof name, "stats: the %s", what);
    LMR_TRY(larmor_array_expect_finite(x, name));
    LMR_TRY(larmor_array_download(x, LARMOR_C128, value));
    for (int64_t i = 0; i < count; i++) energy += creal((*value)[i] * conj((*value)[i]));
    if (isfinite(energy)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "%s holds values that are too large", name);
}

/* Region 1 of an image without a mask. */
static void find_object(const double _Complex *x, int64_t count, int *label)
{
    double top = 0;
    for (int64_t i = 0; i < count; i++) top = fmax(top, cabs(x[i]));
    for (int64_t i = 0; i < count; i++) label[i] = cabs(x[i]) > LARMOR_OBJECT_LEVEL * top;
}

static larmor_status read_labels(const larmor_array *mask, int *label)
{
    LMR_OWNED(larmor_array) *real = NULL;
    LMR_HEAP double *value = NULL;
    const int64_t count = larmor_array_count(mask);
    LMR_TRY(lmr_input_real("stats", "the mask", mask, &real));
    LMR_TRY(larmor_array_download(real, LARMOR_F64, &value));
    for (int64_t i = 0; i < count; i++) {
        if (value[i] > LARMOR_MAX_REGIONS + 0.5)
            return LMR_FAIL(LARMOR_ERR_ARG, "stats: the mask has the label %.10g, expected at most %d", value[i],
                            LARMOR_MAX_REGIONS);
        label[i] = value[i] > 0.5 ? (int)ceil(value[i] - 0.5) : 0;
    }
    return LARMOR_OK;
}

/* first[n] to first[n + 1] are the places in `order` of the voxels of region n. */
static void sort_by_label(const int *label, int64_t count, int64_t *first, int64_t *order)
{
    for (int64_t i = 0; i < count; i++) first[label[i] + 2]++;
    for (int n = 0; n <= LARMOR_MAX_REGIONS; n++) first[n + 2] += first[n + 1];
    for (int64_t i = 0; i < count; i++) order[first[label[i] + 1]++] = i;
}

static double deviation(const double *m, int64_t count, double mean)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (m[i] - mean) * (m[i] - mean);
    return count > 1 ? sqrt(sum / (double)(count - 1)) : NAN;
}

static double mean_of(const double *m, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += m[i];
    return sum / (double)count;
}

static double snr(const double _Complex *x, const double _Complex *y, const int64_t *order, int64_t count,
                  double *room)
{
    double signal = 0;
    for (int64_t i = 0; i < count; i++) {
        const double a = cabs(x[order[i]]), b = cabs(y[order[i]]);
        signal += (a + b) / 2;
        room[i] = a - b;
    }
    return signal / (double)count * sqrt(2) / deviation(room, count, mean_of(room, count));
}

/* room    [voxels] */
static void measure(const double _Complex *x, const int64_t *order, int is_complex, double *room, larmor_region *r)
{
    double _Complex sum = 0;
    r->lowest = INFINITY;
    r->highest = 0;
    for (int64_t i = 0; i < r->voxels; i++) {
        room[i] = cabs(x[order[i]]);
        sum += x[order[i]];
        r->lowest = fmin(r->lowest, room[i]);
        r->highest = fmax(r->highest, room[i]);
    }
    r->mean = mean_of(room, r->voxels);
    r->deviation = deviation(room, r->voxels, r->mean);
    r->phase = carg(sum);
    r->coherence = is_complex && r->mean > 0 ? cabs(sum) / (r->mean * (double)r->voxels) : NAN;
    const int64_t middle = r->voxels / 2;
    r->median = lmr_select_f64(room, r->voxels, middle);
    if (r->voxels % 2 == 0) r->median = (r->median + lmr_select_f64(room, r->voxels, middle - 1)) / 2;
}

larmor_status larmor_region_stats(const larmor_array *image, const larmor_array *second, const larmor_array *mask,
                                  larmor_region *regions, int *count)
{
    LMR_NEED(image);
    LMR_NEED(regions);
    LMR_NEED(count);
    const int64_t voxels = larmor_array_count(image);
    const int is_complex = lmr_is_complex(larmor_array_dtype(image));
    LMR_HEAP double _Complex *x = NULL, *y = NULL;
    LMR_HEAP int *label = NULL;
    LMR_HEAP int64_t *order = NULL;
    int64_t first[LARMOR_MAX_REGIONS + 3] = {0};
    LMR_HEAP double *room = NULL;
    *count = 0;
    if (mask) LMR_TRY(expect_alike(image, mask, "mask"));
    if (second) LMR_TRY(expect_alike(image, second, "second image"));
    LMR_TRY(take(image, "image", &x));
    if (second) LMR_TRY(take(second, "second image", &y));
    label = lmr_new(voxels, sizeof *label);
    order = lmr_new(voxels, sizeof *order);
    room = lmr_new(voxels, sizeof *room);
    if (!label || !order || !room) return LMR_NO_MEMORY();
    if (mask)
        LMR_TRY(read_labels(mask, label));
    else
        find_object(x, voxels, label);
    sort_by_label(label, voxels, first, order);
    for (int n = 1; n <= LARMOR_MAX_REGIONS; n++) {
        larmor_region *r = &regions[*count];
        if (first[n + 1] == first[n]) continue;
        *r = (larmor_region){.label = n, .voxels = first[n + 1] - first[n], .snr = NAN};
        measure(x, order + first[n], is_complex, room, r);
        if (y) r->snr = snr(x, y, order + first[n], r->voxels, room);
        r->ratio = regions[0].label == 1 && regions[0].mean > 0 ? r->mean / regions[0].mean : NAN;
        ++*count;
    }
    if (*count) return LARMOR_OK;
    return mask ? LMR_FAIL(LARMOR_ERR_ARG, "stats: the mask has no voxel above 0.5")
                : LMR_FAIL(LARMOR_ERR_ARG, "stats: the image is all zero, and there is no mask");
}
