/* Lines of both directions, their projections, and ghosts by pairs of lines at the same places.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/gradients/ghost.h"

enum { MIN_SAMPLES = 4 /* of a line */ };

static const double max_step_difference = 1e-3; /* of a step, between evenly spaced samples */
static const double min_gain_of_pairs = .01;    /* of what differs within pairs */

larmor_status lmr_ghost_check(const larmor_array *kspace, const larmor_array *traj)
{
    const larmor_shape y = larmor_array_shape(kspace), k = larmor_array_shape(traj);
    if (y.ndim == 3 && k.ndim == 3 && k.dim[0] >= 1 && k.dim[0] <= 3 && k.dim[1] == y.dim[0] && k.dim[2] == y.dim[1])
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE,
                    "ghost: kspace is %s and traj %s, expected [samples, lines, coils] and [nd, samples, lines]",
                    lmr_describe(kspace).s, lmr_describe(traj).s);
}

/* ---- lines ---- */

void lmr_ghost_lines_free(lmr_lines *l)
{
    LMR_FREE(l->sign, l->length, l->k);
}

/* 1, -1, or 0 where another axis changes as well, or the axis not in one direction. */
static int direction_of(const lmr_lines *l, int64_t line)
{
    const double *k = lmr_line_of(l, line);
    if (l->length[line] < MIN_SAMPLES) return 0;
    const int sign = lmr_line_span(l, line, l->axis) > 0 ? 1 : -1;
    for (int64_t i = 0; i < l->length[line]; i++)
        for (int d = 0; d < l->nd; d++) {
            if (d != l->axis && fabs(k[l->nd * i + d] - k[d]) > LMR_LINE_WIDTH) return 0;
            if (d == l->axis && i && sign * (k[l->nd * i + d] - k[l->nd * (i - 1) + d]) < -max_step_difference)
                return 0;
        }
    return sign;
}

static larmor_status measure_lines(lmr_lines *l)
{
    LMR_ALLOCATE(l->length, l->count + 1);
    for (int64_t i = 0; i < l->count; i++) {
        const double *k = lmr_line_of(l, i);
        l->length[i] = l->n;
        while (l->length[i] > 0 && k[l->nd * (l->length[i] - 1)] >= LARMOR_NO_SAMPLE / 2) l->length[i]--;
    }
    return LARMOR_OK;
}

/* The axis along which the first line extends most. */
static void find_axis(lmr_lines *l)
{
    double longest = 0;
    int64_t line = 0;
    while (line < l->count && l->length[line] < MIN_SAMPLES) line++;
    for (int d = 0; d < l->nd && line < l->count; d++) {
        if (fabs(lmr_line_span(l, line, d)) <= longest) continue;
        longest = fabs(lmr_line_span(l, line, d));
        l->axis = d;
    }
}

larmor_status lmr_ghost_lines_find(const larmor_array *traj, const unsigned char *turned, lmr_lines *l)
{
    const larmor_shape shape = larmor_array_shape(traj);
    LMR_REFUSE(shape.ndim != 3, LARMOR_ERR_SHAPE, "ghost: traj is %s, expected [nd, samples, lines]",
               lmr_describe(traj).s);
    *l = (lmr_lines){.nd = (int)shape.dim[0], .n = shape.dim[1], .count = shape.dim[2]};
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &l->k));
    LMR_TRY(measure_lines(l));
    l->sign = calloc((size_t)l->count + 1, 1);
    if (!l->sign) return LMR_NO_MEMORY();
    find_axis(l);
    for (int64_t i = 0; i < l->count; i++) {
        l->sign[i] = (signed char)((turned && turned[i] ? -1 : 1) * direction_of(l, i));
        l->forward += l->sign[i] > 0;
        l->backward += l->sign[i] < 0;
    }
    return LARMOR_OK;
}

/* ---- projections ---- */

/* The part of k that sample i of a line stands for. */
static double width_of(const double *k, int nd, int64_t n, int64_t i)
{
    const int64_t before = i > 0 ? i - 1 : 0;
    const int64_t after = i + 1 < n ? i + 1 : i;
    return fabs(k[nd * after] - k[nd * before]) / (double)(after - before);
}

void lmr_ghost_project(const float *y, const double *k, int nd, int64_t n, int64_t nx, double reach,
                       double complex *p)
{
    memset(p, 0, (size_t)nx * sizeof *p);
    for (int64_t i = 0; i < n; i++) {
        if (fabs(k[nd * i]) > reach) continue;
        const double complex step = cexp(2 * M_PI * I * k[nd * i] / (double)nx);
        double complex turn = cexp(-2 * M_PI * I * k[nd * i] * (double)(nx / 2) / (double)nx);
        const double complex value = width_of(k, nd, n, i) * ((double)y[2 * i] + I * (double)y[2 * i + 1]);
        for (int64_t v = 0; v < nx; v++, turn *= step) p[v] += value * turn;
    }
}

larmor_ghost lmr_ghost_fit(const double complex *d, int64_t nx)
{
    double step = .25, best = 0, most = -1;
    double complex at_best = 1;
    for (int i = 0; i <= LMR_HALVINGS; i++) {
        const double from = best;
        const int tries = i ? 1 : (int)(LMR_MAX_SHIFT / step);
        for (int j = -tries; j <= tries; j++) {
            double complex sum = 0;
            for (int64_t v = 0; v < nx; v++)
                sum += d[v] * cexp(2 * M_PI * I * (from + j * step) * (double)(v - nx / 2) / (double)nx);
            if (cabs(sum) <= most) continue;
            most = cabs(sum);
            best = from + j * step;
            at_best = sum;
        }
        step /= 2;
    }
    return (larmor_ghost){carg(at_best), best};
}

/* ---- pairs ---- */

/* Lines, sorted by their place along another axis; those that have a partner are 0 in `sign`. */
typedef struct places {
    lmr_ranked *by;
    signed char *sign;
    int64_t count;
} places;

LMR_FREES(free_places, places, by, sign)

static larmor_status sort_places(const lmr_lines *l, places *p)
{
    LMR_ALLOCATE(p->by, l->count + 1);
    LMR_ALLOCATE(p->sign, l->count + 1);
    for (int64_t i = 0; i < l->count; i++) {
        p->sign[i] = l->sign[i];
        if (l->sign[i]) p->by[p->count++] = (lmr_ranked){lmr_line_of(l, i)[l->axis == 0], i};
    }
    lmr_sort_ranked(p->by, p->count);
    return LARMOR_OK;
}

/* The next line at the place of the one of rank `at` and of the other direction, or -1. */
static int64_t find_partner(const lmr_lines *l, const places *p, int64_t at)
{
    const int64_t i = p->by[at].index;
    const double *a = lmr_line_of(l, i);
    for (int64_t q = at + 1; q < p->count && p->by[q].value - p->by[at].value < LMR_LINE_WIDTH; q++) {
        const int64_t j = p->by[q].index;
        const double *b = lmr_line_of(l, j);
        double apart = 0;
        for (int d = 0; d < l->nd; d++)
            if (d != l->axis) apart = fmax(apart, fabs(a[d] - b[d]));
        if (p->sign[i] * p->sign[j] < 0 && apart < LMR_LINE_WIDTH) return j;
    }
    return -1;
}

void lmr_ghost_straighten(double complex *p, int64_t nx, double sign, const larmor_ghost *ghost)
{
    for (int64_t v = 0; v < nx && ghost; v++) {
        const double x = (double)(v - nx / 2) / (double)nx;
        p[v] *= cexp(-I * sign * (ghost->phase / 2 - M_PI * ghost->shift * x));
    }
}

double lmr_ghost_turned_back(const double complex *d, int64_t nx, const larmor_ghost *ghost)
{
    double complex sum = 0;
    for (int64_t v = 0; v < nx; v++) {
        const double x = (double)(v - nx / 2) / (double)nx;
        sum += d[v] * cexp(-I * (ghost->phase - 2 * M_PI * ghost->shift * x));
    }
    return 2 * creal(sum);
}

typedef struct pairs {
    double complex *d;        /* [nx]: products of forward lines and the others, conjugated */
    double complex *mirrored; /* the same with the others read from their other ends */
    double energy;
} pairs;

static larmor_status add_pair(const lmr_lines *l, const float *y, int64_t coils, const larmor_ghost *known,
                              const int64_t of[2], int64_t nx, pairs *sum)
{
    LMR_HEAP LMR_NEW(double complex, p, 2 * nx);
    LMR_TRY(lmr_go_on());
    for (int64_t c = 0; c < coils; c++) {
        for (int e = 0; e < 2; e++) {
            double complex *at = l->sign[of[e]] > 0 ? p : p + nx;
            lmr_ghost_project(y + 2 * l->n * (of[e] + l->count * c), l->k + l->nd * l->n * of[e] + l->axis, l->nd,
                              l->length[of[e]], nx, (double)nx / 2 + .5, at);
            lmr_ghost_straighten(at, nx, l->sign[of[e]], known ? &known[of[e]] : NULL);
        }
        for (int64_t v = 0; v < nx; v++) {
            sum->energy += pow(cabs(p[v]), 2) + pow(cabs(p[nx + v]), 2);
            sum->d[v] += p[v] * conj(p[nx + v]);
            const int64_t other = nx / 2 * 2 - v;
            if (other < nx) sum->mirrored[v] += p[v] * conj(p[nx + other]);
        }
    }
    return LARMOR_OK;
}

larmor_status lmr_ghost_of_pairs(const lmr_lines *l, const float *y, int64_t coils, const larmor_ghost *known,
                                 int64_t nx, larmor_ghost *found, larmor_ghost_report *report)
{
    LMR_FREED_BY(free_places) places p = {.count = 0};
    LMR_HEAP LMR_NEW_ZEROS(double complex, d, 2 * nx);
    pairs sum = {d, d + nx, 0};
    *found = (larmor_ghost){0, 0};
    LMR_TRY(sort_places(l, &p));
    for (int64_t at = 0; at < p.count; at++) {
        const int64_t i = p.by[at].index;
        const int64_t of[2] = {i, p.sign[i] ? find_partner(l, &p, at) : -1};
        if (of[1] < 0) continue;
        p.sign[of[0]] = p.sign[of[1]] = 0;
        report->pairs++;
        LMR_TRY(add_pair(l, y, coils, known, of, nx, &sum));
    }
    if (3 * report->pairs < p.count) report->pairs = 0; /* of one pair at a place: at fewer than half of all places */
    if (!report->pairs) return LARMOR_OK;
    const larmor_ghost best = lmr_ghost_fit(d, nx), of_mirrored = lmr_ghost_fit(sum.mirrored, nx);
    report->before = sum.energy - lmr_ghost_turned_back(d, nx, found);
    report->after = sum.energy - lmr_ghost_turned_back(d, nx, &best);
    report->reversed = sum.energy - lmr_ghost_turned_back(sum.mirrored, nx, &of_mirrored);
    report->is_clear = report->before - report->after > min_gain_of_pairs * report->after;
    if (report->is_clear) *found = best;
    return LARMOR_OK;
}
