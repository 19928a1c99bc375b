/* Density compensation of spirals from their geometry: arms that are rotated copies of each other share every ring of
 * k-space alike, so that a sample stands for its part of a ring.
 *
 * With k(t, phi) = r(t) exp(i (theta(t) + phi)) the Jacobian of (t, phi) is r dr/dt, whatever theta is. Integrated
 * from halfway before a sample to halfway behind it, it is half the difference of the squared radii there, and all
 * samples together have the area of the disc exactly. Where arms differ in length, those that reach a ring share
 * it.
 *
 * Source: Hoge, Kwan, Pike, Magn. Reson. Med. 38, 117 (1997), who compare it with other weights.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/density/density.h"

#define MAX_RADIUS_FALL                                                                                              \
    0.5 /* not measured; 1/FOV that a radius may fall on the way outwards, and rise on the way inwards */

typedef struct arm { /* a part of a readout on which the radius rises or falls: rings from edge[0] outwards */
    int64_t first, count;
    double outer; /* radius of its outermost edge */
} arm;

typedef struct arms {
    int64_t n, readouts;
    double *radius; /* [n, readouts], then made to rise or fall on each arm */
    arm *list;      /* [2 readouts] */
    int64_t count;
} arms;

LMR_FREES(arms_free, arms, radius, list)

/* The radii of an arm do not turn back: each is at least the one further in. Returns how far one did. */
static double straighten(double *r, int64_t count, int outwards)
{
    double most = 0, inner = 0;
    for (int64_t n = 0; n < count; n++) {
        double *here = &r[outwards ? n : count - 1 - n];
        most = fmax(most, inner - *here);
        *here = inner = fmax(inner, *here);
    }
    return most;
}

/* The edge between sample i of an arm and the next; i = -1 and count - 1: its ends, as far beyond as half the way
 * back, and at the inner end not below 0. */
static double edge_of(const double *r, int64_t count, int64_t i, int outwards)
{
    if (i >= 0 && i < count - 1) return (r[i] + r[i + 1]) / 2;
    const int64_t end = i < 0 ? 0 : count - 1;
    const int64_t next = i < 0 ? 1 : count - 2;
    const int inner = (i < 0) == outwards;
    if (inner) return fmax(0, r[end] - fabs(r[next] - r[end]) / 2);
    return r[end] + fabs(r[end] - r[next]) / 2;
}

static larmor_status not_a_spiral(int64_t readout, const char *why)
{
    return LMR_FAIL(LARMOR_ERR_ARG,
                    "density spiral: readout %lld %s, expected arms from the centre of k-space outwards, inwards, or "
                    "inwards and out again; use larmor_density_voronoi",
                    (long long)readout, why);
}

/* A readout is one arm or, where its least radius is in the middle, two. */
static larmor_status split(arms *a, int64_t readout)
{
    double *r = a->radius + readout * a->n;
    int64_t least = 0;
    double largest = 0;
    for (int64_t i = 0; i < a->n; i++) {
        if (r[i] < r[least]) least = i;
        largest = fmax(largest, r[i]);
    }
    if (!(largest > 1)) return not_a_spiral(readout, "has no extent");
    if (r[least] > largest / 4) return not_a_spiral(readout, "keeps away from the centre");
    const int64_t inwards = least > a->n / 8 ? least : 0;
    const int64_t rest = a->n - inwards;
    const int64_t count[2] = {rest > a->n / 8 ? inwards : a->n, rest > a->n / 8 ? rest : 0};
    for (int part = 0; part < 2; part++) {
        const int64_t first = part ? count[0] : 0;
        if (!count[part]) continue;
        if (straighten(r + first, count[part], part) > MAX_RADIUS_FALL) return not_a_spiral(readout, "turns back");
        a->list[a->count++] = (arm){readout * a->n + first, count[part],
                                    edge_of(r + first, count[part], part ? count[part] - 1 : -1, part)};
    }
    return LARMOR_OK;
}

static int descending(const void *a, const void *b)
{
    const double x = ((const arm *)a)->outer, y = ((const arm *)b)->outer;
    return (x < y) - (x > y);
}

/* How many arms reach a radius: the list is sorted by falling length. */
static int64_t reaching(const arms *a, double radius)
{
    int64_t low = 0, high = a->count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (a->list[middle].outer >= radius)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low : 1;
}

static void weigh(const arms *a, const arm *one, double *w)
{
    const double *r = a->radius + one->first;
    const int outwards = r[one->count - 1] >= r[0];
    for (int64_t i = 0; i < one->count; i++) {
        double low = edge_of(r, one->count, i - 1, outwards), high = edge_of(r, one->count, i, outwards);
        if (low > high) {
            const double swap = low;
            low = high;
            high = swap;
        }
        const int innermost = i == (outwards ? 0 : one->count - 1);
        if (innermost) low = 0;
        w[one->first + i] = M_PI * (high * high - low * low) / (double)reaching(a, (low + high) / 2);
    }
}

static larmor_status weigh_all(larmor_shape image, int64_t n, int64_t readouts, const double *k, double *w)
{
    LMR_REFUSE(image.ndim != 2, LARMOR_ERR_ARG,
               "density spiral: image has %d dimensions, expected 2; use larmor_density_voronoi or "
               "larmor_density_pipe",
               image.ndim);
    LMR_FREED_BY(arms_free)
    arms a = {.n = n,
              .readouts = readouts,
              .radius = lmr_new(n * readouts, sizeof(double)),
              .list = lmr_new(2 * readouts, sizeof(arm))};
    if (!a.radius || !a.list) return LMR_NO_MEMORY();
    if (n < 8) LMR_TRY(not_a_spiral(0, "has fewer than 8 samples"));
    for (int64_t i = 0; i < n * readouts; i++) a.radius[i] = hypot(k[2 * i], k[2 * i + 1]);
    for (int64_t r = 0; r < readouts; r++) LMR_TRY(split(&a, r));
    qsort(a.list, (size_t)a.count, sizeof *a.list, descending);
    for (int64_t i = 0; i < a.count; i++) weigh(&a, &a.list[i], w);
    return LARMOR_OK;
}

larmor_status larmor_density_spiral(const larmor_array *traj, larmor_shape image, larmor_array **w)
{
    LMR_NEED(w);
    return lmr_density_by("density spiral", traj, image, weigh_all, w);
}
