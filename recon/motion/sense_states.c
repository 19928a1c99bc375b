/* SENSE of readouts in several states, each with coil maps of its own. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/field/states.h"
#include "recon/ops/ops.h"

typedef struct states {
    int count;
    larmor_op **op; /* [count] */
    lmr_runs runs;
    int64_t readouts, samples;
} states;

static void drop_states(states *s)
{
    for (int m = 0; s->op && m < s->count; m++) larmor_op_free(s->op[m]);
    LMR_FREE(s->op, s->runs.run);
}

/* own: [count] readouts of each state. */
static larmor_status find_runs(states *s, const int *state, int64_t *own)
{
    for (int64_t j = 0; j < s->readouts; j++) {
        LMR_REFUSE(state[j] < 0 || state[j] >= s->count, LARMOR_ERR_ARG,
                   "sense states: readout %lld is in state %d, expected 0 to %d", (long long)j, state[j],
                   s->count - 1);
        lmr_runs *runs = &s->runs;
        if (!runs->count || runs->run[runs->count - 1].state != state[j])
            runs->run[runs->count++] = (lmr_run){.state = state[j], .first = j, .own = own[state[j]]};
        runs->run[runs->count - 1].count++;
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
    return lmr_runs_copy(&s->runs, state, 0, 1, bytes, all, *part);
}

LMR_OWNS(larmor_segments, larmor_segments_free)

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
    for (int64_t i = 0; i < s->runs.count; i++)
        for (int64_t j = 0; j < s->runs.run[i].count && s->runs.run[i].state == m; j++)
            readout[count++] = s->runs.run[i].first + j;
    return larmor_segments_readouts(all, readout, own, mine);
}

static larmor_status make_state(states *s, int m, int64_t own, larmor_array *maps, larmor_segments *const *each,
                                const larmor_sense_opts *opts)
{
    LMR_OWNED(larmor_array) *traj = NULL, *weights = NULL;
    larmor_sense_opts of_state = *opts;
    LMR_OWN(larmor_segments, segments, segments_of(s, m, own, opts->off_resonance, each, &segments));
    of_state.off_resonance = segments;
    LMR_TRY(take_readouts(s, m, opts->traj->shape.dim[0], own, opts->traj, &traj));
    if (opts->weights) LMR_TRY(take_readouts(s, m, 0, own, opts->weights, &weights));
    of_state.traj = traj;
    of_state.weights = weights;
    return larmor_op_sense(maps, &of_state, &s->op[m]);
}

static larmor_status check(larmor_array *const *maps, int count, const int *state, const larmor_sense_opts *opts)
{
    LMR_REFUSE(!maps || !state || count < 1 || !opts || !opts->traj, LARMOR_ERR_ARG,
               "sense states: maps, states of readouts and a trajectory are needed");
    LMR_REFUSE(opts->displacement, LARMOR_ERR_UNSUPPORTED, "sense states: got displacement, expected none");
    const larmor_shape shape = opts->traj->shape;
    LMR_REFUSE(shape.ndim != 3, LARMOR_ERR_SHAPE, "sense states: trajectory is %s, expected [nd, samples, readouts]",
               lmr_describe(opts->traj).s);
    for (int m = 0; m < count; m++) {
        LMR_REFUSE(!maps[m] || maps[m]->shape.ndim != shape.dim[0] + 1, LARMOR_ERR_SHAPE,
                   "sense states: maps %d are %s, expected %d dimensions and coils", m,
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
        LMR_REFUSE(!own[m], LARMOR_ERR_ARG, "sense states: state %d has no readout, expected some", m);
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
    LMR_FREED_BY(drop_states) states s = {.count = count};
    int toeplitz = 0;
    LMR_NEED_OUT(A);
    LMR_TRY(check(maps, count, state, opts));
    s.samples = opts->traj->shape.dim[1];
    s.readouts = opts->traj->shape.dim[2];
    LMR_ALLOCATE_ZEROS(s.op, count);
    LMR_ALLOCATE(s.runs.run, s.readouts);
    LMR_TRY(make_all(&s, maps, segments, state, opts, &toeplitz));
    const lmr_runs runs = s.runs;
    const larmor_shape out = LARMOR_SHAPE(s.samples, s.readouts, maps[0]->shape.dim[maps[0]->shape.ndim - 1]);
    s.runs.run = NULL;
    return lmr_op_states(toeplitz ? lmr_sense_states_toeplitz : "sense-states", s.op, count, runs, s.samples, out, A);
}
