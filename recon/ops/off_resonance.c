/* Off-resonance by time segmentation: between the segments the phase exp(2 pi i f t) is interpolated by least squares
 * over the frequencies that the field map holds. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/op.h"
#include "core/parallel.h"
#include "larmor/operators.h"
#include "recon/bytes.h"
#include "recon/inputs.h"
#include "recon/low_rank.h"

typedef double _Complex number;

/* ---- interpolators: exp(2 pi i f t) ~ sum_l b_l(t) exp(2 pi i f tau_l), on the host ---- */

/* Frequencies and times are relative to the middle of their ranges; that changes the interpolators by phases alone.
 */
typedef struct fit {
    int threads;
    int64_t nodes; /* frequencies, so dense that the error between two is that at one of them */
    int64_t room;  /* for frequencies */
    double *f;
    int64_t times;
    double *t;
    double reach; /* of time: t in [-reach, reach] */
} fit;

static number unit_phase(double cycles)
{
    return CMPLX(cos(2 * M_PI * cycles), sin(2 * M_PI * cycles));
}

/* Segment l of `count`, spread evenly over all times. */
static double segment_time(const fit *p, int count, int l)
{
    return count > 1 ? p->reach * (2.0 * l / (count - 1) - 1) : 0;
}

/* Upper triangle of g <- R with R^H R = the Gram matrix of the segments' exponentials, which depends on the
 * difference of their times alone. A ridge at the edge of rounding keeps it definite. */
static larmor_status factor(const fit *p, int count, number *g)
{
    const double ridge = 1e-14 * (double)p->nodes * count;
    for (int j = 0; j < count; j++) {
        number sum = 0;
        for (int64_t n = 0; n < p->nodes; n++)
            sum += unit_phase(p->f[n] * (segment_time(p, count, j) - segment_time(p, count, 0)));
        for (int i = 0; i + j < count; i++) g[i + count * (i + j)] = sum;
    }
    for (int j = 0; j < count; j++) {
        double rest = creal(g[j + count * j]) + ridge;
        for (int i = 0; i < j; i++) {
            for (int k = 0; k < i; k++) g[i + count * j] -= conj(g[k + count * i]) * g[k + count * j];
            g[i + count * j] /= creal(g[i + count * i]);
            rest -=
                creal(g[i + count * j]) * creal(g[i + count * j]) + cimag(g[i + count * j]) * cimag(g[i + count * j]);
        }
        if (!(rest > 0))
            return LMR_FAIL(LARMOR_ERR_NUMERIC, "off-resonance: %d segments cannot be told apart; ask for fewer",
                            count);
        g[j + count * j] = sqrt(rest);
    }
    return LARMOR_OK;
}

/* b <- R^-1 R^-H b */
static void solve(int count, const number *r, number *b)
{
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < i; k++) b[i] -= conj(r[k + count * i]) * b[k];
        b[i] /= creal(r[i + count * i]);
    }
    for (int i = count - 1; i >= 0; i--) {
        for (int k = i + 1; k < count; k++) b[i] -= r[i + count * k] * b[k];
        b[i] /= creal(r[i + count * i]);
    }
}

/* b [count] of one time, and the largest error over all frequencies; wave [nodes, count]: the segments'
 * exponentials; exact [nodes] is work. */
static double interpolate(const fit *p, int count, const number *r, const number *wave, double t, number *exact,
                          number *b)
{
    for (int64_t n = 0; n < p->nodes; n++) exact[n] = unit_phase(p->f[n] * t);
    for (int l = 0; l < count; l++) {
        const number *w = wave + p->nodes * l;
        b[l] = 0;
        for (int64_t n = 0; n < p->nodes; n++) b[l] += conj(w[n]) * exact[n];
    }
    solve(count, r, b);
    for (int l = 0; l < count; l++)
        for (int64_t n = 0; n < p->nodes; n++) exact[n] -= b[l] * wave[n + p->nodes * l];
    double most = 0;
    for (int64_t n = 0; n < p->nodes; n++) most = fmax(most, cabs(exact[n]));
    return most;
}

enum { PIECES = 64 };

typedef struct trial {
    const fit *p;
    int count;
    int64_t step;
    const number *r, *wave;
    number *own;  /* [nodes + count, PIECES] */
    double *most; /* [PIECES] */
    number *b;
} trial;

/* A stretch of the times that try_segments tries. */
static void try_piece(void *self, int64_t k)
{
    const trial *t = self;
    const fit *p = t->p;
    const int64_t tries = (p->times + 2 * t->step - 2) / t->step;
    number *own = t->own + k * (p->nodes + t->count);
    t->most[k] = 0;
    for (int64_t at = tries * k / PIECES; at < tries * (k + 1) / PIECES; at++) {
        const int64_t j = at * t->step < p->times ? at * t->step : p->times - 1;
        t->most[k] = fmax(t->most[k], interpolate(p, t->count, t->r, t->wave, p->t[j], own + t->count, own));
        for (int l = 0; t->b && l < t->count; l++) t->b[j + p->times * l] = own[l];
    }
}

/* The largest error of `count` segments at every step-th time and the last, and their interpolators in b
 * [times, count] if that is not NULL. */
static larmor_status try_segments(const fit *p, int count, int64_t step, number *b, double *error)
{
    number *r = calloc((size_t)count * (size_t)count, sizeof *r);
    number *wave = malloc((size_t)(p->nodes * count) * sizeof *wave);
    number *own = malloc((size_t)(PIECES * (p->nodes + count)) * sizeof *own);
    double most[PIECES];
    larmor_status st = !r || !wave || !own ? LMR_NO_MEMORY() : factor(p, count, r);
    if (st) goto done;
    for (int64_t at = 0; at < p->nodes * count; at++)
        wave[at] = unit_phase(p->f[at % p->nodes] * segment_time(p, count, (int)(at / p->nodes)));
    LMR_OR(done, lmr_parallel(p->threads, PIECES, try_piece, &(trial){p, count, step, r, wave, own, most, b}));
    *error = 0;
    for (int k = 0; k < PIECES; k++) *error = fmax(*error, 1.01 * most[k]); /* between the nodes it may be larger */
done:
    free(own);
    free(wave);
    free(r);
    return st;
}

enum { MOST_SEGMENTS = 512, FEW_TIMES = 256 };

static larmor_status too_large(int segments, double error, double bound)
{
    return LMR_FAIL(
        LARMOR_ERR_NUMERIC,
        "off-resonance: %d segments have an error of %.1e, expected at most %.1e; allow a larger error or "
        "narrow the range of frequencies",
        segments, error, bound);
}

/* The least number of segments whose error is within the bound at some of the times. */
static larmor_status choose_segments(const fit *p, double bound, int *segments)
{
    const int64_t step = p->times > FEW_TIMES ? p->times / FEW_TIMES : 1;
    int low = 0, high = 1; /* low is too few */
    double error, before = INFINITY;
    for (;; low = high, high *= 2, before = error) {
        LMR_TRY(try_segments(p, high, step, NULL, &error));
        if (error <= bound) break;
        const int at_rounding = error < 1e-5 && error > 0.5 * before;
        if (high == MOST_SEGMENTS || at_rounding) return too_large(high, error, bound);
    }
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        LMR_TRY(try_segments(p, middle, step, NULL, &error));
        if (error <= bound)
            high = middle;
        else
            low = middle;
    }
    *segments = high;
    return LARMOR_OK;
}

/* ---- the operator ---- */

typedef struct off_resonance {
    larmor_op *F;
    const lmr_series_kernels *kernels;
    int segments;
    double error, *tau; /* [segments] s */
    int64_t voxels, samples, times;
    larmor_array *field; /* [voxels] Hz, f64, from the middle of its range */
    larmor_array *place; /* int64 [samples]: which of the distinct times */
    larmor_array *b;     /* [times, segments] */
    larmor_array *image, *values;
} off_resonance;

static void destroy(void *self)
{
    off_resonance *s = self;
    larmor_op_free(s->F);
    larmor_array_free(s->field);
    larmor_array_free(s->place);
    larmor_array_free(s->b);
    larmor_array_free(s->image);
    larmor_array_free(s->values);
    free(s->tau);
    free(s);
}

/* y <- exp(2 pi i field tau) x, or y + that */
static larmor_status evolve(const off_resonance *s, double tau, int add, const larmor_array *x, larmor_array *y)
{
    return s->kernels->evolve(x->dev->ctx, s->voxels, larmor_array_count(x) / s->voxels, tau, s->field->data, add,
                              x->data, y->data);
}

/* y <- b_l x or its adjoint, or y + that */
static larmor_status weigh(const off_resonance *s, int l, int conj, int add, const larmor_array *x, larmor_array *y)
{
    const char *b = (const char *)s->b->data + (size_t)(s->times * l) * larmor_dtype_size(s->b->dtype);
    return s->kernels->weigh(x->dev->ctx, s->samples, larmor_array_count(x) / s->samples, s->place->data, b, conj,
                             add, x->data, y->data);
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    off_resonance *s = self;
    for (int l = 0; l < s->segments; l++) {
        LMR_TRY(evolve(s, s->tau[l], 0, x, s->image));
        LMR_TRY(larmor_op_forward(s->F, s->image, s->values));
        LMR_TRY(weigh(s, l, 0, l > 0, s->values, y));
    }
    return LARMOR_OK;
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    off_resonance *s = self;
    for (int l = 0; l < s->segments; l++) {
        LMR_TRY(weigh(s, l, 1, 0, y, s->values));
        LMR_TRY(larmor_op_adjoint(s->F, s->values, s->image));
        LMR_TRY(evolve(s, -s->tau[l], l > 0, s->image, x));
    }
    return LARMOR_OK;
}

static const larmor_op_impl impl = {"off-resonance", forward, adjoint, NULL, destroy};

/* ---- making it ---- */

typedef struct range {
    double low, high;
} range;

static range range_of(int64_t n, const double *x)
{
    range r = {n ? x[0] : 0, n ? x[0] : 0};
    for (int64_t i = 0; i < n; i++) {
        r.low = fmin(r.low, x[i]);
        r.high = fmax(r.high, x[i]);
    }
    return r;
}

/* A real array's values on the host, n of them. */
static larmor_status download(const char *what, const larmor_array *x, double **out)
{
    larmor_array *in_double;
    *out = NULL;
    LMR_TRY(lmr_input_real("off-resonance", what, x, &in_double));
    const larmor_status st = larmor_array_download(in_double, LARMOR_F64, out);
    larmor_array_free(in_double);
    return st;
}

static int compare(const void *a_, const void *b_)
{
    const double a = *(const double *)a_, b = *(const double *)b_;
    return a < b ? -1 : a > b;
}

/* Which of the sorted, distinct times t is. */
static int64_t find(const fit *p, double t)
{
    int64_t low = 0, high = p->times - 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (p->t[middle] < t)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The distinct times of n, and where each sample's is; times and reach end up relative to *middle. */
static larmor_status find_times(int64_t n, const double *time, fit *p, int64_t *place, double *middle)
{
    p->t = malloc((size_t)(n + 1) * sizeof *p->t);
    if (!p->t) return LMR_NO_MEMORY();
    memcpy(p->t, time, (size_t)n * sizeof *p->t);
    qsort(p->t, (size_t)n, sizeof *p->t, compare);
    for (int64_t i = 0; i < n; i++)
        if (!p->times || p->t[i] != p->t[p->times - 1]) p->t[p->times++] = p->t[i];
    for (int64_t i = 0; i < n; i++) place[i] = find(p, time[i]);
    *middle = n ? 0.5 * (p->t[0] + p->t[p->times - 1]) : 0;
    p->reach = n ? 0.5 * (p->t[p->times - 1] - p->t[0]) : 0;
    for (int64_t i = 0; i < p->times; i++) p->t[i] -= *middle;
    return LARMOR_OK;
}

/* Nodes no farther apart than a tenth of a radian at the farthest time, where the map has frequencies; f is relative
 * to *middle. */
static larmor_status find_nodes(int64_t n, const double *field, fit *p, double *middle)
{
    const range r = range_of(n, field);
    const double width = r.high - r.low, needed = ceil(2 * M_PI * width * p->reach / 0.1);
    if (!(needed < 1e7))
        return LMR_FAIL(LARMOR_ERR_NUMERIC,
                        "off-resonance: frequencies of %g .. %g Hz over %g s are too many cycles; "
                        "frequencies are in Hz and times in s",
                        r.low, r.high, 2 * p->reach);
    const int64_t cells = width > 0 ? (int64_t)fmax(needed, 64) : 1;
    char *occupied = calloc((size_t)cells + 2, 1);
    p->room = cells + 1;
    p->f = malloc((size_t)p->room * sizeof *p->f);
    if (!occupied || !p->f) {
        free(occupied);
        return LMR_NO_MEMORY();
    }
    *middle = r.low + 0.5 * width;
    for (int64_t i = 0; i < n; i++) {
        const int64_t cell = width > 0 ? (int64_t)((field[i] - r.low) / width * (double)cells) : 0;
        occupied[(cell < cells ? cell : cells - 1) + 1] = 1;
    }
    for (int64_t i = 0; i <= cells; i++) /* node i is between cells i - 1 and i */
        if (occupied[i] || occupied[i + 1]) p->f[p->nodes++] = width * ((double)i / (double)cells - 0.5);
    free(occupied);
    return LARMOR_OK;
}

/* The interpolators b, complex double [times, segments]. */
static larmor_status make_interpolators(const fit *p, const larmor_off_resonance_opts *o, off_resonance *s,
                                        number **b)
{
    const double bound = o->error > 0 ? o->error : 1e-3;
    s->segments = o->segments;
    if (!s->segments) LMR_TRY(choose_segments(p, bound, &s->segments));
    for (;; s->segments++) {
        *b = malloc((size_t)(p->times * s->segments + 1) * sizeof **b);
        if (!*b) return LMR_NO_MEMORY();
        LMR_TRY(try_segments(p, s->segments, 1, *b, &s->error));
        if (o->segments || s->error <= bound) return LARMOR_OK;
        if (s->segments >= MOST_SEGMENTS) return too_large(s->segments, s->error, bound);
        free(*b);
        *b = NULL;
    }
}

/* Everything that lies on the device; the middle of the frequencies goes into b, that of the times into tau. */
static larmor_status upload_all(off_resonance *s, const fit *p, double f0, double t0, const int64_t *place, number *b,
                                double *field)
{
    larmor_device *dev = larmor_op_device(s->F);
    const larmor_dtype dtype = larmor_op_dtype(s->F);
    const int64_t count = p->times * s->segments;
    s->times = p->times;
    s->tau = malloc((size_t)s->segments * sizeof *s->tau);
    larmor_status st = s->tau ? LARMOR_OK : LMR_NO_MEMORY();
    for (int l = 0; !st && l < s->segments; l++) s->tau[l] = t0 + segment_time(p, s->segments, l);
    for (int64_t i = 0; !st && i < s->voxels; i++) field[i] -= f0;
    for (int64_t i = 0; !st && i < count; i++) {
        const double cycles = f0 * (p->t[i % p->times] + t0);
        b[i] *= unit_phase(cycles - rint(cycles));
    }
    const larmor_shape voxels = LARMOR_SHAPE(s->voxels), samples = LARMOR_SHAPE(s->samples);
    if (!st) st = larmor_array_upload(dev, LARMOR_F64, voxels, LARMOR_F64, field, &s->field);
    if (!st) st = larmor_array_upload(dev, LARMOR_I64, samples, LARMOR_I64, place, &s->place);
    if (!st) st = larmor_array_upload(dev, dtype, LARMOR_SHAPE(p->times, s->segments), LARMOR_C128, b, &s->b);
    if (!st) st = larmor_array_create(dev, dtype, larmor_op_in_shape(s->F), &s->image);
    if (!st) st = larmor_array_create(dev, dtype, larmor_op_out_shape(s->F), &s->values);
    return st;
}

/* What is found on the host before anything lies on the device. */
typedef struct search {
    fit p;
    double *f, *t, f0, t0; /* the map, the times, and the middles of their ranges */
    int64_t *place;
    number *b;
} search;

static void free_search(search *q)
{
    free(q->b);
    free(q->t);
    free(q->f);
    free(q->place);
    free(q->p.t);
    free(q->p.f);
}

/* The number of segments and their interpolators; free q in any case. */
static larmor_status run_search(off_resonance *s, const larmor_array *field, const larmor_array *times,
                                const larmor_off_resonance_opts *o, search *q)
{
    *q = (search){.p.threads = lmr_device_threads(larmor_op_device(s->F))};
    q->place = malloc((size_t)(s->samples + 1) * sizeof *q->place);
    if (!q->place) return LMR_NO_MEMORY();
    LMR_TRY(download("field map", field, &q->f));
    LMR_TRY(download("array of times", times, &q->t));
    LMR_TRY(find_times(s->samples, q->t, &q->p, q->place, &q->t0));
    LMR_TRY(find_nodes(s->voxels, q->f, &q->p, &q->f0));
    return make_interpolators(&q->p, o, s, &q->b);
}

static larmor_status build(off_resonance *s, const larmor_array *field, const larmor_array *times,
                           const larmor_off_resonance_opts *o)
{
    search q;
    LMR_TRY(lmr_series_kernels_of(larmor_op_device(s->F), larmor_op_dtype(s->F), &s->kernels));
    larmor_status st = run_search(s, field, times, o, &q);
    if (!st) st = upload_all(s, &q.p, q.f0, q.t0, q.place, q.b, q.f);
    free_search(&q);
    return st;
}

/* x on F's device, and its shape the leading dimensions of `whole`. */
static larmor_status expect_leading(const char *what, const larmor_op *F, const larmor_array *x, larmor_shape whole)
{
    if (!x) return LMR_FAIL(LARMOR_ERR_ARG, "off-resonance: no %s given", what);
    larmor_shape leading = whole;
    if (x->shape.ndim < leading.ndim) leading.ndim = x->shape.ndim;
    if (x->dev == larmor_op_device(F) && x->shape.ndim > 0 && larmor_shape_equal(x->shape, leading)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "off-resonance: %s is %s, expected the leading dimensions of %s", what,
                    lmr_describe(x).s, lmr_describe_as(larmor_op_device(F), larmor_op_dtype(F), whole).s);
}

static larmor_status check(const larmor_op *F, const larmor_array *field, const larmor_array *times,
                           const larmor_off_resonance_opts *o)
{
    if (!F) return LMR_FAIL(LARMOR_ERR_ARG, "off-resonance: no operator given");
    const larmor_shape in = larmor_op_in_shape(F), out = larmor_op_out_shape(F);
    LMR_TRY(expect_leading("field map", F, field, in));
    LMR_TRY(expect_leading("array of times", F, times, out));
    if (larmor_shape_count(in) < 1 || larmor_shape_count(out) < 1)
        return LMR_FAIL(
            LARMOR_ERR_SHAPE, "off-resonance: %s is empty",
            lmr_describe_as(larmor_op_device(F), larmor_op_dtype(F), larmor_shape_count(in) < 1 ? in : out).s);
    if (o->segments < 0 || o->segments > MOST_SEGMENTS || !(o->error >= 0))
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "off-resonance: got %d segments and an error of %g, expected 0 .. %d and at "
                        "least 0",
                        o->segments, o->error, MOST_SEGMENTS);
    return LARMOR_OK;
}

larmor_status larmor_op_off_resonance(larmor_op *F, const larmor_array *field, const larmor_array *times,
                                      const larmor_off_resonance_opts *opts, larmor_op **A)
{
    if (!A) return LMR_FAIL(LARMOR_ERR_ARG, "larmor_op_off_resonance: A is NULL");
    *A = NULL;
    const larmor_off_resonance_opts o = opts ? *opts : (larmor_off_resonance_opts){0};
    LMR_TRY(check(F, field, times, &o));
    off_resonance *s = calloc(1, sizeof *s);
    if (!s) return LMR_NO_MEMORY();
    s->F = larmor_op_ref(F);
    s->voxels = larmor_array_count(field);
    s->samples = larmor_array_count(times);
    larmor_status st;
    LMR_OR(fail, build(s, field, times, &o));
    LMR_OR(fail, larmor_op_create(larmor_op_device(F), &impl, s, larmor_op_dtype(F), larmor_op_in_shape(F),
                                  larmor_op_out_shape(F), A));
    return LARMOR_OK;
fail:
    destroy(s);
    return st;
}

larmor_status larmor_op_off_resonance_info(const larmor_op *A, int *segments, double *error)
{
    const off_resonance *s = lmr_op_self(A, forward);
    if (!s)
        return LMR_FAIL(LARMOR_ERR_ARG, "off-resonance: got operator %s, expected one of larmor_op_off_resonance",
                        A ? larmor_op_name(A) : "NULL");
    if (segments) *segments = s->segments;
    if (error) *error = s->error;
    return LARMOR_OK;
}

/* ---- memory ---- */

/* What run_search takes of a processor, whose memory is the host's: *found stays until all is uploaded. */
static double host_bytes(const off_resonance *s, const fit *p, double *found)
{
    const double count = s->segments, times = (double)p->times, nodes = (double)p->nodes;
    *found = 8 * ((double)s->voxels + (double)p->room + 3 * (double)s->samples) + 16 * times * count;
    const double most = 2 * count; /* segments that are tried while their number is searched */
    const double tried = 16 * (most * most + most * nodes + PIECES * (nodes + most)) + (double)p->room;
    return *found + tried;
}

static double all_bytes(const off_resonance *s, const fit *p)
{
    const larmor_dtype dtype = larmor_op_dtype(s->F);
    const double wide = 8 * ((double)s->voxels + (double)s->samples); /* maps and times in double */
    const double b = (double)p->times * s->segments;
    const double image = lmr_bytes_of(dtype, larmor_op_in_shape(s->F));
    const double values = lmr_bytes_of(dtype, larmor_op_out_shape(s->F));
    double found = 0, host = 0;
    if (p->threads) host = host_bytes(s, p, &found);
    return fmax(host + wide, found + wide + (16 + (double)larmor_dtype_size(dtype)) * b + image + values);
}

larmor_status larmor_off_resonance_memory(const larmor_op *F, const larmor_array *field, const larmor_array *times,
                                          const larmor_off_resonance_opts *opts, int64_t *bytes)
{
    const larmor_off_resonance_opts o = opts ? *opts : (larmor_off_resonance_opts){0};
    search q;
    LMR_NEED(bytes);
    *bytes = 0;
    LMR_TRY(check(F, field, times, &o));
    off_resonance s = {.F = (larmor_op *)(uintptr_t)F, /* which is only asked what it is */
                       .voxels = larmor_array_count(field),
                       .samples = larmor_array_count(times)};
    larmor_status st = run_search(&s, field, times, &o, &q);
    if (!st) st = lmr_bytes_store(all_bytes(&s, &q.p), bytes);
    free_search(&q);
    return st;
}
