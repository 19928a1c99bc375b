/* Orthonormal wavelet transforms of images, level by level and axis by axis (Mallat 1989). The passes go to and fro
 * between two arrays. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/ops/ops.h"
#include "recon/sparse.h"

enum { AXES = 3, MAX_LEVELS = 63 };

/* The low-pass part of the image at one level, and the axes that are split further. */
typedef struct level {
    lmr_box box;
    int axes[AXES], count; /* dimensions of box */
} level;

typedef struct wavelet {
    const lmr_sparse_kernels *kernels;
    larmor_array *work;
    lmr_filter filter;
    int axes;
    int axis[AXES];      /* dimensions of a box, -1 for one of extent 1 */
    int64_t shift[AXES]; /* as asked for */
    int64_t length[AXES];
    int levels;
    level level[MAX_LEVELS];
} wavelet;

LMR_DESTROYS(destroy, wavelet, work)

/* ---- application ---- */

/* The shift along dimension d of level i's box: all of it happens at the first. */
static int64_t shift_at(const wavelet *w, int i, int d)
{
    for (int a = 0; a < w->axes && i == 0; a++)
        if (w->axis[a] == d) return (w->shift[a] % w->length[a] + w->length[a]) % w->length[a];
    return 0;
}

/* Level i of from's box arrives in to's; work takes what is between, and may be from. */
static larmor_status analyse(const wavelet *w, void *ctx, int i, const void *from, void *work, void *to)
{
    const level *l = &w->level[i];
    for (int a = 0; a < l->count; a++) {
        void *next = (l->count - a) % 2 ? to : work;
        LMR_TRY(w->kernels->analyse(ctx, &l->box, l->axes[a], &w->filter, shift_at(w, i, l->axes[a]), from, next));
        from = next;
    }
    return LARMOR_OK;
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const wavelet *w = self;
    void *ctx = x->dev->ctx, *work = w->work->data;
    if (!w->levels) return larmor_copy(x, y);
    LMR_TRY(analyse(w, ctx, 0, x->data, work, y->data));
    for (int i = 1; i < w->levels; i++) {
        if (w->level[i].count % 2 == 0) {
            LMR_TRY(analyse(w, ctx, i, y->data, work, y->data));
        } else {
            LMR_TRY(analyse(w, ctx, i, y->data, y->data, work));
            LMR_TRY(w->kernels->copy_box(ctx, &w->level[i].box, work, y->data));
        }
    }
    return LARMOR_OK;
}

/* Undoes level i in the box of data; *data and *other change places after an odd number of axes. */
static larmor_status synthesise(const wavelet *w, void *ctx, int i, void **data, void **other)
{
    const level *l = &w->level[i];
    for (int a = l->count - 1; a >= 0; a--) {
        LMR_TRY(
            w->kernels->synthesise(ctx, &l->box, l->axes[a], &w->filter, shift_at(w, i, l->axes[a]), *data, *other));
        void *const full = *data;
        *data = *other;
        *other = full;
    }
    return LARMOR_OK;
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const wavelet *w = self;
    void *ctx = x->dev->ctx;
    if (!w->levels) return larmor_copy(y, x);
    const int odd = w->level[0].count % 2; /* the first level, undone last, must arrive in x */
    void *data = odd ? w->work->data : x->data;
    void *other = odd ? x->data : w->work->data;
    LMR_TRY(x->dev->be->copy(ctx, LMR_ON_DEVICE, data, y->data, larmor_array_bytes(x)));
    for (int i = w->levels - 1; i > 0; i--) {
        void *const full = data;
        LMR_TRY(synthesise(w, ctx, i, &data, &other));
        if (data == full) continue;
        LMR_TRY(w->kernels->copy_box(ctx, &w->level[i].box, data, full));
        other = data;
        data = full;
    }
    return synthesise(w, ctx, 0, &data, &other);
}

static larmor_status normal(void *self, const larmor_array *x, larmor_array *z)
{
    (void)self; /* orthonormal */
    return larmor_copy(x, z);
}

static const larmor_op_impl impl = {"wavelet", forward, adjoint, normal, destroy};

larmor_status larmor_op_wavelet_shift(larmor_op *W, const int64_t shift[3])
{
    wavelet *w = lmr_op_self(W, forward);
    LMR_REFUSE(!w || !shift, LARMOR_ERR_ARG, "wavelet: shift of %s, expected three numbers for a wavelet transform",
               W ? larmor_op_name(W) : "NULL");
    LMR_TRY(lmr_gate_enter(lmr_op_gate(W)));
    memcpy(w->shift, shift, sizeof w->shift);
    lmr_gate_leave(lmr_op_gate(W));
    return LARMOR_OK;
}

/* ---- creation ---- */

static unsigned default_axes(larmor_shape shape)
{
    unsigned axes = 0;
    int count = 0;
    for (int d = 0; d < shape.ndim; d++)
        if (shape.dim[d] > 1 && count < AXES) {
            axes |= 1U << d;
            count++;
        }
    return axes;
}

static larmor_status check(larmor_shape shape, const larmor_wavelet_opts *opts, unsigned axes)
{
    int count = 0;
    for (int d = 0; d < shape.ndim; d++) count += lmr_has_axis(axes, d);
    LMR_REFUSE(opts->order < 0 || opts->order > LMR_DAUBECHIES, LARMOR_ERR_ARG,
               "wavelet: order is %d, expected 1 to %d vanishing moments, or 0 for 2", opts->order, LMR_DAUBECHIES);
    LMR_REFUSE(opts->levels < 0, LARMOR_ERR_ARG, "wavelet: %d levels, expected at least 1, or 0 for the default",
               opts->levels);
    LMR_REFUSE(count > AXES, LARMOR_ERR_ARG, "wavelet: axes are 0x%x, expected at most %d of them", axes, AXES);
    return LARMOR_OK;
}

/* The whole image: axes as dimensions of their own, what lies between as one, without those of extent 1. */
static lmr_box merge(wavelet *w, larmor_shape shape, unsigned axes)
{
    lmr_box box = {0};
    int open = 0;
    for (int d = 0; d < shape.ndim; d++) {
        const int64_t n = shape.dim[d];
        const int is_axis = lmr_has_axis(axes, d);
        if (is_axis) {
            w->axis[w->axes] = n == 1 ? -1 : box.ndim;
            w->length[w->axes++] = n;
        }
        if (n == 1) continue;
        if (!is_axis && open)
            box.dim[box.ndim - 1] *= n;
        else
            box.dim[box.ndim++] = n;
        open = !is_axis;
    }
    memcpy(box.extent, box.dim, sizeof box.extent);
    return box;
}

static void find_levels(wavelet *w, lmr_box box, int most, int64_t least)
{
    for (w->levels = 0; w->levels < most; w->levels++) {
        level *l = &w->level[w->levels];
        *l = (level){.box = box};
        for (int a = 0; a < w->axes; a++) {
            const int d = w->axis[a];
            if (d < 0 || box.extent[d] < least) continue;
            l->axes[l->count++] = d;
            box.extent[d] -= box.extent[d] / 2;
        }
        if (!l->count) return;
    }
}

larmor_status larmor_op_wavelet(larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                                const larmor_wavelet_opts *opts, larmor_op **W)
{
    LMR_NEED_OUT(W);
    const larmor_wavelet_opts o = opts ? *opts : (larmor_wavelet_opts){0};
    LMR_TRY(lmr_check_axes("wavelet", dev, dtype, shape, o.axes));
    const unsigned axes = o.axes ? o.axes : default_axes(shape);
    LMR_TRY(check(shape, &o, axes));
    const int taps = 2 * (o.order ? o.order : 2);
    const int most = o.levels ? o.levels : MAX_LEVELS;
    LMR_MAKE(wavelet, w, destroy);
    w->filter.taps = taps;
    memcpy(w->filter.low, lmr_daubechies[taps / 2 - 1], (size_t)taps * sizeof *w->filter.low);
    memcpy(w->shift, o.shift, sizeof w->shift);
    const lmr_box box = merge(w, shape, axes);
    const int limit = most < MAX_LEVELS ? most : MAX_LEVELS;
    const int64_t usual = 2 * taps > 16 ? 2 * taps : 16;
    if (larmor_shape_count(shape)) {
        find_levels(w, box, limit, o.levels ? taps : usual);
        if (!w->levels) find_levels(w, box, limit, 2 * taps); /* a small image, too, has its coarse part */
    }
    LMR_TRY(lmr_sparse_kernels_of(dev, dtype, &w->kernels));
    LMR_TRY(larmor_array_create(dev, dtype, shape, &w->work));
    return lmr_hand_on(&w_made, larmor_op_create(dev, &impl, w, dtype, shape, shape, W));
}
