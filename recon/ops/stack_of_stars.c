/* The NUFFT of a stack of planes: an FFT along z and, of each set of angles, one NUFFT in the plane for all
 * partitions that have it. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "nufft/options.h"
#include "recon/bytes.h"
#include "recon/inputs.h"
#include "recon/low_rank.h"
#include "recon/measure.h"
#include "recon/ops/ops.h"

/* ---- what a trajectory is made of ---- */

typedef struct readout {
    const double *k; /* [3, samples] */
    int64_t samples, partition, number;
} readout;

typedef struct layers {
    double *k;     /* [3, samples, readouts] */
    readout *list; /* by partition, then by place in the plane */
    int64_t readouts;
    int64_t *first; /* partition p has list[first[p]] .. list[first[p + 1] - 1] */
    int64_t *set;   /* of angles of partition p, -1 without readouts */
    int64_t nz, sets;
} layers;

LMR_FREES(free_layers, layers, k, list, first, set)

/* -1, 0, 1 in the order of the samples' kx and ky. */
static int compare_in_plane(const readout *a, const readout *b)
{
    for (int64_t i = 0; i < a->samples; i++)
        for (int d = 0; d < 2; d++) {
            const double p = a->k[3 * i + d], q = b->k[3 * i + d];
            if (p != q) return p < q ? -1 : 1;
        }
    return 0;
}

static int compare(const void *a_, const void *b_)
{
    const readout *a = a_, *b = b_;
    if (a->partition != b->partition) return a->partition < b->partition ? -1 : 1;
    const int order = compare_in_plane(a, b);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static const double integer_tolerance = 1e-5; /* of a cycle: the rounding of an integer by files and units */

/* Returns 0 and finds kz modulo nz if the readout is at one integer kz; else 1 and the first sample that is not. */
static int find_partition(readout *r, int64_t nz, int64_t *sample)
{
    const double kz = rint(r->samples ? r->k[2] : 0);
    for (int64_t i = 0; i < r->samples; i++)
        if (!(fabs(r->k[3 * i + 2] - kz) <= integer_tolerance)) {
            *sample = i;
            return 1;
        }
    const double rest = fmod(kz, (double)nz);
    r->partition = (int64_t)(rest < 0 ? rest + (double)nz : rest);
    return 0;
}

static int same_set(const layers *a, int64_t p, int64_t q)
{
    const int64_t count = a->first[p + 1] - a->first[p];
    if (count != a->first[q + 1] - a->first[q]) return 0;
    for (int64_t i = 0; i < count; i++)
        if (compare_in_plane(&a->list[a->first[p] + i], &a->list[a->first[q] + i])) return 0;
    return 1;
}

/* Sorts the readouts into partitions and finds which have the same set of angles. */
static void find_sets(layers *a)
{
    qsort(a->list, (size_t)a->readouts, sizeof *a->list, compare);
    for (int64_t i = 0, p = 0; p <= a->nz; p++) {
        while (i < a->readouts && a->list[i].partition < p) i++;
        a->first[p] = i;
    }
    for (int64_t p = 0; p < a->nz; p++) {
        a->set[p] = -1;
        if (a->first[p] == a->first[p + 1]) continue;
        for (int64_t q = 0; q < p && a->set[p] < 0; q++)
            if (a->set[q] >= 0 && same_set(a, p, q)) a->set[p] = a->set[q];
        if (a->set[p] < 0) a->set[p] = a->sets++;
    }
}

/* Reads traj [3, samples, readouts]. *wrong: the first readout that is not at one integer kz, at that sample; or -1,
 * and then all of `a` is filled. Free `a` in any case. */
static larmor_status find_layers(const larmor_array *traj, int64_t nz, layers *a, int64_t *wrong, int64_t *sample)
{
    const int64_t samples = traj->shape.dim[1], readouts = traj->shape.dim[2];
    *a = (layers){.nz = nz, .readouts = readouts};
    *wrong = -1;
    LMR_OWN(larmor_array, in_double, lmr_input_real("stack of stars", "trajectory", traj, &in_double));
    LMR_TRY(larmor_array_download(in_double, LARMOR_F64, &a->k));
    LMR_ALLOCATE(a->list, readouts);
    LMR_ALLOCATE(a->first, nz + 1);
    LMR_ALLOCATE(a->set, nz);
    for (int64_t r = 0; r < readouts; r++) {
        a->list[r] = (readout){a->k + 3 * samples * r, samples, 0, r};
        if (find_partition(&a->list[r], nz, sample)) {
            *wrong = r;
            return LARMOR_OK;
        }
    }
    find_sets(a);
    return LARMOR_OK;
}

static int is_three_dimensional(const larmor_array *traj)
{
    return traj && traj->shape.ndim == 3 && traj->shape.dim[0] == 3;
}

larmor_status larmor_traj_is_stack(const larmor_array *traj, int64_t nz, int *is_stack, int64_t *sets)
{
    LMR_REFUSE(!is_stack, LARMOR_ERR_ARG, "larmor_traj_is_stack: is_stack is NULL");
    *is_stack = 0;
    if (sets) *sets = 0;
    LMR_REFUSE(nz < 1, LARMOR_ERR_ARG, "stack of stars: got %lld partitions, expected at least 1", (long long)nz);
    LMR_REFUSE(!traj, LARMOR_ERR_ARG, "stack of stars: no trajectory given");
    if (!is_three_dimensional(traj)) return LARMOR_OK;
    LMR_FREED_BY(free_layers) layers a = {0};
    int64_t wrong, sample;
    LMR_TRY(find_layers(traj, nz, &a, &wrong, &sample));
    if (wrong < 0) {
        *is_stack = 1;
        if (sets) *sets = a.sets;
    }
    return LARMOR_OK;
}

/* ---- the operator ---- */

typedef struct sheet { /* the partitions of one set of angles */
    int64_t partitions, readouts;
    larmor_op *F;         /* [nx, ny, partitions] to [samples, readouts, partitions] */
    larmor_array *plane;  /* int64 [partitions]: after the FFT along z */
    larmor_array *factor; /* [partitions]: what makes the FFT a centred one */
    larmor_array *column; /* int64 [readouts, partitions]: in the trajectory */
} sheet;

typedef struct stack {
    larmor_device *dev;
    larmor_dtype dtype;
    const lmr_series_kernels *kernels;
    const lmr_fft *fft;
    void *fft_plan;
    int sign;
    int64_t voxels, nz, batch, samples, readouts; /* voxels: of a plane */
    int64_t sheets;
    sheet *sheet;
    larmor_array *spectrum;        /* [nz, voxels] of one image of the batch at a time: partitions are enough to do */
    larmor_array *images, *values; /* room for the largest sheet */
} stack;

static void destroy(void *self)
{
    stack *s = self;
    for (int64_t i = 0; s->sheet && i < s->sheets; i++)
        LMR_FREE(s->sheet[i].F, s->sheet[i].plane, s->sheet[i].factor, s->sheet[i].column);
    LMR_FREE(s->spectrum, s->images, s->values);
    s->fft->destroy(s->dev->ctx, s->fft_plan);
    LMR_FREE(s->dev, s->sheet, s);
}

static larmor_status sheet_forward(stack *s, const sheet *h, const larmor_array *images, larmor_array *values,
                                   void *y)
{
    void *ctx = s->dev->ctx;
    LMR_TRY(s->kernels->planes(ctx, s->nz, s->voxels, h->partitions, 1, h->plane->data, h->factor->data,
                               s->spectrum->data, images->data));
    LMR_TRY(larmor_op_forward(h->F, images, values));
    return s->kernels->scatter_columns(ctx, s->samples, h->readouts * h->partitions, s->readouts, 1, h->column->data,
                                       values->data, y);
}

static larmor_status sheet_adjoint(stack *s, const sheet *h, larmor_array *images, larmor_array *values,
                                   const void *y)
{
    void *ctx = s->dev->ctx;
    LMR_TRY(s->kernels->gather_columns(ctx, s->samples, h->readouts * h->partitions, s->readouts, 1, h->column->data,
                                       y, values->data));
    LMR_TRY(larmor_op_adjoint(h->F, values, images));
    return s->kernels->lines(ctx, s->nz, s->voxels, h->partitions, 1, h->plane->data, h->factor->data, images->data,
                             s->spectrum->data);
}

/* Every sheet from the spectrum to its samples in `to`, or from its samples in `from` to the spectrum. */
static larmor_status each_sheet(stack *s, const void *from, void *to)
{
    for (int64_t i = 0; i < s->sheets; i++) {
        LMR_TRY(lmr_go_on());
        const sheet *h = &s->sheet[i];
        const larmor_shape in = larmor_op_in_shape(h->F), out = larmor_op_out_shape(h->F);
        LMR_OWN(larmor_array, images, larmor_array_part(s->images, 0, larmor_shape_count(in), in, &images));
        LMR_OWN(larmor_array, values, larmor_array_part(s->values, 0, larmor_shape_count(out), out, &values));
        LMR_TRY(to ? sheet_forward(s, h, images, values, to) : sheet_adjoint(s, h, images, values, from));
    }
    return LARMOR_OK;
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    stack *s = self;
    const size_t size = larmor_dtype_size(s->dtype);
    for (int64_t i = 0; i < s->batch; i++) {
        const void *image = (const char *)x->data + (size_t)(i * s->voxels * s->nz) * size;
        LMR_TRY(s->kernels->lines(s->dev->ctx, s->nz, s->voxels, s->nz, 1, NULL, NULL, image, s->spectrum->data));
        LMR_TRY(s->fft->exec(s->dev->ctx, s->fft_plan, s->sign, s->spectrum->data));
        LMR_TRY(each_sheet(s, NULL, (char *)y->data + (size_t)(i * s->samples * s->readouts) * size));
    }
    return LARMOR_OK;
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    stack *s = self;
    const size_t size = larmor_dtype_size(s->dtype);
    for (int64_t i = 0; i < s->batch; i++) {
        void *image = (char *)x->data + (size_t)(i * s->voxels * s->nz) * size;
        LMR_TRY(larmor_zero(s->spectrum)); /* partitions without readouts */
        LMR_TRY(each_sheet(s, (const char *)y->data + (size_t)(i * s->samples * s->readouts) * size, NULL));
        LMR_TRY(s->fft->exec(s->dev->ctx, s->fft_plan, -s->sign, s->spectrum->data));
        LMR_TRY(s->kernels->planes(s->dev->ctx, s->nz, s->voxels, s->nz, 1, NULL, NULL, s->spectrum->data, image));
    }
    return LARMOR_OK;
}

static const larmor_op_impl impl = {"stack of stars", forward, adjoint, NULL, destroy};

/* ---- making it ---- */

/* exp(-sign 2 pi i q c / nz) for plane q of the FFT, whose voxel 0 is at z = -c, c = floor(nz / 2). */
static larmor_status upload_factors(const stack *s, int64_t count, const int64_t *plane, larmor_array **out)
{
    LMR_HEAP LMR_NEW(double _Complex, factor, count);
    for (int64_t p = 0; p < count; p++) {
        const double cycles = fmod((double)plane[p] * (double)(s->nz / 2), (double)s->nz) / (double)s->nz;
        factor[p] = CMPLX(cos(2 * M_PI * cycles), -s->sign * sin(2 * M_PI * cycles));
    }
    return larmor_array_upload(s->dev, s->dtype, LARMOR_SHAPE(count), LARMOR_C128, factor, out);
}

/* The plan in the plane, over the points of partition p. */
static larmor_status make_plan(const stack *s, const larmor_nufft_opts *opts, const layers *a, int64_t p, sheet *h)
{
    larmor_nufft_opts o = *opts;
    o.type = 2;
    o.ndim = 2;
    o.modes[2] = 0;
    o.batch = h->partitions;
    LMR_HEAP LMR_NEW(double, k, 2 * s->samples * h->readouts);
    for (int64_t r = 0; r < h->readouts; r++)
        for (int64_t i = 0; i < s->samples; i++)
            for (int d = 0; d < 2; d++) k[d + 2 * (i + s->samples * r)] = a->list[a->first[p] + r].k[3 * i + d];
    const larmor_shape shape = LARMOR_SHAPE(2, s->samples, h->readouts);
    LMR_OWN(larmor_array, traj, larmor_array_upload(s->dev, LARMOR_F64, shape, LARMOR_F64, k, &traj));
    return lmr_measure_is(s->dev) ? lmr_op_fourier(s->dev, &o, traj, &h->F)
                                  : larmor_op_nufft(s->dev, &o, traj, &h->F);
}

static larmor_status make_sheet(const stack *s, const larmor_nufft_opts *opts, const layers *a, int64_t set, sheet *h)
{
    int64_t one = -1;
    for (int64_t p = 0; p < s->nz; p++)
        if (a->set[p] == set) {
            h->partitions++;
            one = p;
        }
    h->readouts = a->first[one + 1] - a->first[one];
    const int64_t columns = h->readouts * h->partitions;
    LMR_HEAP int64_t *plane = malloc((size_t)h->partitions * sizeof *plane),
                     *column = malloc((size_t)columns * sizeof *column);
    if (!plane || !column) return LMR_NO_MEMORY();
    for (int64_t p = 0, n = 0; p < s->nz; p++) {
        if (a->set[p] != set) continue;
        for (int64_t r = 0; r < h->readouts; r++) column[r + h->readouts * n] = a->list[a->first[p] + r].number;
        plane[n++] = p;
    }
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_I64, LARMOR_SHAPE(h->partitions), LARMOR_I64, plane, &h->plane));
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_I64, LARMOR_SHAPE(columns), LARMOR_I64, column, &h->column));
    LMR_TRY(upload_factors(s, h->partitions, plane, &h->factor));
    return make_plan(s, opts, a, one, h);
}

static larmor_status build(stack *s, const larmor_nufft_opts *opts, const layers *a)
{
    int64_t images = 0, values = 0;
    LMR_TRY(lmr_series_kernels_of(s->dev, s->dtype, &s->kernels));
    LMR_ALLOCATE_ZEROS(s->sheet, a->sets + 1);
    s->sheets = a->sets;
    for (int64_t i = 0; i < s->sheets; i++) {
        LMR_TRY(make_sheet(s, opts, a, i, &s->sheet[i]));
        const int64_t in = s->voxels * s->sheet[i].partitions;
        const int64_t out = s->samples * s->sheet[i].readouts * s->sheet[i].partitions;
        images = in > images ? in : images;
        values = out > values ? out : values;
    }
    LMR_TRY(larmor_array_create(s->dev, s->dtype, LARMOR_SHAPE(s->nz, s->voxels), &s->spectrum));
    LMR_TRY(larmor_array_create(s->dev, s->dtype, LARMOR_SHAPE(images), &s->images));
    LMR_TRY(larmor_array_create(s->dev, s->dtype, LARMOR_SHAPE(values), &s->values));
    return s->fft->plan(s->dev->ctx, 1, (int64_t[3]){s->nz, 1, 1}, s->voxels, &s->fft_plan);
}

/* The caller destroys *out, also after an error, if it is not NULL. */
static larmor_status make_stack(larmor_device *dev, const larmor_nufft_opts *o, const layers *a, int64_t samples,
                                stack **out)
{
    stack *s = *out = calloc(1, sizeof *s);
    if (!s) return LMR_NO_MEMORY();
    *s = (stack){.dev = lmr_device_ref(dev), .dtype = o->dtype, .fft = dev->be->fft[lmr_precision(o->dtype)]};
    s->sign = o->sign;
    s->voxels = o->modes[0] * o->modes[1];
    s->nz = o->modes[2];
    s->batch = o->batch ? o->batch : 1;
    s->samples = samples;
    s->readouts = a->readouts;
    return build(s, o, a);
}

/* Checked and with the defaults that are needed here; the rest is the NUFFT's. */
static larmor_status check(const larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                           larmor_nufft_opts *o)
{
    LMR_REFUSE(!dev || !opts || !traj, LARMOR_ERR_ARG,
               "stack of stars: a device, options and a trajectory are needed");
    LMR_TRY(lmr_nufft_read_options(opts, o));
    o->sign = o->sign ? o->sign : -1;
    o->dtype = lmr_precision(o->dtype) == LMR_F64 ? LARMOR_C128 : LARMOR_C64;
    LMR_REFUSE(o->ndim != 3 || o->modes[0] < 1 || o->modes[1] < 1 || o->modes[2] < 1 || o->batch < 0 ||
                   larmor_shape_count(LARMOR_SHAPE(o->modes[0], o->modes[1], o->modes[2], o->batch)) < 0,
               LARMOR_ERR_ARG,
               "stack of stars: got %d dimensions of %lld x %lld x %lld modes, batch %lld; expected 3", o->ndim,
               (long long)o->modes[0], (long long)o->modes[1], (long long)o->modes[2], (long long)o->batch);
    LMR_REFUSE(o->sign != 1 && o->sign != -1, LARMOR_ERR_ARG, "stack of stars: sign is %d, expected -1 or 1",
               o->sign);
    LMR_REFUSE(!is_three_dimensional(traj), LARMOR_ERR_SHAPE,
               "stack of stars: trajectory is %s, expected [3, samples, readouts]", lmr_describe(traj).s);
    return LARMOR_OK;
}

/* That readout `wrong` is no part of a stack. */
static larmor_status no_stack(const layers *a, int64_t wrong, int64_t sample)
{
    return LMR_FAIL(LARMOR_ERR_ARG,
                    "stack of stars: readout %lld has kz %g at sample %lld, expected one integer at all its samples; "
                    "use larmor_op_nufft",
                    (long long)wrong, a->list[wrong].k[3 * sample + 2], (long long)sample);
}

larmor_status larmor_op_stack_of_stars(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                       larmor_op **A)
{
    LMR_REFUSE(!A, LARMOR_ERR_ARG, "larmor_op_stack_of_stars: A is NULL");
    *A = NULL;
    larmor_nufft_opts o;
    LMR_TRY(check(dev, opts, traj, &o));
    const int64_t samples = traj->shape.dim[1], readouts = traj->shape.dim[2];
    LMR_FREED_BY(free_layers) layers a = {0};
    int64_t wrong, sample;
    larmor_status st = find_layers(traj, o.modes[2], &a, &wrong, &sample);
    if (!st && wrong >= 0) st = no_stack(&a, wrong, sample);
    stack *s = NULL;
    if (!st) st = make_stack(dev, &o, &a, samples, &s);
    larmor_shape in = larmor_shape_of(3, o.modes), out = LARMOR_SHAPE(samples, readouts);
    if (o.batch) {
        in = larmor_shape_append(in, o.batch);
        out = larmor_shape_append(out, o.batch);
    }
    if (!st) st = larmor_op_create(dev, &impl, s, o.dtype, in, out, A);
    if (st && s) destroy(s);
    return st;
}

/* ---- memory ---- */

larmor_status larmor_stack_of_stars_memory(const larmor_device *dev, const larmor_nufft_opts *opts,
                                           const larmor_array *traj, int64_t *bytes)
{
    larmor_nufft_opts o;
    LMR_FREED_BY(free_layers) layers a = {0};
    stack *s;
    int64_t wrong, sample;
    LMR_NEED(bytes);
    *bytes = 0;
    LMR_TRY(check(dev, opts, traj, &o));
    LMR_TRY(find_layers(traj, o.modes[2], &a, &wrong, &sample));
    if (wrong >= 0) LMR_TRY(no_stack(&a, wrong, sample));
    LMR_OWN(larmor_device, counts, lmr_recon_measure(dev, &counts));
    lmr_measure_begin(counts);
    const larmor_status st = make_stack(counts, &o, &a, traj->shape.dim[1], &s);
    if (s) destroy(s);
    /* and on the host: the trajectory, its copy or the points of a set, which are less, and where they belong */
    const double points = (double)traj->shape.dim[1] * (double)a.readouts;
    const double host = 48 * points + (double)(sizeof(readout) + 8) * (double)a.readouts + 40 * (double)(a.nz + 1);
    return st ? st : lmr_bytes_store(lmr_measure_peak(counts) + host, bytes);
}
