/* A centre of k-space without samples: readouts that begin after a dead time, or lines that are missing there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "core/hole.h"
#include "io/mrd/mrd.h"

#define WIDER 1.5 /* of the usual gap between lines, of one around the centre */

typedef struct centre { /* what of an encoding is searched */
    const larmor_raw *raw;
    const lmr_mrd_traj *t;
    int encoding, axes;
    double scale[3]; /* stored value to cycles per field of view of the image */
} centre;

static int is_stored(const centre *c, int64_t i)
{
    const lmr_mrd_head *h = &c->raw->head[i];
    return c->raw->readout[i].use & LMR_IMAGING && h->encoding == c->encoding && h->traj_dims == c->t->dims;
}

static double radius_of(const centre *c, const float *k)
{
    double sum = 0;
    for (int d = 0; d < c->axes; d++) {
        const double at = c->scale[d] * ((double)k[d] - (d == 2 ? c->t->offset : 0));
        sum += at * at;
    }
    return sqrt(sum);
}

/* The smallest radius of all samples, and how many there are up to a radius. Ends as soon as a sample is nearer to
 * k = 0 than `enough`. list: of the readouts that are looked at, NULL for all. */
static larmor_status survey(const centre *c, const int64_t *list, int64_t count, double radius, double enough,
                            double *least, int64_t *within)
{
    *least = INFINITY;
    *within = 0;
    for (int64_t j = 0; j < count && !(*least < enough); j++) {
        const int64_t i = list ? list[j] : j;
        const lmr_mrd_head *h = &c->raw->head[i];
        LMR_TRY(lmr_go_on());
        if (!is_stored(c, i)) continue;
        const float *k = c->raw->traj + c->raw->readout[i].traj;
        for (int64_t s = h->discard_pre; s < h->samples - h->discard_post; s++) {
            const double at = radius_of(c, k + s * h->traj_dims);
            *least = fmin(*least, at);
            *within += at <= radius;
        }
    }
    return LARMOR_OK;
}

static centre centre_of(const larmor_raw *raw, int encoding)
{
    const larmor_encoding *space = &raw->header.encoding[encoding].space;
    const lmr_mrd_traj *t = &raw->traj_of[encoding];
    centre c = {raw, t, encoding, t->spatial, {0}};
    for (int d = 0; d < c.axes; d++) c.scale[d] = t->scale[d] * space->recon_fov_mm[d] / space->fov_mm[d];
    return c;
}

/* hole: its radius in 1/FOV; 0: there is none. */
static larmor_status find_hole(const centre *c, const int64_t *list, int64_t count, double *hole)
{
    double least, nearest;
    int64_t around;
    *hole = 0;
    LMR_TRY(survey(c, list, count, 0, LMR_MIN_HOLE, &least, &around));
    if (least < LMR_MIN_HOLE || !isfinite(least)) return LARMOR_OK;
    LMR_TRY(survey(c, list, count, 2 * least, 0, &nearest, &around));
    if (lmr_is_hole(least, around, c->axes)) *hole = least;
    return LARMOR_OK;
}

static larmor_status check_stored(larmor_raw *raw, int encoding)
{
    const centre c = centre_of(raw, encoding);
    double hole;
    LMR_TRY(find_hole(&c, NULL, raw->info.acquisitions, &hole));
    if (hole == 0) return LARMOR_OK;
    raw->info.hole = fmax(raw->info.hole, hole);
    raw->has_hole = 1;
    LMR_MRD_WARN(raw, LMR_HOLE_TEXT, hole);
    return LARMOR_OK;
}

/* The lines or partitions on both sides of the centre are farther apart than others are: the counters of those that
 * are there, or 0 and 0. list: as for survey. */
static larmor_status find_gap(const larmor_raw *raw, int encoding, int axis, const int64_t *list, int64_t readouts,
                              int gap[2])
{
    const lmr_mrd_traj *t = &raw->traj_of[encoding];
    LMR_HEAP LMR_NEW(int, line, readouts + 1);
    int count = 0, lines = 0;
    gap[0] = gap[1] = 0;
    for (int64_t j = 0; j < readouts; j++) {
        const int64_t i = list ? list[j] : j;
        if (raw->readout[i].use & (LMR_IMAGING | LMR_CALIBRATION) && raw->head[i].encoding == encoding)
            line[count++] = raw->head[i].counter[axis - 1];
    }
    lmr_sort_int(line, count);
    for (int i = 0; i < count; i++)
        if (!i || line[i] != line[lines - 1]) line[lines++] = line[i];
    int before = -1, after = -1;
    for (int l = 0; l < lines; l++) {
        if (line[l] <= t->center[axis]) before = l;
        if (line[l] >= t->center[axis] && after < 0) after = l;
    }
    if (lines <= 4 || before < 0 || after <= before) return LARMOR_OK;
    const int low = line[before], high = line[after];
    for (int l = lines - 1; l > 0; l--) line[l] -= line[l - 1];
    lmr_sort_int(line + 1, lines - 1);
    if (high - low <= WIDER * line[1 + (lines - 1) / 2]) return LARMOR_OK;
    gap[0] = low;
    gap[1] = high;
    return LARMOR_OK;
}

static larmor_status check_counters(larmor_raw *raw, int encoding, int axis)
{
    int gap[2];
    LMR_TRY(find_gap(raw, encoding, axis, NULL, raw->info.acquisitions, gap));
    raw->has_hole |= gap[1] > 0;
    if (gap[1])
        LMR_MRD_WARN(
            raw,
            "k-space has a hole in its centre: %s %d to %d are missing around k = 0, so that large and uniform "
            "parts of the object may be missing or wrong in the image.",
            axis == 1 ? "lines" : "partitions", gap[0] + 1, gap[1] - 1);
    return LARMOR_OK;
}

static int counts_partitions(const larmor_raw *raw, int encoding, int lines)
{
    return raw->header.encoding[encoding].space.ndim == 3 && (lines || raw->traj_of[encoding].spatial == 2);
}

larmor_status lmr_mrd_check_centre(larmor_raw *raw, int encoding, int lines)
{
    if (raw->traj_of[encoding].dims) LMR_TRY(check_stored(raw, encoding));
    if (lines) LMR_TRY(check_counters(raw, encoding, 1));
    if (counts_partitions(raw, encoding, lines)) LMR_TRY(check_counters(raw, encoding, 2));
    return LARMOR_OK;
}

/* ---- images that lack what others have ---- */

/* hole: as of find_hole; gap: 1 where lines or partitions around the centre are missing. */
static larmor_status look_at_image(const larmor_raw *raw, int group, int lines, double *hole, int *gap)
{
    const int64_t first = raw->first_in_order[group], count = raw->first_in_order[group + 1] - first;
    const int64_t *list = raw->order + first;
    const int encoding = raw->group[group].encoding;
    int lack[2] = {0, 0};
    *hole = 0;
    if (raw->traj_of[encoding].dims) {
        const centre c = centre_of(raw, encoding);
        LMR_TRY(find_hole(&c, list, count, hole));
    }
    if (lines) LMR_TRY(find_gap(raw, encoding, 1, list, count, lack));
    if (!lack[1] && counts_partitions(raw, encoding, lines)) LMR_TRY(find_gap(raw, encoding, 2, list, count, lack));
    *gap = lack[1] > 0;
    return LARMOR_OK;
}

typedef struct images { /* that have a hole */
    int count, first;
    double widest;
} images;

static void add_image(images *holes, int group, double radius)
{
    if (!holes->count++) holes->first = group;
    holes->widest = fmax(holes->widest, radius);
}

static void warn_of_images(larmor_raw *raw, const images *holes, const char *what)
{
    const larmor_group *g = &raw->group[holes->first];
    if (holes->count)
        LMR_MRD_WARN(raw, LMR_HOLES_TEXT, holes->count, raw->info.groups, what, g->slice, g->contrast, g->phase,
                     g->repetition, g->set);
}

larmor_status lmr_mrd_check_centres(larmor_raw *raw)
{
    images holes = {.count = 0}, gaps = {.count = 0};
    char what[80];
    if (raw->info.groups < 2 || raw->info.calibration /* which has the centre */ || raw->has_hole) return LARMOR_OK;
    for (int g = 0; g < raw->info.groups; g++) {
        const int encoding = raw->group[g].encoding;
        const int lines = !raw->traj_of[encoding].dims &&
                          lmr_mrd_made_from_counters(raw->header.encoding[encoding].space.trajectory);
        double hole;
        int gap;
        LMR_TRY(look_at_image(raw, g, lines, &hole, &gap));
        raw->group[g].hole = hole;
        if (hole > 0)
            add_image(&holes, g, hole);
        else if (gap)
            add_image(&gaps, g, 0);
    }
    snprintf(what, sizeof what, LMR_NO_SAMPLE_TEXT, holes.widest);
    warn_of_images(raw, &holes, what);
    warn_of_images(raw, &gaps, "lines or partitions are missing");
    return LARMOR_OK;
}
