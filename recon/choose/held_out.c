/* Samples that are held out of the data, to assess images. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "core/device.h"
#include "core/owned.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/select.h"
#include "recon/choose/choose.h"
#include "recon/inputs.h"
#include "recon/slabs/slabs.h"

#define MIN_DENSITY 0.03 /* of the mean density of samples: where they are thinner they count no more than there */

/* Of a readout, samples within this distance belong together, in 1 / FOV: nearer ones predict each other. */
#define CELL_SIDE 0.6
#define GRID_TOLERANCE 1e-3 /* 1/FOV: samples this near to each other, or to a whole number, are in one place */

/* One of RUN in a row is held out; whole readouts where there are so many that the others cover k-space without
 * it. */
enum { RUN = 10, MANY_READOUTS = 24 };

typedef struct points {
    const double *k; /* [nd, samples, readouts] */
    int nd;
    int64_t samples, readouts;
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
    uint64_t seed;
    int64_t before; /* readouts before these */
    double *kept, *factors;
} holding;

static void hold_readout(void *self, int64_t readout)
{
    const holding *h = self;
    const int held = is_held(h->before + readout, h->seed);
    const int64_t first = readout * h->p->samples;
    for (int64_t i = first; i < first + h->p->samples; i++) {
        h->factors[i] = held;
        if (held) h->kept[i] = 0;
    }
}

static larmor_status hold_readouts(const points *p, uint64_t seed, int64_t *part, double *kept, double *factors)
{
    holding h = {.p = p, .seed = seed, .before = *part, .kept = kept, .factors = factors};
    *part += p->readouts;
    return lmr_parallel(p->threads, p->readouts, hold_readout, &h);
}

static void hold_parts(const points *p, uint64_t seed, int64_t *part, double *kept, double *factors)
{
    int64_t now = *part - 1; /* a few samples of a readout */
    double way = 0;
    for (int64_t i = 0; i < p->samples * p->readouts; i++) {
        const int first = i % p->samples == 0;
        way = first ? 0 : way + step_to(p, i);
        if (first || way > CELL_SIDE - GRID_TOLERANCE) {
            now++;
            way = 0;
        }
        factors[i] = is_held(now, seed);
        if (factors[i] > 0) kept[i] = 0;
    }
    *part = now + 1;
}

/* Which samples are held out: kept <- 0, factors <- 1; of the others factors are 0. part: how many parts there are
 * before these points; becomes how many there are with them. */
static larmor_status hold_out(const points *p, int whole, uint64_t seed, int64_t *part, double *kept, double *factors)
{
    if (whole) return hold_readouts(p, seed, part, kept, factors);
    hold_parts(p, seed, part, kept, factors);
    return LARMOR_OK;
}

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
    LMR_HEAP double *density = NULL;
    LMR_TRY(larmor_array_download(c->eigenvalues, LARMOR_C128, &density));
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
    larmor_array *some = NULL;
    larmor_status st = ranks->number == i ? larmor_array_slice(d, own, lines, &some)
                                          : larmor_array_create(d->dev, d->dtype, shape, &some);
    *density = NULL;
    st = lmr_ranks_agree(ranks, st, NULL, NULL);
    if (!st) st = lmr_ranks_spread(ranks, i, some);
    if (!st) st = larmor_array_download(some, LARMOR_C128, density);
    larmor_array_free(some);
    return st;
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
            double *density;
            LMR_TRY(look_up(c, i, own, lines, &density));
            for (; next < count && held[next].value < (double)(first + lines * n2); next++)
                factors[held[next].index] = factor_of(c, density[2 * ((int64_t)held[next].value - first)]);
            free(density);
        }
    }
    return LARMOR_OK;
}

static larmor_status weigh_held_of_slabs(const points *p, const larmor_circulant *c, double *factors)
{
    int64_t count = 0;
    for (int64_t i = 0; i < p->samples * p->readouts; i++) count += factors[i] > 0;
    LMR_HEAP lmr_ranked *held = malloc(sizeof *held * (size_t)count + 1);
    if (!held) return LMR_NO_MEMORY();
    sort_held(p, c, factors, held);
    return weigh_sorted(c, held, count, factors);
}

/* Whether whole readouts are held out, and how many parts of readouts the ranks before this one have. */
static larmor_status parts_before(const points *p, larmor_ranks *ranks, uint64_t seed, double *kept, double *factors,
                                  int *whole, int64_t *part)
{
    double all[2] = {(double)p->readouts, !on_the_grid(p)};
    LMR_TRY(lmr_ranks_total(ranks, LARMOR_OK, all));
    *whole = all[0] >= MANY_READOUTS && all[1] > 0;
    *part = 0;
    LMR_TRY(hold_out(p, *whole, seed, part, kept, factors)); /* to count them */
    return lmr_ranks_before(ranks, *part, part);
}

static larmor_status hold_out_all(const points *p, const larmor_circulant *c, uint64_t seed, double *kept,
                                  double *factors)
{
    int whole = p->readouts >= MANY_READOUTS && !on_the_grid(p);
    int64_t part = 0;
    if (!c->slabs) {
        LMR_TRY(hold_out(p, whole, seed, &part, kept, factors));
        return weigh_held(p, c, factors);
    }
    LMR_HEAP double *unused = malloc(sizeof *unused * (size_t)(p->samples * p->readouts) + 1);
    if (!unused) return LMR_NO_MEMORY();
    LMR_TRY(parts_before(p, c->slabs->transpose.ranks, seed, unused, factors, &whole, &part));
    LMR_TRY(hold_out(p, whole, seed, &part, kept, factors));
    return weigh_held_of_slabs(p, c, factors);
}

larmor_status larmor_hold_out(const larmor_array *traj, const larmor_array *weights, const larmor_circulant *C,
                              uint64_t seed, larmor_array **kept, larmor_array **factors)
{
    LMR_NEED(kept);
    LMR_NEED(factors);
    *kept = *factors = NULL;
    if (!C) return LMR_FAIL(LARMOR_ERR_ARG, "hold out: a circulant is needed");
    LMR_OWNED(larmor_array) *points_array = NULL, *own = NULL;
    double *k = NULL, *keep = NULL, *count = NULL;
    larmor_status st;
    LMR_OR(done, lmr_input_traj("hold out", traj, C->image, &points_array));
    const larmor_shape shape = lmr_weights_shape(points_array);
    LMR_OR(done, larmor_array_create(traj->dev, LARMOR_F64, shape, kept));
    LMR_OR(done, larmor_array_create(traj->dev, LARMOR_F64, shape, factors));
    if (weights) {
        LMR_OR(done, lmr_expect("hold out", "weights", weights, traj->dev, weights->dtype, shape));
        LMR_OR(done, lmr_input_real("hold out", "weights", weights, &own));
    } else {
        LMR_OR(done, larmor_fill(*kept, 1));
    }
    LMR_OR(done, larmor_array_download(points_array, LARMOR_F64, &k));
    LMR_OR(done, larmor_array_download(own ? own : *kept, LARMOR_F64, &keep));
    LMR_OR(done, larmor_array_download(*factors, LARMOR_F64, &count));
    const points p = {k, (int)traj->shape.dim[0], shape.dim[0], shape.ndim > 1 ? shape.dim[1] : 1,
                      lmr_device_threads(traj->dev)};
    LMR_OR(done, hold_out_all(&p, C, seed, keep, count));
    LMR_OR(done, larmor_array_write(*kept, keep, larmor_array_bytes(*kept)));
    st = larmor_array_write(*factors, count, larmor_array_bytes(*factors));
done:
    free(k);
    free(keep);
    free(count);
    if (st) {
        larmor_array_free(*kept);
        larmor_array_free(*factors);
        *kept = *factors = NULL;
    }
    return st;
}
