/* Readouts that repeat the places of earlier ones, as averages do: whether they are of the same samples.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/describe/fit.h"

enum { MOST_REPEATS = 16, STEPS = 6, STEPS_3D = 3, HALVINGS = 3 };

/* What of a repeat is said. Not measured but in all: docs/records/validation.md, "Averages that contradict each
 * other". */
static const double max_misfit = 0.3;   /* of the first readouts' norm, in the centre of k-space, beyond noise */
static const double max_moved = 0.12;   /* the same of an object that has moved */
static const double min_kept = 0.9;     /* of the signal in the mean of a repeat with another factor and the first */
static const double least_factor = 0.1; /* below it there is no phase */
static const double max_left_part = 0.35; /* of that misfit, squared: what explains it leaves less */
static const double centre = 8;           /* 1/FOV */
static const double centre_3d = 4;        /* 1/FOV */
static const double min_over_chance = 6;  /* of what differs, in units of the deviation that noise has of it */
static const double widest_shift = 0.3;   /* fields of view */
static const double least_turn = 10;      /* degrees */

typedef struct repeat {
    int64_t samples;
    double first, again;    /* energies in the centre */
    double complex product; /* of the first ones, conjugated, with those again */
} repeat;

typedef struct scan {
    int nd;
    int64_t n, readouts, coils;
    const double *k; /* [nd, n, readouts] */
    const float *x;  /* [2, n, readouts, coils] */
    int64_t *first;  /* [readouts] the first readout at its places */
    int *number;     /* [readouts] how many were there before it */
    double noise;    /* energy of a sample */
    double reach;    /* 1/FOV */
} scan;

/* ---- which readouts are at the same places ---- */

static const double *place_of(const scan *s, int64_t i, int64_t r)
{
    return s->k + s->nd * (i + s->n * r);
}

static int is_same(const scan *s, int64_t a, int64_t b)
{
    return !memcmp(place_of(s, 0, a), place_of(s, 0, b), (size_t)(s->nd * s->n) * sizeof *s->k);
}

/* A number that readouts at the same places share. */
static double sign_of(const scan *s, int64_t r)
{
    const double *from = place_of(s, 0, r), *to = place_of(s, s->n - 1, r);
    double sum = 0;
    for (int d = 0; d < s->nd; d++) sum += from[d] * (d + M_SQRT2) + to[d] * (d + M_PI);
    return sum;
}

static larmor_status find_repeats(scan *s)
{
    LMR_HEAP LMR_NEW(lmr_ranked, list, s->readouts);
    for (int64_t r = 0; r < s->readouts; r++) list[r] = (lmr_ranked){sign_of(s, r), r};
    lmr_sort_ranked(list, s->readouts);
    for (int64_t i = 0; i < s->readouts; i++) {
        const int64_t r = list[i].index;
        s->first[r] = r;
        s->number[r] = 0;
        if (!i || !is_same(s, r, list[i - 1].index)) continue;
        s->first[r] = s->first[list[i - 1].index];
        s->number[r] = s->number[list[i - 1].index] + 1;
    }
    return LARMOR_OK;
}

/* ---- a repeat beside the first ---- */

/* The repeat is of an object that is shifted by `by` fields of view. */
static repeat sum_repeat(const scan *s, int number, const double by[3])
{
    repeat sum = {.samples = 0};
    for (int64_t r = 0; r < s->readouts; r++)
        for (int64_t i = 0; i < s->n && s->number[r] == number; i++) {
            const double *k = place_of(s, i, r);
            double square = 0, cycles = 0;
            for (int d = 0; d < s->nd; d++) {
                square += k[d] * k[d];
                cycles += k[d] * by[d];
            }
            if (square > s->reach * s->reach) continue;
            const double complex turn = cexp(2 * M_PI * I * cycles);
            for (int64_t c = 0; c < s->coils; c++) {
                const float *a = s->x + 2 * (i + s->n * (s->first[r] + s->readouts * c));
                const float *b = s->x + 2 * (i + s->n * (r + s->readouts * c));
                sum.first += (double)a[0] * a[0] + (double)a[1] * a[1];
                sum.again += (double)b[0] * b[0] + (double)b[1] * b[1];
                sum.product += (a[0] - I * a[1]) * (b[0] + I * b[1]) * turn;
                sum.samples++;
            }
        }
    return sum;
}

/* Of the first readouts' energy without noise: what differs, and what is left by a factor of the repeat. */
static double differs(const scan *s, const repeat *p, int by_factor)
{
    const double noise = s->noise * (double)p->samples, signal = p->first - noise;
    const double with = creal(p->product * conj(p->product));
    if (!(signal > noise)) return 0;
    if (by_factor) return fmax(0, p->again - noise - with / signal) / signal;
    return fmax(0, p->first + p->again - 2 * creal(p->product) - 2 * noise) / signal;
}

/* Left by a shift; the least and the shift that leaves it are kept. */
static void try_shift(const scan *s, int number, const double by[3], double best[3], double *least)
{
    const repeat p = sum_repeat(s, number, by);
    const double after = differs(s, &p, 1);
    if (after >= *least) return;
    *least = after;
    memcpy(best, by, 3 * sizeof *best);
}

/* Tries shifts around one, `steps` of this width on each side along each axis. */
static void try_around(const scan *s, int number, const double at[3], int steps, double width, double best[3],
                       double *least)
{
    const int side = 2 * steps + 1;
    for (int j = 0; j < (s->nd < 3 ? side * side : side * side * side); j++) {
        const int step[3] = {j % side - steps, j / side % side - steps, s->nd < 3 ? 0 : j / (side * side) - steps};
        double by[3];
        for (int d = 0; d < 3; d++) by[d] = at[d] + width * step[d];
        try_shift(s, number, by, best, least);
    }
}

/* *left <- what is left by the shift that leaves least, which is returned in fields of view. */
static double find_shift(const scan *s, int number, double *left)
{
    const int steps = s->nd < 3 ? STEPS : STEPS_3D;
    double best[3] = {0}, width = widest_shift / steps;
    *left = INFINITY;
    try_around(s, number, (double[3]){0}, steps, width, best, left);
    for (int i = 0; i < HALVINGS; i++) {
        const double from[3] = {best[0], best[1], best[2]};
        width /= 2;
        try_around(s, number, from, 1, width, best, left);
    }
    return sqrt(best[0] * best[0] + best[1] * best[1] + best[2] * best[2]);
}

static void name_factor(double complex factor, int number, larmor_description *found)
{
    const double angle = carg(factor) * 180 / M_PI, size = cabs(factor);
    char louder[48] = "", turned[48] = "";
    if (fabs(size - 1) > 0.1) snprintf(louder, sizeof louder, " at %.2f times the signal", size);
    if (fabs(angle) > least_turn && size > least_factor)
        snprintf(turned, sizeof turned, " turned by %.0f degrees", angle);
    snprintf(found->name, sizeof found->name, "repeat %d (from 0)%s%s", number, louder, turned);
}

/* *found gets what explains a repeat, if it is worse than what it has. */
static void describe(const scan *s, int number, const repeat *p, larmor_description *found)
{
    const double misfit = differs(s, p, 0), by_factor = differs(s, p, 1);
    const double noise = s->noise * (double)p->samples;
    const double complex factor = p->product / fmax(p->first - noise, 1e-300);
    double by_shift, shift;
    if (misfit * (p->first - noise) < min_over_chance * 2 * noise / sqrt((double)p->samples)) return;
    if (misfit <= max_moved * max_moved || misfit <= found->misfit * found->misfit) return;
    if (by_factor < max_left_part * misfit) {
        if (misfit <= max_misfit * max_misfit || cabs(1 + factor) / 2 > min_kept) return;
        found->better = sqrt(by_factor);
        name_factor(factor, number, found);
    } else {
        shift = find_shift(s, number, &by_shift);
        const int is_moved = by_shift < max_left_part * misfit;
        if (!is_moved && misfit <= max_misfit * max_misfit) return;
        found->better = sqrt(by_shift);
        if (is_moved)
            snprintf(found->name, sizeof found->name,
                     "repeat %d (from 0) of an object that has moved by about %.0f %% of the field of view", number,
                     100 * shift);
        else
            snprintf(found->name, sizeof found->name, "repeat %d (from 0) as another object", number);
    }
    found->misfit = sqrt(misfit);
    found->is_clear = 1;
}

/* ---- all ---- */

static void compare(const scan *s, larmor_description *found)
{
    for (int number = 1; number < MOST_REPEATS; number++) {
        const repeat p = sum_repeat(s, number, (double[3]){0});
        if (!p.samples) return;
        found->reach = s->reach;
        describe(s, number, &p, found);
    }
}

larmor_status larmor_compare_repeats(const larmor_array *kspace, const larmor_array *traj, larmor_description *found)
{
    LMR_NEED(kspace, traj, found);
    *found = (larmor_description){.reach = 0};
    LMR_TRY(lmr_scan_expect(kspace, traj, "repeats"));
    const larmor_shape shape = larmor_array_shape(kspace);
    double deviation = 0;
    scan s = {.nd = (int)larmor_array_shape(traj).dim[0],
              .n = shape.dim[0],
              .readouts = shape.dim[1],
              .coils = shape.dim[2]};
    s.reach = s.nd < 3 ? centre : centre_3d;
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    LMR_HEAP LMR_NEW(int64_t, first, s.readouts);
    LMR_HEAP LMR_NEW(int, number, s.readouts);
    s.k = k;
    s.first = first;
    s.number = number;
    LMR_TRY(find_repeats(&s));
    int repeats = 0;
    for (int64_t r = 0; r < s.readouts; r++) repeats |= number[r] > 0;
    if (!repeats) return LARMOR_OK;
    LMR_OWN_MEMORY(float, x, larmor_array_download(kspace, LARMOR_C64, &x));
    LMR_OWN(larmor_array, view, larmor_array_reshape(kspace, shape, &view));
    LMR_TRY(larmor_noise_level(view, traj, &deviation));
    s.x = x;
    s.noise = 2 * deviation * deviation;
    compare(&s, found);
    return LARMOR_OK;
}
