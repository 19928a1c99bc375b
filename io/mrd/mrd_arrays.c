/* Arrays on their way into an ISMRMRD file: the readouts of an image, and a whole scan of one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/images/formats.h"
#include "io/mrd/mrd_write.h"
#include "io/reader/mrd_head.h"
#include "io/reader/mrd_records.h"

/* ---- the readouts of an image ---- */

#define TIE 1e-6 /* cycles per field of view by which two samples are as near to the centre */

typedef struct readouts { /* on the host */
    const larmor_acquisitions *given;
    float *data;          /* [samples, readouts, coils] complex */
    double *traj, *phase; /* phase: [samples, phases, terms] in rad/m^n, or NULL */
    int nd, coils, terms;
    int64_t samples, count, phases;
    double unit[3]; /* what is stored for a cycle per field of view */
    int64_t centre[3];
} readouts;

LMR_OWNS(larmor_raw_writer, larmor_raw_writer_free)
LMR_FREES(free_readouts, readouts, phase, traj, data)

static const char *unit_at(int i)
{
    return larmor_traj_unit_entry(i).name;
}

static larmor_status find_units(const char *name, const larmor_encoding *space, double unit[3])
{
    int entry = 0;
    if (name) LMR_TRY(lmr_find_name("trajectory units", name, unit_at, &entry));
    const larmor_traj_unit u = larmor_traj_unit_entry(entry);
    for (int d = 0; d < 3; d++) {
        double cycles = u.fixed + u.per_voxel * (double)space->matrix[d] + u.per_mm * space->fov_mm[d];
        if (u.per_recon > 0 && space->recon_fov_mm[d] > 0)
            cycles += u.per_recon * space->fov_mm[d] / space->recon_fov_mm[d];
        LMR_REFUSE(!(cycles > 0), LARMOR_ERR_ARG, "trajectory units: %s needs matrix and field of view of the scan",
                   u.name);
        unit[d] = 1 / cycles;
    }
    return LARMOR_OK;
}

static larmor_status check_shapes(const larmor_array *kspace, const larmor_array *traj)
{
    const larmor_shape s = larmor_array_shape(kspace), t = larmor_array_shape(traj);
    LMR_REFUSE(!lmr_is_complex(kspace->dtype) || s.ndim != 3, LARMOR_ERR_SHAPE,
               "readouts: k-space: got %s, expected complex [samples, readouts, coils]", lmr_describe(kspace).s);
    LMR_REFUSE(!lmr_is_real(traj->dtype) || t.ndim != 3 || t.dim[0] < 1 || t.dim[0] > 3 || t.dim[1] != s.dim[0] ||
                   t.dim[2] != s.dim[1],
               LARMOR_ERR_SHAPE, "readouts: trajectory: got %s, expected real [1 to 3, %lld, %lld]",
               lmr_describe(traj).s, (long long)s.dim[0], (long long)s.dim[1]);
    if (s.dim[0] >= 1 && s.dim[0] <= LMR_MRD_MAX_COUNTER && s.dim[2] >= 1 && s.dim[2] <= LMR_MRD_MAX_CHANNELS)
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE,
                    "readouts: got %lld samples x %lld coils, expected at most %d x %d, as ISMRMRD has",
                    (long long)s.dim[0], (long long)s.dim[2], LMR_MRD_MAX_COUNTER, LMR_MRD_MAX_CHANNELS);
}

static larmor_status check_phases(const larmor_acquisitions *given, int64_t samples, int64_t count)
{
    const larmor_shape p = larmor_array_shape(given->phase_terms);
    const int64_t terms = p.ndim == 3 ? p.dim[2] : 0;
    LMR_REFUSE(given->lines, LARMOR_ERR_ARG, "readouts: phases: got lines, expected a trajectory");
    if (lmr_is_real(given->phase_terms->dtype) && (terms == 4 || terms == 9 || terms == 16) && p.dim[0] == samples &&
        (p.dim[1] == 1 || p.dim[1] == count))
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "readouts: phases: got %s, expected real [%lld, %lld or 1, 4, 9 or 16]",
                    lmr_describe(given->phase_terms).s, (long long)samples, (long long)count);
}

static larmor_status take_phases(readouts *r)
{
    const larmor_shape p = larmor_array_shape(r->given->phase_terms);
    r->phases = p.dim[1];
    r->terms = (int)p.dim[2];
    return larmor_array_download(r->given->phase_terms, LARMOR_F64, &r->phase);
}

/* The rows of a sample: k along the patient's axes in rad/m among the phases. */
static void put_rows(const readouts *r, int64_t readout, int64_t sample, const double *k, float *row)
{
    const larmor_image_meta *m = &r->given->meta;
    const double *const along[3] = {m->read_dir, m->phase_dir, m->slice_dir};
    const int64_t at = sample + r->samples * (r->phases > 1 ? readout : 0);
    for (int l = 0; l < r->terms; l++) row[l] = (float)r->phase[at + r->samples * r->phases * l];
    for (int a = 0; a < 3; a++) {
        double sum = 0;
        for (int d = 0; d < r->nd; d++) sum += along[d][a] * k[d] * r->unit[d];
        row[1 + a] = (float)sum;
    }
}

/* ISMRMRD keeps the coils of a readout together, larmor the readouts of a coil. */
static void gather(const readouts *r, int64_t readout, float *data, float *traj)
{
    const size_t bytes = 2 * sizeof(float) * (size_t)r->samples;
    for (int c = 0; c < r->coils; c++)
        memcpy(data + 2 * c * r->samples, r->data + 2 * (readout + c * r->count) * r->samples, bytes);
    const double *k = r->traj + readout * r->samples * r->nd;
    for (int64_t i = 0; r->phase && i < r->samples; i++) put_rows(r, readout, i, k + i * r->nd, traj + i * r->terms);
    for (int64_t i = 0; !r->given->lines && !r->phase && i < r->samples; i++)
        for (int d = 0; d < r->nd; d++) traj[i * r->nd + d] = (float)(k[i * r->nd + d] * r->unit[d]);
}

/* The sample of a line in reverse that is nearest to the centre along it. Of two that are as near it is the one on
 * the side that a line without the flag meets first. */
static int centre_in_reverse(const readouts *r, int64_t readout)
{
    const double *k = r->traj + readout * r->samples * r->nd;
    int64_t nearest = r->samples - 1;
    for (int64_t i = r->samples - 1; i >= 0; i--)
        if (fabs(k[i * r->nd]) < fabs(k[nearest * r->nd]) - TIE) nearest = i;
    return (int)nearest;
}

static int line_of(const readouts *r, int64_t readout, int d)
{
    if (d >= r->nd) return 0;
    return (int)(lround(r->traj[readout * r->samples * r->nd + d]) + r->centre[d]);
}

/* Stamps in the usual ticks of 2.5 ms, the clock's of a scan that begins at noon. */
static void stamp(const larmor_acquisitions *g, int64_t readout, larmor_acquisition *a)
{
    const double tick_ms = 2.5, noon_ms = 12 * 3600 * 1000.0, ms = g->start_ms + g->tr_ms * (double)readout;
    if (!(g->tr_ms > 0)) return;
    a->time_stamp = (uint32_t)((noon_ms + ms) / tick_ms);
    if (g->cycle_ms > 0) a->physiology_stamp[0] = (uint32_t)(fmod(ms, g->cycle_ms) / tick_ms);
}

static int is_left_out(const larmor_acquisitions *g, int64_t readout)
{
    return g->flags && g->flags[readout] == LARMOR_READOUT_LEFT_OUT;
}

static larmor_status append_all(larmor_raw_writer *writer, const readouts *r, float *data, float *traj)
{
    const larmor_acquisitions *g = r->given;
    larmor_acquisition a = {.samples = (int)r->samples,
                            .coils = r->coils,
                            .traj_dims = g->lines ? 0 : r->nd,
                            .dwell_us = g->dwell_us,
                            .slice = g->meta.slice,
                            .contrast = g->meta.contrast,
                            .phase = g->meta.phase,
                            .repetition = g->meta.repetition,
                            .set = g->meta.set,
                            .average = g->meta.average,
                            .data = data,
                            .traj = traj};
    if (r->phase) a.traj_dims = r->terms;
    memcpy(a.position_mm, g->meta.position_mm, sizeof a.position_mm);
    memcpy(a.read_dir, g->meta.read_dir, sizeof a.read_dir);
    memcpy(a.phase_dir, g->meta.phase_dir, sizeof a.phase_dir);
    memcpy(a.slice_dir, g->meta.slice_dir, sizeof a.slice_dir);
    int64_t last = r->count - 1;
    while (last > 0 && is_left_out(g, last)) last--;
    for (int64_t i = 0; i < r->count; i++) {
        if (is_left_out(g, i)) continue;
        a.flags = g->flags ? g->flags[i] : 0;
        a.center_sample = (int)g->centre;
        if (g->lines && a.flags & LARMOR_ACQ_REVERSE) a.center_sample = centre_in_reverse(r, i);
        gather(r, i, data, traj);
        stamp(g, i, &a);
        a.step1 = g->lines ? line_of(r, i, 1) : (int)(i % (LMR_MRD_MAX_COUNTER + 1));
        a.step2 = g->lines ? line_of(r, i, 2) : 0;
        if (g->last && i == last) a.flags |= LARMOR_ACQ_LAST_IN_MEASUREMENT;
        LMR_TRY(larmor_raw_append(writer, &a));
    }
    return LARMOR_OK;
}

larmor_status larmor_raw_append_arrays(larmor_raw_writer *writer, const larmor_acquisitions *given)
{
    LMR_NEED(writer, given, given->kspace, given->traj);
    LMR_TRY(check_shapes(given->kspace, given->traj));
    const larmor_encoding *space = lmr_raw_writer_encoding(writer);
    const larmor_shape s = larmor_array_shape(given->kspace);
    LMR_FREED_BY(free_readouts)
    readouts r = {.given = given,
                  .nd = (int)larmor_array_shape(given->traj).dim[0],
                  .coils = (int)s.dim[2],
                  .samples = s.dim[0],
                  .count = s.dim[1]};
    LMR_REFUSE(given->centre < 0 || given->centre > r.samples, LARMOR_ERR_ARG,
               "readouts: centre: got sample %lld, expected 0 to %lld", (long long)given->centre,
               (long long)r.samples);
    if (given->phase_terms) LMR_TRY(check_phases(given, r.samples, r.count));
    LMR_TRY(find_units(given->phase_terms ? "rad/m" : given->units, space, r.unit));
    for (int d = 0; d < 3; d++) r.centre[d] = space->matrix[d] / 2;
    LMR_HEAP LMR_NEW(float, data, 2 * r.samples * r.coils);
    LMR_HEAP LMR_NEW(float, traj, 16 * r.samples);
    LMR_TRY(larmor_array_download(given->kspace, LARMOR_C64, &r.data));
    LMR_TRY(larmor_array_download(given->traj, LARMOR_F64, &r.traj));
    if (given->phase_terms) LMR_TRY(take_phases(&r));
    return append_all(writer, &r, data, traj);
}

/* ---- a scan of one image ---- */

/* Samples that larmor reads again. */
static larmor_status check_values(const larmor_array *kspace)
{
    float *data;
    int64_t bad = 0;
    double peak = 0;
    LMR_TRY(larmor_array_download(kspace, LARMOR_C64, &data));
    for (int64_t i = 0; i < 2 * larmor_array_count(kspace); i++) {
        bad += !isfinite(data[i]);
        peak = fmax(peak, fabs((double)data[i]));
    }
    free(data);
    if (!bad && peak <= LARMOR_LARGEST_SAMPLE) return LARMOR_OK;
    LMR_REFUSE(bad, LARMOR_ERR_FORMAT, "k-space: %lld value%s not finite.", (long long)bad,
               bad == 1 ? " is" : "s are");
    return LMR_FAIL(LARMOR_ERR_FORMAT,
                    "k-space: values up to %.1e: uninitialised or overflowing data, at most %.0e expected.", peak,
                    LARMOR_LARGEST_SAMPLE);
}

/* The smallest even matrix whose k-space holds the trajectory, give or take a thousandth: x and y share the
 * larger. */
static larmor_status fill_space(const larmor_array *traj, const larmor_grid_opts *opts, larmor_encoding *space)
{
    const int64_t nd = larmor_array_shape(traj).dim[0], count = larmor_array_count(traj);
    double *k, most[3] = {0};
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t i = 0; i < count; i++) most[i % nd] = fmax(most[i % nd], isfinite(k[i]) ? fabs(k[i]) : INFINITY);
    free(k);
    space->ndim = most[2] > 0 ? 3 : 2;
    LMR_TRY(lmr_check_axes_given("opts.matrix", (double)opts->matrix[2], 1, space->ndim));
    most[0] = most[1] = fmax(most[0], most[1]);
    for (int d = 0; d < 3; d++) {
        const double n = most[d] > 0 ? 2 * ceil(most[d] * (1 - 1e-3)) : 1;
        LMR_REFUSE(!(n <= LMR_MRD_MAX_COUNTER), LARMOR_ERR_FORMAT,
                   "trajectory: extends to %g in direction %d; 32767 at most expected.", most[d], d);
        const int64_t as_before = space->matrix[d ? d - 1 : 0];
        const int64_t by_default = opts->matrix[0] ? as_before : (int64_t)n;
        space->matrix[d] = d < space->ndim ? by_default : 1;
        if (opts->matrix[d]) space->matrix[d] = opts->matrix[d];
        const double voxel_mm = opts->fov_mm[0] > 0 && d ? space->fov_mm[0] / (double)space->matrix[0] : 1;
        space->fov_mm[d] = opts->fov_mm[d] > 0 ? opts->fov_mm[d] : (double)space->matrix[d] * voxel_mm;
        space->recon_matrix[d] = space->matrix[d];
        space->recon_fov_mm[d] = space->fov_mm[d];
    }
    snprintf(space->trajectory, sizeof space->trajectory, "other");
    if (most[0] > 0) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "trajectory: has no extent.");
}

static larmor_status check_opts(const larmor_grid_opts *opts)
{
    for (int d = 0; d < 3; d++) {
        LMR_REFUSE(opts->matrix[d] < 0 || opts->matrix[d] > LMR_MRD_MAX_COUNTER, LARMOR_ERR_ARG,
                   "scan: got %lld voxels, expected 1 to %d, or 0 for the default", (long long)opts->matrix[d],
                   LMR_MRD_MAX_COUNTER);
        LMR_REFUSE(!(opts->fov_mm[d] >= 0 && opts->fov_mm[d] <= 1e6), LARMOR_ERR_ARG,
                   "scan: got a field of view of %g mm, expected up to 1e6, or 0 for the default", opts->fov_mm[d]);
    }
    return LARMOR_OK;
}

/* The first components of a trajectory, in double precision. */
static larmor_status cut(const larmor_array *traj, int nd, larmor_array **out)
{
    const larmor_shape t = larmor_array_shape(traj);
    const int64_t points = t.dim[1] * t.dim[2];
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t i = 0; i < points; i++)
        for (int d = 0; d < nd; d++) k[i * nd + d] = k[i * t.dim[0] + d];
    return larmor_array_upload(traj->dev, LARMOR_F64, LARMOR_SHAPE(nd, t.dim[1], t.dim[2]), LARMOR_F64, k, out);
}

static int64_t size_of(const larmor_array *x, int d)
{
    return d < x->shape.ndim ? x->shape.dim[d] : 1;
}

/* Views of both with all their dimensions. */
static larmor_status with_dimensions(const larmor_array *kspace, const larmor_array *traj, larmor_array **samples,
                                     larmor_array **points)
{
    const int64_t ns = size_of(traj, 1), nr = size_of(traj, 2), nd = size_of(traj, 0);
    const int one = kspace->shape.ndim > 3 || (size_of(kspace, 0) == 1 && size_of(kspace, 1) == ns);
    const int64_t coils = size_of(kspace, one ? 3 : 2);
    LMR_REFUSE(!lmr_is_real(traj->dtype) || (nd != 2 && nd != 3) || larmor_array_count(traj) != nd * ns * nr,
               LARMOR_ERR_SHAPE, "trajectory: got %s, expected real [2 or 3, samples, readouts].",
               lmr_describe(traj).s);
    LMR_REFUSE(
        !lmr_is_complex(kspace->dtype) || (one && size_of(kspace, 0) != 1) || size_of(kspace, one) != ns ||
            size_of(kspace, one + 1) != nr || larmor_array_count(kspace) != ns * nr * coils,
        LARMOR_ERR_SHAPE,
        "k-space: [1, %lld, %lld, coils] expected, as the trajectory has %lld samples x %lld readouts; it is %s.",
        (long long)ns, (long long)nr, (long long)ns, (long long)nr, lmr_describe(kspace).s);
    LMR_TRY(larmor_array_reshape(kspace, LARMOR_SHAPE(ns, nr, coils), samples));
    return larmor_array_reshape(traj, LARMOR_SHAPE(nd, ns, nr), points);
}

static larmor_status save(larmor_output *out, const larmor_array *kspace, const larmor_array *traj,
                          const larmor_encoding *space)
{
    const larmor_shape s = larmor_array_shape(kspace);
    const larmor_scan scan = {
        .encoding = *space, .coils = (int)s.dim[2], .readouts = s.dim[1], .description = "from arrays"};
    const larmor_acquisitions all = {.kspace = kspace,
                                     .traj = traj,
                                     .centre = s.dim[0] / 2,
                                     .meta = {.read_dir = {1, 0, 0}, .phase_dir = {0, 1, 0}, .slice_dir = {0, 0, 1}},
                                     .last = 1};
    LMR_OWN(larmor_raw_writer, writer, larmor_raw_create(out, &scan, &writer));
    LMR_TRY(larmor_raw_append_arrays(writer, &all));
    return larmor_raw_finish(writer);
}

larmor_status larmor_raw_save(larmor_output *out, const larmor_array *kspace, const larmor_array *traj,
                              const larmor_grid_opts *opts, larmor_encoding *written)
{
    const larmor_grid_opts defaults = {.matrix = {0}};
    larmor_encoding space = {.ndim = 0};
    LMR_OWNED(larmor_array) *samples = NULL, *points = NULL, *plane = NULL;
    LMR_NEED(out, kspace, traj);
    if (!opts) opts = &defaults;
    LMR_TRY(check_opts(opts));
    LMR_TRY(with_dimensions(kspace, traj, &samples, &points));
    LMR_TRY(check_shapes(samples, points));
    LMR_TRY(check_values(samples));
    LMR_TRY(fill_space(points, opts, &space));
    LMR_TRY(cut(points, space.ndim, &plane));
    LMR_TRY(save(out, samples, plane, &space));
    if (written) *written = space;
    return LARMOR_OK;
}
