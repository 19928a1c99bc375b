/* Which units a stored trajectory has, as ISMRMRD does not state them. A reading gives each axis a unit. It fits
 * if k-space ends along all axes where matrix and field of view say. Among several that fit, or where none does,
 * the distances of samples decide, or nothing does and the user is asked. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "io/trajectory/mrd_units.h"

/* Tuned on tests/io/test_mrd_units.c and the scans of every trajectory of larmor phantom. */
#define MIN_REACH .8      /* of the edge of k-space, at which an axis ends that is sampled whole */
#define MAX_REACH 1.05    /* of the edge of k-space, beyond which readouts are longer than the matrix says */
#define MAX_OVERSCAN 1.25 /* of the edge, for readouts that are longer */
#define MIN_PART .2       /* of the edge, for an axis that is sampled in part */
#define MAX_STEP 1.3      /* 1/FOV, between samples of a readout that is dense enough for the field of view */
#define AT_EDGE .02       /* difference of a reach from 1 that ends at the edge */
#define LEVEL_STEP .06    /* relative difference of the distance of lines or partitions from 1/FOV */
#define REGULAR_ENDS                                                                                                 \
    .004 /* relative standard deviation of the radius at which readouts end, if it is meant to be one */
#define IRREGULAR_ENDS .02 /* the same deviation where it is not meant to be */
enum { MIN_ENDS = 4, MOST_READINGS = 64 };

typedef struct readings { /* that fit in one sense, whose scales differ */
    int count;
    lmr_reading of[MOST_READINGS];
} readings;

/* ---- what fits ---- */

static int has_extent(const lmr_reading *r, int d)
{
    return r->reach[d] > 0;
}

/* Of a matrix of few voxels, lines that are symmetric about k = 0 end half a line before the edge. */
static int reaches_edge(double reach, int64_t matrix)
{
    return reach >= MIN_REACH || (1 - reach) * (double)matrix / 2 <= .5 + 1e-3;
}

static int ends_between(const lmr_reading *r, const larmor_encoding *space, int axes, double most)
{
    int good = 1;
    for (int d = 0; d < axes; d++)
        if (has_extent(r, d)) good &= reaches_edge(r->reach[d], space->matrix[d]) && r->reach[d] <= most;
    return good;
}

int lmr_reading_is_full(const lmr_reading *r, const larmor_encoding *space, int axes)
{
    return ends_between(r, space, axes, MAX_REACH);
}

/* One axis at least is sampled to the edge and none beyond it, others less. */
static int is_part(const lmr_reading *r, int axes)
{
    int part = r->reach[r->axis] >= MIN_REACH && r->reach[r->axis] <= MAX_REACH;
    for (int d = 0; d < axes; d++)
        if (has_extent(r, d)) part &= r->reach[d] >= MIN_PART;
    return part;
}

/* All of k-space is covered in part, e.g. of an interpolated image, but samples are spaced as the field of view
 * asks. */
static int is_spaced(const lmr_reading *r)
{
    const double reach = r->reach[r->axis];
    return reach >= .3 && reach < MIN_REACH && r->step >= .7 && r->step <= 1.1;
}

static int same_scale(const lmr_reading *a, const lmr_reading *b, int axes)
{
    for (int d = 0; d < axes; d++)
        if (fabs(a->reach[d] - b->reach[d]) > 1e-4 * b->reach[d]) return 0;
    return 1;
}

/* Of readings with the same scale the first stays. */
static void add(readings *all, const lmr_reading *r, int axes)
{
    for (int i = 0; i < all->count; i++)
        if (same_scale(r, &all->of[i], axes)) return;
    if (all->count < MOST_READINGS) all->of[all->count++] = *r;
}

/* Readings with one unit for all axes but one, at all of which k-space ends at the edge. */
static void find_mixed(const larmor_encoding *space, const lmr_stored *s, readings *mixed)
{
    for (int odd = s->axes - 1; odd >= 0; odd--)
        for (int u = 0; u < LMR_USUAL_UNITS; u++)
            for (int other = 0; other < LMR_USUAL_UNITS; other++) {
                int unit[3] = {u, u, u};
                unit[odd] = other;
                const lmr_reading r = lmr_read_in(unit, space, s);
                if (u != other && lmr_reading_is_full(&r, space, s->axes)) add(mixed, &r, s->axes);
            }
}

/* ---- evidence ---- */

/* Successive samples are on a smooth path, so that their distance says how dense they are. */
static int is_smooth(const lmr_stored *s)
{
    double step2 = 0, turn2 = 0;
    for (int d = 0; d < s->axes; d++) {
        step2 += s->e.step2[d];
        turn2 += s->e.turn2[d];
    }
    return turn2 < .25 * step2;
}

static int too_far_apart(const lmr_reading *r, const lmr_stored *s)
{
    return r->step > MAX_STEP && fabs(r->reach[r->axis] - 1) > AT_EDGE && is_smooth(s);
}

/* 1 if lines or partitions, whose stored values are level_step apart (0: there are none), are 1/FOV apart along
 *   each axis
 * that is sampled in part; all: along all axes that have some. */
static int has_levels(const double level_step[3], const lmr_reading *r, const larmor_encoding *space,
                      const lmr_stored *s, int all)
{
    int found = 0;
    for (int d = 0; d < s->axes; d++) {
        if (!has_extent(r, d) || (!all && reaches_edge(r->reach[d], space->matrix[d]))) continue;
        if (level_step[d] == 0 && all) continue;
        if (fabs(level_step[d] * lmr_unit_scale(r->unit[d], space, d) - 1) > LEVEL_STEP) return 0;
        found = 1;
    }
    return found;
}

/* Radius of a readout's last sample, or the largest one of a readout that returns. */
static double end_of(const larmor_raw *raw, const lmr_stored *s, int64_t i, const double weight[3])
{
    const lmr_mrd_head *h = &raw->head[i];
    const float *k = raw->traj + raw->readout[i].traj;
    double most = 0, radius = 0;
    for (int64_t n = h->discard_pre; n < h->samples - h->discard_post; n++) {
        radius = 0;
        for (int d = 0; d < s->axes; d++) {
            const double at = weight[d] * (double)k[n * s->dims + d];
            radius += at * at;
        }
        most = fmax(most, radius);
    }
    return sqrt(radius >= .25 * most ? radius : most);
}

/* Relative standard deviation of the radius at which readouts end; physical: in 1/mm, else relative to the
 * matrix's edges. */
static double spread_of_ends(const larmor_raw *raw, const lmr_reading *r, const larmor_encoding *space,
                             const lmr_stored *s, int physical)
{
    double weight[3], sum = 0, sum2 = 0;
    int64_t count = 0;
    for (int d = 0; d < s->axes; d++)
        weight[d] = lmr_unit_scale(r->unit[d], space, d) / (physical ? space->fov_mm[d] : (double)space->matrix[d]);
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const lmr_mrd_head *h = &raw->head[i];
        if (!(raw->readout[i].use & s->use) || h->encoding != s->encoding || h->traj_dims != s->dims) continue;
        const double end = end_of(raw, s, i, weight);
        sum += end;
        sum2 += end * end;
        count++;
    }
    if (count < MIN_ENDS || !(sum > 0)) return INFINITY;
    const double mean = sum / (double)count;
    return sqrt(fmax(0, sum2 / (double)count - mean * mean)) / mean;
}

/* ---- choices ---- */

/* The reading of several whose largest reach is nearest to 1 and clearly nearer than all others; else NULL. */
static const lmr_reading *find_exact(const readings *r)
{
    const lmr_reading *best = &r->of[0];
    double least = INFINITY, next = INFINITY;
    for (int i = 0; i < r->count; i++) {
        const double off = fabs(r->of[i].reach[r->of[i].axis] - 1);
        if (off < least) {
            next = least;
            least = off;
            best = &r->of[i];
        } else
            next = fmin(next, off);
    }
    return least <= AT_EDGE && next >= least + .01 && next >= 3 * least ? best : NULL;
}

/* The only reading of several by which all readouts end at one radius; else NULL. */
static const lmr_reading *find_regular(const larmor_raw *raw, const larmor_encoding *space, const lmr_stored *s,
                                       const readings *r)
{
    const lmr_reading *best = NULL;
    for (int i = 0; i < r->count; i++) {
        const double spread = spread_of_ends(raw, &r->of[i], space, s, 0);
        if (spread <= REGULAR_ENDS && best) return NULL;
        if (spread <= REGULAR_ENDS)
            best = &r->of[i];
        else if (spread < IRREGULAR_ENDS)
            return NULL;
    }
    return best;
}

static const char *edge_text(const lmr_reading *r, int axes, lmr_text *text)
{
    int n = snprintf(text->s, sizeof text->s, "%.3g", r->reach[0]);
    for (int d = 1; d < axes; d++) n += snprintf(text->s + n, sizeof text->s - (size_t)n, ", %.3g", r->reach[d]);
    return text->s;
}

/* Refuse two readings between which nothing decides. */
static larmor_status ask(const lmr_reading *a, const lmr_reading *b, int axes)
{
    lmr_text first, second;
    return LMR_FAIL(LARMOR_ERR_FORMAT,
                    "trajectory units may be %s or %s: k-space would end at %s or %s of the edge along %s. Use "
                    "opts.traj_units.",
                    lmr_reading_name(a, axes).s, lmr_reading_name(b, axes).s, edge_text(a, axes, &first),
                    edge_text(b, axes, &second), axes == 3 ? "x, y, z" : "x, y");
}

static int reads_recon(const lmr_reading *r, int axes)
{
    int recon = 0;
    for (int d = 0; d < axes; d++) recon |= lmr_unit_is_recon(r->unit[d]);
    return recon;
}

static void warn_of(larmor_raw *raw, const lmr_reading *r, int axes, const char *why)
{
    lmr_text ends;
    LMR_MRD_WARN(
        raw,
        "trajectory units are taken to be %s, %s: k-space ends at %s of the edge along %s. opts.traj_units says it.",
        lmr_reading_name(r, axes).s, why, edge_text(r, axes, &ends), axes == 3 ? "x, y, z" : "x, y");
}

/* At the edge, or half a voxel's frequency before it on both sides. */
static int ends_exactly(const lmr_reading *r, const larmor_encoding *space)
{
    const double off = (1 - r->reach[r->axis]) * (double)space->matrix[r->axis] / 2;
    return fabs(off) <= .1 || fabs(off - .5) <= .1;
}

/* A unit that few files have is one reading more only where it ends exactly at the edge, as no other does. */
static void add_rare(const larmor_encoding *space, const lmr_stored *s, readings *full)
{
    const lmr_reading rare = lmr_read_in((int[]){LMR_PER_CM, LMR_PER_CM, LMR_PER_CM}, space, s);
    if (!lmr_reading_is_full(&rare, space, s->axes) || !ends_exactly(&rare, space)) return;
    for (int i = 0; i < full->count; i++)
        if (ends_exactly(&full->of[i], space)) return;
    add(full, &rare, s->axes);
}

/* Of readings that all end at the edge. */
static larmor_status choose_full(larmor_raw *raw, const larmor_encoding *space, const lmr_stored *s,
                                 const readings *full, lmr_reading *out, const char **confidence)
{
    const lmr_reading *best = full->count == 1 ? &full->of[0] : find_exact(full);
    readings dense = {0};
    for (int i = 0; i < full->count; i++)
        if (!too_far_apart(&full->of[i], s)) dense.of[dense.count++] = full->of[i];
    /* where the field of view of reconSpace fits as well, its reading is coincidence unless readouts end by it
     * alone */
    if (full->count > 1 && best && reads_recon(best, s->axes)) best = NULL;
    const lmr_reading *regular = best ? NULL : find_regular(raw, space, s, full);
    if (!best) best = regular;
    if (!best && dense.count == 1) best = &dense.of[0];
    if (!best) return ask(&full->of[0], &full->of[1], s->axes);
    *out = *best;
    *confidence = "confidence medium";
    const int is_rare = best->unit[0] == LMR_PER_CM;
    if (is_rare || (full->count > 1 && best != regular && !ends_exactly(best, space))) {
        warn_of(raw, best, s->axes, "which ends nearest to the edge");
        return LARMOR_OK;
    }
    if (reads_recon(best, s->axes)) {
        warn_of(raw, best, s->axes, "by reconSpace's field of view");
        return LARMOR_OK;
    }
    *confidence = "confidence high";
    return LARMOR_OK;
}

/* Of readings with one unit, by which some axes end before the edge, and those with another unit for one axis. */
static larmor_status choose_part(larmor_raw *raw, const larmor_encoding *space, const lmr_stored *s,
                                 const readings *part, const readings *mixed, lmr_reading *out,
                                 const char **confidence)
{
    const lmr_reading *whole = NULL, *other = NULL;
    double level_step[3] = {0};
    int spaced = 0, mixed_fit = 0;
    for (int d = 0; d < s->axes; d++)
        if (lmr_mrd_levels(raw, s->encoding, s->use, s->dims, d, &level_step[d]) < 2) level_step[d] = 0;
    for (int i = 0; i < part->count; i++) {
        if (!has_levels(level_step, &part->of[i], space, s, 0)) continue;
        whole = &part->of[i];
        spaced++;
    }
    for (int i = 0; i < mixed->count; i++) {
        if (!has_levels(level_step, &mixed->of[i], space, s, 1) &&
            spread_of_ends(raw, &mixed->of[i], space, s, 0) > REGULAR_ENDS)
            continue;
        other = &mixed->of[i];
        mixed_fit++;
    }
    *confidence = "confidence medium";
    if (spaced == 1 && !mixed_fit) {
        *out = *whole;
        *confidence = "confidence high";
        return LARMOR_OK;
    }
    if (!spaced && mixed_fit == 1 &&
        (!part->count || spread_of_ends(raw, &part->of[0], space, s, 1) > REGULAR_ENDS)) {
        *out = *other;
        warn_of(raw, out, s->axes, "which differ between axes");
        return LARMOR_OK;
    }
    if (part->count == 1 && !mixed->count) {
        *out = part->of[0];
        warn_of(raw, out, s->axes, "with confidence medium");
        return LARMOR_OK;
    }
    if (part->count) return ask(&part->of[0], part->count > 1 ? &part->of[1] : &mixed->of[0], s->axes);
    if (mixed->count > 1) return ask(&mixed->of[0], &mixed->of[1], s->axes);
    *out = mixed->of[0];
    warn_of(raw, out, s->axes, "which differ between axes");
    return LARMOR_OK;
}

static larmor_status refuse(const lmr_stored *s, const larmor_encoding *space)
{
    double k[3] = {0};
    for (int d = 0; d < s->axes; d++) k[d] = fmax(fabs(s->e.low[d]), fabs(s->e.high[d]));
    return LMR_FAIL(LARMOR_ERR_FORMAT,
                    "trajectory units not recognised: values up to %.4g do not fit matrix %lld x %lld and field of "
                    "view %g x %g mm. Use opts.traj_units %s.",
                    fmax(k[0], fmax(k[1], k[2])), (long long)space->matrix[0], (long long)space->matrix[1],
                    space->fov_mm[0], space->fov_mm[1], lmr_unit_names().s);
}

larmor_status lmr_mrd_choose_units(larmor_raw *raw, const lmr_stored *s, lmr_reading *out, const char **confidence)
{
    const larmor_encoding *space = &raw->header.encoding[s->encoding].space;
    readings full = {0}, over = {0}, part = {0}, spaced = {0}, mixed = {0};
    for (int u = 0; u < LMR_USUAL_UNITS; u++) {
        const lmr_reading r = lmr_read_in((int[]){u, u, u}, space, s);
        if (lmr_reading_is_full(&r, space, s->axes))
            add(&full, &r, s->axes);
        else if (ends_between(&r, space, s->axes, MAX_OVERSCAN))
            add(&over, &r, s->axes);
        else if (is_part(&r, s->axes))
            add(&part, &r, s->axes);
        else if (is_spaced(&r))
            add(&spaced, &r, s->axes);
    }
    add_rare(space, s, &full);
    if (full.count) return choose_full(raw, space, s, &full, out, confidence);
    find_mixed(space, s, &mixed);
    if (part.count || (mixed.count && !over.count)) return choose_part(raw, space, s, &part, &mixed, out, confidence);
    if (over.count > 1) return ask(&over.of[0], &over.of[1], s->axes);
    if (over.count && mixed.count) return ask(&over.of[0], &mixed.of[0], s->axes);
    if (spaced.count > 1) return ask(&spaced.of[0], &spaced.of[1], s->axes);
    if (!over.count && !spaced.count) return refuse(s, space);
    *out = over.count ? over.of[0] : spaced.of[0];
    *confidence = over.count ? "confidence medium" : "confidence low";
    if (over.count)
        warn_of(raw, out, s->axes, "whose samples beyond the edge are left out");
    else
        warn_of(raw, out, s->axes, "by the distance of samples alone");
    return LARMOR_OK;
}
