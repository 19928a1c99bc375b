/* Samples that are held out of the data, to assess images. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/choose/choose.h"
#include "recon/inputs.h"
#include "recon/slabs/slabs.h"

#define MIN_DENSITY 0.03 /* of the mean density of samples: where they are thinner they count no more than there */

/* Of a readout, samples within this distance belong together, in 1 / FOV: nearer ones predict each other. */
#define CELL_SIDE 0.6
#define GRID_TOLERANCE 1e-3 /* 1/FOV: samples this near to each other, or to a whole number, are in one place */
/* 1/FOV: readouts all of whose samples are this near to each other's are held out together. Of 0.1, 0.25, 0.4 and 0.6
 * the one of the least error over bins and images of 11 scans at SNR 5, 20 and 50 (docs/records/choosing.md). */
#define REPEAT_SIDE 0.25

/* One of RUN in a row is held out; whole readouts where there are so many that the others cover k-space without
 * it. What repeats a readout is held out as it is, or it would tell what that has measured: then a tenth of few that
 * differ would be too few to go by, and parts of each are held out. Where fewer than half repeat others, and on a
 * grid, that gained nothing (docs/records/choosing.md). */
enum { RUN = 10, MANY_READOUTS = 24 };

typedef struct points {
    const double *k; /* [nd, samples, readouts] */
    int nd;
    int64_t samples, readouts;
    larmor_device *dev;
    larmor_ranks *ranks; /* that have the other readouts; NULL: there are none */
    int threads;
} points;

static int on_the_grid(const points *p)
{
    for (int64_t i = 0; i < p->samples * p->readouts * p->nd; i++)
        if (fabs(p->k[i] - nearbyint(p->k[i])) > GRID_TOLERANCE) return 0;
    return 1;
}

static int is_held(int64_t index, uint64_t seed)
{
    return index % RUN == (int64_t)(lmr_random_bits(seed, (uint64_t)(index / RUN)) % RUN);
}

/* The cell of k-space that a point is in, in the FFT's order. */
static int64_t cell_of(const double *k, int nd, larmor_shape image)
{
    int64_t cell = 0;
    for (int d = nd - 1; d >= 0; d--) {
        const int64_t n = image.dim[d], at = (int64_t)nearbyint(k[d]) % n;
        cell = cell * n + (at < 0 ? at + n : at);
    }
    return cell;
}

/* The way from sample i - 1 to i. */
static double step_to(const points *p, int64_t i)
{
    double square = 0;
    for (int d = 0; d < p->nd; d++) square += pow(p->k[i * p->nd + d] - p->k[(i - 1) * p->nd + d], 2);
    return sqrt(square);
}

/* Work on the readouts of points, each by itself. */
typedef struct holding {
    const points *p;
    const larmor_circulant *circulant;
    const double *density; /* of its cells, complex */
    double *factors;
} holding;

static int64_t within(int64_t i, int64_t low, int64_t high)
{
    if (i < low) return low;
    return i < high ? i : high;
}

/* Ways to take a readout: as it is, or from its end, from the last sample, one before it or one behind it on:
 * spokes through the centre often have a sample more on one side. */
enum { AS_IT_IS, WAYS = 4 };

/* The number of sample j of a readout that is taken in a way; it may be one beyond the ends. */
static int64_t sample_of(const points *p, int way, int64_t j)
{
    static const int behind_last[WAYS] = {[1] = 0, [2] = -1, [3] = 1};
    return way == AS_IT_IS ? j : p->samples - 1 + behind_last[way] - j;
}

/* The parts of a readout: a few samples each, or all of them, counted in the way in which it is taken. Returns how
 * many; factors of those that are held out become 1, of the others 0, where they are asked for. part: the number of
 * the first one. */
static int64_t divide(const points *p, int64_t readout, int way, int whole, int64_t part, uint64_t seed,
                      double *factors)
{
    const int64_t begin = readout * p->samples;
    const int64_t beside = way == AS_IT_IS ? 0 : 1; /* samples that the first readout does not have */
    int64_t parts = 0;
    double length = 0;
    for (int64_t j = -beside; j < p->samples + beside; j++) {
        const int64_t i = sample_of(p, way, j);
        const int64_t later = within(way == AS_IT_IS ? i : i + 1, 1, p->samples - 1);
        length = j <= 0 || whole || p->samples < 2 ? 0 : length + step_to(p, begin + later);
        if (length > CELL_SIDE - GRID_TOLERANCE) {
            parts += j < p->samples;
            length = 0;
        }
        if (factors && i >= 0 && i < p->samples) factors[begin + i] = is_held(part + parts, seed);
    }
    return parts + 1;
}

/* ---- readouts of all ranks ---- */

enum { PROBES = 8 }; /* samples of a readout that stand for all of them */

/* Numbers, 2 `each` for each readout of this rank, followed by those of the other ranks; to be freed. */
static larmor_status gather(const points *p, int64_t before, int64_t all, int64_t each, const double *own,
                            double **numbers)
{
    const size_t bytes = (size_t)(2 * each) * sizeof **numbers;
    LMR_OWNED(larmor_array) *sum = NULL;
    *numbers = calloc((size_t)all * bytes + 1, 1);
    larmor_status st = *numbers ? LARMOR_OK : LMR_NO_MEMORY();
    if (!st) memcpy(*numbers + 2 * each * before, own, (size_t)p->readouts * bytes);
    if (!p->ranks) return st;
    const larmor_shape shape = LARMOR_SHAPE(each * all);
    if (!st) st = larmor_array_upload(p->dev, LARMOR_C128, shape, LARMOR_C128, *numbers, &sum);
    LMR_TRY(lmr_ranks_agree(p->ranks, st, NULL, NULL));
    LMR_TRY(lmr_ranks_sum(p->ranks, 0, sum));
    LMR_TRY(lmr_ranks_broadcast(p->ranks, sum));
    return larmor_array_read(sum, *numbers, larmor_array_bytes(sum));
}

/* Sample i of a readout, from -1 to samples: straight on beyond its ends. */
static void copy_sample(const points *p, int64_t readout, int64_t i, double *to)
{
    const int64_t last = p->samples - 1;
    const int64_t at = within(i, 0, last);
    const int64_t inner = within(2 * at - i, 0, last);
    const double *k = p->k + readout * p->samples * p->nd;
    for (int d = 0; d < p->nd; d++) to[d] = 2 * k[at * p->nd + d] - k[inner * p->nd + d];
}

/* For each readout of all ranks the first one that is nearly the same in some way, and how many differ, up to more
 * than half of them: the rest is not looked at then. */
static larmor_status find_first(const points *p, int64_t before, int64_t all, int64_t *first, int *way,
                                int64_t *distinct)
{
    enum { EACH = WAYS * PROBES };
    LMR_HEAP double *own = calloc((size_t)(p->readouts * EACH * p->nd) + 1, sizeof *own);
    LMR_HEAP double *probes = NULL;
    const larmor_status st = own ? LARMOR_OK : LMR_NO_MEMORY();
    if (p->ranks) LMR_TRY(lmr_ranks_agree(p->ranks, st, NULL, NULL));
    LMR_TRY(st);
    for (int64_t r = 0; r < p->readouts && p->samples > 0; r++)
        for (int64_t i = 0; i < EACH; i++) {
            const int64_t j = i % PROBES * (p->samples - 1) / (PROBES - 1);
            copy_sample(p, r, sample_of(p, (int)(i / PROBES), j), own + (r * EACH + i) * p->nd);
        }
    if (p->ranks) LMR_TRY(gather(p, before, all, EACH * p->nd / 2, own, &probes));
    return lmr_find_repeats(probes ? probes : own, p->nd, PROBES, WAYS, all, REPEAT_SIDE, all / 2, first, way,
                            distinct);
}

typedef struct counting {
    const points *p;
    int whole;
    double *own; /* of each readout its parts, and 0 */
} counting;

static void count_parts(void *self, int64_t readout)
{
    const counting *c = self;
    c->own[2 * readout] = (double)divide(c->p, readout, AS_IT_IS, c->whole, 0, 0, NULL);
}

/* The number of the first part of each readout of this rank: those that are nearly the same have the same. */
static larmor_status number_parts(const points *p, int64_t before, int64_t all, const int64_t *first, int whole,
                                  int64_t *number)
{
    LMR_HEAP double *own = calloc((size_t)(2 * p->readouts) + 1, sizeof *own);
    LMR_HEAP int64_t *begin = calloc((size_t)all + 1, sizeof *begin);
    larmor_status st = own && begin ? LARMOR_OK : LMR_NO_MEMORY();
    if (!st) st = lmr_parallel(p->threads, p->readouts, count_parts, &(counting){p, whole, own});
    if (p->ranks) LMR_TRY(lmr_ranks_agree(p->ranks, st, NULL, NULL));
    LMR_TRY(st);
    LMR_OWN_MEMORY(double, parts, gather(p, before, all, 1, own, &parts));
    for (int64_t r = 0, next = 0; r < all; r++) {
        begin[r] = first[r] == r ? next : begin[first[r]];
        if (first[r] == r) next += (int64_t)parts[2 * r];
    }
    memcpy(number, begin + before, (size_t)p->readouts * sizeof *number);
    return LARMOR_OK;
}

typedef struct division {
    const points *p;
    const int64_t *number; /* of the first part of each readout */
    const int *way;        /* of each readout */
    int whole;
    uint64_t seed;
    double *kept, *factors;
} division;

static void divide_one(void *self, int64_t readout)
{
    const division *d = self;
    const int64_t samples = d->p->samples;
    divide(d->p, readout, d->way[readout], d->whole, d->number[readout], d->seed, d->factors);
    for (int64_t i = readout * samples; i < (readout + 1) * samples; i++)
        if (d->factors[i] > 0) d->kept[i] = 0;
}

/* Which samples are held out: kept <- 0, factors <- 1; of the others factors are 0. */
static larmor_status hold_out(const points *p, uint64_t seed, double *kept, double *factors)
{
    double all[2] = {(double)p->readouts, !on_the_grid(p)};
    int64_t before = 0, distinct = 0;
    if (p->ranks) LMR_TRY(lmr_ranks_total(p->ranks, LARMOR_OK, all));
    if (p->ranks) LMR_TRY(lmr_ranks_before(p->ranks, p->readouts, &before));
    const int64_t count = (int64_t)all[0];
    LMR_HEAP int64_t *first = calloc((size_t)count + 1, sizeof *first);
    LMR_HEAP int64_t *number = calloc((size_t)p->readouts + 1, sizeof *number);
    LMR_HEAP int *way = calloc((size_t)count + 1, sizeof *way);
    const larmor_status st = first && number && way ? LARMOR_OK : LMR_NO_MEMORY();
    if (p->ranks) LMR_TRY(lmr_ranks_agree(p->ranks, st, NULL, NULL));
    LMR_TRY(st);
    const int is_grid = !(all[1] > 0);
    if (!is_grid) LMR_TRY(find_first(p, before, count, first, way, &distinct));
    const int repeats = !is_grid && 2 * distinct <= count;
    for (int64_t r = 0; r < count && !repeats; r++) {
        first[r] = r;
        way[r] = AS_IT_IS;
    }
    const int whole = !is_grid && !repeats && count >= MANY_READOUTS;
    LMR_TRY(number_parts(p, before, count, first, whole, number));
    division d = {.p = p,
                  .number = number,
                  .way = way + before,
                  .whole = whole,
                  .seed = seed,
                  .kept = kept,
                  .factors = factors};
    return lmr_parallel(p->threads, p->readouts, divide_one, &d);
}

/* ---- factors ---- */

static double factor_of(const larmor_circulant *c, double density)
{
    return 1 / fmax(c->mean > 0 ? MIN_DENSITY * c->mean : 1, density);
}

static void weigh_readout(void *self, int64_t readout)
{
    const holding *h = self;
    const points *p = h->p;
    const larmor_circulant *c = h->circulant;
    const int64_t first = readout * p->samples;
    for (int64_t i = first; i < first + p->samples; i++)
        if (h->factors[i] > 0)
            h->factors[i] = factor_of(c, h->density[2 * cell_of(p->k + i * p->nd, p->nd, c->image)]);
}

static larmor_status weigh_held(const points *p, const larmor_circulant *c, double *factors)
{
    LMR_OWN_MEMORY(double, density, larmor_array_download(c->eigenvalues, LARMOR_C128, &density));
    holding h = {.p = p, .circulant = c, .density = density, .factors = factors};
    return lmr_parallel(p->threads, p->readouts, weigh_readout, &h);
}

/* ---- where each rank has a slab, and some of the readouts ---- */

enum { LINES = 256 }; /* that all ranks look at, at a time */

/* Which of the held samples are in which cell of the volume; ascending cells, line by line of the last axis, as
 * eigenvalues in slabs lie. */
static void sort_held(const points *p, const larmor_circulant *c, const double *factors, lmr_ranked *held)
{
    const lmr_slab_fft *f = c->slabs;
    const larmor_shape volume = larmor_shape_of(3, f->n);
    const int64_t side = f->n[0] * f->n[1];
    int64_t count = 0;
    for (int64_t i = 0; i < p->samples * p->readouts; i++) {
        if (!(factors[i] > 0)) continue;
        const int64_t cell = cell_of(p->k + i * p->nd, p->nd, volume);
        held[count++] = (lmr_ranked){(double)(cell % side * f->n[2] + cell / side), i};
    }
    lmr_sort_ranked(held, count);
}

/* Eigenvalues of `lines` of rank i's lines, from its line `own` on, to all; density gets them. */
static larmor_status look_up(const larmor_circulant *c, int i, int64_t own, int64_t lines, double **density)
{
    larmor_ranks *ranks = c->slabs->transpose.ranks;
    const larmor_array *d = c->eigenvalues;
    const larmor_shape shape = LARMOR_SHAPE(c->slabs->n[2], 1, lines);
    LMR_OWNED(larmor_array) *some = NULL;
    const larmor_status st = ranks->number == i ? larmor_array_slice(d, own, lines, &some)
                                                : larmor_array_create(d->dev, d->dtype, shape, &some);
    *density = NULL;
    LMR_TRY(lmr_ranks_agree(ranks, st, NULL, NULL));
    LMR_TRY(lmr_ranks_spread(ranks, i, some));
    return larmor_array_download(some, LARMOR_C128, density);
}

static larmor_status weigh_sorted(const larmor_circulant *c, const lmr_ranked *held, int64_t count, double *factors)
{
    const lmr_slab_transpose *transpose = &c->slabs->transpose;
    const int64_t n2 = c->slabs->n[2];
    int64_t next = 0, before;
    for (int i = 0; i < transpose->ranks->count; i++) {
        const int64_t all = lmr_slab_share(transpose->side, transpose->ranks->count, i, &before);
        for (int64_t own = 0; own < all; own += LINES) {
            const int64_t first = (before + own) * n2;
            const int64_t lines = all - own < LINES ? all - own : LINES;
            LMR_OWN_MEMORY(double, density, look_up(c, i, own, lines, &density));
            for (; next < count && held[next].value < (double)(first + lines * n2); next++)
                factors[held[next].index] = factor_of(c, density[2 * ((int64_t)held[next].value - first)]);
        }
    }
    return LARMOR_OK;
}

static larmor_status weigh_held_of_slabs(const points *p, const larmor_circulant *c, double *factors)
{
    int64_t count = 0;
    for (int64_t i = 0; i < p->samples * p->readouts; i++) count += factors[i] > 0;
    LMR_HEAP LMR_NEW(lmr_ranked, held, count);
    sort_held(p, c, factors, held);
    return weigh_sorted(c, held, count, factors);
}

larmor_status larmor_hold_out(const larmor_array *traj, const larmor_array *weights, const larmor_circulant *C,
                              uint64_t seed, larmor_array **kept, larmor_array **factors)
{
    LMR_NEED(kept, factors);
    *kept = *factors = NULL;
    LMR_REFUSE(!C, LARMOR_ERR_ARG, "hold out: a circulant is needed");
    LMR_OWNED(larmor_array) *own = NULL;
    LMR_OWN(larmor_array, points_array, lmr_input_traj("hold out", traj, C->image, &points_array));
    const larmor_shape shape = lmr_weights_shape(points_array);
    LMR_OWN(larmor_array, made, larmor_array_create(traj->dev, LARMOR_F64, shape, &made));
    LMR_OWN(larmor_array, of_made, larmor_array_create(traj->dev, LARMOR_F64, shape, &of_made));
    if (weights) {
        LMR_TRY(lmr_expect("hold out", "weights", weights, traj->dev, weights->dtype, shape));
        LMR_TRY(lmr_input_real("hold out", "weights", weights, &own));
    } else {
        LMR_TRY(larmor_fill(made, 1));
    }
    LMR_OWN_MEMORY(double, k, larmor_array_download(points_array, LARMOR_F64, &k));
    LMR_OWN_MEMORY(double, keep, larmor_array_download(own ? own : made, LARMOR_F64, &keep));
    LMR_OWN_MEMORY(double, count, larmor_array_download(of_made, LARMOR_F64, &count));
    const points p = {.k = k,
                      .nd = (int)traj->shape.dim[0],
                      .samples = shape.dim[0],
                      .readouts = shape.ndim > 1 ? shape.dim[1] : 1,
                      .dev = traj->dev,
                      .ranks = C->slabs ? C->slabs->transpose.ranks : NULL,
                      .threads = lmr_device_threads(traj->dev)};
    LMR_TRY(hold_out(&p, seed, keep, count));
    LMR_TRY(C->slabs ? weigh_held_of_slabs(&p, C, count) : weigh_held(&p, C, count));
    LMR_TRY(larmor_array_write(made, keep, larmor_array_bytes(made)));
    LMR_TRY(larmor_array_write(of_made, count, larmor_array_bytes(of_made)));
    LMR_HAND_ON(*kept, made);
    return LMR_HAND_ON(*factors, of_made);
}
