/* A centre of k-space without samples: readouts that begin after a dead time, or lines that are missing there.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "core/hole.h"
#include "core/select.h"
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
 * k = 0 than `enough`. */
static larmor_status survey(const centre *c, double radius, double enough, double *least, int64_t *within)
{
    *least = INFINITY;
    *within = 0;
    for (int64_t i = 0; i < c->raw->info.acquisitions && !(*least < enough); i++) {
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

static larmor_status check_stored(larmor_raw *raw, int encoding, const lmr_mrd_traj *t)
{
    const larmor_encoding *space = &raw->header.encoding[encoding].space;
    centre c = {raw, t, encoding, t->spatial, {0}};
    double hole, nearest;
    int64_t around;
    for (int d = 0; d < c.axes; d++) c.scale[d] = t->scale[d] * space->recon_fov_mm[d] / space->fov_mm[d];
    LMR_TRY(survey(&c, 0, LMR_MIN_HOLE, &hole, &around));
    if (hole < LMR_MIN_HOLE || !isfinite(hole)) return LARMOR_OK;
    LMR_TRY(survey(&c, 2 * hole, 0, &nearest, &around));
    if (!lmr_is_hole(hole, around, c.axes)) return LARMOR_OK;
    raw->info.hole = fmax(raw->info.hole, hole);
    lmr_mrd_warn(raw, LMR_HOLE_TEXT, hole);
    return LARMOR_OK;
}

/* The lines or partitions on both sides of the centre are farther apart than others are. */
static larmor_status check_counters(larmor_raw *raw, int encoding, int axis, const lmr_mrd_traj *t)
{
    int *line = lmr_new(raw->info.acquisitions + 1, sizeof *line), count = 0, lines = 0;
    if (!line) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < raw->info.acquisitions; i++)
        if (raw->readout[i].use & (LMR_IMAGING | LMR_CALIBRATION) && raw->head[i].encoding == encoding)
            line[count++] = raw->head[i].counter[axis - 1];
    lmr_sort_int(line, count);
    for (int i = 0; i < count; i++)
        if (!i || line[i] != line[lines - 1]) line[lines++] = line[i];
    int before = -1, after = -1;
    for (int l = 0; l < lines; l++) {
        if (line[l] <= t->center[axis]) before = l;
        if (line[l] >= t->center[axis] && after < 0) after = l;
    }
    if (lines > 4 && before >= 0 && after > before) {
        const int low = line[before], high = line[after];
        for (int l = lines - 1; l > 0; l--) line[l] -= line[l - 1];
        lmr_sort_int(line + 1, lines - 1);
        if (high - low > WIDER * line[1 + (lines - 1) / 2])
            lmr_mrd_warn(
                raw,
                "k-space has a hole in its centre: %s %d to %d are missing around k = 0, so that large and uniform "
                "parts of the object may be missing or wrong in the image.",
                axis == 1 ? "lines" : "partitions", low + 1, high - 1);
    }
    free(line);
    return LARMOR_OK;
}

larmor_status lmr_mrd_check_centre(larmor_raw *raw, int encoding, int lines)
{
    const lmr_mrd_traj *t = &raw->traj_of[encoding];
    if (t->dims) LMR_TRY(check_stored(raw, encoding, t));
    if (lines) LMR_TRY(check_counters(raw, encoding, 1, t));
    if (raw->header.encoding[encoding].space.ndim == 3 && (lines || t->spatial == 2))
        LMR_TRY(check_counters(raw, encoding, 2, t));
    return LARMOR_OK;
}
