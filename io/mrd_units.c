/* The trajectory of a raw file: ISMRMRD states neither its unit nor what a third component is, so both are inferred
 * from the header's matrix and field of view, and refused where that is not conclusive. SPDX-License-Identifier:
 * Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/names.h"
#include "io/mrd.h"
#include "io/parts.h"
#include "io/reader/source.h"

enum { PER_FOV, NORM, PM1, RAD, PER_M, RAD_PER_M, PER_MM, UNITS };

static const struct unit {
    larmor_traj_unit is;
    const char *label;
    double bound; /* values end here by definition; 0: they do not */
} units_table[UNITS] = {
    [PER_FOV] = {{"1/fov", 1, 0, 0}, "1/FOV", 0}, [NORM] = {{"norm", 0, 1, 0}, "norm", .5},
    [PM1] = {{"pm1", 0, .5, 0}, "pm1", 1},        [RAD] = {{"rad", 0, .5 / M_PI, 0}, "rad", M_PI},
    [PER_M] = {{"1/m", 0, 0, 1e-3}, "1/m", 0},    [RAD_PER_M] = {{"rad/m", 0, 0, .5e-3 / M_PI}, "rad/m", 0},
    [PER_MM] = {{"1/mm", 0, 0, 1}, "1/mm", 0},
};

larmor_traj_unit larmor_traj_unit_entry(int i)
{
    return i >= 0 && i < UNITS ? units_table[i].is : (larmor_traj_unit){.name = NULL};
}

static const char *name_at(int i)
{
    return larmor_traj_unit_entry(i).name;
}

/* The unit of that name, or UNITS. */
static int unit_named(const char *name)
{
    int unit = 0;
    while (unit < UNITS && strcmp(name, units_table[unit].is.name) != 0) unit++;
    return unit;
}

static double unit_scale(int unit, const larmor_encoding *space, int d)
{
    const larmor_traj_unit *u = &units_table[unit].is;
    return u->fixed + u->per_voxel * (double)space->matrix[d] + u->per_mm * space->fov_mm[d];
}

/* ---- what is stored ---- */

typedef struct extent { /* of the stored values, by component */
    double low[3], high[3];
    double step2[3]; /* mean square of the step from sample to sample */
    int64_t samples;
} extent;

typedef struct measuring {
    const larmor_raw *raw;
    int encoding, use, dims;
    extent e;
} measuring;

static int is_measured(const measuring *m, int64_t i)
{
    const lmr_mrd_head *h = &m->raw->head[i];
    return (m->raw->readout[i].use & m->use) && h->encoding == m->encoding && h->traj_dims == m->dims;
}

/* Components first to end - 1, whose sums are in the order of the samples, however many parts there are. */
static larmor_status measure_components(void *user, int part, int64_t first, int64_t end)
{
    enum { ASK_EVERY = 1024 };
    (void)part;
    measuring *m = user;
    for (int64_t d = first; d < end; d++) {
        double low = INFINITY, high = -INFINITY, step2 = 0;
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
            }
        }
        m->e.low[d] = low;
        m->e.high[d] = high;
        m->e.step2[d] = step2;
    }
    return LARMOR_OK;
}

static larmor_status measure(const larmor_raw *raw, int encoding, int use, int dims, extent *e)
{
    measuring m = {
        raw, encoding, use, dims, {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, {0}, 0}};
    int64_t steps = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!is_measured(&m, i)) continue;
        const int64_t kept = lmr_head_kept(&raw->head[i]);
        m.e.samples += kept > 0 ? kept : 0;
        steps += kept > 1 ? kept - 1 : 0;
    }
    LMR_TRY(lmr_in_parts(dims, lmr_parts_for(m.e.samples * dims * (int64_t)sizeof(float)), measure_components, &m));
    for (int d = 0; d < dims && steps; d++) m.e.step2[d] /= (double)steps;
    *e = m.e;
    return LARMOR_OK;
}

static double largest(const extent *e, int d)
{
    return fmax(fabs(e->low[d]), fabs(e->high[d]));
}

/* ---- the hypothesis test ---- */

typedef struct fit { /* of one unit */
    double reach;    /* largest |k| over the edge of the encoded k-space, over the axes */
    double least;    /* the same, smallest over the axes that have extent */
    double step;     /* from sample to sample, in 1 / encoded field of view */
    int axis;        /* of reach */
} fit;

static fit try_unit(int unit, const larmor_encoding *space, const extent *e, int spatial)
{
    fit f = {.least = INFINITY};
    for (int d = 0; d < spatial; d++) {
        const double scale = unit_scale(unit, space, d);
        const double reach = largest(e, d) * scale / ((double)space->matrix[d] / 2);
        if (reach > f.reach * (1 + 1e-4)) f.axis = d; /* of equal ones the first */
        f.reach = fmax(f.reach, reach);
        if (e->high[d] > e->low[d] && reach < f.least) f.least = reach;
        f.step += e->step2[d] * scale * scale;
    }
    f.step = sqrt(f.step);
    return f;
}

/* The trajectory ends about where the matrix says, and its samples are dense enough for the field of view. */
static int fits_edge(const fit *f)
{
    return f->reach >= .8 && f->reach <= 1.05 && (f->step <= 1.3 || fabs(f->reach - 1) <= .02);
}

/* Or it covers less, e.g. for an interpolated image, but its samples are spaced as the field of view asks. */
static int fits_step(const fit *f)
{
    return f->reach >= .3 && f->reach < .8 && f->step >= .7 && f->step <= 1.1;
}

static int same_scale(int a, int b, const larmor_encoding *space, int spatial)
{
    for (int d = 0; d < spatial; d++)
        if (fabs(unit_scale(a, space, d) / unit_scale(b, space, d) - 1) > 1e-4) return 0;
    return 1;
}

/* The unit whose hypothesis holds: UNITS if none does; *second is set if another one holds as well. */
static int choose(const fit fits[UNITS], const larmor_encoding *space, int spatial, int (*holds)(const fit *),
                  int *second)
{
    int best = UNITS;
    *second = UNITS;
    for (int u = 0; u < UNITS; u++) {
        if (!holds(&fits[u]) || (best < UNITS && same_scale(u, best, space, spatial))) continue;
        const int better = best == UNITS || fabs(fits[u].reach - 1) < fabs(fits[best].reach - 1);
        if (better) {
            *second = best;
            best = u;
        } else if (*second == UNITS || fabs(fits[u].reach - 1) < fabs(fits[*second].reach - 1))
            *second = u;
    }
    return best;
}

/* One of two that hold is clearly nearer to the edge of k-space. */
static int clear(const fit *best, const fit *second)
{
    const double a = fabs(best->reach - 1), b = fabs(second->reach - 1);
    return a <= .02 && b >= a + .01 && b >= 3 * a;
}

static void report(larmor_raw *raw, int unit, const larmor_encoding *space, const fit *f, const char *how)
{
    const double half = (double)space->matrix[f->axis] / 2;
    snprintf(raw->info.traj_units, sizeof raw->info.traj_units, "%s", units_table[unit].is.name);
    snprintf(raw->info.traj_report, sizeof raw->info.traj_report, "%s (kmax %.1f of %g), %s", units_table[unit].label,
             f->reach * half, half, how);
}

static larmor_status infer(larmor_raw *raw, const larmor_encoding *space, const extent *e, int spatial, int *unit)
{
    fit fits[UNITS];
    int second;
    for (int u = 0; u < UNITS; u++) fits[u] = try_unit(u, space, e, spatial);
    *unit = choose(fits, space, spatial, fits_edge, &second);
    const int by_step = *unit == UNITS;
    if (by_step) *unit = choose(fits, space, spatial, fits_step, &second);
    if (*unit == UNITS) {
        double k = 0;
        for (int d = 0; d < spatial; d++) k = fmax(k, largest(e, d));
        return LMR_FAIL(
            LARMOR_ERR_FORMAT,
            "trajectory units not recognised: values up to %.4g do not fit matrix %lld x %lld and field of "
            "view %g x %g mm. Use --traj-units %s.",
            k, (long long)space->matrix[0], (long long)space->matrix[1], space->fov_mm[0], space->fov_mm[1],
            lmr_list_names(name_at).s);
    }
    const fit *f = &fits[*unit];
    if (second != UNITS && (by_step || !clear(f, &fits[second])))
        return LMR_FAIL(
            LARMOR_ERR_FORMAT, "trajectory units may be %s or %s (kmax %.1f or %.1f of %g). Use --traj-units.",
            units_table[*unit].is.name, units_table[second].is.name, f->reach * (double)space->matrix[f->axis] / 2,
            fits[second].reach * (double)space->matrix[fits[second].axis] / 2, (double)space->matrix[f->axis] / 2);
    const int sure = !by_step && second == UNITS && f->least >= .8 && f->step <= 1.3;
    const char *confidence = by_step ? "confidence low" : "confidence medium";
    if (sure) confidence = "confidence high";
    report(raw, *unit, space, f, confidence);
    return LARMOR_OK;
}

static larmor_status take_given(larmor_raw *raw, const char *name, const larmor_encoding *space, const extent *e,
                                int spatial, int *unit)
{
    *unit = unit_named(name);
    const fit f = try_unit(*unit, space, e, spatial);
    const double bound = units_table[*unit].bound;
    if (bound > 0 && f.reach > 1.05) {
        char question[48] = "";
        for (int u = UNITS; u-- > 0;) {
            const fit other = try_unit(u, space, e, spatial);
            if (fits_edge(&other)) snprintf(question, sizeof question, " is the unit %s?", units_table[u].label);
        }
        const double worst = -e->low[f.axis] > e->high[f.axis] ? e->low[f.axis] : e->high[f.axis];
        return LMR_FAIL(LARMOR_ERR_FORMAT, "trajectory value %.4g outside %.4g..%.4g;%s Use --traj-units.", worst,
                        -bound, bound, question);
    }
    if (f.reach < .1)
        lmr_mrd_warn(raw, "trajectory in %s reaches only %.2g of the matrix's k-space.", units_table[*unit].label,
                     f.reach);
    report(raw, *unit, space, &f, "as given");
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
            if (h->traj_dims == 1 || h->traj_dims > 3)
                return LMR_FAIL(LARMOR_ERR_FORMAT, "acquisition %lld: trajectory has %d components, 2 or 3 expected.",
                                (long long)i, h->traj_dims);
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
    if (reach <= 1.1 * units_table[NORM].bound) return NORM;
    if (reach <= 1.1 * units_table[PM1].bound) return PM1;
    return reach <= 1.05 * units_table[RAD].bound ? RAD : PER_FOV;
}

static int64_t even(double n)
{
    return 2 * (int64_t)ceil(fmin(n, LMR_MRD_MAX_MATRIX) / 2 - .25);
}

void lmr_mrd_guess_matrix(const larmor_raw *raw, int encoding, const char *name, int64_t matrix[3])
{
    const larmor_encoding *space = &raw->header.encoding[encoding].space;
    int dims = 0, unit = 0, use;
    extent e;
    if (components(raw, encoding, &dims, &use) || !use || dims < 2) return;
    if (measure(raw, encoding, use, dims, &e)) return;
    const int spatial = dims == 3 && e.low[2] < 0 ? 3 : 2;
    double reach = 0, step2 = 0;
    for (int d = 0; d < spatial; d++) {
        reach = fmax(reach, largest(&e, d));
        step2 += e.step2[d];
    }
    if (name) unit = unit_named(name);
    if (!name || unit == UNITS) unit = unit_by_reach(reach);
    /* where values end by definition, one sample for each voxel, but no more voxels than samples */
    const double across = 2 * units_table[unit].bound / sqrt(step2);
    const double most = pow((double)e.samples, 1. / spatial);
    const int64_t known = space->matrix[0] ? space->matrix[0] : space->matrix[1];
    for (int d = 0; d < spatial; d++) {
        if (units_table[unit].bound > 0)
            matrix[d] = known ? known : even(fmin(across, most));
        else
            matrix[d] = even(2 * largest(&e, d) * unit_scale(unit, space, d));
    }
}

/* ---- encodings ---- */

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
    t->center[axis] = (double)center;
    if (high < 0 || (low - center >= -(n / 2) && high - center <= n / 2)) return LARMOR_OK;
    t->center[axis] = (double)(n / 2);
    if (high >= n)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "acquisition %lld: k-space %s %lld beyond matrix %lld.", (long long)at,
                        axis == 1 ? "line" : "partition", (long long)high, (long long)n);
    lmr_mrd_warn(raw, "center %lld of kspace_encoding_step_%d does not fit the counters; %lld is taken.",
                 (long long)given, axis, (long long)(n / 2));
    return LARMOR_OK;
}

static int made_from_counters(const char *trajectory)
{
    return !strcmp(trajectory, "cartesian") || !strcmp(trajectory, "epi");
}

/* Axes along which readouts have no trajectory get their center from the counters. */
static larmor_status find_centers(larmor_raw *raw, int encoding, lmr_mrd_traj *t)
{
    const larmor_encoding *space = &raw->header.encoding[encoding].space;
    if (made_from_counters(space->trajectory)) LMR_TRY(find_center(raw, encoding, 1, t));
    if (space->ndim == 3 && (made_from_counters(space->trajectory) || t->spatial == 2))
        LMR_TRY(find_center(raw, encoding, 2, t));
    if (space->ndim == 3 && t->dims == 2)
        lmr_mrd_warn(raw, "trajectory has two components; the third is taken from kspace_encode_step_2.");
    return LARMOR_OK;
}

static larmor_status find_stored(larmor_raw *raw, int encoding, int use, const char *units, lmr_mrd_traj *t,
                                 int *unit)
{
    const larmor_encoding *space = &raw->header.encoding[encoding].space;
    extent e;
    LMR_TRY(measure(raw, encoding, use, t->dims, &e));
    LMR_TRY(lmr_mrd_third_component(raw, encoding, use, fmax(largest(&e, 0), largest(&e, 1)), t));
    const int tested = t->step > 0 ? 2 : t->spatial;
    int extended = 0;
    for (int d = 0; d < t->spatial; d++) extended |= e.high[d] > e.low[d];
    if (!extended)
        return LMR_FAIL(LARMOR_ERR_FORMAT,
                        "trajectory has no extent (all %lld samples at k = %g, %g). Convert it again.",
                        (long long)e.samples, e.low[0] + 0., e.low[1] + 0.); /* no -0 */
    if (*unit < 0) {
        if (units)
            LMR_TRY(take_given(raw, units, space, &e, tested, unit));
        else
            LMR_TRY(infer(raw, space, &e, tested, unit));
    }
    for (int d = 0; d < t->spatial; d++) t->scale[d] = unit_scale(*unit, space, d);
    if (t->step > 0) t->scale[2] = 1 / t->step;
    return LARMOR_OK;
}

larmor_status lmr_mrd_find_trajectory(larmor_raw *raw, const char *units)
{
    int unit = -1; /* found in the first encoding with a trajectory; a file has one */
    if (units && !strcmp(units, "auto")) units = NULL;
    if (units && unit_named(units) == UNITS)
        return LMR_FAIL(LARMOR_ERR_ARG, "--traj-units \"%s\": auto, %s expected.",
                        lmr_printable(units, (int64_t)strlen(units), 40).s, lmr_list_names(name_at).s);
    for (int e = 0; e < raw->header.encodings; e++) {
        lmr_mrd_traj *t = &raw->traj_of[e];
        int use;
        LMR_TRY(components(raw, e, &t->dims, &use));
        if (!use) continue;
        if (t->dims) LMR_TRY(find_stored(raw, e, use, units, t, &unit));
        LMR_TRY(find_centers(raw, e, t));
    }
    raw->info.traj_stored = unit >= 0;
    return LARMOR_OK;
}
