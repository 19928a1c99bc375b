/* Field maps from echoes: unwrapped in space and in time, fitted by least squares, smoothed by their own
 * confidence (Funai et al., IEEE Trans. Med. Imaging 27, 1484 (2008)). On the host: maps are small.
 * SPDX-License-Identifier: Apache-2.0 */
#include "larmor/fieldmap.h"

#include <complex.h>

#include "core/core.h"
#include "recon/field/unwrap.h"

typedef double _Complex number;

enum { MOST_ECHOES = 64, MOST_STEPS = 300 };
#define DEFAULT_SMOOTH 1.5 /* voxels: structure below about 2 pi of these, 9 voxels, is smoothed away */
#define LEAST_SMOOTH 0.2   /* voxels: 2 pi of these is about one voxel, so that next to nothing is */
#define DEFAULT_THRESHOLD                                                                                            \
    0.1                /* magnitude of the object over its brightest part: three deviations of the noise at SNR 30 */
#define BRIGHTEST 0.98 /* the quantile of magnitudes that stands for the brightest part; not measured */
#define EDGE 64.0      /* of second to first differences, in voxels squared */
#define SMALL_REGION 8 /* voxels: islands that noise makes */

typedef struct work {
    int ndim, echoes;
    int64_t dim[3], count;
    double spacing[3];
    const number *x;   /* [count, echoes], in the order of time */
    const double *t;   /* [echoes] s, ascending */
    const int *order;  /* of the echoes in x */
    double *magnitude; /* [count] root sum of squares */
    double *weight;    /* [count] inverse variance of the fit; 0 outside */
    double *measured;  /* [count] Hz */
    double *map;       /* [count] Hz */
    int32_t *region;
    int regions, first; /* first: echoes first and first + 1 are closest in time */
    int64_t wraps;
    double step; /* s between those */
} work;

static number at_echo(const work *w, int e, int64_t i)
{
    return w->x[i + w->count * w->order[e]];
}

/* ---- the object ---- */

static larmor_status quantile(const double *x, int64_t count, double q, double *value)
{
    LMR_NEW(double, sorted, count + 1);
    memcpy(sorted, x, (size_t)count * sizeof *sorted);
    *value = lmr_select_f64(sorted, count, (int64_t)(q * (double)(count - 1)));
    free(sorted);
    return LARMOR_OK;
}

/* Where all echoes of the pair are bright. */
static larmor_status find_object(work *w, double threshold)
{
    double brightest = 0;
    int64_t inside = 0;
    for (int64_t i = 0; i < w->count; i++)
        w->magnitude[i] = sqrt(cabs(at_echo(w, w->first, i)) * cabs(at_echo(w, w->first + 1, i)));
    LMR_TRY(quantile(w->magnitude, w->count, BRIGHTEST, &brightest));
    for (int64_t i = 0; i < w->count; i++) {
        const int is_object = w->magnitude[i] > threshold * brightest && w->magnitude[i] > 0;
        w->weight[i] = is_object ? w->magnitude[i] * w->magnitude[i] / (brightest * brightest) : 0;
        inside += is_object;
    }
    if (inside) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "field map: the echoes show no object; are their images zero?");
}

/* ---- space ---- */

/* Regions too small to be trusted are no part of the object. */
static larmor_status drop_islands(work *w)
{
    LMR_HEAP int64_t *size = calloc((size_t)w->regions + 1, sizeof *size);
    int kept = 0;
    if (!size) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < w->count; i++)
        if (w->region[i] >= 0) size[w->region[i]]++;
    for (int r = 0; r < w->regions; r++) kept += r == 0 || size[r] >= SMALL_REGION;
    for (int64_t i = 0; i < w->count; i++)
        if (w->region[i] >= kept) {
            w->region[i] = -1;
            w->weight[i] = 0;
        }
    w->regions = kept;
    return LARMOR_OK;
}

/* Whole cycles for a region, so that its weighted mean is near that of `like`; NULL: near 0. */
static void place_region(work *w, int region, const double *like, double *cycles)
{
    double sum = 0, weights = 0;
    for (int64_t i = 0; i < w->count; i++) {
        if (w->region[i] != region) continue;
        sum += w->weight[i] * (cycles[i] - (like ? like[i] * w->step : 0));
        weights += w->weight[i];
    }
    const double shift = weights > 0 ? rint(sum / weights) : 0;
    for (int64_t i = 0; i < w->count; i++)
        if (w->region[i] == region) cycles[i] -= shift;
}

static larmor_status smooth(work *w, double length, int only);

/* w->measured from the pair of echoes. */
static larmor_status fit_pair(work *w, double length)
{
    double *cycles = w->measured;
    for (int64_t i = 0; i < w->count; i++)
        cycles[i] = carg(conj(at_echo(w, w->first, i)) * at_echo(w, w->first + 1, i)) / (2 * M_PI);
    LMR_TRY(lmr_unwrap(w->dim, w->weight, cycles, w->region, &w->regions));
    LMR_TRY(drop_islands(w));
    place_region(w, 0, NULL, cycles);
    if (w->regions > 1) { /* islands follow the largest region, continued to where they are */
        for (int64_t i = 0; i < w->count; i++) w->measured[i] /= w->step;
        LMR_TRY(smooth(w, length, 0));
        for (int64_t i = 0; i < w->count; i++) cycles[i] *= w->step;
        for (int r = 1; r < w->regions; r++) place_region(w, r, w->map, cycles);
    }
    w->wraps = 0;
    for (int64_t i = 0; i < w->count; i++) {
        w->wraps += w->weight[i] > 0 && fabs(cycles[i]) > 0.5;
        cycles[i] /= w->step;
    }
    return LARMOR_OK;
}

/* ---- time ---- */

/* The weighted least squares line through the phases of one voxel's echoes, each unwrapped by the frequency that
 * the echoes before gave. The variance of a phase is inverse to the square of its magnitude. */
static void fit_line(const work *w, int64_t i, double *hz, double *weight)
{
    double s = 0, st = 0, stt = 0, sp = 0, stp = 0, f = *hz;
    const number reference = at_echo(w, w->first, i);
    for (int pass = 0; pass < w->echoes; pass++) {
        /* the pair first, then the others from near to far */
        int e = w->first + pass;
        if (e >= w->echoes) e = w->echoes - 1 - pass;
        const number x = at_echo(w, e, i);
        const double square = creal(x) * creal(x) + cimag(x) * cimag(x), t = w->t[e] - w->t[w->first];
        double phase = carg(conj(reference) * x) / (2 * M_PI);
        phase += rint(f * t - phase);
        s += square;
        st += square * t;
        stt += square * t * t;
        sp += square * phase;
        stp += square * t * phase;
        const double spread = s * stt - st * st;
        if (pass > 0 && spread > 0) f = (s * stp - st * sp) / spread;
    }
    *hz = f;
    *weight = s > 0 ? stt - st * st / s : 0;
}

static void fit_lines(work *w)
{
    for (int64_t i = 0; i < w->count; i++)
        if (w->weight[i] > 0) fit_line(w, i, &w->measured[i], &w->weight[i]);
}

/* ---- smoothing ---- */

/* The quadratic form's matrix: weights and differences along each axis. */
typedef struct form {
    const work *w;
    const double *weight;
    double second[3], first[3];
} form;

/* y += matrix of the differences along axis d, x */
static void add_axis(const form *q, int d, const double *x, double *y)
{
    const work *w = q->w;
    const int64_t n = w->dim[d];
    int64_t step = 1;
    for (int e = 0; e < d; e++) step *= w->dim[e];
    for (int64_t i = 0; i < w->count; i++) {
        const int64_t at = i / step % n;
        if (at + 1 < n) {
            const double g = q->first[d] * (x[i + step] - x[i]);
            y[i] -= g;
            y[i + step] += g;
        }
        if (at > 0 && at + 1 < n) {
            const double g = q->second[d] * (x[i - step] - 2 * x[i] + x[i + step]);
            y[i - step] += g;
            y[i] -= 2 * g;
            y[i + step] += g;
        }
    }
}

static void apply(const form *q, const double *x, double *y)
{
    for (int64_t i = 0; i < q->w->count; i++) y[i] = q->weight[i] * x[i];
    for (int d = 0; d < q->w->ndim; d++)
        if (q->w->dim[d] > 1) add_axis(q, d, x, y);
}

static double inner(int64_t count, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

/* Conjugate gradients with the diagonal as preconditioner; x has the start. room: [4 count]. */
static void minimise(const form *q, const double *b, double *x, double *room)
{
    const int64_t n = q->w->count;
    double *r = room, *p = room + n, *z = room + 2 * n, *diagonal = room + 3 * n;
    double most = 0;
    for (int d = 0; d < q->w->ndim; d++) most += 6 * q->second[d] + 2 * q->first[d];
    for (int64_t i = 0; i < n; i++) diagonal[i] = q->weight[i] + most;
    apply(q, x, r);
    for (int64_t i = 0; i < n; i++) r[i] = b[i] - r[i];
    for (int64_t i = 0; i < n; i++) p[i] = z[i] = r[i] / diagonal[i];
    double rho = inner(n, r, z);
    const double enough = 1e-10 * rho;
    for (int k = 0; k < MOST_STEPS && rho > enough; k++) {
        apply(q, p, z);
        const double curvature = inner(n, p, z);
        if (!(curvature > 0)) return;
        const double alpha = rho / curvature;
        for (int64_t i = 0; i < n; i++) x[i] += alpha * p[i];
        for (int64_t i = 0; i < n; i++) r[i] -= alpha * z[i];
        for (int64_t i = 0; i < n; i++) z[i] = r[i] / diagonal[i];
        const double next = inner(n, r, z), beta = next / rho;
        for (int64_t i = 0; i < n; i++) p[i] = z[i] + beta * p[i];
        rho = next;
    }
}

/* value <- mean of the known values around each unknown one, from coarser and coarser grids: a start that is near
 * the end far away from the object, too. */
static larmor_status fill_unknown(const int64_t dim[3], const double *weight, const double *known, double *value)
{
    const int64_t count = dim[0] * dim[1] * dim[2];
    int64_t half[3], total = 1;
    int unknown = 0;
    for (int64_t i = 0; i < count; i++) {
        value[i] = weight[i] > 0 ? known[i] : 0;
        unknown |= !(weight[i] > 0);
    }
    if (!unknown || count <= 1) return LARMOR_OK;
    for (int d = 0; d < 3; d++) {
        half[d] = (dim[d] + 1) / 2;
        total *= half[d];
    }
    LMR_HEAP LMR_NEW_ZEROS(double, sum, 3 * total);
    double *weights = sum + total, *coarse = sum + 2 * total;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at[3] = {i % dim[0], i / dim[0] % dim[1], i / dim[0] / dim[1]};
        const int64_t to = at[0] / 2 + half[0] * (at[1] / 2 + half[1] * (at[2] / 2));
        sum[to] += weight[i] * value[i];
        weights[to] += weight[i];
    }
    for (int64_t i = 0; i < total; i++)
        if (weights[i] > 0) sum[i] /= weights[i];
    LMR_TRY(fill_unknown(half, weights, sum, coarse));
    for (int64_t i = 0; i < count; i++) {
        const int64_t at[3] = {i % dim[0], i / dim[0] % dim[1], i / dim[0] / dim[1]};
        if (!(weight[i] > 0)) value[i] = coarse[at[0] / 2 + half[0] * (at[1] / 2 + half[1] * (at[2] / 2))];
    }
    return LARMOR_OK;
}

/* w->map from w->measured: of region `only` alone, or of all for -1. */
static larmor_status smooth(work *w, double length, int only)
{
    const int64_t n = w->count;
    LMR_HEAP double *room = calloc((size_t)(6 * n), sizeof *room);
    double typical = 0, finest = INFINITY;
    int64_t inside = 0;
    if (!room) return LMR_NO_MEMORY();
    double *weight = room + 4 * n, *b = room + 5 * n;
    for (int64_t i = 0; i < n; i++) {
        weight[i] = w->weight[i] > 0 && (only < 0 || w->region[i] == only) ? w->weight[i] : 0;
        typical += weight[i];
        inside += weight[i] > 0;
    }
    typical /= (double)(inside ? inside : 1);
    form q = {.w = w, .weight = weight};
    for (int d = 0; d < w->ndim; d++) finest = fmin(finest, w->spacing[d]);
    for (int d = 0; d < w->ndim; d++) {
        const double relative = finest / w->spacing[d];
        q.second[d] = typical * pow(length * relative, 4);
        q.first[d] = typical * pow(length, 4) * relative * relative / EDGE;
    }
    for (int64_t i = 0; i < n; i++) b[i] = weight[i] * w->measured[i];
    LMR_TRY(fill_unknown(w->dim, weight, w->measured, w->map));
    minimise(&q, b, w->map, room);
    return LARMOR_OK;
}

/* ---- all of it ---- */

static void report_map(work *w, larmor_field_map_report *report)
{
    double square = 0, weights = 0;
    int64_t inside = 0;
    larmor_field_map_report r = {.regions = w->regions, .wraps = w->wraps, .low = INFINITY, .high = -INFINITY};
    for (int64_t i = 0; i < w->count; i++) {
        if (!(w->weight[i] > 0)) continue;
        const double apart = w->measured[i] - w->map[i];
        inside++;
        square += w->weight[i] * apart * apart;
        weights += w->weight[i];
        r.low = fmin(r.low, w->map[i]);
        r.high = fmax(r.high, w->map[i]);
    }
    for (int64_t i = 0; i < w->count; i++) w->map[i] = fmin(fmax(w->map[i], r.low), r.high);
    r.object = (double)inside / (double)w->count;
    r.unambiguous = 1 / w->step;
    r.residual = sqrt(square / weights);
    if (report) *report = r;
}

static larmor_status make_map(work *w, const larmor_field_map_opts *o, larmor_field_map_report *report)
{
    double length = o->smooth > 0 ? o->smooth : DEFAULT_SMOOTH;
    if (o->smooth < 0) length = LEAST_SMOOTH;
    LMR_TRY(find_object(w, o->threshold > 0 ? o->threshold : DEFAULT_THRESHOLD));
    LMR_TRY(fit_pair(w, length));
    fit_lines(w);
    LMR_TRY(smooth(w, length, -1));
    report_map(w, report);
    return LARMOR_OK;
}

/* The order of the echoes in time, and the closest pair. */
static larmor_status order_echoes(const double *seconds, int echoes, int *order, double *t, work *w)
{
    for (int e = 0; e < echoes; e++) {
        int at = e;
        LMR_REFUSE(!isfinite(seconds[e]), LARMOR_ERR_ARG, "field map: the time of echo %d is not finite", e);
        for (; at > 0 && t[at - 1] > seconds[e]; at--) {
            t[at] = t[at - 1];
            order[at] = order[at - 1];
        }
        t[at] = seconds[e];
        order[at] = e;
    }
    w->step = INFINITY;
    for (int e = 0; e + 1 < echoes; e++) {
        const double apart = t[e + 1] - t[e];
        LMR_REFUSE(!(apart > 1e-9), LARMOR_ERR_ARG, "field map: two echoes have the same time, %g ms", 1e3 * t[e]);
        if (apart < w->step * (1 - 1e-6)) {
            w->step = apart;
            w->first = e;
        }
    }
    return LARMOR_OK;
}

static larmor_status check(const larmor_array *echoes, int ndim, const double *seconds,
                           const larmor_field_map_opts *o)
{
    LMR_REFUSE(!echoes || !seconds, LARMOR_ERR_ARG, "field map: echoes and their times are needed");
    const larmor_shape s = echoes->shape;
    LMR_REFUSE(ndim < 2 || ndim > 3 || !lmr_is_complex(echoes->dtype) || s.ndim != ndim + 1 || s.dim[ndim] < 2 ||
                   s.dim[ndim] > MOST_ECHOES || larmor_shape_count(s) < 1,
               LARMOR_ERR_SHAPE,
               "field map: echoes are %s, expected complex numbers in %d dimensions and 2 .. %d echoes",
               lmr_describe(echoes).s, ndim, MOST_ECHOES);
    int good = o->threshold >= 0 && o->threshold < 1 && isfinite(o->smooth) && o->smooth <= 100;
    for (int d = 0; d < 3; d++) good &= o->spacing[d] >= 0 && isfinite(o->spacing[d]);
    LMR_REFUSE(!good, LARMOR_ERR_ARG,
               "field map: smooth is %g, threshold %g, expected at most 100 voxels, 0 to 1, and spacings > 0",
               o->smooth, o->threshold);
    return LARMOR_OK;
}

static larmor_status check_finite(const number *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        LMR_REFUSE(!isfinite(creal(x[i])) || !isfinite(cimag(x[i])), LARMOR_ERR_NUMERIC,
                   "field map: the echoes hold a value that is not finite at element %lld", (long long)i);
    return LARMOR_OK;
}

larmor_status larmor_field_map(const larmor_array *echoes, int ndim, const double *seconds,
                               const larmor_field_map_opts *opts, larmor_array **map, larmor_field_map_report *report)
{
    LMR_NEED_OUT(map);
    const larmor_field_map_opts o = opts ? *opts : (larmor_field_map_opts){0};
    LMR_TRY(check(echoes, ndim, seconds, &o));
    const larmor_shape shape = larmor_shape_of(ndim, echoes->shape.dim);
    int order[MOST_ECHOES];
    double t[MOST_ECHOES];
    work w = {.ndim = ndim,
              .echoes = (int)echoes->shape.dim[ndim],
              .count = larmor_shape_count(shape),
              .t = t,
              .order = order};
    for (int d = 0; d < 3; d++) {
        w.dim[d] = d < ndim ? shape.dim[d] : 1;
        w.spacing[d] = o.spacing[d] > 0 ? o.spacing[d] : 1;
    }
    LMR_TRY(order_echoes(seconds, w.echoes, order, t, &w));
    LMR_HEAP LMR_NEW_ZEROS(double, room, 4 * w.count);
    LMR_HEAP LMR_NEW_ZEROS(int32_t, region, w.count);
    w.region = region;
    w.magnitude = room;
    w.weight = room + w.count;
    w.measured = room + 2 * w.count;
    w.map = room + 3 * w.count;
    LMR_OWN_MEMORY(number, x, larmor_array_download(echoes, LARMOR_C128, &x));
    w.x = x;
    LMR_TRY(check_finite(x, larmor_array_count(echoes)));
    LMR_TRY(make_map(&w, &o, report));
    return larmor_array_upload(echoes->dev, LARMOR_F32, shape, LARMOR_F64, w.map, map);
}
