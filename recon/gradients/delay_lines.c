/* Delays of parallel readouts in two directions, as those of EPI: a delay moves lines of one direction against
 * those of the other, and nothing else shows. Windows of k-space span fewest dimensions with the right delay, as
 * the object is smaller than the field of view and coils are smooth. Lines of one direction may have another phase
 * than those of the other.
 *
 * Source: windows: Uecker et al., Magn. Reson. Med. 71, 990 (2014). SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/gradients/minimise.h"
#include "recon/gradients/spokes.h"

enum { HALF = 9, SIDE = 2 * HALF + 1, LINES = 24, LEAST_LINES = 12, KERNEL = 4, COILS = 3 };
enum { ROWS = KERNEL * KERNEL * COILS, PATTERNS = 1 << KERNEL, BLOCKS = 4, PHASES = 8, GRID = 25 };

/* Which lines are taken, and how the search is done: not measured alone; ridge and floor keep matrices regular. */
static const double min_cosine = 0.9995;      /* least cosine between two readouts */
static const double max_line_distance = 0.02; /* 1/FOV: a sample is this far from its line at most */
static const double interpolation_reach = 24; /* 1/FOV: samples of a line that are interpolated from */
static const double ridge = 1e-3;             /* of a sample's energy, of the interpolation */
static const double floor_of_energy = 1e-5;   /* of the mean eigenvalue, added to all */
static const double max_delay = 3;            /* samples, or 1/FOV where samples are farther apart */
/* Tuned on Shepp-Logan lines of 1 to 8 coils, SNR 5 to none, and three real scans in the order of EPI and a
 * simulated one. */
static const double min_gain = 0.02;    /* of the mean logarithm of an eigenvalue */
static const double min_sure = 5;       /* standard deviations */
static const double min_shift = 0.0125; /* 1/FOV */

typedef double complex gram[ROWS * ROWS];

typedef struct line {
    double at; /* 1/FOV, across the lines */
    int64_t readout;
    int sign; /* of its direction */
    int kind; /* lines of a kind have their samples at the same places */
} line;

typedef struct lines {
    int nd, coils, count, kinds;
    int64_t samples, readouts;
    const double *k, *fov;
    double along[3], across[3], step; /* step: 1/FOV from one sample to the next in the centre, at most */
    line line[LINES];
    int64_t first[LINES], used[LINES]; /* samples that are interpolated from, of each kind */
    int64_t of_kind[LINES];            /* a readout of the kind */
    double complex *value;             /* [samples, LINES, coils] */
    double complex block[SIDE * LINES * COILS];
    gram *by; /* [BLOCKS, PATTERNS] */
    int has[PATTERNS];
    double *work; /* of the interpolation */
} lines;

LMR_DESTROYS(free_lines, lines, work, by, value)

/* ---- which lines ---- */

static const double *place(const lines *l, int64_t readout, int64_t i)
{
    return l->k + l->nd * (l->samples * readout + i);
}

/* The direction of a readout, with a sign; 0 if it is not parallel to the others. */
static int direction(const lines *l, int64_t readout)
{
    double chord[3] = {0};
    const double *first = place(l, readout, 0), *last = place(l, readout, l->samples - 1);
    for (int d = 0; d < l->nd; d++) chord[d] = last[d] - first[d];
    const double size = sqrt(lmr_dot(l->nd, chord, chord)), cosine = lmr_dot(l->nd, chord, l->along) / size;
    if (!(size > 0) || fabs(cosine) < min_cosine) return 0;
    for (int64_t i = 0; i < l->samples; i++) {
        double off = 0;
        const double *here = place(l, readout, i),
                     a = lmr_dot(l->nd, here, l->along) - lmr_dot(l->nd, first, l->along);
        for (int d = 0; d < l->nd; d++) off += pow(here[d] - first[d] - a * l->along[d], 2);
        if (!(sqrt(off) < max_line_distance)) return 0;
    }
    return cosine > 0 ? 1 : -1;
}

/* The axis across the lines: at right angles in a plane, else the coordinate that changes most. */
static void find_across(lines *l)
{
    double low[3], high[3], most = -1;
    int axis = 0;
    memset(l->across, 0, sizeof l->across);
    if (l->nd == 2) {
        l->across[0] = -l->along[1];
        l->across[1] = l->along[0];
        return;
    }
    for (int64_t r = 0; r < l->readouts; r++)
        for (int d = 0; d < 3; d++) {
            const double at = place(l, r, 0)[d];
            low[d] = r ? fmin(low[d], at) : at;
            high[d] = r ? fmax(high[d], at) : at;
        }
    for (int d = 0; d < 3; d++) {
        if (fabs(l->along[d]) > 0.5 || high[d] - low[d] <= most) continue;
        most = high[d] - low[d];
        axis = d;
    }
    l->across[axis] = 1;
}

/* How far a line is from the plane through the centre that lines are taken from. */
static double off_plane(const lines *l, const double *k)
{
    if (l->nd < 3) return 0;
    const double third[] = {l->along[1] * l->across[2] - l->along[2] * l->across[1],
                            l->along[2] * l->across[0] - l->along[0] * l->across[2],
                            l->along[0] * l->across[1] - l->along[1] * l->across[0]};
    return fabs(lmr_dot(3, third, k));
}

/* Lines that follow each other evenly around the centre. */
static void take_central(lines *l, line *all, int64_t count)
{
    int64_t kept = 0, centre = 0;
    qsort(all, (size_t)count, sizeof *all, lmr_by_rank);
    for (int64_t i = 0; i < count; i++)
        if (!kept || all[i].at > all[kept - 1].at + max_line_distance) all[kept++] = all[i];
    for (int64_t i = 0; i < kept; i++)
        if (fabs(all[i].at) < fabs(all[centre].at)) centre = i;
    if (kept < LEAST_LINES) return;
    const int64_t beside = centre + 1 < kept ? centre : centre - 1;
    const double spacing = all[beside + 1].at - all[beside].at;
    int64_t low = centre, high = centre;
    while (high + 1 < kept && high - low + 1 < LINES && high - centre < LINES / 2 - 1 &&
           fabs(all[high + 1].at - all[high].at - spacing) < max_line_distance)
        high++;
    while (low > 0 && high - low + 1 < LINES && fabs(all[low].at - all[low - 1].at - spacing) < max_line_distance)
        low--;
    while (high + 1 < kept && high - low + 1 < LINES &&
           fabs(all[high + 1].at - all[high].at - spacing) < max_line_distance)
        high++;
    l->count = (int)(high - low + 1);
    memcpy(l->line, all + low, sizeof *all * (size_t)l->count);
}

/* 1 if all readouts are parallel; of two directions are both. */
static larmor_status find_lines(lines *l, int *all_parallel, int *both)
{
    LMR_HEAP line *all = lmr_new(l->readouts, sizeof *all);
    int64_t count = 0, forward = 0;
    const double *first = place(l, l->readouts / 2, 0), *last = place(l, l->readouts / 2, l->samples - 1);
    double size = 0;
    if (!all) return LMR_NO_MEMORY();
    for (int d = 0; d < l->nd; d++) size += pow(last[d] - first[d], 2);
    for (int d = 0; d < l->nd; d++) l->along[d] = size > 0 ? (last[d] - first[d]) / sqrt(size) : 0;
    *all_parallel = size > 0;
    for (int64_t r = 0; r < l->readouts && *all_parallel; r++) {
        all[r].sign = direction(l, r);
        *all_parallel = all[r].sign != 0;
        forward += all[r].sign > 0;
    }
    *both = *all_parallel && forward > 0 && forward < l->readouts;
    if (*both) {
        find_across(l);
        for (int64_t r = 0; r < l->readouts; r++) {
            const double *k = place(l, r, 0);
            if (off_plane(l, k) >= 0.5) continue;
            all[count++] = (line){.at = lmr_dot(l->nd, k, l->across), .readout = r, .sign = all[r].sign};
        }
        take_central(l, all, count);
    }
    return LARMOR_OK;
}

/* Lines of a kind, and which samples they are interpolated from. */
static void find_kinds(lines *l)
{
    for (int j = 0; j < l->count; j++) {
        int kind = 0;
        for (; kind < l->kinds; kind++) {
            int alike = 1;
            for (int64_t i = 0; i < l->samples && alike; i++)
                alike = fabs(lmr_dot(l->nd, place(l, l->line[j].readout, i), l->along) -
                             lmr_dot(l->nd, place(l, l->of_kind[kind], i), l->along)) < 1e-4;
            if (alike) break;
        }
        l->line[j].kind = kind;
        if (kind < l->kinds) continue;
        l->of_kind[l->kinds] = l->line[j].readout;
        l->used[kind] = 0;
        double before = 0;
        for (int64_t i = 0; i < l->samples; i++) {
            const double a = lmr_dot(l->nd, place(l, l->line[j].readout, i), l->along);
            if (i && fabs(a) < HALF) l->step = fmax(l->step, fabs(a - before));
            before = a;
            if (fabs(a) > interpolation_reach) continue;
            if (!l->used[kind]) l->first[kind] = i;
            l->used[kind] = i - l->first[kind] + 1;
        }
        l->kinds++;
    }
}

/* The strongest coils of the lines, whatever their unit. */
static larmor_status take_values(lines *l, const larmor_array *kspace)
{
    const larmor_shape shape = larmor_array_shape(kspace);
    const int64_t coils = shape.ndim > 2 ? shape.dim[2] : 1;
    LMR_HEAP double *energy = lmr_new(coils, sizeof *energy);
    double most = 0;
    l->coils = coils < COILS ? (int)coils : COILS;
    l->value = lmr_new(l->samples * LINES * l->coils, sizeof *l->value);
    LMR_OWN_MEMORY(float, x, energy && l->value ? larmor_array_download(kspace, LARMOR_C64, &x) : LMR_NO_MEMORY());
    for (int64_t c = 0; c < coils; c++) {
        energy[c] = 0;
        for (int j = 0; j < l->count; j++)
            for (int64_t i = 0; i < 2 * l->samples; i++)
                energy[c] += pow((double)x[2 * l->samples * (l->line[j].readout + l->readouts * c) + i], 2);
        most = fmax(most, energy[c]);
    }
    LMR_REFUSE(!(most > 0 && isfinite(most)), LARMOR_ERR_NUMERIC, "delays: the centre of k-space is %s",
               most == 0 ? "zero" : "not finite");
    for (int64_t c = 0; c < l->coils; c++) {
        int64_t best = 0;
        for (int64_t i = 1; i < coils; i++)
            if (energy[i] > energy[best]) best = i;
        energy[best] = -1;
        for (int j = 0; j < l->count; j++)
            for (int64_t i = 0; i < l->samples; i++) {
                const float *at = x + 2 * (i + l->samples * (l->line[j].readout + l->readouts * best));
                l->value[i + l->samples * (j + LINES * c)] = (at[0] + I * at[1]) / sqrt(most);
            }
    }
    return LARMOR_OK;
}

/* ---- lines on the grid, by a delay ---- */

static double sinc(double x)
{
    return fabs(x) < 1e-9 ? 1 : sin(M_PI * x) / (M_PI * x);
}

/* The lower triangle of a [m, m] becomes its Cholesky factor. */
static int factorise(double *a, int64_t m)
{
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = j; i < m; i++) {
            double v = a[j + m * i];
            for (int64_t k = 0; k < j; k++) v -= a[k + m * i] * a[k + m * j];
            if (i == j && !(v > 0)) return 0;
            a[j + m * i] = i == j ? sqrt(v) : v / a[j + m * j];
        }
    return 1;
}

/* Weights [m, SIDE] with which the samples of a kind give those at -HALF .. HALF, of an object within its field of
 * view. */
static int interpolation(const lines *l, int kind, double delay, double *weight)
{
    const double all[LMR_DELAYS] = {delay, delay, delay}, width = fmin(1.3, fmax(1, 0.95 / l->step));
    const int64_t m = l->used[kind];
    double *at = l->work, *a = at + m;
    for (int64_t i = 0; i < m; i++) {
        double there[3];
        lmr_delay_place(place(l, l->of_kind[kind], 0), l->nd, l->samples, l->first[kind] + i, all, l->fov, there,
                        NULL);
        at[i] = lmr_dot(l->nd, there, l->along);
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j <= i; j++) a[j + m * i] = sinc(width * (at[i] - at[j])) + (i == j ? ridge : 0);
    if (!factorise(a, m)) return 0;
    for (int s = 0; s < SIDE; s++) {
        double *w = weight + m * s;
        for (int64_t i = 0; i < m; i++) {
            double v = sinc(width * (at[i] - (s - HALF)));
            for (int64_t k = 0; k < i; k++) v -= a[k + m * i] * w[k];
            w[i] = v / a[i + m * i];
        }
        for (int64_t i = m - 1; i >= 0; i--) {
            for (int64_t k = i + 1; k < m; k++) w[i] -= a[i + m * k] * w[k];
            w[i] /= a[i + m * i];
        }
    }
    return 1;
}

static int apply(lines *l, double delay)
{
    double *weight = l->work + l->samples * (l->samples + 1);
    for (int kind = 0; kind < l->kinds; kind++) {
        if (!interpolation(l, kind, delay, weight)) return 0;
        const int64_t m = l->used[kind];
        for (int j = 0; j < l->count; j++) {
            if (l->line[j].kind != kind) continue;
            for (int c = 0; c < l->coils; c++) {
                const double complex *from = l->value + l->samples * (j + LINES * c) + l->first[kind];
                for (int s = 0; s < SIDE; s++) {
                    double complex sum = 0;
                    for (int64_t i = 0; i < m; i++) sum += weight[i + m * s] * from[i];
                    l->block[s + SIDE * (j + LINES * c)] = sum;
                }
            }
        }
    }
    return 1;
}

/* ---- windows ---- */

/* The Gram matrices of windows, by their part of k-space and by the directions of their lines. */
static int sum_windows(lines *l, double delay)
{
    const int rows = KERNEL * KERNEL * l->coils;
    double complex row[ROWS];
    if (!apply(l, delay)) return 0;
    memset(l->by, 0, sizeof *l->by * BLOCKS * PATTERNS);
    memset(l->has, 0, sizeof l->has);
    for (int y = 0; y + KERNEL <= l->count; y++) {
        int pattern = 0;
        for (int j = 0; j < KERNEL; j++) pattern |= (l->line[y + j].sign > 0) << j;
        double complex *g = l->by[y * BLOCKS / (l->count - KERNEL + 1) * PATTERNS + pattern];
        l->has[pattern] = 1;
        for (int x = 0; x + KERNEL <= SIDE; x++) {
            for (int i = 0; i < rows; i++)
                row[i] =
                    l->block[x + i % KERNEL + SIDE * (y + i / KERNEL % KERNEL + LINES * (i / (KERNEL * KERNEL)))];
            for (int j = 0; j < rows; j++)
                for (int i = j; i < rows; i++) g[i + rows * j] += row[i] * conj(row[j]);
        }
    }
    return 1;
}

static double mean_log(double complex *a, int rows)
{
    double sum = 0;
    for (int j = 0; j < rows; j++) {
        const double pivot = creal(a[j + rows * j]);
        if (!(pivot > 0)) return INFINITY;
        sum += log(pivot);
        for (int k = j + 1; k < rows; k++) {
            const double complex factor = conj(a[k + rows * j]) / pivot;
            for (int i = k; i < rows; i++) a[i + rows * k] -= a[i + rows * j] * factor;
        }
    }
    return sum / rows;
}

/* The mean logarithm of the eigenvalues of all windows but those of a part (-1: none), with lines of one direction
 * turned. */
static double spread_of(const lines *l, int without, double cycles)
{
    const int rows = KERNEL * KERNEL * l->coils;
    gram g;
    double trace = 0;
    memset(g, 0, sizeof g);
    for (int p = 0; p < PATTERNS; p++) {
        double complex turn[KERNEL];
        if (!l->has[p]) continue;
        for (int j = 0; j < KERNEL; j++) turn[j] = p >> j & 1 ? cexp(2 * M_PI * I * cycles) : 1;
        for (int b = 0; b < BLOCKS; b++) {
            const double complex *from = l->by[b * PATTERNS + p];
            if (b == without) continue;
            for (int j = 0; j < rows; j++)
                for (int i = j; i < rows; i++)
                    g[i + rows * j] +=
                        from[i + rows * j] * turn[i / KERNEL % KERNEL] * conj(turn[j / KERNEL % KERNEL]);
        }
    }
    for (int i = 0; i < rows; i++) trace += creal(g[i + rows * i]);
    if (!(trace > 0)) return INFINITY;
    for (int j = 0; j < rows; j++) {
        for (int i = j; i < rows; i++) g[i + rows * j] *= rows / trace;
        g[j + rows * j] += floor_of_energy;
    }
    return mean_log(g, rows);
}

/* ---- the search ---- */

/* The least value at this delay, from this phase on or from anywhere. */
static double least_at(lines *l, double delay, int anywhere, double *cycles)
{
    double least = INFINITY, best = *cycles, width = 1. / PHASES;
    if (!sum_windows(l, delay)) return INFINITY;
    for (int i = 0; i < PHASES && anywhere; i++) {
        const double value = spread_of(l, -1, i * width);
        if (value >= least) continue;
        least = value;
        best = i * width;
    }
    if (!anywhere) least = spread_of(l, -1, best);
    for (width /= anywhere ? 2 : 8; width > 2e-3; width /= 2) {
        const double up = spread_of(l, -1, best + width), down = spread_of(l, -1, best - width);
        if (fmin(up, down) >= least) continue;
        best += up < down ? width : -width;
        least = fmin(up, down);
    }
    *cycles = best;
    return least;
}

/* The standard deviation from parts of k-space that are left out in turn: where the parabola through three values
 * is least. */
static double deviation(lines *l, double delay, double cycles, double h)
{
    double value[3][BLOCKS], mean = 0, sum = 0, moved[BLOCKS];
    for (int i = 0; i < 3; i++) {
        if (!sum_windows(l, delay + (i - 1) * h)) return INFINITY;
        for (int b = 0; b < BLOCKS; b++) value[i][b] = spread_of(l, b, cycles);
    }
    for (int b = 0; b < BLOCKS; b++) {
        const double bend = value[0][b] - 2 * value[1][b] + value[2][b];
        if (!(bend > 0)) return INFINITY;
        moved[b] = h * (value[0][b] - value[2][b]) / (2 * bend);
        mean += moved[b] / BLOCKS;
    }
    for (int b = 0; b < BLOCKS; b++) sum += pow(moved[b] - mean, 2);
    return sqrt(sum * (BLOCKS - 1) / BLOCKS);
}

static void search(lines *l, larmor_delays *found)
{
    const double most = max_delay / fmax(1, l->step);
    double step = 2 * most / (GRID - 1), best = 0, cycles = 0, none, least, there = 0;
    none = least = least_at(l, 0, 1, &cycles);
    for (int i = 0; i < GRID; i++) {
        const double delay = (i - GRID / 2) * step;
        if (i == GRID / 2) continue;
        const double value = least_at(l, delay, 1, &there);
        if (value >= least) continue;
        least = value;
        best = delay;
        cycles = there;
    }
    for (step /= 2; step > 2e-3; step /= 2)
        for (int side = -1; side <= 1; side += 2) {
            there = cycles;
            const double value = least_at(l, best + side * step, 0, &there);
            if (value >= least) continue;
            least = value;
            best += side * step;
            cycles = there;
            break;
        }
    const double spread = deviation(l, best, cycles, 0.05);
    for (int d = 0; d < l->nd; d++) {
        const int moves = fabs(l->along[d]) > max_line_distance;
        found->delay[d] = moves ? best : 0;
        if (moves) found->deviation[d] = spread;
    }
    found->shift = fabs(best) * l->step;
    found->before = exp(none / 2);
    found->after = exp(least / 2);
    found->readouts = l->count;
    found->significant = none - least > min_gain && fabs(best) > min_sure * spread && found->shift > min_shift &&
                         fabs(best) < 0.95 * most;
}

larmor_status lmr_delays_of_lines(const larmor_array *kspace, const larmor_array *traj, const double *fov,
                                  larmor_delays *found, int *are_lines)
{
    const larmor_shape shape = larmor_array_shape(traj);
    int both = 0;
    *are_lines = 0;
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    LMR_MAKE(lines, l, free_lines);
    *l = (lines){.nd = (int)shape.dim[0], .samples = shape.dim[1], .readouts = shape.dim[2], .k = k, .fov = fov};
    if (l->samples < 2 || l->readouts < 2) return LARMOR_OK;
    LMR_TRY(find_lines(l, are_lines, &both));
    LMR_REFUSE(*are_lines && (!both || l->count < LEAST_LINES), LARMOR_ERR_UNSUPPORTED,
               "delays: all readouts are parallel and at different angles none; %s do not show delays",
               both ? "fewer than 12 lines that follow each other evenly" : "those in one direction");
    if (!*are_lines) return LARMOR_OK;
    find_kinds(l);
    LMR_ALLOCATE_ZEROS(l->by, BLOCKS * PATTERNS);
    LMR_ALLOCATE(l->work, l->samples * (l->samples + 1 + SIDE));
    LMR_TRY(take_values(l, kspace));
    search(l, found);
    return LARMOR_OK;
}
