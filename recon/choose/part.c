/* The samples that are held out by themselves: images are compared with a tenth of all of them, which takes a tenth
 * of the work. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/inputs.h"

typedef struct indices { /* of one coil: */
    int64_t *index;      /* where they are among all samples */
    double *factors, *root, *weights, *k;
    int64_t count, readouts; /* readouts: 1 where they are no whole ones */
} indices;

LMR_FREES(free_indices, indices, index, factors, root, weights, k)

/* All samples, readout by readout. */
typedef struct choice {
    const double *factors, *k, *weights; /* weights: or NULL */
    int64_t nd, samples, readouts;
    int64_t *first; /* [readouts + 1] of the samples held out, the first one of each readout */
    indices *held;
} choice;

static void count_held(void *self, int64_t readout)
{
    const choice *c = self;
    const double *f = c->factors + readout * c->samples;
    int64_t count = 0;
    for (int64_t i = 0; i < c->samples; i++) count += f[i] > 0;
    c->first[readout + 1] = count;
}

static void take_held(void *self, int64_t readout)
{
    const choice *c = self;
    indices *h = c->held;
    int64_t j = c->first[readout];
    for (int64_t i = readout * c->samples; i < (readout + 1) * c->samples; i++) {
        const double f = c->factors[i];
        if (!(f > 0)) continue;
        h->index[j] = i;
        h->factors[j] = f;
        h->root[j] = sqrt(f);
        h->weights[j] = f * (c->weights ? c->weights[i] : 1);
        memcpy(h->k + j * c->nd, c->k + i * c->nd, (size_t)c->nd * sizeof *h->k);
        j++;
    }
}

/* Counts become places. Whole readouts keep their shape, which tells what their trajectory is. */
static void lay_out(const choice *c)
{
    int is_whole = 1;
    int64_t whole = 0;
    for (int64_t r = 0; r < c->readouts; r++) {
        const int64_t count = c->first[r + 1];
        is_whole &= !count || count == c->samples;
        whole += count > 0;
        c->first[r + 1] += c->first[r];
    }
    c->held->count = c->first[c->readouts];
    c->held->readouts = is_whole ? whole : 1;
}

static larmor_status find_held(const larmor_sense_opts *sense, const larmor_array *factors, indices *h)
{
    const int threads = lmr_device_threads(factors->dev);
    const larmor_shape shape = factors->shape;
    const int64_t nd = sense->traj->shape.dim[0], readouts = larmor_shape_count(shape) / shape.dim[0];
    LMR_HEAP double *w = NULL;
    LMR_OWN_MEMORY(double, f, larmor_array_download(factors, LARMOR_F64, &f));
    LMR_OWN_MEMORY(double, k, larmor_array_download(sense->traj, LARMOR_F64, &k));
    if (sense->weights) LMR_TRY(larmor_array_download(sense->weights, LARMOR_F64, &w));
    LMR_HEAP LMR_NEW_ZEROS(int64_t, first, readouts + 1);
    choice c = {f, k, w, nd, shape.dim[0], readouts, first, h};
    LMR_TRY(lmr_parallel(threads, readouts, count_held, &c));
    lay_out(&c);
    const size_t room = sizeof(double) * (size_t)h->count + 1;
    h->index = malloc(room);
    h->factors = malloc(room);
    h->root = malloc(room);
    h->weights = malloc(room);
    h->k = malloc((size_t)nd * room);
    if (!h->index || !h->factors || !h->root || !h->weights || !h->k) return LMR_NO_MEMORY();
    return lmr_parallel(threads, readouts, take_held, &c);
}

/* The samples held out of all coils, times the roots of their factors. */
static larmor_status gather(const indices *h, const void *index, const larmor_array *root, const larmor_array *from,
                            larmor_shape shape, larmor_array **to)
{
    const lmr_recon_kernels *kernels;
    const int64_t coils = shape.dim[shape.ndim - 1], samples = larmor_array_count(from) / coils;
    LMR_TRY(lmr_recon_kernels_of(from->dev, from->dtype, &kernels));
    LMR_TRY(larmor_array_create(from->dev, from->dtype, shape, to));
    return kernels->gather(from->dev->ctx, samples, h->count, coils, index, root->data, from->data, (*to)->data);
}

static larmor_status gather_both(const indices *h, const larmor_array *b, const larmor_array *noise,
                                 larmor_shape shape, larmor_held_part *part)
{
    const larmor_shape points = LARMOR_SHAPE(h->count);
    LMR_OWN(larmor_array, root, larmor_array_upload(b->dev, LARMOR_F64, points, LARMOR_F64, h->root, &root));
    LMR_OWN(larmor_array, index, larmor_array_upload(b->dev, LARMOR_I64, points, LARMOR_I64, h->index, &index));
    LMR_TRY(gather(h, index->data, root, b, shape, &part->b));
    return noise ? gather(h, index->data, root, noise, shape, &part->noise) : LARMOR_OK;
}

static larmor_status check(const larmor_array *maps, const larmor_sense_opts *sense, const larmor_array *b,
                           const larmor_held_out *held)
{
    LMR_REFUSE(!maps || !sense || !sense->traj || !b || !held || !held->factors, LARMOR_ERR_ARG,
               "hold part: maps, a trajectory, samples and the factors of those that are held "
               "out are needed");
    LMR_REFUSE(sense->off_resonance || sense->displacement, LARMOR_ERR_ARG,
               "hold part: samples have off-resonance or a displacement, expected neither");
    LMR_REFUSE(sense->traj->shape.ndim != 3 || b->shape.ndim != 3, LARMOR_ERR_SHAPE,
               "hold part: the trajectory is %s and samples are %s, expected [nd, samples, "
               "readouts] and [samples, readouts, coils]",
               lmr_describe(sense->traj).s, lmr_describe(b).s);
    const larmor_shape samples = lmr_weights_shape(sense->traj);
    const larmor_shape all = larmor_shape_append(samples, b->shape.dim[2]);
    LMR_TRY(lmr_expect("hold part", "factors", held->factors, b->dev, LARMOR_F64, samples));
    LMR_TRY(lmr_expect("hold part", "samples", b, sense->traj->dev, b->dtype, all));
    if (sense->weights)
        LMR_TRY(lmr_expect("hold part", "weights", sense->weights, b->dev, sense->weights->dtype, samples));
    return held->noise ? lmr_expect("hold part", "noise", held->noise, b->dev, b->dtype, all) : LARMOR_OK;
}

static larmor_status make(larmor_array *maps, const larmor_sense_opts *sense, const indices *h, const larmor_array *b,
                          const larmor_array *noise, larmor_held_part *part)
{
    LMR_OWNED(larmor_array) *traj = NULL, *weights = NULL;
    larmor_device *dev = b->dev;
    const larmor_shape own = LARMOR_SHAPE(h->count / h->readouts, h->readouts);
    const larmor_shape points = LARMOR_SHAPE(sense->traj->shape.dim[0], own.dim[0], own.dim[1]);
    larmor_sense_opts opts = *sense;
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, points, LARMOR_F64, h->k, &traj));
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, own, LARMOR_F64, h->weights, &weights));
    opts.traj = traj;
    opts.weights = weights;
    opts.toeplitz = -1;
    LMR_TRY(larmor_op_sense(maps, &opts, &part->A));
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, own, LARMOR_F64, h->factors, &part->factors));
    return gather_both(h, b, noise, larmor_op_out_shape(part->A), part);
}

larmor_status larmor_hold_part(larmor_array *maps, const larmor_sense_opts *sense, const larmor_array *b,
                               const larmor_held_out *held, larmor_held_part *part)
{
    LMR_FREED_BY(free_indices) indices h = {.count = 0};
    LMR_NEED(part);
    *part = (larmor_held_part){.A = NULL};
    LMR_TRY(check(maps, sense, b, held));
    LMR_TRY(find_held(sense, held->factors, &h));
    const larmor_status st = h.count ? make(maps, sense, &h, b, held->noise, part) : LARMOR_OK;
    if (st) larmor_held_part_free(part);
    return st;
}

void larmor_held_part_free(larmor_held_part *part)
{
    if (!part) return;
    LMR_FREE(part->A, part->b, part->noise, part->factors);
    *part = (larmor_held_part){.A = NULL};
}
