/* Ghosts of echo-planar lines that are too far apart for their image to show them: coils, which dense lines around
 * the centre describe, explain lines of both directions together.
 *
 * At each place x along the lines, samples d_f of forward lines and exp(i phi(x)) d_b of the others are those of an
 * object through the same coils. With coils' images of low resolution as the deviation of a Gaussian object, and
 * noise, the logarithm of the likelihood is 2 Re(exp(-i phi) h_b^H M^-1 h_f) and what does not depend on phi:
 * h = A^H d, M = A^H A + lambda. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/gradients/ghost.h"
#include "recon/lapack.h"

enum {
    MOST_SIDE = 96,   /* voxels along the lines that are looked at, */
    MOST_ACROSS = 64, /* and across them */
    MIN_CENTRE = 12,  /* dense lines around the centre */
};

static const double max_gap = 1.05;     /* 1/FOV: between dense lines */
static const double min_variance = .02; /* of noise and of errors of the coils, over that of the samples */
/* Of the misfit that is left: 35 scans without a ghost had up to .017, .004 but for one, 25 with one from .04 on, but
 * for one of .006 (docs/records/epi.md, "Lines too far apart"). */
static const double min_gain = .03;
/* Of the sum of magnitudes, by dense lines: 30 scans without a ghost had up to .0027, with one from .015 on. */
static const double min_own = .006;

/* ---- lines ---- */

typedef struct scan {
    lmr_lines l;
    float *y;       /* [n, count, coils] complex */
    double *across; /* [count] */
    int64_t coils;
} scan;

static void free_scan(scan *s)
{
    lmr_ghost_lines_free(&s->l);
    LMR_FREE(s->y, s->across);
}

static larmor_status read_scan(const larmor_array *kspace, const larmor_array *traj, scan *s)
{
    *s = (scan){.coils = larmor_array_shape(kspace).dim[2]};
    LMR_TRY(lmr_ghost_lines_find(traj, NULL, &s->l));
    LMR_TRY(larmor_array_download(kspace, LARMOR_C64, &s->y));
    LMR_ALLOCATE(s->across, s->l.count + 1);
    for (int64_t i = 0; i < s->l.count; i++) s->across[i] = s->l.k[2 * s->l.n * i + (s->l.axis == 0)];
    return LARMOR_OK;
}

static int is_plane(const larmor_array *traj)
{
    return larmor_array_shape(traj).dim[0] == 2;
}

/* is_dense [count]: lines around the centre without a gap. Returns how many places they have; *farthest from the
 * centre. */
static larmor_status find_dense(const scan *s, unsigned char *is_dense, int64_t *places, double *farthest)
{
    int64_t lines = 0, first = 0, nearest = 0;
    LMR_HEAP LMR_NEW(lmr_ranked, by, s->l.count + 1);
    for (int64_t i = 0; i < s->l.count; i++) {
        is_dense[i] = 0;
        if (s->l.sign[i]) by[lines++] = (lmr_ranked){s->across[i], i};
    }
    *places = 0;
    *farthest = 0;
    lmr_sort_ranked(by, lines);
    for (int64_t i = 1; i < lines; i++)
        if (fabs(by[i].value) < fabs(by[nearest].value)) nearest = i;
    first = nearest;
    while (first > 0 && by[first].value - by[first - 1].value < max_gap) first--;
    for (int64_t i = first; i < lines && (i <= nearest || by[i].value - by[i - 1].value < max_gap); i++) {
        is_dense[by[i].index] = 1;
        *places += i == first || by[i].value - by[i - 1].value > LMR_LINE_WIDTH;
        *farthest = fmax(*farthest, fabs(by[i].value));
    }
    return LARMOR_OK;
}

/* The ghost of some lines alone, by Hann's window: rings of the lines' ends look like ghosts. */
static larmor_status find_own(const larmor_array *kspace, const larmor_array *traj, const scan *s,
                              const unsigned char *which, int64_t count, double farthest, larmor_shape image,
                              larmor_ghost *found)
{
    const int64_t n = s->l.n;
    int64_t at = 0;
    LMR_HEAP LMR_NEW(double, k, 2 * n * count);
    LMR_HEAP LMR_NEW(float, y, 2 * n * count * s->coils);
    larmor_ghost_report report;
    LMR_OWNED(larmor_array) *some = NULL, *their = NULL;
    for (int64_t i = 0; i < s->l.count; i++) {
        if (!which[i]) continue;
        const float window = (float)pow(cos(M_PI / 2 * s->across[i] / (farthest + 1)), 2);
        memcpy(k + 2 * n * at, s->l.k + 2 * n * i, sizeof *k * 2 * (size_t)n);
        for (int64_t c = 0; c < s->coils; c++)
            for (int64_t j = 0; j < 2 * n; j++)
                y[2 * n * (at + count * c) + j] = window * s->y[2 * n * (i + s->l.count * c) + j];
        at++;
    }
    LMR_TRY(larmor_array_upload(kspace->dev, LARMOR_C64, LARMOR_SHAPE(n, count, s->coils), LARMOR_C64, y, &some));
    LMR_TRY(larmor_array_upload(traj->dev, LARMOR_F64, LARMOR_SHAPE(2, n, count), LARMOR_F64, k, &their));
    LMR_TRY(larmor_ghost_estimate(some, their, NULL, image, NULL, found, &report));
    if (!report.pairs && !(report.after < (1 - min_own) * report.before)) *found = (larmor_ghost){0, 0};
    return LARMOR_OK;
}

/* ---- the coils' images, and what they explain ---- */

typedef struct model {
    int64_t nx, ny, coils;
    double complex *coil;  /* [ny, coils, nx]: its images of low resolution */
    double complex *h[2];  /* [ny, nx] of forward lines and of the others */
    double complex *turns; /* [2 ny - 1]: sum over lines of exp(2 pi i k (u - u')), at u - u' + ny - 1 */
    double energy;         /* of the samples */
    int64_t samples;
} model;

static void free_model(model *m)
{
    LMR_FREE(m->coil, m->h[0], m->h[1], m->turns);
}

static double complex turn_of(double cycles)
{
    return cexp(2 * M_PI * I * cycles);
}

/* What line i of a coil has at each x. */
static void project(const scan *s, const model *m, int64_t i, int64_t coil, const larmor_ghost *ghost,
                    double complex *p)
{
    const lmr_lines *l = &s->l;
    lmr_ghost_project(s->y + 2 * l->n * (i + l->count * coil), l->k + 2 * l->n * i + l->axis, 2, l->length[i], m->nx,
                      (double)m->nx / 2 + .5, p);
    lmr_ghost_straighten(p, m->nx, l->sign[i], ghost);
}

/* Images of the dense lines with Hann's window; several lines of one place count as one. */
static larmor_status make_coils(const scan *s, const unsigned char *is_dense, double farthest,
                                const larmor_ghost *ghost, model *m)
{
    LMR_HEAP LMR_NEW(double complex, p, m->nx);
    LMR_ALLOCATE_ZEROS(m->coil, m->ny * m->coils * m->nx);
    for (int64_t i = 0; i < s->l.count; i++) {
        double same = 0;
        if (!is_dense[i] || fabs(s->across[i]) > (double)m->ny / 2) continue;
        LMR_TRY(lmr_go_on());
        for (int64_t j = 0; j < s->l.count; j++)
            same += is_dense[j] && fabs(s->across[j] - s->across[i]) < LMR_LINE_WIDTH;
        const double window = pow(cos(M_PI / 2 * s->across[i] / (farthest + 1)), 2) / same;
        for (int64_t c = 0; c < m->coils; c++) {
            project(s, m, i, c, ghost, p);
            for (int64_t u = 0; u < m->ny; u++) {
                const double complex turn = window * turn_of(s->across[i] * (double)(u - m->ny / 2) / (double)m->ny);
                for (int64_t v = 0; v < m->nx; v++) m->coil[u + m->ny * (c + m->coils * v)] += turn * p[v];
            }
        }
    }
    return LARMOR_OK;
}

static larmor_status add_samples(const scan *s, model *m)
{
    LMR_HEAP LMR_NEW(double complex, p, m->nx);
    for (int d = 0; d < 2; d++) LMR_ALLOCATE_ZEROS(m->h[d], m->ny * m->nx);
    LMR_ALLOCATE_ZEROS(m->turns, 2 * m->ny);
    for (int64_t i = 0; i < s->l.count; i++) {
        double complex *h = m->h[s->l.sign[i] < 0];
        if (!s->l.sign[i] || fabs(s->across[i]) > (double)m->ny / 2) continue;
        LMR_TRY(lmr_go_on());
        for (int64_t u = 1 - m->ny; u < m->ny; u++)
            m->turns[u + m->ny - 1] += turn_of(s->across[i] * (double)u / (double)m->ny);
        for (int64_t c = 0; c < m->coils; c++) {
            project(s, m, i, c, NULL, p);
            for (int64_t v = 0; v < m->nx; v++) m->energy += pow(cabs(p[v]), 2);
            for (int64_t u = 0; u < m->ny; u++) {
                const double complex turn = turn_of(s->across[i] * (double)(u - m->ny / 2) / (double)m->ny);
                for (int64_t v = 0; v < m->nx; v++)
                    h[u + m->ny * v] += turn * conj(m->coil[u + m->ny * (c + m->coils * v)]) * p[v];
            }
        }
        m->samples += m->coils * m->nx;
    }
    return LARMOR_OK;
}

/* M of the voxels at v. */
static void make_normal(const model *m, int64_t v, double lambda, double complex *M)
{
    const int64_t n = m->ny;
    const double complex *coil = m->coil + n * m->coils * v;
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = a; b < n; b++) {
            double complex sum = 0;
            for (int64_t c = 0; c < m->coils; c++) sum += conj(coil[b + n * c]) * coil[a + n * c];
            M[b + n * a] = sum * m->turns[b - a + n - 1];
            if (a == b) M[b + n * a] += lambda;
        }
}

/* Returns h^H M^-1 h of both directions; *product <- h_b^H M^-1 h_f. M is the inverse of its factor. */
static double explain(const model *m, int64_t v, const double complex *M, double complex *product)
{
    const int64_t n = m->ny;
    double explained = 0;
    *product = 0;
    for (int64_t a = 0; a < n; a++) {
        double complex z[2] = {0, 0};
        for (int64_t b = 0; b <= a; b++)
            for (int d = 0; d < 2; d++) z[d] += M[a + n * b] * m->h[d][b + n * v];
        explained += pow(cabs(z[0]), 2) + pow(cabs(z[1]), 2);
        *product += conj(z[1]) * z[0];
    }
    return explained;
}

static larmor_status fit(const model *m, larmor_ghost_of_coils *found)
{
    static const larmor_ghost none = {0, 0};
    double trace = 0, left = m->energy;
    LMR_HEAP LMR_NEW(double complex, M, m->ny * m->ny);
    LMR_HEAP LMR_NEW(double complex, product, m->nx);
    for (int64_t i = 0; i < m->ny * m->coils * m->nx; i++)
        trace += creal(m->turns[m->ny - 1]) * pow(cabs(m->coil[i]), 2);
    for (int64_t v = 0; v < m->nx; v++) {
        int solved;
        LMR_TRY(lmr_go_on());
        make_normal(m, v, min_variance * trace / (double)m->samples, M);
        LMR_TRY(lmr_lapack_inverse_cholesky(m->ny, M, &solved));
        if (!solved) {
            *found = (larmor_ghost_of_coils){.is_known = 0};
            return LARMOR_OK;
        }
        left -= explain(m, v, M, &product[v]);
    }
    found->ghost = lmr_ghost_fit(product, m->nx);
    const double with = lmr_ghost_turned_back(product, m->nx, &found->ghost);
    found->is_known = 1;
    found->gain = (with - lmr_ghost_turned_back(product, m->nx, &none)) / (left - with);
    found->is_clear = found->gain > min_gain;
    if (!found->is_clear) found->ghost = (larmor_ghost){0, 0};
    return LARMOR_OK;
}

/* found->ghost, with calibration lines corrected by theirs. */
static larmor_status find_by(const scan *lines, const scan *centre, const unsigned char *is_dense, double farthest,
                             larmor_shape image, larmor_ghost_of_coils *found)
{
    const int across = lines->l.axis == 0;
    LMR_FREED_BY(free_model)
    model m = {.nx = image.dim[!across] < MOST_SIDE ? image.dim[!across] : MOST_SIDE,
               .ny = image.dim[across] < MOST_ACROSS ? image.dim[across] : MOST_ACROSS,
               .coils = lines->coils};
    LMR_TRY(make_coils(centre, is_dense, farthest, &found->calibration, &m));
    LMR_TRY(add_samples(lines, &m));
    return fit(&m, found);
}

larmor_status larmor_ghost_by_coils(const larmor_array *kspace, const larmor_array *traj,
                                    const larmor_array *calibration, const larmor_array *calibration_traj,
                                    larmor_shape image, larmor_ghost_of_coils *found)
{
    LMR_FREED_BY(free_scan) scan lines = {.coils = 0}, centre = {.coils = 0};
    int64_t places = 0, count = 0;
    double farthest = 0;
    LMR_NEED(found);
    *found = (larmor_ghost_of_coils){.is_known = 0};
    LMR_NEED(kspace, traj);
    LMR_TRY(lmr_ghost_check(kspace, traj));
    if (calibration) LMR_NEED(calibration_traj);
    if (!calibration || larmor_array_shape(kspace).dim[2] < 2) {
        calibration = kspace;
        calibration_traj = traj;
    }
    LMR_TRY(lmr_ghost_check(calibration, calibration_traj));
    if (image.ndim != 2 || !is_plane(traj) || !is_plane(calibration_traj)) return LARMOR_OK;
    LMR_TRY(read_scan(kspace, traj, &lines));
    LMR_TRY(read_scan(calibration, calibration_traj, &centre));
    if (lines.coils != centre.coils || lines.l.axis != centre.l.axis) return LARMOR_OK;
    LMR_HEAP LMR_NEW(unsigned char, is_dense, centre.l.count + 1);
    LMR_TRY(find_dense(&centre, is_dense, &places, &farthest));
    if (places < MIN_CENTRE) return LARMOR_OK;
    for (int64_t i = 0; i < centre.l.count; i++) count += is_dense[i];
    larmor_shape low = image;
    const int across = lines.l.axis == 0;
    low.dim[across] = (int64_t)fmin((double)image.dim[across], 2 * ceil(farthest));
    LMR_TRY(find_own(calibration, calibration_traj, &centre, is_dense, count, farthest, low, &found->calibration));
    if (lines.coils < 2) {
        found->is_known = 1;
        found->is_clear = found->calibration.phase != 0 || found->calibration.shift != 0;
        found->ghost = found->calibration;
        return LARMOR_OK;
    }
    return find_by(&lines, &centre, is_dense, farthest, image, found);
}
