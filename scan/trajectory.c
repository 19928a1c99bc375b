/* Trajectories of scans that store none: spokes whose angles follow from counters; and what gradients
 * make of those of all.
 *
 * Golden angles: Winkelmann et al., IEEE Trans. Med. Imaging 26, 68 (2007); tiny ones: Wundrak et al., IEEE Trans.
 * Med. Imaging 34, 1262 (2015). SPDX-License-Identifier: Apache-2.0 */
#include "scan/trajectory.h"

#include "core/core.h"
#include "scan/ragged.h"

enum { TINY = 10 };

#define MAX_RESIDUAL_RATIO .7 /* of the residual with the usual angle: less is taken instead */

/* ---- the angle of a spoke ---- */

static double angle_of(const lmr_spoke_angles *s, int64_t step, int64_t spokes)
{
    const double angle = s->angle > 0 ? s->angle : s->turn / (double)spokes;
    return fmod((double)step * angle, 360) * M_PI / 180;
}

/* The N-th tiny golden angle in degrees; 1 is the golden one. */
static double golden(int index)
{
    return 180 / ((1 + sqrt(5)) / 2 + index - 1);
}

enum { EVEN, EVEN_ALL_ROUND, GOLDEN, FULL_GOLDEN = GOLDEN + TINY };

/* Usual angle i, from 0; returns 0 past the last. Of an angle and its negative, which mirror the image and are
 * told apart by nothing, the list has one: 137.51 degrees and not 222.49. */
static int usual(int i, lmr_spoke_angles *s)
{
    const int full = i >= FULL_GOLDEN;
    const int index = full ? i - FULL_GOLDEN + 2 : i - GOLDEN + 1;
    *s = (lmr_spoke_angles){.turn = i == EVEN_ALL_ROUND ? 360 : 180};
    if (i < GOLDEN) {
        snprintf(s->said, sizeof s->said, "even angles over %g degrees", s->turn);
        return 1;
    }
    s->angle = golden(index) * (full ? 2 : 1);
    const int tiny = index > (full ? 2 : 1);
    snprintf(s->said, sizeof s->said, "%s, %.2f degrees", tiny ? "tiny golden angles" : "the golden angle", s->angle);
    return index <= TINY;
}

/* ---- trajectories ---- */

typedef struct plane { /* one partition's readouts, or all of a 2D scan */
    const larmor_encoding *enc;
    const larmor_grid *grid;
    const larmor_samples *samples;
    int64_t n, readouts, spokes, partitions;
} plane;

/* k of all readouts, [nd, n, readouts] on the host. */
static void fill(const plane *p, const lmr_spoke_angles *s, double *k)
{
    const int nd = p->grid->ndim;
    double step[3];
    for (int d = 0; d < nd; d++) {
        const double scale = p->grid->fov_mm[d] / p->enc->fov_mm[d];
        step[d] = scale * (d < 2 ? (double)p->enc->matrix[d] : 1);
    }
    for (int64_t r = 0; r < p->readouts; r++) {
        const double first = p->samples->along ? p->samples->along[r] : -(double)(p->n / 2) / (double)p->n;
        const double next = p->samples->step ? p->samples->step[r] : 1 / (double)p->n;
        const double angle = angle_of(s, p->samples->step1[r], p->spokes);
        const double direction[2] = {cos(angle), sin(angle)};
        for (int64_t i = 0; i < p->n; i++) {
            double *here = k + nd * (i + p->n * r);
            for (int d = 0; d < 2; d++) here[d] = direction[d] * (first + next * (double)i) * step[d];
            if (nd == 3) here[2] = (double)(p->samples->step2[r] - p->enc->matrix[2] / 2) * step[2];
        }
    }
}

static larmor_status make(larmor_device *dev, const plane *p, const lmr_spoke_angles *s, larmor_array **traj)
{
    const int64_t nd = p->grid->ndim;
    LMR_HEAP LMR_NEW(double, k, nd * p->n * p->readouts);
    fill(p, s, k);
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(nd, p->n, p->readouts), LARMOR_F64, k, traj);
}

/* ---- the decision ---- */

/* How consistent the data of a plane are with these angles; INFINITY where that cannot be told. */
static larmor_status judge(larmor_device *dev, const plane *p, const lmr_spoke_angles *s, double *residual)
{
    LMR_OWNED(larmor_array) *traj = NULL;
    *residual = INFINITY;
    larmor_status st = make(dev, p, s, &traj);
    if (!st) st = larmor_traj_consistency(p->samples->kspace, traj, residual);
    if (st == LARMOR_ERR_ARG || st == LARMOR_ERR_NUMERIC) {
        *residual = INFINITY;
        st = LARMOR_OK;
    }
    return st;
}

/* The usual angle by the header's type, unless the data are much more consistent with another one. */
static larmor_status decide_by_data(larmor_device *dev, const plane *p, int first, lmr_spoke_angles *s)
{
    lmr_spoke_angles one, best;
    double own, least = INFINITY, residual;
    usual(first, s);
    LMR_TRY(judge(dev, p, s, &own));
    for (int i = 0; usual(i, &one) && isfinite(own); i++) {
        if (i == first) continue;
        LMR_TRY(judge(dev, p, &one, &residual));
        if (residual >= least) continue;
        least = residual;
        best = one;
    }
    char said[sizeof s->said];
    if (least < MAX_RESIDUAL_RATIO * own) {
        snprintf(said, sizeof said, "%.60s by the consistency of the data, residual %.2g; %.60s leave %.2g",
                 best.said, least, s->said, own);
        *s = best;
    } else if (isfinite(own)) {
        snprintf(said, sizeof said, "%.60s by the header, residual of the data %.2g; others leave at least %.2g",
                 s->said, own, least);
    } else {
        snprintf(said, sizeof said, "%.60s by the header; too few readouts to compare with others", s->said);
    }
    memcpy(s->said, said, sizeof said);
    return LARMOR_OK;
}

/* The partition with most energy in its first coil as a scan in the plane. */
static larmor_status take_partition(const plane *p, larmor_samples *one)
{
    const larmor_shape shape = larmor_array_shape(p->samples->kspace);
    const int64_t points = p->n * p->readouts;
    LMR_HEAP double *energy = calloc((size_t)p->partitions + 1, sizeof *energy);
    int64_t best = 0, count = 0;
    if (!energy) return LMR_NO_MEMORY();
    LMR_OWN_MEMORY(float, x, larmor_array_download(p->samples->kspace, LARMOR_C64, &x));
    for (int64_t r = 0; r < p->readouts; r++)
        for (int64_t i = 0; i < 2 * p->n; i++) energy[p->samples->step2[r]] += pow((double)x[2 * p->n * r + i], 2);
    for (int64_t z = 0; z < p->partitions; z++)
        if (energy[z] > energy[best]) best = z;
    LMR_HEAP LMR_NEW(float, y, 2 * points * shape.dim[2]);
    LMR_ALLOCATE(one->step1, p->readouts);
    LMR_ALLOCATE_ZEROS(one->step2, p->readouts + 1);
    if (p->samples->along && p->samples->step) {
        LMR_ALLOCATE(one->along, p->readouts);
        LMR_ALLOCATE(one->step, p->readouts);
    }
    for (int64_t r = 0; r < p->readouts; r++) {
        if (p->samples->step2[r] != best) continue;
        if (one->along) one->along[count] = p->samples->along[r];
        if (one->step) one->step[count] = p->samples->step[r];
        one->step1[count++] = p->samples->step1[r];
    }
    float *to = y;
    for (int64_t c = 0; c < shape.dim[2]; c++)
        for (int64_t r = 0; r < p->readouts; r++) {
            if (p->samples->step2[r] != best) continue;
            memcpy(to, x + 2 * (c * points + r * p->n), (size_t)(2 * p->n) * sizeof *to);
            to += 2 * p->n;
        }
    return larmor_array_upload(larmor_array_device(p->samples->kspace), LARMOR_C64,
                               LARMOR_SHAPE(p->n, count, shape.dim[2]), LARMOR_C64, y, &one->kspace);
}

static larmor_status decide(larmor_device *dev, const plane *p, lmr_spoke_angles *s)
{
    const int first = strcmp(p->enc->trajectory, "goldenangle") ? EVEN : GOLDEN;
    larmor_status st = LARMOR_OK;
    if (p->enc->angle_deg > 0) {
        *s = (lmr_spoke_angles){.angle = p->enc->angle_deg, .turn = 180};
        snprintf(s->said, sizeof s->said, "%.2f degrees from spoke to spoke, as the header says", s->angle);
    } else if (p->grid->ndim == 2) {
        st = decide_by_data(dev, p, first, s);
    } else {
        LMR_FREED_BY(larmor_samples_free) larmor_samples one = {0};
        larmor_grid flat = *p->grid;
        flat.ndim = 2;
        st = take_partition(p, &one);
        plane central = *p;
        central.grid = &flat;
        central.samples = &one;
        if (!st) central.readouts = larmor_array_shape(one.kspace).dim[1];
        if (!st) st = decide_by_data(dev, &central, first, s);
    }
    s->decided = !st;
    return st;
}

larmor_status lmr_make_trajectory(larmor_device *dev, const larmor_group *group, const larmor_encoding *enc,
                                  const larmor_grid *grid, const larmor_samples *samples, lmr_spoke_angles *spokes,
                                  larmor_array **traj)
{
    const int radial = !strcmp(enc->trajectory, "goldenangle") || !strcmp(enc->trajectory, "radial");
    const larmor_shape shape = larmor_array_shape(samples->kspace);
    plane p = {.enc = enc, .grid = grid, .samples = samples, .n = shape.dim[0], .readouts = shape.dim[1]};
    *traj = NULL;
    for (int64_t r = 0; r < p.readouts; r++) {
        if (samples->step1[r] >= p.spokes) p.spokes = samples->step1[r] + 1;
        if (samples->step2[r] >= p.partitions) p.partitions = samples->step2[r] + 1;
    }
    const int stack = grid->ndim == 3 && p.partitions > 1 && p.partitions <= enc->matrix[2];
    LMR_REFUSE(!radial || !group->regular || (grid->ndim != 2 && !stack), LARMOR_ERR_FORMAT,
               "the file stores no trajectory, and counters alone do not define a %dD %s one%s. Give it by "
               "opts.trajectory, or store it in the acquisitions.",
               grid->ndim, enc->trajectory, radial && !group->regular ? " of readouts of different lengths" : "");
    if (!spokes->decided) LMR_TRY(decide(dev, &p, spokes));
    return make(dev, &p, spokes, traj);
}

larmor_delays_opts lmr_delays_opts(const larmor_grid *grid)
{
    larmor_delays_opts opts = {{0}};
    for (int d = 0; d < grid->ndim; d++) opts.fov[d] = grid->fov_mm[d];
    return opts;
}

static void replace(larmor_array **traj, larmor_array *by)
{
    larmor_array_free(*traj);
    *traj = by;
}

static larmor_status respond(const void *girf, const larmor_array *traj, larmor_array **corrected)
{
    return larmor_girf_apply(traj, girf, corrected);
}

/* [1, samples, readouts] */
static larmor_status find_phase(const void *girf, const larmor_array *traj, larmor_array **rows)
{
    LMR_OWN(larmor_array, phase, larmor_girf_phase(traj, girf, &phase));
    const larmor_shape shape = larmor_array_shape(phase);
    return larmor_array_reshape(phase, LARMOR_SHAPE(1, shape.dim[0], shape.dim[1]), rows);
}

/* Samples are as if order 0 had no response: what the trajectory has asked for tells their phase. */
static larmor_status remove_phase(const lmr_job *job, const larmor_girf *girf, larmor_samples *samples)
{
    larmor_girf order0 = *girf;
    order0.response = job->settings->opts.girf_b0;
    if (!order0.response || !samples->kspace) return LARMOR_OK;
    const larmor_shape shape = larmor_array_shape(samples->kspace);
    const larmor_dtype dtype = larmor_array_dtype(samples->kspace);
    for (int d = 0; d < 3; d++) order0.fov[d] *= 1e-3; /* m */
    LMR_OWN(larmor_array, phase, lmr_each_readout(samples, find_phase, &order0, 1, &phase));
    LMR_OWN_MEMORY(double, angle, larmor_array_download(phase, LARMOR_F64, &angle));
    const int64_t count = larmor_array_count(phase);
    LMR_HEAP LMR_NEW(double, factor, 2 * count);
    for (int64_t i = 0; i < count; i++) {
        factor[2 * i] = cos(angle[i]);
        factor[2 * i + 1] = sin(angle[i]);
    }
    LMR_OWN(larmor_array, turn,
            larmor_array_upload(larmor_array_device(samples->kspace), dtype, LARMOR_SHAPE(shape.dim[0], shape.dim[1]),
                                LARMOR_C128, factor, &turn));
    LMR_OWN(larmor_array, turned, larmor_array_create(larmor_array_device(samples->kspace), dtype, shape, &turned));
    LMR_TRY(larmor_copy(samples->kspace, turned));
    LMR_TRY(larmor_mul(turn, 0, turned));
    replace(&samples->kspace, turned);
    turned = NULL;
    return LARMOR_OK;
}

/* The response's axes are those of the patient, as good as those of the magnet: signs do not count but for
 * couplings. */
static larmor_status apply_girf(const lmr_job *job, int index, const larmor_grid *grid, larmor_samples *samples)
{
    larmor_image_meta meta;
    larmor_array *made;
    larmor_girf girf = {.response = job->settings->opts.girf,
                        .spacing_hz = job->settings->opts.girf_spacing_hz,
                        .dwell_s = 1e-6 * job->facts->info.dwell_us};
    if (!job->settings->opts.girf) return LARMOR_OK;
    LMR_REFUSE(!(girf.dwell_s > 0), LARMOR_ERR_FORMAT, "opts.girf: the scan does not say how long a sample takes.");
    LMR_TRY(lmr_source_meta(job->facts->source, index, &meta));
    memcpy(girf.axes[0], meta.read_dir, sizeof girf.axes[0]);
    memcpy(girf.axes[1], meta.phase_dir, sizeof girf.axes[1]);
    memcpy(girf.axes[2], meta.slice_dir, sizeof girf.axes[2]);
    for (int d = 0; d < grid->ndim; d++) girf.fov[d] = grid->fov_mm[d];
    LMR_TRY(remove_phase(job, &girf, samples));
    LMR_TRY(lmr_each_readout(samples, respond, &girf, larmor_array_shape(samples->traj).dim[0], &made));
    replace(&samples->traj, made);
    return LARMOR_OK;
}

static larmor_status apply_delays(const lmr_job *job, int encoding, const larmor_grid *grid, larmor_samples *samples)
{
    const double *delay = job->facts->delays ? job->facts->delays[encoding].delay : NULL;
    const larmor_delays_opts opts = lmr_delays_opts(grid);
    larmor_array *made;
    int late = 0;
    for (int e = 0; e < 6 && delay; e++) late |= delay[e] != 0;
    if (!late) return LARMOR_OK;
    LMR_TRY(larmor_samples_delay(samples, delay, opts.fov, &made));
    replace(&samples->traj, made);
    return LARMOR_OK;
}

larmor_status lmr_correct_trajectory(const lmr_job *job, int index, int encoding, const larmor_grid *grid,
                                     larmor_samples *samples)
{
    if (!samples->traj) return LARMOR_OK;
    const larmor_dtype dtype = larmor_array_dtype(samples->traj);
    larmor_array *alike;
    LMR_TRY(apply_girf(job, index, grid, samples));
    LMR_TRY(apply_delays(job, encoding, grid, samples));
    if (larmor_array_dtype(samples->traj) == dtype) return LARMOR_OK;
    LMR_TRY(larmor_array_convert(samples->traj, dtype, &alike));
    replace(&samples->traj, alike);
    return LARMOR_OK;
}

larmor_status larmor_source_samples(larmor_source *source, int group, const larmor_grid_opts *opts,
                                    larmor_device *dev, larmor_grid *grid, larmor_samples *out)
{
    larmor_group g;
    larmor_encoding encoding;
    lmr_spoke_angles spokes = {.decided = 0};
    larmor_status st;
    LMR_NEED(out);
    *out = (larmor_samples){0};
    LMR_NEED(source, dev, grid);
    LMR_OR(fail, lmr_source_group(source, group, &g));
    LMR_OR(fail, lmr_source_encoding(source, g.encoding, &encoding));
    LMR_OR(fail, lmr_source_grid(source, g.encoding, opts, grid));
    LMR_OR(fail, lmr_source_samples(source, group, grid, 0, larmor_source_describe(source).coils, dev, out));
    if (!out->traj) LMR_OR(fail, lmr_make_trajectory(dev, &g, &encoding, grid, out, &spokes, &out->traj));
    return LARMOR_OK;
fail:
    larmor_samples_free(out);
    return lmr_fail_in(st, lmr_source_name(source));
}

/* ---- the samples of a readout ---- */

enum { CENTRE = 16 }; /* 1/FOV around the centre of k-space, where samples of a readout are looked at */

larmor_status lmr_readout_spacing(const larmor_array *traj, const double encoded[3], double *spacing)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t nd = shape.dim[0], n = shape.dim[1], points = larmor_array_count(traj) / nd;
    int64_t count = 0;
    *spacing = 0;
    if (points == n) return LARMOR_OK; /* all in one, as of arrays, may be in any order */
    LMR_HEAP LMR_NEW(float, step, points);
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t i = 0; i + 1 < points; i++) {
        double radius = 0, length = 0;
        for (int64_t d = 0; d < nd; d++) {
            const double at = k[nd * i + d], next = k[nd * (i + 1) + d];
            radius = hypot(radius, at * encoded[d]);
            length = hypot(length, (next - at) * encoded[d]);
        }
        if ((i + 1) % n != 0 && radius <= CENTRE) step[count++] = (float)length;
    }
    *spacing = count ? lmr_median_f32(step, count) : 0;
    return LARMOR_OK;
}
