/* Delays from where the echo of each readout is: coarse, but whatever their size, and with nothing to begin from.
 *
 * Along a spoke of direction u the signal is strongest where it passes the centre of k-space, c from where that is
 * meant if the object has a linear phase. Under delays S sample i is at k_i - S d, so that the echo is where k u =
 * c u + (S d) u: one equation for S and c for each spoke. It does not depend on how far spokes miss the centre, which
 * intersections do.
 *
 * Source: Block, Uecker, Proc. ISMRM 19, 2816 (2011), who use opposite spokes. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/gradients/minimise.h"
#include "recon/gradients/spokes.h"

enum { NUMBERS = LMR_ECHO_NUMBERS };

enum {
    MOST_ECHOES = 64, /* readouts: seven for each of nine numbers */
    PASSES = 12,      /* of reweighting, at most */
};

/* Radius (1/FOV) within which echoes are searched: beyond any delay (max_shift of delays.c). */
static const double max_radius = 12;
/* Minimum extent of a readout on each side of its echo (1/FOV). Not measured. */
static const double min_side = 1;

/* Ridges of the least squares, relative to the largest element of the diagonal: the centre is nearer to 0 than
 * delays. */
static const double ridge_of_delays = 1e-4;
static const double ridge_of_centre = 1e-2;

/* Maximum distance (1/FOV) between a measured and a predicted echo. */
static const double max_residual = 0.8;

/* Residuals (1/FOV) count as this in their mean at most: those of readouts without an echo are arbitrary. */
static const double max_counted_residual = 2;

/* ---- the echo of a readout ---- */

/* The samples around the readout's one that is nearest to the centre, as far as they are within reach. */
static void find_range(const lmr_spokes *s, const lmr_spoke *p, int64_t *first, int64_t *count)
{
    const double *k = s->k + s->nd * s->samples * p->readout;
    int64_t begin = p->first, end = p->first + 1;
    while (begin > 0 && lmr_dot(s->nd, k + s->nd * (begin - 1), k + s->nd * (begin - 1)) < max_radius * max_radius)
        begin--;
    while (end < s->samples && lmr_dot(s->nd, k + s->nd * end, k + s->nd * end) < max_radius * max_radius) end++;
    *first = begin;
    *count = end - begin;
}

/* The mean place of the samples' squared energy, from the first one on. */
static double middle_of(const lmr_complex_samples *x, int64_t at, int64_t count)
{
    double sum = 0, weighted = 0;
    for (int64_t i = 0; i < count; i++) {
        double energy = 0;
        for (int64_t c = 0; c < x->coils; c++) {
            const double *y = x->value + 2 * (x->total * c + at + i);
            energy += y[0] * y[0] + y[1] * y[1];
        }
        sum += energy * energy;
        weighted += energy * energy * (double)i;
    }
    return sum > 0 ? weighted / sum : -1;
}

/* The equation of an echo at `middle` of a range; 0 if it is at an end. */
static int make_echo(const lmr_spokes *s, const lmr_spoke *p, int64_t first, int64_t count, double middle,
                     lmr_echo *echo)
{
    static const double none[LMR_DELAYS] = {0};
    const int nd = s->nd;
    const double size = sqrt(lmr_dot(nd, p->step, p->step));
    if (!(fmin(middle, (double)(count - 1) - middle) * size > min_side)) return 0;
    const double *k = s->k + nd * s->samples * p->readout;
    const int64_t below = first + (int64_t)middle;
    const double part = middle - floor(middle);
    double along[3], place[3], slope[3 * LMR_DELAYS];
    lmr_delay_place(k, nd, s->samples, below, none, s->fov, place, slope);
    memset(echo, 0, sizeof *echo);
    for (int d = 0; d < nd; d++) {
        along[d] = p->step[d] / size;
        const double here = k[nd * below + d], next = k[nd * (below + 1) + d];
        echo->along += along[d] * (here + part * (next - here));
        echo->row[LMR_DELAYS + d] = along[d];
    }
    for (int e = 0; e < LMR_DELAYS; e++) echo->row[e] = -lmr_dot(nd, along, slope + nd * e);
    return 1;
}

/* ---- all of them ---- */

static larmor_status make_echoes(lmr_spokes *s, const larmor_array *kspace, const lmr_spoke *spoke, int64_t count)
{
    LMR_HEAP LMR_NEW(int64_t, first, 2 * count);
    int64_t *const length = first + count, total = 0;
    lmr_complex_samples x = {0};
    for (int64_t i = 0; i < count; i++) {
        find_range(s, &spoke[i], &first[i], &length[i]);
        total += length[i];
    }
    LMR_HEAP LMR_NEW(int64_t, index, total);
    LMR_ALLOCATE(s->echo, count);
    for (int64_t i = 0, at = 0; i < count; at += length[i++])
        for (int64_t j = 0; j < length[i]; j++) index[at + j] = s->samples * spoke[i].readout + first[i] + j;
    LMR_TRY(lmr_spokes_fetch(s, kspace, index, total, &x));
    for (int64_t i = 0, at = 0; i < count; at += length[i++]) {
        const double middle = middle_of(&x, at, length[i]);
        s->echoes += make_echo(s, &spoke[i], first[i], length[i], middle, &s->echo[s->echoes]);
    }
    s->echoes_tried = count;
    free(x.value);
    return LARMOR_OK;
}

larmor_status lmr_echoes(lmr_spokes *s, const larmor_array *kspace, const lmr_spoke *spoke, int64_t count)
{
    LMR_HEAP lmr_spoke *some = lmr_new(MOST_ECHOES, sizeof *some);
    const int64_t taken = count < MOST_ECHOES ? count : MOST_ECHOES;
    if (!some) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < taken; i++) some[i] = spoke[i * count / taken];
    return taken ? make_echoes(s, kspace, some, taken) : LARMOR_OK;
}

/* ---- the equations ---- */

static double residual(const lmr_echo *echo, const double *x)
{
    return echo->along - lmr_dot(NUMBERS, echo->row, x);
}

/* Robust least squares, in which outliers have little influence; the first `given` numbers stay. */
static void fit(const lmr_spokes *s, int given, double x[NUMBERS])
{
    for (int pass = 0; pass < PASSES; pass++) {
        double matrix[NUMBERS][NUMBERS] = {{0}}, right[NUMBERS] = {0}, change[NUMBERS], most = 0;
        for (int64_t i = 0; i < s->echoes; i++) {
            const lmr_echo *echo = &s->echo[i];
            const double left = residual(echo, x);
            const double weight = pass ? 1 / (1 + left * left) : 1;
            for (int e = given; e < NUMBERS; e++) {
                for (int f = given; f < NUMBERS; f++) matrix[e][f] += weight * echo->row[e] * echo->row[f];
                right[e] += weight * echo->row[e] * left;
            }
        }
        for (int e = 0; e < NUMBERS; e++) most = fmax(most, matrix[e][e]);
        for (int e = 0; e < NUMBERS; e++) {
            const double held = (e < LMR_DELAYS ? ridge_of_delays : ridge_of_centre) * fmax(most, 1);
            matrix[e][e] += e < given ? 1 : held;
            right[e] -= e < given ? 0 : held * x[e];
        }
        lmr_eliminate(NUMBERS, matrix[0], right, change);
        for (int e = given; e < NUMBERS; e++) x[e] += change[e];
    }
}

static double part_within(const lmr_spokes *s, const double *x)
{
    int64_t near = 0;
    for (int64_t i = 0; i < s->echoes; i++) near += fabs(residual(&s->echo[i], x)) < max_residual;
    return s->echoes ? (double)near / (double)s->echoes : 1;
}

int lmr_echoes_delays(const lmr_spokes *s, double delay[LMR_DELAYS])
{
    double x[NUMBERS] = {0};
    memset(delay, 0, sizeof *delay * LMR_DELAYS);
    if (s->echoes <= s->nd || 2 * s->echoes < s->echoes_tried) return 0;
    fit(s, 0, x);
    memcpy(delay, x, sizeof *delay * LMR_DELAYS);
    return part_within(s, x) > 0.5;
}

double lmr_echoes_residual(const lmr_spokes *s, const double delay[LMR_DELAYS])
{
    double x[NUMBERS] = {0}, sum = 0;
    memcpy(x, delay, sizeof *delay * LMR_DELAYS);
    fit(s, LMR_DELAYS, x);
    for (int64_t i = 0; i < s->echoes; i++) sum += fmin(fabs(residual(&s->echo[i], x)), max_counted_residual);
    return s->echoes ? sum / (double)s->echoes : 0;
}

double lmr_echoes_agree(const lmr_spokes *s, const double delay[LMR_DELAYS])
{
    double x[NUMBERS] = {0};
    memcpy(x, delay, sizeof *delay * LMR_DELAYS);
    fit(s, LMR_DELAYS, x);
    return part_within(s, x);
}
