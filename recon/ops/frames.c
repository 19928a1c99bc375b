/* One operator for each frame of a series of images. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "core/core.h"

enum {
    SMALL = 1 << 19, /* voxels: threads that share such an image wait for each other a good part of the time */
    LEAST_BUSY_SMALL = 40,
    LEAST_BUSY = 75, /* per cent of the threads that have a frame, on average, where they take whole ones */
};

typedef struct frames {
    int count;
    int threads; /* that take frames; 1: one after the other */
    larmor_op **op;
    int64_t *first; /* where each frame's samples begin; NULL unless they are ragged */
} frames;

/* f of every frame's operator, on its parts of a and b. */
typedef larmor_status (*frame_map)(larmor_op *op, const larmor_array *a, larmor_array *b);

/* One pass over the frames. */
typedef struct pass {
    const frames *all;
    frame_map f;
    const larmor_array *a, *b;
    int a_samples, b_samples; /* 1: in k-space */
    pthread_mutex_t lock;
    int failed; /* the first frame that failed, or `count`; its status and message: */
    larmor_status st;
    char message[1024];
} pass;

/* Frame i's part of x. */
static larmor_status part_of(const frames *s, const larmor_array *x, int in_kspace, int i, larmor_array **part)
{
    if (!in_kspace) return larmor_array_part(x, i, 1, larmor_op_in_shape(s->op[i]), part);
    const larmor_shape shape = larmor_op_out_shape(s->op[i]);
    if (!s->first) return larmor_array_part(x, i, 1, shape, part);
    return larmor_array_part(x, s->first[i], larmor_shape_count(shape), shape, part);
}

static larmor_status do_frame(const pass *p, int i)
{
    LMR_OWN(larmor_array, from, part_of(p->all, p->a, p->a_samples, i, &from));
    LMR_OWN(larmor_array, to, part_of(p->all, p->b, p->b_samples, i, &to));
    return p->f(p->all->op[i], from, to);
}

/* A thread's frame; the others that fail after the first one in their order say nothing. */
static void do_apart(void *self, int64_t i)
{
    pass *p = self;
    const larmor_status st = do_frame(p, (int)i);
    if (!st) return;
    pthread_mutex_lock(&p->lock);
    if (i < p->failed) {
        p->failed = (int)i;
        p->st = st;
        snprintf(p->message, sizeof p->message, "%s", larmor_last_error());
    }
    pthread_mutex_unlock(&p->lock);
}

static larmor_status each_apart(pass *p)
{
    pthread_mutex_init(&p->lock, NULL);
    const larmor_status st = lmr_parallel(p->all->threads, p->all->count, do_apart, p);
    pthread_mutex_destroy(&p->lock);
    LMR_TRY(st);
    return p->st ? larmor_fail(p->st, "%s", p->message) : LARMOR_OK;
}

static larmor_status each(const frames *s, frame_map f, const larmor_array *a, int a_samples, larmor_array *b,
                          int b_samples)
{
    pass p = {s, f, a, b, a_samples, b_samples, .failed = s->count};
    if (s->threads > 1) return each_apart(&p);
    for (int i = 0; i < s->count; i++) LMR_TRY(do_frame(&p, i));
    return LARMOR_OK;
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    return each(self, larmor_op_forward, x, 0, y, 1);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    return each(self, larmor_op_adjoint, y, 1, x, 0);
}

static larmor_status normal(void *self, const larmor_array *x, larmor_array *z)
{
    return each(self, larmor_op_normal, x, 0, z, 0);
}

static void destroy(void *self)
{
    frames *s = self;
    for (int i = 0; s->op && i < s->count; i++) larmor_op_free(s->op[i]);
    LMR_FREE(s->op, s->first, s);
}

static const larmor_op_impl impl = {"frames", forward, adjoint, normal, destroy};

/* All of one device, type and input; *ragged if outputs differ, *total numbers of them in all. */
static larmor_status check(larmor_op *const *ops, int count, int *ragged, int64_t *total)
{
    *ragged = 0;
    *total = 0;
    LMR_REFUSE(!ops || count < 1, LARMOR_ERR_ARG, "frames: got %d operators, expected at least 1", ops ? count : 0);
    for (int i = 0; i < count; i++) {
        LMR_REFUSE(!ops[i], LARMOR_ERR_ARG, "frames: operator %d is NULL", i);
        const larmor_shape in = larmor_op_in_shape(ops[i]), out = larmor_op_out_shape(ops[i]);
        LMR_REFUSE(larmor_op_device(ops[i]) != larmor_op_device(ops[0]) ||
                       larmor_op_dtype(ops[i]) != larmor_op_dtype(ops[0]) ||
                       !larmor_shape_equal(in, larmor_op_in_shape(ops[0])),
                   LARMOR_ERR_SHAPE, "frames: input of operator %d is %s, expected %s as of the first", i,
                   lmr_describe_as(larmor_op_device(ops[i]), larmor_op_dtype(ops[i]), in).s,
                   lmr_describe_as(larmor_op_device(ops[0]), larmor_op_dtype(ops[0]), larmor_op_in_shape(ops[0])).s);
        *ragged |= !larmor_shape_equal(out, larmor_op_out_shape(ops[0]));
        LMR_REFUSE(__builtin_add_overflow(*total, larmor_shape_count(out), total), LARMOR_ERR_SHAPE,
                   "frames: the samples of all frames are too many");
    }
    return LARMOR_OK;
}

/* How many threads are to take whole frames. */
static int takers(const larmor_device *dev, larmor_shape image, int count)
{
    const int threads = lmr_device_threads(dev);
    if (!lmr_device_is_processor(dev) || threads < 2 || count < 2) return 1;
    const int64_t turns = (count + threads - 1) / threads;
    const int64_t busy = 100 * (int64_t)count / (turns * threads);
    return busy >= (larmor_shape_count(image) <= SMALL ? LEAST_BUSY_SMALL : LEAST_BUSY) ? threads : 1;
}

static larmor_status make(larmor_op *const *ops, int count, int apart, larmor_op **A)
{
    int ragged;
    int64_t total;
    LMR_TRY(check(ops, count, &ragged, &total));
    const larmor_shape in = larmor_shape_append(larmor_op_in_shape(ops[0]), count);
    const larmor_shape out = ragged ? LARMOR_SHAPE(total) : larmor_shape_append(larmor_op_out_shape(ops[0]), count);
    LMR_MAKE(frames, s, destroy);
    LMR_ALLOCATE_ZEROS(s->op, count);
    if (ragged) LMR_ALLOCATE_ZEROS(s->first, count);
    s->count = count;
    s->threads = apart ? takers(larmor_op_device(ops[0]), larmor_op_in_shape(ops[0]), count) : 1;
    for (int i = 0; i < count; i++) s->op[i] = larmor_op_ref(ops[i]);
    for (int i = 1; ragged && i < count; i++)
        s->first[i] = s->first[i - 1] + larmor_shape_count(larmor_op_out_shape(ops[i - 1]));
    return lmr_hand_on(&s_made,
                       larmor_op_create(larmor_op_device(ops[0]), &impl, s, larmor_op_dtype(ops[0]), in, out, A));
}

larmor_status larmor_op_frames(larmor_op *const *ops, int count, larmor_op **A)
{
    LMR_NEED_OUT(A);
    return make(ops, count, 0, A);
}

larmor_status larmor_op_frames_apart(larmor_op *const *ops, int count, larmor_op **A)
{
    LMR_NEED_OUT(A);
    return make(ops, count, 1, A);
}
