/* How far samples reach on either side of the centre of k-space. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/inputs.h"

/* Of the shorter side to the longer one; 7/8 of the lines have 3/4. */
static const double max_side_ratio = 0.85;

/* What is sampled along an axis is seen in a cone around it: a spiral's arms cross it at their distance from each
 * other, while their projections leave no gap. */
static const double cone_slope = 0.25, cone_radius_at_centre = 1;

/* Lines that skip some of their neighbours, and arms, end up to a gap apart. */
static const double min_beyond_gap = 1;

static int in_cone(const double *point, int nd, int d)
{
    int in = 1;
    for (int e = 0; e < nd; e++)
        in &= e == d || fabs(point[e]) <= cone_radius_at_centre + cone_slope * fabs(point[d]);
    return in;
}

/* The widest gap between samples along axis d, from low to high. */
static larmor_status widest_gap(const double *point, int nd, int64_t m, int d, double low, double high, double *gap)
{
    LMR_HEAP double *along = malloc((size_t)(m + 2) * sizeof *along);
    int64_t count = 2;
    if (!along) return LMR_NO_MEMORY();
    along[0] = low;
    along[1] = high;
    for (int64_t j = 0; j < m; j++)
        if (in_cone(point + j * nd, nd, d)) along[count++] = point[j * nd + d];
    lmr_sort_f64(along, count);
    *gap = 0;
    for (int64_t i = 1; i < count; i++) *gap = fmax(*gap, along[i] - along[i - 1]);
    return LARMOR_OK;
}

static larmor_status judge(const double *point, int nd, int64_t m, int d, larmor_coverage *coverage)
{
    const double low = coverage->low[d], high = coverage->high[d];
    const double near = fmin(-low, high), far = fmax(-low, high);
    double gap = 0;
    if (near >= max_side_ratio * far) return LARMOR_OK;
    LMR_TRY(widest_gap(point, nd, m, d, low, high, &gap));
    coverage->partial[d] = far - near > gap + min_beyond_gap;
    return LARMOR_OK;
}

enum { PIECES = 64 }; /* of all samples, whose reach threads find */

typedef struct reaching {
    const double *point; /* [nd, m] */
    int nd;
    int64_t m;
    larmor_coverage piece[PIECES];
} reaching;

static void reach_of_piece(void *self, int64_t piece)
{
    reaching *r = self;
    larmor_coverage *c = &r->piece[piece];
    const int64_t each = r->m / PIECES, first = each * piece;
    const int64_t end = piece + 1 < PIECES ? first + each : r->m;
    for (int d = 0; d < r->nd; d++) {
        double low = 0, high = 0;
        for (int64_t j = first; j < end; j++) {
            const double k = r->point[j * r->nd + d];
            low = k < low ? k : low;
            high = k > high ? k : high;
        }
        c->low[d] = low;
        c->high[d] = high;
    }
}

static larmor_status find_reach(const double *point, int nd, int64_t m, int threads, larmor_coverage *coverage)
{
    reaching r = {.point = point, .nd = nd, .m = m};
    LMR_TRY(lmr_parallel(threads, PIECES, reach_of_piece, &r));
    for (int i = 0; i < PIECES; i++)
        for (int d = 0; d < nd; d++) {
            coverage->low[d] = fmin(coverage->low[d], r.piece[i].low[d]);
            coverage->high[d] = fmax(coverage->high[d], r.piece[i].high[d]);
        }
    return LARMOR_OK;
}

larmor_status larmor_traj_coverage(const larmor_array *traj, larmor_coverage *coverage)
{
    LMR_NEED(coverage);
    *coverage = (larmor_coverage){{0}, {0}, {0}};
    const int nd = traj && traj->shape.ndim > 1 && traj->shape.dim[0] <= 3 ? (int)traj->shape.dim[0] : 0;
    LMR_REFUSE(nd < 1, LARMOR_ERR_SHAPE, "coverage: trajectory is %s, expected [1 to 3, samples, readouts]",
               traj ? lmr_describe(traj).s : "missing");
    LMR_OWN(larmor_array, k, lmr_input_real("coverage", "trajectory", traj, &k));
    const int64_t m = larmor_array_count(k) / nd;
    LMR_OWN_MEMORY(double, point, larmor_array_download(k, LARMOR_F64, &point));
    LMR_TRY(find_reach(point, nd, m, lmr_device_threads(traj->dev), coverage));
    for (int d = 0; d < nd; d++) LMR_TRY(judge(point, nd, m, d, coverage));
    return LARMOR_OK;
}
