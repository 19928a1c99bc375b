/* Statistics and errors of an image in regions. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
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

static larmor_status expect_alike(const char *step, const larmor_array *image, const larmor_array *other,
                                  const char *what)
{
    if (is_alike(image, other)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: the image is %s, the %s %s; both must have one shape", step,
                    lmr_describe(image).s, what, lmr_describe(other).s);
}

/* The values; free them. */
static larmor_status take(const char *step, const larmor_array *x, const char *what, double _Complex **value)
{
    const int64_t count = larmor_array_count(x);
    char name[64];
    double energy = 0;
    snprintf(name, sizeof name, "%s: the %s", step, what);
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

static larmor_status read_labels(const char *step, const larmor_array *mask, int *label)
{
    const int64_t count = larmor_array_count(mask);
    LMR_OWN(larmor_array, real, lmr_input_real(step, "the mask", mask, &real));
    LMR_OWN_MEMORY(double, value, larmor_array_download(real, LARMOR_F64, &value));
    for (int64_t i = 0; i < count; i++) {
        LMR_REFUSE(value[i] > LARMOR_MAX_REGIONS + 0.5, LARMOR_ERR_ARG,
                   "%s: the mask has the label %.10g, expected at most %d", step, value[i], LARMOR_MAX_REGIONS);
        label[i] = value[i] > 0.5 ? (int)ceil(value[i] - 0.5) : 0;
    }
    return LARMOR_OK;
}

/* The voxels of region n are order[first[n]] to order[first[n + 1] - 1]. */
typedef struct regions {
    int64_t first[LARMOR_MAX_REGIONS + 3];
    int64_t *order;
} regions;

LMR_FREES(free_regions, regions, order)

static void sort_by_label(const int *label, int64_t count, regions *r)
{
    for (int64_t i = 0; i < count; i++) r->first[label[i] + 2]++;
    for (int n = 0; n <= LARMOR_MAX_REGIONS; n++) r->first[n + 2] += r->first[n + 1];
    for (int64_t i = 0; i < count; i++) r->order[r->first[label[i] + 1]++] = i;
}

/* object  the values whose brightness makes region 1 where there is no mask. */
static larmor_status find_regions(const char *step, const larmor_array *mask, const double _Complex *object,
                                  int64_t count, regions *r)
{
    LMR_HEAP LMR_NEW(int, label, count);
    LMR_ALLOCATE(r->order, count);
    if (mask)
        LMR_TRY(read_labels(step, mask, label));
    else
        find_object(object, count, label);
    sort_by_label(label, count, r);
    if (r->first[1] < count) return LARMOR_OK;
    return mask ? LMR_FAIL(LARMOR_ERR_ARG, "%s: the mask has no voxel above 0.5", step)
                : LMR_FAIL(LARMOR_ERR_ARG, "%s: the image is all zero, and there is no mask", step);
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
                                  larmor_region *found, int *count)
{
    LMR_NEED(image, found, count);
    const int64_t voxels = larmor_array_count(image);
    const int is_complex = lmr_is_complex(larmor_array_dtype(image));
    LMR_HEAP double _Complex *x = NULL, *y = NULL;
    LMR_FREED_BY(free_regions) regions all = {.order = NULL};
    *count = 0;
    if (mask) LMR_TRY(expect_alike("stats", image, mask, "mask"));
    if (second) LMR_TRY(expect_alike("stats", image, second, "second image"));
    LMR_TRY(take("stats", image, "image", &x));
    if (second) LMR_TRY(take("stats", second, "second image", &y));
    LMR_HEAP LMR_NEW(double, room, voxels);
    LMR_TRY(find_regions("stats", mask, x, voxels, &all));
    for (int n = 1; n <= LARMOR_MAX_REGIONS; n++) {
        const int64_t *order = all.order + all.first[n];
        larmor_region *r = &found[*count];
        if (all.first[n + 1] == all.first[n]) continue;
        *r = (larmor_region){.label = n, .voxels = all.first[n + 1] - all.first[n], .snr = NAN};
        measure(x, order, is_complex, room, r);
        if (y) r->snr = snr(x, y, order, r->voxels, room);
        r->ratio = found[0].label == 1 && found[0].mean > 0 ? r->mean / found[0].mean : NAN;
        ++*count;
    }
    return LARMOR_OK;
}

/* ---- errors ---- */

static double _Complex least_factor(const double _Complex *a, const double _Complex *b, int64_t count)
{
    double _Complex ab = 0;
    double aa = 0;
    for (int64_t i = 0; i < count; i++) {
        ab += conj(a[i]) * b[i];
        aa += creal(a[i] * conj(a[i]));
    }
    return aa > 0 ? ab / aa : 0;
}

static void measure_error(const double _Complex *a, const double _Complex *b, double _Complex factor,
                          const int64_t *order, larmor_region_error *r)
{
    double rest = 0, energy = 0, image = 0, reference = 0;
    for (int64_t i = 0; i < r->voxels; i++) {
        const double _Complex x = factor * a[order[i]], y = b[order[i]];
        const double error = cabs(x - y);
        rest += error * error;
        energy += creal(y * conj(y));
        image += cabs(x);
        reference += cabs(y);
        r->largest = fmax(r->largest, error);
    }
    r->nrmse = energy > 0 ? sqrt(rest / energy) : INFINITY;
    r->rmse = sqrt(rest / (double)r->voxels);
    r->ratio = reference > 0 ? image / reference : NAN;
}

larmor_status larmor_compare_regions(const larmor_array *a, const larmor_array *b, const larmor_array *mask,
                                     int magnitude, const double *factor, larmor_region_error *found, int *count)
{
    LMR_NEED(a, b, found, count);
    const int64_t voxels = larmor_array_count(a);
    LMR_FREED_BY(free_regions) regions all = {.order = NULL};
    *count = 0;
    LMR_TRY(expect_alike("compare", a, b, "reference"));
    if (mask) LMR_TRY(expect_alike("compare", a, mask, "mask"));
    LMR_OWN_MEMORY(double _Complex, x, take("compare", a, "image", &x));
    LMR_OWN_MEMORY(double _Complex, y, take("compare", b, "reference", &y));
    for (int64_t i = 0; i < voxels && magnitude; i++) {
        x[i] = cabs(x[i]);
        y[i] = cabs(y[i]);
    }
    LMR_TRY(find_regions("compare", mask, y, voxels, &all));
    const double _Complex s = factor ? factor[0] + factor[1] * I : least_factor(x, y, voxels);
    for (int n = 1; n <= LARMOR_MAX_REGIONS; n++) {
        if (all.first[n + 1] == all.first[n]) continue;
        found[*count] = (larmor_region_error){.label = n, .voxels = all.first[n + 1] - all.first[n]};
        measure_error(x, y, s, all.order + all.first[n], &found[(*count)++]);
    }
    return LARMOR_OK;
}
