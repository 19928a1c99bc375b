/* Delays from the intersections of spokes (RING).
 *
 * Samples a and b, counted from where two spokes should be, are one place in k-space if p_1 + a d_1 - S d_1 = p_2
 * + b d_2 - S d_2, with the spokes' steps d and the symmetric matrix S of delays. Where the samples of all coils
 * agree best gives a and b, and two equations for S; in three dimensions, where delayed spokes pass each other,
 * they are those along the two spokes.
 *
 * Source: Rosenzweig, Holme, Uecker, Magn. Reson. Med. 81, 1898 (2019). SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/gradients/minimise.h"
#include "recon/gradients/spokes.h"

enum {
    MOST_PAIRS = 240,  /* 480 equations for six numbers */
    MOST_TRIES = 4000, /* pairs that are looked at for them */
    PASSES = 12,       /* of reweighting, at most */
    LEAST_PAIRS = 3,   /* two equations each for six numbers */
};

/* Maximum cosine of the angle between two spokes: flatter ones do not determine the place along themselves. */
static const double max_cosine = 0.85;

/* Maximum distance (1/FOV) of two nominal spokes that count as intersecting, as those of neighbouring partitions. */
static const double max_spoke_distance = 0.3;

/* Maximum distance (1/FOV) between a measured and a predicted intersection. */
static const double max_residual = 0.4;

typedef struct meeting {
    double row[2][LMR_DELAYS], along[2]; /* equations: row . S = along */
} meeting;

typedef struct system {
    double matrix[LMR_DELAYS][LMR_DELAYS], right[LMR_DELAYS];
} system_of_equations;

/* In physical units, in which the matrix of delays is symmetric; up to a common factor. */
static void physical(const lmr_spokes *s, const double *k, double *to)
{
    for (int d = 0; d < s->nd; d++) to[d] = k[d] / (s->fov ? s->fov[d] : 1);
}

static double energy(const lmr_spokes *s, int64_t j)
{
    const double *x = s->value + 2 * s->coils * j;
    return lmr_dot(2 * s->coils, x, x);
}

static double difference(const lmr_spokes *s, int64_t i, int64_t j)
{
    const double *x = s->value + 2 * s->coils * i, *y = s->value + 2 * s->coils * j;
    double sum = 0;
    for (int c = 0; c < 2 * s->coils; c++) sum += (x[c] - y[c]) * (x[c] - y[c]);
    return sum;
}

/* How much two samples differ, relative to what they are, but for what is small beside the largest sample. */
static double mismatch(const lmr_spokes *s, const lmr_spoke *p, const lmr_spoke *q, int64_t a, int64_t b,
                       double floor)
{
    return difference(s, p->at + a, q->at + b) / (energy(s, p->at + a) + energy(s, q->at + b) + floor);
}

static double vertex(double before, double here, double after)
{
    const double curvature = before - 2 * here + after;
    return curvature > 0 ? fmin(fmax((before - after) / (2 * curvature), -.5), .5) : 0;
}

/* Where samples of the two agree best, in samples from the first ones; 0 if that is at an end. */
static int agree(const lmr_spokes *s, const lmr_spoke *p, const lmr_spoke *q, double *a, double *b)
{
    double floor = 0, least = INFINITY;
    int64_t i = 0, j = 0;
    for (int64_t n = 0; n < p->count; n++) floor = fmax(floor, 1e-4 * energy(s, p->at + n));
    for (int64_t n = 0; n < p->count; n++)
        for (int64_t m = 0; m < q->count; m++) {
            const double here = mismatch(s, p, q, n, m, floor);
            if (!(here < least)) continue;
            least = here;
            i = n;
            j = m;
        }
    if (i == 0 || j == 0 || i == p->count - 1 || j == q->count - 1) return 0;
    *a = (double)i + vertex(mismatch(s, p, q, i - 1, j, floor), least, mismatch(s, p, q, i + 1, j, floor));
    *b = (double)j + vertex(mismatch(s, p, q, i, j - 1, floor), least, mismatch(s, p, q, i, j + 1, floor));
    return 1;
}

/* The distance at which two lines pass each other. */
static double miss(int nd, const double *apart, const double *u, const double *v)
{
    const double uu = lmr_dot(nd, u, u), vv = lmr_dot(nd, v, v), uv = lmr_dot(nd, u, v);
    const double au = lmr_dot(nd, apart, u), av = lmr_dot(nd, apart, v), determinant = uu * vv - uv * uv;
    const double a = (au * vv - av * uv) / determinant, b = (av * uu - au * uv) / determinant;
    double square = 0;
    for (int d = 0; d < nd; d++) square += pow(apart[d] - a * u[d] - b * v[d], 2);
    return sqrt(square);
}

static const double *first_place(const lmr_spokes *s, const lmr_spoke *p)
{
    return s->k + s->nd * (s->samples * p->readout + p->first);
}

static int meet(const lmr_spokes *s, const lmr_spoke *p, const lmr_spoke *q, meeting *m)
{
    const int nd = s->nd;
    const double cosine =
        lmr_dot(nd, p->step, q->step) / sqrt(lmr_dot(nd, p->step, p->step) * lmr_dot(nd, q->step, q->step));
    double a, b, here[3], there[3], apart[3], u[3], v[3];
    if (fabs(cosine) > max_cosine) return 0;
    memcpy(here, first_place(s, p), sizeof *here * (size_t)nd);
    memcpy(there, first_place(s, q), sizeof *there * (size_t)nd);
    for (int d = 0; d < nd; d++) apart[d] = here[d] - there[d];
    if (miss(nd, apart, p->step, q->step) > max_spoke_distance || !agree(s, p, q, &a, &b)) return 0;
    for (int d = 0; d < nd; d++)
        apart[d] += (double)s->stride * (a * p->step[d] - b * q->step[d]); /* S (d_1 - d_2) */
    physical(s, apart, apart);
    physical(s, p->step, u);
    physical(s, q->step, v);
    for (int side = 0; side < 2; side++) {
        const double *onto = side ? v : u;
        const double size = sqrt(lmr_dot(nd, onto, onto));
        m->along[side] = lmr_dot(nd, apart, onto) / size;
        for (int e = 0; e < LMR_DELAYS; e++) {
            int i, j;
            lmr_delay_axes(e, &i, &j);
            m->row[side][e] = 0;
            if (j >= nd) continue;
            m->row[side][e] = onto[i] * (u[j] - v[j]) / size;
            if (i != j) m->row[side][e] += onto[j] * (u[i] - v[i]) / size;
        }
    }
    return 1;
}

/* Robust least squares: weights 1 / (1 + residual^2 / step^2) reduce the influence of outliers. */
static void fit(const meeting *m, int count, double step, double delay[LMR_DELAYS])
{
    memset(delay, 0, sizeof *delay * LMR_DELAYS);
    for (int pass = 0; pass < PASSES; pass++) {
        system_of_equations y = {0};
        const double width = step * (pass < PASSES / 2 ? 2 : 0.5);
        double most = 0;
        for (int i = 0; i < 2 * count; i++) {
            const double *row = m[i / 2].row[i % 2], along = m[i / 2].along[i % 2];
            const double off = (along - lmr_dot(LMR_DELAYS, row, delay)) / width;
            const double weight = pass ? 1 / (1 + off * off) : 1;
            for (int e = 0; e < LMR_DELAYS; e++) {
                for (int f = 0; f < LMR_DELAYS; f++) y.matrix[e][f] += weight * row[e] * row[f];
                y.right[e] += weight * row[e] * along;
            }
        }
        for (int e = 0; e < LMR_DELAYS; e++) most = fmax(most, y.matrix[e][e]);
        for (int e = 0; e < LMR_DELAYS; e++) y.matrix[e][e] += 1e-3 * most; /* what no pair shows stays at 0 */
        lmr_eliminate(LMR_DELAYS, y.matrix[0], y.right, delay);
    }
}

/* The intersections of pairs of spokes; m: [MOST_PAIRS]. */
static int meet_pairs(const lmr_spokes *s, meeting *m)
{
    int pairs = 0;
    for (int64_t try = 0, apart = 1; try < MOST_TRIES && pairs < MOST_PAIRS && apart < s->count; apart++)
        for (int64_t i = 0; i + apart < s->count && try < MOST_TRIES && pairs < MOST_PAIRS; i++, try++)
            pairs += meet(s, &s->spoke[i], &s->spoke[i + apart], &m[pairs]);
    return pairs;
}

larmor_status lmr_intersections(const lmr_spokes *s, double delay[LMR_DELAYS])
{
    LMR_HEAP meeting *m = lmr_new(MOST_PAIRS, sizeof *m);
    memset(delay, 0, sizeof *delay * LMR_DELAYS);
    if (!m) return LMR_NO_MEMORY();
    const int pairs = meet_pairs(s, m);
    double step[3];
    physical(s, s->spoke[0].step, step);
    if (pairs >= LEAST_PAIRS) fit(m, pairs, sqrt(lmr_dot(s->nd, step, step)), delay);
    return LARMOR_OK;
}

larmor_status lmr_intersections_agree(const lmr_spokes *s, const double delay[LMR_DELAYS], double *part)
{
    LMR_HEAP meeting *m = lmr_new(MOST_PAIRS, sizeof *m);
    *part = 0;
    if (!m) return LMR_NO_MEMORY();
    const int pairs = meet_pairs(s, m);
    const double unit = s->fov ? s->fov[0] : 1;
    for (int i = 0; i < pairs; i++) {
        double off = 0;
        for (int side = 0; side < 2; side++)
            off = fmax(off, fabs(m[i].along[side] - lmr_dot(LMR_DELAYS, m[i].row[side], delay)) * unit);
        *part += off < max_residual ? 1. / pairs : 0;
    }
    return LARMOR_OK;
}
