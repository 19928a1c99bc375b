/* SENSE of the frames of a series on one grid, a frame at a time. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/bytes.h"
#include "recon/ops/ops.h"
#include "recon/sparse.h"

/* What the frames share; the last of them frees it. */
typedef struct stage {
    int users;
    const lmr_sparse_kernels *kernels;
    larmor_nufft *plan;
    const larmor_array *points; /* that the plan has; or NULL */
    int64_t block;              /* coils at a time */
    int blocks;
    larmor_op **S;         /* [blocks] */
    larmor_array *images;  /* [image..., block] */
    larmor_array *one;     /* [image...]: of a block */
    larmor_array *samples; /* [most of a frame * block] */
} stage;

/* A frame. */
typedef struct turn {
    stage *on;
    larmor_array *traj, *root; /* root: of the weights, or NULL */
} turn;

static void stage_free(stage *s)
{
    if (--s->users > 0) return;
    for (int b = 0; s->S && b < s->blocks; b++) larmor_op_free(s->S[b]);
    larmor_nufft_free(s->plan);
    LMR_FREE(s->S, s->images, s->one, s->samples, s);
}

static void turn_free(void *self)
{
    turn *t = self;
    if (t->on) stage_free(t->on);
    LMR_FREE(t->traj, t->root, t);
}

static larmor_status take_turn(const turn *t)
{
    if (t->on->points == t->traj) return LARMOR_OK;
    t->on->points = NULL;
    LMR_TRY(larmor_nufft_set_points(t->on->plan, t->traj, NULL));
    t->on->points = t->traj;
    return LARMOR_OK;
}

static larmor_status weigh(const turn *t, const larmor_array *x, larmor_array *y)
{
    const int64_t count = larmor_array_count(t->root);
    return t->on->kernels->weigh(x->dev->ctx, count, larmor_array_count(x) / count, t->root->data, x->data, y->data);
}

/* Room for a block's samples, like `part`. */
static larmor_status room_like(const turn *t, const larmor_array *part, larmor_array **room)
{
    return larmor_array_part(t->on->samples, 0, larmor_array_count(part), part->shape, room);
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const turn *t = self;
    const stage *s = t->on;
    LMR_TRY(take_turn(t));
    for (int b = 0; b < s->blocks; b++) {
        LMR_OWN(larmor_array, part, larmor_array_slice(y, b * s->block, s->block, &part));
        LMR_TRY(larmor_op_forward(s->S[b], x, s->images));
        LMR_TRY(larmor_nufft_execute(s->plan, s->images, part));
        if (t->root) LMR_TRY(weigh(t, part, part));
    }
    return LARMOR_OK;
}

/* x <- its sum with S_b^H of the coil images, or these where they are the first ones. */
static larmor_status combine(const stage *s, int b, larmor_array *x)
{
    LMR_TRY(larmor_op_adjoint(s->S[b], s->images, b ? s->one : x));
    return b ? larmor_axpby(1, s->one, 1, x) : LARMOR_OK;
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const turn *t = self;
    const stage *s = t->on;
    LMR_TRY(take_turn(t));
    for (int b = 0; b < s->blocks; b++) {
        LMR_OWN(larmor_array, part, larmor_array_slice(y, b * s->block, s->block, &part));
        LMR_OWN(larmor_array, room, room_like(t, part, &room));
        if (t->root) LMR_TRY(weigh(t, part, room));
        LMR_TRY(larmor_nufft_execute_adjoint(s->plan, t->root ? room : part, s->images));
        LMR_TRY(combine(s, b, x));
    }
    return LARMOR_OK;
}

static larmor_status normal(void *self, const larmor_array *x, larmor_array *z)
{
    const turn *t = self;
    const stage *s = t->on;
    const int64_t count = larmor_array_count(t->traj) / larmor_array_shape(t->traj).dim[0] * s->block;
    LMR_TRY(take_turn(t));
    LMR_OWN(larmor_array, room, larmor_array_part(s->samples, 0, count, LARMOR_SHAPE(count), &room));
    for (int b = 0; b < s->blocks; b++) {
        LMR_TRY(larmor_op_forward(s->S[b], x, s->images));
        LMR_TRY(larmor_nufft_execute(s->plan, s->images, room));
        for (int side = 0; t->root && side < 2; side++) LMR_TRY(weigh(t, room, room));
        LMR_TRY(larmor_nufft_execute_adjoint(s->plan, room, s->images));
        LMR_TRY(combine(s, b, z));
    }
    return LARMOR_OK;
}

/* The largest part of the coils that is at most the block. */
static int64_t block_of(const larmor_problem *p, const larmor_sense_opts *o)
{
    int64_t block = o->block > 0 && o->block < p->coils ? o->block : p->coils;
    while (p->coils % block) block--;
    return block;
}

static larmor_nufft_opts nufft_of(const larmor_problem *p, const larmor_sense_opts *o)
{
    larmor_nufft_opts nufft = {.type = 2,
                               .ndim = p->image.ndim,
                               .batch = block_of(p, o),
                               .tol = o->nufft_tol,
                               .dtype = p->dtype,
                               .both_directions = 1};
    for (int d = 0; d < p->image.ndim; d++) nufft.modes[d] = p->image.dim[d];
    return nufft;
}

/* A plan whose grid is the same for all frames, so that the adjoint is exact: that of the most points. */
static larmor_status make_plan(larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *most,
                               larmor_nufft **plan)
{
    larmor_nufft_opts o = nufft_of(p, most);
    larmor_nufft *first;
    LMR_TRY(larmor_nufft_create(dev, &o, &first));
    const larmor_status st = larmor_nufft_set_points(first, most->traj, NULL);
    const larmor_nufft_info chosen = larmor_nufft_describe(first);
    larmor_nufft_free(first);
    LMR_TRY(st);
    for (int d = 0; d < o.ndim; d++) o.grid[d] = chosen.grid[d];
    o.width = chosen.width;
    return larmor_nufft_create(dev, &o, plan);
}

static larmor_status make_stage(larmor_array *maps, const larmor_problem *p, const larmor_sense_opts *most, stage *s)
{
    const larmor_shape image = p->image;
    LMR_TRY(lmr_sparse_kernels_of(maps->dev, p->dtype, &s->kernels));
    LMR_TRY(make_plan(maps->dev, p, most, &s->plan));
    s->block = block_of(p, most);
    s->blocks = (int)(p->coils / s->block);
    LMR_ALLOCATE_ZEROS(s->S, s->blocks);
    for (int b = 0; b < s->blocks; b++) {
        LMR_OWN(larmor_array, block, larmor_array_slice(maps, b * s->block, s->block, &block));
        LMR_TRY(larmor_op_coils(block, &s->S[b]));
    }
    LMR_TRY(larmor_array_create(maps->dev, p->dtype, larmor_shape_append(image, s->block), &s->images));
    if (s->blocks > 1) LMR_TRY(larmor_array_create(maps->dev, p->dtype, image, &s->one));
    return larmor_array_create(maps->dev, p->dtype, LARMOR_SHAPE(p->samples * s->block), &s->samples);
}

static larmor_status make_turn(stage *on, const larmor_problem *p, const larmor_sense_opts *o, larmor_op **A)
{
    static const larmor_op_impl impl = {"sense-turn", forward, adjoint, normal, turn_free};
    larmor_shape samples = larmor_array_shape(o->traj);
    LMR_MAKE(turn, t, turn_free);
    t->on = on;
    on->users++;
    t->traj = larmor_array_ref(o->traj);
    for (int d = 1; d < samples.ndim; d++) samples.dim[d - 1] = samples.dim[d];
    samples.ndim--;
    if (o->weights) {
        LMR_TRY(lmr_expect("sense", "weight array", o->weights, on->images->dev, o->weights->dtype, samples));
        LMR_TRY(lmr_weights_copy("sense", "weights", o->weights, p->dtype, 1, &t->root));
    }
    const larmor_shape out = larmor_shape_append(samples, p->coils);
    return lmr_hand_on(&t_made, larmor_op_create(on->images->dev, &impl, t, p->dtype, p->image, out, A));
}

/* Every frame as larmor_op_sense would take it; *most: the one with the most samples. */
static larmor_status check(larmor_array *maps, const larmor_sense_opts *opts, int frames, larmor_problem *p,
                           int *most)
{
    for (int i = 0; i < frames; i++) {
        larmor_problem own;
        LMR_TRY(lmr_sense_check(maps, &opts[i], &own));
        LMR_REFUSE(opts[i].off_resonance || opts[i].displacement || own.sets, LARMOR_ERR_UNSUPPORTED,
                   "sense: frames in turn have no segments, no displacement and one "
                   "set of maps");
        if (i && own.samples <= p->samples) continue;
        *p = own;
        *most = i;
    }
    return LARMOR_OK;
}

larmor_status larmor_op_sense_turns(larmor_array *maps, const larmor_sense_opts *opts, int frames, larmor_op **A)
{
    larmor_problem p;
    int most = 0;
    LMR_NEED_OUT(A);
    LMR_REFUSE(!opts || frames < 1, LARMOR_ERR_ARG, "sense: got %d frames, expected at least 1", frames);
    LMR_TRY(check(maps, opts, frames, &p, &most));
    larmor_op **ops = calloc((size_t)frames, sizeof *ops);
    stage *s = calloc(1, sizeof *s);
    larmor_status st = ops && s ? LARMOR_OK : LMR_NO_MEMORY();
    if (s) s->users = 1;
    if (!st) st = make_stage(maps, &p, &opts[most], s);
    for (int i = 0; i < frames && !st; i++) st = make_turn(s, &p, &opts[i], &ops[i]);
    if (!st) st = larmor_op_frames(ops, frames, A);
    for (int i = 0; ops && i < frames; i++) larmor_op_free(ops[i]);
    free(ops);
    if (s) stage_free(s);
    return st;
}

larmor_status larmor_sense_turns_memory(const larmor_device *dev, const larmor_problem *p,
                                        const larmor_sense_opts *opts, int64_t samples, int64_t *bytes)
{
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    const larmor_nufft_opts nufft = nufft_of(p, opts ? opts : &(larmor_sense_opts){0});
    const double block = (double)nufft.batch, number = (double)larmor_dtype_size(p->dtype);
    double total = lmr_bytes_of(p->dtype, p->image) * (block + 1) + number * block * (double)p->samples;
    if (p->weighted) total += number / 2 * (double)samples + 8 * (double)p->samples;
    LMR_TRY(lmr_bytes_add_nufft(dev, &nufft, p->samples, &total));
    return lmr_bytes_store(total, bytes);
}
