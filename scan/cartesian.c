/* Cartesian scans: samples that are on the grid, to within what files round to, take it exactly. Oversampling of
 * their readouts is removed as they are read. SPDX-License-Identifier: Apache-2.0 */
#include "scan/cartesian.h"

#include "check/sample_faults.h"
#include "core/core.h"
#include "pipeline/gridding.h"
#include "pipeline/partial.h"
#include "scan/trajectory.h"

#define GRID_TOLERANCE 1e-4        /* a coordinate this far off is on the grid: a phase of at most 3e-4 */
#define SIZE_TOLERANCE_VOXELS 1e-2 /* voxels: sizes in headers are rounded */

/* ---- oversampled readouts ---- */

/* 1 if gradients of this encoding move lines off the grid: others than delays along the axes. */
static int leaves_grid(const lmr_job *job, int encoding)
{
    int couples = 0;
    for (int e = 3; e < 6 && job->facts->delays; e++) couples |= job->facts->delays[encoding].delay[e] != 0;
    return couples || job->settings->opts.girf;
}

/* 1 if the source makes the coordinates of this encoding from counters, and all its readouts are alike. With
 *   off-resonance each
 * sample has a time of its own, and none is removed. */
static int counts_lines(const lmr_job *job, int encoding, const larmor_encoding *e)
{
    larmor_group g;
    if (strcmp(e->trajectory, "cartesian") != 0 || job->facts->info.traj_stored || job->facts->physics ||
        job->facts->whole_readouts || leaves_grid(job, encoding))
        return 0;
    for (int i = 0; i < job->facts->info.groups; i++)
        if (lmr_source_group(job->facts->source, i, &g) || (g.encoding == encoding && !g.regular)) return 0;
    return 1;
}

/* The field of view along axis d whose periods the grid is to have: that which was encoded, and of readouts as
 * much as the image needs, if that is as many of their samples as it has voxels. Between samples that were cropped
 * nothing can be computed: what reaches the edge rings. */
static double period(const larmor_encoding *e, const larmor_grid *grid, int d)
{
    const double image = grid->fov_mm[d] * (double)grid->crop[d] / (double)grid->matrix[d];
    const double kept = (double)e->matrix[d] * image / e->fov_mm[d];
    const int whole = fabs(kept - (double)grid->crop[d]) < SIZE_TOLERANCE_VOXELS;
    return d == 0 && image < e->fov_mm[0] && whole ? image : e->fov_mm[d];
}

larmor_status lmr_cartesian_grid(const lmr_job *job, int encoding, const double asked[3], larmor_grid *grid)
{
    larmor_encoding e;
    LMR_TRY(lmr_source_encoding(job->facts->source, encoding, &e));
    if (!counts_lines(job, encoding, &e)) return LARMOR_OK;
    for (int d = 0; d < grid->ndim; d++) {
        const double fov = period(&e, grid, d), voxels = fov * (double)grid->matrix[d] / grid->fov_mm[d];
        if (asked[d] > 0 || fabs(fov / grid->fov_mm[d] - 1) < 1e-9) continue;
        int64_t n = voxels < 1 ? 1 : (int64_t)nearbyint(voxels);
        if (fov == e.fov_mm[d] && n >= e.matrix[d] - 1 && n <= e.matrix[d] + 1) n = e.matrix[d];
        grid->matrix[d] = n;
        grid->fov_mm[d] = fov;
    }
    return LARMOR_OK;
}

/* All samples in cycles per encoded field of view, whatever the grid holds. */
static larmor_status read_encoded(const lmr_job *job, int index, const larmor_encoding *e, int calibration,
                                  larmor_samples *samples)
{
    larmor_grid encoded = {.ndim = e->ndim};
    for (int d = 0; d < 3; d++) {
        encoded.matrix[d] = encoded.crop[d] = 1 << 20;
        encoded.fov_mm[d] = e->fov_mm[d];
    }
    return lmr_source_samples(job->facts->source, index, &encoded, calibration, job->facts->info.coils,
                              job->facts->dev, samples);
}

/* ---- delayed lines ---- */

/* Of the farther end of a line: where the nearer one ends at least, for a shift to change next to nothing at the
 * ends. */
static const double min_symmetry = 0.8;

enum { SHORTEST_LINE = 8 };

/* 1 if all readouts are even lines along x, as long on both sides of the centre. */
static int are_lines(const double *k, int64_t nd, int64_t n, int64_t readouts)
{
    int lines = n >= SHORTEST_LINE;
    for (int64_t r = 0; r < readouts && lines; r++) {
        const double *first = k + nd * n * r, step = first[nd] - first[0], last = first[nd * (n - 1)];
        for (int64_t i = 1; i < n; i++) {
            lines &= fabs(first[nd * i] - first[0] - step * (double)i) < GRID_TOLERANCE;
            for (int64_t d = 1; d < nd; d++) lines &= fabs(first[nd * i + d] - first[d]) < GRID_TOLERANCE;
        }
        const double ends[] = {fabs(first[0]), fabs(last)};
        lines &= first[0] * last < 0 && fmin(ends[0], ends[1]) > min_symmetry * fmax(ends[0], ends[1]) - 1;
    }
    return lines;
}

/* Readouts as they would be `delay` samples earlier: their transforms times a phase. */
static larmor_status shift_lines(larmor_array *kspace, double delay)
{
    const larmor_shape shape = larmor_array_shape(kspace), one = LARMOR_SHAPE(shape.dim[0], shape.dim[1]);
    larmor_device *dev = larmor_array_device(kspace);
    const larmor_dtype dtype = larmor_array_dtype(kspace);
    const larmor_fft_opts opts = {.unitary = 1, .centred = 1};
    const int64_t n = shape.dim[0], count = n * shape.dim[1];
    LMR_HEAP LMR_NEW(double, phase, 2 * count);
    for (int64_t i = 0; i < count; i++) {
        const double angle = 2 * M_PI * delay * (double)(i % n - n / 2) / (double)n;
        phase[2 * i] = cos(angle);
        phase[2 * i + 1] = sin(angle);
    }
    LMR_OWN(larmor_array, turn, larmor_array_upload(dev, dtype, one, LARMOR_C128, phase, &turn));
    LMR_OWN(larmor_array, image, larmor_array_create(dev, dtype, one, &image));
    LMR_OWN(larmor_op, F, larmor_op_fft(dev, dtype, one, 1, &opts, &F));
    for (int64_t c = 0; c < shape.dim[2]; c++) {
        LMR_OWN(larmor_array, lines, larmor_array_part(kspace, c, 1, one, &lines));
        LMR_TRY(larmor_op_forward(F, lines, image));
        LMR_TRY(larmor_mul(turn, 0, image));
        LMR_TRY(larmor_op_adjoint(F, image, lines));
    }
    return LARMOR_OK;
}

/* Lines along x stay where they are, and what was sampled is moved there: so they remain on the grid. */
static larmor_status shift_delayed(const lmr_job *job, int encoding, larmor_samples *samples, lmr_cartesian *c)
{
    const double delay = job->facts->delays ? job->facts->delays[encoding].delay[0] : 0;
    const larmor_shape shape = larmor_array_shape(samples->traj);
    if (!job->facts->delays || samples->first || job->facts->physics || leaves_grid(job, encoding)) return LARMOR_OK;
    LMR_OWN_MEMORY(double, k, larmor_array_download(samples->traj, LARMOR_F64, &k));
    c->shifted = are_lines(k, shape.dim[0], shape.dim[1], shape.dim[2]);
    return c->shifted && delay != 0 ? shift_lines(samples->kspace, delay) : LARMOR_OK;
}

/* 1 if the encoding has delays that its samples are not corrected for. */
static int is_delayed(const lmr_job *job, int encoding, const lmr_cartesian *c)
{
    int late = 0;
    for (int e = 0; e < 6 && job->facts->delays; e++) late |= job->facts->delays[encoding].delay[e] != 0;
    return late && !c->shifted;
}

/* The noise in the readouts before their oversampling goes: what is beyond the grid's field of view is noise
 * alone. */
static larmor_status measure_level(const larmor_encoding *e, const larmor_grid *grid, const larmor_samples *samples,
                                   double *level, double *of_lines)
{
    const larmor_shape shape = larmor_array_shape(samples->traj);
    larmor_device *dev = larmor_array_device(samples->traj);
    LMR_OWN_MEMORY(double, k, larmor_array_download(samples->traj, LARMOR_F64, &k));
    for (int64_t i = 0; i < larmor_array_count(samples->traj); i++)
        k[i] *= grid->fov_mm[i % shape.dim[0]] / e->fov_mm[i % shape.dim[0]];
    LMR_OWN(larmor_array, traj, larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, k, &traj));
    LMR_TRY(larmor_noise_level(samples->kspace, traj, level));
    return larmor_noise_of_lines(samples->kspace, traj, of_lines, NULL);
}

/* The readouts on the grid's field of view, the other coordinates in cycles of it, too. */
static larmor_status crop(const lmr_job *job, const larmor_encoding *e, const larmor_grid *grid,
                          larmor_samples *samples, lmr_cartesian *c)
{
    larmor_array *kspace, *traj;
    double level = 0, of_lines = 0;
    LMR_TRY(larmor_sample_faults_find(samples->kspace, samples->traj, e->matrix,
                                      &c->faults)); /* k in cycles of the encoded field of view */
    if (!job->facts->whitening) LMR_TRY(measure_level(e, grid, samples, &level, &of_lines));
    LMR_TRY(larmor_crop_readouts(samples->kspace, samples->traj, grid->fov_mm[0] / e->fov_mm[0], &kspace, &traj,
                                 &c->deviation));
    c->level = level * c->deviation;
    c->level_of_lines = of_lines * c->deviation;
    LMR_FREE(samples->kspace, samples->traj);
    samples->kspace = kspace;
    samples->traj = traj;
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t i = 0; i < larmor_array_count(traj); i++) {
        const int d = (int)(i % grid->ndim);
        if (d > 0) k[i] *= grid->fov_mm[d] / e->fov_mm[d];
    }
    return larmor_array_write(traj, k, larmor_array_bytes(traj));
}

/* cropped: 1 if the samples were read and cropped; 0 if they are to be read as they are. */
static larmor_status read_cropped(const lmr_job *job, int index, const larmor_group *g, int calibration,
                                  larmor_samples *samples, lmr_cartesian *c, int *cropped)
{
    const larmor_grid *grid = &job->facts->grid[index];
    larmor_encoding e;
    *cropped = 0;
    LMR_TRY(lmr_source_encoding(job->facts->source, g->encoding, &e));
    if (grid->fov_mm[0] >= e.fov_mm[0] * (1 - 1e-6) || !counts_lines(job, g->encoding, &e)) return LARMOR_OK;
    LMR_TRY(read_encoded(job, index, &e, calibration, samples));
    larmor_status st = LARMOR_OK;
    if (samples->kspace && samples->traj) st = shift_delayed(job, g->encoding, samples, c);
    if (!st && samples->traj && is_delayed(job, g->encoding, c)) { /* no lines that are cropped */
        larmor_samples_free(samples);
        return LARMOR_OK;
    }
    if (!st && samples->kspace && samples->traj) st = crop(job, &e, grid, samples, c);
    if (!st) *cropped = 1;
    if (st) {
        larmor_samples_free(samples);
        *c = (lmr_cartesian){.deviation = 1};
    }
    return st == LARMOR_ERR_ARG ? LARMOR_OK : st; /* readouts of another kind: on the grid, or between */
}

/* ---- the grid ---- */

/* What is left of samples: which ones, as a rectangle of samples and readouts where they are one. */
typedef struct choice {
    int64_t *sample;
    int64_t count, samples, readouts;
} choice;

LMR_FREES(free_choice, choice, sample)

/* Beyond the grid: k = n/2 of an even n is its other edge, and taken where that is not sampled. */
static int is_outside(const double *k, const larmor_grid *grid, const int *edge)
{
    int outside = 0;
    for (int d = 0; d < grid->ndim; d++) {
        const int64_t n = grid->matrix[d];
        const double high = (double)((n - 1) / 2);
        outside |= k[d] < -(double)(n / 2) || (k[d] > high && !(n % 2 == 0 && k[d] == high + 1 && !edge[d]));
    }
    return outside;
}

static larmor_status choose(const double *k, const larmor_grid *grid, int64_t samples, int64_t readouts, choice *out)
{
    int edge[3] = {0};
    int64_t first = 0, whole = 0;
    const int nd = grid->ndim;
    *out = (choice){.sample = malloc(sizeof *out->sample * (size_t)(samples * readouts) + 1)};
    if (!out->sample) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < samples * readouts * nd; i++) edge[i % nd] |= k[i] == -(double)(grid->matrix[i % nd] / 2);
    for (int64_t r = 0; r < readouts; r++) {
        const int64_t before = out->count;
        for (int64_t s = r * samples; s < (r + 1) * samples; s++)
            if (!is_outside(k + s * nd, grid, edge)) out->sample[out->count++] = s;
        const int64_t own = out->count - before;
        if (own && !first) first = own;
        whole += own > 0;
        if (own && own != first) first = -1;
    }
    out->samples = first > 0 ? first : out->count;
    out->readouts = first > 0 ? whole : 1;
    return LARMOR_OK;
}

/* The samples that are chosen, one coil after the other. */
static larmor_status keep_chosen(const choice *chosen, larmor_samples *samples)
{
    const larmor_shape shape = larmor_array_shape(samples->kspace);
    const int64_t all = shape.dim[0] * shape.dim[1];
    larmor_device *dev = larmor_array_device(samples->kspace);
    const larmor_shape kept = LARMOR_SHAPE(chosen->samples, chosen->readouts);
    LMR_OWNED(larmor_array) *out = NULL, *one = NULL;
    LMR_HEAP float *from = NULL, *to = malloc(2 * sizeof *to * (size_t)chosen->count + 1);
    LMR_TRY(larmor_array_download(samples->kspace, LARMOR_C64, &from));
    if (!to) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_create(dev, LARMOR_C64, larmor_shape_append(kept, shape.dim[2]), &out));
    for (int64_t c = 0; c < shape.dim[2]; c++) {
        for (int64_t i = 0; i < chosen->count; i++)
            memcpy(to + 2 * i, from + 2 * (c * all + chosen->sample[i]), 2 * sizeof *to);
        LMR_TRY(larmor_array_slice(out, c, 1, &one));
        LMR_TRY(larmor_array_write(one, to, larmor_array_bytes(one)));
        LMR_CLEAR(one);
    }
    larmor_array_free(samples->kspace);
    return LMR_HAND_ON(samples->kspace, out);
}

/* The counters of the readouts that are left; none where they are no readouts any more. */
static void keep_steps(const choice *chosen, int64_t samples, larmor_samples *out)
{
    int *const steps[] = {out->step1, out->step2};
    for (int i = 0; i < 2; i++)
        for (int64_t r = 0; steps[i] && chosen->samples * chosen->readouts > 0 && r < chosen->readouts; r++)
            steps[i][r] = steps[i][chosen->sample[r * chosen->samples] / samples];
}

/* Places of the grid: how many samples each has, and the box that they are in. */
typedef struct places {
    int32_t *count; /* [voxels] */
    int64_t low[3], high[3], most;
} places;

LMR_FREES(free_places, places, count)

static int64_t place_of(const double *k, const larmor_grid *grid)
{
    int64_t at = 0;
    for (int d = grid->ndim - 1; d >= 0; d--) {
        const int64_t n = grid->matrix[d], turned = ((int64_t)k[d] + n / 2) % n;
        at = at * n + turned;
    }
    return at;
}

static larmor_status count_places(const double *k, int64_t m, const larmor_grid *grid, places *p)
{
    const int64_t voxels = larmor_shape_count(lmr_grid_shape(grid));
    *p = (places){.count = calloc((size_t)voxels + 1, sizeof *p->count)};
    if (!p->count) return LMR_NO_MEMORY();
    for (int64_t j = 0; j < m; j++) {
        const int64_t at = place_of(k + j * grid->ndim, grid);
        if (++p->count[at] > p->most) p->most = p->count[at];
        for (int d = 0; d < grid->ndim; d++) {
            const int64_t i = (int64_t)k[j * grid->ndim + d];
            if (!j || i < p->low[d]) p->low[d] = i;
            if (!j || i > p->high[d]) p->high[d] = i;
        }
    }
    return LARMOR_OK;
}

/* 1 if every place of the box is sampled equally often. */
static int is_box(const places *p, int64_t m, const larmor_grid *grid)
{
    const int64_t voxels = larmor_shape_count(lmr_grid_shape(grid));
    double sampled = (double)p->most;
    for (int d = 0; d < grid->ndim; d++) sampled *= (double)(p->high[d] - p->low[d] + 1);
    if (sampled != (double)m) return 0;
    for (int64_t i = 0; i < voxels; i++)
        if (p->count[i] != 0 && p->count[i] != p->most) return 0;
    return 1;
}

/* Takes v into the lattice whose triangular basis has these rows (Hermite's normal form), by Euclid's algorithm.
 * Returns how many places of the grid there are to one of the lattice; 0: it does not have all dimensions yet. */
static int64_t add_to_lattice(int64_t basis[3][3], int64_t v[3], int nd)
{
    int64_t index = 1;
    for (int d = 0; d < nd; d++) {
        while (v[d] != 0) {
            const int64_t times = basis[d][d] / v[d];
            for (int e = d; e < nd; e++) {
                const int64_t rest = basis[d][e] - times * v[e];
                basis[d][e] = v[e];
                v[e] = rest;
            }
        }
        index *= basis[d][d];
    }
    return index < 0 ? -index : index;
}

/* 1 if the differences between places and their sums leave out places of the grid. */
static int is_aliased(const double *k, int64_t m, int nd)
{
    int64_t basis[3][3] = {{0}}, index = 0;
    for (int64_t j = 1; j < m && index != 1; j++) {
        int64_t v[3] = {0};
        for (int d = 0; d < nd; d++) v[d] = (int64_t)(k[j * nd + d] - k[d]);
        index = add_to_lattice(basis, v, nd);
    }
    return index > 1;
}

/* Coordinates on the grid become whole numbers, and those beyond it are left out. */
static larmor_status take_grid(const larmor_grid *grid, double *k, larmor_samples *samples, lmr_cartesian *c)
{
    const larmor_shape shape = larmor_array_shape(samples->kspace);
    larmor_device *dev = larmor_array_device(samples->kspace);
    const int nd = grid->ndim;
    LMR_FREED_BY(free_choice) choice chosen = {.sample = NULL};
    LMR_FREED_BY(free_places) places p = {NULL, {0}, {0}, 0};
    larmor_array *traj;
    for (int64_t i = 0; i < shape.dim[0] * shape.dim[1] * nd; i++) k[i] = nearbyint(k[i]);
    LMR_TRY(choose(k, grid, shape.dim[0], shape.dim[1], &chosen));
    LMR_REFUSE(!chosen.count, LARMOR_ERR_FORMAT, "no sample lies within the k-space of matrix %lld x %lld x %lld",
               (long long)grid->matrix[0], (long long)grid->matrix[1], (long long)grid->matrix[2]);
    if (chosen.count < shape.dim[0] * shape.dim[1]) {
        samples->outside += shape.dim[0] * shape.dim[1] - chosen.count;
        LMR_TRY(keep_chosen(&chosen, samples));
        keep_steps(&chosen, shape.dim[0], samples);
        for (int64_t i = 0; i < chosen.count; i++)
            memmove(k + i * nd, k + chosen.sample[i] * nd, sizeof *k * (size_t)nd);
    }
    LMR_TRY(count_places(k, chosen.count, grid, &p));
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(nd, chosen.samples, chosen.readouts), LARMOR_F64, k,
                                &traj));
    larmor_array_free(samples->traj);
    samples->traj = traj;
    c->on_grid = 1;
    c->repeats = p.most;
    c->box = is_box(&p, chosen.count, grid);
    c->aliased = is_aliased(k, chosen.count, nd);
    memcpy(c->low, p.low, sizeof c->low);
    memcpy(c->high, p.high, sizeof c->high);
    return LARMOR_OK;
}

larmor_status lmr_cartesian_samples(const lmr_job *job, int index, int calibration, larmor_samples *samples,
                                    lmr_cartesian *c)
{
    const larmor_grid *grid = &job->facts->grid[index];
    larmor_group g;
    int cropped, on_grid;
    *c = (lmr_cartesian){.deviation = 1};
    LMR_TRY(lmr_source_group(job->facts->source, index, &g));
    LMR_TRY(read_cropped(job, index, &g, calibration, samples, c, &cropped));
    if (!cropped)
        LMR_TRY(lmr_source_samples(job->facts->source, index, grid, calibration, job->facts->info.coils,
                                   job->facts->dev, samples));
    if (!samples->kspace || !samples->traj) return LARMOR_OK;
    LMR_HEAP double *k = NULL;
    larmor_status st;
    if (!cropped) LMR_OR(done, shift_delayed(job, g.encoding, samples, c));
    if (!c->shifted) LMR_OR(done, lmr_correct_trajectory(job, index, g.encoding, grid, samples));
    LMR_OR(done, larmor_traj_is_cartesian(samples->traj, GRID_TOLERANCE, &on_grid));
    if (!on_grid || samples->density || job->facts->physics) return LARMOR_OK;
    LMR_OR(done, larmor_array_download(samples->traj, LARMOR_F64, &k));
    st = take_grid(grid, k, samples, c);
done:
    if (st) larmor_samples_free(samples);
    return st;
}

larmor_status lmr_cartesian_density(const larmor_samples *samples, const larmor_grid *grid, larmor_array **w)
{
    const larmor_shape shape = larmor_array_shape(samples->traj);
    const int64_t m = shape.dim[1] * shape.dim[2];
    LMR_FREED_BY(free_places) places p = {NULL, {0}, {0}, 0};
    *w = NULL;
    LMR_OWN_MEMORY(double, k, larmor_array_download(samples->traj, LARMOR_F64, &k));
    LMR_TRY(count_places(k, m, grid, &p));
    LMR_HEAP LMR_NEW(double, share, m);
    for (int64_t j = 0; j < m; j++) share[j] = 1. / p.count[place_of(k + j * grid->ndim, grid)];
    return larmor_array_upload(larmor_array_device(samples->traj), LARMOR_F64,
                               LARMOR_SHAPE(shape.dim[1], shape.dim[2]), LARMOR_F64, share, w);
}

/* ---- images without a solver ---- */

int lmr_cartesian_is_direct(const lmr_job *job, const lmr_frame *frame, const larmor_coverage *coverage)
{
    const lmr_cartesian *c = &frame->cartesian;
    const int whole = !lmr_is_partial(coverage) || !lmr_may_fill(job);
    return job->found.method.kind == LMR_METHOD_CG && job->settings->opts.lambda_mode == LARMOR_LAMBDA_AUTO &&
           !job->settings->opts.weighted && !job->settings->constraint && !job->settings->opts.prior &&
           !job->facts->sets && c->on_grid && c->box && whole;
}

larmor_status lmr_cartesian_solve(lmr_job *job, lmr_frame *frame, larmor_array **x)
{
    LMR_TRY(lmr_grid_frame(job, frame, x));
    return larmor_axpby(1 / (double)frame->cartesian.repeats, *x, 0, *x);
}

/* ---- before there are samples ---- */

larmor_status lmr_cartesian_expect(const lmr_job *job, int index, int64_t *repeats, int64_t *left)
{
    const larmor_grid *grid = &job->facts->grid[index];
    larmor_group g;
    larmor_encoding e;
    LMR_TRY(lmr_source_group(job->facts->source, index, &g));
    LMR_TRY(lmr_source_encoding(job->facts->source, g.encoding, &e));
    *repeats = 0;
    *left = g.total;
    if (!counts_lines(job, g.encoding, &e)) return LARMOR_OK;
    for (int d = 0; d < grid->ndim; d++)
        if (fabs(grid->fov_mm[d] / period(&e, grid, d) - 1) > 1e-9) return LARMOR_OK;
    const double part = fmin(1, grid->fov_mm[0] / e.fov_mm[0]);
    *left = (int64_t)((double)g.total * part);
    *repeats = *left / larmor_shape_count(lmr_grid_shape(grid)) + 2;
    return LARMOR_OK;
}

/* ---- the noise ---- */

larmor_status lmr_noise_level(const lmr_job *job, const lmr_frame *frame, double *deviation)
{
    const lmr_cartesian *c = &frame->cartesian;
    *deviation = job->facts->whitening ? c->deviation : c->level * job->found.scale;
    if (*deviation > 0) return LARMOR_OK;
    return larmor_noise_level(frame->samples.kspace, frame->samples.traj, deviation);
}

/* Noise that coils share makes the level of lines too small, to .59 of it in scans of four, where that of
 * differences is right. */
#define MAX_OF_LINES 0.55

int lmr_lines_have_less(const lmr_job *job, double of_lines, double deviation)
{
    return of_lines > 0 && of_lines < (job->facts->coils > 1 ? MAX_OF_LINES : 1) * deviation;
}

larmor_status lmr_noise_of_lines(const lmr_job *job, const lmr_frame *frame, double *of_lines)
{
    const lmr_cartesian *c = &frame->cartesian;
    *of_lines = c->on_grid ? c->level_of_lines * job->found.scale : 0;
    if (job->facts->whitening || !c->on_grid || c->level > 0) return LARMOR_OK;
    return larmor_noise_of_lines(frame->samples.kspace, frame->samples.traj, of_lines, NULL);
}
