/* The level of the noise from the data themselves. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "core/ranks/ranks.h"
#include "recon/inputs.h"

/* The outer samples of k-space, where there is the least signal: those beyond this part of the largest |k|, or
 * further in by this step at a time where readouts have too few of them. */
#define OUTER_RADIUS 0.9
#define OUTER_RADIUS_STEP 0.1

/* Differences of samples beside each other: of the third order, 1 -3 3 -1; of the eighth where readouts are
 * oversampled, at steps of so many cycles per field of view. An object within the field of view is then within a
 * part of what the steps resolve, and the noise beyond it remains: of the voxel at its edge 1/16 of the signal
 * passes at a half, where the third order lets a third pass. Their weights are binomial coefficients. */
#define OVERSAMPLED_STEP 0.6
enum { ORDER = 3, OVERSAMPLED_ORDER = 8, MOST_ORDER = 8 };
/* At most so many differences a coil, and at least about so many; steps that are looked at. */
enum { MOST = 1 << 17, LEAST = 400, LOOKED_AT = 4096 };

/* weight[0] .. weight[order]: of samples in a difference of this order. The sum of their squares is returned. */
static double weights_of(int order, float weight[MOST_ORDER + 1])
{
    double binomial = 1, squares = 0;
    for (int i = 0; i <= order; i++) {
        weight[i] = (float)(i % 2 ? -binomial : binomial);
        squares += binomial * binomial;
        binomial = binomial * (order - i) / (i + 1);
    }
    return squares;
}

/* The deviation of normal numbers whose differences these are, by their median: few large ones do not matter.
 * squares: of the weights. */
static double deviation_of(int64_t count, float *differences, double squares)
{
    const double median_of_normal = 0.67448975;
    return lmr_median_f32(differences, count) / median_of_normal / sqrt(squares);
}

static double squared_radius(const double *k, int nd)
{
    double square = 0;
    for (int d = 0; d < nd; d++) square += k[d] * k[d];
    return square;
}

/* The points of a trajectory, and what is found of each readout's. */
typedef struct points {
    const double *k; /* [nd, samples, readouts] */
    int nd;
    int64_t samples, readouts;
    int order; /* of the differences */
    int threads;
    double *most; /* [readouts] the largest |k|^2 */
    double limit; /* of |k|^2, for those that count */
    int64_t
        *before;    /* [readouts + 1] runs of the readouts before it, those of the ranks before this one among them */
    int64_t step;   /* of the runs of all ranks, whose numbers are its multiples are used */
    int64_t *first; /* [used] sample that a run begins with */
    int64_t unused_yet; /* the first run here that is used, as a multiple of step */
} points;

static void find_most(void *self, int64_t readout)
{
    points *p = self;
    double most = 0;
    for (int64_t i = readout * p->samples; i < (readout + 1) * p->samples; i++) {
        const double square = squared_radius(p->k + i * p->nd, p->nd);
        most = square > most ? square : most;
    }
    p->most[readout] = most;
}

/* Runs of order + 1 samples of one readout whose |k|^2 is at least the limit, of which the first one has this
 * number: those that are used go to first (NULL: none does), and how many there are is returned. */
static int64_t runs_of(const points *p, int64_t readout, int64_t number, int64_t *first)
{
    int64_t inside = 0;
    const int64_t from = number;
    for (int64_t i = readout * p->samples; i < (readout + 1) * p->samples; i++) {
        inside = squared_radius(p->k + i * p->nd, p->nd) >= p->limit ? inside + 1 : 0;
        if (inside <= p->order) continue;
        if (first && number % p->step == 0) first[number / p->step - p->unused_yet] = i - p->order;
        number++;
    }
    return number - from;
}

static void count_runs(void *self, int64_t readout)
{
    points *p = self;
    p->before[readout + 1] = p->most[readout] >= p->limit ? runs_of(p, readout, 0, NULL) : 0;
}

static void use_runs(void *self, int64_t readout)
{
    points *p = self;
    if (p->before[readout + 1] > p->before[readout]) runs_of(p, readout, p->before[readout], p->first);
}

/* The usual |k| from a sample to the next. */
static float usual_step(const points *p)
{
    float steps[LOOKED_AT];
    int64_t count = 0;
    const int64_t all = p->samples * p->readouts, apart = 1 + all / LOOKED_AT;
    for (int64_t i = 0; i < all; i += apart) {
        if (i % p->samples + 1 == p->samples) continue;
        double square = 0;
        for (int d = 0; d < p->nd; d++) square += pow(p->k[(i + 1) * p->nd + d] - p->k[i * p->nd + d], 2);
        steps[count++] = (float)sqrt(square);
    }
    return count ? lmr_select_f32(steps, count, count / 2) : 1;
}

/* How many runs there are here, and on all ranks, where each has a part. */
static larmor_status outer_runs(larmor_ranks *ranks, points *p, int64_t *own, double *all)
{
    double most = 0;
    larmor_status st = lmr_parallel(p->threads, p->readouts, find_most, p);
    for (int64_t r = 0; r < p->readouts; r++) most = fmax(most, p->most[r]);
    LMR_TRY(lmr_ranks_most(ranks, &most));
    *all = 0;
    for (double part = OUTER_RADIUS; part > -OUTER_RADIUS_STEP / 2 && *all < LEAST; part -= OUTER_RADIUS_STEP) {
        p->limit = part * part * most;
        if (!st) st = lmr_parallel(p->threads, p->readouts, count_runs, p);
        *own = 0;
        for (int64_t r = 0; r < p->readouts; r++) *own += p->before[r + 1];
        double sum[2] = {(double)*own, 0};
        LMR_TRY(ranks ? lmr_ranks_total(ranks, st, sum) : st);
        *all = sum[0];
    }
    return LARMOR_OK;
}

/* Differences of one coil's samples y, run after run. Their count is returned. */
static int64_t differences_of(const float *y, int64_t runs, int order, const float *weight, float *differences)
{
    for (int64_t i = 0; i < 2 * runs; i++) {
        const float *at = y + 2 * (order + 1) * (i / 2) + i % 2;
        float sum = 0;
        for (int j = 0; j <= order; j++) sum += weight[j] * at[2 * j];
        differences[i] = fabsf(sum);
    }
    return 2 * runs;
}

/* Rank i's `count` differences behind the first *used of rank 0's. */
static larmor_status pass_differences(larmor_ranks *ranks, larmor_device *dev, int i, int64_t count, int64_t *used,
                                      float *differences)
{
    if (!count || (ranks->number && ranks->number != i)) return LARMOR_OK;
    float *own = ranks->number ? differences : differences + *used;
    LMR_OWN(larmor_array, pairs,
            larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(count / 2), LARMOR_C64, own, &pairs));
    LMR_TRY(lmr_ranks_pass(ranks, i, 0, pairs));
    if (ranks->number) return LARMOR_OK;
    *used += count;
    return larmor_array_read(pairs, own, larmor_array_bytes(pairs));
}

/* All ranks' differences to rank 0. own: how it went here before. */
static larmor_status gather(larmor_ranks *ranks, larmor_device *dev, larmor_status own, int64_t *used,
                            float *differences)
{
    const int64_t mine = *used;
    if (!ranks) return own;
    LMR_TRY(lmr_ranks_agree(ranks, own, NULL, NULL));
    for (int i = 1; i < ranks->count; i++) {
        double of_one[2] = {ranks->number == i ? (double)mine : 0, 0};
        LMR_TRY(lmr_ranks_total(ranks, LARMOR_OK, of_one));
        LMR_TRY(pass_differences(ranks, dev, i, (int64_t)of_one[0], used, differences));
    }
    return LARMOR_OK;
}

/* Where to work: the runs that are used, their samples of all coils, the differences of all ranks. */
typedef struct room {
    int64_t runs;
    float *y;
    float differences[MOST + 2];
} room;

static void free_room(room *w)
{
    LMR_FREE(w->y, w);
}

/* Of a large scan few samples are in runs that are used: they are gathered on the device. */
static larmor_status read_runs(room *w, const points *of, larmor_array *kspace)
{
    const int64_t each = of->order + 1, m = each * w->runs;
    LMR_OWNED(larmor_array) *index = NULL, *ones = NULL, *values = NULL;
    const lmr_recon_kernels *kernels;
    LMR_HEAP LMR_NEW(int64_t, at, m);
    for (int64_t i = 0; i < m; i++) at[i] = of->first[i / each] + i % each;
    LMR_TRY(lmr_recon_kernels_of(kspace->dev, kspace->dtype, &kernels));
    LMR_TRY(larmor_array_upload(kspace->dev, LARMOR_I64, LARMOR_SHAPE(m), LARMOR_I64, at, &index));
    LMR_TRY(larmor_array_create(kspace->dev, LARMOR_F64, LARMOR_SHAPE(m), &ones));
    LMR_TRY(larmor_fill(ones, 1));
    LMR_TRY(larmor_array_create(kspace->dev, kspace->dtype, LARMOR_SHAPE(m, kspace->shape.dim[2]), &values));
    LMR_TRY(kernels->gather(kspace->dev->ctx, of->samples * of->readouts, m, kspace->shape.dim[2], index->data,
                            ones->data, kspace->data, values->data));
    return larmor_array_download(values, LARMOR_C64, &w->y);
}

static larmor_status prepare(room *w, points *of, int64_t own, larmor_array *kspace)
{
    const int64_t end = of->before[of->readouts] + of->step - 1;
    of->unused_yet = (of->before[0] + of->step - 1) / of->step;
    w->runs = own ? end / of->step - of->unused_yet : 0;
    if (!w->runs) return LARMOR_OK;
    LMR_ALLOCATE(of->first, w->runs);
    LMR_TRY(lmr_parallel(of->threads, of->readouts, use_runs, of));
    return read_runs(w, of, kspace);
}

static larmor_status level_with(larmor_array *kspace, points *of, room *w, double *deviation)
{
    const int64_t coils = kspace->shape.dim[2];
    larmor_ranks *ranks = kspace->dev->whole;
    int64_t own, before = 0;
    double all, sum = 0, step = (double)usual_step(of);
    float weight[MOST_ORDER + 1];
    LMR_TRY(lmr_ranks_lead(ranks, &step));
    of->order = step <= OVERSAMPLED_STEP ? OVERSAMPLED_ORDER : ORDER;
    LMR_TRY(outer_runs(ranks, of, &own, &all));
    if (all == 0 && of->order > ORDER) { /* readouts are too short */
        of->order = ORDER;
        LMR_TRY(outer_runs(ranks, of, &own, &all));
    }
    const double squares = weights_of(of->order, weight);
    if (ranks) LMR_TRY(lmr_ranks_before(ranks, own, &before));
    of->before[0] = before;
    for (int64_t r = 0; r < of->readouts; r++) of->before[r + 1] += of->before[r];
    of->step = 1 + 2 * (int64_t)all / MOST;
    const larmor_status st = prepare(w, of, own, kspace);
    for (int64_t c = 0; c < coils; c++) {
        const float *y = w->runs && !st ? w->y + 2 * (of->order + 1) * w->runs * c : NULL;
        int64_t used = y ? differences_of(y, w->runs, of->order, weight, w->differences) : 0;
        LMR_TRY(gather(ranks, kspace->dev, st, &used, w->differences));
        if (used && !larmor_ranks_number(ranks)) sum += pow(deviation_of(used, w->differences, squares), 2);
    }
    *deviation = coils > 0 ? sqrt(sum / (double)coils) : 0;
    return lmr_ranks_lead(ranks, deviation);
}

static larmor_status level_of(larmor_array *kspace, const double *k, int nd, double *deviation)
{
    points of = {.k = k,
                 .nd = nd,
                 .samples = kspace->shape.dim[0],
                 .readouts = kspace->shape.dim[1],
                 .threads = lmr_device_threads(kspace->dev)};
    room *w = calloc(1, sizeof *w);
    of.most = lmr_new(of.readouts + 1, sizeof *of.most);
    of.before = lmr_new(of.readouts + 1, sizeof *of.before);
    larmor_status st = w && of.most && of.before ? LARMOR_OK : LMR_NO_MEMORY();
    if (!st) st = level_with(kspace, &of, w, deviation);
    LMR_FREE(of.first, of.before, of.most);
    if (w) free_room(w);
    return st;
}

larmor_status lmr_expect_readouts(const char *who, const larmor_array *kspace, const larmor_array *traj)
{
    LMR_REFUSE(!kspace || kspace->dtype != LARMOR_C64 || kspace->shape.ndim != 3, LARMOR_ERR_SHAPE,
               "%s: k-space is %s, expected c64 [samples, readouts, coils]", who,
               kspace ? lmr_describe(kspace).s : "missing");
    LMR_REFUSE(!traj || traj->shape.ndim != 3 || traj->shape.dim[1] != kspace->shape.dim[0] ||
                   traj->shape.dim[2] != kspace->shape.dim[1],
               LARMOR_ERR_SHAPE, "%s: trajectory is %s, expected real [nd, samples, readouts]", who,
               traj ? lmr_describe(traj).s : "missing");
    return LARMOR_OK;
}

larmor_status larmor_noise_level(larmor_array *kspace, const larmor_array *traj, double *deviation)
{
    LMR_NEED(deviation);
    *deviation = 0;
    LMR_TRY(lmr_expect_readouts("noise level", kspace, traj));
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    return level_of(kspace, k, (int)traj->shape.dim[0], deviation);
}
