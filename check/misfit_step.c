/* A step in the course of a scan, of the object's place or of a coil's gain, or another place of the object in each
 * curved readout, that explains what an image leaves of the samples. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "check/check.h"
#include "core/core.h"

enum {
    MOST_NUMBERS = 10, /* of a motion, the size and phase of the signal, its frequency and its delay */
    SIGNAL = 2,        /* of them: size and phase */
    MOST_STEPS = 64,   /* that are tried, evenly spread */
    LEAST_READOUTS = 8,
    MOST_NUMBERS_OF_SAMPLES = 1 << 23 /* in all coils; the rest spares time and memory */
};

/* Right simulated and real scans: docs/records/validation.md, "Steps in what an image leaves". */
static const double first_step = 0.1;       /* of the readouts, that are before a step and behind it at least */
static const double min_part = 0.035;       /* of what is left beyond noise, that a motion explains: right 0.026 */
static const double min_part_of_gain = 0.2; /* the same of a coil's gain: right 0.01, with delays 0.05; faults 0.36 */
/* The same of a readout's gain: right 0.008 of SNR 30 and 300, gains of 0.5 to 2 of one of 8 to 75 readouts 0.22 to
 * 0.98. */
static const double min_part_of_readout = 0.15;
static const double min_size_of_readout = 0.06; /* as min_size: 1.2 times the gain, which hardly harms, has 0.05 */
/* A motion in each readout: spirals of 12 to 48 arms have 0.14 to 0.34 where the object moves by 1 to 4 voxels, and
 * 0.04 at most with faults of another kind. */
static const double min_part_of_each = 0.1;
static const double least_bend = 0.05;   /* of curved readouts: 1 - the cosine between their halves */
static const double min_size = 0.009;    /* of the samples, the root of what a step explains */
static const double min_chi2 = 1.3;      /* below, a step is less than noise, and looking for it takes a while */
static const double min_over_noise = 30; /* of the energy that it explains, in units of the noise of a number */

/* Sums over the samples of a readout, real parts. */
typedef struct sums {
    int nd;
    int numbers; /* of a motion: shifts and angles; and those of a readout's own, */
    int own;     /* which are SIGNAL, and of curved readouts two more: frequency and delay */
    int coils;
    int64_t samples, readouts;
    double *gram, *rhs; /* [numbers, numbers, readouts] of the derivatives, [numbers, readouts] with what is left */
    double *power, *product; /* [coils, readouts] of the model's samples of a coil, and with what is left */
} sums;

typedef struct step {
    double explained; /* |A x - b|^2 */
    double after;     /* part of the readouts */
    double number[MOST_NUMBERS];
    int coil;
    int64_t readout;
} step;

LMR_FREES(free_sums, sums, gram, rhs, power, product)

/* 1 if no readout is straight: a shift along a straight one is a frequency, and has a comparison of its own. Of two
 * dimensions alone: a readout of one partition cannot tell a shift across partitions from a phase. */
static larmor_status are_curved(const larmor_array *traj, int *curved)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t nd = shape.dim[0], n = shape.dim[1];
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    *curved = nd == 2;
    for (int64_t r = 0; r < shape.dim[2]; r++) {
        const double *first = k + nd * n * r, *middle = first + nd * (n / 2), *last = first + nd * (n - 1);
        double away = 0, from[2] = {0}, between = 0;
        for (int64_t d = 0; d < nd; d++) {
            from[0] += pow(middle[d] - first[d], 2);
            from[1] += pow(last[d] - middle[d], 2);
            between += (middle[d] - first[d]) * (last[d] - middle[d]);
        }
        away = 1 - between / (sqrt(from[0] * from[1]) + 1e-300);
        *curved &= away > least_bend;
    }
    return LARMOR_OK;
}

static larmor_status open_sums(const lmr_job *job, const lmr_frame *frame, sums *s)
{
    const larmor_shape shape = larmor_array_shape(frame->samples.kspace);
    int curved;
    LMR_TRY(are_curved(frame->samples.traj, &curved));
    const int own = curved ? 2 * SIGNAL : SIGNAL;
    *s = (sums){.nd = frame->grid.ndim,
                .numbers = own + (frame->grid.ndim == 3 ? 6 : 3),
                .own = own,
                .coils = job->facts->coils,
                .samples = shape.dim[0],
                .readouts = shape.dim[1]};
    s->gram = calloc((size_t)(s->readouts * s->numbers * s->numbers), sizeof *s->gram);
    s->rhs = calloc((size_t)(s->readouts * s->numbers), sizeof *s->rhs);
    s->power = calloc((size_t)(s->readouts * s->coils), sizeof *s->power);
    s->product = calloc((size_t)(s->readouts * s->coils), sizeof *s->product);
    return s->gram && s->rhs && s->power && s->product ? LARMOR_OK : LMR_NO_MEMORY();
}

/* ---- the motion's derivatives ---- */

typedef struct image {
    int ndim;
    int64_t n[3], voxels;
    double mm[3];
    double complex *x;
} image;

LMR_FREES(free_image, image, x)

/* The derivative of x along an axis, by mm, at a voxel. */
static double complex along(const image *m, int axis, int64_t v)
{
    int64_t stride = 1;
    for (int d = 0; d < axis; d++) stride *= m->n[d];
    const int64_t n = m->n[axis], i = v / stride % n;
    const int64_t up = v + ((i + 1) % n - i) * stride, down = v + ((i + n - 1) % n - i) * stride;
    return (m->x[up] - m->x[down]) / (2 * m->mm[axis]);
}

static double place(const image *m, int axis, int64_t v)
{
    for (int d = 0; d < axis; d++) v /= m->n[d];
    return (double)(v % m->n[axis] - m->n[axis] / 2) * m->mm[axis];
}

/* Number j of a motion: a shift along an axis, or a turn from axis a to b. */
static void derive(const image *m, int j, double complex *to)
{
    static const int turns[3][2] = {{0, 1}, {1, 2}, {2, 0}};
    if (j < m->ndim) {
        for (int64_t v = 0; v < m->voxels; v++) to[v] = -along(m, j, v);
        return;
    }
    const int a = turns[j - m->ndim][0], b = turns[j - m->ndim][1];
    for (int64_t v = 0; v < m->voxels; v++) to[v] = place(m, b, v) * along(m, a, v) - place(m, a, v) * along(m, b, v);
}

/* ---- sums ---- */

static void add_products(const sums *s, const float *a, const float *b, double *to, int every)
{
    for (int c = 0; c < s->coils; c++)
        for (int64_t r = 0; r < s->readouts; r++) {
            const int64_t first = 2 * s->samples * (r + s->readouts * c);
            double sum = 0;
            for (int64_t i = first; i < first + 2 * s->samples; i++) sum += (double)a[i] * (double)b[i];
            to[every * r] += sum;
        }
}

/* The same for each coil by itself. */
static void add_by_coil(const sums *s, const float *a, const float *b, double *to)
{
    for (int c = 0; c < s->coils; c++)
        for (int64_t r = 0; r < s->readouts; r++) {
            const int64_t first = 2 * s->samples * (r + s->readouts * c);
            for (int64_t i = first; i < first + 2 * s->samples; i++)
                to[c + s->coils * r] += (double)a[i] * (double)b[i];
        }
}

/* *samples <- A x for an image of the host. */
static larmor_status project(const lmr_solved *s, const double complex *x, float **samples)
{
    LMR_OWNED(larmor_array) *in = NULL, *out = NULL;
    LMR_TRY(larmor_array_upload(larmor_op_device(s->A), larmor_op_dtype(s->A), larmor_op_in_shape(s->A), LARMOR_C128,
                                x, &in));
    LMR_TRY(larmor_array_create(larmor_op_device(s->A), larmor_op_dtype(s->A), larmor_op_out_shape(s->A), &out));
    LMR_TRY(larmor_op_forward(s->A, in, out));
    return larmor_array_download(out, LARMOR_C64, samples);
}

/* to <- i times x. */
static void turn(const float *x, int64_t count, float *to)
{
    for (int64_t i = 0; i < count; i++) {
        to[2 * i] = -x[2 * i + 1];
        to[2 * i + 1] = x[2 * i];
    }
}

/* to <- what x changes by, by a frequency and by a delay, to any factor: what they explain does not depend on it. */
static void derive_along(const sums *s, const float *x, float *frequency, float *delay)
{
    const int64_t n = s->samples;
    turn(x, n * s->readouts * s->coils, frequency);
    for (int64_t r = 0; r < s->readouts * s->coils; r++)
        for (int64_t i = 0; i < n; i++)
            for (int part = 0; part < 2; part++) {
                const int64_t up = i + 1 < n ? i + 1 : i;
                const int64_t down = i > 0 ? i - 1 : i;
                frequency[2 * (i + n * r) + part] *= (float)i;
                delay[2 * (i + n * r) + part] = x[2 * (up + n * r) + part] - x[2 * (down + n * r) + part];
            }
}

/* of: the model's samples, whose size and phase may change as well. */
static larmor_status sum_motion(const lmr_solved *solved, const image *m, const float *of, const float *left, sums *s)
{
    float *g[MOST_NUMBERS] = {NULL};
    const int64_t count = s->samples * s->readouts * s->coils;
    const int P = s->numbers;
    larmor_status st = LARMOR_OK;
    LMR_HEAP double complex *x = lmr_new(m->voxels, sizeof *x);
    for (int j = P - s->own; j < P; j++) {
        g[j] = lmr_new(2 * count, sizeof *g[0]);
        if (!g[j]) st = LMR_NO_MEMORY();
    }
    if (!x) st = LMR_NO_MEMORY();
    for (int j = 0; j < P - s->own && !st; j++) {
        derive(m, j, x);
        st = project(solved, x, &g[j]);
    }
    if (!st) memcpy(g[P - s->own], of, (size_t)(2 * count) * sizeof *of);
    if (!st) turn(of, count, g[P - s->own + 1]);
    if (!st && s->own > SIGNAL) derive_along(s, of, g[P - 2], g[P - 1]);
    for (int j = 0; j < P && !st; j++) {
        add_products(s, g[j], left, s->rhs + j, P);
        for (int i = 0; i <= j; i++) add_products(s, g[i], g[j], s->gram + i + P * j, P * P);
    }
    for (int j = 0; j < P; j++) free(g[j]);
    return st;
}

static larmor_status sum_all(const lmr_solved *solved, const image *m, sums *s)
{
    LMR_OWN_MEMORY(float, of, project(solved, m->x, &of));
    LMR_OWN_MEMORY(float, left, larmor_array_download(solved->b, LARMOR_C64, &left));
    add_by_coil(s, of, of, s->power);
    for (int64_t i = 0; i < 2 * s->samples * s->readouts * s->coils; i++) left[i] = of[i] - left[i];
    add_by_coil(s, of, left, s->product);
    return sum_motion(solved, m, of, left, s);
}

/* ---- steps ---- */

/* y <- the solution of G y = b, of a positive matrix G [P, P]; 0 if it is none. */
static int solve(int P, const double *G, const double *b, double *y)
{
    double L[MOST_NUMBERS * MOST_NUMBERS];
    for (int j = 0; j < P; j++) {
        for (int i = j; i < P; i++) {
            double sum = G[j + P * i];
            for (int k = 0; k < j; k++) sum -= L[i + P * k] * L[j + P * k];
            if (i == j && !(sum > 1e-12 * G[j + P * j])) return 0;
            L[i + P * j] = i == j ? sqrt(sum) : sum / L[j + P * j];
        }
    }
    for (int i = 0; i < P; i++) {
        y[i] = b[i];
        for (int k = 0; k < i; k++) y[i] -= L[i + P * k] * y[k];
        y[i] /= L[i + P * i];
    }
    for (int i = P - 1; i >= 0; i--) {
        for (int k = i + 1; k < P; k++) y[i] -= L[k + P * i] * y[k];
        y[i] /= L[i + P * i];
    }
    return 1;
}

static void add_readouts(const double *values, int count, int64_t first, int64_t end, double *sum)
{
    for (int64_t r = first; r < end; r++)
        for (int i = 0; i < count; i++) sum[i] += values[i + count * r];
}

/* Gram matrix and products of readouts from first to end. */
static void sum_readouts(const sums *s, int64_t first, int64_t end, double *gram, double *rhs)
{
    const int P = s->numbers;
    memset(gram, 0, MOST_NUMBERS * MOST_NUMBERS * sizeof *gram);
    memset(rhs, 0, MOST_NUMBERS * sizeof *rhs);
    add_readouts(s->gram, P * P, first, end, gram);
    add_readouts(s->rhs, P, first, end, rhs);
    for (int j = 0; j < P; j++)
        for (int i = 0; i < j; i++) gram[j + P * i] = gram[i + P * j];
}

/* The same of the first `count` numbers, without what else a readout has of its own. */
static void sum_first(const sums *s, int count, int64_t first, int64_t end, double *gram, double *rhs)
{
    double all[MOST_NUMBERS * MOST_NUMBERS];
    sum_readouts(s, first, end, all, rhs);
    for (int j = 0; j < count; j++)
        for (int i = 0; i < count; i++) gram[i + count * j] = all[i + s->numbers * j];
}

/* v <- v - behind all^-1 w; 0 if there is no inverse. */
static int take_off(int P, const double *behind, const double *all, const double *w, double *v)
{
    double part[MOST_NUMBERS];
    if (!solve(P, all, w, part)) return 0;
    for (int i = 0; i < P; i++)
        for (int k = 0; k < P; k++) v[i] -= behind[k + P * i] * part[k];
    return 1;
}

/* b^T G^-1 b of the last `count` numbers of P; y: the solution. 0 if there is none. */
static double explained_by(int P, int count, const double *G, const double *b, double *y)
{
    double part[MOST_NUMBERS * MOST_NUMBERS] = {0}, sum = 0;
    const int first = P - count;
    for (int j = 0; j < count; j++)
        for (int i = 0; i < count; i++) part[i + count * j] = G[first + i + P * (first + j)];
    if (!solve(count, part, b + first, y)) return 0;
    for (int i = 0; i < count; i++) sum += y[i] * b[first + i];
    return sum;
}

/* A motion after `at` readouts, beside one of all readouts, which the image takes up, and beside another size and
 * phase of the signal. */
static void try_motion(const sums *s, int64_t at, step *best)
{
    const int P = s->numbers - s->own + SIGNAL;
    double all[MOST_NUMBERS * MOST_NUMBERS], behind[MOST_NUMBERS * MOST_NUMBERS], G[MOST_NUMBERS * MOST_NUMBERS];
    double of_all[MOST_NUMBERS], rhs[MOST_NUMBERS], y[MOST_NUMBERS], other[MOST_NUMBERS];
    sum_first(s, P, 0, s->readouts, all, of_all);
    sum_first(s, P, at, s->readouts, behind, rhs);
    memcpy(G, behind, sizeof G);
    for (int j = 0; j < P; j++)
        if (!take_off(P, behind, all, behind + P * j, G + P * j)) return;
    if (!take_off(P, behind, all, of_all, rhs)) return;
    const double explained = explained_by(P, P, G, rhs, y) - explained_by(P, SIGNAL, G, rhs, other);
    if (explained <= best->explained) return;
    *best = (step){.explained = explained, .after = (double)at / (double)s->readouts};
    memcpy(best->number, y, (size_t)P * sizeof *y);
}

/* Another motion in each readout. */
static void try_motions(const sums *s, step *found)
{
    const int P = s->numbers;
    double G[MOST_NUMBERS * MOST_NUMBERS], rhs[MOST_NUMBERS], y[MOST_NUMBERS], other[MOST_NUMBERS];
    for (int64_t r = 0; r < s->readouts; r++) {
        sum_readouts(s, r, r + 1, G, rhs);
        const double own = explained_by(P, s->own, G, rhs, other), all = explained_by(P, P, G, rhs, y);
        if (!(all > own)) continue;
        found->explained += all - own;
        for (int d = 0; d < s->nd; d++) found->number[0] += y[d] * y[d] / (double)s->readouts;
    }
    found->number[0] = sqrt(found->number[0]);
}

/* G, rhs [coils]: of the gain of each coil after `at` readouts beside one of all readouts. */
static void sum_gains(const sums *s, int64_t at, double *G, double *rhs)
{
    for (int c = 0; c < s->coils; c++) {
        double power[2] = {0}, product[2] = {0};
        for (int64_t r = 0; r < s->readouts; r++) {
            power[r >= at] += s->power[c + s->coils * r];
            product[r >= at] += s->product[c + s->coils * r];
        }
        const double part = power[0] + power[1] > 0 ? power[1] / (power[0] + power[1]) : 0;
        G[c] = power[0] * part;
        rhs[c] = product[1] - part * (product[0] + product[1]);
    }
}

/* The gain of one coil beside that of all, which is the object's signal; G, rhs: room for [coils]. */
static void try_gains(const sums *s, int64_t at, double *G, double *rhs, step *best)
{
    double all = 0, of_all = 0;
    sum_gains(s, at, G, rhs);
    for (int c = 0; c < s->coils; c++) {
        all += G[c];
        of_all += rhs[c];
    }
    for (int c = 0; c < s->coils && all > 0; c++) {
        const double own = G[c] * (1 - G[c] / all), product = rhs[c] - G[c] / all * of_all;
        if (!(own > 0) || product * product / own <= best->explained) continue;
        *best = (step){.explained = product * product / own,
                       .after = (double)at / (double)s->readouts,
                       .coil = c,
                       .number = {product / own}};
    }
}

/* The gain of one readout beside that of all. */
static void try_readouts(const sums *s, step *best)
{
    double all = 0, of_all = 0;
    for (int64_t i = 0; i < s->readouts * s->coils; i++) {
        all += s->power[i];
        of_all += s->product[i];
    }
    for (int64_t r = 0; r < s->readouts && all > 0; r++) {
        double power = 0, product = 0;
        for (int c = 0; c < s->coils; c++) {
            power += s->power[c + s->coils * r];
            product += s->product[c + s->coils * r];
        }
        const double own = power * (1 - power / all);
        const double beside = product - power / all * of_all;
        if (!(own > 0) || beside * beside / own <= best->explained) continue;
        *best = (step){.explained = beside * beside / own, .readout = r, .number = {beside / own}};
    }
}

/* ---- the whole ---- */

static larmor_status open_image(const lmr_solved *solved, image *m)
{
    const larmor_grid *g = &solved->frames->grid;
    *m = (image){.ndim = g->ndim, .n = {1, 1, 1}, .voxels = 1, .mm = {1, 1, 1}};
    for (int d = 0; d < g->ndim; d++) {
        m->n[d] = g->matrix[d];
        m->voxels *= m->n[d];
        m->mm[d] = g->fov_mm[d] / (double)m->n[d];
    }
    return larmor_array_download(solved->x, LARMOR_C128, &m->x);
}

static double length_of(const double *v, int count)
{
    double square = 0;
    for (int i = 0; i < count; i++) square += v[i] * v[i];
    return sqrt(square);
}

/* numbers: so many more than a step's. data: |b|. */
static int is_clear(const step *found, double part, double numbers, const larmor_misfit *misfit, double data)
{
    const double square = pow(misfit->beyond_noise, 2), noise = pow(misfit->relative, 2) - square;
    const double explained = found->explained / (data * data);
    if (explained < part * square || explained < min_size * min_size) return 0;
    return !(misfit->freedom > 0) || explained > min_over_noise * numbers * fmax(0, noise) / misfit->freedom;
}

static void warn(const lmr_job *job, const sums *s, const step *motion, const step *gain, double percent)
{
    if (gain->explained > motion->explained)
        lmr_warn(
            job->events,
            "the samples fit better where %scoil %d (from 0) has about %.1g times its gain after %.0f %% of the "
            "scan, which explains %.0f %% of what the image leaves of them beyond noise. Leave the coil or these "
            "readouts out.",
            job->facts->compression ? "compressed " : "", gain->coil, fmax(0, 1 - gain->number[0]), 100 * gain->after,
            percent);
    else
        lmr_warn(
            job->events,
            "the samples fit better with an object that moves after %.0f %% of the scan, by %.1g mm and %.1g degrees "
            "or more, which explains %.0f %% of what the image leaves of them beyond noise: it moved, or readouts "
            "have another phase than described. opts.motion_states finds motion of a rigid object.",
            100 * motion->after, length_of(motion->number, s->nd),
            length_of(motion->number + s->nd, s->numbers - s->own - s->nd) * 180 / M_PI, percent);
}

static void warn_of_readout(const lmr_job *job, const step *found, double percent)
{
    lmr_warn(job->events,
             "the samples fit better where readout %lld (from 0, in the order of the image) has about %.2g times the "
             "gain of the others, which explains %.0f %% of what the image leaves of them beyond noise. Divide it by "
             "that, or leave it out.",
             (long long)found->readout, fmax(0, 1 - found->number[0]), percent);
}

static larmor_status find_steps(const sums *s, step *motion, step *gain)
{
    LMR_HEAP double *G = lmr_new(s->coils, sizeof *G), *rhs = lmr_new(s->coils, sizeof *rhs);
    if (!G || !rhs) return LMR_NO_MEMORY();
    const int64_t first = (int64_t)ceil(first_step * (double)s->readouts), every = 1 + s->readouts / MOST_STEPS;
    for (int64_t at = first; at <= s->readouts - first; at += every) {
        try_motion(s, at, motion);
        if (s->coils > 1) try_gains(s, at, G, rhs, gain);
    }
    return LARMOR_OK;
}

static larmor_status look(const lmr_job *job, const lmr_solved *solved, const larmor_misfit *misfit)
{
    LMR_FREED_BY(free_sums) sums s = {.readouts = 0};
    LMR_FREED_BY(free_image) image m = {.ndim = 0};
    step motion = {.explained = 0}, gain = {.explained = 0}, each = {.explained = 0}, readout = {.explained = 0};
    double data;
    LMR_TRY(open_sums(job, solved->frames, &s));
    if (s.readouts < LEAST_READOUTS || s.samples * s.readouts * s.coils != larmor_array_count(solved->b))
        return LARMOR_OK;
    LMR_TRY(open_image(solved, &m));
    if (larmor_array_count(solved->x) != m.voxels) return LARMOR_OK;
    LMR_TRY(sum_all(solved, &m, &s));
    LMR_TRY(find_steps(&s, &motion, &gain));
    LMR_TRY(larmor_nrm2(solved->b, &data));
    const step *best = gain.explained > motion.explained ? &gain : &motion;
    const double beyond = pow(misfit->beyond_noise * data, 2), numbers = (double)(s.readouts * (s.numbers - s.own));
    try_readouts(&s, &readout);
    if (readout.explained > best->explained && sqrt(readout.explained) > min_size_of_readout * data &&
        is_clear(&readout, min_part_of_readout, 1, misfit, data))
        warn_of_readout(job, &readout, 100 * fmin(1, readout.explained / beyond));
    else if (is_clear(best, best == &gain ? min_part_of_gain : min_part, 1, misfit, data))
        warn(job, &s, &motion, &gain, 100 * fmin(1, best->explained / beyond));
    else if (s.own > SIGNAL) {
        try_motions(&s, &each);
        if (is_clear(&each, min_part_of_each, numbers, misfit, data))
            lmr_warn(
                job->events,
                "the samples fit better with an object that is elsewhere in each readout, by %.1g mm or more, "
                "which explains %.0f %% of what the image leaves of them beyond noise: it moved during the scan. "
                "opts.motion_states finds motion of a rigid object.",
                each.number[0], 100 * fmin(1, each.explained / beyond));
    }
    return LARMOR_OK;
}

/* Lines have comparisons of their own, and so has motion that is asked for. What it takes is in no plan of memory. */
static int is_asked(const lmr_job *job, const lmr_solved *solved)
{
    const larmor_recon_opts *o = &job->settings->opts;
    if (job->events->series > 1 || job->events->is_contradicted || solved->count != 1) return 0;
    if (job->facts->basis || job->facts->slabs || o->motion || o->motion_states || o->memory) return 0;
    return !solved->frames->cartesian.on_grid && larmor_array_count(solved->b) <= MOST_NUMBERS_OF_SAMPLES;
}

larmor_status lmr_misfit_step_check(const lmr_job *job, const lmr_solved *solved, const larmor_misfit *misfit)
{
    if (!misfit->measured || misfit->beyond_noise < min_size || !is_asked(job, solved)) return LARMOR_OK;
    if (misfit->chi2 > 0 && misfit->chi2 < min_chi2) return LARMOR_OK;
    const larmor_status st = look(job, solved, misfit);
    if (!st || st == LARMOR_STOPPED) return st;
    lmr_log(job->events, "description: no motion was looked for in what the image leaves of its samples: %s",
            larmor_last_error());
    return LARMOR_OK;
}
