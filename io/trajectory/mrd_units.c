/* The trajectory of a raw file: ISMRMRD states neither its unit nor what a third component is, so both are inferred
 * from the header's matrix and field of view, and refused where that is not conclusive. SPDX-License-Identifier:
 * Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/parts.h"
#include "io/reader/source.h"
#include "io/trajectory/mrd_units.h"

#define MAX_ENLARGED 2           /* of the matrix, for lines that are more than it says */
#define MAX_SEQUENCE_BEYOND 1.05 /* of the matrix, for twice the k that a sequence reaches */
#define MAX_LINES 1.5     /* between the center that the header says and the line with most energy, without a word */
#define MAX_LINES_EPI 3.5 /* the same of echo-planar lines, which gradients of the field shift */
#define MOST_BEYOND 1.05  /* of the edge of k-space, for values of a unit that ends there by definition */

/* ---- what is stored ---- */

typedef struct measuring {
    const larmor_raw *raw;
    int encoding, use, dims;
    lmr_extent e;
} measuring;

static int is_measured(const measuring *m, int64_t i)
{
    const lmr_mrd_head *h = &m->raw->head[i];
    return (m->raw->readout[i].use & m->use) && h->encoding == m->encoding && h->traj_dims == m->dims;
}

/* Components first to end - 1, whose sums are in the order of the samples, however many parts there are. */
static larmor_status measure_components(void *user, int part LMR_UNUSED, int64_t first, int64_t end)
{
    enum { ASK_EVERY = 1024 };
    measuring *m = user;
    for (int64_t d = first; d < end; d++) {
        double low = INFINITY, high = -INFINITY, step2 = 0, turn2 = 0;
        for (int64_t i = 0; i < m->raw->info.acquisitions; i++) {
            const lmr_mrd_head *h = &m->raw->head[i];
            if (i % ASK_EVERY == 0) LMR_TRY(lmr_go_on());
            if (!is_measured(m, i)) continue;
            const float *k = m->raw->traj + m->raw->readout[i].traj + d;
            for (int64_t s = h->discard_pre; s < h->samples - h->discard_post; s++) {
                const double v = (double)k[s * m->dims];
                low = v < low ? v : low;
                high = v > high ? v : high;
                if (s == h->discard_pre) continue;
                const double step = v - (double)k[(s - 1) * m->dims];
                step2 += step * step;
                if (s == h->discard_pre + 1) continue;
                const double turn = step - ((double)k[(s - 1) * m->dims] - (double)k[(s - 2) * m->dims]);
                turn2 += turn * turn;
            }
        }
        m->e.low[d] = low;
        m->e.high[d] = high;
        m->e.step2[d] = step2;
        m->e.turn2[d] = turn2;
    }
    return LARMOR_OK;
}

static larmor_status measure(const larmor_raw *raw, int encoding, int use, int dims, lmr_extent *e)
{
    measuring m = {raw, encoding, use, dims, {.samples = 0}};
    int64_t steps = 0, turns = 0;
    for (int d = 0; d < 3; d++) {
        m.e.low[d] = INFINITY;
        m.e.high[d] = -INFINITY;
    }
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!is_measured(&m, i)) continue;
        const int64_t kept = lmr_head_kept(&raw->head[i]);
        m.e.samples += kept > 0 ? kept : 0;
        steps += kept > 1 ? kept - 1 : 0;
        turns += kept > 2 ? kept - 2 : 0;
    }
    LMR_TRY(lmr_in_parts(dims, lmr_parts_for(m.e.samples * dims * (int64_t)sizeof(float)), measure_components, &m));
    for (int d = 0; d < dims && steps; d++) m.e.step2[d] /= (double)steps;
    for (int d = 0; d < dims && turns; d++) m.e.turn2[d] /= (double)turns;
    *e = m.e;
    return LARMOR_OK;
}

/* ---- what it is in a unit ---- */

static void report(larmor_raw *raw, const lmr_reading *r, const larmor_encoding *space, int axes, const char *how)
{
    const double half = (double)space->matrix[r->axis] / 2;
    const lmr_text name = lmr_reading_name(r, axes);
    snprintf(raw->info.traj_units, sizeof raw->info.traj_units, "%.47s", name.s);
    snprintf(raw->info.traj_report, sizeof raw->info.traj_report, "%.63s (kmax %.1f of %g), %s",
             strchr(name.s, ',') ? name.s : lmr_unit_label(r->unit[0]), r->reach[r->axis] * half, half, how);
}

/* " Is the unit 1/FOV?" if another unit of all axes fits. */
static lmr_text other_unit(const larmor_encoding *space, const lmr_stored *s)
{
    lmr_text question = {""};
    for (int u = LMR_USUAL_UNITS; u-- > 0;) {
        const lmr_reading other = lmr_read_in((int[]){u, u, u}, space, s);
        if (lmr_reading_is_full(&other, space, s->axes))
            snprintf(question.s, sizeof question.s, " Is the unit %s?", lmr_unit_label(u));
    }
    return question;
}

/* ---- of arrays ---- */

#define MIN_GIVEN_REACH .2   /* of the edge, for arrays in cycles per field of view that another unit fits, too */
#define MAX_GIVEN_REACH 1.25 /* the same, the most of the edge */
#define LEAST_REACH .1       /* of the edge, without a warning */

/* The first unit but cycles per field of view by which k-space ends at the edge along all axes; LMR_UNITS: none
 * does. */
static int fitting_unit(const larmor_encoding *space, const lmr_stored *s)
{
    for (int u = 0; u < LMR_USUAL_UNITS; u++) {
        const lmr_reading r = lmr_read_in((int[]){u, u, u}, space, s);
        if (u != LMR_PER_FOV && !lmr_unit_is_recon(u) && lmr_reading_is_full(&r, space, s->axes)) return u;
    }
    return LMR_UNITS;
}

/* "64 x 64": what values in a unit are multiplied by. */
static lmr_text factors_text(int unit, const larmor_encoding *space)
{
    lmr_text text;
    int n = snprintf(text.s, sizeof text.s, "%.6g", lmr_unit_scale(unit, space, 0));
    for (int d = 1; d < space->ndim; d++)
        n += snprintf(text.s + n, sizeof text.s - (size_t)n, ", %.6g", lmr_unit_scale(unit, space, d));
    return text;
}

larmor_status larmor_traj_check_unit(const larmor_encoding *encoding, const double low[3], const double high[3],
                                     char *warning, size_t size)
{
    LMR_REFUSE(!warning || !size, LARMOR_ERR_ARG, "larmor_traj_check_unit: nowhere to put the warning");
    *warning = 0;
    LMR_REFUSE(!encoding || !low || !high, LARMOR_ERR_ARG,
               "larmor_traj_check_unit: an encoding and limits of the values expected");
    lmr_stored s = {.dims = encoding->ndim, .axes = encoding->ndim};
    for (int d = 0; d < encoding->ndim; d++) {
        s.e.low[d] = low[d];
        s.e.high[d] = high[d];
    }
    const lmr_reading r = lmr_read_in((int[]){LMR_PER_FOV, LMR_PER_FOV, LMR_PER_FOV}, encoding, &s);
    const double reach = r.reach[r.axis];
    if (reach == 0 || lmr_reading_is_full(&r, encoding, s.axes)) return LARMOR_OK;
    const int unit = fitting_unit(encoding, &s);
    const char *const axes = s.axes == 3 ? "x, y, z" : "x, y";
    LMR_REFUSE(unit < LMR_UNITS && (reach < MIN_GIVEN_REACH || reach > MAX_GIVEN_REACH), LARMOR_ERR_FORMAT,
               "trajectory: got values up to %.4g, expected cycles per field of view, up to %g; they are in "
               "\"%s\", multiply them by %s along %s",
               fmax(-s.e.low[r.axis], s.e.high[r.axis]), (double)encoding->matrix[r.axis] / 2,
               larmor_traj_unit_entry(unit).name, factors_text(unit, encoding).s, axes);
    if (unit < LMR_UNITS)
        snprintf(warning, size,
                 "trajectory in cycles per field of view ends at %.2g of the edge of k-space. If it is in \"%s\", "
                 "multiply it by %s along %s.",
                 reach, larmor_traj_unit_entry(unit).name, factors_text(unit, encoding).s, axes);
    else if (reach < LEAST_REACH)
        snprintf(warning, size, "trajectory in cycles per field of view reaches only %.2g of the matrix's k-space.",
                 reach);
    return LARMOR_OK;
}

/* ---- of files ---- */

static larmor_status take_given(larmor_raw *raw, const char *names, const larmor_encoding *space, const lmr_stored *s,
                                lmr_reading *out)
{
    int unit[3];
    lmr_units_named(names, unit);
    *out = lmr_read_in(unit, space, s);
    const double bound = lmr_unit_bound(unit[out->axis]);
    const int axis = out->axis;
    if (bound > 0 && out->reach[axis] > MOST_BEYOND) {
        const double worst = -s->e.low[axis] > s->e.high[axis] ? s->e.low[axis] : s->e.high[axis];
        return LMR_FAIL(LARMOR_ERR_FORMAT, "trajectory value %.4g outside %.4g..%.4g.%s Use opts.traj_units.", worst,
                        -bound, bound, other_unit(space, s).s);
    }
    if (out->reach[axis] < .1)
        LMR_MRD_WARN(raw, "trajectory in %s reaches only %.2g of the matrix's k-space.%s", lmr_unit_label(unit[axis]),
                     out->reach[axis], other_unit(space, s).s);
    return LARMOR_OK;
}

/* How many components the readouts of an encoding have; those for calibration alone may have none. */
static larmor_status components(const larmor_raw *raw, int encoding, int *dims, int *use)
{
    *use = 0;
    for (int pass = 0; pass < 2; pass++) {
        const int wanted = pass ? LMR_CALIBRATION : LMR_IMAGING;
        for (int64_t i = 0; i < raw->info.acquisitions; i++) {
            const lmr_mrd_head *h = &raw->head[i];
            if (!(raw->readout[i].use & wanted) || h->encoding != encoding) continue;
            LMR_REFUSE(
                h->traj_dims == 4 || h->traj_dims == 9 || h->traj_dims == 16, LARMOR_ERR_FORMAT,
                "acquisition %lld: trajectory has %d components, 2 or 3 expected. If they are the "
                "phases of a field camera use opts.phase_terms trajectory; if they are kx, ky, kz and a weight "
                "or a time, store kx, ky and kz alone.",
                (long long)i, h->traj_dims);
            LMR_REFUSE(h->traj_dims == 1 || h->traj_dims > 3, LARMOR_ERR_FORMAT,
                       "acquisition %lld: trajectory has %d components, 2 or 3 expected.", (long long)i,
                       h->traj_dims);
            if (!*use) {
                *use = wanted;
                *dims = h->traj_dims;
            }
            if (h->traj_dims == *dims || (raw->readout[i].use == LMR_CALIBRATION && !h->traj_dims)) continue;
            return LMR_FAIL(LARMOR_ERR_FORMAT, "acquisition %lld: trajectory has %d components, the first has %d.",
                            (long long)i, h->traj_dims, *dims);
        }
    }
    return LARMOR_OK;
}

/* ---- the matrix ---- */

/* The unit whose values end there, if the matrix is not known: those that do not depend on it are bounded. */
static int unit_by_reach(double reach)
{
    if (reach <= 1.1 * lmr_unit_bound(LMR_NORM)) return LMR_NORM;
    if (reach <= 1.1 * lmr_unit_bound(LMR_PM1)) return LMR_PM1;
    return reach <= 1.05 * lmr_unit_bound(LMR_RAD) ? LMR_RAD : LMR_PER_FOV;
}

static int64_t even(double n)
{
    return 2 * (int64_t)ceil(fmin(n, LMR_MRD_MAX_MATRIX) / 2 - .25);
}

void lmr_mrd_guess_matrix(const larmor_raw *raw, int encoding, const char *name, int64_t matrix[3])
{
    const larmor_encoding *space = &raw->header.encoding[encoding].space;
    int dims = 0, use;
    int unit[3];
    lmr_extent e;
    if (components(raw, encoding, &dims, &use) || !use || dims < 2) return;
    if (measure(raw, encoding, use, dims, &e)) return;
    const int spatial = dims == 3 && e.low[2] < 0 ? 3 : 2;
    double reach = 0, step2 = 0;
    for (int d = 0; d < spatial; d++) {
        reach = fmax(reach, lmr_largest(&e, d));
        step2 += e.step2[d];
    }
    if (!name || !lmr_units_named(name, unit)) unit[0] = unit[1] = unit[2] = unit_by_reach(reach);
    const double most = pow((double)e.samples, 1. / spatial);
    const int64_t known = space->matrix[0] ? space->matrix[0] : space->matrix[1];
    for (int d = 0; d < spatial; d++) {
        /* where values end by definition, one sample for each voxel, but no more voxels than samples */
        const double bound = lmr_unit_bound(unit[d]), across = 2 * bound / sqrt(step2);
        if (bound > 0)
            matrix[d] = known ? known : even(fmin(across, most));
        else
            matrix[d] = even(2 * lmr_largest(&e, d) * lmr_unit_scale(unit[d], space, d));
    }
}

/* ---- sequences ---- */

/* A scan of a Pulseq sequence has the header of the protocol that ran it, whose matrix nobody chose: the resolution
 * is that of the sequence, where it is more. */
static void take_resolution(larmor_raw *raw, int encoding, int d, double cycles)
{
    larmor_encoding *space = &raw->header.encoding[encoding].space;
    const int64_t given = space->matrix[d], n = even(2 * cycles);
    if (!given || 2 * cycles <= MAX_SEQUENCE_BEYOND * (double)given || n <= given) return;
    if (n > MAX_ENLARGED * given) {
        LMR_MRD_WARN(
            raw,
            "the sequence reaches %.4g/FOV along %c, far more than the header's matrix of %lld resolves, which "
            "stays: choose a matrix.",
            cycles, "xyz"[d], (long long)given);
        return;
    }
    const int64_t recon = space->recon_matrix[d];
    const double part =
        space->recon_fov_mm[d] > 0 && space->fov_mm[d] > 0 ? space->recon_fov_mm[d] / space->fov_mm[d] : 1;
    space->matrix[d] = n;
    if (recon) space->recon_matrix[d] = part == 1 ? n : even((double)n * part);
    LMR_MRD_WARN(
        raw, "the sequence reaches %.4g/FOV along %c, more than the header's matrix of %lld resolves: %lld is taken.",
        cycles, "xyz"[d], (long long)given, (long long)n);
}

larmor_status lmr_mrd_match_sequence(larmor_raw *raw, const larmor_trajectory *given)
{
    int unit[3];
    if (!given || !given->of_sequence || !lmr_units_named(given->units, unit)) return LARMOR_OK;
    for (int e = 0; e < raw->header.encodings; e++) {
        int dims = 0, use;
        lmr_extent extent;
        LMR_TRY(components(raw, e, &dims, &use));
        if (!use || dims < 2) continue;
        LMR_TRY(measure(raw, e, use, dims, &extent));
        const larmor_encoding *space = &raw->header.encoding[e].space;
        for (int d = 0; d < dims && d < space->ndim; d++)
            take_resolution(raw, e, d, lmr_largest(&extent, d) * lmr_unit_scale(unit[d], space, d));
    }
    return LARMOR_OK;
}

/* ---- encodings ---- */

typedef struct
    lines { /* counters of the first and the last line or partition, and an acquisition that has the last one */
    int64_t low, high, at;
} lines;

/* The header's matrix has fewer lines or partitions than there are: those 1/FOV apart that are beyond it make it
 * larger. */
static larmor_status enlarge_matrix(larmor_raw *raw, int encoding, int axis, lines l, int64_t given, lmr_mrd_traj *t)
{
    larmor_encoding *space = &raw->header.encoding[encoding].space;
    const int64_t n = space->matrix[axis], count = l.high - l.low + 1;
    const char *name = axis == 1 ? "line" : "partition";
    larmor_grid grid;
    LMR_REFUSE(count > MAX_ENLARGED * n, LARMOR_ERR_FORMAT, "acquisition %lld: k-space %s %lld beyond matrix %lld.",
               (long long)l.at, name, (long long)l.high, (long long)n);
    const int64_t middle = l.low + count / 2;
    const int64_t said = given > l.low && given < l.high ? given : middle;
    lmr_mrd_strongest strongest;
    LMR_TRY(lmr_mrd_strongest_line(raw, encoding, axis, said, &strongest));
    const int differs =
        strongest.line >= 0 && fabs((double)(strongest.line - said)) > MAX_LINES + (double)(strongest.gap - 1);
    const int64_t center = differs ? strongest.line : said;
    const int64_t half = center - l.low > l.high - center + 1 ? center - l.low : l.high - center + 1;
    t->center[axis] = (double)center;
    space->matrix[axis] = 2 * half;
    LMR_MRD_WARN(
        raw,
        "%ss %lld to %lld are more than the encoded matrix has, %lld: it is taken to be %lld, with %s %lld at k = 0.",
        name, (long long)l.low, (long long)l.high, (long long)n, 2 * (long long)half, name, (long long)center);
    return lmr_mrd_grid(raw, encoding, NULL, &grid);
}

/* The counter at k = 0 along axis 1 or 2, for readouts without a trajectory along it. */
static larmor_status find_center(larmor_raw *raw, int encoding, int axis, lmr_mrd_traj *t)
{
    const lmr_mrd_encoding *e = &raw->header.encoding[encoding];
    const int64_t n = e->space.matrix[axis], given = e->limit[axis - 1][LMR_CENTER];
    int64_t low = INT64_MAX, high = -1, at = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const lmr_mrd_head *h = &raw->head[i];
        if (!(raw->readout[i].use & (LMR_IMAGING | LMR_CALIBRATION)) || h->encoding != encoding) continue;
        if ((h->traj_dims ? t->spatial : 0) > axis) continue;
        const int64_t step = h->counter[axis - 1];
        if (step > high) {
            high = step;
            at = i;
        }
        if (step < low) low = step;
    }
    const int64_t center = given >= 0 ? given : n / 2;
    const int fits = high < 0 || (low - center >= -(n / 2) && high - center <= n / 2);
    const int64_t said = fits ? center : n / 2;
    const double most = strcmp(e->space.trajectory, "epi") ? MAX_LINES : MAX_LINES_EPI;
    lmr_mrd_strongest strongest;
    LMR_TRY(lmr_mrd_strongest_line(raw, encoding, axis, said, &strongest));
    t->center[axis] = (double)said;
    if (!fits && high >= n) return enlarge_matrix(raw, encoding, axis, (lines){low, high, at}, given, t);
    const double apart = most + (double)(strongest.gap - 1);
    if (!fits && strongest.line >= 0 && fabs((double)(strongest.line - center)) <= apart) {
        t->center[axis] = (double)center;
        LMR_MRD_WARN(
            raw,
            "kspace_encoding_step_%d from %lld to %lld around its center %lld reaches beyond the encoded matrix "
            "of %lld, whose lines are used; the center is taken, as the data have most energy there.",
            axis, (long long)low, (long long)high, (long long)center, (long long)n);
    } else if (strongest.line >= 0 && fabs((double)(strongest.line - said)) > apart) {
        t->center[axis] = (double)strongest.line;
        LMR_MRD_WARN(
            raw, "center of kspace_encoding_step_%d is %lld%s, but the data have most energy at %lld; %lld is taken.",
            axis, (long long)center, given >= 0 ? "" : ", half of the matrix", (long long)strongest.line,
            (long long)strongest.line);
    } else if (!fits)
        LMR_MRD_WARN(raw, "center %lld of kspace_encoding_step_%d does not fit the counters; %lld is taken.",
                     (long long)given, axis, (long long)said);
    return LARMOR_OK;
}

/* Axes along which readouts have no trajectory get their center from the counters. */
static larmor_status find_centers(larmor_raw *raw, int encoding, lmr_mrd_traj *t)
{
    const larmor_encoding *space = &raw->header.encoding[encoding].space;
    LMR_TRY(lmr_mrd_find_echoes(raw, encoding));
    if (lmr_mrd_made_from_counters(space->trajectory)) LMR_TRY(find_center(raw, encoding, 1, t));
    if (space->ndim == 3 && (lmr_mrd_made_from_counters(space->trajectory) || t->spatial == 2))
        LMR_TRY(find_center(raw, encoding, 2, t));
    if (space->ndim == 3 && t->dims == 2)
        LMR_MRD_WARN(raw, "trajectory has two components; the third is taken from kspace_encode_step_2.");
    return LARMOR_OK;
}

/* The units that another encoding has do not fit this one. */
static void check_other(larmor_raw *raw, const lmr_stored *s, const lmr_reading *r)
{
    const larmor_encoding *space = &raw->header.encoding[s->encoding].space;
    if (lmr_reading_is_full(r, space, s->axes)) return;
    const lmr_text other = other_unit(space, s);
    if (!*other.s && r->reach[r->axis] <= MOST_BEYOND) return;
    LMR_MRD_WARN(raw,
                 "encoding %d: trajectory in %s, as in the encodings before, reaches %.2g of the matrix's k-space.%s",
                 s->encoding + 1, lmr_reading_name(r, s->axes).s, r->reach[r->axis], other.s);
}

/* A header of a volume above a scan of a slice, in which nothing says where kz would come from: all readouts have one
 * partition, and a trajectory has two components, or a third one that is the same everywhere. */
static larmor_status find_plane(larmor_raw *raw, int encoding, int use, const lmr_mrd_traj *t)
{
    larmor_encoding *space = &raw->header.encoding[encoding].space;
    int64_t first = -1;
    float low = INFINITY, high = -INFINITY;
    larmor_grid grid;
    if (space->ndim < 3) return LARMOR_OK;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const lmr_mrd_head *h = &raw->head[i];
        if (!(raw->readout[i].use & use) || h->encoding != encoding) continue;
        if (first >= 0 && h->counter[LMR_STEP2] != raw->head[first].counter[LMR_STEP2]) return LARMOR_OK;
        if (first < 0) first = i;
        const float *k = raw->traj + raw->readout[i].traj;
        for (int64_t s = h->discard_pre; t->dims == 3 && s < h->samples - h->discard_post; s++) {
            low = fminf(low, k[3 * s + 2]);
            high = fmaxf(high, k[3 * s + 2]);
            if (high > low) return LARMOR_OK;
        }
    }
    LMR_MRD_WARN(
        raw, "%lld partitions in the header, but kspace_encode_step_2 is %d in all readouts%s: the image is a slice.",
        (long long)space->matrix[2], raw->head[first].counter[LMR_STEP2], t->dims == 3 ? " and kz is one value" : "");
    space->matrix[2] = space->recon_matrix[2] = 1;
    space->ndim = 2;
    return lmr_mrd_grid(raw, encoding, NULL, &grid);
}

/* unit[0] is below 0 until an encoding has told them: a file has the same ones for all. */
static larmor_status find_stored(larmor_raw *raw, int encoding, int use, const char *units, lmr_mrd_traj *t,
                                 int unit[3])
{
    const larmor_encoding *space = &raw->header.encoding[encoding].space;
    lmr_stored s = {.encoding = encoding, .use = use, .dims = t->dims};
    lmr_reading r;
    const char *how = "as given";
    LMR_TRY(measure(raw, encoding, use, t->dims, &s.e));
    LMR_TRY(lmr_mrd_third_component(raw, encoding, use, fmax(lmr_largest(&s.e, 0), lmr_largest(&s.e, 1)), t));
    s.axes = t->step > 0 ? 2 : t->spatial;
    int extended = 0;
    for (int d = 0; d < t->spatial; d++) extended |= s.e.high[d] > s.e.low[d];
    LMR_REFUSE(!extended, LARMOR_ERR_FORMAT,
               "trajectory has no extent (all %lld samples at k = %g, %g). Convert it again.", (long long)s.e.samples,
               s.e.low[0] + 0., s.e.low[1] + 0.); /* no -0 */
    if (unit[0] < 0) {
        if (units)
            LMR_TRY(take_given(raw, units, space, &s, &r));
        else
            LMR_TRY(lmr_mrd_choose_units(raw, &s, &r, &how));
        for (int d = 0; d < 3; d++) unit[d] = r.unit[d];
        report(raw, &r, space, s.axes, how);
    } else {
        r = lmr_read_in(unit, space, &s);
        check_other(raw, &s, &r);
    }
    for (int d = 0; d < t->spatial; d++) t->scale[d] = lmr_unit_scale(unit[d], space, d);
    if (t->step > 0) t->scale[2] = 1 / t->step;
    return LARMOR_OK;
}

larmor_status lmr_mrd_find_trajectory(larmor_raw *raw, const char *units)
{
    int unit[3] = {-1, -1, -1};
    int given[3];
    if (units && !strcmp(units, "auto")) units = NULL;
    LMR_REFUSE(units && !lmr_units_named(units, given), LARMOR_ERR_ARG, "opts.traj_units \"%s\": auto, %s expected.",
               lmr_printable(units, (int64_t)strlen(units), 40).s, lmr_unit_names().s);
    for (int e = 0; e < raw->header.encodings; e++) {
        lmr_mrd_traj *t = &raw->traj_of[e];
        int use;
        LMR_TRY(components(raw, e, &t->dims, &use));
        if (!use) continue;
        LMR_TRY(find_plane(raw, e, use, t));
        if (t->dims) LMR_TRY(find_stored(raw, e, use, units, t, unit));
        LMR_TRY(find_centers(raw, e, t));
        LMR_TRY(lmr_mrd_check_centre(
            raw, e, !t->dims && lmr_mrd_made_from_counters(raw->header.encoding[e].space.trajectory)));
    }
    raw->info.traj_stored = unit[0] >= 0;
    return LARMOR_OK;
}
