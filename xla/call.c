/* Arguments, results and attributes of a call of XLA. SPDX-License-Identifier: Apache-2.0 */
#include "xla/call.h"

#include <string.h>

/* The attribute of this name and type of numbers; NULL if there is none. */
static const void *find(const lmr_xla_attributes *attributes, const char *name, int dtype)
{
    for (int64_t i = 0; i < attributes->count; i++) {
        const lmr_xla_span *span = attributes->names[i];
        if (span->length != strlen(name) || memcmp(span->text, name, span->length)) continue;
        const lmr_xla_scalar *scalar = attributes->at[i];
        return attributes->types[i] == LMR_XLA_SCALAR && scalar->dtype == dtype ? scalar->value : NULL;
    }
    return NULL;
}

/* A whole number from `least` to `most`. */
static larmor_status whole(const lmr_xla_attributes *attributes, const char *name, int64_t least, int64_t most,
                           int *out)
{
    int64_t value;
    const void *found = find(attributes, name, LMR_XLA_S64);
    if (!found) return larmor_fail(LARMOR_ERR_ARG, "%s: got no 64-bit whole number of this name", name);
    memcpy(&value, found, sizeof value);
    if (value < least || value > most)
        return larmor_fail(LARMOR_ERR_ARG, "%s: got %lld, expected %lld to %lld", name, (long long)value,
                           (long long)least, (long long)most);
    *out = (int)value;
    return LARMOR_OK;
}

static larmor_status real(const lmr_xla_attributes *attributes, const char *name, double *out)
{
    const void *found = find(attributes, name, LMR_XLA_F64);
    if (!found) return larmor_fail(LARMOR_ERR_ARG, "%s: got no 64-bit number of this name", name);
    memcpy(out, found, sizeof *out);
    return LARMOR_OK;
}

static larmor_status read_options(const lmr_xla_attributes *attributes, lmr_xla_call *call)
{
    int order;
    larmor_nufft_opts *o = &call->nufft;
    o->size = sizeof *o;
    XLA_TRY(whole(attributes, "kind", 1, 3, &o->type));
    XLA_TRY(whole(attributes, "sign", -1, 1, &o->sign));
    XLA_TRY(whole(attributes, "mode_order", LARMOR_MODES_CENTRED, LARMOR_MODES_FFT, &order));
    XLA_TRY(whole(attributes, "radians", 0, 1, &call->radians));
    XLA_TRY(whole(attributes, "threads", 0, 1 << 20, &o->threads));
    XLA_TRY(real(attributes, "tol", &o->tol));
    XLA_TRY(real(attributes, "upsample", &o->upsample));
    o->mode_order = order ? LARMOR_MODES_FFT : LARMOR_MODES_CENTRED;
    return LARMOR_OK;
}

/* ---- arrays ---- */

/* The product of some axes of a buffer whose count of numbers fits, as XLA has it in memory. */
static int64_t product(const lmr_xla_buffer *b, int64_t from, int64_t to)
{
    int64_t count = 1;
    for (int64_t i = from; i < to; i++) count *= b->dims[i];
    return count;
}

static larmor_status expect_rank(const lmr_xla_buffer *b, const char *name, int64_t rank)
{
    if (b->rank == rank) return LARMOR_OK;
    return larmor_fail(LARMOR_ERR_SHAPE, "%s: got %lld axes, expected %lld", name, (long long)b->rank,
                       (long long)rank);
}

/* Points or targets: [sets, ndim, count] of real numbers. */
static larmor_status expect_points(const lmr_xla_buffer *b, const char *name, const lmr_xla_call *call, int dtype)
{
    XLA_TRY(expect_rank(b, name, 3));
    if (b->dtype != dtype) return larmor_fail(LARMOR_ERR_SHAPE, "%s: of another type than expected", name);
    if (b->dims[0] != call->sets || b->dims[1] != call->nufft.ndim)
        return larmor_fail(LARMOR_ERR_SHAPE, "%s: got [%lld, %lld, ...], expected [%lld, %d, ...]", name,
                           (long long)b->dims[0], (long long)b->dims[1], (long long)call->sets, call->nufft.ndim);
    return LARMOR_OK;
}

/* Values [sets, batch, points...] or modes [sets, batch, modes...]. */
static larmor_status expect_values(const lmr_xla_buffer *b, const char *name, const lmr_xla_call *call, int64_t count)
{
    if (b->rank < 3) return larmor_fail(LARMOR_ERR_SHAPE, "%s: got %lld axes, expected 3", name, (long long)b->rank);
    if (b->dims[0] != call->sets || b->dims[1] != call->nufft.batch ||
        (count >= 0 && product(b, 2, b->rank) != count))
        return larmor_fail(LARMOR_ERR_SHAPE, "%s: the shape does not fit the points and the other array", name);
    return LARMOR_OK;
}

static larmor_status read_modes(const lmr_xla_buffer *b, const char *name, larmor_nufft_opts *o)
{
    XLA_TRY(expect_rank(b, name, 2 + o->ndim));
    for (int d = 0; d < o->ndim; d++) o->modes[d] = b->dims[1 + o->ndim - d];
    return LARMOR_OK;
}

/* The types of numbers, and how many sets, inputs and dimensions there are. */
static larmor_status read_types(const lmr_xla_buffer *x, const lmr_xla_buffer *points, const lmr_xla_buffer *out,
                                lmr_xla_call *call)
{
    if ((x->dtype != LMR_XLA_C64 && x->dtype != LMR_XLA_C128) || x->dtype != out->dtype)
        return larmor_fail(LARMOR_ERR_SHAPE, "input: expected complex64 or complex128, as the result");
    if (points->dtype != LMR_XLA_F32 && points->dtype != LMR_XLA_F64)
        return larmor_fail(LARMOR_ERR_SHAPE, "points: expected float32 or float64");
    XLA_TRY(expect_rank(points, "points", 3));
    if (points->dims[1] < 1 || points->dims[1] > 3)
        return larmor_fail(LARMOR_ERR_SHAPE, "points: got %lld rows, expected 1 to 3", (long long)points->dims[1]);
    if (x->rank < 3) return expect_rank(x, "input", 3);
    call->nufft.dtype = x->dtype == LMR_XLA_C64 ? LARMOR_C64 : LARMOR_C128;
    call->nufft.ndim = (int)points->dims[1];
    call->nufft.batch = x->dims[1];
    call->real = points->dtype == LMR_XLA_F32 ? LARMOR_F32 : LARMOR_F64;
    call->sets = x->dims[0];
    call->points = points->dims[2];
    return expect_points(points, "points", call, points->dtype);
}

/* targets: NULL for types 1 and 2. */
static larmor_status read_shapes(const lmr_xla_buffer *x, const lmr_xla_buffer *targets, const lmr_xla_buffer *out,
                                 lmr_xla_call *call)
{
    const int type = call->nufft.type;
    int64_t values = call->points;
    if (type == 3) values = call->targets = targets->dims[2];
    if (type == 1) XLA_TRY(read_modes(out, "result", &call->nufft));
    if (type == 2) XLA_TRY(read_modes(x, "input", &call->nufft));
    XLA_TRY(expect_values(x, "input", call, type == 2 ? -1 : call->points));
    return expect_values(out, "result", call, type == 1 ? -1 : values);
}

static larmor_status read_arrays(lmr_xla_buffer *const *in, const lmr_xla_buffer *out, lmr_xla_call *call)
{
    const lmr_xla_buffer *x = in[0];
    const lmr_xla_buffer *points = in[1];
    const lmr_xla_buffer *targets = call->nufft.type == 3 ? in[2] : NULL;
    XLA_TRY(read_types(x, points, out, call));
    if (targets) XLA_TRY(expect_points(targets, "targets", call, points->dtype));
    XLA_TRY(read_shapes(x, targets, out, call));
    call->in = product(x, 1, x->rank);
    call->out = product(out, 1, out->rank);
    call->from = x->data;
    call->at = points->data;
    call->there = targets ? targets->data : NULL;
    call->to = out->data;
    return LARMOR_OK;
}

/* Type 1 as what it is the conjugate transpose of. */
static void share_plan(lmr_xla_call *call)
{
    larmor_nufft_opts *o = &call->nufft;
    o->both_directions = o->type != 3;
    call->adjoint = o->type == 1;
    if (!call->adjoint) return;
    o->type = 2;
    o->sign = -o->sign;
}

larmor_status lmr_xla_call_read(const lmr_xla_frame *frame, lmr_xla_call *call)
{
    memset(call, 0, sizeof *call);
    XLA_TRY(read_options(&frame->attributes, call));
    const int64_t arguments = call->nufft.type == 3 ? 3 : 2;
    if (frame->arguments.count != arguments || frame->results.count != 1)
        return larmor_fail(LARMOR_ERR_ARG, "got %lld arrays, expected %lld and a result",
                           (long long)frame->arguments.count, (long long)arguments);
    XLA_TRY(read_arrays(frame->arguments.at, frame->results.at[0], call));
    share_plan(call);
    return LARMOR_OK;
}
