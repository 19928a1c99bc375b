/* Ghosts of echo-planar lines: a constant and a linear phase between the images of both directions, from
 * navigators or from the image itself.
 *
 * Sources: navigators, Heid, US patent 6043651 (2000); images of least ghost, Buonocore and Gao, Magn. Reson. Med.
 * 38, 89 (1997); by their entropy, Clare, Proc. ISMRM 16, 1393 (2008). SPDX-License-Identifier: Apache-2.0 */
#include "larmor/ghost.h"

#include <complex.h>

#include "core/core.h"
#include "recon/gradients/ghost.h"

typedef lmr_lines lines;

enum {
    MOST_SIDE = 96, /* voxels of the images that are looked at */
    MOST_COILS = 4, /* with most energy */
    PHASES = 16,    /* that are tried between -pi/2 and pi/2 */
    SHIFTS = 49,    /* that are tried */
};

/* Tuned on EPI of larmor phantom, with noise and ramps, and on two measured scans. */
static const double min_gain = 1e-3;            /* of the sum of magnitudes */
static const double min_part_of_direction = .2; /* least part of the lines in either direction */
static const double max_step_difference = 1e-3; /* of a step, between evenly spaced samples */
static const double min_edge_energy = 4; /* of the rows at the edges, over those in the middle, of images that wrap */
static const double max_spacing = 1.5;   /* 1/FOV: farther lines fold the image */
static const double min_correction = 1e-4; /* rad and cycles per field of view */

static int goes_both_ways(const lines *l)
{
    const double least = min_part_of_direction * (double)l->count;
    return (double)l->forward >= least && (double)l->backward >= least;
}

/* ---- images ---- */

typedef struct images {    /* of the lines of each direction, in low resolution */
    int64_t nx, ny, coils; /* x along the lines */
    float complex *of[2];  /* forward and backward: [ny, nx, coils] */
} images;

static void free_images(images *m)
{
    LMR_FREE(m->of[0], m->of[1]);
}

/* Add a line's projection, corrected by its ghost as far as that is known, to the image of its direction. */
static void add_line(images *m, int64_t coil, int backward, double across, const larmor_ghost *known,
                     double complex *p)
{
    float complex *image = m->of[backward] + m->ny * m->nx * coil;
    lmr_ghost_straighten(p, m->nx, backward ? -1 : 1, known);
    for (int64_t u = 0; u < m->ny; u++) {
        const double complex turn = cexp(2 * M_PI * I * across * (double)(u - m->ny / 2) / (double)m->ny);
        for (int64_t v = 0; v < m->nx; v++) image[u + m->ny * v] += (float complex)(turn * p[v]);
    }
}

/* The coils with most energy. */
static larmor_status choose_coils(const float *y, larmor_shape shape, int64_t coil[MOST_COILS], int64_t *coils)
{
    const int64_t m = shape.dim[0] * shape.dim[1];
    LMR_NEW(double, energy, shape.dim[2]);
    for (int64_t c = 0; c < shape.dim[2]; c++) {
        energy[c] = 0;
        for (int64_t i = 0; i < 2 * m; i++) energy[c] += (double)y[2 * m * c + i] * (double)y[2 * m * c + i];
    }
    *coils = shape.dim[2] < MOST_COILS ? shape.dim[2] : MOST_COILS;
    for (int64_t j = 0; j < *coils; j++) {
        int64_t best = 0;
        for (int64_t c = 1; c < shape.dim[2]; c++)
            if (energy[c] > energy[best]) best = c;
        energy[best] = -1;
        coil[j] = best;
    }
    free(energy);
    return LARMOR_OK;
}

/* Whether a line of a volume is in its central partition, and where it is in the plane. */
static int is_central(const lines *l, int64_t line, double reach, double *across)
{
    const double *k = lmr_line_of(l, line);
    const int other = l->axis == 0 ? 1 : 0;
    if (!l->sign[line]) return 0;
    *across = k[other];
    return fabs(*across) <= reach && (l->nd < 3 || fabs(k[3 - l->axis - other]) < .5);
}

static larmor_status make_images(const larmor_array *kspace, const lines *l, larmor_shape image,
                                 const larmor_ghost *known, images *m)
{
    const larmor_shape shape = larmor_array_shape(kspace);
    const int other = l->axis == 0 ? 1 : 0;
    int64_t coil[MOST_COILS];
    LMR_HEAP double complex *p = NULL;
    *m = (images){.nx = image.dim[l->axis], .ny = image.dim[other]};
    if (m->nx > MOST_SIDE) m->nx = MOST_SIDE;
    if (m->ny > MOST_SIDE) m->ny = MOST_SIDE;
    LMR_OWN_MEMORY(float, y, larmor_array_download(kspace, LARMOR_C64, &y));
    LMR_TRY(choose_coils(y, shape, coil, &m->coils));
    p = lmr_new(m->nx, sizeof *p);
    for (int i = 0; i < 2; i++) m->of[i] = calloc((size_t)(m->nx * m->ny * m->coils) + 1, sizeof *m->of[i]);
    if (!p || !m->of[0] || !m->of[1]) return LMR_NO_MEMORY();
    for (int64_t j = 0; j < m->coils; j++)
        for (int64_t i = 0; i < l->count; i++) {
            double across;
            LMR_TRY(lmr_go_on());
            if (!is_central(l, i, (double)m->ny / 2 + .5, &across)) continue;
            lmr_ghost_project(y + 2 * l->n * (i + l->count * coil[j]), lmr_line_of(l, i) + l->axis, l->nd,
                              l->length[i], m->nx, (double)m->nx / 2 + .5, p);
            add_line(m, j, l->sign[i] < 0, across, known ? &known[i] : NULL, p);
        }
    return LARMOR_OK;
}

/* The sum of magnitudes of a coil's image at v, where lines of both directions differ by a phase. */
static double sum_at(const images *m, int64_t coil, int64_t v, double phase)
{
    const float complex turn = (float complex)cexp(I * phase);
    const float complex *a = m->of[0] + m->ny * (v + m->nx * coil), *b = m->of[1] + m->ny * (v + m->nx * coil);
    float sum = 0;
    for (int64_t u = 0; u < m->ny; u++) {
        const float complex z = a[u] + turn * b[u];
        sum += sqrtf(crealf(z) * crealf(z) + cimagf(z) * cimagf(z));
    }
    return (double)sum;
}

/* That of all that a phase and a shift make, per voxel. */
static double sum_of_magnitudes(const images *m, const larmor_ghost *g)
{
    double sum = 0;
    for (int64_t c = 0; c < m->coils; c++)
        for (int64_t v = 0; v < m->nx; v++)
            sum += sum_at(m, c, v, g->phase - 2 * M_PI * g->shift * (double)(v - m->nx / 2) / (double)m->nx);
    return sum / (double)(m->nx * m->ny * m->coils);
}

/* The least that any phases make, one for each v. */
static double sum_of_any(const images *m)
{
    double sum = 0;
    for (int64_t v = 0; v < m->nx; v++) {
        double least = INFINITY;
        for (int p = 0; p < 3 * PHASES; p++) {
            double at = 0;
            for (int64_t c = 0; c < m->coils; c++) at += sum_at(m, c, v, 2 * M_PI * p / (3 * PHASES));
            least = fmin(least, at);
        }
        sum += least;
    }
    return sum / (double)(m->nx * m->ny * m->coils);
}

static void try_ghost(const images *m, larmor_ghost g, larmor_ghost *best, double *least)
{
    const double sum = sum_of_magnitudes(m, &g);
    if (!(sum < *least)) return;
    *least = sum;
    *best = g;
}

static double search(const images *m, larmor_ghost *best)
{
    double phase = M_PI / PHASES, shift = 2 * LMR_MAX_SHIFT / (SHIFTS - 1), least = INFINITY;
    for (int s = 0; s < SHIFTS; s++)
        for (int p = 0; p < PHASES; p++)
            try_ghost(m, (larmor_ghost){-M_PI / 2 + p * phase, -LMR_MAX_SHIFT + s * shift}, best, &least);
    for (int i = 0; i < LMR_HALVINGS;) {
        const larmor_ghost from = *best;
        for (int j = -1; j <= 1; j++)
            for (int k = -1; k <= 1; k++)
                try_ghost(m, (larmor_ghost){from.phase + j * phase, from.shift + k * shift}, best, &least);
        if (best->phase != from.phase || best->shift != from.shift) continue;
        phase /= 2;
        shift /= 2;
        i++;
    }
    while (best->phase > M_PI / 2) best->phase -= M_PI;
    while (best->phase < -M_PI / 2) best->phase += M_PI;
    return least;
}

/* Lines read from their other end have their image mirrored along them, about the voxel nx / 2. */
static void reverse_backward(const images *m)
{
    const int64_t sum = m->nx / 2 * 2;
    for (int64_t c = 0; c < m->coils; c++)
        for (int64_t v = sum - m->nx + 1; v < sum - v; v++)
            for (int64_t u = 0; u < m->ny; u++) {
                float complex *a = m->of[1] + u + m->ny * (v + m->nx * c);
                float complex *b = m->of[1] + u + m->ny * (sum - v + m->nx * c);
                const float complex kept = *a;
                *a = *b;
                *b = kept;
            }
}

/* 1 if the object that a phase and a shift make is at both edges across the lines, with nothing in the middle. */
static int wraps(const images *m, const larmor_ghost *g)
{
    const int64_t part = m->ny / 16;
    double edges = 0, middle = 0;
    for (int64_t v = 0; v < m->nx * m->coils; v++) {
        const double x = (double)(v % m->nx - m->nx / 2) / (double)m->nx;
        const float complex turn = (float complex)cexp(I * (g->phase - 2 * M_PI * g->shift * x));
        const float complex *a = m->of[0] + m->ny * v, *b = m->of[1] + m->ny * v;
        for (int64_t u = -part; u < part; u++) {
            const int64_t edge = (u + m->ny) % m->ny, inside = m->ny / 2 + u;
            edges += pow(cabsf(a[edge] + turn * b[edge]), 2);
            middle += pow(cabsf(a[inside] + turn * b[inside]), 2);
        }
    }
    return edges > min_edge_energy * middle;
}

larmor_status larmor_ghost_lines(const larmor_array *traj, int64_t *forward, int64_t *backward)
{
    LMR_FREED_BY(lmr_ghost_lines_free) lines l = {.k = NULL};
    LMR_NEED(traj, forward, backward);
    LMR_TRY(lmr_ghost_lines_find(traj, NULL, &l));
    *forward = l.forward;
    *backward = l.backward;
    return LARMOR_OK;
}

/* The distance of the lines in the central plane from each other: on average, and what one in ten exceeds. */
static larmor_status find_spacing(const lines *l, larmor_ghost_report *report)
{
    double across;
    int64_t places = 0, gaps = 0;
    LMR_HEAP LMR_NEW(double, at, l->count + 1);
    for (int64_t i = 0; i < l->count; i++)
        if (is_central(l, i, INFINITY, &across)) at[places++] = across;
    lmr_sort_f64(at, places);
    const double extent = places ? at[places - 1] - at[0] : 0;
    for (int64_t i = 1; i < places; i++)
        if (at[i] - at[i - 1] > LMR_LINE_WIDTH) at[gaps++] = at[i] - at[i - 1];
    report->spacing = gaps ? extent / (double)gaps : 1;
    report->gap = gaps ? lmr_select_f64(at, gaps, 9 * gaps / 10) : 1;
    return LARMOR_OK;
}

/* Lines of both directions at the same places say so themselves: the sum of their images' magnitudes is least where
 * they cancel each other. */
static larmor_status find_in_pairs(const larmor_array *kspace, const lines *l, larmor_shape image,
                                   const larmor_ghost *known, larmor_ghost *found, larmor_ghost_report *report)
{
    const int64_t nx = image.dim[l->axis] < MOST_SIDE ? image.dim[l->axis] : MOST_SIDE;
    LMR_OWN_MEMORY(float, y, larmor_array_download(kspace, LARMOR_C64, &y));
    return lmr_ghost_of_pairs(l, y, larmor_array_shape(kspace).dim[2], known, nx, found, report);
}

larmor_status larmor_ghost_estimate(const larmor_array *kspace, const larmor_array *traj, const unsigned char *turned,
                                    larmor_shape image, const larmor_ghost *known, larmor_ghost *found,
                                    larmor_ghost_report *report)
{
    larmor_ghost_report unused;
    LMR_FREED_BY(lmr_ghost_lines_free) lines l = {.k = NULL};
    LMR_FREED_BY(free_images) images m = {.nx = 0};
    LMR_NEED(kspace, traj, found);
    if (!report) report = &unused;
    *report = (larmor_ghost_report){.forward = 0};
    *found = (larmor_ghost){0, 0};
    LMR_TRY(lmr_ghost_check(kspace, traj));
    LMR_TRY(lmr_ghost_lines_find(traj, turned, &l));
    if (l.nd < 2 || l.nd != image.ndim || !goes_both_ways(&l)) return LARMOR_OK;
    LMR_TRY(find_spacing(&l, report));
    report->forward = l.forward;
    report->backward = l.backward;
    LMR_TRY(find_in_pairs(kspace, &l, image, known, found, report));
    if (report->pairs) return LARMOR_OK;
    LMR_TRY(make_images(kspace, &l, image, known, &m));
    larmor_ghost best = {0, 0};
    report->before = sum_of_magnitudes(&m, found);
    report->after = search(&m, &best);
    if (turned) report->any = sum_of_any(&m);
    report->is_clear = report->after < (1 - min_gain) * report->before;
    if (report->is_clear) *found = best;
    if (report->is_clear && !known && report->gap < max_spacing && wraps(&m, &best))
        found->phase += best.phase > 0 ? -M_PI : M_PI;
    if (report == &unused) return LARMOR_OK;
    reverse_backward(&m);
    report->reversed = search(&m, &best);
    return LARMOR_OK;
}

/* ---- navigators ---- */

larmor_status larmor_ghost_navigators(const larmor_array *kspace, const larmor_array *traj, int64_t first,
                                      int64_t end, larmor_ghost *found)
{
    LMR_NEED(kspace, traj, found);
    *found = (larmor_ghost){0, 0};
    const larmor_shape shape = larmor_array_shape(kspace), places = larmor_array_shape(traj);
    LMR_REFUSE(shape.ndim != 3 || places.ndim != 2 || places.dim[0] != shape.dim[0] || places.dim[1] != shape.dim[1],
               LARMOR_ERR_SHAPE,
               "navigators: kspace is %s and traj %s, expected [samples, lines, coils] and [samples, lines]",
               lmr_describe(kspace).s, lmr_describe(traj).s);
    LMR_REFUSE(first < 0 || end < first || end > shape.dim[1], LARMOR_ERR_ARG,
               "navigators: lines %lld to %lld, there are %lld", (long long)first, (long long)end,
               (long long)shape.dim[1]);
    const int64_t n = shape.dim[0], count = shape.dim[1], coils = shape.dim[2];
    double reach = 0;
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    LMR_OWN_MEMORY(float, y, larmor_array_download(kspace, LARMOR_C64, &y));
    for (int64_t i = 0; i < n * count; i++) reach = fmax(reach, fabs(k[i]));
    const int64_t nx = (int64_t)fmin(4 * MOST_SIDE, 2 * ceil(reach) + 2);
    LMR_HEAP LMR_NEW(double complex, p, nx *count);
    LMR_HEAP LMR_NEW_ZEROS(double complex, d, nx);
    for (int64_t c = 0; c < coils; c++) {
        for (int64_t i = first; i < end; i++)
            lmr_ghost_project(y + 2 * n * (i + count * c), k + n * i, 1, n, nx, (double)nx / 2, p + nx * i);
        for (int64_t i = first; i < end; i++) {
            const int forward = k[n * i + n - 1] > k[n * i];
            int64_t side[2], sides = 0;
            for (int s = -1; s <= 1; s += 2) {
                const int64_t j = i + s;
                if (j >= first && j < end && (k[n * j + n - 1] > k[n * j]) != forward) side[sides++] = j;
            }
            if (!sides || (sides == 1 && end - first > 2)) continue;
            for (int64_t v = 0; v < nx; v++) {
                double complex other = 0;
                for (int64_t s = 0; s < sides; s++) other += p[nx * side[s] + v] / (double)sides;
                const double complex product = p[nx * i + v] * conj(other);
                d[v] += forward ? product : conj(product);
            }
        }
    }
    *found = lmr_ghost_fit(d, nx);
    return LARMOR_OK;
}

/* ---- correction ---- */

/* The distance of evenly spaced samples that cover both sides of the centre, signed; 0 of others. */
static double step_of(const lines *l, int64_t line)
{
    const double *k = lmr_line_of(l, line) + l->axis;
    const int64_t n = l->length[line];
    const double step = lmr_line_span(l, line, l->axis) / (double)(n - 1);
    for (int64_t i = 1; i < n; i++)
        if (fabs(k[l->nd * i] - k[l->nd * (i - 1)] - step) > max_step_difference * fabs(step)) return 0;
    const double last = k[l->nd * (n - 1)];
    return fabs(step) <= 1 + max_step_difference && fabs(k[0] + last) <= 2.5 * fabs(step) ? step : 0;
}

/* y'[i] = sum_m y[m] d[m - i]: the samples at places that are moved by `move` steps, of an object within the
 * period. */
static void make_kernel(int64_t n, double move, double complex *d)
{
    for (int64_t m = 0; m < n; m++) {
        const double cycles = (move + (double)m) / (double)n;
        const double complex step = cexp(2 * M_PI * I * cycles);
        double complex turn = cexp(-2 * M_PI * I * cycles * (double)(n / 2));
        d[m] = 0;
        for (int64_t v = 0; v < n; v++, turn *= step) d[m] += turn / (double)n;
    }
}

static void interpolate(float *y, int64_t n, const double complex *d, double complex *row)
{
    for (int64_t i = 0; i < n; i++) {
        double complex sum = 0;
        for (int64_t m = 0; m < n; m++) {
            const int64_t back = m - i;
            const double complex tap = d[back < 0 ? back + n : back];
            sum += ((double)y[2 * m] + I * (double)y[2 * m + 1]) * tap;
        }
        row[i] = sum;
    }
    for (int64_t i = 0; i < n; i++) {
        y[2 * i] = (float)creal(row[i]);
        y[2 * i + 1] = (float)cimag(row[i]);
    }
}

typedef struct kernel { /* that was made last */
    int64_t n;
    double move;
    double complex *d, *row; /* [samples] */
} kernel;

static void turn_back(float *y, int64_t n, double phase)
{
    const double re = cos(phase), im = -sin(phase);
    for (int64_t s = 0; s < n; s++) {
        const double a = (double)y[2 * s], b = (double)y[2 * s + 1];
        y[2 * s] = (float)(a * re - b * im);
        y[2 * s + 1] = (float)(a * im + b * re);
    }
}

static void correct_line(lines *l, int64_t line, const larmor_ghost *ghost, int64_t coils, kernel *w, float *y)
{
    const double phase = l->sign[line] * ghost->phase / 2, shift = l->sign[line] * ghost->shift / 2;
    const int64_t n = l->length[line];
    const double step = step_of(l, line);
    const int moves = fabs(shift) > min_correction;
    double *k = lmr_line_of(l, line) + l->axis;
    if (moves && step != 0 && (w->move != shift / step || w->n != n)) {
        w->move = shift / step;
        w->n = n;
        make_kernel(n, w->move, w->d);
    }
    for (int64_t s = 0; moves && step == 0 && s < n; s++) k[l->nd * s] += shift;
    for (int64_t c = 0; c < coils; c++) {
        float *of_coil = y + 2 * l->n * (line + l->count * c);
        if (moves && step != 0) interpolate(of_coil, n, w->d, w->row);
        turn_back(of_coil, n, phase);
    }
}

static larmor_status correct(lines *l, const larmor_ghost *ghost, int64_t coils, float *y)
{
    LMR_HEAP LMR_NEW(double complex, d, l->n);
    LMR_HEAP LMR_NEW(double complex, row, l->n);
    kernel w = {.move = NAN, .d = d, .row = row};
    for (int64_t i = 0; i < l->count; i++) {
        LMR_TRY(lmr_go_on());
        if (l->sign[i]) correct_line(l, i, &ghost[i], coils, &w, y);
    }
    return LARMOR_OK;
}

larmor_status larmor_ghost_correct(larmor_array *kspace, larmor_array *traj, const unsigned char *turned,
                                   const larmor_ghost *ghost)
{
    LMR_FREED_BY(lmr_ghost_lines_free) lines l = {.k = NULL};
    LMR_HEAP float *y = NULL;
    LMR_NEED(kspace, traj, ghost);
    LMR_TRY(lmr_ghost_check(kspace, traj));
    LMR_TRY(lmr_ghost_lines_find(traj, turned, &l));
    if (turned || goes_both_ways(&l)) {
        LMR_TRY(larmor_array_download(kspace, LARMOR_C64, &y));
        LMR_TRY(correct(&l, ghost, larmor_array_shape(kspace).dim[2], y));
        LMR_TRY(larmor_array_write(kspace, y, larmor_array_bytes(kspace)));
        LMR_TRY(larmor_array_write(traj, l.k, larmor_array_bytes(traj)));
    }
    return LARMOR_OK;
}
