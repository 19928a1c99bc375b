/* SENSE of readouts in several states, each with coil maps of its own. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/owned.h"
#include "larmor/motion.h"
#include "recon/ops/sense.h"

/* Readouts of one state that follow each other. */
typedef struct run {
    int state;
    int64_t first, count; /* among all */
    int64_t own;          /* its first one among those of its state */
} run;

typedef struct states {
    int count;
    larmor_op **op;      /* [count] */
    larmor_array **part; /* samples of each state */
    larmor_array *image;
    run *runs;
    int64_t run_count, readouts, samples, coils;
} states;

/* ---- readouts of a state, and of all ---- */

typedef enum way { TO_PART, TO_ALL } way;

/* Copy a state's readouts between all of them and its part: `rows` rows of readouts of `bytes` each. */
static larmor_status copy_readouts(const states *s, int state, way to, int64_t rows, size_t bytes,
                                   const larmor_array *all, const larmor_array *part, int64_t own)
{
    const larmor_device *dev = all->dev;
    for (int64_t i = 0; i < s->run_count; i++) {
        const run *r = &s->runs[i];
        if (r->state != state) continue;
        char *of_all = (char *)all->data + bytes * (size_t)r->first;
        char *of_part = (char *)part->data + bytes * (size_t)r->own;
        const size_t steps[2] = {bytes * (size_t)own, bytes * (size_t)s->readouts};
        const size_t width = bytes * (size_t)r->count;
        LMR_TRY(dev->be->copy_rows(dev->ctx, to == TO_PART ? of_part : of_all, steps[to],
                                   to == TO_PART ? of_all : of_part, steps[!to], width, rows));
    }
    return LARMOR_OK;
}

static larmor_status copy_samples(const states *s, int state, way to, const larmor_array *all)
{
    const larmor_array *part = s->part[state];
    const size_t bytes = larmor_dtype_size(all->dtype) * (size_t)s->samples;
    return copy_readouts(s, state, to, s->coils, bytes, all, part, part->shape.dim[1]);
}

/* ---- maps ---- */

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const states *s = self;
    for (int m = 0; m < s->count; m++) {
        LMR_TRY(larmor_op_forward(s->op[m], x, s->part[m]));
        LMR_TRY(copy_samples(s, m, TO_ALL, y));
    }
    return LARMOR_OK;
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const states *s = self;
    for (int m = 0; m < s->count; m++) {
        LMR_TRY(copy_samples(s, m, TO_PART, y));
        LMR_TRY(larmor_op_adjoint(s->op[m], s->part[m], m ? s->image : x));
        if (m) LMR_TRY(larmor_axpby(1, s->image, 1, x));
    }
    return LARMOR_OK;
}

static larmor_status normal(void *self, const larmor_array *x, larmor_array *z)
{
    const states *s = self;
    for (int m = 0; m < s->count; m++) {
        LMR_TRY(larmor_op_normal(s->op[m], x, m ? s->image : z));
        if (m) LMR_TRY(larmor_axpby(1, s->image, 1, z));
    }
    return LARMOR_OK;
}

static void destroy(void *self)
{
    states *s = self;
    for (int m = 0; m < s->count; m++) {
        if (s->op) larmor_op_free(s->op[m]);
        if (s->part) larmor_array_free(s->part[m]);
    }
    larmor_array_free(s->image);
    free(s->op);
    free(s->part);
    free(s->runs);
    free(s);
}

/* ---- making it ---- */

/* own: [count] readouts of each state. */
static larmor_status find_runs(states *s, const int *state, int64_t *own)
{
    for (int64_t j = 0; j < s->readouts; j++) {
        if (state[j] < 0 || state[j] >= s->count)
            return LMR_FAIL(LARMOR_ERR_ARG, "sense states: readout %lld is in state %d, expected 0 to %d",
                            (long long)j, state[j], s->count - 1);
        run *last = s->run_count ? &s->runs[s->run_count - 1] : NULL;
        if (!last || last->state != state[j])
            s->runs[s->run_count++] = (run){.state = state[j], .first = j, .own = own[state[j]]};
        s->runs[s->run_count - 1].count++;
        own[state[j]]++;
    }
    return LARMOR_OK;
}

/* A state's readouts of [rows, samples, readouts] or, rows 0, of [samples, readouts]. */
static larmor_status take_readouts(const states *s, int state, int64_t rows, int64_t own, const larmor_array *all,
                                   larmor_array **part)
{
    const larmor_shape shape = rows ? LARMOR_SHAPE(rows, s->samples, own) : LARMOR_SHAPE(s->samples, own);
    const size_t bytes = larmor_dtype_size(all->dtype) * (size_t)(s->samples * (rows ? rows : 1));
    LMR_TRY(larmor_array_create(all->dev, all->dtype, shape, part));
    return copy_readouts(s, state, TO_PART, 1, bytes, all, *part, own);
}

static void drop_segments(larmor_segments **segments)
{
    larmor_segments_free(*segments);
}

/* The state's own, or the part of all readouts' that is its. */
static larmor_status segments_of(const states *s, int m, int64_t own, larmor_segments *all,
                                 larmor_segments *const *each, larmor_segments **mine)
{
    LMR_HEAP int64_t *readout = lmr_new(own, sizeof *readout);
    int64_t count = 0;
    if (!readout) return LMR_NO_MEMORY();
    if (each) {
        *mine = larmor_segments_ref(each[m]);
        return LARMOR_OK;
    }
    if (!all) return LARMOR_OK;
    for (int64_t i = 0; i < s->run_count; i++)
        for (int64_t j = 0; j < s->runs[i].count && s->runs[i].state == m; j++)
            readout[count++] = s->runs[i].first + j;
    return larmor_segments_readouts(all, readout, own, mine);
}

static larmor_status make_state(states *s, int m, int64_t own, larmor_array *maps, larmor_segments *const *each,
                                const larmor_sense_opts *opts)
{
    LMR_OWNED(larmor_array) *traj = NULL, *weights = NULL;
    LMR_FREED_BY(drop_segments) larmor_segments *segments = NULL;
    larmor_sense_opts of_state = *opts;
    LMR_TRY(segments_of(s, m, own, opts->off_resonance, each, &segments));
    of_state.off_resonance = segments;
    LMR_TRY(take_readouts(s, m, opts->traj->shape.dim[0], own, opts->traj, &traj));
    if (opts->weights) LMR_TRY(take_readouts(s, m, 0, own, opts->weights, &weights));
    of_state.traj = traj;
    of_state.weights = weights;
    LMR_TRY(larmor_op_sense(maps, &of_state, &s->op[m]));
    return larmor_array_create(maps->dev, maps->dtype, LARMOR_SHAPE(s->samples, own, s->coils), &s->part[m]);
}

static larmor_status check(larmor_array *const *maps, int count, const int *state, const larmor_sense_opts *opts)
{
    if (!maps || !state || count < 1 || !opts || !opts->traj)
        return LMR_FAIL(LARMOR_ERR_ARG, "sense states: maps, states of readouts and a trajectory are needed");
    if (opts->displacement) return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "sense states: got displacement, expected none");
    const larmor_shape shape = opts->traj->shape;
    if (shape.ndim != 3)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "sense states: trajectory is %s, expected [nd, samples, readouts]",
                        lmr_describe(opts->traj).s);
    for (int m = 0; m < count; m++) {
        if (!maps[m] || maps[m]->shape.ndim != shape.dim[0] + 1)
            return LMR_FAIL(LARMOR_ERR_SHAPE, "sense states: maps %d are %s, expected %d dimensions and coils", m,
                            maps[m] ? lmr_describe(maps[m]).s : "missing", (int)shape.dim[0]);
        LMR_TRY(lmr_expect("sense states", "maps", maps[m], maps[0]->dev, maps[0]->dtype, maps[0]->shape));
    }
    if (opts->weights)
        LMR_TRY(lmr_expect("sense states", "weights", opts->weights, opts->traj->dev, opts->weights->dtype,
                           LARMOR_SHAPE(shape.dim[1], shape.dim[2])));
    return LARMOR_OK;
}

/* What lost for the first state is not made for the others. */
static larmor_status make_all(states *s, larmor_array *const *maps, larmor_segments *const *segments,
                              const int *state, const larmor_sense_opts *opts, int *toeplitz)
{
    LMR_HEAP int64_t *own = calloc((size_t)s->count, sizeof *own);
    larmor_sense_opts next = *opts;
    int made = 0;
    if (!own) return LMR_NO_MEMORY();
    LMR_TRY(find_runs(s, state, own));
    for (int m = 0; m < s->count; m++) {
        if (!own[m]) return LMR_FAIL(LARMOR_ERR_ARG, "sense states: state %d has no readout, expected some", m);
        LMR_TRY(make_state(s, m, own[m], maps[m], segments, &next));
        if (!made++) *toeplitz = larmor_sense_uses_toeplitz(s->op[m]);
        if (!*toeplitz) next.toeplitz = -1;
    }
    return LARMOR_OK;
}

larmor_status larmor_op_sense_states(larmor_array *const *maps, int count, const int *state,
                                     const larmor_sense_opts *opts, larmor_op **A)
{
    return larmor_op_sense_states_of(maps, NULL, count, state, opts, A);
}

larmor_status larmor_op_sense_states_of(larmor_array *const *maps, larmor_segments *const *segments, int count,
                                        const int *state, const larmor_sense_opts *opts, larmor_op **A)
{
    larmor_op_impl impl = {"sense-states", forward, adjoint, normal, destroy};
    int toeplitz = 0;
    larmor_status st;
    LMR_NEED(A);
    *A = NULL;
    LMR_TRY(check(maps, count, state, opts));
    const larmor_shape image = larmor_shape_of(maps[0]->shape.ndim - 1, maps[0]->shape.dim);
    states *s = calloc(1, sizeof *s);
    if (!s) return LMR_NO_MEMORY();
    s->samples = opts->traj->shape.dim[1];
    s->readouts = opts->traj->shape.dim[2];
    s->coils = maps[0]->shape.dim[image.ndim];
    s->count = count;
    s->op = calloc((size_t)count, sizeof(larmor_op *));
    s->part = calloc((size_t)count, sizeof(larmor_array *));
    s->runs = lmr_new(s->readouts, sizeof *s->runs);
    if (!s->op || !s->part || !s->runs) LMR_OR(fail, LMR_NO_MEMORY());
    LMR_OR(fail, larmor_array_create(maps[0]->dev, maps[0]->dtype, image, &s->image));
    LMR_OR(fail, make_all(s, maps, segments, state, opts, &toeplitz));
    if (toeplitz) impl.name = lmr_sense_states_toeplitz;
    LMR_OR(fail, larmor_op_create(maps[0]->dev, &impl, s, maps[0]->dtype, image,
                                  LARMOR_SHAPE(s->samples, s->readouts, s->coils), A));
    return LARMOR_OK;
fail:
    destroy(s);
    return st;
}
