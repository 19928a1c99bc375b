/* The discrete Fourier transform along any axes. A device transforms leading dimensions; others are moved there and
 * back. With the origin at c = floor(n/2), exp(-2 pi i (i-c)(k-c)/n) is the plain kernel times q(i) q(k),
 * q(i) = exp(2 pi i (c i - c^2/2)/n): multiplications before and after, for odd n as well.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/ops/ops.h"
#include "recon/sparse.h"

/* Up to three neighbouring axes of an array [before, dim..., after]. */
typedef struct stage {
    int ndim;
    int64_t before, dim[3], count, after; /* count: of dim */
    larmor_array *phases;                 /* NULL unless centred */
    void *plan;
} stage;

typedef struct fourier {
    larmor_device *dev;
    larmor_dtype dtype;
    larmor_shape shape;
    const lmr_sparse_kernels *kernels;
    const lmr_fft *fft;
    stage stage[LARMOR_MAX_DIMS];
    int stages;
    double scale, mixed; /* mixed: how many numbers a transform mixes */
    uintptr_t alignment; /* what the device's FFT wants; a view need not have it */
    larmor_array *work;  /* made at its first use if only views need it */
} fourier;

static void destroy(void *self)
{
    fourier *f = self;
    for (int s = 0; s < f->stages; s++) {
        larmor_array_free(f->stage[s].phases);
        f->fft->destroy(f->dev->ctx, f->stage[s].plan);
    }
    LMR_FREE(f->work, f);
}

/* ---- application ---- */

/* data <- the transform of from along the leading axes; from may be data; scale only for a centred one. */
static larmor_status transform(const fourier *f, const stage *s, int sign, double scale, const void *from, void *data)
{
    void *ctx = f->dev->ctx;
    const int64_t batch = s->before * s->after;
    const int64_t bytes = batch * s->count * (int64_t)larmor_dtype_size(f->dtype);
    if (s->phases)
        LMR_TRY(f->kernels->modulate(ctx, s->dim, batch, s->phases->data, sign > 0, 1, from, data));
    else if (from != data)
        LMR_TRY(f->dev->be->copy(ctx, LMR_ON_DEVICE, data, from, (size_t)bytes));
    LMR_TRY(f->fft->exec(ctx, s->plan, sign, data));
    if (!s->phases) return LARMOR_OK;
    return f->kernels->modulate(ctx, s->dim, batch, s->phases->data, sign > 0, scale, data, data);
}

static larmor_status in_work(fourier *f, const stage *s, int sign, double scale, const void *from, void *to)
{
    void *ctx = f->dev->ctx;
    if (!f->work) LMR_TRY(larmor_array_create(f->dev, f->dtype, f->shape, &f->work));
    if (s->before == 1) {
        LMR_TRY(transform(f, s, sign, scale, from, f->work->data));
        return f->dev->be->copy(ctx, LMR_ON_DEVICE, to, f->work->data, larmor_array_bytes(f->work));
    }
    const int64_t there[] = {s->before, s->count, s->after}, back[] = {s->count, s->before, s->after};
    LMR_TRY(f->kernels->transpose(ctx, there, from, f->work->data));
    LMR_TRY(transform(f, s, sign, scale, f->work->data, f->work->data));
    return f->kernels->transpose(ctx, back, f->work->data, to);
}

static larmor_status apply(fourier *f, int sign, const larmor_array *x, larmor_array *y)
{
    const int64_t count = larmor_array_count(x);
    const int aligned = (uintptr_t)y->data % f->alignment == 0;
    if (!count) return LARMOR_OK;
    if (!f->stages) return larmor_copy(x, y);
    const void *from = x->data;
    double left = f->scale; /* to be multiplied with */
    for (int i = 0; i < f->stages; i++) {
        const stage *s = &f->stage[i];
        LMR_TRY((s->before == 1 && aligned ? transform(f, s, sign, left, from, y->data)
                                           : in_work(f, s, sign, left, from, y->data)));
        if (s->phases) left = 1;
        from = y->data;
    }
    return left == 1 ? LARMOR_OK : larmor_axpby(left, y, 0, y);
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    return apply(self, -1, x, y);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    return apply(self, 1, y, x);
}

static larmor_status normal(void *self, const larmor_array *x, larmor_array *z)
{
    const fourier *f = self;
    return larmor_axpby(f->scale * f->scale * f->mixed, x, 0, z);
}

static const larmor_op_impl impl = {"fft", forward, adjoint, normal, destroy};

/* ---- creation ---- */

/* q(0 .. n-1); the phase is a whole number of 2n-ths of a cycle, kept below one cycle. */
static larmor_status write_phases(int64_t n, double _Complex *q)
{
    const int64_t c = n / 2, whole = 2 * n;
    int64_t square;
    LMR_REFUSE(!lmr_mul(c, c, &square), LARMOR_ERR_SHAPE, "fft: %lld numbers are too many", (long long)n);
    int64_t phase = (whole - square % whole) % whole;
    for (int64_t i = 0; i < n; i++) {
        const double angle = 3.14159265358979323846 * (double)phase / (double)n;
        q[i] = cos(angle) + I * sin(angle);
        phase = (phase + 2 * c) % whole;
    }
    return LARMOR_OK;
}

static larmor_status make_phases(const fourier *f, stage *s)
{
    const int64_t total = s->dim[0] + s->dim[1] + s->dim[2];
    LMR_HEAP double _Complex *q = lmr_new(total, sizeof *q);
    double _Complex *at = q;
    if (!q) return LMR_NO_MEMORY();
    for (int d = 0; d < 3; at += s->dim[d], d++) LMR_TRY(write_phases(s->dim[d], at));
    return larmor_array_upload(f->dev, f->dtype, LARMOR_SHAPE(total), LARMOR_C128, q, &s->phases);
}

/* Neighbouring axes make one stage, three at most. Dimensions of extent 1 between them do not matter. */
static void find_stages(fourier *f, unsigned axes)
{
    int64_t before = 1;
    int open = 0; /* the last stage can take one more */
    for (int d = 0; d < f->shape.ndim; d++) {
        const int64_t n = f->shape.dim[d];
        if (n == 1) continue;
        if (lmr_has_axis(axes, d)) {
            if (!open) f->stage[f->stages++] = (stage){.before = before, .dim = {1, 1, 1}, .count = 1};
            stage *s = &f->stage[f->stages - 1];
            s->dim[s->ndim++] = n;
            s->count *= n;
            f->mixed *= (double)n;
            open = s->ndim < 3;
        } else {
            open = 0;
        }
        before *= n;
    }
    for (int i = 0; i < f->stages; i++) f->stage[i].after = before / f->stage[i].before / f->stage[i].count;
}

larmor_status larmor_op_fft(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, unsigned axes,
                            const larmor_fft_opts *opts, larmor_op **F)
{
    LMR_NEED_OUT(F);
    LMR_TRY(lmr_check_axes("fft", dev, dtype, shape, axes));
    LMR_MAKE(fourier, f, destroy);
    f->dev = dev;
    f->dtype = dtype;
    f->shape = shape;
    f->scale = f->mixed = 1;
    f->fft = dev->be->fft[lmr_precision(dtype)];
    f->alignment = dev->be->threads(dev->ctx) ? 16 : 1; /* FFTW's */
    if (larmor_shape_count(shape)) find_stages(f, axes);
    if (opts && opts->unitary) f->scale = 1 / sqrt(f->mixed);
    LMR_TRY(lmr_sparse_kernels_of(dev, dtype, &f->kernels));
    for (int i = 0; i < f->stages; i++) {
        stage *s = &f->stage[i];
        LMR_TRY(f->fft->plan(dev->ctx, s->ndim, s->dim, s->before * s->after, &s->plan));
        if (opts && opts->centred) LMR_TRY(make_phases(f, s));
        if (s->before > 1 && !f->work) LMR_TRY(larmor_array_create(dev, dtype, shape, &f->work));
    }
    return lmr_hand_on(&f_made, larmor_op_create(dev, &impl, f, dtype, shape, shape, F));
}
